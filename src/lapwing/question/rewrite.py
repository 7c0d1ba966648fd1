"""SQL as people write it → the plain SELECT from the source that ``sql`` reads: tree → tree.

A table alias, qualified names, GROUP BY by number or ALL, and WITH or a subquery in FROM that only filters, renames and
computes row by row are other ways to write the same question, and get the same canonical text.  A name of a subquery
stands for the expression that defines it, and the conditions of all levels are joined by AND: each row of the subquery
is one row of the source, so that the question reads the same rows of each person.  Whatever mixes rows there
(aggregates, DISTINCT, LIMIT, windows, joins, UNION) is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import NoReturn

from sqlglot import exp
from sqlglot.tokens import Tokenizer

from ..errors import UnsupportedQuery
from .advice import UNKNOWN_AGGREGATES
from .condition import numeral, only, refuse, written
from .literals import quotable
from .query import quoted
from .quotes import refuse_quotes
from .schema import Schema

_MOST_LEVELS = 5
_MOST_NODES = 5_000
"""How many nodes the names of subqueries may stand for, all together."""

_WORDS = ("SYMMETRIC", "ASYMMETRIC", "SAMPLE", "PREWHERE", "TOTALS", "TIES", "ONLY", "FINAL")
"""Words of some SQL, beside those that sqlglot knows, which are no alias without quotes."""

_WHY = "A row of a subquery must be one row of the source: rows of several people must not be mixed before the noise."
INNER = "inner joins"
"""In a tree: for each join without LEFT, the columns that it adds."""

_MIXING: dict[str, tuple[str, str]] = {
    "group": ("GROUP BY in a subquery", "Group in the outer SELECT."),
    "having": ("HAVING in a subquery", "Put it at the end of the outer SELECT: it filters the released numbers."),
    "distinct": (
        "DISTINCT in a subquery",
        "COUNT(DISTINCT person) in the outer SELECT counts people, and COUNT(*) / COUNT(DISTINCT person) their rows.",
    ),
    "limit": ("LIMIT in a subquery", "Filter rows by WHERE, or put LIMIT at the end: it cuts the released numbers."),
    "offset": ("OFFSET in a subquery", "Put it at the end of the outer SELECT: it cuts the released numbers."),
    "order": ("ORDER BY in a subquery", "Put it at the end of the outer SELECT: it orders the released numbers."),
    "joins": ("a join in a subquery", "The owner of the source can declare the join, with [[join]]."),
    "qualify": ("QUALIFY in a subquery", "Filter rows by WHERE."),
    "with_": ("WITH in a subquery", "Put WITH before the first SELECT."),
}  # fmt: skip
"""What mixes rows in a subquery, by the argument that holds it, and what to write instead."""


@dataclass(frozen=True)
class _Rows:
    """Rows to select from: those of the source for which all of ``where`` are true.

    ``called`` is the name that may stand before a column.  ``columns`` are the expressions that the names stand for, by
    their folded names and over the source; None stands for the source itself.  ``joined`` are the tables that the
    question joins as the source declares it: what their columns are called there, and by the source.
    """

    called: str | None
    columns: Mapping[str, exp.Expression] | None = None
    where: tuple[exp.Expression, ...] = ()
    joined: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


class _Budget:
    """How many nodes may still be put in place of names: names that stand for each other twice run out of it."""

    def __init__(self) -> None:
        self._left = _MOST_NODES

    def copy(self, tree: exp.Expression) -> exp.Expression:
        """Return a copy of a tree, or refuse it."""
        for _ in tree.walk():
            self._left -= 1
            if self._left < 0:
                raise UnsupportedQuery("names that stand for too much", "Write a shorter question, or several.")
        return tree.copy()


def plain(select: exp.Select, schema: Schema) -> exp.Select:
    """Return the SELECT from the source itself that asks the same; HAVING, ORDER BY and LIMIT stay where they are."""
    budget, named = _Budget(), _Named(schema)
    named.read(select.args.get("with_"), budget)
    select.set("with_", None)
    if select.args.get("from_") is None:
        return select
    rows = named.rows(select.args["from_"], budget)
    for join in select.args.get("joins") or ():
        rows = _joined(join, rows, schema, select)
    select.set("joins", None)
    named.refuse_unused()
    _name_groups(select)
    shown = {item.alias_or_name.casefold() for item in select.expressions}
    select.set("expressions", [_item(item, rows, budget) for item in select.expressions])
    for part in ("where", "group", "having", "order"):
        if isinstance(tree := select.args.get(part), exp.Expression):
            select.set(part, _resolved(tree, rows, budget, () if part == "where" else shown, part))
    for condition in rows.where:
        where, inner = select.args.get("where"), budget.copy(condition)
        select.set("where", exp.Where(this=inner if where is None else exp.And(this=where.this, expression=inner)))
    _drop_truisms(select)
    select.set("from_", exp.From(this=exp.Table(this=exp.to_identifier(schema.name, quoted=True))))
    return select


def _drop_truisms(select: exp.Select) -> None:
    """Leave out 1 = 1 and TRUE, which programs put before the conditions of WHERE."""
    where = select.args.get("where")
    parts = [] if where is None else list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
    kept = [part for part in parts if not _is_truism(part)]
    if len(kept) < len(parts):
        select.set("where", exp.Where(this=reduce(lambda a, b: exp.And(this=a, expression=b), kept)) if kept else None)


def _is_truism(part: exp.Expr) -> bool:
    if isinstance(part, exp.EQ):
        value = numeral(part.this)
        return value is not None and value == numeral(part.expression)
    return isinstance(part, exp.Boolean) and bool(part.this)


def is_aggregate(node: exp.Expr) -> bool:
    """Return whether an item of SELECT has an aggregate in it."""
    return any(
        isinstance(each, exp.AggFunc) or (each.key == "anonymous" and str(each.this).upper() in UNKNOWN_AGGREGATES)
        for each in node.walk()
    )


# --- FROM and WITH ---


class _Named:
    """What may stand in FROM: the source, and the names that WITH gives to subqueries."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._rows: dict[str, _Rows] = {}
        self._unused: list[str] = []

    def read(self, part: exp.Expression | None, budget: _Budget) -> None:
        """Read WITH: each name stands for rows, and may be used by what comes after it."""
        if part is None:
            return
        if part.args.get("recursive"):
            raise UnsupportedQuery("WITH RECURSIVE", f"{_WHY}  Write WITH, or WHERE.")
        only(part, "expressions")
        if len(part.expressions) > _MOST_LEVELS:
            raise UnsupportedQuery(f"more than {_MOST_LEVELS} names in WITH", "Write one SELECT, with WHERE.")
        for cte in part.expressions:
            only(cte, "this", "alias")
            only(cte.args["alias"], "this")
            name = cte.alias
            if name.casefold() in self._rows:
                raise UnsupportedQuery(f"WITH {quotable(name)} twice", "Give each a name of its own.")
            rows = self._subquery(cte.this, name, budget, 1)
            self._rows[name.casefold()] = rows
            self._unused.append(name)

    def refuse_unused(self) -> None:
        """Refuse a name of WITH that nothing selects from."""
        if self._unused:
            advice = "Leave it out, or select from it."
            raise UnsupportedQuery(f"the unused WITH {quotable(self._unused[0])}", advice)

    def rows(self, part: exp.Expression, budget: _Budget, level: int = 0) -> _Rows:
        """Return the rows that FROM names."""
        only(part, "this")
        table = part.this
        if level > _MOST_LEVELS:
            raise UnsupportedQuery("a subquery that is nested too deeply", "Write one SELECT, with WHERE.")
        if isinstance(table, exp.Subquery):
            only(table, "this", "alias")
            return self._subquery(table.this, _alias(table), budget, level + 1)
        if not isinstance(table, exp.Table):
            refuse(table, " in FROM")
        only(table, "this", "alias", "joins")
        if table.args.get("joins"):
            refuse(table.args["joins"][0])
        if not isinstance(table.this, exp.Identifier):
            refuse(table.this, " in FROM")
        name, called = table.name, _alias(table) or table.name
        if (below := self._rows.get(name.casefold())) is not None:
            self._unused = [each for each in self._unused if each.casefold() != name.casefold()]
            return _Rows(called, below.columns, below.where)
        if name.casefold() != self._schema.name.casefold():
            raise UnsupportedQuery("a table other than the source", f'Write FROM "{self._schema.name}".')
        return _Rows(called)

    def _subquery(self, select: exp.Expression, called: str | None, budget: _Budget, level: int) -> _Rows:
        """Return the rows of a subquery, which only filters, renames and computes row by row."""
        while isinstance(select, exp.Subquery):  # brackets around brackets
            only(select, "this")
            select = select.this
        if not isinstance(select, exp.Select):
            refuse(select)
        for part, (what, advice) in _MIXING.items():
            if select.args.get(part):
                raise UnsupportedQuery(what, f"{_WHY}  {advice}")
        only(select, "expressions", "from_", "where")
        if select.args.get("from_") is None:
            raise UnsupportedQuery("a subquery without FROM", f'Write FROM "{self._schema.name}".')
        below = self.rows(select.args["from_"], budget, level)
        if below.columns is None:
            self._check_declared(select)
        columns: dict[str, exp.Expression] = {}
        for item in select.expressions:
            for name, tree in self._defined(item, below, budget):
                if name in columns:
                    raise UnsupportedQuery(f"two columns {quotable(quoted(name))} in a subquery", "Rename one by AS.")
                columns[name] = tree
        where = below.where
        if (condition := select.args.get("where")) is not None:
            only(condition, "this")
            _refuse_mixing(condition.this)
            where = (*where, _resolved(condition.this, below, budget))
        return _Rows(called, columns, where)

    def _check_declared(self, select: exp.Select) -> None:
        """Refuse a column that the source does not declare, also one that the outer SELECT does not use."""
        known = {name.casefold() for name in (*self._schema.columns, self._schema.person or "")}
        for column in select.find_all(exp.Column):
            if not column.is_star and column.name.casefold() not in known:
                refuse_quotes(column.parent or column, self._schema.columns)
                self._schema.column(column.name)

    def _defined(self, item: exp.Expression, below: _Rows, budget: _Budget) -> list[tuple[str, exp.Expression]]:
        """Return the folded names that an item of a subquery defines, and what they stand for."""
        if item.is_star and isinstance(item, exp.Star | exp.Column):
            star = item if isinstance(item, exp.Star) else item.this
            if any(star.args.values()):
                raise UnsupportedQuery("* with exceptions", "Name the columns, or write * alone.")
            if isinstance(item, exp.Column):
                _check_qualifier(item, below)
            if below.columns is not None:
                return [(name, budget.copy(tree)) for name, tree in below.columns.items()]
            person = {} if self._schema.person is None else {self._schema.person: None}
            names = {**person, **self._schema.columns}
            return [(name.casefold(), exp.column(exp.to_identifier(name, quoted=True))) for name in names]
        if not isinstance(item, exp.Alias | exp.Column):
            _refuse_mixing(item)
            raise UnsupportedQuery(f"{written(item)} without a name, in a subquery", "Name it: … AS name.")
        name, tree = item.alias_or_name, item.this if isinstance(item, exp.Alias) else item
        if isinstance(item, exp.Alias):
            only(item, "this", "alias")
        _refuse_mixing(tree)
        return [(name.casefold(), _resolved(tree, below, budget))]


