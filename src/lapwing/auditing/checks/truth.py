"""Without noise a release is the truth, and its bars are as wide as the noise that was left out: exactly.

Tables and questions are drawn by a seed, and every statistic is computed a second time, from the rows, in plain Python.
The noise is 0 then, so nothing is left to chance.  What noise would do to a count or a sum is found by adding to one
noisy integer after the other; its exact law then says how often the bar holds, and a bar may not be much wider either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any, get_args

from ...measure.cells import column
from ...plan.plan import Plan
from ...question import query
from ...question.query import Statistic
from ...question.schema import WEIGHT, Column, keys, number
from ...release.result import Release
from ..finding import Finding
from ..room import Room
from ..tools.again import read_once, silence, with_cells
from ..tools.noise import all_inside, real_tail

SEED = 19
_TYPES = {"p": "BIGINT", "x": "DOUBLE", "z": "BIGINT", "k": "VARCHAR"}
_KEYS = ("a", "it's", 'q"\\')
_CONFIDENCES = (Fraction(19, 20), Fraction(1, 2), Fraction(999, 1000))

Row = Mapping[str, Any]
Test = Callable[[Row], bool | None]


@dataclass(frozen=True)
class KnownTable:
    """A table, what is declared about it, and whose rows count for how much."""

    rows: Sequence[Row]
    columns: Mapping[str, Column]
    described: Mapping[str, Any]

    def weighed(self, where: Test | None) -> list[tuple[Row, Fraction]]:
        """Return the rows that count, with their weights."""
        kept = [row for row in self.rows if where is None or where(row)]
        if "person" not in self.described:
            return [(row, Fraction(1)) for row in kept]
        kept, most = [row for row in kept if row["p"] is not None], self.described["rows_per_person"]
        found = []
        for row in kept:
            own = sum(other["p"] == row["p"] for other in kept)
            found.append((row, Fraction(1) if own <= most else Fraction(most * WEIGHT // own, WEIGHT)))
        return found

    def value(self, row: Row, name: str) -> Fraction | None:
        """Return a cell between the bounds; None if it is missing."""
        cell, declared = row[name], self.columns[name]
        if cell is None or not math.isfinite(cell):
            return None
        return min(max(Fraction(cell), declared.low or Fraction(0)), declared.high or Fraction(0))


def noiseless(room: Room) -> Iterator[Finding]:
    """Yield what releases without noise differ from the truth by, and how often their bars hold."""
    random, tables = Random(SEED), 60 if room.deep else 8
    values: dict[str, list[str | None]] = {}
    bars: list[str | None] = []
    for _ in range(tables):
        world = drawn_world(random)
        path = room.parquet({name: [row[name] for row in world.rows] for name in _TYPES}, _TYPES)
        source = room.source(path, columns=world.columns, **world.described)
        for turn in range(3):
            asked = drawn_question(random, world) if turn else _bins(random, world)
            options: dict[str, Any] = {"by": asked.by, "where": asked.where, "epsilon": random.choice((1, "0.1", 3))}
            plan = source.plan(*asked.statistics, **options)
            with silence():
                made = read_once(plan, path).release()
            for number_of, statistic in enumerate(plan.query.statistics):
                kind: str = asked.statistics[number_of].kind
                find = _bins_fault if kind in _HAVE_BINS else _fault
                values.setdefault(kind, []).append(find(world, asked, made, statistic))
                if statistic.is_linear and plan.answering(statistic):
                    bars.append(_bar_fault(made, statistic, random.choice(_CONFIDENCES), random.random() < 0.3))
    for name, found in sorted(values.items()):
        yield Finding(f"{name} without noise (seed {SEED})", not any(found), _told(found))
    missing = sorted({each for each in get_args(query.StatisticKind) if each not in values})
    yield Finding("every statistic is tried without noise", not missing, f"{len(missing)} is not: {', '.join(missing)}")
    yield Finding("the bars of counts and sums, by the law of their noise", not any(bars), _told(bars))
    yield _ranks(room)


def _told(found: Sequence[str | None]) -> str:
    wrong = [each for each in found if each is not None]
    return f"{len(wrong)} of {len(found)} are wrong, 0 are allowed" + (f": {wrong[0]}" if wrong else "")


_HAVE_BINS = {"histogram", "cdf"}
"""Statistics that group by bins of their own."""


# --- worlds and questions ---

_BOUNDS: tuple[tuple[Any, Any], ...] = (
    (0, 10), (2, 7), (-9, -4), ("-3.5", "12.25"), (0, 1), (10**14, 10**15 - 1), (-(10**14), 3),
)  # fmt: skip
_WHOLE_BOUNDS = ((0, 1), (-5, 20), (3, 9), (-20, -7), (10**14, 10**15 - 1), (-(2**53), 2**53), (-7, 900_000_000))


def drawn_world(random: Random) -> KnownTable:
    """Return a table with missing, odd and outlying cells, people with few rows and many, and bounds anywhere."""
    x, z = number(*random.choice(_BOUNDS)), number(*random.choice(_WHOLE_BOUNDS), integer=True)
    columns = {"x": x, "z": z, "k": keys(*_KEYS, other=random.choice((None, "others")))}
    described: dict[str, Any] = {"neighbors": random.choice(("add_remove", "change_one"))}
    if random.random() < 0.6:
        described |= {"person": "p", "rows_per_person": random.choice((1, 2, 3))}
    rows = [_row(random, x, z) for _ in range(random.choice((0, 1, 7, 40, 120)))]
    return KnownTable(rows, columns, described)


def _row(random: Random, x: Column, z: Column) -> Row:
    cells = []
    for declared in (x, z):
        low, high = declared.low or Fraction(0), declared.high or Fraction(0)
        inside = low + (high - low) * Fraction(random.randrange(0, 257), 256)
        beyond = random.choice((low, high, low - 5, high + 5, 2 * high + 1))
        cells.append(inside if random.random() < 0.7 else beyond)
    real = random.choice((None, math.nan, math.inf)) if random.random() < 0.25 else float(cells[0])
    whole = None if random.random() < 0.25 else int(cells[1])
    person = random.choice((None, 1, 1, 1, 1, 2, 2, *range(3, 40)))
    return {"p": person, "x": real, "z": whole, "k": random.choice((*_KEYS, "elsewhere", None))}


@dataclass(frozen=True)
class KnownQuestion:
    """Statistics by groups or not, and a condition with its meaning."""

    statistics: tuple[Statistic, ...]
    by: str | None
    where: str | None
    kept: Test | None
    share: Test

    def __str__(self) -> str:
        asked = ", ".join(each.text for each in self.statistics)
        return f"{asked} where {self.where or 'all'} by {self.by or 'nothing'}"


def _conditions(random: Random, world: KnownTable) -> list[tuple[str, Test]]:
    """Return conditions and what they mean; a comparison with a missing cell is neither true nor false."""
    middle = float(((world.columns["x"].low or 0) + (world.columns["x"].high or 0)) / 2)
    whole = int(((world.columns["z"].low or 0) + (world.columns["z"].high or 0)) / 2)

    def compare(name: str, test: Callable[[Any], bool]) -> Test:
        return lambda row: None if _is_missing(row[name]) else test(row[name])

    above, below = compare("x", lambda x: x > middle), compare("z", lambda z: z <= whole)
    key = compare("k", lambda k: k == _KEYS[1])

    def either(row: Row) -> bool | None:
        return True if above(row) or below(row) else None if None in (above(row), below(row)) else False

    def neither_a(row: Row) -> bool:
        return bool(either(row)) and row["k"] not in ("a", None)

    return [
        (f"x > {middle!r}", above),
        (f"z <= {whole}", below),
        (f"NOT (x > {middle!r})", lambda row: None if above(row) is None else not above(row)),
        ("k = 'it''s'", key),
        (f"x > {middle!r} OR z <= {whole}", either),
        (f"(x > {middle!r} OR z <= {whole}) AND k <> 'a'", neither_a),
        ("x IS NOT NULL", lambda row: not _is_missing(row["x"])),
        ("k IN ('a', 'it''s')", lambda row: row["k"] in _KEYS[:2]),
    ]


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and not math.isfinite(cell))


def drawn_question(random: Random, world: KnownTable) -> KnownQuestion:
    """Return one to four statistics of any kind, for all rows or by key, with a condition or without."""
    share, means = random.choice(_conditions(random, world)[:4])
    kinds: list[Statistic] = [query.count(), query.proportion(share)]
    for name in ("x", "z"):
        kinds += [query.count(name), query.sum(name), query.mean(name)]
        kinds += [query.variance(name, sample=random.random() < 0.5), query.std(name, sample=random.random() < 0.5)]
    some = random.choice(([query.min("z")], [query.median("x")], query.quantile("z", ["0.1", "0.5", "0.9", "1"])))
    kinds += some if random.random() < 0.5 else []
    if "person" in world.described:
        kinds += [query.people()] * 3
    where, kept = random.choice([(None, None), (None, None), *_conditions(random, world)])
    chosen = random.sample(kinds, random.choice((1, 2, 4, 6)))
    return KnownQuestion(tuple(dict.fromkeys(chosen)), random.choice((None, "k")), where, kept, means)


# --- the truth ---


def _fault(world: KnownTable, asked: KnownQuestion, made: Release, statistic: Statistic) -> str | None:
    """Return in which group a statistic differs from the truth, or lies outside of its bar; None if in none."""
    estimate = made.estimates[str(statistic.name)]
    labels = [label[0] for label in made.group_keys] if asked.by else [None]
    for i, label in enumerate(labels):
        rows = [each for each in world.weighed(asked.kept) if asked.by is None or _group(world, each[0]) == label]
        value, low, high = (Fraction(float(end[i])) for end in estimate)
        if statistic.kind == "quantile":
            if _quantile_fault(world, rows, statistic, (value, low, high)):
                return f"{statistic.text} of {asked}, {label}: {float(value)} in {float(low)} to {float(high)}"
            continue
        due = true_value(world, asked, made.plan, statistic, rows)
        if due is None:
            continue
        true, near = due
        if abs(value - true) > near or not low - near <= true <= high + near:
            return f"{statistic.text} of {asked}, {label}: {float(value)}, where {float(true)} is right"
    return None


def true_value(
    world: KnownTable, asked: KnownQuestion, plan: Plan, statistic: Statistic, rows: Sequence[tuple[Row, Fraction]]
) -> tuple[Fraction, Fraction] | None:
    """Return the statistic of some rows, and how far rounding may take it; None where it is not defined."""
    half = Fraction(1, 2) if "person" in world.described else Fraction(1, 10**6)
    total = sum((weight for _, weight in rows), Fraction(0))
    if statistic.kind == "people":
        return _people(world, asked, rows), half
    if statistic.counts_rows:
        return total, half
    if statistic.kind == "proportion":
        return (sum(w for row, w in rows if asked.share(row)) / total, Fraction(1, 10**9)) if total else None
    name = str(statistic.column)
    declared = world.columns[name]
    low, high = declared.low or Fraction(0), declared.high or Fraction(0)
    step = declared.grid.step if declared.grid else Fraction(1)
    values = [(world.value(row, name), weight) for row, weight in rows]
    public = plan.counts_publicly or any(each.public_rows and each.column == name for each in plan.measured)
    if public and statistic.kind not in ("count", "quantile"):
        values = [((low + high) / 2 if value is None else value, weight) for value, weight in values]
    known = [(value, weight) for value, weight in values if value is not None]
    n = sum((weight for _, weight in known), Fraction(0))
    size = max(abs(low), abs(high), Fraction(1))
    near = step + size / 10**9
    if statistic.kind == "count":
        return n, half
    if statistic.kind == "sum":
        return sum((v * w for v, w in known), Fraction(0)), n * near + half
    if not n:
        return None
    mean = sum((v * w for v, w in known), Fraction(0)) / n
    if statistic.kind == "mean":
        return mean, near
    spread = sum(((v - mean) ** 2 * w for v, w in known), Fraction(0)) / n
    if statistic.sample:
        if n < 3:
            return None
        spread = spread * n / (n - 1)
    near = 4 * (high - low) * step + (high - low) ** 2 / 10**9
    if statistic.kind == "variance":
        return spread, near
    return Fraction(math.sqrt(spread)), Fraction(math.sqrt(near)) + near


def _people(world: KnownTable, asked: KnownQuestion, rows: Sequence[tuple[Row, Fraction]]) -> Fraction:
    """Return the number of people with a row; those in more groups than they may count in count less in each."""
    total, most = Fraction(0), world.described["rows_per_person"]
    groups = len(_KEYS) + (world.columns["k"].other is not None) if asked.by else 1
    everywhere = world.weighed(asked.kept)
    for person in {row["p"] for row, _ in rows}:
        own = {_group(world, row) for row, _ in everywhere if row["p"] == person} - {None} if asked.by else {""}
        weight = WEIGHT if groups > most else 1
        total += Fraction(weight if len(own) <= most else most * weight // len(own), weight)
    return total


def _group(world: KnownTable, row: Row) -> Any:
    return row["k"] if row["k"] in _KEYS else world.columns["k"].other


def _quantile_fault(world: KnownTable, rows: Sequence[tuple[Row, Fraction]], statistic: Statistic, bar: Any) -> bool:
    """Return whether a quantile without noise has a wrong rank, or lies outside of its bar.

    Each of the choices before it may be off by a row; extremes aim some rows inside, and only their bars are looked at.
    """
    name, level = str(statistic.column), statistic.level or Fraction(0)
    known = sorted((value, weight) for row, weight in rows if (value := world.value(row, name)) is not None)
    if not known:
        return False
    declared = world.columns[name]
    step = declared.grid.step if declared.grid else Fraction(1)
    near = step + max(abs(known[0][0]), abs(known[-1][0])) / 10**9
    total = sum((weight for _, weight in known), Fraction(0))
    value, low, high = bar
    below = sum((weight for each, weight in known if each < value - near), Fraction(0))
    upto = sum((weight for each, weight in known if each <= value + near), Fraction(0))
    aim, due, reached = level * total, known[-1][0], Fraction(0)
    for each, weight in known:
        reached += weight
        if reached >= aim and reached > 0:
            due = each
            break
    inner = 0 < level < 1
    return (inner and not below - 3 <= aim <= upto + 3) or not low - near <= due <= high + near


def _ranks(room: Room) -> Finding:
    """Several quantiles of tables with ties and missing cells have their ranks, with bars around them of few rows."""
    rows = [{"p": i // 3, "x": None, "z": None if i % 7 == 0 else i * i % 53, "k": "a"} for i in range(600)]
    path = room.parquet({name: [row[name] for row in rows] for name in _TYPES}, _TYPES)
    columns = {"z": number(-10, 80, integer=True), "k": keys(*_KEYS)}
    levels, found = ["0", "0.05", "0.2", "0.5", "0.75", "0.9", "1"], []
    settings: tuple[dict[str, Any], ...] = ({}, {"person": "p", "rows_per_person": 2, "neighbors": "change_one"})
    for described in settings:
        world = KnownTable(rows, columns, described)
        plan = room.source(path, columns=columns, **described).plan(*query.quantile("z", levels), epsilon=400)
        with silence():
            made = read_once(plan, path).release()
        for statistic in plan.query.statistics:
            bar = [Fraction(float(end[0])) for end in made.estimates[str(statistic.name)]]
            wide = bar[2] - bar[1] > 12 and statistic.level not in (0, 1)  # the bars of extremes end at a bound
            fault = wide or _quantile_fault(world, world.weighed(None), statistic, bar)
            found.append(f"{statistic.text}: {bar[0]} in {bar[1]} to {bar[2]}" if fault else None)
    return Finding("ranks of quantiles without noise", not any(found), _told(found))


def _bins(random: Random, world: KnownTable) -> KnownQuestion:
    """Return a histogram or a distribution function over bins that the bounds do not fit."""
    low, high = (world.columns["z"].low or Fraction(0)), (world.columns["z"].high or Fraction(0))
    inner = sorted({math.floor(low + (high - low) * Fraction(random.randrange(1, 64), 64)) for _ in range(3)})
    edges = sorted({low - 1, *map(Fraction, inner), high + random.choice((0, 3))})
    kind = random.choice((query.histogram, query.cdf))
    where, kept = random.choice([(None, None), *_conditions(random, world)])
    return KnownQuestion((kind("z", edges),), None, where, kept, lambda row: None)


def _bins_fault(world: KnownTable, asked: KnownQuestion, made: Release, statistic: Statistic) -> str | None:
    """Return which bin differs from the truth, or lies outside of its bar; None if none does."""
    edges = asked.statistics[0].edges or ()
    known = [(Fraction(row["z"]), weight) for row, weight in world.weighed(asked.kept) if row["z"] is not None]
    counts = [Fraction(0)] * (len(edges) - 1)
    for value, weight in known:
        counts[max(sum(edge <= value for edge in edges[1:-1]), 0)] += weight
    total = sum(counts, Fraction(0))
    due, near = counts, Fraction(1, 2) if "person" in world.described else Fraction(0)
    if asked.statistics[0].kind == "cdf":
        if not total:
            return None
        due, near = [sum(counts[: i + 1], Fraction(0)) / total for i in range(len(counts))], Fraction(1, 10**9)
    for i, (value, low, high) in enumerate(zip(*made.estimates[str(statistic.name)], strict=True)):
        if abs(Fraction(float(value)) - due[i]) > near or not low - near <= due[i] <= high + near:
            return f"bin {i} of {asked}: {float(value)}, where {float(due[i])} is right"
    return None


# --- bars ---


def _bar_fault(made: Release, statistic: Statistic, confidence: Fraction, together: bool) -> str | None:
    """Return what is wrong with the bar of a count or a sum of the first group, by the exact law of its noise.

    ``together`` asks for bars that hold for all statistics, each of which may miss in its part of the cases, and for
    all groups.
    """
    name, plan = str(statistic.name), made.plan
    bar = made.at(confidence, simultaneous=together).estimates[name]
    if together:
        each = 1 - (1 - confidence) / len(plan.query.statistics)
        confidence = Fraction(math.exp(math.log(each) / plan.groups))
    made = replace(made, plan=replace(plan, query=replace(plan.query, statistics=(statistic,))))
    before = made.estimates[name]
    scales: list[Fraction] = []
    weights: list[Fraction] = []
    single = None
    for i in plan.answering(statistic):
        part = plan.parts[i]
        for place in range(len(made.cells[i])):
            step = 10**6 * max(int(plan.scale(part)), 1)
            after = _bumped(made, i, place, step).estimates[name]
            weight = abs(Fraction(float(after.value[0])) - Fraction(float(before.value[0]))) / step
            if weight * plan.scale(part) > Fraction(1, 10**3) * max(scales, default=Fraction(0)):
                weights.append(weight)
                scales.append(weight * plan.scale(part))
                single = plan.scale(part)
    half = (Fraction(float(bar.high[0])) - Fraction(float(bar.low[0]))) / 2
    whole, people = before.value.dtype.kind == "i", plan.schema.person is not None
    return _width_fault(half, scales, weights, single, whole, people, confidence)


def _bumped(made: Release, part: int, place: int, step: int) -> Release:
    """Return the release if one of its noisy integers, of the first group, were larger."""
    cells = [[each.astype(object) for each in some] for some in made.cells]
    cells[part][place][0] += step
    return with_cells(made, [[column(each) for each in some] for some in cells])


def _width_fault(
    half: Fraction,
    scales: Sequence[Fraction],
    weights: Sequence[Fraction],
    single: Fraction | None,
    shown_whole: bool,
    people: bool,
    confidence: Fraction,
) -> str | None:
    """Return what is wrong with a half-width; None if nothing is."""
    exactly = not shown_whole or (len(weights) == 1 and weights[0].denominator == 1)
    rounding = Fraction(0) if exactly else Fraction(-1, 2) if people else Fraction(1)
    less = Fraction(98, 100) * half - (0 if exactly else 2)
    if len(scales) == 1 and single is not None:
        inside = [math.floor(each / weights[0] * (1 + Fraction(1, 10**9))) for each in (half + rounding, less)]
        held, narrower = (float(all_inside(single, each, 1)) for each in (inside[0], inside[1] - 1))
    else:
        slack = sum(weights, Fraction(0))
        reach = [max(float(each), 0.0) for each in (half + rounding + slack / 10**6, less - 2 * slack)]
        held, narrower = (1 - real_tail(scales, each) for each in reach)
    fine = held >= float(confidence) * (1 - 1e-6) and narrower < float(confidence)
    return None if fine else f"±{float(half):.6g} holds with {held:.6f} of {float(confidence)}"
