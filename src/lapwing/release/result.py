"""The answer of a release: numbers, error bars, and all the public parameters behind them.

It sees only the plan and the noisy integers in the ledger: nothing here is private.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from itertools import islice, product
from pathlib import Path
from typing import Any, Literal, overload

import duckdb
import numpy as np
from numpy.typing import NDArray

from .. import exact, report
from ..errors import InvalidParameter, MissingLibrary, OutputError, UnknownName
from ..exact import Number
from ..measure.cells import Column, Progress, unpacked
from ..measure.linear import Noisy
from ..measure.measurement import Estimate
from ..noise.mechanism import NINETY_FIVE
from ..plan.plan import Plan, bar_confidence, level_of
from ..question.codes import Key, written
from . import arrow, plots
from .columns import KeyColumn, csv_text, days_or_keys, ends, key_array, key_columns, key_values
from .estimate import Estimator
from .files import in_place_of, write_parquet
from .legend import about_key, about_statistic, legend
from .recorded import age, charged, modified_after

TEXT_ROWS = 40
"""How many groups are printed unless all are asked for."""

_PIECE_ROWS = 250_000
"""How many groups are estimated and written at a time."""


@dataclass(frozen=True)
class Release:
    """The answer of a release: print it, or use ``rows``, ``to_pandas()``, ``to_dict()`` and so on.

    ``len(answer)`` is the number of groups, a loop goes over their ``rows``, and ``answer["count"]`` has the arrays
    ``value``, ``low`` and ``high`` of a statistic, or a column of keys.  Readers of Arrow take it directly:
    ``pl.DataFrame(answer)``, ``pa.table(answer)``, ``pd.DataFrame.from_arrow(answer)``, ``FROM answer`` in DuckDB.

    ``entry`` is its number in the ledger, None if the answer is public.  ``recorded_at`` is when it was recorded.
    ``modified_at`` is when the files of the table were modified, if this is a recorded answer and they were modified
    after it: then ask with a new version of the source.  ``at`` returns the same answer with other error bars,
    ``nonnegative`` one without negative counts; both only read what was released, and cost nothing.
    """

    plan: Plan
    entry: int | None
    repeated: bool
    answer: Mapping[str, Any]
    remaining: Fraction | None
    analyst: str | None
    confidence: Fraction = NINETY_FIVE
    simultaneous: bool = False
    view: Literal["unbiased", "nonnegative"] = "unbiased"
    completed: bool = False
    recorded_at: str | None = None
    modified_at: str | None = None

    def at(self, confidence: Number | None = None, *, simultaneous: bool | None = None) -> Release:
        """Return the same answer with error bars of another confidence, or with bars for all cells at once."""
        return self._seen(
            confidence=self.confidence if confidence is None else bar_confidence(confidence),
            simultaneous=self.simultaneous if simultaneous is None else bool(simultaneous),
        )

    def nonnegative(self) -> Release:
        """Return a view in which counts, and sums that cannot be negative, are at least 0.

        Single cells are closer to the truth, but totals over many cells become too large: sum the unbiased view.
        """
        return self._seen(view="nonnegative")

    def beside(self, modified: datetime | None) -> Release:
        """Return the same answer; one that was recorded before its table was modified says so."""
        return self._seen(modified_at=modified_after(self.recorded_at, modified) if self.repeated else None)

    def _seen(self, **changes: Any) -> Release:
        """Return another view of the same noisy integers, which are read from the record once."""
        other = replace(self, **changes)
        if "cells" in vars(self):
            vars(other)["cells"] = self.cells
        return other

    @property
    def private(self) -> bool:
        """Whether the noise was real; False only in tests."""
        return bool(self.answer.get("private", True))

    @cached_property
    def cells(self) -> Noisy:
        """The noisy integers: for each measurement, for each of its cells, an array with one integer for each group."""
        return [
            [unpacked(cell, self.plan.length(part)) for _, cell in zip(part.measurement.names, cells, strict=True)]
            for part, cells in zip(self.plan.parts, self.answer["cells"], strict=True)
        ]

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """The values and the ends of the error bars, as arrays with one number for each group."""
        return self._estimates(slice(0, self.plan.groups))

    @cached_property
    def _estimator(self) -> Estimator:
        return Estimator(self.plan, self.cells, self.answer.get("rows"), self.confidence, self.simultaneous)

    def _estimates(self, groups: slice) -> dict[str, Estimate]:
        estimates = self._estimator.of(groups)
        names = [str(statistic.name) for statistic in self.plan.query.statistics]
        if self.view == "nonnegative":
            estimates = [
                Estimate(*(np.maximum(end, 0) for end in each)) if self._cannot_be_negative(name) else each
                for name, each in zip(names, estimates, strict=True)
            ]
        return dict(zip(names, estimates, strict=True))

    @cached_property
    def _without_bars(self) -> set[str]:
        """The names of quantiles that were asked for without intervals: their bars are the column's bounds."""
        plan = self.plan
        return {
            str(each.name)
            for each in plan.query.statistics
            if any(not plan.parts[i].measurement.has_bars for i in plan.answering(each))
        }

    def _cannot_be_negative(self, name: str) -> bool:
        (statistic,) = (each for each in self.plan.query.statistics if each.name == name)
        if statistic.kind == "sum":
            low = self.plan.schema.columns[statistic.column or ""].low
            return low is not None and low >= 0
        return statistic.kind in ("count", "people")

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the key columns."""
        return self.plan.query.titles or self.plan.query.by

    @cached_property
    def group_keys(self) -> list[tuple[Key, ...]]:
        """The keys of every group, in their public order."""
        return list(product(*(each.values for each in self._key_columns if not each.is_label)))

    @cached_property
    def _key_columns(self) -> list[KeyColumn]:
        """The columns of keys, and of their labels."""
        return key_columns(self.plan)

    @cached_property
    def _groups_of_keys(self) -> list[list[dict[str, Any]]]:
        """For each key of the question, what a row of each of its groups has: the key, and its label."""
        found: list[list[dict[str, Any]]] = [[] for _ in self.plan.query.by]
        for each in self._key_columns:
            some = found[each.at] or [{} for _ in each.values]
            found[each.at] = [{**one, each.name: written(value)} for one, value in zip(some, each.values, strict=True)]
        return found

    def _places(self, groups: slice) -> list[NDArray[np.int64]]:
        """Return, for each column of keys and labels, which of them each group has; the last key changes fastest."""
        places, left = [], np.arange(groups.start, groups.stop)
        for some in reversed(self._groups_of_keys):
            left, place = np.divmod(left, len(some))
            places.append(place)
        return [places[::-1][each.at] for each in self._key_columns]

    @property
    def columns(self) -> list[dict[str, Any]]:
        """What each column is: its name, kind, title and unit, and for a statistic the scale of the noise behind it."""
        described: list[dict[str, Any]] = [
            {"name": each.name, "kind": "label", "of": self.keys[each.at]}
            if each.is_label
            else {"name": each.name, "kind": "key", **about_key(self.plan, each.at)}
            for each in self._key_columns
        ]
        plan = self.plan if "rows" not in self.answer else replace(self.plan, rows=max(self.answer["rows"], 1))
        for forecast in plan.forecasts:
            name, kind = forecast.statistic.name, forecast.statistic.kind
            how = {"scale": exact.text(forecast.scale), "claim": forecast.claim, **level_of(forecast.statistic)}
            bars = {"interval": False} if name in self._without_bars else {}
            about = about_statistic(self.plan, forecast.statistic)
            described.append({"name": name, "kind": kind, **how, **bars, **about})
        return described

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dict for each group: its keys and their labels, and for each statistic value, low and high."""
        return list(self)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the dicts of ``rows``; few groups are estimated at a time."""
        groups, slices = product(*self._groups_of_keys), self._slices
        for some in slices:
            estimates = self.estimates if len(slices) == 1 else self._estimates(some)
            columns = [(name, [end.tolist() for end in each]) for name, each in estimates.items()]
            for i, keys in zip(range(some.stop - some.start), groups, strict=False):
                row: dict[str, Any] = {name: value for each in keys for name, value in each.items()}
                for name, (value, low, high) in columns:
                    row[name] = {"value": value[i], "low": low[i], "high": high[i]}
                yield row

    def __len__(self) -> int:
        return self.plan.groups

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> Any:
        """Return the ``Estimate`` of a statistic, arrays value, low and high; or the array of a column of keys."""
        if not isinstance(name, str) or name not in self._names:
            raise UnknownName(name, "The release", self._names)
        for each, places in zip(self._key_columns, self._places(slice(0, self.plan.groups)), strict=True):
            if each.name == name:
                return key_values(each.values)[places]
        return self.estimates[name]

    @property
    def _names(self) -> list[str]:
        keys = [each.name for each in self._key_columns]
        return [*keys, *(str(statistic.name) for statistic in self.plan.query.statistics)]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the columns of ``flat`` to readers of Arrow: pl.DataFrame(answer), pa.table(answer), DuckDB."""
        with self._writing("Arrow stream"):
            return arrow.stream(self._arrays(days_or_keys), requested_schema)

    def to_dict(self) -> dict[str, Any]:
        """Return the release for JSON (docs/reference/json.md)."""
        fields: dict[str, Any] = {
            "source": self.plan.schema.name,
            "entry": self.entry,
            "repeated": self.repeated,
            "recorded_at": self.recorded_at,
            "modified_at": self.modified_at,
            "epsilon": exact.text(self.plan.epsilon) if self.entry is not None else "0",
            "delta": "0",
            "neighbors": self.plan.schema.neighbors,
            "rows_per_person": self.plan.schema.rows_per_person,
            "query": self.plan.query.text,
            "confidence": exact.text(self.confidence),
            "simultaneous": self.simultaneous,
            "view": self.view,
            "columns": self.columns,
            "rows": self.rows,
            "notes": list(self.notes),
            "remaining": None if self.remaining is None else exact.text(self.remaining),
        }
        return fields if self.private else {**fields, "private": False}

    def flat(self) -> dict[str, list[Any]]:
        """Return plain columns: keys and their labels (ward, ward_label), then each statistic (n, n_low, n_high)."""
        return self._flat(slice(0, self.plan.groups), self.estimates)

    def pieces(self) -> Iterator[dict[str, list[Any]]]:
        """Yield the columns of ``flat`` for some groups at a time, so that few are in memory at once."""
        for groups in self._slices:
            yield self._flat(groups, self._estimates(groups))

    def _flat(self, groups: slice, estimates: Mapping[str, Estimate]) -> dict[str, list[Any]]:
        pairs = zip(self._key_columns, self._places(groups), strict=True)
        keys: dict[str, list[Any]] = {each.name: [each.values[i] for i in places.tolist()] for each, places in pairs}
        return keys | {name: end.tolist() for name, end in ends(estimates)}

    @property
    def _slices(self) -> list[slice]:
        """The groups, some at a time."""
        groups, together = self.plan.groups, self._estimator.together
        step = max(_PIECE_ROWS // together, 1) * together
        return [slice(start, min(start + step, groups)) for start in range(0, groups, step)]

    def to_pandas(self) -> Any:
        """Return a pandas data frame with the columns of ``flat``."""
        return library("pandas").DataFrame(self.flat())

    def to_polars(self) -> Any:
        """Return a Polars data frame with the columns of ``flat``."""
        return library("polars").DataFrame(self)

    def to_arrow(self) -> Any:
        """Return an Arrow table with the columns of ``flat``."""
        return library("pyarrow").table(self)

    @overload
    def to_csv(self, path: None = None, progress: Progress | None = None) -> str: ...
    @overload
    def to_csv(self, path: str | Path, progress: Progress | None = None) -> None: ...
    def to_csv(self, path: str | Path | None = None, progress: Progress | None = None) -> str | None:
        """Return the columns of ``flat`` as CSV; or write them to ``path``; ``progress`` as for ``to_parquet``."""
        if path is None:
            return csv_text(self.flat())
        with (
            self._writing(path),
            in_place_of(path) as temporary,
            temporary.open("w", encoding="utf-8", newline="") as file,
        ):
            number = len(self._slices)
            for i, piece in enumerate(self.pieces()):
                file.write(csv_text(piece, header=i == 0))
                if progress is not None:
                    progress((i + 1) / number)
        return None

    def to_parquet(self, path: str | Path, progress: Progress | None = None) -> None:
        """Write the columns of ``flat`` to a Parquet file, some groups at a time.

        Args:
            path: a file; or a folder, empty or new (end it with a slash), for files part-00000.parquet and so on.
            progress: a function called with the share done so far, 0 to 1.
        """
        with self._writing(path):
            write_parquet(path, self._arrays(), len(self._slices), progress)

    def _arrays(self, written_as: Callable[[Sequence[Key]], Column] | None = None) -> Iterator[dict[str, Column]]:
        """Yield the columns of ``flat`` as arrays."""
        columns = [(each.name, (written_as or key_array)(each.values)) for each in self._key_columns]
        for groups in self._slices:
            keys = {name: values[places] for (name, values), places in zip(columns, self._places(groups), strict=True)}
            yield keys | dict(ends(self._estimates(groups)))

    @contextmanager
    def _writing(self, path: str | Path) -> Iterator[None]:
        try:
            yield
        except (OSError, duckdb.Error):
            raise OutputError(path, self.entry) from None

    def to_html(self, path: str | Path | None = None) -> str:
        """Return one self-contained HTML page, and write it to ``path`` if one is given."""
        page = report.html_page(
            f"Release from {self.plan.schema.name}", self._facts(), self._html(None), self._aged(), self.plan.sql
        )
        if path is not None:
            with self._writing(path), in_place_of(path) as temporary:
                temporary.write_text(page, encoding="utf-8")
        return page

    def plot(self, statistic: str | None = None) -> Any:
        """Return an Altair chart of one statistic (the first if none is named), with its error bars."""
        name = str(self.plan.query.statistics[0].name) if statistic is None else statistic
        if not isinstance(name, str) or name not in self.estimates:
            raise InvalidParameter(name, "statistic", f"one of {', '.join(self.estimates)}")
        title = f"{name}, {_percent(self.confidence)} error bars, ε = {exact.text(self.plan.epsilon)}"
        return plots.chart(library("altair"), self.plan, name, title, self._key_columns, self.estimates[name])

    def _repr_html_(self) -> str:
        more = [self._more(TEXT_ROWS, ".to_pandas() or .to_html()")] if self.plan.groups > TEXT_ROWS else []
        return self._html(TEXT_ROWS) + report.html_lines([*more, *self._aged()])

    def _html(self, most: int | None) -> str:
        groups, estimates = self._first(most)
        numbers = [[end.tolist() for end in each] for each in estimates.values()]
        rows = [(keys, [(v[i], a[i], b[i]) for v, a, b in numbers]) for i, keys in enumerate(groups)]
        return report.html_table([each.name for each in self._key_columns], list(estimates), rows)

    def _first(self, most: int | None) -> tuple[Sequence[Sequence[str]], Mapping[str, Estimate]]:
        """Return the keys and labels, as texts, and the estimates of the first groups, or of all."""
        texts = [[tuple(map(str, one.values())) for one in some] for some in self._groups_of_keys]
        groups = [[text for each in keys for text in each] for keys in islice(product(*texts), most)]
        if most is None:
            return groups, self.estimates
        together = self._estimator.together
        return groups, self._estimates(slice(0, min(-(-most // together) * together, self.plan.groups)))

    def _facts(self) -> list[tuple[str, str]]:
        schema = self.plan.schema
        version = [("version of the data", schema.version)] if schema.version is not None else []
        return [
            ("question", self.plan.query.text),
            ("ε", exact.text(self.plan.epsilon) if self.entry is not None else "0"),
            ("protects", self.protects),
            ("neighbors", schema.neighbors),
            ("error bars", f"{_percent(self.confidence)}{', for all cells at once' if self.simultaneous else ''}"),
            *version,
            ("ledger entry", str(self.entry)),
            *([] if self.recorded_at is None else [("recorded", self.recorded_at)]),
        ]

    @property
    def protects(self) -> str:
        """Who is protected, in words."""
        schema = self.plan.schema
        if schema.person is None:
            return "each row, taken to be one person"
        rows = "1 row" if schema.rows_per_person == 1 else f"{schema.rows_per_person} rows"
        return f"each person ({schema.person}), who counts as at most {rows}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers should know, a sentence each: about the bars, and what is not counted."""
        return (*self._about_numbers(), *self.plan.notes)

    def _about_numbers(self) -> list[str]:
        bars = f"{_percent(self.confidence)} error bars" + (" for all cells at once" if self.simultaneous else "")
        bounds = "; values beyond the declared bounds count as the bounds" if self.plan.bounded else ""
        notes = [] if self.private else ["NOT PRIVATE: made with noise for tests."]
        notes.append(f"{bars}{bounds}.")
        if self._without_bars:
            notes.append("Quantiles were asked for without intervals.")
        elif any(0 < (each.level or 0) < 1 for each in self.plan.query.statistics):
            notes.append(
                "A quantile whose bar ends at a bound has too few rows on that side to say more, or many values beyond "
                "the bound."
            )
        notes += [note for part in self.plan.parts if (note := part.measurement.note(self.plan.setting(part)))]
        if self.view == "nonnegative":
            notes.append("Negative numbers are shown as 0: do not add them up.")
        return notes

    def _remarks(self) -> list[str]:
        """Return the lines below a table: what its columns are, and its notes."""
        return [*legend(self.plan), " ".join(self._about_numbers()), *self.plan.notes]

    def _aged(self) -> list[str]:
        """Return the lines for a page, which does not say what was charged."""
        if not self.repeated:
            return self._remarks()
        return [*self._remarks(), f"This is the recorded answer of entry {self.entry}. {self._age}"]

    @property
    def _age(self) -> str:
        return age(self.recorded_at, self.modified_at)

    def to_text(self, most: int | None = None) -> str:
        """Return the answer as text for people: all groups, or the first ones only."""
        groups, estimates = self._first(most)
        heads, numbers = [each.name for each in self._key_columns], []
        for name, each in estimates.items():
            heads += [name, "error bar"]
            numbers.append(([end.tolist() for end in each], name in self._without_bars))
        rows = []
        for i, keys in enumerate(groups):
            row = list(keys)
            for (value, low, high), bare in numbers:
                width = None if bare else high[i] - low[i]
                bar = "none" if bare else bar_text(value[i], low[i], high[i])
                row += [report.shown(value[i], width), bar]
            rows.append(row)
        epsilon = exact.text(self.plan.epsilon) if self.entry is not None else "0"
        lines = [f'Release from "{self.plan.schema.name}"   ε = {epsilon}   protects {self.protects}']
        lines.append(report.text_table(heads, rows, range(len(self._key_columns))))
        if len(groups) < self.plan.groups:
            lines.append(f"  {self._more(len(groups), '.to_text(), .to_pandas() or --format csv')}")
        return "\n".join([*lines, *self._remarks(), self.charged])

    def _more(self, shown: int, where: str) -> str:
        return f"… {self.plan.groups - shown:,} more groups: see {where}"

    def __str__(self) -> str:
        return self.to_text(TEXT_ROWS)

    @property
    def charged(self) -> str:
        """What this release cost and what is left, as a sentence."""
        if self.entry is None:
            return "The number of rows is public here: nothing was charged."
        left = f"ε left: {exact.text(self.remaining or Fraction(0))}"
        return charged(self, f"ε = {exact.text(self.plan.epsilon)}", left)

    def __repr__(self) -> str:
        return f"Release({self.plan.schema.name!r}, entry={self.entry}, {self.plan.groups:,} groups)"


def bar_text(value: float, low: float, high: float) -> str:
    """Return "± 9" for a bar that is even on both sides, else "403 to 421"."""
    width = high - low
    if abs((high - value) - (value - low)) <= (1 if isinstance(value, int) else 0.02 * width):
        half = max(high - value, value - low)
        return f"± {report.shown(half, None if isinstance(half, int) else width)}"
    return f"{report.shown(low, width)} to {report.shown(high, width)}"


def _percent(confidence: Fraction) -> str:
    return f"{exact.text(100 * confidence)} %"


def library(name: str) -> Any:
    """Return an optional library, or say how to install it."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingLibrary(name) from None
