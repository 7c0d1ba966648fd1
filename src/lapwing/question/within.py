"""Columns that lie within others: every county is in one region, by a public map.

``within`` of a column of keys has the map from its keys to those of the other column, its parent.  The parent is then
computed from it (a recode), in every question: the table needs no column of regions, and if it has one, that is not
read.  So each row of a county is a row of the county's region, whatever the table says, and tables agree exactly.  The
map may also be a public look-up that is joined on the column: then ``within`` has the parent's name alone.

In a question for several tables, a table with county and region has the cells of county: region is left out of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..errors import InvalidSource, UnsupportedQuery
from .codes import Key, Within
from .derivation import Derivation
from .expression import Recode
from .query import Compare, OneOf, Query, quoted
from .schema import Column, Schema
from .sets import KeyTable, different


class Level(NamedTuple):
    """That a key column lies within another: for each of its groups, the number of the other's group."""

    child: str
    parent: str
    numbers: tuple[int, ...]


# --- declarations ---


def with_parents(schema: Schema) -> Schema:
    """Return the schema in which each parent is computed from the column that lies within it."""
    pending = {name: each.within for name, each in schema.columns.items() if each.within and each.within.groups}
    origins: dict[str, tuple[str, dict[Key, Key]]] = {}
    while pending:
        ready = [name for name in pending if name not in {each.parent for each in pending.values()}]
        if not ready:
            raise InvalidSource(schema.name, "has columns that lie within each other", "Give each at most one parent.")
        name = ready[0]
        within = pending.pop(name)
        if within.parent in origins:
            what = f'has two columns that lie within "{within.parent}"'
            raise InvalidSource(schema.name, what, "One of them can decide it: give the other one a parent of its own.")
        origin, own = origins.get(name, (name, {key: key for key in schema.columns[name].group_keys or ()}))
        parents = {key: parent for parent, keys in within.groups for key in keys}
        codes = {key: parents[middle] for key, middle in own.items()}
        origins[within.parent] = origin, {**codes}
        column = _parent(schema, name, within, origin, codes)
        schema = replace(schema, columns={**schema.columns, within.parent: column})
    return schema


def _parent(schema: Schema, name: str, within: Within, origin: str, codes: Mapping[Key, str]) -> Column:
    """Return the column of a parent, computed from the column of the table that decides it."""
    declared = schema.columns.get(within.parent)
    groups = [parent for parent, _ in within.groups]
    said = f'says that "{name}" lies within "{within.parent}"'
    if declared is None:
        if any(each.casefold() == within.parent.casefold() for each in (*schema.columns, schema.person or "")):
            raise InvalidSource(schema.name, f"{said}, which is also another column", "Rename one of them.")
        declared = Column("text", keys=tuple(groups))
    other = schema.columns[origin].other
    pairs = tuple((key, text) for key, text in codes.items() if key != other)
    made = Derivation(origin=origin, codes=pairs, other=None if other is None else codes[other])
    recoded = made.column(schema).expression
    plain = declared.kind == "text" and declared.keys is not None and declared.other is None
    if not plain or declared.expression not in (None, recoded):
        advice = "Declare it with keys that are texts, without other, or leave it out: its keys are those of the map."
        raise InvalidSource(schema.name, f"{said}, which is declared as something else", advice)
    unknown = [place for place, group in enumerate(groups, 1) if group not in (declared.keys or ())]
    if unknown:
        what = f"{said}, in a map whose group {unknown[0]} is not one of its keys"
        raise InvalidSource(schema.name, what, "Declare all keys, or leave the declaration out.")
    return replace(declared, expression=recoded, missing=())


def check_within(schema: Schema) -> None:
    """Refuse a column that lies within another by a look-up which is not declared."""
    for name, column in schema.columns.items():
        if column.within is None or column.within.groups:
            continue
        parent = column.within.parent
        if _look_up(schema, name, parent) is None:
            what = f'says that "{name}" lies within "{parent}", and no look-up on "{name}" adds "{parent}"'
            advice = f'Give the map: within = {{{parent} = {{north = ["a", "b"]}}}}; or join a public look-up.'
            raise InvalidSource(schema.name, what, advice)
        if schema.columns[parent].group_keys is None or schema.columns[parent].edges is not None:
            raise InvalidSource(schema.name, f'has no keys of "{parent}"', "Declare them, to group by it.")


def _look_up(schema: Schema, child: str, parent: str) -> object:
    """Return the look-up on a column that adds its parent."""
    found = (each for each in schema.joins if each.on is not None and each.on[0] == child)
    return next((each for each in found if parent in dict(each.columns)), None)


# --- questions ---


def without_parents(tables: Sequence[KeyTable], schema: Schema, bins: Collection[str] = ()) -> list[KeyTable]:
    """Return the tables, each without columns that another of its columns decides: they have the same cells.

    A column that would be in no table any more is refused: its own table is not asked for.  ``bins`` are columns that
    the question groups by bins of its own, which decide nothing.
    """
    pairs = {(child, parent) for table in tables for child in table if child not in bins for parent in table}
    lying = {(child, parent) for child, parent in pairs if _lies(child, parent, schema)}
    if not lying:
        return list(tables)
    fewer = different(
        tuple(name for name in table if not any((child, name) in lying for child in table)) for table in tables
    )
    left = {name for table in fewer for name in table}
    for child, parent in sorted(lying):
        if parent not in left:
            raise UnsupportedQuery(
                f"{quoted(parent)} only together with {quoted(child)}, which lies within it",
                f"Ask for its table too, as ROLLUP ({parent}, {child}) does, or leave it out.",
            )
    return fewer