def _joined(join: exp.Join, rows: _Rows, schema: Schema, select: exp.Select) -> _Rows:
    """Return the rows with a table that the question joins in the words of SQL, as the source declares it."""
    table = join.this if isinstance(join.this, exp.Table) else None
    called = "" if table is None else table.name.casefold()
    declared = next((each for each in schema.joins if each.name.casefold() == called), None)
    words = [join.args.get(word) for word in ("side", "kind", "method")]
    known = words in ([None] * 3, [None, "INNER", None], ["LEFT", None, None], ["LEFT", "OUTER", None])
    if table is not None and declared is None and schema.joins:
        some = ", ".join([name for each in schema.joins for name, _ in each.columns][:20])
        advice = f"Name the columns that the source joins like its own, without JOIN: {quotable(some)}."
        raise UnsupportedQuery("a join of a table that the source does not name so", advice)
    if table is None or declared is None or rows.columns is not None or not known:
        refuse(join)
    only(join, "this", "side", "kind", "on", "using")
    only(table, "this", "alias")
    alias, (own, there) = _alias(table) or table.name, declared.on or (str(schema.person), str(declared.person))
    tables = {str(rows.called).casefold(): False, alias.casefold(): True}
    if _sides(join, own.casefold(), tables) != {(False, own.casefold()), (True, there.casefold())}:
        on = f"ON {rows.called}.{own} = {alias}.{there}"
        raise UnsupportedQuery("a join by something else than the source declares", f"Write {quotable(on)}.")
    columns = {there.casefold(): name for name, there in declared.columns}
    if words[0] is None:
        select.meta.setdefault(INNER, []).append(tuple(columns.values()))
    return replace(rows, joined={**rows.joined, alias.casefold(): columns})


