"""Statistics → integer cells, and how far one person can move them.

A row of weight 1 carries one unit of mass, and a measurement divides it over cells: a partition of unity.  For a value
on its column's grid, i = 0 … M steps above the lower bound, with M steps in all:

    form        cells                                              mass of a row
    rows        n                                                  1
    count       present (and missing)                              1
    total       Σv, v = i + low                                    max(|low|, |high|)
    mean        A = Σi, B = Σ(M - i) (and missing: M each)         M
    variance    Σ(M-i)², Σ2i(M-i), Σi² (and missing: M² each)      M²
    whole sum   Σi           (change_one, whole table)             M between neighbors
    whole variance  nΣi² - (Σi)²  (change_one, whole table)        M²(n - 1) between neighbors
    quantiles   rows between the values that ``selection`` finds   1
    tree        rows in each node of a tree of bins (``tree``)     its levels

Claim P1 (mass).  A row of weight w moves the cells of a measurement by exactly w times its mass in L1 (total: at most),
whatever its value, key or group.  So a person whose weights add up to at most W moves them by at most W·mass under
add_remove, and by at most 2·W·mass under change_one.

Claim P2 (mean).  The mean is (A·high + B·low)/(A + B) steps, the count (A + B)/M, the sum (A·high + B·low)/M steps: one
measurement gives all three, and the variance of the mean is half of that by a centred sum and a count at ε/2 each.

Claim P3 (variance).  With b0, b1, b2 the three sums and N = b0 + b1 + b2 = M²n, the variance (dividing by n) is
M²·(b0·b2 - b1²/4)/N² steps², the mean low + M·(b1/2 + b2)/N steps.

Claim P4 (one cell).  Under change_one and without groups, a person of weight at most W moves a count by at most W, and
a total by at most W·(max(high, 0) - min(low, 0)).

Claim P5 (whole table).  Under change_one, when every row is a person, without WHERE and groups, n is the same in all
neighbors and needs no noise.  A missing value counts as the middle of the grid; then Σi moves by at most M and
nΣi² - (Σi)² by at most M²(n - 1), so that the mean has the sensitivity (U - L)/n and the variance (U - L)²(n - 1)/n².

The engine returns n, the number of present values, Σi and Σi² for each group; the cells follow from them in integers.
Mean and variance cells are multiplied by a public constant that makes a row's mass at least 2^16, so that the noise is
as good as continuous.  Proofs: docs/explanation/measure.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..question.query import Condition, Query, Statistic, quoted
from ..question.schema import Grid, Schema
from .tree import Tree, make_tree

Form = Literal["rows", "count", "total", "mean", "variance", "whole sum", "whole variance", "quantiles", "tree"]

UNIT = Grid(Fraction(1), 0, 1)
"""The grid of a condition: no, yes."""

_FLAT = 50
"""Up to this many bins there is no tree: from some 14 to 48 on it pays, depending on ε."""

WITHOUT = " without intervals"
_FINE = 2**16

CLAIMS: dict[Form, str] = {
    "rows": "P1", "count": "P1", "total": "P1", "mean": "P2", "variance": "P3",
    "whole sum": "P5", "whole variance": "P5", "quantiles": "Q1", "tree": "D1",
}  # fmt: skip

Linear = Literal["rows", "count", "sum"]


class Sums(NamedTuple):
    """What the engine returns for one group and one target, in units of the rows' weight.

    Python's integers, or arrays of them, with one for each group.
    """

    rows: Any
    present: Any
    first: Any
    second: Any


class Spread(NamedTuple):
    """What the engine returns for quantiles, sorted by group and grid index: the weight of the rows at each index."""

    groups: NDArray[np.int64]
    indices: NDArray[np.int64]
    weights: NDArray[np.int64]


@dataclass(frozen=True)
class Measurement:
    """What is measured of one column or condition (the target), for every group.

    ``missing`` says that rows whose value is missing are counted in a cell of their own; ``fill`` is the index that
    a missing value counts as, where every row must count.  Quantiles have their ``levels``, in rising order, and
    ``interval`` says whether error bars are measured too; how they are found is told in ``selection``.  A tree has
    ``bins``, the groups of the last key, over which its cells reach.
    """

    form: Form
    column: str | None = None
    condition: Condition | None = None
    grid: Grid = UNIT
    missing: bool = False
    levels: tuple[Fraction, ...] = ()
    interval: bool = True
    bins: int = 0

    @property
    def target(self) -> str:
        """The column or the condition, as text."""
        if self.column is None:
            return "rows" if self.form == "rows" else str(self.condition)
        return self.column if self.column.isidentifier() else quoted(self.column)

    @property
    def name(self) -> str:
        """The form and the target, as text."""
        without = "" if self.interval else WITHOUT
        return "rows" if self.form == "rows" else f"{self.form} of {self.target}{without}"

    @property
    def whole(self) -> bool:
        """Whether this is one of the forms for a whole table under change_one."""
        return self.form.startswith("whole")

    @cached_property
    def degree(self) -> int:
        """The highest power of the index that is summed."""
        return {"rows": 0, "count": 0, "quantiles": 0, "tree": 0, "variance": 2, "whole variance": 2}.get(self.form, 1)

    @property
    def fill(self) -> int | None:
        """The index that a missing value counts as."""
        return self.grid.steps // 2 if self.whole else None

    @cached_property
    def fine(self) -> int:
        """The constant by which the cells are multiplied."""
        if self.form not in ("mean", "variance"):
            return 1
        return int(-(-_FINE // self.grid.steps**self.degree))

    @cached_property
    def mass(self) -> int:
        """The L1 norm of what a row of weight 1 adds to the cells."""
        if self.form == "total":
            return max(abs(self.grid.low), abs(self.grid.high))
        if self.form == "tree":
            return self.tree.mass
        return self.fine * int(self.grid.steps**self.degree) if self.degree else 1

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the cells."""
        own = {
            "rows": ("rows",),
            "count": ("present",),
            "total": ("total",),
            "mean": ("above", "below"),
            "variance": ("low", "middle", "high"),
            "whole sum": ("total",),
            "whole variance": ("spread",),
            "quantiles": self._points if self.levels else (),
            "tree": tuple(f"node {i}" for i in range(self.tree.size)) if self.bins else (),
        }[self.form]
        return (*own, "missing") if self.missing else own

    @property
    def tree(self) -> Tree:
        """The tree over the bins."""
        return make_tree(self.bins) if self.bins > _FLAT else Tree(self.bins, self.bins, 1)

    @property
    def _points(self) -> tuple[str, ...]:
        """The names of what quantiles release: the values, the ends of their bars, and counts between all of these."""
        values = [f"q{level}" for level in self.levels]
        if not self.interval:
            return tuple(values)
        ends = [f"{side} q{level}" for level in self.inner for side in ("low", "high")]
        return (*values, *ends, *(f"cell {i}" for i in range(self.borders + 1)))

    @property
    def inner(self) -> tuple[Fraction, ...]:
        """The levels that are neither minimum nor maximum."""
        return tuple(level for level in self.levels if 0 < level < 1)

    @property
    def borders(self) -> int:
        """The number of borders between which rows are counted: four around a quantile, one at an extreme."""
        return 4 * len(self.inner) + len(self.levels) - len(self.inner)

    def cells(self, sums: Sums) -> tuple[Any, ...]:
        """Return the cells of one group, or of many, exactly."""
        steps = self.grid.steps
        n, present, first, second = sums
        if self.form == "rows":
            return (n,)
        if self.form == "total":
            return (self.grid.low * present + first,)
        if self.form == "whole sum":
            return (first,)
        if self.form == "whole variance":
            return (n * second - first * first,)
        if self.form == "count":
            found: tuple[Any, ...] = (present,)
        elif self.form == "mean":
            found = (first, steps * present - first)
        else:
            found = (steps**2 * present - 2 * steps * first + second, 2 * (steps * first - second), second)
        left = (steps**self.degree * (n - present),) if self.missing else ()
        return tuple(self.fine * cell for cell in (*found, *left))

    def sensitivity(self, schema: Schema, query: Query, n: int) -> int:
        """Return how far one person can move the cells in L1; ``n``, the number of rows, counts for P5 only."""
        if self.form == "whole sum":
            return self.grid.steps
        if self.form == "whole variance":
            return self.grid.steps**2 * max(n - 1, 1)
        if schema.neighbors == "add_remove":
            return schema.mass * self.mass
        if not query.by and len(self.names) == 1:
            if self.form == "total":
                return schema.mass * (max(self.grid.high, 0) - min(self.grid.low, 0))
            return schema.mass
        return 2 * schema.mass * self.mass

    def unit(self, schema: Schema) -> Fraction:
        """Return what one unit of a cell means, in rows, values or squared values."""
        power = 2 if self.form in ("variance", "whole variance") else 1 if self.degree else 0
        return self.grid.step**power / (schema.weight * self.fine)

    def linear(self, what: Linear, schema: Schema) -> tuple[Fraction, ...] | None:
        """Return the weights with which the cells add up to a count or a sum, or None if they do not."""
        each = Fraction(1, schema.weight * self.fine)
        steps, low, high = self.grid.steps, self.grid.low, self.grid.high
        if what == "sum":
            if self.form in ("total", "whole sum"):
                return (self.grid.step * each,)
            if self.form == "mean":
                found: tuple[Fraction | int, ...] = (high, low)
            elif self.form == "variance":
                found = (low, low + Fraction(steps, 2), high)
            else:
                return None
            one = self.grid.step * each / steps**self.degree
            return (*(one * share for share in found), *((Fraction(0),) if self.missing else ()))
        if self.form == "rows":
            return (each,) if what == "rows" else None
        if self.form not in ("count", "mean", "variance"):
            return None
        if what == "rows" and not self.missing and self.condition is None:
            return None
        one = each / steps**self.degree
        own = len(self.names) - self.missing
        return (*([one] * own), *([one if what == "rows" else Fraction(0)] if self.missing else []))

    @property
    def positions(self) -> tuple[Fraction, ...]:
        """Where the cells of a mean lie between the bounds: their mass-weighted average is the mean."""
        return (Fraction(1), Fraction(0)) if self.form == "mean" else (Fraction(0), Fraction(1, 2), Fraction(1))


