"""SQL → quantiles: QUANTILE_CONT(x, q) and what other engines call it, and WEIGHTED_QUANTILE(x, w, q).

Standard SQL has no weighted quantile.  The arguments have the order of those engines that have one under some name:
the value, its weight, the share.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from ..errors import UnsupportedQuery
from . import query
from .asking import about, argument
from .condition import numeral, only, refuse
from .query import Statistic
from .schema import Schema

_PLAIN = "Write QUANTILE_CONT(x, 0.9), with the share from 0 to 1."
_WEIGHTED = "Write WEIGHTED_QUANTILE(x, w, 0.9), with the share from 0 to 1, or WEIGHTED_MEDIAN(x, w)."
_NO_SHARE = "a share that is not a number"


def quantile_of(node: exp.Expression, schema: Schema) -> Statistic:
    """Return the quantile that an aggregate asks for; refuse other aggregates."""
    named = str(node.this).upper() if node.key == "anonymous" else ""
    if named in ("WEIGHTED_QUANTILE", "WEIGHTED_MEDIAN"):
        return _weighted(named, node.expressions, schema)
    if named in ("QUANTILE_CONT", "QUANTILE_DISC"):
        if len(node.expressions) != 2:
            raise UnsupportedQuery("a quantile without its share", _PLAIN)
        column, level = node.expressions
    elif isinstance(node, exp.Quantile):
        only(node, "this", "quantile")
        column, level = node.this, node.args["quantile"]
    elif isinstance(node, exp.WithinGroup) and isinstance(node.this, exp.PercentileCont | exp.PercentileDisc):
        only(node, "this", "expression")
        only(node.this, "this")
        order = node.expression.expressions if isinstance(node.expression, exp.Order) else []
        if len(order) != 1 or not isinstance(order[0], exp.Ordered) or order[0].args.get("desc"):
            raise UnsupportedQuery("this WITHIN GROUP", _PLAIN)
        column, level = order[0].this, node.this.this
    else:
        refuse(node)
    return about(query.quantile("", number_in(level, _NO_SHARE, _PLAIN)), argument(column, schema))


def _weighted(named: str, given: list[exp.Expression], schema: Schema) -> Statistic:
    """Return a weighted quantile: of a value, by a weight, at a share unless it is the median."""
    if len(given) != (2 if named == "WEIGHTED_MEDIAN" else 3):
        raise UnsupportedQuery("a weighted quantile with other arguments", _WEIGHTED)
    column, weight, *level = given
    share = number_in(level[0], _NO_SHARE, _WEIGHTED) if level else Fraction(1, 2)
    return about(replace(query.quantile("", share), weight=argument(weight, schema)), argument(column, schema))


def number_in(node: exp.Expression, what: str, advice: str) -> Fraction:
    """Return the number that is written, or refuse ``what`` is there instead of it."""
    value = numeral(node)
    if isinstance(node, exp.Div):  # 1/3, as the canonical text writes numbers that are not decimals
        top, bottom = numeral(node.this), numeral(node.expression)
        value = top / bottom if top is not None and bottom else None
    if value is None:
        raise UnsupportedQuery(what, advice)
    return value
