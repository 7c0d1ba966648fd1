"""Questions dressed up as people write them: aliases, qualified names, WITH, subqueries, numbers, comments, case.

A name of a column is written @name in the parts of a plain question, so that it can be written in another way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from ...question.query import quoted
from ...question.schema import Schema, keys, make_schema, number, plain

_COLUMNS = {
    "x": number(0, 10),
    "z": number(0, 9, integer=True),
    "k": keys("a", "b"),
    "m": keys(1, 2),
    "d": plain("date"),
}
_SCHEMA = make_schema("t", _COLUMNS, "p", 2, "add_remove", None)


@dataclass(frozen=True)
class PlainQuestion:
    """A question in parts: keys that are grouped by, statistics, and conditions that are all true."""

    keys: tuple[str, ...]
    statistics: tuple[str, ...]
    where: tuple[str, ...] = ()
    schema: Schema = _SCHEMA


PLAIN = (
    PlainQuestion((), ("COUNT(*)",)),
    PlainQuestion(("@k",), ("COUNT(*)", "AVG(@x)"), ("@z >= 3", "NOT @k = 'a'")),
    PlainQuestion(("@k", "@m"), ("SUM(@x)", "SUM(@z)"), ("@x < @z OR @m = 1",)),
    PlainQuestion(("BIN(@z, 0, 5, 9)", "@k"), ("COUNT(@x)", "MEDIAN(@z)"), ("@x BETWEEN 1 AND 2", "@k IN ('a', 'b')")),
    PlainQuestion(("@m",), ("AVG(CASE WHEN @x > 5 AND @k = 'b' THEN 1 ELSE 0 END)",), ("@d > DATE '2020-01-01'",)),
    PlainQuestion((), ("COUNT(DISTINCT @p)",), ("@x IS NOT NULL", "@z <> 4", "@k = 'b' OR @x > 1")),
    PlainQuestion((), ("QUANTILE_CONT(@x, 0.9)", "MIN(@z)", "VAR_POP(@x)"), ("@k = 'a'",)),
)
"""Questions that are dressed up, with every kind of condition and of key."""

_WORDS = re.compile(r"'[^']*'|\"[^\"]*\"|[A-Za-z_]+")


def plain_text(question: PlainQuestion) -> str:
    """Return a question as the reference writes it."""
    return _select(question, str, question.where, "t", [_named(key, str) for key in question.keys])


def dressed(question: PlainQuestion, choose: Random) -> str:
    """Return a question in another dress, which asks the same."""
    way = choose.choice(("plain", "alias", "with", "subquery", "two levels"))
    if way == "plain":
        text = _outer(question, {}, question.where, "t", choose.choice(("", "t")), choose)
        return _disguised(text, choose)
    if way == "alias":
        return _disguised(_outer(question, {}, question.where, f"t {choose.choice(('', 'AS'))} v", "v", choose), choose)
    cut = choose.randint(0, len(question.where))
    inner, renamed = _inner(question.where[:cut], "t", {}, choose)
    if way == "two levels":
        middle = choose.randint(cut, len(question.where))
        outer, renamed = _inner(question.where[cut:middle], "u", renamed, choose)
        text = _outer(question, renamed, question.where[middle:], "w", choose.choice(("", "w")), choose)
        return _disguised(f"WITH u AS ( {inner} ) , w AS ( {outer} ) {text}", choose)
    if way == "with":
        name = choose.choice(("u", "t"))  # a name of WITH may hide the source
        text = _outer(question, renamed, question.where[cut:], name, choose.choice(("", name)), choose)
        return _disguised(f"WITH {name} AS ( {inner} ) {text}", choose)
    return _disguised(_outer(question, renamed, question.where[cut:], f"( {inner} ) AS u", "u", choose), choose)


def _inner(
    where: Sequence[str], table: str, before: Mapping[str, str], choose: Random
) -> tuple[str, Mapping[str, str]]:
    """Return a SELECT that filters and renames, and the new names of the columns."""
    names = {name: before.get(name, name) for name in ("p", *_COLUMNS)}
    condition = _conditions(where, lambda name: names.get(name, name), choose)
    if choose.random() < 0.4:
        return f"SELECT * FROM {table}{condition}", names
    renamed = dict(names)
    if choose.random() < 0.3:
        renamed["x"], renamed["z"] = names["z"], names["x"]
    for name in choose.sample(sorted(names), 2):
        renamed[name] = f"{names[name]}{choose.randint(10, 99)}"
    items = [f"{names[name]} AS {renamed[name]}" if names[name] != renamed[name] else name for name in names]
    items = [each if " AS " in each else names[each] for each in items]
    choose.shuffle(items)
    return f"SELECT {' , '.join(items)} FROM {table}{condition}", renamed


def _outer(
    question: PlainQuestion, renamed: Mapping[str, str], where: Sequence[str], table: str, called: str, choose: Random
) -> str:
    """Return the SELECT with the keys and statistics, over columns with new names."""

    def name(column: str) -> str:
        new = renamed.get(column, column)
        new = choose.choice((new, new.upper(), quoted(new)))
        return f"{called}.{new}" if called and choose.random() < 0.7 else new

    by = [_named(key, name) for key in question.keys]
    if by and choose.random() < 0.5:
        by = [str(i + 1) for i in range(len(by))] if choose.random() < 0.6 else ["ALL"]
    text = _select(question, name, where, table, by, choose)
    if choose.random() < 0.4:
        text += choose.choice((" ORDER BY 1 DESC", " LIMIT 3", " ORDER BY 1 LIMIT 2 OFFSET 1", " FETCH FIRST ROW ONLY"))
    return text


def _select(
    question: PlainQuestion,
    name: Callable[[str], str],
    where: Sequence[str],
    table: str,
    by: Sequence[str],
    choose: Random | None = None,
) -> str:
    items = [_named(each, name) for each in (*question.keys, *question.statistics)]
    group = f" GROUP BY {' , '.join(by)}" if by else ""
    return f"SELECT {' , '.join(items)} FROM {table}{_conditions(where, name, choose)}{group}"


def _conditions(where: Sequence[str], name: Callable[[str], str], choose: Random | None) -> str:
    parts = [f"( {_named(each, name)} )" for each in where]
    if choose is not None:
        choose.shuffle(parts)
    return f" WHERE {' AND '.join(parts)}" if parts else ""


def _named(part: str, name: Callable[[str], str]) -> str:
    return re.sub(r"@(\w+)", lambda found: name(found[1]), part)


def _disguised(text: str, choose: Random) -> str:
    """Return a text with comments in its gaps, and its words in another case."""
    case = choose.choice((str, str.lower, str.upper, str.title))
    text = _WORDS.sub(lambda found: found[0] if found[0][0] in "'\"" else case(found[0]), text)
    gaps = {0.1: " /* it's ( */ ", 0.2: " -- WHERE x > 1;\n", 0.3: "\n\t"}
    words = text.split(" ")  # no gap of these questions lies inside a text
    joined = words[0]
    for word in words[1:]:
        at = choose.random()
        joined += next((gap for share, gap in gaps.items() if at < share / 3), " ") + word
    return joined
