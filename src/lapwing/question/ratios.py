"""Calculations with aggregates: ratios of two counts or sums (``lw.ratio``, SUM(a) / SUM(b)), 100 * AVG(x), ROUND.

A constant factor, as in 100.0 * SUM(a) / SUM(b), multiplies the ratio after the noise.  NULLIF(…, 0) around the
denominator and CAST(… AS DOUBLE) change nothing: the ratio is never computed from exact sums.  A factor of one
aggregate, and ROUND, say how the released number is shown: the question is about the aggregate itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from .. import exact
from ..errors import InvalidParameter, UnsupportedQuery
from ..exact import Number
from .condition import numeral, only
from .labels import NAME, is_name
from .query import Statistic

_LARGEST = Fraction(10**100)
_REALS = ("DOUBLE", "FLOAT", "REAL", "DECIMAL", "NUMERIC")
MOST_DIGITS = 15
_ADD = "Ask for each of them, and add what is released.  A sum over a + b is one number: SUM(a + b), AVG(a - b)."
_DIVIDE = (
    "Ask for both, with --confidence 0.975 (confidence=), and divide what is released: of positive numbers the ratio "
    "lies between low / high and high / low, with 95 %."
)
_WRITE = "Write SUM(a) / SUM(b), SUM(a) / COUNT(*), 100.0 * SUM(a) / SUM(b), or 100 * AVG(x)."


def ratio(
    numerator: Statistic,
    denominator: Statistic,
    *,
    factor: Number = 1,
    error: Number | None = None,
    name: str | None = None,
) -> Statistic:
    """Ask for the ratio of two counts or sums, such as ``lw.ratio(lw.sum("cost"), lw.sum("days"))``.

    Args:
        numerator: a count or sum.
        denominator: a count or sum; where the noise cannot tell it from 0, the answer says so.
        factor: multiplies the ratio, for example 100 for percent.
        error: the wanted half-width of its error bar.
        name: the name of its column in the release.
    """
    for given, what in ((numerator, "numerator"), (denominator, "denominator")):
        if not isinstance(given, Statistic) or not given.is_linear:
            raise InvalidParameter(given, what, "a count or sum, such as lw.sum(…) or lw.count()")
    by = exact.finite(factor, "factor")
    if not 1 / _LARGEST <= abs(by) <= _LARGEST:
        raise InvalidParameter(factor, "factor", "other than 0, and from 10^-100 to 10^100 in size")
    if not (name is None or is_name(name)):
        raise InvalidParameter(name, "name", NAME)
    wanted = None if error is None else exact.positive(error, "error")
    return Statistic("ratio", parts=(numerator, denominator), factor=by, error=wanted, name=name)


def calculated(node: exp.Expression, aggregate: Callable[[exp.Expression], Statistic]) -> Statistic | None:
    """Return what a node of SELECT calculates with aggregates, or None if it is one by itself."""
    bare = _bare(node)
    if isinstance(bare, exp.Round):
        only(bare, "this", "decimals")
        return replace(_unrounded(bare.this, aggregate), digits=_digits(bare.args.get("decimals")))
    if isinstance(bare, exp.Add | exp.Sub):
        raise UnsupportedQuery("a sum or difference of aggregates", _ADD)
    if not isinstance(bare, exp.Div | exp.Mul):
        return None if bare is node else aggregate(bare)
    tops, bottoms, factor = _factors(bare)
    if len(tops) != 1 or len(bottoms) > 1 or not 1 / _LARGEST <= abs(factor) <= _LARGEST:
        raise UnsupportedQuery("this calculation with aggregates", _WRITE)
    parts = tuple(_unrounded(each, aggregate) for each in (tops[0], *map(_nonzero, bottoms)))
    if len(parts) == 1:
        return replace(parts[0], times=factor)
    if not all(each.is_linear for each in parts):
        raise UnsupportedQuery("a ratio of something other than counts and sums", _DIVIDE)
    return Statistic("ratio", parts=parts, factor=factor)


def _unrounded(node: exp.Expression, aggregate: Callable[[exp.Expression], Statistic]) -> Statistic:
    """Return the statistic inside a calculation; only the whole of it can be rounded."""
    inner = aggregate(node)
    if inner.digits is not None:
        raise UnsupportedQuery("ROUND inside a calculation", "Round the result: ROUND(100 * AVG(x), 1).")
    return inner


def _digits(node: exp.Expression | None) -> int:
    """Return the digits after the point to which ROUND rounds; of a negative number, the zeros before it."""
    digits = Fraction(0) if node is None else numeral(node)
    if digits is None or digits.denominator != 1 or abs(digits) > MOST_DIGITS:
        why = f"Write a whole number from -{MOST_DIGITS} to {MOST_DIGITS}: ROUND(AVG(x), 2)."
        raise UnsupportedQuery("ROUND to a number of digits that is not a constant, or too large", why)
    return int(digits)


def _factors(node: exp.Expression) -> tuple[list[exp.Expression], list[exp.Expression], Fraction]:
    """Return what a product is made of: the aggregates above and below the line, and the constants as one number."""
    tops: list[exp.Expression] = []
    bottoms: list[exp.Expression] = []
    factor, left = Fraction(1), [(node, False)]
    while left:
        each, below = left.pop()
        each = _bare(each)
        value = numeral(each)
        if isinstance(each, exp.Mul):
            left += [(each.this, below), (each.expression, below)]
        elif isinstance(each, exp.Div):
            left += [(each.this, below), (each.expression, not below)]
        elif value is None:
            (bottoms if below else tops).append(each)
        elif below and value == 0:
            raise UnsupportedQuery("a division by 0", _WRITE)
        else:
            factor = factor / value if below else factor * value
        if len(tops) + len(bottoms) > 2 or max(abs(factor.numerator), factor.denominator) > _LARGEST**4:
            break
    return tops, bottoms, factor


def _bare(node: exp.Expression) -> exp.Expression:
    """Return what is inside casts to a real number."""
    while isinstance(node, exp.Cast) and node.to.this.name in _REALS and not node.args.get("format"):
        node = node.this
    return node


def _nonzero(node: exp.Expression) -> exp.Expression:
    """Return x of NULLIF(x, 0)."""
    if isinstance(node, exp.Nullif) and numeral(node.expression) == 0:
        only(node, "this", "expression")
        return _bare(node.this)
    return node
