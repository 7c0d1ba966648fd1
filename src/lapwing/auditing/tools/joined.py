"""Joins drawn at random: some columns of a world come from a table of the same people, one from a public look-up.

Each row of a world is then a row of both tables of people, so that what one person has changes in both at once.  A row
whose joined cells are all missing is only in the first: it has no partner of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from .columns import DrawnColumn, typed

GHOST = "nobody here"
"""A person who is in the joined table alone, and does not count."""


@dataclass(frozen=True)
class DrawnJoins:
    """The columns that come from a table of the same people; and a look-up: its key, its column, and its pairs."""

    people: tuple[str, ...] = ()
    key: str | None = None
    column: str | None = None
    pairs: tuple[tuple[Any, Any], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are not in the table of the source."""
        return self.people if self.column is None else (*self.people, self.column)

    def __str__(self) -> str:
        people = f"{', '.join(self.people)} joined by person" if self.people else ""
        look_up = f"{self.column} looked up by {self.key} in {self.pairs}" if self.column is not None else ""
        return " and ".join(each for each in (people, look_up) if each)

    def mates(self, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Return the rows of the joined table of people: the person, the cells, and how many times."""
        places = [1 + names.index(name) for name in self.people]
        found = [(row[0], *(row[at] for at in places), 1) for row in rows]
        ghost = (GHOST, *(None for _ in places), 1)
        return [ghost, *(row for row in found if any(cell is not None for cell in row[1:-1]))]

    def flat(
        self, fields: Mapping[str, DrawnColumn], rows: Sequence[tuple[Any, ...]], empty_is_missing: bool
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the joined rows, by loops over all pairs of rows."""
        names = list(fields)
        mates = self.mates(names, rows)
        for row in rows:
            partners = [mate[1:-1] for mate in mates if row[0] is not None and mate[0] == row[0]]
            for partner in (partners or [(None,) * len(self.people)]) if self.people else [()]:
                cells = dict(zip(names, row[1:-1], strict=True)) | dict(zip(self.people, partner, strict=True))
                if self.column is not None:
                    cells[self.column] = self._found(fields, cells[str(self.key)], empty_is_missing)
                yield (row[0], *cells.values(), row[-1])

    def _found(self, fields: Mapping[str, DrawnColumn], cell: Any, empty_is_missing: bool) -> Any:
        declared = fields[str(self.key)].declared
        key = typed(cell, declared, empty_is_missing)
        found = [each for known, each in self.pairs if typed(known, declared, empty_is_missing) == key]
        return found[0] if found and key is not None else None


NO_JOINS = DrawnJoins()


def draw_joins(random: Random, fields: Mapping[str, DrawnColumn], people: bool, empty_is_missing: bool) -> DrawnJoins:
    """Return joins that these columns allow, or none."""
    names = list(fields)
    mates = tuple(random.sample(names, random.randint(1, len(names)))) if people and random.random() < 0.6 else ()
    known = [name for name in names if fields[name].declared.kind != "number"]
    key = random.choice(known) if known else None
    columns = [name for name in names if name not in (*mates, key)]
    if key is None or not columns or random.random() < 0.4:
        return DrawnJoins(tuple(name for name in names if name in mates))
    column = random.choice(columns)
    keys: dict[Any, Any] = {}
    for cell in fields[key].cells:
        read = typed(cell, fields[key].declared, empty_is_missing)
        if cell is not None and random.random() < 0.7:  # a code for missing is no key
            keys.setdefault(repr(cell) if read is None else read, cell)
    pairs = tuple((cell, random.choice(fields[column].cells)) for cell in keys.values() if not _odd(cell))
    return DrawnJoins(
        tuple(name for name in names if name in mates), key, column, tuple(pair for pair in pairs if not _odd(pair[1]))
    )


def _odd(cell: Any) -> bool:
    """Return whether a look-up refuses a cell."""
    return isinstance(cell, str) and ("\0" in cell or len(cell) > 1000)
