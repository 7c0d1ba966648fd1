"""How names and values are written in SQL."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from fractions import Fraction

Value = Fraction | str | bool | date

_MOST_PLACES = 1200


def quoted(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: Value | None, number: Callable[[Fraction], str] | None = None) -> str:
    """Return a value as SQL writes it; ``number`` writes numbers, as decimals if it is not given."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, Fraction):
        return (number or numeral)(value)
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    return "'" + str(value).replace("'", "''") + "'"


def numeral(value: Fraction) -> str:
    """Return a number as SQL writes it: a decimal of any length, or p/q if it has none."""
    places, left = 0, value.denominator
    for prime in (2, 5):
        power = 0
        while left % prime == 0:
            left, power = left // prime, power + 1
        places = max(places, power)
    if left > 1 or places > _MOST_PLACES:
        return str(value)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"
