"""Claims Q1 to Q5: quantiles by selection.

The law of a release is computed, not sampled: every race (claim N6) is replaced by all of its outcomes with their
probabilities, and the release is run once for each path through them.
"""

import math
from dataclasses import replace
from fractions import Fraction as F
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapwing as lw
from lapwing.measure import selection
from lapwing.measure.selection import Aim, ValueWeights, _between, _Rows, _spread
from lapwing.noise.entropy import SYSTEM
from lapwing.question.schema import make_schema
from lapwing.release.estimate import estimates

from .. import statistics as stats
from ..tables import plan_of

LEVELS = [(F(1, 2),), (F(1, 5),), (F(0),), (F(1),), (F(0), F(1)), (F(1, 4), F(1, 2), F(3, 4)), (F(0), F(1, 3), F(1))]


# --- the law of permute-and-flip, and of what is made of it ---


def flipped(exponents):
    """P(v) = p_v·E[1/(1 + heads among the others)] = p_v·∫ Π (1 - p_w·z) dz, from 0 to 1."""
    p = np.exp(-np.array(exponents, dtype=float))
    found = []
    for v in range(len(p)):
        others = np.polynomial.Polynomial([1.0])
        for w in range(len(p)):
            if w != v:
                others *= np.polynomial.Polynomial([1.0, -p[w]])
        found.append(p[v] * others.integ()(1.0))
    return found


def test_the_integral_is_the_law_of_permute_and_flip():
    p = [1.0, 0.3, 0.7, 0.05]
    exactly = [0.0] * 4
    for order in permutations(range(4)):
        left = 1 / 24
        for v in order:
            exactly[v] += left * p[v]
            left *= 1 - p[v]
    assert flipped([-math.log(each) for each in p]) == pytest.approx(exactly, rel=1e-12)


class _Fork(Exception):
    pass


def law(run, monkeypatch):
    """Return {outcome: probability} of a function that runs races."""
    found, waiting = {}, [((), 1.0)]
    while waiting:
        script, share = waiting.pop()
        left = iter(script)

        def race(exponents, unit, sizes, entropy, left=left, script=script, share=share):
            chosen = next(left, None)
            if chosen is not None:
                return chosen
            runs = [(j, k) for j, size in enumerate(sizes) for k in range(size)]
            chances = flipped([float(exponents[j] * unit) for j, _ in runs])
            assert min(exponents[sizes > 0]) == 0
            waiting.extend(((*script, one), share * chance) for one, chance in zip(runs, chances, strict=True))
            raise _Fork

        monkeypatch.setattr(selection, "race", race)
        try:
            outcome = run()
        except _Fork:
            continue
        found[outcome] = found.get(outcome, 0.0) + share
    assert sum(found.values()) == pytest.approx(1, abs=1e-9)
    return found


def loss(one, other):
    """Return the largest |ln| of the ratio of two laws."""
    assert set(one) == set(other)
    return max(abs(math.log(one[outcome] / other[outcome])) for outcome in one)


@pytest.fixture
def few_parts(monkeypatch):
    monkeypatch.setattr(selection, "PARTS", 2)
    monkeypatch.setattr(selection, "_REVERSED", np.array([0, 1]))


def chooser(levels, neighbors="add_remove", interval=False, by=(), person=False, high=2):
    columns = {"x": lw.number(0, high, integer=True), "g": lw.keys("a", "b")}
    schema = make_schema("t", columns, "p" if person else None, 2 if person else None, neighbors, None)
    plan = plan_of(schema, lw.quantile("x", list(levels)), by, epsilon=1)
    (part,) = plan.parts
    made = part.measurement.selection(plan.setting(part))
    if not interval:
        object.__setattr__(made, "measurement", replace(made.measurement, interval=False))
    for name in ("inside", "aside"):  # the claims hold for any shift, and small ones matter more on few rows
        if name == "inside" or (interval and made.measurement.inner):
            made.__dict__[name] = F(made.schema.row_weight)
    return made


def spread_of(rows, weight=1):
    """Return rows (group, value) or (group, value, weight) as the engine would."""
    found = {}
    for group, value, *own in rows:
        found[group, value] = found.get((group, value), 0) + (own[0] if own else weight)
    keys = sorted(found)
    columns = [[key[0] for key in keys], [key[1] for key in keys], [found[key] for key in keys]]
    return ValueWeights(*(np.array(column, dtype=np.int64) for column in columns))


def outcome(made, rows, groups=1, weight=1):
    """Return a function that releases the points of all groups, without counts."""
    spread = spread_of(rows, weight)

    def run():
        found = []
        for group in range(groups):
            own = spread.groups == group
            found.append(tuple(made._points(spread.indices[own], spread.weights[own], SYSTEM)))
        return tuple(found)

    return run


