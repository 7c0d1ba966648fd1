"""Several releases of the same rows and statistics, combined: from noisy integers alone, at no charge (claim U9).

Every entry of a ledger has noise of its own, so different entries are independent measurements.  An entry is never
counted twice: its noise would look smaller than it is.  What could mean other integers is refused: another source or
version of it, other rows, other statistics, columns that were declared otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InvalidParameter, InvalidRequest, MissingParameter, UnsupportedQuery
from ..measure.cells import Column
from ..measure.linear import Noisy
from ..measure.tables import Axes
from ..plan.left_out import leaves_out, shown_name
from ..plan.plan import Plan
from ..plan.several import Evidence, SeveralTables
from ..plan.strategy import Strategy
from ..question.query import Query
from ..question.sets import check_cells, check_statistics

if TYPE_CHECKING:
    from .result import Release

_MAY_DIFFER = ("query", "columns", "split", "tables", "groups")
"""What need not be the same in two questions, as the ledger has them; of these, what matters is compared by itself."""


def combined(answer: Release, others: Sequence[Any]) -> Release:
    """Return the answer with the numbers of other releases as evidence; refuse those that do not fit it."""
    found = list(answer.evidence)
    for other in others:
        found += _with_its_own(other)
    if len(found) == len(answer.evidence):
        raise MissingParameter("the releases to combine with", "Give one or more: answer.combined(earlier).")
    plan = _in_tables(answer.plan)
    used = {_entry(answer)}
    for other in found:
        number = _entry(other)
        if number in used:
            raise InvalidRequest(
                f"Entry {number} would be counted twice, as if its noise were two independent measurements",
                "Give each entry once.",
            )
        used.add(number)
        _check(plan.whole, other.plan.whole, f"Entry {number} cannot be combined with entry {answer.entry}")
    return replace(answer, plan=plan, evidence=tuple(found))


def combined_tables(answer: Release) -> SeveralTables:
    """Return the tables of an answer with those of its evidence."""
    tables = answer.plan.whole.several
    assert tables is not None
    measured = [each for which in range(len(answer.evidence)) for each in _measured(answer, which)]
    return replace(tables, evidence=tuple(Evidence(each.table, each.scales) for each in measured))


def combined_cells(answer: Release) -> Noisy:
    """Return the noisy integers of an answer, and after them those of its evidence."""
    measured = [each for which in range(len(answer.evidence)) for each in _measured(answer, which)]
    return [
        [np.concatenate([cell, *(each.cells[part][number] for each in measured)]) for number, cell in enumerate(cells)]
        for part, cells in enumerate(answer.cells)
    ]


class _Measured(NamedTuple):
    """A table that another release measured: its columns as numbers of the answer, its scales, and its integers."""

    table: Axes
    scales: tuple[Fraction, ...]
    cells: list[list[Column]]


def _measured(answer: Release, which: int) -> Iterator[_Measured]:
    """Yield what one of the other releases measured; its tables have one more column, with one key."""
    other = answer.evidence[which]
    tables, by = _in_tables(other.plan.whole).several, answer.plan.whole.query.by
    assert tables is not None
    split = [[tables.measured_cells(cell) for cell in cells] for cells in other.cells]
    for table in tables.strategy.measured:
        places = [by.index(name) for name in tables.keys(table)]
        order = np.argsort(places)
        yield _Measured(
            (*sorted(places), len(by) + which),
            tuple(tables.scale(part, table) for part in range(len(split))),
            [[cell[table].transpose(order).ravel() for cell in cells] for cells in split],
        )


def _with_its_own(other: Any) -> list[Release]:
    """Return a release and those that were combined with it."""
    from .result import Release

    if not isinstance(other, Release):
        raise InvalidParameter(other, "what to combine with", "one or more releases")
    return [other, *other.evidence]


def _entry(release: Release) -> int:
    if release.entry is None:
        raise InvalidRequest(
            "An answer that is public has no noise, and is combined with nothing", "Combine answers of the ledger."
        )
    return release.entry


def _in_tables(plan: Plan) -> Plan:
    """Return the plan as one for several tables: a plain GROUP BY is a set of one table, which is measured."""
    if plan.several is not None:
        return plan
    try:
        check_statistics(plan.query.statistics)
    except UnsupportedQuery:
        advice = "Combine answers that have no other statistics."
        raise InvalidRequest("Only counts, sums, means, variances and shares are combined", advice) from None
    if any(each.public_rows for each in plan.measured) or plan.counts_publicly:
        raise InvalidRequest(
            "The number of rows is public here, and such answers are not combined",
            "Ask by a key, or with a condition.",
        )
    query = replace(plan.query, sets=(plan.query.by,))
    check_cells(query, plan.schema)
    return replace(plan, query=query, strategy=Strategy((tuple(range(len(query.by))),), (Fraction(1),)))


# --- what must be the same ---


def _check(plan: Plan, other: Plan, refused: str) -> None:
    """Refuse a release whose exact integers are not sums of those of the answer's finest table, or may not be."""
    other = _in_tables(other)
    from .pipeline import question

    mine, asked = question(plan), question(other)
    for name in dict.fromkeys((*_DIFFERS, *sorted({*mine, *asked} - set(_MAY_DIFFER)))):
        if mine.get(name) != asked.get(name):
            raise InvalidRequest(f"{refused}: {_DIFFERS.get(name, f'{name} differs')}", _SAME)
    if plan.query.where != other.query.where:
        raise InvalidRequest(f"{refused}: its condition (WHERE) is another", _SAME)
    statistics = [{each.text for each in some.query.statistics} for some in (plan, other)]
    if statistics[0] != statistics[1]:
        raise InvalidRequest(f"{refused}: its statistics are others", _SAME)
    for name in other.query.by:
        if name not in plan.query.by:
            advice = "Combine the other way round, or ask for tables that have all of its keys."
            raise InvalidRequest(f"{refused}: its key {shown_name(name)} is not one of the answer", advice)
        if _borders(plan, name) != _borders(other, name):
            raise InvalidRequest(f"{refused}: {shown_name(name)} has other bins", _SAME)
    for name, declared in asked["columns"].items():
        if mine["columns"].get(name) != declared:
            raise InvalidRequest(f"{refused}: {shown_name(name)} was declared otherwise", _SAME)
    if plan.measured != other.measured:
        raise InvalidRequest(f"{refused}: its statistics were measured in another way", _SAME)
    for name in plan.query.by:
        if name not in other.query.by and leaves_out(plan.schema, plan.query, name):
            why = f"it counts rows without a key of {shown_name(name)} as well"
            raise InvalidRequest(f"{refused}: {why}", "Combine it with an answer that has the same keys.")
    _check_hierarchy(plan, other, refused)


