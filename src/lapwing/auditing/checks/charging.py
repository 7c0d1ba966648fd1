"""What is charged, and when: claims L2 and L3, and "charge, aggregate, add noise, record, show" of claim R2.

The checks use ``Ledger`` and ``Source``; they are exact and raise no false alarms.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...errors import EngineError, LapwingError
from ...noise.entropy import EntropyForTests
from ...question import query
from ...question.schema import keys, number, plain
from ...source import Source
from ..finding import Finding
from ..room import Room, Table

TENTH = Fraction(1, 10)
BAD = (0, -1, float("nan"), float("inf"), 1e-300, "1e-10", "abc", "", True, None, 1001, Fraction(1, 3))


def charged(room: Room) -> Iterator[Finding]:
    """Check refusals, what is charged when the engine fails, and repeated questions."""
    yield _bad_epsilon(room)
    yield _refused(room)
    yield _charged_first(room)
    yield _repeated(room)
    yield _told_apart(room)
    yield _capped(room)
    yield _labelled(room)


def _bad_epsilon(room: Room) -> Finding:
    tables = _tables(room)
    source = tables.source(tables.whole)
    ledger = source.make_ledger()
    accepted: list[str] = []
    for bad in BAD:
        calls: tuple[Callable[[], Any], ...] = (
            lambda bad=bad: ledger.charge("q", bad),  # type: ignore[misc]
            lambda bad=bad: ledger.set_total(bad),  # type: ignore[misc]
            lambda bad=bad: source.release(query.sum("x"), epsilon=bad),  # type: ignore[misc]
            lambda bad=bad: source.sql("SELECT SUM(x) FROM t", epsilon=bad),  # type: ignore[misc]
        )
        accepted += [repr(bad) for call in calls if refusal(call) is None]
    return Finding(
        "T16: an ε that is not a decimal from 10^-9 to 1000 is refused and costs nothing",
        not accepted and ledger.spent == 0 and len(ledger.entries()) == 1,
        f"{4 * len(BAD) - len(accepted)} of {4 * len(BAD)} were refused{', not ' + accepted[0] if accepted else ''}; "
        f"ε = {float(ledger.spent)} was charged, 0 is right.",
    )


def _refused(room: Room) -> Finding:
    """A table whose rows cannot be read gets the same refusals, word for word: they need no row."""
    tables = _tables(room)
    good, broken, missing = map(tables.source, (tables.whole, tables.zeros, tables.missing))
    ledger = good.make_ledger()
    ledger.charge("what else there was", "1.5")
    asked: tuple[Callable[[Source], Any], ...] = (
        lambda t: t.release(query.sum("wage"), epsilon=TENTH),
        lambda t: t.release(query.sum("x"), by="wage", epsilon=TENTH),
        lambda t: t.release(query.sum("x"), where="wage > 1", epsilon=TENTH),
        lambda t: t.sql("SELECT x FROM t", epsilon=TENTH),
        lambda t: t.sql("SELECT SUM(x) FROM t JOIN u USING (x)", epsilon=TENTH),
        lambda t: t.sql("DELETE FROM t", epsilon=TENTH),
        lambda t: t.sql("SELECT SUM(x) FROM", epsilon=TENTH),
        lambda t: t.release(query.sum("key"), epsilon=TENTH),
        lambda t: t.release(query.sum("x"), epsilon=0),
    )
    beyond: Callable[[Source], Any] = lambda t: t.release(query.sum("x"), epsilon="0.500000001")  # noqa: E731
    words = [{refusal(lambda: ask(t)) for t in (good, broken, missing)} for ask in asked]  # noqa: B023
    words.append({refusal(lambda: beyond(t)) for t in (good, broken)})  # noqa: B023
    wrong = sum(len(each) != 1 or None in each for each in words)
    planned = {str(t.plan(query.sum("x"), epsilon=TENTH)) for t in (good, broken, missing)}
    return Finding(
        "L3: what is refused, or only planned, reads no row and costs nothing",
        wrong == 0 and len(planned) == 1 and ledger.spent == Fraction(3, 2) and len(ledger.entries()) == 2,
        f"{wrong} of {len(words)} questions were not refused, or differently where rows cannot be read, 0 is right; "
        f"ε = {float(ledger.spent)} is spent of 1.5 before.",
    )


def _charged_first(room: Room) -> Finding:
    """If reading the rows fails, ε stays spent, once; when they can be read again, the answer is free."""
    tables = _tables(room)
    good, broken = tables.source(tables.whole), tables.source(tables.zeros)
    spent = []
    for _ in range(2):
        try:
            broken.release(query.sum("x"), epsilon="0.3")
            spent.append(Fraction(-1))
        except EngineError:
            spent.append(good.ledger.spent)
    made = good.release(query.sum("x"), epsilon="0.3")
    spent.append(good.ledger.spent)
    lone = [entry for entry in good.ledger.entries() if entry.kind == "charge"]
    return Finding(
        "L3: ε is charged before a row is read, and stays charged when the engine fails",
        spent == [3 * TENTH] * 3 and made.completed and made.repeated and len(lone) == 1 and lone[0].answered,
        f"ε = {in_words(map(float, spent))} was spent after two failures and the answer, 0.3 each time is right; "
        f"{len(lone)} charges, 1 is right.",
    )


def _repeated(room: Room) -> Finding:
    """The same question has the same answer at no charge, from any object; at another ε it is another question."""
    tables = _tables(room)
    source = tables.source(tables.whole)
    ledger, asked = source.make_ledger(), (query.sum("x"), query.count())
    places = (tables.whole, tables.whole, tables.zeros)
    what = "L2: the same question has the same answer at no charge, and what is charged adds up"
    try:
        made = [tables.source(place).release(*asked, by="key", epsilon="0.01") for place in places]
    except EngineError:
        return Finding(what, False, "An answered question was asked of the table again, which must not happen.")
    spent = [ledger.spent]
    for epsilon in ("0.02", "0.02", "0.3", "0.01"):
        made.append(source.release(*asked, by="key", epsilon=epsilon))
        spent.append(ledger.spent)
    answers = [json.dumps(each.answer) for each in made]
    same = len({answers[i] for i in (0, 1, 2, 6)}) == 1 and answers[3] == answers[4]
    charged = sum(each.plan.epsilon for each in made if not each.repeated)
    due = [Fraction(each) for each in ("0.01", "0.03", "0.03", "0.33", "0.33")]
    different = len(set(answers))
    return Finding(
        what,
        same and different == 3 and spent == due and charged == due[-1],
        f"7 questions, 3 of them different, had {different} different answers; what is spent became "
        f"{in_words(map(float, spent))}, and {in_words(map(float, due))} is due.",
    )


def _told_apart(room: Room) -> Finding:
    """Everything the noisy integers depend on is part of the question: no answer is reused for a different question."""
    table = room.parquet({"p": ["1", "2"], "x": [0.5, 1.0]}, {"p": "VARCHAR", "x": "DOUBLE"})
    columns, ledger = {"x": number(0, 1), "p": plain("text")}, room.path("ledger")
    described: tuple[dict[str, Any], ...] = (
        {}, {"version": "2"}, {"neighbors": "change_one"}, {"name": "u"}, {"columns": {**columns, "x": number(0, 2)}},
        {"person": "p", "rows_per_person": 1}, {"person": "p", "rows_per_person": 2}, {"columns": columns},
    )  # fmt: skip
    new, keyed = [], []
    for each in described:
        known = {"name": "t", "columns": columns, "epsilon": 100, "delta": "0.01", "ledger": ledger, **each}
        source = Source(table, **known)
        made = [source.release(query.sum("x"), epsilon=TENTH), source.release(query.median("x"), epsilon=TENTH)]
        new.append(sum(not one.repeated for one in made))
        keyed.append(not source.discover("p", epsilon=TENTH, delta="1e-6").repeated)
    asked: tuple[dict[str, Any], ...] = (
        {"where": "x > 0"}, {"keys_per_person": 3}, {"delta": "1e-7"}, {"epsilon": "0.2"}, {"keys_per_person": 2},
    )  # fmt: skip
    known = {"name": "t", "columns": columns, "epsilon": 100, "delta": "0.01", "ledger": ledger, **described[6]}
    keyed += [
        not Source(table, **known).discover("p", **{"epsilon": TENTH, "delta": "1e-6", **each}).repeated
        for each in asked
    ]
    due, due_keys = [2] * 7 + [0], [True] * 4 + [False, True, True, False] + [True] * 4 + [False]
    return Finding(
        "L2: another version, relation, person, bound or δ is another question",
        new == due and keyed == due_keys,
        f"Of 16 releases {sum(new)} were new, 14 are; of {len(keyed)} questions for keys {sum(keyed)}, "
        f"{sum(due_keys)} are.",
    )


def _capped(room: Room) -> Finding:
    """Everything an analyst asks counts against the analyst's cap, and discovery costs δ as well as ε."""
    table = room.parquet({"x": [0.5, 1.0], "key": ["a", "b"]}, {"x": "DOUBLE", "key": "VARCHAR"})
    columns = {"x": number(0, 1), "key": keys(["a", "b"])}
    source = Source(table, name="t", columns=columns, epsilon=9, delta="0.01", ledger=room.path("ledger"))
    ledger = source.make_ledger()
    people = Source(table, name="t", columns=columns, person="key", ledger=ledger.where)
    ledger.add_analyst("ana", "1.25")
    asked: tuple[Callable[..., Any], ...] = (
        lambda **more: source.release(query.sum("x"), **more),
        lambda **more: source.sql("SELECT COUNT(*) FROM t", **more),
        lambda **more: source.discover("key", delta="0.001", **more),
        lambda **more: source.bounds("x", **more),
        lambda **more: people.rows_per_person(**more),
    )
    refused, spent = 0, []
    for ask in asked:
        refused += refusal(lambda: ask(epsilon=2, analyst="ana")) is not None  # noqa: B023
        refused += refusal(lambda: ask(epsilon=2, analyst="bob")) is not None  # noqa: B023
        ask(epsilon="0.25", analyst="ana")
        spent.append(ledger.spent)
    refused += sum(refusal(lambda: ask(epsilon="0.01", analyst="ana")) is not None for ask in asked)  # noqa: B023
    lost = ledger.delta.spent
    return Finding(
        "L1: releases, keys, bounds and rows per person count against the analyst's cap, and keys cost δ",
        refused == 15 and spent == [Fraction(i, 4) for i in range(1, 6)] and lost == Fraction(1, 1000),
        f"{refused} of 15 questions beyond the cap were refused; ε = {in_words(map(float, spent))} was spent after "
        f"each of the others, and δ = {float(lost)} of 0.001.",
    )


