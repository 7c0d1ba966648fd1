"""Computed columns as a source declares them: by an expression of other columns, or as a recode of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any

from .. import exact
from ..errors import (
    ConflictingParameters,
    InvalidParameter,
    InvalidRequest,
    InvalidSource,
    RequestError,
    UnsupportedQuery,
    UselessParameter,
)
from ..exact import Number
from .arithmetic import parse_expression
from .asking import key_expression_of
from .bins import bin_edges
from .codes import plain_key
from .derived import bounded, derive
from .expression import Expression, Recode
from .literals import check_expression, check_literals
from .query import Compare, Condition, OneOf, Value
from .schema import Column, Schema, keys, presented


@dataclass(frozen=True)
class Derivation:
    """A column to be computed; make it with ``expression`` or ``recode``."""

    text: str | None = None
    low: Fraction | None = None
    high: Fraction | None = None
    edges: tuple[Fraction, ...] | None = None
    keys: Column | None = None
    origin: str | None = None
    codes: tuple[tuple[Any, str], ...] = ()
    other: str | None = None
    labels: tuple[str, ...] | None = None
    unit: str | None = None
    title: str | None = None

    def column(self, schema: Schema) -> Column:
        """Return the column that is computed from those of a schema."""
        column = derive(self._expression(schema), schema)
        if self.edges is not None and column.grid is not None:
            column = replace(column, edges=self.edges, keys=None)
        if self.keys is not None:
            if column.kind != self.keys.kind:
                raise UnsupportedQuery(f"keys of the type {self.keys.kind}", f"Its values are of type {column.kind}.")
            column = replace(column, keys=self.keys.keys)
        return presented(column, self.labels, self.unit, self.title)

    def _expression(self, schema: Schema) -> Expression | Recode:
        if self.text is None:
            return _recoded(self, schema)
        stated = parse_expression(self.text, schema, key_expression_of)
        if isinstance(stated, Recode):
            if self.low is not None or self.edges is not None or self.keys is not None:
                raise UnsupportedQuery("texts with bounds, edges or keys", "Its texts are its keys.")
            return stated
        check_expression(stated, schema)
        if self.low is not None and self.high is not None:
            return bounded(stated, self.low, self.high)
        return stated


def expression(
    text: str,
    *,
    low: Number | None = None,
    high: Number | None = None,
    edges: Sequence[Number] | None = None,
    keys: Iterable[int] | Mapping[int, str] | None = None,
    labels: Sequence[str] | None = None,
    unit: str | None = None,
    title: str | None = None,
) -> Derivation:
    """Declare a column that is computed from others, such as "hours * wage".

    Args:
        text: an expression of columns that are declared, or computed by declarations before this one.
        low: the lower bound, if it should be narrower than what follows from the columns; smaller values count as it.
        high: the upper bound; give both or none.
        edges: the borders of bins to group by.
        keys: whole numbers to group by; also a mapping to their labels.
        labels: a text for each bin or key, shown beside it.
        unit: the unit of the values.
        title: what the column is, in words.
    """
    if not isinstance(text, str) or not text.strip():
        raise InvalidParameter(text, "expression", "a text such as hours * wage")
    if (low is None) != (high is None):
        raise UselessParameter("low" if high is None else "high", "the other bound is not given", "Give both, or none.")
    ends = (None, None) if low is None or high is None else exact.bounds(low, high)
    if keys is not None and edges is not None:
        raise ConflictingParameters("keys", "edges", "Give the keys to group by, or the edges of bins.")
    listed = None if keys is None else _whole(keys)
    given = labels if labels is not None else (listed.labels if listed is not None else None)
    borders = None if edges is None else bin_edges(edges)
    return Derivation(text, ends[0], ends[1], borders, listed, labels=_texts(given), unit=unit, title=title)


def recode(
    column: str,
    codes: Mapping[Any, str],
    *,
    other: str | None = None,
    labels: Sequence[str] | None = None,
    unit: str | None = None,
    title: str | None = None,
) -> Derivation:
    """Declare a column of keys that groups the values of another, for example {"A": "farming", "B": "mining"}.

    Args:
        column: the column whose values are grouped; it is a column of the table.
        codes: for each of its values, the key that it counts under.
        other: the key for all other values, and for missing ones; without it they are left out.
        labels: a text for each key, shown beside it.
        unit: the unit of the keys.
        title: what the column is, in words.
    """
    if not isinstance(column, str):
        raise InvalidParameter(column, "from", "the name of a declared column")
    if (
        not isinstance(codes, Mapping)
        or not codes
        or not all(isinstance(text, str) and text for text in codes.values())
    ):
        raise InvalidParameter(codes, "recode", 'a table from values to keys, such as {A = "farming", B = "mining"}')
    if other is not None and (not isinstance(other, str) or not other):
        raise InvalidParameter(other, "other", "a text")
    pairs = tuple((plain_key(code), text) for code, text in codes.items())
    return Derivation(origin=column, codes=pairs, other=other, labels=_texts(labels), unit=unit, title=title)


def _texts(labels: Sequence[str] | None) -> tuple[str, ...] | None:
    return tuple(labels) if isinstance(labels, list | tuple) else labels  # type: ignore[return-value]


def _whole(given: Iterable[int] | Mapping[int, str]) -> Column:
    listed = keys(given)
    if listed.kind not in ("integer", "date"):
        raise InvalidParameter(given, "keys", "whole numbers or dates; texts come from a CASE or a recode")
    return listed


def _recoded(derivation: Derivation, schema: Schema) -> Recode:
    """Return the recode of a column of the table: one condition for each key."""
    name, column = schema.column(derivation.origin or "")
    if column.is_computed:
        raise UnsupportedQuery("a recode of a computed column", "Name a column of the table, or write CASE WHEN.")
    values: dict[str, list[Value]] = {}
    for code, text in derivation.codes:
        values.setdefault(text, []).append(_value(code, column))
    cases: list[tuple[Condition, str]] = []
    for text, found in values.items():
        one = Compare(name, "=", found[0])
        ordered = tuple(sorted(found, key=lambda value: (str(type(value)), value)))
        cases.append((one if len(found) == 1 else OneOf(name, ordered), text))
    stated = Recode(tuple(cases), derivation.other)
    for condition, _ in cases:
        check_literals(condition, schema)
    return stated


def _value(code: Any, column: Column) -> Value:
    """Return a code as a value of its column's type; names of TOML's tables are texts."""
    try:
        if column.kind in ("number", "integer"):
            return exact.rational(str(code)) if not isinstance(code, bool) else Fraction(code)
        if column.kind == "boolean":
            return code if isinstance(code, bool) else {"true": True, "false": False}[code]
        if column.kind == "date":
            return code if isinstance(code, date) else date.fromisoformat(code)
    except (ValueError, KeyError, TypeError):
        raise UnsupportedQuery(f"a recode of what is no {column.kind}", "Give values of the column's type.") from None
    if not isinstance(code, str):
        raise UnsupportedQuery("a recode of what is no text", "Give values of the column's type.")
    return code


def with_computed(schema: Schema, derivations: Mapping[str, Derivation]) -> Schema:
    """Return the schema with computed columns; each may name those before it."""
    for name, derivation in derivations.items():
        if not isinstance(name, str) or not name or "\0" in name:
            raise InvalidParameter(name, "column name", "a text")
        if any(each.casefold() == name.casefold() for each in (*schema.columns, schema.person or "")):
            raise InvalidSource(schema.name, f'computes "{name}", which is also another column', "Rename one of them.")
        try:
            column = derivation.column(schema)
        except UnsupportedQuery as refused:
            what, advice = refused.args
            raise InvalidSource(schema.name, f'computes the column "{name}" by {what}', advice) from None
        except RequestError as refused:
            why = str(refused).partition(". ")[0]
            advice = refused.args[1] if isinstance(refused, InvalidRequest) else "Change the declaration."
            raise InvalidSource(schema.name, f'is refused in column "{name}": {why}', advice) from None
        schema = replace(schema, columns={**schema.columns, name: column})
    return schema
