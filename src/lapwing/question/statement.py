"""SQL text → what is asked, and what is shown of the answer: HAVING, ORDER BY and LIMIT are no part of the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from sqlglot import exp

from .. import exact
from ..errors import UnsupportedQuery
from .asking import resolved
from .condition import written
from .cut import PARTS, Cut, answer_columns, cut_of, parsed_cut
from .narrowed import narrowed
from .query import Query
from .quotes import refuse_quotes
from .rewrite import is_aggregate, position
from .schema import Schema
from .sql import aggregate, checked_statistic, query_of, select_of

_MOST_ROWS = 10**15


class Statement(NamedTuple):
    """What a SELECT asks, and what it shows of the answer, which is no part of the question."""

    query: Query
    cut: Cut


def read(text: str, schema: Schema) -> Statement:
    """Return what a SELECT asks and shows, or refuse it with the reason."""
    select = select_of(text, schema)
    shown = exp.Select(**{part: select.args.get(part) for part in PARTS})
    for part in PARTS:
        select.set(part, None)
    query, names = query_of(select, schema)
    _refuse_several(query, any(shown.args.values()))
    items = [item.unalias() for item in select.expressions]
    return Statement(query, _cut(shown, query, schema, items, names))


def make_cut(
    query: Query,
    schema: Schema,
    *,
    having: str | None = None,
    order_by: str | Sequence[str] | None = None,
    limit: int | None = None,
    offset: int = 0,
) -> Cut:
    """Return a cut of the answer to a query, as Python writes it."""
    _refuse_several(query, having is not None or order_by is not None or limit is not None or offset != 0)
    names = [*(query.titles or query.by), *(str(each.name) for each in query.statistics)]
    cut = _cut(parsed_cut(having, order_by), query, schema, [], names)
    most = None if limit is None else exact.whole(limit, "limit", _MOST_ROWS, least=0)
    return replace(cut, limit=most, offset=exact.whole(offset, "offset", _MOST_ROWS, least=0))


def _refuse_several(query: Query, cuts: bool) -> None:
    """Refuse to cut the answer to a question for several tables: its rows would no longer add up."""
    if query.sets and cuts:
        raise UnsupportedQuery(
            "HAVING, ORDER BY or LIMIT with ROLLUP, CUBE or GROUPING SETS",
            "All cells of all tables are released, in the order of the declared keys, so that they add up.  "
            "Select rows of the answer afterwards: it is public.",
        )


def _cut(
    select: exp.Select, query: Query, schema: Schema, items: Sequence[exp.Expression], names: Sequence[str]
) -> Cut:
    """Return how a SELECT cuts its answer; ``names`` are the columns that a number may mean, by ``items`` of SELECT."""
    schema = narrowed(schema, query)
    answer = answer_columns(query, schema)
    statistics = {each.text: str(each.name) for each in query.statistics if each.shown_text == each.text}
    titles = {key.casefold(): title for key, title in zip(query.by, query.titles or query.by, strict=True)}
    columns = titles | {name.casefold(): name for name in answer.columns}
    orders = select.args.get("having") is not None or select.args.get("order") is not None
    trees = {_folded(item.copy()): name for item, name in zip(items, names, strict=False)} if orders else {}

    def meaning(node: exp.Expression) -> str | None:
        if isinstance(node, exp.Column):
            return columns.get(node.name.casefold())
        if (name := trees.get(node)) is not None:
            return name
        if not isinstance(node, exp.AggFunc | exp.WithinGroup | exp.Anonymous) or not is_aggregate(node):
            return None
        (statistic,), known = resolved((aggregate(node, schema),), schema)
        text = checked_statistic(statistic, known).text
        if text not in statistics:
            raise UnsupportedQuery(f"{written(node)} in HAVING or ORDER BY but not in SELECT", f"Add {text} to SELECT.")
        return statistics[text]

    for part in ("having", "order"):
        if (tree := select.args.get(part)) is not None:
            refuse_quotes(tree, [*answer.columns, *schema.columns])
            _folded(tree)
    return cut_of(select, answer, meaning, lambda number: names[position(number, names, "ORDER BY")])


def _folded(tree: exp.Expression) -> exp.Expression:
    """Return the tree, with names that are equal whenever they mean the same."""
    for name in tree.find_all(exp.Identifier):
        name.set("this", str(name.this).casefold())
        name.set("quoted", True)
    return tree
