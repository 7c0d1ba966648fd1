"""What is asked, as frozen values: statistics, conditions, queries.

A query has one canonical text (``Query.text``): statistics sorted, conditions sorted, no aliases.  It identifies
the question in the ledger, so the same question in other words is the same question.
"""

from __future__ import annotations

import builtins
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, overload

from .. import exact
from ..errors import InvalidParameter, MissingParameter, RequestError, UselessParameter
from ..exact import Number
from .bins import bin_edges
from .conditions import Against as Against
from .conditions import All as All
from .conditions import Compare as Compare
from .conditions import Condition as Condition
from .conditions import Missing as Missing
from .conditions import Not as Not
from .conditions import OneOf as OneOf
from .conditions import Some as Some
from .conditions import Unknown as Unknown
from .conditions import columns_of as columns_of
from .conditions import expressions_of as expressions_of
from .conditions import joined as joined
from .conditions import named_in as named_in
from .conditions import negated as negated
from .expression import ONE, ZERO, Choose, Expression, Named, multiplied
from .foreign_objects import refuse_no_text
from .labels import NAME, is_name
from .schema import MOST_BINS, Column, Schema
from .spelling import Value as Value
from .spelling import literal as literal
from .spelling import numeral as numeral
from .spelling import quoted as quoted

StatisticKind = Literal[
    "count", "sum", "mean", "variance", "std", "proportion", "histogram", "quantile", "cdf", "people", "ratio"
]

ENDINGS = ("", "_low", "_high", "_noise")
"""How the columns of a statistic end: the value, the ends of its bar, the mark of its noise."""

MOST_PARTS = 10**6
"""The largest denominator of a quantile's share."""

# --- statistics ---

