"""Column names: the column that is read is the declared one, or the table is refused before anything is charged.

Column number i holds the value i + 1, so that the sum of a column shows which one was read.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb

from ...question import query, schema
from ..finding import Finding
from ..room import Room
from ..tools.asking import Asking, Refused

_COMPOSED, _DECOMPOSED = "caf\u00e9", "cafe\u0301"

_NAMES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("x", "id", "age"), ("id", "ID")),
    (("x", "ID_1", "age"), ("ID_1", "id_1")),
    (("id", "ID", "age"), ("id", "ID", "age")),
    (("id", "ID", "ID_1"), ("ID", "ID_1")),
    (("id", "id", "id_1"), ("id", "id_1")),
    ((_COMPOSED, _DECOMPOSED, "age"), (_COMPOSED, _DECOMPOSED)),
    (("x", _DECOMPOSED), (_COMPOSED,)),
)
"""The names of a table, and those that are declared, one at a time."""

_CLEAR = {("id", "x"), ("ID_1", "x"), ("age", "id")}
"""What must be read: the name that is declared, and the first of the table."""


def naming(room: Room) -> Iterator[Finding]:
    """Yield, for every form of a table, and for globs, how many names were confused with others."""
    with duckdb.connect() as connection:
        for form in ("a relation", "CSV", "Parquet", "pandas", "Polars", "Arrow"):
            library = {"Polars": "polars", "pandas": "pandas"}.get(form, "pyarrow")
            if form in ("a relation", "CSV") or find_spec(library):
                yield _form(room, form, connection)
            else:
                yield Finding(
                    f"names of {form}", True, f"{library} is not installed here: names of {form} were not checked"
                )
    yield _together(room)
    yield from _globs(room)


def _together(room: Room) -> Finding:
    """Columns with long names that differ at the end are read at once, and each sum is that of its own."""
    names = ["n" * 70 + end for end in ("a", "ab", "b")]
    asking = Asking(
        room,
        {name: schema.number(0, 1000, integer=True) for name in names},
        tuple(query.sum(name) for name in names),
    )
    found = asking.integers(_table(room, "CSV", names, duckdb.connect()))
    return Finding("long names that begin alike", found == [[1], [2], [3]], f"the columns 1, 2, 3 are {found}")


def _form(room: Room, form: str, connection: duckdb.DuckDBPyConnection) -> Finding:
    wrong, looked, read = [], 0, 0
    for names, declared in _NAMES:
        if form == "Polars" and len(set(names)) < len(names):
            continue
        table = _table(room, form, names, connection)
        for name in declared:
            asking = Asking(room, {name: schema.number(0, 1000, integer=True)}, (query.sum(name),))
            found = asking.integers(table)
            looked, read = looked + 1, read + (not isinstance(found, Refused))
            if isinstance(found, Refused):
                right = not found.charged and (name, names[0]) not in _CLEAR
            else:
                right = name in names and found == [[names.index(name) + 1]] and names.count(name) == 1
            if not right:
                wrong.append(
                    f"{name!a} of {names!a}: {found if isinstance(found, Refused) else f'column {found[0][0]}'}"
                )
    told = f"{len(wrong)} of {looked} names are confused with others; {looked - read} are refused before the charge"
    return Finding(f"names of {form}", not wrong, "; ".join([told, *wrong[:1]]))


def _table(room: Room, form: str, names: Sequence[str], connection: duckdb.DuckDBPyConnection) -> Any:
    values = range(1, len(names) + 1)
    if form == "a relation":
        return connection.sql("SELECT " + ", ".join(f'{i} AS "{name}"' for i, name in zip(values, names, strict=True)))
    if form == "CSV":
        path = room.path("csv")
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([names, values])
        return str(path)
    if form == "pandas":
        return import_module("pandas").DataFrame([list(values)], columns=list(names))
    if form == "Polars":
        return import_module("polars").DataFrame({name: [i] for i, name in zip(values, names, strict=True)})
    arrow = import_module("pyarrow")
    made = arrow.table([arrow.array([i]) for i in values], names=list(names))
    if form == "Arrow":
        return made
    path = room.path("parquet")
    import_module("pyarrow.parquet").write_table(made, path)
    return str(path)


# --- files of a glob ---

_GLOBS: dict[str, tuple[tuple[str, ...], float | None]] = {
    "the same columns in another order": (("SELECT 1 AS a, 5 AS b", "SELECT 6 AS b, 2 AS a"), 3),
    "a column in another case": (("SELECT 1 AS a, 5 AS b", 'SELECT 2 AS "A", 6 AS b'), None),
    "a column that the first file lacks": (("SELECT 5 AS b", "SELECT 6 AS b, 2 AS a"), None),
    "a column that the second file lacks": (("SELECT 1 AS a, 5 AS b", "SELECT 6 AS b"), None),
    "a column of another type": (("SELECT 1 AS a, 5 AS b", "SELECT '2' AS a, 6 AS b"), None),
}


def _globs(room: Room) -> Iterator[Finding]:
    """Files that DuckDB would combine into one table, ignoring the case of names and widening types."""
    asking = Asking(room, {"a": schema.number(0, 1000, integer=True)}, (query.sum("a"),))
    for what, (selects, due) in _GLOBS.items():
        found = asking.integers(_glob(room, selects))
        if isinstance(found, Refused):
            yield Finding(f"a glob with {what}", not found.charged and due is None, str(found))
        else:
            yield Finding(f"a glob with {what}", found == [[due]], f"the sum is {found[0][0]}, of {due or 'no sum'}")
    whole, floats = (f"SELECT CAST({2**60} + range AS {kind}) AS id FROM range(64)" for kind in ("BIGINT", "DOUBLE"))
    people = Asking(room, {}, person="id").people(_glob(room, (whole, floats)))
    told = str(people) if isinstance(people, Refused) else f"{people:g} people are counted, of 64 and more"
    yield Finding("a glob with people as floats", isinstance(people, Refused) and not people.charged, told)


def _glob(room: Room, selects: Sequence[str]) -> str:
    folder = room.path("files")
    folder.mkdir()
    for i, sql in enumerate(selects):
        Path(room.select(sql)).rename(folder / f"{i}.parquet")
    return str(folder / "*.parquet")
