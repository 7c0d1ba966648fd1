"""How names and values are written in SQL, and which words of a text lack their quotes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Context, Decimal
from fractions import Fraction
from itertools import product

from ...question.bins import bin_names, equal_bins
from ...question.schema import Column, number
from ...question.spelling import literal, numeral, quoted
from ...question.words import name_in_sql, name_without_quotes

_PLAIN = ("x", "k1", "_a", "Cost", "cost_in_eur", "a_1_b")
_QUOTED = {
    "order": '"order"', "Select": '"Select"', "GROUP": '"GROUP"', "case": '"case"', "date": '"date"', "desc": '"desc"',
        "1a": '"1a"', "a-b": '"a-b"',
    "Cost (EUR)": '"Cost (EUR)"', 'a"b': '"a""b"', "ä": '"ä"', "a b": '"a b"', "sets": '"sets"', "nulls": '"nulls"',
        "end": '"end"', "within": '"within"',
    "a\nb": '"a\nb"', "cross": '"cross"', "x'y": '"x\'y"', "true": '"true"', "grouping": '"grouping"',
        "rollup": '"rollup"', "between": '"between"',
}  # fmt: skip
_WORDS = {
    "SELECT SUM(cross) FROM t": "cross", "SELECT SUM(Cross) FROM t": "Cross",
        "SELECT SUM(x) FROM t WHERE cross > 1 AND cross < 3": "cross",
    "SELECT SUM(cross), SUM(into) FROM t": None, "SELECT SUM(x FROM t": None, "SELECT SUM('cross FROM t": None,
        "SELECT 'cross', FROM FROM t": None,
    "SELECT x AND FROM t": None, "SELECT SUM(into) FROM t" + " " * 9_977: "into",
        "SELECT SUM(into) FROM t" + " " * 9_978: None, "SELECT SUM('a'), SUM(into) FROM t": "into",
    'SELECT SUM("into"), SUM(cross) FROM t': "cross",
}  # fmt: skip
_LITERALS = {
    True: "TRUE", False: "FALSE", Fraction(-3, 2): "-1.5", "it's": "'it''s'", "": "''",
        date(2020, 1, 31): "DATE '2020-01-31'", Fraction(1, 3): "1/3",
    'a"b': "'a\"b'", date(1, 2, 3): "DATE '0001-02-03'",
}  # fmt: skip


def names() -> Iterator[str]:
    """Yield what is written in another way than SQL writes it."""
    for name, written in {**{each: each for each in _PLAIN}, **_QUOTED}.items():
        if name_in_sql(name) != written:
            yield f"the name {name} is written {name_in_sql(name)}"
        if quoted(name) != f'"{name}"'.replace(name, '""'.join(name.split('"'))):
            yield f"the name {name} is quoted as {quoted(name)}"
    for text, word in _WORDS.items():
        if name_without_quotes(text) != word:
            yield f"{text[:60]}: the word is {name_without_quotes(text)}"
    for value, written in _LITERALS.items():
        if literal(value) != written:  # type: ignore[arg-type]
            yield f"{value!r} is written {literal(value)}"  # type: ignore[arg-type]
    if literal(Fraction(1, 2), lambda given: f"<{given}>") != "<1/2>" or literal("1", lambda given: "") != "'1'":
        yield "a number is not written as its caller says"
    yield from _numbers()
    yield from _bins()


def _numbers() -> Iterator[str]:
    """Compare the text of numbers with that of the standard library, and with fractions where there is no decimal."""
    context = Context(prec=3000)
    for sign, top, twos, fives in product((1, -1), (0, 1, 3, 1234567, 10**20 + 1), (0, 1, 5, 40), (0, 2, 7)):
        value = Fraction(sign * top, 2**twos * 5**fives)
        text = format(context.divide(Decimal(value.numerator), Decimal(value.denominator)), "f")
        if numeral(value) != text:
            yield f"{value} is written {numeral(value)}"
    for value in (Fraction(1, 3), Fraction(-22, 7), Fraction(1, 6), Fraction(1, 2**1201), Fraction(3, 10**1201)):
        if numeral(value) != f"{value.numerator}/{value.denominator}":
            yield f"{value} is written {numeral(value)}"
    for value in (Fraction(1, 2**1200), Fraction(1, 10**1200), Fraction(7, 5**1200)):
        text = numeral(value)
        if Fraction(text) != value or len(text) != 1202:
            yield f"a number with 1,200 places is written {text:.60}"


def _bins() -> Iterator[str]:
    """Compare the names of bins and equal bins with those that are written here."""
    wide = number(0, 10)
    called: tuple[tuple[Sequence[int], tuple[str, ...]], ...] = (
        ((0, 5, 10), ("[0, 5)", "[5, 10]")), ((2, 5, 10), ("< 5", "[5, 10]")), ((0, 5, 8), ("[0, 5)", "≥ 5")),
        ((2, 5, 7, 8), ("< 5", "[5, 7)", "≥ 7")),
        ((0, 10), ("[0, 10]",)), ((2, 10), ("all",)), ((0, 8), ("all",)), ((-1, 11), ("[-1, 11]",)),
        ((2, 4, 8), ("< 4", "≥ 4")),
    )  # fmt: skip
    for edges, name in called:
        given = tuple(map(Fraction, edges))
        if bin_names(given, wide) != name:
            yield f"bins {edges} are called {bin_names(given, wide)}"
    equal: tuple[tuple[Column, int, Sequence[int]], ...] = (
        (number(0, 9, integer=True), 3, (0, 3, 6, 10)), (number(0, 9, integer=True), 100, tuple(range(11))),
        (number(-2, 2, integer=True), 2, (-2, 0, 3)),
    )  # fmt: skip
    for column, many, ends in equal:
        if [*equal_bins(column, many)] != [*map(Fraction, ends)]:
            yield f"{many} equal bins are {equal_bins(column, many)}"
    if [*equal_bins(number(-1, 1), 4)] != [Fraction(i, 2) for i in range(-2, 3)]:
        yield f"four equal bins are {equal_bins(number(-1, 1), 4)}"