def databases(values, most):
    for size in range(most + 1):
        yield from combinations_with_replacement(values, size)


@pytest.mark.parametrize(
    ("levels", "interval"), [*((each, False) for each in LEVELS), *((each, True) for each in LEVELS[:4])]
)
def test_Q1_the_law_of_all_values_is_within_e_to_epsilon_for_all_neighbors(levels, interval, few_parts, monkeypatch):
    """Every database of up to three rows on a grid of three values, and every row that may come."""
    made = chooser(levels, interval=interval)
    share = float(made.epsilon - (made.moved / made.scale if interval else 0))
    worst = 0.0
    most = 3 if len(levels) == 1 and not interval else 2
    laws = {rows: law(outcome(made, [(0, x) for x in rows]), monkeypatch) for rows in databases(range(3), most)}
    for rows in laws:
        if len(rows) < most:
            for x in range(3):
                worst = max(worst, loss(laws[rows], laws[tuple(sorted((*rows, x)))]))
    assert worst <= share * (1 + 1e-9)
    assert worst > share / 4  # or the test would say nothing


@pytest.mark.parametrize("levels", LEVELS[:5])
def test_Q1_change_one_for_all_neighbors(levels, few_parts, monkeypatch):
    made = chooser(levels, "change_one")
    laws = {rows: law(outcome(made, [(0, x) for x in rows]), monkeypatch) for rows in databases(range(3), 2)}
    worst = 0.0
    for rows in laws:
        for i, x in product(range(len(rows)), range(3)):
            worst = max(worst, loss(laws[rows], laws[tuple(sorted((*rows[:i], x, *rows[i + 1 :])))]))
    assert worst <= float(made.epsilon) * (1 + 1e-9)
    assert worst > float(made.epsilon) / 4


def test_Q1_a_reach_that_is_too_short_is_noticed(few_parts, monkeypatch):
    """The enumeration can fail: with R halved the ratio is beyond e^ε."""
    right = selection.Selection.score_range
    monkeypatch.setattr(selection.Selection, "score_range", lambda self, *given: right(self, *given) / 2)
    made = chooser((F(1, 2),))
    laws = [law(outcome(made, [(0, x) for x in rows]), monkeypatch) for rows in ((0, 1, 2), (0, 1, 2, 2))]
    assert loss(*laws) > float(made.epsilon)


# --- reach ---


def distances(rows, weights, level, shift, candidates):
    total = sum(weights)
    goal = level * total + shift
    found = []
    for v in candidates:
        below = sum(w for x, w in zip(rows, weights, strict=True) if x < v)
        upto = sum(w for x, w in zip(rows, weights, strict=True) if x <= v)
        found.append(max(below - goal, goal - upto, F(0)))
    return found


weighted = st.lists(st.tuples(st.integers(0, 6), st.integers(1, 5)), max_size=8)


@given(weighted, weighted, st.fractions(0, 1, max_denominator=20), st.integers(-5, 5))
def test_Q2_rows_that_come_move_all_distances_within_the_reach(others, own, level, shift):
    before, after = (
        distances([x for x, _ in rows], [w for _, w in rows], level, shift, range(7)) for rows in (others, others + own)
    )
    moved = [b - a for a, b in zip(before, after, strict=True)]
    assert max(moved) - min(moved) <= 2 * max(level, 1 - level) * sum(w for _, w in own)


@given(weighted, weighted, weighted, st.fractions(0, 1, max_denominator=20), st.integers(-5, 5))
def test_Q2_rows_that_are_replaced_move_them_within_twice_their_weight(others, old, new, level, shift):
    before, after = (
        distances([x for x, _ in rows], [w for _, w in rows], level, shift, range(7))
        for rows in (others + old, others + new)
    )
    moved = [b - a for a, b in zip(before, after, strict=True)]
    assert max(moved) - min(moved) <= 2 * max(sum(w for _, w in old), sum(w for _, w in new))


def test_Q2_the_reach_is_reached():
    for level in (F(1, 2), F(1, 10), F(9, 10)):
        best = F(0)
        for x, rows, shift in product(range(5), databases(range(5), 4), (-2, 0, 2)):
            pair = [distances(each, [1] * len(each), level, shift, range(5)) for each in (rows, (*rows, x))]
            moved = [b - a for a, b in zip(*pair, strict=True)]
            best = max(best, max(moved) - min(moved))
        assert best == 2 * max(level, 1 - level)


