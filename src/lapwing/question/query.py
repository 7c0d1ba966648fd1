"""What is asked, as frozen values: statistics, conditions, queries.

A query has one canonical text (``Query.text``): statistics sorted, conditions sorted, no aliases.  It identifies
the question in the ledger, so the same question in other words is the same question.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Literal, overload

from .. import exact
from ..errors import InvalidParameter, MissingParameter, RequestError, UselessParameter
from ..exact import Number
from .expressions import refuse_no_text
from .schema import MOST_BINS, Schema, bin_edges

StatisticKind = Literal[
    "count", "sum", "mean", "variance", "std", "proportion", "histogram", "quantile", "cdf", "people"
]
Value = Fraction | str | bool | date

MOST_PARTS = 10**6
"""The largest denominator of a quantile's share."""

# --- conditions: true, false or (for a missing cell) neither; a row counts if its condition is true ---


@dataclass(frozen=True)
class Compare:
    """A column against a value, or against another column of the same type."""

    column: str
    operator: Literal["=", "<>", "<", "<=", ">", ">="]
    value: Value | None
    other: str | None = None

    def __str__(self) -> str:
        right = quoted(self.other) if self.other is not None else literal(self.value)
        return f"{quoted(self.column)} {self.operator} {right}"


@dataclass(frozen=True)
class OneOf:
    """A column against a list of values."""

    column: str
    values: tuple[Value, ...]

    def __str__(self) -> str:
        return f"{quoted(self.column)} IN ({', '.join(map(literal, self.values))})"


@dataclass(frozen=True)
class Missing:
    """Whether the cell is missing: NULL, or no value of the column's type."""

    column: str

    def __str__(self) -> str:
        return f"{quoted(self.column)} IS NULL"


@dataclass(frozen=True)
class Not:
    """The opposite; neither true nor false if its part is neither."""

    part: Condition

    def __str__(self) -> str:
        return f"NOT ({self.part})"


@dataclass(frozen=True)
class All:
    """All parts are true."""

    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return " AND ".join(_inside(part) for part in self.parts)


@dataclass(frozen=True)
class Some:
    """At least one part is true."""

    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return " OR ".join(_inside(part) for part in self.parts)


Condition = Compare | OneOf | Missing | Not | All | Some


def columns_of(condition: Condition) -> set[str]:
    """Return the columns that a condition uses."""
    if isinstance(condition, All | Some):
        return {name for part in condition.parts for name in columns_of(part)}
    if isinstance(condition, Not):
        return columns_of(condition.part)
    other = condition.other if isinstance(condition, Compare) else None
    return {condition.column} if other is None else {condition.column, other}


def joined(kind: type[All] | type[Some], parts: Sequence[Condition]) -> Condition:
    """Return the parts joined, in canonical order and without repetitions."""
    flat: dict[str, Condition] = {}
    for part in parts:
        for each in part.parts if isinstance(part, kind) else (part,):
            flat[str(each)] = each
    ordered = tuple(flat[text] for text in sorted(flat))
    return ordered[0] if len(ordered) == 1 else kind(ordered)


def _inside(part: Condition) -> str:
    return f"({part})" if isinstance(part, All | Some) else str(part)


