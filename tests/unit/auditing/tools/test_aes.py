"""AES-256, written anew, is that of the library."""

import hashlib

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from lapwing.auditing.tools.aes import aes256


@pytest.mark.parametrize("name", [b"a", b"b", b"c"])
def test_blocks_are_those_of_the_library(name):
    key, text = hashlib.sha256(name).digest(), hashlib.shake_256(name).digest(16 * 50)
    due = Cipher(algorithms.AES256(key), modes.ECB()).encryptor().update(text)
    assert aes256(key, np.frombuffer(text, np.uint8).reshape(-1, 16)).tobytes() == due
