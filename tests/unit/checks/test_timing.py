"""The check of running time: it passes on the samplers as they are, and fails on samplers that take their time."""

import gc
import math
import random
from itertools import islice

import lapwing as lw
from lapwing import noise
from lapwing.checks.room import Room
from lapwing.checks.timing import compared, timed, timing


def test_the_time_of_the_samplers_tells_nothing_of_the_noise(tmp_path):
    found = list(timing(Room(tmp_path)))
    assert len({finding.what for finding in found}) == 8
    assert [finding.told for finding in found if not finding.passed] == []
    assert {finding.false_alarm for finding in found} == {1e-9}
    assert gc.isenabled()


def counting(law, entropy):
    """Draw by counting failures, so that the time grows with the result."""
    go_on, size = math.exp(-1 / law.scale), 0
    while True:
        while random.random() < go_on:
            size += 1
        sign = random.choice((-1, 1))
        if size or sign == 1:
            return sign * size
        size = 0


def test_a_sampler_that_counts_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(noise, "_draw_one", counting)
    monkeypatch.setattr(noise, "_draw_into", lambda out, law, entropy: out.fill(counting(law, entropy)))
    found = list(islice(timing(Room(tmp_path), 2_000), 6))
    assert [finding.passed for finding in found if "size" in finding.what] == [False] * 3


def test_an_array_whose_draws_are_counted_is_found():
    law = lw.DiscreteLaplace(100)
    times, drawn = timed(lambda: [counting(law, None) for _ in range(20)], 2_000)
    size, _ = compared("an array", times, drawn, law)
    assert not size.passed


def test_a_sampler_that_returns_early_for_zero_is_found(tmp_path, monkeypatch):
    whole, chance = noise._draw_one, lw.DiscreteLaplace(100).pmf(0)

    def early(law, entropy):
        if random.random() < chance:
            return 0
        while (found := whole(law, entropy)) == 0:
            pass
        return found

    monkeypatch.setattr(noise, "_draw_one", early)
    _, zeros = islice(timing(Room(tmp_path), 60_000), 2)
    assert not zeros.passed
