"""The integers of a row, step by step, as the SQL computes them: every integer on the way must fit (claim X1)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

from ...question.grids import GridStep
from .spreads import Holds, days, part_of, start_of

_FITS = 2**62


class DoesNotFit(Exception):
    """An integer on the way is too large, or a dividend negative, or a result beyond its bounds."""


def integer_of(step: GridStep, row: Mapping[str, Any], holds: Holds) -> int | None:
    """Return the integer of a step in a row; each result must lie within its public bounds."""
    found = _computed(step, row, holds)
    if found is not None and not step.grid.low <= found <= step.grid.high:
        raise DoesNotFit(f"{step.operation} is {found}, beyond {step.grid.low} to {step.grid.high}")
    return found


def _computed(step: GridStep, row: Mapping[str, Any], holds: Holds) -> int | None:
    name, numbers = step.operation, step.numbers
    if name == "constant":
        return numbers[0]
    if step.column:
        return _cell(step, row[step.column])
    parts = [integer_of(part, row, holds) for part in step.parts]
    if name == "case":
        cases = zip(step.conditions, parts, strict=False)
        rest = parts[-1] if len(parts) > len(step.conditions) else None
        return next((part for condition, part in cases if holds(condition, row)), rest)
    if name == "coalesce":
        return next((part for part in parts if part is not None), None)
    if name == "without":
        return None if parts[1] is not None and parts[1] == parts[2] else parts[0]
    known = [part for part in parts if part is not None]
    return None if len(known) < len(parts) else _of_integers(name, known, numbers)


def _cell(step: GridStep, cell: Any) -> int | None:
    if cell is None or (step.operation == "key" and int(cell) not in step.numbers):
        return None
    if isinstance(cell, date):
        return int(days(cell))
    index = Fraction(cell) / step.grid.step
    if index.denominator != 1:
        raise DoesNotFit(f"{cell} is not on the grid of {step.column}")
    return int(index)


def _of_integers(name: str, parts: list[int], numbers: tuple[int, ...]) -> int | None:
    x = parts[0]
    if name == "sum":
        total = 0
        for term in (*(a * b for a, b in zip(parts, numbers, strict=False)), numbers[-1]):
            total = _fitting(total + _fitting(term))
        return total
    if name == "product":
        return _fitting(x * parts[1])
    if name == "coarser":
        bits, low = numbers
        return _divided(x + 2 ** (bits - 1) - low * 2**bits, 2**bits) + low
    if name == "floor":
        a, add, b, low = numbers
        return _divided(a * x + add - low * b, b) + low
    if name == "quotient":
        return _quotient(x, parts[1], numbers)
    if name == "clamp":
        return min(max(x, numbers[0]), numbers[1])
    if name in ("least", "greatest", "abs"):
        return abs(x) if name == "abs" else min(parts) if name == "least" else max(parts)
    day = date(1970, 1, 1) + timedelta(days=x)
    if name.startswith("to "):
        return int(start_of(name.removeprefix("to ").upper(), day))
    return int(part_of(name.upper(), day))


def _quotient(top: int, bottom: int, numbers: tuple[int, ...]) -> int | None:
    a, b, low, high = numbers
    size = _fitting(2 * a * abs(top) + b * abs(bottom))
    if bottom == 0:
        return None
    size = _divided(size, _fitting(2 * b * abs(bottom)))
    return min(max(size if (top < 0) == (bottom < 0) else -size, low), high)


def _divided(top: int, bottom: int) -> int:
    if top < 0 or bottom <= 0:
        raise DoesNotFit(f"{top} is divided by {bottom}")
    return _fitting(top) // bottom


def _fitting(number: int) -> int:
    if abs(number) > _FITS:
        raise DoesNotFit(f"{number} is beyond 64 bits")
    return number
