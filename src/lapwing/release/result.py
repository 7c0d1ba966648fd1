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
from itertools import islice
from pathlib import Path
from typing import Any, Literal, overload

import duckdb

from .. import exact, report
from ..errors import OutputError, UnknownName
from ..exact import Number
from ..ledger.entry import Budget
from ..measure.cells import Column, Progress, unpacked
from ..measure.linear import Groups, Noisy
from ..measure.measurement import Estimate
from ..noise.mechanism import NINETY_FIVE
from ..optional import library
from ..plan.naming import about_key, about_statistic
from ..plan.plan import Plan, bar_confidence, level_of
from ..question.codes import Key
from ..question.cut import WHOLE, Cut
from . import arrow, plots
from .afterwards import CLIPPED, COMBINED, FITTED, Afterwards
from .columns import KeyColumn, csv_text, days_or_keys, ends, key_array, key_values, total_name
from .cutting import numbers
from .estimate import Estimator
from .files import in_place_of, write_parquet
from .groups import GroupKeys
from .legend import legend, percent, protects
from .noise_marks import Marks, as_shown, bounded, suppressed, told
from .page import release_cell, release_page
from .recorded import age, charged, cost, entries_text, modified_after
from .several import SeveralEstimator
from .texts import text_columns

TEXT_ROWS = 40
"""How many groups are printed unless all are asked for."""

_PIECE_ROWS = 250_000
"""How many groups are estimated and written at a time."""


