"""Questions that differ in one place: made from the parameters of the product's own functions.

Every parameter of ``Source``, of what can be asked of it, and of the functions that make statistics and columns has a
few values here, the first of which is the usual one.  A parameter that somebody adds has none, and is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from inspect import Parameter, signature, unwrap
from typing import Any
from zlib import crc32

from ...errors import LapwingError
from ...question import codes, derivation, query, ratios, schema
from ...question.file import file
from ...question.query import Statistic
from ...question.schema import Column
from ...question.sets import cube, rollup, sets
from ...source import Source
from .join_examples import JOINS

ODD = "o\"d\\d %\n'ü"
"""The name of a column, and the text of a cell: with quotes, a backslash, a percent sign and a line break."""

KEYS = ("a", "A", "b", ODD, "it's", "", "ä", "a%", "a_")
MANY = tuple(f"key {i}" for i in range(120))
"""More keys than a ledger lists one by one."""

UNSET = object()
"""Used for a parameter that is left out."""


@dataclass(frozen=True)
class AskedQuestion:
    """A question: how the source is described, the method of ``Source``, and its arguments.

    ``base`` names the question that it differs from in one place, ``parameter`` the parameter that was changed.
    """

    what: str
    call: str = "release"
    args: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    described: Mapping[str, Any] = field(default_factory=dict)
    base: str = ""
    parameter: str = ""

    def changed(self, name: str, value: Any, *, source: bool = False) -> AskedQuestion:
        """Return the question with another value for one parameter, of the call or of the source."""
        named = f"{name} of {'Source' if source else self.call}"
        other = replace(self, what=f"{self.what}, {name} = {shown(value)}", base=self.what, parameter=named)
        if source:
            return replace(other, described=_with(self.described, name, value))
        return replace(other, options=_with(self.options, name, value))


def shown(value: Any) -> str:
    """Return a value as a short text."""
    text = "left out" if value is UNSET else str(value) if isinstance(value, Fraction) else repr(value)
    return text if len(text) <= 60 else f"{text[:50]}... #{crc32(text.encode())}"


def _with(options: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    other = {key: each for key, each in options.items() if key != name}
    return other if value is UNSET else {**other, name: value}


# --- parameters, and the values they are given ---

COLUMNS: dict[str, Column | str] = {
    "x": schema.number(-4, 10),
    "y": schema.number(0, "7.5"),
    "i": schema.number(0, 20, integer=True),
    "e": schema.number(0, 10, edges=[0, 3, 10]),
    "k": schema.keys(KEYS),
    "m": schema.keys(MANY),
    "b": schema.keys(False, True),
    "d": "date",
    "u": "text",
    ODD: schema.number(0, 5),
}
"""What the usual source declares."""

USUAL: dict[str, Any] = {"name": "t", "columns": COLUMNS, "epsilon": 1000, "delta": "0.5"}

SOURCE: dict[str, tuple[Any, ...]] = {
    "name": ("u", "T", 't"', "t t"),
    "person": ("u",),
    "rows_per_person": (3, 1),
    "neighbors": ("change_one",),
    "public_rows": (True, False),
    "version": ("1", "2", "", "1 ", "None"),
    "file": (
        file(decimal=","),
        file(decimal="."),
        file(thousands=","),
        file(dates="%d.%m.%Y"),
        file(dates="%m.%d.%Y"),
        file(missing=["a"]),
        file(missing=["a", "b"]),
        file(format="csv"),
        file(quote="'"),
        file(quote=""),
        file(delimiter=";"),
        file(encoding="latin-1"),
        file(header=False, names=["x", "u"]),
        file(part="a"),
        file(part="b"),
    ),
    "joins": tuple((each,) for each in JOINS),
}
"""Values for the parameters of a source besides the usual ones; those of ``columns`` are made below."""

TOGETHER: dict[str, dict[str, Any]] = {
    "person": {"person": "p", "rows_per_person": 2},
    "rows_per_person": {"person": "p", "rows_per_person": 2},
    "public_rows": {"neighbors": "change_one"},
    "joins": {"person": "p", "rows_per_person": 2},
}
"""What a parameter of a source needs besides."""

COMPARISONS = (
    "x > 1", "x > 1.0000000000000000001", "x >= 1", "x < 1", "x <> 1", "x = 1", "y > 1", "x > y", "y > x", "k = 'a'",
    "k = 'A'",
)  # fmt: skip
BRACKETS = (
    "(x > 1 AND y > 1) OR b", "x > 1 AND (y > 1 OR b)", "NOT (x > 1 AND y > 1)", "NOT (x > 1 OR y > 1)",
    "NOT x > 1 AND y > 1", "x > 1 OR y > 1", "x > 1 OR y > 1 OR b", "x > 1 AND y > 1", "x > 1 AND y > 1 AND b",
)  # fmt: skip
CONDITIONS = (
    *COMPARISONS, "x IS NULL", "y IS NULL", "NOT x IS NULL", "NOT y IS NULL", "k = 'ä'", "k = ''", "u = ' a'",
    "k IN ('a', 'b')", "k IN ('a', 'A')", "u IN ('a', 'A')", "NOT k IN ('a', 'b')", "k IN ('a', 'it''s')",
    "d > DATE '2024-01-31'", "d > DATE '2024-02-01'", "b", "NOT b", "b IS NULL", *BRACKETS, "u = '1'", "u = '01'",
    "i = 1", "u = ' OR 1 = 1'", "u = '%'", "k = 'a' OR k = 'A'", "u = 'a' OR u = ' a'", "x > 1 OR x < 1",
    "x * y > 3", "x * y > i", "x * y * i > 3", "x * y > 4", "ABS(x) > 3", "FLOOR(x) > 3",
    "CASE WHEN b THEN x END > 2", "CASE WHEN b THEN x ELSE 1 END > 2", "CASE WHEN b THEN x WHEN y > 1 THEN 1 END > 2",
    "(x > 1) * y > 2", "(k IN ('a', 'b')) * y > 2", "EXTRACT(MONTH FROM d) = 1", "EXTRACT(DAY FROM d) = 1",
    "EXTRACT(DAY FROM DATE_TRUNC('week', d)) = 1", "DATE_TRUNC('week', d) = DATE '2024-01-01'",
    "DATE_TRUNC('month', d) = DATE '2024-01-01'", "DATE_TRUNC('month', DATE_TRUNC('week', d)) = DATE '2024-01-01'",
    "x * y >= 3", "x + y > 3", "x - y > 3", "y - x > 3", "(x * y) IS NULL", "(x + y) IS NULL",
)  # fmt: skip
"""Conditions, each of which differs from the one before it."""

CALLS: dict[str, dict[str, tuple[Any, ...]]] = {
    "release": {
        "by": (UNSET, "k", "b", "m", "e", ("k", "b"), ("b", "k")),
        "where": (UNSET, *CONDITIONS),
        "epsilon": (1, 2, "1.000000001", "0.1"),
        "weights": (UNSET, {"x": 3, "y": 1}, {"x": 1, "y": 3}, {"x": 2}),
        "intervals": (True, False),
        "objective": ("mean",),  # others need several tables
    },
    "discover": {
        "column": ("u", "k", "i", "d", "b"),
        "epsilon": (1, 2, "1.000000001"),
        "delta": ("0.001", "0.002", "0.0010000001"),
        "where": (UNSET, *COMPARISONS, *BRACKETS[:4]),
        "keys_per_person": (UNSET, 1, 3),
    },
    "bounds": {
        "column": ("x", "y", "i"),
        "epsilon": (1, 2, "1.000000001"),
        "where": (UNSET, *COMPARISONS, *BRACKETS[:4]),
    },
    "rows_per_person": {
        "epsilon": (1, 2, "1.000000001"),
        "where": (UNSET, *COMPARISONS, *BRACKETS[:4]),
    },
}
"""For each call, the values of its parameters; the first is the usual one."""

SEVERAL: dict[str, tuple[Any, ...]] = {
    "by": (rollup("k", "m"), rollup("m", "k"), sets("k", "m"), sets("m", "k"), cube("m", "k"), cube("k", "b", "m")),
    "objective": ("minimax", "cells"),
    "weights": ({(): 9}, {("k",): 9}, {("m", "k"): 9}, {"x": 3, "y": 1, (): 9}),
}
"""The same for a question that asks for several tables."""

HARMLESS: dict[str, str] = {
    "table": "the ledger knows the question, not the data: `version` tells data apart",
    "epsilon of Source": "the total, which a ledger has once",
    "delta of Source": "the total, which a ledger has once",
    "ledger": "another ledger is another budget",
    "noise_levels of Source": "marks are made from what was released",
    "columns": "changed below, for every parameter of the functions that make a column",
    "statistics": "changed below, for every parameter of the functions that make a statistic",
    "self": "the source",
    "analyst": "whose cap is charged",
    "confidence": "error bars are made from what was released",
    "share": "k is chosen from the noisy numbers",
    "progress": "what shows the progress",
    "entropy": "the noise, which is the same for all questions here",
}
"""Parameters that are not part of the question, and why."""

MADE: dict[str, tuple[Any, ...]] = {
    "column": ("x", "y", ODD, "x * y", "x - y", "x * (y > 1)", "CASE WHEN y > 2 THEN x END"),
    "condition": (
        "x > 1", "x > 2", "y > 1", "NOT x > 1", "k = 'a' OR (x > 1 AND y > 1)", "(k = 'a' OR x > 1) AND y > 1",
    ),
    "sample": (True, False),
    "weight": (UNSET, "y", "i", "y * 2"),
    "share": (UNSET, 3, 1),
    "error": (UNSET, 40, 2),
    "name": (UNSET, "another"),
    "numerator": (query.sum("x"), query.sum("y"), query.count()),
    "denominator": (query.sum("y"), query.count("x"), query.count()),
    "factor": (1, 100, "0.5"),
    "q": (Fraction(1, 4), Fraction(3, 4), 0, 1, "1/3", "0.250001"),
    "edges": ((0, 3, 7, 10), (0, 4, 7, 10), (0, 3, 10), (0, 3, 7, "9.9999999999"), 4, 8),
}  # fmt: skip
"""Values of the parameters of functions that make a statistic."""

DECLARED: dict[str, dict[str, tuple[Any, ...]]] = {
    "number": {
        "low": (0, 1, -1, "0.000000001"),
        "high": (10, 9, 11, "10.0000000001"),
        "integer": (False, True),
        "edges": (UNSET, (0, 3, 10), (0, 4, 10), (0, 3, 7, 10)),
        "keys": (UNSET, (1, 2), (2, 1), (1, 3)),
        "missing": (UNSET, (4,), (4, 5), ("2.5",)),
        "labels": (UNSET, ("few", "many")),
        "unit": (UNSET, "hours"),
        "title": (UNSET, "how long"),
    },
    "keys": {
        "values": (
            ("a", "b"), ("b", "a"), ("a", "A"), ("a", "b", "it's"), MANY, MANY[::-1], MANY[:-1],
            *((*MANY[:at], "-", *MANY[at + 1 :]) for at in (0, 60, 100, len(MANY) - 1)),
        ),
        "other": (UNSET, "rest", "others"),
        "missing": (UNSET, ("c",), ("c", "-")),
        "labels": (UNSET, ("few", "many")),
        "unit": (UNSET, "hours"),
        "title": (UNSET, "how long"),
        "within": (UNSET, {"above": {"one": ("a", "b")}}, {"above": {"one": ("a",), "two": ("b",)}}),
    },
    "dates": {
        "first": ("2024-01-01", "2024-01-02"),
        "last": ("2024-02-01", "2024-02-02"),
        "missing": (UNSET, (date(2024, 1, 3),)),
        "unit": (UNSET, "days"),
        "title": (UNSET, "when"),
    },
    "expression": {
        "text": ("i * 2", "i * 3", "i + 2", "x"),
        "low": (0, 1),
        "high": (20, 21),
        "edges": (UNSET, (0, 10, 20), (0, 11, 20)),
        "keys": (UNSET, (2, 4), (4, 2)),
        "labels": (UNSET,),
        "unit": (UNSET, "hours"),
        "title": (UNSET, "how long"),
    },
    "recode": {
        "column": ("u", "k"),
        "codes": ({"1": "one", "%": "two"}, {"1": "two", "%": "one"}, {"1": "one", "few": "two"}),
        "other": (UNSET, "rest", "others"),
        "labels": (UNSET,),
        "unit": (UNSET, "kind"),
        "title": (UNSET, "which"),
    },
    "plain": {
        "kind": codes.KINDS,
        "missing": (UNSET, ("2",), ("2", "3"), (date(2024, 1, 1),)),
        "unit": (UNSET, "hours"),
        "title": (UNSET, "how long"),
    },
}  # fmt: skip
"""Values of the parameters of functions that make a column."""


def parameters(call: Callable[..., Any]) -> list[Parameter]:
    """Return the parameters of a function, also of one that is wrapped."""
    return list(signature(unwrap(call)).parameters.values())


def _returns(module: Any, kind: str) -> dict[str, Callable[..., Any]]:
    """Return the public functions of a module that say they return something of this kind."""
    found = {name: each for name, each in vars(module).items() if callable(each) and not name.startswith("_")}
    return {
        name: each
        for name, each in found.items()
        if getattr(each, "__module__", "") == module.__name__
        and kind in str(getattr(each, "__annotations__", {}).get("return", "")).split(" | ")
    }


def makers() -> dict[str, Callable[..., Any]]:
    """Return the functions that make a statistic, by name."""
    return _returns(query, "Statistic") | {"ratio": ratios.ratio}


def column_makers() -> dict[str, Callable[..., Any]]:
    """Return the functions that make a column, by name."""
    found = {**_returns(schema, "Column"), **_returns(derivation, "Derivation")}
    return {name: make for name, make in found.items() if make is not schema.presented}


def asking() -> dict[str, Callable[..., Any]]:
    """Return the methods of a source that charge, by name: those that take an analyst."""
    public = {name: each for name, each in vars(Source).items() if callable(each) and not name.startswith("_")}
    return {name: each for name, each in public.items() if "analyst" in [one.name for one in parameters(each)]}


def unknown() -> list[str]:
    """Return the parameters for which there are no values here, as texts."""
    lost = [
        f"{name} of Source"
        for name in _names(Source.__init__)
        if not {name, f"{name} of Source"} & {*SOURCE, *HARMLESS}
    ]
    for call, method in asking().items():
        if call == "sql":  # its options are those of ``release``
            continue
        lost += [f"{name} of {call}" for name in _names(method) if name not in {*CALLS.get(call, {}), *HARMLESS}]
    lost += [f"{name} of {made}" for made, make in makers().items() for name in _names(make) if name not in MADE]
    for made, make in column_makers().items():
        lost += [f"{name} of {made}" for name in _names(make) if name not in DECLARED.get(made, {})]
        lost += [] if made in _ABOUT else [f"a question about {made}"]
    return lost


def _names(call: Callable[..., Any]) -> list[str]:
    return [each.name for each in parameters(call)]


# --- the questions ---


def questions() -> Iterator[AskedQuestion]:
    """Yield questions; each of them differs in one parameter from the one that ``base`` names."""
    yield from _calls()
    yield from _sources()
    yield from _joined()
    yield from _statistics()
    yield from _columns()


def _calls() -> Iterator[AskedQuestion]:
    statistics = (query.sum("x"), query.mean("y"), query.median("x"))
    bases = {
        "release": AskedQuestion("the sum of x, mean of y, median of x", "release", statistics, {"epsilon": 1}),
        "discover": AskedQuestion("the keys of u", "discover", (), {"column": "u", "epsilon": 1, "delta": "0.001"}),
        "bounds": AskedQuestion("the bounds of x", "bounds", (), {"column": "x", "epsilon": 1}),
        "rows_per_person": AskedQuestion("the rows per person", "rows_per_person", (), {"epsilon": 1}, {"person": "p"}),
    }
    for call, values in CALLS.items():
        base = bases[call]
        if call == "discover":
            base = replace(base, described={"person": "p", "rows_per_person": 2})
        yield base
        for name, (_, *others) in values.items():
            before = base.what
            for value in others:
                asked = replace(base.changed(name, value), base=before)
                before = asked.what
                yield asked
    several = replace(bases["release"], what="sums in several tables", args=(query.sum("x"), query.mean("y")))
    several = replace(several, options={"epsilon": 1, "by": cube("k", "m")})
    yield several
    yield from (several.changed(name, value) for name, values in SEVERAL.items() for value in values)
    fewer = bases["release"]
    yield replace(fewer, what="the sum of x, mean of y", args=statistics[:2], base=fewer.what)


def _sources() -> Iterator[AskedQuestion]:
    asked = (
        AskedQuestion("a count and a sum", "release", (query.count(), query.sum("x")), {"epsilon": 1}),
        AskedQuestion("keys", "discover", (), {"column": "u", "epsilon": 1, "delta": "0.001"}),
        AskedQuestion("bounds", "bounds", (), {"column": "x", "epsilon": 1}),
        AskedQuestion("rows per person", "rows_per_person", (), {"epsilon": 1}, {"person": "p"}),
    )
    for base in asked:
        yield base
        for name, values in SOURCE.items():
            needs = replace(base, described={**base.described, **TOGETHER.get(name, {})})
            if needs.described != base.described:
                needs = replace(needs, what=f"{base.what} with {shown(needs.described)}")
                yield needs
            yield from (needs.changed(name, value, source=True) for value in values)


def _joined() -> Iterator[AskedQuestion]:
    """Yield questions that differ in one join."""
    asked = AskedQuestion("sums", "release", (query.sum("x"), query.sum("y")), {"epsilon": 1}, TOGETHER["joins"])
    for base, *others in (JOINS[:5], JOINS[5:]):
        asked = asked.changed("joins", (base,), source=True)
        yield asked
        yield from (asked.changed("joins", (other,), source=True) for other in others)


def _statistics() -> Iterator[AskedQuestion]:
    before = ""
    for made, make in makers().items():
        usual = {each.name: MADE[each.name][0] for each in parameters(make) if each.name in MADE}
        described = {"person": "p", "rows_per_person": 2} if made == "people" else {}
        base = AskedQuestion(made, "release", _with_other(make, usual), {"epsilon": 1}, described, base=before)
        before = made
        yield base
        for each in parameters(make):
            for value in MADE.get(each.name, ())[1:]:
                args = _with_other(make, {**usual, each.name: value})
                named = f"{each.name} of a statistic"
                what = f"{made}, {each.name} = {shown(value)}"
                if args:
                    yield replace(base, what=what, args=args, base=made, parameter=named)


def _with_other(make: Callable[..., Any], values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the statistic, and if it may be asked together with others, the mean of another column.

    The other has a wanted error where this one has: the two errors split ε.  Nothing if the statistic is refused.
    """
    try:
        one = make(**{name: value for name, value in values.items() if value is not UNSET})
    except LapwingError:
        return ()
    alone = isinstance(one, Statistic) and one.kind in ("histogram", "cdf")
    return (one,) if alone else (one, query.mean("i", error=None if values.get("error", UNSET) is UNSET else 1))


