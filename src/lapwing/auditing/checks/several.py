"""Several tables in one question: what one person moves in all of them together, and the noise of each of them.

With noise of scale s_B in each measured table B, the log ratio of the probabilities of an output on two neighbors is at
most Σ_B ‖tally_B - tally_B′‖₁/s_B, and exactly that for some output.  Over all small tables this must not exceed ε, and
each s_B must be what the neighbors that are farthest apart in B need at the share of B.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ... import exact
from ...engine.connect import connect
from ...errors import RequestError
from ...measure.cells import unpacked
from ...plan.plan import Plan
from ...plan.planning import make_plan
from ...plan.strategy import Strategy
from ...question import query, schema, sql
from ...question.query import Statistic
from ...question.sets import KeyTable, cube, rollup, sets
from ...release.combining import combined_tables
from ...release.pipeline import make_release
from ...release.result import Release
from ..finding import Finding, first_of
from ..room import Room
from ..tools.even import ROUNDING, Even, even_law
from ..tools.neighbors import OTHERS, Cells, Question, Tables, distances, source, units
from ..tools.paper import Paper
from ..tools.running import forms
from ..tools.script import MARK, NoOther, Script, scripted

_TABLES: tuple[KeyTable, ...] = ((), ("key",), ("rest",), ("key", "rest"))
_SHARES = (Fraction(1, 8), Fraction(1, 16), Fraction(5, 16), Fraction(1, 2))
"""What is measured; a row whose key is not listed is in no table, and one in "rest" only would be among the others."""

_ASKED: tuple[tuple[tuple[Statistic, ...], str | None], ...] = (
    ((query.count(),), None),
    ((query.sum("z"), query.mean("x")), "x > 0 OR key = 'a'"),
    ((query.variance("z"), query.proportion("x > 2")), None),
)


# --- what one person moves ---


@dataclass(frozen=True)
class _Measured:
    """One measured table of one measurement: its cells in all small tables (others, rows of one, cell), and its ε.

    ``scale`` is that of the noise that is drawn for its cells.
    """

    name: str
    cells: Cells
    epsilon: Fraction
    scale: Fraction


def several_moves(room: Room, tables: Mapping[bool, Tables]) -> Iterator[Finding]:
    """Compare, over all small tables, the loss of all measured tables together with ε."""
    yield _own_noise(room.engines[0].name, tables[True])
    for statistics, where in _ASKED:
        for people in (True, False):
            for neighbors in ("add_remove", "change_one"):
                question = Question(statistics, ("key", "rest"), where, people, neighbors)
                yield _loss(f"{room.engines[0].name}: all tables of {question}", tables[people], question)


def _own_noise(engine: str, tables: Tables) -> Finding:
    """Every number of all measured tables has one draw, which no other number has, whatever the rows are."""
    question = Question(_ASKED[1][0], ("key", "rest"))
    plan = _plan(source(tables.room, tables.large, question).schema, question, _TABLES)
    shared = 0
    for table in (tables.large, tables.nothing):
        script = Script(lambda number: (number + 1) * MARK)
        made = _without_noise(plan, table, script)
        draws = [(int(each) + MARK // 2) // MARK for part in made.cells for cell in part for each in cell]
        shared += sorted(draws) != list(range(1, len(script.scales) + 1))
    told = f"{shared} of 2 releases have numbers that share draws, or have none or several, 0 are right"
    return Finding(f"{engine}: every number of several tables has noise of its own", not shared, told)


def _loss(what: str, tables: Tables, question: Question) -> Finding:
    measured = _moved(tables, question)
    moved = [_pairs(each.cells, question) for each in measured]
    about = sum((pairs / float(each.scale) for pairs, each in zip(moved, measured, strict=True)), np.float64(0))
    nearly = np.unique([pairs[about >= about.max() * (1 - ROUNDING)] for pairs in moved], axis=1).T
    loss = max(
        sum((int(d) / each.scale for d, each in zip(pair, measured, strict=True)), Fraction(0)) for pair in nearly
    )
    wrong = [
        f"{each.name} moves by {far}, and has noise of scale {each.scale} with ε = {each.epsilon}"
        for each, far in ((each, int(pairs.max())) for each, pairs in zip(measured, moved, strict=True))
        if each.scale * each.epsilon != far
    ]
    spent = sum((each.epsilon for each in measured), Fraction(0))
    told = (
        f"the largest log ratio is {exact.text(loss)} of 1, over {about.size:,} pairs and {len(measured)} measured "
        f"tables with ε = {exact.text(spent)} in all; {len(wrong)} scales are not as needed, 0 are right"
        f"{first_of(wrong)}"
    )
    return Finding(what, loss <= 1 and spent == 1 and not wrong, told)


def _pairs(cells: Cells, question: Question) -> Cells:
    """Return ‖tally - tally′‖₁ of all neighbors."""
    if question.neighbors == "add_remove":
        return np.asarray(np.abs(cells - cells[:, :1]).sum(axis=2)[:, :, None])
    return np.stack([distances(each) for each in cells[:, 0 if question.people else 1 :]])


def _moved(tables: Tables, question: Question) -> list[_Measured]:
    """Return the integers of all small tables, asked at once: each table has the number of the small one as a key."""
    number = len(OTHERS) * len(tables.owned)
    small, drawn = _plan(source(tables.room, tables.large, question).schema, question, _TABLES), Script()
    _without_noise(small, tables.large, drawn)
    used = iter(drawn.calls)
    large = _plan(source(tables.room, tables.large, question, number).schema, question, _TABLES, "t")
    made = _without_noise(large, tables.large)
    found = []
    for at, (part, columns) in enumerate(zip(small.parts, made.cells, strict=True)):
        lengths = [setting.groups for setting in large.settings(large.parts[at])]
        pieces = [np.split(column, np.cumsum(lengths)[:-1]) for column in columns]
        for which, setting in enumerate(small.settings(part)):
            cells = np.stack([piece[which].astype(np.int64) for piece in pieces], axis=-1) // units(small, large, at)
            shaped = cells.reshape(number, -1).reshape(len(OTHERS), len(tables.owned), -1)
            name = f"{part.measurement.name} by {', '.join(setting.query.by) or 'nothing'}"
            scales = {
                scale for scale, size in (next(used, (Fraction(1), 0)) for _ in columns) if size == setting.groups
            }
            scale = scales.pop() if len(scales) == 1 else Fraction(1)
            found.append(_Measured(name, shaped, part.epsilon * _SHARES[which], scale))
    return found


def _plan(declared: schema.Schema, question: Question, measured: Sequence[KeyTable], *first: str) -> Plan:
    """Return a plan with all tables, which measures these; ``first`` are keys that every table has."""
    asked = sets(*((*first, *table) for table in cube(*question.by).tables))
    made = sql.make_query(question.statistics, asked, question.where, declared)
    places = [tuple(sorted(made.by.index(name) for name in (*first, *table))) for table in measured]
    return make_plan(declared, made, epsilon=1, strategy=Strategy(tuple(places), _SHARES))


def _without_noise(plan: Plan, table: Any, script: Script | None = None) -> Release:
    paper: Any = Paper()
    with scripted(script or Script()):
        return make_release(plan, connect(table, "t"), paper, entropy=NoOther())


# --- the noise, the shares and the record ---

_LONG, _SHORT = 2**13, 2**12
"""The numbers of keys of two columns, whose tables have noise that is laid out evenly."""

_RELEASED: tuple[tuple[Statistic, ...], ...] = ((query.count(),), (query.mean("x"), query.sum("z")))
_PROTECTED: tuple[dict[str, Any], ...] = (
    {}, {"person": "person", "rows_per_person": 3}, {"neighbors": "change_one"},
    {"person": "person", "rows_per_person": 3, "neighbors": "change_one"},
)  # fmt: skip


def several_laws(room: Room) -> Iterator[Finding]:
    """Each measured table has noise of its own, by the law of its share; shares add up, and nothing else is kept."""
    types = {"person": "BIGINT", "x": "DOUBLE", "z": "BIGINT", "g": "BIGINT", "h": "BIGINT"}
    nothing = room.table({name: [] for name in types}, types)
    columns = {"x": schema.number(-3, 7), "z": schema.number(-3, 7, integer=True)}
    columns |= {"g": schema.keys(range(_LONG)), "h": schema.keys(range(_SHORT))}
    for statistics in _RELEASED:
        for described in _PROTECTED:
            entropy, asked = Even(), room.source(nothing, columns=columns, **described)
            made = asked.release(*statistics, by=sets("g", "h", ()), epsilon=2, entropy=entropy)
            what = f"{', '.join(each.text for each in statistics)}, {described or 'rows'}"
            yield _kept(f"the record of several tables, {what}", asked.ledger.entries(answers=True), made)
            yield from _even(what, made, entropy)


def _even(what: str, made: Release, entropy: Even) -> Iterator[Finding]:
    """Compare the noise of each large table, of an empty one, with the law of its scale."""
    plan = made.plan
    cells = sum(plan.length(part) * len(part.measurement.names) for part in plan.parts)
    told = f"{sum(entropy.filled):,} words were drawn for {cells:,} cells; each needs its own"
    yield Finding(f"randomness of several tables, {what}", sum(entropy.filled) >= cells, told)
    for part, columns in zip(plan.parts, made.cells, strict=True):
        settings = plan.settings(part)
        ends = np.cumsum([setting.groups for setting in settings])[:-1]
        pieces = [np.split(column, ends) for column in columns]
        for which, setting in enumerate(settings):
            if setting.groups >= _SHORT:
                table = f"{part.measurement.name} by {', '.join(setting.query.by)}"
                for noise in (piece[which] for piece in pieces):
                    yield even_law(f"noise of {table} in {what}", noise, part.measurement.scale(setting))


def _kept(what: str, entries: Sequence[Any], made: Release) -> Finding:
    """The shares that are recorded add up to what is charged, and the record has as many numbers as were measured."""
    entry = next(each for each in entries if each.kind == "charge")
    tables, columns = entry.question["tables"], {"g": _LONG, "h": _SHORT}
    shares = [Fraction(share) for share in tables["shares"]]
    lengths = [int(np.prod([columns[name] for name in table], dtype=object)) for table in tables["measured"]]
    wrong = [] if sum(shares) == 1 and min(shares) > 0 else [f"the shares are {tables['shares']}"]
    split = {name: Fraction(each) for name, each in entry.question["split"].items()}
    wrong += [] if sum(split.values()) == entry.epsilon else [f"ε is split into {entry.question['split']}"]
    known = ("cells", "private", "names", "order", "titles", "views")
    wrong += [f"{name} is recorded" for name in entry.answer if name not in known]
    for part, cells in zip(made.plan.parts, entry.answer["cells"], strict=True):
        for cell in cells:
            try:
                unpacked(cell, sum(lengths))
            except ValueError as error:
                wrong.append(f"{part.measurement.name} has other numbers: {error}")
        settings = zip(made.plan.settings(part), shares, strict=True)
        due = [Fraction(part.measurement.sensitivity(each), 1) / (part.epsilon * share) for each, share in settings]
        if due != made.plan.scales(part):
            wrong.append(f"the scales of {part.measurement.name} are {made.plan.scales(part)} where {due} are right")
    told = f"{len(tables['measured'])} tables with {sum(lengths):,} cells; {len(wrong)} faults, 0 are right"
    return Finding(what, not wrong, f"{told}{first_of(wrong)}")


# --- what is shown ---

_KEYS = {"a": ("u", "v", "w"), "b": (1, 2), "c": (True, False)}


def several_shown(room: Room) -> Iterator[Finding]:
    """What is shown follows from the record alone; without noise it is the truth, and tables add up to the digit."""
    rows = [(a, b, c, 3 + i % 7) for i, (a, b, c) in enumerate((*_cells(), *_cells()[::3], *_cells()[1::4]))]
    outside: list[Any] = [("x", 1, True, 5), ("u", None, True, 6), ("v", 2, None, 7)]
    columns: dict[str, Any] = {"a": schema.keys("u", "v", "w"), "b": schema.keys(1, 2), "c": schema.keys(True, False)}
    columns |= {"z": schema.number(0, 9, integer=True)}
    types = {"a": "VARCHAR", "b": "BIGINT", "c": "BOOLEAN", "z": "BIGINT"}
    sources = []
    for some in ([*rows, *outside], rows[5:9]):
        table = room.table({name: [row[i] for row in some] for i, name in enumerate(types)}, types)
        sources.append((table, room.source(table, columns=columns)))
    asked: tuple[Statistic, ...] = (query.count(), query.sum("z"), query.mean("z"))
    table, source = sources[0]
    for by, statistics in ((cube("a", "b", "c"), asked[:2]), (rollup("c", "a"), asked)):  # bars of means take long
        plan = source.plan(*statistics, by=by, epsilon="0.3")
        kept = rows if len(plan.query.by) == 3 else [*rows, outside[1]]
        if len(plan.query.sets) == 3:  # every table is measured
            plan = replace(
                plan, strategy=Strategy(((), (0,), (0, 1)), (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)))
            )
        yield _true(_without_noise(plan.on(source.dialect), table), kept)
    noisy = [each.release(*asked[:2], by=cube("a", "b", "c"), epsilon="0.3") for _, each in sources]
    yield _adding_up(noisy[0])
    yield _from_record(noisy[0], noisy[1])
    again = source.release(*asked[:2], by=cube("a", "b", "c"), epsilon="0.5")
    yield _adding_up(noisy[0].combined(again), "several releases, combined,")
    elsewhere = source.release(*asked[:2], by=cube("a", "b", "c"), where="z > 4", epsilon="0.5")
    yield _combined(noisy[0], again, elsewhere)


def _cells() -> list[tuple[Any, ...]]:
    return [(a, b, c) for a in _KEYS["a"] for b in _KEYS["b"] for c in _KEYS["c"]]


def _true(made: Release, rows: Sequence[tuple[Any, ...]]) -> Finding:
    """Each row of an answer without noise has the truth of the group that its keys name."""
    wrong = []
    for shown in made.rows:
        keys = {name: shown.get(name) for name in _KEYS}
        own = [
            row[3] for row in rows if all(key in (None, cell) for key, cell in zip(keys.values(), row, strict=False))
        ]
        due = {"count": len(own), "sum_z": sum(own), "mean_z": sum(own) / max(len(own), 1)}
        wrong += [
            f"{name} of {keys} is {shown[name]['value']} where {value} is true"
            for name, value in due.items()
            if name in shown and abs(shown[name]["value"] - value) > 1e-6
        ]
    groups = {tuple(shown.get(name) for name in _KEYS) for shown in made.rows}
    told = f"{len(wrong)} of {len(made)} groups are not the truth, 0 are right{first_of(wrong)}"
    passed = not wrong and len(groups) == len(made) == made.plan.groups
    return Finding(f"several tables without noise are the truth: {made.plan.query.text}", passed, told)


def _adding_up(made: Release, what: str = "several tables") -> Finding:
    """Every number is exactly the sum of those that it is the total of."""
    groups = [tuple(row[name] for name in _KEYS) for row in made.rows]
    wrong = []
    for name in ("count", "sum_z"):
        values = {group: Fraction(float(row[name]["value"])) for group, row in zip(groups, made.rows, strict=True)}
        for group, value in values.items():
            for at in (at for at, key in enumerate(group) if key is None):
                parts = [(*group[:at], key, *group[at + 1 :]) for key in list(_KEYS.values())[at]]
                total = sum((values[each] for each in parts), Fraction(0))
                if total != value:
                    wrong.append(f"{name} of {group} is {float(value)}, and its parts add up to {float(total)}")
    return Finding(
        f"{what} add up to the last digit",
        not wrong,
        f"{len(wrong)} totals differ, 0 are right{first_of(wrong)}",
    )


def _combined(made: Release, again: Release, elsewhere: Release) -> Finding:
    """No entry counts twice as if it were two, no release of other rows counts, and each has the noise of its own."""
    wrong = []
    tried = [(made,), (made.at("0.5"),), (again, again.nonnegative()), (elsewhere,), (again, elsewhere)]
    for others in tried:
        try:
            made.combined(*others)
        except RequestError:
            continue
        wrong.append(f"entry {made.entry} and {', '.join(f'entry {each.entry}' for each in others)} were combined")
    both = made.combined(again)
    least = [min(plan.scale(part) for part in plan.parts) for plan in (made.plan, again.plan)]
    if both.epsilon != made.plan.epsilon + again.plan.epsilon:
        wrong.append(f"together they have ε = {exact.text(both.epsilon)}")
    tables, own = combined_tables(both), again.plan.several
    if own is None or least[0] <= least[1]:
        wrong.append("the releases that are combined do not differ in their noise")
        return Finding("releases that are combined", False, f"{len(wrong)} faults, 0 are right{first_of(wrong)}")
    for place, table in enumerate(own.strategy.measured):
        due = [again.plan.scales(part)[place] for part in again.plan.parts]
        mine = [tables.scale(part, tables.evidence[place].table) for part in range(len(due))]
        wrong += (
            [] if mine == due else [f"the noise of table {table} is taken to have the scale {mine[0]}, not {due[0]}"]
        )
    told = f"{len(tried)} combinations to refuse, {len(own.strategy.measured)} tables; {len(wrong)} faults, 0 are right"
    return Finding("releases that are combined", not wrong, f"{told}{first_of(wrong)}")


def _from_record(one: Release, other: Release) -> Finding:
    """A release of other data, given the same record, shows the same in every form and view."""
    views: list[tuple[str, Callable[[Release], Any]]] = [
        ("plain", lambda made: list(forms(made))),
        ("non-negative", lambda made: made.nonnegative().to_csv()),
        ("at once", lambda made: made.at("0.9", simultaneous=True).to_csv()),
    ]
    kept = dict(vars(other)) | {"answer": one.answer, "recorded_at": one.recorded_at, "head": one.head}
    kept |= {"new_ledger": one.new_ledger}
    same = Release(**{name: kept[name] for name in Release.__dataclass_fields__})
    wrong = [name for name, view in views if view(one) != view(same)]
    told = f"{len(wrong)} of {len(views)} views differ, 0 are right{first_of(wrong)}"
    return Finding("several tables are shown from their record alone", not wrong, told)
