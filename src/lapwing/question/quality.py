"""Which numbers are good enough: thresholds on the coefficient of variation, as statistics offices use them.

The defaults are those of Statistics Canada's guidelines for the release of survey estimates: no restriction up to
16.5 %, with a warning up to 33.3 %, and no release above that.  Other offices use similar ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from .. import exact
from ..errors import InvalidParameter
from ..exact import Number

_GOOD, _USABLE = Fraction(165, 1000), Fraction(333, 1000)


@dataclass(frozen=True)
class Quality:
    """Up to ``good`` a number is good, up to ``usable`` it is to be used with care, and above that it is too noisy."""

    good: Fraction = _GOOD
    usable: Fraction = _USABLE


USUAL = Quality()


def quality(*, good: Number = _GOOD, usable: Number = _USABLE) -> Quality:
    """Say which numbers are good, and which are usable with care, by the coefficient of variation of their noise.

    Args:
        good: the largest coefficient of variation of a good number, such as 0.1.
        usable: the largest of a number that is usable with care; what is above it is too noisy.
    """
    low, high = exact.positive(good, "good"), exact.positive(usable, "usable")
    if low > high:
        raise InvalidParameter(good, "good", "at most as large as usable")
    return Quality(low, high)
