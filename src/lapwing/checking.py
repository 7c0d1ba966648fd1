"""Whether a declaration fits its table: ``check``, for the owner of the table alone, before any ε is spent.

It reads the table without noise, and says what it found in six words: none, under 1 %, under 10 %, many, nearly all,
all.  Even so it tells something about single people, and what it says is private: it is no method of a source, needs
no ledger, makes none and writes to none, and no number that it counts leaves this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

from . import report
from .engine.fit import ColumnCounts, TableCounts, count_fit
from .engine.look_up import LookUp
from .engine.table import Table
from .errors import InvalidParameter, InvalidSource
from .measure.cells import Progress
from .question.codes import Kind
from .question.schema import Column, Schema
from .source import Source

PRIVATE = "PRIVATE: for the owner of the table alone, not for publication."
WEAKENS = (
    "Bounds, keys and rows_per_person that are chosen by looking at this weaken the promise to people.  The private "
    "way: `lapwing bounds`, `lapwing discover`, `lapwing bounds --rows-per-person`."
)

WORDS = ("none", "under 1 %", "under 10 %", "many", "nearly all", "all")
"""The words for a share; many is from 10 % to under 90 %."""


def word(part: int, whole: int) -> str:
    """Return the word for a share of rows or people; of no rows it is none."""
    if part <= 0:
        return WORDS[0]
    if part >= whole:
        return WORDS[5]
    above = (100 * part >= whole, 10 * part >= whole, 10 * part >= 9 * whole)
    return WORDS[1 + sum(above)]


class Advice(NamedTuple):
    """Something that does not fit: which column, what, what to do, and whether all of its numbers would be wrong."""

    column: str | None
    what: str
    todo: str
    wrong: bool = False


@dataclass(frozen=True)
class ColumnCheck:
    """How a declared column fits, in words for shares of all rows; None where the declaration has nothing to fit."""

    name: str
    kind: Kind
    values: str
    missing: str
    odd: str
    below: str | None = None
    above: str | None = None
    broken: str | None = None
    unlisted: str | None = None
    table: str | None = None
    """The joined table that it comes from."""


@dataclass(frozen=True)
class SourceCheck:
    """How a declaration fits its table: print it, or use ``columns`` and ``advice``.  All of it is private.

    ``nobody`` is the share of rows without a person, ``beyond`` that of people with more than ``most`` rows.
    """

    source: str
    empty: bool
    columns: tuple[ColumnCheck, ...]
    advice: tuple[Advice, ...]
    person: str | None = None
    nobody: str | None = None
    beyond: str | None = None
    most: int | None = None
    left_out: str = WORDS[0]
    """The share of records that could not be read, of all records."""

    one_in: int = 1
    """``beyond`` is a share among one person in this many, by a hash; more than 1 in large tables."""

    partners: tuple[tuple[str, str], ...] = ()
    """For each joined table, the share of rows that have a partner there."""

    @property
    def wrong(self) -> bool:
        """Whether some declared column can give nothing but wrong numbers."""
        return any(each.wrong for each in self.advice)

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON, in words too."""
        people = {
            "person": self.person,
            "rows_without": self.nobody,
            "people_beyond": self.beyond,
            "rows": self.most,
            "one_in": self.one_in,
        }
        return {
            "publish": False,
            "warning": f"{PRIVATE}  {WEAKENS}",
            "source": self.source,
            "empty": self.empty,
            "left_out": self.left_out,
            "wrong": self.wrong,
            "columns": [vars(each) for each in self.columns],
            "people": None if self.person is None else people,
            "partners": [{"table": table, "rows": share} for table, share in self.partners],
            "advice": [each._asdict() for each in self.advice],
        }

    def __str__(self) -> str:
        lines = [PRIVATE, WEAKENS, "", f'Check of "{self.source}"; shares are of all rows.']
        heads = [
            "column",
            "declared as",
            "values",
            "missing",
            "no such value",
            "below",
            "above",
            "not whole",
            "unlisted",
        ]
        rows = [
            [each.name, each.kind, each.values, each.missing, each.odd]
            + [cell or "" for cell in (each.below, each.above, each.broken, each.unlisted)]
            for each in self.columns
        ]
        if self.partners:
            heads.append("joined from")
            rows = [[*row, each.table or ""] for row, each in zip(rows, self.columns, strict=True)]
        if rows:
            lines.append(report.text_table(heads, rows, range(len(heads))))
        lines += [f'Rows with a partner in "{table}": {share}.' for table, share in self.partners]
        if self.nobody is not None:
            lines.append(f"Rows without a person ({self.person}): {self.nobody}.")
        if self.beyond is not None:
            among = f" (of one person in {self.one_in})" if self.one_in > 1 else ""
            rows_of = f"{self.most:,} {'row' if self.most == 1 else 'rows'}"
            lines.append(f"People with more than {rows_of}: {self.beyond}{among}.")
        if self.left_out != WORDS[0]:
            lines.append(f"Records that cannot be read, and are left out: {self.left_out}.")
        if self.empty:
            lines.append("No row can be read." if self.left_out != WORDS[0] else "The table has no rows.")
        for each in self.advice:
            mark = "WRONG" if each.wrong else "look"
            lines.append(f"{mark}: {'' if each.column is None else f'{each.column}: '}{each.what}.  {each.todo}")
        if not self.advice and not self.empty:
            lines.append("The declaration fits the table.")
        return "\n".join(lines)


