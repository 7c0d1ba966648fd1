"""An entry of the ledger → its answer, a release or what was found; nothing is read or charged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from .. import exact
from ..errors import InvalidParameter, InvalidSource, LapwingError, RequestError
from ..ledger.entry import Entry
from ..ledger.ledger import Ledger
from ..ledger.search import charges_with
from ..measure.quantiles import WITHOUT
from ..plan.clipped import Clipped
from ..plan.plan import Plan
from ..plan.planning import make_plan
from ..plan.several import recorded_strategy
from ..question import sql
from ..question.condition import condition_of, parsed
from ..question.query import Condition, Query, Statistic, named
from ..question.ratios import MOST_DIGITS
from ..question.schema import Schema
from .bounds import Bounds, plan_bounds
from .discover import Discovery, KeyPlan, discovered, plan_keys
from .pipeline import question, released
from .result import Release
from .rows_per_person import RowsPerPerson, plan_rows_per_person, rows_found

_SHOWN_RELEASES, _LONGEST_SHOWN = 10, 70
"""How many releases an error lists, and how long the text of a question is there."""


def recall(schema: Schema, ledger: Ledger, number: int) -> Release | Discovery | Bounds | RowsPerPerson | None:
    """Return what an entry of the ledger released, from its record, or None if it has no answer yet."""
    entry = ledger.entry(number)
    if entry is None or not _is_release(entry):
        known = _listed(ledger.entries())
        raise InvalidParameter(number, "entry", f'the number of a release in ledger "{ledger.where}", {known}')
    asked = entry.question
    if "keys_per_person" in asked:
        keys = _key_plan(schema, entry, asked)
        _refuse_changed(keys.question(), asked, schema, number)
        return discovered(keys, ledger, entry, entry.analyst) if entry.answered else None
    if "borders" in asked:
        people = plan_rows_per_person(schema, epsilon=entry.epsilon or 0, where=_where(schema, asked))
        _refuse_changed(people.question(), asked, schema, number)
        return rows_found(people, ledger, entry, entry.analyst) if entry.answered else None
    bounded = _bounded(schema, asked)
    plan = _plan(schema if bounded is None else bounded, entry, asked)
    _refuse_changed(question(plan), asked, schema, number)
    if not entry.answered:
        return None
    release = released(plan, ledger, entry, entry.analyst)
    return release if bounded is None else Bounds(release)


def _is_release(entry: Entry) -> bool:
    """Return whether an entry is the charge of a release, or of keys, bounds or rows per person."""
    known = {"split", "keys_per_person", "borders"}
    return entry.kind == "charge" and isinstance(entry.question, dict) and not known.isdisjoint(entry.question)


def _listed(entries: Sequence[Entry]) -> str:
    """Say which releases there are, the last ones of many."""
    found = [entry for entry in entries if _is_release(entry)]
    if not found:
        return "which has none yet"
    texts = []
    for entry in found[-_SHOWN_RELEASES:]:
        asked = "".join(letter if letter.isprintable() else "�" for letter in str(entry.question.get("query")))
        short = asked if len(asked) <= _LONGEST_SHOWN else f"{asked[: _LONGEST_SHOWN - 1]}…"
        texts.append(f"{entry.number} ({short})")
    which = "which has" if len(texts) == len(found) else f"which has {len(found):,}, the last of them"
    return f"{which} {'; '.join(texts)}"


def recorded_plan(schema: Schema, entry: Entry) -> Plan | None:
    """Return the plan of a recorded release; None if the source does not know its columns any more."""
    try:
        return _plan(schema, entry, entry.question)
    except (LapwingError, KeyError, TypeError, ValueError):
        return None


def _plan(schema: Schema, entry: Entry, asked: dict[str, Any]) -> Plan:
    query = _renamed(sql.parse(asked["query"], schema, recorded=True), entry)
    intervals = not any(name.endswith(WITHOUT) for name in asked["split"])
    strategy = recorded_strategy(asked["tables"], query.by) if "tables" in asked else None
    how: dict[str, Any] = {"epsilon": entry.epsilon, "split": asked["split"], "intervals": intervals}
    plan = make_plan(schema, query, **how, strategy=strategy)
    if question(plan) == asked:
        return plan
    return make_plan(schema, query, **how, strategy=strategy, all_groups=True)


def _renamed(query: Query, entry: Entry) -> Query:
    """Return the query with the names and in the order of when it was asked, if its answer holds them and they fit."""
    answer = entry.answer if isinstance(entry.answer, dict) else {}
    names, titles = (each if isinstance(each := answer.get(field), dict) else {} for field in ("names", "titles"))
    if not all(isinstance(name, str) and name.isprintable() for name in (*names.values(), *titles.values())):
        return query
    shown = tuple(titles.get(key, key) for key in query.by)
    asked = [replace(each, name=names.get(each.text)) for each in _in_order(query.statistics, answer.get("order"))]
    views = view if isinstance(view := answer.get("views"), dict) else {}
    try:
        seen = [_viewed(each, views[each.text]) if each.text in views else each for each in asked]
        return replace(query, statistics=named(seen, shown), titles=shown)
    except (AttributeError, OverflowError, RequestError, TypeError):
        return query


def _viewed(statistic: Statistic, view: Mapping[str, Any]) -> Statistic:
    """Return a statistic, scaled and rounded as it was shown when it was asked."""
    digits = view.get("digits")
    rounded = None if digits is None else exact.whole(digits, "digits", MOST_DIGITS, least=-MOST_DIGITS)
    return replace(statistic, times=exact.finite(view.get("times", 1), "times"), digits=rounded)


def _in_order(statistics: Sequence[Statistic], order: object) -> Sequence[Statistic]:
    """Return statistics in the order of their texts that was recorded; one that does not fit them is ignored."""
    texts = {each.text: each for each in statistics}
    if not isinstance(order, list) or sorted(map(str, order)) != sorted(texts):
        return statistics
    return [texts[str(text)] for text in order]


def _key_plan(schema: Schema, entry: Entry, asked: dict[str, Any]) -> KeyPlan:
    return plan_keys(
        schema,
        asked["column"],
        epsilon=entry.epsilon or 0,
        delta=entry.delta or 0,
        where=_where(schema, asked),
        keys_per_person=asked["keys_per_person"],
    )


def _where(schema: Schema, asked: dict[str, Any]) -> Condition | None:
    """Return the condition of a recorded question."""
    where = parsed(asked["query"], recorded=True).args.get("where")
    return None if where is None else condition_of(where.this, schema)


def _bounded(schema: Schema, asked: dict[str, Any]) -> Schema | None:
    """Return the schema of a question for bounds, in which the column spans all bins; None for other questions."""
    for name, described in asked.get("columns", {}).items():
        column = schema.columns.get(name)
        if column is not None and column.kind in ("number", "integer") and not column.is_computed:
            plan = plan_bounds(schema, name, epsilon=1)
            same = asked["query"].partition(" GROUP BY ")[2] == plan.query.text.partition(" GROUP BY ")[2]
            if same and described == plan.schema.columns[name].describe():
                return plan.schema
    return None


def _refuse_changed(now: Mapping[str, Any], asked: Mapping[str, Any], schema: Schema, number: int) -> None:
    """Refuse an entry of a source that is declared otherwise now, and say what is."""
    if now != asked:
        causes = ", ".join(_changes(now, asked)) or "its question means something else"
        changed = f"has changed since entry {number} was released: {causes}"
        raise InvalidSource(schema.name, changed, "Use the source file of that time.")


def _changes(now: Mapping[str, Any], asked: Mapping[str, Any]) -> Iterator[str]:
    """Yield what differs between the public declarations in two questions."""
    for name in sorted({*now, *asked} - {"query", "split", "tables", "columns"}):
        was, has = ("none" if each.get(name) is None else json.dumps(each[name]) for each in (asked, now))
        label = name.replace("_", " ")
        if was != has and len(was + has) < _LONGEST_SHOWN:
            yield f"{label} was {was} and is {has}"
        elif was != has:
            yield f"{label} declared otherwise"
    were, are = (each.get("columns", {}) for each in (asked, now))
    changed = (name for name in sorted({*were, *are}) if were.get(name) != are.get(name))
    yield from (f'column "{name}" declared otherwise' for name in changed)


def clipped(plan: Plan, ledger: Ledger | None) -> tuple[Clipped, ...]:
    """Return which columns of a plan are clamped, with the share of rows if the ledger holds a histogram of them."""
    columns = []
    for name in plan.bounded:
        column = plan.schema.columns[name]
        low, high = column.low or Fraction(0), column.high or Fraction(0)
        one = Clipped(name, low, high, plan.schema.name, plan.query.where)
        known = None if ledger is None or plan.query.where is not None else _latest(plan.schema, name, ledger)
        columns.append(one if known is None else replace(one, share=known.beyond(low, high), entry=known.entry))
    return tuple(columns)


def _latest(schema: Schema, name: str, ledger: Ledger) -> Bounds | None:
    """Return the last bounds of a column, over all rows, that the ledger holds for this version of the source."""
    if not charges_with(ledger, " GROUP BY BIN("):
        return None
    text = json.dumps(plan_bounds(schema, name, epsilon=1).query.text)
    for entry in charges_with(ledger, f'"query":{text}'):
        same = entry.answered and isinstance(entry.question, dict)
        if same and entry.question == question(plan_bounds(schema, name, epsilon=entry.epsilon or 1)):
            answer = recall(schema, ledger, entry.number)
            return answer if isinstance(answer, Bounds) and answer.release.private else None
    return None
