"""Charts of a release and of a comparison: their numbers and public words, as ``lapwing.charts`` draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import exact
from ..charts.numbers import ChartKey, Drawn, Numbers
from ..charts.panels import chart_of
from ..errors import InvalidParameter, InvalidRequest
from ..measure.measurement import Estimate
from ..plan.naming import about_key, about_statistic, axis
from ..plan.plan import Plan
from ..question.cut import WHOLE
from ..question.query import Statistic
from .columns import KeyColumn, key_texts, total_name
from .comparing import about_compared
from .cutting import numbers
from .legend import percent
from .noise_marks import HIGH, NOTHING, UNKNOWN, Marks, shown_range
from .recorded import entries_text

if TYPE_CHECKING:
    from .comparison import Comparison
    from .result import Release

_FROM_ZERO = ("count", "people", "sum", "proportion", "cdf")
"""Statistics whose axis begins at 0."""


def release_chart(
    release: Release, statistic: str | None, kind: str | None, theme: str | None, width: int | None
) -> Any:
    """Return the chart of a release: of one statistic, or of all of them."""
    names = _asked(statistic, [str(each.name) for each in release.plan.query.statistics])
    _refuse_several(release)
    keys = _keys(release.plan, release.key_columns, release._keys.at(numbers(release._groups)))
    about, marks = _about(release), release.noise_marks
    shown = [
        _numbers(release, each, keys, marks[str(each.name)], about if len(names) == 1 else [])
        for each in release.plan.query.statistics
        if each.name in names
    ]
    return chart_of(shown, kind, theme, width, f"Release from {release.plan.schema.name}", about)


def comparison_chart(
    found: Comparison, statistic: str | None, kind: str | None, theme: str | None, width: int | None
) -> Any:
    """Return the chart of a comparison: of one number, or of all of them."""
    names = _asked(statistic, list(found.estimates))
    columns, plan = found.key_columns, found.release.plan
    at = {column.at: places for column, places in zip(columns, found._places(), strict=True)}
    keys = [
        ChartKey(column.name, key_texts(columns, column.at), tuple(at[column.at].tolist()), *_order(column, None))
        for column in columns
        if column.is_key
    ]
    about = _origin(found.release, f"{percent(found.confidence)} error bars{_for_all(found.simultaneous)}")
    shown = []
    for each in found.compared:
        if each.name in names:
            drawn = _drawn(
                found.estimates[each.name], found.noise_marks[each.name], each.low, each.high, found.suppress
            )
            notes = about if len(names) == 1 else []
            title = f"{each.name}: {found.what}" if len(names) == 1 else each.name
            along = axis(each.name, about_compared(plan, each), titled=False)
            shown.append(Numbers(title, tuple(notes), along, tuple(keys), drawn, zero=each.kind != "ratio"))
    return chart_of(shown, kind, theme, width, found.what, about)


def _asked(statistic: str | None, known: Sequence[str]) -> list[str]:
    if statistic is None:
        return list(known)
    if not isinstance(statistic, str) or statistic not in known:
        raise InvalidParameter(statistic, "statistic", f"one of {', '.join(known)}")
    return [statistic]


def _refuse_several(release: Release) -> None:
    """Refuse a chart of several tables at once."""
    if len(release.tables) > 1:
        which = ", ".join(f'"{name}"' for name in release.tables[-1])
        raise InvalidRequest(
            "A chart shows one table, and the release has several", f"Choose one: answer.table({which}).plot()."
        )


def _about(release: Release) -> list[str]:
    """Return what is said about all numbers of a release."""
    plan = release.plan
    bars = f"{percent(release.confidence)} error bars{_for_all(release.simultaneous)}"
    if all(str(each.name) in release._without_bars for each in plan.query.statistics):
        bars = "without error bars"
    found = _origin(release, bars)
    if release.shown != WHOLE:
        found.append(f"{len(release):,} of {plan.groups:,} groups: {release.shown.text}")
    if release.view == "nonnegative":
        found.append("Without negative numbers: biased.")
    return found


def _origin(release: Release, bars: str) -> list[str]:
    """Return where numbers come from: the source, the entry and its ε, and which bars they have."""
    epsilon = "the number of rows is public" if release.entry is None else f"ε = {exact.text(release.epsilon)}"
    entry = f", {entries_text(release.entries)}" if release.entries else ""
    test = [] if release.private else ["NOT PRIVATE: made with noise for tests."]
    return [*test, f"{release.plan.schema.name}{entry}: {bars}, {epsilon}"]


def _for_all(simultaneous: bool) -> str:
    return " for all cells at once" if simultaneous else ""


def _numbers(
    release: Release, statistic: Statistic, keys: Sequence[ChartKey], marks: Marks, about: Sequence[str]
) -> Numbers:
    """Return what a chart shows of one statistic."""
    plan, name = release.plan, str(statistic.name)
    words = about_statistic(plan, statistic)
    drawn = _drawn(release.estimates[name], marks, *shown_range(plan, statistic), release.suppress)
    along = axis(name, words, titled=False)
    if statistic.kind == "cdf":
        along = "share of rows below" if statistic.weight is None else "share of the weight below"
        keys = [*keys[:-1], _upper_ends(plan, keys[-1])]
    title = f"{name}: {words['title']}" if "title" in words else name
    zero = statistic.kind in _FROM_ZERO
    whole = release.shown == WHOLE
    return Numbers(title, tuple(about), along, tuple(keys), drawn, zero=zero, whole=whole)


def _drawn(estimate: Estimate, marks: Marks, low: float, high: float, suppress: bool) -> tuple[Drawn, ...]:
    """Return each number as it is drawn; ``low`` and ``high`` are the ends of what is possible."""
    values, lows, highs = (_plain(end) for end in estimate)
    found = []
    for value, bottom, top, mark in zip(values, lows, highs, marks.tolist(), strict=True):
        if mark == UNKNOWN or (bottom is None) != (top is None):
            bottom = top = None
        found.append(
            Drawn(
                value,
                bottom,
                top,
                usable=mark not in (HIGH, NOTHING),
                informs=mark != NOTHING,
                missing="left out: the noise is high" if suppress else "no number",
                low_bound=bottom is not None and bottom <= low and mark != NOTHING,
                high_bound=top is not None and top >= high and mark != NOTHING,
                noise=str(mark),
            )
        )
    return tuple(found)


def _plain(end: NDArray[Any]) -> list[float | None]:
    """Return numbers for JSON: None where there is none."""
    masked = np.ma.asarray(end)
    return [None if each is None or not math.isfinite(each) else each for each in masked.tolist()]


def _keys(plan: Plan, columns: Sequence[KeyColumn], places: Sequence[NDArray[np.int64]]) -> list[ChartKey]:
    """Return the keys of the groups; a table without keys is a total if there were others with it."""
    found = [
        ChartKey(
            axis(each.name, about_key(plan, each.at)),
            key_texts(columns, each.at),
            tuple(places[each.at].tolist()),
            *_order(each, plan),
        )
        for each in columns
        if each.is_key
    ]
    if not found and plan.several is not None:
        return [ChartKey("", (total_name(columns),), (0,))]
    return found


def _order(column: KeyColumn, plan: Plan | None) -> tuple[bool, tuple[float | str, ...] | None]:
    """Return whether the values of a key follow one another in equal steps, and where they lie on an axis if days."""
    days = [value for value in column.values if isinstance(value, date)]
    if days and len(days) == len(column.values):
        months = [12 * day.year + day.month for day in days if day.day == days[0].day]
        even = _are_even([day.toordinal() for day in days]) or (len(months) == len(days) and _are_even(months))
        return even, tuple(day.isoformat() for day in days) if days == sorted(days) else None
    if plan is None:
        return False, None
    key = plan.query.by[column.at]
    declared = plan.schema.columns[key]
    edges = dict(plan.query.edges).get(key) or declared.edges
    if edges is not None:  # the first and the last bin reach to the bounds
        first = edges[0] if declared.low is None else min(declared.low, edges[0])
        last = edges[-1] if declared.high is None else max(declared.high, edges[-1])
        return _are_even([first, *edges[1:-1], last]), None
    whole = [value for value in column.values if isinstance(value, int) and not isinstance(value, bool)]
    return declared.is_computed and len(whole) == len(column.values) and _are_even(whole), None


def _are_even(values: Sequence[int | Fraction]) -> bool:
    """Return whether numbers rise in equal steps."""
    steps = {after - before for before, after in pairwise(values)}
    return len(steps) <= 1 and all(step > 0 for step in steps)


def _upper_ends(plan: Plan, key: ChartKey) -> ChartKey:
    """Return the bins of a distribution function, each at its upper end."""
    edges = dict(plan.query.edges)[plan.query.by[-1]]
    return ChartKey(key.title, key.texts, key.at, True, tuple(float(edge) for edge in edges[1:]))
