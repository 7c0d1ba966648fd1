"""The script that stands for chance: noise by number, choices by place, and the cost of a choice."""

from fractions import Fraction

import numpy as np
import pytest

import lapwing as lw
from lapwing.auditing.tools.script import MARK, NoOther, Race, Script, scripted
from lapwing.measure import cells, selection
from lapwing.noise import sampler


def test_everybody_who_draws_gets_the_script_and_afterwards_chance_again():
    before = cells.discrete_laplace, selection.race, lw.discrete_laplace
    script = Script(lambda number: 10 * number)
    with scripted(script):
        assert cells.draws(Fraction(3), 2, NoOther()).tolist() == [0, 10]
        assert lw.discrete_laplace(5) == 20
        assert sampler.discrete_laplace(2, (1, 2)).tolist() == [[30, 40]]
    assert (cells.discrete_laplace, selection.race, lw.discrete_laplace) == before
    assert script.scales == [3, 3, 5, 2, 2]
    assert script.calls == [(3, 2), (5, 1), (2, 2)]


def test_marks_are_python_integers():
    with scripted(Script(lambda number: (number + 1) * MARK)):
        assert cells.draws(Fraction(1), 2, NoOther()).tolist() == [MARK, 2 * MARK]


def test_a_choice_is_recorded_and_repeated():
    one = Script(seed=4)
    sizes = np.array([2, 0, 3])
    first = one.race([1, 0, 4], Fraction(1, 2), sizes)
    assert one.races == [Race((1, 0, 4), (2, 0, 3), Fraction(1, 2))]
    assert Script(places=one.chosen).race([9, 9, 9], Fraction(1), sizes) == first


@pytest.mark.parametrize(("place", "won"), [(0, (0, 0)), (1, (0, 1)), (2, (2, 0)), (4, (2, 2))])
def test_a_place_is_a_run_and_a_number_in_it(place, won):
    assert Script(places=[place]).race([0, 0, 0], Fraction(1), np.array([2, 0, 3])) == won


def test_the_cost_of_a_choice_is_how_far_the_distances_spread():
    one = Race((5, 1, 7), (2, 3, 1), Fraction(1, 10))
    assert one.cost(one) == 0
    assert one.cost(Race((4, 0, 6), (2, 3, 1), Fraction(1, 10))) == 0  # all move alike
    other = Race((5, 3, 7), (1, 4, 1), Fraction(1, 10))
    # candidates:      5 5 1 1 1 7   against   5 3 3 3 3 7: they move by 0, 2, -2, -2, -2, 0
    assert one.cost(other) == Fraction(4, 10)


def test_neighbors_with_other_candidates_are_refused():
    with pytest.raises(ValueError, match="numbers of candidates"):
        Race((0,), (2,), Fraction(1)).cost(Race((0,), (3,), Fraction(1)))


def test_randomness_that_nothing_asked_for_fails():
    for use in (lambda: NoOther().bits(3), lambda: NoOther().stream()):
        with pytest.raises(RuntimeError, match="neither"):
            use()
