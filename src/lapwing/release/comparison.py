"""A comparison of released numbers, with error bars: it prints and exports like a release, and costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from .. import exact, report
from ..errors import OutputError, UnknownName
from ..exact import Number
from ..measure.cells import Column, Progress
from ..measure.measurement import Estimate
from ..optional import library
from ..plan.plan import bar_confidence
from ..question.codes import Key, written
from . import arrow, plots
from .columns import KeyColumn, csv_text, days_or_keys, ends, key_array, key_values, total_name
from .comparing import Compared, about_compared, as_compared
from .files import in_place_of, write_parquet
from .noise_marks import Marks, bounded, marks, suppressed, told
from .page import comparison_cell, comparison_page
from .texts import text_columns

if TYPE_CHECKING:
    from .result import Release

TEXT_ROWS = 40
"""How many rows are printed unless all are asked for."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Differences, ratios, shares or totals of the numbers of a release: print it, or use ``rows``, ``to_pandas()``, ….

    ``what`` says what was compared.  ``keys`` are the columns of keys that are left, ``left_out`` the statistics that
    cannot be compared so.  Like a release it has ``at``, ``suppressed`` and ``noise_marks``.
    """

    release: Release
    what: str
    made: Callable[[Fraction, bool], Sequence[Compared]]
    key_columns: Sequence[KeyColumn]
    places: Sequence[Column]
    size: int
    confidence: Fraction
    simultaneous: bool
    suppress: bool = False

    def at(self, confidence: Number | None = None, *, simultaneous: bool | None = None) -> Comparison:
        """Return the same comparison with error bars of another confidence, or with bars for all cells at once."""
        return replace(
            self,
            confidence=self.confidence if confidence is None else bar_confidence(confidence),
            simultaneous=self.simultaneous if simultaneous is None else bool(simultaneous),
        )

    def suppressed(self) -> Comparison:
        """Return a view without the numbers whose noise is high, or say nothing."""
        return replace(self, suppress=True)

    @cached_property
    def compared(self) -> Sequence[Compared]:
        """The numbers, and what they are, as they are shown."""
        return [as_compared(self.release.plan, each) for each in self.made(self.confidence, self.simultaneous)]

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """The values and the ends of their error bars, as arrays."""
        found = {each.name: bounded(each.estimate) for each in self.compared}
        return suppressed(found, self.noise_marks) if self.suppress else found

    @cached_property
    def noise_marks(self) -> dict[str, Marks]:
        """The mark of each number (claim G4), from its 95 % bar."""
        usual = self.made(Fraction(19, 20), False)
        levels = self.release.plan.schema.noise_levels
        return {
            each.name: marks(each.estimate, levels, each.low, each.high, difference=each.kind == "difference")
            for each in usual
        }

    @property
    def left_out(self) -> list[str]:
        """The names of the statistics of the release that cannot be compared so."""
        names = (str(statistic.name) for statistic in self.release.plan.query.statistics)
        return [name for name in names if name not in self.estimates]

    @property
    def notes(self) -> list[str]:
        """What a reader of the numbers should know, a sentence each."""
        sure = (
            f"{exact.text(100 * self.confidence)} % error bars{' for all cells at once' if self.simultaneous else ''}."
        )
        left = [f"Not compared: {', '.join(self.left_out)}."] if self.left_out else []
        private = [] if self.release.private else ["NOT PRIVATE: made with noise for tests."]
        plan = self.release.plan
        return [*plan.weighed_down, *private, sure, *left, *plan.not_counted]

    # --- rows and columns ---

    def __len__(self) -> int:
        return self.size

    def _places(self) -> list[Column]:
        return [self.places[each.at] for each in self.key_columns]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield a dict for each row: its keys and their labels, and for each number value, low, high and noise."""
        keys = [
            [written(each.values[i]) for i in at] for each, at in zip(self.key_columns, self._places(), strict=True)
        ]
        numbers = {
            name: [end.tolist() for end in (*each, self.noise_marks[name])] for name, each in self.estimates.items()
        }
        for i in range(len(self)):
            row: dict[str, Any] = {each.name: values[i] for each, values in zip(self.key_columns, keys, strict=True)}
            for name, (value, low, high, mark) in numbers.items():
                row[name] = {"value": value[i], "low": low[i], "high": high[i], "noise": mark[i]}
            yield row

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dict for each group of the keys that are left."""
        return list(self)

    def __getitem__(self, name: str) -> Any:
        """Return the ``Estimate`` of a statistic, or the array of a column of keys."""
        for each, places in zip(self.key_columns, self._places(), strict=True):
            if each.name == name:
                return key_values(each.values)[places]
        if name not in self.estimates:
            raise UnknownName(name, "The comparison", [*(each.name for each in self.key_columns), *self.estimates])
        return self.estimates[name]

    def _columns(self, keys_as: Callable[[Sequence[Key | None]], Column]) -> dict[str, Column]:
        keys = {
            each.name: keys_as(each.values)[places]
            for each, places in zip(self.key_columns, self._places(), strict=True)
        }
        return keys | dict(ends(self.estimates, self.noise_marks))

    def flat(self) -> dict[str, list[Any]]:
        """Return plain columns, as those of a release."""
        return {name: column.tolist() for name, column in self._columns(key_values).items()}

    def pieces(self) -> Iterator[dict[str, list[Any]]]:
        """Yield the columns of ``flat``, all at once."""
        yield self.flat()

    @property
    def entry(self) -> int | None:
        """The number of the release in the ledger."""
        return self.release.entry

    @property
    def columns(self) -> list[dict[str, Any]]:
        """What each column is: its name and its kind, and the title and unit of differences and totals."""
        plan = self.release.plan
        keys: list[dict[str, Any]] = [
            {"name": each.name, "kind": "label" if each.is_label else "key"} for each in self.key_columns
        ]
        compared = ({"name": each.name, "kind": each.kind, **about_compared(plan, each)} for each in self.compared)
        return [*keys, *compared]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison for JSON (docs/reference/json.md)."""
        plan = self.release.plan
        return {
            "source": plan.schema.name,
            "entry": self.release.entry,
            "comparison": self.what,
            "epsilon": "0",
            "query": plan.query.text,
            "confidence": exact.text(self.confidence),
            "simultaneous": self.simultaneous,
            "noise_levels": {name: exact.text(each) for name, each in vars(plan.schema.noise_levels).items()},
            "suppressed": self.suppress,
            "columns": self.columns,
            "rows": self.rows,
            "notes": self.notes,
        }

    # --- forms ---

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the columns to readers of Arrow."""
        return arrow.stream([self._columns(days_or_keys)], requested_schema)

    def to_pandas(self) -> Any:
        """Return a pandas data frame with the columns of ``flat``."""
        return library("pandas").DataFrame(self.flat())

    def to_polars(self) -> Any:
        """Return a Polars data frame with the columns of ``flat``."""
        return library("polars").DataFrame(self)

    def to_arrow(self) -> Any:
        """Return an Arrow table with the columns of ``flat``."""
        return library("pyarrow").table(self)

    def to_csv(self, path: str | Path | None = None, progress: Progress | None = None) -> str | None:
        """Return the columns of ``flat`` as CSV, or write them to ``path``."""
        text = csv_text(self.flat())
        if path is None:
            return text
        self._write(path, text)
        return None

    def to_parquet(self, path: str | Path, progress: Progress | None = None) -> None:
        """Write the columns of ``flat`` to a Parquet file."""
        try:
            write_parquet(path, iter([self._columns(key_array)]), 1, progress)
        except (OSError, duckdb.Error):
            raise OutputError(path, self.release.entry) from None

    def to_html(self, path: str | Path | None = None) -> str:
        """Return one self-contained HTML page, and write it to ``path`` if one is given."""
        page = comparison_page(self)
        if path is not None:
            self._write(path, page)
        return page

    def package(
        self, path: str | Path, *, only: str | Sequence[str] = (), force: bool = False, safe_csv: bool = False
    ) -> list[str]:
        """Write a folder with the comparison in several formats, as ``Release.package`` does."""
        from ..exports.package import package

        return package(self, path, only=only, force=force, safe_csv=safe_csv)

    def _write(self, path: str | Path, text: str) -> None:
        try:
            with in_place_of(path) as temporary:
                temporary.write_text(text, encoding="utf-8", newline="")
        except OSError:
            raise OutputError(path, self.release.entry) from None

    def plot(
        self, statistic: str | None = None, kind: str | None = None, *, theme: str | None = "light",
        width: int | None = None,
    ) -> Any:  # fmt: skip
        """Return an Altair chart with error bars: of one number, or of all, a panel each; as that of a release."""
        return plots.comparison_chart(self, statistic, kind, theme, width)

    def texts(self, most: int | None) -> list[list[str]]:
        """Return the keys and labels of the first rows, as texts."""
        total, columns = total_name(self.key_columns), self.key_columns
        each = [[total if value is None else str(written(value)) for value in column.values] for column in columns]
        places = list(zip(*(place[:most].tolist() for place in self._places()), strict=True)) or [()] * len(self)
        return [[texts[i] for texts, i in zip(each, place, strict=True)] for place in places]

    def _repr_html_(self) -> str:
        return comparison_cell(self, TEXT_ROWS)

    def to_text(self, most: int | None = None) -> str:
        """Return the comparison as text for people: all rows, or the first ones only."""
        groups, names = self.texts(most), [each.name for each in self.key_columns]
        heads, numbers = text_columns(self.estimates, self.noise_marks, len(groups))
        rows = [[*keys, *cells] for keys, cells in zip(groups, numbers, strict=True)]
        entry = "" if self.release.entry is None else f", entry {self.release.entry}"
        lines = [f'{self.what}, from the release of "{self.release.plan.schema.name}"{entry}']
        lines.append(report.text_table([*names, *heads], rows, range(len(names))))
        if len(groups) < len(self):
            lines.append(f"  … {len(self) - len(groups):,} more rows: see .to_text(), .to_pandas() or --format csv")
        lines += [told(self.release.plan.schema.noise_levels)] if "noise" in heads else []
        return "\n".join([*lines, *self.notes, self.charged])

    @property
    def charged(self) -> str:
        """What the release cost; the comparison itself costs nothing."""
        return f"{self.release.charged}  Comparing costs nothing."

    def __str__(self) -> str:
        return self.to_text(TEXT_ROWS)

    def __repr__(self) -> str:
        return f"Comparison({self.what!r}, {len(self):,} rows)"


def left(columns: Sequence[KeyColumn], gone: Sequence[int]) -> list[KeyColumn]:
    """Return the columns of the keys that are left when some are gone."""
    kept = sorted({each.at for each in columns if each.at not in gone})
    return [each._replace(at=kept.index(each.at)) for each in columns if each.at in kept]
