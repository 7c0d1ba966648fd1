"""Ratios, and what is compared after a release: bars contain the truth as often as stated, and marks are right.

Tables have many equal groups, each of which is a trial.  Two keys divide each group further, so that differences,
ratios and shares between them are known.  Bars of quotients hold a little more often than stated (integer noise), but
not always: a bar that is too wide is a fault too.  How often a bar may hold is what it does over 30,000 groups, and
almost a hundredth more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import lapwing as lw

from ...measure.measurement import Estimate
from ...release.comparison import Comparison
from ...release.result import Release
from ..finding import ALPHA, Finding, all_right
from ..room import Room
from ..tools.again import with_cells, without_noise
from ..tools.certify import least_share
from ..tools.chance import held

_CONFIDENCES = "0.95", "0.5"

_F = (1, 2, 4, 4, 5, 7, 7, 8, 9, 9, 10, 10)
_M = (0, 0, 1, 3, 3, 5, 6, 8)
"""The column x of the rows of each group, for the two keys of s; y is x + 1."""


def compared(room: Room, trials: int) -> Iterator[Finding]:
    """Release two keys in each of many groups, compare them, and count how many bars contain the truth."""
    made = _release(room, trials, 6)
    f, m, g = (np.array(rows, dtype=float) for rows in (_F, _M, _F + _M))
    counts, means = (float(len(f)), float(len(m))), (f.mean(), m.mean())
    rates = [each.sum() / (each + 1).sum() for each in (f, m, g)]
    by: Any = {"by": "s", "of": "F", "to": "M"}
    yield from _bars("the difference of counts", made.difference(**by), "n", counts[0] - counts[1], 0.96)
    yield from _bars("the difference of means", made.difference(**by), "mean", means[0] - means[1], 0.972)
    yield from _bars("the ratio of counts", made.ratio(**by), "n", counts[0] / counts[1], 0.975)
    yield from _bars("the ratio of means", made.ratio(**by), "mean", means[0] / means[1], 0.985)
    shares = np.tile([counts[0], counts[1]], trials) / len(g)
    # the two shares of a group are one trial: they add up to 1
    yield from _bars("a share of two", made.share(within="g"), "n", shares, 0.966, slice(0, None, 2))
    yield from _bars("a total of counts", made.total(over="s"), "n", float(len(g)), 0.96)
    yield from _bars("a total of means", made.total(over="s"), "mean", g.mean(), 0.963)
    yield from _bars("a total of ratios", made.total(over="s"), "rate", rates[2], 0.971)
    for place, key in enumerate("FM"):
        estimates = {each: made.at(each).estimates["rate"] for each in _CONFIDENCES}
        yield from _held(f"SUM(x)/SUM(y) of {key}", estimates, rates[place], 0.983, slice(place, None, 2))
    yield from _unlike(room, trials)
    yield _unbounded(room, trials // 10)
    yield _noise_marks(made)
    yield _suppression(room)


def _release(room: Room, groups: int, epsilon: int) -> Release:
    rows = ", ".join(f"('{key}', {x})" for key, values in (("F", _F), ("M", _M)) for x in values)
    table = room.select(f"SELECT g, s, x, x + 1 AS y FROM range({groups}) AS t(g), (VALUES {rows}) AS v(s, x)")
    columns = {
        "g": lw.keys(range(groups)),
        "s": lw.keys("F", "M"),
        "x": lw.number(0, 10, integer=True),
        "y": lw.number(1, 11, integer=True),
    }
    asked = lw.count(name="n"), lw.mean("x", name="mean"), lw.ratio(lw.sum("x"), lw.sum("y"), name="rate")
    return room.source(table, columns=columns).release(*asked, by=("g", "s"), epsilon=epsilon)


def _bars(
    what: str, made: Comparison, name: str, truth: Any, most: float, which: slice = slice(None)
) -> Iterator[Finding]:
    yield from _held(what, {each: made.at(each).estimates[name] for each in _CONFIDENCES}, truth, most, which)


def _held(
    what: str, estimates: dict[str, Estimate], truth: Any, most: float, which: slice = slice(None)
) -> Iterator[Finding]:
    """Say whether bars hold the truth as often as stated, and those of 95 % not nearly always."""
    due = np.broadcast_to(truth, estimates["0.95"].value.shape)[which]
    near = 1e-9 * (1 + np.abs(due))
    for confidence, bar in estimates.items():
        low, high = _filled(bar.low, -np.inf), _filled(bar.high, np.inf)
        inside = (low[which] <= due + near) & (due - near <= high[which])
        yield held(what, inside, confidence)
        if confidence == "0.95":
            yield _not_too_wide(what, inside, most)


def _not_too_wide(what: str, inside: Any, most: float) -> Finding:
    """Say whether no more than this share of bars hold the truth, up to chance."""
    hits, size = int(inside.sum()), inside.size
    told = f"{hits / size:.4f} of {size:,} bars hold; in truth {least_share(hits, size, ALPHA):.4f} do, {most} may"
    return Finding(f"{what}: the bar is not too wide", least_share(hits, size, ALPHA) <= most, told, ALPHA)


def _filled(end: Any, fill: float) -> Any:
    """Return the ends of bars, with a number for those that are not there."""
    return np.ma.filled(np.ma.asarray(end, dtype=float), fill)


def _unlike(room: Room, groups: int) -> Iterator[Finding]:
    """A share of nine tenths: its bar is as wide as the noise of the cell and of the rest make it."""
    table = room.select(f"SELECT g, (i < 90)::INT AS s FROM range({groups}) AS t(g), range(100) AS v(i)")
    source = room.source(table, columns={"g": lw.keys(range(groups)), "s": lw.keys((1, 0))})
    bar = source.release(lw.count(name="n"), by=("g", "s"), epsilon=1).share(within="g").estimates["n"]
    inside = ((bar.low <= 0.9) & (bar.high >= 0.9))[::2]
    yield held("a share of nine tenths", inside, "0.95")
    yield _not_too_wide("a share of nine tenths", inside, 0.982)


def _unbounded(room: Room, groups: int) -> Finding:
    """A denominator that may be 0 has no bar, and the number says so."""
    table = room.select(f"SELECT g, 5 AS x, 1 AS y FROM range({groups}) AS t(g)")
    number = lw.number(0, 10, integer=True)
    source = room.source(table, columns={"g": lw.keys(range(groups)), "x": number, "y": number})
    made = source.release(lw.ratio(lw.sum("x"), lw.sum("y"), name="r"), by="g", epsilon=1)
    bar, marks = made.estimates["r"], made.noise_marks["r"]
    scales = [float(made.plan.scale(part)) for part in made.plan.parts]
    sums = [cells[0].astype(float) for cells in made.cells]  # x, then y
    near = np.abs(sums[1]) <= 2.9 * scales[1]  # below every margin of 95 %
    wrong = near & ~(np.ma.getmaskarray(np.ma.asarray(bar.high)) & (marks == "no information"))
    return Finding(
        "ratios whose denominator may be 0 have no bar",
        bool(near.any()) and not wrong.any(),
        f"{int(wrong.sum())} of {int(near.sum())} have one",
    )


def _noise_marks(made: Release) -> Finding:
    """The marks of a release are those that its values and 95 % bars give, computed here."""
    wrong = []
    thresholds = made.plan.schema.noise_levels
    for name, estimate in made.at("0.95", simultaneous=False).estimates.items():
        value, low, high = (_filled(end, np.nan) for end in estimate)
        with np.errstate(all="ignore"):
            variation = np.maximum(high - value, value - low) / 1.96 / np.abs(value)
        silent = (low <= 0) & (high >= 10) if name == "mean" else np.isnan(low) | np.isnan(high)
        due = np.where(variation <= float(thresholds.low), "low", "medium")
        due = np.where(variation <= float(thresholds.medium), due, "high")
        due = np.where(silent, "no information", due)
        for view in (made, made.at("0.5"), made.suppressed()):
            wrong += [] if view.noise_marks[name].tolist() == due.tolist() else [name]
    return Finding("marks of noise", not wrong, all_right(wrong, 3 * len(made.estimates)))


def _suppression(room: Room) -> Finding:
    """What is left out is chosen by the noisy numbers alone: with other noise, others are left out."""
    table = room.select("SELECT i % 2 AS g FROM range(1000) AS t(i) WHERE i % 2 = 0 OR i < 40")
    plan = room.source(table, columns={"g": lw.keys(range(2))}).plan(lw.count(name="n"), by="g", epsilon=1)
    exact = without_noise(plan, table)
    moved = with_cells(exact, [[np.array([0, 500])]])
    wrong = []
    for made, due in ((exact, [False, False]), (moved, [True, False])):
        hidden = np.ma.getmaskarray(np.ma.asarray(made.suppressed().estimates["n"].value)).tolist()
        rows = [row["n"]["value"] is None for row in made.suppressed().rows]
        wrong += [] if hidden == rows == due else [f"{hidden}"]
    return Finding("what is suppressed depends on the noisy numbers alone", not wrong, all_right(wrong, 2))
