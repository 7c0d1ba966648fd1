"""Bounds that are looked for: the bins, what is asked, and what a recorded histogram then says (claim K4).

The borders of the bins and the numbers that follow from a histogram are computed here from the text of the claim.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import cache, partial
from typing import Any

import numpy as np

from ...noise.entropy import EntropyForTests
from ...noise.weighted import margins
from ...plan.clipped import Share
from ...question.schema import Column, Grid, Schema, number, plain
from ...release.bounds import Bounds, edges, ends, plan_bounds, seen
from ..room import Room
from ..tools.meaning import Cases, Denied, F
from ..tools.neighbors import SEED

_TOP = 10**15


def sought_bounds(room: Room) -> dict[str, Cases]:
    """Return searches for bounds."""
    whole, real = _Given(room, True), _Given(room, False)
    return {
        "bins of bounds": _bins(),
        "plans of bounds": _plans(),
        "bounds of whole numbers": _found(whole),
        "bounds of numbers": _real(real),
        "rows outside bounds": _outside(whole),
        "bounds as they are shown": _shown(whole, real),
        "bounds of people": _people(_Given(room, True, person="p", rows_per_person=2)),
    }


@cache
def _borders(integer: bool) -> list[F]:
    """Return the borders above zero: 1, 2 and 5 times the powers of ten, up to 10^15."""
    powers = range(0 if integer else -9, 15)
    return [F(times) * F(10) ** power for power in powers for times in (1, 2, 5)] + [F(_TOP)]


def _ends(integer: bool) -> list[tuple[F, F]]:
    above = _borders(integer)
    steps = list(zip([F(0), *above] if integer else above, above if integer else above[1:], strict=False))
    return [(-b, -a) for a, b in reversed(steps)] + [(F(0), F(0)), *steps]


def _bins() -> Cases:
    return [
        (lambda: ends(True), _ends(True)),
        (lambda: ends(False), _ends(False)),
        (lambda: [_bin(value, True) for value in range(-25, 26)], [_true_bin(value, True) for value in range(-25, 26)]),
        (
            lambda: [_bin(value, False) for value in _reals()],
            [_true_bin(value, False) for value in _reals()],
        ),
        (lambda: [_bin(value, True) for value in _wholes()], [_true_bin(value, True) for value in _wholes()]),
    ]


def _wholes() -> list[int]:
    near = [int(border) + off for border in _borders(True)[3:] for off in (-1, 0, 1)]
    return [*near, *(-value for value in near)]


def _reals() -> list[float]:
    """Return the borders as floats, and their neighbors."""
    near = [float(border) for border in _borders(False)]
    near += [math.nextafter(value, side) for value in near for side in (0.0, math.inf)]
    return [0.0, *near, *(-value for value in near)]


def _bin(value: float, integer: bool) -> int:
    """Return the bin that a value lies in as the engine compares it: [a, b), and the last for what is above."""
    cut = _cut(integer)
    return min(max(bisect_right(cut, float(value)) - 1, 0), len(cut) - 2)


@cache
def _cut(integer: bool) -> list[float]:
    return list(map(float, edges(integer)))


def _true_bin(value: float, integer: bool) -> int:
    """Return the bin of a value by the claim: it lies where |a| < |value| ≤ |b|, or in the one around zero."""
    above, size = _borders(integer), abs(F(repr(value)))
    bins = len(above) if integer else len(above) - 1
    least = F(0) if integer else above[0]
    if size <= least:
        return bins
    place = next((i for i, border in enumerate(above) if size <= border), len(above) - 1) + (1 if integer else 0)
    place = min(place, bins)
    return bins + place if value > 0 else bins - place


# --- plans ---


def _schema(**more: Any) -> Schema:
    columns = {
        "x": number(0, 9, missing=[99]), "i": Column("integer"), "k": Column("text"), "y": number(0, 1),
        "c": number(0, 9, integer=True), "s": replace(number(0, 9), expression=_as_named("x")),
    }  # fmt: skip
    return Schema("t", columns, **more)


def _as_named(column: str) -> Any:
    from ...question.expression import Named

    return Named(column)


def _plans() -> Cases:
    whole, real = number(-_TOP, _TOP, integer=True), number(-_TOP, _TOP)
    return [
        (lambda: _plan("x").schema.columns["x"], replace(real, missing=(F(99),))),
        (lambda: _plan("i").schema.columns["i"], whole),
        (lambda: _plan("i").schema.columns["i"].grid, Grid(F(2**20), -(953674317), 953674317)),
        (lambda: _plan("X").query.by, ("x",)),
        (lambda: dict(_plan("x").query.edges), {"x": edges(False)}),
        (lambda: dict(_plan("c").query.edges), {"c": edges(True)}),
        (lambda: str(_plan("x", where="y > 0.5").query.where), '"y" > 0.5'),
        (lambda: str(_plan("x", where="x > 20").query.where), '"x" > 20'),
        (lambda: _plan("x", epsilon="0.5").epsilon, F(1, 2)),
        (lambda: _plan("x").groups, len(_ends(False))),
        (lambda: _plan("i").groups, len(_ends(True))),
        (lambda: seen(_plan("i", epsilon="0.1")), 2 * _margin(F(10), 93)),
        (lambda: seen(_plan("x", epsilon="0.1")), 2 * _margin(F(10), 145)),
        (
            lambda: seen(plan_bounds(_schema(person="p", rows_per_person=3), "i", epsilon="0.1")),
            math.ceil(F(2 * _margin(F(3 * 65536 * 10), 93), 65536)),
        ),
        (lambda: _plan("k"), Denied('bounds of "k", which is not a number')),
        (lambda: _plan("s"), Denied('bounds of "s", which is computed')),
        (lambda: _plan("no"), Denied('"no" is not a declared column')),
        (lambda: _plan("x", where="s > 5"), Denied('a condition on what is computed from "x"')),
        (lambda: _plan("x", where="no > 5"), Denied('"no" is not a declared column')),
        (lambda: str(_plan("i", where="s > 5").query.where), '"s" > 5'),
        *[(lambda each=each: _plan("x", epsilon=each), Denied("ε is a decimal")) for each in (0, 1001, "1/3")],
    ]


def _plan(column: str, **changed: Any) -> Any:
    return plan_bounds(_schema(), column, **{"epsilon": 1, **changed})


def _margin(scale: F, cells: int) -> int:
    """Return the smallest m that so many draws stay within at once with 95 % (claim A2)."""
    a = 1 / float(scale)
    most = -math.expm1(math.log(0.95) / cells)
    guess = max(int(-math.log(most * (1 + math.exp(-a)) / 2) / a) - 3, 0)
    return next(m for m in range(guess, guess + 9) if 2 * math.exp(-a * (m + 1)) / (1 + math.exp(-a)) <= most)


# --- answers ---


class _Given:
    """A recorded histogram: that of a release, with other numbers in it."""

    def __init__(self, room: Room, integer: bool, **described: Any) -> None:
        kind = "integer" if integer else "number"
        table = room.parquet({"x": [1, 2], "p": ["a", "b"]}, {"x": "BIGINT" if integer else "DOUBLE", "p": "VARCHAR"})
        source = room.source(table, columns={"x": plain(kind, [-99])}, **described)
        self._made = source.bounds("x", epsilon="0.5", entropy=EntropyForTests(SEED))
        self.ends = _ends(integer)
        self.weight = 65536 if described else 1
        self.scale = F(2 * (2 * 65536 if described else 1))
        self.margin = _margin(self.scale, len(self.ends))

    def __call__(self, counts: dict[int, int], near: int = 0) -> Bounds:
        """Return the bounds of so many rows in the bins, by their distance from the one around zero."""
        cells = np.full(len(self.ends), near, dtype=np.int64)
        for place, rows in counts.items():
            cells[len(self.ends) // 2 + place] = rows
        release = self._made.release
        return Bounds(replace(release, answer={**release.answer, "cells": [[cells.tolist()]], "private": True}))


def _both(found: Bounds) -> tuple[F, F]:
    return found.low, found.high


def _found(given: _Given) -> Cases:
    m = given.margin
    none = Denied('No bin of "x" is above the noise of')
    return [
        (lambda: (given({}).name, given({}).integer), ("x", True)),
        (lambda: given({}).margin, F(m)),
        (lambda: _both(given({1: 500, 4: 500})), (F(0), F(10))),
        (lambda: _both(given({2: 500, 3: 500})), (F(1), F(5))),
        (lambda: _both(given({3: 500, 5: 500})), (F(0), F(20))),
        (lambda: _both(given({3: 500, 4: 500})), (F(2), F(10))),
        (lambda: _both(given({5: 500, 7: 500})), (F(0), F(100))),
        (lambda: _both(given({5: 500, 6: 500})), (F(10), F(50))),
        (lambda: _both(given({-2: 500, 3: 500})), (F(-2), F(5))),
        (lambda: _both(given({-4: 500, -3: 500})), (F(-10), F(-2))),
        (lambda: _both(given({-5: 500, -3: 500})), (F(-20), F(0))),
        (lambda: _both(given({-6: 500, -5: 500})), (F(-50), F(-10))),
        (lambda: _both(given({0: 500})), (F(0), F(1))),
        (lambda: _both(given({0: 500, 1: 500})), (F(0), F(1))),
        (lambda: _both(given({-1: 500, 0: 500})), (F(-1), F(0))),
        (lambda: _both(given({46: 500})), (F(5 * 10**14), F(_TOP))),
        (lambda: _both(given({-46: 500})), (F(-_TOP), F(-5 * 10**14))),
        (lambda: _both(given({3: m + 1}, m)), (F(2), F(5))),
        (lambda: _both(given({}, m)), none),
        (lambda: given({}).column(), none),
        (lambda: given({}).outside, none),
        (lambda: given({2: 500, 3: 500}).column(), number(1, 5, integer=True, missing=[-99])),
        (lambda: [tuple(each) for each in given({2: 500, -1: m + 1, 9: m}).occupied],
         [(F(-1), F(0), m + 1, 1, 2 * m + 1), (F(1), F(2), 500, 500 - m, 500 + m)]),
    ]  # fmt: skip


def _real(given: _Given) -> Cases:
    m = given.margin
    return [
        (lambda: (given({}).name, given({}).integer), ("x", False)),
        (lambda: given({}).margin, F(m)),
        (lambda: _both(given({0: 500})), (F(0), F(1, 10**9))),
        (lambda: _both(given({1: 500})), (F(1, 10**9), F(2, 10**9))),
        (lambda: _both(given({27: 500})), (F(5, 10), F(1))),
        (lambda: _both(given({28: 500, 30: 500})), (F(0), F(10))),
        (lambda: _both(given({28: 500, 29: 500})), (F(1), F(5))),
        (lambda: given({28: 500}).column(), number(1, 2, missing=[-99])),
    ]


def _outside(given: _Given) -> Cases:
    cells = {-3: 40, 0: 100, 1: 200, 4: 600, 7: 60}
    wide = given(cells)
    cases: list[tuple[F, F, list[int], list[int], bool]] = [
        (F(-5), F(100), list(range(-3, 8)), list(range(-3, 8)), True),
        (F(0), F(10), list(range(5)), list(range(5)), True),
        (F(0), F(9), list(range(5)), list(range(4)), False),
        (F(-4), F(100), list(range(-3, 8)), list(range(-2, 8)), False),
        (F(-1), F(15), list(range(-1, 6)), list(range(-1, 5)), True),
        (F(1), F(10), [1, 2, 3, 4], [2, 3, 4], False),
        (F(-_TOP), F(_TOP), list(range(-46, 47)), list(range(-45, 46)), True),
        (F(-2 * _TOP), F(2 * _TOP), list(range(-46, 47)), list(range(-45, 46)), True),
        (F(-3 * _TOP), F(-2 * _TOP), [-46], [], True),
        (F(2 * _TOP), F(3 * _TOP), [46], [], True),
        (F(1, 2), F(3, 4), [1], [], False),
    ]
    found: list[tuple[Callable[[], Any], Any]] = [
        (partial(_floats_beyond, wide, low, high), _beyond(given, cells, touching, within, known))
        for low, high, touching, within, known in cases
    ]
    inside = list(range(-3, 8))
    return [
        *found,
        (lambda: _floats(wide.outside), _beyond(given, cells, inside, inside, True)),
        (lambda: _floats(given({2: 500, 5: -30}).outside), _beyond(given, {2: 500, 5: -30}, [2], [2], True)),
        (
            lambda: _floats(given({2: 500, 5: given.margin}).outside),
            _beyond(given, {2: 500, 5: given.margin}, [2], [2], True),
        ),
    ]


def _beyond(
    given: _Given, cells: dict[int, int], touching: list[int], within: list[int], known: bool
) -> tuple[float | None, float, float]:
    """Return the share of rows outside, where bins that touch the bounds, or lie within them, count as inside."""
    bins = len(given.ends)
    sure = 1 - F(1, 20 * bins * (bins + 1))

    def numbers(inside: list[int]) -> tuple[float, float, float, float]:
        rows = sum(cells.get(place, 0) for place in inside)
        off, off_beyond = (
            margins(np.ones((n, 1)), given.scale, sure)[0] if n else 0.0 for n in (len(inside), bins - len(inside))
        )
        return rows, sum(cells.values()) - rows, off, off_beyond

    rows, beyond, off, off_beyond = numbers(touching)
    least = _share(max(beyond - off_beyond, 0.0), rows + off)
    value = _share(max(beyond, 0), max(rows, 0)) if known else None
    rows, beyond, off, off_beyond = numbers(within)
    return value, least, _share(max(beyond + off_beyond, 0.0), max(rows - off, 0.0))


def _floats_beyond(wide: Bounds, low: F, high: F) -> Share:
    return _floats(wide.beyond(low, high))


def _floats(share: Share) -> Share:
    value, low, high = share
    return None if value is None else float(value), float(low), float(high)


def _share(part: float, rest: float) -> float:
    return part / (part + rest) if part + rest > 0 else float(part > 0)


def _shown(whole: _Given, real: _Given) -> Cases:
    m, two = whole.margin, whole({2: 500, 3: 400})
    at = datetime(2020, 1, 1)
    value, low, high = _beyond(whole, {2: 500, 3: 400}, [2, 3], [2, 3], True)
    bins = [(F(1), F(2), 500), (F(2), F(5), 400)]
    told = {
        "column": "x", "low": "1", "high": "5", "integer": True, "margin": str(m),
        "outside": {"value": value, "low": low, "high": high},
        "occupied": [
            {"low": str(a), "high": str(b), "count": {"value": n, "low": n - m, "high": n + m}} for a, b, n in bins
        ],
    }  # fmt: skip
    none: dict[str, Any] = {"low": None, "high": None, "outside": None, "occupied": []}
    lines = "".join(f"{a},{b},{n},{n - m},{n + m}\n" for a, b, n in bins)
    return [
        (lambda: two.to_toml(), "[columns.x]\nlow = 1\nhigh = 5\ninteger = true\nmissing = [-99]\n"),
        (lambda: real({26: 500}).to_toml(), "[columns.x]\nlow = 0.2\nhigh = 0.5\nmissing = [-99]\n"),
        (lambda: two.to_csv(), "low,high,count,count_low,count_high\n" + lines),
        (lambda: {name: two.to_dict()[name] for name in told}, told),
        (lambda: {name: whole({}).to_dict()[name] for name in none}, none),
        (lambda: "private" in two.to_dict(), False),
        (lambda: [name for name in ("confidence", "rows", "columns", "notes", "view") if name in two.to_dict()], []),
        (lambda: (two.to_dict()["source"], two.to_dict()["epsilon"], two.entry), ("t", "0.5", 2)),
        (lambda: whole._made.to_dict()["private"], False),
        (lambda: two.beside(at, "new").new_ledger, "new"),
        (lambda: two.beside(at).release.modified_at, None),
    ]


def _people(given: _Given) -> Cases:
    m, weight = given.margin, 65536
    one = given({2: 500 * weight})
    bar = (math.floor(F(500 * weight - m, weight)), math.ceil(F(500 * weight + m, weight)))
    return [
        (lambda: one.margin, F(m, weight)),
        (lambda: _both(one), (F(1), F(2))),
        (lambda: [each[:3] for each in map(tuple, one.occupied)], [(F(1), F(2), 500)]),
        (lambda: [bar[0] - 1 <= each.value_low <= bar[0] + 1 for each in one.occupied], [True]),
        (lambda: [bar[1] - 1 <= each.value_high <= bar[1] + 1 for each in one.occupied], [True]),
        (lambda: given({2: m}).to_dict()["low"], None),
        (lambda: given({2: m + 1}).to_dict()["low"], "1"),
    ]
