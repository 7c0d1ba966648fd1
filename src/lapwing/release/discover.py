"""Keys that are not public: noisy counts of those that occur, and a threshold that hides the rare ones.

A key that occurs is shown when its count with noise is at least T.  With l keys per person and a = 1/s:

Claim K1 (threshold).  ``DiscreteLaplace(s).threshold(δ, l)`` is the smallest whole T for which
    1 - (1 - p)^l ≤ δ,   p = P(1 + X ≥ T) = e^(-a(T-1))/(1 + e^(-a)):
a person who alone has l keys is seen by any of them with probability at most δ.

Claim K2 (privacy).  Integer noise of scale l/ε (add_remove) or 2l/ε (change_one) on the count of every key that occurs,
and the threshold of K1, make what is shown (ε, δ)-differentially private.

The order is that of a release (claim R2): charge, count in the engine, add noise, record what is shown, show it.  A key
that stays below the threshold is neither recorded nor shown.  Proofs: docs/explanation/discover.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from functools import cached_property
from shlex import quote
from typing import Any

import numpy as np

from .. import exact, report
from ..engine.dialect import DUCKDB, Dialect
from ..engine.keys import LoweredKeys, lower_keys
from ..engine.table import COMPLETE, Table
from ..errors import CannotDeclare, InvalidParameter, InvalidSource, UnknownName, UnsupportedQuery
from ..exact import Number
from ..ledger.entry import Entry
from ..ledger.ledger import Ledger
from ..measure.cells import Progress
from ..measure.measurement import Estimate
from ..noise.distributions import DiscreteLaplace
from ..noise.entropy import SYSTEM, Entropy
from ..noise.mechanism import NINETY_FIVE
from ..noise.sampler import discrete_laplace
from ..optional import library
from ..plan.plan import bar_confidence
from ..question.codes import Key, written
from ..question.condition import parse_condition
from ..question.derived import check_computable, columns_in
from ..question.join import described_joins
from ..question.query import Condition, count, named, quoted
from ..question.schema import MAX_ROWS_PER_PERSON, Column, Schema, keys
from . import arrow
from .columns import csv_text, ends, key_values
from .found import discovery_cell
from .pipeline import answered, unfit
from .recorded import charged, cost, modified_after

MOST_DELTA = Fraction(1, 100)
_TEXT_ROWS = 40
_ARRAYS = {"integer": np.int64, "boolean": np.bool_}
"""The types of arrays of keys, by kind; texts are objects."""


@dataclass(frozen=True)
class KeyPlan:
    """How keys are found: the public parameters, and what follows from them."""

    schema: Schema
    name: str
    where: Condition | None
    epsilon: Fraction
    delta: Fraction
    keys_per_person: int
    dialect: Dialect = DUCKDB

    @property
    def sensitivity(self) -> int:
        """How far one person can move the counts (claim K3)."""
        return self.keys_per_person * (1 if self.schema.neighbors == "add_remove" else 2)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise in each count."""
        return self.sensitivity / self.epsilon

    @cached_property
    def threshold(self) -> int:
        """The smallest noisy count with which a key is shown (claim K1)."""
        return DiscreteLaplace(self.scale).threshold(self.delta, self.keys_per_person)

    @cached_property
    def lowered(self) -> LoweredKeys:
        """The SQL that the engine will run."""
        return lower_keys(self.schema, self.name, self.where, self.keys_per_person, self.dialect)

    def on(self, dialect: Dialect) -> KeyPlan:
        """Return the same plan for another engine."""
        return replace(self, dialect=dialect)

    @property
    def text(self) -> str:
        """What is asked, as the ledger shows it."""
        where = "" if self.where is None else f" WHERE {self.where}"
        return f"SELECT DISTINCT {quoted(self.name)} FROM {quoted(self.schema.name)}{where}"

    @property
    def counted(self) -> str:
        """What the counts are of."""
        return "rows" if self.schema.person is None else "people"

    def question(self) -> dict[str, Any]:
        """Return what identifies the question in the ledger: everything public that the answer depends on."""
        schema = self.schema
        question: dict[str, Any] = {
            "source": schema.name,
            "query": self.text,
            "column": self.name,
            "neighbors": schema.neighbors,
            "columns": columns_in(schema, self.where, self.lowered.columns),
            "keys_per_person": self.keys_per_person,
        }
        if described := schema.file.describe():
            question["file"] = described
        if joins := described_joins(schema, self.lowered.columns):
            question["joins"] = joins
        if schema.version is not None:
            question["version"] = schema.version
        return question if schema.person is None else {**question, "person": schema.person}

    def to_dict(self) -> dict[str, Any]:
        """Return the plan for JSON."""
        return {
            "source": self.schema.name,
            "epsilon": exact.text(self.epsilon),
            "delta": exact.text(self.delta),
            "neighbors": self.schema.neighbors,
            "keys_per_person": self.keys_per_person,
            "query": self.text,
            "sensitivity": self.sensitivity,
            "scale": exact.text(self.scale),
            "threshold": self.threshold,
            "surely": self.surely,
            "sql": self.lowered.sql,
        }

    def __str__(self) -> str:
        return (
            f'Keys of "{self.name}" in "{self.schema.name}" at ε = {exact.text(self.epsilon)}, '
            f"δ = {exact.text(self.delta)}.  No data was read.\n"
            f"A key is shown when its noisy count is at least {self.threshold:,}; "
            f"one with {self.surely:,} {self.counted} is shown in 95 of 100 cases or more.{self._fewer()}"
        )

    def _fewer(self) -> str:
        """Return what one key per person would need, as a sentence."""
        if self.keys_per_person == 1:
            return ""
        one = replace(self, keys_per_person=1)
        numbers = f"{one.threshold:,} and {one.surely:,}"
        return f"\nIf a person counts for 1 key instead of {self.keys_per_person}, the two numbers are {numbers}."

    @property
    def surely(self) -> int:
        """The smallest count with which a key is shown in 95 of 100 cases."""
        return self.threshold + DiscreteLaplace(self.scale).quantile(NINETY_FIVE)