def _columns() -> Iterator[AskedQuestion]:
    """Yield questions about a column ``c``, of which one parameter of its declaration is changed."""
    for made, make in column_makers().items():
        values = DECLARED.get(made, {})
        for call, args, options, usual in _ABOUT.get(made, ()):
            declared = {name: each[0] for name, each in values.items()} | usual
            title = args[0].text if args else call
            what = f"{title} of {made} {shown(usual)}"
            base = AskedQuestion(what, call, args, {"epsilon": 1, **options}, _declaring(make, declared))
            yield base
            for name, each in values.items():
                for value in each:
                    described = _declaring(make, {**declared, name: value})
                    if described and value != declared[name]:
                        what = f"{base.what}, {name} = {shown(value)}"
                        named = f"{name} of {made}"
                        yield replace(base, what=what, described=described, base=base.what, parameter=named)


_ABOUT: dict[str, tuple[tuple[str, tuple[Any, ...], dict[str, Any], dict[str, Any]], ...]] = {
    "number": (
        ("release", (query.sum("c"),), {}, {}),
        ("release", (query.variance("c"),), {}, {}),
        ("release", (query.median("c"),), {}, {}),
        ("release", (query.count("c"),), {}, {}),
        ("release", (query.count(),), {"by": "c"}, {"edges": (0, 3, 10)}),
        ("release", (query.count(),), {"by": "c"}, {"keys": (1, 2)}),
    ),
    "keys": (
        ("release", (query.count(),), {"by": "c"}, {}),
        ("release", (query.count(),), {"by": "above"}, {"within": {"above": {"one": ("a", "b")}}}),
    ),
    "dates": (
        ("release", (query.sum("c - DATE '2024-01-10'"),), {}, {}),
        ("release", (query.count(),), {"by": "DATE_TRUNC('month', c)"}, {}),
        ("discover", (), {"column": "u", "delta": "0.001", "where": "EXTRACT(MONTH FROM c) = 1"}, {}),
    ),
    "expression": (
        ("release", (query.sum("c"),), {}, {}),
        ("release", (query.count(),), {"by": "c"}, {"edges": (0, 10, 20)}),
        ("release", (query.count(),), {"where": "c > 5"}, {}),
        ("release", (query.mean("c"),), {}, {"low": UNSET, "high": UNSET}),
    ),
    "recode": (
        ("release", (query.count(),), {"by": "c"}, {}),
        ("release", (query.count("c"),), {}, {}),
    ),
    "plain": (
        ("release", (query.count("c"),), {}, {}),
        ("release", (query.count(),), {"where": "c IS NULL"}, {}),
        ("discover", (), {"column": "c", "delta": "0.001"}, {}),
        ("discover", (), {"column": "u", "delta": "0.001", "where": "c IS NULL"}, {"kind": "date"}),
        ("bounds", (), {"column": "c"}, {"kind": "number"}),
        ("bounds", (), {"column": "x", "where": "c IS NULL"}, {"kind": "date"}),
    ),
}
"""For each function that makes a column: the call, what is asked, with which options, and how it is declared."""


def _declaring(make: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a source with this column is described; nothing if the column is refused."""
    given = {name: value for name, value in values.items() if value is not UNSET}
    several = [each.name for each in parameters(make) if each.kind is each.VAR_POSITIONAL]
    listed = [value for name in several for value in given.pop(name, ())]
    try:
        return {"columns": {**COLUMNS, "c": make(*listed, **given)}}
    except LapwingError:
        return {}
