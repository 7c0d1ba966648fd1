"""ε ↔ error, before any data is read.

A plan holds everything that a release will do: the measurements, their shares of ε, the noise scales, the SQL, and for
every statistic the error bar to expect.  It is made from public parameters, and from what was released before, alone
and costs nothing.

Claim P6 (split).  The shares of ε that the measurements get add up to ε exactly; each adds noise of scale sensitivity
divided by its share, so that the release as a whole is ε-differentially private (M1 and composition).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from .. import exact, report
from ..engine.dialect import DUCKDB, Dialect, dialect
from ..engine.lowering import Lowered, lower
from ..errors import InvalidParameter
from ..exact import Number
from ..measure.measurement import CLAIMS, Linear, Measurement, answering, is_whole, target_of
from ..measure.selection import Selection
from ..measure.tree import margins
from ..noise.distributions import DiscreteLaplace
from ..noise.intervals import sum_margin, tail_quantile
from ..question.query import Query, Statistic
from ..question.schema import Schema
from .clipped import Clipped

MOST_COMBINED = 4
"""How many measurements the number of rows is at most combined from."""


@dataclass(frozen=True)
class Part:
    """A measurement and its share of ε."""

    measurement: Measurement
    epsilon: Fraction


@dataclass(frozen=True)
class Forecast:
    """What to expect of one statistic.

    ``scale`` is that of the noise in each cell it is computed from, ``margin`` the half-width of its error bar,
    ``simultaneous_margin`` that of the bars that hold for all cells of the release at once.
    """

    statistic: Statistic
    claim: str
    sensitivity: Fraction
    scale: Fraction
    margin: float
    simultaneous_margin: float
    assumes: str


@dataclass(frozen=True)
class Plan:
    """What a release will do and how good it will be; print it, or take ``forecasts``."""

    schema: Schema
    query: Query
    epsilon: Fraction
    parts: tuple[Part, ...]
    confidence: Fraction
    rows: int
    clipped: tuple[Clipped, ...] = ()
    dialect: Dialect = DUCKDB
    lacking: str | None = None

    @property
    def bounded(self) -> list[str]:
        """The columns whose values are clamped to their bounds."""
        counted = ("rows", "count", "tree")
        names = (each.measurement.column for each in self.parts if each.measurement.form not in counted)
        return list(dict.fromkeys(name for name in names if name is not None))

    def selection(self, part: Part) -> Selection:
        """Return how the quantiles of a part are found."""
        return Selection(part.measurement, self.schema, bool(self.query.by), part.epsilon)

    @cached_property
    def lowered(self) -> Lowered:
        """The SQL, and how many groups there are."""
        return lower(self.schema, self.query, [part.measurement for part in self.parts], self.dialect)

    @property
    def sql(self) -> str:
        """The SQL that the engine will run."""
        return self.lowered.sql

    def on(self, dialect: Dialect) -> Plan:
        """Return the same plan for another engine."""
        return replace(self, dialect=dialect)

    def to_sql(self, engine: str) -> str:
        """Return the SQL for an engine by its name; for one on which it was never run, a comment says so."""
        to = dialect(engine)
        return to.remark + self.on(to).sql

    @property
    def split(self) -> dict[str, str]:
        """The share of ε that each measurement gets."""
        return {part.measurement.name: exact.text(part.epsilon) for part in self.parts}

    @property
    def groups(self) -> int:
        """The number of groups, each of which will be in the answer."""
        return self.lowered.groups

    @cached_property
    def forecasts(self) -> tuple[Forecast, ...]:
        """What to expect of each statistic."""
        return tuple(self._forecast(statistic) for statistic in self.query.statistics)

    def length(self, part: Part) -> int:
        """Return how many groups each cell of a measurement has: a tree reaches over all bins of the last key."""
        return self.groups // (part.measurement.bins or 1)

    def sensitivity(self, part: Part, n: int | None = None) -> int:
        """Return how far one person can move the cells of a measurement."""
        if part.measurement.levels:
            return self.selection(part).moved
        return part.measurement.sensitivity(self.schema, self.query, self.rows if n is None else n)

    def scale(self, part: Part, n: int | None = None) -> Fraction:
        """Return the scale of the noise in the cells of a measurement; for quantiles, in the counts for their bars."""
        if part.measurement.levels:
            return self.selection(part).scale
        return self.sensitivity(part, n) / part.epsilon

    def answering(self, statistic: Statistic) -> list[int]:
        """Return which parts answer a statistic, the most precise first."""
        found = answering(statistic, [part.measurement for part in self.parts])
        if len(found) > 1:
            found.sort(key=lambda i: self._variance(self.linear(i, statistic), self.scale(self.parts[i])))
        return found[:MOST_COMBINED]

    def linear(self, i: int, statistic: Statistic) -> tuple[Fraction, ...]:
        """Return the weights with which the cells of part ``i`` add up to a count or sum."""
        what: Linear = "sum" if statistic.kind == "sum" else "rows" if statistic.column is None else "count"
        weights = self.parts[i].measurement.linear(what, self.schema)
        assert weights is not None
        return weights

    def terms(self, statistic: Statistic, n: int | None = None) -> list[tuple[int, tuple[Fraction, ...], Fraction]]:
        """Return, for a count or sum, the parts it is made of: (part, weights of its cells, scale of their noise).

        Several estimates of the number of rows are combined by their inverse variances.
        """
        found = [(i, self.linear(i, statistic), self.scale(self.parts[i], n)) for i in self.answering(statistic)]
        precisions = [1 / self._variance(weights, scale) for _, weights, scale in found]
        total = sum(precisions, Fraction(0))
        return [
            (i, tuple(weight * precision / total for weight in weights), scale)
            for (i, weights, scale), precision in zip(found, precisions, strict=True)
        ]

    @staticmethod
    def _variance(weights: Sequence[Fraction], scale: Fraction) -> Fraction:
        return sum((weight**2 for weight in weights), Fraction(0)) * scale**2

    def each_confidence(self, confidence: Fraction, simultaneous: bool) -> tuple[Fraction, int]:
        """Return the confidence for one statistic, and how many independent groups must hold it at once."""
        if not simultaneous:
            return confidence, 1
        return 1 - (1 - confidence) / len(self.query.statistics), self.groups

    def _forecast(self, statistic: Statistic) -> Forecast:
        parts = self.answering(statistic)
        if not parts:
            return Forecast(statistic, "P5", Fraction(0), Fraction(0), 0.0, 0.0, "the number of rows is public")
        part = self.parts[parts[0]]
        measurement = part.measurement
        if statistic.level is not None:
            return self._rank_forecast(statistic, self.selection(part))
        unit = measurement.unit(self.schema)
        if statistic.kind == "count":
            unit = max(abs(weight) for weight in self.linear(parts[0], statistic))
        if measurement.whole and statistic.kind != "sum":
            unit /= self.rows ** (1 if measurement.form == "whole sum" else 2)
        claim = CLAIMS[measurement.form]
        one_cell = not self.query.by and len(measurement.names) == 1
        if claim == "P1" and self.schema.neighbors == "change_one" and one_cell:
            claim = "P4"
        return Forecast(
            statistic,
            claim,
            self.sensitivity(part) * unit,
            self.scale(part) * unit,
            self.margin(statistic, *self.each_confidence(self.confidence, False)),
            self.margin(statistic, *self.each_confidence(self.confidence, True)),
            self._assumption(statistic, measurement),
        )

    def _rank_forecast(self, statistic: Statistic, selection: Selection) -> Forecast:
        """Return what to expect of a quantile: its errors count rows."""
        level = statistic.level or Fraction(0)
        reach = selection.reach(level, selection.depth == 1) / self.schema.weight
        usual = math.ceil(selection.usual(level, self.confidence))
        told = f"in rank; usually {usual:,}"
        if selection.measurement.interval and 0 < level < 1:
            aside = math.ceil(selection.aside / self.schema.weight)
            told += f", with a bar of some {aside:,} to either side"
            if 2 * aside > self.rows:
                told += f", too many for {self.rows:,} rows"
        return Forecast(
            statistic,
            "Q1",
            reach,
            reach / selection.each,
            self.margin(statistic, *self.each_confidence(self.confidence, False)),
            self.margin(statistic, *self.each_confidence(self.confidence, True)),
            told,
        )

    def _assumption(self, statistic: Statistic, measurement: Measurement) -> str:
        if statistic.kind in ("count", "sum"):
            return ""
        if statistic.kind == "cdf":
            return f"{self.rows:,} rows in all bins, spread evenly"
        group = f"{self.rows:,} rows" + (" in a group" if self.query.by else "")
        if statistic.kind == "std":
            return f"{group}, a deviation of a quarter of the range"
        return group if measurement.whole else f"{group} (less if values lie between the bounds)"

    def margin(self, statistic: Statistic, confidence: Fraction, cells: int = 1) -> float:
        """Return the half-width of the error bar, at a confidence for ``cells`` independent groups at once."""
        parts = self.answering(statistic)
        if not parts:
            return 0.0
        if statistic.kind in ("count", "sum"):
            margin = linear_margin(self.terms(statistic), confidence, cells)
            if not is_counted(statistic, self.schema):
                return margin
            return whole_margin(margin, self.schema)
        (i,) = parts
        part = self.parts[i]
        if statistic.kind == "cdf":
            return self.share_margin(part, confidence, cells)
        if statistic.level is not None:
            return float(math.ceil(self.selection(part).promise(statistic.level, confidence, cells)))
        measurement, scale = part.measurement, self.scale(part)
        width = float(measurement.grid.step * measurement.grid.steps)
        if measurement.whole:
            power = 2 if measurement.form == "whole variance" else 1
            steps = DiscreteLaplace(scale).simultaneous_margin(cells, confidence)
            found = float(steps * measurement.grid.step**power / Fraction(self.rows) ** power)
            return found / (width / 2) if statistic.kind == "std" else found
        beyond = float(1 - root(confidence, cells))
        relative = float(scale / (measurement.mass * self.schema.weight * self.rows))
        if statistic.kind in ("mean", "proportion"):
            at = np.array([[float(p)] for p in measurement.positions])
            grid = np.linspace(0, 1, 65)
            return float(tail_quantile(np.abs(at - grid), beyond).max()) * relative * width
        found = -math.log(beyond) * relative * width**2
        return found / (width / 2) if statistic.kind == "std" else found

    def share_margin(self, part: Part, confidence: Fraction, cells: int = 1) -> float:
        """Return the half-width of the widest bar of a distribution function whose rows are spread evenly."""
        bins = part.measurement.bins
        edges = sorted({max(bins * i // 8, 1) for i in range(1, 8)})
        shares = np.arange(bins)[:, None] < edges
        weights = part.measurement.tree.weights(shares - np.array(edges) / bins)
        found = margins(weights, self.scale(part), 1 - (1 - confidence) / cells)  # bins share cells
        return max(found) / (self.schema.weight * self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON holds it."""
        return {
            "source": self.schema.name,
            "epsilon": exact.text(self.epsilon),
            "delta": "0",
            "neighbors": self.schema.neighbors,
            "rows_per_person": self.schema.rows_per_person,
            "query": self.query.text,
            "confidence": exact.text(self.confidence),
            "groups": self.groups,
            "rows": self.rows,
            "columns": [
                {
                    "name": each.statistic.name,
                    "kind": each.statistic.kind,
                    "sensitivity": exact.text(each.sensitivity),
                    "scale": exact.text(each.scale),
                    "claim": each.claim,
                    **level_of(each.statistic),
                    "margin": each.margin,
                    "simultaneous_margin": each.simultaneous_margin,
                    "assumes": each.assumes,
                }
                for each in self.forecasts
            ],
            "measurements": [
                {
                    "of": part.measurement.target,
                    "form": part.measurement.form,
                    "cells": list(part.measurement.names),
                    "epsilon": exact.text(part.epsilon),
                    "sensitivity": self.sensitivity(part),
                    "scale": exact.text(self.scale(part)),
                }
                for part in self.parts
            ],
            "clipped": [each.to_dict() for each in self.clipped],
            "sql": self.sql,
        }

    @property
    def counts_publicly(self) -> bool:
        """Whether the number of rows is asked for and public (claim P5)."""
        return is_whole(self.schema, self.query) and any(
            target_of(statistic) is None for statistic in self.query.statistics
        )

    def __str__(self) -> str:
        sure = f"{exact.text(100 * self.confidence)} %"
        groups = "1 group" if self.groups == 1 else f"{self.groups:,} groups"
        heads = ["name", "statistic", "sensitivity", "noise scale", f"{sure} error bar", "all at once", "claim", "if"]
        rows = [
            [
                str(each.statistic.name),
                each.statistic.text,
                _short(each.sensitivity),
                _short(each.scale),
                f"± {report.shown(_bar(each.margin))}{'' if each.statistic.level is None else ' rows'}",
                f"± {report.shown(_bar(each.simultaneous_margin))}{'' if each.statistic.level is None else ' rows'}",
                each.claim,
                each.assumes,
            ]
            for each in self.forecasts
        ]
        lines = [f'Plan for "{self.schema.name}": ε = {exact.text(self.epsilon)}, {groups}.  No data was read.']
        lines.append(report.text_table(heads, rows, {0, 1, 6, 7}))
        if len(self.parts) > 1:
            shares = ", ".join(f"{part.measurement.name}: {_short(part.epsilon)}" for part in self.parts)
            lines.append(f"ε is split: {shares}")
        return "\n".join([*lines, *map(str, self.clipped), *([] if self.lacking is None else [self.lacking])])


