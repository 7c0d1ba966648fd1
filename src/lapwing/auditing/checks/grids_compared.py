"""Grids of expressions: step, bounds and the integer of each row are what a second implementation finds (X1).

Nothing is asked of an engine.  The second implementation (tools/spreads) computes in fractions from the public rules;
the integers of the product are computed step by step as its SQL would (tools/steps), and none may be too large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from fractions import Fraction
from functools import partial
from random import Random
from typing import Any, TypeVar

from ...errors import LapwingError, UnsupportedQuery
from ...question.arithmetic import parse_expression
from ...question.asking import key_expression_of
from ...question.condition import parse_condition
from ...question.derived import derive
from ...question.expression import Constant, Recode, Truncate
from ...question.grids import GridStep, compared, step_of
from ...question.query import Against, All, Compare, Condition, Missing, Not, OneOf, Some, Unknown
from ...question.schema import Column, Schema, dates, keys, make_schema, number, plain
from ..finding import Finding, all_right
from ..tools import evaluating, spreads
from ..tools.spreads import Row, Spread, Spreads, TooFine
from ..tools.steps import DoesNotFit, integer_of

T = TypeVar("T")

SEED = 31
_ROWS = 24
_MOST_SUMMED = 2**31
_MOST_PERIODS = 20_000

COLUMNS: dict[str, Column | str] = {
    **evaluating.COLUMNS,
    "w": number(0, 10**12, integer=True),
    "v": number("-1e15", "1e15"),
    "t": number(0, "1e-9"),
    "r": number("1/3", "5/7"),
    "p": number(2, 9, integer=True),
    "n": number(-9, -2),
    "g": number(-(2**40), 2**52, integer=True),
    "f": plain("date"),
    "h": dates("0001-01-01", "9999-12-31"),
    "m": keys(*range(-1000, 0)),
    "free": plain("number"),
    "many": keys(*range(1001)),
    "far": number("4e17", "4.00000000000001e17"),
}
TEXTS = (
    "x + 1", "2 - z", "z * z", "z * z * z - 12", "x * u / 2", "u - x / 3", "0 * x + 4", "0 * z", "x - x",
    "w * w", "w * w * w", "g * g", "g * w * z", "v * v * x", "v * g - g * v", "w * v + z", "v * v * v * v",
    "w + t", "v + t", "g + x", "v * 1000003 + t / 7", "w * w + z", "g * g + w * w", "v + r", "(v + t) * (w + r)",
    "w * w * 3 + g * g * 5 + x / 64", "t * t * t", "t * t + u", "r * r", "r + t", "x * 1000000 + u / 1000000",
    "x / p", "z / p", "p / p", "x / n", "w / p", "w / (p + 0.001)", "t / p", "g / n", "v / n", "(w + 1) / (t + 1)",
    "1 / p", "p / 7", "0 / p", "(x * x) / (p * p)", "v / (p + r / 1000003)", "1000000 / (n + t)", "2 / (0 * x + 3)",
    "(0 * x) / p", "(0 * x + 2) / (0 * x - 3)", "(v + t) / p", "w / (w + 1)", "(g + 2000000000000) / (w + 3)",
    "t / r", "t / (u * r + 1)", "t / (r * r)", "r / (v + 10000000000000000)", "t / (u * u * u + 1)", "r * r / p",
    "r * w / (v + 10000000000000000)", "FLOOR(x * 8796093022237 / 8796093022283)", "t / (v + 10000000000000000)",
    "ROUND(x * 8796093022237 / 8796093022283)", "FLOOR(z * 2199023255579 / 8796093022283)",
    "FLOOR(n * 2199023255579 / 8796093022283)", "ROUND(u * 35184372088891 / 8796093022283)",
    "CLAMP(x / z, 0, 1)", "CLAMP(x / z, -5, 0.3)", "CLAMP(w / v, 2, 2)", "CLAMP(x / z, -3, -3)", "CLAMP(1 / z, 0, 0)",
    "CLAMP(z / x, 1000000000000, 1000000000001)", "CLAMP(x, 0, 1)", "CLAMP(x, -3, 7)", "CLAMP(x, -8, 9)",
    "CLAMP(z, 9, 10)",
    "CLAMP(z, -20, -10)", "CLAMP(x, 0.1, 0.7)", "CLAMP(w * w, 5, 1000)", "CLAMP(g, 1 / 3, 7)", "CLAMP(v + t, 0, 1)",
    "CLAMP(x / p, 0, 1)", "CLAMP(z, 2, 2)", "CLAMP(v, 0, 0.000000001)",
    "FLOOR(x)", "ROUND(x)", "FLOOR(n)", "ROUND(n)", "ROUND(u, 2)", "ROUND(x * u, 1)", "FLOOR(w * w)", "FLOOR(v * v)",
    "ROUND(v)", "FLOOR(v)", "FLOOR(t)", "ROUND(r)", "FLOOR(r * 1000003)", "FLOOR(x / p)", "ROUND(x / 2)",
    "FLOOR(v / 3)",
    "ROUND(v * v)", "FLOOR(g * g + 1 / 3)", "ROUND(v * 7 + t)", "FLOOR(-x)", "ROUND(-z / 2)", "FLOOR(v + r)",
    "ROUND(v / 7)",
    "FLOOR(v * 65537 + r)", "FLOOR(0 * x)", "ROUND(t * 1000000000)",
    "ABS(x)", "ABS(n)", "ABS(p)", "ABS(z - 7)", "ABS(z + 3)", "ABS(-p)", "ABS(g)", "ABS(v * v)",
    "LEAST(x, u)", "GREATEST(x, u)", "COALESCE(x, u)", "LEAST(z, p, c)", "GREATEST(z, p, c)", "COALESCE(z, p, c)",
    "LEAST(x)", "GREATEST(z, 4)", "COALESCE(u, -1)", "LEAST(v, t)", "COALESCE(t, w)", "GREATEST(g, r)",
    "COALESCE(x, 1 / 3)",
    "COALESCE(0 * x, u)", "LEAST(w * w, r)", "COALESCE(v * v, t)", "NULLIF(x + 0, u)", "NULLIF(z, p)", "NULLIF(u, x)",
    "NULLIF(x, 1)", "NULLIF(z + 0, 1)", "NULLIF(v, t)",
    "CASE WHEN z > 1 THEN x ELSE u END", "CASE WHEN z > 1 THEN x END", "CASE WHEN z IS NULL THEN 3 WHEN b THEN u END",
    "CASE WHEN z > 1 THEN v WHEN b THEN t ELSE 1 / 3 END", "CASE WHEN NOT b THEN p ELSE n END",
    "CASE WHEN b THEN 1 ELSE 1 END",
    "CASE WHEN z IN (1, 2) OR b THEN 0 ELSE 0 END", "(x > u) + 0", "(z = 1) * x", "NOT b", "b + 0", "x * (u < z)",
    "((x + u) IS NULL) * 3", "c", "c + b", "m", "c * m", "c + 0", "(c = 9) + (x + 0 > u AND b)",
    "EXTRACT(YEAR FROM d)", "EXTRACT(MONTH FROM d)", "EXTRACT(DAY FROM f)", "EXTRACT(ISODOW FROM f)",
    "EXTRACT(QUARTER FROM e)",
    "EXTRACT(YEAR FROM h)", "EXTRACT(MONTH FROM f)", "EXTRACT(QUARTER FROM f)",
    "EXTRACT(YEAR FROM DATE_TRUNC('week', d))",
    "DATE_TRUNC('day', d)", "DATE_TRUNC('week', d)", "DATE_TRUNC('month', d)", "DATE_TRUNC('quarter', d)",
    "DATE_TRUNC('year', d)", "DATE_TRUNC('year', h)", "DATE_TRUNC('week', h)", "DATE_TRUNC('month', e)",
    "DATE_TRUNC('week', e)",
    "DATEDIFF('day', e, d)", "d - e", "d + 1", "d - 30", "h - d", "LEAST(d, e)", "COALESCE(e, d)", "d + z",
    "CASE WHEN b THEN d ELSE e END", "COALESCE(e, DATE '2020-02-29')", "DATE_TRUNC('month', d + 40)", "(d - e) * x",
    "DATE_TRUNC('year', CASE WHEN b THEN d ELSE e END)", "EXTRACT(DAY FROM d + 1)", "NULLIF(d + 0, e)",
    "d - DATE '2020-01-01'",
)  # fmt: skip
"""Expressions with every operation, on grids of all sizes."""

PAIRS = (
    "x + 0 > u", "x * u >= z", "t + 0 < u", "w * w = z + 0", "v + 0 <> x", "g + x <= 1 / 3", "w / p > 12",
    "0 * x = u + 0",
    "DATE_TRUNC('month', f) = DATE '2020-02-01'", "f + 0 > d", "EXTRACT(ISODOW FROM f) < z", "h - d > 1000",
    "x + 0 = 1 / 7",
    "DATE_TRUNC('week', f) <> DATE_TRUNC('month', f)",
)  # fmt: skip
"""Comparisons of expressions."""


def grid_schema() -> Schema:
    """Return the columns that expressions are made of."""
    return make_schema("t", COLUMNS, None, None, "add_remove", None)


def grids_compared() -> Iterator[Finding]:
    """Yield whether grids, bounds and values of expressions are right."""
    random, schema = Random(SEED), grid_schema()
    rows = list(_rows(random, schema.columns))
    drawn = [evaluating.draw_expression(random, random.choice((1, 2, 3))).text for _ in range(60)]
    made = _Made(schema)
    wrong, derived = list[str](), list[str]()
    for text in (*TEXTS, *drawn):
        expression = _tried(partial(parse_expression, text, schema))
        if expression is None:
            wrong += [f"{text} is refused"] if text in TEXTS else []
            continue
        expected, found = _tried(partial(made.spreads.of, expression)), _tried(partial(step_of, expression, schema))
        if expected is None or found is None:
            wrong += [] if expected is None and found is None else [f"{text} is refused by one of both"]
            continue
        wrong += made.differs(text, found, expected, rows)
        derived += [] if isinstance(expression, Constant) else _derived(text, schema, expected)
    for text in PAIRS:
        condition = parse_condition(text, schema)
        assert isinstance(condition, Against), text
        sides, steps = _tried(partial(made.sides, condition)), _tried(partial(compared, condition, schema))
        if sides is None or steps is None:
            wrong += [] if sides is None and steps is None else [f"{text} is refused by one of both"]
            continue
        for each, side in zip(steps, sides, strict=True):
            wrong += made.differs(text, each, side, rows)
    yield Finding(
        f"X1: grids of expressions, their bounds and integers are right (seed {SEED})",
        not wrong,
        all_right(wrong, len(TEXTS) + len(drawn) + len(PAIRS)),
    )
    yield Finding("X1: a computed column has the grid and bounds of its expression", not derived,
                  all_right(derived, len(TEXTS)))  # fmt: skip


def _tried(make: Callable[[], T]) -> T | None:
    try:
        return make()
    except (UnsupportedQuery, TooFine):
        return None


class _Made:
    """The second implementation beside the first."""

    def __init__(self, schema: Schema) -> None:
        self.spreads = Spreads(schema.columns, self.holds)

    def sides(self, condition: Against) -> list[Spread]:
        """Return both sides of a comparison on one grid."""
        return spreads.alike([self.spreads.of(condition.left), self.spreads.of(condition.right)])

    def differs(self, text: str, step: GridStep, expected: Spread, rows: Sequence[Row]) -> Iterator[str]:
        """Yield how a step differs from what is expected, in its grid and in the rows."""
        grid = step.grid
        found = grid.step, grid.low * grid.step, grid.high * grid.step, step.is_date
        right = expected.step, expected.low, expected.high, expected.is_date
        if found != right:
            yield f"{text} has {_shown(found)}, not {_shown(right)}"
        try:
            for row in rows:
                index, value = integer_of(step, row, self.holds), expected.value(row)
                if (None if index is None else index * grid.step) != value:
                    yield f"{text} is {index} · {grid.step}, not {value} in {dict(row)}"
        except DoesNotFit as error:
            yield f"{text}: {error}"
        yield from (f"{text}: rounded twice" for each in _all_steps(step) if _rounds_twice(each))

    def holds(self, condition: Condition, row: Row) -> bool | None:
        """Return whether a condition is true in a row, None if it is neither."""
        if isinstance(condition, All | Some):
            found = [self.holds(part, row) for part in condition.parts]
            decisive = isinstance(condition, Some)
            return decisive if decisive in found else None if None in found else not decisive
        if isinstance(condition, Not):
            inner = self.holds(condition.part, row)
            return None if inner is None else not inner
        if isinstance(condition, Missing):
            return row[condition.column] is None
        if isinstance(condition, Unknown):
            return self.spreads.of(condition.expression).value(row) is None
        if isinstance(condition, OneOf):
            cell = row[condition.column]
            return None if cell is None else cell in condition.values
        if isinstance(condition, Compare):
            left, right = row[condition.column], condition.value
            right = right if condition.other is None else row[condition.other]
        else:
            left, right = (self.spreads.of(each).value(row) for each in (condition.left, condition.right))
        if left is None or right is None:
            return None
        found_by: dict[str, bool] = {
            "=": left == right, "<>": left != right, "<": left < right, "<=": left <= right, ">": left > right,
            ">=": left >= right,
        }  # fmt: skip
        return found_by[condition.operator]


def _shown(found: tuple[Any, ...]) -> str:
    return f"step {found[0]}, {found[1]} to {found[2]}{', a date' if found[3] else ''}"


def _all_steps(step: GridStep) -> Iterator[GridStep]:
    yield step
    for part in step.parts:
        yield from _all_steps(part)


def _rounds_twice(step: GridStep) -> bool:
    return step.operation == "coarser" and step.parts[0].operation == "coarser"


def _rows(random: Random, columns: Mapping[str, Column]) -> Iterator[dict[str, Any]]:
    """Yield rows with the least, the largest, all kinds of and no values, each on the grid of its column."""
    cells = {name: list(_cells(random, column)) for name, column in columns.items()}
    for at in range(4):
        yield {name: each[at if at < 2 else (at + index) % 2] for index, (name, each) in enumerate(cells.items())}
    for _ in range(_ROWS):
        yield {name: random.choice(each) for name, each in cells.items()}


def _cells(random: Random, column: Column) -> Iterator[Any]:
    if column.grid is not None:
        grid = column.grid
        listed = [grid.low, grid.high, *(random.randint(grid.low, grid.high) for _ in range(6))]
        listed += [each for each in (-1, 0, 1, 2) if grid.low <= each <= grid.high]
        yield from (each * grid.step for each in listed)
    elif column.kind == "date":
        first, last = column.first or date.min, column.last or date.max
        yield from (first, last, *(first + timedelta(random.randint(0, (last - first).days)) for _ in range(6)))
    else:
        yield from (False, True) if column.kind == "boolean" else column.keys or (Fraction(1),)
    yield None


def _starts(unit: str, first: date, last: date) -> Iterator[date]:
    """Yield the first days of all periods between two dates."""
    if unit in ("DAY", "WEEK"):
        every = range(first.toordinal(), last.toordinal() + 1)
        yield from (date.fromordinal(each) for each in every if unit == "DAY" or each % 7 == 1)
    else:
        months = range(1, 13, {"MONTH": 1, "QUARTER": 3, "YEAR": 12}[unit])
        every_month = (date(year, month, 1) for year in range(first.year, last.year + 1) for month in months)
        yield from (each for each in every_month if first <= each <= last)


def _derived(text: str, schema: Schema, whole: Spread) -> Iterator[str]:
    """Yield how the column of an expression differs from what is expected."""
    expression = parse_expression(text, schema, key_expression_of)
    assert not isinstance(expression, Recode)
    try:
        column = derive(expression, schema)
    except LapwingError as error:
        yield f"{text}: {error}"
        return
    spread = spreads.fitting(whole, _MOST_SUMMED)
    step, low, high = spread.step, spread.low, spread.high
    if spread.is_date:
        ends = [date(1970, 1, 1) + timedelta(days=int(end)) for end in (low, high)]
        unit = expression.unit if isinstance(expression, Truncate) else None
        starts = [] if unit is None else list(_starts(unit, *ends))
        listed = tuple(starts) if 0 < len(starts) <= _MOST_PERIODS else None
        right = Column("date", keys=listed, grid=column.grid, first=ends[0],
                       last=ends[1], expression=expression)  # fmt: skip
    else:
        if low == high:
            low, high = (min(low, Fraction(0)), max(high, Fraction(0))) if low else (Fraction(0), step)
        whole_numbers = (
            tuple(range(int(spread.low), int(spread.high) + 1)) if step == 1 and spread.steps < 1000 else None
        )
        right = Column("integer" if step == 1 else "number", low, high, whole_numbers, grid=column.grid,
                       expression=expression)  # fmt: skip
    grid = column.grid
    assert grid is not None
    if column != right or (grid.step, grid.low * step, grid.high * step) != (step, low, high):
        yield f"{text} is the column {column!r:.300}, not {right!r:.300}"
