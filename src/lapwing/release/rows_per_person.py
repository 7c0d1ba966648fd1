"""How many rows people have, if nobody knows: a noisy histogram of people, and the k that holds most of them.

The bins are 1, 2, …, 10 rows, then up to 20, 50, 100, 200, 500, … and 10^6 rows, and more than that.

Claim K5 (rows per person).  Each person with rows is in exactly one bin, and counts 1 there, whatever the source
declares.  So one person moves the histogram by at most 1 (add_remove) or 2 (change_one) in all, and with integer noise
of scale 1/ε or 2/ε on every bin it, and all that is made of it, is ε-differentially private.  With a probability of
95 % or more the share of people with at most k rows lies within its error bar for every border k at once, so also for
the k that was chosen by looking at the noisy numbers.

Proof: docs/explanation/discover.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from .. import exact, report
from ..engine.dialect import DUCKDB, Dialect
from ..engine.row_counts import lower_row_counts
from ..engine.table import COMPLETE, Table
from ..engine.write_sql import Lowered
from ..errors import CannotDeclare, InvalidParameter, InvalidSource
from ..exact import Number
from ..ledger.entry import Entry
from ..ledger.ledger import Ledger
from ..measure.cells import Progress
from ..noise.distributions import DiscreteLaplace
from ..noise.entropy import SYSTEM, Entropy
from ..noise.mechanism import NINETY_FIVE
from ..noise.sampler import discrete_laplace
from ..noise.weighted import margins
from ..question.condition import parse_condition
from ..question.derived import check_computable, columns_in
from ..question.join import described_joins
from ..question.query import Condition, quoted
from ..question.schema import MAX_ROWS_PER_PERSON, Schema
from .found import rows_per_person_cell
from .pipeline import answered, unfit
from .recorded import charged, cost, modified_after

BORDERS = (*range(1, 11), *(times * 10**power for power in range(1, 6) for times in (2, 5, 10)))
"""The largest number of rows of each bin but the last, which has no limit; every one is a k that may be found."""

BINS = len(BORDERS) + 1
_EACH = 1 - Fraction(1, 20 * 2 * len(BORDERS))
"""The confidence of one bar, so that those for people up to and above every border hold at once with 95 %."""


class RowsBin(NamedTuple):
    """A bin and what was released about it: its numbers of rows, and the noisy number of people with an error bar."""

    least: int
    most: int | None
    value: int
    value_low: int
    value_high: int


@dataclass(frozen=True)
class RowsPlan:
    """How k is found: the public parameters, and what follows from them."""

    schema: Schema
    where: Condition | None
    epsilon: Fraction
    dialect: Dialect = DUCKDB

    @property
    def sensitivity(self) -> int:
        """How far one person can move the histogram (claim K5)."""
        return 1 if self.schema.neighbors == "add_remove" else 2

    @property
    def scale(self) -> Fraction:
        """The scale of the noise in each bin."""
        return self.sensitivity / self.epsilon

    @property
    def margin(self) -> int:
        """The noise of all bins stays within this many people at once, with 95 %."""
        return DiscreteLaplace(self.scale).simultaneous_margin(BINS, NINETY_FIVE)

    @cached_property
    def lowered(self) -> Lowered:
        """The SQL that the engine will run."""
        return lower_row_counts(self.schema, self.where, BORDERS, self.dialect)

    def on(self, dialect: Dialect) -> RowsPlan:
        """Return the same plan for another engine."""
        return replace(self, dialect=dialect)

    @property
    def text(self) -> str:
        """What is asked, as the ledger shows it."""
        where = "" if self.where is None else f" WHERE {self.where}"
        return f"SELECT COUNT(*) FROM {quoted(self.schema.name)}{where} GROUP BY {quoted(str(self.schema.person))}"

    def question(self) -> dict[str, Any]:
        """Return what identifies the question in the ledger: everything public that the answer depends on."""
        schema = self.schema
        question: dict[str, Any] = {
            "source": schema.name,
            "query": self.text,
            "neighbors": schema.neighbors,
            "columns": columns_in(schema, self.where, self.lowered.columns),
            "person": schema.person,
            "borders": list(BORDERS),
        }
        if described := schema.file.describe():
            question["file"] = described
        if joins := described_joins(schema, self.lowered.columns):
            question["joins"] = joins
        return question if schema.version is None else {**question, "version": schema.version}

    def to_dict(self) -> dict[str, Any]:
        """Return the plan for JSON."""
        return {
            "source": self.schema.name,
            "epsilon": exact.text(self.epsilon),
            "neighbors": self.schema.neighbors,
            "query": self.text,
            "bins": BINS,
            "sensitivity": self.sensitivity,
            "scale": exact.text(self.scale),
            "margin": self.margin,
            "sql": self.lowered.sums,
        }

    def __str__(self) -> str:
        return (
            f'Rows per person in "{self.schema.name}" at ε = {exact.text(self.epsilon)}.  No data was read.\n'
            f"The number of people in each of {BINS} bins gets noise that stays within ± {self.margin:,} in all of "
            "them at once, with probability 95 %."
        )


def plan_rows_per_person(schema: Schema, *, epsilon: Number, where: str | Condition | None = None) -> RowsPlan:
    """Return the plan, checked: everything that can be refused is refused here."""
    if schema.person is None:
        raise InvalidSource(
            schema.name,
            "names no person column, so that every row is one person",
            "Name the column that identifies a person.",
        )
    condition = where if where is None or isinstance(where, Condition) else parse_condition(where, schema)
    if condition is not None:
        check_computable(condition, schema)
    plan = RowsPlan(schema, condition, exact.epsilon(epsilon))
    exact.scale(plan.scale, array=True)
    return plan


class RowsTally:
    """The exact number of people in every bin; its repr hides them."""

    __slots__ = ("_people",)

    def __init__(self, found: Mapping[int, int]) -> None:
        self._people = [found.get(i, 0) for i in range(BINS)]

    def __repr__(self) -> str:
        return "RowsTally(hidden)"

    __reduce__ = None  # type: ignore[assignment]  # never pickled

    def noisy(self, plan: RowsPlan, entropy: Entropy) -> dict[str, Any]:
        """Return the numbers with noise, as they are recorded."""
        noise = discrete_laplace(plan.scale, BINS, entropy=entropy).tolist()
        answer: dict[str, Any] = {"people": [a + b for a, b in zip(self._people, noise, strict=True)]}
        return answer if entropy.private else {**answer, "private": False}


def find_rows_per_person(
    plan: RowsPlan,
    table: Table,
    ledger: Ledger,
    *,
    analyst: str | None = None,
    progress: Progress | None = None,
    entropy: Entropy = SYSTEM,
) -> RowsPerPerson:
    """Charge, count, add noise, record, and return what was found; a repeated question is free."""
    plan = plan.on(table.dialect)

    def check() -> None:
        table.check(plan.schema, plan.lowered.columns)

    def tallied() -> dict[str, Any]:
        bins = [each.tolist() for each in table.tally(plan.schema, plan.lowered, progress).sums]
        return RowsTally(dict(zip(*bins, strict=True)) if bins else {}).noisy(plan, entropy)

    def noisy() -> dict[str, Any]:
        return table.guarded("failed while noise was added", COMPLETE, tallied)

    entry, answer = answered(ledger, plan.question(), plan.epsilon, analyst=analyst, check=check, noisy=noisy)
    return rows_found(plan, ledger, replace(entry, answer=answer), analyst)


def people_share(asked: Number) -> Fraction:
    """Return the wanted share of people, checked."""
    value = exact.finite(asked, "share")
    if not 0 < value < 1:
        raise InvalidParameter(asked, "share", "a number between 0 and 1, such as 0.95")
    return value


def rows_found(plan: RowsPlan, ledger: Ledger, entry: Entry, analyst: str | None) -> RowsPerPerson:
    """Return what an entry with an answer found; refuse an answer that does not fit its question."""
    people = entry.answer.get("people") if isinstance(entry.answer, dict) else None
    if not isinstance(people, list) or len(people) != BINS or any(type(each) is not int for each in people):
        raise unfit(ledger)
    left, _, recorded_at, _ = ledger.after(entry.number)
    return RowsPerPerson(
        plan, entry.number, entry.repeated or entry.answered, entry.answer, left.remaining, analyst,
        completed=entry.repeated and not entry.answered, recorded_at=recorded_at,
    )  # fmt: skip


@dataclass(frozen=True)
class RowsPerPerson:
    """How many rows people have: print it, or use ``rows_per_person``, the smallest k that enough people stay within.

    ``at(share)`` gives the k for another share of people, from the same noisy numbers, at no charge.  ``entry`` is its
    number in the ledger; ``recorded_at``, ``modified_at`` and ``new_ledger`` are as for a release.
    """

    plan: RowsPlan
    entry: int
    repeated: bool
    answer: Mapping[str, Any]
    remaining: Fraction
    analyst: str | None = None
    share: Fraction = NINETY_FIVE
    completed: bool = False
    recorded_at: str | None = None
    modified_at: str | None = None
    new_ledger: str | None = None

    def beside(self, modified: datetime | None, new_ledger: str | None = None) -> RowsPerPerson:
        """Return the same answer; one that was recorded before its table was modified, or began the ledger, says so."""
        later = modified_after(self.recorded_at, modified) if self.repeated else None
        return replace(self, modified_at=later, new_ledger=new_ledger)

    def at(self, share: Number) -> RowsPerPerson:
        """Return the same answer for another share of people."""
        return replace(self, share=people_share(share))

    @property
    def private(self) -> bool:
        """Whether the noise was real; False only in tests."""
        return bool(self.answer.get("private", True))

    @property
    def bins(self) -> list[RowsBin]:
        """All bins, with error bars that hold for all of them at once."""
        margin, least = self.plan.margin, (1, *(border + 1 for border in BORDERS))
        each = zip(least, (*BORDERS, None), self.answer["people"], strict=True)
        return [RowsBin(a, b, value, max(value - margin, 0), max(value + margin, 0)) for a, b, value in each]

    @property
    def _divided(self) -> list[tuple[int, int, int]]:
        """Every border, and the noisy numbers of people up to it and above it."""
        up_to = list(accumulate(self.answer["people"]))
        return [(k, within, up_to[-1] - within) for k, within in zip(BORDERS, up_to, strict=False)]

    @cached_property
    def _offs(self) -> list[tuple[float, float]]:
        """For every border, the margins of the noisy number of people up to it, and above it."""
        up_to = np.arange(BINS)[:, None] <= np.arange(len(BORDERS))
        below, above = (margins(each.astype(float), self.plan.scale, _EACH) for each in (up_to, ~up_to))
        return list(zip(below, above, strict=True))

    @cached_property
    def shares(self) -> dict[int, tuple[float, float, float]]:
        """For every k, the share of people with at most k rows: an estimate, and the ends of a bar (claim K5)."""
        found = {}
        for (k, within, beyond), (off, off_beyond) in zip(self._divided, self._offs, strict=True):
            value = _share(within, beyond, 0.0)
            low, high = _share(within - off, beyond + off_beyond, 0.0), _share(within + off, beyond - off_beyond, 1.0)
            found[k] = value, min(low, value), max(high, value)
        return found

    @property
    def found(self) -> bool:
        """Whether there are enough people for an answer: their noisy number is above its noise."""
        (off,) = margins(np.ones((BINS, 1)), self.plan.scale, NINETY_FIVE)
        return bool(sum(self.answer["people"]) > off)

    @property
    def rows_per_person(self) -> int:
        """The smallest k such that, by the noisy numbers, the wanted share of people has at most k rows."""
        if not self.found:
            raise CannotDeclare(
                "The number of people is not above the noise",
                "Ask with a larger ε, or say from what the table means how many rows a person has.",
            )
        divided = ((k, max(within, 0), max(beyond, 0)) for k, within, beyond in self._divided)
        return next((k for k, a, b in divided if a and a >= self.share * (a + b)), MAX_ROWS_PER_PERSON)

    def to_toml(self) -> str:
        """Return the declaration as a line of a source file."""
        return f"rows_per_person = {self.rows_per_person}\n"

    @property
    def charged(self) -> str:
        """What was charged and what is left, as a sentence."""
        spent, left = (exact.text(each) for each in (self.plan.epsilon, self.remaining))
        return charged(self, f"ε = {spent}", f"ε left: {left}")

    def to_dict(self) -> dict[str, Any]:
        """Return what was found for JSON (docs/reference/json.md)."""
        k = self.rows_per_person if self.found else None
        answer = {
            "source": self.plan.schema.name,
            "entry": self.entry,
            "repeated": self.repeated,
            "recorded_at": self.recorded_at,
            "modified_at": self.modified_at,
            "epsilon": exact.text(self.plan.epsilon),
            "neighbors": self.plan.schema.neighbors,
            "query": self.plan.text,
            "scale": exact.text(self.plan.scale),
            "share": exact.text(self.share),
            "rows_per_person": k,
            "within": None if k is None else dict(zip(("value", "low", "high"), self.shares[k], strict=True)),
            "bins": [
                {"least": least, "most": most, "people": {"value": value, "low": low, "high": high}}
                for least, most, value, low, high in self.bins
            ],
            "remaining": exact.text(self.remaining),
        }
        return answer if self.private else {**answer, "private": False}

    def to_csv(self) -> str:
        """Return the bins as CSV."""
        lines = [f"{a},{'' if b is None else b},{','.join(map(str, bar))}" for a, b, *bar in self.bins]
        return "\n".join(["least,most,people,people_low,people_high", *lines]) + "\n"

    def __str__(self) -> str:
        plan = self.plan
        head = f'Rows per person in "{plan.schema.name}"   ε = {exact.text(plan.epsilon)}'
        shown = [each for each in self.bins if each.value > plan.margin]
        rows = [
            [
                _rows(least, most),
                report.shown(value),
                report.bar_text(value, low, high),
                _percents(self.shares.get(most or 0)),
            ]
            for least, most, value, low, high in shown
        ]
        lines = [f"{head}   protects each person ({plan.schema.person}), whatever number of rows they have"]
        if rows:
            lines.append(report.text_table(["rows", "people", "error bar", "people with at most so many"], rows, ()))
        lines.append(f"Bins with {plan.margin:,} people or fewer are not shown: they may be empty.")
        if self.found:
            k = self.rows_per_person
            lines.append(
                f"rows_per_person = {k:,}: {_percents(self.shares[k])} of the people have at most so many rows; "
                f"{exact.text(100 * self.share)} % was asked for.  Others would be weighted down to it."
            )
            lines.append("The error bars of people hold for all bins at once with 95 %, and those of shares for all k.")
        else:
            lines.append("The number of people is not above the noise: ask with a larger ε.")
        if not self.private:
            lines.append("NOT PRIVATE: made with noise for tests.")
        return "\n".join([*lines, *cost(self)])

    def _repr_html_(self) -> str:
        return rows_per_person_cell(self)

    def __repr__(self) -> str:
        return f"RowsPerPerson({self.plan.schema.name!r}, entry={self.entry})"


def _share(within: float, beyond: float, empty: float) -> float:
    within, beyond = max(within, 0.0), max(beyond, 0.0)
    return within / (within + beyond) if within + beyond > 0 else empty


def _rows(least: int, most: int | None) -> str:
    return f"more than {least - 1:,}" if most is None else f"{most:,}" if least == most else f"{least:,} to {most:,}"


def _percents(share: tuple[float, float, float] | None) -> str:
    if share is None:
        return "100 %"
    value, low, high = (f"{100 * each:.1f}" for each in share)
    return f"{value} % ({low} to {high} %)"
