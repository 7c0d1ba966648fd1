"""Release count and mean by key with one peer library; run by bench/engine.py with that peer's own environment.

Called with the peer, a Parquet file and a file with one public key a line.  A person may have any number of rows and
counts with at most five.  OpenDP has an interface for tables; with PyDP and diffprivlib, Polars bounds and groups, and
the library adds the noise.  The protocol is that of bench/peers.py; a round answers, for each case, with seconds on
the clock and of the processor, the most memory so far in bytes, and the number of groups and the sum of the counts.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import polars as pl
from fresh import HIGH, LOW, ROWS_PER_PERSON, peak
from peers import say

EPSILON = 1.0
CENTRE = (LOW + HIGH) / 2
MOST_ROWS = 100_000_000  # a public bound that OpenDP wants
KEEPS = {"sample": "five random rows of a person", "first": "the first five rows of a person"}


class Case(NamedTuple):
    """One way to release; ``run`` returns a frame with key, count and mean."""

    key: str
    what: str
    run: Callable[[], pl.DataFrame]


def opendp(path: str, keys: pl.DataFrame) -> list[Case]:
    """Return OpenDP's cases: its table interface, with the sum in whole cents (fixed point by hand) or in floats."""
    import opendp.prelude as dp

    dp.enable_features("contrib")

    def run(keep: str, fixed: bool) -> pl.DataFrame:
        context = dp.Context.compositor(
            data=pl.scan_parquet(path),
            privacy_unit=dp.unit_of(contributions=1, identifier="person"),
            privacy_loss=dp.loss_of(epsilon=EPSILON),
            split_evenly_over=1,
            margins=[dp.polars.Margin(by=["key"], max_length=MOST_ROWS)],
        )
        query = context.query().truncate_per_group(ROWS_PER_PERSON, keep=keep)
        if fixed:
            cents = ((pl.col("cost") - CENTRE) * 100).cast(pl.Int64)
            reach = round((HIGH - CENTRE) * 100)
            total = pl.col("value").fill_null(0).dp.sum((-reach, reach))
            unit = 100
        else:
            cents, unit = pl.col("cost") - CENTRE, 1
            total = pl.col("value").fill_nan(0.0).fill_null(0.0).dp.sum((LOW - CENTRE, HIGH - CENTRE))
        query = query.with_columns(cents.alias("value")).group_by("key").agg(dp.len(signed=True), total)
        made = query.with_keys(keys.lazy()).release().collect()
        return made.select("key", count=pl.col("len"), mean=mean(pl.col("value") / unit, pl.col("len")))

    return [
        Case("sample fixed", f"table interface, whole cents, {KEEPS['sample']}", partial(run, "sample", True)),
        Case("first fixed", f"table interface, whole cents, {KEEPS['first']}", partial(run, "first", True)),
        Case("sample float", f"table interface, floats, {KEEPS['sample']}", partial(run, "sample", False)),
    ]


def mean(total: pl.Expr, count: pl.Expr) -> pl.Expr:
    """Return the mean from the noisy sum of what is above the centre and the noisy count."""
    return (CENTRE + total / count.clip(1)).clip(LOW, HIGH)


def grouped(path: str, keys: pl.DataFrame, keep: str) -> pl.DataFrame:
    """Return count and sum (above the centre) of every public key, of at most five rows of every person."""
    if keep == "sample":
        chosen = pl.int_range(pl.len()).shuffle().over("person") < ROWS_PER_PERSON
    else:
        chosen = pl.col("person").cum_count().over("person") <= ROWS_PER_PERSON
    total = (pl.col("cost").clip(LOW, HIGH) - CENTRE).sum()
    found = pl.scan_parquet(path).filter(chosen).group_by("key").agg(count=pl.len(), total=total)
    return keys.lazy().join(found, on="key", how="left").with_columns(pl.col("count", "total").fill_null(0)).collect()


def by_hand(
    path: str, keys: pl.DataFrame, noise_count: Callable[[int], int], noise_sum: Callable[[float], float]
) -> list[Case]:
    """Return the cases of a library that has noise for one number at a time."""

    def run(keep: str) -> pl.DataFrame:
        exact = grouped(path, keys, keep)
        counts = pl.Series("count", [noise_count(each) for each in exact["count"].to_list()])
        totals = pl.Series("total", [noise_sum(each) for each in exact["total"].to_list()])
        noisy = exact.select("key").with_columns(counts, totals)
        return noisy.select("key", "count", mean=mean(pl.col("total"), pl.col("count")))

    return [Case(keep, f"grouped by hand with Polars, {what}", partial(run, keep)) for keep, what in KEEPS.items()]


def pydp(path: str, keys: pl.DataFrame) -> list[Case]:
    """Return PyDP's cases."""
    from pydp.algorithms.numerical_mechanisms import LaplaceMechanism

    counts = LaplaceMechanism(epsilon=EPSILON / 2, sensitivity=float(ROWS_PER_PERSON))
    sums = LaplaceMechanism(epsilon=EPSILON / 2, sensitivity=ROWS_PER_PERSON * (HIGH - CENTRE))
    return by_hand(path, keys, counts.add_noise, sums.add_noise)


def diffprivlib(path: str, keys: pl.DataFrame) -> list[Case]:
    """Return diffprivlib's cases."""
    from diffprivlib.mechanisms import Geometric, Laplace

    counts = Geometric(epsilon=EPSILON / 2, sensitivity=ROWS_PER_PERSON)
    sums = Laplace(epsilon=EPSILON / 2, sensitivity=ROWS_PER_PERSON * (HIGH - CENTRE))
    return by_hand(path, keys, counts.randomise, sums.randomise)


PEERS = {
    "table-opendp": ("opendp", opendp),
    "table-pydp": ("python-dp", pydp),
    "table-diffprivlib": ("diffprivlib", diffprivlib),
}


def measure(case: Case) -> dict[str, float]:
    """Run a case once; return what the round is answered with."""
    clock, processor = time.perf_counter(), time.process_time()
    made = case.run()
    taken = time.perf_counter() - clock, time.process_time() - processor
    told = {"wall": taken[0], "cpu": taken[1], "peak": peak(), "groups": len(made), "counted": made["count"].sum()}
    return {f"{case.key} {name}": value for name, value in told.items()}


def main() -> int:
    """Answer one round per line of standard input."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=sorted(PEERS), help="the library to time")
    parser.add_argument("table", help="a Parquet file with person, key and cost")
    parser.add_argument("keys", help="a file with one public key a line")
    asked = parser.parse_args()
    package, prepare = PEERS[asked.peer]
    try:
        cases = prepare(asked.table, pl.DataFrame({"key": Path(asked.keys).read_text().split()}))
    except Exception as error:  # whatever a peer raises is reported, so that the other measures go on
        say({"error": f"{type(error).__name__}: {error}"})
        return 1
    told = f"{version(package)} with Polars {pl.__version__}"
    say({"version": told, "cases": [{"key": case.key, "what": case.what} for case in cases]})
    for _ in sys.stdin:
        try:
            say({name: value for case in cases for name, value in measure(case).items()})
        except Exception as error:
            say({"error": f"{type(error).__name__}: {error}"})
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
