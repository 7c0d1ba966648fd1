"""What plans say of a question is what its release does, for every parameter that a plan can have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any

from ...errors import LapwingError
from ...plan.plan import Plan
from ...question import query
from ...question.schema import keys, number
from ...question.sets import cube
from ...source import Source
from ..finding import Finding, all_right, first_of
from ..room import Room

_ASKED = (query.count(), query.mean("x"), query.sum("z"), query.median("z"))
_TEXT = "SELECT COUNT(*), AVG(x), SUM(z), MEDIAN(z) FROM t"
_SEVERAL: dict[str, Any] = {"by": cube("k", "m")}


@dataclass(frozen=True)
class _Example:
    """Values of a parameter, and what else is given with each; ``released`` says that a release has it too."""

    values: tuple[Any, ...]
    others: dict[str, Any] = field(default_factory=dict)
    released: bool = True
    asked: tuple[Any, ...] = _ASKED


_EXAMPLES = {
    "statistics": [_Example((_ASKED[:1], _ASKED[1:]))],
    "by": [_Example(("k", ("k", "m")))],
    "where": [_Example(("z > 3", "z > 4"))],
    "epsilon": [_Example(("0.5", 2))],
    "error": [_Example((20, {"count": 5}), {"epsilon": None}, released=False, asked=_ASKED[:1])],
    "weights": [
        _Example(({"x": 3, "z": 1}, {"x": 1, "z": 3})),
        _Example(({("k",): 4, (): 1}, {("k", "m"): 9, (): 1}), _SEVERAL, asked=_ASKED[:1]),
    ],
    "objective": [_Example(("mean", "minimax", "cells"), _SEVERAL, asked=_ASKED[:1])],
    "confidence": [_Example(("0.5", "0.95", "0.99"))],
    "rows": [_Example((100, 1000, 5000), released=False)],
    "intervals": [_Example((True, False))],
    "rows_per_person": [_Example((2, 9), released=False)],
}
"""By parameter; a new one without an example is found."""


def planned(room: Room) -> Iterator[Finding]:
    """Check that every parameter of a plan is used, and that a plan says what a release does."""
    table = room.table(
        {"p": [1, 1, 2, 3], "x": [0.5, 2.0, 3.0, 0.0], "z": [5, 20, 30, 0], "k": ["a", "b"] * 2, "m": [1, 2, 2, 2]},
        {"p": "BIGINT", "x": "DOUBLE", "z": "BIGINT", "k": "VARCHAR", "m": "BIGINT"},
    )
    columns = {
        "x": number(0, 4), "z": number(0, 50, integer=True), "k": keys("a", "b"), "m": keys(*range(12)),
    }  # fmt: skip
    source = room.source(table, columns=columns, person="p", rows_per_person=3)
    names = [name for name in signature(Source.plan).parameters if name != "self"]
    lacking = sorted(set(names) ^ set(_EXAMPLES))
    yield Finding(
        "R2: every parameter of a plan is tried here",
        not lacking,
        f"{len(lacking)} are not, 0 may be{first_of(lacking)}",
    )
    wrong: list[str] = []
    tried = 0
    for name in names:
        for example in _EXAMPLES.get(name, ()):
            tried += len(example.values)
            wrong += [f"{name}: {each}" for each in _wrong(source, name, example)]
    wrong += _other_people(room, table, columns, source)
    yield Finding("R2: a plan uses each of its parameters, and a release does what it says", not wrong,
                  all_right(wrong, tried))  # fmt: skip
    yield _same(source)


def _wrong(source: Source, name: str, example: _Example) -> Iterator[str]:
    told: list[dict[str, Any]] = []
    usual = signature(Source.plan).parameters[name].default
    for value in example.values:
        asked, given = example.asked, {"epsilon": 1, **example.others}
        if name == "statistics":
            asked = value
        else:
            given[name] = value
        plan = source.plan(*asked, **given)
        told.append(_told(plan))
        if example.released and (made := _told(source.release(*asked, **given).plan)) != told[-1]:
            yield f"a release at {value} has {_difference(made, told[-1])}"
        if usual is not Parameter.empty and value == usual:
            del given[name]
            if _told(source.plan(*asked, **given)) != told[-1]:
                yield f"{value} is not what is taken if nothing is given"
        if name == "rows" and plan.rows != value:
            yield f"{plan.rows} rows are assumed, and {value} are given"
        if name == "error":
            yield from _missed(source, asked, plan, value)
    if any(one == other for i, one in enumerate(told) for other in told[:i]):
        yield f"two of {example.values} have the same plan"


def _other_people(room: Room, table: Any, columns: dict[str, Any], source: Source) -> Iterator[str]:
    """Yield how a plan as if another number of rows per person were declared differs from one where it is."""
    for rows in (1, 2, 9):
        declared = room.source(table, columns=columns, person="p", rows_per_person=rows)
        plan = _told(source.plan(*_ASKED, epsilon=1, rows_per_person=rows))
        for found in (declared.plan(*_ASKED, epsilon=1), declared.release(*_ASKED, epsilon=1).plan):
            if _told(found) != plan:
                yield f"a source that declares {rows} rows per person has {_difference(_told(found), plan)}"


def _missed(source: Source, asked: tuple[Any, ...], plan: Plan, error: Any) -> Iterator[str]:
    """Yield whether the ε of a wanted error is not enough for it, or no other plan says the same of it."""
    (margin,), most = [each.margin for each in plan.forecasts], error["count"] if isinstance(error, dict) else error
    if not margin <= most < margin + 2:
        yield f"the error is {margin} where {most} is wanted"
    again = source.plan(*asked, epsilon=plan.epsilon)
    if [each.margin for each in again.forecasts] != [margin]:
        yield f"at ε = {plan.epsilon} the error is another one"


def _same(source: Source) -> Finding:
    """The same question in SQL has the same plan; what contradicts itself or the source is refused."""
    wrong = []
    pairs: tuple[tuple[tuple[Any, ...], dict[str, Any], str], ...] = (
        (_ASKED, {}, _TEXT), (_ASKED, {"by": "k"}, f"{_TEXT} GROUP BY k"), ([list(_ASKED)], {}, _TEXT),  # type: ignore[assignment]
        (_ASKED, {"where": "z > 3", "by": ("k", "m")}, f"{_TEXT} WHERE z > 3 GROUP BY k, m"),
    )  # fmt: skip
    for asked, given, text in pairs:
        plans = [_told(source.plan(*asked, **given, epsilon=1)), _told(source.plan(text, epsilon=1))]
        wrong += [] if plans[0] == plans[1] else [f"{text} has {_difference(*plans)}"]
    rows = Source("none.csv", name="t", columns={"x": number(0, 1)})
    calls: tuple[tuple[Source, tuple[Any, ...], dict[str, Any]], ...] = (
        (rows, _ASKED[:2], {"epsilon": 1, "rows_per_person": 2}),
        (source, _ASKED, {"epsilon": 1, "rows_per_person": 0}),
        (source, _ASKED, {"epsilon": 1, "rows": 0}), (source, _ASKED, {}), (source, _ASKED, {"epsilon": 1, "error": 2}),
        (source, (_TEXT,), {"epsilon": 1, "by": "k"}), (source, (_TEXT,), {"epsilon": 1, "where": "z > 1"}),
        (source, _ASKED, {"epsilon": 1, "confidence": 1}), (source, _ASKED, {"epsilon": 1, "weights": {"q": 1}}),
        (source, _ASKED[:1], {"epsilon": 1, "objective": "least", **_SEVERAL}), (source, (), {"epsilon": 1}),
    )  # fmt: skip
    for i, (one, asked, given) in enumerate(calls):
        try:
            one.plan(*asked, **given)
            wrong.append(f"call {i} with {given} is accepted")
        except LapwingError:
            pass
    return Finding("T16: the same plan for SQL, and none for what contradicts itself", not wrong,
                   all_right(wrong, len(pairs) + len(calls)))  # fmt: skip


def _told(plan: Plan) -> dict[str, Any]:
    """Return what a plan says, without what a ledger adds: earlier answers about clipping."""
    return {**plan.to_dict(), "clipped": []}


def _difference(one: dict[str, Any], other: dict[str, Any]) -> str:
    return next((f"{name} = {value!r:.100}, not {other.get(name)!r:.100}" for name, value in one.items()
                 if value != other.get(name)), "other fields")  # fmt: skip
