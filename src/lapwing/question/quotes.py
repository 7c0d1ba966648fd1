"""Names that were meant as texts, and names that were read as functions: how to write them instead."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from ..errors import UnsupportedQuery, suggestion
from .literals import quotable
from .query import quoted


def refuse_quotes(tree: exp.Expr, known: Collection[str]) -> None:
    """Refuse a comparison with an unknown name: in double quotes or without quotes, a text was meant.

    A name with brackets, such as Cost (EUR), looks like a function where it lacks its double quotes.
    """
    called = {_squeezed(name): name for name in known if "(" in name}
    for function in tree.find_all(exp.Anonymous):
        name = called.get(_squeezed(function.sql()))
        if name is not None:
            raise UnsupportedQuery(f"the name {name} without its quotes", f"Write {quoted(name)}.")
    folded = {name.casefold() for name in known}
    for column in tree.find_all(exp.Column):
        if column.name.casefold() in folded or column.table or not isinstance(column.parent, exp.Predicate):
            continue
        what, text = f"a comparison with the unknown column {quotable(quoted(column.name))}", quotable(column.name)
        if column.this.args.get("quoted"):
            raise UnsupportedQuery(what, f"Double quotes name a column, and single quotes hold a text: '{text}'.")
        if _other_side(column).casefold() in folded:
            meant = suggestion(column.name, known)
            raise UnsupportedQuery(what, f"A text stands in single quotes: write '{text}'.{meant}")


def _squeezed(text: str) -> str:
    """Return a name, or what was read as a call, without the spaces and the case that SQL does not keep."""
    return "".join(text.split()).casefold()


def _other_side(column: exp.Column) -> str:
    """Return the name of the column that a name is compared with, by =, <> or IN; nothing if there is none."""
    compared = column.parent
    if not isinstance(compared, exp.EQ | exp.NEQ | exp.In):
        return ""
    other = compared.this if column is not compared.this else compared.args.get("expression")
    return other.name if isinstance(other, exp.Column) else ""
