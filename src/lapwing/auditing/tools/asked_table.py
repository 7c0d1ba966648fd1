"""The table of which the questions of ``fields`` are asked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from random import Random
from typing import Any

from .fields import KEYS, MANY, ODD


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
