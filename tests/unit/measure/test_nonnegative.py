"""The view without negative numbers: its parts against independent implementations, and how good it is."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize
from scipy.special import wrightomega

from lapwing import errors
from lapwing.measure import apportion, hierarchy, nonnegative, support, tables

PAIRS = [(0, 1), (0, 2), (1, 2)]


def fitted(*given, rounded=False, **named):
    """Return the tables of a view."""
    return nonnegative.view(*given, **named).tables(rounded=rounded)


def counted(rows, shape, asked):
    """Count tables of rows."""
    found = {}
    for axes in asked:
        found[axes] = np.zeros([shape[i] for i in axes])
        for row in rows:
            found[axes][tuple(row[list(axes)])] += 1
    return found


def people(shape, n, seed, classes=4):
    """Draw rows of a few classes of people whose columns have a few frequent keys each."""
    values = np.random.default_rng(seed)
    which = values.integers(0, classes, n)
    chances = [values.dirichlet(np.full(keys, 0.3), classes) for keys in shape]
    return np.stack([[values.choice(len(p[c]), p=p[c]) for c in which] for p in chances], axis=1)


def noisy_of(truth, scale, seed):
    values = np.random.default_rng(seed)
    return {axes: table + np.rint(values.laplace(0, scale, table.shape)) for axes, table in truth.items()}


def error(found, truth):
    squares = np.concatenate([((found[axes] - truth[axes]) ** 2).ravel() for axes in truth])
    return float(np.sqrt(squares.mean()))


# ── the parts ────────────────────────────────────────────────────────────────────────────────────────────────


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=8), st.floats(0.01, 1e4))
def test_the_closest_table_with_a_total_is_found_by_bisection_too(values, total):
    low, high = min(values) - total, max(values)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(max(v - middle, 0) for v in values) > total else (low, middle)
    expected = [max(v - low, 0) for v in values]
    assert nonnegative.on_simplex(np.array(values), total) == pytest.approx(expected, abs=1e-6 * max(1, total))


@given(st.lists(st.floats(-690, 1e6), min_size=1, max_size=9))
def test_omega_is_the_logarithm_of_wrights_function(values):
    points = np.array(values)
    expected = np.where(points > -600, np.log(np.maximum(wrightomega(np.maximum(points, -600)), 1e-300)), points)
    assert nonnegative.omega(points) == pytest.approx(expected, abs=1e-9, rel=1e-9)
    assert nonnegative.omega(points, expected + 0.5) == pytest.approx(expected, abs=1e-9, rel=1e-9)


def minimum(start, quadratic, constraints):
    """Minimise KL(z ‖ start) + quadratic(z) under linear constraints, by a general method."""

    def cost(z):
        return float((z * np.log(z / start) - z + start).sum() + quadratic(z))

    sums = constraints @ start
    bounds = [(1e-9, None)] * start.size
    found = minimize(
        cost, start, method="trust-constr", bounds=bounds, constraints=LinearConstraint(constraints, sums, sums),
        options={"xtol": 1e-12, "gtol": 1e-10, "maxiter": 3000},
    )  # fmt: skip
    return found.x


def selector(shape, axes):
    """Return the matrix that sums a flat joint table to a table."""
    size = int(np.prod(shape))
    rows = [np.eye(size)[:, k].reshape(shape) for k in range(size)]
    others = tuple(i for i in range(len(shape)) if i not in axes)
    return np.stack([row.sum(axis=others).ravel() for row in rows], axis=1)


def test_one_step_is_the_minimum_that_the_docstring_says(monkeypatch):
    monkeypatch.setattr(nonnegative, "_SWEEPS", 500)
    monkeypatch.setattr(nonnegative, "_SETTLED", 1e-9)
    monkeypatch.setattr(nonnegative, "_CLOSE", 1e-11)
    shape, values = (2, 3, 2), np.random.default_rng(4)
    start = values.uniform(2, 30, shape)
    total = float(start.sum())
    wanted, goals = [], {}
    for axes, slowness in zip([(1,), *PAIRS], (5.0, 3.0, 8.0, 15.0), strict=True):
        now = start.sum(axis=tuple({0, 1, 2} - set(axes)))
        unbiased = now + values.normal(0, 15, now.shape)
        wanted.append(nonnegative._Wanted(support.Margin(axes), unbiased, slowness))
        goals[axes] = unbiased + (total - unbiased.sum()) / unbiased.size, slowness
    found = nonnegative._pulled(support.Joint(shape), start, wanted, total)

    def quadratic(z):
        joint = z.reshape(shape)
        sums = {axes: joint.sum(axis=tuple({0, 1, 2} - set(axes))) for axes in goals}
        return sum(((sums[axes] - goal) ** 2).sum() / (2 * slowness) for axes, (goal, slowness) in goals.items())

    expected = minimum(start.ravel(), quadratic, np.ones((1, start.size)))
    assert found.ravel() == pytest.approx(expected, rel=2e-3, abs=2e-3)


def test_empty_cells_stay_empty_and_the_total_stays():
    start = np.array([[0.0, 5.0, 5.0], [0.0, 0.0, 10.0], [0.0, 3.0, 2.0]])
    wanted = nonnegative._Wanted(support.Margin((0, 1)), np.diag([50.0, -20.0, 7.0]), 4.0)
    found = nonnegative._pulled(support.Joint((3, 3)), start, [wanted], 25.0)
    assert (found[start == 0] == 0).all()
    assert found.sum() == pytest.approx(25, abs=0.05)


def test_measured_tables_count_if_they_have_no_column_that_is_not_asked_for():
    found = nonnegative._parts([(0, 1, 2), (0, 3), (3,)], [(0, 1), (2,)], None)
    assert found == tables.closure([(0, 1, 2)])


def test_of_a_hierarchy_measured_tables_count_down_to_the_finest_column_asked_for():
    assert nonnegative._parts([(0, 2), (0, 1)], [(1,), (0,)], CHAIN) == CHAIN.closure([(0, 1)])
    assert nonnegative._parts([(0, 2), (0, 1)], [(2,), (0,)], CHAIN) == CHAIN.closure([(0, 2)])


def test_the_tree_has_the_largest_sum_of_dependences_of_all_trees():
    values = np.random.default_rng(5)
    links = {pair: float(values.uniform()) for pair in combinations(range(5), 2)}
    found = support.branches(5, links)
    weight = sum(links[min(c, p), max(c, p)] for c, p in found if p is not None)

    def connected(edges):
        reached = {0}
        for _ in edges:
            reached |= {i for edge in edges if reached & set(edge) for i in edge}
        return len(reached) == 5

    assert weight == max(sum(links[e] for e in edges) for edges in combinations(links, 4) if connected(edges))
    assert [parent for _, parent in found].count(None) == 1


def test_columns_without_a_link_begin_a_tree_of_their_own():
    assert support.branches(4, {(0, 2): 0.5}) == [(0, None), (2, 0), (1, None), (3, None)]


def test_a_sample_of_cells_has_the_tables_of_its_tree():
    pair = np.array([[60.0, 0.0, 0.0], [0.0, 30.0, 10.0]])
    sample = support.sampled([pair.sum(axis=1), pair.sum(axis=0), np.array([1.0, 3.0])], {(0, 1): pair})
    size = len(sample.codes)
    counts = sample.table(np.ones(size), (0, 1)) / size
    assert counts == pytest.approx(pair / 100, abs=0.01)  # a fixed seed: nothing is left to chance
    assert sample.table(np.ones(size), (2,)) / size == pytest.approx([0.25, 0.75], abs=0.01)


def test_dependence_is_mutual_information():
    table = np.array([[10.0, 0.0], [0.0, 30.0]])
    entropy = -(0.25 * np.log(0.25) + 0.75 * np.log(0.75))
    assert support.dependence(table) == pytest.approx(entropy)
    assert support.dependence(np.outer([1.0, 2.0], [3.0, 4.0])) == pytest.approx(0)
    assert support.dependence(np.zeros((2, 2))) == 0


@pytest.mark.parametrize("sample", [False, True])
def test_whole_numbers_keep_their_sum_and_stay_close_in_all_tables(sample):
    shape, values = (6, 5, 4), np.random.default_rng(6)
    joint = support.Joint(shape)
    weights = values.gamma(0.3, 2.0, shape)
    cells = support.Sampled(shape, joint.codes) if sample else joint
    own = weights.ravel() if sample else weights
    asked = [(0,), (1,), (2,), *PAIRS]
    units = round(float(weights.sum()))
    found, whole = apportion.apportioned(cells, own, units, asked)
    assert whole.sum() == units
    assert (whole >= 0).all()
    for axes in asked:
        off = found.table(whole, axes) - joint.table(weights, axes) * (units / weights.sum())
        assert float(np.sqrt((off**2).mean())) < 1


def test_whole_numbers_of_nothing_are_spread_evenly():
    _, whole = apportion.apportioned(support.Joint((2, 3)), np.zeros((2, 3)), 12, ())
    assert whole.tolist() == [[2, 2, 2], [2, 2, 2]]


def test_a_sum_of_floats_that_is_too_large_is_lowered():
    assert apportion._lowered(np.array([[3, 9], [8, 1]]), 2).tolist() == [[3, 8], [7, 1]]


# ── the whole ────────────────────────────────────────────────────────────────────────────────────────────────


def test_exact_tables_come_back():
    shape, asked = (4, 3, 5), [*PAIRS, (0,), (1,), (2,), ()]
    truth = counted(people(shape, 3000, 7), shape, asked)
    measured = {axes: truth[axes] for axes in PAIRS}
    view = fitted(shape, measured, dict.fromkeys(PAIRS, 1e-6), asked)
    for axes in asked:
        assert view[axes] == pytest.approx(truth[axes], abs=0.1)


@pytest.mark.parametrize("sample", [False, True])
@pytest.mark.parametrize("scale", [3, 30])
def test_the_view_is_closer_than_unbiased_tables_with_negative_cells_cut_off(scale, sample, monkeypatch):
    if sample:
        monkeypatch.setattr(nonnegative, "MOST_CELLS", 0)
    shape, asked = (12, 9, 15, 2), [*combinations(range(4), 1), *combinations(range(4), 2)]
    truth = counted(people(shape, 2000, 8), shape, asked)
    measured = noisy_of({axes: truth[axes] for axes in asked if len(axes) == 2}, scale, 9)
    variances = dict.fromkeys(measured, 2.0 * scale**2)
    unbiased = tables.reconstruct(shape, measured, variances, asked)
    cut = {axes: np.maximum(table, 0) for axes, table in unbiased.items()}
    found = nonnegative.view(shape, measured, variances, asked)
    assert error(found.tables(), truth) < 0.9 * error(cut, truth) < error(unbiased, truth)
    assert error(found.tables(rounded=True), truth) < 0.9 * error(cut, truth)


def test_the_view_of_tables_of_three_columns_is_closer_than_what_is_cut_off():
    shape, asked = (5, 4, 6, 2), tables.closure(combinations(range(4), 3))
    truth = counted(people(shape, 4000, 10), shape, asked)
    measured = noisy_of({axes: truth[axes] for axes in asked if len(axes) == 3}, 12, 11)
    variances = dict.fromkeys(measured, 288.0)
    unbiased = tables.reconstruct(shape, measured, variances, asked)
    cut = {axes: np.maximum(table, 0) for axes, table in unbiased.items()}
    assert error(fitted(shape, measured, variances, asked), truth) < 0.9 * error(cut, truth)


def test_a_negative_total_gives_nothing_and_rows_that_say_nothing():
    found = nonnegative.view((2, 2), {(0, 1): np.full((2, 2), -50)}, {(0, 1): 2.0}, [(0, 1), ()])
    assert found.tables()[0, 1].tolist() == [[0, 0], [0, 0]]
    assert found.tables(rounded=True)[()] == 0
    assert found.rows(4).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert found.rows().shape == (0, 2)


def test_a_public_total_is_kept():
    noisy = {(0,): np.array([40, 70, -9])}
    view = fitted((3,), noisy, {(0,): 2.0}, [(0,), ()], total=90)
    assert view[()] == 90
    assert view[0,].sum() == 90


def test_the_total_alone_is_a_view_too():
    assert fitted((3,), {(0,): np.array([4, -1, 5])}, {(0,): 2.0}, [()]) == {(): 8.0}


def test_a_column_of_one_key_changes_nothing():
    noisy = np.random.default_rng(12).integers(-5, 30, (4, 3))
    plain = fitted((4, 3), {(0, 1): noisy}, {(0, 1): 9.0}, [(0, 1)])
    wide = fitted((4, 1, 3), {(0, 1, 2): noisy[:, None]}, {(0, 1, 2): 9.0}, [(0, 1, 2)])
    assert wide[0, 1, 2][:, 0] == pytest.approx(plain[0, 1], abs=0.01)


@pytest.mark.parametrize("n", [-1, 2.5, 10**9, "many"])
def test_a_number_of_rows_that_cannot_be_is_refused(n):
    found = nonnegative.view((2,), {(0,): np.array([3, 4])}, {(0,): 2.0}, [(0,)])
    with pytest.raises(errors.InvalidParameter, match="a whole number from 0 to 100,000,000"):
        found.rows(n)


def test_a_table_that_no_released_table_holds_is_refused():
    with pytest.raises(errors.InvalidRequest):
        fitted((2, 2), {(0,): np.zeros(2), (1,): np.zeros(2)}, {(0,): 2.0, (1,): 2.0}, [(0, 1)])


@pytest.mark.parametrize(
    ("total", "unit"), [(0, 2**-10), (99_999, 2**-10), (100_000, 2**-9), (10**14, 1), (10**16, 2**8)]
)
def test_the_power_of_two_leaves_fifteen_digits(total, unit):
    assert nonnegative._unit(total) == unit


# ── hierarchies ──────────────────────────────────────────────────────────────────────────────────────────────

WITHIN = (0, 0, 0, 1, 2, 2)
CHAIN = hierarchy.Chain((1, 2), (WITHIN,))
SHAPE = (2, 3, 6)


def county_tables(seed, scale):
    values = np.random.default_rng(seed)
    counties = values.poisson(values.gamma(0.4, 60.0, (2, 6))).astype(float)
    regions = np.stack([counties[:, [w == r for w in WITHIN]].sum(axis=1) for r in range(3)], axis=1)
    truth = {(): counties.sum(), (0,): counties.sum(axis=1), (1,): regions.sum(axis=0), (2,): counties.sum(axis=0)}
    truth |= {(0, 1): regions, (0, 2): counties}
    return truth, noisy_of({axes: np.asarray(truth[axes]) for axes in ((0, 1), (0, 2), (2,))}, scale, seed + 1)


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("sample", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_regions_are_exactly_the_sums_of_their_counties(seed, sample, rounded, monkeypatch):
    if sample:
        monkeypatch.setattr(nonnegative, "MOST_CELLS", 0)
    truth, noisy = county_tables(seed, 5)
    asked = list(truth)
    found = fitted(SHAPE, noisy, dict.fromkeys(noisy, 50.0), asked, rounded=rounded, chain=CHAIN, total=None)
    for table, others in (((1,), (2,)), ((0, 1), (0, 2))):
        sums = np.stack([found[others][..., [w == r for w in WITHIN]].sum(axis=-1) for r in range(3)], axis=-1)
        assert (sums == found[table]).all()
    assert all((table >= 0).all() for table in found.values())
    assert found[()] == found[0,].sum() == found[0, 2].sum()


def test_exact_tables_of_a_hierarchy_come_back_and_rows_have_its_finest_column():
    truth, _ = county_tables(3, 5)
    exact = {axes: truth[axes] for axes in ((0, 1), (0, 2))}
    view = nonnegative.view(SHAPE, exact, dict.fromkeys(exact, 1e-6), list(truth), chain=CHAIN)
    for axes, table in view.tables().items():
        assert table == pytest.approx(truth[axes], abs=0.1)
    assert view.axes == (0, 2)
    assert view.rows(100).shape == (100, 2)


def test_the_order_of_the_columns_does_not_matter():
    truth, noisy = county_tables(4, 5)
    turned = {(): (), (0,): (1,), (1,): (0,), (2,): (2,), (0, 1): (0, 1), (0, 2): (1, 2)}  # region, sex, county
    other = {turned[axes]: table.T if axes == (0, 1) else table for axes, table in noisy.items()}
    chain, shape = hierarchy.Chain((0, 2), (WITHIN,)), (3, 2, 6)
    variances = dict.fromkeys(noisy, 50.0)
    first = fitted(SHAPE, noisy, variances, list(truth), chain=CHAIN)
    second = fitted(shape, other, dict.fromkeys(other, 50.0), list(turned.values()), chain=chain)
    for axes, table in first.items():
        assert second[turned[axes]] == pytest.approx(table.T if axes == (0, 1) else table, abs=0.02)