def is_whole(schema: Schema, query: Query) -> bool:
    """Return whether claim P5 applies: the number of rows is public and exact."""
    every_row = schema.person is None and schema.every_row_counts and query.where is None and not query.by
    return schema.neighbors == "change_one" and every_row


def measurements(schema: Schema, query: Query, intervals: bool = True) -> tuple[Measurement, ...]:
    """Return what to measure so that all statistics of the query are answered, one measurement for each target.

    The order does not depend on that of the statistics: the record of a question is read by those who ask it in other
    words.  Quantiles of a column have a measurement of their own, with ``intervals`` or without.
    """
    kinds: dict[str | Condition, set[str]] = {}
    levels: dict[str, set[Fraction]] = {}
    for statistic in query.statistics:
        target = target_of(statistic)
        if statistic.level is not None:
            levels.setdefault(str(target), set()).add(statistic.level)
        elif target is not None:
            kinds.setdefault(target, set()).add(statistic.kind)
    if query.statistics[0].kind == "cdf":
        column = query.by[-1]
        bins = len(dict(query.edges)[column]) - 1
        return (Measurement("tree", column, grid=_grid(schema, column), bins=bins),)
    quantiles = [
        Measurement("quantiles", column, grid=_grid(schema, column), levels=tuple(sorted(found)), interval=intervals)
        for column, found in sorted(levels.items())
    ]
    return (*_sums(schema, query, kinds), *quantiles)


