"""Lapwing: statistics about people with the Laplace mechanism, exact and with an error bar.

    discrete_laplace             exact integer noise
    laplace, LaplaceMechanism    the Laplace mechanism on numbers and arrays
    randomized_response          the local alternative, for bits
    sensitivity                  how far one person can move an answer: the catalogue
    size_for, epsilon_for        plan: how many people, or how much ε, for a wanted error
    Laplace, DiscreteLaplace     the two distributions: tails, quantiles, margins
    Source                       a table about people: plan, release, sql; discover and bounds for what is not public
    number, keys                 what a column may hold: bounds, or keys to group by
    count, sum, mean, variance, std, proportion, histogram, cdf, median, quantile, min, max
                                 what to ask of a source
    Ledger                       a budget that lasts, is shared, and cannot be overspent
    errors                       what can be refused, as one tree

The rule behind everything: what comes before the noise is an exact integer, what comes after it is public.
"""

from typing import TYPE_CHECKING, Any

from . import errors, sensitivity
from .accuracy import epsilon_for, size_for
from .laplace import DiscreteLaplace, Laplace
from .mechanism import LaplaceMechanism, laplace, randomized_response
from .noise import discrete_laplace
from .query import cdf, count, histogram, max, mean, median, min, proportion, quantile, std, sum, variance
from .schema import keys, number

if TYPE_CHECKING:
    from .ledger import Ledger
    from .source import Source

__version__ = "0.1.0"

__all__ = [
    "DiscreteLaplace",
    "Laplace",
    "LaplaceMechanism",
    "Ledger",
    "Source",
    "cdf",
    "count",
    "discrete_laplace",
    "epsilon_for",
    "errors",
    "histogram",
    "keys",
    "laplace",
    "max",
    "mean",
    "median",
    "min",
    "number",
    "proportion",
    "quantile",
    "randomized_response",
    "sensitivity",
    "size_for",
    "std",
    "sum",
    "variance",
]


def __getattr__(name: str) -> Any:
    """Import what needs a database or an engine only when it is asked for."""
    if name == "Ledger":
        from .ledger import Ledger

        return Ledger
    if name == "Source":
        from .source import Source

        return Source
    raise AttributeError(f"module 'lapwing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({"__version__", *__all__})