_LEVELS = {Fraction(0): "min", Fraction(1, 2): "median", Fraction(1): "max"}
_LONGEST_NAME = 40
_NUMERAL = re.compile(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?", re.IGNORECASE)
_FUNCTIONS = {"count": "COUNT", "sum": "SUM", "mean": "AVG", "histogram": "HISTOGRAM", "cdf": "CDF"}


@dataclass(frozen=True)
class Statistic:
    """One number that is asked for each group; make it with ``count``, ``sum``, ``mean`` and so on.

    ``share`` is its share when ε is split among columns, ``error`` the error that is wanted instead.  ``weight`` is the
    column, or the expression, by which rows are weighted.  ``expression`` is what ``column`` is the text of, if it is
    not a declared column.  ``name`` is the name of its column in the release.  ``level`` is the level of a quantile,
    0 for the minimum and 1 for the maximum.  ``bins`` is the number of equally wide bins of a distribution function.
    A ratio has two ``parts``, a numerator and a denominator, and a ``factor``.  What is shown is the number ``times`` a
    constant, with so many ``digits`` after the point: no part of the question, as little as its name.
    """

    kind: StatisticKind
    column: str | None = None
    condition: str | Condition | None = None
    edges: tuple[Fraction, ...] | None = None
    sample: bool = True
    share: Fraction | None = None
    error: Fraction | None = None
    name: str | None = None
    level: Fraction | None = None
    bins: int | None = None
    parts: tuple[Statistic, ...] = ()
    factor: Fraction = Fraction(1)
    weight: str | Expression | None = None
    expression: Expression | None = None
    times: Fraction = Fraction(1)
    digits: int | None = None

    @property
    def weight_column(self) -> str | None:
        """The name of the column of weights."""
        if self.weight is None:
            return None
        return self.weight.column if isinstance(self.weight, Named) else str(self.weight)

    @property
    def value(self) -> Expression:
        """The expression that it is about."""
        return self.expression or Named(self.column or "")

    @property
    def counts_rows(self) -> bool:
        """Whether it is the number of rows."""
        return self.kind == "count" and self.column is None

    @property
    def is_linear(self) -> bool:
        """Whether it is a count or a sum: a weighted sum of noisy cells."""
        return self.kind in ("count", "sum", "people")

    @property
    def text(self) -> str:
        """The statistic as SQL writes it."""
        inside = "*" if self.column is None else str(self.value)
        if self.parts:
            times = "" if self.factor == 1 else f"{numeral(self.factor)} * "
            return times + " / ".join(part.text for part in self.parts)
        if self.kind == "mean" and self.weight is not None and not isinstance(self.weight, str):
            return f"SUM({multiplied((self.weight, self.value))}) / SUM({self.weight})"
        if self.kind == "people":
            return f"COUNT(DISTINCT {inside})"
        if self.kind in ("variance", "std"):
            function = {"variance": "VAR", "std": "STDDEV"}[self.kind]
            return f"{function}_{'SAMP' if self.sample else 'POP'}({inside})"
        if self.kind == "proportion":
            return f"AVG(CASE WHEN {self.condition} THEN 1 ELSE 0 END)"
        if self.level is not None and self.weight is not None:
            return f"WEIGHTED_QUANTILE({inside}, {self.weight}, {numeral(self.level)})"
        if self.level is not None:
            named = _LEVELS.get(self.level)
            return f"QUANTILE_CONT({inside}, {numeral(self.level)})" if named is None else f"{named.upper()}({inside})"
        return f"{_FUNCTIONS[self.kind]}({inside})"

    @property
    def shown_text(self) -> str:
        """What is shown of it, as SQL writes it."""
        by = "" if self.times == 1 else f" / {self.times.denominator}"
        scaled = f"{self.text}{by}" if self.times.numerator == 1 else f"{numeral(self.times)} * {self.text}"
        return scaled if self.digits is None else f"ROUND({scaled}, {self.digits})"

    @property
    def stretch(self) -> float:
        """How much wider its error bar is than that of what is measured; that of a quantile is in rows."""
        return 1.0 if self.level is not None else abs(float(self.times))

    @property
    def default_name(self) -> str:
        """The name of its column when the user gives none."""
        if self.times != 1:
            by = f"per_{self.times.denominator}" if self.times.numerator == 1 else f"times_{exact.text(self.times)}"
            return f"{replace(self, times=Fraction(1)).default_name}_{by}"
        kind: str = self.kind
        if kind == "mean" and self.weight is not None and is_share(self.expression):
            return "proportion"
        if self.parts:
            return "_per_".join(part.default_name for part in self.parts)
        if self.level is not None:
            kind = _LEVELS.get(self.level, f"q{exact.text(self.level)}")
        if self.column is None or kind == "people":
            return kind
        if self.expression is None:
            return f"{kind}_{self.column}"
        words = "_".join(re.findall(r'"(\w+)"', self.column))
        return f"{kind}_{words[:_LONGEST_NAME]}"


def is_share(expression: Expression | None) -> bool:
    """Return whether an expression is 1 where a condition is true, and otherwise 0."""
    return (
        isinstance(expression, Choose)
        and [end for _, end in expression.cases] == [ONE]
        and (expression.otherwise == ZERO)
    )


def elementary(statistics: Iterable[Statistic]) -> list[Statistic]:
    """Return the statistics, with the numerator and the denominator instead of each ratio."""
    return [part for each in statistics for part in (each.parts or (each,))]


def _statistic(
    kind: StatisticKind,
    column: object,
    share: Number | None,
    error: Number | None,
    name: str | None,
    *,
    weight: object = None,
    sample: bool = True,
    condition: str | None = None,
    edges: tuple[Fraction, ...] | None = None,
    level: Fraction | None = None,
) -> Statistic:
    if column is not None and not isinstance(column, str):
        raise InvalidParameter(column, "column", "the name of a declared column, or an expression such as a * b")
    if isinstance(weight, int | float | Fraction) or (isinstance(weight, str) and _NUMERAL.fullmatch(weight.strip())):
        allowed = f"the name of a column of weights; a share of ε is given by share={weight}"
        raise InvalidParameter(weight, "weight", allowed)
    if weight is not None and not isinstance(weight, str):
        raise InvalidParameter(weight, "weight", "the name of a column of weights, or an expression")
    if not (name is None or is_name(name)):
        raise InvalidParameter(name, "name", NAME)
    if not isinstance(sample, bool):  # the text "false" would be true
        raise InvalidParameter(sample, "sample", "true or false")
    return Statistic(
        kind,
        column,
        condition,
        edges,
        sample,
        None if share is None else exact.positive(share, "share"),
        None if error is None else exact.positive(error, "error"),
        name,
        level,
        weight=weight,
    )


def count(
    column: str | None = None,
    *,
    weight: str | None = None,
    share: Number | None = None,
    error: Number | None = None,
    name: str | None = None,
) -> Statistic:
    """Ask for the number of rows, or of rows where ``column`` is not missing."""
    return _statistic("count", column, share, error, name, weight=weight)


def people(*, share: Number | None = None, error: Number | None = None, name: str | None = None) -> Statistic:
    """Ask for the number of people: each counts once in every group they are in.

    Someone in more groups than rows_per_person counts less in each: in g groups, rows_per_person/g.
    """
    return _statistic("people", None, share, error, name)


def sum(
    column: str,
    *,
    weight: str | None = None,
    share: Number | None = None,
    error: Number | None = None,
    name: str | None = None,
) -> Statistic:
    """Ask for the sum of a column."""
    return _statistic("sum", column, share, error, name, weight=weight)


def mean(
    column: str,
    *,
    weight: str | None = None,
    share: Number | None = None,
    error: Number | None = None,
    name: str | None = None,
) -> Statistic:
    """Ask for the mean of a column."""
    return _statistic("mean", column, share, error, name, weight=weight)


def variance(
    column: str,
    *,
    sample: bool = True,
    share: Number | None = None,
    error: Number | None = None,
    name: str | None = None,
) -> Statistic:
    """Ask for the variance of a column; ``sample`` divides by n - 1, as SQL's VAR_SAMP does, else by n."""
    return _statistic("variance", column, share, error, name, sample=sample)


def std(
    column: str,
    *,
    sample: bool = True,
    share: Number | None = None,
    error: Number | None = None,
    name: str | None = None,
) -> Statistic:
    """Ask for the standard deviation of a column; ``sample`` as for ``variance``."""
    return _statistic("std", column, share, error, name, sample=sample)


def proportion(
    condition: str,
    *,
    weight: str | None = None,
    share: Number | None = None,
    error: Number | None = None,
    name: str | None = None,
) -> Statistic:
    """Ask for the share of rows for which a condition is true, for example "age >= 65"."""
    if not isinstance(condition, str):
        refuse_no_text(condition, "condition")
    return _statistic("proportion", None, share, error, name, condition=condition, weight=weight)


def histogram(column: str, edges: Sequence[Number], *, name: str | None = None) -> Statistic:
    """Ask for the number of rows in each bin [a, b) of a numeric column, the last bin closed."""
    return _statistic("histogram", column, None, None, name, edges=bin_edges(edges))


def cdf(column: str, edges: Sequence[Number] | int = 256, *, name: str | None = None) -> Statistic:
    """Ask for the distribution function of a numeric column: the share of rows up to the end of each bin.

    ``edges`` are the borders of the bins, or the number of equally wide bins between the column's bounds.
    """
    if not isinstance(edges, Iterable) or isinstance(edges, str):
        number = exact.whole(edges, "edges", MOST_BINS)
        return replace(_statistic("cdf", column, None, None, name), bins=number)
    return _statistic("cdf", column, None, None, name, edges=bin_edges(edges))


@overload
def quantile(  # type: ignore[overload-overlap]  # a text is a sequence, but counts as one number
    column: str,
    q: Number,
    *,
    weight: str | None = None,
    share: Number | None = None,
    error: Number | None = None,
    name: str | None = None,
) -> Statistic: ...
@overload
def quantile(
    column: str,
    q: Sequence[Number],
    *,
    weight: str | None = None,
    share: Number | None = None,
    error: Number | None = None,
    name: None = None,
) -> list[Statistic]: ...
def quantile(
    column: str,
    q: Number | Sequence[Number],
    *,
    weight: str | None = None,
    share: Number | None = None,
    error: Number | None = None,
    name: str | None = None,
) -> Statistic | list[Statistic]:
    """Ask for the value that a share ``q`` of the rows does not exceed; ``error`` counts rows.

    Several quantiles of one column in one release share one measurement: give a list of shares.  With ``weight`` it is
    a share of the sum of weights, and ``error`` counts weight.
    """
    if isinstance(q, Iterable) and not isinstance(q, str):
        shares = list(q)
        if name is not None:
            raise UselessParameter("name", "q is a list, and each quantile needs its own", "Ask for each separately.")
        if not shares:
            raise MissingParameter("q", "Give one share or more, such as 0.5 for the median.")
        given = None if isinstance(q, list | tuple) else q  # of a Series only the type is shown
        levels = [_level(each, given) for each in shares]
        return [_statistic("quantile", column, share, error, None, level=each, weight=weight) for each in levels]
    return _statistic("quantile", column, share, error, name, level=_level(q), weight=weight)


def _level(q: Number, given: object = None) -> Fraction:
    """Return the level of a quantile, checked; if it is wrong, ``given`` is what the message shows."""
    allowed = 'from 0 to 1 (0.5 for the median), with at most six decimals; or a fraction as text, such as "1/3"'
    try:
        level = exact.finite(q, "q")
    except RequestError:
        if given is None:
            raise
        raise InvalidParameter(given, "q", allowed) from None
    if not 0 <= level <= 1 or level.denominator > MOST_PARTS:
        raise InvalidParameter(q if given is None else given, "q", allowed)
    return level


def median(
    column: str,
    *,
    weight: str | None = None,
    share: Number | None = None,
    error: Number | None = None,
    name: str | None = None,
) -> Statistic:
    """Ask for the median of a column; ``error`` counts rows, or with ``weight`` weight."""
    return quantile(column, Fraction(1, 2), weight=weight, share=share, error=error, name=name)


def min(
    column: str,
    *,
    weight: str | None = None,
    share: Number | None = None,
    error: Number | None = None,
    name: str | None = None,
) -> Statistic:
    """Ask for the minimum of a column: a value that only a few rows lie below; ``error`` counts rows.

    It does not depend on weights: a ``weight`` is refused.
    """
    return quantile(column, 0, weight=weight, share=share, error=error, name=name)


def max(
    column: str,
    *,
    weight: str | None = None,
    share: Number | None = None,
    error: Number | None = None,
    name: str | None = None,
) -> Statistic:
    """Ask for the maximum of a column: a value that only a few rows lie above; ``error`` counts rows.

    It does not depend on weights: a ``weight`` is refused.
    """
    return quantile(column, 1, weight=weight, share=share, error=error, name=name)


# --- queries ---


@dataclass(frozen=True)
class Query:
    """Statistics of a source for every group of the keys ``by``, over the rows where ``where`` is true.

    ``edges`` holds the bins that the query itself gives for a column, ``titles`` other names for the keys, ``derived``
    the columns that it computes, by their canonical texts, and those whose values are keys.  ``sets`` are the tables if
    several are asked, each with some of the keys (``sets.canonical``); without them there is one table, with all keys.
    ``grouping`` are columns of the answer that say which of some keys its row is summed over: GROUPING, by their names.
    """

    source: str
    statistics: tuple[Statistic, ...]
    by: tuple[str, ...] = ()
    where: Condition | None = None
    edges: tuple[tuple[str, tuple[Fraction, ...]], ...] = ()
    titles: tuple[str, ...] = ()
    derived: tuple[tuple[str, Column], ...] = ()
    sets: tuple[tuple[str, ...], ...] = ()
    grouping: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The keys of each table that is asked."""
        return self.sets or (self.by,)

    def groups(self, schema: Schema) -> int:
        """Return the number of groups, each of which will be in the answer: those of all tables."""
        return builtins.sum(math.prod(self.shape(schema, table)) for table in self.tables)

    def shape(self, schema: Schema, table: Sequence[str] | None = None) -> tuple[int, ...]:
        """Return the number of groups of each key of a table; if none is given, of all keys."""
        bins = dict(self.edges)
        keys = self.by if table is None else table
        columns = [(schema.columns[key], bins.get(key)) for key in keys]
        return tuple(each.groups if some is None else len(each.asked(some[1:])) for each, some in columns)

    @property
    def text(self) -> str:
        """The canonical text, which identifies the question in the ledger."""
        bins, computed = dict(self.edges), {name for name, column in self.derived if column.is_computed}
        written = {name: name if name in computed else quoted(name) for name in self.by}
        keys = {
            name: f"BIN({written[name]}, {', '.join(map(numeral, bins[name]))})" if name in bins else written[name]
            for name in self.by
        }
        texts = sorted({statistic.text for statistic in self.statistics})
        where = "" if self.where is None else f" WHERE {self.where}"
        group = f" GROUP BY {', '.join(keys.values())}" if keys else ""
        if self.sets:
            tables = (f"({', '.join(keys[name] for name in table)})" for table in self.sets)
            group = f" GROUP BY GROUPING SETS ({', '.join(tables)})"
        return f"SELECT {', '.join(texts)} FROM {quoted(self.source)}{where}{group}"


def named(statistics: Sequence[Statistic], taken: Sequence[str]) -> tuple[Statistic, ...]:
    """Return the statistics, each with a name that is unique, also when followed by _low, _high or _noise."""
    used = {name.casefold() for name in taken}
    renamed = []
    for statistic in statistics:
        name, number = statistic.name or statistic.default_name, 1
        while statistic.name is None and not used.isdisjoint(_columns(name)):
            number += 1
            name = f"{statistic.default_name}_{number}"
        if not used.isdisjoint(_columns(name)):
            allowed = "one that no other column of the release has, also when followed by _low, _high or _noise"
            raise InvalidParameter(name, "name", allowed)
        used |= _columns(name)
        renamed.append(replace(statistic, name=name))
    return tuple(renamed)


def _columns(name: str) -> set[str]:
    return {f"{name.casefold()}{ending}" for ending in ENDINGS}
