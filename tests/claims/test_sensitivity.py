"""Claims S1 to S11: every neighbor of every small table, and a witness."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction as F

import pytest

import lapwing as lw
from lapwing.sensitivity import CATALOGUE, Table

RANGES = [(F(0), F(1)), (F(30), F(150)), (F(-7, 2), F(2)), (F(-5), F(-1))]
LONGEST = 5
CLAIMS = {  # the index of claims reads these names
    "S1": "count", "S2": "proportion", "S3": "sum", "S4": "mean", "S5": "variance", "S6": "std", "S7": "histogram",
    "S8": "minimum", "S9": "maximum", "S10": "median",
}  # fmt: skip


def test_the_catalogue_has_these_entries():
    assert {entry.claim: name for name, entry in CATALOGUE.items()} == CLAIMS


def tables(low: F, high: F, n: int) -> itertools.product[Table]:
    return itertools.product((low, (2 * low + high) / 3, (low + high) / 2, high), repeat=n)


def neighbors_of(table: Table, low: F, high: F, relation: str) -> list[Table]:
    """All neighbors: without one row, and (change_one) with another value in its place."""
    shorter = [table[:i] + table[i + 1 :] for i in range(len(table))]
    if relation == "add_remove":
        return shorter  # adding is the same pair seen from the other side
    values = (low, (2 * low + high) / 3, (low + high) / 2, high)
    return [(*rest, value) for rest in shorter for value in values]


def distance(entry, one: Table, other: Table, low: F, high: F) -> F:
    pairs = zip(entry.statistic(one, low, high), entry.statistic(other, low, high), strict=True)
    return sum((abs(a - b) for a, b in pairs), F(0))


def stated(entry, low: F, high: F, n: int, relation: str) -> F:
    given = {"low": low, "high": high, "n": n}
    return entry.sensitivity(**{key: given[key] for key in entry.needs}, neighbors=relation)


def bounds_of(entry, low: F, high: F) -> tuple[F, F]:
    return (F(0), F(1)) if entry.name == "proportion" else (low, high)


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda e: f"{e.claim}-{e.name}")
@pytest.mark.parametrize("relation", ["add_remove", "change_one"])
@pytest.mark.parametrize("ends", RANGES, ids=str)
def test_S1_to_S10_no_neighbors_are_further_apart(entry, relation, ends):
    low, high = bounds_of(entry, *ends)
    for n in range(1, LONGEST + 1):
        allowed = stated(entry, low, high, n, relation) * (1 + F(1, 2**50))  # room for the rounded root of S6 alone
        for table in tables(low, high, n):
            here = entry.statistic(table, low, high)
            for other in set(neighbors_of(table, low, high, relation)):
                there = entry.statistic(other, low, high)
                assert sum(abs(a - b) for a, b in zip(here, there, strict=True)) <= allowed, (table, other)


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda e: f"{e.claim}-{e.name}")
@pytest.mark.parametrize("relation", ["add_remove", "change_one"])
@pytest.mark.parametrize("ends", RANGES, ids=str)
@pytest.mark.parametrize("n", [1, 2, 4, 1000])
def test_S1_to_S10_the_witness_attains_it(entry, relation, ends, n):
    low, high = bounds_of(entry, *ends)
    one, other = entry.witness(low, high, n, relation == "change_one")
    assert one in neighbors_of(other, low, high, relation) or other in neighbors_of(one, low, high, relation)
    found, claimed = distance(entry, one, other, low, high), stated(entry, low, high, n, relation)
    assert found == claimed if entry.name != "std" else float(found) == pytest.approx(float(claimed))


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 12345])
def test_S6_the_rounded_root_is_an_upper_bound_and_tight(n):
    claimed = lw.sensitivity.std(0, 1, n, neighbors="change_one")
    assert claimed**2 >= F(n - 1, n * n)
    assert (claimed - F(1, 2**60)) ** 2 < F(n - 1, n * n) or n == 1


def test_S10_averaging_the_middle_pair_of_an_even_table_halves_the_step():
    """The seeds' median: odd n moves by the whole range, even n with an averaged middle by half of it."""

    def averaged(table: Table) -> F:
        ordered, n = sorted(table), len(table)
        return (ordered[(n - 1) // 2] + ordered[n // 2]) / 2

    for n, expected in ((1, F(1)), (2, F(1, 2)), (3, F(1)), (4, F(1, 2)), (5, F(1))):
        worst = max(
            abs(averaged(t) - averaged(o))
            for t in itertools.product((F(0), F(1)), repeat=n)
            for o in neighbors_of(t, F(0), F(1), "change_one")
        )
        assert worst == expected


def test_S11_several_answers_together_move_by_at_most_the_sum():
    """A count and the sums of two columns: brute force over tables of pairs, attained by one row."""
    ends = (F(-1), F(2))
    claimed = lw.sensitivity.vector(lw.sensitivity.count(), lw.sensitivity.sum(*ends), lw.sensitivity.sum(*ends))
    rows = list(itertools.product((ends[0], F(0), ends[1]), repeat=2))

    def answers(table: tuple) -> tuple[F, ...]:
        return F(len(table)), sum((row[0] for row in table), F(0)), sum((row[1] for row in table), F(0))

    worst = max(
        sum(abs(a - b) for a, b in zip(answers(table), answers(other), strict=True))
        for n in (1, 2, 3)
        for table in itertools.product(rows, repeat=n)
        for other in neighbors_of(table, *ends, "add_remove")
    )
    assert worst == claimed == 5


def test_S11_any_upper_bound_is_accepted_by_the_mechanism():
    """Noise for Δ = 3/2 on an answer that moves by 1 loses e^(2/3) at most, less than the e of ε = 1."""
    law = lw.LaplaceMechanism(F(3, 2), 1).integer_noise
    worst = max(law.pmf(y) / law.pmf(y - 1) for y in range(-50, 51))
    assert worst == pytest.approx(math.exp(2 / 3), rel=1e-12)


def test_S1_a_count_with_a_condition_has_sensitivity_one_under_both_relations():
    for relation in ("add_remove", "change_one"):
        worst = max(
            abs(table.count(1) - other.count(1))
            for n in range(1, 5)
            for table in itertools.product((0, 1), repeat=n)
            for other in neighbors_of(table, 0, 1, relation)
        )
        assert worst == 1


def test_T12_under_add_remove_nothing_depends_on_n():
    for entry in CATALOGUE.values():
        assert len({stated(entry, F(0), F(1), n, "add_remove") for n in (1, 10, 10**6)}) == 1


def test_T13_the_relations_are_not_mixed_up():
    s = lw.sensitivity
    assert (s.sum(-2, 5), s.sum(-2, 5, neighbors="change_one")) == (5, 7)
    assert (s.histogram(), s.histogram(neighbors="change_one")) == (1, 2)
    assert (s.count(), s.count(neighbors="change_one")) == (1, 0)


def test_S8_S9_S10_plain_noise_is_useless_for_order_statistics():
    """At n = 1,000 the mean of weights needs scale 1.2 at ε = 0.1; minimum, maximum and median need 1,200."""
    s = lw.sensitivity
    assert lw.LaplaceMechanism(s.mean(30, 150, 1000, neighbors="change_one"), "0.1").scale == F(6, 5)
    for extreme in (s.minimum, s.maximum, s.median):
        for relation in ("add_remove", "change_one"):
            mechanism = lw.LaplaceMechanism(extreme(30, 150, neighbors=relation), "0.1")
            assert mechanism.scale == 1200
            assert mechanism.error.tail("0.1") > 0.9  # nine times in ten it misses by more than the whole range
