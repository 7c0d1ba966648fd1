"""Exact laws: the probability of each output, computed without drawing; no false alarms except where stated.

The words that a release takes as randomness are laid out evenly (claim C2), and the noise it adds is compared with the
law that its plan declares.  With such noise, the log ratio of the probabilities of an output on a table and on its
neighbor is at most Σ |tally - tally′|/scale, and exactly that for some output; this must not exceed ε.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations, combinations_with_replacement
from typing import Any

import numpy as np

from ... import exact
from ...question import query
from ...question.schema import keys, number, plain
from ..finding import ALPHA, Finding, parts
from ..room import Room
from ..tools.even import ROUNDING, SPLIT, Even, Given, distance, even_law
from ..tools.neighbors import PUBLIC_N, Moved, placed, public_n_moves, questions
from ..tools.pooled import sharing
from .choices import choices
from .hierarchies import hierarchies
from .several import several_laws, several_shown

_GROUPS = 2**13
"""The number of groups in a release whose noise is laid out evenly."""

_TRIALS = 6_000


@sharing
def laws(room: Room) -> Iterator[Finding]:
    """Yield the laws of whole releases, of selections and of discovery."""
    yield from parts(
        room,
        several=lambda: chain(several_laws(room), several_shown(room)),
        hierarchies=lambda: hierarchies(room),
        noise=lambda: _noise_of_releases(room),
        shares=lambda: _shares(room),
        ratios=lambda: _ratios(room),
        medians=lambda: _selections(room),
        choices=lambda: choices(room),
        thresholds=lambda: _thresholds(room),
    )


_RELEASED: tuple[tuple[query.Statistic, ...], ...] = (
    (query.count(),),
    (query.sum("x"),),
    (query.mean("x"), query.count()),
    (query.variance("z"), query.proportion("x > 2")),
    (query.count("x"), query.sum("z")),
)


def _noise_of_releases(room: Room) -> Iterator[Finding]:
    """The noise in every cell of a release on an empty table has the law of the scale that the plan declares."""
    types = {"person": "BIGINT", "x": "DOUBLE", "z": "BIGINT", "group": "BIGINT"}
    nothing = room.table({name: [] for name in types}, types)
    columns = {"x": number(-3, 7), "z": number(-3, 7, integer=True), "group": keys(range(_GROUPS))}
    for statistics in _RELEASED:
        for described in ({}, {"person": "person", "rows_per_person": 3}, {"neighbors": "change_one"}):
            entropy, asked = Even(), room.source(nothing, columns=columns, **described)
            made = asked.release(*statistics, by="group", epsilon=2, entropy=entropy)
            what = f"{', '.join(each.text for each in statistics)}, {_described(described)}"
            drawn = [cell for part in made.cells for cell in part]
            fresh = sum(entropy.filled) >= len(drawn) * _GROUPS
            told = f"{sum(entropy.filled):,} words were drawn for {len(drawn) * _GROUPS:,} cells; each needs its own"
            yield Finding(f"randomness of {what}", fresh, told)
            for part, cells in zip(made.plan.parts, made.cells, strict=True):
                scale = made.plan.scale(part)
                worst = max(cells, key=lambda cell: distance(cell, scale))
                slack = SPLIT if scale >= 2**30 else 0.0
                yield even_law(f"noise of {part.measurement.name} in {what}", worst, scale, slack)


def _shares(room: Room) -> Iterator[Finding]:
    """However ε is split, by weights or by the errors asked for, the shares add up to what is charged."""
    types = {"x": "DOUBLE", "z": "BIGINT", "key": "VARCHAR"}
    nothing = room.table({name: [] for name in types}, types)
    columns = {"x": number(-3, 7), "z": number(-3, 7, integer=True), "key": keys("a", "b")}
    asked = (query.mean("x"), query.sum("z"), query.median("z"), query.proportion("x > 2"))
    split: tuple[dict[str, Any], ...] = (
        {"weights": {"x": 7, "z": 2}, "epsilon": 1}, {"error": 5}, {"error": {"mean_x": 1, "sum_z": 40}},
    )  # fmt: skip
    for neighbors in ("add_remove", "change_one"):
        source = room.source(nothing, columns=columns, neighbors=neighbors)
        for how in split:
            planned = source.plan(*asked, by="key", **how)
            made = source.release(*asked, by="key", epsilon=planned.epsilon, weights=how.get("weights"))
            spent, off = source.ledger.entries()[-2].epsilon, 0
            for plan in (planned, made.plan):
                off += sum((part.epsilon for part in plan.parts), Fraction(0)) != spent
                off += any(part.epsilon <= 0 or plan.setting(part).epsilon != part.epsilon for part in plan.parts)
            told = f"{off} of 4 sums are not the ε charged, which is {exact.text(spent or Fraction(0))}"
            yield Finding(f"the shares of ε, {_described({**how, 'neighbors': neighbors})}", off == 0, told)
        plan = source.plan(query.sum("x", share=3), query.sum("z"), epsilon=1)
        shares = [part.epsilon for part in plan.parts]
        told = f"share = 3 beside no share gives {', '.join(map(exact.text, shares))} of ε = 1, and 3/4 and 1/4 are due"
        yield Finding(f"a statistic without a share, {neighbors}", shares == [Fraction(3, 4), Fraction(1, 4)], told)


def _described(described: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in described.items()) or "rows"


def _ratios(room: Room) -> Iterator[Finding]:
    """Over all neighbors, the largest logarithm of the ratio of probabilities of whole releases is ε."""
    for people in (True, False):
        tables = placed(room, people)
        for question in questions():
            several = len(question.statistics) > 1 and not any(each.level for each in question.statistics)
            if question.people == people and several:
                yield _ratio(tables.moved(question))
    yield _ratio(public_n_moves(room, PUBLIC_N))


def _ratio(found: Moved) -> Finding:
    plan = found.plan
    scales = [plan.scale(part) for part in plan.parts]
    about = sum((each / float(scale) for each, scale in zip(found.pairs, scales, strict=True)), np.float64(0))
    nearly = np.unique([each[about >= about.max() * (1 - ROUNDING)] for each in found.pairs], axis=1).T
    largest = max(sum((int(d) / s for d, s in zip(pair, scales, strict=True)), Fraction(0)) for pair in nearly)
    told = f"the largest log ratio is {exact.text(largest)} of {exact.text(plan.epsilon)}, over {found.number:,} pairs"
    return Finding(f"log ratio of {found.question}", largest <= plan.epsilon, told)


# --- selection and discovery ---


def _selections(room: Room) -> Iterator[Finding]:
    """Medians of all tables of up to three rows over four values: the law of permute-and-flip, by its own formula.

    The law is exact; that releases follow it is seen from thousands of them.
    """
    epsilon, values = Fraction(2), range(4)
    tables = [rows for size in range(4) for rows in combinations_with_replacement(values, size)]
    law = {rows: _median_law(rows, values, epsilon) for rows in tables}
    losses = [
        abs(math.log(one / two))
        for rows in tables
        for i in range(len(rows))
        for one, two in zip(law[rows], law[rows[:i] + rows[i + 1 :]], strict=True)
    ]
    told = f"the largest log ratio is {max(losses):.12f} of {epsilon}, over {len(losses) // 4} pairs of neighbors"
    yield Finding("log ratio of a median", max(losses) <= epsilon * (1 + ROUNDING), told)
    trials = 10 * _TRIALS if room.deep else _TRIALS
    allowed = math.sqrt(math.log(2 * len(values) / ALPHA) / (2 * trials))
    types = {"group": "BIGINT", "x": "BIGINT"}
    columns = {"x": number(0, 3, integer=True), "group": keys(range(trials))}
    for rows in ((0, 3, 3), (1,)):
        cells = {"group": np.repeat(np.arange(trials), len(rows)).tolist(), "x": list(rows) * trials}
        asked = room.source(room.table(cells, types), columns=columns)
        made = asked.release(query.median("x"), by="group", epsilon=epsilon, intervals=False)
        shares = np.bincount(np.asarray(made.cells[0][0], dtype=np.int64), minlength=len(values)) / trials
        off = float(np.abs(shares - law[rows]).max())
        told = f"shares are within {off:.4f} of the law; {allowed:.4f} is allowed"
        yield Finding(f"medians of {rows}, {trials:,} times", off <= allowed, told, ALPHA)


def _median_law(rows: Sequence[int], values: Sequence[int], epsilon: Fraction) -> list[float]:
    """Return the probability of each value: coins e^(-εd) are flipped in random order, and the first head wins.

    P(v) = p(v)·Σ over sets S of others of (-1)^|S|/(|S| + 1)·Π p(u), with p = 1 for the least distance d.
    """
    aim = Fraction(len(rows), 2)
    below = [sum(row < v for row in rows) for v in values]
    upto = [sum(row <= v for row in rows) for v in values]
    off = [max(low - aim, aim - high, Fraction(0)) for low, high in zip(below, upto, strict=True)]
    heads = [math.exp(-epsilon * (each - min(off))) for each in off]
    found = []
    for i, own in enumerate(heads):
        others = heads[:i] + heads[i + 1 :]
        sets = [chosen for size in range(len(others) + 1) for chosen in combinations(others, size)]
        found.append(own * math.fsum((-1) ** len(each) / (len(each) + 1) * math.prod(each) for each in sets))
    return found


def _thresholds(room: Room) -> Iterator[Finding]:
    """The probability that the key of one person is shown, found by bisection over all words, is within δ."""
    delta = Fraction(1, 10**6)
    for most, neighbors in ((1, "add_remove"), (3, "add_remove"), (2, "change_one")):
        shown = _shown(room, delta, most, neighbors)
        scale = most * (1 if neighbors == "add_remove" else 2)
        lost, before = (-math.expm1(most * math.log1p(-shown * math.exp(up / scale))) for up in (0, 1))
        passed = lost <= delta * (1 + 1e-6) and before > delta
        told = f"δ = {lost:.4e} of {float(delta):.4e}; with a threshold lower by one it would be {before:.4e}"
        yield Finding(f"keys of one person, {most} each, {neighbors}", passed, told)


def _shown(room: Room, delta: Fraction, most: int, neighbors: Any) -> float:
    """Return the probability that a key of a single person is shown: the share of words that do it."""
    number = 1024
    cells: dict[str, list[Any]] = {"person": list(range(number)), "key": [f"{i:04}" for i in range(number)]}
    table = room.table(cells, {"person": "BIGINT", "key": "VARCHAR"})
    described: dict[str, Any] = {"columns": {"key": plain("text")}, "person": "person", "rows_per_person": most}
    low, high = 1, 2**62
    while high - low > number:
        words = np.linspace(low, high, number).astype(np.int64)  # small words make large noise
        asked = room.source(table, **described, neighbors=neighbors, delta="0.01")
        found = asked.discover("key", epsilon=1, delta=delta, keys_per_person=most, entropy=Given(words))
        last = len(found.keys)
        low, high = int(words[max(last - 1, 0)]), int(words[min(last, number - 1)])
    return low / 2**64