def _sums(schema: Schema, query: Query, kinds: Mapping[str | Condition, set[str]]) -> tuple[Measurement, ...]:
    whole = is_whole(schema, query)
    rows = any(target_of(statistic) is None for statistic in query.statistics) and not whole
    if not kinds:
        return (Measurement("rows"),) if rows else ()
    found = []
    for target, asked in sorted(kinds.items(), key=lambda each: str(each[0])):
        column = target if isinstance(target, str) else None
        condition = None if isinstance(target, str) else target
        grid = UNIT if column is None else _grid(schema, column)
        for form in _forms(asked, whole, rows):
            missing = rows and column is not None and form != "total"
            found.append(Measurement(form, column, condition, grid, missing))
    return tuple(found)


def _grid(schema: Schema, column: str) -> Grid:
    return schema.columns[column].grid or UNIT


def _forms(asked: set[str], whole: bool, rows: bool) -> list[Form]:
    if whole and "count" not in asked:
        forms: list[Form] = ["whole sum"] if asked & {"sum", "mean", "proportion"} else []
        return [*forms, "whole variance"] if asked & {"variance", "std"} else forms
    if asked & {"variance", "std"}:
        return ["variance"]
    if asked == {"count"}:
        return ["count"]
    return ["total"] if asked == {"sum"} and not rows else ["mean"]


def target_of(statistic: Statistic) -> str | Condition | None:
    """Return the column or condition that a statistic is about, None for the rows themselves."""
    return statistic.condition if statistic.kind == "proportion" else statistic.column


def _counts_rows(measurement: Measurement) -> bool:
    """Return whether the cells add up to the number of rows."""
    whole_partition = measurement.missing or (measurement.condition is not None and not measurement.whole)
    return measurement.form == "rows" or whole_partition


def answering(statistic: Statistic, measured: Sequence[Measurement]) -> list[int]:
    """Return which measurements answer a statistic; several only for the number of rows, none if that is public."""
    target = target_of(statistic)
    if target is None:
        all_rows = (_counts_rows(each) for each in measured)
        return [i for i, counts in enumerate(all_rows) if counts]
    selected = statistic.level is not None
    own = [
        i
        for i, each in enumerate(measured)
        if target in (each.column, each.condition) and (each.form == "quantiles") == selected
    ]
    if len(own) > 1:
        spread = statistic.kind in ("variance", "std")
        own = [i for i in own if (measured[i].form == "whole variance") == spread]
    return own
