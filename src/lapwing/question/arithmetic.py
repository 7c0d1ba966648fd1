"""Expressions: SQL text → tree → Expression, by an allow-list, as in ``sql``."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import islice
from typing import Any, TypeVar

from sqlglot import exp

from ..errors import InvalidParameter, TooLarge, UnsupportedQuery
from .condition import (
    COMPARISONS,
    RECORDED,
    against,
    calendar_day,
    column_name,
    condition_of,
    is_computed,
    numeral,
    only,
    parsed,
    refuse,
)
from .expression import (
    FUNCTIONS,
    ONE,
    PARTS,
    UNITS,
    ZERO,
    Apply,
    Choose,
    Constant,
    Expression,
    Extract,
    Indicator,
    Named,
    Truncate,
    added,
    divided,
    multiplied,
    opposite,
)
from .query import quoted
from .schema import Schema

T = TypeVar("T")

_LONGEST = 20_000
_MOST_PARTS = 1000
_TRUTHS: tuple[type[exp.Expression], ...] = (
    exp.And,
    exp.Or,
    exp.Not,
    exp.Between,
    exp.In,
    exp.Is,
    *COMPARISONS,
)
_KNOWN: dict[type[exp.Expression], str] = {
    exp.Abs: "ABS",
    exp.Coalesce: "COALESCE",
    exp.Floor: "FLOOR",
    exp.Greatest: "GREATEST",
    exp.Least: "LEAST",
}
_DATE_PARTS: dict[str, str] = {"WEEKDAY": "ISODOW", "DAYOFWEEK_ISO": "ISODOW", **{part: part for part in PARTS}}
_PART_FUNCTIONS: dict[type[exp.Expression], str] = {
    exp.Year: "YEAR", exp.Quarter: "QUARTER", exp.Month: "MONTH", exp.Day: "DAY",
}  # fmt: skip
_ADVICE = (
    "Known are + - * /, ABS, LEAST, GREATEST, CLAMP(x, a, b), FLOOR, ROUND, COALESCE, NULLIF, CASE WHEN, comparisons, "
    "EXTRACT(YEAR FROM d), DATE_TRUNC('month', d) and differences of dates."
)


def parse_expression(
    text: str, schema: Schema, read: Callable[[exp.Expression, Schema], T] | None = None
) -> T | Expression:
    """Return the expression that a text such as "hours * wage" states; ``read`` may know more than numbers."""
    if len(text) > _LONGEST:
        raise InvalidParameter(text, "expression", f"a text of at most {_LONGEST:,} characters")
    items: Any = parsed(f"SELECT {text}", "expressions")
    if len(items) != 1:
        raise UnsupportedQuery("several expressions", "Write one, such as hours * wage.")
    return (read or expression_of)(items[0], schema)


def expression_of(node: exp.Expression | None, schema: Schema) -> Expression:
    """Return the expression that a tree states; refuse one that is too large, and brackets with nothing in them."""
    if node is None:
        raise UnsupportedQuery("a function of nothing", "Write what it is about, such as SUM(x).")
    try:
        check_size(node)
        return _read(node, schema)
    except RecursionError:
        pass
    raise UnsupportedQuery("an expression nested too deeply", "Write it with fewer brackets.")


def check_size(node: exp.Expression) -> None:
    """Refuse an expression of too many parts; what IN, BETWEEN and CASE x WHEN repeat counts as often as they do."""
    most = _MOST_PARTS * (1000 if node.root().meta.get(RECORDED) else 1)  # a condition counts there, with its lists
    if sum(1 for _ in islice(node.walk(), most + 1)) > most or _size(node) > most:
        most_text = f"{_MOST_PARTS:,}"
        raise TooLarge("The number of parts of the expression", f"over {most_text}", most_text, "Write a shorter one.")


def _size(node: exp.Expression) -> int:
    sizes = [(part, _size(part)) for part in node.iter_expressions()]
    compared = sum(size for part, size in sizes if part is node.args.get("this"))
    times = 0
    if isinstance(node, exp.Between):
        times = 1
    elif isinstance(node, exp.In):
        times = len(node.expressions)
    elif isinstance(node, exp.Case):
        times = len(node.args["ifs"])
    return 1 + sum(size for _, size in sizes) + times * compared


def _read(node: exp.Expression, schema: Schema) -> Expression:
    if isinstance(node, exp.Column):
        return _named(node, schema)
    value = numeral(node)
    if value is not None:
        return Constant(value)
    day = calendar_day(node)
    if day is not None:
        return Constant(day)
    if isinstance(node, exp.Boolean):
        if isinstance(node.parent, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Neg):
            raise UnsupportedQuery("a calculation with TRUE or FALSE", "Write 1 or 0.")
        return ONE if node.this else ZERO
    if isinstance(node, exp.Add | exp.Sub | exp.Mul):
        return _chain(node, schema)
    if isinstance(node, exp.Div):
        only(node, "this", "expression", "typed", "safe")
        return divided(_read(node.this, schema), _read(node.expression, schema))
    if isinstance(node, exp.Neg):
        only(node, "this")
        return opposite(_read(node.this, schema))
    if isinstance(node, exp.Case):
        return _choice(node, schema)
    if isinstance(node, _TRUTHS):
        return Indicator(condition_of(node, schema))
    return _function(node, schema)


def _named(node: exp.Expression, schema: Schema) -> Named:
    name, column = schema.column(column_name(node))
    if column.kind == "text":
        raise UnsupportedQuery(
            f"the text {quoted(name)} in an expression", "Compare it: CASE WHEN ward = 'north' THEN 1 ELSE 0 END."
        )
    return Named(name)


def _chain(node: exp.Expression, schema: Schema) -> Expression:
    """Return a sum or a product of many; a long chain nests to the left."""
    if isinstance(node, exp.Mul):
        factors = []
        while isinstance(node, exp.Mul):
            only(node, "this", "expression")
            factors.append(_read(node.expression, schema))
            node = node.this
        return multiplied((_read(node, schema), *factors))
    terms = []
    while isinstance(node, exp.Add | exp.Sub):
        only(node, "this", "expression")
        term = _read(node.expression, schema)
        terms.append(term if isinstance(node, exp.Add) else opposite(term))
        node = node.this
    return added((_read(node, schema), *terms))


def _choice(node: exp.Expression, schema: Schema) -> Expression:
    """Return CASE WHEN … END."""
    only(node, "ifs", "default", "this")
    default, cases = node.args.get("default"), []
    for branch in node.args["ifs"]:
        asked = branch.this
        if node.this is not None:  # CASE x WHEN 1 THEN …
            asked = exp.EQ(this=node.this.copy(), expression=asked)
        cases.append((condition_of(asked, schema), _read(branch.args["true"], schema)))
    if default is None or isinstance(default, exp.Null):
        return Choose(tuple(cases))
    return Choose(tuple(cases), _read(default, schema))


def _function(node: exp.Expression, schema: Schema) -> Expression:
    name = str(node.this).upper() if node.key == "anonymous" else ""
    if type(node) in _KNOWN:
        only(node, "this", "expressions", "ignore_nulls")
        operands = [*([] if node.args.get("this") is None else [node.this]), *node.expressions]
        return _applied(_KNOWN[type(node)], operands, schema)
    if name in FUNCTIONS:
        return _applied(name, node.expressions, schema)
    if isinstance(node, exp.Nullif):
        only(node, "this", "expression")
        return _without(node, schema)
    if isinstance(node, exp.Round):
        only(node, "this", "decimals")
        return _rounded(node, schema)
    if isinstance(node, exp.Extract):
        only(node, "this", "expression")
        return _part(str(node.this.name), node.expression, schema)
    if type(node) in _PART_FUNCTIONS:
        only(node, "this")
        return _part(_PART_FUNCTIONS[type(node)], node.this, schema)
    if name == "DATE_PART" and len(node.expressions) == 2:
        return _part(node.expressions[0].name, node.expressions[1], schema)
    if isinstance(node, exp.DateTrunc | exp.TimestampTrunc):
        only(node, "this", "unit")
        unit = str(node.args["unit"].name).upper()
        found = next((each for each in UNITS if each == unit), None)
        if found is None:
            raise UnsupportedQuery("this DATE_TRUNC", "Truncate to day, week, month, quarter or year.")
        return Truncate(found, _read(node.this, schema))
    if not isinstance(node, exp.DateDiff):
        refuse(node, " in an expression", _ADVICE)
    return _days(node, schema)


def _applied(name: str, parts: list[exp.Expression], schema: Schema) -> Expression:
    least, most = FUNCTIONS[name]
    if not least <= len(parts) <= most:
        raise UnsupportedQuery(f"{name} with {len(parts)} operands", _ADVICE)
    read = tuple(_read(part, schema) for part in parts)
    if name in ("GREATEST", "LEAST"):
        read = tuple(sorted(read, key=str))
    return Apply(name, read)  # type: ignore[arg-type]


def _without(node: exp.Nullif, schema: Schema) -> Expression:
    """Return NULLIF(a, b); of a column of the table and a value, the cell itself is compared, before its bounds."""
    column, value = node.this, node.expression
    plain = isinstance(column, exp.Column) and not isinstance(value, exp.Column)
    if plain and not is_computed(column, schema) and not is_computed(value, schema):
        different = condition_of(exp.NEQ(this=column.copy(), expression=value.copy()), schema)
        return Choose(((different, _read(column, schema)),))
    first, second = _read(node.this, schema), _read(node.expression, schema)
    if isinstance(first, Named) and isinstance(second, Constant) and not schema.columns[first.column].is_computed:
        return Choose(((against(first, "<>", second, schema), first),))
    return _applied("NULLIF", [node.this, node.expression], schema)


def _rounded(node: exp.Round, schema: Schema) -> Expression:
    """Return ROUND(x), or ROUND(x, 2): the nearest, and of two the larger."""
    places = node.args.get("decimals")
    if places is None:
        return _applied("ROUND", [node.this], schema)
    digits = numeral(places)
    if digits is None or digits.denominator != 1 or abs(digits) > 9:
        raise UnsupportedQuery("this ROUND", "Write ROUND(x), or ROUND(x, 2) with -9 to 9 decimals.")
    tens = Fraction(10) ** int(digits)
    inside = Apply("ROUND", (multiplied((Constant(tens), _read(node.this, schema))),))
    return multiplied((Constant(1 / tens), inside))


def _part(name: str, day: exp.Expression, schema: Schema) -> Expression:
    part = _DATE_PARTS.get(name.upper())
    if part is None:
        raise UnsupportedQuery(
            "this part of a date", "Known are YEAR, QUARTER, MONTH, DAY and ISODOW (1 for Monday to 7 for Sunday)."
        )
    return Extract(part, _read(day, schema))  # type: ignore[arg-type]


def _days(node: exp.DateDiff, schema: Schema) -> Expression:
    """Return DATEDIFF(last, first), or DATEDIFF('day', first, last)."""
    only(node, "this", "expression", "unit")
    third = node.args.get("unit")
    if third is None:
        return added((_read(node.this, schema), opposite(_read(node.expression, schema))))
    if str(node.this.name).upper() != "DAY":
        raise UnsupportedQuery("this DATEDIFF", "Write DATEDIFF('day', first, last): only days have one length.")
    last = exp.column(exp.to_identifier(third.name))
    return added((_read(last, schema), opposite(_read(node.expression, schema))))
