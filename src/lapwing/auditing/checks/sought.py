"""Keys and rows per person that are looked for: the parameters, and what a recorded answer then says.

Thresholds, margins and shares are computed here by the formulas of the claims (A2, K1, K5), in plain floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from ...ledger.ledger import Ledger
from ...noise.entropy import EntropyForTests
from ...noise.sampler import discrete_laplace
from ...noise.weighted import margins
from ...question.query import Compare
from ...question.schema import Column, Schema, keys, number
from ...release.discover import Discovery, KeyPlan, KeyTally, discovered, plan_keys
from ...release.rows_per_person import (
    RowsPerPerson,
    RowsPlan,
    RowsTally,
    people_share,
    plan_rows_per_person,
    rows_found,
)
from ..room import Room
from ..tools.meaning import Cases, Denied, F
from ..tools.neighbors import SEED

_BORDERS = (
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000,
    500_000, 1_000_000,
)  # fmt: skip


def sought(room: Room) -> dict[str, Cases]:
    """Return what is looked for: keys, and rows per person."""
    return {
        "plans of keys": [*_key_plans(), *_key_numbers()],
        "keys that are counted": _tallies(),
        "keys that were found": _discoveries(),
        "plans of rows per person": _row_plans(),
        "recorded answers": _recorded(room),
        "rows per person that were found": [*_rows_found(), *_row_bins()],
    }


# --- keys ---


def _schema(person: str | None = None, rows: int | None = 1, **more: Any) -> Schema:
    columns = {
        "k": Column("text", missing=("z",)), "i": Column("integer"), "d": Column("date"), "b": Column("boolean"),
        "x": number(0, 1), "l": keys("a", "b"), "c": Column("integer", expression=_as("i + 1")),
    }  # fmt: skip
    return Schema("t", columns, person, rows, **more)


def _keys_of(schema: Schema, column: str = "k", **changed: Any) -> KeyPlan:
    return plan_keys(schema, column, **{"epsilon": 1, "delta": "1e-6", **changed})


def _key_plans() -> Cases:
    rows, people, unsaid = _schema(), _schema("p", 3), _schema("p", None)
    one, delta = F(1), F(1, 10**6)
    above = Compare("x", ">", F(1, 2))
    wanted = Denied("δ is above 0 and at most 0.01")
    most = Denied("keys_per_person is a whole number from 1 to 1,000,000")
    alone = Denied("keys_per_person is 1 if every row is one person")
    return [
        (lambda: _keys_of(rows), KeyPlan(rows, "k", None, one, delta, 1)),
        (lambda: _keys_of(rows, "K"), KeyPlan(rows, "k", None, one, delta, 1)),
        (lambda: _keys_of(rows, keys_per_person=1), KeyPlan(rows, "k", None, one, delta, 1)),
        (lambda: _keys_of(people), KeyPlan(people, "k", None, one, delta, 3)),
        (lambda: _keys_of(people, keys_per_person=2), KeyPlan(people, "k", None, one, delta, 2)),
        (lambda: _keys_of(people, keys_per_person=10**6).keys_per_person, 10**6),
        (lambda: _keys_of(unsaid, keys_per_person="2"), KeyPlan(unsaid, "k", None, one, delta, 2)),
        (lambda: _keys_of(rows, epsilon="0.5", delta="0.01"), KeyPlan(rows, "k", None, F(1, 2), F(1, 100), 1)),
        (lambda: _keys_of(rows, delta="1e-18").delta, F(1, 10**18)),
        (lambda: _keys_of(rows, where="x > 0.5"), KeyPlan(rows, "k", above, one, delta, 1)),
        (lambda: _keys_of(rows, where=above), KeyPlan(rows, "k", above, one, delta, 1)),
        *[(lambda name=name: _keys_of(rows, name).name, name) for name in "kidbl"],
        (lambda: _keys_of(rows, "x"), Denied('keys of "x", which is a number')),
        (lambda: _keys_of(rows, "c"), Denied('keys of "c", which is computed')),
        (lambda: _keys_of(rows, "no"), Denied('"no" is not a declared column')),
        (lambda: _keys_of(rows, _as(7)), Denied("column is the name of a declared column")),
        (lambda: _keys_of(unsaid), Denied("names a person column but not rows_per_person")),
        *[(lambda each=each: _keys_of(rows, keys_per_person=each), alone) for each in (2, 0, True, "x")],
        *[(lambda each=each: _keys_of(people, keys_per_person=each), most) for each in (0, -1, 1.5, True, 10**6 + 1)],
        *[
            (lambda each=each: _keys_of(rows, epsilon=each), Denied("ε is a decimal"))
            for each in (0, None, 1001, "1/3")
        ],
        *[(lambda each=each: _keys_of(rows, delta=each), wanted) for each in (0, "0.010000000000000001", 0.5)],
        *[(lambda each=each: _keys_of(rows, delta=each), Denied("δ is a decimal")) for each in (1, -1, "1e-19", None)],
        (lambda: _keys_of(people, keys_per_person=10**6, epsilon="1e-9").scale, F(10**15)),
        (
            lambda: _keys_of(_schema("p", 10**6, neighbors="change_one"), epsilon="1e-9"),
            Denied("to 2^50 for an array"),
        ),
        (lambda: _keys_of(rows, where="nothing > 1"), Denied('"nothing" is not a declared column')),
    ]


def _threshold(scale: F, delta: F, keys_per_person: int) -> int:
    """Return the smallest T with 1 - (1 - p)^l ≤ δ, p = e^(-(T-1)/s)/(1 + e^(-1/s)) (claim K1)."""
    a = 1 / float(scale)
    most = -math.expm1(math.log1p(-float(delta)) / keys_per_person)
    return next(t for t in count(2) if math.exp(-a * (t - 1)) / (1 + math.exp(-a)) <= most)


def _margin(scale: F, cells: int = 1) -> int:
    """Return the smallest m that so many draws stay within at once with 95 % (claim A2)."""
    a = 1 / float(scale)
    most = -math.expm1(math.log(0.95) / cells)
    return next(m for m in count() if 2 * math.exp(-a * (m + 1)) / (1 + math.exp(-a)) <= most)


def _surely(scale: F, threshold: int) -> int:
    a = 1 / float(scale)
    return threshold + next(x for x in count() if math.exp(-a * (x + 1)) / (1 + math.exp(-a)) <= 0.05)


def _key_numbers() -> Cases:
    found: list[tuple[Callable[[], Any], Any]] = []
    for neighbors, times in (("add_remove", 1), ("change_one", 2)):
        for person, per_person in ((None, 1), ("p", 1), ("p", 4)):
            for epsilon, delta in ((F(1, 10), F(1, 10**6)), (F(3, 2), F(1, 10**9)), (F(20), F(1, 100))):
                schema = _schema(person, per_person, neighbors=neighbors)
                plan = _keys_of(schema, epsilon=epsilon, delta=delta)
                scale = F(times * per_person) / epsilon
                threshold = _threshold(scale, delta, per_person)
                numbers = (times * per_person, scale, threshold, _surely(scale, threshold))
                found += [
                    (partial(_numbers_of_keys, plan), numbers),
                    (partial(_without, plan.to_dict(), "sql", "epsilon", "delta", "scale"), {
                        "source": "t", "neighbors": neighbors, "keys_per_person": per_person,
                        "query": 'SELECT DISTINCT "k" FROM "t"', "sensitivity": numbers[0], "threshold": threshold,
                        "surely": numbers[3],
                    }),
                    (partial(getattr, plan, "counted"), "rows" if person is None else "people"),
                ]  # fmt: skip
    plan = _keys_of(_schema("p", 3, version="v"), where="x > 0.5", epsilon="0.5")
    asked = {
        "source": "t", "query": """SELECT DISTINCT "k" FROM "t" WHERE "x" > 0.5""", "column": "k",
        "neighbors": "add_remove", "keys_per_person": 3, "version": "v", "person": "p",
        "columns": {"k": {"type": "text", "missing": ["z"]}, "x": "number"},
    }  # fmt: skip
    return [
        *found,
        (lambda: sorted(plan.question().items()), sorted(asked.items())),
        (lambda: "person" in _keys_of(_schema()).question(), False),
        (lambda: "version" in _keys_of(_schema()).question(), False),
        (lambda: _without(plan.to_dict(), "sql", "threshold", "surely"), {
            "source": "t", "epsilon": "0.5", "delta": "0.000001", "neighbors": "add_remove", "keys_per_person": 3,
            "query": asked["query"], "sensitivity": 3, "scale": "6",
        }),
        (lambda: plan.to_dict()["sql"] == plan.lowered.sql, True),
    ]  # fmt: skip


def _numbers_of_keys(plan: KeyPlan) -> tuple[int, F, int, int]:
    return plan.sensitivity, plan.scale, plan.threshold, plan.surely


def _without(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: each for name, each in fields.items() if name not in names}


def _tallies() -> Cases:
    rows = [("c", 40), ("a", 30), ("b", 3), ("d", 0)]
    plan = _keys_of(_schema(), epsilon="0.5", delta="0.01")
    noise = discrete_laplace(F(2), 4, entropy=EntropyForTests(SEED)).tolist()
    noisy = [(key, value + drawn) for (key, value), drawn in zip(sorted(rows), noise, strict=True)]
    kept = [(key, value) for key, value in noisy if value >= _threshold(F(2), F(1, 100), 1)]
    day = date(2020, 1, 31)
    people = [3 * border for border in range(26)]
    drawn = discrete_laplace(F(2), 26, entropy=EntropyForTests(SEED)).tolist()
    return [
        (
            lambda: KeyTally(rows).shown(plan, EntropyForTests(SEED)),
            {"keys": [key for key, _ in kept], "counts": [value for _, value in kept], "private": False},
        ),
        (lambda: KeyTally([(day, 10**6)]).shown(plan, EntropyForTests(SEED))["keys"], ["2020-01-31"]),
        (lambda: KeyTally([]).shown(plan, EntropyForTests(SEED)), {"keys": [], "counts": [], "private": False}),
        (lambda: _edge(plan), [[], ["k"], ["k"]]),
        (lambda: repr(KeyTally(rows)), "KeyTally(hidden)"),
        (lambda: repr(RowsTally({1: 2})), "RowsTally(hidden)"),
        (
            lambda: RowsTally(dict(enumerate(people))).noisy(_row_plan(epsilon="0.5"), EntropyForTests(SEED)),
            {"people": [a + b for a, b in zip(people, drawn, strict=True)], "private": False},
        ),
        (
            lambda: RowsTally({2: 5}).noisy(_row_plan(epsilon=1000), EntropyForTests(SEED))["people"],
            [0, 0, 5, *[0] * 23],
        ),
    ]


def _edge(plan: KeyPlan) -> list[list[str]]:
    """Return which keys are shown whose count with noise is one below the threshold, the threshold, and one above."""
    noise = int(discrete_laplace(plan.scale, 1, entropy=EntropyForTests(SEED))[0])
    counts = [_threshold(plan.scale, plan.delta, plan.keys_per_person) - noise + off for off in (-1, 0, 1)]
    return [KeyTally([("k", each)]).shown(plan, EntropyForTests(SEED))["keys"] for each in counts]


def _found(listed: list[Any], counts: list[int], column: str = "k", **more: Any) -> Discovery:
    plan = _keys_of(_schema("p", 2), column, epsilon="0.5")
    return Discovery(plan, 7, False, {"keys": listed, "counts": counts}, F(1, 2), F(1, 4), **more)


def _discoveries() -> Cases:
    margin = _margin(F(4))
    two = _found(["a", "b"], [100, 5])
    days = _found(["2020-01-31"], [100], "d")
    bars = [(100, 100 - margin, 100 + margin), (5, 1, 5 + margin)]
    rows = [
        {"k": key, "count": dict(zip(("value", "low", "high"), bar, strict=True))}
        for key, bar in zip("ab", bars, strict=True)
    ]
    told = {
        "source": "t", "entry": 7, "repeated": False, "recorded_at": None, "modified_at": None, "epsilon": "0.5",
        "delta": "0.000001", "neighbors": "add_remove", "keys_per_person": 2, "query": 'SELECT DISTINCT "k" FROM "t"',
        "threshold": _threshold(F(4), F(1, 10**6), 2), "confidence": "0.95",
        "columns": [{"name": "k", "kind": "key"}, {"name": "count", "kind": "count", "scale": "4", "claim": "K2"}],
        "rows": rows, "remaining": "0.5", "remaining_delta": "0.25",
    }  # fmt: skip
    name = Denied("cannot be the name of all other keys: it is empty, or one that was found")
    at = datetime(2020, 1, 1)
    return [
        (lambda: two.keys, ("a", "b")),
        (lambda: days.keys, (date(2020, 1, 31),)),
        (lambda: two.counts, (100, 5)),
        (lambda: (two.epsilon, two.delta, two.threshold), (F(1, 2), F(1, 10**6), told["threshold"])),
        (lambda: two.rows, rows),
        (lambda: len(two), 2),
        (lambda: [name in two for name in ("k", "count", "x", 7)], [True, True, False, False]),
        (lambda: two["k"].tolist(), ["a", "b"]),
        (lambda: [end.tolist() for end in two["count"]], [list(each) for each in zip(*bars, strict=True)]),
        (lambda: [end.tolist() for end in _found([], [])["count"]], [[], [], []]),
        (lambda: [str(end.dtype) for end in _found([], [])["count"]], ["int64"] * 3),
        (lambda: replace(two, plan=_keys_of(_schema())).protects, "each row, taken to be one person"),
        (lambda: replace(two, plan=_keys_of(_schema("q"))).protects, "each person (q), who counts for at most 1 key"),
        (lambda: two["x"], Denied("x")),
        (lambda: two[_as(7)], Denied("7")),
        (lambda: two.column(), Column("text", keys=("a", "b"), missing=("z",))),
        (lambda: two.column("c"), Column("text", keys=("a", "b"), other="c", missing=("z",))),
        (lambda: days.column(), Column("date", keys=(date(2020, 1, 31),))),
        (lambda: two.column("a"), name),
        (lambda: two.column(""), name),
        (lambda: _found([], []).column(), Denied('No key of "k" reached the threshold')),
        (lambda: two.to_toml("c"), '[columns.k]\nkeys = ["a", "b"]\nother = "c"\nmissing = ["z"]\n'),
        (lambda: two.to_toml(), '[columns.k]\nkeys = ["a", "b"]\nmissing = ["z"]\n'),
        (lambda: days.to_toml(), "[columns.d]\nkeys = [2020-01-31]\n"),
        (lambda: two.to_dict(), told),
        (lambda: Discovery(two.plan, 7, True, {**two.answer, "private": False}, F(1), F(1)).to_dict()["private"],
         False),
        (lambda: (two.private, Discovery(two.plan, 7, True, {"private": False}, F(1), F(1)).private), (True, False)),
        (lambda: two.flat(), {
            "k": ["a", "b"], "count": [100, 5], "count_low": [100 - margin, 1],
            "count_high": [100 + margin, 5 + margin],
        }),
        (lambda: two.to_csv(),
         f"k,count,count_low,count_high\na,100,{100 - margin},{100 + margin}\nb,5,1,{5 + margin}\n"),
        (lambda: two.at("0.5").confidence, F(1, 2)),
        (lambda: two.at("0.5").rows == two.rows, False),
        (lambda: two.at(2), Denied("")),
        (lambda: two.beside(at, "new").new_ledger, "new"),
        (lambda: two.beside(at).modified_at, None),
        (lambda: two.protects, "each person (p), who counts for at most 2 keys"),
    ]  # fmt: skip


# --- rows per person ---


def _row_plan(schema: Schema | None = None, **changed: Any) -> RowsPlan:
    return plan_rows_per_person(schema or _schema("p", 3), **{"epsilon": 1, **changed})


def _row_plans() -> Cases:
    people, unsaid, other = _schema("p", 3), _schema("p", None), _schema("p", 1, neighbors="change_one", version="v")
    above = Compare("x", ">", F(1, 2))
    asked = {
        "source": "t", "query": 'SELECT COUNT(*) FROM "t" WHERE "x" > 0.5 GROUP BY "p"', "neighbors": "change_one",
        "columns": {"x": "number"}, "person": "p", "borders": list(_BORDERS), "version": "v",
    }  # fmt: skip
    plan = _row_plan(other, where="x > 0.5", epsilon="0.1")
    return [
        (lambda: _row_plan(people), RowsPlan(people, None, F(1))),
        (lambda: _row_plan(unsaid, epsilon="0.5"), RowsPlan(unsaid, None, F(1, 2))),
        (lambda: _row_plan(people, where="x > 0.5"), RowsPlan(people, above, F(1))),
        (lambda: _row_plan(people, where=above), RowsPlan(people, above, F(1))),
        (lambda: _row_plan(_schema()), Denied("names no person column, so that every row is one person")),
        (lambda: _row_plan(people, where="no > 1"), Denied('"no" is not a declared column')),
        *[(partial(_row_plan, epsilon=each), Denied("ε is a decimal")) for each in (0, None, 1001, "1/3", "x")],
        *[
            (
                lambda epsilon=epsilon, made=made: _numbers_of(_row_plan(made, epsilon=epsilon)),
                (times, F(times) / F(epsilon), _margin(F(times) / F(epsilon), 26)),
            )
            for made, times in ((people, 1), (other, 2))
            for epsilon in ("0.1", "1", "7.5")
        ],
        (lambda: sorted(plan.question().items()), sorted(asked.items())),
        (lambda: "version" in _row_plan(people).question(), False),
        (lambda: _row_plan(people).text, 'SELECT COUNT(*) FROM "t" GROUP BY "p"'),
        (lambda: _without(plan.to_dict(), "sql"), {
            "source": "t", "epsilon": "0.1", "neighbors": "change_one", "query": asked["query"], "bins": 26,
            "sensitivity": 2, "scale": "20", "margin": _margin(F(20), 26),
        }),
        (lambda: plan.to_dict()["sql"] == plan.lowered.sums, True),
        (lambda: people_share("0.5"), F(1, 2)),
        *[(partial(people_share, each), Denied("share is a number between 0 and 1")) for each in (0, 1, -1, 2)],
        (lambda: people_share(_as("x")), Denied("share is one finite number")),
    ]  # fmt: skip


def _numbers_of(plan: RowsPlan) -> tuple[int, F, int]:
    return plan.sensitivity, plan.scale, plan.margin


def _people(given: dict[int, int], **more: Any) -> RowsPerPerson:
    answer = {"people": [given.get(i, 0) for i in range(26)]}
    return RowsPerPerson(_row_plan(epsilon="0.5"), 7, False, answer, F(1, 2), **more)


_MANY = {0: 600, 1: 300, 2: 40, 10: 50, 25: 10}
"""Of 1,000 people 600 have one row, and 10 have more than a million."""


def _rows_found() -> Cases:
    none = Denied("The number of people is not above the noise")
    (off,) = margins(np.ones((26, 1)), F(2), F(95, 100))
    whole = math.floor(off)
    at = datetime(2020, 1, 1)
    return [
        (lambda: [_people(_MANY).at(share).rows_per_person for share in ("0.5", "0.6", "0.61", "0.9", "0.901")],
         [1, 1, 2, 2, 3]),
        (lambda: [_people(_MANY).at(share).rows_per_person for share in ("0.94", "0.941", "0.99", "0.991")],
         [3, 20, 20, 10**6]),
        (lambda: _people(_MANY).rows_per_person, 20),
        (lambda: _people({0: -50, 3: 500, 4: -3}).at("0.999").rows_per_person, 4),
        (lambda: _people({25: 500}).rows_per_person, 10**6),
        (lambda: _people({0: whole + 1}).found, True),
        (lambda: _people({0: whole}).found, False),
        (lambda: _people({0: whole}).rows_per_person, none),
        (lambda: _people({0: -500}).rows_per_person, none),
        (lambda: _people({}).to_toml(), none),
        (lambda: _people(_MANY).to_toml(), "rows_per_person = 20\n"),
        (lambda: _people(_MANY).at("0.5").share, F(1, 2)),
        (lambda: _people(_MANY).at(1), Denied("share is a number between 0 and 1")),
        (lambda: _people(_MANY).private, True),
        (lambda: _people(_MANY).beside(at, "new").new_ledger, "new"),
        (lambda: _people(_MANY).beside(at).modified_at, None),
    ]  # fmt: skip


def _row_bins() -> Cases:
    found, margin = _people(_MANY), _margin(F(2), 26)
    people = [_MANY.get(i, 0) for i in range(26)]
    least = (1, *(border + 1 for border in _BORDERS))
    bins = [(a, b, n, max(n - margin, 0), n + margin) for a, b, n in zip(least, (*_BORDERS, None), people, strict=True)]
    csv = "".join(f"{a},{'' if b is None else b},{n},{low},{high}\n" for a, b, n, low, high in bins)
    told = {
        "source": "t", "entry": 7, "repeated": False, "recorded_at": None, "modified_at": None, "epsilon": "0.5",
        "neighbors": "add_remove", "query": 'SELECT COUNT(*) FROM "t" GROUP BY "p"', "scale": "2", "share": "0.95",
        "rows_per_person": 20,
        "bins": [{"least": a, "most": b, "people": {"value": n, "low": low, "high": high}}
                 for a, b, n, low, high in bins],
        "remaining": "0.5",
    }  # fmt: skip
    shares = _shares(people)
    negative = [each.value_high for each in _people({0: -1000}).bins][:2]
    return [
        (lambda: list(map(tuple, found.bins)), bins),
        (lambda: negative, [0, margin]),
        (lambda: found.to_csv(), "least,most,people,people_low,people_high\n" + csv),
        (lambda: _without(found.to_dict(), "within"), told),
        (lambda: found.to_dict()["within"], dict(zip(("value", "low", "high"), shares[20], strict=True))),
        (lambda: (_people({}).to_dict()["within"], _people({}).to_dict()["rows_per_person"]), (None, None)),
        (lambda: found.shares, shares),
        (lambda: _people({0: -9, 4: 1000}).shares, _shares([-9, 0, 0, 0, 1000, *[0] * 21])),
        (lambda: _people({}).shares, _shares([0] * 26)),
        (lambda: _people({0: -500}).shares, _shares([-500, *[0] * 25])),
    ]


def _shares(people: list[int]) -> dict[int, tuple[float, float, float]]:
    """Return the shares of claim K5, with bars that hold for both sides of all 25 borders at once."""
    sure, found = 1 - F(1, 20 * 50), {}
    for place, border in enumerate(_BORDERS, 1):
        within, beyond = sum(people[:place]), sum(people[place:])
        off, off_beyond = (margins(np.ones((n, 1)), F(2), sure)[0] for n in (place, 26 - place))
        value = _share(within, beyond, 0.0)
        low, high = _share(within - off, beyond + off_beyond, 0.0), _share(within + off, beyond - off_beyond, 1.0)
        found[border] = value, min(low, value), max(high, value)
    return found


def _share(within: float, beyond: float, empty: float) -> float:
    a, b = max(within, 0.0), max(beyond, 0.0)
    return a / (a + b) if a + b else empty


def _recorded(room: Room) -> Cases:
    """Return entries of a ledger, and what they found; an answer of another form is refused."""
    ledger = Ledger.open(room.path("ledger"), 10, "0.5")
    entry = ledger.charge("asked", 3, "0.2")
    plan, rows = _keys_of(_schema("p", 2)), _row_plan()
    right, people = {"keys": ["a"], "counts": [5]}, [0] * 26
    old = replace(entry, repeated=True)
    wrong_keys: tuple[Any, ...] = (
        None, [], {}, {"keys": ["a"]}, {"counts": [1]}, {"keys": ["a"], "counts": []}, {"keys": [], "counts": [1]},
        {"keys": None, "counts": []}, {"keys": [], "counts": None}, {"keys": "a", "counts": [1]},
    )  # fmt: skip
    wrong_rows: tuple[Any, ...] = (
        None, [], {}, {"people": None}, {"people": people[1:]}, {"people": [*people, 0]},
        {"people": [*people[1:], 0.0]},
        {"people": [*people[1:], True]}, {"people": tuple(people)},
    )  # fmt: skip
    unfit = Denied("has an answer that does not fit its question")
    return [
        (
            lambda: discovered(plan, ledger, replace(entry, answer=right), "ana"),
            Discovery(plan, entry.number, False, right, F(7), F(3, 10), "ana"),
        ),
        (
            lambda: discovered(plan, ledger, replace(old, answer=right, answered=True), None),
            Discovery(plan, entry.number, True, right, F(7), F(3, 10)),
        ),
        (lambda: discovered(plan, ledger, replace(old, answer=right), None).completed, True),
        (
            lambda: rows_found(rows, ledger, replace(entry, answer={"people": people}), "ana"),
            RowsPerPerson(rows, entry.number, False, {"people": people}, F(7), "ana"),
        ),
        (
            lambda: rows_found(rows, ledger, replace(old, answer={"people": people}, answered=True), None),
            RowsPerPerson(rows, entry.number, True, {"people": people}, F(7)),
        ),
        (lambda: rows_found(rows, ledger, replace(old, answer={"people": people}), None).completed, True),
        *[
            (lambda each=each: discovered(plan, ledger, replace(entry, answer=each), None), unfit)
            for each in wrong_keys
        ],
        *[
            (lambda each=each: rows_found(rows, ledger, replace(entry, answer=each), None), unfit)
            for each in wrong_rows
        ],
    ]


def _as(value: object) -> Any:
    return value
