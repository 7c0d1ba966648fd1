"""What all measurements have in common: statistics → integer cells, and how far one person can move them.

A row of weight 1 carries one unit of mass, and a measurement divides it over cells: a partition of unity.  For a value
on its column's grid, i = 0 … M steps above the lower bound, of M steps in all:

    class              cells                                              mass of a row
    Rows               n                                                  1
    Count              present (and missing)                              1
    Total              Σv, v = i + low                                    max(|low|, |high|)
    Mean               A = Σi, B = Σ(M - i) (and missing: M each)         M
    Variance           Σ(M-i)², Σ2i(M-i), Σi² (and missing: M² each)      M²
    PublicSum          Σi           (change_one, n is public)             M between neighbors
    PublicVariance     nΣi² - (Σi)²  (change_one, n is public)            M²(n - 1) between neighbors
    Quantiles          rows between the values that ``selection`` finds   1
    Distribution       rows in each node of a tree of bins (``tree``)     its levels
    People             the people in each group                           1

Claim P1 (mass).  A row of weight w moves the cells of a measurement by exactly w times its mass in L1 (Total: at most),
whatever its value, key or group.  So a person whose weights add up to at most W moves them by at most W·mass under
add_remove, and by at most 2·W·mass under change_one.

Claim P4 (one cell).  Under change_one and without groups, a person of weight at most W moves a count by at most W, and
a total by at most W·(max(high, 0) - min(low, 0)).

The engine returns n, the number of present values, Σi and Σi² for each group; the cells follow from them in integers.
Mean and variance cells are multiplied by a public constant that makes a row's mass at least 2^16, so that the noise is
nearly continuous.  Proofs: docs/explanation/measure.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..exact import text as exact_text
from ..noise.entropy import Entropy
from ..question.query import Condition, Query, Statistic, StatisticKind, quoted
from ..question.schema import Grid, Schema
from .cells import Column, Progress, add, draws
from .cells import column as whole_numbers

UNIT = Grid(Fraction(1), 0, 1)
"""The grid of a condition: no, yes."""

_GROUPS_AT_ONCE = 2**16
"""How many groups are held as Python's integers at a time."""


class Sums(NamedTuple):
    """What the engine returns for one group and one target, in units of the rows' weight.

    Python's integers, or arrays of them, with one for each group.
    """

    rows: Any
    present: Any
    first: Any
    second: Any


class Exact:
    """The integers of the engine for one measurement: columns with the number of the group first; its repr hides them.

    The columns of the shared SQL are the groups, their rows, and present, first and second as far as they are summed.
    """

    __slots__ = ("columns",)

    def __init__(self, columns: Sequence[NDArray[Any]]) -> None:
        self.columns = columns

    def __repr__(self) -> str:
        return "Exact(hidden)"

    __reduce__ = None  # type: ignore[assignment]  # never pickled


class Estimate(NamedTuple):
    """The values of one statistic and the ends of their error bars, one for each group."""

    value: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]


class Expectation(NamedTuple):
    """What a plan says about a statistic: the claim, how far one person moves it, the noise scale, what it assumes."""

    claim: str
    sensitivity: Fraction
    scale: Fraction
    assumes: str


@dataclass(frozen=True)
class Setting:
    """The public parameters with which a measurement is made: the question, its share of ε, the number of rows.

    ``rows`` is the number of rows of a group to assume; where it is public (claim P5), the number itself.
    """

    schema: Schema
    query: Query
    epsilon: Fraction
    rows: int

    @property
    def groups(self) -> int:
        """The number of groups."""
        return self.query.groups(self.schema)


