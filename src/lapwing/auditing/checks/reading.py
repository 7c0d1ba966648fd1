"""Reading: every cell, row and name is read by itself, independently of the others (claim E0).

Releases of made-up frames and files are compared with what was put into them, and with releases after one person adds
the oddest of cells.  The noise is frozen and subtracted again, so that nothing is left to chance.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import duckdb
import numpy as np

from ...noise.entropy import EntropyForTests
from ...question import query, schema
from ...question.query import Statistic
from ...question.schema import Column
from ..finding import Finding, parts
from ..room import Room
from ..tools.asking import Asking, Integers, Refused
from ..tools.neighbors import SEED
from ..tools.pooled import sharing
from .beside import CELLS, ODD, Library, beside, blank, libraries, repeated, type_of
from .formats import formats
from .limbs import limbs
from .lines import lines
from .naming import naming
from .written import written


def reading(room: Room) -> Iterator[Finding]:
    """Check data frames of each installed library, names, CSV files, and the other formats of files."""
    yield from parts(
        room,
        frames=lambda: _frames(room, beside),
        blank=lambda: _frames(room, blank),
        people=lambda: _frames(room, _all_people),
        types=lambda: _frames(room, _types),
        filtered=lambda: _filtered(room),
        names=lambda: sharing(naming)(room),
        lines=lambda: sharing(lines)(room),
        formats=lambda: formats(room),
        written=lambda: sharing(written)(room),
        limbs=lambda: sharing(limbs)(room),
    )


@sharing
def _frames(room: Room, part: Callable[[Room, Library], Iterator[Finding]]) -> Iterator[Finding]:
    """Run a part for each library; those that are not installed are named once."""
    for library in libraries():
        if not isinstance(library, str) and (library.name != "Polars" or find_spec("pyarrow")):
            yield from part(room, library)
        elif part is beside and isinstance(library, str):
            yield Finding(library, True, f"{library} is not installed here: its frames were not checked")
        elif part is beside:
            yield Finding("polars", True, "pyarrow is not installed here: frames of Polars, which need it, are refused")


def _all_people(room: Room, library: Library) -> Iterator[Finding]:
    yield _people(room, library)
    yield _missing_person(room, library)


def _types(room: Room, library: Library) -> Iterator[Finding]:
    if library.categorical is not None:
        yield from _by_type(room, library)
        yield from _in_two_steps(room, library)


# --- people ---

_PEOPLE: dict[str, list[Any]] = {
    "whole numbers": [1, 2, 2**53 - 2, 2**53 - 1],
    "texts": ["1", "1.0", "ann", "Ann"],
    "numbers and texts": [1, "1", 2**60, 2**60 + 1, "True"],
}
_ODD_PEOPLE = (None, "n/a", 5, 2.5, True, 2**70, b"x")
_FLOATS = re.compile("float|double|complex", re.IGNORECASE)
_ROUNDED = 2**-15
"""A person with three rows counts by at most this much less than 1: weights are rounded down."""


def _people(room: Room, library: Library) -> Finding:
    """With an odd person added, as many people are found as before, or one more; floats are refused, by their type."""
    asking = Asking(room, {}, person="id")
    wrong, looked, refused = [], 0, 0
    for name, people in _PEOPLE.items():
        own = people * 2
        if library.column(CELLS["words"], own) is None:
            continue
        for i, odd in enumerate(ODD if room.deep else _ODD_PEOPLE):
            for column in library.with_one(CELLS["words"], own, odd, i % 2 == 0):
                found = asking.people(library.frame({"id": column}))
                floats = bool(_FLOATS.search(type_of(column)))
                if isinstance(found, Refused):
                    refused += 1
                    right = floats and not found.charged
                else:
                    right = len(people) - _ROUNDED <= found <= len(people) + 1 and not floats
                looked += 1
                if not right:
                    wrong.append(f"{name} beside {odd!a}: {found}, of {len(people)}")
    told = f"{len(wrong)} of {looked} columns have other people with an odd one added; {refused} are refused as floats"
    return Finding(f"{library.name}: people beside an odd one", not wrong, "; ".join([told, *wrong[:1]]))


def _missing_person(room: Room, library: Library) -> Finding:
    """Of people with numbers of 64 bits, of whom one is missing, all are counted, or the column is refused."""
    people = [2**60 + i for i in range(128)]
    found = Asking(room, {}, person="id").people(library.frame({"id": library.make([*people, None])}))
    passed = found == len(people) if not isinstance(found, Refused) else not found.charged
    told = str(found) if isinstance(found, Refused) else f"{found:g} people are counted, of {len(people)}"
    return Finding(f"{library.name}: 128 people with numbers of 64 bits, and one without", passed, told)


# --- what a type would change ---


class _Case(NamedTuple):
    """Cells, the odd one that is added, what they are declared as, and the question."""

    cells: Any
    odd: Any
    declared: Column | str
    statistic: Statistic = query.count()
    by: str | tuple[()] = ()
    where: str | None = None


_ROWS = 200
_CARD = 4111111111111111
_EVENING = dt.datetime(2024, 3, 1, 23, 30, tzinfo=dt.timezone(dt.timedelta(hours=-5)))
_CASES: dict[str, _Case] = {
    "truth values, summed": _Case([True], None, schema.number(0, 1), query.sum("c")),
    "truth values, as keys": _Case([True, False], None, schema.keys(0, 1), by="c"),
    "numbers of 16 digits, as text": _Case([_CARD], None, schema.keys(str(_CARD)), by="c"),
    "moments with a time zone, as dates": _Case([_EVENING], "n/a", schema.keys(dt.date(2024, 3, 2)), by="c"),
    "2, as a truth value": _Case([2], "n/a", "boolean", where="c"),
    "0.1 in 32 bits, in WHERE c > 0.1": _Case(np.array([0.1], np.float32), "n/a", "number", where="c > 0.1"),
}


def _by_type(room: Room, library: Library) -> Iterator[Finding]:
    """Yield how far one cell moves an answer that it would move farther if a column were read by its type."""
    for name, case in _CASES.items():
        asking = Asking(room, {"c": case.declared}, (case.statistic,), case.by, case.where)
        own = repeated(case.cells, _ROWS)
        columns = [library.make(own), *library.with_one(CELLS["words"], own, case.odd, first=False)]
        yield _compared(asking, f"{name}, and {case.odd!r}", library, columns, _ROWS)
    assert library.categorical is not None
    columns = [library.categorical([1] * (_ROWS - 1) + more) for more in ([1], ["1"], [1, "1"])]
    asking = Asking(room, {"c": schema.keys("1")}, by="c")
    yield _compared(asking, 'categories 1, and "1"', library, columns, _ROWS)
    columns = [library.make([5, 6, 6, *more]) for more in ([], ["x"], ["x", None])]
    asking = Asking(room, {"c": schema.keys("5", "6")}, by="c", person="c")
    yield _compared(asking, "the person column, as text too", library, columns, 2)
    yield _found(room, library)


def _in_two_steps(room: Room, library: Library) -> Iterator[Finding]:
    """Yield how cells are read that pandas has converted once, and then again; and a reversed frame."""
    asking, people = Asking(room, {}, person="id"), [2**60 + i for i in range(128)]
    changes: dict[str, Callable[[Any], Any]] = {
        "objects": lambda column: column.astype(object),
        "objects, None for NaN": lambda column: column.astype(object).where(column.notna(), None),
        "categories": lambda column: column.astype("category"),
    }
    for name, change in changes.items():
        found = [asking.people(library.frame({"id": change(library.make([*people, *more]))})) for more in ([], [None])]
        right = [each == len(people) if not isinstance(each, Refused) else not each.charged for each in found]
        told = f"{found[0]} without a missing one and {found[1]} with one, of {len(people)}"
        yield Finding(f"{library.name}: people who were floats and are {name}", all(right), told)
    asking = Asking(room, {"c": schema.keys(0, 1)}, by="c")
    frame = library.frame({"c": library.make(repeated([1, 0, 1], _ROWS))})
    forward, backward = asking.integers(frame), asking.integers(frame.iloc[::-1])
    told = f"backward, it is {backward if isinstance(backward, Refused) else 'read'}"
    yield Finding(f"{library.name}: a frame, and itself backward", forward == backward, told)


def _compared(asking: Asking, what: str, library: Library, columns: Sequence[Any], rows: int) -> Finding:
    """Compare the first column, of which so many rows count, with its neighbors."""
    found: list[Integers] = []
    for column in columns:
        integers = asking.integers(library.frame({"c": column}))
        if isinstance(integers, Refused):
            told = f"table {len(found) + 1} of {len(columns)} is {integers}: {integers.said}"
            return Finding(f"{library.name}: {what}", False, told)
        found.append(integers)
    first, *others = found
    (declared,) = asking.declared
    counted = sum(map(sum, first)) / declared
    far = max(asking.moved(first, other)[0] for other in others)
    told = f"{far:,} of {declared:,} declared, over {len(others)} neighbors; {counted:g} of {rows} rows count"
    return Finding(f"{library.name}: {what}", far <= declared and counted == rows, told)


def _found(room: Room, library: Library) -> Finding:
    """Keys are discovered even if another cell is missing."""
    counts = []
    for more in ([], [None], ["n/a"]):
        frame = library.frame({"c": library.make([_CARD] * _ROWS + more)})
        asked = room.source(frame, columns={"c": "text"}, delta="0.01")
        made = asked.discover("c", epsilon=1000, delta="0.01", entropy=EntropyForTests(SEED))
        counts.append(dict(zip(made.keys, made.counts, strict=True)))
    told = f"found: {', '.join(map(str, counts))}"
    passed = all(each == {str(_CARD): _ROWS} for each in counts)
    return Finding(f"{library.name}: discovered keys of 16 digits", passed, told)


# --- rows that a filter left ---


def _filtered(room: Room) -> Finding:
    """The number of rows of a frame or relation is not public, since it may be the result of a filter; Parquet's is."""
    path = room.parquet({"x": [1.0]}, {"x": "DOUBLE"})
    public = []
    with duckdb.connect() as connection:
        forms = {"a relation": connection.sql(f"SELECT * FROM {query.literal(path)}"), "Parquet": path}
        forms |= {each.name: each.frame({"x": each.make([1.0])}) for each in libraries() if isinstance(each, Library)}
        for form, table in forms.items():
            asked = room.source(table, columns={"x": schema.number(0, 1)}, neighbors="change_one")
            plans = [asked.plan(each, epsilon=1) for each in (query.count(), query.sum("x"), query.variance("x"))]
            if any(plan.counts_publicly or any(part.measurement.public_rows for part in plan.parts) for plan in plans):
                public.append(form)
    told = f"the number of rows is taken as public of {', '.join(public)}, and may be of Parquet"
    return Finding("rows that a filter left", public == ["Parquet"], told)
