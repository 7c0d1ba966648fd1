"""The benchmark of the server runs: it starts servers, asks them, and finds what it asked in the ledgers."""

import importlib
import sys
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed here: `make install` brings it")

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def bench(monkeypatch):
    """Return bench/server.py as a module."""
    monkeypatch.syspath_prepend(str(BENCH))
    yield importlib.import_module("server")
    for name in ("server", "page"):
        sys.modules.pop(name, None)


def test_the_benchmark_of_the_server_asks_and_charges(bench, tmp_path):
    sizes = bench.Sizes(rows=200, asked=bench.CONNECTIONS, released=2, rounds=1, pairs=2)
    seen = bench.measure(tmp_path / "one", 1, sizes)
    assert [len(each.rates) for each in seen.rates.values()] == [1, 1, 1]
    assert len(seen.beside) == len(seen.through) == sizes.pairs
