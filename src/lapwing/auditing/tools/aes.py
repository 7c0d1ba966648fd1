"""AES-256 of many blocks at once, written anew from FIPS 197, independent of the library that Lapwing uses."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

_ROUNDS = 14


def _doubled(value: int) -> int:
    return (value << 1) ^ (0x11B if value & 0x80 else 0)


def _product(one: int, other: int) -> int:
    """Return the product in the field of 256 elements."""
    found = 0
    while other:
        found ^= one if other & 1 else 0
        one, other = _doubled(one), other >> 1
    return found


@lru_cache
def _substitutes() -> Bytes:
    """Return the table of SubBytes: the inverse in the field, and an affine map."""
    table = []
    for value in range(256):
        inverse = next((each for each in range(256) if _product(value, each) == 1), 0)
        turned = [(inverse << by | inverse >> (8 - by)) & 0xFF for by in range(5)]
        table.append(turned[0] ^ turned[1] ^ turned[2] ^ turned[3] ^ turned[4] ^ 0x63)
    return np.array(table, np.uint8)


_TWICE = np.array([_doubled(value) for value in range(256)], np.uint8)
_SHIFTED = np.array([4 * ((i // 4 + i % 4) % 4) + i % 4 for i in range(16)])
"""Where each byte of a block comes from in ShiftRows; columns are four bytes in a row."""


def _round_keys(key: bytes) -> list[Bytes]:
    """Return the keys of all rounds."""
    words = [np.frombuffer(key[i : i + 4], np.uint8) for i in range(0, 32, 4)]
    constant = 1
    while len(words) < 4 * (_ROUNDS + 1):
        last = words[-1]
        if len(words) % 8 == 0:
            last = _substitutes()[np.roll(last, -1)]
            last = last ^ np.array([constant, 0, 0, 0], np.uint8)
            constant = _doubled(constant)
        elif len(words) % 8 == 4:
            last = _substitutes()[last]
        words.append(words[-8] ^ last)
    return [np.concatenate(words[i : i + 4]) for i in range(0, len(words), 4)]


def aes256(key: bytes, blocks: Bytes) -> Bytes:
    """Return the encrypted blocks, one of 16 bytes in each row."""
    first, *others = _round_keys(key)
    state = blocks ^ first
    for number, round_key in enumerate(others, 1):
        state = _substitutes()[state][:, _SHIFTED]
        if number < _ROUNDS:
            rows = state.reshape(-1, 4, 4)
            total = rows[:, :, 0] ^ rows[:, :, 1] ^ rows[:, :, 2] ^ rows[:, :, 3]
            mixed = rows ^ total[:, :, None] ^ _TWICE[rows ^ np.roll(rows, -1, axis=2)]
            state = mixed.reshape(-1, 16)
        state = state ^ round_key
    return state
