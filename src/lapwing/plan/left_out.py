"""What an answer does not count: rows that the declaration leaves out, and people who weigh less than their rows.

Said from public rules alone, for the columns of the question; how many rows it is about is private.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..measure.kinds import columns_read
from ..measure.measurement import Measurement
from ..question.expression import Recode
from ..question.join import own_columns
from ..question.query import Query, elementary, quoted
from ..question.schema import Column, Schema


def left_out(schema: Schema, query: Query, measured: Sequence[Measurement], *, advice: bool = True) -> tuple[str, ...]:
    """Return a sentence for each rule that leaves out rows, missing values or weight; with advice for the owner."""
    groups = (_unlisted(name, schema.columns[name], name in dict(query.edges), advice=advice) for name in query.by)
    lost = [sentence for sentence in groups if sentence]
    if lost and query.sets:
        lost.append("That holds in all tables, also in those without the column, so that they add up.")
    read = columns_read(schema, query, measured)
    cells = [*_dates(schema, read), *_missing(query, measured), *_unreadable(schema, read, advice=advice)]
    found = [*lost, *cells, *_people(schema, query, measured)]
    return tuple(sentence for sentence in dict.fromkeys(found) if sentence)


def leaves_out(schema: Schema, query: Query, key: str) -> bool:
    """Return whether there can be rows that are in no group of a key of the question."""
    return bool(_unlisted(key, schema.columns[key], key in dict(query.edges)))


def _unlisted(name: str, column: Column, binned: bool, *, advice: bool = False) -> str:
    """Say which rows are in no group of a key; nothing if all are in one."""
    if column.other is not None or (isinstance(column.expression, Recode) and column.expression.otherwise is not None):
        return ""
    if binned or column.edges is not None or column.is_computed:
        return f"Rows without a value of {shown_name(name)} are not counted."
    listed = len(column.keys or ())
    rows = f"Rows whose {shown_name(name)} is not one of {listed:,} keys"
    if listed == 1:
        rows = f"Rows whose {shown_name(name)} is not its one key"
    if column.kind == "boolean" and listed == 2:
        rows = f"Rows without a value of {shown_name(name)}"
    remedy = '; add other = "…" to count them' if advice and column.low is None else ""
    return f"{rows} are not counted{remedy}."


def _dates(schema: Schema, columns: Sequence[str]) -> Iterator[str]:
    """Say what dates beyond the range of their column count as."""
    for name in columns:
        column = schema.columns[name]
        if column.first is not None:
            yield (
                f"{shown_name(name)} before {column.first} or after {column.last} counts as missing; in days between "
                "two dates, as the nearest of these."
            )


def _missing(query: Query, measured: Sequence[Measurement]) -> Iterator[str]:
    """Say what a missing value counts as, for the columns that statistics are about."""
    about = {statistic.column for statistic in elementary(query.statistics) if statistic.kind not in ("people", "cdf")}
    read = [each for each in measured if each.column is not None and each.column in about]
    for filled, rule in ((False, "are left out"), (True, "count as the middle of the bounds")):
        names = dict.fromkeys(shown_name(each.column or "") for each in read if (each.fill is not None) == filled)
        if names:
            yield f"Missing values of {' and '.join(names)} {rule}."


def _unreadable(schema: Schema, names: Sequence[str], *, advice: bool) -> Iterator[str]:
    """Say that texts in another encoding are missing, where none is said, and keys do not show that all are ASCII."""
    columns = {name: schema.columns[name] for name in own_columns(schema, names)} if schema.guesses_encoding else {}
    read = [shown_name(name) for name, each in columns.items() if each.kind == "text" and not _is_ascii(each)]
    if read:
        rule = f"Cells of {' and '.join(read)} that are not UTF-8 count as missing, since the source says no encoding"
        yield f"{rule}: how many is not known{'; `lapwing check` tells its owner' if advice else ''}."


def _is_ascii(column: Column) -> bool:
    return column.keys is not None and all(str(key).isascii() for key in column.keys)


def _people(schema: Schema, query: Query, measured: Sequence[Measurement]) -> Iterator[str]:
    """Say that rows without a person do not count, and who weighs less than their rows, or groups."""
    if schema.person is None:
        return
    k = schema.rows_per_person
    if any(not each.counts_people for each in measured):
        counted = any(statistic.kind == "count" for statistic in elementary(query.statistics))
        yield (
            f"People with more than {k:,} row{'' if k == 1 else 's'} weigh as {k:,}"
            f"{': this is not the number of rows' if counted else ''}."
        )
    if query.by and any(each.counts_people and not each.counts_integers for each in measured):
        yield f"People in more than {k:,} group{'' if k == 1 else 's'} count as {k:,} in all."
    yield "Rows without a person are not counted."


def shown_name(name: str) -> str:
    """Return the name of a column for a sentence: plain, or in quotes, without characters that cannot be printed.

    An expression has no quotes around it, and none that it does not need.
    """
    printable = "".join(c if c.isprintable() else "�" for c in name)
    plain = re.sub(r'"([A-Za-z_]\w*)"', r"\1", printable)
    return plain if name.isidentifier() or '"' in printable else quoted(printable)