def _sides(join: exp.Join, own: str, tables: Mapping[str, bool]) -> set[tuple[bool, str]]:
    """Return the columns that a join compares, and whether each is one of the joined table."""
    if using := join.args.get("using"):
        return {(joined, each.name.casefold()) for joined in (False, True) for each in using}
    on = join.args.get("on")
    sides = [on.this, on.expression] if isinstance(on, exp.EQ) else []
    names = [(each.table.casefold(), each.name.casefold()) for each in sides if isinstance(each, exp.Column)]
    return {(tables.get(table, name != own), name) for table, name in names if not table or table in tables}


def _alias(table: exp.Expression) -> str | None:
    alias = table.args.get("alias")
    if alias is None:
        return None
    only(alias, "this")
    name = str(alias.name)
    if not alias.this.args.get("quoted") and (name.upper() in Tokenizer.KEYWORDS or name.upper() in _WORDS):
        raise UnsupportedQuery(f"{quotable(name.upper())} after a table", "As its alias, write it in double quotes.")
    return name


def _refuse_mixing(tree: exp.Expression) -> None:
    """Refuse what is no function of one row."""
    for node in tree.walk():
        if isinstance(node, exp.Window):
            raise UnsupportedQuery("a window function in a subquery", f"{_WHY}  Group by a key column instead.")
        if isinstance(node, exp.Query | exp.Exists) and isinstance(node, exp.Expression):
            refuse(node)
        if isinstance(node, exp.AggFunc | exp.Anonymous) and is_aggregate(node):
            raise UnsupportedQuery("an aggregate in a subquery", f"{_WHY}  Put it into the outer SELECT.")


