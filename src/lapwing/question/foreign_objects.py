"""Objects given instead of a text, such as a Polars expression or a mask: refused, with the text that works.

The text shown for an expression is rebuilt from its columns, comparisons and constants, by an allow-list; it is what
the user would write.  For anything else only the type is named.  A mask, and an expression that holds one, is data.
"""

from __future__ import annotations

import re
from typing import NoReturn

from ..errors import InvalidParameter, Shown

_CONSTANT = (
    r"(?P<day>\d{4}-\d\d-\d\d)|(?P<number>-?\d{1,30}(\.\d{1,30})?)|(?P<truth>[Tt]rue|[Ff]alse)"
    r"""|["'](?P<text>[\w .:/-]{0,60})["']"""
)
_OPERATOR = r"(?P<operator>==|!=|<=|>=|<|>|=|<>)"
_NAME = r"(?P<name>[^\W\d]\w{0,60})"

_WORDS = {"&": "AND", "|": "OR", "==": "=", "!=": "<>"}

_LIBRARIES: dict[tuple[str, str], tuple[str, str, str]] = {
    ("polars", "Expr"): (
        "a Polars expression",
        rf'\[\(col\("{_NAME}"\)\) {_OPERATOR} \((dyn (int|float): )?({_CONSTANT})\)\]',
        r"\[\((#\d+)\) ([&|]) \((#\d+)\)\]",
    ),
    ("pandas", "Expression"): (
        "a pandas expression",
        rf"(?<!~)col\('{_NAME}'\) {_OPERATOR} ({_CONSTANT})(?![\d.])",
        r"\((#\d+)\) ([&|]) \((#\d+)\)",
    ),
    ("duckdb", ""): (
        "a DuckDB expression",
        rf'\("{_NAME}" {_OPERATOR} ({_CONSTANT})(::DOUBLE)?\)',
        r"\((#\d+) (AND|OR) (#\d+)\)",
    ),
}
"""By library and class: its name in messages, and the patterns of a comparison and of two joined ones."""


def refuse_no_text(given: object, name: str) -> NoReturn:
    """Refuse an object that is not a text as a condition; say how to write it."""
    kind = type(given)
    title, condition = Shown(f"{'an' if kind.__name__[0] in 'aeiouAEIOU' else 'a'} {kind.__name__}"), None
    for (module, of), (called, comparison, joined) in _LIBRARIES.items():
        if kind.__module__.partition(".")[0] == module and (kind.__name__ == of or (not of and _is_duckdb(kind))):
            title, condition = Shown(called), _condition(str(given), comparison, joined)
    if condition is not None:
        raise InvalidParameter(title, name, f'a text of SQL: write {name}="{condition}"')
    raise InvalidParameter(
        title, name, f'a text of SQL, such as {name}="age >= 65"; not an expression or a list of rows'
    )


def _is_duckdb(kind: type) -> bool:
    return "expression" in f"{kind.__module__}.{kind.__name__}".lower()


def _condition(text: str, comparison: str, joined: str) -> str | None:
    """Return the SQL of an expression that is made only of comparisons, AND and OR; None if it holds anything else."""
    pieces: list[str] = []

    def kept(sql: str) -> str:
        pieces.append(sql)
        return f"#{len(pieces) - 1}"

    def inside(number: str) -> str:
        sql = pieces[int(number[1:])]
        return f"({sql})" if " AND " in sql or " OR " in sql else sql

    def both(match: re.Match[str]) -> str:
        left, how, right = match.groups()
        return kept(f"{inside(left)} {_WORDS.get(how, how)} {inside(right)}")

    if len(text) > 1000 or "#" in text:
        return None
    text = re.sub(comparison, lambda match: kept(_compared(match)), text)
    for _ in range(20):
        text = re.sub(joined, both, text)
    return pieces[int(text[1:])] if re.fullmatch(r"#\d+", text) else None


def _compared(match: re.Match[str]) -> str:
    constant = match["number"] or (match["truth"] or "").upper() or f"'{match['day'] or match['text'] or ''}'"
    return f"{match['name']} {_WORDS.get(match['operator'], match['operator'])} {constant}"