def _labelled(room: Room) -> Finding:
    """Answers with noise for tests say so wherever they are shown, also when they are repeated (T21)."""
    tables = _tables(room)
    marked, kinds = [], tuple[dict[str, Any], ...](({"entropy": EntropyForTests(1)}, {}))
    for noise in kinds:
        people = {"person": "key", "rows_per_person": 1}
        source = replace(tables, ledger=room.path("ledger")).source(tables.whole, delta="0.01", **people)
        for again in (noise, kinds[1]):
            made = (
                source.release(query.sum("x"), query.median("x"), epsilon=TENTH, **again),
                source.bounds("x", epsilon=TENTH, **again),
                source.discover("key", epsilon=TENTH, delta="0.001", **again),
                source.rows_per_person(epsilon=TENTH, **again),
            )
            marked += ["not private" in str(each).lower() and not each.to_dict().get("private", True) for each in made]
    return Finding(
        "T21: answers with noise for tests say that they are not private",
        marked == [True] * 8 + [False] * 8,
        f"{sum(marked[:8])} of 8 answers with noise for tests say so, and {sum(marked[8:])} of 8 with real noise.",
    )


@dataclass(frozen=True)
class _Tables:
    """One table three times: whole, with pages of zeros for its rows, and missing; all share a name and a ledger."""

    ledger: Path
    whole: str
    zeros: str
    missing: str

    def source(self, table: str, **more: Any) -> Source:
        columns = {"x": number(0, 1), "key": keys(["a", "b", "c"])}
        return Source(table, name="t", columns=columns, epsilon=2, ledger=self.ledger, **more)


def _tables(room: Room) -> _Tables:
    table: Table = {"x": [i / 7 % 1 for i in range(60)], "key": ["a", "b", "c"] * 20}
    whole = room.parquet(table, {"x": "DOUBLE", "key": "VARCHAR"})
    raw = Path(whole).read_bytes()
    end = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")  # where the description of the columns begins
    zeros = room.path("parquet")
    zeros.write_bytes(raw[:4] + bytes(end - 4) + raw[end:])
    return _Tables(room.path("ledger"), whole, str(zeros), str(room.path("parquet")))


def refusal(call: Callable[[], Any]) -> str | None:
    """Return the words of a refusal; None if there is none."""
    try:
        call()
    except LapwingError as error:
        return str(error)
    return None


def in_words(values: Iterable[object]) -> str:
    """Return values as one text, with commas."""
    return ", ".join(map(str, values))
