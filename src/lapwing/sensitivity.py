"""How far one person can move an answer: the two neighboring relations and a catalogue.

add_remove (unbounded DP): neighbors differ by the presence of one row; the number of rows is private.
change_one (bounded DP): neighbors have the same number n of rows and differ in one; n is public.

The sensitivity of f is the largest L1 distance |f(x) - f(x')| over all neighbors x, x' with values in
[L, U], R = U - L.  Each entry below is that number exactly (S6: the least upper bound, rounded up), and
comes with a witness: a pair of neighbors that attains it.  The mean and the proportion of an empty table
count as the middle of the range, its variance and standard deviation as 0.  A bound that is a float counts as written
or as held, whichever is further out.

            add_remove      change_one
Claim S1    1               0               count
Claim S2    1/2             1/n             proportion
Claim S3    max(|L|, |U|)   R               sum
Claim S4    R/2             R/n             mean
Claim S5    R²/4            R²(n-1)/n²      variance (the one that divides by n)
Claim S6    R/2             R√(n-1)/n       std
Claim S7    1               2               histogram, any number of bins
Claim S8    R               R               minimum
Claim S9    R               R               maximum
Claim S10   R               R               median (of an even number of values, the lower middle one)
Claim S11   Δ₁ + … + Δ_k    the same        vector: several answers together, an upper bound

Under add_remove nothing depends on n, because n is private.  Plain Laplace noise is useless where the sensitivity is
as wide as the answer's own range at every n: S8, S9, S10, and almost so, under add_remove, S2, S4, S5 and S6.
Proofs: docs/explanation/sensitivity.md.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from . import exact
from .errors import InvalidParameter, MissingParameter, NoSensitivity
from .exact import Number

Neighbors = Literal["add_remove", "change_one"]
Table = tuple[Fraction, ...]


def count(*, neighbors: Neighbors = "add_remove") -> Fraction:
    """Return the sensitivity of the number of rows (claim S1)."""
    return Fraction(0 if _changes_one(neighbors) else 1)


def proportion(n: int | None = None, *, neighbors: Neighbors = "add_remove") -> Fraction:
    """Return the sensitivity of the share of rows that meet a condition (claim S2); n as for mean."""
    return mean(0, 1, n, neighbors=neighbors)


def sum(low: Number, high: Number, *, neighbors: Neighbors = "add_remove") -> Fraction:
    """Return the sensitivity of a sum of values in [low, high] (claim S3)."""
    low, high = exact.enclosing(low, high)
    return high - low if _changes_one(neighbors) else max(abs(low), abs(high))


def mean(low: Number, high: Number, n: int | None = None, *, neighbors: Neighbors = "add_remove") -> Fraction:
    """Return the sensitivity of the mean of values in [low, high] (claim S4).

    n, the number of rows, matters only under change_one, where it is public.  Under add_remove, the default, it is
    private, and the sensitivity is the largest over tables of every size.
    """
    low, high = exact.enclosing(low, high)
    return (high - low) / _rows(n, neighbors)


def variance(low: Number, high: Number, n: int | None = None, *, neighbors: Neighbors = "add_remove") -> Fraction:
    """Return the sensitivity of the variance, the mean squared distance from the mean (claim S5); n as for mean."""
    low, high = exact.enclosing(low, high)
    n = _rows(n, neighbors)
    return (high - low) ** 2 * Fraction(n - 1, n * n)


def std(low: Number, high: Number, n: int | None = None, *, neighbors: Neighbors = "add_remove") -> Fraction:
    """Return the sensitivity of the standard deviation (claim S6), rounded up by less than 2^-60·R; n as for mean."""
    low, high = exact.enclosing(low, high)
    n = _rows(n, neighbors)
    root = math.isqrt((n - 1) << 120)
    root += root * root < (n - 1) << 120
    return (high - low) * Fraction(root, n << 60)


def histogram(*, neighbors: Neighbors = "add_remove") -> Fraction:
    """Return the sensitivity of counts over bins, where every row is in at most one bin (claim S7)."""
    return Fraction(2 if _changes_one(neighbors) else 1)


def minimum(low: Number, high: Number, *, neighbors: Neighbors = "add_remove") -> Fraction:
    """Return the sensitivity of the smallest value (claim S8)."""
    return _range(low, high, neighbors)


def maximum(low: Number, high: Number, *, neighbors: Neighbors = "add_remove") -> Fraction:
    """Return the sensitivity of the largest value (claim S9)."""
    return _range(low, high, neighbors)


def median(low: Number, high: Number, *, neighbors: Neighbors = "add_remove") -> Fraction:
    """Return the sensitivity of the median (claim S10)."""
    return _range(low, high, neighbors)


def vector(*sensitivities: Number) -> Fraction:
    """Return an upper bound for several answers released together: the sum (claim S11)."""
    return builtins.sum((exact.sensitivity(each) for each in sensitivities), Fraction(0))


def _changes_one(neighbors: str) -> bool:
    if not isinstance(neighbors, str) or neighbors not in ("add_remove", "change_one"):
        raise InvalidParameter(neighbors, "neighbors", '"add_remove" or "change_one"')
    return neighbors == "change_one"


def _rows(n: int | None, neighbors: str) -> int:
    """Return the number of rows of the worst-case neighbors: n under change_one, where it is public, else 2."""
    if not _changes_one(neighbors):
        if n is not None:
            exact.whole(n, "n")
        return 2
    if n is None:
        raise MissingParameter("n", 'Give the number of rows, which is public with neighbors="change_one".')
    return exact.whole(n, "n")


def _range(low: Number, high: Number, neighbors: str) -> Fraction:
    low, high = exact.enclosing(low, high)
    _changes_one(neighbors)
    return high - low


@dataclass(frozen=True)
class CatalogueEntry:
    """One line of the catalogue.

    ``needs`` are the names of the parameters of ``sensitivity`` other than neighbors; ``statistic`` computes the
    answer on a table, and ``witness`` returns, for (low, high, n, change_one), neighbors that attain the sensitivity.
    """

    claim: str
    name: str
    about: str
    add_remove: str
    change_one: str
    needs: tuple[str, ...]
    sensitivity: Callable[..., Fraction]
    statistic: Callable[[Table, Fraction, Fraction], tuple[Fraction, ...]]
    witness: Callable[[Fraction, Fraction, int, bool], tuple[Table, Table]]
    advice: str

    def formula(self, neighbors: Neighbors) -> str:
        """Return the formula of the sensitivity as text."""
        return self.change_one if _changes_one(neighbors) else self.add_remove


def _one_apart(low: Fraction, high: Fraction, n: int, change_one: bool) -> tuple[Table, Table]:
    """All rows low; one of them becomes high, or (add_remove) one high row is added to one low row."""
    return ((low,) * n, (low,) * (n - 1) + (high,)) if change_one else ((low,), (low, high))


def _largest(low: Fraction, high: Fraction, n: int, change_one: bool) -> tuple[Table, Table]:
    """For a sum: the value furthest from zero appears."""
    return _one_apart(low, high, n, True) if change_one else ((), (high if abs(high) >= abs(low) else low,))


def _middle(low: Fraction, high: Fraction, n: int, change_one: bool) -> tuple[Table, Table]:
    """For order statistics: the deciding row moves from one end to the other, or is removed."""
    return ((low,), (high,)) if change_one else ((low, high), (high,))


def _top(low: Fraction, high: Fraction, n: int, change_one: bool) -> tuple[Table, Table]:
    return ((low,), (high,)) if change_one else ((low, high), (low,))


def _mean_of(table: Table, low: Fraction, high: Fraction) -> Fraction:
    return builtins.sum(table, Fraction(0)) / len(table) if table else (low + high) / 2


def _variance_of(table: Table) -> Fraction:
    centre = _mean_of(table, Fraction(0), Fraction(0))
    return builtins.sum(((x - centre) ** 2 for x in table), Fraction(0)) / max(len(table), 1)


_USELESS = (
    "The noise would be as wide as the whole range, however many rows there are: "
    "one row at the end of the range decides the answer.  Choose privately among public values instead."
)
_SPLIT_BETTER = (
    "Under change_one the noise shrinks as 1/n.  Under add_remove n is private and the noise does not shrink: "
    "release sums that give the answer, not the answer itself."
)

CATALOGUE: dict[str, CatalogueEntry] = {
    entry.name: entry
    for entry in (
        CatalogueEntry(
            "S1", "count", "number of rows", "1", "0", (), count,
            lambda t, low, high: (Fraction(len(t)),),
            lambda low, high, n, change_one: ((low,), (high,)) if change_one else ((), (low,)),
            "Under change_one the number of rows is public and needs no noise; a count with a condition is one "
            "bin of a histogram and has sensitivity 1 under both relations.",
        ),
        CatalogueEntry(
            "S2", "proportion", "share of rows that meet a condition", "1/2", "1/n", ("n",), proportion,
            lambda t, low, high: (_mean_of(t, Fraction(0), Fraction(1)),),
            lambda low, high, n, change_one: _one_apart(Fraction(0), Fraction(1), n, change_one),
            _SPLIT_BETTER,
        ),
        CatalogueEntry(
            "S3", "sum", "sum of values in [L, U]", "max(|L|, |U|)", "U - L", ("low", "high"), sum,
            lambda t, low, high: (builtins.sum(t, Fraction(0)),),
            _largest,
            "The noise does not grow with n: a sum over many rows is released well.",
        ),
        CatalogueEntry(
            "S4", "mean", "mean of values in [L, U]", "(U - L)/2", "(U - L)/n", ("low", "high", "n"), mean,
            lambda t, low, high: (_mean_of(t, low, high),),
            _one_apart,
            _SPLIT_BETTER,
        ),
        CatalogueEntry(
            "S5", "variance", "variance of values in [L, U], dividing by n", "(U - L)²/4", "(U - L)²·(n - 1)/n²",
            ("low", "high", "n"), variance,
            lambda t, low, high: (_variance_of(t),),
            _one_apart,
            _SPLIT_BETTER,
        ),
        CatalogueEntry(
            "S6", "std", "standard deviation of values in [L, U]", "(U - L)/2", "(U - L)·√(n - 1)/n",
            ("low", "high", "n"), std,
            lambda t, low, high: (Fraction(math.sqrt(_variance_of(t))),),
            _one_apart,
            "It shrinks only as 1/√n: release the variance, and take the root afterwards.",
        ),
        CatalogueEntry(
            "S7", "histogram", "counts over bins, every row in at most one", "1", "2", (), histogram,
            lambda t, low, high: (Fraction(t.count(low)), Fraction(t.count(high))),
            lambda low, high, n, change_one: ((low,), (high,)) if change_one else ((), (low,)),
            "The same for 2 bins and for 3,143: only the bins of one row can change.",
        ),
        CatalogueEntry(
            "S8", "minimum", "smallest value in [L, U]", "U - L", "U - L", ("low", "high"), minimum,
            lambda t, low, high: (min(t, default=low),), _middle, _USELESS,
        ),
        CatalogueEntry(
            "S9", "maximum", "largest value in [L, U]", "U - L", "U - L", ("low", "high"), maximum,
            lambda t, low, high: (max(t, default=low),), _top, _USELESS,
        ),
        CatalogueEntry(
            "S10", "median", "middle value in [L, U]", "U - L", "U - L", ("low", "high"), median,
            lambda t, low, high: (sorted(t)[(len(t) - 1) // 2] if t else low,), _middle, _USELESS,
        ),
    )
}  # fmt: skip
"""The entries S1 to S10 by name."""


def entry(name: str) -> CatalogueEntry:
    """Return the entry of this name, or raise an error that suggests the nearest one."""
    if not isinstance(name, str) or name not in CATALOGUE:
        raise NoSensitivity(name, tuple(CATALOGUE))
    return CATALOGUE[name]
