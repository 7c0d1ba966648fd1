"""What statistics and keys are about: a declared column, or an expression, which becomes a column of the question.

Weighted statistics have one form each: SUM(w * x) for a weighted sum, SUM(w) for the sum of weights, and
SUM(w * x) / SUM(w) for a weighted mean, also where they were asked in other words.  A weighted quantile is
WEIGHTED_QUANTILE(x, w, q).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from ..errors import UnsupportedQuery
from .advice import UNKNOWN_AGGREGATES
from .arithmetic import expression_of, parse_expression
from .condition import condition_of, only, parse_condition
from .derived import added_key, added_to, derive
from .expression import ONE, ZERO, Choose, Constant, Expression, Indicator, Named, Product, Recode, multiplied
from .grids import NO_BOUNDS
from .query import Compare, Condition, Statistic, is_share
from .schema import Column, Schema


def is_written(name: str, column: Column) -> bool:
    """Return whether a column was written by a question, and so is named by its text."""
    return column.expression is not None and name == str(column.expression)


def argument(node: exp.Expression | None, schema: Schema) -> Expression:
    """Return what stands between the brackets of a statistic."""
    if isinstance(node, exp.Column):
        if not isinstance(node.this, exp.Identifier):
            return expression_of(node, schema)
        only(node, "this")
        return Named(schema.column(str(node.this.this))[0])
    return expression_of(node, schema)


def about(statistic: Statistic, expression: Expression) -> Statistic:
    """Return a statistic about an expression, or about a column."""
    if isinstance(expression, Named):
        return replace(statistic, column=expression.column, expression=None)
    return replace(statistic, column=str(expression), expression=expression)


def is_row_expression(node: exp.Expression) -> bool:
    """Return whether a node is an expression of a row, and no statistic."""
    known = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Case, exp.Func, exp.Condition)
    if not isinstance(node, known) or isinstance(node, exp.Literal | exp.Star | exp.Window | exp.Filter):
        return False
    return not any(
        isinstance(each, exp.AggFunc | exp.WithinGroup | exp.Quantile | exp.Subquery)
        or (each.key == "anonymous" and str(each.this).upper() in UNKNOWN_AGGREGATES)
        for each in node.walk()
    )


def key_expression_of(node: exp.Expression, schema: Schema) -> Expression | Recode:
    """Return the expression of a key, which may be a CASE with texts."""
    ends = [branch.args["true"] for branch in node.args["ifs"]] if isinstance(node, exp.Case) else []
    if not any(isinstance(end, exp.Literal) and end.is_string for end in ends):
        return expression_of(node, schema)
    only(node, "ifs", "default")
    default = node.args.get("default")
    texts = [*ends, *([] if default is None or isinstance(default, exp.Null) else [default])]
    if not all(isinstance(end, exp.Literal) and end.is_string for end in texts):
        raise UnsupportedQuery("a CASE with texts and other values", "Write a text after each THEN and ELSE.")
    cases = tuple((condition_of(branch.this, schema), str(branch.args["true"].this)) for branch in node.args["ifs"])
    return Recode(cases, str(texts[-1].this) if len(texts) > len(ends) else None)


def column_for(text: str, schema: Schema) -> tuple[str, Schema]:
    """Return the name of a column, or of an expression that a text states, and the schema with it."""
    expression = _stated(text, schema)
    return (expression.column, schema) if isinstance(expression, Named) else added_key(schema, expression)


def _stated(text: object, schema: Schema) -> Expression | Recode:
    """Return the column of this name, or the expression that a text states."""
    if not isinstance(text, str) or text in schema.columns:
        return Named(schema.column(text)[0])  # type: ignore[arg-type]
    if any(name.casefold() == text.casefold() for name in schema.columns) or text.isidentifier() or not text.strip():
        return Named(schema.column(text)[0])
    return parse_expression(text, schema, key_expression_of)


def resolved(statistics: Sequence[Statistic], schema: Schema) -> tuple[tuple[Statistic, ...], Schema]:
    """Return the statistics, each about a column or expression in its one form, and the schema with those columns."""
    found = []
    for statistic in statistics:
        if statistic.parts:
            parts, schema = resolved(statistic.parts, schema)
            one = _weighted_mean(replace(statistic, parts=parts), schema)
        else:
            one = _as_share(_weighted(_about_columns(statistic, schema), schema))
        for expression in (None if one.column is None else one.value, one.weight):
            if expression is not None and not isinstance(expression, str | Named):
                _, schema = added_to(schema, expression)
        found.append(one)
    return tuple(found), schema


def _about_columns(statistic: Statistic, schema: Schema) -> Statistic:
    """Return the statistic with its texts read."""
    if statistic.kind == "people":
        return statistic
    if isinstance(statistic.weight, str):
        weight = _stated(statistic.weight, schema)
        if isinstance(weight, Recode):
            raise UnsupportedQuery("weights that are texts", "Name a column of numbers.")
        statistic = replace(statistic, weight=weight)
    if isinstance(statistic.condition, str):
        statistic = replace(statistic, condition=parse_condition(statistic.condition, schema))
    if statistic.column is None or statistic.expression is not None:
        return statistic
    expression = _stated(statistic.column, schema)
    if isinstance(expression, Recode):
        raise UnsupportedQuery("a statistic of texts", "Group by them, or count the rows: AVG(CASE WHEN … THEN 1 …).")
    column = schema.columns[expression.column] if isinstance(expression, Named) else None
    if column is not None and statistic.kind != "count" and column.kind == "boolean" and not column.is_computed:
        expression = Indicator(Compare(str(statistic.column), "=", True))
    return about(statistic, expression)


def _weighted(statistic: Statistic, schema: Schema) -> Statistic:
    """Return a weighted statistic in its one form: a constant factor of the weights of a mean says nothing."""
    weight = statistic.weight
    if weight is None or isinstance(weight, str):
        return statistic
    constant, others = _factors(weight)
    if statistic.kind in ("mean", "proportion") and constant > 0 and others:
        statistic = replace(statistic, weight=multiplied(others))
    if statistic.kind == "proportion" and isinstance(statistic.condition, Condition):
        share = Choose(((statistic.condition, ONE),), ZERO)
        return about(replace(statistic, kind="mean", condition=None), share)
    if statistic.kind == "count" and statistic.column is None:
        return about(replace(statistic, kind="sum", weight=None), weight)
    if statistic.kind == "sum":
        return about(replace(statistic, weight=None), multiplied((weight, statistic.value)))
    if statistic.kind == "count":
        raise UnsupportedQuery(
            "a weighted number of values",
            'Ask for the sum of weights: lw.count(weight="w", …) with where="x IS NOT NULL".',
        )
    return statistic


def _as_share(statistic: Statistic) -> Statistic:
    """Return the share of rows that a mean of 1 and 0 is, however it is written; else the statistic."""
    share = statistic.expression
    if statistic.kind != "mean" or statistic.weight is not None or not is_share(share):
        return statistic
    assert isinstance(share, Choose)
    return replace(statistic, kind="proportion", column=None, expression=None, condition=share.cases[0][0])


def _weighted_mean(ratio: Statistic, schema: Schema) -> Statistic:
    """Return the weighted mean that SUM(w * x) / SUM(w) is, if w has bounds and is not negative; else the ratio."""
    if [part.kind for part in ratio.parts] != ["sum", "sum"]:
        return ratio
    (times, tops), (divided, bottoms) = (_factors(part.value) for part in ratio.parts)
    for each in bottoms:
        if each not in tops:
            return ratio
        tops.remove(each)
    if not tops or not bottoms or divided <= 0 or not _is_weight(multiplied(bottoms), schema):
        return ratio
    constant = ratio.factor * times / divided
    value = multiplied([*([] if constant == 1 else [Constant(constant)]), *tops])
    mean = Statistic("mean", error=ratio.error, name=ratio.name, weight=multiplied(bottoms))
    return about(mean, value)


def _factors(expression: Expression) -> tuple[Fraction, list[Expression]]:
    """Return the constant factor of an expression, and the others."""
    first, *others = expression.parts if isinstance(expression, Product) else (expression,)
    if isinstance(first, Constant) and isinstance(first.value, Fraction):
        return first.value, others
    return Fraction(1), [first, *others]


def _is_weight(expression: Expression, schema: Schema) -> bool:
    column = schema.columns[expression.column] if isinstance(expression, Named) else derive(expression, schema)
    return column.grid is not None and column.low is not None and column.low >= 0


def check_number(name: str, column: Column, what: str = "a sum over") -> None:
    """Refuse a column that is not a number, or has no bounds."""
    if column.kind not in ("number", "integer"):
        raise UnsupportedQuery(
            f'{what} "{name}", which is not a number',
            "Ask for COUNT(x), or for a share: AVG(CASE WHEN condition THEN 1 ELSE 0 END).  "
            "The owner of the source can declare it as a number.",
        )
    if column.grid is None:
        raise UnsupportedQuery(
            f'{what} "{name}", which has no bounds',
            f"{NO_BOUNDS}  A share is AVG(CASE WHEN condition THEN 1 ELSE 0 END).",
        )
