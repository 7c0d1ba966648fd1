"""Claims U1 to U5: tables that add up, against dense least squares and exact arithmetic."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing import errors
from lapwing.measure import adding_up, hierarchy, tables
from lapwing.plan import strategy, workload
from lapwing.plan.workload import Workload

BIG = (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2)
FIVE = (100, 50, 7, 4, 2)


def upto(columns, ways):
    return [axes for size in range(ways + 1) for axes in combinations(range(columns), size)]


def design(shape, axes):
    """Return the matrix that sums the cells of all columns to a table."""
    matrix = np.ones((1, 1))
    for i, keys in enumerate(shape):
        matrix = np.kron(matrix, np.eye(keys) if i in axes else np.ones((1, keys)))
    return matrix


def least_squares(shape, variances):
    """Return the matrix from noisy cells to the cells of all columns, by dense weighted least squares."""
    roots = {table: np.sqrt(variance) for table, variance in variances.items()}
    weighted = np.vstack([design(shape, table) / roots[table] for table in variances])
    scales = np.concatenate([np.full(len(design(shape, table)), roots[table]) for table in variances])
    return np.linalg.pinv(weighted) / scales


@st.composite
def problems(draw, most=4):
    """Return a shape, variances of measured tables, and all tables that they cover."""
    shape = tuple(draw(st.lists(st.integers(1, most), min_size=1, max_size=3)))
    every = upto(len(shape), len(shape))
    measured = draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    variances = {table: draw(st.floats(0.01, 100)) for table in measured}
    asked = [table for table in every if any(set(table) <= set(each) for each in measured)]
    return shape, variances, asked


def drawn_tables(shape, measured, seed, kind=np.int64):
    rng = np.random.default_rng(seed)
    return {table: rng.integers(-999, 999, [shape[i] for i in table]).astype(kind) for table in measured}


# ── U1 ───────────────────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=150)
@given(problem=problems(), seed=st.integers(0, 2**32), kind=st.sampled_from([np.int64, object, np.float64]))
def test_U1_reconstruction_is_dense_weighted_least_squares(problem, seed, kind):
    shape, variances, asked = problem
    noisy = drawn_tables(shape, variances, seed, kind)
    given_cells = np.concatenate([noisy[table].ravel() for table in variances]).astype(float)
    fitted = least_squares(shape, variances) @ given_cells
    found = tables.reconstruct(shape, noisy, variances, asked)
    assert list(found) == asked
    for table in asked:
        assert found[table].shape == tuple(shape[i] for i in table)
        np.testing.assert_allclose(found[table].ravel(), design(shape, table) @ fitted, rtol=1e-9, atol=1e-7)


@settings(max_examples=50)
@given(problem=problems(), seed=st.integers(0, 2**32), others=st.data())
def test_U1_true_tables_come_back_and_margins_agree_for_whatever_weights(problem, seed, others):
    shape, variances, asked = problem
    other = {table: others.draw(st.floats(0.01, 100)) for table in variances}
    true = np.random.default_rng(seed).integers(0, 999, np.prod(shape))
    noisy = {table: (design(shape, table) @ true).reshape([shape[i] for i in table]) for table in variances}
    for table, cells in tables.reconstruct(shape, noisy, other, asked).items():
        np.testing.assert_allclose(cells.ravel(), design(shape, table) @ true, atol=1e-6)
    found = tables.reconstruct(shape, drawn_tables(shape, variances, seed), other, asked)
    for table in asked:
        for place, i in enumerate(table):
            np.testing.assert_allclose(found[table].sum(axis=place), found[tables.without(table, (i,))], atol=1e-6)


def test_U1_weights_are_inverse_variances_of_sums():
    shape, variances = (2, 3, 5), {(0, 1): 2.0, (0, 1, 2): 1.0, (2,): 7.0}
    assert tables.weights(shape, variances, (0,)) == pytest.approx({(0, 1): 15 / 21, (0, 1, 2): 6 / 21})
    assert tables.weights(shape, variances, (2,)) == pytest.approx({(2,): 6 / 13, (0, 1, 2): 7 / 13})
    known = {(0, 1): 0.0, (0, 1, 2): 1.0}
    assert tables.weights(shape, known, (0,)) == {(0, 1): 1.0}
    assert tables.variance(shape, known, (0,)) == 0


def test_U1_integers_beyond_int64_are_summed_exactly():
    noisy = {(0,): np.array([2**80, 1 - 2**80], dtype=object), (): np.array(1, dtype=object)}
    found = tables.reconstruct((2,), noisy, {(0,): 1.0, (): 1.0}, [()])
    assert found[()] == 1
    near = {(0,): np.array([2**62, 2**62, -(2**63) + 4], dtype=np.int64)}
    assert tables.reconstruct((3,), near, {(0,): 1.0}, [()])[()] == 4


def test_U1_tables_that_no_measured_table_has_are_refused():
    noisy = drawn_tables((2, 3), [(0,), (1,)], 1)
    with pytest.raises(errors.InvalidRequest) as caught:
        tables.reconstruct((2, 3), noisy, {(0,): 1.0, (1,): 1.0}, [(0, 1)])
    assert str(caught.value) == (
        "No measured table has the columns (0, 1) together. No noise was drawn and nothing was charged. "
        "Measure a table that has them, or ask for smaller tables."
    )
    with pytest.raises(errors.InvalidParameter, match="variances is one for each noisy table"):
        tables.reconstruct((2, 3), noisy, {(0,): 1.0}, [(0,)])
    with pytest.raises(errors.InvalidParameter, match=r"noisy is of the shape of table \(0,\)"):
        tables.reconstruct((3, 3), noisy, {(0,): 1.0, (1,): 1.0}, [(0,)])


def test_U1_large_sets_are_reconstructed_in_little_memory():
    asked = upto(len(BIG), 2)
    noisy = drawn_tables(BIG, asked, 1)
    found = tables.reconstruct(BIG, noisy, dict.fromkeys(asked, 1.0), asked)
    np.testing.assert_allclose(found[(0, 4)].sum(axis=1), found[(0,)], atol=1e-6)


# ── U2 ───────────────────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=150)
@given(problem=problems(), cell=st.integers(0, 10**6))
def test_U2_variances_and_weights_are_those_of_the_matrix(problem, cell):
    shape, variances, asked = problem
    inverse = least_squares(shape, variances)
    ends = np.cumsum([len(design(shape, table)) for table in variances])
    for table in asked:
        rows = design(shape, table) @ inverse
        squares = [(part**2).sum(axis=1) for part in np.split(rows, ends[:-1], axis=1)]
        expected = sum(square * variances[each] for square, each in zip(squares, variances, strict=True))
        np.testing.assert_allclose(tables.variance(shape, variances, table), expected, rtol=1e-9)
        draws = tables.draws(shape, variances, table)
        assert sum(w**2 * times * variances[each] for w, each, times in draws) == pytest.approx(expected[0])
        for each, part in zip(variances, np.split(rows[cell % len(rows)], ends[:-1]), strict=True):
            weights = [w for w, measured, times in draws if measured == each for _ in range(times)]
            there = sorted(part, key=abs)[len(part) - len(weights) :]
            np.testing.assert_allclose(sorted(weights), sorted(there), atol=1e-9)
            common = len(set(each) & set(table))
            assert sum(measured == each for _, measured, _ in draws) <= 2**common


@settings(max_examples=100)
@given(problem=problems(), cell=st.integers(0, 10**6), other=st.integers(1, 10**6))
def test_U2_the_difference_of_two_cells_has_the_weights_of_the_matrix(problem, cell, other):
    shape, variances, asked = problem
    inverse = least_squares(shape, variances)
    ends = np.cumsum([len(design(shape, table)) for table in variances])
    for table, column in ((each, i) for each in asked for i in each if shape[i] > 1):
        rows, sizes = design(shape, table) @ inverse, [shape[i] for i in table]
        place = list(np.unravel_index(cell % len(rows), sizes))
        one = rows[cell % len(rows)]
        place[table.index(column)] = (place[table.index(column)] + 1 + other % (shape[column] - 1)) % shape[column]
        difference = one - rows[np.ravel_multi_index(place, sizes)]
        draws = tables.draws(shape, variances, table, column)
        for each, part in zip(variances, np.split(difference, ends[:-1]), strict=True):
            weights = [abs(w) for w, measured, times in draws if measured == each for _ in range(times)]
            there = np.sort(np.abs(part))
            assert len(weights) <= len(there)
            np.testing.assert_allclose(sorted(weights), there[len(there) - len(weights) :], atol=1e-9)
            np.testing.assert_allclose(there[: len(there) - len(weights)], 0, atol=1e-9)


# ── U3 ───────────────────────────────────────────────────────────────────────────────────────────────────────

FLOATS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)
SIZES = st.one_of(FLOATS, st.floats(-1e4, 1e4), st.integers(-50, 50).map(lambda k: k / 2 + 0.25), st.just(0.5))


def assert_adds_up(published):
    step = F(published.grid)
    for table, cells in published.tables.items():
        assert all(F(float(cell)) % step == 0 for cell in cells.ravel())
        for place, i in enumerate(table):
            smaller = published.tables.get(tables.without(table, (i,)))
            if smaller is not None:
                assert (cells.sum(axis=place) == smaller).all()
                assert (np.flip(cells, axis=place).cumsum(axis=place).take(-1, axis=place) == smaller).all()


@settings(max_examples=150)
@given(shape=st.lists(st.integers(1, 4), max_size=3), exponent=st.integers(-30, 10), data=st.data())
def test_U3_sums_hold_exactly_whatever_the_floats(shape, exponent, data):
    every = upto(len(shape), len(shape))
    asked = data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    given_tables = {}
    for table in asked:
        keys = [shape[i] for i in table]
        size = int(np.prod(keys))
        given_tables[table] = np.array(data.draw(st.lists(SIZES, min_size=size, max_size=size))).reshape(keys)
    published = adding_up.add_up(given_tables, 2.0**exponent)
    assert published.grid >= 2.0**exponent
    assert list(published.tables) == sorted(asked, key=lambda table: (len(table), table))
    assert_adds_up(published)


@settings(max_examples=150)
@given(shape=st.lists(st.integers(1, 5), min_size=1, max_size=4), seed=st.integers(0, 2**32), bits=st.integers(0, 12))
def test_U3_no_cell_moves_further_than_the_bound(shape, seed, bits):
    every = upto(len(shape), len(shape))
    finest = np.random.default_rng(seed).integers(-(10**6), 10**6, shape)
    exact = {table: finest.sum(axis=tuple(i for i in range(len(shape)) if i not in table)) for table in every}
    published = adding_up.add_up({table: cells / 2.0**bits for table, cells in exact.items()}, 1.0)
    assert published.grid == 1
    assert_adds_up(published)
    for table, cells in exact.items():
        moved = np.abs(published.tables[table] * 2**bits - cells).max()
        assert moved <= adding_up.bound(len(table), 1.0) * 2**bits
        assert bits or not moved


def test_U3_the_bound_is_nearly_attained():
    cells = np.array([0.5, 1 - 2**-20, 0.5])  # cumulative sums a half above and a half below a step
    published = adding_up.add_up({(0,): cells}, 1.0)
    assert published.tables[(0,)].tolist() == [1, 0, 1]


def test_U3_the_grid_is_a_power_of_two_from_public_deviations():
    assert adding_up.grid({(): 10.0, (0, 1): 400.0}) == 1.0
    assert adding_up.grid({(): 10.0, (0, 1): 12.0}) == 1.0
    assert adding_up.grid({(): 10.0, (0, 1): 11.9}) == 0.5
    assert adding_up.grid({(): 10.0, (0, 1): 39.0}, slack=0.05) == 0.5
    assert adding_up.grid({(): 1e-3}, slack=0.05) == 2.0**-14
    assert adding_up.grid({(): 0.0}) == 1.0
    assert adding_up.grid({(): 1e9}, coarsest=1e6) == 2.0**19
    assert [adding_up.bound(columns, 0.25) for columns in range(4)] == [0.125, 0.25, 0.5, 1.0]


def test_U3_numbers_that_do_not_fit_into_doubles_get_a_coarser_grid():
    cells = {(0,): np.array([2.0**60, 1.0]), (): np.array(2.0**60 + 1)}
    published = adding_up.add_up(cells, 1.0)
    assert published.grid == 2.0**9
    assert_adds_up(published)


def test_U3_what_cannot_be_published_is_refused():
    with pytest.raises(errors.InvalidParameter, match="grid is a power of two"):
        adding_up.add_up({(): np.array(1.0)}, 0.3)
    with pytest.raises(errors.InvalidParameter, match="tables is finite numbers"):
        adding_up.add_up({(): np.array(np.inf)}, 1.0)


# ── U4 ───────────────────────────────────────────────────────────────────────────────────────────────────────


def deviations(shape, asked, **options):
    chosen = strategy.choose(shape, asked, **options)
    variances = chosen.variances(options.get("costs"))
    found = tables.table_variances(shape, variances, asked)
    return np.sqrt([found[table] for table in asked])


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


@settings(max_examples=30)
@given(
    shape=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    objective=st.sampled_from(strategy.OBJECTIVES),
    data=st.data(),
)
def test_U4_shares_add_up_to_one_exactly_and_every_table_is_covered(shape, objective, data):
    asked = data.draw(st.lists(st.sampled_from(upto(len(shape), len(shape))), min_size=1, unique=True))
    number = st.sampled_from([1e-9, 0.5, 1.0, 3.0, 1e9])
    weights = {table: data.draw(number) for table in asked}
    costs = {table: data.draw(st.sampled_from([0.5, 1.0, 2.0])) for table in tables.closure(asked)}
    chosen = strategy.choose(shape, asked, weights=weights, costs=costs, objective=objective)
    assert sum(chosen.shares) == F(1)
    assert min(chosen.shares) > 0
    assert all(share.denominator <= 10**9 for share in chosen.shares)
    assert len(set(chosen.measured)) == len(chosen.measured)
    assert all(np.isfinite(tables.variance(shape, chosen.variances(costs), table)) for table in asked)
    assert chosen == strategy.choose(shape, asked, weights=weights, costs=costs, objective=objective)


@pytest.mark.parametrize("power", [1.0, 3.0, 32.0])
def test_U4_a_step_never_makes_the_objective_larger_and_its_gradient_is_right(power):
    shape, asked = (3, 4, 2), upto(3, 2)
    candidates = upto(3, 3)
    rng = np.random.default_rng(5)
    costs, importance = rng.uniform(0.5, 2, 8), rng.uniform(0.1, 1, len(asked))

    def objective(shares):
        variances = dict(zip(candidates, 2 * (costs / shares) ** 2, strict=True))
        each = np.array([tables.variance(shape, variances, table) for table in asked]) * importance
        return float((each**power).sum() ** (1 / power))

    for _ in range(30):
        shares = rng.dirichlet(np.full(8, 0.7)) + 1e-6
        shares /= shares.sum()
        slopes = np.array([
            (objective(shares + h) - objective(shares - h)) / (2 * h.sum())
            for h in np.diag(shares * 1e-5)
        ])  # fmt: skip
        pulls = -slopes / 2  # e·g with g = -∂/∂(e²)
        problem = Workload(shape, asked, candidates)
        search = strategy.ShareSearch(problem, importance, costs, [[i] for i in range(8)], 1)
        values, found = search._values(shares[None, :], power)
        assert values[0] == pytest.approx(np.log(objective(shares)))
        np.testing.assert_allclose(found[0] / found[0].sum(), pulls / pulls.sum(), rtol=1e-4, atol=1e-6)
        stepped = shares * found[0] ** (1 / (2 * power + 1))
        assert objective(stepped / stepped.sum()) <= objective(shares) * (1 + 1e-9)


@pytest.mark.parametrize("objective", ["mean", "minimax"])
def test_U4_no_strategy_on_a_fine_grid_is_better(objective):
    shape, asked = (2, 6), upto(2, 2)
    found = np.square(deviations(shape, asked, objective=objective))
    measure = np.mean if objective == "mean" else np.max
    best = np.inf
    for units in product(range(21), repeat=3):
        if sum(units) < 20:  # the finest table is always needed
            shares = [*units, 20 - sum(units)]
            variances = {table: 2 * (20 / unit) ** 2 for table, unit in zip(asked, shares, strict=True) if unit}
            best = min(best, measure([tables.variance(shape, variances, table) for table in asked]))
    assert measure(found) <= best * (1.0001 if objective == "mean" else 1.005)


def test_U4_the_error_of_known_workloads_is_small():
    assert rms(deviations((2, 17, 4), upto(3, 3))) <= 5.3205
    assert rms(deviations((2, 5, 17, 4), upto(4, 4))) <= 8.53
    assert rms(deviations((3,) * 12, upto(12, 2))) <= 45  # each table by itself: 79·√2 = 112
    five = deviations(FIVE, upto(5, 3))
    assert rms(five) <= 18.42
    assert five.max() <= 26
    assert deviations(FIVE, upto(5, 3), objective="minimax").max() <= 22.5
    assert deviations((3143, 18, 2), upto(3, 3), objective="minimax").max() <= 7.79


def test_U4_470_tables_get_a_strategy():
    assert rms(deviations(BIG, upto(len(BIG), 3))) <= 400
    assert deviations(BIG, upto(len(BIG), 3), objective="minimax").max() <= 440


@pytest.mark.parametrize("filled", [0.01, 0.2])
@pytest.mark.parametrize("shape", [(3, 400), (300, 400), (600, 400)])
def test_U4_products_are_those_of_matrices_and_leave_other_cores_alone(monkeypatch, shape, filled):
    rng = np.random.default_rng(5)
    dense = rng.random(shape) * (rng.random(shape) < filled)
    for number in (2, 7, 40):
        rows = rng.random((number, shape[0]))
        asked, usual = [], np.matmul

        def product_of(part, matrix, out, asked=asked, usual=usual):
            asked.append((len(part), part.shape[0] * matrix.size))
            return usual(part, matrix, out=out)

        wanted = rows @ dense
        with monkeypatch.context() as patched:
            patched.setattr(np, "matmul", product_of)
            found = workload._Matrix(dense).times(rows)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
        assert all(work <= 2**18 for _, work in asked)
        assert all(size > 1 for size, _ in asked[:-1])  # the last part has what is left


def test_U4_weights_and_costs_move_the_shares():
    asked = upto(2, 2)
    plain = deviations((5, 7), asked)
    assert deviations((5, 7), asked, weights={(): 100.0})[0] < plain[0]
    cells = deviations((5, 7), asked, objective="cells")
    assert cells[-1] < plain[-1]
    dear = strategy.choose((5, 7), asked, costs={(0,): 100.0, (1,): 100.0})
    assert not {(0,), (1,)} & set(dear.measured)


def test_U4_what_is_no_number_is_refused():
    with pytest.raises(errors.MissingParameter):
        strategy.choose((2,), [])
    with pytest.raises(errors.InvalidParameter, match="one of mean, minimax, cells"):
        strategy.choose((2,), [()], objective="least")
    with pytest.raises(errors.InvalidParameter, match="weights is numbers, 0 or larger"):
        strategy.choose((2,), [()], weights={(): -1.0})
    with pytest.raises(errors.InvalidParameter, match="costs is a positive number"):
        strategy.choose((2,), [()], costs={(): 0.0})
    with pytest.raises(errors.InvalidParameter, match="1 in total"):
        strategy.Strategy(((),), (F(1, 2),))


def test_U4_a_part_without_a_share_gets_one():
    needs = np.array([[True, False, False], [True, True, False]])
    assert strategy.cover([0, 0, 100_000], np.array([1e-9, 1e-8, 1.0]), needs) == [1, 0, 99_999]
    assert strategy.cover([0, 1, 99_999], np.array([1e-9, 1e-8, 1.0]), needs[1:]) == [0, 1, 99_999]
    assert sum(strategy.rounded(np.array([1 / 3, 1 / 3, 1 / 3]))) == strategy.UNIT


# ── U5 ───────────────────────────────────────────────────────────────────────────────────────────────────────


@st.composite
def chains(draw):
    """Return a shape and a chain whose columns have any numbers."""
    sizes, within = [draw(st.integers(1, 3))], []
    for _ in range(draw(st.integers(1, 2))):
        more = draw(st.lists(st.integers(0, sizes[-1] - 1), max_size=3))
        within.append(tuple(draw(st.permutations([*range(sizes[-1]), *more]))))
        sizes.append(len(within[-1]))
    others = draw(st.lists(st.integers(1, 3), max_size=2))
    places = draw(st.permutations(range(len(sizes) + len(others))))
    shape = [0] * len(places)
    for place, keys in zip(places, [*sizes, *others], strict=True):
        shape[place] = keys
    return tuple(shape), hierarchy.Chain(tuple(places[: len(sizes)]), tuple(within))


def nested_tables(shape, chain):
    others = tuple(i for i in range(len(shape)) if i not in chain.columns)
    return [chain.table(level, axes) for axes in tables.closure([others]) for level in range(len(chain.sizes))]


def nested_design(shape, chain, table):
    """Return the matrix from the cells of the finest table, the chain first, to those of a table, the chain first."""
    keys = np.arange(chain.sizes[-1])
    for level in range(len(chain.columns), chain.level(table), -1):
        keys = chain.parents(level)[keys]
    matrix = (keys == np.arange(chain.sizes[chain.level(table)])[:, None]).astype(float)
    for i in (i for i in range(len(shape)) if i not in chain.columns):
        matrix = np.kron(matrix, np.eye(shape[i]) if i in table else np.ones((1, shape[i])))
    return matrix


def chain_first(chain, table, cells):
    """Return the cells in the order of ``nested_design``."""
    level = chain.level(table)
    return np.moveaxis(cells, table.index(chain.columns[level - 1]), 0) if level else cells[None]


@settings(max_examples=80)
@given(nested=chains(), seed=st.integers(0, 2**32), data=st.data())
def test_U5_reconstruction_variances_and_weights_are_those_of_dense_least_squares(nested, seed, data):
    shape, chain = nested
    measured = data.draw(st.lists(st.sampled_from(nested_tables(shape, chain)), min_size=1, max_size=5, unique=True))
    variances = {table: data.draw(st.floats(0.05, 20)) for table in measured}
    noisy = drawn_tables(shape, measured, seed)
    designs = [nested_design(shape, chain, table) for table in measured]
    scales = np.concatenate([np.full(len(d), variances[t] ** 0.5) for d, t in zip(designs, measured, strict=True)])
    inverse = np.linalg.pinv(np.vstack(designs) / scales[:, None]) / scales
    fitted = inverse @ np.concatenate([chain_first(chain, table, noisy[table]).ravel() for table in measured])
    asked = chain.closure(measured)
    found = hierarchy.reconstruct(shape, chain, noisy, variances, asked)
    ends = np.cumsum([len(each) for each in designs])[:-1]
    for table in asked:
        matrix = nested_design(shape, chain, table)
        cells = chain_first(chain, table, found[table])
        np.testing.assert_allclose(cells.ravel(), matrix @ fitted, rtol=1e-9, atol=1e-7)
        rows = matrix @ inverse
        spread = hierarchy.variance(shape, chain, variances, table)
        expected = ((rows * scales) ** 2).sum(axis=1).reshape(len(spread), -1)
        np.testing.assert_allclose(np.broadcast_to(spread[:, None], expected.shape), expected, rtol=1e-8)
        kinds = chain.alike(chain.level(table))
        assert all(np.ptp(spread[kinds == kind]) <= 1e-9 * spread.max() for kind in kinds)
        node = data.draw(st.integers(0, len(spread) - 1))
        draws = hierarchy.draws(shape, chain, variances, table, node)
        row = rows.reshape(len(spread), -1, rows.shape[1])[node, 0]
        for each, part in zip(measured, np.split(row, ends), strict=True):
            weights = [weight for weight, which, times in draws if which == each for _ in range(times)]
            there = np.array(sorted(part, key=abs))
            np.testing.assert_allclose(sorted(weights), sorted(there[len(part) - len(weights) :]), atol=1e-9)
            np.testing.assert_allclose(there[: len(part) - len(weights)], 0, atol=1e-9)


@given(nested=chains(), data=st.data())
def test_U5_nodes_that_are_alike_have_the_same_draws(nested, data):
    shape, chain = nested
    variances = {table: data.draw(st.floats(0.05, 20)) for table in nested_tables(shape, chain)}
    level = data.draw(st.integers(1, len(chain.columns)))
    kinds = chain.alike(level)
    table = (chain.columns[level - 1],)
    pair = data.draw(st.sampled_from(np.argwhere(kinds[:, None] == kinds).tolist()))
    one, other = (
        sorted((measured, round(weight, 9), times) for weight, measured, times in draws if abs(weight) > 1e-8)
        for draws in (hierarchy.draws(shape, chain, variances, table, node) for node in pair)
    )
    assert one == other


@settings(max_examples=80)
@given(nested=chains(), seed=st.integers(0, 2**32), exact=st.booleans())
def test_U3_U5_sums_hold_along_a_chain_too(nested, seed, exact):
    shape, chain = nested
    rng = np.random.default_rng(seed)
    finest = rng.integers(-(10**6), 10**6, nested_design(shape, chain, ()).shape[1]) / 64
    given_tables = {}
    for table in nested_tables(shape, chain):
        cells = nested_design(shape, chain, table) @ finest if exact else rng.normal(scale=1e3, size=10**4)
        keys = [shape[i] for i in chain.others(table)]
        level = chain.level(table)
        whole = cells[: chain.sizes[level] * int(np.prod(keys))].reshape(chain.sizes[level], *keys)
        place = table.index(chain.columns[level - 1]) if level else 0
        given_tables[table] = np.moveaxis(whole, 0, place) if level else whole[0]
    published = adding_up.add_up(given_tables, 1.0, chain)
    for table, cells in published.tables.items():
        level, others = chain.level(table), chain.others(table)
        for i in others:
            assert (
                cells.sum(axis=table.index(i)) == published.tables[chain.table(level, tables.without(others, (i,)))]
            ).all()
        if level:
            coarser = chain.table(level - 1, others)
            sums = np.zeros((chain.sizes[level - 1], *(shape[i] for i in others)))
            np.add.at(sums, chain.parents(level), chain_first(chain, table, cells))
            assert (sums == chain_first(chain, coarser, published.tables[coarser])).all()
        if exact:
            assert np.abs(cells - given_tables[table]).max() <= adding_up.bound(len(table), 1.0)
    largest = max(nested_tables(shape, chain), key=lambda table: (len(table), chain.level(table)))
    alone = adding_up.add_up({largest: given_tables[largest]}, 1.0, chain)
    assert list(alone.tables) == [largest]


def test_U5_levels_that_are_known_and_columns_of_one_key():
    chain = hierarchy.Chain((0, 1), ((0, 0, 1),))
    noisy = {(0,): np.array([10, 5]), (1,): np.array([3, 4, 7])}
    found = hierarchy.reconstruct((2, 3), chain, noisy, {(0,): 0.0, (1,): 1.0}, [(), (0,), (1,)])
    assert found[()] == 15
    assert found[(0,)].tolist() == [10, 5]
    assert found[(1,)].tolist() == [4.5, 5.5, 5]
    assert hierarchy.variance((2, 3), chain, {(0,): 0.0, (1,): 1.0}, (1,)).tolist() == [0.5, 0.5, 0]
    exact = hierarchy.reconstruct((2, 3), chain, noisy, {(0,): 1.0, (1,): 0.0}, [(0,), (1,)])
    assert exact[(0,)].tolist() == [7, 7]
    assert exact[(1,)].tolist() == [3, 4, 7]


def test_U5_chains_that_leave_out_a_key_and_tables_with_two_levels_are_refused():
    with pytest.raises(errors.InvalidParameter, match="within is for each key one of the column before"):
        hierarchy.Chain((0, 1, 2), ((0, 1), (0, 0)))
    with pytest.raises(errors.InvalidParameter, match="within is for each key one of the column before"):
        hierarchy.Chain((0, 1), ((0, 2),))
    with pytest.raises(errors.InvalidParameter, match="columns is two or more"):
        hierarchy.Chain((0,), ())
    chain = hierarchy.Chain((0, 1), ((0, 0, 1),))
    assert chain.canonical((0, 1, 2)) == (1, 2)
    noisy = drawn_tables((2, 3), [(0,)], 1)
    with pytest.raises(errors.InvalidParameter, match="without a column that a finer one of its hierarchy implies"):
        hierarchy.reconstruct((2, 3), chain, noisy, {(0,): 1.0}, [(0, 1)])
    with pytest.raises(errors.InvalidParameter, match=r"shape is \(2, 3\) for the columns"):
        hierarchy.reconstruct((3, 3), chain, noisy, {(0,): 1.0}, [(0,)])
    with pytest.raises(errors.InvalidRequest, match=r"No measured table has the columns \(1,\) together"):
        hierarchy.reconstruct((2, 3), chain, noisy, {(0,): 1.0}, [(1,)])


@settings(max_examples=30)
@given(nested=chains(), seed=st.integers(0, 2**32))
def test_U4_U5_variances_of_many_strategies_and_their_gradients(nested, seed):
    shape, chain = nested
    asked = nested_tables(shape, chain)
    workload = Workload(shape, asked, asked, chain)
    rng = np.random.default_rng(seed)
    precisions, slopes = rng.uniform(0.05, 1, (2, len(asked))), rng.uniform(size=(2, len(asked)))
    found, gradients = workload.variances(precisions)
    for row, each in zip(precisions, found, strict=True):
        variances = dict(zip(asked, 1 / row, strict=True))
        expected = [hierarchy.variance(shape, chain, variances, table).mean() for table in asked]
        np.testing.assert_allclose(each, expected, rtol=1e-9)
    step = 1e-6
    for which in range(len(asked)):
        change = step * np.eye(len(asked))[which]
        ends = [(workload.variances(precisions + sign * change)[0] * slopes).sum(axis=1) for sign in (1, -1)]
        np.testing.assert_allclose(gradients(slopes)[:, which], (ends[1] - ends[0]) / (2 * step), rtol=1e-4)


def test_U4_U5_counties_within_regions_get_a_strategy():
    rng = np.random.default_rng(4)
    within = tuple(np.sort(np.concatenate([np.arange(51), rng.integers(0, 51, 3143 - 51)])).tolist())
    shape, chain = (51, 3143, 18, 2), hierarchy.Chain((0, 1), (within,))
    asked = nested_tables(shape, chain)
    chosen = strategy.choose(shape, asked, chain=chain)
    assert sum(chosen.shares) == 1
    spreads = [hierarchy.variance(shape, chain, chosen.variances(), table).mean() for table in asked]
    assert np.sqrt(np.mean(spreads)) <= 10.0  # each table by itself: 12·√2 = 17.0
    small = strategy.choose((2, 3), [(), (0,), (1,)], chain=hierarchy.Chain((0, 1), ((0, 0, 1),)))
    assert {(1,)} <= set(small.measured)
