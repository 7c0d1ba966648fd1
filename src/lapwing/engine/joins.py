"""Joined tables → SQL: from ``source`` and ``join_0``, ``join_1``, … to the rows that are counted.

An engine provides ``source`` and one table for each join that is read: for a table of the same people the person and
its cells, for a look-up ``key`` and its cells.  The steps here come before all others, so that WHERE, weights and sums
see joined rows.

Claim J1 (people).  A joined row has the person of a row of ``source``, and is a function of rows of that person alone,
whatever the number of rows that the person has in each table.  Without the rows of one person in all tables of people,
exactly the joined rows of that person are gone.  So by E2 the weights of the joined rows of one person, after WHERE
and over all groups, add up to at most rows_per_person·2^16.

Claim J2 (look-ups).  A look-up that is public and has each key once maps every row to exactly one row, which depends
on that row and the look-up alone.  So the number of rows stays, neighbors stay neighbors, and P5 holds as before.

Proofs: docs/explanation/joins.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..errors import InvalidSource
from ..question.codes import Kind
from ..question.join import Join, columns_needed, joins_read
from ..question.schema import Schema, plain
from .cells import cell_name, given_name, in_range
from .dialect import Dialect


def joining(schema: Schema, columns: Sequence[str], to: Dialect, *, given: bool = False) -> tuple[list[str], str]:
    """Return the steps that add joined cells to the rows, and where the rows are then.

    With ``given`` they have, as ``source`` has, whether a cell holds anything, and whether the row has a partner.
    """
    rows, steps = "source", []
    if schema.joins and not to.prepared:
        advice = "Make a view of the joined rows there, and describe that as the table."
        raise InvalidSource(schema.name, f"has joins, which are not written for {to.name}", advice)
    for number, each in joins_read(schema, columns):
        table = join_name(number)
        key = f"{rows}.person = {table}.person"
        if each.on is not None:
            key = f"{in_range(each.on[0], schema, to)} = {table}.key"
        named = each.named(columns_needed(schema, columns))
        added = [f"{table}.{cell_name(_there(each, pair), to)} AS {cell_name(pair[0], to)}" for pair in named]
        if given:
            added += [f"{_held(each, table, pair, to)} AS {given_name(pair[0], to)}" for pair in named]
            added.append(f"{table}.{'person' if each.on is None else 'key'} IS NOT NULL AS {partner_name(number)}")
        joined = ", ".join([f"{rows}.*", *added])
        steps.append(f"joined_{number} AS (SELECT {joined}\n  FROM {rows} LEFT JOIN {table} ON {key})")
        rows = f"joined_{number}"
    return steps, rows


def _there(each: Join, pair: tuple[str, str]) -> str:
    """Return what a column is called in the table that an engine provides; a look-up has the declared names."""
    return pair[1] if each.on is None else pair[0]


def _held(each: Join, table: str, pair: tuple[str, str], to: Dialect) -> str:
    """Return whether a joined cell holds anything."""
    if each.on is None:
        return f"{table}.{given_name(pair[1], to)}"
    return f"{table}.{cell_name(pair[0], to)} IS NOT NULL"


def join_name(number: int) -> str:
    """Return what a joined table is called in our SQL."""
    return f"join_{number}"


def partner_name(number: int) -> str:
    """Return the name of what says whether a row has a partner in a joined table."""
    return f"partner_{number}"


# --- what an engine provides ---


def people_read(schema: Schema, columns: Sequence[str]) -> list[tuple[int, Schema, tuple[str, ...]]]:
    """Return for each joined table of people its number, its own schema, and the columns that are read there."""
    needed = columns_needed(schema, columns)
    found = []
    for number, each in joins_read(schema, columns):
        if each.on is None:
            own = {there: schema.columns[name] for name, there in each.columns}
            names = tuple(there for _, there in each.named(needed))
            found.append((number, Schema(joined_title(schema.name, each), own, each.person, 1, file=each.file), names))
    return found


def look_ups_read(schema: Schema, columns: Sequence[str]) -> list[tuple[int, Join, tuple[str, ...]]]:
    """Return for each look-up that is read its number, the join, and the declared columns that are read."""
    needed = columns_needed(schema, columns)
    return [
        (number, each, tuple(name for name, _ in each.named(needed)))
        for number, each in joins_read(schema, columns)
        if each.on is not None
    ]


def look_up_schema(schema: Schema, each: Join) -> Schema:
    """Return the schema of a look-up alone: its key is read as the column that is looked up."""
    assert each.on is not None
    name, key = each.on
    looked_up = schema.columns[name]
    own = {key: plain(looked_up.kind, looked_up.missing)}
    own |= {there: schema.columns[declared] for declared, there in each.columns}
    return Schema(joined_title(schema.name, each), own, file=each.file)


def joined_title(source: str, each: Join) -> str:
    """Return what a joined table is called in messages."""
    return f"{source}: {each.name}"


def link_kind(schema: Schema) -> Kind | None:
    """Return what people are read as where tables of people are joined, and None where none are.

    In a file of text, an id is a text; it is a whole number if the person column is declared as an integer.
    """
    if not any(each.on is None for each in schema.joins):
        return None
    declared = schema.columns.get(schema.person or "")
    return "integer" if declared is not None and declared.kind == "integer" else "text"


def link_class(type_name: str) -> str | None:
    """Return what people are in a person column of this type: "whole" or "text"; None if each cell decides.

    Where tables of people are joined, 7 and "7" are different people.  So a column of numbers and one of texts are
    refused, by their types, which are public.
    """
    name = type_name.lower()
    if re.fullmatch(r"u?(tiny|small|big|huge)?int(eger)?|int[248]|decimal.*|numeric", name):
        return "whole"
    return None if name in ("", '"null"') else "text"
