"""An audit of the user's own function: whether one row can move it further than its claimed sensitivity.

The sensitivity of f is the largest L1 distance |f(D) - f(D′)| over all neighbors D, D′.  Noise that was scaled for a
smaller number protects less than claimed.  ``audit_function`` makes up tables of rows from a domain, compares
neighbors, and shows the smallest pair that breaks the claim.  A search that finds nothing is a proof only if it has
compared all pairs, and only for tables of these sizes and rows.

The comparison is exact: ints, fractions, and floats as the fractions they are.  A claim counts as broken if the
distance exceeds it by more than a billionth of it, which is more than the usual rounding error of floats.

A table of people has no order.  Each is given to f in the order of the domain and in others (all, up to three rows;
backwards and shuffled, above), and answers that differ by more than a billionth of the claim break it too.  So
these tolerances, for the order and for the distance, cost at most three billionths more ε.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .. import exact
from ..errors import InvalidParameter, InvalidRequest
from ..exact import Number
from ..question.schema import Column
from ..sensitivity import Neighbors
from .tools.distance import Raised, as_json, ask, distance, read, shown, written
from .tools.domain import make_domain
from .tools.search import Case, Kind, Search, Searched

TRIES = 100_000
_AGAIN = 100
ROWS = range(1, 5)

_REASONS: dict[Kind, str] = {
    "repeat": "f gives a different answer when it is called again with the same table",
    "error": "f raises an error for one neighbor and not for the other, and an error is an answer",
    "no number": "f returns something that is not a number for one neighbor",
    "form": "The answers have different forms (length, shape, keys or their order)",
    "not finite": "f returns NaN or an infinite number for one neighbor",
    "distance": "One row moves the answer too far",
    "order": "The answer depends on the order of the rows, and a table of people has none",
}
_ADVICE: dict[Kind, str] = {
    "repeat": "A function that adds noise is a mechanism: audit it with lw.audit_mechanism.",
}


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbors, what f answers them, and the L1 distance of the answers."""

    table: tuple[Any, ...]
    neighbor: tuple[Any, ...]
    answer: Any
    neighbor_answer: Any
    distance: Fraction | float

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it; what JSON lacks (NaN, fractions) is text."""
        return {
            "table": as_json(self.table),
            "neighbor": as_json(self.neighbor),
            "answer": as_json(self.answer),
            "neighbor_answer": as_json(self.neighbor_answer),
            "distance": written(self.distance),
        }

    def __str__(self) -> str:
        return "\n".join(
            f"  f({shown(list(table))}) {_told(answer)}"
            for table, answer in ((self.table, self.answer), (self.neighbor, self.neighbor_answer))
        )


@dataclass(frozen=True, eq=False)
class Witness(Pair):
    """A pair that breaks the claim, and why.

    ``kind`` is "distance", "not finite", "form" (length, shape or keys), "error" (of one of the two), "no number",
    "order" (the neighbor is the same table in another order) or "repeat" (the same table, asked again).
    """

    kind: Kind
    sensitivity: Fraction

    @property
    def reason(self) -> str:
        """The kind as a sentence."""
        return _REASONS[self.kind]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {"kind": self.kind, "sensitivity": exact.text(self.sensitivity), **super().to_dict()}


@dataclass(frozen=True, eq=False, repr=False)
class FunctionAudit:
    """What the search found.

    ``witness`` is the smallest violation (fewest rows, then the rows that come first in the domain) or None;
    ``largest`` the pair of neighbors with the largest finite distance, which also shows if a claim is far too large;
    ``searched`` says for each size of table how many pairs were compared, of how many; ``calls`` how often f was
    called.  ``notes`` holds what breaks no claim but deserves attention.
    """

    sensitivity: Fraction
    neighbors: Neighbors
    witness: Witness | None
    largest: Pair | None
    searched: tuple[Searched, ...]
    calls: int
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether no violation was found: a proof only if ``complete``, and only for these rows and sizes."""
        return self.witness is None

    @property
    def complete(self) -> bool:
        """Whether every pair of neighbors of every size was compared."""
        return all(size.all for size in self.searched)

    @property
    def pairs(self) -> int:
        """How many different pairs of neighbors were compared."""
        return sum(size.pairs for size in self.searched)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {
            "holds": self.holds,
            "sensitivity": exact.text(self.sensitivity),
            "neighbors": self.neighbors,
            "complete": self.complete,
            "witness": self.witness and self.witness.to_dict(),
            "largest": self.largest and self.largest.to_dict(),
            "searched": [{"rows": size.rows, "pairs": size.pairs, "of": size.of} for size in self.searched],
            "calls": self.calls,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        claim = f"sensitivity {exact.text(self.sensitivity)} under {self.neighbors}"
        lines = [f"No violation found: {claim}."]
        if self.witness:
            lines = [f"Violated: {claim}.", f"{self.witness.reason}:"]
            lines += [str(self.witness), f"  distance {written(self.witness.distance)}"]
            lines += [_ADVICE[self.witness.kind]] if self.witness.kind in _ADVICE else []
        if self.largest and not (self.witness and self.witness.distance == self.largest.distance):
            lines += [f"Largest finite distance seen: {written(self.largest.distance)}", str(self.largest)]
        lines.append(f"Searched: {_told_search(self.searched)}, with {self.calls:,} calls of f.")
        lines += self.notes
        if self.holds and not self.complete:
            lines.append("Not all pairs were compared: this is not a proof.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        found = "holds" if self.holds else f"violated, {self.witness and self.witness.kind}"
        seen = f"{'all ' if self.complete else ''}{self.pairs:,} pairs"
        return f"<FunctionAudit: sensitivity {exact.text(self.sensitivity)}, {self.neighbors}: {found}; {seen}>"


def audit_function(
    f: Callable[[list[Any]], Any],
    domain: Sequence[Any] | Column | Mapping[str, Sequence[Any] | Column],
    sensitivity: Number,
    neighbors: Neighbors = "add_remove",
    *,
    rows: int | Iterable[int] = ROWS,
    tries: int = TRIES,
) -> FunctionAudit:
    """Search for neighbors whose answers from f differ by more than its claimed L1 sensitivity.

    Args:
        f: takes a table, a list of rows of which each is the data of one person, and returns a number or several: a
            list, a tuple, an array, a dict of numbers.
        domain: what a row may be.  A list: exactly these.  ``lw.number(low, high)`` or ``lw.keys(…)``: the bounds,
            the middle or the keys, and what real columns hold besides: None, NaN, infinite and huge values, values
            beyond the bounds, a key that is not listed.  A mapping from names to these: dicts of every combination.
            Put simple rows first: the witness has rows that come as early as possible.
        sensitivity: the claim: the answers to neighbors differ by at most this, all numbers of an answer together.
        neighbors: "add_remove", D′ is D without one row; or "change_one", D′ is D with one row replaced.
        rows: how many rows D has: one number (with a public n), or several such as range(1, 9).
        tries: about how often f is called, and at most as often again to shrink what was found.  Sizes for which
            this suffices are searched whole, smallest first; the others by climbing from random starts, the largest
            with half of the calls.  The seed is fixed, so the same call finds the same.

    Raises:
        RequestError: a parameter is out of range, or f never returned finite numbers.
    """
    if not callable(f):
        raise InvalidParameter(f, "f", "a function of a table")
    rowset, claim = make_domain(domain), exact.sensitivity(sensitivity)
    if not isinstance(neighbors, str) or neighbors not in ("add_remove", "change_one"):
        raise InvalidParameter(neighbors, "neighbors", '"add_remove" or "change_one"')
    if neighbors == "change_one" and len(rowset) == 1:
        raise InvalidRequest(
            'domain has one row, and with neighbors="change_one" a row is exchanged for another',
            "Give two or more rows that may occur.",
        )
    search = Search(f, rowset, claim, neighbors == "change_one", _sizes(rows), exact.whole(tries, "tries"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as NumPy's, for a mean of nothing: there may be thousands
        searched = search.run()
        if not search.finite:
            raise _never(search)
        return FunctionAudit(
            claim, neighbors, _witness(search), _largest(search), searched, search.calls, tuple(_notes(search))
        )


def _sizes(asked: object) -> tuple[int, ...]:
    """Return the sizes of tables, rising."""
    allowed = "a whole number from 1 on, or several such as range(1, 9)"
    several = asked if isinstance(asked, Iterable) and not isinstance(asked, str) else [asked]
    sizes = set()
    for size in several:
        if size != 0 or isinstance(size, bool):  # the empty table has none to take away, and is the neighbor of others
            sizes.add(exact.whole(size, "rows", 10**6))
    if not sizes:
        if isinstance(asked, Iterable):
            raise InvalidRequest("rows holds no number from 1 on", f"Give {allowed}.")
        raise InvalidParameter(asked, "rows", allowed)
    return tuple(sorted(sizes))


def _witness(search: Search) -> Witness | None:
    if search.smallest is None:
        return None
    found = search.smallest
    case = found.case
    pair = _pair(search, case, found.order)
    kind = found.kind if pair.distance == found.distance else "repeat"
    return Witness(pair.table, pair.neighbor, pair.answer, pair.neighbor_answer, pair.distance, kind, search.claim)


def _largest(search: Search) -> Pair | None:
    if search.furthest is None:
        return None
    apart, case = search.furthest
    pair = _pair(search, case, case.neighbor)
    return pair if pair.distance == apart else None  # else f answers the same table differently


def _pair(search: Search, case: Case, order: tuple[int, ...]) -> Pair:
    """Call f again for the answers to show; with the same table several times, until the answers differ."""
    apart: Fraction | int | float = 0
    for _ in range(_AGAIN if order == case.table else 1):
        answer, other = (ask(search.f, search.table(numbers)) for numbers in (case.table, order))
        apart = distance(read(answer), read(other))
        if apart:
            break
    table, neighbor = (tuple(search.table(numbers)) for numbers in (case.table, order))
    return Pair(table, neighbor, answer, other, math.inf if isinstance(apart, float) else Fraction(apart))


def _never(search: Search) -> InvalidRequest:
    """Return the refusal of a function that never answered with finite numbers."""
    (kind, told), times = max(search.seen.items(), key=lambda seen: seen[1])
    did = {"error": f"raised {told}", "no number": f"returned a {told}"}.get(kind, "returned NaN or an infinite number")
    first = ask(search.f, search.table((0,)))
    how = f" (f of the first row alone {first!r})" if isinstance(first, Raised) else ""
    advice = "Give a function that takes a list of rows and returns a number or several."
    return InvalidRequest(f"f {did} in {times:,} of {search.calls:,} calls{how}", advice)


def _notes(search: Search) -> Iterable[str]:
    """Yield what others can observe besides distances."""
    types = {told for kind, told in search.seen if kind == "numbers" and told}
    if len(types) > 1:
        listed = " and sometimes ".join(sorted("/".join(sorted(each)) for each in types))
        yield f"Note: f returns sometimes {listed}. The type is visible: always return the same one."
    raised = sorted(told for kind, told in search.seen if kind == "error")
    if raised and not (search.smallest and search.smallest.kind == "error"):
        yield f"Note: f raised {', '.join(raised)} for some tables. An error is visible: answer every table."


def _told(answer: Any) -> str:
    return repr(answer) if isinstance(answer, Raised) else f"= {shown(answer)}"


def _told_search(searched: Sequence[Searched]) -> str:
    """Return such as "all 24 pairs of tables of 1 to 2 rows and 900 of 3,000 of 3 rows"."""
    parts = []
    whole = [size for size in searched if size.all]
    if whole:
        parts.append(f"all {sum(size.pairs for size in whole):,} pairs of tables of {_range(whole)}")
    rest = [size for size in searched if not size.all]
    if rest:
        numbers = [size.of for size in rest if size.of is not None]
        told = f"{sum(numbers):,}" if len(numbers) == len(rest) else "more than 10^18"
        parts.append(f"{sum(size.pairs for size in rest):,} of {told} pairs of tables of {_range(rest)}")
    return " and ".join(parts)


def _range(sizes: Sequence[Searched]) -> str:
    first, last = sizes[0].rows, sizes[-1].rows
    if first == last:
        return f"{first:,} {'row' if first == 1 else 'rows'}"
    if last - first + 1 == len(sizes):
        return f"{first:,} to {last:,} rows"
    some = ", ".join(f"{size.rows:,}" for size in sizes[:-1][:5])
    return f"{some}{', …' if len(sizes) > 6 else ''} and {last:,} rows"
