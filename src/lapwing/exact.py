"""Numbers from users: read once, on entry, exactly.

A float means its shortest decimal text: 0.1 is 1/10.  Where noise has to cover it (a sensitivity, a noise scale, the
bounds that a sensitivity is computed from) it means that text or what it holds exactly, whichever needs more noise:
data are floats too, and one may move an answer by all that a float holds.  ε has at most nine decimal places, so
that budgets are sums of integers (nano-ε); a float with more, such as 0.1 + 0.2, is rounded down to nine, once,
for both the charge and the noise.  What is not a number in range is refused here, so that every later function can
rely on it.
"""

from __future__ import annotations

import math
import re
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from operator import index

import numpy as np

from .errors import (
    InvalidBounds,
    InvalidConfidence,
    InvalidEpsilon,
    InvalidParameter,
    InvalidScale,
    InvalidSensitivity,
)

Number = int | float | str | Fraction | Decimal
"""What users may write for a number: 10, 0.5, "0.5", "1/3", Fraction(1, 3), Decimal("0.5")."""

NANO = 10**9
ATTO = 10**18
MAX_EPSILON = 1000

_TEXT = re.compile(r"[+-]?(\d{1,400}/\d{1,400}|(\d{1,400}(\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,3})?)", re.ASCII)


def rational(asked: object) -> Fraction:
    """Return the number exactly as written; raise ValueError if it is not a number."""
    if isinstance(asked, bool):
        raise ValueError("a truth value is not a number")
    if isinstance(asked, Integral):
        try:
            return Fraction(index(asked))
        except TypeError:  # numpy.timedelta64 calls itself an integer
            raise ValueError("not a number") from None
    if isinstance(asked, Rational):
        return Fraction(int(asked.numerator), int(asked.denominator))
    if isinstance(asked, (Real, Decimal, str)):
        text = _written(asked).strip()
        if _TEXT.fullmatch(text) and not re.search(r"/0+$", text):
            return Fraction(text)
    raise ValueError("not a finite number")


def _written(asked: object) -> str:
    """Return the shortest text that means this number, whatever NumPy's print options are."""
    if isinstance(asked, float):
        return float.__repr__(asked)
    return np.format_float_scientific(asked) if isinstance(asked, np.floating) else str(asked)


def _number(asked: object) -> Fraction | None:
    """Return the number, or None if it is not one; the caller refuses it."""
    try:
        return rational(asked)
    except ValueError:
        return None


def _readings(asked: object) -> list[Fraction]:
    """Return the number as written and as held: they differ for floats; none if it is not a number."""
    value = _number(asked)
    held = getattr(asked, "as_integer_ratio", None)
    return [] if value is None else [value] if held is None else [value, Fraction(*held())]


def epsilon(asked: object) -> Fraction:
    """Return ε as a multiple of 1/10⁹ with 0 < ε ≤ 1000; a float is rounded down to one, never up."""
    value = _number(asked)
    if value is not None and isinstance(asked, float | np.floating):  # computed, not written: 0.1 + 0.2
        value = Fraction(math.floor(value * NANO), NANO)
    if value is None or not 0 < value <= MAX_EPSILON or NANO % value.denominator:
        raise InvalidEpsilon(asked)
    return value


def delta(asked: object) -> Fraction:
    """Return δ as a multiple of 1/10^18 with 0 ≤ δ < 1."""
    value = _number(asked)
    if value is None or not 0 <= value < 1 or ATTO % value.denominator:
        raise InvalidParameter(asked, "δ", "a decimal with at most eighteen places, 0 ≤ δ < 1")
    return value


def sensitivity(asked: object) -> Fraction:
    """Return a sensitivity Δ with 2^-900 ≤ Δ ≤ 2^900: of the readings of a float, the larger."""
    value = max(_readings(asked), default=None)
    if value is None or not _between_powers(value, -900, 900):
        raise InvalidSensitivity(asked)
    return value


def scale(asked: object, *, array: bool = False) -> Fraction:
    """Return a noise scale s with 2^-1000 ≤ s ≤ 2^1000, or ≤ 2^50 for draws that must fit int64.

    Of the readings of a float, it is the larger.
    """
    value = asked if type(asked) is Fraction else max(_readings(asked), default=None)  # every draw comes here
    if value is None or not _between_powers(value, -1000, 50 if array else 1000):
        raise InvalidScale(asked, array)
    return value


def _between_powers(value: Fraction, low: int, high: int) -> bool:
    """Return whether 2^low ≤ value ≤ 2^high, for low < 0 < high; faster than comparing fractions."""
    top, bottom = value.numerator, value.denominator
    return bottom <= top << -low and top <= bottom << high


def bounds(low: object, high: object) -> tuple[Fraction, Fraction]:
    """Return low and high with low < high."""
    least, most = _number(low), _number(high)
    if least is None or most is None or not -(2**900) <= least < most <= 2**900:
        raise InvalidBounds(low, high)
    return least, most


def enclosing(low: object, high: object) -> tuple[Fraction, Fraction]:
    """Return low and high with low < high: of the readings of a float, the outer."""
    bounds(low, high)
    return min(_readings(low)), max(_readings(high))


def probability(asked: object) -> Fraction:
    """Return a probability between 10^-300 and 1 - 10^-300."""
    value = _number(asked)
    if value is None or not Fraction(1, 10**300) <= value <= 1 - Fraction(1, 10**300):
        raise InvalidConfidence(asked)
    return value


def whole(asked: object, name: str, most: int | None = 10**18, least: int = 1) -> int:
    """Return a whole number from ``least`` to ``most``; None is no limit.  Of a float, it is what the float holds."""
    value = next(reversed(_readings(asked)), None)
    if value is None or value.denominator != 1 or value < least or (most is not None and value > most):
        limit = f", {least} or larger"
        if most is not None:
            limit = f" from {least} to {'10^18' if most == 10**18 else f'{most:,}'}"
        raise InvalidParameter(asked, name, f"a whole number{limit}")
    return int(value)


def finite(asked: object, name: str) -> Fraction:
    """Return any finite number."""
    value = _number(asked)
    if value is None:
        raise InvalidParameter(asked, name, "one finite number")
    return value


def positive(asked: object, name: str) -> Fraction:
    """Return a positive number."""
    value = _number(asked)
    if value is None or value <= 0:
        raise InvalidParameter(asked, name, "a positive number")
    return value


def nonnegative(asked: object, name: str) -> Fraction:
    """Return a number that is 0 or larger."""
    value = _number(asked)
    if value is None or value < 0:
        raise InvalidParameter(asked, name, "a number, 0 or larger")
    return value


def text(value: Fraction) -> str:
    """Return the shortest exact text: a decimal when the number has one, else p/q."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1 or value.denominator > 10**18:
        return str(value)
    wide = arithmetic(400)
    digits = wide.normalize(wide.divide(Decimal(value.numerator), Decimal(value.denominator)))
    return f"{digits:f}"


def arithmetic(digits: int) -> Context:
    """Return decimal arithmetic in which +, ×, ÷, exp and ln are correctly rounded to ``digits`` places.

    Use its methods only.  The operators of ``Decimal``, the unary minus too, round in the caller's own context,
    which may have any precision and any traps.
    """
    return Context(prec=digits, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])


def unit(context: Context, times: int) -> Decimal:
    """Return ``times`` units of rounding of the context, 10^(1 - digits) each."""
    return Decimal((0, (1,), 1 - context.prec)) if times == 1 else context.multiply(unit(context, 1), Decimal(times))


def as_decimal(value: Fraction, context: Context) -> Decimal:
    """Return the nearest decimal of the context's precision."""
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))
