"""The expressions of a question, with the bounds that follow from those of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .. import exact
from ..measure.measurement import Measurement
from ..question.derived import sources_of
from ..question.query import Query
from ..question.schema import Schema


@dataclass(frozen=True)
class Computed:
    """A computed column: its expression, and its bounds and step if it is a number."""

    name: str
    expression: str
    low: Fraction | None
    high: Fraction | None
    step: Fraction | None

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        numbers = {"low": self.low, "high": self.high, "step": self.step}
        known = {name: exact.text(value) for name, value in numbers.items() if value is not None}
        return {"name": self.name, "expression": self.expression, **known}

    def __str__(self) -> str:
        title = self.expression if self.name == self.expression else f"{self.name} = {self.expression}"
        if self.low is None or self.high is None or self.step is None:
            return f"Computed: {title}."
        steps = "" if self.step == 1 else f", in steps of {_short(self.step)}"
        return f"Computed: {title}, from {_short(self.low)} to {_short(self.high)}{steps}."


def expressions(schema: Schema, query: Query, measured: Sequence[Measurement]) -> tuple[Computed, ...]:
    """Return the computed columns that a question uses."""
    used = {*query.by, *(name for each in measured for name in each.columns)}
    names = [name for name in sources_of(schema, sorted(used)) if schema.columns[name].is_computed]
    found = []
    for name in sorted(names):
        column = schema.columns[name]
        step = None if column.grid is None or column.low is None else column.grid.step
        found.append(Computed(name, str(column.expression), column.low, column.high, step))
    return tuple(found)


def _short(value: Fraction) -> str:
    text = exact.text(value)
    return text if len(text) <= 12 else f"{float(value):.6g}"
