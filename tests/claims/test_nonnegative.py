"""Claim U8: the view without negative numbers adds up exactly, and depends on what was released alone."""

import ast
import math
from decimal import Decimal
from fractions import Fraction as F
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.measure import apportion, nonnegative, support, tables


def fitted(*given, rounded=False, **named):
    """Return the tables of a view."""
    return nonnegative.view(*given, **named).tables(rounded=rounded)


@st.composite
def releases(draw):
    """Shapes, noisy tables with variances, and tables asked for that they cover."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    subsets = [axes for size in range(len(shape) + 1) for axes in combinations(range(len(shape)), size)]
    measured = draw(st.lists(st.sampled_from(subsets), min_size=1, max_size=4, unique=True))
    covered = tables.closure(measured)
    asked = draw(st.lists(st.sampled_from(covered), min_size=1, max_size=6, unique=True))
    seed, width = draw(st.integers(0, 10**6)), draw(st.sampled_from([3, 40, 10**6, 10**13]))
    values = np.random.default_rng(seed)
    noisy = {axes: values.integers(-width, 2 * width, [shape[i] for i in axes]) for axes in measured}
    if draw(st.booleans()):
        noisy = {axes: table.astype(float) + 0.37 for axes, table in noisy.items()}
    variances = {axes: draw(st.sampled_from([0.0, 1e-3, 2.0, 800.0, 1e9])) for axes in measured}
    total = draw(st.sampled_from([None, 0, 1, 57, 10**6, 10**17]))
    return shape, noisy, variances, asked, total


def exact_sums(table, own, kept):
    """Sum a table over the columns that are not kept, in fractions."""
    found = {}
    for place, cell in np.ndenumerate(table):
        key = tuple(place[own.index(axis)] for axis in kept)
        found[key] = found.get(key, F(0)) + F(cell.item())
    return found


def assert_adds_up(view, asked):
    for table in asked:
        for smaller in asked:
            if set(smaller) <= set(table):
                sums = exact_sums(view[table], table, smaller)
                assert sums == exact_sums(view[smaller], smaller, smaller)


@settings(max_examples=100)
@given(releases(), st.booleans())
def test_U8_all_tables_are_non_negative_and_add_up_without_rounding(release, rounded):
    shape, noisy, variances, asked, total = release
    view = fitted(shape, noisy, variances, asked, total=total, rounded=rounded)
    assert set(view) == set(asked)
    for axes, table in view.items():
        assert table.shape == tuple(shape[i] for i in axes)
        assert (table >= 0).all()
        assert table.dtype == (np.int64 if rounded else np.float64)
        if total is not None:
            assert sum(map(F, table.ravel().tolist())) == total
    assert_adds_up(view, asked)


@settings(max_examples=40)
@given(releases(), st.booleans())
def test_U8_samples_of_cells_add_up_too(release, rounded):
    shape, noisy, variances, asked, total = release
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nonnegative, "MOST_CELLS", 0)
        for module in (nonnegative, support):
            patch.setattr(module, "SAMPLE", 50)
        view = fitted(shape, noisy, variances, asked, total=total, rounded=rounded)
    assert all((table >= 0).all() for table in view.values())
    assert_adds_up(view, asked)


@settings(max_examples=40)
@given(releases())
def test_U8_cells_are_multiples_of_one_power_of_two_and_their_decimals_add_up(release):
    shape, noisy, variances, asked, total = release
    view = fitted(shape, noisy, variances, asked, total=total)
    cells = np.concatenate([table.ravel() for table in view.values()])
    denominators = {F(cell.item()).denominator for cell in cells}
    assert all(denominator & (denominator - 1) == 0 for denominator in denominators)
    assert max(denominators) <= 2**10
    sums = {sum(Decimal(repr(cell)) for cell in table.ravel().tolist()) for table in view.values()}
    assert len(sums) == 1 or max(cells) >= 10**15  # as people who add up what is printed will find


def test_U8_nothing_but_the_arguments_matters():
    values = np.random.default_rng(3)
    shape, asked = (5, 4, 3), [(0, 1), (1, 2), (0,), ()]
    noisy = {(0, 1): values.integers(-9, 30, (5, 4)), (1, 2): values.integers(-9, 30, (4, 3))}
    variances = {(0, 1): 50.0, (1, 2): 20.0}
    first = nonnegative.view(shape, noisy, variances, asked)
    np.random.seed(7)  # noqa: NPY002  # must not matter
    again = nonnegative.view(shape, {k: v.copy() for k, v in reversed(noisy.items())}, dict(variances), asked)
    for rounded in (False, True):
        one, other = first.tables(rounded=rounded), again.tables(rounded=rounded)
        assert all(one[axes].tobytes() == other[axes].tobytes() for axes in asked)
    assert first.rows(40).tobytes() == again.rows(40).tobytes()


@pytest.mark.parametrize("module", [nonnegative, apportion, support])
def test_U8_the_modules_can_reach_no_data(module):
    tree = ast.parse(Path(module.__file__).read_text())
    imported = {(node.level, node.module or "") for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)} | {
        (0, name.name) for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names
    }
    pure = {"tables", "support", "apportion", ""}  # "" is ``from .. import exact`` and the hierarchy
    assert {name for level, name in imported if level} <= pure
    assert {name for level, name in imported if not level} <= {
        "__future__", "math", "collections.abc", "dataclasses", "typing", "numpy", "numpy.typing"
    }  # fmt: skip


@pytest.mark.parametrize("n", [0, 1, 7, 1000])
def test_U8_rows_are_as_many_as_asked_for_and_have_keys_of_their_columns(n):
    shape, asked = (3, 6, 2), [(0, 2)]
    noisy = {(0, 1, 2): np.random.default_rng(1).integers(-5, 20, shape)}
    found = nonnegative.view(shape, noisy, {(0, 1, 2): 8.0}, asked)
    rows = found.rows(n)
    assert found.axes == (0, 2)
    assert rows.shape == (n, 2)
    assert ((rows >= 0) & (rows < [3, 2])).all()


def test_U8_the_rounded_tables_are_those_of_the_synthetic_rows():
    shape, asked = (4, 5, 3), [(0, 1), (1, 2), (0, 2)]
    values = np.random.default_rng(2)
    noisy = {axes: values.integers(-20, 80, [shape[i] for i in axes]) for axes in asked}
    found = nonnegative.view(shape, noisy, dict.fromkeys(asked, 200.0), asked)
    rows, rounded = found.rows(), found.tables(rounded=True)
    for axes in asked:
        counts = np.zeros(rounded[axes].shape, dtype=int)
        for row in rows:
            counts[tuple(row[list(axes)])] += 1
        assert (counts == rounded[axes]).all()
    assert len(rows) == round(found.total) == math.fsum(rounded[0, 1].ravel())


@pytest.mark.parametrize("total", [2**62, 10**20, 10**60])
def test_U8_whole_numbers_beyond_64_bits_do_not_wrap_around(total):
    table = np.array([[0.2, 0.3], [0.1, 0.4]]) * total
    found = fitted((2, 2), {(0, 1): table}, {(0, 1): 1.0}, [(), (0,), (0, 1)], rounded=True)
    assert all((each >= 0).all() for each in found.values())
    assert_adds_up(found, list(found))
    assert abs(F(found[()].item()) - total) <= F(total, 10**4)
