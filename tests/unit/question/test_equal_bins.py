"""Equally wide bins reach from the lower bound to the upper one, also where a bound is 0."""

from fractions import Fraction

import pytest

from lapwing.question.bins import equal_bins
from lapwing.question.schema import number


@pytest.mark.parametrize(("low", "high"), [(-2, 0), (0, 2), (-3, -1), (1, 3)])
def test_bins_end_at_the_bounds(low, high):
    assert equal_bins(number(low, high), 4) == tuple(low + Fraction(i, 2) for i in range(5))
    assert equal_bins(number(low, high, integer=True), 3) == (low, low + 1, low + 2, low + 3)
