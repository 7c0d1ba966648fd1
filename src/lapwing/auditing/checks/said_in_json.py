"""Statistics, keys and weights in Python and in JSON: each form means what is written here, and becomes the other.

Every choice of the arguments of a statistic is made.  What it must hold, and its JSON, are put together here argument
by argument; the product's own tables are not used.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

from ...question import query, statistic_json
from ...question.query import Statistic
from ...question.ratios import ratio
from ...question.sets import KeySets, sets
from ...question.statistic_json import keys_of, statistic_of, statistic_to_dict, weights_of
from ..finding import Finding, all_right
from ..tools.refusing import Call, Rule

Fields = Mapping[str, Any]

keys_to_json: Any = statistic_json.keys_to_json
weights_to_json: Any = statistic_json.weights_to_json

_EMPTY: Fields = {
    "column": None, "condition": None, "edges": None, "sample": True, "share": None, "error": None, "name": None,
    "level": None, "bins": None, "parts": (), "factor": Fraction(1), "weight": None, "expression": None,
    "times": Fraction(1), "digits": None,
}  # fmt: skip
_OPTIONS: dict[str, tuple[Any, Fields]] = {
    "column": ("x", {"column": "x"}),
    "weight": ("w + 1", {"weight": "w + 1"}),
    "share": ("0.25", {"share": Fraction(1, 4)}),
    "error": ("1/3", {"error": Fraction(1, 3)}),
    "sample": (False, {"sample": False}),
    "factor": ("-100", {"factor": Fraction(-100)}),
    "name": ("n" * 200, {"name": "n" * 200}),
}
"""Arguments that may be left out: their value in JSON, and what the statistic then holds."""

_X: Fields = {"column": "x"}
_COUNT: Fields = {"statistic": "count"}
_SUM: Fields = {"statistic": "sum", "column": "x * y", "weight": "w"}
_COUNTED, _SUMMED = Statistic("count"), Statistic("sum", column="x * y", weight="w")
_EDGES = (Fraction(-3, 2), Fraction(0), Fraction(1, 3))
_BINS: Fields = {"column": "x", "edges": ["-1.5", "0", "1/3"]}
_BETWEEN: Fields = {"column": "x", "edges": _EDGES}
_USUAL = "weight share error name"
_KINDS: tuple[tuple[str, Fields, Fields, str], ...] = (
    ("count", {}, {}, f"column {_USUAL}"),
    ("people", {}, {}, "share error name"),
    ("sum", _X, _X, _USUAL),
    ("mean", _X, _X, _USUAL),
    ("variance", _X, _X, "sample share error name"),
    ("std", _X, _X, "sample share error name"),
    ("proportion", {"condition": "x > 1"}, {"condition": "x > 1"}, _USUAL),
    ("histogram", _BINS, _BETWEEN, "name"),
    ("cdf", _BINS, _BETWEEN, "name"),
    ("cdf", {"column": "x", "edges": 7}, {"column": "x", "bins": 7}, "name"),
    ("quantile", {"column": "x", "q": "1/3"}, {"column": "x", "level": Fraction(1, 3)}, _USUAL),
    ("quantile", {"column": "x", "q": "0"}, {"column": "x", "level": Fraction(0)}, _USUAL),
    ("quantile", {"column": "x", "q": "0.999999"}, {"column": "x", "level": Fraction(999_999, 10**6)}, _USUAL),
    ("ratio", {"numerator": _COUNT, "denominator": _SUM}, {"parts": (_COUNTED, _SUMMED)}, "factor error name"),
    ("ratio", {"numerator": _SUM, "denominator": _COUNT}, {"parts": (_SUMMED, _COUNTED)}, "factor error name"),
)
"""For each statistic what it needs in JSON, what it then holds, and the options that it has."""

_MAKERS: dict[str, Callable[..., Any]] = {
    "count": query.count, "people": query.people, "sum": query.sum, "mean": query.mean, "variance": query.variance,
    "std": query.std, "proportion": query.proportion, "histogram": query.histogram, "cdf": query.cdf,
    "quantile": query.quantile, "ratio": ratio,
}  # fmt: skip

_NUMBERS: tuple[Any, ...] = ("0", "-1", "x", "", "1/0", "nan", "inf", True, [], {}, 0, -3, 0.5)
_WRONG: dict[str, tuple[Any, ...]] = {
    "column": (5, True, ["x"], {}, {"x": 1}),
    "weight": (2, "2", "0.5", " 3 ", "+1e3", 0.5, ["w"], {}, True),
    "share": _NUMBERS,
    "error": _NUMBERS,
    "sample": (0, 1, "false", "", 0.0, [], {}),
    "factor": ("0", "x", "", "1/0", "inf", 0.5, "1" + "0" * 101, "-1" + "0" * 101, f"1/1{'0' * 101}", [], {}, True),
    "name": (5, "", " ", "n\n", "n" * 201, ["n"], {}, True),
    "condition": (5, ["x > 1"], {}, True, 0.5),
    "q": ("-0.000001", "1.000001", "0.0000001", "x", "", "nan", ["0.5"], [], {}, True, 2, -1, 0.5, "1/1000001"),
    "edges": (
        [], ["1"], ["1", "1"], ["2", "1"], ["0", "1", "1"], ["0", "x"], ["0", None], "0", "ab", {}, True, 0, -1, 1025,
        0.5, ["0", "1" + "0" * 301], ["-1" + "0" * 301, "0"], [["0", "1"]],
    ),
    "numerator": (
        5, "count", {}, [], {"statistic": "mean", "column": "x"}, {"statistic": "no"}, True,
        {"statistic": "ratio", "numerator": _COUNT, "denominator": _COUNT},
    ),
    "denominator": (
        5, "count", {}, [], {"statistic": "std", "column": "x"}, {"statistic": "count", "q": "0"}, 0.5,
        {"statistic": "ratio", "numerator": _COUNT, "denominator": _COUNT},
    ),
}  # fmt: skip
"""Values that an argument may not have."""


_NO_KEYS: tuple[Any, ...] = (
    5, True, {}, {"tables": []}, {"tables": "k"}, {"tables": ["k"]}, {"tables": [[5]]}, [5], [["k"]],
    [None], {"tables": [["k"]], "more": 1}, {"table": [["k"]]}, [{"tables": []}], {"tables": [["k", "k"]]},
)  # fmt: skip
_NO_WEIGHTS: tuple[Any, ...] = (
    5, "x", True, ["x"], [["x"]], [["x", "1", "2"]], [["x", 0.5]], {"x": 0.5}, [["x", "0"]], [["x", "-1"]],
    [[5, "1"]], [[["a", 5], "1"]], [[None, "1"]], [["x", None]], [["x", "y"]], [["x", True]], {"x": []},
)  # fmt: skip


def said_in_json() -> Iterator[Finding]:
    """Yield whether statistics, keys and weights mean in both forms what they should."""
    wrong, number = list[str](), 0
    expected: dict[str, Any]
    for kind, given, holds, options in _KINDS:
        names = options.split()
        for some in (some for size in range(len(names) + 1) for some in combinations(names, size)):
            asked = {"statistic": kind, **given, **{name: _OPTIONS[name][0] for name in some}}
            expected = {"kind": kind, **_EMPTY, **holds}
            for name in some:
                expected |= _OPTIONS[name][1]
            number += 1
            wrong += _differs(kind, asked, expected)
    yield Finding("T16: a statistic in Python and in JSON holds what it states", not wrong, all_right(wrong, number))
    told = [f"{what}: {found!r}, not {right!r}" for what, found, right in _pairs() if found != right]
    yield Finding("T16: numbers, keys and weights go through JSON unchanged", not told, all_right(told, len(_pairs())))


def _differs(kind: str, asked: dict[str, Any], expected: Fields) -> Iterator[str]:
    """Yield how a statistic differs from what it should hold, made in each way."""
    given: dict[str, Any] = {word: value for word, value in asked.items() if word != "statistic"}
    parts: dict[str, Any] = {word: statistic_of(given[word]) for word in ("numerator", "denominator") if word in given}
    made: dict[str, Statistic] = {
        "Python": _MAKERS[kind](**{**given, **parts}),
        "JSON": statistic_of(json.loads(json.dumps(asked))),
        "JSON of what was made": statistic_of(statistic_to_dict(statistic_of(asked))),
    }
    for way, statistic in made.items():
        for field in fields(Statistic):
            found = getattr(statistic, field.name)
            if found != expected[field.name] or type(found) is not type(expected[field.name]):
                yield f"{field.name} of {asked} by {way} is {found!r}"
    written = json.dumps(statistic_to_dict(made["Python"]), sort_keys=True)
    if written != json.dumps(asked, sort_keys=True):
        yield f"{asked} is written {written}"


def _pairs() -> list[tuple[str, Any, Any]]:
    """Return what was found and what is right: other ways to write the same, and what is no statistic."""
    half, tables = Fraction(1, 2), KeySets((("a", "b"), ("a",), ()))
    several = query.quantile("x", [0, "1/2", 1.0], share=2, weight="w")
    split: dict[Any, Fraction] = {"x": Fraction(3), ("a", "b"): half, (): Fraction(4)}
    listed = [["x", "3"], [["a", "b"], "0.5"], [[], "4"]]
    return [
        ("a number as a float", query.count(share=0.5, error=0.1), Statistic("count", share=half, error=Fraction(1,
        10))),
        ("as a decimal", query.sum("x", share=Decimal("0.5")), Statistic("sum", column="x", share=half)),
        ("several levels", several, [Statistic("quantile", "x", level=Fraction(i, 2), share=Fraction(2), weight="w")
                                     for i in range(3)]),
        ("the median", query.median("x", error=2), Statistic("quantile", "x", level=half, error=Fraction(2))),
        ("the minimum", query.min("x", name="n", weight="w"), Statistic("quantile", "x", level=Fraction(0), name="n",
                                                                        weight="w")),
        ("the maximum", query.max("x", share=3), Statistic("quantile", "x", level=Fraction(1), share=Fraction(3))),
        ("a factor", ratio(_COUNTED, _SUMMED, factor="1/3", error=5, name="r"),
         Statistic("ratio", parts=(_COUNTED, _SUMMED), factor=Fraction(1, 3), error=Fraction(5), name="r")),
        ("256 bins", query.cdf("x"), Statistic("cdf", "x", bins=256)),
        ("1024 bins", statistic_of({"statistic": "cdf", "column": "x", "edges": 1024}), Statistic("cdf", "x",
        bins=1024)),
        ("1 bin", statistic_of({"statistic": "cdf", "column": "x", "edges": "1"}), Statistic("cdf", "x", bins=1)),
        ("the sample", statistic_of({"statistic": "std", "column": "x", "sample": True}), Statistic("std", "x")),
        ("a factor of 1", statistic_to_dict(ratio(_COUNTED, _COUNTED)),
         {"statistic": "ratio", "numerator": _COUNT, "denominator": _COUNT}),
        ("a long edge", query.histogram("x", ["-1e300", 10**300]),
         Statistic("histogram", "x", edges=(Fraction(-(10**300)), Fraction(10**300)))),
        ("the largest factor", ratio(_COUNTED, _COUNTED, factor=10**100).factor, Fraction(10**100)),
        ("the least factor", ratio(_COUNTED, _COUNTED, factor="-1e-100").factor, Fraction(-1, 10**100)),
        *((f"the keys {each!r}", keys_to_json(each), said) for each, said in (
            (None, None), ("k", "k"), (["k", "m"], ["k", "m"]), (("k",), ["k"]), (tables, {"tables": [["a", "b"],
            ["a"], []]}),
            (["k", tables], ["k", {"tables": [["a", "b"], ["a"], []]}]), ([], []),
        )),
        *((f"the keys {said!r}", keys_of(said), each) for each, said in (
            (None, None), ("k", "k"), (["k", "m"], ["k", "m"]), (tables, {"tables": [["a", "b"], ["a"], []]}),
            (["k", tables], ["k", {"tables": [["a", "b"], ["a"], []]}]), ([], []), (sets(()), {"tables": [[]]}),
        )),
        ("the weights", weights_to_json(split), listed),
        ("the weights in JSON", weights_of(listed), split),
        ("the weights as an object", weights_of({"x": "3", "y": 2}), {"x": Fraction(3), "y": Fraction(2)}),
        ("no weights", weights_to_json(None), None),
        ("no weights in JSON", weights_of(None), None),
        ("no weight at all", [weights_to_json({}), weights_of([]), weights_of({})], [[], {}, {}]),
    ]  # fmt: skip


def json_rules() -> list[Rule]:
    """Return the rules of the arguments of statistics, each with JSON that keeps it and JSON that breaks it."""
    rules = [
        Rule("a statistic is an object with a known name", [partial(statistic_of, _COUNT)], [
            partial(statistic_of, each) for each in (
                None, "count", 5, [], [_COUNT], {}, {"statistic": "counts"}, {"statistic": "COUNT"},
                {"statistic": None},
                {"statistic": ["count"]}, {"statistic": 5}, {"name": "n"}, {"statistic": "Statistic"},
            )
        ]),
        Rule("keys are columns or tables", [partial(keys_of, "k"), partial(keys_to_json, ["k"])], [
            *(partial(keys_of, each) for each in _NO_KEYS),
            *(partial(keys_to_json, each) for each in (5, True, {"k": 1}, {"k"}, [5], [["k", 5]])),
        ]),
        Rule("weights are pairs of columns and positive numbers", [
            partial(weights_of, [["x", "3"]]), partial(weights_to_json, {"x": 0.5})
        ], [
            *(partial(weights_of, each) for each in _NO_WEIGHTS),
            *(partial(weights_to_json, each) for each in (5, "x", [["x", 3]], {"x": 0}, {"x": -1}, {"x": "y"},
            {"x": None})),
        ]),
        Rule("a level is between 0 and 1", [partial(query.quantile, "x", [0.5]), partial(query.quantile, "x", "0")], [
            partial(query.quantile, "x", []), partial(query.quantile, "x", [0.5, 2]),
            partial(query.quantile, "x", [0.5], name="n"), partial(query.quantile, "x", ["y"]),
            partial(query.quantile, "x", range(2, 3)), partial(query.quantile, "x", -0.5),
            partial(query.quantile, "x", {"y"}), partial(query.quantile, "x", None),
        ]),
    ]  # fmt: skip
    for kind, given, _, options in _KINDS:
        whole = {"statistic": kind, **given}
        has = {*given, *options.split()}
        right = [partial(statistic_of, {**whole, name: _OPTIONS[name][0]}) for name in options.split()]
        wrong: list[Call] = [partial(statistic_of, {**whole, name: "x"}) for name in {*_WRONG, "level", "kind"} - has]
        wrong += [partial(statistic_of, {word: each for word, each in whole.items() if word != name}) for name in given
                  if (kind, name) != ("cdf", "edges")]  # fmt: skip
        wrong += [partial(statistic_of, {**whole, name: each}) for name in has for each in _WRONG[name]
                  if not (kind == "cdf" and name == "edges" and each is True)]  # fmt: skip
        rules.append(Rule(f"the arguments of {kind} are those that it has", right, wrong))
    return rules