def quoted(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: Value | None, number: Callable[[Fraction], str] | None = None) -> str:
    """Return a value as SQL writes it; ``number`` writes numbers, as decimals if it is not given."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, Fraction):
        return (number or numeral)(value)
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    return "'" + str(value).replace("'", "''") + "'"


def numeral(value: Fraction) -> str:
    """Return a number as SQL writes it: a decimal of any length, or p/q if it has none."""
    places = 0
    while places < 1200 and 10**places % value.denominator:
        places += 1
    if 10**places % value.denominator:
        return str(value)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"


def negated(condition: Condition) -> Condition:
    """Return the opposite of a condition, in its shortest form; if one is neither true nor false, so is the other."""
    if isinstance(condition, Not):
        return condition.part
    if isinstance(condition, Compare):
        return replace(condition, operator=_OPPOSITE[condition.operator])  # type: ignore[arg-type]
    return Not(condition)


_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

# --- statistics ---

_LEVELS = {Fraction(0): "min", Fraction(1, 2): "median", Fraction(1): "max"}
_FUNCTIONS = {"count": "COUNT", "sum": "SUM", "mean": "AVG", "histogram": "HISTOGRAM", "cdf": "CDF"}


@dataclass(frozen=True)
class Statistic:
    """One number that is asked for each group; make it with ``count``, ``sum``, ``mean`` and so on.

    ``weight`` is its weight when ε is split among columns, ``error`` the error that is wanted instead.  ``name`` is the
    name of its column in the release.  ``level`` is the level of a quantile, 0 for the minimum and 1 for the maximum.
    ``bins`` is the number of equally wide bins of a distribution function.
    """

    kind: StatisticKind
    column: str | None = None
    condition: str | Condition | None = None
    edges: tuple[Fraction, ...] | None = None
    sample: bool = True
    weight: Fraction | None = None
    error: Fraction | None = None
    name: str | None = None
    level: Fraction | None = None
    bins: int | None = None

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
        inside = "*" if self.column is None else quoted(self.column)
        if self.kind == "people":
            return f"COUNT(DISTINCT {inside})"
        if self.kind in ("variance", "std"):
            function = {"variance": "VAR", "std": "STDDEV"}[self.kind]
            return f"{function}_{'SAMP' if self.sample else 'POP'}({inside})"
        if self.kind == "proportion":
            return f"AVG(CASE WHEN {self.condition} THEN 1 ELSE 0 END)"
        if self.level is not None:
            named = _LEVELS.get(self.level)
            return f"QUANTILE_CONT({inside}, {numeral(self.level)})" if named is None else f"{named.upper()}({inside})"
        return f"{_FUNCTIONS[self.kind]}({inside})"

    @property
    def default_name(self) -> str:
        """The name of its column when the user gives none."""
        kind: str = self.kind
        if self.level is not None:
            kind = _LEVELS.get(self.level, f"q{exact.text(self.level)}")
        return kind if self.column is None or kind == "people" else f"{kind}_{self.column}"


def _statistic(
    kind: StatisticKind,
    column: object,
    weight: Number | None,
    error: Number | None,
    name: str | None,
    *,
    sample: bool = True,
    condition: str | None = None,
    edges: tuple[Fraction, ...] | None = None,
    level: Fraction | None = None,
) -> Statistic:
    if column is not None and not isinstance(column, str):
        raise InvalidParameter(column, "column", "the name of a declared column")
    if name is not None and (not isinstance(name, str) or not name.strip() or not name.isprintable()):
        raise InvalidParameter(name, "name", "a printable text")
    return Statistic(
        kind,
        column,
        condition,
        edges,
        bool(sample),
        None if weight is None else exact.positive(weight, "weight"),
        None if error is None else exact.positive(error, "error"),
        name,
        level,
    )


def count(
    column: str | None = None, *, weight: Number | None = None, error: Number | None = None, name: str | None = None
) -> Statistic:
    """Ask for the number of rows, or of rows where ``column`` is not missing."""
    return _statistic("count", column, weight, error, name)


def people(*, weight: Number | None = None, error: Number | None = None, name: str | None = None) -> Statistic:
    """Ask for the number of people: each counts once in every group they are in.

    Someone in more groups than rows_per_person counts less in each: in g groups, rows_per_person/g.
    """
    return _statistic("people", None, weight, error, name)


def sum(
    column: str, *, weight: Number | None = None, error: Number | None = None, name: str | None = None
) -> Statistic:
    """Ask for the sum of a column."""
    return _statistic("sum", column, weight, error, name)


def mean(
    column: str, *, weight: Number | None = None, error: Number | None = None, name: str | None = None
) -> Statistic:
    """Ask for the mean of a column."""
    return _statistic("mean", column, weight, error, name)


def variance(
    column: str,
    *,
    sample: bool = True,
    weight: Number | None = None,
    error: Number | None = None,
    name: str | None = None,
) -> Statistic:
    """Ask for the variance of a column; ``sample`` divides by n - 1, as SQL's VAR_SAMP does, else by n."""
    return _statistic("variance", column, weight, error, name, sample=sample)


def std(
    column: str,
    *,
    sample: bool = True,
    weight: Number | None = None,
    error: Number | None = None,
    name: str | None = None,
) -> Statistic:
    """Ask for the standard deviation of a column; ``sample`` as for ``variance``."""
    return _statistic("std", column, weight, error, name, sample=sample)


