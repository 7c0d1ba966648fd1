"""Claims G1 to G4: what is computed from the noisy cells of a release, and the marks of noise.

Coverage is computed, not drawn: the probability of every pair of noises comes from the definition of the law.
"""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest

import lapwing as lw
from lapwing.measure.measurement import Estimate
from lapwing.measure.quotients import Bars, Slot, clipped, difference, fieller, quotient, together, weighted
from lapwing.noise.intervals import ratio_interval
from lapwing.noise.weighted import EqualDraws, margin_of
from lapwing.plan.weighing import weighing
from lapwing.question.noise_levels import USUAL, noise_levels
from lapwing.release.noise_marks import HIGH, LOW, MEDIUM, NOTHING, marks

P = F(19, 20)
LEAST, MOST = 0.945, 0.99


def law(scale, reach):
    """The probabilities of the integers -reach … reach, from the definition of the law."""
    mass = np.exp(-np.abs(np.arange(-reach, reach + 1)) / float(scale))
    return mass / mass.sum()


def pairs(scales, times=(1, 1)):
    """All noises of two slots and their probabilities; a slot of several cells has the convolution of their laws."""
    sides = []
    for scale, count in zip(scales, times, strict=True):
        reach = int(22 * float(scale)) + 3
        one = law(scale, reach)
        whole = one
        for _ in range(count - 1):
            whole = np.convolve(whole, one)
        middle = len(whole) // 2
        sides.append((np.arange(len(whole)) - middle, whole))
    (first, p), (second, q) = sides
    x, y = (each.reshape(-1) for each in np.meshgrid(first, second, indexing="ij"))
    return x, y, np.outer(p, q).reshape(-1)


def coverage(weights, scales, truth, confidence=P, times=(1, 1), assumed=None):
    """The exact probability that the bar of a quotient of two slots holds the truth, and that it is bounded.

    ``assumed`` are other slots that the bar is made for, to see what a wrong covariance does.
    """
    x, y, mass = pairs(scales, times)
    cells = [x + truth[0], y + truth[1]]
    slots = [
        Slot(F(top), F(bottom), F(scale), count, cell)
        for (top, bottom), scale, count, cell in zip(weights, scales, times, cells, strict=True)
    ]
    top, bottom = weighted(slots, F(0)), weighted(slots, F(0), top=False)
    bars = fieller(slots if assumed is None else assumed, confidence).bars(top, bottom)
    tops, bottoms = (sum(float(pair[i]) * true for pair, true in zip(weights, truth, strict=True)) for i in (0, 1))
    near = 1e-9 * abs(tops / bottoms)
    held = (bars.low <= tops / bottoms + near) & (tops / bottoms - near <= bars.high)
    return float(mass[held].sum()), float(mass[bars.sure].sum())


# --- G1: margins of combinations ---


@pytest.mark.parametrize("weights", [(1, 1), (1, 2), (3, 0.5), (1, 0.01)])
@pytest.mark.parametrize("scales", [(F(1), F(1)), (F(1, 2), F(3)), (F(5), F(2))], ids=str)
@pytest.mark.parametrize("confidence", [F(1, 2), P, F(999, 1000)], ids=str)
def test_G1_the_margin_of_cells_of_two_scales_by_summing_the_law(weights, scales, confidence):
    x, y, mass = pairs(scales)
    total = np.abs(weights[0] * x + weights[1] * y)
    for smooth in (False, True):
        draws = [EqualDraws(weight, scale) for weight, scale in zip(weights, scales, strict=True)]
        margin = margin_of(draws, confidence, smooth=smooth)
        assert mass[total > margin * (1 + 1e-9)].sum() <= 1 - confidence + 1e-9
        step = max(weights)  # a margin may be too large by a step of the larger weight, and by the smoothing
        assert mass[total > 0.98 * margin - step].sum() > 1 - confidence


def test_G1_a_cell_that_is_named_twice_has_its_combined_weight():
    twice = [EqualDraws(1.0, F(2)), EqualDraws(1.0, F(2), 3)]
    assert margin_of(twice, P) == margin_of([EqualDraws(1.0, F(2), 4)], P)
    assert margin_of([EqualDraws(0.0, F(2)), EqualDraws(-2.0, F(3))], P) == 2 * lw.DiscreteLaplace(3).margin(P) * (
        1 + 1e-6
    )
    assert margin_of([], P) == 0