def check(source: Source, *, progress: Progress | None = None) -> SourceCheck:
    """Compare what a source declares with its table, without noise: for the owner of the table alone.

    Nothing is charged, no ledger is needed, and what is returned must not be published.

    Args:
        source: the source.
        progress: a function called with the share done so far, 0 to 1, while the engine runs.
    """
    if not isinstance(source, Source):
        raise InvalidParameter(source, "source", "lw.Source(…), or lw.Source.open(…)")
    return _checked(source.schema.anew(), source._table, progress)


def _in_table(schema: Schema) -> dict[str, Column]:
    """Return the columns that are not computed from others."""
    return {name: column for name, column in schema.columns.items() if not column.is_computed}


def _checked(schema: Schema, table: Table, progress: Progress | None) -> SourceCheck:
    advice, found = [], []
    fields = table.fields_of([*_in_table(schema), *([] if schema.person is None else [schema.person])])
    for name, column in _in_table(schema).items():
        home, there = _home(schema, table, name)
        known = fields if home is table else home.fields_of([there])
        try:
            (at,) = home.places([there], known)
        except InvalidSource as refusal:
            advice.append(_not_there(name, refusal))
            continue
        if home.reads(known[at].type, column.kind):
            found.append(name)
        else:
            what = f"no cell is {_CALLED[column.kind]}, since its type in the table is another"
            advice.append(Advice(name, what, "Declare it as what it is.", True))
    read = schema
    if schema.person is not None:
        try:
            table.places([schema.person], fields)
        except InvalidSource as refusal:
            if table.joined:
                raise
            advice.append(_not_there(schema.person, refusal))
            read = replace(schema, person=None, rows_per_person=1)
    table.check(replace(read, columns={name: read.columns[name] for name in found}), found)
    counts = count_fit(table, read, found, schema.rows_per_person or 1, progress)
    homes = {name: each.name for each in schema.joins for name, _ in each.columns}
    columns = tuple(replace(_column(name, schema.columns[name], counts), table=homes.get(name)) for name in found)
    for name in found:
        advice += _advice(name, schema.columns[name], counts.columns[name], counts.rows, table.is_csv)
    if read.person is not None:
        advice += _about_people(schema, counts)
    if counts.lost.records:
        what = "records are left out: they have too few fields, or are too long"
        todo = "Look at delimiter, quote and names of [file], and for JSON lines at the line breaks."
        advice.append(Advice(None, what, todo, not counts.rows))
    if counts.lost.cells:
        advice.append(_about_encoding(schema, table))
    partners = tuple((schema.joins[at].name, word(rows, counts.rows)) for at, rows in counts.partners.items())
    lone = [name for name, share in partners if share == WORDS[0] and counts.rows]
    advice += [
        Advice(None, f'no row has a partner in "{name}"', "Is it joined on the right column?", True) for name in lone
    ]
    advice.sort(key=lambda each: not each.wrong)
    lost = word(counts.lost.records, counts.rows + counts.lost.records)
    about = SourceCheck(schema.name, counts.rows == 0, columns, tuple(advice), left_out=lost, partners=partners)
    if read.person is None:
        return about
    nobody, beyond = word(counts.rows - counts.with_person, counts.rows), word(counts.people_beyond, counts.people)
    most = schema.rows_per_person or 1
    return replace(about, person=schema.person, nobody=nobody, beyond=beyond, most=most, one_in=counts.one_in)


def _about_encoding(schema: Schema, table: Table) -> Advice:
    """Return what to do about cells that are not in the encoding; where nobody said it, it is the wrong one."""
    what = f"cells are missing, since their bytes are not in the encoding {schema.file.encoding or 'utf-8'}"
    todo = "Write the file anew in UTF-8, as JSON lines are."
    if table.guesses_encoding:
        todo = 'Say the right one in [file], most often encoding = "windows-1252"; `lapwing init` recognises it.'
    elif schema.file.encoding is not None:
        todo = "Is it the right one, or is the file damaged?  See encoding of [file]."
    return Advice(None, what, todo, schema.file.encoding is None)


def _home(schema: Schema, table: Table, name: str) -> tuple[Table, str]:
    """Return the table that a column comes from, and its name there."""
    for number, each in enumerate(schema.joins):
        for declared, there in each.columns:
            if declared == name:
                return (table.joined[number] if each.on is None else cast(LookUp, each.reader).table), there
    return table, name