def _check_hierarchy(plan: Plan, other: Plan, refused: str) -> None:
    """Refuse a table with two columns of one hierarchy: it has cells that are always empty."""
    one, two = plan.several, other.several
    assert one is not None
    assert two is not None
    for table in two.strategy.measured:
        axes = tuple(sorted(plan.query.by.index(name) for name in two.keys(table)))
        if one.chain is not None and one.chain.canonical(axes) != axes:
            raise InvalidRequest(
                f"{refused}: one of its tables has two keys that lie within each other", "Ask by ROLLUP of these keys."
            )


def _borders(plan: Plan, name: str) -> Any:
    """Return the bins of a key, of the question or of the source, and which of its groups are asked."""
    query: Query = plan.query
    column = plan.schema.columns[name]
    return dict(query.edges).get(name, column.edges), column.kept and column.kept.numbers


_SAME = "Combine answers to one question, or to questions that differ in their tables and ε only."
_DIFFERS = {
    "source": "it is of another source",
    "version": "it is of another version of the data",
    "neighbors": "it protects against another change of the data (neighbors)",
    "person": "it identifies people by another column",
    "rows_per_person": "people may have other numbers of rows",
    "every_row_counts": "the number of rows is public in one of them only",
    "file": "its file is read in another way",
    "joins": "it joins other tables",
}