@dataclass(frozen=True)
class Measurement(ABC):
    """What is measured about one column or condition (the target), for every group.

    ``missing`` says that rows with a missing value are counted in a separate cell.
    """

    column: str | None = None
    condition: Condition | None = None
    grid: Grid = UNIT
    missing: bool = False
    computed: bool = False

    form: ClassVar[str]
    """Its name in plans and in the ledger."""

    claim: ClassVar[str]
    kinds: ClassVar[frozenset[StatisticKind]]
    """The statistics about its target that it answers."""

    sums: ClassVar[Literal["rows", "present", "first", "second"]] = "rows"
    """The last sum that the engine computes for it."""

    own_sql: ClassVar[bool] = False
    """Whether the engine runs separate SQL for it."""

    counts_people: ClassVar[bool] = False
    """Whether a person counts once in each group, instead of once for each row."""

    clamps: ClassVar[bool] = True
    """Whether values beyond the bounds count as the bounds."""

    public_rows: ClassVar[bool] = False
    """Whether it needs the number of rows to be public (claim P5)."""

    # --- what it is ---

    @property
    def target(self) -> str:
        """The column or the condition, as text."""
        if self.column is None:
            return str(self.condition)
        return self.column if self.computed or self.column.isidentifier() else quoted(self.column)

    @property
    def name(self) -> str:
        """The form and the target, as text."""
        return f"{self.form} of {self.target}"

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of the cells."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose values it needs."""
        return () if self.column is None else (self.column,)

    @property
    def has_bars(self) -> bool:
        """Whether its error bars say more than the bounds."""
        return True

    @property
    def counts_integers(self) -> bool:
        """Whether a count is an integer even if people have several rows."""
        return False

    def row_weight(self, schema: Schema) -> int:
        """Return the weight of one row, in the units in which rows are counted."""
        return schema.row_weight

    @property
    def counts_rows(self) -> bool:
        """Whether the cells add up to the number of rows."""
        return self.missing

    def answers(self, statistic: Statistic) -> bool:
        """Return whether it answers a statistic."""
        if statistic.counts_rows:
            return self.counts_rows
        target = statistic.condition if statistic.kind == "proportion" else statistic.column
        return statistic.kind in self.kinds and target in (self.column, self.condition)

    # --- exact integers ---

    @property
    def indexed(self) -> bool:
        """Whether the engine computes the grid index of each row for it."""
        return self.sums != "rows"

    @cached_property
    def degree(self) -> int:
        """The highest power of the index that is summed."""
        return {"first": 1, "second": 2}.get(self.sums, 0)

    @property
    def fill(self) -> int | None:
        """The index that a missing value counts as, if every row must count."""
        return None

    @property
    def fine(self) -> int:
        """The constant by which the cells are multiplied."""
        return 1

    @property
    def mass(self) -> int:
        """The L1 norm of what a row of weight 1 adds to the cells."""
        return 1

    def cells(self, sums: Sums) -> tuple[Any, ...]:
        """Return the cells of one group, or of many, exactly."""
        raise NotImplementedError

    def length(self, groups: int) -> int:
        """Return how many numbers each cell has."""
        return groups

    @property
    def groups_together(self) -> int:
        """How many groups in a row must be estimated at once."""
        return 1

    @property
    def chosen_values(self) -> int:
        """How many values are chosen for each group."""
        return 0

    def exact_cells(self, exact: Exact) -> tuple[NDArray[np.int64], list[Column]]:
        """Return the groups that occur, and a column for each cell."""
        if not exact.columns:
            return np.empty(0, dtype=np.int64), [whole_numbers([]) for _ in self.names]
        groups, *sums = exact.columns
        starts = range(0, max(len(groups), 1), _GROUPS_AT_ONCE)
        pieces = [self._some_cells(sums, slice(start, start + _GROUPS_AT_ONCE)) for start in starts]
        return groups.astype(np.int64), [np.concatenate(found) for found in zip(*pieces, strict=True)]

    def _some_cells(self, sums: Sequence[NDArray[Any]], groups: slice) -> list[Column]:
        """Return the cells of some groups, computed in Python's integers, so that nothing can overflow."""
        columns = [column[groups].astype(object) for column in sums]
        return [whole_numbers(cell) for cell in self.cells(Sums(*columns, *[0] * (4 - len(columns))))]

    # --- noise ---

    def sensitivity(self, setting: Setting) -> int:
        """Return how far one person can move the cells in L1."""
        schema = setting.schema
        if schema.neighbors == "add_remove":
            return schema.person_l1 * self.mass
        if not setting.query.by and len(self.names) == 1:
            return self.one_cell_sensitivity(schema)
        return 2 * schema.person_l1 * self.mass

    def one_cell_sensitivity(self, schema: Schema) -> int:
        """Return how far one person can move a single cell under change_one, without groups (claim P4)."""
        return schema.person_l1

    def scale(self, setting: Setting) -> Fraction:
        """Return the scale of the noise in each cell."""
        return self.sensitivity(setting) / setting.epsilon

    def noisy(self, exact: Exact, setting: Setting, entropy: Entropy, progress: Progress | None) -> list[Column]:
        """Return the cells with noise, for all groups: here exact integers and noise meet."""
        scale, length = self.scale(setting), self.length(setting.groups)
        noise = [draws(scale, length, entropy, progress) for _ in self.names]
        groups, exactly = self.exact_cells(exact)
        return [add(cell, groups, value) for cell, value in zip(noise, exactly, strict=True)]

    # --- what noisy cells say ---

    def unit(self, setting: Setting) -> Fraction:
        """Return what one unit of a cell means, in rows, values or squared values."""
        return self.grid.step**self.degree / (setting.schema.row_weight * self.fine)

    def linear(self, statistic: Statistic, setting: Setting) -> tuple[Fraction, ...]:
        """Return the weights with which the cells add up to a count or a sum that it answers."""
        raise NotImplementedError

    def offset(self, statistic: Statistic, setting: Setting) -> Fraction:
        """Return what is added to the weighted cells of a count or sum."""
        return Fraction(0)

    def margin(self, statistic: Statistic, setting: Setting, confidence: Fraction, groups: int) -> float:
        """Return the expected half-width of the bar of a statistic that is neither a count nor a sum."""
        raise NotImplementedError

    def estimate(
        self, statistic: Statistic, noisy: Sequence[Column], setting: Setting, confidence: Fraction, groups: int
    ) -> Estimate:
        """Return a statistic that is neither a count nor a sum; the confidence is for so many independent groups."""
        raise NotImplementedError

    # --- what is said about it ---

    def expect(self, statistic: Statistic, setting: Setting, confidence: Fraction) -> Expectation:
        """Return what a plan says about a statistic."""
        unit = self.unit(setting)
        if statistic.kind in ("count", "people"):
            unit = max(abs(weight) for weight in self.linear(statistic, setting))
        one_cell = not setting.query.by and len(self.names) == 1
        claim = "P4" if self.claim == "P1" and setting.schema.neighbors == "change_one" and one_cell else self.claim
        assumes = self.assumption(statistic, setting, confidence)
        return Expectation(claim, self.sensitivity(setting) * unit, self.scale(setting) * unit, assumes)

    def assumption(self, statistic: Statistic, setting: Setting, confidence: Fraction) -> str:
        """Return what the margin in a plan assumes."""
        return ""

    def explanation(self, setting: Setting) -> str:
        """Return how the cells got their noise, as a line."""
        unit = self.unit(setting)
        moved, scale = (exact_text(each * unit) for each in (self.sensitivity(setting), self.scale(setting)))
        return (
            f"{self.name}: {self.cells_in_words}; one person moves them by at most {moved} in all; noise scale {scale}"
        )

    @property
    def cells_in_words(self) -> str:
        """The cells, in words."""
        return f"cells {', '.join(self.names)}"

    def note(self, setting: Setting) -> str:
        """Return what a reader of its numbers should know, as a sentence, or nothing."""
        return ""


def rows_assumed(setting: Setting) -> str:
    """Return the number of rows that a margin is computed for."""
    return f"{setting.rows:,} rows" + (" in a group" if setting.query.by else "")
