"""Questions in SQL mean what they say, and what cannot be answered is refused before anything is charged.

What a text means is stated by hand, field by field: of statistics, conditions, groups, several tables, subqueries and
cuts, each in several ways to write it.  Texts that differ in spelling alone mean the same; a text without one of its
words means something else, or is refused.  Rules have texts that keep them, which are accepted, and texts that break
them, which are refused for the reason that the rule gives, and cost nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ...errors import LapwingError
from ...question import (
    asking,
    bins,
    condition,
    cut,
    grouping,
    quantiles,
    quotes,
    ratios,
    rewrite,
    sql,
    statement,
    within,
)
from ...question import sets as key_sets
from ...question.schema import Schema
from ...question.statement import Statement, read
from ..finding import Finding, all_right, first_of
from ..room import Room
from ..tools.meant import COLUMNS, Meant, schema_of
from ..tools.refusing import Rule, refusals
from . import (
    meanings,
    question_calls,
    question_levels,
    question_limits,
    question_names,
    question_parts,
    question_rules,
    questions_asked,
)
from .question_limits import saying
from .question_rules import TextRule

MEANT: tuple[Meant, ...] = (
    *meanings.STATISTICS, *meanings.WEIGHTED, *meanings.CONDITIONS, *questions_asked.GROUPED, *questions_asked.SEVERAL,
    *questions_asked.NESTED, *questions_asked.CUTS,
)  # fmt: skip
TEXT_RULES: tuple[TextRule, ...] = (
    *question_rules.TEXTS, *question_rules.STATISTICS, *question_parts.CONDITIONS, *question_parts.GROUPS,
    *question_parts.NESTED, *question_parts.CUTS,
)  # fmt: skip
_MODULES = (
    sql, statement, rewrite, cut, key_sets, grouping, ratios, quantiles, quotes, condition, asking, bins, within,
)  # fmt: skip
_TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\d+\.\d+|--.*|/\*.*?\*/|\w+|<=|>=|<>|!=|==|::|\S")


def questions(room: Room) -> Iterator[Finding]:
    """Check questions in SQL, and those that Python asks for tables."""
    schema = schema_of()
    yield _meaning(schema)
    yield _spelling(schema)
    yield _without_a_word(schema)
    yield _calls()
    wrong = list(question_names.names())
    told = f"{len(wrong)} are not, 0 are allowed{first_of(wrong)}"
    yield Finding("L2: names, values and bins are written as SQL writes them", not wrong, told)
    yield from refusals("questions in SQL", [*_text_rules(schema), *_call_rules()], _MODULES, NEVER)
    yield _free(room)


NEVER = {
    'raise UnsupportedQuery("a table other than the source", advice)': "a plain SELECT is from the source alone",
    'raise UnsupportedQuery("ROLLUP, CUBE or GROUPING SETS of nothing", "Write GROUP BY ROLLUP (a, b).")':
        "brackets with nothing in them are refused before the tree is read",
    'raise UnsupportedQuery("a join that leaves out rows without a partner", advice)': "this table joins nothing",
    'raise UnsupportedQuery("a join of a table that the source does not name so", advice)': "this table joins nothing",
    'raise UnsupportedQuery("a join by something else than the source declares", f"Write {quotable(on)}.")':
        "this table joins nothing",
}  # fmt: skip
"""Refusals that no text reaches, and why."""


def _meaning(schema: Schema) -> Finding:
    wrong = [fault for each in MEANT for fault in each.faults(schema)]
    number = sum(len(each.texts) for each in MEANT)
    return Finding("L2: a question in SQL means what it says, in every field", not wrong, all_right(wrong, number))


def _asked(text: str, schema: Schema) -> Statement | None:
    try:
        return read(text, schema)
    except LapwingError:
        return None


# --- spelling ---


def _ways(text: str) -> Iterator[str]:
    """Yield the text in other spellings, in which all words are the same but for their case."""
    tokens = _TOKEN.findall(text)
    for change in (str.lower, str.upper, str.swapcase):
        yield " ".join(each if each[0] in "'-/" else change(each) for each in tokens if each[:2] not in ("--", "/*"))
    kept = [each for each in tokens if each[:2] not in ("--", "/*")]
    yield "\n\t".join(kept)
    yield f"/* not a word */ {' '.join(kept)} -- nor this"
    yield f"{' '.join(kept)} ;" if kept[-1] != ";" else " ".join(kept)


def _folded(asked: Statement | None) -> object:
    """Return what is asked and shown; names that people gave have the case in which they are written."""
    if asked is None:
        return None
    names = [replace(each, name=str(each.name).casefold()) for each in asked.query.statistics]
    titles = tuple(map(str.casefold, asked.query.titles))
    marks = tuple((name.casefold(), about) for name, about in asked.query.grouping)
    query = replace(asked.query, statistics=tuple(names), titles=titles, grouping=marks)
    return query, asked.query.text, str(asked.cut).casefold()


def _spelling(schema: Schema) -> Finding:
    """Case, white space, comments and a semicolon change nothing."""
    wrong, number = [], 0
    for text in (each.texts[0] for each in MEANT):
        usual = _folded(_asked(text, schema))
        for way in dict.fromkeys(_ways(text)):
            number += 1
            if usual is None or _folded(_asked(way, schema)) != usual:
                wrong.append(way)
    return Finding("L2: spelling alone makes no other question", not wrong, all_right(wrong, number))


_HARMLESS = ("AS", "ASC", ";", "THEN", "IS", "(", ")", ",")
"""Words and signs that may be left out."""


def _without_a_word(schema: Schema) -> Finding:
    """A text without one of its words after FROM is another question, another cut, or refused."""
    wrong, number = [], 0
    for text in (each.texts[0] for each in MEANT):
        usual, places = _asked(text, schema), list(_TOKEN.finditer(text, text.index(" FROM ")))
        for place in places:
            between = place.group() == "AND" and "BETWEEN" in text
            if place.group().upper() not in _HARMLESS and not between:
                number += 1
                less = f"{text[: place.start()]} {text[place.end() :]}"
                if usual is None or _asked(less, schema) == usual:
                    wrong.append(less)
    return Finding("L2: each word of a question has an effect", not wrong, all_right(wrong, number))


# --- Python ---


def _calls() -> Finding:
    wrong = []
    returned = (*question_calls.TABLES, *question_calls.RETURNED, *question_levels.RETURNED)
    for each in returned:
        try:
            value = each.call()
        except LapwingError as error:
            value = error
        if value != each.value:
            wrong.append(f"{each.what}: {value}")
    for call, meant in question_calls.ASKED:
        try:
            wrong += [f"{meant.canonical}: {each}" for each in meant.differing(call())]
        except LapwingError as error:
            wrong.append(f"{meant.canonical}: {error}")
    number = len(returned) + len(question_calls.ASKED)
    return Finding("L2: a question for tables in Python means what it says", not wrong, all_right(wrong, number))


# --- refusals ---


def _reading(text: str, schema: Schema) -> Callable[[], Any]:
    return lambda: read(text, schema)


def _text_rules(schema: Schema) -> list[Rule]:
    return [
        Rule(
            each.what,
            [_reading(text, schema) for text in each.right],
            [saying(_reading(text, schema), each.says) for text in each.wrong],
        )
        for each in TEXT_RULES
    ]


def _call_rules() -> list[Rule]:
    rules = (*question_limits.SETS, *question_limits.ASKED, *question_levels.RULES)
    return [Rule(each.what, each.right, [saying(call, each.says) for call in each.wrong]) for each in rules]


def _free(room: Room) -> Finding:
    """Every text that breaks a rule is asked of a source, from whose budget nothing is then spent."""
    source = room.source(room.table(_CELLS, _TYPES), columns=COLUMNS, person="p", rows_per_person=2)
    source.make_ledger()
    texts = [text for rule in TEXT_RULES for text in rule.wrong]
    wrong = []
    for text in texts:
        try:
            source.sql(text, epsilon=1)
            wrong.append(f"answered: {text:.80}")
        except LapwingError:
            continue
        except Exception as error:
            wrong.append(f"{text:.80}: {type(error).__name__}: {error}")
    wrong += [f"{spent} was charged"] if (spent := source.ledger.spent) else []
    return Finding("L1: a question in SQL that is refused is not charged", not wrong, all_right(wrong, len(texts)))


_NUMBERS = ("x", "y", "e", "n", "Cost (EUR)", "order", "bin", "cdf", "clamp")
_WHOLE = ("z", "m", "j", "large")
_TEXTS = {"s": "a", "k": "a", "o": "a", "town": "u"}
_DAYS = {"q": "2020-01-31", "d": "2020-01-31"}
_CELLS: dict[str, list[Any]] = {
    name: [cell]
    for name, cell in (
        *dict.fromkeys(("p", *_NUMBERS, *_WHOLE), 1).items(),
        *_TEXTS.items(),
        *_DAYS.items(),
        *dict.fromkeys(("b", "f", "median"), True).items(),
    )
}
"""A table of one row, which is never read."""

_TYPES = {
    **dict.fromkeys(("p", *_WHOLE), "BIGINT"),
    **dict.fromkeys(_NUMBERS, "DOUBLE"),
    **dict.fromkeys(_TEXTS, "VARCHAR"),
    **dict.fromkeys(_DAYS, "DATE"),
    **dict.fromkeys(("b", "f", "median"), "BOOLEAN"),
}