@given(weighted, st.fractions(0, 1, max_denominator=50), st.integers(-9, 9))
def test_Q2_the_distances_of_a_choice_are_those_of_the_claim(rows, level, shift):
    """What the race is given, against the definition."""
    spread = spread_of([(0, x, w) for x, w in rows])
    seen = {}

    def race(exponents, unit, sizes, entropy):
        seen["all"] = [int(e) * unit for e, size in zip(exponents, sizes, strict=True) for _ in range(size)]
        return next(j for j, size in enumerate(sizes) if size), 0

    original, selection.race = selection.race, race
    try:
        _Rows(spread.indices, spread.weights, 0, 6)._choose(Aim(level, F(shift)), F(1, 3), SYSTEM)
    finally:
        selection.race = original
    expected = distances([x for x, _ in rows], [w for _, w in rows], level, shift, range(7))
    assert seen["all"] == [(d - min(expected)) / 3 for d in expected]


# --- splitting ---


@given(st.integers(1, 5000), st.integers(1, 3000), st.sampled_from([1, 7, 2**16]))
def test_Q3_more_weight_at_a_value_leaves_where_the_earlier_is(weight, more, block):
    places = []
    for total in (weight, weight + more):
        found = _spread(np.array([3]), np.array([total]), block)
        assert found[1].sum() == total
        assert (np.diff(found[0]) > 0).all()
        assert (found[0] // selection.PARTS == 3).all()
        assert found[1].min() > 0
        places.append(dict(zip(*(each.tolist() for each in found), strict=True)))
    gained = {place: places[1].get(place, 0) - places[0].get(place, 0) for place in places[1]}
    assert set(places[0]) <= set(places[1])
    assert min(gained.values()) >= 0
    assert sum(gained.values()) == more


def test_Q3_a_heavy_value_is_divided_evenly():
    places, weights = _spread(np.array([0]), np.array([10_000]), 1)
    upto = np.cumsum(weights)
    assert np.abs(upto - 10_000 * (places + 1) / selection.PARTS).max() < 12


@pytest.mark.parametrize("neighbors", ["add_remove", "change_one"])
def test_Q3_a_person_in_several_groups_and_values(neighbors, few_parts, monkeypatch):
    """All ways to divide a person of two rows, in halves, over two groups of two values, beside other people."""
    made = chooser((F(1, 3), F(2, 3)), neighbors, by="g", person=True, high=1)
    half = made.schema.row_weight // 2
    spots = [(group, x) for group in range(2) for x in range(2)]
    people = [[(*spots[i], half) for i in chosen] for chosen in combinations_with_replacement(range(4), 4)]
    people.append([])
    others = [(0, 0, 2 * half), (1, 1, half)]
    laws = [law(outcome(made, [*others, *own], 2), monkeypatch) for own in people]
    pairs = [(one, laws[-1]) for one in laws[:-1]] if neighbors == "add_remove" else list(product(laws, laws))
    worst = max(loss(*pair) for pair in pairs)
    assert float(made.epsilon) / 4 < worst <= float(made.epsilon) * (1 + 1e-9)


def test_Q3_the_ends_of_bars_cost_what_is_set_aside_for_them(few_parts, monkeypatch):
    """Given the values, the ends of two bars between and beside them, over all neighbors."""
    made = chooser((F(1, 3), F(2, 3)), interval=True, high=7)
    room = (made.measurement.grid.steps + 1) * selection.PARTS - 1
    laws = {}
    for rows in databases(range(8), 2):
        spread = spread_of([(0, x) for x in rows])
        places = _spread(spread.indices, spread.weights, 1)
        laws[rows] = law(lambda places=places: tuple(made._ends(_Rows(*places, 0, room), [4, 10], SYSTEM)), monkeypatch)
    worst = max(loss(laws[rows], laws[tuple(sorted((*rows, x)))]) for rows in laws if len(rows) < 2 for x in range(8))
    allowed = float(2 * made.end)
    assert allowed / 4 < worst <= allowed * (1 + 1e-9)


def test_Q3_the_shares_add_up_to_epsilon():
    for levels in LEVELS:
        for interval in (True, False):
            made = chooser(levels, interval=interval)
            spent = made.each * made.depth
            if interval:
                spent += made.moved / made.scale
                if made.measurement.inner:
                    spent += made.end * min(len(made.measurement.inner), 2)
            assert spent == made.epsilon


def test_Q3_the_counts_are_a_partition():
    spread = spread_of([(0, x) for x in (0, 0, 1, 3, 3, 3, 4)])
    assert _between(spread.indices, spread.weights, [0, 1, 3, 3, 5]) == [0, 2, 1, 0, 4, 0]


# --- how good it is ---


def test_Q4_the_promise_holds_by_the_exact_law(few_parts, monkeypatch):
    for levels, neighbors in product(LEVELS[:5], ("add_remove", "change_one")):
        made = chooser(levels, neighbors)
        del made.__dict__["inside"]
        rows = (0, 0, 1, 2, 2, 2)
        found = law(outcome(made, [(0, x) for x in rows]), monkeypatch)
        for confidence in (F(1, 2), F(19, 20)):
            for i, level in enumerate(levels):
                allowed = made.promise(level, confidence)
                off = [
                    max(sum(x < v[0][i] for x in rows) - level * 6, level * 6 - sum(x <= v[0][i] for x in rows))
                    for v in found
                ]
                beyond = sum(p for d, p in zip(off, found.values(), strict=True) if d > allowed)
                assert beyond <= 1 - confidence


def incomes(n, seed):
    return np.random.default_rng(seed).lognormal(math.log(30_000), 0.8, n).clip(0, 200_000)


def repeat(values, column, levels, times, epsilon=1, intervals=True, person=False):
    """Return the plan, and a release in which every group holds the same values."""
    columns = {"x": column, "g": lw.keys(range(times))}
    schema = make_schema("t", columns, None, None, "add_remove", None)
    plan = plan_of(schema, lw.quantile("x", levels), "g", epsilon=epsilon, intervals=intervals)
    (part,) = plan.parts
    grid = part.measurement.grid
    index = np.clip(np.floor(np.asarray(values) / float(grid.step) + 0.5).astype(np.int64) - grid.low, 0, grid.steps)
    indices, weights = np.unique(index, return_counts=True)
    spread = ValueWeights(np.repeat(np.arange(times), len(indices)), np.tile(indices, times), np.tile(weights, times))
    return plan, part.measurement.selection(plan.setting(part)).release(spread, times, SYSTEM), np.sort(index)


@pytest.mark.usefixtures("frozen_noise")
@pytest.mark.parametrize("n", [1000, 10_000])
def test_the_median_is_at_most_three_rows_off_on_average(n):
    """On these rows it is 2.4 at most, with a deviation of 2.1."""
    for intervals in (True, False):
        _, noisy, rows = repeat(incomes(n, 1), lw.number(0, 200_000), [0.5], 1000, intervals=intervals)
        off = np.abs(np.searchsorted(rows, noisy[0]) - n / 2)
        assert off.mean() <= 3


CASES = {
    "bars of quantiles of incomes": (incomes(1000, 2), lw.number(0, 200_000), [0.25, 0.5, 0.9]),
    "bars of quantiles of ages": (
        np.random.default_rng(3).integers(18, 91, 1000),
        lw.number(0, 120, integer=True),
        [0, 0.5, 1],
    ),
    "bars of quantiles of many zeros": (
        np.maximum(np.random.default_rng(4).normal(0, 1, 400), 0),
        lw.number(-5, 5),
        [0.5, 0.75],
    ),
    "bars of quantiles of all equal": (np.full(300, 7), lw.number(0, 100, integer=True), [0.1, 0.5]),
    "bars of quantiles of few": ([3.0, 4.0], lw.number(0, 10), [0, 0.5]),
}


@pytest.mark.parametrize("case", CASES)
def test_Q5_bars_hold_the_quantile(case):
    """Each group gives one bar, those of the levels in turn, so that all are independent."""
    values, column, levels = CASES[case]
    plan, noisy, rows = repeat(values, column, levels, 3000, epsilon=2)
    found = estimates(plan, [noisy], None, F(19, 20), False)
    grid = plan.parts[0].measurement.grid
    held = np.zeros(3000, dtype=bool)
    for turn, (estimate, level) in enumerate(zip(found, levels, strict=True)):
        true = rows[max(math.ceil(F(str(level)) * len(rows)), 1) - 1]
        truth = float((true + grid.low) * grid.step)
        inside = (estimate.low <= truth) & (truth <= estimate.high)
        held[turn :: len(levels)] = inside[turn :: len(levels)]
    stats.assert_covered(case, held, 0.95)


@pytest.mark.usefixtures("frozen_noise")
def test_Q5_bars_are_not_everything():
    """They hold little more than needed: with incomes of 1,000 rows at ε = 2, some 60 rows of them."""
    values, column, _ = next(iter(CASES.values()))
    plan, noisy, _ = repeat(values, column, [0.5], 200, epsilon=2)
    (bar,) = estimates(plan, [noisy], None, F(19, 20), False)
    held = np.searchsorted(np.sort(values), bar.high) - np.searchsorted(np.sort(values), bar.low)
    assert np.median(held) < 120
