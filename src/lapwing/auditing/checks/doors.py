"""Every way to ask is the same: Python, ``declare``, a source file from any folder, commands, servers, several at once.

The checks are exact and raise no false alarms.  Where processes race, they meet at the steps of the ledger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from ...errors import LapwingError
from ...noise.entropy import EntropyForTests
from ...question import query
from ...release.recall import recall
from ...source import Source
from ..finding import Finding, first_of, parts
from ..room import Room
from ..tools import others
from ..tools.answers import by_statistic
from ..tools.described import DESCRIBED, EVERY, Described, described, not_described, opener, place
from ..tools.fields import SOURCE, TOGETHER, asking
from ..tools.neighbors import SEED
from .commands import compared, prepared
from .planned import planned
from .served import served

TENTH = Fraction(1, 10)

_WRITTEN: dict[str, tuple[Any, ...]] = {
    "name": (),
    "person": ("p",),
    "file": ({"missing": ["-"]}, {"format": "parquet"}),
    "joins": (),
    "join": ([{"table": "look_up.csv", "public": True, "on": {"u": "word"}, "columns": {"v": "value"}}],),
}
"""Parameters whose values here are others, as a source file writes them; another name has another ledger."""


def doors(room: Room) -> Iterator[Finding]:
    """Check that every way to make a source and to ask it gives the same question, charge and answer."""
    yield from parts(
        room,
        parameters=_parameters,
        sources=lambda: chain.from_iterable(_same_source(room, each) for each in DESCRIBED),
        one_ledger=lambda: _one_ledger(room),
        plans=lambda: _same_plan(room),
        planned=lambda: planned(room),
        completed=lambda: _completed(room),
        totals=lambda: _other_total(room),
        processes=lambda: _processes(room),
        commands=lambda: _commands(room),
        server=lambda: served(room),
    )


def _parameters() -> Finding:
    lost = not_described()
    return Finding(
        "R2: every parameter of a source and every field of its file is used here",
        not lost,
        f"{len(lost)} have no example in tools/described.py, 0 are right{first_of(lost)}.",
    )


def _processes(room: Room) -> Iterator[Finding]:
    with others.started(opener, 4) as openers:
        yield from _from_folders(room, openers[0])
        yield from _at_once(room, openers)
        yield _beyond(room, openers)


def _commands(room: Room) -> Iterator[Finding]:
    given = prepared(room)
    yield from compared(given, given.run())


def _folder(room: Room) -> Path:
    folder = room.path("folder")
    folder.mkdir()
    return folder


# --- the same source ---


def _same_source(room: Room, each: Described) -> Iterator[Finding]:
    """Compare what all doors hold, field by field, and what they answer."""
    folder = _folder(room)
    table = place(room, each.ending, folder)
    columns = {name: column for name, (_, column) in EVERY.items()}
    first, *rest = columns
    made = each.python(str(folder / table), folder)
    part = each.python(str(folder / table), folder, {first: columns[first]})
    sources = {
        "Source": made,
        "declare of nothing": made.declare(),
        "declare of the same": made.declare({first: columns[first]}),
        "declare of others": part.declare({name: columns[name] for name in rest}),
        "declare by name": part.declare(None, **{name: columns[name] for name in rest}),
        "declare one by one": _one_by_one(part, {name: columns[name] for name in rest}),
        "a source file": Source.open(each.file(table, folder)),
        "declare of a file's": Source.open(folder / f"{each.fields['name']}.toml").declare(),
    }
    right = described(made)
    wrong = []
    for door, source in sources.items():
        found = described(source)
        names = [name for name in {**right, **found} if right.get(name) != found.get(name)]
        wrong += [f"{door} has {name} = {found.get(name)}, not {right.get(name)}" for name in names]
    yield Finding(
        f"R2: every way to make a source holds the same: {each.what}",
        not wrong,
        f"{len(wrong)} of {len(right)} fields differ in {len(sources)} ways, 0 are right{first_of(wrong)}.",
    )
    yield _same_answers(each.what, sources)


def _one_by_one(source: Source, columns: dict[str, Any]) -> Source:
    for name, column in columns.items():
        source = source.declare({name: column})
    return source


def _same_answers(what: str, sources: dict[str, Source]) -> Finding:
    """Ask through the first door, and the same through all others: they get that answer, at no charge."""
    asked: tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...] = (
        ("release", (query.count(), query.sum("x")), {"epsilon": "0.1"}),
        ("discover", ("u",), {"epsilon": "0.1", "delta": "0.001"}),
        ("bounds", ("z",), {"epsilon": "0.1", "where": "day IS NOT NULL"}),
    )
    first, *others_doors = sources
    wrong, due = [], Fraction(0)
    for call, args, options in asked:
        made = getattr(sources[first], call)(*args, **options, entropy=EntropyForTests(SEED))
        due += 0 if made.entry is None else TENTH
        right = by_statistic(made)
        for door in others_doors:
            try:
                other = getattr(sources[door], call)(*args, **options, entropy=EntropyForTests(SEED))
                repeated = getattr(other, "release", other).repeated or made.entry is None  # a public number
                same = repeated and other.entry == made.entry and by_statistic(other) == right
                spent = sources[door].ledger.spent
            except LapwingError as error:
                wrong.append(f"{door}: {call} is refused: {error}")
                continue
            if not same or spent != due:
                wrong.append(f"{door}: {call} is entry {other.entry} of {made.entry}, ε = {spent} is spent of {due}")
    return Finding(
        f"L2: every way to make a source is charged once and answers the same: {what}",
        not wrong,
        f"{len(wrong)} of {len(asked) * len(others_doors)} answers are others, 0 are right{first_of(wrong)}.",
    )


def _one_ledger(room: Room) -> Finding:
    """Whatever else is declared, tables of one name in one folder have one ledger: what was spent stays spent."""
    folder = _folder(room)
    table = place(room, "parquet", folder)
    usual: dict[str, Any] = {"name": "t", "epsilon": 5, "delta": 0.01}
    Described("", "parquet", usual).python(str(folder / table), folder).release(
        query.count(), epsilon=TENTH, entropy=EntropyForTests(SEED)
    )
    wrong, tried = [], 0
    changed = [(name, value) for name, values in SOURCE.items() if name not in _WRITTEN for value in values]
    for name, value in [*changed, *((name, value) for name, values in _WRITTEN.items() for value in values)]:
        each = Described("", "parquet", {**usual, **TOGETHER.get(name, {}), name: value})
        made = {
            "Source": each.python(str(folder / table), folder),
            "a source file": Source.open(each.file(table, folder)),
        }
        tried += len(made)
        wrong += [f"{door} with {name} = {value!r}" for door, source in made.items() if source.ledger.spent != TENTH]
    return Finding(
        "L1: whatever else is declared, a table has one ledger",
        not wrong,
        f"{len(wrong)} of {tried} sources have another, 0 are right{first_of(wrong)}.",
    )


def _same_plan(room: Room) -> Finding:
    """What a plan says is what a release does: ε, scales, shares; and a plan costs nothing and makes no ledger."""
    wrong = []
    asked: tuple[dict[str, Any], ...] = ({"by": "k", "weights": {"x": 3}}, {"where": "x > 1", "intervals": False})
    statistics = (query.count(), query.sum("x"), query.variance("y"), query.quantile("x", [0.1, 0.5]))
    for each in DESCRIBED if room.deep else DESCRIBED[:3]:
        folder = _folder(room)
        source = each.python(str(folder / place(room, each.ending, folder)), folder)
        wanted = source.plan(query.count("x"), error=40).epsilon
        questions: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
            (statistics, {"epsilon": "0.1", **options}) for options in asked
        ]
        questions.append(((query.count("x"),), {"epsilon": wanted}))
        plans = [source.plan(*some, **options) for some, options in questions]
        if source.left() is not None:
            wrong.append(f"{each.what}: a plan made a ledger")
        for plan, (some, options) in zip(plans, questions, strict=True):
            made = source.release(*some, **options, entropy=EntropyForTests(SEED))
            entry = source.ledger.entry(made.entry or 0)
            planned = [(part.measurement, part.epsilon, plan.scale(part)) for part in plan.parts]
            done = [(part.measurement, part.epsilon, made.plan.scale(part)) for part in made.plan.parts]
            split = None if entry is None else entry.question["split"]
            if planned != done or split != plan.split or entry is None or entry.epsilon != plan.epsilon:
                wrong.append(f"{each.what}, {options}: {planned} was planned, {done} was done")
    return Finding(
        "P6: a release does what its plan says, and a plan costs nothing",
        not wrong,
        f"{len(wrong)} plans differ from their releases, 0 are right{first_of(wrong)}.",
    )


def _other_total(room: Room) -> Finding:
    """A source that says another total than its ledger has is refused, and changes nothing."""
    each, folder = DESCRIBED[0], _folder(room)
    table = place(room, each.ending, folder)
    ledger = each.python(str(folder / table), folder).make_ledger()
    granted, ways = [], 0
    for name, value in (("epsilon", 9), ("epsilon", 1), ("delta", 0.1), ("delta", 0.001)):
        other = Described(each.what, each.ending, {**each.fields, name: value})
        made = other.python(str(folder / table), folder)
        for door, source in (
            ("Source", made),
            ("declare", made.declare()),
            ("file", Source.open(other.file(table, folder))),
        ):
            for call in (partial(source.sql, "SELECT SUM(x) FROM t"), partial(source.bounds, "x")):
                ways += 1
                try:
                    call(epsilon="0.1")
                    granted.append(f"{door} with {name} = {value}")
                except LapwingError:
                    continue
    kept = ledger.total == 5 and ledger.delta.total == Fraction(1, 100) and ledger.spent == 0
    return Finding(
        "L1: a source that says another total than its ledger is refused",
        not granted and kept,
        f"{len(granted)} of {ways} questions were answered, 0 are right; the ledger has {ledger.total} and "
        f"{ledger.delta.total}, 5 and 1/100 are right{first_of(granted)}.",
    )


# --- a charge that has no answer yet ---


class _Failing(EntropyForTests):
    """Randomness that fails when it is used."""

    def __init__(self) -> None:
        super().__init__(SEED)

    def bits(self, count: int) -> int:
        raise OSError("no randomness, for this check")

    def stream(self) -> Any:
        raise OSError("no randomness, for this check")


def _completed(room: Room) -> Finding:
    """Ask with randomness that fails, and again: the second is completed at no charge, from every door."""
    asked: tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...] = (
        ("release", (query.count(),), {"epsilon": "0.1", "by": "k"}),
        ("sql", ("SELECT SUM(x) FROM t",), {"epsilon": "0.1"}),
        ("discover", ("u",), {"epsilon": "0.1", "delta": "0.001"}),
        ("bounds", ("x",), {"epsilon": "0.1"}),
        ("rows_per_person", (), {"epsilon": "0.1"}),
    )
    each, folder = DESCRIBED[0], _folder(room)
    wrong = [f"{call} is not asked here" for call in asking() if call not in [name for name, _, _ in asked]]
    table = place(room, each.ending, folder)
    source, file = each.python(str(folder / table), folder), each.file(table, folder)
    due = Fraction(0)
    source.make_ledger().add_analyst("ana", 1)
    for call, args, given in asked:
        due, options = due + TENTH, {**given, "analyst": "ana"}
        for ask in (source, Source.open(file)):
            try:
                getattr(ask, call)(*args, **options, entropy=_Failing())
                wrong.append(f"{call} without randomness was answered")
            except LapwingError:
                if ask.ledger.spent != due:
                    wrong.append(f"{call} that failed spent ε = {ask.ledger.spent}, {due} is right")
        number = len(source.ledger.entries())
        shown = recall(source.schema, source.ledger, number)
        made = getattr(Source.open(file), call)(*args, **options)
        again = getattr(source, call)(*args, **options)
        answer = recall(source.schema, source.ledger, number)
        release = getattr(made, "release", made)
        right = shown is None and release.completed and release.repeated and made.entry == number
        same = answer is not None and by_statistic(again) == by_statistic(made) == by_statistic(answer)
        spent, own = source.ledger.spent, source.ledger.budget("ana").spent
        if not right or not same or (spent, own) != (due, due):
            wrong.append(
                f"{call}: entry {made.entry} of {number}, ε = {spent} is spent, {own} of the cap, {due} is due"
            )
    return Finding(
        "L3: a charge without an answer is completed once, at no charge, and then always the same",
        not wrong,
        f"{len(wrong)} of {len(asked)} were not, 0 are right{first_of(wrong)}.",
    )


# --- a source file from several folders ---


def _from_folders(room: Room, asker: others.Process) -> Iterator[Finding]:
    """Open one file by several paths from several folders, and ask something new each time: one ledger has it all."""
    for each in (DESCRIBED[0], DESCRIBED[4], DESCRIBED[-1]):
        home, elsewhere = _folder(room), _folder(room)
        (home / "tables").mkdir()
        place(room, each.ending, home)  # the tables that are joined
        table = place(room, each.ending, home / "tables")
        file = each.file(f"tables/{table}", home)
        link = elsewhere / "link.toml"
        ways = [
            (home, file.name),
            (elsewhere, f"../{home.name}/{file.name}"),
            (room.folder, f"{home.name}/{file.name}"),
        ]
        ways += [(elsewhere, str(file)), (home / "tables", f"../{file.name}"), (home, f"./{file.name}")]
        found = []
        for i, (folder, path) in enumerate(ways):
            asked = [f"SELECT SUM(x) FROM {query.quoted(each.fields['name'])} WHERE x > {i}"]
            line = {"folder": str(folder), "path": path, "call": "sql", "args": asked, "options": {"epsilon": "0.1"}}
            others.tell(asker, line)
            found.append(others.answer(asker))
        ledgers = {answer["where"] for answer in found}
        spent = [answer["spent"] for answer in found]
        due = [str(i * TENTH) for i in range(1, len(ways) + 1)]
        left = sorted(str(path.relative_to(room.folder)) for path in elsewhere.rglob("*") if path != link)
        refused = [answer["said"] for answer in found if "refused" in answer]
        yield Finding(
            f"L1: a source file has one table and one ledger, from wherever it is opened: {each.what}",
            len(ledgers) == 1 and spent == due and not left and not refused,
            f"{len(ways)} ways to open it used {len(ledgers)} ledgers, 1 is right; ε spent became {', '.join(spent)}, "
            f"{', '.join(due)} is right; {len(left)} files were left elsewhere{first_of([*refused, *left])}.",
        )


# --- several at once ---


def _at_once(room: Room, openers: Sequence[others.Process]) -> Iterator[Finding]:
    """Let four processes ask the same at the same moment: one is charged, and all show its answer."""
    each, folder = DESCRIBED[0], _folder(room)
    file = each.file(place(room, each.ending, folder), folder)
    ledger, due = Source.open(file).make_ledger(), Fraction(0)
    asked: tuple[tuple[str, list[Any], dict[str, Any]], ...] = (
        ("release", ["SELECT k, COUNT(*), SUM(x) FROM t GROUP BY k"], {}),
        ("sql", ["SELECT SUM(x), SUM(y) FROM t"], {}),
        ("discover", ["u"], {"delta": "0.0001"}),
        ("bounds", ["x"], {}),
        ("rows_per_person", [], {}),
    )
    for call, args, options in asked:
        wrong, rounds = [], 6 if room.deep else 1
        for i in range(rounds):
            meet = _folder(room)
            line: dict[str, Any] = {"folder": str(folder), "path": file.name, "call": call, "args": args}
            line |= {
                "meet": str(meet),
                "options": {**options, "epsilon": f"0.0{i + 1}"},
                "steps": {"charge": 4, "record": 4},
            }
            found = _ask_all(openers, [line] * len(openers))
            due += Fraction(i + 1, 100)
            answers = {str(_shown(answer.get("made", {}))) for answer in found}
            entries = {str(answer.get("entry")) for answer in found}
            refused = [answer["said"] for answer in found if "refused" in answer]
            if len(answers) != 1 or len(entries) != 1 or refused or ledger.spent != due:
                told = f"{len(answers)} answers, {len(entries)} entries, ε = {ledger.spent} of {due}{first_of(refused)}"
                wrong.append(told)
        yield Finding(
            f"L2: four processes that ask for the same {call} at once are charged once and show one answer",
            not wrong,
            f"{len(wrong)} of {rounds} rounds had other answers or charges, 0 are right{first_of(wrong)}.",
        )


def _shown(made: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of an answer."""
    return {
        key: made.get(key)
        for key in ("rows", "columns", "occupied", "threshold", "low", "high", "outside", "query", "bins")
    }