def plan_keys(
    schema: Schema,
    column: str,
    *,
    epsilon: Number,
    delta: Number,
    where: str | Condition | None = None,
    keys_per_person: int | None = None,
) -> KeyPlan:
    """Return the plan, checked: everything that can be refused is refused here."""
    name, declared = schema.column(column)
    if declared.kind == "number":
        raise UnsupportedQuery(
            f'keys of "{name}", which is a number',
            "Keys are texts, whole numbers, dates or truth values.  Group a number by bins: declare edges.",
        )
    if declared.is_computed:
        raise UnsupportedQuery(f'keys of "{name}", which is computed', "Its keys follow from its declaration.")
    per_person = keys_per_person
    if schema.person is None:
        if per_person not in (None, 1) or isinstance(per_person, bool):
            allowed = "1 if every row is one person: name the person column"
            raise InvalidParameter(per_person, "keys_per_person", allowed)
        per_person = 1
    per_person = schema.most_rows if per_person is None else per_person
    bound = exact.whole(per_person, "keys_per_person", MAX_ROWS_PER_PERSON)
    condition = where if where is None or isinstance(where, Condition) else parse_condition(where, schema)
    if condition is not None:
        check_computable(condition, schema)
    plan = KeyPlan(schema, name, condition, exact.epsilon(epsilon), exact.delta(delta), bound)
    if not 0 < plan.delta <= MOST_DELTA:
        raise InvalidParameter(
            delta,
            "δ",
            "above 0 and at most 0.01, far below 1 divided by the number of people: "
            "with probability δ, the key of a single person is shown",
        )
    exact.scale(plan.scale, array=True)
    return plan


