"""Claims D1 to D3: a tree of counts, its least-squares estimate, and the margins of cumulative counts."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapwing as lw
from lapwing.measure.tree import MOST, Tree, make_tree, share_interval
from lapwing.noise.weighted import _Sum, margins
from lapwing.question.schema import make_schema
from lapwing.release.estimate import estimates

from .. import statistics as stats
from ..independent import ONE, Thresholds
from ..tables import plan_of

SMALL = [Tree(1, 1, 1), Tree(5, 5, 1), Tree(3, 2, 2), Tree(4, 2, 2), Tree(5, 2, 3), Tree(7, 3, 2), Tree(8, 2, 3)]
LARGER = [
    Tree(9, 2, 4),
    Tree(10, 3, 3),
    Tree(14, 6, 2),
    Tree(17, 4, 3),
    Tree(30, 3, 3),
    Tree(50, 11, 2),
    Tree(65, 2, 7),
]


def matrix(tree: Tree) -> list[list[int]]:
    """Return which cell covers which bin, from the definition alone."""
    rows = []
    for level in range(1, tree.levels + 1):
        width = tree.branching ** (tree.levels - level)
        node = 0
        while node * width < tree.bins:
            rows.append([int(node * width <= i < (node + 1) * width) for i in range(tree.bins)])
            node += 1
    return rows


def inverse(square: list[list[F]]) -> list[list[F]]:
    """Return the inverse of a positive definite matrix, by elimination in fractions."""
    n = len(square)
    rows = [[*row, *(F(int(i == j)) for j in range(n))] for i, row in enumerate(square)]
    for i in range(n):
        rows[i] = [each / rows[i][i] for each in rows[i]]
        for j in range(n):
            if j != i:
                rows[j] = [x - rows[j][i] * y for x, y in zip(rows[j], rows[i], strict=True)]
    return [row[n:] for row in rows]


def dense(tree: Tree) -> np.ndarray:
    """Return (AᵀA)⁻¹ in floats."""
    cover = np.array(matrix(tree), dtype=float)
    return np.linalg.inv(cover.T @ cover)


def average_variance(tree: Tree) -> float:
    """Return the average variance of the cumulative counts, by the inverse of a matrix."""
    ends = np.tri(tree.bins)
    return float(((ends @ dense(tree)) * ends).sum(axis=1).mean())


@pytest.mark.parametrize("tree", SMALL + LARGER, ids=str)
def test_D1_a_row_moves_the_cells_by_its_weight_once_in_each_level(tree):
    cover = np.array(matrix(tree))
    assert (tree.size, tree.bins) == cover.shape
    assert tree.mass == tree.levels
    for i, weight in itertools.product(range(tree.bins), (1, 7)):
        counts = [0] * tree.bins
        counts[i] = weight
        assert tree.cells(counts).tolist() == (weight * cover[:, i]).tolist()
        assert np.abs(tree.cells(counts)).sum() == weight * tree.mass


@given(st.sampled_from(SMALL + LARGER), st.data())
def test_D1_no_person_moves_the_cells_by_more_than_the_mass(tree, data):
    counts = st.lists(st.integers(0, 9), min_size=tree.bins, max_size=tree.bins)
    others, old, new = (np.array(data.draw(counts)) for _ in range(3))
    cells = tree.cells(others + old)
    assert np.abs(cells - tree.cells(others)).sum() == tree.mass * old.sum()  # add_remove: attained by every person
    assert np.abs(cells - tree.cells(others + new)).sum() <= tree.mass * (old.sum() + new.sum())  # change_one


def test_D1_cells_are_exact_whatever_holds_them():
    tree = Tree(7, 3, 2)
    large = [2**61 + 1, 2**70, 3, 0, 5, -1, 2**63]
    expected = [sum(x * y for x, y in zip(row, large, strict=True)) for row in matrix(tree)]
    assert tree.cells(large).tolist() == expected
    assert tree.cells(np.array(large, dtype=object)).tolist() == expected
    full = np.full(7, 2**63 - 1)
    assert tree.cells(full).tolist()[:3] == [3 * (2**63 - 1), 3 * (2**63 - 1), 2**63 - 1]
    assert tree.cells(np.full(7, 2**64 - 1, dtype=np.uint64)).tolist()[0] == 3 * (2**64 - 1)
    assert tree.cells(np.arange(7)).dtype == np.int64
    groups = np.arange(14).reshape(7, 2)
    assert tree.cells(groups).tolist() == (np.array(matrix(tree)) @ groups).tolist()
    assert tree.cells(np.zeros((7, 0), dtype=int)).shape == (10, 0)


@pytest.mark.parametrize(
    "counts", [[1] * 6, [0.5] * 7, [True] * 7, np.ones(7), np.ones((7, 1, 1), dtype=int), 3, "abc"]
)
def test_D1_what_is_not_a_count_for_each_bin_is_refused(counts):
    with pytest.raises(lw.errors.InvalidParameter, match="whole numbers for 7 bins"):
        Tree(7, 3, 2).cells(counts)


def test_D1_a_refusal_does_not_show_the_counts():
    for counts in ((4711, 4712), 4711, "4711"):
        with pytest.raises(lw.errors.InvalidParameter) as refused:
            Tree(7, 3, 2).cells(counts)
        assert "471" not in f"{refused.value}{refused.value.args}"


@pytest.mark.parametrize("tree", SMALL, ids=str)
def test_D2_the_estimate_solves_the_normal_equations_in_fractions(tree):
    cover = matrix(tree)
    normal = [[F(sum(row[i] * row[j] for row in cover)) for j in range(tree.bins)] for i in range(tree.bins)]
    solve = inverse(normal)
    noisy = [(17 * k * k + 5) % 23 - 4 for k in range(tree.size)]
    right = [sum(row[i] * y for row, y in zip(cover, noisy, strict=True)) for i in range(tree.bins)]
    expected = [float(sum(a * b for a, b in zip(row, right, strict=True))) for row in solve]
    assert tree.consistent(noisy) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    prefixes = [sum(solve[i][j] for i in range(k) for j in range(k)) for k in range(1, tree.bins + 1)]
    assert tree.prefix_variance == pytest.approx(float(sum(prefixes) / tree.bins), rel=1e-13)


@pytest.mark.parametrize("tree", [*LARGER, Tree(300, 7, 3), make_tree(256)], ids=str)
def test_D2_the_estimate_is_that_of_least_squares(tree):
    rng = np.random.default_rng()
    cover, noisy = np.array(matrix(tree)), rng.integers(-100, 100, size=(tree.size, 3))
    expected = np.linalg.lstsq(cover, noisy, rcond=None)[0]
    assert tree.consistent(noisy) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert tree.consistent(noisy[:, 1]) == pytest.approx(expected[:, 1], rel=1e-9, abs=1e-9)
    assert tree.prefix_variance == pytest.approx(average_variance(tree), rel=1e-9)
    ends = np.tri(tree.bins).T
    assert np.abs(tree.weights(ends) - cover @ dense(tree) @ ends).max() < 1e-9


@given(st.sampled_from(SMALL + LARGER), st.data())
def test_D2_without_noise_the_estimate_is_the_truth(tree, data):
    counts = data.draw(st.lists(st.integers(0, 10**6), min_size=tree.bins, max_size=tree.bins))
    assert tree.consistent(tree.cells(counts)) == pytest.approx(counts, rel=1e-12, abs=1e-6)


@given(st.sampled_from(SMALL + LARGER), st.data())
def test_D2_no_other_unbiased_estimate_has_a_smaller_variance(tree, data):
    """Another one has the same weights and a part that every truth cancels: Aᵀ·part = 0."""
    factors = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=tree.bins, max_size=tree.bins)), dtype=float)
    other = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=tree.size, max_size=tree.size)), dtype=float)
    cover, own = np.array(matrix(tree), dtype=float), tree.weights(factors)
    assert cover.T @ own == pytest.approx(factors, abs=1e-9)  # unbiased
    part = other - cover @ np.linalg.lstsq(cover, other, rcond=None)[0]
    assert cover.T @ part == pytest.approx(np.zeros(tree.bins), abs=1e-8)
    assert own @ own <= (own + part) @ (own + part) + 1e-9
    assert own @ own <= factors @ factors + 1e-9  # the noisy bins alone


@pytest.mark.parametrize("bins", [1, 2, 5, 13, 14, 21, 40])
def test_D2_the_tree_that_is_made_has_the_smallest_average_variance(bins):
    all_trees = [Tree(bins, bins, 1)]
    all_trees += [Tree(bins, b, h) for b in range(2, 33) for h in range(2, 7) if b ** (h - 1) < bins]
    average = {tree: tree.levels**2 * average_variance(tree) for tree in all_trees}
    made = make_tree(bins)
    assert average[made] <= min(average.values()) * (1 + 1e-12)
    assert (made.levels > 1) == (bins >= 14)


def test_D2_large_trees_are_made_too():
    tree = make_tree(MOST)
    assert tree.levels**2 * tree.prefix_variance < 400
    counts = np.arange(MOST) % 11
    assert np.abs(tree.consistent(tree.cells(counts)) - counts).max() < 1e-6


def test_D2_what_is_no_tree_is_refused():
    for ask in (lambda: Tree(8, 2, 4), lambda: Tree(8, 1, 2), lambda: Tree(0, 2, 1), lambda: make_tree(MOST + 1)):
        with pytest.raises(lw.errors.InvalidParameter):
            ask()
    with pytest.raises(lw.errors.InvalidParameter, match="numbers for 10 cells"):
        Tree(7, 3, 2).consistent(np.zeros(7))


def tail(scale: F, steps: list[int], reach: int) -> np.ndarray:
    """Return P(|Σ stepsᵢ·Xᵢ| > m) for m = 0 … by convolving the integer law, cut where it is below 10^-15."""
    table = Thresholds(scale)
    size = math.ceil(35 * scale)
    above = np.array([table.at(k) / ONE for k in range(1, size + 2)])  # P(|X| ≥ k)
    half = (above[:-1] - above[1:]) / 2
    one = np.concatenate([half[::-1], [1 - above[0]], half])
    law = np.ones(1)
    for step in steps:
        spaced = np.zeros(2 * size * step + 1)
        spaced[::step] = one
        law = np.convolve(law, spaced)
    middle = len(law) // 2
    beyond = 2 * np.cumsum(law[:middle])[::-1]
    return np.concatenate([beyond, np.zeros(reach)])[:reach]


@pytest.mark.parametrize("scale", [F(1, 3), F(1), F(2), F(7, 2)], ids=str)
@pytest.mark.parametrize("confidence", [F(1, 2), F(19, 20), F(9999, 10_000), 1 - F(1, 10**12)], ids=str)
@pytest.mark.parametrize("steps", [[1], [3, 3], [3, 1, 2], [5, 5, 5, 2, 2, 1, 1, 1], [6] * 7], ids=str)
def test_D3_the_margin_covers_by_the_exact_law_and_is_little_wider_than_need_be(scale, confidence, steps):
    (margin,) = margins(np.array(steps)[:, None] / 10, scale, confidence)
    outside = tail(scale, steps, 3000)
    needed = int(np.argmax(outside <= float(1 - confidence)))
    assert margin * 10 >= needed - 1e-9
    if len(set(steps)) == 1 and (len(steps) == 1 or confidence < F(99999, 100_000)):  # the smallest
        assert margin * 10 <= needed * (1 + 1e-5)
    else:  # smoothing cannot see the steps; Chernoff's bound of e^(-x) is 2ex·e^(-x), with x about 28 here
        assert margin * 10 <= (1.02 if confidence < F(99999, 100_000) else 1.2) * needed + 1.5


@pytest.mark.parametrize("scale", [F(1, 3), F(1), F(7, 2)], ids=str)
@pytest.mark.parametrize("deviation", [0.0, 0.3])
def test_D3_chernoffs_bound_by_summing_the_law(scale, deviation):
    """The bound that is found is the least of those for several t, here in units of the scale."""
    weights, times, beyond = np.array([0.2, 0.5, 1.0]), np.array([3.0, 1.0, 2.0]), 1e-6
    size = float(scale)
    found = _Sum(weights, times, np.full(3, 1 / size)).chernoff(beyond, deviation * size) / size
    law = lw.DiscreteLaplace(scale)
    reach = np.arange(-int(600 * scale), int(600 * scale) + 1)
    mass = np.array([law.pmf(int(x)) for x in reach])
    bounds = []
    for theta in np.arange(1, 32) / 32:
        each = [math.log((mass * np.exp(float(theta * w / scale) * reach)).sum()) for w in weights]
        bounds.append(2 * math.exp(times @ each + (theta * deviation) ** 2 / 2 - theta * found))
    assert beyond * (1 - 1e-3) <= min(bounds) <= beyond


@pytest.mark.parametrize("tree", [Tree(4, 2, 2), Tree(3, 2, 2)], ids=str)
def test_D3_prefix_margins_cover_by_the_exact_law(tree):
    """The weights are multiples of 1/6 in these trees."""
    scale, confidence = F(2), F(19, 20)
    for edge in range(1, tree.bins + 1):
        steps = [6 * each for each in tree.weights([int(i < edge) for i in range(tree.bins)])]
        assert steps == pytest.approx(np.rint(steps), abs=1e-9)
        outside = tail(scale, [abs(round(each)) for each in steps if round(each)], 600)
        margin = tree.prefix_margin(edge, scale, confidence)
        assert outside[math.floor(6 * margin + 1e-9)] <= 0.05
        assert outside[math.floor(5.8 * margin) - 1] > 0.05


def held():
    """Return which bars of cumulative counts hold: one of each release, for those of one are not independent."""
    tree, releases = make_tree(50), 40_000
    scale, edges = F(tree.mass), [1, 7, 22, 33, 50]
    margin = tree.prefix_margins(edges, scale, F(9, 10))
    noise = lw.discrete_laplace(scale, size=(tree.size, releases))
    off = np.cumsum(tree.consistent(noise), axis=0)[[edge - 1 for edge in edges]]
    which = np.arange(releases) % len(edges)
    return np.abs(off[which, np.arange(releases)]) <= margin[which]


def test_D3_the_bars_of_cumulative_counts_hold():
    stats.assert_covered("bars of cumulative counts", held(), 0.9)


@pytest.mark.usefixtures("frozen_noise")
def test_D3_the_bars_of_cumulative_counts_are_not_too_wide():
    assert held().mean() < 0.93


@pytest.mark.usefixtures("frozen_noise")
def test_D3_a_scale_a_quarter_too_large_is_rejected():
    tree, releases = make_tree(50), 40_000
    margin = tree.prefix_margin(22, 4, F(9, 10))
    noise = lw.discrete_laplace(5, size=(tree.size, releases))
    inside = np.abs(tree.consistent(noise)[:22].sum(axis=0)) <= margin
    assert not stats.covers(inside, 0.9)


def test_D3_margins_for_every_scale_and_confidence():
    tree = make_tree(50)
    for scale in (F(1, 1000), F(1, 10), F(3), F(10**6), F(2**1000)):
        found = [tree.prefix_margin(22, scale, p) for p in (F(1, 10**10), F(1, 2), 1 - F(1, 10**8), 1 - F(1, 10**300))]
        assert all(math.isfinite(each) and each >= 0 for each in found)
        assert found == sorted(found)
    large, larger = tree.prefix_margin(22, 2**20), tree.prefix_margin(22, 2**21)
    assert larger == pytest.approx(2 * large, rel=1e-3)  # the law of whole numbers, and that of real ones
    assert Tree(8, 8, 1).prefix_margins([1, 2], 2**30)[0] == lw.DiscreteLaplace(2**30).margin()
    assert margins(np.zeros((3, 1)), 1, F(1, 2)) == [0.0]
    for edge in (0, 51, "x"):
        with pytest.raises(lw.errors.InvalidParameter, match="edge"):
            tree.prefix_margin(edge, 1)


# --- shares ---


CASES = [
    ((480, 200, 200, 120), 1, F(2), 0.95),
    ((245, 245, 255, 255), 2, F(1), 0.95),
    ((10, 200, 200, 200, 200, 190), 1, F(5, 2), 0.8),
    ((10, 200, 200, 200, 200, 190), 1, F(143, 100), 0.5),
    ((100,) * 10, 3, F(2), 0.5),
    ((5, 1, 1, 3), 2, F(1, 4), 0.95),
]


@pytest.mark.parametrize(("counts", "edge", "epsilon", "confidence"), CASES)
def test_D4_a_share_is_held_by_the_exact_law_of_integer_noise(counts, edge, epsilon, confidence):
    """Flat bins: the noise of those up to the edge, and of the others, by convolution."""
    tree, scale, n = Tree(len(counts), len(counts), 1), 1 / epsilon, 400
    pmf = np.array([lw.DiscreteLaplace(scale).pmf(x) for x in range(-n, n + 1)])
    first, second = (functools.reduce(np.convolve, [pmf] * times) for times in (edge, len(counts) - edge))
    up, down = np.arange(len(first)) - edge * n, np.arange(len(second)) - (len(counts) - edge) * n
    share = sum(counts[:edge]) / sum(counts)
    inside = np.tri(tree.bins)[edge - 1]
    at = [margins(tree.weights((inside - f)[:, None]), scale, confidence)[0] + 1 for f in (0.0, 0.5, 1.0)]
    off = np.abs((1 - share) * up[:, None] - share * down[None, :])
    held = float((np.outer(first, second) * (off <= np.interp(share, [0, 0.5, 1], at))).sum())
    assert held >= confidence


@pytest.mark.parametrize("bins", [3, 10, 60, 200])
@pytest.mark.parametrize("scale", [F(1, 2), F(3), F(1000)])
def test_D4_a_margin_lies_below_its_chords(bins, scale):
    tree = make_tree(bins)
    shares = np.linspace(0, 1, 17)
    for edge in {1, bins // 3, bins // 2, bins - 1} - {0}:
        inside = (np.arange(bins) < edge).astype(float)
        found = np.array(margins(tree.weights(inside[:, None] - shares), scale, F(19, 20)))
        chords = np.interp(shares, [0, 0.5, 1], found[[0, 8, 16]])
        assert (found <= chords * 1.02 + 1).all()  # margins are up to a hundredth too wide, and jump by a step


@given(
    st.floats(0, 1000), st.floats(1, 1000), st.floats(0.1, 50), st.floats(0.1, 50), st.floats(0.1, 50), st.floats(0, 1)
)
def test_D4_the_interval_holds_exactly_what_its_inequality_allows(part, whole, first, middle, last, share):
    low, high = (float(end) for end in share_interval(*map(np.array, (part, whole, first, middle, last))))
    assert low >= 0
    assert high <= 1
    allowed = abs(part - share * whole) <= np.interp(share, [0, 0.5, 1], [first, middle, last])
    if (
        whole > 2 * max(abs(middle - first), abs(last - middle)) * (1 + 1e-6)
        and min(abs(share - low), abs(share - high)) > 1e-6
    ):
        assert allowed == (low < share < high)
    elif allowed:
        assert low - 1e-6 <= share <= high + 1e-6


def test_D4_the_bars_of_shares_hold():
    """One bin's bar for each of many groups, so that all are independent."""
    bins, groups = 60, 4000
    counts = np.random.default_rng(1).integers(0, 12, bins)
    columns = {"x": lw.number(0, bins), "g": lw.keys(range(groups))}
    schema = make_schema("t", columns, None, None, "add_remove", None)
    plan = plan_of(schema, [lw.cdf("x", bins)], "g", epsilon=F(1, 2))
    (part,) = plan.parts
    tree = part.measurement.tree
    exactly = tree.cells(counts)
    noise = lw.discrete_laplace(plan.scale(part), (tree.size, groups))
    (found,) = estimates(plan, [(exactly[:, None] + noise).tolist()], None, F(9, 10), False)
    low, high = (end.reshape(groups, bins) for end in (found.low, found.high))
    turn = np.arange(groups) % (bins - 1)
    truth = (np.cumsum(counts) / counts.sum())[turn]
    each = np.arange(groups)
    stats.assert_covered("bars of shares", (low[each, turn] <= truth) & (truth <= high[each, turn]), 0.9)
    value = found.value.reshape(groups, bins)
    assert (np.diff(value, axis=1) >= -1e-12).all()