# --- names ---


def _name_groups(select: exp.Select) -> None:
    """Write GROUP BY 1, 2 and GROUP BY ALL with the items of SELECT that they mean."""
    group = select.args.get("group")
    if not isinstance(group, exp.Group):
        return
    items = [item.this if isinstance(item, exp.Alias) else item for item in select.expressions]
    if group.args.get("all") and not group.expressions:
        group.set("all", None)
        group.set("expressions", [item.copy() for item in items if not is_aggregate(item)])
        if not group.expressions:
            select.set("group", None)
        return
    _name_items(group, items)


def _name_items(group: exp.Expression, items: Sequence[exp.Expression]) -> None:
    """Write what the items of GROUP BY mean, also those inside ROLLUP, CUBE, GROUPING SETS and brackets."""
    for name in ("expressions", "rollup", "cube", "grouping_sets", "this"):
        value = group.args.get(name)
        if isinstance(value, list):
            group.set(name, [_meant(item, items) for item in value])
        elif isinstance(value, exp.Expression):
            group.set(name, _meant(value, items))


def _meant(item: exp.Expression, items: Sequence[exp.Expression]) -> exp.Expression:
    """Return what an item of GROUP BY means: a number is the item of SELECT at that place."""
    if isinstance(item, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple):
        _name_items(item, items)
        return item
    if not isinstance(item, exp.Literal) or item.is_string:
        return item
    meant = items[position(item, items, "GROUP BY")]
    if (window := meant.find(exp.Window)) is not None:
        refuse(window)
    if is_aggregate(meant):
        raise UnsupportedQuery(f"an aggregate in GROUP BY (item {item.this})", "Group by the keys in SELECT.")
    return meant.copy()