@pytest.mark.parametrize("scale", [F(1), F(4)], ids=str)
def test_G1_the_total_contains_the_share_and_a_bar_without_that_is_seen(scale):
    """A share of 0.9: as if the cell and its total were independent, the bar holds too often; of 0.5 shared wrongly."""
    n, share = int(60 * scale), F(9, 10)
    truth = (int(n * share), n - int(n * share))
    right, sure = coverage(((1, 1), (0, 1)), (scale, scale), truth)
    apart = [Slot(F(1), F(0), scale, 1, np.zeros(1)), Slot(F(0), F(1), scale, 2, np.zeros(1))]
    wrong, _ = coverage(((1, 1), (0, 1)), (scale, scale), truth, assumed=apart)
    assert LEAST <= right <= MOST
    assert sure > 0.999
    assert wrong > MOST
    opposite = [Slot(F(1), F(1), scale, 1, np.zeros(1))]  # as if the rest of the total had no noise
    assert coverage(((1, 1), (0, 1)), (scale, scale), truth, assumed=opposite)[0] < LEAST


# --- G2: quotients ---


@pytest.mark.parametrize("epsilon", [F(1, 5), F(1), F(2)], ids=str)
@pytest.mark.parametrize("n", [20, 60, 400])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_G2_shares_and_ratios_hold_the_truth_by_the_exact_law(epsilon, n, share):
    scale, own = 1 / epsilon, max(round(n * share), 1)
    cases = {
        "share of two": (((1, 1), (0, 1)), (scale, scale), (own, n - own), (1, 1)),
        "share of nine": (((1, 1), (0, 1)), (scale, scale), (own, n - own), (1, 8)),
        "ratio": (((1, 0), (0, 1)), (scale, scale), (own, n), (1, 1)),
        "ratio of unlike sums": (((F(1, 7), 0), (0, 1)), (3 * scale, scale), (own, n), (1, 1)),
    }
    for name, (weights, scales, truth, times) in cases.items():
        held, sure = coverage(weights, scales, truth, times=times)
        assert held >= 0.95, name
        if sure > 0.99 and scale >= 1:
            assert held <= MOST, name


@pytest.mark.parametrize("confidence", [F(1, 2), F(99, 100)], ids=str)
def test_G2_other_confidences(confidence):
    held, _ = coverage(((1, 1), (0, 1)), (F(2), F(2)), (30, 70), confidence)
    assert float(confidence) - 0.005 <= held <= float(confidence) + 0.08


def test_G2_the_set_is_unbounded_where_the_denominator_may_be_0():
    slots = [Slot(F(1), F(0), F(3), 1, np.zeros(1)), Slot(F(0), F(1), F(5), 1, np.zeros(1))]
    found = fieller(slots, P)
    limit = lw.DiscreteLaplace(5).margin(P)
    assert found.least == pytest.approx(limit + 0.5, rel=1e-5)  # half a step for the chords
    limit = found.least
    bars = found.bars(np.full(4, 10.0), np.array([0.0, limit * 0.99, limit * 1.01, -limit * 1.01]))
    assert bars.sure.tolist() == [False, False, True, True]
    assert np.isinf(bars.low[:2]).all()
    assert np.isinf(bars.high[:2]).all()
    assert np.isfinite(bars.low[2:]).all()
    assert bars.low[2] == pytest.approx(-bars.high[3])


def test_G2_the_ends_solve_the_equation_of_fieller():
    """|N - θD| = r(1, θ) at both ends, with margins computed in these directions themselves."""
    slots = [
        Slot(F(1), F(1), F(7), 1, np.zeros(1)),
        Slot(F(-1, 2), F(1, 3), F(9), 2, np.zeros(1)),
        Slot(F(0), F(2), F(3), 5, np.zeros(1)),
    ]
    tops, bottoms = np.array([500.0, -80.0, 0.0]), np.array([400.0, 900.0, 300.0])
    bars = fieller(slots, P).bars(tops, bottoms)
    for i in range(3):
        for end in (bars.low[i], bars.high[i]):
            draws = [EqualDraws(float(s.top) - end * float(s.bottom), s.scale, s.times) for s in slots]
            due = margin_of(draws, P, smooth=True) + min(abs(draw.weight) for draw in draws) / 2
            assert due * (1 - 1e-9) <= abs(tops[i] - end * bottoms[i]) <= due * 1.01  # chords lie above


@pytest.mark.parametrize("total", [30.0, 300.0])
@pytest.mark.parametrize("place", [0.05, 0.4, 0.8])
def test_G2_a_mean_by_its_own_way_and_as_a_quotient(total, place):
    """Claim A10 computes the same set by other means, on [0, 1] only."""
    cells = np.array([[total * place], [total * (1 - place)]])
    value, low, high = ratio_interval(cells, [1.0, 0.0], 1.0, 0.05)
    scale = F(2**16)
    slots = [Slot(F(1), F(1), scale, 1, np.zeros(1)), Slot(F(0), F(1), scale, 1, np.zeros(1))]
    bars = fieller(slots, P).bars(cells[0] * 2**16, cells.sum(axis=0) * 2**16)
    found = clipped(bars, 0.0, 1.0)
    assert found.value == pytest.approx(value)
    assert (found.low, found.high) == (pytest.approx(low, abs=2e-3), pytest.approx(high, abs=2e-3))


