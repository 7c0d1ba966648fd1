"""The groups of an answer: which keys and labels the group of each number has, and which groups a cut shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measure.linear import Groups
from ..plan.plan import Plan
from ..question.codes import Key, written
from ..question.cut import Cut
from .columns import KeyColumn, key_columns
from .cutting import chosen, cut_key, numbers


@dataclass(frozen=True, eq=False)
class GroupKeys:
    """The keys of all groups of a plan, whose numbers count them in the public order of the keys."""

    plan: Plan

    @cached_property
    def columns(self) -> list[KeyColumn]:
        """The columns of keys, and of their labels."""
        return key_columns(self.plan)

    @cached_property
    def _dicts(self) -> dict[int, list[dict[str, Any]]]:
        """For each key that is shown, what a row of each of its groups has: the key, and its label."""
        found: dict[int, list[dict[str, Any]]] = {}
        for each in self.columns[: len(self.columns) - len(self.plan.query.grouping)]:
            some = found.get(each.at) or [{} for _ in each.values]
            found[each.at] = [{**one, each.name: written(value)} for one, value in zip(some, each.values, strict=True)]
        return found

    def at(self, groups: Groups) -> list[NDArray[np.int64]]:
        """Return, for each key of the question, which of its values each group has; the last key changes fastest."""
        several, chosen = self.plan.several, numbers(groups)
        if several is None:
            return _places(self.plan.query.shape(self.plan.schema), chosen)
        found = [np.full(len(chosen), size) for size in several.shape]
        of = several.of(chosen)
        for number in np.unique(of).tolist():
            table, inside = several.asked[number], of == number
            within = chosen[inside] - several.starts[number]
            for axis, place in zip(table, _places([several.shape[i] for i in table], within), strict=True):
                found[axis][inside] = place
        by = self.plan.query.by
        for child, parent, numbers_of in several.levels:  # a county shows its region
            place, over = found[by.index(child)], several.shape[by.index(child)]
            known = np.array([*numbers_of, several.shape[by.index(parent)]])[place]
            found[by.index(parent)] = np.where(place < over, known, found[by.index(parent)])
        return found

    def places(self, groups: Groups) -> list[NDArray[np.int64]]:
        """Return, for each column of keys and labels, which of its values each group has."""
        at = self.at(groups)
        over = [found == size for found, size in zip(at, self.plan.query.shape(self.plan.schema), strict=True)]
        return [at[each.at] if not each.summed else _bits([over[i] for i in each.summed]) for each in self.columns]

    def rows(self, groups: Groups) -> Iterator[dict[str, Any]]:
        """Yield, for each group, its keys and their labels by the names of their columns."""
        if not self._dicts:
            yield from ({} for _ in numbers(groups))
            return
        marks = [
            (each.name, found) for each, found in zip(self.columns, self.places(groups), strict=True) if each.summed
        ]
        at = self.at(groups)
        for number, places in enumerate(zip(*(at[key].tolist() for key in self._dicts), strict=True)):
            row: dict[str, Any] = {}
            for some, place in zip(self._dicts.values(), places, strict=True):
                row |= some[place]
            yield row | {name: int(found[number]) for name, found in marks}

    def tuples(self, groups: Groups) -> list[tuple[Key, ...]]:
        """Return, for each group, its keys."""
        pairs = zip(self.columns, self.places(groups), strict=True)
        keys = [[each.values[place] for place in places.tolist()] for each, places in pairs if each.is_key]
        return list(zip(*keys, strict=True)) if keys else [()] * len(numbers(groups))

    def shown(
        self, cut: Cut, pieces: Sequence[slice], estimates: Callable[[slice], Mapping[str, NDArray[Any]]]
    ) -> NDArray[np.int64]:
        """Return the numbers of the groups that a cut shows, in their order."""
        plan, bins = self.plan, dict(self.plan.query.edges)
        binned = [key in bins or plan.schema.columns[key].edges is not None for key in plan.query.by]
        keys = [each for each in self.columns if each.is_key]

        def places(some: slice) -> dict[str, NDArray[np.int64]]:
            at = self.at(some)
            return {each.name: at[each.at] for each in keys}

        return chosen(
            cut,
            pieces,
            {each.name: cut_key(each.keys, ordered=binned[each.at]) for each in keys},
            places,
            estimates,
        )


def _bits(columns: Sequence[NDArray[np.bool_]]) -> NDArray[np.int64]:
    """Return the numbers whose binary digits, the first column's first, are these columns."""
    return sum((each.astype(np.int64) << i for i, each in enumerate(reversed(columns))), np.zeros(1, dtype=np.int64))


def _places(shape: Sequence[int], groups: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return, for each key, which of its values each group has, in a table of this shape."""
    places, left = [], groups
    for size in reversed(shape):
        left, place = np.divmod(left, size)
        places.append(place)
    return places[::-1]
