"""A question in the words of Python or SQL → its plan; the same for a table here and for one on a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..errors import ConflictingParameters, InvalidParameter
from ..exact import Number
from ..noise.mechanism import NINETY_FIVE
from ..question import sql
from ..question.cut import WHOLE, Cut
from ..question.query import Query, Statistic
from ..question.schema import Schema
from ..question.sets import Keys, KeyTable, Objective, Weights
from ..question.statement import read
from .plan import Plan
from .planning import make_plan
from .rates import better_ways

Statistics = Sequence[Statistic | Sequence[Statistic] | str]
"""What is asked: statistics, or one text of SQL."""


class QuestionAsked(NamedTuple):
    """The question, what is shown of its answer, and how much each of several tables counts."""

    query: Query
    cut: Cut
    tables: dict[KeyTable, Number]


def plan_asked(
    schema: Schema,
    statistics: Statistics,
    by: Keys | None = None,
    where: str | None = None,
    *,
    epsilon: Number | None = None,
    error: Number | Mapping[str, Number] | None = None,
    weights: Weights | None = None,
    objective: Objective = "mean",
    confidence: Number = NINETY_FIVE,
    rows: int = 1000,
    intervals: bool = True,
) -> Plan:
    """Return the plan of what is asked; the parameters are those of ``Source.plan``."""
    query, cut, tables = asked(schema, statistics, by, where, weights)
    if isinstance(error, Mapping):
        for name in error:
            if not isinstance(name, str):
                raise InvalidParameter(name, "name in error", "that of a statistic")
        query, error = sql.aimed(query, error), None
    plan = make_plan(
        schema,
        query,
        epsilon=epsilon,
        error=error,
        confidence=confidence,
        rows=rows,
        intervals=intervals,
        tables=tables,
        objective=objective,
    )
    return replace(plan, shown=cut, better=better_ways(plan))


def asked(
    schema: Schema, statistics: Statistics, by: Keys | None, where: str | None, weights: Weights | None
) -> QuestionAsked:
    """Return the question, checked against the schema."""
    cut = WHOLE
    if len(statistics) == 1 and isinstance(statistics[0], str):
        if by or where is not None:
            given = "by" if by else "where"
            raise ConflictingParameters("SQL", given, "Put it into the SQL, as GROUP BY or WHERE.")
        query, cut = read(statistics[0], schema)
    else:
        query = sql.make_query(statistics, by, where, schema)  # type: ignore[arg-type]
    if not isinstance(weights, Mapping):
        return QuestionAsked(query if weights is None else sql.weighted(query, weights, schema), cut, {})
    columns = {name: weight for name, weight in weights.items() if not isinstance(name, tuple)}
    tables = {table: weight for table, weight in weights.items() if isinstance(table, tuple)}
    return QuestionAsked(sql.weighted(query, columns, schema), cut, tables)
