"""Conditions: SQL text → tree → Condition, by an allow-list, as in ``sql``.

The text is parsed (sqlglot), every node is checked against a short list of known ones, and our own values are built.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from itertools import islice, pairwise
from typing import Any, NoReturn

from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Tokenizer

from .. import exact
from ..errors import InvalidParameter, UnsupportedQuery
from . import query
from .advice import ADVICE, SHAPE, nearest
from .codes import is_unicode
from .conditions import TURNED
from .expression import ONE, Constant, Expression, Named, conditions_of
from .foreign_objects import refuse_no_text
from .literals import check_literals, code_of, in_one_form, quotable, refuse_label
from .query import (
    Against,
    All,
    Compare,
    Condition,
    Missing,
    OneOf,
    Some,
    Unknown,
    Value,
    expressions_of,
    joined,
    negated,
    quoted,
)
from .quotes import refuse_quotes
from .schema import Column, Schema
from .words import loose_comma, name_without_quotes, where_invalid

RECORDED = "recorded"
"""In a tree: that it is the canonical text of a question, which may be longer and deeper than what users write."""

_LONGEST = 100_000
_DEEPEST = 20
_MOST_TOKENS = 50_000
_MOST_LEVELS = 4
COMPARISONS: dict[type[exp.Expression], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip

_MOST_WRITTEN = 500


def parse_condition(text: str, schema: Schema) -> Condition:
    """Return the condition that a text such as "age >= 65" states; refuse values that cannot occur."""
    if not isinstance(text, str):
        refuse_no_text(text, "where")
    if len(text) > _LONGEST:
        raise InvalidParameter(text, "condition", "a text such as 'age >= 65'")
    tree = parsed(f"SELECT 1 WHERE {text}", "where").this
    refuse_quotes(tree, schema.columns)
    condition = condition_of(tree, schema)
    check_literals(condition, schema)
    check_depth(f"SELECT 1 WHERE {condition}")
    return condition


def check_depth(text: str) -> None:
    """Refuse a canonical text whose brackets are too deep for it to be read from the record: a / b / c … has many."""
    if text.count("(") > 2 * _DEEPEST:
        parsed(text, recorded=True)


# --- text → tree ---


def parsed(text: str, part: str | None = None, *, recorded: bool = False) -> exp.Expression:
    """Return the tree of the statement, or of one part of it, without comments; refuse text that does not parse."""
    if not isinstance(text, str) or (len(text) > _LONGEST and not recorded):
        raise InvalidParameter(text, "SQL", f"a text of at most {_LONGEST:,} characters")
    if "\0" in text or not is_unicode(text):
        raise UnsupportedQuery("characters that are not Unicode text", "Write it in UTF-8.")
    problem = None
    try:
        dialect = Dialect()
        tokens = dialect.tokenize(text)
        if not _begins_with_select(tokens):
            problem = "a text that is not a SELECT", SHAPE
        elif any(token.token_type is TokenType.SEMICOLON for token in tokens[:-1]):
            problem = "several statements", "Ask one question at a time."
        elif any(token.token_type is TokenType.PIPE_GT for token in tokens):
            problem = "the pipe |>", SHAPE
        elif (comma := loose_comma(tokens)) is not None:
            problem = f"a comma with nothing {comma} it", "Leave it out, or write what is missing there."
        elif len(tokens) > _MOST_TOKENS and not recorded:
            problem = "too many words", "Ask in several shorter questions."
        elif _loose_sets(tokens):
            what = "ROLLUP, CUBE or GROUPING SETS of nothing, or without a comma before it"
            problem = what, "Write GROUP BY a, GROUPING SETS ((b), ())."
        elif _depth(tokens) > _DEEPEST * (1 + recorded):
            problem = "brackets nested too deeply", "Write it with fewer of them."
        else:
            trees = dialect.parser().parse(tokens, text)
            (tree,) = (each for each in trees if not isinstance(each, exp.Semicolon | None))
            _simplify(tree)
            tree.meta[RECORDED] = recorded
            if part is None and isinstance(tree, exp.Expression):
                return tree
            given = {name for name, value in tree.args.items() if value} if isinstance(tree, exp.Select) else set()
            if part is not None and given == {"expressions", part}:
                return tree.args[part]  # type: ignore[no-any-return]
            problem = "a text that is not a condition" if part else "a text that is not a SELECT", SHAPE
    except (SqlglotError, RecursionError, ValueError) as error:
        where = where_invalid(text, error, whole=part is None)
        advice = where or f"{SHAPE} A name that is a word of SQL needs double quotes."
        if (word := name_without_quotes(text)) is not None:
            advice = f"`{word}` is a word of SQL: write {quoted(word)}."
        problem = "a text that is not valid SQL", advice
    raise UnsupportedQuery(*problem)


def _simplify(tree: exp.Expr) -> None:
    """Take comments and brackets out of a tree, which itself says what belongs together; IF(…) becomes CASE."""
    for node in reversed([*tree.walk()]):  # what is inside first
        node.pop_comments()
        for name, value in [*node.args.items()]:
            given = value if isinstance(value, list) else [value]
            plain = [_plain(each) if name != "ifs" else each for each in given]
            if any(one is not each for one, each in zip(plain, given, strict=True)):
                node.set(name, plain if isinstance(value, list) else plain[0])


def _plain(node: Any) -> Any:
    while isinstance(node, exp.Paren):
        node = node.this
    if not isinstance(node, exp.If):
        return node
    return exp.Case(ifs=[exp.If(this=node.this, true=node.args["true"])], default=node.args.get("false"))


def _loose_sets(tokens: Sequence[Any]) -> bool:
    """Return whether ROLLUP, CUBE or GROUPING SETS follow a key directly, or have empty brackets.

    After a key, some SQL takes the sets for all tables and some for a product; and the tree may not say which was
    written.
    """
    kinds = [token.token_type for token in tokens]
    words = (TokenType.ROLLUP, TokenType.CUBE, TokenType.GROUPING_SETS)
    before = (TokenType.GROUP_BY, TokenType.COMMA, TokenType.L_PAREN, TokenType.DISTINCT, TokenType.ALL)
    start = kinds.index(TokenType.GROUP_BY) if TokenType.GROUP_BY in kinds else len(kinds)
    places = (at for at in range(start + 1, len(kinds) - 2) if kinds[at] in words)
    called = (at for at in places if kinds[at + 1] is TokenType.L_PAREN)
    return any(kinds[at - 1] not in before or kinds[at + 2] is TokenType.R_PAREN for at in called)


def _begins_with_select(tokens: Sequence[Any]) -> bool:
    """Return whether a statement begins with SELECT, or with WITH, and no other statement is in it."""
    kinds = [token.token_type for token in tokens]
    if not kinds or kinds[0] not in (TokenType.SELECT, TokenType.WITH):
        return False
    depth, inside = 0, kinds[0] is TokenType.WITH
    for before, kind in pairwise(kinds):
        depth += (before is TokenType.L_PAREN) - (before is TokenType.R_PAREN)
        inside = inside and not (kind is TokenType.SELECT and depth == 0)
        if kind in Tokenizer.COMMANDS and (before is TokenType.L_PAREN or (inside and depth == 0)):
            return False
    return True


def _depth(tokens: Sequence[Any]) -> int:
    """Return how deeply brackets are nested, or how many signs and NOTs follow each other."""
    depth = deepest = run = 0
    for token in tokens:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        run = run + 1 if token.token_type in (TokenType.NOT, TokenType.DASH) else 0
        deepest = max(deepest, depth, run)
    return deepest


def refuse(node: exp.Expression, where: str = "", known: str = SHAPE) -> NoReturn:
    """Refuse a node, with the advice for the nearest known kind in it, else with what is ``known``."""
    for kind, (what, advice) in ADVICE.items():
        if isinstance(node, kind):
            raise UnsupportedQuery(what, advice)
    if isinstance(node, exp.Func):
        name = str(node.this) if node.key == "anonymous" else node.sql_name()
        raise UnsupportedQuery(f"the function {quotable(name)}{where}", nearest(name, known))
    raise UnsupportedQuery(f"{written(node)}{where}", known)


def written(node: exp.Expression) -> str:
    """Return the beginning of a part of the question, as SQL writes it; of one that is very deep, what it is."""
    if sum(1 for _ in islice(node.walk(), _MOST_WRITTEN)) == _MOST_WRITTEN:
        return f"a very long {node.key}"
    return f"`{quotable(node.sql())}`"


def only(node: exp.Expression, *allowed: str) -> None:
    """Refuse a node with any argument that is not allowed."""
    for name, value in node.args.items():
        if name in allowed or value is None or value is False or value == []:
            continue
        first = value[0] if isinstance(value, list) else value
        if isinstance(first, exp.Expression) and not isinstance(first, exp.Identifier):
            refuse(first)
        raise UnsupportedQuery(written(node), SHAPE)


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
    if type(node) in COMPARISONS:
        only(node, "this", "expression")
        return in_one_form(_comparison(node.this, COMPARISONS[type(node)], node.expression, schema), schema)
    if isinstance(node, exp.Between):
        only(node, "this", "low", "high")
        check_size(node)
        ends = [_comparison(node.this, op, node.args[end], schema) for op, end in ((">=", "low"), ("<=", "high"))]
        low, high = (end.value if isinstance(end, Compare) else None for end in ends)
        if low is not None and high is not None and low > high:  # type: ignore[operator]
            raise UnsupportedQuery("BETWEEN with its larger value first", "Write the smaller one first.")
        return joined(All, [in_one_form(end, schema) for end in ends])
    if isinstance(node, exp.In):
        only(node, "this", "expressions")
        if not node.expressions:
            raise UnsupportedQuery("IN without values", "List one or more values.")
        if is_computed(node.this, schema):
            check_size(node)
            return joined(Some, [_comparison(node.this, "=", each, schema) for each in node.expressions])
        name, column = schema.column(column_name(node.this))
        values = {_value(each, name, column) for each in node.expressions}
        if len(values) == 1:
            return Compare(name, "=", values.pop())
        return OneOf(name, tuple(sorted(values, key=lambda v: (str(type(v)), v))))
    if isinstance(node, exp.Is):
        only(node, "this", "expression")
        if not isinstance(node.expression, exp.Null):
            raise UnsupportedQuery("IS with something other than NULL", "Write x IS NULL, x IS NOT NULL or x = TRUE.")
        return _missing(node.this, schema)
    if isinstance(node, exp.Column):
        name, column = schema.column(column_name(node))
        if column.kind != "boolean":
            raise UnsupportedQuery(f'"{name}" as a condition', "Compare it with a value.")
        return against(Named(name), "=", ONE, schema) if column.is_computed else Compare(name, "=", True)
    refuse(node, " in a condition")


def _missing(node: exp.Expression, schema: Schema) -> Condition:
    """Return whether a column or an expression is missing."""
    if not is_computed(node, schema):
        return Missing(schema.column(column_name(node))[0])
    expression = expression_of(node, schema)
    if isinstance(expression, Constant):
        raise UnsupportedQuery("a constant IS NULL", "Name a column.")
    if _is_cell(expression, schema):
        return Missing(str(getattr(expression, "column", "")))
    _check_levels(expression)
    return Unknown(expression)


def _comparison(left: exp.Expression, operator: str, right: exp.Expression, schema: Schema) -> Condition:
    if is_computed(left, schema) or is_computed(right, schema):
        return against(expression_of(left, schema), operator, expression_of(right, schema), schema)
    if not isinstance(left, exp.Column) and isinstance(right, exp.Column):
        left, right, operator = right, left, TURNED[operator]
    name, column = schema.column(column_name(left))
    if isinstance(right, exp.Column):
        other, second = schema.column(column_name(right))
        if _family(column) != _family(second):
            raise UnsupportedQuery(f'a comparison of "{name}" with "{other}"', "Compare columns of the same type.")
        return Compare(name, operator, None, other)  # type: ignore[arg-type]
    return Compare(name, operator, _value(right, name, column, equal=operator in ("=", "<>")))  # type: ignore[arg-type]


def against(left: Expression, operator: str, right: Expression, schema: Schema) -> Condition:
    """Return the comparison of two expressions; a constant stands on the right.

    Where a column of the table is left, and a constant or another column, the cells are compared as they are: the text
    of the comparison says no more than that.
    """
    if isinstance(left, Constant) and isinstance(right, Constant):
        raise UnsupportedQuery("a comparison of two constants", "Compare a column with a value.")
    if isinstance(left, Constant) or (not isinstance(right, Constant) and str(right) < str(left)):
        left, right, operator = right, left, TURNED[operator]
    if _is_cell(left, schema) and (isinstance(right, Constant) or _is_cell(right, schema)):
        return _of_cells(left, operator, right, schema)  # type: ignore[arg-type]
    for side in (left, right):
        _check_levels(side)
    return Against(left, operator, right)  # type: ignore[arg-type]


def _is_cell(expression: Expression, schema: Schema) -> bool:
    """Return whether an expression is a column of the table."""
    return isinstance(expression, Named) and not schema.columns[expression.column].is_computed


def _of_cells(left: Named, operator: str, right: Named | Constant, schema: Schema) -> Compare:
    """Return the comparison of a column of the table with a constant, or with another one."""
    family = _family(schema.columns[left.column])
    if isinstance(right, Named):
        if family != _family(schema.columns[right.column]):
            what = f"a comparison of {quoted(left.column)} with {quoted(right.column)}"
            raise UnsupportedQuery(what, "Compare columns of the same type.")
        return Compare(left.column, operator, None, right.column)  # type: ignore[arg-type]
    value: Value = right.value
    if family == "boolean" and value in (0, 1) and operator in ("=", "<>"):
        value = value == 1
    elif family != ("date" if isinstance(value, date) else "number"):
        what = f"a comparison of {quoted(left.column)} with something that is not a {family}"
        raise UnsupportedQuery(what, f"Write a literal such as {_EXAMPLES[family]}.")
    return Compare(left.column, operator, value)  # type: ignore[arg-type]


def _check_levels(expression: Expression) -> None:
    """Refuse comparisons in comparisons in comparisons: an engine writes each of them out several times."""
    if _levels(expression) >= _MOST_LEVELS:
        raise UnsupportedQuery("comparisons inside comparisons, too deep", "Compare with fewer conditions as numbers.")


def _levels(expression: Expression) -> int:
    """Return how deep conditions are nested in an expression."""
    inner = (each for condition in conditions_of(expression) for each in expressions_of(condition))
    return max((1 + _levels(each) for each in inner), default=0)


def is_computed(node: exp.Expression, schema: Schema) -> bool:
    """Return whether a side of a comparison is more than a column of the table, or a literal."""
    if isinstance(node, exp.Column):
        return isinstance(node.this, exp.Identifier) and schema.is_computed(str(node.this.this))
    literals = (exp.Literal, exp.Boolean, exp.Null, exp.Cast, exp.TryCast, exp.Star, exp.Subquery, exp.Query)
    return not isinstance(node, literals) and numeral(node) is None


def expression_of(node: exp.Expression, schema: Schema) -> Expression:
    """Return the expression that a tree states."""
    from .arithmetic import expression_of as read  # a condition holds expressions, which hold conditions

    return read(node, schema)


def check_size(node: exp.Expression) -> None:
    """Refuse a part of a condition that is too large once it is written out."""
    from .arithmetic import check_size as check  # as above

    check(node)


def _family(column: Column) -> str:
    return "number" if column.kind == "integer" else column.kind


_EXAMPLES = {"text": "'north'", "number": "18", "date": "DATE '2024-01-31'", "boolean": "TRUE"}


def _value(node: exp.Expression, name: str, column: Column, *, equal: bool = True) -> Value:
    """Return a literal as a value of the column's type; one to be ``equal`` to may be a code of another type."""
    family = _family(column)
    text = str(node.this) if isinstance(node, exp.Literal) and node.is_string else None
    value: Value | None = text if family == "text" else None
    if isinstance(node, exp.Null):
        refuse(node)
    elif family == "number":
        value = numeral(node)
    elif family == "boolean" and isinstance(node, exp.Boolean):
        value = bool(node.this)
    elif family == "date":
        value = calendar_day(node)
    if value is None and equal:
        value = code_of(numeral(node) if text is None else text, column)
    if value is None:
        if text is not None:
            refuse_label(name, column, text)
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
    while isinstance(node, exp.Neg):
        sign, node = -sign, node.this
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    try:
        value = sign * exact.rational(str(node.this))
    except ValueError:
        return None
    return value if abs(value) < 10**300 and len(query.numeral(value)) < 390 else None


def calendar_day(node: exp.Expression) -> date | None:
    """Return the date that a literal is, or None."""
    if isinstance(node, exp.Cast) and node.is_type("date") and not isinstance(node, exp.TryCast):
        node = node.this
    if not isinstance(node, exp.Literal) or not node.is_string:
        return None
    text = str(node.this)
    try:
        return date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII) else None
    except ValueError:
        return None
