import os
import pickle
import threading

import numpy as np
import pytest

import lapwing as lw
from lapwing.noise.entropy import SYSTEM, EntropyForTests, Keystream

HUGE = 2**49  # two draws of this scale are equal with probability below 2^-49


def test_a_stream_is_the_same_in_large_and_small_pieces():
    whole, pieces = np.empty(300_000, np.int64), np.empty(300_000, np.int64)
    Keystream(bytes(32)).fill(whole)
    stream = Keystream(bytes(32))
    for start in range(0, 300_000, 100_000):
        stream.fill(pieces[start : start + 100_000])
    assert (whole == pieces).all()
    assert len(set(whole.tolist())) == whole.size


def test_the_keystream_is_aes_256_in_counter_mode():
    """AES-256 of the zero block under the zero key (NIST SP 800-38A style known answer)."""
    words = np.empty(2, np.int64)
    Keystream(bytes(32)).fill(words)
    assert words.tobytes().hex() == "dc95c078a2408989ad48a21492842087"


def test_T21_every_call_has_a_key_of_its_own():
    assert SYSTEM.private
    draws = [tuple(lw.discrete_laplace(HUGE, 4).tolist()) for _ in range(50)]
    assert len(set(draws)) == 50
    assert len({SYSTEM.bits(64) for _ in range(50)}) == 50


def test_T21_threads_do_not_share_noise():
    found = []
    threads = [threading.Thread(target=lambda: found.append(tuple(lw.discrete_laplace(HUGE, 4)))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 16
    halves = np.array_split(lw.discrete_laplace(HUGE, 400_000, threads=4), 4)
    assert len({tuple(half[:4].tolist()) for half in halves}) == 4


def test_T21_a_forked_child_draws_other_noise():
    lw.discrete_laplace(HUGE, 4)
    inherited = lw.LaplaceMechanism(HUGE, 1)
    drawn = []
    for _ in range(2):
        receive, send = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(send, str([inherited.release(0), *lw.discrete_laplace(HUGE, 3).tolist()]).encode())
            os._exit(0)
        os.waitpid(child, 0)
        drawn.append(os.read(receive, 1000))
        os.close(receive)
        os.close(send)
    drawn.append(str([inherited.release(0), *lw.discrete_laplace(HUGE, 3).tolist()]).encode())
    assert len(set(drawn)) == 3


def test_T21_a_pickled_mechanism_draws_other_noise():
    mechanism = lw.LaplaceMechanism(HUGE, 1)
    copies = [pickle.loads(pickle.dumps(mechanism)) for _ in range(5)]
    assert all(copy == mechanism for copy in copies)
    assert len({copy.release(0) for copy in copies}) == 5


def test_T22_numpy_seeds_have_no_effect():
    draws = []
    for _ in range(2):
        np.random.seed(1)  # noqa: NPY002 - the legacy seed is what must not matter
        draws.append(tuple(lw.discrete_laplace(HUGE, 4).tolist()))
    assert draws[0] != draws[1]


def test_T22_only_the_object_named_for_tests_is_deterministic_and_says_so():
    first, second = (lw.discrete_laplace(10, 1000, entropy=EntropyForTests(5)) for _ in range(2))
    assert (first == second).all()
    assert (first != lw.discrete_laplace(10, 1000, entropy=EntropyForTests(6))).any()
    entropy = EntropyForTests(5)
    assert not entropy.private
    assert repr(entropy) == "EntropyForTests(5) (not private)"
    assert entropy.bits(64) != entropy.bits(64)


@pytest.mark.parametrize("count", [0, 8, 16, 64, 128])
def test_bits_are_as_many_as_asked(count):
    assert 0 <= SYSTEM.bits(count) < 2**count
    assert 0 <= EntropyForTests(1).bits(count) < 2**count
