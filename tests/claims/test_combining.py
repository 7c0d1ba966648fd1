"""Claim U9: combined releases, against dense least squares over all that was measured, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing.measure import adding_up
from lapwing.measure.cells import recorded
from lapwing.plan.planning import make_plan
from lapwing.plan.strategy import Strategy
from lapwing.question.schema import make_schema
from lapwing.question.sql import make_query
from lapwing.release.combining import combined_tables
from lapwing.release.result import Release

from .test_several import holds
from .test_tables import design, upto

COUNT = [lw.count()]
NOTHING = "No noise was drawn and nothing was charged."


def keys_of(size):
    """Return the keys of a column: the last of several is for all others."""
    return [str(key) for key in range(size - 1)] + ["other"] if size > 1 else ["only"]


def made(statistics, shape, epsilon, strategy=None, by=None):
    """Return a plan for columns a, b, c; a row is in one group of each column that has several keys."""
    columns = {"x": lw.number(0, 4, integer=True)}
    for name, size in zip("abc", shape, strict=False):
        keys = keys_of(size)
        columns[name] = lw.keys(*keys[:-1], other=keys[-1]) if size > 1 else lw.keys(*keys)
    schema = make_schema("t", columns, None, None, "add_remove", None)
    query = make_query(statistics, by or lw.cube(*"abc"[: len(shape)]), None, schema)
    return make_plan(schema, query, epsilon=epsilon, strategy=strategy)


def variance(scale):
    """Return the variance of integer Laplace noise, from its ratio."""
    ratio = math.exp(-1 / scale)
    return 2 * ratio / (1 - ratio) ** 2


def release(plan, entry, cells):
    """Return a release of noisy integers that are given: for each part, one column for each of its cells."""
    return Release(plan, entry, False, {"cells": recorded(cells)}, F(1), None)


def drawn(plan, entry, rng):
    lengths = [plan.length(part) for part in plan.parts]
    cells = [
        [rng.integers(-50, 50, size) for _ in part.measurement.names]
        for size, part in zip(lengths, plan.parts, strict=True)
    ]
    return release(plan, entry, cells)


def measured(plan):
    """Return the measured tables of a plan, with the scale of their noise for a count of ε, from their definition."""
    if plan.several is None:
        return [(plan.query.by, 1 / plan.epsilon)]
    names = [tuple(plan.query.by[i] for i in table) for table in plan.strategy.measured]
    return [(table, 1 / (plan.epsilon * share)) for table, share in zip(names, plan.strategy.shares, strict=True)]


def dense(shape, plans):
    """Return the matrix from all noisy integers to the cells of all columns a, b, c, their scales, and the design.

    The integers of a table are in the order of its own columns, which may be another than a, b, c.
    """
    designs, scales = [], []
    for plan in plans:
        for table, scale in measured(plan):
            axes = ["abc".index(name) for name in table]
            rows = np.arange(math.prod(shape[i] for i in axes)).reshape([shape[i] for i in sorted(axes)])
            order = rows.transpose([sorted(axes).index(i) for i in axes]).ravel()
            designs.append(design(shape, axes)[order])
            scales += [float(scale)] * len(order)
    matrix, deviations = np.vstack(designs), np.sqrt([variance(scale) for scale in scales])
    return np.linalg.pinv(matrix / deviations[:, None]) / deviations, np.array(scales), matrix


@st.composite
def plans(draw):
    """Return a shape and plans of counts: the first has all columns, the others any tables of some of them."""
    shape = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    names = "abc"[: len(shape)]
    found = []
    for number in range(draw(st.integers(2, 4))):
        by = draw(st.permutations(names))
        left = draw(st.sets(st.sampled_from(names))) if number else set()
        some = [name for name in by if name not in left or shape["abc".index(name)] == 1]
        epsilon = draw(st.sampled_from(["0.1", "0.5", "1", "3"]))
        if not some or draw(st.booleans()):
            found.append(made(COUNT, shape, epsilon, by=some or lw.sets(())))
        else:
            every = upto(len(some), len(some))
            tables = draw(st.lists(st.sampled_from(every), min_size=1, max_size=4, unique=True))
            tables = sorted({*tables, tuple(range(len(some)))})
            parts = draw(st.lists(st.integers(1, 9), min_size=len(tables), max_size=len(tables)))
            shares = tuple(F(part, sum(parts)) for part in parts)
            found.append(made(COUNT, shape, epsilon, Strategy(tuple(tables), shares), lw.cube(*some)))
    return shape, found


def everything(answer):
    """Return the combined release, its tables with noise, and all noisy integers in the order of ``dense``."""
    tables = combined_tables(answer)
    return tables, np.concatenate([answer.cells[0][0], *(each.cells[0][0] for each in answer.evidence)])


def by_names(answer, axes):
    """Return the columns a, b, c of a table in the order in which the answer has them."""
    return ["abc".index(answer.plan.query.by[i]) for i in axes]


@settings(max_examples=150, deadline=None)
@given(plans=plans(), seed=st.integers(0, 2**32))
def test_U9_combined_tables_are_dense_weighted_least_squares_over_all_measurements(plans, seed):
    shape, found = plans
    rng = np.random.default_rng(seed)
    first, *others = [drawn(plan, number, rng) for number, plan in enumerate(found, start=2)]
    answer = first.combined(*others)
    inverse, scales, _ = dense(shape, found)
    tables, noisy = everything(answer)
    (count,) = answer.plan.query.statistics
    cells = answer._estimator.cells(0)[0]
    spreads = np.array([variance(scale) for scale in scales])
    for axes, start in zip(tables.asked, tables.starts, strict=False):
        columns = by_names(answer, axes)
        matrix = design(shape, columns)
        ordered = np.arange(len(matrix)).reshape([shape[i] for i in sorted(columns)])
        matrix = matrix[ordered.transpose([sorted(columns).index(i) for i in columns]).ravel()]
        weights = matrix @ inverse
        wanted = weights @ noisy
        np.testing.assert_allclose(cells[start : start + len(wanted)], wanted, rtol=1e-9, atol=1e-9 * 1000)
        deviations = np.sqrt((weights**2 * spreads).sum(axis=1))
        np.testing.assert_allclose(tables.deviation(count, axes), deviations, rtol=1e-9)
        drawn_weights = sorted(abs(each.weight) for each in tables.draws(0, axes) for _ in range(each.times))
        there = np.sort(np.abs(weights[0]))[len(noisy) - len(drawn_weights) :]
        np.testing.assert_allclose(drawn_weights, there, atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(plans=plans(), seed=st.integers(0, 2**32))
def test_U9_without_noise_combined_tables_are_the_truth(plans, seed):
    shape, found = plans
    truth = np.random.default_rng(seed).integers(0, 99, math.prod(shape))
    _, _, matrix = dense(shape, found)
    cells = np.rint(matrix @ truth).astype(np.int64)
    ends = np.cumsum([plan.length(plan.parts[0]) for plan in found])[:-1]
    first, *others = [
        release(plan, number, [[part]])
        for number, (plan, part) in enumerate(zip(found, np.split(cells, ends), strict=True), start=2)
    ]
    shown = first.combined(*others)
    np.testing.assert_array_equal(shown["count"].value, first["count"].value)
    np.testing.assert_array_equal(shown.nonnegative()["count"].low, np.full(len(shown), np.nan))


@settings(max_examples=40, deadline=None)
@given(plans=plans(), seed=st.integers(0, 2**32))
def test_U9_combined_tables_add_up_to_the_last_digit(plans, seed):
    shape, found = plans
    rng = np.random.default_rng(seed)
    first, *others = [drawn(plan, number, rng) for number, plan in enumerate(found, start=2)]
    for answer in (first.combined(*others), first.combined(*others).nonnegative()):
        keys = list(answer.plan.query.by)
        values = {tuple(row[name] for name in keys): F(float(row["count"]["value"])) for row in answer}
        for group, value in values.items():
            for at in (at for at, key in enumerate(group) if key is None):
                every = keys_of(shape["abc".index(keys[at])])
                parts = [(*group[:at], key, *group[at + 1 :]) for key in every]
                if all(part in values for part in parts):
                    assert sum(values[part] for part in parts) == value


@pytest.mark.parametrize("table", [(), (0,), (0, 1)])
@pytest.mark.parametrize("confidence", [F(3, 4), F(19, 20), F(999, 1000)])
def test_U9_bars_hold_as_often_as_stated(table, confidence):
    quarters = Strategy(((), (0, 1)), (F(1, 4), F(3, 4)))
    found = [made(COUNT, (2, 2), "1.5", quarters), made(COUNT, (2, 2), "1", by=["b"])]
    first, other = [release(plan, 2 + i, [[np.zeros(plan.length(plan.parts[0]), int)]]) for i, plan in enumerate(found)]
    answer = first.combined(other)
    tables = combined_tables(answer)
    inverse, scales, _ = dense((2, 2), found)
    (count,) = answer.plan.query.statistics
    margin = tables.noise_margin(count, table, 0, confidence)
    for weights in design((2, 2), table) @ inverse:
        kept = np.abs(weights) > 1e-9
        assert holds(weights[kept], scales[kept], margin + 0.1) >= confidence
        assert holds(weights[kept], scales[kept], 0.93 * margin - 0.2) <= confidence
    grid = tables.grid(count)
    widest = margin + adding_up.bound(len(table), grid)
    at = answer.at(confidence).table(*(answer.plan.query.by[i] for i in table))["count"]
    assert at.high[0] - at.value[0] == grid * math.floor(widest / grid)


def test_U9_one_table_measured_twice_is_the_mean_by_inverse_variances():
    one, two = made(COUNT, (3,), "1", by=["a"]), made(COUNT, (3,), "0.5", by=["a"])
    first, second = release(one, 2, [[np.array([10, 20, 30])]]), release(two, 4, [[np.array([13, 14, 39])]])
    shares = np.array([1 / variance(1), 1 / variance(2)])
    wanted = (shares[0] * np.array([10, 20, 30]) + shares[1] * np.array([13, 14, 39])) / shares.sum()
    both = first.combined(second)
    tables, (count,) = combined_tables(both), both.plan.query.statistics
    assert np.abs(both["count"].value - wanted).max() <= adding_up.bound(1, tables.grid(count)) <= 0.25
    np.testing.assert_allclose(both._estimator.cells(0)[0], wanted, rtol=1e-12)
    assert tables.deviation(count, (0,)) == pytest.approx(shares.sum() ** -0.5)
    np.testing.assert_array_equal(second.combined(first)["count"].value, both["count"].value)
