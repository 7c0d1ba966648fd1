"""Parameters of plans and releases: what they mean if they are accepted, and that wrong ones cost nothing.

The shares of ε and the smallest ε for an error are computed here from the law of the noise, in decimals of 60 digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from typing import Any

from ...errors import LapwingError
from ...plan.asked import plan_asked
from ...plan.plan import Plan
from ...plan.planning import make_plan
from ...plan.strategy import Strategy, choose
from ...question import sql
from ...question.query import Statistic, count, mean, median, quantile, sum
from ...question.ratios import ratio
from ...question.schema import Schema, keys, make_schema, number
from ...question.sets import cube, rollup
from ...source import Source
from ..finding import Finding, all_right, first_of
from ..room import Room
from ..tools.refusing import Call, Rule

_NEIGHBORS = ("change_one", "add_remove")
_TABLES: list[tuple[int, ...]] = [(), (0,), (1,), (0, 1)]
_MARGIN = Fraction(95, 100)
_COLUMNS = {
    "x": number(-3, 7), "u": number(0, 4), "z": number(-3, 7, integer=True), "k": keys("a", "b"), "c": keys(1, 2, 9),
    "thousand": keys(*range(1000)), "as many": keys(*range(1000)), "twenty": keys(*range(20)), "more": keys(*range(21)),
    "hundred": keys(*range(100)),
}  # fmt: skip


def _schema(neighbors: str = "add_remove", *, public: bool = False) -> Schema:
    return make_schema("t", _COLUMNS, None, None, neighbors, None, every_row_counts=public)


def plans() -> Iterator[Finding]:
    """Yield whether plans split ε, find ε and tell errors as they should."""
    wrong = [f"{what}: {found}, not {right}" for what, found, right in _meanings() if found != right]
    yield Finding("P6: ε is split as it is asked, and adds up exactly", not wrong, all_right(wrong, len(_meanings())))
    wrong = list(_errors())
    yield Finding(
        "A: an error that is wanted gets the smallest ε that meets it", not wrong, all_right(wrong, len(_WANTED))
    )


def _planned(*statistics: Statistic, **options: Any) -> Plan:
    return plan_asked(_schema(), statistics, **{"epsilon": 8, **options})


def _epsilons(plan: Plan) -> dict[str, Fraction]:
    """Return the ε of each measurement by the column that it is about."""
    return {part.measurement.target: part.epsilon for part in plan.parts}


def _meanings() -> list[tuple[str, Any, Any]]:
    """Return what plans say, and what is right."""
    both = sum("x"), sum("u")
    whole, made = _planned(*both), _planned(*both, weights={"x": 3, "u": "1"})
    one = _planned(count(), by="k", epsilon="0.5", confidence="0.9", rows=77)
    divided = make_plan(_schema(), whole.query, epsilon=8, split={part.name: 1 + at for at, part in
                                                                  enumerate(whole.measured)})  # fmt: skip
    tables = plan_asked(_schema(), [count()], cube("k", "c"), epsilon=2, weights={("k",): 9, (): 1}, objective="cells")
    chosen, before = tables.strategy, Strategy(((0, 1),), (Fraction(1),))
    changed, alike = (plan_asked(_schema(each), [count()], cube("k", "c"), epsilon=1) for each in _NEIGHBORS)
    half_wanted = _epsilons(_planned(sum("x", error=50), sum("u", share=2), epsilon=None))
    assert chosen is not None
    return [
        ("equal shares", _epsilons(whole), {"x": 4, "u": 4}),
        ("weights of columns", _epsilons(made), {"x": 6, "u": 2}),
        ("a weight of one column", _epsilons(_planned(*both, weights={"X": 3})), {"x": 6, "u": 2}),
        ("shares", _epsilons(_planned(sum("x", share=5), sum("u", share="3"))), {"x": 5, "u": 3}),
        ("the largest share of a column", _epsilons(_planned(sum("x", share=1), mean("x", share=3), sum("u"))),
        {"x": 6, "u": 2}),
        ("a share of thirds", _epsilons(_planned(sum("x", share=2), sum("u"), epsilon=1)),
         {"x": Fraction(2, 3), "u": Fraction(1, 3)}),
        ("shares in a ratio", _epsilons(_planned(ratio(sum("x", share=3), sum("u")))), {"x": 6, "u": 2}),
        ("what no error is wanted of", half_wanted["u"], 2 * half_wanted["x"]),
        ("the total costs half if one changes", changed.strategy, choose([2, 3], _TABLES, costs={(): 0.5})),
        ("the total costs as much as others", alike.strategy, choose([2, 3], _TABLES)),
        ("a strategy chosen before", make_plan(_schema(), tables.query, epsilon=1, strategy=before).strategy, before),
        ("a given split", [part.epsilon for part in divided.parts], [Fraction(8, 3), Fraction(16, 3)]),
        ("the split that is shown", list(made.split.values()), [str(each) for each in _epsilons(made).values()]),
        ("ε of a float", _planned(count(), epsilon=0.1 + 0.2).epsilon, Fraction(3, 10)),
        ("ε", [one.epsilon, one.confidence, one.rows, one.groups], [Fraction(1, 2), Fraction(9, 10), 77, 2]),
        ("the noise of a count", [each.scale for each in one.forecasts], [Fraction(2)]),
        ("its bar", one.forecasts[0].margin, _bar(Fraction(2), Fraction(9, 10))),
        ("its bars at once", one.forecasts[0].simultaneous_margin, _bar(Fraction(2), Fraction(9, 10), 2)),
        ("a count if one changes", [each.scale for each in plan_asked(_schema("change_one"), [count()], "k",
        epsilon=1).forecasts],
         [Fraction(2)]),
        ("a public count", [plan_asked(_schema("change_one", public=True), [count()], epsilon=1).parts], [()]),
        ("the usual", [(each.confidence, each.rows) for each in (whole,)], [(_MARGIN, 1000)]),
        ("shares of tables", [_sum_of(chosen.shares), min(chosen.shares) > 0], [Fraction(1), True]),
        ("a table that counts more", sorted(chosen.measured, key=len)[-1], (0, 1)),
        ("SQL", plan_asked(_schema(), ["SELECT k, SUM(x) FROM t WHERE u > 1 GROUP BY k"], epsilon=8).query.text,
         plan_asked(_schema(), [sum("x")], "k", "u > 1", epsilon=8).query.text),
        ("SQL is cut afterwards", plan_asked(_schema(), ["SELECT k, COUNT(*) AS n FROM t GROUP BY k LIMIT 1"],
        epsilon=1).shown.limit, 1),
        ("nothing is cut", whole.shown.limit, None),
    ]  # fmt: skip


def _sum_of(shares: Iterable[Fraction]) -> Fraction:
    """Return the sum of fractions."""
    total = Fraction(0)
    for share in shares:
        total += share
    return total


def _tail(scale: Fraction, most: int) -> Decimal:
    """Return the probability that integer Laplace noise is larger than so much: 2 q^(k + 1) / (1 + q)."""
    with localcontext(prec=60):
        q = (-Decimal(scale.denominator) / Decimal(scale.numerator)).exp()
        return 2 * q ** (most + 1) / (1 + q)


def _bar(scale: Fraction, confidence: Fraction, groups: int = 1) -> float:
    """Return the smallest half-width that holds for this many counts at once."""
    with localcontext(prec=60):
        sure = Decimal(confidence.numerator) / Decimal(confidence.denominator)
        return float(next(k for k in range(10**6) if (1 - _tail(scale, k)) ** groups >= sure))


_WANTED: tuple[tuple[int, Fraction, Mapping[str, Any]], ...] = (
    (10, _MARGIN, {"error": 10}), (1, _MARGIN, {"error": "1.9"}), (300, _MARGIN, {"error": {"count": 300}}),
    (10, Fraction(1, 2), {"error": 10, "confidence": "0.5"}), (7, Fraction(999, 1000), {"error": {"COUNT": 7},
    "confidence": 0.999}),
)  # fmt: skip
"""Errors of a count, as they are asked."""


def _errors() -> Iterator[str]:
    """Yield where the ε for an error is not the smallest multiple of 10^-9 that is enough."""
    for error, confidence, options in _WANTED:
        for statistic in (count(), count(error=error)):
            given = {name: each for name, each in options.items() if statistic.error is None or name != "error"}
            found = plan_asked(_schema(), [statistic], **given).epsilon
            with localcontext(prec=60):
                allowed = 1 - Decimal(confidence.numerator) / Decimal(confidence.denominator)
                nano = int(found * 10**9)
                enough = _tail(1 / found, error) <= allowed
                fewer = _tail(Fraction(10**9, nano - 1), error) <= allowed
            if found.denominator > 10**9 or not enough or fewer:
                yield f"{options} gets ε = {found}"
    several = plan_asked(_schema(), [count(error=10), sum("x", error=50), mean("u", error="0.1")])
    margins = [each.margin for each in several.forecasts]
    less = replace(
        several, parts=tuple(replace(part, epsilon=part.epsilon * Fraction(99, 100)) for part in several.parts)
    )
    if any(margin > most for margin, most in zip(margins, (10, 50, 0.1), strict=True)):
        yield f"margins of {margins}"
    if all(each.margin <= most for each, most in zip(less.forecasts, (10, 50, 0.1), strict=True)):
        yield "more ε than three errors need"


_WRONG: dict[str, tuple[Any, ...]] = {
    "epsilon": (0, -1, "x", "", True, [], 1001, "1e-10", float("nan"), Fraction(1, 3)),
    "error": (0, -1, "x", True, [5], {"count": 0}, {"other": 5}, {5: 1}, {"count": "x"}),
    "confidence": (0, 1, "0.000999", "0.9999999999", "x", 95, None, True, -0.5),
    "rows": (0, -1, 1.5, "x", None, True, 10**15 + 1),
    "intervals": (0, 1, None, "false", "", []),
    "objective": ("MEAN", "", None, 5, "cells", "minimax", ["mean"]),
    "weights": ({"x": 1}, {"nothing": 1}, 5, "x", [("x", 1)], {("k",): 1}, {5: 1}),
}
_RIGHT: dict[str, tuple[Any, ...]] = {
    "epsilon": (1000, "0.000000001", 0.1 + 0.2),
    "error": (10, {"count": 5}, {"COUNT": "1/3"}),
    "confidence": ("0.001", "0.999999999", 0.5),
    "rows": (1, 10**15, "5"),
    "intervals": (True, False),
    "objective": ("mean",),
    "weights": ({}, None),
}
"""Values of the parameters of a plan for a count."""

_ONE, _BOTH = [count()], [sum("x"), sum("u")]
_SQL = ["SELECT COUNT(*) FROM t"]


def plan_rules() -> list[Rule]:
    """Return the rules of the parameters of plans."""
    plan: Any = partial(plan_asked, _schema())

    def with_one(name: str, value: Any) -> Call:
        return partial(plan, _ONE, **{**({} if name == "error" else {"epsilon": 1}), name: value})

    alone = [
        Rule(
            f"{name} is one of its values",
            [with_one(name, each) for each in _RIGHT[name]],
            [with_one(name, each) for each in _WRONG[name]],
        )
        for name in _WRONG
    ]
    return [*alone, *_of_epsilon(plan), *_of_tables(plan), *_of_sizes(partial(plan, epsilon=1)), *_of_strategies()]


def _of_epsilon(plan: Any) -> Iterator[Rule]:
    one, public = _ONE, partial(plan_asked, _schema("change_one", public=True), _ONE)
    wanted = [count(error=5)]
    yield Rule(
        "either ε or an error is given",
        [
            partial(plan, one, epsilon=1),
            partial(plan, one, error=5),
            partial(plan, wanted),
            partial(plan, wanted, epsilon=1),
        ],
        [partial(plan, one), partial(plan, one, epsilon=1, error=5), partial(plan, one, error={})],
    )
    yield Rule(
        "an error needs noise, and can be reached",
        [partial(public, epsilon=1), partial(plan, _BOTH, error="0.1")],
        [
            partial(public, error=5),
            partial(plan, _BOTH, error="1e-9"),
            partial(plan, [sum("x", error="1e-9"), count()]),
        ],
    )
    schema = _schema()
    split = partial(make_plan, schema, sql.make_query(_BOTH, None, None, schema), epsilon=1)
    first, second = (each.name for each in plan(_BOTH, epsilon=1).measured)
    yield Rule(
        "a split names each measurement",
        [partial(split, split={first: 2, second: 2})],
        [partial(split, split=each) for each in ({}, {first: 1}, {first: 1, second: 0}, {first: -1, second: 1})],
    )


def _of_tables(plan: Any) -> Iterator[Rule]:
    cubed = partial(plan, _ONE, cube("k", "c"), epsilon=1)
    weights: Any = (
        {("x",): 1}, {("k",): 0}, {("k",): -1}, {("k", 5): 1}, {("k",): "x"}, {("k",): 10**16}, {("k",): "1e-16"},
        {("k", "k"): 1},
    )  # fmt: skip
    yield Rule(
        "tables have weights and an objective",
        [partial(cubed, objective=each, weights={("c", "k"): 2, (): "0.5"}) for each in ("mean", "minimax", "cells")],
        [
            *(partial(cubed, weights=each) for each in weights),
            partial(cubed, objective="max"),
            partial(plan, [median("x")], cube("k", "c"), epsilon=1),
        ],
    )
    yield Rule(
        "SQL says itself how it groups",
        [partial(plan, _SQL, epsilon=1)],
        [
            partial(plan, _SQL, "k", epsilon=1),
            partial(plan, _SQL, None, "x > 1", epsilon=1),
            partial(plan, [count(), *_SQL], epsilon=1),
            partial(plan, [], epsilon=1),
            partial(plan, [5], epsilon=1),
        ],
    )


def _of_sizes(plan: Any) -> Iterator[Rule]:
    million, fewer = ["thousand", "as many"], ["thousand", "hundred"]
    two = [median("x"), quantile("x", "0.1")]
    yield Rule(
        "noise is at most 2^200",
        [partial(plan, [sum("x", share=10**30), sum("u")])],
        [partial(plan, [sum("x", share=10**80), sum("u")])],
    )
    yield Rule(
        "groups, cells and quantiles are not too many",
        [partial(plan, _ONE, [*million, "twenty"]), partial(plan, [median("x")], fewer), partial(plan, two, fewer)],
        [
            partial(plan, _ONE, [*million, "more"]),
            partial(plan, [median("x")], million),
            partial(plan, _BOTH, [*million, "twenty"]),
            partial(plan, [mean("x")], [*million, "twenty"]),
            partial(plan, _ONE, rollup(*million, "hundred")),
            partial(plan, [*two, quantile("u", "0.1")], fewer),
        ],
    )


def _of_strategies() -> Iterator[Rule]:
    tables = partial(Strategy, ((0,), ()))
    half, third = Fraction(1, 2), Fraction(1, 3)
    wrong = ((third, third), (Fraction(1), Fraction(0)), (Fraction(1),), (3 * half, -half))
    yield Rule(
        "shares of tables are positive and add up",
        [partial(tables, (third, 2 * third))],
        [partial(tables, each) for each in wrong],
    )
    chosen = partial(choose, [2, 3], [(0,)])
    yield Rule(
        "tables have costs and weights",
        [partial(choose, [2, 3], [(0,), (0, 1)], weights={(0,): 0.0})],
        [
            partial(choose, [2, 3], []),
            partial(chosen, objective="max"),
            *(partial(chosen, weights={(0,): each}) for each in (-1.0, 0.0, float("inf"))),
            *(partial(chosen, costs={(0,): each}) for each in (0.0, -1.0, float("nan"))),
        ],
    )


def nothing_charged(room: Room) -> Finding:
    """Wrong parameters of a release are refused before the ledger is asked, and cost nothing."""
    source: Source = room.source(room.table({"x": [1.0]}, {"x": "DOUBLE"}), columns={"x": number(0, 5)})
    ledger = source.make_ledger()
    ledger.add_analyst("ann", 5)
    wrong: dict[str, tuple[Any, ...]] = {
        "by": ("nothing", 5, ["x"], "x"), "where": ("x > 9", 5, "x"), "weights": ({"y": 1}, 5, {"x": 0}, {(): 1}),
        "objective": ("cells", "", None), "analyst": ("bob", "", 5, "Ann\n"), "confidence": (0, 1, None, "x"),
        "intervals": (0, "no", None), "epsilon": (0, 1001, None, "x", True), "eps": (1,), "error": (5,), "rows": (5,),
    }  # fmt: skip
    accepted = []
    for name, values in wrong.items():
        for value in values:
            for ask in (source.release, source.sql):
                question: Any = sum("x") if ask == source.release else "SELECT SUM(x) FROM t"
                try:
                    ask(question, **{"epsilon": 1, name: value})
                    accepted.append(f"{name} = {value!r}")
                except LapwingError:
                    pass
    source.release(sum("x"), epsilon=1, analyst="ann")
    spent = [ledger.spent, ledger.budget("ann").spent]
    number_of = 2 * len([each for some in wrong.values() for each in some])
    return Finding(
        "T16: a wrong parameter of a release costs nothing, and a right one what it says",
        not accepted and spent == [1, 1],
        f"{len(accepted)} of {number_of} are accepted, 0 may be{first_of(accepted)}; ε = {spent[0]} was charged, "
        "1 is right.",
    )
