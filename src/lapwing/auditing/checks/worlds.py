"""Worlds drawn at random: what one person can move is covered by what was charged, and nothing else changes.

Every world is a declaration, a table, a neighbor of it and a question.  The noise is a script (claim C5), so that the
cost of a release between the two tables is computed exactly, and everything else that can be observed is compared.
Without noise, a release must show the truth, which is computed row by row.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from time import monotonic
from typing import Any

from ...errors import RequestError
from ...plan.plan import Plan
from ...question import sql
from ...release.discover import Discovery, KeyPlan
from ...release.result import Release
from ...release.rows_per_person import RowsPerPerson, RowsPlan
from ..finding import Finding, parts
from ..room import Room
from ..tools.joined import NO_JOINS
from ..tools.pooled import pooled
from ..tools.running import Running, Seen
from ..tools.script import MARK, Noise, Script
from ..tools.truth import missed
from ..tools.worlds import Row, World, draw_world, extremes

WORLDS = 360
_EVERY = 6
"""Of so many worlds one is asked as users ask, of a source with a ledger, and its answer is compared in every form."""

_SLOW = {"quantile", "cdf"}
"""Statistics whose error bars take long to compute, also quotients of several tables: shown in some worlds only."""

_PATIENCE = 80
"""How many smaller worlds are tried to make a witness smaller."""


@dataclass(frozen=True)
class Broken:
    """A promise that a world breaks, and how."""

    promise: str
    how: str


@dataclass
class Examined:
    """How much was looked at."""

    worlds: int = 0
    refused: int = 0
    pairs: int = 0
    largest: Fraction = Fraction(0)


PROMISES = {
    "cost": "one person costs at most the ε that is charged",
    "noise": "every number that is returned has noise of its own",
    "same": "neighbors that get the same numbers differ in nothing",
    "truth": "without noise, the answer is the truth",
    "read": "every question that is granted is answered, whatever the cells",
}


def worlds(room: Room) -> Iterator[Finding]:
    """Yield every promise that a world breaks, with a small witness, and in the end those that none broke."""
    yield from parts(room, drawn=lambda: _drawn(room))


def _drawn(room: Room) -> Iterator[Finding]:
    broken: set[str] = set()
    tally = Examined()
    with pooled() as root:
        running = Running(room, root)
        for seed in seeds(room):
            world = draw_world(seed)
            every_form = seed % _EVERY == 0
            found = examined(running, world, tally, every_form)
            room.tick()
            if found is not None and found.promise not in broken:
                broken.add(found.promise)
                witness, how = shrunk(running, world, found, every_form)
                yield Finding(PROMISES[found.promise], False, f"{how}; {witness}")
                if len(broken) == len(PROMISES):
                    break
    told = f"in {tally.worlds:,} worlds from number {room.seed} on, with {tally.pairs:,} neighbors"
    told += f"; {tally.refused:,} worlds were refused"
    for promise, what in PROMISES.items():
        if promise not in broken:
            cost = f"; the largest cost is {float(tally.largest):.6f} of ε" if promise == "cost" else ""
            yield Finding(what, True, told + cost)
    yield Finding("few worlds are refused", tally.refused <= tally.worlds // 10, told)


def seeds(room: Room) -> Iterator[int]:
    """Yield the numbers of the worlds: as many as a usual audit looks at, and for a deep one while there is time."""
    end = monotonic() + 60 * room.minutes if room.deep else 0.0
    for number in count(room.seed):
        if number >= room.seed + WORLDS and monotonic() >= end:
            return
        yield number


def examined(running: Running, world: World, tally: Examined, every_form: bool = True) -> Broken | None:
    """Return the first promise that a world breaks, or None."""
    tally.worlds += 1
    table = running.table(world, (*world.others, *world.before))
    try:
        plan = running.plan(world, table)
    except RequestError:
        tally.refused += 1
        return None
    if isinstance(plan, KeyPlan):
        tally.pairs += 1
        neighbor = running.table(world, (*world.others, *world.after))
        return _keys(running, plan, [table, neighbor], world, tally)
    if isinstance(plan, Plan) and sql.parse(plan.query.text, plan.schema, recorded=True).text != plan.query.text:
        return Broken("same", f"what the ledger records is read as another question: {plan.query.text}")
    return _released(running, plan, table, world, tally, every_form)


def _as_users(running: Running, world: World, runs: Sequence[tuple[Any, Script]]) -> Broken | None:
    """Ask the question of two sources with ledgers, with noise that gives both the same numbers, and once more.

    What is left in their folders is the same; each is charged once, what was asked, and answers the same again.
    """
    asked = [running.ask(world, table, script) for table, script in runs]
    (first, source), (second, _) = asked
    if first.error is not None or second.error is not None:
        return Broken("read", str(first.error or second.error))
    if first.said != second.said:
        return Broken("same", _difference(first, second))
    again = running.again(world, source, Script(lambda i: 7 * i % 31 - 15))
    if again.error is not None or again.cells != first.cells:
        return Broken("same", again.error or "the same question has two answers")
    charges = [(entry.epsilon, entry.delta) for entry in source.make_ledger().entries() if entry.kind == "charge"]
    options = world.question.arguments
    due = [(Fraction(options["epsilon"]), Fraction(options.get("delta", 0)))] if first.script.scales else []
    if first.script.scales and charges != due:
        return Broken("cost", f"{len(charges)} charges are in the ledger, of {charges} where {due} was asked")
    return None


def _released(
    running: Running, plan: Plan | RowsPlan, table: Any, world: World, tally: Examined, every_form: bool
) -> Broken | None:
    one = running.answer(world, plan, table, Script(seed=len(world.others)))
    marked = running.answer(world, plan, table, Script(lambda i: (i + 1) * MARK, one.script.chosen))
    if one.error is not None or marked.error is not None:
        return Broken("read", str(one.error or marked.error))
    most: tuple[Fraction, dict[int, int], Any] | None = None
    seen = [(world.before, one)]
    for after in (world.after, *extremes(world)):
        neighbor = running.table(world, (*world.others, *after))
        other = running.answer(world, plan, neighbor, Script(places=one.script.chosen))
        if other.error is not None:
            return Broken("read", f"{other.error}, where one has {after}")
        for before, first in seen if world.described["neighbors"] == "change_one" else seen[:1]:
            tally.pairs += 1
            noise, cost = _compared(first, other, marked, one)
            if isinstance(noise, Broken):
                return replace(noise, how=f"{noise.how}, where one has {before} or {after}")
            if cost > Fraction(world.question.epsilon):
                told = f"one person costs {float(cost):.6f} of ε = {world.question.epsilon} with {before} or {after}"
                return Broken("cost", told)
            if first is one and (most is None or cost > most[0]):
                most = cost, noise, neighbor
        seen.append((after, other))
    assert most is not None
    cost, noise, neighbor = most
    if every_form and str(running.plan(world, neighbor)) != str(plan):
        return Broken("same", "neighbors have different plans")
    tally.largest = max(tally.largest, cost / Fraction(world.question.epsilon))
    coupled = running.answer(world, plan, neighbor, Script(_by_number(noise), one.script.chosen))
    if coupled.error is not None or coupled.said != one.said:
        return Broken("same", coupled.error or _difference(one, coupled))
    if every_form:
        chosen = one.script.chosen
        scripts = (table, Script(places=chosen)), (neighbor, Script(_by_number(noise), chosen))
        return _as_users(running, world, scripts) or _true(world, one)
    return None if _is_slow(plan) else _true(world, one)


def _is_slow(plan: Plan | RowsPlan) -> bool:
    """Return whether the error bars of an answer take long to compute."""
    if not isinstance(plan, Plan):
        return False
    statistics = plan.query.statistics
    quotients = plan.several is not None and not all(each.is_linear for each in statistics)
    return quotients or bool(_SLOW & {each.kind for each in statistics})


def _compared(one: Seen, other: Seen, marked: Seen, plain: Seen) -> tuple[dict[int, int] | Broken, Fraction]:
    """Return the noise that gives the neighbor the same numbers, by the number of the draw, and what it costs.

    ``marked`` and ``plain`` are the same table with noise that identifies its draw, and without noise.
    """
    cost, noise = Fraction(0), dict[int, int]()
    if one.script.calls != other.script.calls:
        return Broken(
            "same", f"neighbors draw different noise: {one.script.calls[:2]} and {other.script.calls[:2]}"
        ), cost
    try:
        cost += sum((a.cost(b) for a, b in zip(one.script.races, other.script.races, strict=True)), cost)
    except ValueError as error:
        return Broken("same", str(error)), cost
    for a, b, c, d in zip(one.cells, other.cells, marked.cells, plain.cells, strict=True):
        draw, left = divmod(c - d, MARK)
        if left or draw - 1 in noise or not 0 <= draw <= len(one.script.scales):
            return Broken("noise", "numbers share noise, or have more than one draw of it"), cost
        if draw:
            noise[draw - 1] = a - b
            cost += abs(a - b) / one.script.scales[draw - 1]
        elif a != b:
            return Broken("noise", f"a number without noise is {a} or {b}"), cost
    return noise, cost


def _by_number(noise: dict[int, int]) -> Noise:
    return lambda number: noise.get(number, 0)


def _difference(one: Seen, other: Seen) -> str:
    for (who, a), (_, b) in zip(one.said, other.said, strict=False):
        if a != b:
            at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0)
            return f"{who} says {a[max(at - 30, 0) : at + 30]!r} or {b[max(at - 30, 0) : at + 30]!r}"
    return f"{len(one.said)} texts or {len(other.said)}"


def _true(world: World, seen: Seen) -> Broken | None:
    """Compare what is shown without noise with the truth."""
    if isinstance(seen.answer, RowsPerPerson):
        bins, right = {each.most: each.value for each in seen.answer.bins if each.value}, _people_by_rows(world)
        return None if bins == right else Broken("truth", f"people by number of rows are {bins} where {right} is true")
    if not isinstance(seen.answer, Release):
        return None
    wrong = missed(world, (*world.others, *world.before), seen.answer)
    return None if wrong is None else Broken("truth", wrong)


def _people_by_rows(world: World) -> dict[int | None, int]:
    """Return how many people have how many rows, by the largest number of their bin."""
    rows: Counter[Any] = Counter()
    for row in world.joined((*world.others, *world.before)):
        condition = world.question.condition
        if row[0] is not None and (condition is None or condition.holds(world.typed(row)) is True):
            rows[row[0]] += row[-1]
    most = [*range(1, 11), *(int(f"{times}{'0' * zeros}") for zeros in range(1, 6) for times in (2, 5, 10))]
    return dict(Counter(next((each for each in most if each >= number), None) for number in rows.values()))


# --- keys that are discovered ---


def _keys(running: Running, plan: KeyPlan, tables: Sequence[Any], world: World, tally: Examined) -> Broken | None:
    """Compare the counts of all keys that occur, which reach the threshold because their noise is large."""
    exact: list[dict[Any, int]] = []
    order: list[dict[Any, int]] = []
    scales: list[Fraction] = []
    for table in tables:
        seen = running.answer(world, plan, table, Script(lambda i: (i + 1) * MARK))
        if not isinstance(seen.answer, Discovery):
            return Broken("read", str(seen.error))
        if list(seen.answer.keys) != sorted(seen.answer.keys):
            return Broken("same", "keys are shown in another order than their own")
        drawn = [divmod(each, MARK) for each in seen.answer.counts]
        if len({draw for draw, _ in drawn}) < len(drawn) or any(
            not 0 < draw <= len(seen.script.scales) for draw, _ in drawn
        ):
            return Broken("noise", "keys share their noise")
        exact.append(dict(zip(seen.answer.keys, (left for _, left in drawn), strict=True)))
        order.append(dict(zip(seen.answer.keys, (draw - 1 for draw, _ in drawn), strict=True)))
        scales += seen.script.scales
    scale = min(scales, default=Fraction(1))
    everywhere = {*exact[0], *exact[1]}
    cost = sum((abs(exact[0].get(key, 0) - exact[1].get(key, 0)) / scale for key in everywhere), Fraction(0))
    epsilon, delta = Fraction(world.question.epsilon), Fraction(dict(world.question.options)["delta"])
    tally.largest = max(tally.largest, cost / epsilon)
    if cost > epsilon:
        return Broken("cost", f"one person costs {float(cost):.6f} of ε = {world.question.epsilon}")
    shown = max(
        _seen_by(plan.threshold, scale, [n for key, n in a.items() if key not in b]) for a, b in (exact, exact[::-1])
    )
    if shown > float(delta) * (1 + 1e-9):
        return Broken("cost", f"a key of one person is shown with probability {shown:.3g}, and δ is {float(delta):g}")
    if sum(exact[0].values()) != _due(world):
        return Broken("truth", f"{sum(exact[0].values())} people and keys are counted, of {_due(world)}")
    return _coupled_keys(running, plan, tables, world, exact, order)


def _seen_by(threshold: int, scale: Fraction, lone: Sequence[int]) -> float:
    """Return the probability that one of these counts reaches the threshold with noise, computed by claim A1."""
    decay = math.exp(-1 / scale)
    hidden = math.prod(1 - decay ** max(threshold - count, 0) / (1 + decay) for count in lone)
    return 1 - hidden


def _due(world: World) -> int:
    """Return how many times a key is counted for a person, of the table itself."""
    options = dict(world.question.options)
    declared = world.fields[options["column"]].declared
    bound = options.get("keys_per_person", world.described.get("rows_per_person", 1))
    keys: dict[Any, set[Any]] = {}
    total: int = 0
    for row in world.joined((*world.others, *world.before)):
        cells = world.typed(row)
        key, condition = cells[options["column"]], world.question.condition
        if key is None or (condition is not None and condition.holds(cells) is not True):
            continue
        if declared.kind == "text" and (len(key) > 200 or any(ord(c) < 32 or ord(c) == 127 for c in key)):
            continue
        if declared.kind == "integer" and abs(key) > 2**53:
            continue
        if world.person is None:
            total += row[-1]
        elif row[0] is not None:
            keys.setdefault(row[0], set()).add(key)
    return total + sum(min(len(own), int(bound)) for own in keys.values())


def _coupled_keys(
    running: Running,
    plan: KeyPlan,
    tables: Sequence[Any],
    world: World,
    exact: Sequence[dict[Any, int]],
    order: Sequence[dict[Any, int]],
) -> Broken | None:
    """Give the keys that both tables have the same noisy counts, and all others too little to be shown."""
    common = sorted(set(exact[0]) & set(exact[1]), key=repr)
    due = {key: plan.threshold + (-1, 0, 3, 50)[i % 4] for i, key in enumerate(common)}
    seen, runs = [], []
    for table, counts, places in zip(tables, exact, order, strict=True):
        noise = {places[key]: due.get(key, plan.threshold - 1) - own for key, own in counts.items()}
        seen.append(running.answer(world, plan, table, Script(_by_number(noise))))
        runs.append((table, Script(_by_number(noise))))
    one, other = seen
    if one.error is not None or other.error is not None or one.said != other.said:
        return Broken("same", one.error or other.error or _difference(one, other))
    assert isinstance(one.answer, Discovery)
    shown = dict(zip(one.answer.keys, one.answer.counts, strict=True))
    if shown != {key: value for key, value in due.items() if value >= plan.threshold}:
        return Broken("same", f"{len(shown)} keys are shown, not those that reach the threshold of {plan.threshold}")
    return _as_users(running, world, runs)


# --- a witness that a person can read ---


def shrunk(running: Running, world: World, broken: Broken, every_form: bool = True) -> tuple[World, str]:
    """Return a smaller world that breaks the same promise, and how."""
    how, left = broken.how, _PATIENCE
    changed = True
    while changed and left > 0:
        changed = False
        for smaller in _smaller(world):
            left -= 1
            found = _tried(running, smaller, every_form)
            if found is not None and found.promise == broken.promise:
                world, how, changed = smaller, found.how, True
                break
            if left <= 0:
                break
    return world, how


def _tried(running: Running, world: World, every_form: bool) -> Broken | None:
    try:
        return examined(running, world, Examined(), every_form)
    except Exception:
        return None


def _smaller(world: World) -> Iterator[World]:
    """Yield worlds with fewer rows, statistics, conditions and groups, the smallest first."""
    half = len(world.others) // 2
    for others in (
        (),
        world.others[:half],
        world.others[half:],
        *(world.others[:i] + world.others[i + 1 :] for i in range(min(len(world.others), 12))),
    ):
        if len(others) < len(world.others):
            yield replace(world, others=others)
    question = world.question
    if len(question.statistics) > 1:
        for i in range(len(question.statistics)):
            kept = {"statistics": (question.statistics[i],), "shares": (question.shares[i],)}
            yield replace(world, question=replace(question, **kept))  # type: ignore[arg-type]
    for part in () if question.condition is None else (None, *question.condition.parts):
        yield replace(world, question=replace(question, condition=part))
    for option in question.options:
        if option[0] in ("by", "intervals", "keys_per_person") and option[1] != ():
            without = tuple(
                (name, () if name == "by" else value)
                for name, value in question.options
                if name == "by" or name != option[0]
            )
            yield replace(world, question=replace(question, options=without))
    if world.joins.names:
        yield replace(world, joins=NO_JOINS)
        yield replace(world, joins=replace(world.joins, column=None))
        yield replace(world, joins=replace(world.joins, people=()))
    if world.form != "Parquet":
        yield replace(world, form="Parquet")
    for which in ("before", "after"):
        rows: tuple[Row, ...] = getattr(world, which)
        if world.person is not None:
            for i in range(len(rows)):
                yield replace(world, **{which: rows[:i] + rows[i + 1 :]})  # type: ignore[arg-type]
        for i, row in enumerate(rows):
            if row[-1] > 1:
                yield replace(world, **{which: (*rows[:i], (*row[:-1], 1), *rows[i + 1 :])})  # type: ignore[arg-type]
