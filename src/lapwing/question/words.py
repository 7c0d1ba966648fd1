"""Names that are words of SQL: which names need double quotes, and which word of a text lacks them."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError, TokenError
from sqlglot.parser import Parser

from .advice import SYMBOLS
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


_OPENS = (
    TokenType.SELECT,
    TokenType.GROUP_BY,
    TokenType.ORDER_BY,
    TokenType.L_PAREN,
    TokenType.COMMA,
    TokenType.DISTINCT,
)
_CLOSES = (
    TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.LIMIT,
    TokenType.OFFSET, TokenType.FETCH, TokenType.R_PAREN, TokenType.SEMICOLON,
)  # fmt: skip


def loose_comma(tokens: Sequence[Token]) -> str | None:
    """Return on which side of a comma something is missing, if a list begins or ends with one; else None."""
    for i, token in enumerate(tokens):
        if token.token_type is TokenType.COMMA:
            if i == 0 or tokens[i - 1].token_type in _OPENS:
                return "before"
            if i + 1 == len(tokens) or tokens[i + 1].token_type in _CLOSES:
                return "after"
    return None


_MOST_SHOWN = 30
_PARTS = ("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "BETWEEN", "CASE", "WHEN")


def where_invalid(text: str, error: Exception, *, whole: bool) -> str | None:
    """Say where a text stops being SQL, and what may be missing there; None if that is not known.

    Of a part of a question, not a ``whole`` one, the line and the column are not those that were written.
    """
    if isinstance(error, TokenError):
        return "A quote or a comment in it has no end."
    at = error.errors[0] if isinstance(error, ParseError) and error.errors else None
    if at is None or len(text) > _LONGEST:
        return None
    tokens = sqlglot.tokenize(text)
    place = next((i for i, token in enumerate(tokens) if (token.line, token.col) == (at["line"], at["col"])), None)
    if place is None:
        return None
    start = tokens[place].start
    rest = " ".join(text[start : start + _MOST_SHOWN + 1].split())
    shown = rest if len(rest) <= _MOST_SHOWN else f"{rest[:_MOST_SHOWN]}…"
    column = start - text.rfind("\n", 0, start)
    where = f"At line {at['line']}, column {column}, before" if whole else "Before"
    open_bracket = "  A bracket may have no end." if at["description"] == "Expecting )" else ""
    return f"{where} `{shown}`.{_missing(text, tokens, place) or open_bracket}"


def _missing(text: str, tokens: Sequence[Token], place: int) -> str:
    """Say which word or symbol may be wrong there, or where a comma may be missing."""
    start = tokens[place].start
    for symbol, advice in SYMBOLS.items():
        if symbol in text[max(start - 3, 0) : start + 3]:
            return f"  {advice}"
    for token in tokens[max(place - 1, 0) : place + 1]:
        meant = get_close_matches(token.text.upper(), _PARTS, n=1, cutoff=0.7)
        if token.token_type is TokenType.VAR and meant:
            return f"  Did you mean {meant[0]}?"
    for token in (tokens[i] for i in (place - 1, place, place - 2) if i > 1):
        try:
            made = sqlglot.parse_one(f"{text[: token.start]}, {text[token.start :]}")
        except (SqlglotError, RecursionError, ValueError):
            continue
        if isinstance(made, exp.Select) and made.args.get("from_") and not made.args.get("joins"):
            return f"  A comma may be missing before `{token.text}`."
    return ""
