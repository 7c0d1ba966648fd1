"""The search for neighbors whose answers are too far apart.

A table is identified by the numbers of its rows in the domain, in increasing order: tables of people have no order.
Small sizes are searched exhaustively, the others by hill climbing from random starts.  Of all violations the
smallest is kept: fewest rows, then the rows that come first in the domain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from math import factorial
from random import Random
from typing import Any, Literal

from .distance import Answer, ask, distance, read
from .domain import Domain

Kind = Literal["repeat", "error", "no number", "form", "not finite", "distance", "order"]
Numbers = tuple[int, ...]

TOLERANCE = Fraction(1, 10**9)
MANY = 10**18
_ALL_ORDERS = 3
_PATIENCE = 60
_MOST_KEPT = 5 * 10**6  # rows of tables whose answers are remembered
_MOST_ROWS = 2 * 10**7  # rows given to f in the search of one size
_SEED = 7


@dataclass(frozen=True)
class Case:
    """Two tables to compare: ``common`` rows with one more each, of which the second may be missing.

    With neither, it is one table given twice, the second time in another order.
    """

    common: Numbers
    one: int | None = None
    other: int | None = None

    @property
    def table(self) -> Numbers:
        """The first table."""
        return _with(self.common, self.one)

    @property
    def neighbor(self) -> Numbers:
        """The second table."""
        return _with(self.common, self.other)


@dataclass(frozen=True)
class Violation:
    """A case that breaks the claim; ``order`` is the order in which the neighbor was given."""

    kind: Kind
    case: Case
    order: Numbers
    distance: Fraction | int | float

    @property
    def size(self) -> tuple[Any, ...]:
        """The order of violations: the simplest is the smallest."""
        table, neighbor = self.case.table, self.case.neighbor
        rank = ("repeat", "error", "no number", "form", "not finite", "distance", "order").index(self.kind)
        return len(table), rank, sum(table) + sum(neighbor), table, neighbor


@dataclass(frozen=True)
class Searched:
    """How much of one table size was searched: the number of different pairs, of how many (None: 10^18 or more)."""

    rows: int
    pairs: int
    of: int | None

    @property
    def all(self) -> bool:
        """Whether every pair was compared."""
        return self.pairs == self.of


@dataclass
class Search:
    """The state of a search: the answers so far, the smallest violation, and the pair farthest apart."""

    f: Callable[[list[Any]], Any]
    domain: Domain
    claim: Fraction
    change_one: bool
    sizes: tuple[int, ...]
    tries: int
    calls: int = 0
    finite: int = 0
    smallest: Violation | None = None
    furthest: tuple[Fraction | int, Case] | None = None
    seen: dict[Any, int] = field(default_factory=dict)
    random: Random = field(default_factory=lambda: Random(_SEED))
    _answers: dict[Numbers, Answer] = field(default_factory=dict)
    _kept: int = 0

    def __post_init__(self) -> None:
        self._same = self.claim * TOLERANCE
        self._most = self.claim + self._same

    def run(self) -> tuple[Searched, ...]:
        """Search every size, shrink what was found, and return how much was searched."""
        sizes = [n for n in self.sizes if n]
        small = []
        for n in sizes:
            calls, pairs = self._cost(n)
            if pairs > 10 * self.tries or calls > (self.tries - self.calls) // (1 if n == sizes[-1] else 2):
                break
            small.append(n)
            self._enumerate(n)
        found = [self._searched(n, self._pairs(n)) for n in small]
        large = sizes[len(small) :]
        for later, n in reversed(
            list(enumerate(large))
        ):  # the largest first, with half: most combinations of rows occur there
            share = (self.tries - self.calls) // (2 if later and n == large[-1] else later + 1)
            pairs = self._climb(n, self.calls + min(share, _MOST_ROWS // n))
            found.insert(len(small), self._searched(n, pairs))
        if self.smallest:
            self._shrink(self.smallest)
        return tuple(found)

    def table(self, numbers: Numbers) -> list[Any]:
        """Return a fresh table."""
        return [self.domain.row(number) for number in numbers]

    def call(self, numbers: Numbers) -> Answer:
        """Call f with rows in this order."""
        self.calls += 1
        answer = read(ask(self.f, self.table(numbers)))
        self.finite += answer.finite
        told = answer.form if answer.kind != "numbers" else answer.types
        self.seen[answer.kind, told] = self.seen.get((answer.kind, told), 0) + 1
        return answer

    def answer(self, numbers: Numbers) -> Answer:
        """Return the answer of f for a table, calling it once."""
        if numbers not in self._answers:
            if self._kept > _MOST_KEPT:
                self._answers.clear()
                self._kept = 0
            self._answers[numbers] = self.call(numbers)
            self._kept += len(numbers) + 1
        return self._answers[numbers]

    def compare(self, case: Case) -> Fraction | int | float:
        """Return the distance of two neighbors, and keep it if it is a violation or the largest."""
        return self._weigh(case, self.answer(case.table), self.answer(case.neighbor))

    def reorder(self, case: Case) -> None:
        """Give one table in other orders, or again if it has only one, and keep a violation."""
        table = case.common
        for order in self._orders(table):
            first, second = self.answer(table), self.call(order)
            apart = distance(first, second)
            if apart > self._same:
                self._keep(Violation("repeat" if order == table else "order", case, order, apart))

    def _weigh(self, case: Case, one: Answer, other: Answer) -> Fraction | int | float:
        apart = distance(one, other)
        if apart > self._most:
            self._keep(Violation(_kind(one, other), case, case.neighbor, apart))
        if not isinstance(apart, float) and (self.furthest is None or apart > self.furthest[0]):
            self.furthest = apart, case
        return apart

    def _keep(self, found: Violation) -> None:
        if self.smallest is None or found.size < self.smallest.size:
            self.smallest = found

    def _orders(self, table: Numbers) -> Iterator[Numbers]:
        if len(table) <= _ALL_ORDERS:
            yield from sorted(set(permutations(table)) - {table}) or [table]
            return
        yield table[::-1]
        yield tuple(self.random.sample(table, len(table)))

    def _cost(self, n: int) -> tuple[int, int]:
        """Return how many calls and pairs it takes to search one size whole."""
        orders = factorial(n) - 1 if 1 < n <= _ALL_ORDERS else 2
        return _tables(len(self.domain), n) * (1 + orders) + _tables(len(self.domain), n - 1), self._pairs(n)

    def _pairs(self, n: int) -> int:
        """Return the number of pairs of neighbors, the larger of n rows: common rows, and one more or two."""
        m = len(self.domain)
        return _tables(m, n - 1) * (m * (m - 1) // 2 if self.change_one else m)

    def _searched(self, n: int, pairs: int) -> Searched:
        of = self._pairs(n)
        return Searched(n, pairs, of if of < MANY else None)

    def _enumerate(self, n: int) -> None:
        everything = range(len(self.domain))
        for table in combinations_with_replacement(everything, n):
            self.reorder(Case(table))
        for common in combinations_with_replacement(everything, n - 1):
            ends = [self.answer(_with(common, end)) for end in everything]
            if not self.change_one:
                start = self.answer(common)
                for end in everything:
                    self._weigh(Case(common, end), ends[end], start)
                continue
            for other in everything:
                for one in range(other):
                    self._weigh(Case(common, one, other), ends[one], ends[other])

    def _climb(self, n: int, until: int) -> int:
        """Search one size by climbing from random starts; return how many different pairs were compared."""
        pairs = set()
        start = 0
        while self.calls < until:
            case = self._start(n, start)
            start += 1
            self.reorder(Case(case.table))
            height, idle = self.compare(case), 0
            pairs.add(hash(case))
            while idle < _PATIENCE and self.calls < until and not isinstance(height, float):
                moved = self._move(case)
                reached = self.compare(moved)
                pairs.add(hash(moved))
                idle = 0 if reached > height else idle + 1
                if reached >= height:
                    case, height = moved, reached
            self.reorder(Case(case.table))
        return len(pairs)

    def _start(self, n: int, number: int) -> Case:
        """Return neighbors of n rows: alternating between one repeated row, few rows, any rows, and different rows."""
        m, kind = len(self.domain), number % 4
        if kind == 0:
            rows = [number // 4 % m] * n
        elif kind == 1:
            rows = self.random.choices([0, m - 1, self.random.randrange(m), self.random.randrange(m)], k=n)
        elif kind == 2 or m < n:
            rows = [self.random.randrange(m) for _ in range(n)]
        else:
            rows = self.random.sample(range(m), n)
        one = rows.pop(self.random.randrange(n))
        return _case(rows, one, self._another(one) if self.change_one else None)

    def _move(self, case: Case) -> Case:
        """Return the case with one row replaced, every other time one of those in which the tables differ."""
        one, other, common = case.one, case.other, list(case.common)
        assert one is not None
        if common and self.random.random() < 0.5:
            common[self.random.randrange(len(common))] = self._another()
        elif other is None or self.random.random() < 0.5:
            one = self._another(other)
        else:
            other = self._another(one)
        return _case(common, one, other)

    def _another(self, row: int | None = None) -> int:
        """Return a row other than this one, the first and the last more often than others."""
        m = len(self.domain)
        while True:
            found = self.random.choice((0, m - 1)) if self.random.random() < 0.2 else self.random.randrange(m)
            if found != row:
                return found

    def _shrink(self, found: Violation) -> None:
        """Make the smallest violation smaller as long as that succeeds: fewer rows, then earlier rows."""
        end = self.calls + min(self.tries, _MOST_ROWS // len(found.case.table))
        while self.calls < end:
            before = self.smallest
            assert before is not None
            for case in self._simpler(before.case):
                if case.one is None:
                    self.reorder(case)
                else:
                    self.compare(case)
                if self.smallest != before or self.calls >= end:
                    break
            if self.smallest == before:
                return

    def _simpler(self, case: Case) -> Iterator[Case]:
        """Yield cases with fewer rows, the fewest first, and then with earlier rows; of long tables many at once."""
        rows, common = len(case.table), case.common
        long = rows > 20
        widths = sorted((rows - n for n in self.sizes if 0 < n < rows and rows - n <= len(common)), reverse=True)
        for width in _halving(widths) if long else widths:
            for at in range(0, len(common) - width + 1, width if long else 1):
                yield Case(common[:at] + common[at + width :], case.one, case.other)
        for width in _halving(range(len(common), 1, -1)) if long else ():
            for at in range(0, len(common), width):
                if any(common[at : at + width]):
                    first = [0] * len(common[at : at + width])
                    yield _case([*common[:at], *first, *common[at + width :]], case.one, case.other)
        for at, row in enumerate(case.common):
            for earlier in self.domain.earlier(row):
                yield _case([*common[:at], earlier, *common[at + 1 :]], case.one, case.other)
        for earlier in self.domain.earlier(case.one or 0):
            yield _case(list(common), earlier, case.other)
        for earlier in self.domain.earlier(case.other or 0):
            if earlier != case.one:
                yield _case(list(common), case.one, earlier)


def _tables(m: int, n: int) -> int:
    """Return the number of tables of n rows, of m that may occur; or a smaller number that is MANY or more."""
    chosen = min(n, m - 1)
    number = 1
    for i in range(1, chosen + 1):
        number = number * (m + n - 1 - chosen + i) // i
        if number >= MANY:  # after some 60 rounds at most: each doubles it
            break
    return number


def _with(common: Numbers, row: int | None) -> Numbers:
    return common if row is None else tuple(sorted((*common, row)))


def _case(common: list[int], one: int | None, other: int | None) -> Case:
    if one is not None and other is not None and other < one:  # the same pair
        one, other = other, one
    return Case(tuple(sorted(common)), one, other)


def _halving(widths: Sequence[int]) -> list[int]:
    """Return the first of falling numbers, then each time the next that is at most half, and the last."""
    chosen: list[int] = []
    for width in widths:
        if not chosen or width <= chosen[-1] // 2 or width == widths[-1]:
            chosen.append(width)
    return chosen


def _kind(one: Answer, other: Answer) -> Kind:
    kinds = {one.kind, other.kind}
    if "error" in kinds:
        return "error"
    if "no number" in kinds:
        return "no number"
    if one.form != other.form:
        return "form"
    return "distance" if one.finite and other.finite else "not finite"
