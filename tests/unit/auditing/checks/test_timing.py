"""The check of running time: it passes on the samplers as they are, and fails on samplers that take their time.

Samplers that take their time do so on a clock that only they turn, so that no other work on the machine can hide it.
"""

import gc
import math
import random
from itertools import islice

import pytest

import lapwing as lw
from lapwing.auditing.checks import timing as module
from lapwing.auditing.checks.timing import compared, timed, timing
from lapwing.auditing.room import Room
from lapwing.noise import sampler


def test_the_time_of_the_samplers_tells_nothing_of_the_noise(tmp_path):
    found = list(timing(Room(tmp_path)))
    assert len({finding.what for finding in found}) == 8
    assert [finding.told for finding in found if not finding.passed] == []
    assert {finding.false_alarm for finding in found} == {1e-9}
    assert gc.isenabled()


class Slow:
    """A sampler that counts failures, so that its time grows with the result, and the clock that it turns."""

    def __init__(self):
        self.now = 0
        self._random = random.Random(1)

    def work(self, steps):
        """Let time go by: so many steps of 50 ns, and up to 1 µs for what else the machine does."""
        self.now += 50 * steps + self._random.randrange(1000)

    def happens(self, chance):
        return self._random.random() < chance

    def draw(self, law, entropy=None):
        while True:
            size = 0
            while self.happens(math.exp(-1 / law.scale)):
                size += 1
            self.work(size)
            sign = self._random.choice((-1, 1))
            if size or sign == 1:
                return sign * size


@pytest.fixture
def slow(monkeypatch):
    made = Slow()
    monkeypatch.setattr(module, "perf_counter_ns", lambda: made.now)
    return made


def test_a_sampler_that_counts_is_found(tmp_path, monkeypatch, slow):
    monkeypatch.setattr(sampler, "_draw_one", slow.draw)
    monkeypatch.setattr(sampler, "_draw_into", lambda out, law, entropy: out.fill(slow.draw(law)))
    found = list(islice(timing(Room(tmp_path), 2_000), 6))
    assert [finding.passed for finding in found if "size" in finding.what] == [False] * 3


def test_an_array_whose_draws_are_counted_is_found(slow):
    law = lw.DiscreteLaplace(100)
    times, drawn = timed(lambda: [slow.draw(law) for _ in range(20)], 2_000)
    size, _ = compared("an array", times, drawn, law)
    assert not size.passed


@pytest.mark.usefixtures("frozen_noise")
def test_a_sampler_that_returns_early_for_zero_is_found(tmp_path, monkeypatch, slow):
    whole, chance = sampler._draw_one, lw.DiscreteLaplace(100).pmf(0)

    def early(law, entropy):
        if slow.happens(chance):
            slow.work(1)
            return 0
        slow.work(100)
        while (found := whole(law, entropy)) == 0:
            pass
        return found

    monkeypatch.setattr(sampler, "_draw_one", early)
    _, zeros = islice(timing(Room(tmp_path), 20_000), 2)
    assert not zeros.passed


def test_a_clock_that_does_not_know_the_noise_raises_no_alarm(slow):
    """So that what is found above is found in the time of the draws and not in the clock."""
    law = lw.DiscreteLaplace(100)

    def draw():
        drawn, slow.now = slow.draw(law), 0
        slow.work(100)
        return drawn

    times, drawn = timed(draw, 2_000)
    assert all(finding.passed for finding in compared("one draw", times, drawn, law))