def _not_there(name: str, refusal: InvalidSource) -> Advice:
    """Return what to do about a column that the table does not have, or that could be confused with another."""
    _, what, todo = refusal.args
    return Advice(name, f"the source {what}", str(todo), True)


def _column(name: str, column: Column, table: TableCounts) -> ColumnCheck:
    counts, rows = table.columns[name], table.rows
    bounded = column.low is not None or column.first is not None
    return ColumnCheck(
        name,
        column.kind,
        word(counts.values, rows),
        word(rows - counts.values - counts.odd, rows),
        word(counts.odd, rows),
        word(counts.below, rows) if bounded else None,
        word(counts.above, rows) if bounded else None,
        word(counts.broken, rows) if column.kind == "integer" else None,
        word(counts.values - counts.listed, rows) if column.keys is not None else None,
    )


_CALLED = {
    "number": "a number", "integer": "a number", "date": "a date", "boolean": "a truth value", "text": "a text",
}  # fmt: skip
_SPELLED = {
    "number": "Is the decimal mark a comma, or are thousands marked?  See decimal and thousands of [file].",
    "date": "Dates are read as 2024-01-31.  See dates of [file].",
    "boolean": "Truth values are true and false, or numbers.  Declare other words as keys.",
    "text": "Are they UTF-8?  See encoding of [file].",
}


def _advice(name: str, column: Column, counts: ColumnCounts, rows: int, is_csv: bool) -> Iterator[Advice]:
    """Yield what does not fit in one column: for each kind only whether it concerns no value, some, or all."""
    called, kind = _CALLED[column.kind], "number" if column.kind == "integer" else column.kind
    spelled = _SPELLED[kind] if is_csv or kind in ("date", "boolean") else "Declare it as what it is."
    if rows and not counts.values:
        what = f"no cell is {called}" if counts.odd else "every cell is missing"
        yield Advice(name, what, spelled if counts.odd else "Is this the right column?", True)
        return
    if counts.odd:
        todo = f"If they are codes for a missing value, list them as missing.  {spelled}"
        yield Advice(name, f"some cells are not {called}, and count as missing", todo)
    yield from _beyond(name, column, counts)
    if counts.broken:
        todo = 'Declare it as a number, without "integer".  Does a point divide thousands?  See thousands of [file].'
        yield Advice(name, "values that are not whole are rounded", todo)
    yield from _about_keys(name, column, counts, is_csv)


def _beyond(name: str, column: Column, counts: ColumnCounts) -> Iterator[Advice]:
    """Yield what is to be said of values beyond the bounds of a column, or of dates beyond its first and last."""
    dated, beyond = column.first is not None, counts.below + counts.above
    one, ends = ("date", "first and last") if dated else ("value", "the bounds")
    ask = f"  `lapwing bounds SOURCE {report.toml_name(name)} --epsilon 0.1` finds bounds privately."
    if counts.values and beyond == counts.values:
        what = f"every {one} lies beyond {ends}, and counts as {'missing' if dated else 'a bound'}"
        yield Advice(name, what, "Is it the right period?" if dated else f"Is the unit right?{ask}", True)
    elif beyond:
        what = f"{one}s beyond {ends} count as {'missing' if dated else ends}"
        meant = f"Take {ends.removeprefix('the ')} from what the column means.{'' if dated else ask}"
        yield Advice(name, what, meant)


def _about_keys(name: str, column: Column, counts: ColumnCounts, is_csv: bool) -> Iterator[Advice]:
    if column.keys is None or counts.listed == counts.values:
        return
    find = f"`lapwing discover SOURCE {report.toml_name(name)} --epsilon 0.5 --delta 1e-8` finds keys privately."
    encoded = "  Are texts UTF-8?  See encoding of [file]." if is_csv and column.kind == "text" else ""
    if not counts.listed:
        todo = f"Are they spelled as in the table?{encoded}  {find}"
        yield Advice(name, "no cell is a listed key", todo, column.other is None)
    elif column.other is None:
        todo = f'Add other = "…" to count them.{encoded}  {find}'
        yield Advice(name, "rows with a key that is not listed are left out", todo)


def _about_people(schema: Schema, counts: TableCounts) -> Iterator[Advice]:
    if counts.rows and not counts.with_person:
        yield Advice(schema.person, "no row has a person", "Is this the column that identifies people?", True)
    elif counts.with_person < counts.rows:
        yield Advice(schema.person, "rows without a person are left out", "Give each person a text or a whole number.")
    ask = "`lapwing bounds SOURCE --rows-per-person --epsilon 0.1` finds a number privately."
    if schema.rows_per_person is None:
        yield Advice(schema.person, "rows_per_person is not declared", ask)
    elif counts.people_beyond:
        yield Advice(schema.person, "people with more rows than rows_per_person are weighted down to it", ask)