def test_G2_noise_beyond_the_range_does_not_make_a_bar_narrow():
    bars = clipped(Bars(*(np.array([each]) for each in (1.5, 1.2, 1.9)), np.array([True])), 0.0, 1.0)
    assert [float(end[0]) for end in bars[:3]] == pytest.approx([1.0, 0.65, 1.0])
    silent = clipped(Bars(*(np.array([each]) for each in (np.nan, -np.inf, np.inf)), np.array([False])), 0.0, 1.0)
    assert [float(end[0]) for end in silent[:3]] == [0.5, 0.0, 1.0]


# --- G3: two quotients ---


def strata(points):
    """The middles of so many equally likely parts of a Laplace law of scale 1."""
    p = (np.arange(points) + 0.5) / points
    return np.where(p < 0.5, np.log(2 * p), -np.log(2 * (1 - p)))


def mean_bars(mean, total, scale, confidence, points):
    """The bars of a mean for all noises of its two cells, in strata."""
    noise = strata(points) * scale
    above, below = (each.reshape(-1) for each in np.meshgrid(noise, noise))
    cells = [mean * total + above, (1 - mean) * total + below]
    fine = F(2**16)
    slots = [Slot(F(1), F(1), fine * F(scale), 1, cells[0]), Slot(F(0), F(1), fine * F(scale), 1, cells[1])]
    return fieller(slots, confidence).bars(cells[0] * 2**16, (cells[0] + cells[1]) * 2**16)


@pytest.mark.parametrize("confidence", [F(1, 2), P, F(99, 100)], ids=str)
@pytest.mark.parametrize(
    ("means", "totals"), [((0.3, 0.6), (40, 40)), ((0.1, 0.5), (25, 400)), ((0.9, 0.05), (60, 30))], ids=str
)
def test_G3_differences_and_ratios_of_means_hold_the_truth(confidence, means, totals):
    """Coverage over 256 × 256 equally likely noises of the four cells."""
    first, second = (mean_bars(mean, total, 1.0, confidence, 16) for mean, total in zip(means, totals, strict=True))
    one = Bars(*(np.repeat(each, len(second.value)) for each in first))
    other = Bars(*(np.tile(each, len(first.value)) for each in second))
    beyond = float(1 - confidence)
    bars = difference(one, other, beyond)
    truth = means[0] - means[1]
    held = float(((bars.low <= truth) & (truth <= bars.high)).mean())
    assert held >= float(confidence) - 0.005
    assert held <= float(confidence) + 0.12
    some = slice(None, None, 7)
    bars = quotient(Bars(*(each[some] for each in one)), Bars(*(each[some] for each in other)), beyond)
    held = float(((bars.low <= means[0] / means[1]) & (means[0] / means[1] <= bars.high)).mean())
    assert held >= float(confidence) - 0.005


def test_G3_a_bar_that_forgets_one_side_is_seen():
    first, second = (mean_bars(mean, 40, 1.0, P, 16) for mean in (0.3, 0.6))
    one = Bars(*(np.repeat(each, len(second.value)) for each in first))
    other = Bars(*(np.tile(each, len(first.value)) for each in second))
    value = one.value - other.value
    held = (value - (one.value - one.low) <= -0.3) & (value + (one.high - one.value) >= -0.3)
    assert held.mean() < 0.92


def test_G3_how_two_margins_add_up():
    for beyond, factor in ((0.05, math.sqrt(2)), (0.5, 1.6535)):
        both = together(np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.0, 2.0]), beyond)
        assert both[0] == pytest.approx(factor, rel=2e-3)
        assert both[1:] == pytest.approx([1.0, 2.0], rel=2e-3)


# --- G4: marks of noise ---


def test_G4_marks_by_the_coefficient_of_variation():
    value = np.array([100.0, 100, 100, -100, 0, 0, 40, 40])
    half = 1.96 * np.array([16.49, 16.51, 33.4, 33.2, 1, 0, 100, 10])
    found = marks(Estimate(value, value - half, value + half), USUAL)
    assert found.tolist() == [LOW, MEDIUM, HIGH, MEDIUM, HIGH, LOW, HIGH, MEDIUM]
    ends = Estimate(value, np.maximum(value - half, 0), np.minimum(value + half, 80))
    assert marks(ends, USUAL, 0.0, 80.0)[6] == NOTHING
    assert marks(ends, USUAL, 0.0, 80.0)[7] == MEDIUM
    strict = noise_levels(low="0.01", medium="0.1")
    assert marks(Estimate(value, value - half, value + half), strict).tolist()[:2] == [HIGH, HIGH]
    assert marks(Estimate(value, np.full(8, -np.inf), value), USUAL).tolist() == [NOTHING] * 8