class KeyTally:
    """The exact count of every key that occurs, in the order of the keys; its repr hides them."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Sequence[tuple[Key, int]]) -> None:
        self._rows = sorted(rows)

    def __repr__(self) -> str:
        return "KeyTally(hidden)"

    __reduce__ = None  # type: ignore[assignment]  # never pickled

    def shown(self, plan: KeyPlan, entropy: Entropy) -> dict[str, Any]:
        """Return the keys that reach the threshold and their noisy counts, as they are recorded."""
        noise = discrete_laplace(plan.scale, len(self._rows), entropy=entropy).tolist()
        noisy = [(key, exactly + drawn) for (key, exactly), drawn in zip(self._rows, noise, strict=True)]
        kept = [(key, value) for key, value in noisy if value >= plan.threshold]
        answer: dict[str, Any] = {"keys": [written(key) for key, _ in kept], "counts": [value for _, value in kept]}
        return answer if entropy.private else {**answer, "private": False}


def discover(
    plan: KeyPlan,
    table: Table,
    ledger: Ledger,
    *,
    analyst: str | None = None,
    progress: Progress | None = None,
    entropy: Entropy = SYSTEM,
) -> Discovery:
    """Charge, count, add noise, record what reaches the threshold, and return it; a repeated question is free."""
    plan = plan.on(table.dialect)

    def check() -> None:
        table.check(plan.schema, plan.lowered.columns)
        if not ledger.delta.total:
            _refuse_without_delta(plan, ledger)

    def shown() -> dict[str, Any]:
        return KeyTally(table.count_keys(plan.schema, plan.lowered, progress)).shown(plan, entropy)

    def noisy() -> dict[str, Any]:
        return table.guarded("failed while noise was added", COMPLETE, shown)

    question = plan.question()
    entry, answer = answered(ledger, question, plan.epsilon, plan.delta, analyst=analyst, check=check, noisy=noisy)
    return discovered(plan, ledger, replace(entry, answer=answer), analyst)


def discovered(plan: KeyPlan, ledger: Ledger, entry: Entry, analyst: str | None) -> Discovery:
    """Return what an entry with an answer found; refuse an answer that does not fit its question."""
    answer = entry.answer
    listed, counts = (answer.get(name) if isinstance(answer, dict) else None for name in ("keys", "counts"))
    if not isinstance(listed, list) or not isinstance(counts, list) or len(listed) != len(counts):
        raise unfit(ledger)
    epsilon, delta, recorded_at, _ = ledger.after(entry.number)
    return Discovery(
        plan, entry.number, entry.repeated or entry.answered, answer, epsilon.remaining, delta.remaining, analyst,
        completed=entry.repeated and not entry.answered, recorded_at=recorded_at,
    )  # fmt: skip


def _refuse_without_delta(plan: KeyPlan, ledger: Ledger) -> None:
    asked = exact.text(plan.delta)
    raise InvalidSource(
        plan.schema.name,
        f"has no total δ, and to look for keys needs δ = {asked}",
        f"Write delta = {asked} (or more, the total that may ever be spent) in the source"
        f", and: `lapwing ledger {quote(ledger.where)} total {exact.text(ledger.total)} --delta {asked}`.",
    )


@dataclass(frozen=True)
class Discovery:
    """The keys that were found, sorted, with noisy counts: print it, or use ``keys`` and ``column()``.

    ``len(found)``, loops, ``found["count"]`` and readers of Arrow treat it as a release with a row for each key.

    ``entry`` is its number in the ledger; ``recorded_at``, ``modified_at`` and ``new_ledger`` are as for a release.
    Keys that few people have are not in it, and it does not show whether there are any.  Counts are of people (without
    a person column, of rows), each counted for at most keys_per_person keys.
    """

    plan: KeyPlan
    entry: int
    repeated: bool
    answer: Mapping[str, Any]
    remaining: Fraction
    remaining_delta: Fraction
    analyst: str | None = None
    confidence: Fraction = NINETY_FIVE
    completed: bool = False
    recorded_at: str | None = None
    modified_at: str | None = None
    new_ledger: str | None = None

    def beside(self, modified: datetime | None, new_ledger: str | None = None) -> Discovery:
        """Return the same answer; one that was recorded before its table was modified, or began the ledger, says so."""
        later = modified_after(self.recorded_at, modified) if self.repeated else None
        return replace(self, modified_at=later, new_ledger=new_ledger)

    def at(self, confidence: Number) -> Discovery:
        """Return the same answer with error bars of another confidence."""
        return replace(self, confidence=bar_confidence(confidence))

    @cached_property
    def keys(self) -> tuple[Key, ...]:
        """The keys, sorted."""
        listed = self.answer["keys"]
        dates = self.plan.schema.columns[self.plan.name].kind == "date"
        return tuple(map(date.fromisoformat, listed) if dates else listed)

    @property
    def counts(self) -> tuple[int, ...]:
        """The noisy count of each key."""
        return tuple(self.answer["counts"])

    @property
    def epsilon(self) -> Fraction:
        """The ε that was charged."""
        return self.plan.epsilon

    @property
    def delta(self) -> Fraction:
        """The δ that was charged."""
        return self.plan.delta

    @property
    def threshold(self) -> int:
        """The smallest noisy count with which a key is shown."""
        return self.plan.threshold

    @property
    def private(self) -> bool:
        """Whether the noise was real; False only in tests."""
        return bool(self.answer.get("private", True))

    @property
    def _margin(self) -> int:
        return DiscreteLaplace(self.plan.scale).margin(self.confidence)

    @property
    def _count(self) -> str:
        """The name of the column of counts."""
        (statistic,) = named([count()], [self.plan.name])
        return str(statistic.name)

    def column(self, other: str | None = None) -> Column:
        """Return the declaration of the column with the keys found; ``other`` names the group of all other keys."""
        if not self.keys:
            raise CannotDeclare(
                f'No key of "{self.plan.name}" reached the threshold of {self.threshold:,} {self.plan.counted}',
                "Ask with a larger ε or δ, or fewer keys per person.",
            )
        if other is not None and (other == "" or other in self.keys):
            raise CannotDeclare(
                f'"{other}" cannot be the name of all other keys: it is empty, or one that was found',
                "Give another name; the same question again is free.",
            )
        return replace(keys(self.keys, other=other), missing=self.plan.schema.columns[self.plan.name].missing)

    def to_toml(self, other: str | None = None) -> str:
        """Return the declaration as lines of a source file."""
        column = self.column(other)
        listed = ", ".join(report.toml(key) for key in column.keys or ())
        lines = [f"[columns.{report.toml_name(self.plan.name)}]", f"keys = [{listed}]"]
        if other is not None:
            lines.append(f"other = {report.toml(other)}")
        if column.missing:
            lines.append(f"missing = [{', '.join(map(report.toml, column.missing))}]")
        return "\n".join(lines) + "\n"

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dict for each key: the key, and the value, low and high of its count."""
        return list(self)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for key, (value, low, high) in zip(self.keys, self._bars(), strict=True):
            yield {self.plan.name: written(key), self._count: {"value": value, "low": low, "high": high}}

    def __len__(self) -> int:
        return len(self.keys)

    def __contains__(self, name: object) -> bool:
        return name in (self.plan.name, self._count)

    def __getitem__(self, name: str) -> Any:
        """Return the array of keys, or the ``Estimate`` of their counts: arrays value, low and high."""
        if not isinstance(name, str) or name not in self:
            raise UnknownName(name, "The discovery", [self.plan.name, self._count])
        if name == self.plan.name:
            return key_values(self.keys)
        return Estimate(*np.array(self._bars(), dtype=np.int64).reshape(-1, 3).T)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the columns of ``flat`` to readers of Arrow: pl.DataFrame(found), pa.table(found), DuckDB."""
        kind = self.plan.schema.columns[self.plan.name].kind
        keys = arrow.days(self.keys) if kind == "date" else np.array(self.keys, dtype=_ARRAYS.get(kind, np.object_))
        columns = {self.plan.name: keys, **dict(ends({self._count: self[self._count]}))}
        return arrow.stream([columns], requested_schema)

    def _bars(self) -> list[tuple[int, int, int]]:
        margin = self._margin
        return [(value, max(value - margin, 1), value + margin) for value in self.counts]

    def to_dict(self) -> dict[str, Any]:
        """Return the answer for JSON, in the form of a release (docs/reference/json.md)."""
        plan = self.plan
        answer: dict[str, Any] = {
            "source": plan.schema.name,
            "entry": self.entry,
            "repeated": self.repeated,
            "recorded_at": self.recorded_at,
            "modified_at": self.modified_at,
            "epsilon": exact.text(plan.epsilon),
            "delta": exact.text(plan.delta),
            "neighbors": plan.schema.neighbors,
            "keys_per_person": plan.keys_per_person,
            "query": plan.text,
            "threshold": plan.threshold,
            "confidence": exact.text(self.confidence),
            "columns": [
                {"name": plan.name, "kind": "key"},
                {"name": self._count, "kind": "count", "scale": exact.text(plan.scale), "claim": "K2"},
            ],
            "rows": self.rows,
            "remaining": exact.text(self.remaining),
            "remaining_delta": exact.text(self.remaining_delta),
        }
        return answer if self.private else {**answer, "private": False}

    def flat(self) -> dict[str, list[Any]]:
        """Return plain columns: the keys, then value, low and high of their counts."""
        bars = self._bars()
        table: dict[str, list[Any]] = {self.plan.name: list(self.keys)}
        for i, ending in enumerate(("", "_low", "_high")):
            table[f"{self._count}{ending}"] = [bar[i] for bar in bars]
        return table

    def to_csv(self) -> str:
        """Return the columns of ``flat`` as CSV."""
        return csv_text(self.flat())

    def to_pandas(self) -> Any:
        """Return a pandas data frame with the columns of ``flat``."""
        return library("pandas").DataFrame(self.flat())

    def __str__(self) -> str:
        plan = self.plan
        head = f'Keys of "{plan.name}" in "{plan.schema.name}"   ε = {exact.text(plan.epsilon)}   '
        lines = [f"{head}δ = {exact.text(plan.delta)}   protects {self.protects}"]
        if self.keys:
            rows = [
                [str(written(key)), report.shown(value), f"± {report.shown(self._margin)}"]
                for key, value in list(zip(self.keys, self.counts, strict=True))[:_TEXT_ROWS]
            ]
            lines.append(report.text_table([plan.name, plan.counted, "error bar"], rows, {0}))
            if len(self.keys) > _TEXT_ROWS:
                lines.append(f"  … {len(self.keys) - _TEXT_ROWS:,} more keys: see .keys, .to_pandas() or --format csv")
        else:
            lines.append(f"  No key reached the threshold of {self.threshold:,} {plan.counted}.")
        return "\n".join([*lines, self.note, *cost(self)])

    @property
    def protects(self) -> str:
        """Who is protected, in words."""
        if self.plan.schema.person is None:
            return "each row, taken to be one person"
        most = "1 key" if self.plan.keys_per_person == 1 else f"{self.plan.keys_per_person} keys"
        return f"each person ({self.plan.schema.person}), who counts for at most {most}"

    @property
    def note(self) -> str:
        """What the numbers mean, as sentences."""
        sentences = (
            f"{exact.text(100 * self.confidence)} % error bars.  Keys with fewer than about {self.threshold:,} "
            f"{self.plan.counted} are not shown, nor whether there are any; one just above is more likely counted too "
            "high than too low."
        )
        return sentences if self.private else f"NOT PRIVATE: made with noise for tests.  {sentences}"

    @property
    def charged(self) -> str:
        """What was charged and what is left, as a sentence."""
        left = f"Left: ε = {exact.text(self.remaining)}, δ = {exact.text(self.remaining_delta)}"
        return charged(self, f"ε = {exact.text(self.epsilon)}, δ = {exact.text(self.delta)}", left)

    def _repr_html_(self) -> str:
        return discovery_cell(self)

    def __repr__(self) -> str:
        return f"Discovery({self.plan.name!r}, entry={self.entry}, {len(self.keys):,} keys)"