@dataclass(frozen=True)
class Release(Afterwards):
    """The answer of a release: print it, or use ``rows``, ``to_pandas()``, ``to_dict()`` and so on.

    ``len(answer)`` is the number of groups, a loop goes over their ``rows``, and ``answer["count"]`` has the arrays
    ``value``, ``low`` and ``high`` of a statistic, or a column of keys.  Readers of Arrow take it directly:
    ``pl.DataFrame(answer)``, ``pa.table(answer)``, ``pd.DataFrame.from_arrow(answer)``, ``FROM answer`` in DuckDB.

    ``entry`` is its number in the ledger, None if the answer is public.  ``recorded_at`` is when it was recorded.
    ``modified_at`` is when the files of the table were modified, if this is a recorded answer and they were modified
    after it: then ask with a new version of the source.  ``at`` returns the same answer with other error bars,
    ``nonnegative`` one without negative counts, ``cut`` some groups in another order, ``table`` one of several tables;
    ``combined`` one with the numbers of other releases, which are its ``evidence``;
    they only read what was released, and cost nothing.  ``budget`` is what was spent of the total ε, and ``head`` the
    last hash of the ledger, when the answer was given; ``new_ledger`` says that this release began the ledger.
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
    suppress: bool = False
    shown: Cut = WHOLE
    rounded: bool = False
    budget: Budget | None = None
    head: str | None = None
    new_ledger: str | None = None
    evidence: tuple[Release, ...] = ()

    def at(self, confidence: Number | None = None, *, simultaneous: bool | None = None) -> Release:
        """Return the same answer with error bars of another confidence, or with bars for all cells at once."""
        return self._seen(
            confidence=self.confidence if confidence is None else bar_confidence(confidence),
            simultaneous=self.simultaneous if simultaneous is None else bool(simultaneous),
        )

    def nonnegative(self, *, rounded: bool = False) -> Release:
        """Return a view in which counts, and sums that cannot be negative, are at least 0: biased.

        Of one table, negative numbers are shown as 0.  Single cells are closer to the truth then, but totals over many
        cells become too large: sum the unbiased view.  Several tables are fitted so that they still add up exactly
        (claim U8), whole numbers if ``rounded``; they have no error bars.
        """
        return self._seen(view="nonnegative", rounded=bool(rounded))

    def showing(self, cut: Cut) -> Release:
        """Return the same answer, of which a cut shows some groups."""
        return self._seen(shown=cut)

    def beside(self, modified: datetime | None, new_ledger: str | None = None) -> Release:
        """Return the same answer; one that was recorded before its table was modified, or began the ledger, says so."""
        later = modified_after(self.recorded_at, modified) if self.repeated else None
        return self._seen(modified_at=later, new_ledger=new_ledger)

    def _seen(self, **changes: Any) -> Release:
        """Return another view of the same noisy integers, which are read from the record once."""
        other = replace(self, **changes)
        for known in ("cells", "_made"):
            if known in vars(self):
                vars(other)[known] = vars(self)[known]
        return other

    @property
    def private(self) -> bool:
        """Whether the noise was real; False only in tests."""
        return all(bool(each.answer.get("private", True)) for each in (self, *self.evidence))

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
        return self._estimates(self._groups)

    @cached_property
    def _groups(self) -> Groups:
        """The groups that are shown, in their order."""
        if self.shown == WHOLE:
            return slice(0, self.plan.groups)
        return self._keys.shown(self.shown, self._all_pieces, lambda some: dict(ends(self._estimates(some))))

    @cached_property
    def _estimator(self) -> Estimator | SeveralEstimator:
        if self.plan.several is not None:
            tables, noisy = self._combined
            return SeveralEstimator(self.plan, noisy, self.confidence, self.simultaneous, self._made, tables)
        return Estimator(self.plan, self.cells, self.answer.get("rows"), self.confidence, self.simultaneous)

    @cached_property
    def _made(self) -> dict[Any, Any]:
        """What was computed of several tables."""
        return {}

    def _estimates(self, groups: Groups) -> dict[str, Estimate]:
        statistics = self.plan.query.statistics
        if self.view == "nonnegative":
            estimates = self._estimator.without_negative(groups, rounded=self.rounded)
        else:
            estimates = self._estimator.of(groups)
        pairs = zip(statistics, estimates, strict=True)
        found = {str(statistic.name): bounded(as_shown(statistic, each)) for statistic, each in pairs}
        return suppressed(found, self._marks(groups)) if self.suppress else found

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the key columns."""
        return tuple(each.name for each in self.key_columns if each.is_key)

    @cached_property
    def group_keys(self) -> list[tuple[Key, ...]]:
        """The keys of every group that is shown; of the whole answer, in their public order."""
        return self._keys.tuples(self._groups)

    @cached_property
    def _keys(self) -> GroupKeys:
        return GroupKeys(self.plan)

    @property
    def key_columns(self) -> list[KeyColumn]:
        """The columns of keys, and of their labels."""
        return self._keys.columns

    @property
    def columns(self) -> list[dict[str, Any]]:
        """What each column is: its name, kind, title and unit, and for a statistic the scale of the noise behind it."""
        keys = self.plan.query.titles or self.plan.query.by
        described: list[dict[str, Any]] = [
            {"name": each.name, "kind": "label", "of": keys[each.at]}
            if each.is_label
            else {"name": each.name, "kind": "grouping", "of": [keys[i] for i in each.summed]}
            if each.summed
            else {"name": each.name, "kind": "key", **about_key(self.plan, each.at)}
            for each in self.key_columns
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
        for some in self._pieces:
            estimates = self.estimates if len(self._pieces) == 1 else self._estimates(some)
            found = self._marks(some)
            columns = [(name, [end.tolist() for end in (*each, found[name])]) for name, each in estimates.items()]
            for i, row in enumerate(self._keys.rows(some)):
                for name, (value, low, high, mark) in columns:
                    row[name] = {"value": value[i], "low": low[i], "high": high[i], "noise": mark[i]}
                yield row

    def __len__(self) -> int:
        return len(numbers(self._groups))

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> Any:
        """Return the ``Estimate`` of a statistic, arrays value, low and high; or the array of a column of keys."""
        if not isinstance(name, str) or name not in self._names:
            raise UnknownName(name, "The release", self._names)
        for each, places in zip(self.key_columns, self._keys.places(self._groups), strict=True):
            if each.name == name:
                return key_values(each.values)[places]
        return self.estimates[name]

    @property
    def _names(self) -> list[str]:
        keys = [each.name for each in self.key_columns]
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
            "combined": list(self.entries) if self.evidence else [],
            "repeated": self.repeated,
            "recorded_at": self.recorded_at,
            "modified_at": self.modified_at,
            "epsilon": exact.text(self.epsilon),
            "delta": "0",
            "neighbors": self.plan.schema.neighbors,
            "rows_per_person": self.plan.schema.rows_per_person,
            "query": self.plan.whole.query.text,
            "tables": [] if self.plan.several is None else [list(table) for table in self.tables],
            "confidence": exact.text(self.confidence),
            "simultaneous": self.simultaneous,
            "view": self.view,
            "noise_levels": {name: exact.text(each) for name, each in vars(self.plan.schema.noise_levels).items()},
            "suppressed": self.suppress,
            "cut": None if self.shown == WHOLE else {**self.shown.to_dict(), "groups": self.plan.groups},
            "columns": self.columns,
            "rows": self.rows,
            "notes": list(self.notes),
            "remaining": None if self.remaining is None else exact.text(self.remaining),
        }
        return fields if self.private else {**fields, "private": False}

    def flat(self) -> dict[str, list[Any]]:
        """Return plain columns: keys and labels (ward, ward_label), numbers (n, n_low, n_high), marks (n_noise)."""
        return self._flat(self._groups, self.estimates)

    def pieces(self) -> Iterator[dict[str, list[Any]]]:
        """Yield the columns of ``flat`` for some groups at a time, so that few are in memory at once."""
        for groups in self._pieces:
            yield self._flat(groups, self._estimates(groups))

    def _flat(self, groups: Groups, estimates: Mapping[str, Estimate]) -> dict[str, list[Any]]:
        pairs = zip(self.key_columns, self._keys.places(groups), strict=True)
        keys: dict[str, list[Any]] = {each.name: [each.values[i] for i in places.tolist()] for each, places in pairs}
        return keys | {name: end.tolist() for name, end in ends(estimates, self._marks(groups))}

    @cached_property
    def _pieces(self) -> Sequence[Groups]:
        """The groups that are shown, some at a time."""
        groups = self._groups
        if isinstance(groups, slice):
            return self._all_pieces
        return [groups[start : start + _PIECE_ROWS] for start in range(0, max(len(groups), 1), _PIECE_ROWS)]

    @property
    def _all_pieces(self) -> list[slice]:
        """All groups, some at a time."""
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
            return csv_text(self.flat(), whole=self.adding_up)
        with (
            self._writing(path),
            in_place_of(path) as temporary,
            temporary.open("w", encoding="utf-8", newline="") as file,
        ):
            number = len(self._pieces)
            for i, piece in enumerate(self.pieces()):
                file.write(csv_text(piece, header=i == 0, whole=self.adding_up))
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
            write_parquet(path, self._arrays(), len(self._pieces), progress)

    def _arrays(
        self, written_as: Callable[[Sequence[Key | None]], Column] | None = None
    ) -> Iterator[dict[str, Column]]:
        """Yield the columns of ``flat`` as arrays."""
        columns = [(each.name, (written_as or key_array)(each.values)) for each in self.key_columns]
        for groups in self._pieces:
            keys = {
                name: values[places] for (name, values), places in zip(columns, self._keys.places(groups), strict=True)
            }
            yield keys | dict(ends(self._estimates(groups), self._marks(groups)))

    @contextmanager
    def _writing(self, path: str | Path) -> Iterator[None]:
        try:
            yield
        except (OSError, duckdb.Error):
            raise OutputError(path, self.entry) from None

    def to_html(self, path: str | Path | None = None) -> str:
        """Return one self-contained HTML page, and write it to ``path`` if one is given."""
        page = release_page(self)
        if path is not None:
            with self._writing(path), in_place_of(path) as temporary:
                temporary.write_text(page, encoding="utf-8")
        return page

    def package(
        self, path: str | Path, *, only: str | Sequence[str] = (), force: bool = False, safe_csv: bool = False
    ) -> list[str]:
        """Write a folder with the answer in several formats (docs/how-to/hand-over.md), and return the files' names.

        ``only`` names formats, ``force`` replaces a package, ``safe_csv`` shields texts from spreadsheets.
        """
        from ..exports.package import package

        return package(self, path, only=only, force=force, safe_csv=safe_csv)

    def plot(
        self, statistic: str | None = None, kind: str | None = None, *, theme: str | None = "light",
        width: int | None = None,
    ) -> Any:  # fmt: skip
        """Return an Altair chart with error bars: of one statistic, or of all, a panel each.

        Args:
            statistic: the name of one statistic.
            kind: points, bars, lines or heatmap (two keys); what fits the keys if none is given.
            theme: light or dark; None for a chart without a look of its own, to be put into another chart.
            width: the width of a panel in pixels.
        """
        return plots.release_chart(self, statistic, kind, theme, width)

    def _repr_html_(self) -> str:
        more = [self._more(TEXT_ROWS, ".to_pandas() or .to_html()")] if len(self) > TEXT_ROWS else []
        return release_cell(self, *self._first(TEXT_ROWS), [*more, *cost(self)[1:]])

    def _first(self, most: int | None) -> tuple[list[list[Any]], Mapping[str, Estimate], Mapping[str, Marks]]:
        """Return the keys and labels, and the estimates and marks, of the first groups, or of all; None is a total."""
        some, together = self._groups, self._estimator.together
        if most is not None:
            few = slice(0, min(-(-most // together) * together, self.plan.groups))
            some = few if isinstance(some, slice) else some[:most]
        rows = islice(self._keys.rows(some), most)
        groups = [list(row.values()) for row in rows]
        return groups, self.estimates if most is None else self._estimates(some), self._marks(some)

    @property
    def protects(self) -> str:
        """Who is protected, in words."""
        return protects(self.plan.schema)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers should know, a sentence each: who weighs less, the bars, what is not counted."""
        return (*self.plan.weighed_down, *self._about_numbers(), *self.plan.not_counted)

    def _about_numbers(self) -> list[str]:
        bars = f"{percent(self.confidence)} error bars" + (" for all cells at once" if self.simultaneous else "")
        any_bars = any(each.name not in self._without_bars for each in self.plan.query.statistics)
        bounds = ["values beyond the declared bounds count as the bounds"] if self.plan.bounded else []
        notes = [] if self.private else ["NOT PRIVATE: made with noise for tests."]
        if self.evidence:
            notes.append(COMBINED.format(entries_text(self.entries)))
            older = (each for each in (self, *self.evidence) if each.modified_at is not None)
            notes += [f"Entry {each.entry}: {age(each.recorded_at, each.modified_at)}" for each in older]
        if said := "; ".join([bars] * any_bars + bounds):
            notes.append(f"{said[0].upper()}{said[1:]}.")
        if self._without_bars and self.plan.several is None:
            notes.append("Quantiles were asked for without intervals.")
        elif any(0 < (each.level or 0) < 1 for each in self.plan.query.statistics):
            notes.append(
                "A quantile whose bar ends at a bound has too few rows on that side to say more, or many values beyond "
                "the bound."
            )
        notes += [note for part in self.plan.parts if (note := part.measurement.note(self.plan.setting(part)))]
        if self.view == "nonnegative":
            notes.append(CLIPPED if self.plan.several is None else FITTED)
        return notes + self.shown.notes(self.keys, simultaneous=self.simultaneous)

    def _remarks(self) -> list[str]:
        """Return the lines below a table: what its columns are, and its notes."""
        plan = self.plan
        return [*plan.weighed_down, *legend(plan), " ".join(self._about_numbers()), *plan.not_counted]

    @property
    def about(self) -> list[str]:
        """The lines for a page, beside what is not counted: who weighs less, the bars, how old a recorded answer is."""
        old = f"This is the recorded answer of entry {self.entry}. {age(self.recorded_at, self.modified_at)}"
        lines = [*self.plan.weighed_down, " ".join(self._about_numbers())]
        return [*lines, old] if self.repeated and not (self.completed or self.evidence) else lines

    def to_text(self, most: int | None = None) -> str:
        """Return the answer as text for people: all groups, or the first ones only."""
        groups, estimates, found = self._first(most)
        names = [each.name for each in self.key_columns]
        bare = self._without_bars
        heads, numbers = text_columns(estimates, found, len(groups), bare, bare & self.adding_up)
        total = total_name(self.key_columns)
        texts = [[total if key is None else str(key) for key in keys] for keys in groups]
        rows = [[*keys, *cells] for keys, cells in zip(texts, numbers, strict=True)]
        epsilon = exact.text(self.epsilon)
        lines = [f'Release from "{self.plan.schema.name}"   ε = {epsilon}   protects {self.protects}']
        lines.append(report.text_table([*names, *heads], rows, range(len(names))))
        lines += [told(self.plan.schema.noise_levels)] if "noise" in heads else []
        lines += [f"  {len(self):,} of {self.plan.groups:,} groups: {self.shown.text}"] if self.shown != WHOLE else []
        if len(groups) < len(self):
            lines.append(f"  {self._more(len(groups), '.to_text(), .to_pandas() or --format csv')}")
        return "\n".join([*lines, *self._remarks(), *cost(self)])

    def _more(self, shown: int, where: str) -> str:
        return f"… {len(self) - shown:,} more groups: see {where}"

    def __str__(self) -> str:
        return self.to_text(TEXT_ROWS)

    @property
    def charged(self) -> str:
        """What this release cost and what is left, as a sentence."""
        if self.entry is None:
            return "The number of rows is public here: nothing was charged."
        if self.evidence:
            return f"Nothing was charged beside {entries_text(self.entries)}."
        left = f"ε left: {exact.text(self.remaining or Fraction(0))}"
        return charged(self, f"ε = {exact.text(self.plan.epsilon)}", left)

    def __repr__(self) -> str:
        return f"Release({self.plan.schema.name!r}, entry={self.entry}, {self.plan.groups:,} groups)"