def _lies(child: str, parent: str, schema: Schema) -> bool:
    """Return whether a key column lies within another, by the declarations."""
    if child == parent:
        return False
    within = schema.columns[child].within
    if within is not None and within.parent == parent:
        return True
    return _numbers(child, parent, schema) is not None


def levels(schema: Schema, query: Query) -> tuple[Level, ...]:
    """Return which key columns of a question lie within others; refuse a look-up that misses a key.

    A public look-up is read; nothing else is.
    """
    found = []
    for child in (name for name in query.by if name not in dict(query.edges)):
        for parent in query.by:
            if child == parent or not _lies(child, parent, schema):
                continue
            known = _numbers(child, parent, schema)
            numbers = _looked_up(child, parent, schema) if known is None else known
            _refuse_empty(child, parent, schema.columns[parent], numbers)
            found.append(Level(child, parent, numbers))
    return tuple(found)


def _refuse_empty(child: str, parent: str, above: Column, numbers: Sequence[int]) -> None:
    """Refuse a parent with a group that no group of the child lies in: its cells could not be made of others."""
    empty = sorted(set(range(above.groups)) - set(numbers))
    if empty:
        raise UnsupportedQuery(
            f"several tables of {quoted(parent)}, whose group {empty[0] + 1} has no group of {quoted(child)} in it",
            f"Leave this group (or other) out of {quoted(parent)}, or ask for {quoted(parent)} separately.",
        )


def _numbers(child: str, parent: str, schema: Schema) -> tuple[int, ...] | None:
    """Return the parent's group for each group of the child, if the parent is a recode that decides it."""
    column, above = schema.columns[child], schema.columns[parent]
    if not isinstance(above.expression, Recode) or column.keys is None or above.edges is not None:
        return None
    texts = _texts(above.expression, child)
    if texts is None and isinstance(column.expression, Recode):
        declared = column.within is not None and column.within.parent == parent
        return _through(column, above) if declared or len(above.keys or ()) < len(column.keys) else None
    if texts is None or column.is_computed:
        return None
    if column.other is not None and not set(texts) <= set(column.keys):
        return None  # some of the rows under ``other`` would be in one group, and some in another
    rest = above.expression.otherwise
    found = [texts.get(key, rest) for key in column.asked_keys]
    found += [] if column.asked_other is None else [rest]
    return _places(found, above)


def _texts(expression: Recode, child: str) -> dict[object, str] | None:
    """Return the text for each value of a column, if a recode is about that column alone."""
    texts: dict[object, str] = {}
    for condition, text in expression.cases:
        if isinstance(condition, Compare) and condition.operator == "=" and condition.other is None:
            values: Iterable[object] = (condition.value,)
        elif isinstance(condition, OneOf):
            values = condition.values
        else:
            return None
        if condition.column != child:
            return None
        for value in values:
            texts.setdefault(value, text)
    return texts


def _through(column: Column, above: Column) -> tuple[int, ...] | None:
    """Return the same where both are recodes of one column: country of region, if both are decided by county.

    Of two with as many groups each could lie within the other; only the one that says so does.
    """
    assert isinstance(column.expression, Recode)
    assert isinstance(above.expression, Recode)
    first = column.expression.cases[0][0]
    origin = first.column if isinstance(first, Compare | OneOf) else ""
    one, two = _texts(column.expression, origin), _texts(above.expression, origin)
    if one is None or two is None:
        return None
    middle, rest = column.expression.otherwise, above.expression.otherwise
    pairs: set[tuple[str | None, str | None]] = {(text, two.get(value, rest)) for value, text in one.items()}
    pairs |= {(middle, text) for value, text in two.items() if value not in one} | {(middle, rest)}
    parents = {text: parent for text, parent in pairs if text is not None}
    if len(parents) < sum(text is not None for text, _ in pairs):
        return None
    return _places([parents.get(str(key)) for key in column.asked_keys], above)


def _places(texts: Sequence[object], above: Column) -> tuple[int, ...] | None:
    """Return the numbers of groups, None if one is of none."""
    places = {key: place for place, key in enumerate(above.group_keys or ())}
    found = [places.get(text) for text in texts]  # type: ignore[call-overload]
    return None if None in found else tuple(found)


def _looked_up(child: str, parent: str, schema: Schema) -> tuple[int, ...]:
    """Return the parent's group for each group of the child, from a public look-up; refuse one that misses a key."""
    column, above, joined = schema.columns[child], schema.columns[parent], _look_up(schema, child, parent)
    content = joined.content(schema)  # type: ignore[attr-defined]
    cells = dict(zip(content.keys, content.cells[parent], strict=True))
    places: dict[object, int] = {key: place for place, key in enumerate(above.group_keys or ())}
    rest = () if above.other is None else (places[above.other],)
    found = [places.get(cells.get(key), *rest) for key in column.keys or ()]
    if column.other is not None or None in found:
        at = "other keys" if None not in found else f"key {found.index(None) + 1}"
        what = f'says that "{child}" lies within "{parent}", and its look-up has no declared "{parent}" for {at}'
        raise InvalidSource(schema.name, what, "Complete the look-up, or declare fewer keys, without other.")
    return tuple(place for place in found if place is not None)
