"""Where noise is low, medium or high: thresholds on the coefficient of variation, as statistics offices use them.

The defaults are those of Statistics Canada's guidelines for the release of survey estimates: no restriction up to
16.5 %, with a warning up to 33.3 %, and no release above that.  Other offices use similar ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from .. import exact
from ..errors import InvalidParameter
from ..exact import Number

_LOW, _MEDIUM = Fraction(165, 1000), Fraction(333, 1000)


@dataclass(frozen=True)
class NoiseLevels:
    """Up to ``low`` the noise of a number is low, up to ``medium`` it is medium, and above that it is high."""

    low: Fraction = _LOW
    medium: Fraction = _MEDIUM


USUAL = NoiseLevels()


def noise_levels(*, low: Number = _LOW, medium: Number = _MEDIUM) -> NoiseLevels:
    """Say up to which coefficient of variation the noise of a number is called low, and up to which medium.

    Args:
        low: the largest coefficient of variation of low noise, such as 0.1.
        medium: the largest of medium noise; what is above it is high.
    """
    levels = NoiseLevels(exact.positive(low, "low"), exact.positive(medium, "medium"))
    if levels.low > levels.medium:
        raise InvalidParameter(low, "low", "at most as large as medium")
    return levels
