"""Every error bar contains the truth at least as often as stated, with real noise.

Tables are made up, so that the truth is known; most have many equal groups, and each group is a separate trial.  The
share of bars that contain the truth may fall below the stated confidence only as far as chance allows.  The noise is
symmetric, so counts, sums, means and proportions lie above the truth in at most half of the trials, and below it in at
most half.

Bars of variances and deviations are approximate (claim A11); here there are enough rows for them to hold.  Those of
quantiles, distribution functions and randomized response hold more often than stated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lapwing as lw

from ...measure.measurement import Estimate
from ...question.query import Statistic
from ...release.result import Release
from ..finding import Finding, parts
from ..room import Room
from ..tools.again import read_once
from ..tools.chance import centred, held, independent, unbiased
from ..tools.columns import DrawnColumn
from ..tools.conditions import DrawnCondition
from ..tools.pooled import sharing
from ..tools.truth import truths
from ..tools.worlds import DrawnQuestion, World
from .compared import compared
from .forecasts import forecasts
from .forms import forms_of_answers
from .formulas import formulas
from .totals import totals
from .truth import noiseless

CONFIDENCES = "0.95", "0.5"

Views = Mapping[str, Mapping[str, Estimate]]
"""The numbers of a release by the confidence of their bars, then by their names."""

_VALUES = (0, 1, 1, 2, 3, 3, 4, 5, 7, 7, 8, 9, 9, 10, 10, 10)
"""The column x of each group; y is a sixteenth of it."""

_WEIGHTS = (1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 1.0) * 2
"""What each row counts: people have 1, 2, 4 and 1 rows, and two rows of a person count in full."""

_PEOPLE = (0, 1, 1, 2, 2, 2, 2, 3, 4, 5, 5, 6, 6, 6, 6, 7)
_EDGES = (0, 2, 5, 8, 10)


@sharing
def coverage(room: Room, trials: int = 20_000) -> Iterator[Finding]:
    """Release statistics of tables whose truth is known, and count how many bars contain it."""
    trials *= 10 if room.deep else 1
    yield from parts(
        room,
        narrow=lambda: _exact_bars(room),
        totals=lambda: totals(room),
        empty=lambda: _empty_groups(room, trials),
        groups=lambda: _groups(room, trials),
        quantiles=lambda: _quantiles(room, trials // 40),
        bins=lambda: _bins(room, trials),
        tables=lambda: _whole_tables(room, trials // 200),
        at_once=lambda: _at_once(room, trials // 200),
        keys=lambda: _keys(room, trials),
        numbers=lambda: _numbers(trials),
        answers=lambda: _answers(trials // 20),
        odd=lambda: _odd_groups(room, trials // 4),
        compared=lambda: compared(room, trials // 8),
        formulas=lambda: formulas(room),
        truth=lambda: noiseless(room),
        forecasts=lambda: forecasts(room),
        forms=lambda: forms_of_answers(room),
    )


# --- the bars of counts are as narrow as they can be, and their noise is noise ---


def _exact_bars(room: Room) -> Iterator[Finding]:
    """The bar of a count is as wide as it must be, and one less would be too narrow: from the law, without drawing."""
    groups = 50
    source = room.source(room.select("SELECT 1 AS g"), columns={"g": lw.keys(range(groups))})
    for epsilon in (1, "0.1", 3):
        made, scale = source.release(lw.count(), by="g", epsilon=epsilon), 1 / Fraction(epsilon)
        for confidence in CONFIDENCES:
            for cells in (1, groups):
                bars = made.at(confidence, simultaneous=cells > 1).estimates["count"]
                reach = set((bars.high - bars.value).tolist()) | set((bars.value - bars.low).tolist())
                inside = [(1 - _beyond(m, float(scale))) ** cells for m in (max(reach), max(reach) - 1)]
                together = f"{cells} counts at once" if cells > 1 else "a count"
                yield Finding(
                    f"the width of the bar of {together}, ε = {epsilon}, at {float(confidence):.0%}",
                    len(reach) == 1 and inside[1] < float(confidence) <= inside[0],
                    f"±{max(reach)} holds with {inside[0]:.4f}, ±{max(reach) - 1} with {inside[1]:.4f}",
                )


def _beyond(m: int, scale: float) -> float:
    """Return P(|X| > m) for integer noise, from the sum of its probabilities e^(-|k|/s)·tanh(1/2s)."""
    return 1.0 if m < 0 else 2 * math.exp(-(m + 1) / scale) / (1 + math.exp(-1 / scale))


def _empty_groups(room: Room, trials: int) -> Iterator[Finding]:
    """Counts of groups without rows are noise: 0 on average, not cut at 0, and independent of each other."""
    columns = {"g": lw.keys(range(trials)), "x": lw.number(0, 10, integer=True), "y": lw.number(0, 10, integer=True)}
    source = room.source(room.select("SELECT -1 AS g, 1 AS x, 1 AS y"), columns=columns)
    for epsilon in ("1", "0.1"):
        counts = source.release(lw.count(), by="g", epsilon=epsilon).estimates["count"].value
        yield unbiased(f"counts of empty groups, ε = {epsilon}", counts, 1 / float(epsilon))
        yield independent(f"the noise of neighboring groups, ε = {epsilon}", counts[:-1], counts[1:])
    half = trials // 2
    yield independent("the noise of distant groups", counts[:half], counts[half : 2 * half])
    sums = source.release(lw.sum("x"), lw.sum("y"), by="g", epsilon=1).estimates
    yield independent("the noise of two columns", sums["sum_x"].value, sums["sum_y"].value)
    yield independent("the noise of two releases", sums["sum_x"].value, counts)


# --- statistics of many groups ---


@dataclass(frozen=True)
class Asked:
    """A question about every group: the statistics by their names, ε, and how the source is described."""

    what: str
    statistics: Mapping[str, Statistic]
    epsilon: int
    described: Mapping[str, Any]


_PERSONS = {"person": "person", "rows_per_person": 2}
_CHANGE = {"neighbors": "change_one"}
_TWO = {"count": lw.count(), "mean": lw.mean("x"), "mean of y": lw.mean("y")}
_SPREAD = {
    "variance": lw.variance("x", sample=False),
    "sample variance": lw.variance("x"),
    "std": lw.std("x", sample=False),
}
_SUM = {"sum": lw.sum("x"), "count of x": lw.count("x")}
_ASKED = (
    Asked("rows", {"count": lw.count()}, 1, {}),
    Asked("rows and two columns", _TWO, 3, {}),
    Asked("rows", _SUM, 1, {}),
    Asked("rows, alone", {"sum": lw.sum("x")}, 1, {}),
    Asked("rows", {"mean": lw.mean("x")}, 2, {}),
    Asked("rows", {"proportion": lw.proportion("x > 5")}, 2, {}),
    Asked("rows", _SPREAD, 60, {}),
    Asked("people", {"count": lw.count()}, 1, _PERSONS),
    Asked("people and two columns", _TWO, 6, _PERSONS),
    Asked("people", _SUM, 2, _PERSONS),
    Asked("change_one", {"count": lw.count()}, 1, _CHANGE),
    Asked("change_one", {"mean": lw.mean("x"), **_SUM}, 4, _CHANGE),
    Asked("change_one, people", {"mean": lw.mean("x"), "proportion": lw.proportion("x > 5")}, 8, _CHANGE | _PERSONS),
)


def _groups(room: Room, trials: int, questions: Sequence[Asked] = _ASKED) -> Iterator[Finding]:
    """Counts, sums, means, proportions and spreads of groups that all hold the same rows."""
    table, rows = _grouped(room, trials), _columns(trials)
    for asked in questions:
        source = room.source(table, columns=rows, **asked.described)
        named = [replace(each, name=name) for name, each in asked.statistics.items()]
        views = _views(source.release(*named, by="g", epsilon=asked.epsilon))
        truths = _truths("person" in asked.described)
        for name, statistic in asked.statistics.items():
            what, truth = f"{name} of {asked.what}", truths[name]
            yield from _held(what, views, name, truth)
            if statistic.kind not in ("variance", "std"):
                value = views[CONFIDENCES[0]][name].value
                near = 1e-9 * (1 + abs(truth))  # floats: values this close count as neither above nor below
                yield centred(what, np.where(np.abs(value - truth) > near, value - truth, 0.0))


def _held(what: str, views: Views, name: str, truth: Any, which: Any = slice(None)) -> Iterator[Finding]:
    for confidence, found in views.items():
        yield held(what, _inside(found[name].low[which], found[name].high[which], truth), confidence)


def _views(made: Release, *, simultaneous: bool = False) -> Views:
    return {each: made.at(each, simultaneous=simultaneous).estimates for each in CONFIDENCES}


def _inside(low: Any, high: Any, truth: Any) -> NDArray[np.bool_]:
    near = 1e-9 * (1 + np.abs(truth))  # the truth is known up to the rounding of floats
    return np.asarray((low <= truth + near) & (truth - near <= high))


def _truths(people: bool) -> dict[str, float]:
    """Return the statistics of a group; with people, the rows of a person with more than two count less."""
    x, weight = np.array(_VALUES, dtype=float), np.array(_WEIGHTS if people else [1.0] * len(_VALUES))
    n = float(weight.sum())
    mean = float(weight @ x) / n
    variance = float(weight @ (x - mean) ** 2) / n
    return {
        "count": n,
        "count of x": n,
        "sum": n * mean,
        "mean": mean,
        "mean of y": mean / 16,
        "proportion": float(weight @ (x > 5)) / n,
        "variance": variance,
        "sample variance": variance * n / (n - 1),
        "std": math.sqrt(variance),
    }


def _grouped(room: Room, groups: int) -> str:
    """Write a table in which every group has the same rows, of people of its own; return its path."""
    rows = ", ".join(f"({x}, {person})" for x, person in zip(_VALUES, _PEOPLE, strict=True))
    return room.select(
        f"SELECT g, x, x / 16 AS y, 8 * g + p AS person FROM range({groups}) AS t(g), (VALUES {rows}) AS v(x, p)",
    )


def _columns(groups: int) -> dict[str, Any]:
    return {"g": lw.keys(range(groups)), "x": lw.number(0, 10, integer=True), "y": lw.number(0, 1)}


_LARGE = 10**14
_ODD_CELLS = (
    (2.0, 1, 0), (None, 9, 0), (7.0, None, 1), (math.nan, 5, 1), (5.5, 2, 1), (99.0, 7, 1), (3.25, 3, 1), (6.0, 4, 1),
    (None, None, 2), (2.5, 20, 2), (4.75, -3, 2), (6.5, 6, 3), (7.0, 9, None), (-1.0, 8, 4),
    (5.0, 2, 5), (3.0, None, 5),
)  # fmt: skip
"""The rows of each odd group: x, z in units of 10^14, and the person; some are missing, some beyond the bounds."""


def _odd_groups(room: Room, groups: int) -> Iterator[Finding]:
    """Groups with missing cells, large numbers, people of fractional weight and a condition; bounds without 0."""
    cells = ", ".join(f"({_sql(x)}, {_sql(z)}, {_sql(p)})" for x, z, p in _ODD_CELLS)
    each = (
        f"SELECT g, x, z * {_LARGE} AS z, 8 * g + p AS p FROM range({groups}) AS t(g), (VALUES {cells}) AS v(x, z, p)"
    )
    table = room.select(each)
    columns = {"x": lw.number(2, 7), "z": lw.number(_LARGE, 10**15 - 1, integer=True), "g": lw.keys(range(groups))}
    fields = {name: DrawnColumn(columns[name], (), kind) for name, kind in (("x", "DOUBLE"), ("z", "BIGINT"))}
    rows = tuple((p, x, None if z is None else z * _LARGE, 1) for x, z, p in _ODD_CELLS)
    statistics = lw.mean("x"), lw.mean("z"), lw.count("x"), lw.proportion("x > 3")
    shares = (None, None, None, DrawnCondition(">", "x", (Fraction(3),)))
    parts = DrawnCondition(">=", "z", (Fraction(_LARGE),)), DrawnCondition(">", "x", (Fraction(4),))
    question = DrawnQuestion("release", statistics, DrawnCondition("OR", parts=parts), shares)
    for what, described in (("people", _PERSONS | {"person": "p"}), ("change_one", _CHANGE)):
        due = truths(World(0, fields, described, "Parquet", question, rows, (), ()), rows)
        source = room.source(table, columns=columns, **described)
        made = source.release(*statistics, by="g", where=f"z >= {_LARGE} OR x > 4", epsilon=8)
        views = _views(made)
        for statistic, (truth,) in zip(made.plan.query.statistics, due, strict=True):
            assert truth is not None
            yield from _held(f"{statistic.name} of odd {what}", views, str(statistic.name), float(truth.value))


def _sql(cell: float | None) -> str:
    return "NULL" if cell is None else "'nan'::DOUBLE" if math.isnan(cell) else str(cell)


def _quantiles(room: Room, groups: int) -> Iterator[Finding]:
    """Quantiles of 64 different values in each group."""
    table = room.select(f"SELECT g, x FROM range({groups}) AS t(g), range(64) AS v(x)")
    source = room.source(table, columns={"g": lw.keys(range(groups)), "x": lw.number(0, 100, integer=True)})
    asked = {
        "minimum": lw.min("x"),
        "quartile": lw.quantile("x", "0.25"),
        "median": lw.median("x"),
        "maximum": lw.max("x"),
    }
    views = _views(source.release(*(replace(each, name=name) for name, each in asked.items()), by="g", epsilon=8))
    for name, truth in zip(asked, (0, 15, 31, 63), strict=True):
        yield from _held(f"{name} of 64 rows", views, name, truth)


def _bins(room: Room, groups: int) -> Iterator[Finding]:
    """The bins of a histogram, and of a distribution function one bin of each group, since its bins share noise."""
    table, few = _grouped(room, groups), max(groups // 4, 1)
    bins = len(_EDGES) - 1
    truth = np.histogram(_VALUES, _EDGES)[0]
    made = room.source(table, columns=_columns(few)).release(lw.histogram("x", _EDGES), by="g", epsilon=1)
    yield from _held("the bins of a histogram", _views(made), "count", np.tile(truth, few))
    made = room.source(table, columns=_columns(groups)).release(lw.cdf("x", _EDGES), by="g", epsilon=4)
    turn = np.arange(groups) % (bins - 1)
    shares = (np.cumsum(truth) / len(_VALUES))[turn]
    yield from _held("a distribution function", _views(made), "cdf_x", shares, np.arange(groups) * bins + turn)


# --- forms with one group, and bars for all at once ---

_TABLE_COLUMNS = 12
_WHOLE: Mapping[str, Callable[[str], Statistic]] = {
    "sum": lw.sum,
    "mean": lw.mean,
    "variance": lambda name: lw.variance(name, sample=False),
    "sample variance": lw.variance,
}


def _whole_tables(room: Room, releases: int) -> Iterator[Finding]:
    """Tables whose number of rows is public: the noise of each column is a trial, in several releases."""
    names = [f"c{i}" for i in range(_TABLE_COLUMNS)]
    values = ", ".join(f"x AS {name}" for name in names)
    rows = ", ".join(f"({x})" for x in _VALUES)
    table = room.select(f"SELECT {values} FROM (VALUES {rows}) AS v(x)")
    number, truths = lw.number(0, 10, integer=True), _truths(False)
    described: dict[str, Any] = {"columns": dict.fromkeys(names, number), "neighbors": "change_one"}
    kinds = {name: list(_WHOLE)[i % len(_WHOLE)] for i, name in enumerate(names)}
    asked = [replace(_WHOLE[kind](name), name=name) for name, kind in kinds.items()]
    again = read_once(room.source(table, **described).plan(*asked, epsilon=10), table)
    views = [_views(again.release()) for _ in range(releases)]
    for kind in _WHOLE:
        for confidence in CONFIDENCES:
            bars = [view[confidence][name] for view in views for name in names if kinds[name] == kind]
            low, high = (np.concatenate(ends) for ends in zip(*((bar.low, bar.high) for bar in bars), strict=True))
            yield held(f"{kind} of a table of public size", _inside(low, high, truths[kind]), confidence)


def _at_once(room: Room, releases: int) -> Iterator[Finding]:
    """Bars that hold for all groups and statistics of a release: each release is a trial."""
    groups = 20
    table = _grouped(room, groups)
    asked, truths = {"count": lw.count(), "mean": lw.mean("x")}, _truths(False)
    named = [replace(each, name=name) for name, each in asked.items()]
    again = read_once(room.source(table, columns=_columns(groups)).plan(*named, by="g", epsilon=2), table)
    views = [_views(again.release(), simultaneous=True) for _ in range(releases)]
    for confidence in CONFIDENCES:
        found = [view[confidence] for view in views]
        inside = [all(_inside(each[n].low, each[n].high, truths[n]).all() for n in asked) for each in found]
        yield held(f"counts and means of {groups} groups at once", np.array(inside), confidence)


def _keys(room: Room, trials: int) -> Iterator[Finding]:
    """Counts of keys that were found, each of which has so many rows that it is certain to be found."""
    number, rows = trials // 4, 100
    table = room.select(f"SELECT k FROM range({number}) AS t(k), range({rows})")
    source = room.source(table, columns={"k": "integer"}, delta="0.001")
    found = source.discover("k", epsilon=1, delta="1e-6")
    for confidence in CONFIDENCES:
        bars = [row["count"] for row in found.at(confidence).rows]
        low, high = (np.array([bar[end] for bar in bars]) for end in ("low", "high"))
        yield held(f"counts of keys with {rows} rows that were discovered", _inside(low, high, rows), confidence)


# --- without a table ---


def _numbers(trials: int) -> Iterator[Finding]:
    """Intervals of ``LaplaceMechanism``: of arrays, of single numbers, and of ten cells at once."""
    whole, real = lw.LaplaceMechanism(3, "0.1"), lw.LaplaceMechanism("0.1", "0.5")
    few = trials // 40  # each computes its own margin
    for confidence in CONFIDENCES:
        for what, mechanism, truth in (("integers", whole, 12), ("floats", real, 0.3)):
            ends = mechanism.interval(mechanism.release(np.full(trials, truth)), confidence)
            yield held(f"intervals of {what}", _inside(*ends, truth), confidence)
            single = [mechanism.interval(mechanism.release(truth), confidence) for _ in range(few)]
            yield held(
                f"intervals of single {what}", np.array([low <= truth <= high for low, high in single]), confidence
            )
            ten = (mechanism.release(np.full(10, truth)) for _ in range(few))
            ends_of_ten = (mechanism.interval(each, confidence, simultaneous=True) for each in ten)
            inside = np.array([_inside(*each, truth).all() for each in ends_of_ten])
            yield held(f"intervals of ten {what} at once", inside, confidence)


def _answers(trials: int) -> Iterator[Finding]:
    """Estimates from randomized response: 300 answers each, a third of them true."""
    bits = np.arange(300) % 3 == 0
    for confidence in CONFIDENCES:
        noisy = (lw.randomized_response(bits, 1) for _ in range(trials))
        found = (lw.randomized_response.estimate(each, 1, confidence) for each in noisy)
        inside = np.array([each.low <= bits.mean() <= each.high for each in found])
        yield held("estimates from randomized response", inside, confidence)
