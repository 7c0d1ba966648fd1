"""Published tables whose sums hold to the last digit.

Claim U3 (adding up).  Let X_W be real tables on a public grid g, and let R_W be the cumulative sums of X_W along all of
its columns, divided by g and rounded to whole numbers, except that at the last key of a column R_W is the R of the
table without that column.  Publish
    P_W = g · ΔR_W,   Δ the difference to the key before, along every column.
Then every cell of P_W is a multiple of g, P_W summed along any column is exactly the P of the smaller table, whatever
X is, and if the tables X agree, no cell of a table of d columns moves by more than
    |P_W - X_W| ≤ 2^(d - 1) · g.
If sums of X differ from the smaller tables by at most e, the bound is 2^(d - 1)·g + 2^d·e.  Tables that agree and are
on the grid already do not change.  If the sum of |X_W| is below 2^52·g, doubles add the cells of P_W exactly, in
whatever order: ``add_up`` doubles the grid until this holds.  With a chain (claim U5) the keys within one key are
adjacent when sums are cumulated, and at the last of them R_W is the R of the coarser table; all of the above holds.

A power of two as g has a finite decimal text, so that sums of numbers in files hold as well.  The grid is chosen from
public deviations, and made coarser only because of numbers that are released anyway.

Proof: docs/explanation/tables.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidParameter, Shown
from .hierarchy import Chain, Integers, gathered
from .tables import Axes, Floats, closure, without

_EXACT = 2.0**52
"""Sums of absolute values are below this many steps of the grid, so that doubles hold them, rounded cells too."""

_FINE = 30
"""At most so many binary digits behind the grid are summed: more would not change what is rounded."""


class PublishedTables(NamedTuple):
    """Tables that add up, and the grid that all their cells are on."""

    grid: float
    tables: dict[Axes, Floats]


def grid(deviations: Mapping[Axes, float], coarsest: float = 1.0, slack: float = 1 / 6) -> float:
    """Return a power of two, at most ``coarsest``, that moves no cell by more than this part of its deviation.

    Args:
        deviations: the standard deviation of the cells of each table.
        coarsest: 1 for counts; the same in the units of other statistics.
        slack: the part of a deviation; the margin of a cell gets so much wider.
    """
    finest = min(
        (slack * deviation / bound(len(table), 1.0) for table, deviation in deviations.items() if deviation > 0),
        default=coarsest,
    )
    return 2.0 ** math.floor(math.log2(min(finest, coarsest)))


def bound(columns: int, grid: float) -> float:
    """Return how far a cell of a table of so many columns may move (claim U3)."""
    return 2.0 ** (columns - 1) * grid


def add_up(tables: Mapping[Axes, Floats], grid: float, chain: Chain | None = None) -> PublishedTables:
    """Return tables on the grid whose sums hold exactly (claim U3).

    Args:
        tables: tables that agree with each other; a margin that is missing is the sum of the first table that has it.
        grid: a power of two; it is doubled while a table does not fit into doubles.
        chain: columns that lie within each other; then a table holds at most one of them.
    """
    if grid <= 0 or math.frexp(grid)[0] != 0.5:
        raise InvalidParameter(grid, "grid", "a power of two")
    whole = _with_margins(tables, chain)
    largest = max((float(np.abs(cells).sum()) for cells in whole.values()), default=0.0)
    if not math.isfinite(largest):
        raise InvalidParameter(Shown("not finite"), "tables", "finite numbers")
    while largest >= _EXACT * grid:
        grid *= 2
    fine = min(_FINE, 61 - math.frexp(largest / grid)[1])
    rounded: dict[Axes, Integers] = {}
    published = {}
    for table, cells in whole.items():
        rounded[table] = _rounded(table, cells, 2.0**fine / grid, fine, chain, rounded)
        if table in tables:
            published[table] = _differences(table, rounded[table], chain) * grid
    return PublishedTables(grid, published)


def _with_margins(tables: Mapping[Axes, Floats], chain: Chain | None) -> dict[Axes, Floats]:
    """Return the tables and their missing margins, the smallest first."""
    found: dict[Axes, Floats] = {}
    for table in chain.closure(tables) if chain else closure(tables):
        if table in tables:
            found[table] = np.asarray(tables[table], dtype=np.float64)
        else:
            found[table] = _margin(tables, table, chain)
    return found


def _margin(tables: Mapping[Axes, Floats], table: Axes, chain: Chain | None) -> Floats:
    """Return the sum of the first table that has it."""
    level, others = (chain.level(table), chain.others(table)) if chain else (0, table)
    for source, given in tables.items():
        cells = np.asarray(given, dtype=np.float64)
        own, held = (chain.level(source), chain.others(source)) if chain else (0, source)
        if own < level or not set(others).issubset(held):
            continue
        if chain and level < own:
            cells = np.moveaxis(cells, source.index(chain.columns[own - 1]), 0)
            for each in range(own, level, -1):
                cells = gathered(chain, each, cells)
            cells = (
                np.moveaxis(cells, 0, chain.table(level, held).index(chain.columns[level - 1])) if level else cells[0]
            )
        wide = chain.table(level, held) if chain else source
        return np.asarray(cells.sum(axis=tuple(place for place, i in enumerate(wide) if i not in table)))
    raise AssertionError(table)


def _rounded(
    table: Axes, cells: Floats, factor: float, fine: int, chain: Chain | None, smaller: Mapping[Axes, Integers]
) -> Integers:
    """Return R_W: integers are summed, so that the order does not matter; nodes of one parent are adjacent."""
    sums = np.rint(cells * factor).astype(np.int64)
    for place, i in enumerate(table):
        if chain and i in chain.columns:
            sums = sums.take(chain.order(chain.level((i,))), axis=place)
        np.cumsum(sums, axis=place, out=sums)
    sums += 1 << (fine - 1)
    sums >>= fine
    for place, i in enumerate(table):
        before: tuple[Any, ...] = (slice(None),) * place
        level = chain.level((i,)) if chain else 0
        if chain and level > 1:
            coarser = chain.table(level - 1, chain.others(table))
            aligned = np.moveaxis(smaller[coarser], coarser.index(chain.columns[level - 2]), place)
            sums[(*before, _last_children(chain, level))] = aligned
        else:
            sums[(*before, -1)] = smaller[without(table, (i,))]
    return sums


def _last_children(chain: Chain, level: int) -> Integers:
    """Return, for each node of the level before, the place of its last child, all in order."""
    places = np.argsort(chain.order(level - 1))
    parents = places[chain.parents(level)][chain.order(level)]
    return np.searchsorted(parents, np.arange(chain.sizes[level - 1]), side="right") - 1


def _differences(table: Axes, sums: Integers, chain: Chain | None) -> Floats:
    """Return ΔR as floats, which hold these integers exactly, with all nodes in their own places."""
    for place, i in enumerate(table):
        sums = np.diff(sums, axis=place, prepend=0)
        if chain and i in chain.columns:
            sums = sums.take(np.argsort(chain.order(chain.level((i,)))), axis=place)
    return sums.astype(np.float64)
