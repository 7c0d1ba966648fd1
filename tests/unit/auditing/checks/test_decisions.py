"""The check of draws from written bits: it passes as Lapwing is, and fails where a branch is wrong or not tried."""

from collections import deque
from fractions import Fraction as F
from random import Random

import numpy as np
import pytest

from lapwing.auditing.checks import decisions
from lapwing.auditing.room import Room
from lapwing.noise import sampler


def failed(findings):
    return [finding.what for finding in findings if not finding.passed]


def test_draws_are_what_their_bits_say(tmp_path):
    found = list(decisions.decisions(Room(tmp_path)))
    assert failed(found) == []
    assert sum(finding.false_alarm for finding in found) == 0
    assert len({finding.what for finding in found}) == len(found)


def test_a_slow_path_that_is_off_by_one_is_found(monkeypatch):
    whole = sampler._decide_slowly
    monkeypatch.setattr(sampler, "_decide_slowly", lambda *asked: whole(*asked) + 1)
    assert not decisions._arrays(Random(1), [F(1), F(100)]).passed
    assert not decisions._singles(Random(1), [F(1), F(100)]).passed


def test_an_error_bound_that_is_too_small_is_found(monkeypatch):
    monkeypatch.setattr(sampler, "_slack", lambda size, y, gap: 0 * y)
    assert not decisions._arrays(Random(1), [F(10**6), F(10**5)]).passed


def test_a_large_scale_that_is_not_split_where_it_should_be_is_found(monkeypatch):
    sampler._law.cache_clear()
    monkeypatch.setattr(sampler, "_SPLIT", 1 << 31)
    found = decisions._arrays(Random(1), [F(2**30)])
    sampler._law.cache_clear()
    assert not found.passed


def test_coins_that_are_heads_at_their_border_are_found(monkeypatch):
    monkeypatch.setattr(sampler, "_happens", lambda *asked: True)
    assert not decisions._coins(Random(1)).passed
    assert failed(decisions._low_parts())


def test_numbers_that_are_not_drawn_again_are_found(monkeypatch):
    def uniform(below, size, *, entropy):
        words = np.empty(size, np.int64)
        entropy.stream().fill(words)
        return np.minimum(words & ((1 << (below - 1).bit_length()) - 1), below - 1)

    monkeypatch.setattr(decisions, "uniform", uniform)
    assert not decisions._uniform().passed


def test_a_draw_without_end_is_an_error():
    endless = decisions._Written([], [], always=0)
    with pytest.raises(RuntimeError, match="no end"):
        deque((endless.bits(64) for _ in range(10**6)), maxlen=0)


def test_a_statement_that_was_not_tried_is_found(monkeypatch, tmp_path):
    monkeypatch.setattr(decisions, "_refused", decisions._overflow)
    assert failed(decisions.decisions(Room(tmp_path))) == ["every statement of lapwing.noise.sampler is tried"]
