"""What is shown of an answer: HAVING, ORDER BY, LIMIT and OFFSET, as frozen values.

They are about released numbers, and no part of the question: the whole answer is measured, charged and recorded once,
and a cut selects and orders rows of it afterwards (``release/cutting``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from sqlglot import exp

from ..errors import InvalidParameter, UnsupportedQuery
from .bins import bin_names
from .codes import Key
from .condition import condition_of, only, parsed, written
from .literals import check_literals, quotable
from .query import Condition, Query, columns_of, expressions_of, quoted
from .schema import Column, Schema, plain

PARTS = ("having", "order", "limit", "offset")
"""The parts of a SELECT that cut its answer."""

_ENDINGS = ("", "_low", "_high")
_WHOLE = "Write a whole number, for example LIMIT 10."

Meaning = Callable[[exp.Expression], str | None]
"""Which column of the answer a tree means, by its name; None if it means none by itself."""


@dataclass(frozen=True)
class Order:
    """A column by which an answer is ordered."""

    column: str
    descending: bool = False

    def __str__(self) -> str:
        return quoted(self.column) + (" DESC" if self.descending else "")


@dataclass(frozen=True)
class Cut:
    """Which rows of an answer are shown, and in which order; the names are those of the answer's columns.

    ``having`` selects rows and ``order`` orders them; the first ``offset`` are left out, and at most ``limit`` shown.
    """

    having: Condition | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0

    @property
    def text(self) -> str:
        """The cut as SQL writes it."""
        return " ".join(
            [
                *([] if self.having is None else [f"HAVING {self.having}"]),
                *([f"ORDER BY {', '.join(map(str, self.order))}"] if self.order else []),
                *([] if self.limit is None else [f"LIMIT {self.limit}"]),
                *([f"OFFSET {self.offset}"] if self.offset else []),
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the cut for JSON."""
        return {
            "having": None if self.having is None else str(self.having),
            "order_by": [{"name": each.column, "descending": each.descending} for each in self.order],
            "limit": self.limit,
            "offset": self.offset,
        }

    def notes(self, keys: Collection[str], *, simultaneous: bool) -> list[str]:
        """Return what a reader of the rows should know: noise decides which they are, unless only keys do."""
        notes = []
        if self.having is not None and not columns_of(self.having) <= set(keys):
            notes.append("HAVING compares noisy numbers: noise decides whether a row near the limit is shown.")
        if not {each.column for each in self.order} <= set(keys) and (self.limit is not None or self.offset):
            notes.append("Ranks are those of noisy numbers: the largest tend to be too large, the smallest too small.")
        if notes and not simultaneous:
            notes.append("For rows chosen so, only bars for all cells at once (simultaneous) hold as stated.")
        return notes


WHOLE = Cut()
"""The whole answer, in the public order of its keys."""


def answer_columns(query: Query, schema: Schema) -> Schema:
    """Return the columns of the answer that a cut may name: the keys, and value, low and high of each statistic."""
    bins, columns = dict(query.edges), {}
    for key, title in zip(query.by, query.titles or query.by, strict=True):
        column = schema.columns[key]
        values = column.asked(bin_names(bins[key], column)) if key in bins else column.group_keys or ()
        columns[title] = _of_keys(values)
    columns |= {name: plain("integer") for name, _ in query.grouping}
    for statistic in query.statistics:
        columns |= {f"{statistic.name}{ending}": plain("number") for ending in _ENDINGS}
    return Schema("the answer", columns)


def _of_keys(values: Sequence[Key]) -> Column:
    """Return the column of an answer that has these keys, as long as they are of one type."""
    column = plain(key_kind(values))
    return replace(column, keys=tuple(values)) if len(set(map(type, values))) == 1 else column


def key_kind(values: Iterable[object]) -> str:
    """Return the type of keys; those of several types are compared as texts."""
    names: Mapping[type, str] = {bool: "boolean", int: "integer", str: "text", date: "date"}
    kinds = {names.get(type(value), "text") for value in values}
    return kinds.pop() if len(kinds) == 1 else "text"


