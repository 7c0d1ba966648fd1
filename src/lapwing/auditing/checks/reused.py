"""Tables that were released before answer later questions: only those that they answer, as precisely, and for free.

A set of tables is released without noise, and then other questions are asked of the same ledger.  Each must get what it
gets without noise from a new ledger, which is another number if it is about other rows, values, groups or people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

from ...errors import LapwingError
from ...plan.plan import Plan
from ...question import query, schema
from ...question.query import Statistic
from ...question.sets import cube, rollup, sets
from ...release.result import Release
from ...source import Source
from ..finding import Finding, first_of
from ..room import Room
from ..tools.again import without_noise
from ..tools.pooled import pooled
from ..tools.script import NoOther, Script, scripted

_TYPES = {"p": "VARCHAR", "k": "VARCHAR", "l": "VARCHAR", "m": "VARCHAR", "e": "DOUBLE", "x": "DOUBLE"}
_COLUMNS: dict[str, Any] = {
    "k": schema.keys("a", "b", other="rest"),
    "l": schema.keys("1", "2", other="more"),
    "m": schema.keys("p", "q"),
    "e": schema.number(0, 10, edges=[0, 5, 10]),
    "x": schema.number(-4, 10),
}
_HELD = (query.count(), query.sum("x"))


@dataclass(frozen=True)
class _Later:
    """A question after the first: what is asked, of which source; ``free`` if the record must answer it."""

    what: str
    by: Any = "k"
    statistics: tuple[Statistic, ...] = _HELD
    where: str | None = None
    epsilon: str = "1"
    described: Mapping[str, Any] = field(default_factory=dict)
    free: bool = False
    other_data: bool = False


def _declared(**columns: Any) -> dict[str, Any]:
    return {"columns": {**_COLUMNS, **columns}}


_LATER = (
    _Later("one of its tables", free=True),
    _Later("another of its tables", "l", free=True),
    _Later("its total", (), free=True),
    _Later("its largest table", ("k", "l"), free=True),
    _Later("its largest table, with the keys in another order", ("l", "k"), free=True),
    _Later("some of its tables", sets("k", ()), free=True),
    _Later("all of its tables in another order", cube("l", "k"), free=True),
    _Later("one of its statistics", statistics=_HELD[:1], free=True),
    _Later("a label", described=_declared(k=schema.keys({"a": "A", "b": "B"}, other="rest")), free=True),
    _Later("more ε", epsilon="60"),
    _Later("more ε for all tables", cube("k", "l"), epsilon="21"),
    _Later("WHERE", where="x > 1"),
    _Later("WHERE, of all tables", rollup("k", "l"), where="l = '1'"),
    _Later("another key", "m"),
    _Later("a table with another key", ("k", "m")),
    _Later("a set with another key", cube("k", "m")),
    _Later("another statistic", statistics=(query.sum("e"),)),
    _Later("the count of a column", statistics=(query.count("x"),)),
    _Later("the mean", statistics=(query.mean("x"),)),
    _Later("other bounds", described=_declared(x=schema.number(0, 10))),
    _Later("a code for missing", described=_declared(x=schema.number(-4, 10, missing=[0]))),
    _Later("other keys", described=_declared(k=schema.keys("b", "a", other="rest"))),
    _Later("fewer keys", described=_declared(k=schema.keys("a", other="rest"))),
    _Later("keys without the others", described=_declared(k=schema.keys("a", "b"))),
    _Later("other keys of a key that is left out", described=_declared(l=schema.keys("1", "2"))),
    _Later("another version", described={"version": "2"}, other_data=True),
    _Later("another name", described={"name": "u"}, other_data=True),
    _Later("people", described={"person": "p", "rows_per_person": 2}),
    _Later("the other relation", described={"neighbors": "change_one"}),
)


def reused(room: Room) -> Iterator[Finding]:
    """Yield whether later questions get their own answers, whether they are free, and whether they are as precise."""
    with pooled():
        people = {"person": "p", "rows_per_person": 3, "version": "1"}
        yield _asked_later(room, "rows", {}, cube("k", "l"), _LATER)
        yield _asked_later(room, "people", people, cube("l", "k"), _LATER if room.deep else _LATER[::4])
        yield _left_out(room)
        yield _repeated(room)


def _asked_later(room: Room, who: str, described: Mapping[str, Any], by: Any, questions: Sequence[_Later]) -> Finding:
    paths = [_table(room, seed) for seed in (1, 2)]
    first = _source(paths[0], described, room.path("ledger"))
    with scripted(Script()):
        held = first.release(*_HELD, by=by, epsilon=20, entropy=NoOther())
        wrong = [wrong for each in questions for wrong in _wrongs(each, paths, described, first, held)]
    told = f"{len(wrong)} faults in {len(questions)} answers, 0 are right{first_of(wrong)}"
    return Finding(f"L2: after several tables of {who}, each question gets its own answer", not wrong, told)


def _wrongs(
    later: _Later, paths: Sequence[str], described: Mapping[str, Any], first: Source, held: Release
) -> list[str]:
    """Return what is wrong about the answer to a later question."""
    path = paths[later.other_data]
    source = _source(path, {**described, **later.described}, Path(first.ledger.where))
    source.ledger = first.ledger  # open already
    spent = source.ledger.spent
    asked: dict[str, Any] = {"by": later.by, "where": later.where, "epsilon": later.epsilon}
    try:
        made = source.release(*later.statistics, **asked, entropy=NoOther())
        fresh = without_noise(source.plan(*later.statistics, **asked) if made.repeated else made.plan, path)
    except LapwingError as error:
        return [f"{later.what} is refused: {error}"]
    due = Fraction(0) if made.repeated else Fraction(later.epsilon)
    found = [] if source.ledger.spent - spent == due else [f"{later.what} is charged {source.ledger.spent - spent}"]
    if made.repeated != later.free or (made.repeated and made.entry != held.entry):
        found.append(f"{later.what} is {'' if made.repeated else 'not '}answered from the record")
    for name in (str(each.name) for each in made.plan.query.statistics):
        one, two, whole = (_numbers(each, name) for each in (made, fresh, held))
        near = 1 + sum(_rounding(each.plan, name) for each in (made, fresh))
        far = [group for group in two if group not in one or abs(one[group][0] - two[group][0]) > near]
        found += [f"{later.what}: {name} of {dict(each)} is another number" for each in far[:1]]
        wide = [group for group in two if group in one and one[group][1] > two[group][1] * (1 + 1e-6)]
        found += [f"{later.what}: {name} of {dict(each)} has a wider bar" for each in wide[:1] if made.repeated]
        other = [group for group in one if made.repeated and name in held.estimates and one[group] != whole.get(group)]
        found += [f"{later.what}: {name} of {dict(each)} is not what was released" for each in other[:1]]
    return found


def _rounding(plan: Plan, name: str) -> float:
    """Return how far publishing on a grid may move a number of several tables (claim U3)."""
    (statistic,) = (each for each in plan.query.statistics if each.name == name)
    if plan.several is None or not statistic.is_linear:
        return 0.0
    return float(2 ** (max(map(len, plan.several.asked)) - 1) * plan.several.grid(statistic))


def _numbers(made: Release, name: str) -> dict[frozenset[tuple[str, Any]], tuple[float, float]]:
    """Return the values of a statistic, and how wide their bars are, by the keys that they are for."""
    if name not in made.estimates:
        return {}
    found = {}
    for row in made.rows:
        keys = frozenset((key, row[key]) for key in made.plan.query.by if row.get(key) is not None)
        cell = row[name]
        wide = float("inf") if None in (cell["low"], cell["high"]) else float(cell["high"]) - float(cell["low"])
        found[keys] = float(cell["value"]), wide
    return found


def _left_out(room: Room) -> Finding:
    """Of tables with keys that leave out rows, only questions with all of these keys are answered."""
    path = _table(room, 3)
    first = _source(path, {}, room.path("ledger"))
    bins = _declared(e=schema.number(0, 10, edges=[0, 3, 10]))
    asked = [_Later(f"by {by or 'nothing'}", by, free=by == ("e", "m")) for by in ("e", "m", (), ("e", "m"))]
    asked += [_Later("by other bins", ("e", "m"), described=bins), _Later("more keys", cube("e", "m", "k"))]
    with scripted(Script()):
        held = first.release(*_HELD, by=cube("m", "e"), epsilon=20, entropy=NoOther())
        wrong = [wrong for each in asked for wrong in _wrongs(each, [path], {}, first, held)]
    told = f"{len(wrong)} faults in {len(asked)} answers, 0 are right{first_of(wrong)}"
    return Finding("L2: tables of the rows that have all keys answer nothing about other rows", not wrong, told)


def _repeated(room: Room) -> Finding:
    """A question that was answered before keeps its answer when tables that hold it are released later."""
    source = _source(_table(room, 4), {}, room.path("ledger"))
    asked: dict[str, Any] = {"by": "k", "epsilon": "0.05"}
    answers = []
    for number in range(2):
        with scripted(Script(lambda i, number=number: 40 * number - i)):  # type: ignore[misc]
            answers.append(source.release(*_HELD, **asked, entropy=NoOther()))
            source.release(*_HELD, by=cube("k", "l"), epsilon=1, entropy=NoOther())
    same = answers[0].answer == answers[1].answer and answers[0].entry == answers[1].entry and answers[1].repeated
    told = f"entries {answers[0].entry} and {answers[1].entry}, with {'the same' if same else 'other'} numbers"
    return Finding("L2: a question that was answered keeps its answer after tables that hold it", same, told)


def _source(path: str, described: Mapping[str, Any], ledger: Path) -> Source:
    return Source(path, **{"name": "t", "columns": _COLUMNS, "epsilon": 1000, "ledger": ledger, **described})


def _table(room: Room, seed: int) -> str:
    """Write a table of people with several rows, and every kind of cell, also missing ones; return its path."""
    random, rows = Random(seed), 300

    def some(values: Sequence[Any]) -> list[Any]:
        return [random.choice([*values, None]) for _ in range(rows)]

    table = {
        "p": [f"p{random.randrange(40)}" for _ in range(rows)],
        "k": some("aaabbc"),
        "l": some("11125"),
        "m": some("ppqs"),
        "e": some((1.0, 4.0, 7.0)),
        "x": some((-6.0, -2.0, 0.0, 3.0, 9.0, 12.0)),
    }
    return room.parquet(table, _TYPES)