@pytest.mark.parametrize(
    ("bar", "of_a_difference", "due"),
    [
        ((29, 0, 29), False, HIGH),  # a minimum: half of the bar is half of the number, and the longer side all of it
        ((29, 29, 38), False, LOW),
        ((29, 29, 40), False, MEDIUM),
        ((5, 0, 14), False, HIGH),  # a bound of what is possible cuts the shorter side
        ((2.6, 0.2, 5), False, HIGH),
        ((2.6, 0.2, 5), True, MEDIUM),  # the noise cannot have made the difference
        ((-2.6, -5, -0.2), True, MEDIUM),
        ((2.6, 0, 5.2), True, HIGH),
        ((2.6, 2, 3.2), True, LOW),
    ],
)
def test_G4_a_mark_looks_at_the_longer_side_of_the_bar_and_for_a_difference_at_0(bar, of_a_difference, due):
    ends = Estimate(*(np.array([end], dtype=float) for end in bar))
    assert marks(ends, USUAL, 0.0 if not of_a_difference else -math.inf, 100.0, difference=of_a_difference) == [due]


def test_G4_a_difference_is_marked_as_one(tmp_path, frozen_noise):
    frame = pd.DataFrame({"g": [0] * 500 + [1] * 460 + [2] * 499})
    source = lw.Source(frame, name="t", columns={"g": lw.keys(range(3))}, epsilon=10, ledger=str(tmp_path / "t.ledger"))
    made = source.release(lw.count(name="n"), by="g", epsilon="0.2")
    found = [made.difference(by="g", of=0, to=other).rows[0]["n"] for other in (1, 2)]
    assert [each["noise"] for each in found] == [MEDIUM, HIGH]
    assert [each["low"] <= 0 <= each["high"] for each in found] == [False, True]


def test_G4_a_mark_depends_on_the_number_and_not_on_how_it_is_shown(tmp_path, frozen_noise):
    frame = pd.DataFrame({"g": [0] * 400 + [1] * 60 + [2] * 3, "x": [5.0] * 463})
    columns = {"g": lw.keys(range(4)), "x": lw.number(0, 10)}
    source = lw.Source(frame, name="t", columns=columns, epsilon=10, ledger=str(tmp_path / "t.ledger"))
    made = source.release(lw.count(), lw.mean("x"), by="g", epsilon="0.1")
    plain = {name: each.tolist() for name, each in made.noise_marks.items()}
    assert {LOW, HIGH} <= set(plain["count"])
    for other in (made.at("0.5"), made.at("0.999", simultaneous=True), made.nonnegative(), made.suppressed()):
        assert {name: each.tolist() for name, each in other.noise_marks.items()} == plain
    for name, estimate in made.estimates.items():
        low, high = (0.0, 10.0) if name == "mean_x" else (-math.inf, math.inf)
        assert marks(estimate, USUAL, low, high).tolist() == plain[name]


def test_G1_a_statistic_as_its_cells_is_the_statistic(tmp_path, frozen_noise):
    """Counts, sums, means, proportions and ratios from their cells are what the release says."""
    rows = {"g": [0, 1] * 40, "x": [1.0, 7.0, None, 4.0] * 20, "y": [2, 3, 1, 5] * 20, "p": list(range(40)) * 2}
    columns = {"g": lw.keys(range(2)), "x": lw.number(0, 8), "y": lw.number(1, 5, integer=True)}
    for described in ({}, {"person": "p", "rows_per_person": 1}, {"neighbors": "change_one"}):
        place = str(tmp_path / f"{len(described)}{described.get('neighbors', '')}.ledger")
        source = lw.Source(pd.DataFrame(rows), name="t", columns=columns, epsilon=900, ledger=place, **described)
        asked = lw.count(), lw.sum("x"), lw.mean("x"), lw.proportion("y > 2"), lw.ratio(lw.sum("x"), lw.sum("y"))
        for by in ("g", None):
            made = source.release(*asked, by=by, epsilon=400)
            for statistic in made.plan.query.statistics:
                cells = weighing(made.plan, statistic, made.answer.get("rows"))
                slots = cells.slots(made.cells, slice(0, len(made)))
                value = weighted(slots, cells.top)
                if cells.divides:
                    value = value / weighted(slots, cells.bottom, top=False)
                shown = np.ma.asarray(made.estimates[str(statistic.name)].value, dtype=float)
                slack = 0.5 if statistic.kind in ("count", "sum") and made.plan.is_integer(statistic) else 1e-3
                assert np.abs(value - shown).max() <= slack, statistic.text