def proportion(
    condition: str, *, weight: Number | None = None, error: Number | None = None, name: str | None = None
) -> Statistic:
    """Ask for the share of rows for which a condition is true, for example "age >= 65"."""
    if not isinstance(condition, str):
        refuse_no_text(condition, "condition")
    return _statistic("proportion", None, weight, error, name, condition=condition)


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
    column: str, q: Number, *, weight: Number | None = None, error: Number | None = None, name: str | None = None
) -> Statistic: ...
@overload
def quantile(
    column: str,
    q: Sequence[Number],
    *,
    weight: Number | None = None,
    error: Number | None = None,
    name: None = None,
) -> list[Statistic]: ...
def quantile(
    column: str,
    q: Number | Sequence[Number],
    *,
    weight: Number | None = None,
    error: Number | None = None,
    name: str | None = None,
) -> Statistic | list[Statistic]:
    """Ask for the value that a share ``q`` of the rows does not exceed; ``error`` counts rows.

    Several quantiles of one column in one release share one measurement: give a list of shares.
    """
    if isinstance(q, Iterable) and not isinstance(q, str):
        shares = list(q)
        if name is not None:
            raise UselessParameter("name", "q is a list, and each quantile needs its own", "Ask for each separately.")
        if not shares:
            raise MissingParameter("q", "Give one share or more, such as 0.5 for the median.")
        given = None if isinstance(q, list | tuple) else q  # of a Series only the type is shown
        return [_statistic("quantile", column, weight, error, None, level=_level(each, given)) for each in shares]
    return _statistic("quantile", column, weight, error, name, level=_level(q))


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
    column: str, *, weight: Number | None = None, error: Number | None = None, name: str | None = None
) -> Statistic:
    """Ask for the median of a column; ``error`` counts rows."""
    return quantile(column, Fraction(1, 2), weight=weight, error=error, name=name)


def min(
    column: str, *, weight: Number | None = None, error: Number | None = None, name: str | None = None
) -> Statistic:
    """Ask for the minimum of a column: a value that only a few rows lie below; ``error`` counts rows."""
    return quantile(column, 0, weight=weight, error=error, name=name)


def max(
    column: str, *, weight: Number | None = None, error: Number | None = None, name: str | None = None
) -> Statistic:
    """Ask for the maximum of a column: a value that only a few rows lie above; ``error`` counts rows."""
    return quantile(column, 1, weight=weight, error=error, name=name)


# --- queries ---


@dataclass(frozen=True)
class Query:
    """Statistics of a source for every group of the keys ``by``, over the rows where ``where`` is true.

    ``edges`` holds the bins that the query itself gives for a column, ``titles`` other names for the keys.
    """

    source: str
    statistics: tuple[Statistic, ...]
    by: tuple[str, ...] = ()
    where: Condition | None = None
    edges: tuple[tuple[str, tuple[Fraction, ...]], ...] = ()
    titles: tuple[str, ...] = ()

    def groups(self, schema: Schema) -> int:
        """Return the number of groups, each of which will be in the answer."""
        bins = dict(self.edges)
        return math.prod(len(bins[key]) - 1 if key in bins else schema.columns[key].groups for key in self.by)

    @property
    def text(self) -> str:
        """The canonical text, which identifies the question in the ledger."""
        bins = dict(self.edges)
        keys = [
            f"BIN({quoted(name)}, {', '.join(map(numeral, bins[name]))})" if name in bins else quoted(name)
            for name in self.by
        ]
        texts = sorted({statistic.text for statistic in self.statistics})
        where = "" if self.where is None else f" WHERE {self.where}"
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"SELECT {', '.join(texts)} FROM {quoted(self.source)}{where}{group}"


def named(statistics: Sequence[Statistic], taken: Sequence[str]) -> tuple[Statistic, ...]:
    """Return the statistics, each with a name that is unique, also when followed by _low or _high."""
    used = {name.casefold() for name in taken}
    renamed = []
    for statistic in statistics:
        name, number = statistic.name or statistic.default_name, 1
        while statistic.name is None and not used.isdisjoint(_columns(name)):
            number += 1
            name = f"{statistic.default_name}_{number}"
        if not used.isdisjoint(_columns(name)):
            allowed = "one that no other column of the release has, also when followed by _low or _high"
            raise InvalidParameter(name, "name", allowed)
        used |= _columns(name)
        renamed.append(replace(statistic, name=name))
    return tuple(renamed)


def _columns(name: str) -> set[str]:
    return {f"{name.casefold()}{ending}" for ending in ("", "_low", "_high")}
