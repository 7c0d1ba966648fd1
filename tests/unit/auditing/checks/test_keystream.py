"""The check of the keystream: it passes as Lapwing is, and fails on poor keys, other generators and shared words."""

import os

import numpy as np
import pytest

from lapwing.auditing.checks import keystream
from lapwing.auditing.room import Room
from lapwing.measure import measurement
from lapwing.noise import entropy, sampler
from lapwing.noise.entropy import Keystream, SystemEntropy


def failed(findings):
    return [finding.what for finding in findings if not finding.passed]


def test_the_keystream_is_as_promised(tmp_path):
    found = list(keystream.keystream(Room(tmp_path)))
    assert failed(found) == []
    assert len({finding.what for finding in found}) == len(found)
    assert 0 < sum(finding.false_alarm for finding in found) < 1e-10


@pytest.mark.parametrize(
    "key",
    [
        lambda: os.urandom(4) * 8,
        lambda: os.urandom(16) + bytes(16),
        lambda: os.urandom(31) + b"\0",
        lambda: bytes(32),
        lambda: np.random.default_rng().bytes(32),
    ],
)
def test_a_key_of_fewer_bits_or_of_another_origin_is_found(monkeypatch, key):
    monkeypatch.setattr(SystemEntropy, "stream", lambda self: Keystream(key()))
    assert not keystream._bytes_of_a_stream().passed


def test_a_stream_that_is_not_the_cipher_is_found(monkeypatch):
    whole = Keystream.fill

    def fill(self, words):
        whole(self, words)
        words[::2] ^= 1

    monkeypatch.setattr(Keystream, "fill", fill)
    assert not keystream._known_answers().passed
    assert not keystream._pieces().passed
    assert not keystream._bytes_of_a_stream().passed


def test_single_bits_that_do_not_matter_are_found(monkeypatch):
    whole = SystemEntropy.bits
    monkeypatch.setattr(SystemEntropy, "bits", lambda self, count: whole(self, count) & ~1)
    assert not keystream._bytes_of_bits().passed


def test_a_key_that_is_made_once_is_found(monkeypatch, tmp_path):
    key = os.urandom(32)
    monkeypatch.setattr(SystemEntropy, "stream", lambda self: Keystream(key))
    bad = failed(keystream._doors(Room(tmp_path)))
    assert "bytes of the system for coins" in bad
    assert "bytes of the system for a release" in bad
    assert not keystream._by_threads().passed
    assert not keystream._collisions(100).passed


def test_noise_that_two_groups_share_is_found(monkeypatch, tmp_path):
    whole = measurement.draws
    monkeypatch.setattr(measurement, "draws", lambda scale, size, *rest: np.repeat(whole(scale, 1, *rest), size))
    assert "the words of a release of rows" in failed(keystream._own_words(Room(tmp_path)))


def test_noise_of_one_size_with_signs_of_its_own_is_found():
    def draw(entropy):
        drawn = sampler.discrete_laplace(10**6, 9, entropy=entropy)
        return (np.sign(drawn) * abs(drawn[0])).tolist()

    assert not keystream._one_each("some", draw, 9).passed


def test_the_system_is_itself_again_afterwards():
    keystream._bytes_of_bits()
    assert os.urandom(8) != os.urandom(8)
    assert entropy.SYSTEM.bits(64) != entropy.SYSTEM.bits(64)
