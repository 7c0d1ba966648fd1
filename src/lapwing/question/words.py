"""Names that are words of SQL: which names need double quotes, and which word of a text lacks them."""

from __future__ import annotations

import sqlglot
from sqlglot import TokenType
from sqlglot.errors import SqlglotError
from sqlglot.parser import Parser

from .spelling import quoted

_OF_QUESTIONS = frozenset(
    ("SELECT", "FROM", "WHERE", "GROUP", "BY", "ORDER", "HAVING", "LIMIT", "OFFSET", "AND", "OR", "NOT", "IN",
     "BETWEEN", "IS", "NULL", "AS", "CASE", "WHEN", "THEN", "ELSE", "END", "ROLLUP", "CUBE", "SETS", "GROUPING", "DATE",
     "TABLE", "ALL", "WITH", "WITHIN", "ON", "TO", "SET", "DESC", "ASC", "DISTINCT", "UNION", "JOIN", "USING", "VALUES",
     "TRUE", "FALSE", "NULLS")
)  # fmt: skip
"""Words that stand in a question as they are: one of them is no name that lacks its quotes."""

_WITHOUT_BRACKETS = frozenset(Parser.NO_PAREN_FUNCTION_PARSERS)
_LONGEST = 10_000
_MOST_TRIED = 20


def name_in_sql(name: str) -> str:
    """Return a name as SQL writes it, with double quotes only if it needs them."""
    return name if _is_plain(name) else quoted(name)


def _is_plain(name: str) -> bool:
    if not (name.isascii() and name.isidentifier()) or name.upper() in (*_OF_QUESTIONS, *_WITHOUT_BRACKETS):
        return False
    (token,) = sqlglot.tokenize(name)
    return token.token_type is TokenType.VAR


def name_without_quotes(text: str) -> str | None:
    """Return the word of a text that does not parse which would parse with double quotes; None if there is none."""
    if len(text) > _LONGEST:
        return None
    try:
        tokens = sqlglot.tokenize(text)
        words = [
            each for each in tokens
            if each.token_type is not TokenType.VAR and text[each.start : each.end + 1].isidentifier()
            and each.text.upper() not in _OF_QUESTIONS
        ]  # fmt: skip
        names = list(dict.fromkeys(each.text for each in words))
    except SqlglotError:
        return None
    for name in names[:_MOST_TRIED]:
        made = text
        for each in reversed([word for word in words if word.text == name]):
            made = f"{made[: each.start]}{quoted(name)}{made[each.end + 1 :]}"
        try:
            sqlglot.parse(made)
        except (SqlglotError, RecursionError, ValueError):
            continue
        return name
    return None