def cut_of(select: exp.Select, answer: Schema, meaning: Meaning, items: Callable[[exp.Literal], str]) -> Cut:
    """Return what HAVING, ORDER BY, LIMIT and OFFSET of a SELECT say; ``items`` names the item that a number means."""
    having, order, limit, offset = (select.args.get(part) for part in PARTS)
    condition = None
    if having is not None:
        only(having, "this")
        condition = condition_of(_named(having.this, answer, meaning), answer)
        if expressions_of(condition):
            raise UnsupportedQuery("a calculation in HAVING", "Compare columns of the answer with values.")
        check_literals(condition, answer)
    if order is not None:
        only(order, "expressions")
    keys = [] if order is None else [_order(each, answer, meaning, items) for each in order.expressions]
    return Cut(condition, tuple(keys), _limit(limit), 0 if offset is None else _offset(offset))


def parsed_cut(having: str | None, order_by: str | Sequence[str] | None) -> exp.Select:
    """Return a SELECT with these parts, of which the cut is read."""
    select = exp.Select()
    if having is not None:
        _check_text(having, "having", '"count >= 100"')
        select.set("having", exp.Having(this=parsed(f"SELECT 1 WHERE {having}", "where").this))
    if order_by is not None:
        texts: list[Any] = list(order_by) if isinstance(order_by, list | tuple) else [order_by]
        for each in texts:
            _check_text(each, "order_by", '"count DESC", or several such texts')
        if texts:
            select.set("order", parsed(f"SELECT 1 ORDER BY {', '.join(texts)}", "order"))
    return select


def _check_text(text: object, name: str, example: str) -> None:
    if not isinstance(text, str):
        raise InvalidParameter(text, name, f"a text such as {example}")


def _named(tree: exp.Expression, answer: Schema, meaning: Meaning) -> exp.Expression:
    """Return a tree in which everything that means a column of the answer is that column."""
    holder = exp.Tuple(expressions=[tree])
    stack = [tree]
    while stack:
        node = stack.pop()
        name = meaning(node)
        if name is not None:
            node.replace(exp.column(exp.to_identifier(name, quoted=True)))
        elif isinstance(node, exp.Column):
            raise UnsupportedQuery(
                f"the unknown name {quotable(quoted(node.name))} in HAVING or ORDER BY",
                f"The answer has {quotable(', '.join(answer.columns))}.",
            )
        else:
            stack.extend(node.iter_expressions())
    return holder.expressions[0]  # type: ignore[no-any-return]


def _order(node: exp.Expression, answer: Schema, meaning: Meaning, items: Callable[[exp.Literal], str]) -> Order:
    only(node, "this", "desc", "nulls_first")  # where nothing is missing, NULLS FIRST and LAST are the same
    by = node.this
    if isinstance(by, exp.Literal) and not by.is_string:
        return Order(items(by), bool(node.args.get("desc")))
    by = _named(by, answer, meaning)
    if not isinstance(by, exp.Column):
        raise UnsupportedQuery(f"ORDER BY {written(by)}", "Order by a name of SELECT, by its number, or by a key.")
    return Order(str(by.this.this), bool(node.args.get("desc")))


def _limit(node: exp.Expression | None) -> int | None:
    if node is None:
        return None
    if isinstance(node, exp.Fetch):
        only(node, "direction", "count", "limit_options")
        options = node.args.get("limit_options")
        if node.args.get("direction") not in ("FIRST", "NEXT") or (options is not None and _unusual(options)):
            raise UnsupportedQuery("this FETCH", "Write FETCH FIRST 10 ROWS ONLY.")
        return 1 if node.args.get("count") is None else _whole(node.args["count"], "FETCH")
    if node.args.get("limit_options") is not None:
        raise UnsupportedQuery("LIMIT with a percentage or ties", _WHOLE)
    only(node, "expression")
    return _whole(node.args["expression"], "LIMIT")


def _unusual(options: exp.Expression) -> bool:
    return bool(options.args.get("percent") or options.args.get("with_ties"))


def _offset(node: exp.Expression) -> int:
    only(node, "expression")
    return _whole(node.args["expression"], "OFFSET")


def _whole(node: exp.Expression, part: str) -> int:
    digits = str(node.this) if isinstance(node, exp.Literal) and not node.is_string else ""
    if not digits.isascii() or not digits.isdigit() or len(digits) > 15:
        raise UnsupportedQuery(f"{part} without a whole number", _WHOLE)
    return int(digits)
