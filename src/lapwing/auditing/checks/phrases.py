"""What a question is made of, in Python and in JSON: it means what it states, and what is not allowed is refused."""

from __future__ import annotations

from collections.abc import Iterator

from ...question import statistic_json
from ..finding import Finding
from ..room import Room
from ..tools.refusing import refusals
from .grids_compared import grids_compared
from .said_in_json import json_rules, said_in_json


def phrases(room: Room) -> Iterator[Finding]:
    """Check statistics, expressions, conditions and the parameters of plans."""
    yield from said_in_json()
    yield from refusals("statistics", json_rules(), [statistic_json], {})
    yield from grids_compared()
