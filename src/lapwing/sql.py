"""SQL text → Query, by an allow-list: what is not named here is refused, before any engine sees it.

The text is parsed (sqlglot), every node is checked against the few that are known, and a ``Query`` of our own values is
made.  What an engine gets is written from that query, so no part of the user's text reaches it but checked literals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Any, NoReturn

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from . import exact, query
from .errors import InvalidParameter, UnsupportedQuery
from .exact import Number
from .query import All, Compare, Condition, Missing, OneOf, Query, Some, Statistic, Value, joined, named, negated
from .schema import Column, Schema, bin_edges, is_unicode

_LONGEST = 100_000
_DEEPEST = 20
_MOST_STATISTICS = 100
_SHAPE = (
    "Write one SELECT with COUNT(*), COUNT(x), SUM, AVG, VAR_SAMP, VAR_POP, STDDEV_SAMP or STDDEV_POP, "
    "FROM the source, WHERE, GROUP BY."
)
_HISTOGRAM = "Its sensitivity is the whole range ({}).  Ask for a histogram: COUNT(*) … GROUP BY BIN(x, 0, 10, 20)."
_COMPARISONS: dict[type[exp.Expression], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_TURNED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

_ADVICE: dict[type[exp.Expression], tuple[str, str]] = {
    exp.Having: ("HAVING", "It would show which groups are large.  Release all groups, and filter the answer."),
    exp.Order: ("ORDER BY", "The rows come in the public order of the keys.  Sort the answer."),
    exp.Limit: ("LIMIT", "Take the first rows of the answer."),
    exp.Offset: ("OFFSET", "Take a part of the answer."),
    exp.Join: ("a join", "Make the joined table a source of its own, with its person column."),
    exp.Subquery: ("a subquery", "Use WHERE, or make the inner table a source of its own."),
    exp.With: ("WITH", "Use WHERE, or make the inner table a source of its own."),
    exp.Union: ("UNION", "Ask two questions."),
    exp.Distinct: ("DISTINCT", "Name the person column in the source: people are then protected whatever their rows."),
    exp.Window: ("a window function", "Group by a key column instead."),
    exp.Median: (
        "MEDIAN",
        _HISTOGRAM.format("claim S10"),
    ),
    exp.PercentileCont: (
        "PERCENTILE_CONT",
        _HISTOGRAM.format("claim S10"),
    ),
    exp.WithinGroup: (
        "a quantile",
        _HISTOGRAM.format("claim S10"),
    ),
    exp.Quantile: (
        "QUANTILE",
        _HISTOGRAM.format("claim S10"),
    ),
    exp.Min: (
        "MIN",
        _HISTOGRAM.format("claim S8"),
    ),
    exp.Max: (
        "MAX",
        _HISTOGRAM.format("claim S9"),
    ),
    exp.Like: ("LIKE", "List the values: x IN ('a', 'b')."),
    exp.Cast: ("a cast", "The source declares the type of every column; write literals of that type."),
    exp.TryCast: ("a cast", "The source declares the type of every column; write literals of that type."),
    exp.Null: ("a comparison with NULL", "Write x IS NULL or x IS NOT NULL."),
    exp.Star: ("SELECT *", "Rows never leave the source.  Ask for COUNT(*), SUM, AVG, …"),
    exp.Filter: ("FILTER", "Use WHERE, or AVG(CASE WHEN … THEN 1 ELSE 0 END) for a share."),
}


def parse(text: str, schema: Schema, *, recorded: bool = False) -> Query:
    """Return the query that a SELECT asks, or refuse it with the reason.

    ``recorded`` says that it is the canonical text of a query that was accepted before, and may be longer and deeper.
    """
    select = _parsed(text, recorded=recorded)
    if not isinstance(select, exp.Select):
        _refuse(select)
    _only(select, "expressions", "from_", "where", "group")
    _check_from(select.args.get("from_"), schema)
    items = [_aliased(item) for item in select.expressions]
    aliased = [(alias.casefold(), inner) for alias, inner in items if alias is not None and _is_key(inner)]
    names = {alias: inner for alias, inner in aliased if inner.key != "column" or inner.name.casefold() != alias}
    taken = [name for name in schema.columns if name.casefold() in names]
    if taken:
        raise UnsupportedQuery(f'another thing named "{taken[0]}", as a column is', "Give it another name.")
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
        _only(where, "this")
    condition = None if where is None else _condition(where.this, schema)
    bins = {key: edges for key, edges in keys if edges is not None}
    return make_query(statistics, [key for key, _ in keys], condition, schema, bins, shown)


def parse_condition(text: str, schema: Schema) -> Condition:
    """Return the condition that a text such as "age >= 65 AND ward = 'north'" states."""
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise InvalidParameter(text, "condition", "a text such as 'age >= 65'")
    return _condition(_parsed(f"SELECT 1 WHERE {text}", "where").this, schema)


def make_query(
    statistics: Sequence[Statistic],
    by: Sequence[str] | str,
    where: Condition | str | None,
    schema: Schema,
    bins: Mapping[str, tuple[Fraction, ...]] | None = None,
    titles: Mapping[str, str] | None = None,
) -> Query:
    """Return the query, checked against the schema: columns, types, names and the number of cells.

    ``bins`` are the edges, ``titles`` the names of keys that are given in the query itself.
    """
    if not isinstance(by, str | Sequence) or not (where is None or isinstance(where, str | Condition)):
        raise InvalidParameter("something else", "by and where", "names of columns, and a text such as 'age >= 65'")
    keys = (by,) if isinstance(by, str) else tuple(by)
    asked = tuple(statistics)
    if len(asked) > _MOST_STATISTICS:
        raise InvalidParameter(len(asked), "number of statistics", f"at most {_MOST_STATISTICS}")
    if not asked or not all(isinstance(each, Statistic) for each in asked):
        raise InvalidParameter("nothing" if not asked else "something else", "statistics", "one or more, as lw.count()")
    by = tuple(schema.column(key)[0] for key in keys)
    edges = dict(bins or {})
    histograms = [each for each in asked if each.kind == "histogram"]
    if histograms:
        if len(asked) > 1:
            raise UnsupportedQuery(
                "a histogram beside other statistics", "Ask for it alone, or declare the edges and group by the column."
            )
        (one,) = histograms
        name, column = schema.column(one.column or "")
        _check_number(name, column, "bins of")
        edges[name], by = one.edges or (), (*by, name)
        asked = (query.count(name=one.name),)
    for key in by:
        if schema.columns[key].labels is None and key not in edges:
            raise UnsupportedQuery(
                f'GROUP BY "{key}", which has no keys',
                "Group by a column whose keys (or edges) the source declares; what keys occur would be private.",
            )
    if len(set(by)) != len(by):
        raise UnsupportedQuery("a key twice", "Name every key once.")
    checked = [_checked(each, schema) for each in asked]
    condition = parse_condition(where, schema) if isinstance(where, str) else where
    shown = tuple((titles or {}).get(key, key) for key in by)
    if len({title.casefold() for title in shown}) != len(shown):
        raise UnsupportedQuery("two keys of one name", "Give every key a name of its own.")
    return Query(schema.name, named(checked, shown), by, condition, tuple(sorted(edges.items())), shown)


def weighted(query: Query, weights: Mapping[str, Number], schema: Schema) -> Query:
    """Return the query with the weights by which ε is split over its columns."""
    by_column = {schema.column(name)[0]: exact.positive(weight, "weight") for name, weight in weights.items()}
    idle = [name for name in by_column if name not in {statistic.column for statistic in query.statistics}]
    if idle:
        raise InvalidParameter(idle[0], "weights", "for columns that the statistics are about")
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
    if statistic.column is None:
        return statistic
    name, column = schema.column(statistic.column)
    if statistic.kind != "count":
        _check_number(name, column)
    return replace(statistic, column=name)


def _check_number(name: str, column: Column, what: str = "a sum over") -> None:
    if column.grid is None:
        raise UnsupportedQuery(
            f'{what} "{name}", which has no bounds',
            "Declare low and high for it in the source, from what the column means; without them one person "
            "could move the answer without limit.  A share is AVG(CASE WHEN condition THEN 1 ELSE 0 END).",
        )


# --- parsing ---


def _parsed(text: str, part: str | None = None, *, recorded: bool = False) -> exp.Expression:
    """Return the tree of the one statement, or of one part of it; refuse comments and what does not parse."""
    if not isinstance(text, str) or (len(text) > _LONGEST and not recorded):
        raise InvalidParameter(text, "SQL", f"a text of at most {_LONGEST:,} characters")
    if "\0" in text or not is_unicode(text):
        raise UnsupportedQuery("characters that are not Unicode text", "Write it in UTF-8.")
    problem = None
    try:
        tokens = sqlglot.tokenize(text)
        if not tokens or tokens[0].token_type is not TokenType.SELECT:
            problem = "a text that is no SELECT", _SHAPE
        elif any(token.comments for token in tokens):
            problem = "a comment", "Leave it out."
        elif any(token.token_type is TokenType.SEMICOLON for token in tokens[:-1]):
            problem = "several statements", "Ask one question at a time."
        elif any(token.token_type is TokenType.PIPE_GT for token in tokens):
            problem = "the pipe |>", _SHAPE
        elif _depth(tokens) > _DEEPEST * (1 + recorded):
            problem = "a condition nested too deeply", "Write it with fewer brackets."
        else:
            (tree,) = sqlglot.parse(text.rstrip().removesuffix(";"))
            if isinstance(tree, exp.Expression) and part is None:
                return tree
            if isinstance(tree, exp.Select) and {name for name, value in tree.args.items() if value} == {
                "expressions",
                part,
            }:
                return tree.args[part]  # type: ignore[no-any-return,index]
            problem = "a text that is no condition" if part else "a text that is no SELECT", _SHAPE
    except (SqlglotError, RecursionError, ValueError):
        problem = "a text that is not SQL as we know it", _SHAPE
    raise UnsupportedQuery(*problem)


def _depth(tokens: Sequence[Any]) -> int:
    """Return how deeply brackets are nested, or how many signs and NOTs stand in a row."""
    depth = deepest = run = 0
    for token in tokens:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        run = run + 1 if token.token_type in (TokenType.NOT, TokenType.DASH) else 0
        deepest = max(deepest, depth, run)
    return deepest


def _refuse(node: exp.Expression, where: str = "") -> NoReturn:
    """Refuse a node, with the advice for the nearest known kind in it."""
    for kind, (what, advice) in _ADVICE.items():
        if isinstance(node, kind):
            raise UnsupportedQuery(what, advice)
    if isinstance(node, exp.Func):
        name = str(node.this) if node.key == "anonymous" else node.sql_name()
        raise UnsupportedQuery(f"the function {_quotable(name)}{where}", _SHAPE)
    raise UnsupportedQuery(f"`{_quotable(node.sql())}`{where}", _SHAPE)


def _quotable(text: str) -> str:
    """Return the beginning of a part of the question, fit for a message."""
    plain = "".join(c if c.isprintable() else "?" for c in text)
    return plain if len(plain) <= 40 else f"{plain[:37]}..."


def _only(node: exp.Expression, *allowed: str) -> None:
    """Refuse a node that carries anything but what is allowed."""
    for name, value in node.args.items():
        if name in allowed or value is None or value is False or value == []:
            continue
        first = value[0] if isinstance(value, list) else value
        if isinstance(first, exp.Expression) and not isinstance(first, exp.Identifier):
            _refuse(first)
        raise UnsupportedQuery(f"`{_quotable(node.sql())}`", _SHAPE)


def _check_from(part: exp.Expression | None, schema: Schema) -> None:
    advice = f'Write FROM "{schema.name}".'
    if part is None:
        raise UnsupportedQuery("a SELECT without FROM", advice)
    _only(part, "this")
    table = part.this
    if not isinstance(table, exp.Table):
        _refuse(table, " in FROM")
    _only(table, "this")
    if not isinstance(table.this, exp.Identifier):
        _refuse(table.this, " in FROM")
    if table.name.casefold() != schema.name.casefold():
        raise UnsupportedQuery("another table than the source", advice)


def _aliased(item: exp.Expression) -> tuple[str | None, exp.Expression]:
    """Return the alias of an item of SELECT, if it has one, and the item."""
    if not isinstance(item, exp.Alias):
        return None, item
    _only(item, "this", "alias")
    if not item.alias.strip() or not item.alias.isprintable():
        raise UnsupportedQuery("a name that cannot be printed", "Give a name such as AS visits.")
    return item.alias, item.this


def _is_key(node: exp.Expression) -> bool:
    """Return whether the node is a column, or BIN(column, edge, edge, …)."""
    return isinstance(node, exp.Column) or (node.key == "anonymous" and str(node.this).upper() == "BIN")


def _key(node: exp.Expression, schema: Schema) -> tuple[str, tuple[Fraction, ...] | None]:
    """Return the column of a key, and its edges if it is a BIN."""
    if isinstance(node, exp.Column) or not _is_key(node) or not node.expressions:
        return schema.column(_column_name(node))[0], None
    name, column = schema.column(_column_name(node.expressions[0]))
    _check_number(name, column, "bins of")
    return name, bin_edges([_edge(edge) for edge in node.expressions[1:]])


def _grouping(
    part: exp.Expression | None, schema: Schema, names: Mapping[str, exp.Expression]
) -> list[tuple[str, tuple[Fraction, ...] | None]]:
    """Return the keys of GROUP BY, of which some may be given by their names in SELECT."""
    if part is None:
        return []
    _only(part, "expressions")
    found = []
    for each in part.expressions:
        if isinstance(each, exp.Column) and _column_name(each).casefold() in names:
            each = names[_column_name(each).casefold()]
        found.append(_key(each, schema))
    return found


def _edge(node: exp.Expression) -> Fraction:
    value = _numeral(node)
    if isinstance(node, exp.Div):  # 1/3, as the canonical text writes an edge that is no decimal
        top, bottom = _numeral(node.this), _numeral(node.expression)
        value = top / bottom if top is not None and bottom else None
    if value is None:
        raise UnsupportedQuery("an edge that is no number", "Write GROUP BY BIN(age, 0, 18, 65, 120).")
    return value


def _column_name(node: exp.Expression) -> str:
    if not isinstance(node, exp.Column):
        _refuse(node, " where a column is expected")
    _only(node, "this")
    if not isinstance(node.this, exp.Identifier):
        _refuse(node.this)
    return str(node.this.this)


def _aggregate(node: exp.Expression, schema: Schema) -> Statistic:
    if isinstance(node, exp.Count):
        _only(node, "this", "big_int")
        every = isinstance(node.this, exp.Star) and not any(node.this.args.values())
        one = isinstance(node.this, exp.Literal) and not node.this.is_string  # COUNT(1)
        return query.count() if every or one else _of(node, query.count)
    if isinstance(node, exp.Avg) and isinstance(node.this, exp.Case):
        _only(node, "this")
        return Statistic("proportion", condition=_share(node.this, schema))
    makers: dict[type[exp.Expression], Callable[[str], Statistic]] = {
        exp.Sum: query.sum,
        exp.Avg: query.mean,
        exp.Variance: query.variance,
        exp.VariancePop: lambda x: query.variance(x, sample=False),
        exp.Stddev: query.std,
        exp.StddevSamp: query.std,
        exp.StddevPop: lambda x: query.std(x, sample=False),
    }
    if type(node) in makers:
        return _of(node, makers[type(node)])
    _refuse(node)


def _of(node: exp.Expression, make: Callable[[str], Statistic]) -> Statistic:
    _only(node, "this", "big_int")
    return make(_column_name(node.this))


def _share(node: exp.Case, schema: Schema) -> Condition:
    """Return the condition of CASE WHEN condition THEN 1 ELSE 0 END."""
    _only(node, "ifs", "default")
    branches = node.args["ifs"]
    ends = [branch.args.get("true") for branch in branches] + [node.args.get("default")]
    if len(branches) != 1 or [None if end is None else _numeral(end) for end in ends] != [1, 0]:
        raise UnsupportedQuery("this CASE", "A share is written AVG(CASE WHEN condition THEN 1 ELSE 0 END).")
    return _condition(branches[0].this, schema)


# --- conditions ---


def _condition(node: exp.Expression, schema: Schema) -> Condition:
    if isinstance(node, exp.Paren):
        _only(node, "this")
        return _condition(node.this, schema)
    if isinstance(node, exp.And | exp.Or):
        kind = type(node)
        parts = []
        while isinstance(node, kind):  # a long chain leans to the left
            _only(node, "this", "expression")
            parts.append(node.expression)
            node = node.this
        made = [_condition(part, schema) for part in (*parts, node)]
        return joined(All if kind is exp.And else Some, made)
    if isinstance(node, exp.Not):
        _only(node, "this")
        return negated(_condition(node.this, schema))
    if type(node) in _COMPARISONS:
        _only(node, "this", "expression")
        return _comparison(node.this, _COMPARISONS[type(node)], node.expression, schema)
    if isinstance(node, exp.Between):
        _only(node, "this", "low", "high")
        ends = [_comparison(node.this, op, node.args[end], schema) for op, end in ((">=", "low"), ("<=", "high"))]
        return joined(All, ends)
    if isinstance(node, exp.In):
        _only(node, "this", "expressions")
        name, column = schema.column(_column_name(node.this))
        values = {_value(each, name, column) for each in node.expressions}
        if not values:
            raise UnsupportedQuery("IN without values", "List one or more values.")
        if len(values) == 1:
            return Compare(name, "=", values.pop())
        return OneOf(name, tuple(sorted(values, key=lambda v: (str(type(v)), v))))
    if isinstance(node, exp.Is):
        _only(node, "this", "expression")
        name, _ = schema.column(_column_name(node.this))
        if not isinstance(node.expression, exp.Null):
            raise UnsupportedQuery("IS with something else than NULL", "Write x IS NULL, x IS NOT NULL or x = TRUE.")
        return Missing(name)
    if isinstance(node, exp.Column):
        name, column = schema.column(_column_name(node))
        if column.kind != "boolean":
            raise UnsupportedQuery(f'"{name}" as a condition', "Compare it with a value.")
        return Compare(name, "=", True)
    _refuse(node, " in a condition")


def _comparison(left: exp.Expression, operator: str, right: exp.Expression, schema: Schema) -> Condition:
    if not isinstance(left, exp.Column) and isinstance(right, exp.Column):
        left, right, operator = right, left, _TURNED[operator]
    name, column = schema.column(_column_name(left))
    if isinstance(right, exp.Column):
        other, second = schema.column(_column_name(right))
        if _family(column) != _family(second):
            raise UnsupportedQuery(f'a comparison of "{name}" with "{other}"', "Compare columns of the same type.")
        return Compare(name, operator, None, other)  # type: ignore[arg-type]
    return Compare(name, operator, _value(right, name, column))  # type: ignore[arg-type]


def _family(column: Column) -> str:
    return "number" if column.kind == "integer" else column.kind


_EXAMPLES = {"text": "'north'", "number": "18", "date": "DATE '2024-01-31'", "boolean": "TRUE"}


def _value(node: exp.Expression, name: str, column: Column) -> Value:
    """Return a literal as a value of the column's type."""
    family = _family(column)
    found: Value | None = None
    if isinstance(node, exp.Null):
        _refuse(node)
    elif family == "number":
        found = _numeral(node)
    elif family == "boolean" and isinstance(node, exp.Boolean):
        found = bool(node.this)
    elif family == "text" and isinstance(node, exp.Literal) and node.is_string and "\0" not in node.this:
        found = str(node.this)
    elif family == "date":
        found = _date(node)
    if found is None:
        raise UnsupportedQuery(
            f'a comparison of "{name}" with something that is no {family}',
            f"Write a literal such as {_EXAMPLES[family]}.",
        )
    return found


def _numeral(node: exp.Expression) -> Fraction | None:
    sign = 1
    if isinstance(node, exp.Neg):
        sign, node = -1, node.this
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    try:
        value = sign * exact.rational(str(node.this))
    except ValueError:
        return None
    return value if abs(value) < 10**300 and len(query.numeral(value)) < 390 else None


def _date(node: exp.Expression) -> date | None:
    if isinstance(node, exp.Cast) and node.is_type("date") and not isinstance(node, exp.TryCast):
        node = node.this
    if not isinstance(node, exp.Literal) or not node.is_string:
        return None
    text = str(node.this)
    try:
        return date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII) else None
    except ValueError:
        return None
