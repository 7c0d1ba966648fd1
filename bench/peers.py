"""Time the noise of one peer library; run by bench/noise.py with the interpreter of that peer's own environment.

Protocol: the first line on standard output is a JSON object, {"version": …, "cases": […]} or {"error": …}.
From then on every line on standard input asks for one round, which is answered by {key: ns per draw}.
Nothing but the standard library and the peer is needed.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from itertools import repeat
from typing import NamedTuple

SCALE = 10


class Case(NamedTuple):
    """One thing to time: ``calls`` calls of ``run``, each of ``draws`` draws."""

    key: str
    kind: str  # int or float
    what: str
    draws: int
    calls: int
    run: Callable[[], object]


def opendp() -> tuple[str, list[Case]]:
    """Return OpenDP's version and cases: whole vectors and one number at a time."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    whole, real = dp.atom_domain(T=int), dp.atom_domain(T=float, nan=False)
    ints = dp.m.make_laplace(dp.vector_domain(whole), dp.l1_distance(T=int), scale=float(SCALE))
    floats = dp.m.make_laplace(dp.vector_domain(real), dp.l1_distance(T=float), scale=float(SCALE))
    one = dp.m.make_laplace(whole, dp.absolute_distance(T=int), scale=float(SCALE))
    zeros, points = [0] * 50_000, [0.0] * 10_000
    sized = dp.vector_domain(real, size=len(points))  # a grid may be chosen only if the size is public
    coarse = dp.m.make_laplace(sized, dp.l1_distance(T=float), scale=float(SCALE), k=-32)
    return version("opendp"), [
        Case("int_vector", "int", "integer vector, one call", len(zeros), 1, lambda: ints(zeros)),
        Case(
            "float_vector", "float", "float vector, one call, its finest grid", len(points), 1, lambda: floats(points)
        ),
        Case("float_grid", "float", "float vector, one call, grid 2^-32", len(points), 1, lambda: coarse(points)),
        Case("int_one", "int", "one integer per call", 1, 2_000, lambda: one(5)),
    ]


def diffprivlib() -> tuple[str, list[Case]]:
    """Return diffprivlib's version and cases: it has one number per call only."""
    from diffprivlib.mechanisms import Geometric, Laplace

    whole, real = Geometric(epsilon=1 / SCALE, sensitivity=1), Laplace(epsilon=1 / SCALE, sensitivity=1)
    return version("diffprivlib"), [
        Case("int_one", "int", "Geometric.randomise(5) in a loop", 1, 30_000, lambda: whole.randomise(5)),
        Case("float_one", "float", "Laplace.randomise(5.0) in a loop", 1, 30_000, lambda: real.randomise(5.0)),
    ]


def pydp() -> tuple[str, list[Case]]:
    """Return PyDP's version and cases: it has one number per call only."""
    from pydp.algorithms.numerical_mechanisms import LaplaceMechanism

    noise = LaplaceMechanism(epsilon=1 / SCALE, sensitivity=1.0)
    return version("python-dp"), [
        Case("int_one", "int", "LaplaceMechanism.add_noise(5) in a loop", 1, 50_000, lambda: noise.add_noise(5)),
        Case(
            "float_one", "float", "LaplaceMechanism.add_noise(5.0) in a loop", 1, 50_000, lambda: noise.add_noise(5.0)
        ),
    ]


PEERS = {"opendp": opendp, "diffprivlib": diffprivlib, "pydp": pydp}


def time_once(case: Case) -> float:
    """Return the ns per draw of one round of a case."""
    run = case.run
    gc.collect()
    gc.disable()
    start = time.perf_counter_ns()
    for _ in repeat(None, case.calls):
        run()
    taken = time.perf_counter_ns() - start
    gc.enable()
    return taken / (case.calls * case.draws)


def say(answer: dict[str, object]) -> None:
    """Send one line to the script that asked."""
    print(json.dumps(answer), flush=True)


def main() -> int:
    """Answer one round per line of standard input."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=sorted(PEERS), help="the library to time")
    try:
        found, cases = PEERS[parser.parse_args().peer]()
        for case in cases:
            case.run()
    except Exception as error:  # whatever a peer raises is reported, so that the other measures go on
        say({"error": f"{type(error).__name__}: {error}"})
        return 1
    say({"version": found, "cases": [case._asdict() | {"run": None} for case in cases]})
    for _ in sys.stdin:
        say({case.key: time_once(case) for case in cases})
    return 0


if __name__ == "__main__":
    sys.exit(main())
