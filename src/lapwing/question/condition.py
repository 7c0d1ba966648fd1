"""Conditions: SQL text → tree → Condition, by an allow-list, as in ``sql``.

The text is parsed (sqlglot), every node is checked against a short list of known ones, and our own values are built.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from typing import Any, NoReturn

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from .. import exact
from ..errors import InvalidParameter, UnsupportedQuery
from . import query
from .codes import is_unicode
from .expressions import refuse_no_text
from .literals import check_literals, quotable, refuse_label
from .query import All, Compare, Condition, Missing, OneOf, Some, Value, joined, negated
from .schema import Column, Schema

_LONGEST = 100_000
_DEEPEST = 20
_SHAPE = (
    "Write one SELECT with COUNT(*), COUNT(x), SUM, AVG, VAR_SAMP, VAR_POP, STDDEV_SAMP, STDDEV_POP, MEDIAN, "
    "QUANTILE_CONT(x, 0.9), MIN, MAX or CDF, FROM the source, WHERE, GROUP BY."
)
_COMPARISONS: dict[type[exp.Expression], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_TURNED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

_ADVICE: dict[type[exp.Expression], tuple[str, str]] = {
    exp.Having: ("HAVING", "It would show which groups are large.  Release all groups, and filter the answer."),
    exp.Order: ("ORDER BY", "The rows come in the public order of the keys.  Sort the answer."),
    exp.Limit: ("LIMIT", "Take the first rows of the answer."),
    exp.Offset: ("OFFSET", "Take a part of the answer."),
    exp.Join: ("a join", "Make the joined table a separate source, with its person column."),
    exp.Subquery: ("a subquery", "Use WHERE, or make the inner table a separate source."),
    exp.With: ("WITH", "Use WHERE, or make the inner table a separate source."),
    exp.Union: ("UNION", "Ask two questions."),
    exp.Distinct: ("DISTINCT", "Name the person column in the source: people are protected, whatever rows they have."),
    exp.Window: ("a window function", "Group by a key column instead."),
    exp.WithinGroup: ("this WITHIN GROUP", "Write QUANTILE_CONT(x, 0.9)."),
    exp.Like: ("LIKE", "List the values: x IN ('a', 'b')."),
    exp.Cast: ("a cast", "The source declares the type of every column; write literals of that type."),
    exp.TryCast: ("a cast", "The source declares the type of every column; write literals of that type."),
    exp.Null: ("a comparison with NULL", "Write x IS NULL or x IS NOT NULL."),
    exp.Star: ("SELECT *", "Rows never leave the source.  Ask for COUNT(*), SUM, AVG, …"),
    exp.Filter: ("FILTER", "Use WHERE, or AVG(CASE WHEN … THEN 1 ELSE 0 END) for a share."),
}


def parse_condition(text: str, schema: Schema) -> Condition:
    """Return the condition that a text such as "age >= 65" states; refuse values that cannot occur."""
    if not isinstance(text, str):
        refuse_no_text(text, "where")
    if len(text) > _LONGEST:
        raise InvalidParameter(text, "condition", "a text such as 'age >= 65'")
    condition = condition_of(parsed(f"SELECT 1 WHERE {text}", "where").this, schema)
    check_literals(condition, schema)
    return condition


# --- text → tree ---


def parsed(text: str, part: str | None = None, *, recorded: bool = False) -> exp.Expression:
    """Return the tree of the statement, or of one part of it; refuse comments and text that does not parse."""
    if not isinstance(text, str) or (len(text) > _LONGEST and not recorded):
        raise InvalidParameter(text, "SQL", f"a text of at most {_LONGEST:,} characters")
    if "\0" in text or not is_unicode(text):
        raise UnsupportedQuery("characters that are not Unicode text", "Write it in UTF-8.")
    problem = None
    try:
        tokens = sqlglot.tokenize(text)
        if not tokens or tokens[0].token_type is not TokenType.SELECT:
            problem = "a text that is not a SELECT", _SHAPE
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
            given = {name for name, value in tree.args.items() if value} if isinstance(tree, exp.Select) else set()
            if tree is not None and part is not None and given == {"expressions", part}:
                return tree.args[part]  # type: ignore[no-any-return]
            problem = "a text that is not a condition" if part else "a text that is not a SELECT", _SHAPE
    except (SqlglotError, RecursionError, ValueError):
        problem = "a text that is not valid SQL", f"{_SHAPE} A name that is a word of SQL needs double quotes."
    raise UnsupportedQuery(*problem)


def _depth(tokens: Sequence[Any]) -> int:
    """Return how deeply brackets are nested, or how many signs and NOTs follow each other."""
    depth = deepest = run = 0
    for token in tokens:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        run = run + 1 if token.token_type in (TokenType.NOT, TokenType.DASH) else 0
        deepest = max(deepest, depth, run)
    return deepest


def refuse(node: exp.Expression, where: str = "") -> NoReturn:
    """Refuse a node, with the advice for the nearest known kind in it."""
    for kind, (what, advice) in _ADVICE.items():
        if isinstance(node, kind):
            raise UnsupportedQuery(what, advice)
    if isinstance(node, exp.Func):
        name = str(node.this) if node.key == "anonymous" else node.sql_name()
        raise UnsupportedQuery(f"the function {quotable(name)}{where}", _SHAPE)
    raise UnsupportedQuery(f"`{quotable(node.sql())}`{where}", _SHAPE)


def only(node: exp.Expression, *allowed: str) -> None:
    """Refuse a node with any argument that is not allowed."""
    for name, value in node.args.items():
        if name in allowed or value is None or value is False or value == []:
            continue
        first = value[0] if isinstance(value, list) else value
        if isinstance(first, exp.Expression) and not isinstance(first, exp.Identifier):
            refuse(first)
        raise UnsupportedQuery(f"`{quotable(node.sql())}`", _SHAPE)


def column_name(node: exp.Expression) -> str:
    """Return the name of a column that stands alone."""
    if not isinstance(node, exp.Column):
        refuse(node, " where a column is expected")
    only(node, "this")
    if not isinstance(node.this, exp.Identifier):
        refuse(node.this)
    return str(node.this.this)


# --- conditions ---


def condition_of(node: exp.Expression, schema: Schema) -> Condition:
    """Return the condition that a tree states."""
    if isinstance(node, exp.Paren):
        only(node, "this")
        return condition_of(node.this, schema)
    if isinstance(node, exp.And | exp.Or):
        kind = type(node)
        parts = []
        while isinstance(node, kind):  # a long chain nests to the left
            only(node, "this", "expression")
            parts.append(node.expression)
            node = node.this
        conditions = [condition_of(part, schema) for part in (*parts, node)]
        return joined(All if kind is exp.And else Some, conditions)
    if isinstance(node, exp.Not):
        only(node, "this")
        return negated(condition_of(node.this, schema))
    if type(node) in _COMPARISONS:
        only(node, "this", "expression")
        return _comparison(node.this, _COMPARISONS[type(node)], node.expression, schema)
    if isinstance(node, exp.Between):
        only(node, "this", "low", "high")
        ends = [_comparison(node.this, op, node.args[end], schema) for op, end in ((">=", "low"), ("<=", "high"))]
        low, high = (end.value if isinstance(end, Compare) else None for end in ends)
        if low is not None and high is not None and low > high:  # type: ignore[operator]
            raise UnsupportedQuery("BETWEEN with its larger value first", "Write the smaller one first.")
        return joined(All, ends)
    if isinstance(node, exp.In):
        only(node, "this", "expressions")
        name, column = schema.column(column_name(node.this))
        values = {_value(each, name, column) for each in node.expressions}
        if not values:
            raise UnsupportedQuery("IN without values", "List one or more values.")
        if len(values) == 1:
            return Compare(name, "=", values.pop())
        return OneOf(name, tuple(sorted(values, key=lambda v: (str(type(v)), v))))
    if isinstance(node, exp.Is):
        only(node, "this", "expression")
        name, _ = schema.column(column_name(node.this))
        if not isinstance(node.expression, exp.Null):
            raise UnsupportedQuery("IS with something other than NULL", "Write x IS NULL, x IS NOT NULL or x = TRUE.")
        return Missing(name)
    if isinstance(node, exp.Column):
        name, column = schema.column(column_name(node))
        if column.kind != "boolean":
            raise UnsupportedQuery(f'"{name}" as a condition', "Compare it with a value.")
        return Compare(name, "=", True)
    refuse(node, " in a condition")


def _comparison(left: exp.Expression, operator: str, right: exp.Expression, schema: Schema) -> Condition:
    if not isinstance(left, exp.Column) and isinstance(right, exp.Column):
        left, right, operator = right, left, _TURNED[operator]
    name, column = schema.column(column_name(left))
    if isinstance(right, exp.Column):
        other, second = schema.column(column_name(right))
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
    value: Value | None = None
    if isinstance(node, exp.Null):
        refuse(node)
    elif family == "number":
        value = numeral(node)
    elif family == "boolean" and isinstance(node, exp.Boolean):
        value = bool(node.this)
    elif family == "text" and isinstance(node, exp.Literal) and node.is_string:
        value = str(node.this)
    elif family == "date":
        value = _date(node)
    if value is None:
        if isinstance(node, exp.Literal) and node.is_string:
            refuse_label(name, column, str(node.this))
        example = _EXAMPLES[family]
        if family == "text" and isinstance(node, exp.Literal) and node.name.isalnum():
            example = f"'{node.name}'"
        raise UnsupportedQuery(
            f'a comparison of "{name}" with something that is not a {family}', f"Write a literal such as {example}."
        )
    return value


def numeral(node: exp.Expression) -> Fraction | None:
    """Return the number that a literal is, or None."""
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
