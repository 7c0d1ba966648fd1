"""Which tables are measured, and with which share of ε, so that the tables asked for have little noise.

Table B gets the share e_B of ε; its noise has the variance σ_B² = 2·(c_B/(e_B·ε))², with c_B its sensitivity.  The
variances V_W of the tables asked for follow by claim U2 from public numbers alone, before any data is read.

Claim U4 (shares).  The shares of a strategy are positive fractions whose sum is exactly 1, and every table asked for
can be reconstructed from the measured ones.  For the power q ≥ 1 of the objective (Σ (a_W·V_W)^q)^(1/q), with its
derivatives g_B = -∂/∂(e_B²) at the shares e, the step
    e_B ← e_B·(e_B·g_B)^(1/(2q + 1)), scaled to the sum 1,
never makes the objective larger.  q = 1 is the mean; a large q is close to the largest.

A share of 0 is always a local optimum, so the search starts from many points and then tries to add, to drop and to
exchange tables.  All choices depend on public numbers and a fixed seed.  Floats may differ in their last digits between
machines, so shares are rounded to 1/100000; the strategy that was used belongs to the question that is recorded.

Proof: docs/explanation/tables.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidParameter, MissingParameter, Shown
from ..measure.hierarchy import Chain
from ..measure.tables import Axes, Floats, cells, closure
from .workload import Workload

VERSION = 1
"""Changes when the same question may get another strategy."""

SEED = 20
"""Of the random starts."""

OBJECTIVES = ("mean", "minimax", "cells")
UNIT = 100_000
"""Shares are multiples of one part in so many."""

_ALL_SUBSETS = 7
"""Up to so many columns, every set of columns may be measured."""

_CANDIDATES = 2000
"""Beyond that, so many at most, if more are not needed for the tables asked for."""

_LARGEST = 10**6
"""A table that is not asked for is measured only if it has at most so many cells, or as many as the largest asked."""

_TINY = 1e-12
_SMALL = 1e-4
"""From this share on a table counts as measured when moves are made."""

_PLACES = 3
"""From so many different optima tables are exchanged."""

_ROUNDS = 24
_FEW = 30
"""With fewer strategies at a time nothing is exchanged: the problem is too large."""

_WORK = 2**22
"""How many strategies are compared at a time, times the size of the problem."""

_SMOOTH = (8.0, 64.0)
"""The powers that stand for the largest: the first for the search, the second in the end."""


@dataclass(frozen=True)
class Strategy:
    """The measured tables with their shares of ε, as chosen by this version."""

    measured: tuple[Axes, ...]
    shares: tuple[Fraction, ...]
    version: int = VERSION
    seed: int = SEED

    def __post_init__(self) -> None:
        if len(self.measured) != len(self.shares) or sum(self.shares) != 1 or min(self.shares) <= 0:
            raise InvalidParameter(str(sum(self.shares)), "shares", "one positive fraction for each table, 1 in total")

    def variances(self, costs: Mapping[Axes, float] | None = None) -> dict[Axes, float]:
        """Return the variance of the noise of each measured table at ε = 1."""
        known = costs or {}
        return {
            table: 2 * (known.get(table, 1.0) / float(share)) ** 2
            for table, share in zip(self.measured, self.shares, strict=True)
        }


def choose(
    shape: Sequence[int],
    asked: Iterable[Axes],
    *,
    costs: Mapping[Axes, float] | None = None,
    weights: Mapping[Axes, float] | None = None,
    objective: str = "mean",
    chain: Chain | None = None,
) -> Strategy:
    """Return which tables to measure, with their shares of ε (claim U4).

    Args:
        shape: the number of keys of each column.
        asked: the tables that will be published.
        costs: the sensitivity of each table, relative to the others; 1 where nothing is given.
        weights: how much the variance of each asked table counts; 1 where nothing is given.
        objective: "mean" of the variances over the tables, "minimax" for the largest, "cells" for the mean over cells.
        chain: columns that lie within each other; then each table holds at most one of them.
    """
    tables = sorted(set(asked), key=lambda table: (len(table), table))
    importance = importances(shape, tables, weights, objective)
    candidates = _candidates(shape, tables, chain)
    sensitivities = np.array([(costs or {}).get(table, 1.0) for table in candidates], dtype=np.float64)
    if not (np.isfinite(sensitivities) & (sensitivities > 0)).all():
        raise InvalidParameter(Shown("a sensitivity that is not positive"), "costs", "a positive number for each table")
    workload = Workload(shape, tables, candidates, chain)
    rows = _WORK // workload.size
    places = {table: place for place, table in enumerate(candidates)}
    parts = [[places[part] for part in _parts(table, chain) if part in places] for table in candidates]
    search = ShareSearch(workload, importance, sensitivities, parts, min(rows, 2000))
    starts = _starts(shape, tables, candidates, rows, chain)
    shares = search.best(starts, _SMOOTH if objective == "minimax" else (1.0,))
    return strategy_of(candidates, cover(rounded(shares), shares, workload.needs))


def _parts(table: Axes, chain: Chain | None) -> list[Axes]:
    """Return all tables that are sums of one."""
    return chain.closure([table]) if chain else closure([table])


def importances(
    shape: Sequence[int], tables: Sequence[Axes], weights: Mapping[Axes, float] | None, objective: str
) -> Floats:
    """Return how much the variance of each table counts."""
    if not tables:
        raise MissingParameter("the tables", "Ask for at least one table.")
    if objective not in OBJECTIVES:
        raise InvalidParameter(objective, "objective", f"one of {', '.join(OBJECTIVES)}")
    factors = np.array([(weights or {}).get(table, 1.0) for table in tables], dtype=np.float64)
    if objective == "cells":
        factors *= [float(cells(shape, table)) for table in tables]
    if not (np.isfinite(factors) & (factors >= 0)).all() or not factors.any():
        raise InvalidParameter(Shown("a weight that is negative, or none above 0"), "weights", "numbers, 0 or larger")
    return np.asarray(factors / factors.max())


def _candidates(shape: Sequence[int], tables: Sequence[Axes], chain: Chain | None) -> list[Axes]:
    """Return the tables that may be measured: all parts of those asked for, and larger ones if they are not too large.

    A larger table is worth trying if it joins several that are asked for.
    """
    needed = chain.closure(tables) if chain else closure(tables)
    columns = sorted({i for table in tables for i in table if shape[i] > 1})
    few = len(columns) <= _ALL_SUBSETS
    most = max(_LARGEST, *(cells(shape, table) for table in tables))
    widest = len(columns) if few else max(len(table) for table in tables) + 3
    known = set(needed)
    sizes = [size for size in range(2, widest + 1) if math.comb(len(columns), size) <= 4 * _CANDIDATES]
    more = [table for size in sizes for table in combinations(columns, size) if table not in known]
    small = [table for table in more if cells(shape, table) <= most and (not chain or chain.canonical(table) == table)]
    room = max(_CANDIDATES - len(needed), 0)
    joined = sorted(small, key=lambda table: (cells(shape, table), table))[:room]
    return sorted((*needed, *joined), key=lambda table: (len(table), table))


def _starts(
    shape: Sequence[int], tables: Sequence[Axes], candidates: Sequence[Axes], rows: int, chain: Chain | None
) -> Floats:
    """Return the shares from which the search starts: a few by rule, and random ones as far as time allows."""
    wanted = set(tables)
    joins = np.log([1.0 + sum(part in wanted for part in _parts(table, chain)) for table in candidates])
    sizes = np.array([math.log(cells(shape, table)) for table in candidates])
    by_rule = [
        np.array([0.0 if table in wanted else -2.0 for table in candidates]),
        *(power * joins - slope * sizes for power, slope in ((0, 0), (1, 0.2), (1, 0.3), (0.5, 0), (2, 0.1))),
    ]
    rng = np.random.default_rng(SEED)
    by_chance = [
        by_rule[which % len(by_rule)] + (0.5, 1.5, 3.0)[which % 3] * rng.normal(size=len(candidates))
        for which in range(min(max(rows, 24), 500) if rows else 0)
    ]
    covers = [np.log(cover) for cover in _covers(shape, tables, candidates, chain, rng)]
    return _normalised(np.exp(np.vstack([*by_rule, *covers, *by_chance])))


def _covers(
    shape: Sequence[int],
    tables: Sequence[Axes],
    candidates: Sequence[Axes],
    chain: Chain | None,
    rng: np.random.Generator,
) -> list[Floats]:
    """Return shares of few tables that have all tables asked for among their sums, for several largest sizes."""
    places = {table: place for place, table in enumerate(tables)}
    holds = np.zeros((len(candidates), len(tables)))
    for row, table in zip(holds, candidates, strict=True):
        row[[places[part] for part in _parts(table, chain) if part in places]] = 1.0
    sizes = np.array([float(cells(shape, table)) for table in candidates])
    found = []
    for factor in (1.0, 3.0, 10.0, 30.0, 100.0, 1000.0):
        for _ in range(2):
            allowed = sizes <= factor * np.median(sizes[holds.any(axis=1)])
            found.append(_cover_of(holds, allowed, rng.random(len(candidates))))
    return found


def _cover_of(holds: Floats, allowed: NDArray[np.bool_], order: Floats) -> Floats:
    """Return shares of tables that are taken one by one, each time one with the most that is not covered yet."""
    shares = np.full(len(holds), 0.01 / len(holds))
    missing = np.ones(holds.shape[1], dtype=bool)
    gained = holds.sum(axis=1)
    while missing.any():
        useful = gained * allowed
        taken = int(np.argmax((useful if useful.any() else gained) + order / 2))
        shares[taken] += 1.0
        found = missing & (holds[taken] > 0)
        gained -= holds[:, found].sum(axis=1)
        missing &= ~found
    return shares


# ── the search ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class ShareSearch:
    """Look for shares that make weighted variances small; rows are strategies that are improved side by side."""

    workload: Workload
    importance: Floats
    sensitivities: Floats
    parts: Sequence[Sequence[int]]
    """Which candidates are sums of each candidate, itself among them."""

    rows: int
    """How many strategies are compared at a time."""

    def best(self, starts: Floats, powers: Sequence[float]) -> Floats:
        """Return the best shares that were found from the starts, for the last of the powers."""
        shares = self._selected(starts, powers[0])
        if len(powers) > 1:  # the largest variance: also from what is best in the mean
            middle = self._selected(starts, 1.0)[:1]
            shares = np.vstack([self._improved(middle, powers[0], 150)[0], shares])
        shares, values = self._improved(shares[:16], powers[-1], 100)
        apart = [0, *(1 + np.flatnonzero(np.diff(values) > 1e-5))][:_PLACES]
        exchanged = [self._exchanged(shares[place], float(values[place]), powers) for place in apart]
        found = min(exchanged, key=lambda pair: pair[1])[0]
        return np.asarray(self._improved(found[None, :], powers[-1], 300)[0][0])

    def _exchanged(self, shares: Floats, value: float, powers: Sequence[float]) -> tuple[Floats, float]:
        """Return better shares and their value, as long as adding, dropping or exchanging one table helps."""
        rng = np.random.default_rng(SEED)
        failed = 0
        for _ in range(_ROUNDS if self.rows >= _FEW else 0):
            better, values = self._improved(self._selected(self._moves(shares, rng), powers[0])[:4], powers[-1], 60)
            if values[0] < value - 1e-5:
                shares, value = better[0], float(values[0])
            else:
                failed += 1
            if failed == 2:
                break
        return shares, value

    def _moves(self, shares: Floats, rng: np.random.Generator) -> Floats:
        """Return the shares with one table more, one less, or one in the place of others; some of them, if many."""
        tables = range(len(shares))
        inside = np.flatnonzero(shares > _SMALL).tolist()
        moves: list[tuple[Axes, int, float]] = [((), new, size) for new in tables for size in (0.05, 0.3)]
        moves += [((old,), new, 0.0) for old in inside for new in tables if new != old]
        moves += [((old,), old, 0.0) for old in inside if len(inside) > 1]
        kept = set(inside)
        moves += [(tuple(old for old in self.parts[new] if old in kept and old != new), new, 0.0) for new in tables]
        taken = rng.permutation(len(moves))[: self.rows] if len(moves) > self.rows else range(len(moves))
        found = np.repeat(shares[None, :], len(taken), axis=0)
        for row, which in zip(found, taken, strict=True):
            gone, new, size = moves[which]
            gained = size + (sum(shares[old] for old in gone) if gone != (new,) else 0.0)
            row[list(gone)] = 0.0
            row[new] += gained
        return _normalised(np.vstack([found, shares]))

    def _selected(self, shares: Floats, power: float) -> Floats:
        """Return those that are best after some steps; the others are given up early."""
        for steps, kept in ((10, 3), (30, 3), (60, 1)):
            shares = self._improved(shares, power, steps)[0]
            shares = shares[: max(-(-len(shares) // kept), 8)]
        return shares

    def _improved(self, shares: Floats, power: float, steps: int) -> tuple[Floats, Floats]:
        """Return the shares after some steps of claim U4, or larger steps where they help, the best first."""
        exponent = 1 / (2 * power + 1)
        values, pulls = self._values(shares, power)
        for _ in range(steps):
            stepped = _stepped(shares, pulls, 3 * exponent)
            lower, next_pulls = self._values(stepped, power)
            worse = np.flatnonzero(~(lower <= values))
            if len(worse):
                stepped[worse] = _stepped(shares[worse], pulls[worse], exponent)
                lower[worse], next_pulls[worse] = self._values(stepped[worse], power)
            gained = float(np.max(values - lower))
            shares, values, pulls = stepped, lower, next_pulls
            if gained < 1e-8:
                break
        order = np.argsort(values, kind="stable")
        return shares[order], values[order]

    def _values(self, shares: Floats, power: float) -> tuple[Floats, Floats]:
        """Return the logarithm of the objective, and e_B·g_B up to a factor for each row."""
        scales = 2 * self.sensitivities**2
        spreads, gradients = self.workload.variances(shares**2 / scales)
        counted = spreads * self.importance
        largest = counted.max(axis=1, keepdims=True)
        relative = (counted / largest) ** (power - 1)
        total = (relative * counted / largest).sum(axis=1)
        return np.log(largest[:, 0]) + np.log(total) / power, shares * gradients(relative * self.importance) / scales


def _stepped(shares: Floats, pulls: Floats, exponent: float) -> Floats:
    """Return the shares after one step with the given exponent."""
    level = (shares * pulls).sum(axis=1, keepdims=True)
    return _normalised(shares * (pulls / level) ** exponent)


def _normalised(shares: Floats) -> Floats:
    """Return shares whose sum is 1, and none so small that floats are slow."""
    kept = np.maximum(shares / shares.sum(axis=1, keepdims=True), _TINY)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))


# ── exact shares ─────────────────────────────────────────────────────────────────────────────────────────────


def rounded(shares: Floats) -> list[int]:
    """Return whole numbers in proportion to the shares whose sum is exactly UNIT."""
    wanted = [Fraction(float(share)) for share in shares]
    total = sum(wanted)
    exact = [share * UNIT / total for share in wanted]
    units = [math.floor(share) for share in exact]
    by_rest = sorted(range(len(units)), key=lambda which: (units[which] - exact[which], which))
    for which in by_rest[: UNIT - sum(units)]:
        units[which] += 1
    return units


def cover(units: list[int], shares: Floats, needs: NDArray[np.bool_]) -> list[int]:
    """Return the units after each part that no measured table has got one for the candidate with the largest share.

    Args:
        units: of each candidate.
        shares: of each candidate, before they were rounded.
        needs: which part is in which candidate.
    """
    units = list(units)
    for inside in needs:
        if not any(units[which] for which in np.flatnonzero(inside)):
            units[int(np.argmax(np.where(inside, shares, -1.0)))] += 1
            units[units.index(max(units))] -= 1
    return units


def strategy_of(candidates: Sequence[Axes], units: Sequence[int]) -> Strategy:
    """Return the strategy that measures the candidates with their units."""
    pairs = [(table, Fraction(unit, UNIT)) for table, unit in zip(candidates, units, strict=True) if unit]
    return Strategy(tuple(table for table, _ in pairs), tuple(share for _, share in pairs))
