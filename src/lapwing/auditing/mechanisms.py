"""A lower bound on the ε of any mechanism, found by running it.

The first part of the draws on two inputs chooses one event that distinguishes them, and the rest counts it: so the
bound of claim C1 is certified, however the event was found.  It can show that a mechanism is broken; it never shows
that one is private.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import exact
from ..errors import InvalidParameter, InvalidRequest
from ..exact import Number
from .tools.certify import certified_epsilon
from .tools.events import Event, families
from .tools.outputs import Array, Draws, Words, joined

SURE = Fraction(999_999, 10**6)

_MOST_DRAWS = 10**9
_MOST_FIRST = 10**6
_MOST_NUMBERS = 4 * 10**6


@dataclass(frozen=True)
class MechanismAudit:
    """What was shown of a mechanism: its ε is at least ``bound``, with this confidence.

    ``counts`` says how often the event happened in the draws that count: on the input where it is likelier, which
    ``likelier`` names, and on the other.  ``draws`` is how many draws on each input were counted.
    """

    bound: float
    epsilon: Fraction
    delta: Fraction
    event: str
    likelier: str
    counts: tuple[int, int]
    draws: int
    confidence: Fraction

    @property
    def holds(self) -> bool:
        """Whether the draws agree with the claimed ε."""
        return self.bound <= self.epsilon

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON holds it."""
        return {
            "holds": self.holds,
            "bound": self.bound,
            "epsilon": exact.text(self.epsilon),
            "delta": exact.text(self.delta),
            "event": self.event,
            "likelier": self.likelier,
            "counts": list(self.counts),
            "draws": self.draws,
            "confidence": exact.text(self.confidence),
        }

    def __str__(self) -> str:
        claimed = f"ε = {exact.text(self.epsilon)}" + (f", δ = {exact.text(self.delta)}" if self.delta else "")
        other = "y" if self.likelier == "x" else "x"
        shown = f"The true ε is at least {math.floor(self.bound * 1e4) / 1e4:.4f}"
        verdict = "does not contradict" if self.holds else "contradicts"
        told = f"{shown}, with confidence {exact.text(self.confidence)}: this {verdict} the claimed {claimed}."
        if not self.bound:
            told = f"These draws show nothing about the claimed {claimed}: no event distinguishes x from y."
        return (
            f"{told}\n"
            f"Event: {self.event}.\n"
            f"It happened in {self.counts[0]:,} of {self.draws:,} draws on {self.likelier} and in {self.counts[1]:,} "
            f"of {self.draws:,} on {other}."
        )


def audit_mechanism(
    m: Callable[[Any], Any],
    x: Any,
    y: Any,
    epsilon: Number,
    *,
    delta: Number = 0,
    draws: int = 100_000,
    batch: int = 1,
    confidence: Number = SURE,
) -> MechanismAudit:
    """Run a mechanism on two neighboring inputs and return a certified lower bound on its ε (claim C1).

    Args:
        m: a function of the input that returns one output: a number, a vector, a text, None, anything; an exception
            is an output too.
        x: an input.
        y: a neighbor of it.
        epsilon: the ε that the mechanism claims.
        delta: the δ that it claims.
        draws: how often it is run on each input; a quarter chooses the event, the rest is counted.
        batch: how many independent outputs one call of m returns, along the first axis.
        confidence: the probability with which the bound holds, at least.
    """
    claimed = exact.epsilon(epsilon)
    slack = Fraction(0) if delta == 0 else exact.delta(delta)
    sure = exact.probability(confidence)
    draws, batch = exact.whole(draws, "draws", _MOST_DRAWS), exact.whole(batch, "batch", _MOST_DRAWS)
    if draws < 100:
        raise InvalidParameter(draws, "draws", "a whole number from 100 on")
    if not callable(m):
        raise InvalidParameter(m, "m", "a function of the input")
    if _same(x, y):
        raise InvalidRequest("x and y are the same input", "Give two inputs that differ, and are neighbors.")
    alpha, words = float(1 - sure), Words()
    sides = [Draws(m, given, batch, words) for given in (x, y)]
    event, swapped, used = _chosen(sides, draws, alpha, float(slack), words)
    likelier, other = reversed(sides) if swapped else sides
    counts = tuple(
        sum(int(np.count_nonzero(event.happens(part))) for part in each.take(draws - used))
        for each in (likelier, other)
    )
    bound = certified_epsilon(counts[0], draws - used, counts[1], draws - used, alpha, slack)
    return MechanismAudit(
        bound, claimed, slack, event.words, "y" if swapped else "x", (counts[0], counts[1]), draws - used, sure
    )


def _same(x: Any, y: Any) -> bool:
    """Return whether two inputs are plainly equal; inputs that cannot be compared count as different."""
    try:
        return x is y or bool(x == y)
    except Exception:  # such as NumPy's, for arrays
        return False


def _chosen(sides: list[Draws], draws: int, alpha: float, delta: float, words: Words) -> tuple[Event, bool, int]:
    """Return the event with the highest bound, whether it is likelier on y, and how many draws it took.

    Half of these draws propose events and half score them, so that no set of values scores well only because it was
    chosen from the same draws.
    """
    width = max(each.width() for each in sides)
    half = min(draws // 4, _MOST_FIRST, max(1000, _MOST_NUMBERS // width)) // 2
    first, second = [[joined(list(each.take(half))) for each in sides] for _ in range(2)]
    # How far shares may be from those to be counted: what α asks of the draws left, and two deviations of these draws.
    limit = (math.sqrt(math.log(2 / alpha) / (draws - 2 * half)) + math.sqrt(2 / half)) ** 2
    best: tuple[float, Event, bool] | None = None
    for family in families((first[0], first[1]), (second[0], second[1]), words):
        for swapped, (likely, rare) in enumerate(((family.hits_x, family.hits_y), (family.hits_y, family.hits_x))):
            scores = _scores(likely / half, rare / half, limit, delta)
            i = int(np.argmax(scores))
            if best is None or scores[i] > best[0]:
                event = family.event(i)
                score = float(scores[i]) - event.strangeness
                if best is None or score > best[0]:
                    best = score, event, bool(swapped)
    assert best is not None  # every output has a kind
    return best[1], best[2], 2 * half


def _scores(likely: Array, rare: Array, limit: float, delta: float) -> NDArray[np.float64]:
    """Return about the bound that each pair of shares would certify: by Chernoff's bound, for all at once.

    Below 0 they still rank events by how close they are to showing something.
    """
    p, q = np.maximum(_end(likely, limit, 0.0) - delta, 1e-12), _end(rare, limit, 1.0)
    return np.asarray(np.log(p / q))


def _end(share: NDArray[np.float64], limit: float, end: float) -> NDArray[np.float64]:
    """Return the p between a share and an end at which the divergence of the share from p is the limit."""
    near, far = share.copy(), np.full(share.shape, end)
    for _ in range(44):
        p = (near + far) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            hits = np.where(share > 0, share * np.log(share / p), 0)
            misses = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - p)), 0)
        within = hits + misses <= limit
        near, far = np.where(within, p, near), np.where(within, far, p)
    return far
