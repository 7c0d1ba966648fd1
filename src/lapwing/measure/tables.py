"""Tables that add up: every margin of several noisy tables, at the smallest variance.

Column i has nᵢ public keys.  A table is a set of columns, written as a sorted tuple of their numbers; its cells are the
products of their keys, and () is the total.  N(S) is the product of nᵢ over i in S.  Table B was measured as y_B: true
counts plus independent noise of mean 0 and variance σ_B² in each cell.

Claim U1 (reconstruct).  For each set of columns A and each B ⊇ A let M be y_B summed down to A, and combine them with
    w_B = (1/(σ_B²·N(B∖A))) / Σ (1/(σ_B²·N(B∖A)))   (the sum over the measured B ⊇ A).
Centre the result along every column of A, and call it r_A.  Then
    X_W = Σ r_A / N(W∖A)   (the sum over A ⊆ W, each r_A repeated along the columns that it lacks)
is unbiased, X_W summed along any column is the X of the smaller table, and no linear unbiased estimate of any
combination of cells of W has a smaller variance.  All but the last holds for whatever weights with Σ w_B = 1.

Claim U2 (variance).  Every cell of X_W has the variance
    Σ v_A · Π (1 - 1/nᵢ) / N(W∖A)²   (the sum over A ⊆ W, the product over i in A),   v_A = 1/Σ (1/(σ_B²·N(B∖A))).
A noisy cell of B that has the same key as a cell of W in the columns S ⊆ B∩W, and other keys in the rest of B∩W, enters
it with the weight
    Σ w_B(A) / N(W∖A) · Π ([i in S] - 1/nᵢ)   (the sum over A ⊆ B∩W, the product over i in A),
and there are N(B∖W)·Π (nᵢ - 1) such cells (the product over i in B∩W but not in S).
So a noisy cell of B enters the difference of two cells of W with the difference of these weights: for two cells that
have different keys in column j alone, that of S and of S without j, with both signs equally often; it cancels where B
lacks j, and where the cell of B has another key in j than the two.

Integers are summed as integers and everything else is done cell by cell in a fixed order, so that two machines get the
same bits from the same noisy integers.

Proofs: docs/explanation/tables.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidParameter, InvalidRequest, Shown

Axes = tuple[int, ...]
"""A table: the numbers of its columns, sorted."""

Floats = NDArray[np.float64]

_LARGEST = 2**62


class EqualCells(NamedTuple):
    """So many noisy cells of a measured table that enter an estimate with the same weight."""

    weight: float
    table: Axes
    times: int


# ── sets of columns ──────────────────────────────────────────────────────────────────────────────────────────


def closure(tables: Iterable[Axes]) -> list[Axes]:
    """Return all subsets of the tables, each once, the smallest first."""
    found = {subset for table in tables for subset in subsets(table)}
    return sorted(found, key=lambda axes: (len(axes), axes))


def subsets(table: Axes) -> Iterator[Axes]:
    """Yield all subsets of a table, the smallest first."""
    for size in range(len(table) + 1):
        yield from combinations(table, size)


def cells(shape: Sequence[int], axes: Iterable[int]) -> int:
    """Return N(axes), the number of cells of a table."""
    return math.prod(shape[i] for i in axes)


def without(table: Axes, axes: Axes) -> Axes:
    """Return the columns of a table that are not among ``axes``."""
    return tuple(i for i in table if i not in axes)


def _live(shape: Sequence[int], table: Axes) -> Axes:
    """Return the columns of a table that have more than one key: the others change no cell."""
    return tuple(i for i in table if shape[i] > 1)


# ── weights and variances, from public numbers alone ─────────────────────────────────────────────────────────


def weights(shape: Sequence[int], variances: Mapping[Axes, float], axes: Axes) -> dict[Axes, float]:
    """Return the weight of each measured table in r_A (claim U1).

    A table of variance 0 is known, and then no other table has a weight.
    """
    wanted = set(_live(shape, axes))
    spreads = {
        table: float(variance) * cells(shape, without(table, axes))
        for table, variance in variances.items()
        if wanted.issubset(table)
    }
    if not spreads:
        raise _not_covered(axes)
    known = [table for table, spread in spreads.items() if spread == 0]
    if known:
        return dict.fromkeys(known, 1 / len(known))
    smallest = min(spreads.values())  # so that no ratio overflows
    precisions = {table: smallest / spread for table, spread in spreads.items()}
    total = math.fsum(precisions.values())
    return {table: precision / total for table, precision in precisions.items()}


def variance(shape: Sequence[int], variances: Mapping[Axes, float], table: Axes) -> float:
    """Return the variance of every cell of a reconstructed table (claim U2)."""
    return table_variances(shape, variances, [table])[table]


def table_variances(shape: Sequence[int], variances: Mapping[Axes, float], tables: Iterable[Axes]) -> dict[Axes, float]:
    """Return the variance of every cell of each reconstructed table (claim U2)."""
    whole = {table: _live(shape, table) for table in tables}
    parts = {axes: component_variance(shape, variances, axes) for axes in closure(whole.values())}
    return {
        table: math.fsum(
            parts[axes] * math.prod(1 - 1 / shape[i] for i in axes) / cells(shape, without(live, axes)) ** 2
            for axes in subsets(live)
        )
        for table, live in whole.items()
    }


def component_variance(shape: Sequence[int], variances: Mapping[Axes, float], axes: Axes) -> float:
    """Return v_A, the variance of the combined margins before they are centred (claim U2)."""
    return math.fsum(
        weight**2 * variances[table] * cells(shape, without(table, axes))
        for table, weight in weights(shape, variances, axes).items()
    )


def draws(
    shape: Sequence[int], variances: Mapping[Axes, float], table: Axes, apart: int | None = None
) -> list[EqualCells]:
    """Return the weights of all noisy cells in one cell of a reconstructed table, equal ones together (claim U2).

    If a column is given, of the difference of two cells that have different keys in this column alone; without signs.
    """
    whole = _live(shape, table)
    parts = {axes: (weights(shape, variances, axes), 1 / cells(shape, without(whole, axes))) for axes in subsets(whole)}
    groups: dict[Axes, list[Axes]] = {}
    for measured in variances:
        groups.setdefault(tuple(i for i in whole if i in measured), []).append(measured)
    found = []
    for common, tables in groups.items():
        shares = [[parts[axes][0].get(each, 0.0) * parts[axes][1] for each in tables] for axes in corners(common)]
        mixes = dict(zip(corners(common), mixed(shape, common, np.array(shares)), strict=True))
        pairs = [(keys, mixes[keys] - mixes.get(without(keys, (apart,)), 0)) for keys in mixes if apart in keys]
        for same_keys, values in mixes.items() if apart is None else pairs:
            others = math.prod(shape[i] - 1 for i in common if i not in same_keys)
            found += [
                EqualCells(weight, each, (2 if pairs else 1) * others * cells(shape, without(each, common)))
                for each, weight in zip(tables, values.tolist(), strict=True)
                if weight
            ]
    return found


def mixed(shape: Sequence[int], axes: Axes, shares: Floats) -> Floats:
    """Return Σ share(A)·Π ([i in S] - 1/nᵢ) for each S, from the shares of each A, both in the order of ``corners``."""
    values = shares.reshape((2,) * len(axes) + shares.shape[1:])
    for place, i in enumerate(axes):
        other, same = np.moveaxis(values, place, 0)
        values = np.stack([other - same / shape[i], other + same * (1 - 1 / shape[i])], axis=place)
    return values.reshape(shares.shape)


def corners(axes: Axes) -> list[Axes]:
    """Return all subsets in the order in which an array of shape (2, …, 2) lists them."""
    found: list[Axes] = [()]
    for i in axes:
        found = [corner for before in found for corner in (before, (*before, i))]
    return found


# ── the tables ───────────────────────────────────────────────────────────────────────────────────────────────


def reconstruct(
    shape: Sequence[int], noisy: Mapping[Axes, NDArray[Any]], variances: Mapping[Axes, float], asked: Iterable[Axes]
) -> dict[Axes, Floats]:
    """Return each asked table from noisy ones (claim U1).

    Args:
        shape: the number of keys of each column.
        noisy: the measured tables, whole numbers of type int64 or object, or floats, in the shape of their columns.
        variances: of one cell of each measured table; only their ratios matter.
        asked: the tables to return; each part of them must be in a measured table.
    """
    asked = list(asked)
    check_measured(noisy, variances)
    wanted = closure(_live(shape, table) for table in asked)
    shares = {axes: weights(shape, variances, axes) for axes in wanted}
    combined = _combined(shape, noisy, wanted, shares)
    found: dict[Axes, Floats] = {}
    for table in wanted:
        found[table] = _agreeing(shape, table, combined.pop(table), found)
    return {table: found[_live(shape, table)].reshape([shape[i] for i in table]) for table in asked}


def _combined(
    shape: Sequence[int],
    noisy: Mapping[Axes, NDArray[Any]],
    wanted: Sequence[Axes],
    shares: Mapping[Axes, Mapping[Axes, float]],
) -> dict[Axes, dict[Axes, Floats]]:
    """Return, for each wanted W, the weighted mean of the measured tables summed to W, and all of its own margins."""
    combined: dict[Axes, dict[Axes, Floats]] = {table: {} for table in wanted}
    for measured, given in noisy.items():
        own = _live(shape, measured)
        exact = exact_or_float(_checked(shape, measured, given)).reshape([shape[i] for i in own])
        floats = {axes: margin.astype(np.float64) for axes, margin in margins(shape, own, exact, wanted).items()}
        for table in floats:
            weight, sums = shares[table].get(measured, 0.0), combined[table]
            for axes in subsets(table) if weight else ():
                term = floats[axes] * weight
                if axes in sums:
                    sums[axes] += term
                else:
                    sums[axes] = term
    return combined


def margins(shape: Sequence[int], table: Axes, given: NDArray[Any], wanted: Sequence[Axes]) -> dict[Axes, NDArray[Any]]:
    """Return those of the wanted tables that are margins of one; the wanted ones are sorted, the smallest first."""
    here = {table: given}
    inside = set(table)
    found = {}
    for axes in reversed([each for each in wanted if inside.issuperset(each)]):
        if axes not in here:
            source = min(
                (each for each in here if set(axes).issubset(each)), key=lambda each: (cells(shape, each), each)
            )
            gone = tuple(place for place, i in enumerate(source) if i not in axes)
            here[axes] = np.asarray(here[source].sum(axis=gone))
        found[axes] = here[axes]
    return found


def check_measured(noisy: Mapping[Axes, object], variances: Mapping[Axes, float]) -> None:
    """Refuse noisy tables without a variance, and the reverse: weights would not add up to 1."""
    if set(noisy) != set(variances):
        raise InvalidParameter(Shown("another set of tables"), "variances", "one for each noisy table")


def _checked(shape: Sequence[int], table: Axes, given: NDArray[Any]) -> NDArray[Any]:
    """Return noisy cells if they have the shape of their table."""
    if given.shape != tuple(shape[i] for i in table):
        raise InvalidParameter(Shown(f"shape {given.shape}"), "noisy", f"of the shape of table {table}")
    return given


def exact_or_float(given: NDArray[Any]) -> NDArray[Any]:
    """Return cells that can be summed without overflow: int64 or Python's integers, or floats as they are."""
    if given.dtype.kind == "f" or given.dtype == object or not given.size:
        return given
    largest = max(abs(int(given.min())), abs(int(given.max())))
    return given.astype(np.int64 if largest * given.size < _LARGEST else object)


def _agreeing(shape: Sequence[int], table: Axes, margins: dict[Axes, Floats], smaller: Mapping[Axes, Floats]) -> Floats:
    """Return the table whose centred part is that of its weighted mean and whose margins are the smaller tables.

    It is the weighted mean plus Σ ±(smaller table - margin)/N over all proper subsets, by inclusion and exclusion.
    """
    estimate = margins.pop(table)
    pending: dict[Axes, Floats] = {}
    for axes in sorted(margins, key=len):
        rest = without(table, axes)
        change = (smaller[axes] - margins[axes]) / (cells(shape, rest) * (-1) ** (len(rest) + 1))
        if axes in pending:
            change = change + pending.pop(axes)
        above = tuple(sorted((*axes, rest[0])))
        spread = np.expand_dims(change, above.index(rest[0]))
        if above == table:
            estimate += spread
        else:
            pending[above] = pending[above] + spread if above in pending else spread
    return estimate


def _not_covered(axes: Axes) -> InvalidRequest:
    return InvalidRequest(
        f"No measured table has the columns {axes} together",
        "Measure a table that has them, or ask for smaller tables.",
    )
