"""Several tables in one question: which combinations of key columns are asked, and the one form that they have.

A table is a set of key columns; its cells are the combinations of their keys, and the table without columns is the
total.  SQL asks for several tables by ROLLUP, CUBE and GROUPING SETS, Python by ``rollup``, ``cube``, ``sets`` and
``marginals``.  However it is written, a question holds its tables in one order (``canonical``): those of fewer columns
first, and tables of as many columns by the places of their columns in ``Query.by``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any, Literal, get_args

from .. import exact
from ..errors import InvalidParameter, MissingParameter, TooLarge, UnsupportedQuery, UselessParameter
from ..exact import Number
from .query import Query, Statistic
from .schema import Schema

KeyTable = tuple[str, ...]
"""The key columns of a table."""

Weights = Mapping[str, Number] | Mapping[KeyTable, Number] | Mapping[str | KeyTable, Number]
"""How much columns count when ε is split, and tables when several are asked."""

Objective = Literal["mean", "minimax", "cells"]
"""What a plan makes small: the mean variance of the tables, the largest one, or the mean variance of all cells."""

MOST_TABLES = 1_000
MOST_KEYS = 60
"""How many key columns all asked tables may have together."""

MOST_MARGINS = 2**11
"""How many tables and margins of them may be planned together."""

MOST_SET_CELLS = 50_000_000
"""How many cells all asked tables may have together."""

_LARGEST_WEIGHT = 10**15
"""How much a table may count at most; its inverse is the least."""

_FITTING = ("count", "sum", "mean", "variance", "std", "proportion")
_REFUSED = {
    "quantile": "quantiles, minima or maxima",
    "people": "COUNT(DISTINCT person)",
    "cdf": "a CDF",
    "histogram": "a histogram",
    "ratio": "a ratio of sums",
}
_FEWER = "Ask for fewer tables, such as lw.marginals(…, upto=2), or in several releases."


@dataclass(frozen=True)
class KeySets:
    """Several tables over key columns, for ``by``; ``cube``, ``rollup``, ``sets`` and ``marginals`` make one."""

    tables: tuple[KeyTable, ...]


Keys = str | KeySets | Sequence[str | KeySets]
"""What ``by`` may be: a column, several tables, or a list of both, of which the combinations are asked."""


def cube(*columns: str | Sequence[str]) -> KeySets:
    """Ask for all tables over these columns: every combination of them, down to the total.

    Columns in brackets stand together: ``lw.cube("sex", ("region", "county"))`` has four tables.
    """
    return KeySets(tuple(cubed(_elements("cube", columns))))


def rollup(*columns: str | Sequence[str]) -> KeySets:
    """Ask for the table over all of these columns, and for its subtotals: without the last column, and so on.

    ``lw.rollup("region", "county")`` has three tables: region and county, region, and the total.  Columns in brackets
    stand together.
    """
    return KeySets(tuple(rolled(_elements("rollup", columns))))


def sets(*tables: str | Sequence[str] | KeySets) -> KeySets:
    """Ask for these tables, each a list of columns: ``lw.sets(("sex", "age"), ("region",), ())``; () is the total."""
    if not tables:
        raise MissingParameter("sets", 'Give one table or more, such as ("sex", "age").')
    nested = [each.tables if isinstance(each, KeySets) else (_element("sets", each),) for each in tables]
    return KeySets(tuple(different(table for some in nested for table in some)))


def marginals(*columns: str, upto: int) -> KeySets:
    """Ask for all tables of up to so many of these columns, from the total on.

    ``lw.marginals("sex", "age", "region", upto=2)`` has seven tables: the total, three columns, and three pairs.
    """
    names = [name for element in _elements("marginals", columns) for name in element]
    most = min(exact.whole(upto, "upto", 10**6), len(names))
    _refuse_many(sum(comb(len(names), size) for size in range(most + 1)))
    return KeySets(tuple(some for size in range(most + 1) for some in combinations(names, size)))


def _elements(call: str, given: Sequence[object]) -> list[KeyTable]:
    """Return the columns that are given, with those that stand together; refuse one that is named twice."""
    if not given:
        raise MissingParameter(call, f'Name one column or more: lw.{call}("sex", "age").')
    elements = [_element(call, each) for each in given]
    _refuse_twice([name for element in elements for name in element])
    return elements


def _element(call: str, given: Any) -> KeyTable:
    columns = (given,) if isinstance(given, str) else given
    if not isinstance(columns, list | tuple) or not all(isinstance(each, str) for each in columns):
        raise InvalidParameter(given, call, 'names of columns, such as "sex", or several in brackets: ("sex", "age")')
    _refuse_twice(columns)
    return tuple(columns)


def _refuse_twice(columns: Sequence[str]) -> None:
    if len(set(columns)) != len(columns):
        raise UnsupportedQuery("a key twice", "Name every key once.")


# --- the algebra of SQL's grouping sets ---


def rolled(elements: Sequence[KeyTable]) -> list[KeyTable]:
    """Return the tables of ROLLUP: all elements, all but the last, and so on to none."""
    _refuse_many(len(elements) + 1)
    return different(_united(elements[:size]) for size in range(len(elements), -1, -1))


def cubed(elements: Sequence[KeyTable]) -> list[KeyTable]:
    """Return the tables of CUBE: every choice of its elements."""
    _refuse_many(2 ** len(elements))
    sizes = range(len(elements), -1, -1)
    return different(_united(some) for size in sizes for some in combinations(elements, size))


def crossed(lists: Iterable[Sequence[KeyTable]]) -> list[KeyTable]:
    """Return the tables of several elements of GROUP BY: each table of one with each table of the others."""
    tables: list[KeyTable] = [()]
    for more in lists:
        tables = different(_united((table, other)) for table in tables for other in more)
    return tables


def different(tables: Iterable[KeyTable]) -> list[KeyTable]:
    """Return the tables, each once: a table is the same whatever the order of its columns."""
    found: dict[frozenset[str], KeyTable] = {}
    for table in tables:
        found.setdefault(frozenset(table), table)
        if len(found) > MOST_TABLES:
            _refuse_many(len(found))
    return list(found.values())


def _united(elements: Iterable[KeyTable]) -> KeyTable:
    return tuple(dict.fromkeys(name for element in elements for name in element))


def _refuse_many(number: int) -> None:
    if number > MOST_TABLES:
        shown = f"{number:,}" if number < 10**9 else "more than 1,000,000,000"
        raise TooLarge("The number of tables", shown, f"{MOST_TABLES:,}", _FEWER)


def canonical(tables: Iterable[KeyTable], first: Iterable[str] = ()) -> tuple[KeyTable, tuple[KeyTable, ...]]:
    """Return the columns of some tables, and the tables in their one order, each with its columns in theirs.

    Columns are in the order in which the tables, so ordered, name them first; the order in which they are given
    (``first``, then the tables) decides where that leaves a choice.  So the tables alone, as the canonical text has
    them, give the same columns.
    """
    left = different(tables)
    given = _united((tuple(first), *left))
    by: list[str] = []
    ordered: list[KeyTable] = []
    for size in sorted({len(table) for table in left}):
        some = [table for table in left if len(table) == size]
        while some:
            places = {name: place for place, name in enumerate(dict.fromkeys((*by, *given)))}
            some = sorted(
                (tuple(sorted(table, key=places.__getitem__)) for table in some), key=lambda t: _at(t, places)
            )
            known = set(by)
            new = next((at for at, table in enumerate(some) if not known.issuperset(table)), len(some) - 1) + 1
            ordered += some[:new]  # up to the first table with a new column, whose place is known now
            by = list(dict.fromkeys((*by, *some[new - 1])))
            some = some[new:]
    return tuple(by), tuple(ordered)


def _at(table: KeyTable, places: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(places[name] for name in table)


# --- what may be asked of several tables ---


def check_statistics(statistics: Iterable[Statistic]) -> None:
    """Refuse, before anything is charged, statistics that several tables cannot have."""
    for each in statistics:
        if each.kind not in _FITTING:
            raise UnsupportedQuery(
                f"{_REFUSED.get(each.kind, each.kind)} of several tables (ROLLUP, CUBE, GROUPING SETS)",
                "Tables that add up have counts, sums, means, variances and shares.  Ask for each table separately.",
            )


def check_cells(query: Query, schema: Schema) -> None:
    """Refuse a question whose tables have more columns or cells than is possible."""
    if len(query.by) > MOST_KEYS:
        raise TooLarge("The number of key columns", str(len(query.by)), str(MOST_KEYS), _FEWER)
    cells = query.groups(schema)
    if cells > MOST_SET_CELLS:
        what = "The number of cells of all tables"
        raise TooLarge(what, f"{cells:,}", f"{MOST_SET_CELLS:,}", "Ask for fewer tables, or group by wider bins.")
    widest = max(map(len, query.sets), default=0)
    margins = {part for table in query.sets for part in _margins(table)} if 2**widest <= MOST_MARGINS else {()}
    if 2**widest > MOST_MARGINS or len(margins) > MOST_MARGINS:
        found = max(2**widest, len(margins))
        what = "The number of tables and of their margins, which all must add up,"
        raise TooLarge(what, f"{found:,}", f"{MOST_MARGINS:,}", "Ask for tables of fewer columns.")


def _margins(table: KeyTable) -> Iterator[KeyTable]:
    for size in range(len(table) + 1):
        yield from combinations(table, size)


def checked_objective(given: object) -> Objective:
    """Return what the plan of several tables makes small."""
    for known in get_args(Objective):
        if given == known:
            return known  # type: ignore[no-any-return]
    raise InvalidParameter(given, "objective", '"mean" (all tables alike), "minimax" (the worst table) or "cells"')


def table_text(table: KeyTable) -> str:
    """Return a table as people read it: its columns in brackets, () for the total."""
    return f"({', '.join(table)})"


def table_weights(query: Query, given: object) -> dict[KeyTable, Fraction]:
    """Return how much each asked table counts in the plan: 1 if nothing is said about it.

    A table is given by its columns, as in ``sets``: {("sex", "age"): 4, "region": 2, (): 1}.
    """
    if not isinstance(given, Mapping):
        raise InvalidParameter(given, "weights", 'a mapping from tables to numbers, such as {("sex", "age"): 4, (): 1}')
    asked = {frozenset(name.casefold() for name in table): table for table in query.sets}
    titles = dict(zip((title.casefold() for title in query.titles), query.by, strict=False))
    weights: dict[KeyTable, Number] = dict.fromkeys(query.sets, 1)
    for table, weight in given.items():
        names = [titles.get(name.casefold(), name) for name in _element("weights", table)]
        found = asked.get(frozenset(name.casefold() for name in names))
        if found is None:
            raise UselessParameter(
                f"A weight for the table {table_text(tuple(names))}", "the question does not ask for it", "Ask for it."
            )
        weights[found] = weight
    return {table: _table_weight(weight) for table, weight in weights.items()}


def _table_weight(given: Number) -> Fraction:
    """Return the weight of a table: a number with which floats can compute."""
    weight = exact.positive(given, "weight")
    if not Fraction(1, _LARGEST_WEIGHT) <= weight <= _LARGEST_WEIGHT:
        raise InvalidParameter(given, "weight", "a positive number from 10^-15 to 10^15, for a table")
    return weight