def level_of(statistic: Statistic) -> dict[str, str]:
    """Return the level of a quantile, as JSON holds it, and nothing for other statistics."""
    return {} if statistic.level is None else {"level": exact.text(statistic.level)}


def root(confidence: Fraction, cells: int) -> Fraction:
    """Return the confidence of each of ``cells`` independent bars that hold at once with ``confidence``, rounded up."""
    if cells == 1:
        return confidence
    beyond = -math.expm1(math.log1p(-float(1 - confidence)) / cells)
    return 1 - Fraction(beyond * (1 - 1e-12))


def linear_margin(terms: Sequence[tuple[int, Sequence[Fraction], Fraction]], confidence: Fraction, cells: int) -> float:
    """Return the margin of a weighted sum of noisy cells: exact for one cell, by claim A9 for several."""
    weighted = [(abs(weight), scale) for _, weights, scale in terms for weight in weights if weight]
    if len(weighted) == 1:
        ((weight, scale),) = weighted
        return float(weight * DiscreteLaplace(scale).simultaneous_margin(cells, confidence))
    scales = [weight * scale for weight, scale in weighted]
    return sum_margin(scales, root(confidence, cells)) + float(sum(weight for weight, _ in weighted))


def whole_margin(margin: float, schema: Schema) -> float:
    """Return the half-width of a bar around a number that is shown as a whole one.

    Without people the truth is whole too.  With people it need not be, and showing the nearest whole number moves the
    value by up to a half.
    """
    return float(math.floor(margin) if schema.person is None else math.ceil(margin + 0.5))


def is_counted(statistic: Statistic, schema: Schema) -> bool:
    """Return whether the statistic is a whole number."""
    return statistic.kind == "count" or (
        statistic.kind == "sum" and statistic.column is not None and schema.columns[statistic.column].kind == "integer"
    )


def bar_confidence(asked: Number) -> Fraction:
    """Return the confidence of error bars, from 0.001 to 1 - 10^-9."""
    value = exact.probability(asked)
    if not Fraction(1, 1000) <= value <= 1 - Fraction(1, 10**9):
        raise InvalidParameter(asked, "confidence", "from 0.001 to 0.999999999")
    return value


def _short(value: Fraction) -> str:
    """Return a number exactly while it is short, else its first digits."""
    text = exact.text(value)
    return text if len(text) <= 12 else f"{float(value):.6g}"


def _bar(margin: float) -> float:
    return int(margin) if margin.is_integer() and margin < 1e15 else margin
