"""Questions that differ in one place: made from the parameters of the product's own functions.

Every parameter of ``Source``, of what can be asked of it, and of the functions that make statistics and columns has a
few values here, the first of which is the usual one.  A parameter that somebody adds has none, and is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from inspect import Parameter, signature, unwrap
from random import Random
from typing import Any
from zlib import crc32

from ...errors import LapwingError
from ...question import codes, query, schema
from ...question.file import file
from ...question.query import Statistic
from ...question.schema import Column
from ...source import Source

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
}
"""Values for the parameters of a source besides the usual ones; those of ``columns`` are made below."""

TOGETHER: dict[str, dict[str, Any]] = {
    "person": {"person": "p", "rows_per_person": 2},
    "rows_per_person": {"person": "p", "rows_per_person": 2},
    "public_rows": {"neighbors": "change_one"},
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
)  # fmt: skip
"""Conditions, each of which differs from the one before it."""

CALLS: dict[str, dict[str, tuple[Any, ...]]] = {
    "release": {
        "by": (UNSET, "k", "b", "m", "e", ("k", "b"), ("b", "k")),
        "where": (UNSET, *CONDITIONS),
        "epsilon": (1, 2, "1.000000001", "0.1"),
        "weights": (UNSET, {"x": 3, "y": 1}, {"x": 1, "y": 3}, {"x": 2}),
        "intervals": (True, False),
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

HARMLESS: dict[str, str] = {
    "table": "the ledger knows the question, not the data: `version` tells data apart",
    "epsilon of Source": "the total, which a ledger has once",
    "delta of Source": "the total, which a ledger has once",
    "ledger": "another ledger is another budget",
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
    "column": ("x", "y", ODD),
    "condition": (
        "x > 1", "x > 2", "y > 1", "NOT x > 1", "k = 'a' OR (x > 1 AND y > 1)", "(k = 'a' OR x > 1) AND y > 1",
    ),
    "sample": (True, False),
    "weight": (UNSET, 3, 1),
    "error": (UNSET, 40, 2),
    "name": (UNSET, "another"),
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
            ("a", "b"), ("b", "a"), ("a", "A"), ("a", "b", "it's"), MANY, MANY[::-1], (*MANY[:60], "-", *MANY[61:]),
        ),
        "other": (UNSET, "rest", "others"),
        "missing": (UNSET, ("c",), ("c", "-")),
        "labels": (UNSET, ("few", "many")),
        "unit": (UNSET, "hours"),
        "title": (UNSET, "how long"),
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
    return _returns(query, "Statistic")


def column_makers() -> dict[str, Callable[..., Any]]:
    """Return the functions that make a column, by name."""
    return _returns(schema, "Column")


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
    "keys": (("release", (query.count(),), {"by": "c"}, {}),),
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


# --- how far two questions differ ---


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield everything in a value: where it is, the field of a dataclass that it belongs to, and its text."""
    yield from _leaves(value, place, "")


def _leaves(value: Any, place: str, owner: str) -> Iterator[tuple[str, str, str]]:
    inside: Iterator[tuple[Any, Any, str]]
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value).__name__
        yield place, owner, kind
        inside = ((each.name, getattr(value, each.name), f"{kind}.{each.name}") for each in fields(value))
    elif isinstance(value, Mapping):
        inside = ((key, each, owner) for key, each in value.items())
    elif isinstance(value, list | tuple) and any(
        is_dataclass(each) or isinstance(each, list | tuple) for each in value
    ):
        yield place, owner, f"{len(value)} values"
        inside = ((i, each, owner) for i, each in enumerate(value))
    else:
        yield place, owner, f"{type(value).__name__} {value}"
        return
    for name, each, owned in inside:
        yield from _leaves(each, f"{place}/{name}", owned)


def all_fields(value: Any) -> set[str]:
    """Return the fields of all dataclasses in a value, as ``Class.field``."""
    return {owner for _, owner, _ in leaves(value) if owner}


def differing(one: Any, other: Any) -> set[str]:
    """Return the fields in which two values differ, as ``Class.field``; of what only one of them has, the outermost."""
    first, second = ({place: (owner, text) for place, owner, text in leaves(each)} for each in (one, other))
    return {owner for place, (owner, text) in first.items() if owner and second.get(place, (owner, text))[1] != text}


# --- the table that is asked ---


def table() -> dict[str, list[Any]]:
    """Return the rows of the table that all questions are asked of: every kind of cell, also missing ones."""
    random = Random(16)
    rows = 240

    def some(values: Sequence[Any], missing: float = 0.1) -> list[Any]:
        return [None if random.random() < missing else random.choice(values) for _ in range(rows)]

    days = [date(2024, 1, 1) + timedelta(days=i) for i in range(60)]
    return {
        "p": [f"p{random.randrange(60)}" for _ in range(rows)],
        "x": some([random.uniform(-6, 12) for _ in range(80)] + [0.0, 1.0, 1.0, 1.0]),
        "y": some([random.uniform(-1, 9) for _ in range(80)] + [1.0]),
        "i": some(range(-2, 23)),
        "e": some([random.uniform(-1, 11) for _ in range(80)]),
        "c": some([str(each) for each in (*range(13), 2.5, 0.75, 10.5, "a", "b", "A", "it's", *MANY[::10], *days[:5])]),
        "k": some([*KEYS, *KEYS, "c", " a"]),
        "m": some([*MANY, "key 60", "-"]),
        "b": some([True, False, True]),
        "d": some(days),
        "u": some(["1", "01", "%", "many", "many", "few", "", " OR 1 = 1", ODD]),
        ODD: some([random.uniform(0, 6) for _ in range(40)]),
    }


TYPES = {
    "p": "VARCHAR", "x": "DOUBLE", "y": "DOUBLE", "i": "BIGINT", "e": "DOUBLE", "c": "VARCHAR", "k": "VARCHAR",
    "m": "VARCHAR", "b": "BOOLEAN", "d": "DATE", "u": "VARCHAR", ODD: "DOUBLE",
}  # fmt: skip
"""The types of its columns."""
