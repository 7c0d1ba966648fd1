"""Conditions drawn at random: what they mean is what the question in the ledger says (claim L2).

Equal texts in the ledger hold for the same rows, and can be read again; what cannot occur, by the declaration, is
refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from random import Random
from typing import Any

from ...errors import LapwingError
from ...ledger.chain import question_key
from ...ledger.entry import atto, canonical_json, nano
from ...plan.planning import make_plan
from ...question import query, schema, sql
from ...release.pipeline import question
from ..finding import Finding, first_of
from ..room import Room
from ..tools.asked_table import table
from ..tools.conditions import are_askable, draw_condition, holds
from ..tools.fields import COLUMNS, ODD


def conditions(room: Room) -> Iterator[Finding]:
    """Random conditions: equal texts in the ledger mean the same rows, and can be read again."""
    seed, number = 16, 6000 if room.deep else 400
    random, cells = Random(seed), {name: each[:60] for name, each in table().items() if name not in ("p", "c", "e")}
    described = make_schema_of(cells)
    rows: dict[str, tuple[Any, ...]] = {}
    meanings: dict[tuple[Any, ...], str] = {}
    mixed, unread, other = [], [], []
    typed = dict(zip(cells, map(_exact, cells.values()), strict=True))
    numbered = [dict(zip(typed, row, strict=True)) for row in zip(*typed.values(), strict=True)]
    for _ in range(number):
        drawn = draw_condition(random, described.columns, typed, random.choice((1, 2, 2, 3)))
        truth = tuple(drawn.holds(row) for row in numbered)
        asked = sql.make_query([query.count()], None, drawn.text, described)
        plan = make_plan(described, asked, epsilon=1)
        key = question_key(nano(1), atto(0), canonical_json(question(plan), "question"))
        if rows.setdefault(key, truth) != truth:
            mixed.append(f"{drawn.text} is taken for {meanings[rows[key]]}")
        meanings.setdefault(truth, drawn.text)
        if asked.where is None or tuple(holds(asked.where, row) for row in numbered) != truth:
            other.append(f"{drawn.text} is read as {asked.where}")
        again = sql.parse(asked.text, described, recorded=True)
        if again.where != asked.where or again.text != asked.text:
            unread.append(asked.text)
    yield Finding(
        "L2: conditions that hold for other rows are other questions",
        not mixed,
        f"{number} random conditions (seed {seed}) are {len(rows)} questions; {len(mixed)} were taken for one that "
        f"holds for other rows, 0 are right{first_of(mixed)}.",
    )
    yield Finding(
        "L2: a condition is read as SQL means it",
        not other,
        f"{len(other)} of {number} random conditions (seed {seed}) hold for other rows of {len(numbered)}, 0 are right"
        f"{first_of(other)}.",
    )
    yield Finding(
        "L2: a condition in the ledger is read as it was asked",
        not unread,
        f"{len(unread)} of {number} random conditions (seed {seed}) were read differently, 0 are right"
        f"{first_of(unread)}.",
    )
    yield _refused(number, {name: each for name, each in typed.items() if name in COLUMNS})


def _refused(number: int, cells: Mapping[str, Sequence[Any]]) -> Finding:
    """Conditions with a value that cannot occur, by the declaration, are refused: those, and no others."""
    described = schema.make_schema("t", {name: COLUMNS[name] for name in cells}, None, None, "add_remove", None)
    random, wrong, refused = Random(17), [], 0
    for _ in range(number):
        drawn = draw_condition(random, described.columns, cells, random.choice((0, 1, 2)), askable=False)
        due = are_askable(drawn, described.columns)
        for door in ("where", "a share", "SQL"):
            try:
                _ask(door, drawn.text, described)
                asked = True
            except LapwingError:
                asked = False
            refused += not asked
            wrong += [] if asked == due else [f"{drawn.text} as {door}: {'asked' if asked else 'refused'}"]
    return Finding(
        "L2: a condition is refused if a value in it cannot occur by the declaration, and only then",
        not wrong and 0 < refused < 3 * number,
        f"{refused} of {3 * number} random conditions (seed 17) were refused; {len(wrong)} were wrongly asked "
        f"or refused, 0 are right{first_of(wrong)}.",
    )


def _ask(door: str, condition: str, described: schema.Schema) -> None:
    if door == "SQL":
        sql.parse(f"SELECT COUNT(*) FROM t WHERE {condition}", described)
    elif door == "a share":
        sql.make_query([query.proportion(condition)], None, None, described)
    else:
        sql.make_query([query.count()], None, condition, described)


def _exact(cells: Sequence[Any]) -> list[Any]:
    """Return the cells, with numbers as the decimals that they are written as."""
    return [Fraction(repr(cell)) if type(cell) in (int, float) else cell for cell in cells]


def make_schema_of(cells: dict[str, Any]) -> schema.Schema:
    """Return a schema that declares these columns by what they hold."""
    declared = {"x": "number", "y": "number", "i": "integer", "b": "boolean", "d": "date", ODD: "number"}
    columns = {name: declared.get(name, "text") for name in cells}
    return schema.make_schema("t", columns, None, None, "add_remove", None)
