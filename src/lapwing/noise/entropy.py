"""The only source of randomness.

``SYSTEM`` takes a fresh key from the operating system for each call, and expands it with AES-256-CTR.
Nothing is kept between calls, so forked, threaded and pickled code never repeats a stream (but a fork in
the middle of a call, from a signal handler, copies what that call has drawn).  There is no seed.
``EntropyForTests`` is the only deterministic source: noise drawn from it is not private.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

_ZEROS = bytes(1 << 21)


class Stream(Protocol):
    """An endless stream of random 64-bit words."""

    def fill(self, words: NDArray[np.int64]) -> None:
        """Overwrite all of ``words`` (contiguous) with the next words of the stream."""


class Entropy(Protocol):
    """A source of randomness."""

    @property
    def private(self) -> bool:
        """Whether nobody can predict it."""

    def bits(self, count: int) -> int:
        """Return ``count`` (a multiple of 8) random bits as an integer."""

    def stream(self) -> Stream:
        """Return a new stream, independent of all others."""


class Keystream:
    """AES-256 in counter mode, with a key that is used only for this stream."""

    def __init__(self, key: bytes) -> None:
        self._cipher = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()

    def fill(self, words: NDArray[np.int64]) -> None:
        view = words.view(np.uint8).data
        for start in range(0, len(view), len(_ZEROS)):
            part = view[start : start + len(_ZEROS)]
            self._cipher.update_into(_ZEROS[: len(part)] if len(part) < len(_ZEROS) else _ZEROS, part)


@dataclass(frozen=True)
class SystemEntropy:
    """The operating system's generator; every stream has a new 256-bit key."""

    private: bool = field(default=True, init=False)

    def bits(self, count: int) -> int:
        return int.from_bytes(os.urandom(count // 8))

    def stream(self) -> Stream:
        return Keystream(os.urandom(32))


class EntropyForTests:
    """Deterministic numbers from a seed: for tests only, never private."""

    private = False

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._calls = count()

    def __repr__(self) -> str:
        return f"EntropyForTests({self._seed}) (not private)"

    def _key(self) -> bytes:
        return hashlib.sha256(f"{self._seed}/{next(self._calls)}".encode()).digest()

    def bits(self, count: int) -> int:
        return int.from_bytes(hashlib.shake_256(self._key()).digest(count // 8))

    def stream(self) -> Stream:
        return Keystream(self._key())


SYSTEM = SystemEntropy()
