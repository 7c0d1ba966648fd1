"""GROUP BY as a tree → its keys, and the tables that ROLLUP, CUBE and GROUPING SETS ask for.

The elements of GROUP BY are combined as SQL says: each table of one with each table of the others.  Keys that stand
alone come first, then ROLLUP, CUBE and GROUPING SETS.  A table that is asked for twice is one table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from sqlglot import exp

from ..errors import UnsupportedQuery
from .asking import check_number, is_row_expression, key_expression_of
from .bins import bin_edges
from .condition import column_name, only, written
from .derived import added_key
from .expression import ONE, Named, Product
from .quantiles import number_in
from .query import quoted
from .schema import Schema
from .sets import KeyTable, crossed, cubed, different, rolled

Edges = tuple[Fraction, ...]

_NO_EDGE = "an edge that is not a number", "Write GROUP BY BIN(age, 0, 18, 65, 120)."
_SETS = {exp.Rollup: "rollup", exp.Cube: "cube", exp.GroupingSets: "grouping_sets"}
"""The elements that ask for several tables, and the argument of GROUP BY in which some versions of sqlglot put them."""


_MOST_IN_GROUPING = 16
"""How many columns one GROUPING is about at most: it has 2^k values."""


class Grouping(NamedTuple):
    """The keys of a question with their edges, the tables that it asks for, and the schema with its computed keys."""

    keys: Mapping[str, Edges | None]
    tables: Sequence[KeyTable]
    schema: Schema


def grouping_of(part: exp.Expression | None, schema: Schema, names: Mapping[str, exp.Expression]) -> Grouping:
    """Return what GROUP BY asks; ``names`` are the keys that SELECT names."""
    if part is None:
        return Grouping({}, [()], schema)
    only(part, "expressions", *_SETS.values())
    parts = [*part.expressions, *(each for name in _SETS.values() for each in part.args.get(name) or ())]
    alone = [each for each in parts if not isinstance(each, tuple(_SETS))]
    several = [each for kind in _SETS for each in parts if isinstance(each, kind)]
    read = _Reader(schema, names)
    first = read.together(exp.Tuple(expressions=alone))
    ends = [each for each in several if not each.expressions]  # GROUP BY a, b WITH ROLLUP
    if ends:
        if len(several) > 1 or not alone:
            raise UnsupportedQuery("WITH ROLLUP or WITH CUBE beside others", "Write GROUP BY ROLLUP (a, b).")
        elements = [read.together(each) for each in alone]
        tables = rolled(elements) if isinstance(ends[0], exp.Rollup) else cubed(elements)
        return Grouping(read.keys, tables, read.schema)
    lists = [read.tables(each) for each in several]
    return Grouping(read.keys, crossed([[first], *lists]), read.schema)


class _Reader:
    """Reads elements of GROUP BY, and collects their keys."""

    def __init__(self, schema: Schema, names: Mapping[str, exp.Expression]) -> None:
        self.schema = schema
        self.keys: dict[str, Edges | None] = {}
        self._names = names

    def tables(self, node: exp.Expression) -> list[KeyTable]:
        """Return the tables of an element."""
        if not isinstance(node, tuple(_SETS)):
            return [self.together(node)]
        only(node, "expressions")
        if not node.expressions:
            raise UnsupportedQuery("ROLLUP, CUBE or GROUPING SETS of nothing", "Write GROUP BY ROLLUP (a, b).")
        if isinstance(node, exp.GroupingSets):
            return different(table for each in node.expressions for table in self.tables(each))
        elements = [self.together(each) for each in node.expressions]
        _refuse_twice([name for element in elements for name in element])
        return rolled(elements) if isinstance(node, exp.Rollup) else cubed(elements)

    def together(self, node: exp.Expression) -> KeyTable:
        """Return the keys of an element that stand together: one, or some in brackets."""
        if not isinstance(node, exp.Tuple):
            return (self._key(node),)
        only(node, "expressions")
        names = [name for each in node.expressions for name in self.together(each)]
        _refuse_twice(names)
        return tuple(names)

    def _key(self, node: exp.Expression) -> str:
        if isinstance(node, exp.Column) and column_name(node).casefold() in self._names:
            node = self._names[column_name(node).casefold()]
        name, edges, self.schema = key_of(node, self.schema)
        if self.keys.setdefault(name, edges) != edges:
            raise UnsupportedQuery(f"two ways to group by {quoted(name)}", "Give the same bins in all tables.")
        return name


def _refuse_twice(names: Sequence[str]) -> None:
    if len(set(names)) != len(names):
        raise UnsupportedQuery("a key twice", "Name every key once.")


# --- keys ---


def _is_bin(node: exp.Expression) -> bool:
    return node.key == "anonymous" and str(node.this).upper() == "BIN"


def is_key(node: exp.Expression) -> bool:
    """Return whether the node is a column, BIN(column, edge, edge, …), or an expression of a row."""
    return isinstance(node, exp.Column) or _is_bin(node) or is_row_expression(node)


def key_of(node: exp.Expression, schema: Schema) -> tuple[str, Edges | None, Schema]:
    """Return the column of a key, its edges if it is a BIN, and the schema with that column."""
    if not _is_bin(node) or not node.expressions:
        name, schema = _column(node, schema)
        return name, None, schema
    name, schema = _column(node.expressions[0], schema)
    check_number(name, schema.columns[name], "bins of")
    return name, bin_edges([number_in(edge, *_NO_EDGE) for edge in node.expressions[1:]]), schema


def _column(node: exp.Expression, schema: Schema) -> tuple[str, Schema]:
    """Return the name of a column or expression, and the schema with it."""
    if isinstance(node, exp.Column):
        return schema.column(column_name(node))[0], schema
    expression = key_expression_of(node, schema)
    match expression:
        case Product((first, Named(column))) if first == ONE and node.find(exp.Div) is not None:
            what = f"GROUP BY {written(node)} (/ does not round: it is {quoted(column)} itself)"
            raise UnsupportedQuery(what, f"Write FLOOR({column} / 10) * 10, or bins: BIN({column}, 0, 10, 20).")
    return added_key(schema, expression)


def is_grouping(node: exp.Expression) -> bool:
    """Return whether the node is GROUPING(a, …), which says which keys a row of the answer is summed over."""
    return isinstance(node, exp.Grouping | exp.GroupingId)


def grouping_keys(node: exp.Expression, grouping: Grouping) -> KeyTable:
    """Return the keys that GROUPING is about."""
    only(node, "expressions")
    advice = "Write GROUPING(a) with keys of ROLLUP, CUBE or GROUPING SETS."
    if len(grouping.tables) < 2 or not node.expressions:
        raise UnsupportedQuery("GROUPING of no column, or in a question for one table", advice)
    keys = [key_of(each, grouping.schema)[0] for each in node.expressions]
    if not set(keys) <= set(grouping.keys):
        raise UnsupportedQuery("GROUPING of a column that is not grouped by", advice)
    if len(keys) > _MOST_IN_GROUPING:
        raise UnsupportedQuery(f"GROUPING of more than {_MOST_IN_GROUPING} columns", "Write GROUPING of fewer of them.")
    return tuple(keys)
