"""The attack of Mironov (2012): read the answer below floating-point Laplace noise by which floats can come out.

NumPy draws U = k/2^53, k whole, and returns answer ± scale·ln(2U) as a float.  Where neighboring k give numbers further
apart than neighboring floats, most floats near the output cannot come out at all, and which ones can depends on the
answer.  So an output rules out every answer from which it cannot come.

Ilya Mironov: On Significance of the Least Significant Bits for Differential Privacy, ACM CCS 2012.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from ..noise.mechanism import OutputGrid

_STEPS = 2**53
"""U, which NumPy draws, is a multiple of 1/2^53."""

_WINDOW = 4
"""How many k around the estimated one are tried, beyond those that rounding can reach."""


def possible_with_numpy(output: float, answers: Sequence[float], scale: float) -> list[float]:
    """Return those of the answers from which NumPy's noise can make this output."""
    return [answer for answer in answers if _comes_out(output, answer, scale)]


def possible_on_grid(output: float, answers: Sequence[float], grid: OutputGrid) -> list[float]:
    """Return those of the answers from which integer noise on a grid can make this output: noise can be any integer."""
    step = Fraction(grid.step)
    return [answer for answer in answers if (Fraction(output) - round(Fraction(answer) / step) * step) % step == 0]


def _comes_out(output: float, answer: float, scale: float) -> bool:
    """Whether NumPy's formula gives this float for some U; those around the likely one are tried."""
    noise = output - answer
    share = math.exp(-abs(noise) / scale) / 2
    width = _WINDOW + math.ceil(share * _STEPS * 2 * math.ulp(max(abs(output), abs(answer), abs(noise))) / scale)
    middle = round((share if noise < 0 else 1 - share) * _STEPS)
    tried = (k / _STEPS for k in range(max(middle - width, 1), min(middle + width, _STEPS - 1) + 1))
    return any(_numpy_formula(u, answer, scale) == output for u in tried)


def _numpy_formula(u: float, answer: float, scale: float) -> float:
    """Return what NumPy's Generator.laplace makes of a uniform number, step by step."""
    if u >= 0.5:
        return answer - scale * math.log(2.0 - u - u)
    return answer + scale * math.log(u + u)