def position(node: exp.Literal, items: Collection[object], part: str) -> int:
    """Return the index of the item of SELECT that a number in GROUP BY or ORDER BY means."""
    digits = str(node.this)
    number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 5 else 0
    if not 1 <= number <= len(items):
        advice = f"Write a number from 1 to {len(items)}, or a name."
        raise UnsupportedQuery(f"{part} {quotable(digits)} beyond the columns of the answer", advice)
    return number - 1


def _item(item: exp.Expression, rows: _Rows, budget: _Budget) -> exp.Expression:
    """Return an item of SELECT over the source; a column that a subquery renamed or computed keeps its name."""
    resolved = _resolved(item, rows, budget)
    if not isinstance(item, exp.Column) or resolved is item or resolved.name.casefold() == item.name.casefold():
        return resolved
    return exp.Alias(this=resolved, alias=exp.to_identifier(item.name, quoted=True))


def _resolved(
    tree: exp.Expression, rows: _Rows, budget: _Budget, shown: Collection[str] = (), part: str = "where"
) -> exp.Expression:
    """Return a tree over the source: each name of a subquery is replaced by what it stands for.

    ``shown`` are the names of the answer's columns, which GROUP BY may use too, and which come first in HAVING and
    ORDER BY, but not inside an aggregate.
    """
    holder = exp.Tuple(expressions=[tree])
    calls = holder.find_all(exp.AggFunc, exp.Anonymous) if shown else ()
    inside = {id(column) for call in calls for column in call.find_all(exp.Column)}
    meant: list[tuple[exp.Expression, exp.Expression]] = []
    for column in list(holder.find_all(exp.Column)):
        if column.is_star:
            continue
        outside = not column.table and id(column) not in inside
        name = column.name.casefold()
        if part in ("having", "order") and outside and name in shown:
            continue
        _check_qualifier(column, rows)
        column.set("table", None)
        if rows.columns is None:
            continue
        if name in rows.columns:
            meant.append((column, budget.copy(rows.columns[name])))
        elif not (outside and (name in shown or part in ("having", "order"))):  # those are about the answer
            _refuse_unknown(column, rows.columns)
    _replace(meant)
    return holder.expressions[0]  # type: ignore[no-any-return]


def _replace(meant: Sequence[tuple[exp.Expression, exp.Expression]]) -> None:
    """Put new nodes in the place of others: each list of nodes is written once, however many of them change."""
    new = {id(old): tree for old, tree in meant}
    for parent in {id(old.parent): old.parent for old, _ in meant if old.parent is not None}.values():
        for name, value in list(parent.args.items()):
            if isinstance(value, list):
                parent.set(name, [new.get(id(each), each) for each in value])
            elif id(value) in new:
                parent.set(name, new[id(value)])


def _check_qualifier(column: exp.Column, rows: _Rows) -> None:
    if column.args.get("db") is not None or column.args.get("catalog") is not None:
        raise UnsupportedQuery(f"`{quotable(column.sql())}`", "Write the name of the column, alone or as table.column.")
    joined = rows.joined.get(column.table.casefold())
    if joined is not None and column.name.casefold() in joined:
        column.set("this", exp.to_identifier(joined[column.name.casefold()], quoted=True))
        return
    if column.table and (rows.called is None or column.table.casefold() != rows.called.casefold()):
        instead = "Write the name of the column alone"
        advice = f"{instead}." if rows.called is None else f"{instead}, or as {quotable(rows.called)}.column."
        raise UnsupportedQuery(f"`{quotable(column.sql())}` of an unknown table", advice)


def _refuse_unknown(column: exp.Column, columns: Mapping[str, object]) -> NoReturn:
    refuse_quotes(column.parent or column, columns)
    some = ", ".join(list(columns)[:20]) or "nothing"
    raise UnsupportedQuery(
        f"the name {quotable(quoted(column.name))} unknown in the subquery",
        f"It selects {quotable(some)}: add the column to its SELECT.",
    )
