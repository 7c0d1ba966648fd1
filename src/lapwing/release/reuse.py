"""Tables that were released before: a question about them is answered from the record, at no charge.

A set of tables is released with all of its tables.  A question for some of them, of the same data, rows and statistics,
needs nothing new, if what was released is at least as precise as what is asked.  The rows are the same if every row is
in some group of each key that the question leaves out (``other`` is declared).  It shows the numbers that were released
then; a question that has an answer of its own keeps it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from ..ledger.ledger import Ledger
from ..ledger.search import charges_with
from ..plan.left_out import leaves_out
from ..plan.plan import Plan
from ..question.query import Query
from ..question.sets import KeyTable
from .pipeline import as_recorded, question, released
from .recall import recorded_plan
from .result import Release

_PARTS = ("query", "columns", "split", "tables", "groups")
"""What may differ between the question and the one that holds its answer; all else must be the same."""

_AS_PRECISE = 1 + 1e-9


def from_record(plan: Plan, ledger: Ledger, analyst: str | None) -> Release | None:
    """Return the answer to a question from the tables of an earlier one; None if there is none that has it."""
    asked = as_recorded(plan, ledger)
    own = ledger.find(asked, plan.epsilon, Fraction(0))
    return None if own is not None and own.answered else _from_tables(asked, plan, ledger, analyst)


def known_answer(plan: Plan, ledger: Ledger, analyst: str | None) -> Release | None:
    """Return the answer to a question, its own or from the tables of an earlier one; None if there is none yet."""
    asked = as_recorded(plan, ledger)
    own = ledger.find(asked, plan.epsilon, Fraction(0))
    if own is not None and own.answered:
        return released(plan, ledger, own, analyst)
    return _from_tables(asked, plan, ledger, analyst)


def _from_tables(asked: dict[str, Any], plan: Plan, ledger: Ledger, analyst: str | None) -> Release | None:
    same = {name: value for name, value in asked.items() if name not in _PARTS}
    for entry in charges_with(ledger, '"tables":'):
        held = entry.question
        if not (entry.answered and isinstance(held, dict) and "tables" in held):
            continue
        if {name: value for name, value in held.items() if name not in _PARTS} != same or held == asked:
            continue
        earlier = recorded_plan(plan.schema, entry)
        if earlier is None or question(earlier) != held:  # the source has changed since
            continue
        chosen = shown_of(plan, earlier)
        found = None if chosen is None else ledger.entry(entry.number)
        if chosen is not None and found is not None:
            return replace(released(chosen, ledger, found, analyst), repeated=True)
    return None


def shown_of(plan: Plan, earlier: Plan) -> Plan | None:
    """Return the earlier plan, to show some of its tables and statistics; None if it does not have them."""
    asked, held = plan.query, earlier.query
    known = {each.text for each in held.statistics}
    names = {frozenset(_written(held, table)) for table in held.sets}
    if asked.where != held.where or not known.issuperset(each.text for each in asked.statistics):
        return None
    if not names.issuperset(frozenset(_written(asked, table)) for table in asked.tables):
        return None
    if any(leaves_out(earlier.schema, held, key) for key in held.by if key not in asked.by):  # other rows are counted
        return None
    titles = dict(zip(asked.by, asked.titles or asked.by, strict=True))
    shown = replace(
        held,
        statistics=asked.statistics,
        sets=asked.tables,
        titles=tuple(titles.get(name, name) for name in held.by),
        grouping=asked.grouping,
    )
    chosen = replace(earlier.showing(shown), confidence=plan.confidence, keys=asked.by)
    return chosen if _as_precise(chosen, plan) else None


def _written(query: Query, table: KeyTable) -> set[tuple[str, object]]:
    """Return the columns of a table with the bins that the question gives them."""
    bins = dict(query.edges)
    return {(name, bins.get(name)) for name in table}


def _as_precise(earlier: Plan, plan: Plan) -> bool:
    """Return whether the bars of an earlier release are as narrow as those that the plan expects, in every table."""
    several = earlier.several
    assert several is not None
    for number, table in enumerate(several.asked):
        for statistic in plan.query.statistics:
            expected = (
                plan.margin(statistic, plan.confidence)
                if plan.several is None
                else plan.several.margin(statistic, plan.several.asked[number], plan.confidence)
            )
            if several.margin(statistic, table, plan.confidence) > expected * _AS_PRECISE:
                return False
    return True
