"""Which groups of an answer a cut shows, and in which order, from released numbers alone.

Claim R3 (cut).  The question, its charge, the SQL of the engine and the recorded integers are the same whatever HAVING,
ORDER BY, LIMIT and OFFSET say; what is shown is a function of the recorded integers, of public parameters and of them.
So a cut costs nothing, and another one of the same answer is free.

Groups are estimated some at a time.  With ORDER BY and LIMIT only the best so far are kept; otherwise 8 bytes for each
group that HAVING leaves, and for each column that orders them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import UnsupportedQuery
from ..measure.linear import Groups
from ..question.codes import Key
from ..question.cut import Cut, key_kind
from ..question.query import Against, All, Compare, Condition, Not, OneOf, Some, Unknown, Value

Array = NDArray[Any]

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class CutKey(NamedTuple):
    """A key column as a cut sees it: its values, and their ranks when groups are ordered by it."""

    values: Array
    ranks: Array


def cut_key(values: Sequence[Key], *, ordered: bool) -> CutKey:
    """Return a key column; ``ordered`` values, such as bins, keep their order, others are ordered by their value."""
    kind = key_kind(values)
    compared = np.empty(len(values), object)
    compared[:] = [str(value) for value in values] if kind == "text" else list(values)
    ranks = np.arange(len(values))
    if not ordered:
        places = sorted(range(len(values)), key=lambda i: (isinstance(values[i], str), values[i]))
        ranks[places] = np.arange(len(values))
    return CutKey(compared, ranks)


def numbers(groups: Groups) -> NDArray[np.int64]:
    """Return the numbers of groups."""
    return np.arange(groups.start, groups.stop) if isinstance(groups, slice) else groups


def chosen(
    cut: Cut,
    pieces: Sequence[slice],
    keys: Mapping[str, CutKey],
    places: Callable[[slice], Mapping[str, Array]],
    estimates: Callable[[slice], Mapping[str, Array]],
) -> NDArray[np.int64]:
    """Return the numbers of the groups that a cut shows, in their order.

    ``places`` says which of its values each key column has, and ``estimates`` what was released, for some groups.
    """
    most = None if cut.limit is None else cut.offset + cut.limit
    if cut.having is None and not cut.order:
        last = pieces[-1].stop
        return np.arange(min(cut.offset, last), last if most is None else min(most, last))
    found, ranks = [np.arange(0)], [[np.arange(0)] for _ in cut.order]
    for some in pieces:
        columns = _Columns(keys, places(some), estimates(some))
        kept = np.arange(some.start, some.stop)
        true = np.ones(len(kept), bool) if cut.having is None else _true(cut.having, columns)
        found.append(kept[true])
        for rank, each in zip(ranks, cut.order, strict=True):
            rank.append(columns.rank(each.column)[true])
        if most is not None and sum(map(len, found)) > most:
            found, ranks = _best(cut, found, ranks, most)
            if not cut.order:
                break
    return _best(cut, found, ranks, most)[0][0][cut.offset :]


def _best(
    cut: Cut, found: Sequence[Array], ranks: Sequence[Sequence[Array]], most: int | None
) -> tuple[list[Array], list[list[Array]]]:
    """Return the first groups found, in order; those that are equal stay in the public order of their keys."""
    groups, columns = np.concatenate(found), [np.concatenate(each) for each in ranks]
    if columns:
        ordered = [
            -_plain(one) if each.descending else _plain(one) for one, each in zip(columns, cut.order, strict=True)
        ]
        order = np.lexsort(ordered[::-1])[:most]
    else:
        order = np.arange(len(groups))[:most]
    return [groups[order]], [[each[order]] for each in columns]


def _plain(column: Array) -> Array:
    """Return numbers that are ordered as those of a column, and can be negated."""
    if column.dtype == object:  # integers beyond 64 bits
        return np.unique(column, return_inverse=True)[1]
    return column


class _Columns:
    """The columns of some groups, as a cut reads them."""

    def __init__(self, keys: Mapping[str, CutKey], places: Mapping[str, Array], estimates: Mapping[str, Array]) -> None:
        self._keys, self._places, self._estimates = keys, places, estimates

    def __getitem__(self, name: str) -> Array:
        if name in self._keys:
            return self._keys[name].values[self._places[name]]
        if name not in self._estimates:
            raise UnsupportedQuery("an expression in HAVING", "Compare columns of the answer with values.")
        return self._estimates[name]

    def rank(self, name: str) -> Array:
        """Return numbers that order the groups as a column does."""
        return self._keys[name].ranks[self._places[name]] if name in self._keys else self[name]


def _true(condition: Condition, columns: _Columns) -> Array:
    """Return for which groups a condition is true."""
    if isinstance(condition, All | Some):
        join = np.logical_and if isinstance(condition, All) else np.logical_or
        return join.reduce([_true(part, columns) for part in condition.parts])  # type: ignore[no-any-return]
    if isinstance(condition, Not):
        return ~_true(condition.part, columns)
    assert not isinstance(condition, Against | Unknown)  # HAVING calculates nothing
    column = columns[condition.column]
    if isinstance(condition, OneOf):
        return np.logical_or.reduce([_compared(column, "=", value) for value in condition.values])  # type: ignore[no-any-return]
    if isinstance(condition, Compare):
        value = condition.value if condition.other is None else columns[condition.other]
        return _compared(column, condition.operator, value)
    return np.zeros(len(column), bool)  # IS NULL: nothing that is released is missing


def _compared(column: Array, how: str, value: Value | Array | None) -> Array:
    if isinstance(value, Fraction) and column.dtype != object:
        whole = column.dtype.kind == "i" and value.denominator == 1 and abs(value) < 2**63
        value = int(value) if whole else float(value)  # type: ignore[assignment]
    return np.asarray(_OPERATORS[how](column, value), dtype=bool)
