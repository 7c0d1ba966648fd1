"""What a question is: everything that the noisy integers depend on, and nothing else (claim L2).

All questions are asked of one ledger, with frozen noise.  One that is answered from the record must get exactly what a
new ledger gives it; the same question in other words must be answered from the record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import duckdb

from ...errors import LapwingError
from ...ledger.chain import question_key
from ...ledger.entry import atto, canonical_json, nano
from ...ledger.ledger import Ledger
from ...noise.entropy import EntropyForTests
from ...question import query, schema
from ...question.query import Condition, StatisticKind
from ...release.bounds import Bounds, plan_bounds
from ...release.pipeline import question
from ...release.recall import recall
from ...release.result import Release
from ...release.rows_per_person import plan_rows_per_person
from ...source import Source
from ..finding import Finding, first_of
from ..room import Room
from ..tools.fields import (
    CALLS,
    COLUMNS,
    KEYS,
    TYPES,
    USUAL,
    AskedQuestion,
    all_fields,
    differing,
    questions,
    table,
    unknown,
)
from ..tools.neighbors import SEED
from .conditions import conditions
from .syntax import syntax

Made = Any
"""A release, discovered keys or bounds."""


def identity(room: Room) -> Iterator[Finding]:
    """Check that questions which differ in any field are told apart, and that the same question repeats."""
    lost = unknown()
    yield Finding(
        "L2: every parameter of a question is changed here",
        not lost,
        f"{len(lost)} parameters have no values in tools/fields.py, 0 are allowed{first_of(lost)}.",
    )
    with _asker(room) as asker:
        yield from _told_apart(asker)
        yield from _in_other_words(asker)
        yield _recorded(asker)
    yield from conditions(room)
    yield from syntax()


@dataclass
class _Asker:
    """A table, a ledger that gets all questions, and the answers by question."""

    room: Room
    relation: Any
    path: str
    text: str
    database: str
    ledger: Path
    answers: dict[str, tuple[AskedQuestion, Made]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def source(self, asked: AskedQuestion, ledger: Path | None = None) -> Source:
        """Return the source of a question; Parquet where the number of rows may be public by default."""
        given = self.path if asked.described.get("neighbors") == "change_one" else self.relation
        if "file" in asked.described:
            given = self.text if asked.described["file"].part is None else self.database
        return Source(given, **{**USUAL, "ledger": ledger or self.ledger, **asked.described})

    @cached_property
    def opened(self) -> Ledger:
        """The ledger of all questions, open."""
        return Ledger.open(self.ledger, USUAL["epsilon"], USUAL["delta"])

    def ask(self, asked: AskedQuestion, ledger: Path | None = None) -> Made | None:
        """Return the answer to a question, from the ledger of all or a new one; None if it is refused."""
        try:
            source = self.source(asked, ledger)
            if ledger is None:
                source.ledger = self.opened
            ask = getattr(source, asked.call)
            return ask(*asked.args, **asked.options, entropy=EntropyForTests(SEED))
        except LapwingError as error:
            self.refused[asked.what] = str(error)
            return None

    def add(self, asked: AskedQuestion) -> Made | None:
        """Ask the ledger of all; if the answer is recorded, compare it with that of a new ledger."""
        if asked.what in self.answers:
            return self.answers[asked.what][1]
        made = self.ask(asked)
        if made is None:
            return None
        self.answers[asked.what] = asked, made
        if _release(made).repeated:
            fresh = self.ask(asked, self.room.path("ledger"))
            if fresh is None or told(made) != told(fresh):
                self.wrong.append(f"{asked.what}: {_difference(made, fresh)}")
        return made


@contextmanager
def _asker(room: Room) -> Iterator[_Asker]:
    path = room.parquet(table(), TYPES)
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS FROM read_parquet({query.literal(path)})")
        text = str(room.path("csv"))
        connection.table("t").write_csv(text)
        database = str(room.path("duckdb"))
        connection.execute(f"ATTACH {query.literal(database)} AS kept")
        connection.execute("CREATE TABLE kept.a AS FROM t; CREATE TABLE kept.b AS FROM t; DETACH kept")
        yield _Asker(room, connection.table("t"), path, text, database, room.path("ledger"))


def told(made: Made) -> dict[str, Any]:
    """Return everything that an answer says, besides when it was recorded and what is left."""
    passing = ("entry", "repeated", "recorded_at", "modified_at", "remaining", "remaining_delta")
    kept = {key: each for key, each in made.to_dict().items() if key not in passing}
    named = ("names", "titles")  # as they were given when it was recorded
    return {**kept, "answer": {key: each for key, each in _release(made).answer.items() if key not in named}}


def _release(made: Made) -> Any:
    return made.release if isinstance(made, Bounds) else made


def _difference(made: Made, fresh: Made | None) -> str:
    if fresh is None:
        return "a new ledger refuses it"
    one, other = told(made), told(fresh)
    names = [key for key in one if one[key] != other.get(key)]
    return f"{', '.join(names)} of entry {made.entry} are not its own"


# --- questions that differ ---

_UNCHANGED = {
    "Query.titles": "names of columns of the answer",
    "Query.source": "the name of the schema",
    "Statistic.name": "the name of a column of the answer",
    "name of a statistic": "the name of a column of the answer",
    "Schema.columns": "each column has its own fields; one that is not read is no part of the question",
    "Column.grid": "made from low and high, and has its own fields",
    **{
        f"{name} of {made}": "shown beside the numbers"
        for name in ("labels", "unit", "title")
        for made in ("number", "keys", "plain")
    },
    "Column.labels": "shown beside the keys",
    "Column.unit": "shown beside the numbers",
    "Column.title": "shown beside the name",
    "KeyPlan.schema": "has its own fields",
    "Schema.file": "has its own fields",
    "KeyPlan.dialect": "the engine, which counts the same",
    "RowsPlan.schema": "has its own fields",
    "RowsPlan.dialect": "the engine, which counts the same",
}
"""Fields that the noisy integers do not depend on, and why."""


@dataclass(frozen=True)
class _Planned:
    """A question before it is asked: its key in the ledger, all that its answer depends on, and its values."""

    key: str
    question: str
    content: str
    inside: Any


def _planned(source: Source, asked: AskedQuestion) -> _Planned:
    """Return what would be asked; nothing is read, and the source has no ledger."""
    options = dict(asked.options)
    if asked.call == "discover":
        keys = source.plan_keys(**options)
        question_text, delta = canonical_json(keys.question(), "question"), keys.delta
        kinds = [(name, keys.schema.columns[name].kind) for name in sorted(keys.lowered.columns)]
        used = [keys.lowered.sql, keys.scale, keys.threshold, kinds, keys.schema.person]
        inside: Any = [replace(keys, dialect=None)]  # type: ignore[arg-type]
    elif asked.call == "rows_per_person":
        people = plan_rows_per_person(source.schema, **options)
        question_text, delta = canonical_json(people.question(), "question"), Fraction(0)
        kinds = [(name, people.schema.columns[name].kind) for name in sorted(people.lowered.columns)]
        used = [people.lowered.sql, people.scale, kinds, people.schema.person]
        inside = [replace(people, dialect=None)]  # type: ignore[arg-type]
    else:
        bounds = asked.call == "bounds"
        plan = plan_bounds(source.schema, **options) if bounds else source.plan(*asked.args, **options)
        question_text, delta = canonical_json(question(plan), "question"), Fraction(0)
        kinds = [(name, plan.schema.columns[name].kind) for name in sorted(plan.columns)]
        parts = [(each.measurement, each.epsilon, plan.scale(each)) for each in plan.parts]
        groups = [
            (name, dict(plan.query.edges).get(name), plan.schema.columns[name].group_keys) for name in plan.query.by
        ]
        tables = [_unlabelled(plan.schema.columns[name]) for _, name in plan.lowered.keys]
        used = [plan.lowered.sql, parts, groups, tables, kinds, plan.schema.person, plan.counts_publicly]
        inside = [asked.args, plan.schema, plan.query]
    key = question_key(nano(asked.options["epsilon"]), atto(delta), question_text)
    data = [source.schema.name, source.schema.version, asked.options["epsilon"], delta]
    return _Planned(key, question_text, repr([data, used]), inside)


def _unlabelled(column: schema.Column) -> schema.Column:
    """Return a column without its presentation."""
    return replace(column, labels=None, unit=None, title=None)


def _told_apart(asker: _Asker) -> Iterator[Finding]:
    asked = list({each.what: each for each in questions()}.values())
    planned: dict[str, _Planned] = {}
    refused, mixed, keys, own = [], [], dict[str, tuple[str, str]](), set[tuple[str, str]]()
    for each in asked:
        try:
            planned[each.what] = one = _planned(asker.source(each, asker.room.path("ledger")), each)
        except LapwingError as error:
            refused.append(f"{each.what}: {error}")
            continue
        what, content = keys.setdefault(one.key, (each.what, one.content))
        as_another = each.parameter.rpartition(" of ")[2] in CALLS and (each.parameter, one.key) in own
        own.add((each.parameter, one.key))
        if content != one.content or as_another:  # all values of a parameter of a call are other questions
            mixed.append(f"{each.what} is taken for {what}")
    yield Finding(
        "L2: questions that read, scale or group in another way are other questions",
        not mixed and len(planned) > len(asked) * 9 // 10,
        f"{len(planned)} questions are {len(keys)} in the ledger, {len(refused)} more were refused; {len(mixed)} were "
        f"taken for another, 0 are right{first_of(mixed)}.",
    )
    yield _changed(asked, planned)
    for each in asked if asker.room.deep else _some(asked):
        made = asker.add(each)
        entry = None if made is None or made.entry is None else asker.opened.entry(made.entry)
        if entry is not None and canonical_json(entry.question, "question") != planned[each.what].question:
            asker.wrong.append(f"{each.what} is charged as another question than its plan: {entry.question}")
    repeated = sum(bool(_release(made).repeated) for _, made in asker.answers.values())
    yield Finding(
        "L2: an answer is given again only to the question it was made for",
        not asker.wrong and len(asker.refused) < len(asker.answers) // 10,
        f"{len(asker.answers)} questions were asked, {len(asker.refused)} refused; {repeated} were answered from the "
        f"record, {len(asker.wrong)} of them with another answer than a new ledger gives, 0 are right"
        f"{first_of(asker.wrong)}.",
    )


def _some(asked: Sequence[AskedQuestion]) -> list[AskedQuestion]:
    """Return the questions that others are made from, and for each call and parameter the first that differs there."""
    first = {
        (each.call, each.what.partition(" = ")[0].rpartition(", ")[2]): each for each in reversed(asked) if each.base
    }
    return [each for each in asked if " = " not in each.what or each in first.values()]


def _changed(asked: Sequence[AskedQuestion], planned: dict[str, _Planned]) -> Finding:
    """Every field of every value that a question is made of is, at least once, what tells two questions apart."""
    changed, known = {*_UNCHANGED}, set[str]()
    for each in asked:
        if each.what in planned:
            one, base = planned[each.what], planned.get(each.base)
            known |= {*all_fields(one.inside), *([each.parameter] if each.parameter else [])}
            if base is not None and one.key != base.key:
                changed |= {*differing(one.inside, base.inside), each.parameter}
    classes = {name.partition(".")[0] for name in known}
    kinds = {getattr(one, "kind", None) for each in asked for one in each.args}
    lost = sorted(known - changed) + sorted({one.__name__ for one in get_args(Condition)} - classes)
    lost += sorted(set(get_args(StatisticKind)) - kinds)
    return Finding(
        "L2: every field of a question makes another question",
        not lost,
        f"{len(known)} fields and parameters of the source and the question; {len(lost)} never told two apart, "
        f"0 are right{first_of(lost)}.",
    )


# --- the same question in other words ---


def _in_other_words(asker: _Asker) -> Iterator[Finding]:
    asker.opened.add_analyst("ana", 5)
    for what, group in _groups().items():
        first, *others = (replace(each, what=f"{what}: {i}") for i, each in enumerate(group))
        made = asker.add(first)
        again = [asker.ask(each) for each in others]
        charged = sum(_entry(each) != (_entry(made)[0], True) for each in again)
        wrong = [
            f"other way {i}"
            for i, each in enumerate(again, 1)
            if each is not None and by_statistic(each) != by_statistic(made)
        ]
        refused = [asker.refused[each.what] for each in (first, *others) if each.what in asker.refused]
        yield Finding(
            f"L2: {what} is the same question",
            made is not None and not charged and not wrong,
            f"{charged} of {len(again)} other ways to ask were not answered from the record, and {len(wrong)} got "
            f"other values for what they asked, 0 are right{first_of([*refused, *wrong])}.",
        )


def _entry(made: Made | None) -> tuple[int | None, bool]:
    return (None, False) if made is None else (made.entry, _release(made).repeated)


def _groups() -> dict[str, list[AskedQuestion]]:
    """Return, by what differs between them, questions that are the same."""
    four = (query.sum("y"), query.sum("x"), query.mean("i"), query.median("x"))
    orders = [four, four[::-1], (four[1], four[0], *four[2:]), (four[3], list(four[:3])), (four[2], *four[:2], four[3])]
    twice = ((query.mean("x"), query.count()), (query.count(), query.mean("x"), query.count(name="n")))
    text = "SELECT AVG(i), MEDIAN(x), SUM(x), SUM(y) FROM t WHERE x > 0"
    texts = (
        text, f"{text};", text.replace(" ", "\n\t "), text.lower(), text.replace("AVG(i)", 'avg("I") AS "average"'),
        "SELECT SUM(y) AS a, SUM(x) AS b, MEDIAN(x) AS c, AVG(i) AS d FROM T WHERE 0 < X",
        "SELECT SUM(x), QUANTILE_CONT(x, 0.5), SUM(y), AVG(i) FROM t WHERE NOT x <= 0.0",
    )  # fmt: skip
    amounts = (1, "1", 1.0, Fraction(1), "1.0", "1.000000000")
    reordered = {"columns": dict(reversed(COLUMNS.items()))}
    less = {"columns": {name: each for name, each in COLUMNS.items() if name in ("x", "y", "i")}}
    shares = ({"x": 3, "y": 1}, {"y": 1, "x": 3}, {"y": "1.0", "x": "3"})
    return {
        "another order of the statistics": [_released(each) for each in orders],
        "another order, by group": [_released(each, by="k") for each in orders],
        "a statistic asked twice": [_released(each) for each in twice],
        "SQL instead of Python": [_released(four, where="x > 0"), *(_sql(each) for each in texts)],
        "ε as another type": [_released(four[:2], epsilon=each) for each in amounts],
        "weights in another order": [_released(four[:2], weights=each) for each in shares],
        "by as a list": [_released(four[:1], by=each) for each in ("k", ("k",), ["K"])],
        "another order of the columns": [_released(four, by="b", described=each) for each in ({}, reordered)],
        "columns that are not read": [_released(four, described=each) for each in ({}, reordered, less)],
        "who asks, and how it is shown": [
            _released(four[:2], by="b", **more) for more in ({}, {"progress": lambda share: None}, {"analyst": "ana"})
        ],
        "another presentation": [
            _released((query.count(), query.mean("x")), by=("k", "e"), described=each) for each in ({}, *_presented())
        ],
        "the declared bins, written out": [
            _released((query.count(),), by="e"), _released((query.histogram("e", (0, 3, 10)),)),
            _sql("SELECT COUNT(*) FROM t GROUP BY BIN(e, 0, 3, 10.0)"), _sql("SELECT e, COUNT(*) FROM t GROUP BY e"),
        ],
        "another order of keywords": [
            _released(four[:2], by="k", where="b"),
            replace(_released(four[:2]), options={"where": "B = TRUE", "by": "k", "epsilon": 1}),
        ],
        **_searches(reordered),
        **{f"{ways[0]}, written in another way,": _ways(ways) for ways in _WAYS},
    }  # fmt: skip


def _searches(reordered: dict[str, Any]) -> dict[str, list[AskedQuestion]]:
    """Return the same for what is looked for: keys, bounds, and rows per person."""
    wide = ({"columns": {**COLUMNS, "x": each}} for each in (schema.number(0, 1), "number"))
    return {
        "keys in other words": [
            AskedQuestion(
                "", "discover", (), {"delta": delta, "epsilon": 1, "column": name, "where": "x>0 AND b"} | more,
                {"person": "p", "rows_per_person": 2, **described},
            )
            for name, delta, more, described in (
                ("u", "0.001", {}, {}), ("U", Fraction(1, 1000), {"keys_per_person": 2}, {}),
                ("u", 0.001, {"where": "b AND 0 < X"}, reordered),
            )
        ],
        "bounds in other words": [
            AskedQuestion("", "bounds", (), {"column": "X", "epsilon": 1, "where": "b AND i > 1"}, described)
            for described in ({}, reordered, *wide)
        ],
        "rows per person in other words": [
            AskedQuestion("", "rows_per_person", (), {"epsilon": 1, "where": where}, {"person": "p", **described})
            for where, described in (
                ("x > 1 AND b", {}), ("b AND 1 < X", {"rows_per_person": 2}),
                ("x>1.0 AND b", {**reordered, "rows_per_person": 9}),
            )
        ],
    }  # fmt: skip


def _presented() -> Iterator[dict[str, Any]]:
    """Yield descriptions with labels, units and titles, which differ in nothing else."""
    for word in ("first", "second"):
        labels = [f"{word} {i}" for i in range(len(KEYS))]
        shown: dict[str, schema.Column | str] = {
            "k": schema.keys(dict(zip(KEYS, labels, strict=True)), title=word),
            "e": schema.number(0, 10, edges=[0, 3, 10], labels=labels[:2], unit=word),
            "x": schema.number(-4, 10, unit=word, title=word),
        }
        yield {"columns": {**COLUMNS, **shown}}


_WAYS: tuple[tuple[str, ...], ...] = (
    ("x > 1 AND y > 1 AND b", "b AND y > 1 AND x > 1", "((b) AND (x > 1)) AND y > 1", "y > 1 AND (x > 1 AND (b))"),
    ("x > 1 OR y > 1 OR b", "b OR (y > 1 OR x > 1)", "1 < x OR (b = TRUE OR 1 < y)"),
    ("(x > 1 AND y > 1) OR b", "b OR (y > 1 AND x > 1)", "x > 1 AND y > 1 OR b"),
    ("x > 1 AND (y > 1 OR b)", "(b OR y > 1) AND x > 1", "(Y > 1.0 OR B) AND X > 1e0"),
    ("NOT (x > 1 AND b)", "NOT (b AND x > 1)", "NOT ((b = TRUE) AND (NOT x <= 1))"),
    ("x BETWEEN 1 AND 3", "x >= 1 AND x <= 3", "3 >= x AND 1 <= x", "x <= 3.00 AND NOT x < 1"),
    ("k IN ('a', 'b', 'it''s')", "k IN ('it''s', 'b', 'a')", "K IN ('b', 'a', 'it''s', 'a')"),
    ("k IN ('a')", "k = 'a'", "NOT k <> 'a'", "'a' = k"),
    ("d >= DATE '2024-01-31'", "d >= '2024-01-31'", "NOT d < DATE '2024-01-31'"),
    ("x > 1", "x > 1 AND x > 1", "NOT NOT x > 1", "x>1.000"),
)
"""Conditions that are the same; the first of each names it."""


def _ways(conditions: Sequence[str]) -> list[AskedQuestion]:
    whole = [_released((query.count(), query.sum("y")), where=each) for each in conditions]
    return [*whole, *(_sql(f"SELECT SUM(y), COUNT(*) FROM t WHERE {each}") for each in conditions)]


def _released(statistics: Sequence[Any], *, described: Any = None, **options: Any) -> AskedQuestion:
    return AskedQuestion("", "release", tuple(statistics), {"epsilon": 1, **options}, described or {})


def _sql(text: str) -> AskedQuestion:
    return AskedQuestion("", "sql", (text,), {"epsilon": 1})


# --- what the ledger holds ---


def _recorded(asker: _Asker) -> Finding:
    """Every entry is shown again from the ledger alone, and its SQL, asked again, is the same question."""
    seen: dict[int, tuple[AskedQuestion, Made]] = {}
    for asked, made in asker.answers.values():
        if not _release(made).repeated and made.entry is not None:
            seen[made.entry] = asked, made
    rare = [each for each in seen.values() if each[0].call != "release"]
    chosen = list(seen.values()) if asker.room.deep else [*rare, *list(seen.values())[::5]]
    wrong, again = [], 0
    for asked, made in chosen:
        source = asker.source(asked)
        source.ledger = asker.opened
        shown = recall(source.schema, asker.opened, made.entry)
        if shown is None or by_statistic(shown) != by_statistic(made):
            wrong.append(f"entry {made.entry} ({asked.what})")
        weighted = any(getattr(each, name, None) for each in asked.args for name in ("weight", "error"))
        if asked.call == "release" and not weighted:
            options = {name: each for name, each in asked.options.items() if name not in ("by", "where")}
            same = source.sql(made.plan.query.text, **options, entropy=EntropyForTests(SEED))
            again += 1
            if not same.repeated or by_statistic(same) != by_statistic(made):
                wrong.append(f"the SQL of entry {made.entry} ({asked.what})")
    return Finding(
        "L2: the ledger alone gives every answer again, and its SQL is the same question",
        not wrong,
        f"{len(chosen)} entries were shown from the ledger and {again} were asked again as their SQL; {len(wrong)} "
        f"differ, 0 are right{first_of(wrong)}.",
    )


def by_statistic(made: Made) -> Any:
    """Return the numbers of an answer by what they are, not by their names or places."""
    made = _release(made)
    if not isinstance(made, Release):
        return told(made)
    columns = {each["name"]: each for each in made.columns}
    numbers = {}
    for one in made.plan.query.statistics:
        estimate = made.estimates[str(one.name)]
        numbers[one.text] = columns[one.name]["scale"], [each.tolist() for each in estimate]
    return made.answer, made.group_keys, numbers
