"""Which tests draw at random: every source of randomness is watched; tests that use one must be in tests/chance.py.

The sources are ``SystemEntropy`` of ``lapwing.noise.entropy``, a generator of NumPy without a seed, the module
``random`` where a test or Lapwing calls it, and another Python process, whose draws cannot be seen.  The flags
lie in shared memory, so that a forked child raises them too.  What a fixture draws counts for every test that uses it.

It is a plugin of pytest, loaded by tests/conftest.py: a test that draws and is not in the list fails.

Only the system's entropy differs from run to run.  What chooses examples is the same each time: NumPy and ``random``
start from the name of the test, and hypothesis from its text.  With LAPWING_SEARCH set, as by ``make soak``, they try
something new.
"""

from __future__ import annotations

import functools
import mmap
import os
import random
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

import lapwing
from lapwing.engine import foreign
from lapwing.noise.entropy import SystemEntropy

from .chance import CHANCES

SOURCES = ("the system's entropy", "NumPy without a seed", "the module random", "another Python process")
SYSTEM, NUMPY, RANDOM, PROCESS = range(len(SOURCES))
SEEN = "LAPWING_DRAWN"
"""The environment variable that names a file: the tests that draw are written to it."""

SEARCH = "LAPWING_SEARCH"
"""The environment variable with which tests try other examples in each run."""

_CALLED = (
    "random",
    "uniform",
    "randrange",
    "randint",
    "choice",
    "choices",
    "sample",
    "shuffle",
    "getrandbits",
    "gauss",
)
_flags = mmap.mmap(-1, len(SOURCES))
_fixtures: dict[object, set[int]] = {}
_seed = [0, 0]
"""What generators without a seed begin from: the name of the test, and how many it has made."""

_ours: list[str] = []
"""The folders whose code's calls of ``random`` count."""


def test_of(nodeid):
    """Return the id of a test without its parameters."""
    return nodeid.partition("[")[0]


def pytest_configure(config):
    """Watch all sources from now on."""
    if _ours:
        return
    _ours.extend(f"{place}{os.sep}" for place in (config.rootpath / "tests", Path(lapwing.__file__).parent))
    for name in ("bits", "stream"):
        setattr(SystemEntropy, name, _noted(SYSTEM, getattr(SystemEntropy, name)))
    for name in ("default_rng", "SeedSequence"):
        setattr(np.random, name, _noted(NUMPY, getattr(np.random, name), _without_seed))
    for name in _CALLED:
        setattr(random, name, _noted(RANDOM, getattr(random, name), _by_us))
    sys.addaudithook(_hear)


def _noted(source, function, when=lambda *given, **named: True):
    @functools.wraps(function)
    def noted(*given, **named):
        if when(*given, **named):
            _flags[source] = 1
            if source == NUMPY and SEARCH not in os.environ:
                _seed[1] += 1
                given, named = (list(_seed),), {}
        return function(*given, **named)

    return noted


def _without_seed(seed=None, **named):
    return seed is None and named.get("entropy") is None


def _begin(name):
    """Start everything that chooses examples from this name, so that other tests and their order do not matter."""
    if SEARCH not in os.environ:
        _seed[:] = zlib.crc32(name.encode()), 0
        random.seed(name)


def _by_us(*given, **named):
    return sys._getframe(2).f_code.co_filename.startswith(tuple(_ours))  # above ``noted``


def _hear(event, given):
    if event == "subprocess.Popen":
        words = [given[0], *given[1][:1]] if isinstance(given[1], list | tuple) else [given[0], given[1]]
        names = {Path(os.fsdecode(word)).name for word in words if word is not None}
        reads = foreign.__file__ in given[1]  # a script that imports nothing of Lapwing
        if not reads and any(name == "lapwing" or name.startswith("python") for name in names):
            _flags[PROCESS] = 1


def _taken():
    """Return the sources that were used since the last call."""
    found = {source for source in range(len(SOURCES)) if _flags[source]}
    _flags[:] = bytes(len(SOURCES))
    return found


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """Remember what a fixture for many tests draws: it counts for all of them, not only for the first."""
    _begin(f"{request.node.nodeid} {fixturedef.argname}")
    if fixturedef.scope == "function":
        return (yield)
    before = _taken()
    try:
        return (yield)
    finally:
        _fixtures[fixturedef] = _taken()
        for source in before:
            _flags[source] = 1


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol():
    """Forget what was drawn between two tests."""
    _taken()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Fail a test that draws and is not in the list."""
    _begin(item.nodeid)
    result = yield
    sources = _taken().union(
        *(_fixtures.get(each, ()) for found in item._fixtureinfo.name2fixturedefs.values() for each in found)
    )
    if sources:
        name, listed = test_of(item.nodeid), ", ".join(SOURCES[source] for source in sorted(sources))
        if SEEN in os.environ:
            with Path(os.environ[SEEN]).open("a") as file:
                file.write(f"{name}\t{listed}\n")
        if name not in CHANCES:
            pytest.fail(
                f"{name} draws ({listed}) and is not in tests/chance.py: state there how often it fails on a correct "
                "build, or let it use the fixture frozen_noise",
                pytrace=False,
            )
    return result
