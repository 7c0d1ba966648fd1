"""SQL text → Query, by an allow-list: what is not named here is refused, before any engine sees it.

The text is parsed (sqlglot), every node is checked against a short list of known ones, and a ``Query`` of our own
values is built.  The engine gets SQL written from that query, so only checked literals of the user's text reach it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sqlglot import exp

from .. import exact
from ..errors import InvalidParameter, MissingParameter, TooLarge, UnsupportedQuery, UselessParameter
from ..exact import Number
from . import query
from .condition import column_name, condition_of, numeral, only, parse_condition, parsed, refuse
from .expressions import refuse_no_text
from .literals import check_literals
from .query import Condition, Query, Statistic, named, quoted
from .schema import MOST_BINS, Column, Schema, bin_edges, equal_bins

_MOST_STATISTICS = 100
_QUANTILE = "Write QUANTILE_CONT(x, 0.9), with the share from 0 to 1."


def parse(text: str, schema: Schema, *, recorded: bool = False) -> Query:
    """Return the query that a SELECT asks, or refuse it with the reason.

    ``recorded`` says that it is the canonical text of a query that was accepted before, and may be longer and deeper.
    """
    select = parsed(text, recorded=recorded)
    if not isinstance(select, exp.Select):
        refuse(select)
    only(select, "expressions", "from_", "where", "group")
    _check_from(select.args.get("from_"), schema)
    items = [_aliased(item) for item in select.expressions]
    aliased = [(alias.casefold(), inner) for alias, inner in items if alias is not None and _is_key(inner)]
    names = {alias: inner for alias, inner in aliased if inner.key != "column" or inner.name.casefold() != alias}
    taken = [name for name in schema.columns if name.casefold() in names]
    if taken:
        raise UnsupportedQuery(f'another item with the name of the column "{taken[0]}"', "Give it another name.")
    keys = _grouping(select.args.get("group"), schema, names)
    statistics, shown = [], {}
    for alias, inner in items:
        if _is_key(inner):
            key, edges = _key(inner, schema)
            if (key, edges) not in keys:
                raise UnsupportedQuery(
                    f'"{key}" outside an aggregate', f'Rows never leave the source.  Add GROUP BY "{key}", or AVG(…).'
                )
            if key in shown:
                raise UnsupportedQuery("a key twice", "Name every key once.")
            shown[key] = alias or key
        else:
            statistics.append(replace(_aggregate(inner, schema), name=alias))
    if not statistics:
        raise UnsupportedQuery("no statistic", "Ask for one or more: COUNT(*), COUNT(x), SUM(x), AVG(x), …")
    where = select.args.get("where")
    if where is not None:
        only(where, "this")
    condition = None if where is None else condition_of(where.this, schema)
    if not recorded:
        for each in (condition, *(statistic.condition for statistic in statistics)):
            check_literals(each if isinstance(each, Condition) else None, schema)
    bins = {key: edges for key, edges in keys if edges is not None}
    return make_query(statistics, [key for key, _ in keys], condition, schema, bins, shown, recorded=recorded)


def make_query(
    statistics: Sequence[Statistic | Sequence[Statistic]],
    by: Sequence[str] | str | None,
    where: Condition | str | None,
    schema: Schema,
    bins: Mapping[str, tuple[Fraction, ...]] | None = None,
    titles: Mapping[str, str] | None = None,
    *,
    recorded: bool = False,
) -> Query:
    """Return the query, checked against the schema: columns, types, names and the number of cells.

    ``bins`` are the edges, ``titles`` the names of keys, where the query itself gives them.  Bins that are those of the
    declaration are the column itself; a ``recorded`` query stays as it is.
    """
    by = () if by is None else by
    if not isinstance(by, str | Sequence):
        raise InvalidParameter(by, "by", 'the name of a column, such as "ward", or several')
    if not (where is None or isinstance(where, str | Condition)):
        refuse_no_text(where, "where")
    keys = (by,) if isinstance(by, str) else tuple(by)
    asked = _asked(statistics)
    by = tuple(schema.column(key)[0] for key in keys)
    edges = dict(bins or {})
    binned = [each for each in asked if each.kind in ("histogram", "cdf")]
    if binned:
        if len(asked) > 1:
            raise UnsupportedQuery(
                "a histogram or CDF together with other statistics",
                "Ask for it alone, or declare the edges and group by the column.",
            )
        (one,) = binned
        name, column = schema.column(one.column or "")
        _check_number(name, column, "bins of")
        if one.edges is not None or one.bins is not None:
            edges[name], by = one.edges or equal_bins(column, one.bins or 1), (*by, name)
        if one.kind == "histogram":
            asked = (query.count(name=one.name),)
        elif not by or by[-1] != name or (name not in edges and column.edges is None):
            raise UnsupportedQuery("CDF without bins", "Group by them, last: CDF(x) … GROUP BY BIN(x, 0, 10, 20).")
        else:
            edges[name] = _limits(edges.get(name) or column.edges or (), column)
            asked = (replace(one, column=name, edges=None, bins=None),)
    if not recorded and asked[0].kind != "cdf":
        edges = {name: borders for name, borders in edges.items() if borders != schema.columns[name].edges}
    _check_keys(by, edges, schema)
    checked = [_checked(each, schema) for each in asked]
    condition = parse_condition(where, schema) if isinstance(where, str) else where
    shown = tuple((titles or {}).get(key, key) for key in by)
    if len({title.casefold() for title in shown}) != len(shown):
        raise UnsupportedQuery("two keys with the same name", "Give every key a different name.")
    return Query(schema.name, named(checked, shown), by, condition, tuple(sorted(edges.items())), shown)


def _asked(statistics: Sequence[object]) -> tuple[Statistic, ...]:
    """Return the statistics, checked: one or more, and not too many."""
    flat = tuple(_flat(statistics))
    if len(flat) > _MOST_STATISTICS:
        raise TooLarge("The number of statistics", str(len(flat)), str(_MOST_STATISTICS), "Ask in several releases.")
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
            advice = "Group by a column whose keys (or edges) the source declares; which keys occur is private.  "
            truth = schema.columns[key].kind == "boolean"
            advice += "Write keys = [false, true]." if truth else "`lapwing discover` finds the frequent ones."
            raise UnsupportedQuery(f'GROUP BY "{key}", which has no keys', advice)
    if len(set(by)) != len(by):
        raise UnsupportedQuery("a key twice", "Name every key once.")


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
    idle = [name for name in by_column if name not in {statistic.column for statistic in query.statistics}]
    if idle:
        advice = "Give weights for columns that the statistics are about."
        raise UselessParameter(f'A weight for "{idle[0]}"', "no statistic is about that column", advice)
    changed = (replace(each, weight=by_column.get(each.column or "", each.weight)) for each in query.statistics)
    return replace(query, statistics=tuple(changed))


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


def _checked(statistic: Statistic, schema: Schema) -> Statistic:
    if statistic.kind == "proportion":
        condition = statistic.condition
        if isinstance(condition, str):
            return replace(statistic, condition=parse_condition(condition, schema))
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
    name, column = schema.column(statistic.column)
    if statistic.kind != "count":
        _check_number(name, column, "a quantile of" if statistic.kind == "quantile" else "a sum over")
    return replace(statistic, column=name)


def _check_number(name: str, column: Column, what: str = "a sum over") -> None:
    if column.kind not in ("number", "integer"):
        raise UnsupportedQuery(
            f'{what} "{name}", which is not a number',
            "Ask for COUNT(x), for a share: AVG(CASE WHEN condition THEN 1 ELSE 0 END), or declare it as a number.",
        )
    if column.grid is None:
        raise UnsupportedQuery(
            f'{what} "{name}", which has no bounds',
            "Declare low and high for it in the source, from what the column means; without them one person "
            "could move the answer without limit.  `lapwing bounds` finds some privately.  "
            "A share is AVG(CASE WHEN condition THEN 1 ELSE 0 END).",
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
    if not item.alias.strip() or not item.alias.isprintable():
        raise UnsupportedQuery("a name that cannot be printed", "Give a name such as AS visits.")
    return item.alias, item.this


def _is_key(node: exp.Expression) -> bool:
    """Return whether the node is a column, or BIN(column, edge, edge, …)."""
    return isinstance(node, exp.Column) or (node.key == "anonymous" and str(node.this).upper() == "BIN")


def _key(node: exp.Expression, schema: Schema) -> tuple[str, tuple[Fraction, ...] | None]:
    """Return the column of a key, and its edges if it is a BIN."""
    if isinstance(node, exp.Column) or not _is_key(node) or not node.expressions:
        return schema.column(column_name(node))[0], None
    name, column = schema.column(column_name(node.expressions[0]))
    _check_number(name, column, "bins of")
    return name, bin_edges([_edge(edge) for edge in node.expressions[1:]])


def _grouping(
    part: exp.Expression | None, schema: Schema, names: Mapping[str, exp.Expression]
) -> list[tuple[str, tuple[Fraction, ...] | None]]:
    """Return the keys of GROUP BY, of which some may be given by their names in SELECT."""
    if part is None:
        return []
    only(part, "expressions")
    keys = []
    for item in part.expressions:
        if isinstance(item, exp.Column) and column_name(item).casefold() in names:
            item = names[column_name(item).casefold()]
        keys.append(_key(item, schema))
    return keys


def _edge(
    node: exp.Expression,
    what: str = "an edge that is not a number",
    advice: str = "Write GROUP BY BIN(age, 0, 18, 65, 120).",
) -> Fraction:
    value = numeral(node)
    if isinstance(node, exp.Div):  # 1/3, as the canonical text writes numbers that are not decimals
        top, bottom = numeral(node.this), numeral(node.expression)
        value = top / bottom if top is not None and bottom else None
    if value is None:
        raise UnsupportedQuery(what, advice)
    return value


def _aggregate(node: exp.Expression, schema: Schema) -> Statistic:
    if isinstance(node, exp.Count):
        only(node, "this", "big_int")
        if isinstance(node.this, exp.Distinct):
            return _people(node.this, schema)
        every = isinstance(node.this, exp.Star) and not any(node.this.args.values())
        one = isinstance(node.this, exp.Literal) and not node.this.is_string  # COUNT(1)
        return query.count() if every or one else _of(node, query.count)
    if isinstance(node, exp.Avg) and isinstance(node.this, exp.Case):
        only(node, "this")
        return Statistic("proportion", condition=_share(node.this, schema))
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
        return _of(node, makers[type(node)])
    if node.key == "anonymous" and str(node.this).upper() == "CDF" and len(node.expressions) == 1:
        return Statistic("cdf", column_name(node.expressions[0]))
    return _quantile(node)


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


def _of(node: exp.Expression, make: Callable[[str], Statistic]) -> Statistic:
    only(node, "this", "big_int")
    return make(column_name(node.this))


def _quantile(node: exp.Expression) -> Statistic:
    """Return QUANTILE_CONT(x, q), or what other engines call it."""
    column: exp.Expression
    if node.key == "anonymous" and str(node.this).upper() in ("QUANTILE_CONT", "QUANTILE_DISC"):
        if len(node.expressions) != 2:
            raise UnsupportedQuery("a quantile without its share", _QUANTILE)
        column, level = node.expressions
    elif isinstance(node, exp.Quantile):
        only(node, "this", "quantile")
        column, level = node.this, node.args["quantile"]
    elif isinstance(node, exp.WithinGroup) and isinstance(node.this, exp.PercentileCont | exp.PercentileDisc):
        only(node, "this", "expression")
        only(node.this, "this")
        order = node.expression.expressions if isinstance(node.expression, exp.Order) else []
        if len(order) != 1 or not isinstance(order[0], exp.Ordered) or order[0].args.get("desc"):
            raise UnsupportedQuery("this WITHIN GROUP", _QUANTILE)
        column, level = order[0].this, node.this.this
    else:
        refuse(node)
    share = _edge(level, "a share that is not a number", _QUANTILE)
    return query.quantile(column_name(column), share)


def _share(node: exp.Case, schema: Schema) -> Condition:
    """Return the condition of CASE WHEN condition THEN 1 ELSE 0 END."""
    only(node, "ifs", "default")
    branches = node.args["ifs"]
    ends = [branch.args.get("true") for branch in branches] + [node.args.get("default")]
    if len(branches) != 1 or [None if end is None else numeral(end) for end in ends] != [1, 0]:
        raise UnsupportedQuery("this CASE", "A share is written AVG(CASE WHEN condition THEN 1 ELSE 0 END).")
    return condition_of(branches[0].this, schema)
