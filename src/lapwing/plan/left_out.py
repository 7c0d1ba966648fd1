"""What an answer does not count: rows that the declaration leaves out, and people who weigh less than their rows.

Said from public rules alone, for the columns of the question; how many rows it is about is private.  What only the
owner can change is told as such: an analyst may read it, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..measure.kinds import columns_read
from ..measure.measurement import Measurement
from ..question.codes import KeptGroups
from ..question.expression import Recode
from ..question.join import own_columns
from ..question.query import All, Compare, Condition, OneOf, Query, elementary, quoted
from ..question.schema import Column, Schema


def left_out(schema: Schema, query: Query, measured: Sequence[Measurement], *, advice: bool = True) -> tuple[str, ...]:
    """Return a sentence for each rule that leaves out rows or missing values; with what the owner may declare."""
    groups = (_unlisted(name, schema.columns[name], name in dict(query.edges), advice=advice) for name in query.by)
    lost = [sentence for sentence in groups if sentence]
    asked = [_asked(name, kept) for name in query.by if (kept := schema.columns[name].kept) is not None]
    if lost and query.sets:
        lost.append("That holds in all tables, also in those without the column, so that they add up.")
    read = columns_read(schema, query, measured)
    cells = [*_dates(schema, read), *_missing(query, measured), *_unreadable(schema, read, advice=advice)]
    nobody = [] if schema.person is None else ["Rows without a person are not counted."]
    return tuple(each for each in dict.fromkeys([*asked, *lost, *cells, *nobody]) if each)


def weighed_down(schema: Schema, query: Query, measured: Sequence[Measurement]) -> tuple[str, ...]:
    """Say who weighs less than their rows, or groups, and over which rows that is; how much it takes away is private.

    Also with k = 1: that nobody has more rows is not declared.  Nothing is said of COUNT(DISTINCT person) without keys.
    """
    if schema.person is None:
        return ()
    k, found = schema.rows_per_person, []
    if any(not each.counts_people for each in measured):
        counted = any(statistic.kind == "count" for statistic in elementary(query.statistics))
        rows, unlike = f"{k:,} row{'' if k == 1 else 's'}", ": this is not the number of rows" if counted else ""
        found.append(f"People with more than {rows} weigh as {k:,}, and how much that takes away is not known{unlike}.")
    if query.by and any(each.counts_people and not each.counts_integers for each in measured):
        groups = f"{k:,} group{'' if k == 1 else 's'}"
        found.append(f"People in more than {groups} count as {k:,} in all, and how much that takes away is not known.")
    if found and query.where is not None:
        found[-1] += " Weights are computed over the rows that WHERE keeps."
    return tuple(found)


def fixed_keys(schema: Schema, query: Query) -> tuple[str, ...]:
    """Warn that a number for some keys differs from that in a table of all of them: weights act after WHERE."""
    names = dict.fromkeys(name for name in _fixed(query.where) if schema.columns[name].keys is not None)
    if schema.person is None or not names:
        return ()
    told = " and ".join(map(shown_name, names))
    return (
        f"WHERE fixes {told}: these numbers differ from those for the same keys in a table grouped by {told}. "
        "Here people weigh by the rows that WHERE keeps, there by their rows of all keys.",
    )


def _fixed(condition: Condition | None) -> Iterator[str]:
    """Yield the columns that must have a value, or one of a list, wherever the condition is true."""
    if isinstance(condition, All):
        for part in condition.parts:
            yield from _fixed(part)
    elif isinstance(condition, OneOf) or (
        isinstance(condition, Compare) and condition.operator == "=" and condition.other is None
    ):
        yield condition.column


def leaves_out(schema: Schema, query: Query, key: str) -> bool:
    """Return whether there can be rows that are in no group of a key of the question."""
    return bool(_unlisted(key, schema.columns[key], key in dict(query.edges)))


def _unlisted(name: str, column: Column, binned: bool, *, advice: bool = False) -> str:
    """Say which rows are in no group of a key; nothing if all are in one."""
    if column.kept is not None and column.kept.every:
        return ""
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
    remedy = ', unless the owner of the source declares other = "…"' if advice and column.low is None else ""
    return f"{rows} are not counted{remedy}."


def _asked(name: str, kept: KeptGroups) -> str:
    """Say that the condition leaves some of the groups of a key; nothing if it leaves all."""
    number = len(kept.numbers)
    are = "is" if number == 1 else "are"
    few = f"Of {shown_name(name)}, {number:,} of {kept.of:,} groups {are} asked"
    return f"{few}: the condition leaves no rows for the others." if number < kept.of else ""


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


def shown_name(name: str) -> str:
    """Return the name of a column for a sentence: plain, or in quotes, without characters that cannot be printed.

    An expression has no quotes around it, and none that it does not need.
    """
    printable = "".join(c if c.isprintable() else "�" for c in name)
    plain = re.sub(r'"([A-Za-z_]\w*)"', r"\1", printable)
    return plain if name.isidentifier() or '"' in printable else quoted(printable)
