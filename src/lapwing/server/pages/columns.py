"""What is declared about the columns of a source, in words: for people who write questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MOST_KEYS = 500
"""How many keys of a column a page lists."""

KINDS = {"number": "number", "integer": "whole number", "text": "text", "date": "date", "boolean": "truth value"}
"""What the types of columns are called."""


def column_shown(name: str, column: Mapping[str, Any]) -> dict[str, Any]:
    """Return a column for a template: its name and title, what it holds, its keys with labels."""
    keys = [str(text) for text in _keys(column)]
    labels = column.get("labels") or [""] * len(keys)
    shown = [{"key": key, "label": label} for key, label in zip(keys, labels, strict=False)][:MOST_KEYS]
    return {
        "name": name,
        "title": column.get("title") or "",
        "unit": column.get("unit") or "",
        "what": what(column),
        "keys": shown,
        "more": max(len(keys) - MOST_KEYS, 0),
        "other": column.get("other") or "",
        "missing": [str(each) for each in column.get("missing") or ()],
        "edges": [str(each) for each in column.get("edges") or ()],
    }


def what(column: Mapping[str, Any]) -> str:
    """Return what a column holds and between which bounds, in words."""
    kind = KINDS.get(str(column.get("type")), str(column.get("type") or "value"))
    if column.get("recode") is not None:
        return f"recoded from {column['from']}"
    words = [f"{kind}"]
    if column.get("expression") is not None:
        words = [f"computed: {column['expression']}"]
    if column.get("low") is not None:
        words.append(f"from {column['low']} to {column['high']}")
    if column.get("first") is not None:
        words.append(f"from {column['first']} to {column['last']}")
    if column.get("unit"):
        words.append(str(column["unit"]))
    if column.get("within"):
        words.append(f"within {column['within']['column']}")
    return " ".join(words)


def is_number(column: Mapping[str, Any]) -> bool:
    """Return whether means and sums of a column can be asked."""
    return column.get("low") is not None


def is_grouping(column: Mapping[str, Any]) -> bool:
    """Return whether one can group by a column."""
    return bool(_keys(column)) or bool(column.get("edges")) or column.get("type") == "boolean"


def _keys(column: Mapping[str, Any]) -> list[Any]:
    if column.get("recode") is not None:
        return list(dict.fromkeys(text for _, text in column["recode"]))
    return list(column.get("keys") or ())
