"""A question → what to measure: the kinds of measurements, and which of them answer which statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from ..question.derived import sources_of
from ..question.expression import Named, multiplied
from ..question.query import Condition, Query, Statistic, columns_of, elementary
from ..question.schema import Grid, Schema
from .counts import Count
from .distribution import Distribution
from .means import Mean
from .measurement import UNIT, Measurement
from .people import People
from .public_n import PublicSum, PublicVariance, has_public_n
from .quantiles import Quantiles
from .rows import Rows
from .totals import Total
from .variances import Variance
from .weighted import WeightedMean

KINDS: tuple[type[Measurement], ...] = (
    Rows, Count, Total, Mean, Variance, PublicSum, PublicVariance, Quantiles, Distribution, People,
    WeightedMean,
)  # fmt: skip


def measurements(schema: Schema, query: Query, intervals: bool = True) -> tuple[Measurement, ...]:
    """Return what to measure so that all statistics of the query are answered.

    The order does not depend on the order of the statistics, since the same question in other words has the same
    record.  Quantiles of a column, by each of its weights, have a measurement of their own, with ``intervals``
    or without.
    """
    own = {name for name, column in query.derived if column.is_computed}
    if query.statistics[0].kind == "cdf":
        column, bins = query.by[-1], len(dict(query.edges)[query.by[-1]]) - 1
        return (Distribution(column, grid=_grid(schema, column), computed=column in own, bins=bins),)
    people = [People.of(schema, query)] if any(each.kind == "people" for each in elementary(query.statistics)) else []
    found = (*_sums(schema, query), *_quantiles(schema, query, intervals), *people)
    return tuple(replace(each, computed=True) if each.column in own else each for each in found)


def _sums(schema: Schema, query: Query) -> list[Measurement]:
    """Return what counts, sums, means, proportions and variances need: the least that answers them, for each target."""
    public_n = has_public_n(schema, query)
    asked = elementary(query.statistics)
    rows = any(each.counts_rows for each in asked) and not public_n
    kinds_by_target: dict[str | Condition, set[str]] = {}
    weighted, answered = _weighted(schema, query, rows)
    for each in asked:
        if each in answered or (each.kind == "mean" and each.weight is not None):
            continue
        target = each.condition if each.kind == "proportion" else each.column
        if target is not None and each.kind not in ("quantile", "people"):
            kinds_by_target.setdefault(target, set()).add(each.kind)
    if not kinds_by_target and not weighted:
        return [Rows()] if rows else []
    chosen: list[Measurement] = []
    for target, kinds in sorted(kinds_by_target.items(), key=lambda each: str(each[0])):
        column = target if isinstance(target, str) else None
        condition = None if isinstance(target, str) else target
        grid = UNIT if column is None else _grid(schema, column)
        for kind in _least(kinds, public_n, rows):
            missing = rows and column is not None and kind is not Total
            chosen.append(kind(column, condition, grid, missing))
    return [*chosen, *weighted]


def _weighted(schema: Schema, query: Query, rows: bool) -> tuple[list[WeightedMean], set[Statistic]]:
    """Return the weighted means to measure, and the sums of the question that they answer."""
    found: dict[tuple[str, str], WeightedMean] = {}
    asked = elementary(query.statistics)
    for each in asked:
        name, weight = each.column, each.weight_column
        if each.kind == "mean" and name is not None and weight is not None and not isinstance(each.weight, str | None):
            grid, by = _grid(schema, name), _grid(schema, weight)
            product = multiplied((each.weight, each.value))
            about = product.column if isinstance(product, Named) else str(product)
            found[name, weight] = WeightedMean(
                name, None, grid, rows, weight=weight, weight_grid=by, product=about, rest=rows
            )
    others = {each.column for each in asked if each.kind not in ("sum", "quantile") and each.weight is None}
    alone = [each for each in asked if each.kind == "sum" and each.column not in others]
    answered: set[Statistic] = set()
    for pair, measurement in sorted(found.items()):
        if any(each.column == measurement.weight for each in alone):
            measurement = found[pair] = replace(measurement, missing=True)
        answered.update(each for each in alone if measurement.answers(each))
    return [measurement for _, measurement in sorted(found.items())], answered


def _least(kinds: set[str], public_n: bool, rows: bool) -> list[type[Measurement]]:
    """Return the kinds that answer what is asked about one target, with the least noise."""
    if public_n and "count" not in kinds:
        return [kind for kind in (PublicSum, PublicVariance) if kinds & kind.kinds]
    if kinds & {"variance", "std"}:
        return [Variance]
    if kinds == {"count"}:
        return [Count]
    return [Total] if kinds == {"sum"} and not rows else [Mean]


def _quantiles(schema: Schema, query: Query, intervals: bool) -> list[Measurement]:
    levels: dict[tuple[str, str], set[Fraction]] = {}
    for statistic in query.statistics:
        if statistic.level is not None:
            target = str(statistic.column), statistic.weight_column or ""
            levels.setdefault(target, set()).add(statistic.level)
    found: list[Measurement] = []
    for (column, weight), asked in sorted(levels.items()):
        measured = Quantiles(column, grid=_grid(schema, column), levels=tuple(sorted(asked)), interval=intervals)
        by = _grid(schema, weight) if weight else UNIT
        found.append(replace(measured, weight=weight, weight_grid=by))
    return found


def _grid(schema: Schema, column: str) -> Grid:
    return schema.columns[column].grid or UNIT


def answering(statistic: Statistic, measured: Sequence[Measurement]) -> list[int]:
    """Return which measurements answer a statistic; several only for the number of rows, none if that is public."""
    if statistic.parts:
        return sorted({i for part in statistic.parts for i in answering(part, measured)})
    return [i for i, each in enumerate(measured) if each.answers(statistic)]


def columns_read(schema: Schema, query: Query, measured: Sequence[Measurement]) -> tuple[str, ...]:
    """Return the declared columns that the question reads, in the order of their declaration."""
    return tuple(name for name in _used(schema, query, measured) if not schema.columns[name].is_computed)


def columns_declared(schema: Schema, query: Query, measured: Sequence[Measurement]) -> tuple[str, ...]:
    """Return those columns, and the columns that the source declares and that are computed from them."""
    own = {name for name, column in query.derived if column.is_computed}  # its expression is in the text
    return tuple(name for name in _used(schema, query, measured) if name not in own)


def _used(schema: Schema, query: Query, measured: Sequence[Measurement]) -> list[str]:
    used = {*query.by, *(name for each in measured for name in each.columns)}
    for condition in (query.where, *(each.condition for each in measured)):
        if condition is not None:
            used |= columns_of(condition)
    sources = set(sources_of(schema, used))
    return [name for name in schema.columns if name in sources]
