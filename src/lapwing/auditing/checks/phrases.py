"""What a question is made of, in Python and in JSON: it means what it states, and what is not allowed is refused."""

from __future__ import annotations

from collections.abc import Iterator

from ...plan import asked, plan, planning, strategy
from ...question import arithmetic, asking, condition, derived, expression, grids, literals, query, statistic_json
from ..finding import Finding
from ..room import Room
from ..tools.refusing import refusals
from .grids_compared import grids_compared
from .phrase_rules import phrase_rules, too_deep
from .phrase_texts import phrase_texts
from .plan_rules import nothing_charged, plan_rules, plans
from .said_in_json import json_rules, said_in_json

_NEVER = {
    'raise UnsupportedQuery("an expression nested too deeply", "Write it with fewer brackets.")': (
        "so deep a call ends the record of what ran; it is asked by itself"
    )
}


def phrases(room: Room) -> Iterator[Finding]:
    """Check statistics, expressions, conditions and the parameters of plans."""
    yield from said_in_json()
    yield from grids_compared()
    yield from phrase_texts()
    modules = [arithmetic, asking, condition, derived, expression, grids, literals, query, statistic_json]
    yield from refusals("phrases", [*json_rules(), *phrase_rules()], modules, _NEVER)
    yield from too_deep()
    yield from plans()
    yield nothing_charged(room)
    yield from refusals("plans", plan_rules(), [asked, plan, planning, strategy], {})
