"""What a question is: everything that the noisy integers depend on, and nothing else (claim L2).

All questions are asked of one ledger, with frozen noise.  One that is answered from the record must get exactly what a
new ledger gives it; the same question in other words must be answered from the record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, get_args

from ...errors import LapwingError
from ...ledger.entry import canonical_json
from ...noise.entropy import EntropyForTests
from ...question import query, schema
from ...question.query import Condition, StatisticKind
from ...question.sets import cube, marginals, sets
from ...release.recall import recall
from ..finding import Finding, first_of, parts
from ..room import Room
from ..tools.answers import Made, by_statistic, released
from ..tools.asker import Asker, PlannedQuestion, new_asker, planned_question
from ..tools.conditions import WAYS
from ..tools.fields import (
    CALLS,
    COLUMNS,
    KEYS,
    AskedQuestion,
    questions,
    unknown,
)
from ..tools.join_examples import JOINS
from ..tools.leaves import all_fields, differing
from ..tools.neighbors import SEED
from ..tools.pooled import sharing
from .conditions import conditions
from .cuts import cuts
from .recalled import recalled
from .reused import reused
from .syntax import syntax, tables


@sharing
def identity(room: Room) -> Iterator[Finding]:
    """Check that questions which differ in any field are told apart, and that the same question repeats."""
    yield from parts(
        room,
        parameters=_parameters,
        syntax=syntax,
        tables=tables,
        reused=lambda: reused(room),
        cuts=lambda: cuts(room),
        fields=lambda: _fields(room),
        words=lambda: _words(room),
        recalled=lambda: recalled(room),
        conditions=lambda: conditions(room),
    )


def _parameters() -> Finding:
    lost = unknown()
    return Finding(
        "L2: every parameter of a question is changed here",
        not lost,
        f"{len(lost)} parameters have no values in tools/fields.py, 0 are allowed{first_of(lost)}.",
    )


def _fields(room: Room) -> Iterator[Finding]:
    with new_asker(room) as asker:
        yield from _told_apart(asker)
        yield _recorded(asker)


def _words(room: Room) -> Iterator[Finding]:
    with new_asker(room) as asker:
        yield from _in_other_words(asker)


# --- questions that differ ---

_UNCHANGED = {
    "Query.titles": "names of columns of the answer",
    "Query.sets": "changed in ``tables``",
    "Query.source": "the name of the schema",
    "Query.grouping": "columns of the answer that say which keys a group is summed over",
    "Statistic.name": "the name of a column of the answer",
    "Statistic.times": "how a number is shown",
    "Statistic.digits": "how a number is shown",
    "name of a statistic": "the name of a column of the answer",
    "Schema.columns": "each column has its own fields; one that is not read is no part of the question",
    "Column.within": "has its own fields",
    "Within.parent": "the name of the column that is computed",
    "Column.grid": "made from low and high, and has its own fields",
    "Column.kept": "made from the condition and the declarations",
    **{
        f"{name} of {made}": "shown beside the numbers"
        for name in ("labels", "unit", "title")
        for made in ("number", "keys", "plain", "dates", "expression", "recode")
    },
    "Column.labels": "shown beside the keys",
    "Column.unit": "shown beside the numbers",
    "Schema.noise_levels": "marks are made from what was released",
    "NoiseLevels.low": "marks are made from what was released",
    "NoiseLevels.medium": "marks are made from what was released",
    "Column.title": "shown beside the name",
    "KeyPlan.schema": "has its own fields",
    "Schema.file": "has its own fields",
    "Schema.guesses_encoding": "follows from the encoding of the file, and is said in a note",
    "Join.file": "has its own fields",
    "Join.name": "what a message calls the table",
    "Join.table": "as for the table of the source: the ledger knows the question, not the data",
    "Join.reader": "reads the look-up, whose digest is part of the question",
    "KeyPlan.dialect": "the engine, which counts the same",
    "RowsPlan.schema": "has its own fields",
    "RowsPlan.dialect": "the engine, which counts the same",
}
"""Fields that the noisy integers do not depend on, and why."""


def _told_apart(asker: Asker) -> Iterator[Finding]:
    asked = list({each.what: each for each in questions()}.values())
    planned: dict[str, PlannedQuestion] = {}
    refused, mixed, keys, own = [], [], dict[str, tuple[str, str]](), set[tuple[str, str]]()
    for each in asked:
        try:
            planned[each.what] = one = planned_question(asker.source(each, asker.room.path("ledger")), each)
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
    repeated = sum(bool(released(made).repeated) for _, made in asker.answers.values())
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


def _changed(asked: Sequence[AskedQuestion], planned: dict[str, PlannedQuestion]) -> Finding:
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


def _in_other_words(asker: Asker) -> Iterator[Finding]:
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
    return (None, False) if made is None else (made.entry, released(made).repeated)


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
    both = (query.count(), query.sum("x"))
    cubes = "CUBE (k, b)", "GROUPING SETS ((), (k, b), (b), (K))", "ROLLUP (k), CUBE (b)"
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
        "several tables in other words": [
            *(_released(both, by=each) for each in (cube("k", "b"), sets(("k", "b"), "b", "k", ()))),
            *(_sql(f"SELECT SUM(x), COUNT(*), GROUPING(k) AS total FROM t GROUP BY {each}") for each in cubes),
            _released(both, by=marginals("k", "b", upto=2), weights={("k",): 1, "x": 1}, objective="mean"),
            _released(both, by=(cube("k"), cube("b"))),
        ],
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
        "a look-up in another order": [
            _released((query.sum("x"),), by="b", described={"joins": [each]})
            for each in (JOINS[5], replace(JOINS[5], table="reordered.csv"))
        ],
        "a look-up that is not read": [
            _released((query.sum("y"),), by="b", described=each) for each in ({}, {"joins": [JOINS[5]]})
        ],
        "another order of keywords": [
            _released(four[:2], by="k", where="b"),
            replace(_released(four[:2]), options={"where": "B = TRUE", "by": "k", "epsilon": 1}),
        ],
        **_searches(reordered),
        **{f"{ways[0]}, written in another way,": _ways(ways) for ways in WAYS},
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


def _ways(conditions: Sequence[str]) -> list[AskedQuestion]:
    whole = [_released((query.count(), query.sum("y")), where=each) for each in conditions]
    return [*whole, *(_sql(f"SELECT SUM(y), COUNT(*) FROM t WHERE {each}") for each in conditions)]


def _released(statistics: Sequence[Any], *, described: Any = None, **options: Any) -> AskedQuestion:
    return AskedQuestion("", "release", tuple(statistics), {"epsilon": 1, **options}, described or {})


def _sql(text: str) -> AskedQuestion:
    return AskedQuestion("", "sql", (text,), {"epsilon": 1})


# --- what the ledger holds ---


def _recorded(asker: Asker) -> Finding:
    """Every entry is shown again from the ledger alone, and its SQL, asked again, is the same question."""
    seen: dict[int, tuple[AskedQuestion, Made]] = {}
    for asked, made in asker.answers.values():
        if not released(made).repeated and made.entry is not None:
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
        weighted = any(getattr(each, name, None) for each in asked.args for name in ("weight", "error", "share"))
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
