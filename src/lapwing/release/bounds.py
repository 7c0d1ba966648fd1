"""Bounds that are not public: a noisy histogram over bins that grow with the value, and the bins above the noise.

The borders of the bins are ±1, ±2 and ±5 times the powers of ten from 10^-9 to 10^15 (whole numbers: 1 to 10^15), with
one bin around zero.  A value that is a border itself lies in the bin that ends there: 100 in (50, 100].

Claim K4 (bounds).  Each row lies in at most one bin, so that one person moves the histogram by at most their mass (P1),
and the histogram with noise, and all that is made of it, is ε-differentially private.  Let m be the margin that the
noise of all bins stays within at once with a probability of 95 % (A2), and let a bin be occupied when its noisy count
is above m.  Then with at least that probability no empty bin is occupied, and every bin with more than 2m rows is.

Proof: docs/explanation/discover.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .. import exact, report
from ..engine.table import Table
from ..errors import CannotDeclare, UnsupportedQuery
from ..exact import Number
from ..ledger.ledger import Ledger
from ..measure.cells import Progress
from ..noise.distributions import DiscreteLaplace
from ..noise.entropy import SYSTEM, Entropy
from ..noise.mechanism import NINETY_FIVE
from ..noise.weighted import margins
from ..plan.clipped import Share, share_text
from ..plan.plan import Plan
from ..plan.planning import make_plan
from ..question.condition import parse_condition
from ..question.derived import sources_of
from ..question.query import columns_of, count, quoted
from ..question.schema import Column, Schema, number, plain
from ..question.sql import make_query
from .found import bounds_cell
from .pipeline import make_release
from .recorded import cost
from .result import Release

_LARGEST = 10**15
_NEAR = 10
"""A bound becomes zero if the other is at least this many times as far from zero: it costs a tenth of the precision."""


class Bin(NamedTuple):
    """A bin and what was released about it: its ends, and the noisy number of rows with an error bar."""

    low: Fraction
    high: Fraction
    value: int
    value_low: int
    value_high: int


@lru_cache
def borders(integer: bool) -> tuple[Fraction, ...]:
    """Return the borders above zero, in rising order."""
    powers = range(0 if integer else -9, 15)
    positive = [times * Fraction(10) ** power for power in powers for times in (1, 2, 5)]
    return (*([Fraction(1, 2)] if integer else []), *positive, Fraction(_LARGEST))


def edges(integer: bool) -> tuple[Fraction, ...]:
    """Return the edges of the bins as the engine compares with them."""
    above = borders(integer)
    return (*(-border for border in reversed(above)), *(_just_above(border, integer) for border in above))


def _just_above(border: Fraction, integer: bool) -> Fraction:
    """Return the edge for a border above zero: bins are [a, b), and the border itself lies in the one below it."""
    if integer:
        return border if border.denominator > 1 else border + Fraction(1, 2)
    return Fraction(repr(math.nextafter(float(border), math.inf)))


def ends(integer: bool) -> list[tuple[Fraction, Fraction]]:
    """Return where each bin begins and ends, for display; the one around zero is (0, 0)."""
    above = [Fraction(0), *borders(integer)[1:]] if integer else borders(integer)
    upper = list(pairwise(above))
    return [*((-b, -a) for a, b in reversed(upper)), (Fraction(0), Fraction(0)), *upper]


def plan_bounds(schema: Schema, column: str, *, epsilon: Number, where: str | None = None) -> Plan:
    """Return the plan of the histogram; the column needs no bounds, and bounds that it has are ignored."""
    name, declared = schema.column(column)
    if declared.kind not in ("number", "integer"):
        raise UnsupportedQuery(f'bounds of "{name}", which is not a number', 'Declare type = "number" or "integer".')
    if declared.is_computed:
        raise UnsupportedQuery(f'bounds of "{name}", which is computed', "They follow from those of its columns.")
    wide = _widened(schema, name)
    open_ended = replace(schema, columns={**schema.columns, name: plain(declared.kind)})
    condition = None if where is None else parse_condition(where, open_ended)
    used = [] if condition is None else [each for each in columns_of(condition) if schema.columns[each].is_computed]
    if name in sources_of(schema, used):
        raise UnsupportedQuery(
            f'a condition on what is computed from "{name}"', "Its bounds are what is asked: leave it out."
        )
    query = make_query([count()], [name], condition, wide, {name: edges(declared.kind == "integer")})
    return make_plan(wide, query, epsilon=epsilon, all_groups=True)


def _widened(schema: Schema, name: str) -> Schema:
    """Return the schema in which the column has bounds that hold all bins."""
    column = schema.columns[name]
    wide = number(-_LARGEST, _LARGEST, integer=column.kind == "integer")
    return replace(schema, columns={**schema.columns, name: replace(wide, missing=column.missing)})


def seen(plan: Plan) -> int:
    """Return the number of rows above which a bin is shown: 2m of claim K4."""
    return math.ceil(Fraction(2 * _margin(plan), plan.schema.row_weight))


def _margin(plan: Plan) -> int:
    (part,) = plan.parts
    return DiscreteLaplace(plan.scale(part)).simultaneous_margin(plan.groups, NINETY_FIVE)


def find_bounds(
    plan: Plan,
    table: Table,
    ledger: Ledger,
    *,
    analyst: str | None = None,
    progress: Progress | None = None,
    entropy: Entropy = SYSTEM,
) -> Bounds:
    """Release the histogram, and return the bounds that follow from it."""
    return Bounds(make_release(plan, table, ledger, analyst=analyst, progress=progress, entropy=entropy))


@dataclass(frozen=True)
class Bounds:
    """The bounds that were found: print it, or use ``low``, ``high`` and ``column()``.

    ``release`` is the noisy histogram that they come from; everything here only reads it.
    """

    release: Release

    def beside(self, modified: datetime | None, new_ledger: str | None = None) -> Bounds:
        """Return the same answer; one that was recorded before its table was modified, or began the ledger, says so."""
        return replace(self, release=self.release.beside(modified, new_ledger))

    @property
    def name(self) -> str:
        """The column."""
        return self.release.plan.query.by[0]

    @property
    def integer(self) -> bool:
        """Whether the column holds whole numbers."""
        return self.release.plan.schema.columns[self.name].kind == "integer"

    @property
    def _cells(self) -> Sequence[int]:
        cells: Sequence[int] = self.release.answer["cells"][0][0]
        return cells

    @property
    def margin(self) -> Fraction:
        """The noise of all bins stays within this many rows at once, with 95 %: a bin above it is occupied."""
        return Fraction(_margin(self.release.plan), self.release.plan.schema.row_weight)

    @cached_property
    def _occupied(self) -> list[int]:
        margin = _margin(self.release.plan)
        return [i for i, cell in enumerate(self._cells) if cell > margin]

    @property
    def occupied(self) -> list[Bin]:
        """The bins above the noise (claim K4), with error bars that hold for all bins at once."""
        estimate = self.release.at(simultaneous=True).estimates["count"]
        each = zip(ends(self.integer), *(end.tolist() for end in estimate), strict=True)
        bins = [Bin(low, high, value, least, most) for (low, high), value, least, most in each]
        return [bins[i] for i in self._occupied]

    @cached_property
    def _ends(self) -> tuple[Fraction, Fraction]:
        if not self._occupied:
            raise CannotDeclare(
                f'No bin of "{self.name}" is above the noise of {report.shown(float(self.margin))} rows',
                "Ask with a larger ε, or take bounds from what the column means.",
            )
        bins = ends(self.integer)
        low, high = bins[self._occupied[0]][0], bins[self._occupied[-1]][1]
        if 0 < _NEAR * low <= high:
            low = Fraction(0)
        if low <= _NEAR * high < 0:
            high = Fraction(0)
        return (low, high) if low < high else (low, borders(self.integer)[self.integer])  # zeros alone

    @property
    def low(self) -> Fraction:
        """The lower bound."""
        return self._ends[0]

    @property
    def high(self) -> Fraction:
        """The upper bound."""
        return self._ends[1]

    @property
    def outside(self) -> Share:
        """The share of rows with a value that lie outside the bounds: an estimate, and the ends of a 95 % bar."""
        return self.beyond(*self._ends)

    def beyond(self, low: Fraction, high: Fraction) -> Share:
        """Return the share of rows with a value that lie outside these bounds: an estimate, and a 95 % bar.

        A bin that a bound divides counts as inside for the lower end and as outside for the upper end; where its rows
        are is not known, so that there is no estimate (None) unless the bounds are borders of bins, or divide only
        bins that are not above the noise.  The first and the last bin are unlimited; the one around zero is zero.
        """
        bins = ends(self.integer)
        last = len(bins) - 1
        touching, within = [], []
        for i, (a, b) in enumerate(bins):
            if i < last // 2:  # [a, b)
                touching.append(b > low and (a <= high or i == 0))
            elif i > last // 2:  # (a, b]
                touching.append(a < high and (b >= low or i == last))
            else:
                touching.append(low <= 0 <= high)
            within.append(low <= a and b <= high and 0 < i < last)
        value, least, _ = self._outside(touching)
        divided = [i for i, (some, all_) in enumerate(zip(touching, within, strict=True)) if some and not all_]
        known = not set(divided) & set(self._occupied)
        return value if known else None, least, self._outside(within)[2]

    def _outside(self, inside: Sequence[bool]) -> tuple[float, float, float]:
        within = sum(cell for cell, is_in in zip(self._cells, inside, strict=True) if is_in)
        beyond = sum(self._cells) - within
        (part,) = self.release.plan.parts
        bins = len(inside)
        # bounds may follow from the noise: the bar must hold for every range of bins that they could have been
        sure = 1 - Fraction(1, 20 * bins * (bins + 1))
        sums = np.array([inside, np.logical_not(inside)], dtype=float).T
        off_within, off_beyond = margins(sums, self.release.plan.scale(part), sure)
        return (
            _share(max(beyond, 0), max(within, 0)),
            _share(max(beyond - off_beyond, 0.0), within + off_within),
            _share(max(beyond + off_beyond, 0.0), max(within - off_within, 0.0)),
        )

    def column(self) -> Column:
        """Return the declaration of the column with the bounds found."""
        return number(self.low, self.high, integer=self.integer, missing=self._missing)

    @property
    def _missing(self) -> tuple[Any, ...]:
        return self.release.plan.schema.columns[self.name].missing

    def to_toml(self) -> str:
        """Return the declaration as lines of a source file."""
        lines = [f"[columns.{report.toml_name(self.name)}]", f"low = {exact.text(self.low)}"]
        lines += [f"high = {exact.text(self.high)}", *(["integer = true"] if self.integer else [])]
        if self._missing:
            lines.append(f"missing = [{', '.join(map(report.toml, self._missing))}]")
        return "\n".join(lines) + "\n"

    @property
    def share(self) -> str:
        """The SQL that asks for the share of rows outside the bounds, once they are declared."""
        name, low, high = quoted(self.name), exact.text(self.low), exact.text(self.high)
        return f"AVG(CASE WHEN {name} < {low} OR {name} > {high} THEN 1 ELSE 0 END)"

    @property
    def entry(self) -> int | None:
        """The number in the ledger."""
        return self.release.entry

    @property
    def charged(self) -> str:
        """What was charged and what is left, as a sentence."""
        return self.release.charged

    @property
    def new_ledger(self) -> str | None:
        """That this release began the ledger, if it did."""
        return self.release.new_ledger

    def to_dict(self) -> dict[str, Any]:
        """Return what was found for JSON, with the fields of its release (docs/reference/json.md)."""
        some = bool(self._occupied)
        share = dict(zip(("value", "low", "high"), self.outside, strict=True)) if some else None
        release = self.release.to_dict()
        omitted = ("confidence", "simultaneous", "view", "columns", "rows", "notes", "private")
        answer = {
            **{key: each for key, each in release.items() if key not in omitted},
            "column": self.name,
            "low": exact.text(self.low) if some else None,
            "high": exact.text(self.high) if some else None,
            "integer": self.integer,
            "margin": exact.text(self.margin),
            "outside": share,
            "occupied": [
                {"low": exact.text(a), "high": exact.text(b), "count": {"value": value, "low": least, "high": most}}
                for a, b, value, least, most in self.occupied
            ],
        }
        return answer if self.release.private else {**answer, "private": False}

    def to_csv(self) -> str:
        """Return the occupied bins as CSV."""
        lines = [f"{exact.text(a)},{exact.text(b)},{','.join(map(str, bar))}" for a, b, *bar in self.occupied]
        return "\n".join(["low,high,count,count_low,count_high", *lines]) + "\n"

    def __str__(self) -> str:
        plan = self.release.plan
        head = f'Bounds of "{self.name}" in "{plan.schema.name}"   ε = {exact.text(plan.epsilon)}'
        lines = [f"{head}   protects {self.release.protects}"]
        if self._occupied:
            rows = [
                [_shown(low), _shown(high), report.shown(value), report.bar_text(value, least, most)]
                for low, high, value, least, most in self.occupied
            ]
            lines.append(report.text_table(["from", "to", "rows", "error bar"], rows, ()))
            lines += [
                f"low = {exact.text(self.low)}, high = {exact.text(self.high)}",
                f"Outside: {share_text(self.outside, 'the rows with a value')}; they would count as the bounds.  "
                f"Ask for it once they are declared: {self.share}",
            ]
            if {0, len(self._cells) - 1} & set(self._occupied):
                lines.append("There may be values beyond ± 10^15: they are in the last bin.")
        else:
            lines.append("  No bin is above the noise.")
        lines.append(f"95 %: no empty bin is shown, and every bin with more than {seen(plan):,} rows is.")
        if not self.release.private:
            lines.append("NOT PRIVATE: made with noise for tests.")
        return "\n".join([*lines, *cost(self)])

    def _repr_html_(self) -> str:
        return bounds_cell(self)

    def __repr__(self) -> str:
        return f"Bounds({self.name!r}, entry={self.entry}, {len(self._occupied):,} occupied bins)"


def _share(part: float, rest: float) -> float:
    whole = part + rest
    return part / whole if whole > 0 else float(part > 0)


def _shown(border: Fraction) -> str:
    return f"{int(border):,}" if border.denominator == 1 else exact.text(border)
