"""One axis for all bars of a statistic: order is kept, ticks are round, labels have room."""

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lapwing.pages.axis import WIDTH, make_axis

numbers = st.lists(st.floats(-1e12, 1e12, allow_nan=False), min_size=1, max_size=8)


@given(numbers)
def test_a_larger_number_is_never_drawn_to_the_left(found):
    axis = make_axis(found)
    places = [axis.at(each) for each in sorted(found)]
    assert places == sorted(places)
    assert all(axis.pad - 0.1 <= place <= WIDTH - axis.pad + 0.1 for place in places)
    assert axis.low - 1e-300 <= min(found) <= max(found) <= axis.high + 1e-300


@given(numbers)
def test_ticks_lie_on_the_axis_and_their_labels_do_not_touch(found):
    axis = make_axis(found)
    assert len(axis.ticks) == len(axis.labels) >= 2
    places = [axis.at(tick) for tick in axis.ticks]
    assert places == sorted(places)
    if len(places) > 2:
        assert min(b - a for a, b in pairwise(places)) > 2 * axis.pad - 4


def test_ticks_are_round_and_zero_is_there_when_it_is_near():
    assert make_axis([9526, 10376]).labels == ("9,500", "10,000", "10,500")
    assert make_axis([12, 90]).low == 0
    assert 0 in make_axis([-40, 90]).ticks
    assert make_axis([-90, -12]).high == 0
    assert make_axis([0.0001, 0.00035]).labels[0] == "0"


def test_strange_numbers_have_an_axis_too():
    for found in ([], [0], [5], [-5], [math.nan, math.inf], [1e308, -1e308], [5e-324, 0], [1e15, 1e15 + 1]):
        axis = make_axis(found)
        assert axis.low < axis.high
        assert len(set(axis.labels)) == len(axis.labels)
        assert all(math.isfinite(axis.at(tick)) for tick in axis.ticks)
