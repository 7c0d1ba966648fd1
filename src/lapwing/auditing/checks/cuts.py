"""HAVING, ORDER BY and LIMIT cut the released answer, and change nothing else (claim R3).

Each cut is asked of a new ledger, with the same frozen noise: the question, the charge, what the engine is asked, and
the recorded integers must be those of the whole answer.  Asked of the ledger that has the whole answer, it must cost
nothing.  What it shows must be the rows that plain Python selects and orders in the whole answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from ...errors import LapwingError
from ...noise.entropy import EntropyForTests
from ...question import sql
from ...question.schema import keys, number
from ...question.statement import read
from ...release.result import Release
from ...source import Source
from ..finding import Finding, first_of
from ..room import Room
from ..tools.dressing import PLAIN, dressed, plain_text
from ..tools.neighbors import SEED

_QUESTION = "SELECT k, m, COUNT(*) AS n, AVG(x) AS a FROM t WHERE x < 9.5 GROUP BY k, m"
_KEYS = ("d", "b", "a", "c")
_COLUMNS = {"k": keys(*_KEYS), "m": keys(2, 10, 1), "x": number(0, 10)}
_EPSILON = "0.2"
_DRESSED = 400

Row = dict[str, Any]


@dataclass(frozen=True)
class _CutRows:
    """A cut in SQL, and how plain Python selects, orders and cuts the rows."""

    text: str
    true: Callable[[Row], bool] = lambda row: True
    by: Callable[[Row], Any] = lambda row: 0
    some: tuple[int, int | None] = (0, None)

    def of(self, rows: Sequence[Row]) -> list[Row]:
        return sorted((row for row in rows if self.true(row)), key=self.by)[slice(*self.some)]


def _value(name: str) -> Callable[[Row], Any]:
    return lambda row: row[name]["value"]


def _falling(name: str) -> Callable[[Row], Any]:
    return lambda row: -row[name]["value"]


_CUTS = (
    _CutRows("HAVING COUNT(*) >= 12", lambda row: row["n"]["value"] >= 12),
    _CutRows("HAVING n > 8 AND n <= 20 AND NOT k = 'b'", lambda row: 8 < row["n"]["value"] <= 20 and row["k"] != "b"),
    _CutRows("HAVING k IN ('a', 'c') OR m = 10", lambda row: row["k"] in ("a", "c") or row["m"] == 10),
    _CutRows("HAVING n_low >= 3 AND a < 5.5", lambda row: row["n"]["low"] >= 3 and row["a"]["value"] < 5.5),
    _CutRows("ORDER BY n", by=_value("n")),
    _CutRows("ORDER BY 3 DESC LIMIT 5", by=_falling("n"), some=(0, 5)),
    _CutRows("ORDER BY AVG(x) DESC LIMIT 4 OFFSET 3", by=_falling("a"), some=(3, 7)),
    _CutRows("ORDER BY m, k DESC", by=lambda row: (row["m"], -ord(row["k"]))),
    _CutRows("LIMIT 3 OFFSET 2", some=(2, 5)),
    _CutRows("OFFSET 10 ROWS FETCH NEXT 5 ROWS ONLY", some=(10, 15)),
    _CutRows("HAVING n > 5 ORDER BY a LIMIT 2", lambda row: row["n"]["value"] > 5, _value("a"), (0, 2)),
    _CutRows("LIMIT 0", some=(0, 0)),
)


def cuts(room: Room) -> Iterator[Finding]:
    """Yield whether a cut changes the question, and whether it shows what it says."""
    draw = Random(SEED)
    rows = 200
    table: dict[str, list[Any]] = {
        "k": [draw.choice(_KEYS) for _ in range(rows)],
        "m": [draw.choice((1, 2, 10)) for _ in range(rows)],
        "x": [draw.uniform(0, 10) for _ in range(rows)],
    }
    path = room.parquet(table, {"k": "VARCHAR", "m": "BIGINT", "x": "DOUBLE"})
    source = room.source(path, columns=_COLUMNS)
    whole, heard = _asked(source, _QUESTION)
    changed, wrong = [], []
    for cut in _CUTS:
        text = f"{_QUESTION} {cut.text}"
        try:
            again, nothing = _asked(source, text)
            fresh, own = _asked(room.source(path, columns=_COLUMNS), text)
        except LapwingError as error:
            wrong.append(f"{cut.text} is refused: {error}")
            continue
        same = fresh.answer == whole.answer and own == heard and _entry(fresh) == _entry(whole)
        if not same or not again.repeated or nothing or again.answer != whole.answer:
            changed.append(cut.text)
        expected = cut.of(_unmarked(whole.rows))
        wrong += [cut.text for made in (again, fresh) if any(seen != expected for seen in _seen(made))]
    yield Finding(
        "R3: HAVING, ORDER BY and LIMIT are no part of the question",
        not changed,
        f"{len(changed)} of {len(_CUTS)} cuts were charged again, or asked or recorded something else than the whole "
        f"answer, 0 are right{first_of(changed)}.",
    )
    yield Finding(
        "R3: a cut shows the released rows that it says",
        not wrong,
        f"{len(wrong)} of {2 * len(_CUTS)} answers have other rows than Python selects from the whole answer, 0 are "
        f"right{first_of(wrong)}.",
    )
    yield _in_another_dress(room)


def _asked(source: Source, text: str) -> tuple[Release, list[str]]:
    """Return the answer, and the SQL that the engine got for it."""
    table, statements = source._table, list[str]()
    tally = type(table).tally

    def tallied(schema: Any, lowered: Any, *more: Any) -> Any:
        statements.append(lowered.sql)
        return tally(table, schema, lowered, *more)

    vars(table)["tally"] = tallied
    try:
        return source.sql(text, epsilon=_EPSILON, entropy=EntropyForTests(SEED)), statements
    finally:
        del vars(table)["tally"]


def _entry(made: Release) -> Any:
    return made.plan.query.text, made.plan.split, made.plan.epsilon, made.remaining


def _seen(made: Release) -> list[list[Row]]:
    """Return the rows that each output of an answer shows, in one form."""
    flat = made.flat()
    names = ("n", "a")
    columns: list[list[Row]] = [
        [
            {"k": k, "m": m, **{name: {"value": v[i], "low": a[i], "high": b[i]} for name, (v, a, b) in ends.items()}}
            for i, (k, m) in enumerate(pairs)
        ]
        for pairs, ends in (
            (
                list(zip(flat["k"], flat["m"], strict=True)),
                {name: (flat[name], flat[f"{name}_low"], flat[f"{name}_high"]) for name in names},
            ),
            (made.group_keys, {name: tuple(end.tolist() for end in made[name]) for name in names}),
        )
    ]
    return [_unmarked(made.rows), _unmarked(made.to_dict()["rows"]), *columns]


def _unmarked(rows: Sequence[Row]) -> list[Row]:
    """Return rows without the marks of noise, which plain columns have elsewhere."""
    ends = ("value", "low", "high")
    return [{**row, **{name: {end: row[name][end] for end in ends} for name in ("n", "a")}} for row in rows]


def _in_another_dress(room: Room) -> Finding:
    """Questions as people write them are the plain question, or refused."""
    draw = Random(SEED + room.seed)
    number_of_texts = _DRESSED * (10 if room.deep else 1)
    refused, other = [], []
    for _ in range(number_of_texts):
        plain = draw.choice(PLAIN)
        text = dressed(plain, draw)
        try:
            asked = read(text, plain.schema).query.text
        except LapwingError as error:
            refused.append(f"{' '.join(text.split())}: {error}")
            continue
        if asked != sql.parse(plain_text(plain), plain.schema).text:
            other.append(f"{' '.join(text.split())} asks {asked}")
    many = refused if len(refused) > number_of_texts // 10 else []
    return Finding(
        "L2: aliases, subqueries, numbers, comments and case make no other question",
        not other and not many,
        f"{number_of_texts:,} texts were read, {len(refused)} refused; {len(other)} ask another question than they "
        f"say, 0 are right{first_of(other or many)}.",
    )
