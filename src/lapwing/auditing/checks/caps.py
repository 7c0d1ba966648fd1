"""Totals and caps hold in every order of calls: random sequences against an independent implementation, in fractions.

Charges, repeats, answers, analysts, caps, totals and re-opened ledgers are drawn with a printed seed.  Many charges ask
for exactly what is left of the total, of δ or of a cap, or for the smallest amount more; caps lie above, at and below
the total, and some are set below what is spent.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from ...errors import BudgetExceeded, InvalidParameter, LapwingError
from ...ledger.ledger import Ledger
from ..finding import Finding
from ..room import Room
from ..tools.injecting import Silent, wired

NANO, ATTO = Fraction(1, 10**9), Fraction(1, 10**18)
SEED = 1606
_NAMES = ("ana", "bob", "cid", "dan")
_WRONG = (BudgetExceeded, InvalidParameter)
"""How a ledger refuses what does not fit, and a name that is not known, or known already."""


def caps(room: Room) -> Iterator[Finding]:
    """Check that a ledger grants exactly what the model grants, and that both have the same left."""
    yield compared(lambda: str(room.path("ledger")), "a ledger", *((40, 300) if room.deep else (3, 80)))


def compared(place: Callable[[], str], what: str, runs: int, calls: int) -> Finding:
    """Return whether new ledgers, each at a new place, agree with the model over so many random calls each."""
    faults, done, granted = list[str](), 0, 0
    with wired(Silent()):
        for run in range(runs):
            walk = _Walk(place(), random.Random(SEED + run))
            for _ in range(calls):
                fault = walk.step()
                done += 1
                if fault is not None:
                    faults.append(f"seed {SEED + run}, call {done}: {fault}")
                    break
            granted += len(walk.model.charged)
    return Finding(
        f"L1, L2: {what} grants what an independent implementation grants, in every order of calls",
        not faults and 0 < granted < done,
        f"In {done} random calls with {granted} charges ({runs} ledgers, seeds from {SEED}) {len(faults)} disagreed, "
        f"0 are allowed{': ' + faults[0] if faults else ''}.",
    )


@dataclass
class Model:
    """The budget, written down again: what a charge may cost, and who has spent what."""

    total: list[Fraction]
    spent: list[Fraction] = field(default_factory=lambda: [Fraction(0), Fraction(0)])
    caps: dict[str, list[Fraction]] = field(default_factory=dict)
    charged: dict[str, Any] = field(default_factory=dict)

    def charge(self, asked: str, cost: tuple[Fraction, Fraction], who: str | None) -> bool:
        """Charge ε and δ for a question; return whether it was granted, or charged before."""
        if asked in self.charged:
            return True
        fits = all(has + more <= most for has, more, most in zip(self.spent, cost, self.total, strict=True))
        if who is not None:
            fits = fits and who in self.caps and self.caps[who][1] + cost[0] <= self.caps[who][0]
        if fits:
            self.spent = [has + more for has, more in zip(self.spent, cost, strict=True)]
            self.charged[asked] = None
            if who is not None:
                self.caps[who][1] += cost[0]
        return fits

    def left(self) -> tuple[Fraction, Fraction]:
        """Return what is left of ε and δ."""
        epsilon, delta = (max(most - has, Fraction(0)) for most, has in zip(self.total, self.spent, strict=True))
        return epsilon, delta


class _Walk:
    """A ledger and its model, side by side."""

    def __init__(self, where: str, draw: random.Random) -> None:
        self._draw = draw
        self._where = where
        total, delta = Fraction(draw.randint(1, 4)), draw.randint(0, 3) * 10 * ATTO
        self._ledger = Ledger.open(where, self._spelled(total), self._spelled(delta))
        self.model = Model([total, delta])
        self._asked: list[tuple[str, tuple[Fraction, Fraction]]] = []

    def step(self) -> str | None:
        """Make one random call; return how the ledger and the model disagree, None if they agree."""
        calls = (self._charge,) * 6 + (self._repeat, self._record, self._record, self._cap, self._total, self._reopen)
        call = self._draw.choice(calls)
        due, act = call()
        try:
            act()
            found = True
        except _WRONG:
            found = False
        except LapwingError as error:
            return f"{call.__name__[1:]}: {error}"
        if found != due:
            return f"{call.__name__[1:]} was {'granted' if found else 'refused'}, and {due} is due"
        return self._differs()

    def _differs(self) -> str | None:
        """Return what is left by the ledger and by the model, if that differs."""
        ledger, model = self._ledger, self.model
        found = (ledger.remaining, ledger.delta.remaining)
        if found != model.left():
            return f"{found} is left, and {model.left()} is due"
        caps = {each.analyst: [each.total, each.spent] for each in ledger.analysts()}
        return None if caps == model.caps else f"caps are {caps}, and {model.caps} are due"

    # --- the calls: whether each succeeds by the model, and what to call ---

    def _charge(self) -> tuple[bool, Callable[[], Any]]:
        model, draw = self.model, self._draw
        who = draw.choice((None, None, *(self.model.caps or _NAMES), draw.choice(_NAMES)))
        epsilon, delta = model.left()
        edges = [epsilon, epsilon + NANO, NANO, *(Fraction(draw.randint(1, 20), 100) for _ in range(12))]
        if who in model.caps:
            cap = max(model.caps[who][0] - model.caps[who][1], Fraction(0))
            edges += [cap, cap + NANO, min(cap, epsilon)]
        cost = draw.choice([each for each in edges if each > 0]), draw.choice([Fraction(0)] * 9 + [delta, delta + ATTO])
        asked = json.dumps(len(self._asked))
        self._asked.append((asked, cost))
        return self.model.charge(asked, cost, who), partial(self._ask, asked, cost, who)

    def _repeat(self) -> tuple[bool, Callable[[], Any]]:
        """Ask something again, for another analyst: it is free if it was charged, and may fit now if it was not."""
        if not self._asked:
            return self._charge()
        (asked, cost), who = self._draw.choice(self._asked), self._draw.choice((None, *_NAMES))
        return self.model.charge(asked, cost, who), partial(self._ask, asked, cost, who)

    def _ask(self, asked: str, cost: tuple[Fraction, Fraction], who: str | None) -> None:
        epsilon, delta = map(self._spelled, cost)
        entry = self._ledger.charge(asked, epsilon, delta, who)
        if entry.answer != self.model.charged.get(asked) or (entry.epsilon, entry.delta) != cost:
            raise LapwingError(f"the entry of question {asked} has {entry.epsilon}, {entry.delta} and {entry.answer}")

    def _record(self) -> tuple[bool, Callable[[], Any]]:
        """Record an answer, or another for a question that has one, which changes nothing."""
        open_ones = [each for each in self._asked if each[0] in self.model.charged]
        if not open_ones:
            return self._charge()
        asked, cost = self._draw.choice(open_ones)
        answer = self._draw.randint(1, 10**6)
        if self.model.charged[asked] is None:
            self.model.charged[asked] = answer

        def act() -> None:
            entry = self._ledger.find(asked, *map(self._spelled, cost))
            if entry is None or self._ledger.record(entry, answer) != self.model.charged[asked]:
                raise LapwingError(f"question {asked} has another answer")

        return True, act

    def _cap(self) -> tuple[bool, Callable[[], Any]]:
        """Add an analyst or set a cap: above the total, equal to it, below it, or below what is spent."""
        who, total = self._draw.choice(_NAMES), self.model.total[0]
        spent = self.model.caps.get(who, [total, Fraction(0)])[1]
        cap = self._draw.choice(
            [
                total * 4,
                total,
                total // (2 * NANO) * NANO + NANO,
                Fraction(3, 10),
                max(spent - NANO, NANO),
                spent + NANO,
            ]
        )
        new = self._draw.random() < 0.5
        due = new != (who in self.model.caps)
        if due:
            self.model.caps[who] = [cap, self.model.caps.get(who, [cap, Fraction(0)])[1]]
        call = self._ledger.add_analyst if new else self._ledger.set_cap
        return due, partial(call, who, self._spelled(cap))

    def _total(self) -> tuple[bool, Callable[[], Any]]:
        """Set the total higher, lower, or below what is spent; with or without δ."""
        spent, total = self.model.spent[0], self.model.total[0]
        epsilon = self._draw.choice([total + 1, spent + 1, max(spent - NANO, NANO), spent + Fraction(1, 4)])
        delta = self._draw.choice([None, Fraction(0), self.model.total[1] + ATTO])
        self.model.total = [epsilon, self.model.total[1] if delta is None else delta]
        return True, partial(self._ledger.set_total, self._spelled(epsilon), delta and self._spelled(delta))

    def _reopen(self) -> tuple[bool, Callable[[], Any]]:
        self._ledger = Ledger.open(self._where)
        return True, self._ledger.verify

    def _spelled(self, amount: Fraction) -> Any:
        """Return an amount in one of the ways to write it: a fraction, texts, a decimal, a float or an integer."""
        decimal = Decimal(amount.numerator) / Decimal(amount.denominator)
        ways: list[Any] = [amount, str(amount), str(decimal), decimal]
        if Fraction(repr(float(amount))) == amount:
            ways.append(float(amount))
        if amount.denominator == 1:
            ways.append(int(amount))
        return self._draw.choice(ways)
