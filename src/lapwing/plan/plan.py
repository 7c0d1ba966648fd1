"""ε ↔ error, before any data is read.

A plan holds everything that a release will do: the measurements, their shares of ε, the noise scales, the SQL, and for
every statistic the error bar to expect.  It uses only public parameters and earlier releases,
and costs nothing.

Claim P6 (split).  The shares of ε that the measurements get add up to ε exactly; each adds noise of scale sensitivity
divided by its share, so that the release as a whole is ε-differentially private (M1 and composition).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from .. import exact, report
from ..engine.dialect import DUCKDB, Dialect, dialect
from ..engine.write_sql import Lowered, lower
from ..errors import InvalidParameter
from ..exact import Number
from ..measure.kinds import answering, columns_declared, columns_read
from ..measure.linear import Term, combined, integer_margin, linear_margin
from ..measure.measurement import Measurement, Setting
from ..measure.public_n import has_public_n
from ..question.cut import WHOLE, Cut
from ..question.derived import sources_of
from ..question.query import Query, Statistic, elementary
from ..question.schema import Schema
from ..question.sets import KeyTable
from .cell import plan_cell
from .clipped import Clipped
from .computed import Computed, expressions
from .left_out import fixed_keys, left_out, weighed_down
from .plots import plan_chart
from .several import SeveralTables, several_line, several_rows
from .silent import half_range, silences
from .strategy import Strategy
from .weighing import assumption, expected_margin

MOST_COMBINED = 4
"""The largest number of measurements that are combined for the number of rows."""


@dataclass(frozen=True)
class Part:
    """A measurement and its share of ε."""

    measurement: Measurement
    epsilon: Fraction


@dataclass(frozen=True)
class Forecast:
    """What to expect for one statistic.

    ``scale`` is the noise scale of each cell it is computed from, ``margin`` the half-width of its error bar,
    ``simultaneous_margin`` the half-width of bars that hold for all cells of the release at once.  ``most`` is the
    half-width of a bar that spans the whole public range.
    """

    statistic: Statistic
    claim: str
    sensitivity: Fraction
    scale: Fraction
    margin: float
    simultaneous_margin: float
    assumes: str
    most: float = math.inf

    @property
    def says_nothing(self) -> bool:
        """Whether the error bar spans all that is possible."""
        return self.margin >= self.most

    def bar_text(self, margin: float) -> str:
        """Return a half-width as it is shown; that of a quantile is in rows, or in weight."""
        if margin >= self.most:
            return "no information"
        whole = int(margin) if margin.is_integer() and margin < 1e15 else margin
        unit = " rows" if self.statistic.weight is None else " of weight"
        return f"± {report.shown(whole)}{'' if self.statistic.level is None else unit}"


@dataclass(frozen=True)
class Plan:
    """What a release will do and how accurate it will be; print it, or use ``forecasts``.

    ``shown`` is what HAVING, ORDER BY and LIMIT would show of the answer; nothing else depends on it.  If several
    tables are asked, ``strategy`` says which are measured; ``released`` is the plan with all tables that were released
    together, if this one shows some of them, and ``keys`` those of its question, in the order asked.  ``better`` are
    sentences about other ways to ask the same.
    """

    schema: Schema
    query: Query
    epsilon: Fraction
    parts: tuple[Part, ...]
    confidence: Fraction
    rows: int
    clipped: tuple[Clipped, ...] = ()
    dialect: Dialect = DUCKDB
    lacking: str | None = None
    shown: Cut = WHOLE
    strategy: Strategy | None = None
    released: Plan | None = None
    better: tuple[str, ...] = ()
    keys: KeyTable = ()

    @property
    def whole(self) -> Plan:
        """The plan of everything that is released together: tables that add up are computed from all of it."""
        return self.released or self

    def showing(self, query: Query) -> Plan:
        """Return the plan of the same release that shows some of its tables, or of its statistics."""
        return replace(self, query=query, released=self.whole)

    @cached_property
    def several(self) -> SeveralTables | None:
        """The tables, if several are asked."""
        return None if self.strategy is None else SeveralTables(self, self.strategy)

    @cached_property
    def groups(self) -> int:
        """The number of groups, each of which will be in the answer."""
        return self.query.groups(self.schema)

    @property
    def columns(self) -> tuple[str, ...]:
        """The declared columns that will be read."""
        return columns_read(self.schema, self.query, self.measured)

    @property
    def declared(self) -> tuple[str, ...]:
        """The declared columns that it depends on: those that will be read, and those computed from them."""
        return columns_declared(self.schema, self.query, self.measured)

    @cached_property
    def measured(self) -> list[Measurement]:
        """What will be measured."""
        return [part.measurement for part in self.parts]

    @property
    def bounded(self) -> list[str]:
        """The columns whose values are clamped to their bounds."""
        names = dict.fromkeys(name for each in self.measured if each.clamps for name in each.columns)
        columns, computed = self.schema.columns, [name for name in names if self.schema.columns[name].is_computed]
        inside = [name for name in sources_of(self.schema, computed) if columns[name].kind in ("number", "integer")]
        return [name for name in dict.fromkeys((*names, *sorted(inside))) if not columns[name].is_computed]

    @property
    def computed(self) -> tuple[Computed, ...]:
        """The expressions that are computed for each row, with their bounds."""
        return expressions(self.schema, self.query, self.measured)

    @property
    def notes(self) -> tuple[str, ...]:
        """What will weigh less or not be counted, by the public rules of the source, and what the owner may declare."""
        fixed = fixed_keys(self.schema, self.query)
        return (*self.weighed_down, *fixed, *left_out(self.schema, self.query, self.measured))

    @property
    def weighed_down(self) -> tuple[str, ...]:
        """Who will weigh less than their rows: a sentence each."""
        return weighed_down(self.schema, self.query, self.measured)

    @property
    def not_counted(self) -> tuple[str, ...]:
        """What will not be counted, for readers of the numbers, who cannot change the source."""
        return left_out(self.schema, self.query, self.measured, advice=False)

    @property
    def split(self) -> dict[str, str]:
        """The share of ε that each measurement gets."""
        return {part.measurement.name: exact.text(part.epsilon) for part in self.parts}

    # --- the SQL, written only when it is needed ---

    @cached_property
    def lowered(self) -> Lowered:
        """The SQL for the plan's engine, and what that SQL needs."""
        tables = None if self.several is None else self.several.measured
        return lower(self.schema, self.query, self.measured, self.dialect, tables)

    @property
    def sql(self) -> str:
        """The SQL that the engine will run."""
        return self.lowered.sql

    def on(self, dialect: Dialect) -> Plan:
        """Return the same plan for another engine."""
        return replace(self, dialect=dialect)

    def to_sql(self, engine: str) -> str:
        """Return the SQL for an engine by its name; if it was never run there, a comment says so."""
        to = dialect(engine)
        return to.remark + self.on(to).sql

    # --- how noisy, how good ---

    def setting(self, part: Part, n: int | None = None) -> Setting:
        """Return the public parameters of a part; ``n`` is the number of rows if it is public (claim P5)."""
        return Setting(self.schema, self.query, part.epsilon, self.rows if n is None else n)

    def settings(self, part: Part, n: int | None = None) -> list[Setting]:
        """Return the public parameters of a part in each measured table: one, unless several tables are asked."""
        return [self.setting(part, n)] if self.several is None else list(self.several.settings(part))

    def length(self, part: Part) -> int:
        """Return how many numbers each cell of a measurement has."""
        return sum(part.measurement.length(each.groups) for each in self.settings(part))

    def scales(self, part: Part) -> list[Fraction]:
        """Return the scale of the noise in each measured table."""
        return [part.measurement.scale(each) for each in self.settings(part)]

    def sensitivity(self, part: Part, n: int | None = None) -> int:
        """Return how far one person can move the cells of a measurement."""
        return part.measurement.sensitivity(self.setting(part, n))

    def scale(self, part: Part, n: int | None = None) -> Fraction:
        """Return the scale of the noise in the cells of a measurement."""
        return part.measurement.scale(self.setting(part, n))

    def answering(self, statistic: Statistic) -> list[int]:
        """Return which parts answer a statistic, the most precise first; those of a ratio in their order."""
        if statistic not in self._answering:
            if statistic.parts:
                parts = sorted({i for part in statistic.parts for i in self.answering(part)})
            else:
                parts = answering(statistic, self.measured)
                if len(parts) > 1:
                    parts = sorted(parts, key=lambda i: self._term(i, statistic).variance)[:MOST_COMBINED]
            self._answering[statistic] = parts
        return self._answering[statistic]

    @cached_property
    def _answering(self) -> dict[Statistic, list[int]]:
        return {}

    def terms(self, statistic: Statistic, n: int | None = None) -> list[Term]:
        """Return, for a count or sum, the parts it is made of."""
        return combined([self._term(i, statistic, n) for i in self.answering(statistic)])

    def _term(self, i: int, statistic: Statistic, n: int | None = None) -> Term:
        part = self.parts[i]
        setting = self.setting(part, n)
        return Term(i, part.measurement.linear(statistic, setting), part.measurement.scale(setting))

    def each_confidence(self, confidence: Fraction, simultaneous: bool) -> tuple[Fraction, int]:
        """Return the confidence for one statistic, and how many independent groups must hold it at once."""
        if not simultaneous:
            return confidence, 1
        if self.several is not None:  # the same draws are in many cells
            return 1 - (1 - confidence) / (len(self.query.statistics) * self.groups), 1
        return 1 - (1 - confidence) / len(self.query.statistics), self.groups

    def is_integer(self, statistic: Statistic) -> bool:
        """Return whether the statistic is shown as an integer."""
        if statistic.kind == "sum":
            return self.schema.columns[statistic.column or ""].kind == "integer"
        return statistic.kind in ("count", "people")

    def is_truly_integer(self, statistic: Statistic) -> bool:
        """Return whether the true value of a count or sum is an integer: people with many rows count in fractions."""
        return self.schema.person is None or all(
            self.parts[i].measurement.counts_integers for i in self.answering(statistic)
        )

    def margin(self, statistic: Statistic, confidence: Fraction, groups: int = 1) -> float:
        """Return the half-width of the error bar, for a confidence over this many independent groups at once."""
        if not self.answering(statistic):
            return 0.0
        if self.several is not None:
            tables = self.several.asked
            return max(self.several.margin(statistic, table, confidence) for table in tables)
        return self._margin(statistic, confidence, groups) * statistic.stretch

    def _margin(self, statistic: Statistic, confidence: Fraction, groups: int) -> float:
        """Return the half-width of the error bar of what is measured in one table."""
        if statistic.parts:
            return expected_margin(self, statistic, confidence, groups)
        if statistic.is_linear:
            margin = linear_margin(self.terms(statistic), confidence, groups)
            if not self.is_integer(statistic):
                return margin
            return integer_margin(margin, self.is_truly_integer(statistic))
        part = self.parts[self.answering(statistic)[0]]
        return part.measurement.margin(statistic, self.setting(part), confidence, groups)

    @cached_property
    def forecasts(self) -> tuple[Forecast, ...]:
        """What to expect for each statistic."""
        return tuple(self._forecast(statistic) for statistic in self.query.statistics)

    def _forecast(self, statistic: Statistic) -> Forecast:
        parts = self.answering(statistic)
        if not parts:
            return Forecast(statistic, "P5", Fraction(0), Fraction(0), 0.0, 0.0, "the number of rows is public")
        about = next(each for each in (statistic, *statistic.parts) if not each.parts and self.answering(each))
        part = self.parts[self.answering(about)[0]]
        setting = self.setting(part)
        expected = part.measurement.expect(about, setting, self.confidence)
        if statistic.parts:
            expected = expected._replace(claim="G2", assumes=assumption(self, statistic))
        times = abs(statistic.times) if statistic.is_linear else 1
        return Forecast(
            statistic,
            expected.claim,
            expected.sensitivity * times,
            expected.scale * times,
            self.margin(statistic, *self.each_confidence(self.confidence, False)),
            self.margin(statistic, *self.each_confidence(self.confidence, True)),
            expected.assumes,
            half_range(self, statistic),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the plan for JSON."""
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
                    "margin": each.margin if math.isfinite(each.margin) else None,
                    "simultaneous_margin": each.simultaneous_margin
                    if math.isfinite(each.simultaneous_margin)
                    else None,
                    "says_nothing": each.says_nothing,
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
            "tables": [] if self.several is None else self.several.to_dict(),
            "computed": [each.to_dict() for each in self.computed],
            "clipped": [each.to_dict() for each in self.clipped],
            "silent": list(silences(self)),
            "notes": [*self.notes, *self.better],
            "cut": None if self.shown == WHOLE else self.shown.to_dict(),
            "sql": self.sql,
        }

    def plot(self, *, theme: str | None = "light", width: int | None = None) -> Any:
        """Return an Altair chart: the error to expect against ε, and against the rows where it depends on them.

        A panel more shows how ε is split, if it is.  ``theme`` and ``width`` are as for a release.
        """
        return plan_chart(self, theme, width)

    @property
    def counts_publicly(self) -> bool:
        """Whether the number of rows is asked for, and is public (claim P5)."""
        return has_public_n(self.schema, self.query) and any(
            each.counts_rows for each in elementary(self.query.statistics)
        )

    @property
    def without_noise(self) -> list[str]:
        """The names of the statistics that are exact: the number of rows, where it is public (claim P5)."""
        return [str(each.name) for each in self.query.statistics if not self.answering(each)]

    @property
    def forecast_rows(self) -> list[list[str]]:
        """What to expect for each statistic, as it is shown."""
        return [
            [
                str(each.statistic.name),
                each.statistic.shown_text,
                short(each.sensitivity),
                short(each.scale) if self.several is None else "by table",
                *(
                    bar if self.several is None or each.says_nothing else f"up to {bar}"
                    for bar in (each.bar_text(each.margin), each.bar_text(each.simultaneous_margin))
                ),
                each.claim,
                each.assumes,
            ]
            for each in self.forecasts
        ]

    def _repr_html_(self) -> str:
        return plan_cell(self)

    def __str__(self) -> str:
        sure = f"{exact.text(100 * self.confidence)} %"
        groups = "1 group" if self.groups == 1 else f"{self.groups:,} groups"
        heads = ["name", "statistic", "sensitivity", "noise scale", f"{sure} error bar", "all at once", "claim", "if"]
        lines = [f'Plan for "{self.schema.name}": ε = {exact.text(self.epsilon)}, {groups}.  No data was read.']
        lines.append(report.text_table(heads, self.forecast_rows, {0, 1, 6, 7}))
        if self.several is not None:
            named, rows, more = several_rows(self.several)
            lines += [several_line(self.several), report.text_table(named, rows, {0}), *(f"  {line}" for line in more)]
        if len(self.parts) > 1:
            shares = ", ".join(f"{part.measurement.name}: {short(part.epsilon)}" for part in self.parts)
            lines.append(f"ε is split: {shares}")
        lines += [*silences(self), *map(str, self.computed), *map(str, self.clipped), *self.notes, *self.better]
        if self.shown != WHOLE:
            all_of_them = "The group is" if self.groups == 1 else f"All {groups} are"
            lines.append(f"{all_of_them} measured and charged once; shown of them, at no cost: {self.shown.text}")
        return "\n".join(lines if self.lacking is None else [*lines, self.lacking])


def level_of(statistic: Statistic) -> dict[str, Any]:
    """Return the level of a quantile, and how a number is shown, for JSON; nothing where there is none."""
    return ({} if statistic.level is None else {"level": exact.text(statistic.level)}) | view_of(statistic)


def view_of(statistic: Statistic) -> dict[str, Any]:
    """Return how a number is scaled and rounded when it is shown, for JSON; nothing if it is not."""
    times = {} if statistic.times == 1 else {"times": exact.text(statistic.times)}
    return times | ({} if statistic.digits is None else {"digits": statistic.digits})


def bar_confidence(asked: Number) -> Fraction:
    """Return the confidence of error bars, from 0.001 to 1 - 10^-9."""
    value = exact.probability(asked)
    if not Fraction(1, 1000) <= value <= 1 - Fraction(1, 10**9):
        raise InvalidParameter(asked, "confidence", "from 0.001 to 0.999999999")
    return value


def short(value: Fraction) -> str:
    """Return a number exactly if it is short, else its first digits."""
    text = exact.text(value)
    return text if len(text) <= 12 else f"{float(value):.6g}"
