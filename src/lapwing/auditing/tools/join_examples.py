"""Examples of joins, each of which makes another question, and the files that are joined."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from ...question.file import file
from ...question.join import join, joins_read
from ...question.schema import Schema

JOINS = (
    join("mates.csv", person="q", columns={"y": "v"}),
    join("mates.csv", person="q", columns={"y": "w"}),
    join("mates.csv", person="q", columns={"x": "v"}),
    join("mates.csv", person="r", columns={"y": "v"}),
    join("mates.csv", person="q", columns={"y": "v"}, file=file(missing=["p1"])),
    join("look_up.csv", public=True, on={"u": "c"}, columns={"x": "v"}),
    join("look_up.csv", public=True, on={"u": "c"}, columns={"x": "w"}),
    join("look_up.csv", public=True, on={"k": "c"}, columns={"x": "v"}),
    join("changed.csv", public=True, on={"u": "c"}, columns={"x": "v"}),
)
"""Joins, each of which makes another question; their tables are files of ``joined_files``."""


def joined_content(declared: Schema, columns: Sequence[str]) -> list[Any]:
    """Return what the joined tables add: of people which columns, of a look-up every row."""
    found: list[Any] = []
    for _, each in joins_read(declared, columns):
        rows = each.content(declared) if each.on is not None else None
        cells = [] if rows is None else sorted(map(repr, zip(rows.keys, *rows.cells.values(), strict=True)))
        found.append([each.person, each.on and each.on[0], each.named(columns), cells, None if rows else each.file])
    return found


def joined_files() -> dict[str, list[list[Any]]]:
    """Return the tables that are joined, by file: a line of names, and rows."""
    random = Random(17)
    people = [f"p{i}" for i in range(60) for _ in range(random.choice((0, 1, 1, 3)))]
    others = random.sample(people, len(people))
    mates = [[q, r, random.uniform(-6, 12), random.uniform(-6, 12)] for q, r in zip(people, others, strict=True)]
    known = ["1", "01", "%", "many", "few", "a", "A", "b", "it's"]
    look_up: list[list[Any]] = [[c, random.uniform(-4, 10), random.uniform(-4, 10)] for c in known]
    changed: list[list[Any]] = [[c, float(v) + 1 if c == "many" else v, w] for c, v, w in look_up]
    return {
        "mates.csv": [["q", "r", "v", "w"], *mates],
        "look_up.csv": [["c", "v", "w"], *look_up],
        "reordered.csv": [["w", "v", "c"], *(row[::-1] for row in reversed(look_up))],
        "changed.csv": [["c", "v", "w"], *changed],
    }
