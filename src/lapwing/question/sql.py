"""SQL text → Query, by an allow-list: what is not named here is refused, before any engine sees it.

The text is parsed (sqlglot), every node is checked against a short list of known ones, and a ``Query`` of our own
values is built.  The engine gets SQL written from that query, so only checked literals of the user's text reach it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sqlglot import exp

from .. import exact
from ..errors import InvalidParameter, MissingParameter, TooLarge, UnsupportedQuery, UselessParameter
from ..exact import Number
from . import query
from .asking import (
    about,
    argument,
    check_number,
    column_for,
    is_written,
    resolved,
)
from .bins import equal_bins
from .condition import check_depth, column_name, condition_of, numeral, only, parse_condition, parsed, refuse
from .derived import check_computable, with_derived, with_values
from .expression import ONE, ZERO, Choose, names_in
from .foreign_objects import refuse_no_text
from .grouping import grouping_keys, grouping_of, is_grouping, is_key, key_of
from .labels import NAME, is_name
from .literals import check_expression, check_literals
from .narrowed import narrowed
from .quantiles import quantile_of
from .query import Condition, Query, Statistic, elementary, named, quoted
from .quotes import refuse_quotes
from .ratios import calculated
from .rewrite import INNER, plain
from .schema import MOST_BINS, Column, Schema
from .sets import MOST_KEYS, Keys, KeySets, KeyTable, canonical, check_cells, check_statistics, crossed
from .spelling import numeral as written_numeral
from .within import without_parents
from .words import name_in_sql

_MOST_STATISTICS = 100
_MOST_ITEMS = _MOST_STATISTICS + 2 * MOST_KEYS  # of SELECT: statistics, keys, and GROUPING of them
_LARGEST_WEIGHT = 2**31


def parse(text: str, schema: Schema, *, recorded: bool = False) -> Query:
    """Return the query that a SELECT asks, without anything that cuts the answer, or refuse it with the reason.

    ``recorded`` says that it is the canonical text of a query that was accepted before, and may be longer and deeper.
    """
    return query_of(select_of(text, schema, recorded=recorded), schema, recorded=recorded)[0]


def select_of(text: str, schema: Schema, *, recorded: bool = False) -> exp.Select:
    """Return the SELECT from the source itself that a text asks."""
    tree = parsed(text, recorded=recorded)
    if not isinstance(tree, exp.Select):
        refuse(tree)
    for each in tree.find_all(exp.Select):  # before any work that grows with its square
        if len(each.expressions) > _MOST_ITEMS:
            raise _too_many(len(each.expressions))
    select = plain(tree, schema)
    person = () if schema.person is None else (schema.person,)
    names = [*schema.columns, *person, *(item.alias_or_name for item in select.expressions)]
    for part in (*select.expressions, select.args.get("where"), select.args.get("group")):
        if part is not None and not recorded:
            refuse_quotes(part, names)
    return select


def query_of(select: exp.Select, schema: Schema, *, recorded: bool = False) -> tuple[Query, list[str]]:
    """Return the query of a plain SELECT, and the names of its items in the answer."""
    only(select, "expressions", "from_", "where", "group")
    _check_from(select.args.get("from_"), schema)
    items = [_aliased(item) for item in select.expressions]
    aliased = [(alias.casefold(), inner) for alias, inner in items if alias is not None and is_key(inner)]
    renamed = {alias: inner for alias, inner in aliased if inner.key != "column" or inner.name.casefold() != alias}
    taken = [name for name in schema.columns if name.casefold() in renamed]
    if taken:
        raise UnsupportedQuery(f'another item with the name of the column "{taken[0]}"', "Give it another name.")
    grouping = grouping_of(select.args.get("group"), schema, renamed)
    keys, schema = grouping.keys, grouping.schema
    for joined in select.meta.get(INNER, ()):
        if not any(
            key in joined and edges is None and schema.columns[key].other is None for key, edges in keys.items()
        ):
            advice = "Write LEFT JOIN, as the source declares it, or group by a column of the joined table."
            raise UnsupportedQuery("a join that leaves out rows without a partner", advice)
    statistics, shown, markers = [], {}, []
    for alias, inner in items:
        if is_key(inner):
            key, edges, schema = key_of(inner, schema)
            if key not in keys or keys[key] != edges:
                name = key if schema.columns[key].is_computed else quoted(key)
                raise UnsupportedQuery(
                    f"{name} outside an aggregate", f"Rows never leave the source.  Add GROUP BY {name}, or AVG(…)."
                )
            if key in shown:
                raise UnsupportedQuery("a key twice", "Name every key once.")
            shown[key] = alias or _title(key, schema)
        elif is_grouping(inner):
            markers.append((alias, grouping_keys(inner, grouping)))
        else:
            statistics.append(replace(aggregate(inner, schema), name=alias))
    if not statistics:
        raise UnsupportedQuery("no statistic", "Ask for one or more: COUNT(*), COUNT(x), SUM(x), AVG(x), …")
    where = select.args.get("where")
    if where is not None:
        only(where, "this")
    condition = None if where is None else condition_of(where.this, schema)
    bins = {key: edges for key, edges in keys.items() if edges is not None}
    by = KeySets(tuple(grouping.tables))
    query = make_query(statistics, by, condition, schema, bins, shown, markers, recorded=recorded)
    names, marked = iter([str(each.name) for each in query.statistics]), iter(query.grouping)
    return query, [
        shown[key_of(each, schema)[0]] if is_key(each) else next(marked)[0] if is_grouping(each) else next(names)
        for _, each in items
    ]


def make_query(
    statistics: Sequence[Statistic | Sequence[Statistic]],
    by: Keys | None,
    where: Condition | str | None,
    schema: Schema,
    bins: Mapping[str, tuple[Fraction, ...]] | None = None,
    titles: Mapping[str, str] | None = None,
    markers: Sequence[tuple[str | None, KeyTable]] = (),
    *,
    recorded: bool = False,
) -> Query:
    """Return the query, checked against the schema: columns, types, names and the number of cells.

    ``bins`` are the edges, ``titles`` the names of keys, where the query itself gives them, and ``markers`` the keys
    that GROUPING is about.  Bins that are those of the declaration are the column itself; a ``recorded`` query stays as
    it is.
    """
    if not (where is None or isinstance(where, str | Condition)):
        refuse_no_text(where, "where")
    asked, schema = resolved(_asked(statistics), schema)
    edges = dict(bins or {})
    keys, tables, schema = _tables(by, schema, edges)
    if tables:
        check_statistics(asked)
    asked, keys = _binned(asked, keys, edges, schema)
    if not recorded and asked[0].kind != "cdf":
        edges = {name: borders for name, borders in edges.items() if borders != schema.columns[name].edges}
    valued = with_values({key: schema.columns[key] for key in keys if key not in edges})
    schema = with_derived(schema, valued.items())
    _check_keys(keys, edges, schema)
    checked = [checked_statistic(each, schema) for each in asked]
    condition = parse_condition(where, schema) if isinstance(where, str) else where
    for each in (condition, *(statistic.condition for statistic in elementary(checked))):
        if isinstance(each, Condition):
            check_computable(each, schema)
            check_literals(None if recorded else each, schema)
    shown = tuple((titles or {}).get(key, _title(key, schema)) for key in keys)
    grouping = tuple((name or "_".join(("grouping", *about)), about) for name, about in markers)
    taken = [*shown, *(name for name, _ in grouping)]
    if len({title.casefold() for title in taken}) != len(taken):
        raise UnsupportedQuery("two keys with the same name", "Give every key a different name.")
    used = {*keys, *(name for each in elementary(checked) for name in (each.column, each.weight_column))}
    written = (name for name, column in schema.columns.items() if name in used and is_written(name, column))
    derived = ((name, schema.columns[name]) for name in {*written, *valued})
    computed, bordered = tuple(sorted(derived)), tuple(sorted(edges.items()))
    for expression in () if recorded else (column.expression for _, column in computed):
        check_expression(ZERO if expression is None else expression, schema)
    query = Query(schema.name, named(checked, taken), keys, condition, bordered, shown, computed, tables, grouping)
    if tables:
        check_cells(query, narrowed(schema, query))
    if not recorded:
        check_depth(query.text)
    return query


def _tables(by: object, schema: Schema, bins: Collection[str]) -> tuple[KeyTable, tuple[KeyTable, ...], Schema]:
    """Return the keys, the tables if several are asked, and the schema with the keys that are computed."""
    by = () if by is None else by
    if not isinstance(by, str | Sequence | KeySets):
        raise InvalidParameter(by, "by", 'the name of a column, such as "ward", or several')
    given = (by,) if isinstance(by, str | KeySets) else tuple(by)
    several = any(isinstance(each, KeySets) for each in given)
    elements = [each.tables if isinstance(each, KeySets) else ((each,),) for each in given]
    names: dict[str, str] = {}
    tables: list[KeyTable] = [()]
    for element in elements:
        for text in (text for table in element for text in table):
            if not isinstance(text, str) or text not in names:
                name, schema = column_for(text, schema)
                names[text] = name
        resolved_tables = [tuple(names[text] for text in table) for table in element]
        if not several:  # a key that is named twice is refused later
            tables = [(*tables[0], *resolved_tables[0])]
        else:
            tables = crossed([tables, resolved_tables])
    if len(tables) > 1:
        order = [name for table in tables for name in table]
        tables = without_parents(tables, schema, bins)
    if len(tables) < 2:
        return tables[0], (), schema
    keys, ordered = canonical(tables, order)
    return keys, ordered, schema


def _binned(
    asked: tuple[Statistic, ...], by: tuple[str, ...], edges: dict[str, tuple[Fraction, ...]], schema: Schema
) -> tuple[tuple[Statistic, ...], tuple[str, ...]]:
    """Return the statistics and keys that a histogram or a distribution function asks for; add its edges."""
    binned = [each for each in asked if each.kind in ("histogram", "cdf")]
    if not binned:
        return asked, by
    if len(asked) > 1:
        raise UnsupportedQuery(
            "a histogram or CDF together with other statistics",
            "Ask for it alone, or count the groups of BIN(column, edge, edge, …).",
        )
    (one,) = binned
    name, column = schema.column(one.column or "")
    check_number(name, column, "bins of")
    if one.edges is not None or one.bins is not None:
        edges[name], by = one.edges or equal_bins(column, one.bins or 1), (*by, name)
    if one.kind == "histogram":
        return (query.count(name=one.name),), by
    if not by or by[-1] != name or (name not in edges and column.edges is None):
        raise UnsupportedQuery("CDF without bins", "Group by them, last: CDF(x) … GROUP BY BIN(x, 0, 10, 20).")
    edges[name] = _limits(edges.get(name) or column.edges or (), column)
    return (replace(one, column=name, edges=None, bins=None),), by


def _title(key: str, schema: Schema) -> str:
    """Return the name of a key in the answer: an expression without the quotes that it does not need."""
    return re.sub(r'"([A-Za-z_]\w*)"', r"\1", key) if is_written(key, schema.columns[key]) else key


def _too_many(number: int) -> TooLarge:
    return TooLarge("The number of statistics", str(number), str(_MOST_STATISTICS), "Ask in several releases.")


def _asked(statistics: Sequence[object]) -> tuple[Statistic, ...]:
    """Return the statistics, checked: one or more, and not too many."""
    flat = tuple(_flat(statistics))
    if len(flat) > _MOST_STATISTICS:
        raise _too_many(len(flat))
    if not flat:
        raise MissingParameter("statistics", "Ask for one or more, such as lw.count().")
    for each in flat:
        if not isinstance(each, Statistic):
            raise InvalidParameter(each, "statistic", "what lw.count(), lw.mean(…) and so on return")
    return flat


def _check_keys(by: Sequence[str], edges: Mapping[str, object], schema: Schema) -> None:
    """Refuse keys that are named twice, or whose groups are not public."""
    for key in by:
        if schema.columns[key].group_keys is None and key not in edges:
            advice = _keys_advice(key, schema.columns[key], schema)
            raise UnsupportedQuery(f'GROUP BY "{key}", which has no keys', advice)
    if len(set(by)) != len(by):
        raise UnsupportedQuery("a key twice", "Name every key once.")


def _only_column(column: Column, schema: Schema) -> str | None:
    """Return the only column that a computed one names, and once, if it has bounds."""
    names = [] if column.expression is None else [*names_in(column.expression)]
    known = len(names) == 1 and names[0] in schema.columns and schema.columns[names[0]].low is not None
    return names[0] if known else None


def _keys_advice(key: str, column: Column, schema: Schema) -> str:
    """Say how to group by a column that has no keys."""
    name = key if is_written(key, column) else name_in_sql(key)
    if column.first is not None:
        return f"Choose a unit of time: GROUP BY DATE_TRUNC('month', {name})."
    if (within := _only_column(column, schema)) is not None:
        name, column = name_in_sql(within), schema.columns[within]
    if column.low is not None and column.high is not None:
        edges = (column.low, (column.low + column.high) / 2, column.high)
        return f"Choose bins of it: GROUP BY BIN({', '.join([name, *map(written_numeral, edges)])})."
    if column.kind == "date":
        return f"Once the owner of the source declares its first and last day: GROUP BY DATE_TRUNC('month', {name})."
    return (
        "Group by a column whose keys (or edges) the source declares; which keys occur is private.  "
        "The owner of the source can find the frequent ones by `lapwing discover`."
    )


def _limits(edges: Sequence[Fraction], column: Column) -> tuple[Fraction, ...]:
    """Return the edges of a distribution function: those given, extended to the bounds."""
    low, high = column.low or Fraction(0), column.high or Fraction(0)
    extended = (*([low] if low < edges[0] else []), *edges, *([high] if high > edges[-1] else []))
    if not 2 <= len(extended) - 1 <= MOST_BINS:
        allowed = f"from 2 to {MOST_BINS:,}, since a share of rows needs a limit between the bounds"
        raise InvalidParameter(len(extended) - 1, "number of bins", allowed)
    return extended


def _flat(statistics: Sequence[object]) -> Iterator[Any]:
    """Yield the statistics, including those in lists, such as ``quantile`` returns."""
    for each in statistics:
        yield from each if isinstance(each, list | tuple) else (each,)


def weighted(query: Query, weights: Mapping[str, Number], schema: Schema) -> Query:
    """Return the query with the weights by which ε is split over its columns."""
    if not isinstance(weights, Mapping):
        raise InvalidParameter(weights, "weights", 'a mapping from columns to numbers, such as {"cost": 3, "age": 1}')
    by_column = {schema.column(name)[0]: exact.positive(weight, "weight") for name, weight in weights.items()}
    idle = [name for name in by_column if name not in {each.column for each in elementary(query.statistics)}]
    if idle:
        table = f', or for a table, as in brackets: ("{idle[0]}",)' if query.sets and idle[0] in query.by else ""
        advice = f"Give weights for columns that the statistics are about{table}."
        raise UselessParameter(f'A weight for "{idle[0]}"', "no statistic is about that column", advice)

    def changed(each: Statistic) -> Statistic:
        parts = tuple(map(changed, each.parts))
        return replace(each, share=by_column.get(each.column or "", each.share), parts=parts)

    return replace(query, statistics=tuple(map(changed, query.statistics)))


def aimed(query: Query, errors: Mapping[str, Number]) -> Query:
    """Return the query with the errors that its statistics, by their names, should have."""
    by_name = {name.casefold(): exact.positive(error, "error") for name, error in errors.items()}
    names = {str(statistic.name).casefold() for statistic in query.statistics}
    idle = [name for name in errors if name.casefold() not in names]
    if idle:
        known = ", ".join(str(statistic.name) for statistic in query.statistics)
        raise InvalidParameter(idle[0], "name of a statistic", f"one of {known}")
    changed = (replace(each, error=by_name.get(str(each.name).casefold(), each.error)) for each in query.statistics)
    return replace(query, statistics=tuple(changed))


def checked_statistic(statistic: Statistic, schema: Schema) -> Statistic:
    """Return a statistic about declared columns, or refuse it."""
    if statistic.parts:
        return replace(statistic, parts=tuple(checked_statistic(part, schema) for part in statistic.parts))
    if statistic.kind == "proportion":
        return statistic
    if statistic.kind == "people":
        if schema.person is None:
            raise UnsupportedQuery(
                "the number of people in a source that names no person",
                "Here every row is one person: ask for COUNT(*).  Or name the column that identifies a person.",
            )
        return replace(statistic, column=schema.person)
    if statistic.column is None:
        return statistic
    name, column = statistic.column, schema.columns[statistic.column]
    if statistic.kind != "count":
        check_number(name, column, "a quantile of" if statistic.kind == "quantile" else "a sum over")
    if statistic.weight_column is not None:
        if statistic.level in (0, 1):
            why = "a minimum or a maximum does not depend on weights"
            raise UselessParameter("weight", why, "Ask without it, or for a quantile such as 0.01.")
        _check_weight(statistic.weight_column, schema)
    return statistic


def _check_weight(name: str, schema: Schema) -> None:
    """Refuse weights without bounds, or that can be negative."""
    column = schema.columns[name]
    check_number(name, column, "weights by")
    if column.low is None or column.low < 0:
        raise UnsupportedQuery(
            f"weights by {quoted(name)}, which can be negative",
            "Write GREATEST(w, 0), or the owner of the source declares low = 0.",
        )
    if column.grid is not None and not 0 < column.grid.high < _LARGEST_WEIGHT:
        raise UnsupportedQuery(
            f"weights by {quoted(name)}, which have more than 2^31 steps between 0 and the largest",
            "The owner of the source can declare low = 0, and for whole numbers a smaller high.",
        )


# --- SELECT ---


def _check_from(part: exp.Expression | None, schema: Schema) -> None:
    advice = f'Write FROM "{schema.name}".'
    if part is None:
        raise UnsupportedQuery("a SELECT without FROM", advice)
    only(part, "this")
    table = part.this
    if not isinstance(table, exp.Table):
        refuse(table, " in FROM")
    only(table, "this")
    if not isinstance(table.this, exp.Identifier):
        refuse(table.this, " in FROM")
    if table.name.casefold() != schema.name.casefold():
        raise UnsupportedQuery("a table other than the source", advice)


def _aliased(item: exp.Expression) -> tuple[str | None, exp.Expression]:
    """Return the alias of an item of SELECT, if it has one, and the item."""
    if not isinstance(item, exp.Alias):
        return None, item
    only(item, "this", "alias")
    if not is_name(item.alias):
        raise UnsupportedQuery(f"a name that is not {NAME}", "Give a name such as AS visits.")
    return item.alias, item.this


def aggregate(node: exp.Expression, schema: Schema) -> Statistic:
    """Return the statistic that an aggregate asks for."""
    made = calculated(node, lambda each: aggregate(each, schema))
    if made is not None:
        return made
    node, where = _filtered(node, schema)
    if isinstance(node, exp.Sum) and numeral(node.this) == 1:
        node = exp.Count(this=exp.Star())
    if isinstance(node, exp.Count):
        only(node, "this", "big_int")
        if isinstance(node.this, exp.Distinct) and where is None:
            return _people(node.this, schema)
        every = isinstance(node.this, exp.Star) and not any(node.this.args.values())
        one = isinstance(node.this, exp.Literal) and not node.this.is_string  # COUNT(1)
        if every or one:
            return query.count() if where is None else about(query.count(), Choose(((where, ONE),)))
        return _of(node, query.count, schema, where)
    share = _share(node, schema) if where is None else None
    if share is not None:
        return Statistic("proportion", condition=share)
    makers: dict[type[exp.Expression], Callable[[str], Statistic]] = {
        exp.Sum: query.sum,
        exp.Avg: query.mean,
        exp.Variance: query.variance,
        exp.VariancePop: lambda x: query.variance(x, sample=False),
        exp.Stddev: query.std,
        exp.StddevSamp: query.std,
        exp.StddevPop: lambda x: query.std(x, sample=False),
        exp.Median: query.median,
        exp.Min: query.min,
        exp.Max: query.max,
    }
    if type(node) in makers:
        return _of(node, makers[type(node)], schema, where)
    if where is not None:
        refuse(exp.Filter())
    if node.key == "anonymous" and str(node.this).upper() == "CDF" and len(node.expressions) == 1:
        return about(Statistic("cdf"), argument(node.expressions[0], schema))
    return quantile_of(node, schema)


def _filtered(node: exp.Expression, schema: Schema) -> tuple[exp.Expression, Condition | None]:
    """Return the aggregate and the condition of FILTER (WHERE condition)."""
    if not isinstance(node, exp.Filter):
        return node, None
    only(node, "this", "expression")
    only(node.expression, "this")
    return node.this, condition_of(node.expression.this, schema)


def _people(node: exp.Distinct, schema: Schema) -> Statistic:
    """Return COUNT(DISTINCT person)."""
    only(node, "expressions")
    names = [column_name(each) for each in node.expressions]
    person = schema.person or ""
    if schema.person is not None and (len(names) != 1 or names[0].casefold() != person.casefold()):
        raise UnsupportedQuery(
            "COUNT(DISTINCT …) of something other than the person",
            f"COUNT(DISTINCT {quoted(person)}) is the number of people.  For other columns: which keys occur is "
            "private, and `lapwing discover` finds the frequent ones.",
        )
    return query.people()


def _of(node: exp.Expression, make: Callable[[str], Statistic], schema: Schema, where: Condition | None) -> Statistic:
    """Return a statistic of a column or expression; with FILTER, of the rows where its condition is true."""
    only(node, "this", "big_int")
    inner = argument(node.this, schema)
    return about(make(""), inner if where is None else Choose(((where, inner),)))


def _share(node: exp.Expression, schema: Schema) -> Condition | None:
    """Return the condition of AVG(CASE WHEN condition THEN 1 ELSE 0 END), or None."""
    if not isinstance(node, exp.Avg) or not isinstance(node.this, exp.Case) or node.this.this is not None:
        return None
    only(node, "this")
    only(node.this, "ifs", "default")
    branches = node.this.args["ifs"]
    ends = [branch.args.get("true") for branch in branches] + [node.this.args.get("default")]
    if len(branches) != 1 or [None if end is None else numeral(end) for end in ends] != [1, 0]:
        return None
    return condition_of(branches[0].this, schema)
