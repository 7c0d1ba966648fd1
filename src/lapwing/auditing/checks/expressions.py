"""Expressions drawn at random: on every row the engine computes what a second implementation does (X1, X2).

Each row is a group of its own, so that the exact integers of a mean say what was computed for it.  The cells are the
difficult ones of tools/evaluating.py; an expression that the engine cannot compute for some row would fail for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from ...errors import LapwingError, RequestError
from ...measure.measurement import Sums
from ...measure.quantiles import Quantiles
from ...question import query, sql
from ...question.schema import keys
from ...source import Source
from ..finding import Finding, first_of
from ..room import Room
from ..tools.evaluating import COLUMNS, TYPES, Unsure, always, column_value, draw_expression, draw_row, draw_test

SEED = 23
_ROWS = 80


def expressions(room: Room) -> Iterator[Finding]:
    """Yield which expressions have other values than they should, or values beyond their bounds."""
    random, number = Random(SEED), 400 if room.deep else 50
    if room.engines[0].place is not None:
        number = 40
    rows = [draw_row(random) for _ in range(_ROWS)]
    table: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in COLUMNS} | {"t": list(range(_ROWS))}
    asked = room.source(room.table(table, {**TYPES, "t": "BIGINT"}), columns={**COLUMNS, "t": keys(range(_ROWS))})
    wrong, beyond, refused, told = list[str](), list[str](), 0, 0
    tried = [draw_expression(random, random.choice((1, 2, 3))) for _ in range(number)]
    for drawn in (*always(), *tried):
        try:
            found = _values(asked, drawn.text)
        except RequestError:
            refused += 1
            continue
        except LapwingError as error:
            wrong.append(f"{drawn.text} fails: {type(error).__name__}")
            continue
        for at, row in enumerate(rows):
            got, low, high, step = found[at]
            if got is not None and not low <= got <= high:
                beyond.append(f"{drawn.text} is {got} in row {at}, beyond {low} to {high}")
            try:
                value = drawn.value(row)
            except Unsure:
                continue
            told += 1
            same = got is None if value is None else got is not None and _near(got, value.low, value.high, step)
            if not same:
                wrong.append(f"{drawn.text} is {got} in row {at}: {row}")
    engine = room.engines[0].name
    most = refused < number // 2 and told > 20 * number
    yield Finding(
        f"{engine}: X2: an expression has the value that it states (seed {SEED})",
        not wrong and most,
        f"{len(wrong)} of {told:,} values of {number - refused} expressions differ, 0 are right{first_of(wrong)}.",
    )
    yield Finding(
        f"{engine}: X1: no value of an expression is beyond its bounds (seed {SEED})",
        not beyond,
        f"{len(beyond)} of {(number - refused) * _ROWS:,} values are beyond, 0 are right{first_of(beyond)}.",
    )
    yield _conditions(asked, rows, random, number, engine)
    yield _weights(asked, rows, engine)
    yield _weighted_values(asked, rows, engine)
    yield _read_again(asked, random, number, engine)


def _near(got: Fraction, low: Fraction, high: Fraction, step: Fraction) -> bool:
    return low - step / 2 <= got <= high + step / 2


def _values(source: Source, text: str) -> list[tuple[Fraction | None, Fraction, Fraction, Fraction]]:
    """Return for each row the value of an expression, its bounds and its step, from the exact integers of a mean."""
    plan = source.plan(query.mean(text), by="t", epsilon=1)
    grid = plan.measured[0].grid
    groups, _, present, first = source._table.tally(plan.schema, plan.lowered).sums
    found: list[Fraction | None] = [None] * plan.groups
    for group, there, index in zip(groups.tolist(), present.tolist(), first.tolist(), strict=True):
        found[int(group)] = (grid.low + int(index)) * grid.step if there else None
    ends = grid.low * grid.step, grid.high * grid.step
    return [(value, *ends, grid.step) for value in found]


def _conditions(source: Source, rows: list[dict[str, Any]], random: Random, number: int, engine: str) -> Finding:
    """Conditions on expressions select the rows for which they are true."""
    wrong, told = list[str](), 0
    for _ in range(number // 2):
        drawn = draw_test(random, random.choice((0, 1, 2)))
        try:
            plan = source.plan(query.count(), by="t", where=drawn.text, epsilon=1)
        except RequestError:
            continue
        sums = source._table.tally(plan.schema, plan.lowered).sums
        kept = {int(group) for group in sums[0].tolist()} if sums else set()
        for at, row in enumerate(rows):
            try:
                holds = drawn.holds(row) is True
            except Unsure:
                continue
            told += 1
            if holds != (at in kept):
                wrong.append(f"{drawn.text} in row {at}: {row}")
    return Finding(
        f"{engine}: a condition on expressions selects its rows (seed {SEED})",
        not wrong and told > 10 * number,
        f"{len(wrong)} of {told:,} rows are wrong, 0 are right{first_of(wrong)}.",
    )


def _weights(source: Source, rows: list[dict[str, Any]], engine: str) -> Finding:
    """The cells of a weighted mean give the exact sums, sums of weights, numbers of rows and mean."""
    wrong = []
    for name, weight in (("x", "u"), ("z", "u"), ("u", "u"), ("x", "c + 0")):
        statistics = (query.count(), query.mean(name, weight=weight), query.count(weight=weight))
        plan = source.plan(*statistics, query.sum(name, weight=weight), epsilon=1)
        (part,) = plan.parts
        _, *sums = source._table.tally(plan.schema, plan.lowered).sums
        cells = part.measurement.cells(Sums(*(int(column[0]) for column in sums)))
        setting = plan.setting(part)
        own = [(column_value(name, row[name]), column_value(weight[0], row[weight[0]])) for row in rows]
        pairs = [(None if value is None else value.low, w.low if w is not None else Fraction(0)) for value, w in own]
        products = sum((value * w for value, w in pairs if value is not None), Fraction(0))
        weights = sum((w for value, w in pairs if value is not None), Fraction(0))
        counted, mean, total, product = plan.query.statistics
        truth = {counted: Fraction(len(rows)), total: sum((w for _, w in pairs), Fraction(0)), product: products}
        for statistic, value in truth.items():
            found = sum(by * cell for by, cell in zip(part.measurement.linear(statistic, setting), cells, strict=True))
            if found != value:
                wrong.append(f"{statistic.text} is {found}, not {value}")
        noisy = [np.array([cell], dtype=object) for cell in cells]
        shown = part.measurement.estimate(mean, noisy, setting, Fraction(19, 20), 1).value[0]
        if abs(shown - float(products / weights)) > 1e-9:
            wrong.append(f"{mean.text} is {shown}, not {float(products / weights)}")
    return Finding(
        f"{engine}: W2: weighted sums and means are those of the rows",
        not wrong,
        f"{len(wrong)} of 16 numbers differ, 0 are right{first_of(wrong)}.",
    )


def _weighted_values(source: Source, rows: list[dict[str, Any]], engine: str) -> Finding:
    """A weighted quantile is chosen from the values of the rows, each with its own weight, and 0 if it is missing."""
    wrong, told = list[str](), 0
    for name, weight in (("x", "u"), ("z", "u"), ("u", "u"), ("x", "c + 0")):
        plan = source.plan(query.median(name, weight=weight), by="t", epsilon=1)
        (part,) = plan.parts
        assert isinstance(part.measurement, Quantiles)
        grid, by = part.measurement.grid, part.measurement.weight_grid
        (found,) = source._table.tally(plan.schema, plan.lowered).own
        chosen_from = {int(group): (int(index), int(own)) for group, index, own in zip(*found, strict=True)}
        for at, row in enumerate(rows):
            value, own = column_value(name, row[name]), column_value(weight[0], row[weight[0]])
            index, weighs = chosen_from.get(at, (None, 0))
            told += 1
            if value is None or index is None:
                same = value is None and index is None
            else:
                near = _near((grid.low + index) * grid.step, value.low, value.high, grid.step)
                same = near and weighs * by.step == (Fraction(0) if own is None else own.low)
            if not same:
                wrong.append(f"{name} by {weight} is {index} of weight {weighs} in row {at}: {row}")
    return Finding(
        f"{engine}: W3: weighted quantiles are chosen from the rows, with their weights",
        not wrong,
        f"{len(wrong)} of {told} rows differ, 0 are right{first_of(wrong)}.",
    )


def _read_again(source: Source, random: Random, number: int, engine: str) -> Finding:
    """The text of an expression in the ledger means the expression, and the same in other order is the same text."""
    unread = []
    for _ in range(4 * number):
        drawn = draw_expression(random, random.choice((1, 2, 3)))
        try:
            asked = sql.make_query([query.mean(drawn.text)], None, None, source.schema)
        except RequestError:
            continue
        again = sql.parse(asked.text, source.schema, recorded=True)
        if again.text != asked.text or again.derived != asked.derived:
            unread.append(asked.text)
    return Finding(
        f"{engine}: L2: an expression in the ledger is read as it was asked (seed {SEED})",
        not unread,
        f"{len(unread)} of {4 * number} were read differently, 0 are right{first_of(unread)}.",
    )
