"""A question → what to measure: the kinds of measurements, and which of them answer which statistics."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ..question.query import Condition, Query, Statistic, columns_of
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

KINDS: tuple[type[Measurement], ...] = (
    Rows, Count, Total, Mean, Variance, PublicSum, PublicVariance, Quantiles, Distribution, People,
)  # fmt: skip


def measurements(schema: Schema, query: Query, intervals: bool = True) -> tuple[Measurement, ...]:
    """Return what to measure so that all statistics of the query are answered.

    The order does not depend on the order of the statistics, since the same question in other words has the same
    record.  Quantiles of a column have a measurement of their own, with ``intervals`` or without.
    """
    if query.statistics[0].kind == "cdf":
        column = query.by[-1]
        return (Distribution(column, grid=_grid(schema, column), bins=len(dict(query.edges)[column]) - 1),)
    people = [People.of(schema, query)] if any(each.kind == "people" for each in query.statistics) else []
    return (*_sums(schema, query), *_quantiles(schema, query, intervals), *people)


def _sums(schema: Schema, query: Query) -> list[Measurement]:
    """Return what counts, sums, means, proportions and variances need: the least that answers them, for each target."""
    public_n = has_public_n(schema, query)
    rows = any(each.counts_rows for each in query.statistics) and not public_n
    kinds_by_target: dict[str | Condition, set[str]] = {}
    for each in query.statistics:
        target = each.condition if each.kind == "proportion" else each.column
        if target is not None and each.kind not in ("quantile", "people"):
            kinds_by_target.setdefault(target, set()).add(each.kind)
    if not kinds_by_target:
        return [Rows()] if rows else []
    chosen: list[Measurement] = []
    for target, kinds in sorted(kinds_by_target.items(), key=lambda each: str(each[0])):
        column = target if isinstance(target, str) else None
        condition = None if isinstance(target, str) else target
        grid = UNIT if column is None else _grid(schema, column)
        for kind in _least(kinds, public_n, rows):
            missing = rows and column is not None and kind is not Total
            chosen.append(kind(column, condition, grid, missing))
    return chosen


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
    levels: dict[str, set[Fraction]] = {}
    for statistic in query.statistics:
        if statistic.level is not None:
            levels.setdefault(str(statistic.column), set()).add(statistic.level)
    return [
        Quantiles(column, grid=_grid(schema, column), levels=tuple(sorted(column_levels)), interval=intervals)
        for column, column_levels in sorted(levels.items())
    ]


def _grid(schema: Schema, column: str) -> Grid:
    return schema.columns[column].grid or UNIT


def answering(statistic: Statistic, measured: Sequence[Measurement]) -> list[int]:
    """Return which measurements answer a statistic; several only for the number of rows, none if that is public."""
    return [i for i, each in enumerate(measured) if each.answers(statistic)]


def columns_read(schema: Schema, query: Query, measured: Sequence[Measurement]) -> tuple[str, ...]:
    """Return the declared columns that the question reads, in the order of their declaration."""
    used = {*query.by, *(each.column for each in measured if each.column is not None)}
    for condition in (query.where, *(each.condition for each in measured)):
        if condition is not None:
            used |= columns_of(condition)
    return tuple(name for name in schema.columns if name in used)