def _ask_all(openers: Sequence[others.Process], lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    for process, line in zip(openers, lines, strict=True):
        others.tell(process, line)
    return [others.answer(process) for process in openers]


def _beyond(room: Room, openers: Sequence[others.Process]) -> Finding:
    """Let four processes ask different questions at once, of which the total or a cap has room for two."""
    wrong, rounds = [], 8 if room.deep else 2
    for i in range(rounds):
        capped, folder, meet = i % 2 == 1, _folder(room), _folder(room)
        each = DESCRIBED[0]
        file = each.file(place(room, each.ending, folder), folder)
        ledger = Source.open(file).make_ledger()
        ledger.add_analyst("ana", "0.9" if capped else 4)
        if not capped:
            ledger.charge("what else there was", "4.1")
        before = ledger.spent
        asked: tuple[tuple[str, list[str], dict[str, Any]], ...] = (
            ("release", ["SELECT COUNT(*) FROM t"], {}), ("release", ["SELECT SUM(x) FROM t"], {}),
            ("discover", ["u"], {"delta": "0.001"}), ("bounds", ["x"], {}),
        )  # fmt: skip
        lines = [
            {"folder": str(folder), "path": file.name, "call": call, "args": args, "meet": str(meet),
             "options": {**options, "epsilon": "0.4", "analyst": "ana"}, "steps": {"charge": 4}}
            for call, args, options in asked
        ]  # fmt: skip
        found = _ask_all(openers, lines)
        granted = sum("made" in answer for answer in found)
        refused = sum(answer.get("refused") == "BudgetExceeded" for answer in found)
        spent, own = ledger.spent - before, ledger.budget("ana").spent
        if (granted, refused) != (2, 2) or spent != own or own != 8 * TENTH:
            wrong.append(f"{granted} were granted and {refused} refused, ε = {spent} was charged, {own} to the cap")
    return Finding(
        "L1: four processes that ask different questions at once are granted no more than the total or cap has",
        not wrong,
        f"{len(wrong)} of {rounds} rounds granted other than 2 questions of ε = 0.4, 0 are right{first_of(wrong)}.",
    )
