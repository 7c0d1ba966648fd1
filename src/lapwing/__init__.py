"""Lapwing: statistics about people with the Laplace mechanism, exact and with an error bar.

    discrete_laplace             exact integer noise
    laplace, LaplaceMechanism    the Laplace mechanism on numbers and arrays
    randomized_response          the local alternative, for bits
    sensitivity                  how far one person can move an answer: the catalogue
    size_for, epsilon_for        plan: how many people, or how much ε, for a wanted error
    Laplace, DiscreteLaplace     the two distributions: tails, quantiles, margins
    Source                       a table about people: plan, release, sql; discover, bounds and rows_per_person
                                 find what is not public
    number, keys, dates, plain, Column
                                 what a column may hold: bounds, keys to group by, or a type alone; all return a Column
    expression, recode, Derivation
                                 columns that are computed from others; both return a Derivation
    file, File                   how the files of a table are written: delimiter, decimal mark, encoding, …
    join, Join                   a table that is joined to that of a source: of the same people, or a public look-up
    noise_levels, NoiseLevels    up to where the noise of a number is called low, and medium
    count, people, sum, mean, variance, std, proportion, ratio, histogram, cdf, median, quantile, min, max
                                 what to ask of a source
    cube, rollup, sets, marginals, KeySets
                                 several tables in one question, for ``by``; all return KeySets
    Plan, Release, Discovery, Bounds, RowsPerPerson
                                 what a source returns, for type annotations
    connect                      the sources of a server, asked with the same verbs
    check                        does a source fit its table?  For the owner alone: its answer is private
    Ledger                       a budget that lasts, is shared, and cannot be overspent
    audit                        check on this machine that all of this keeps its promises
    audit_function, audit_mechanism
                                 check the sensitivity of your own function, the ε of your own mechanism
    errors                       what can be refused, as one tree

The rule behind everything: what comes before the noise is an exact integer, what comes after it is public.
``from lapwing import *`` leaves out sum, min and max, which would hide Python's own; use lw.sum, lw.min and lw.max.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import errors, sensitivity
from .noise.distributions import DiscreteLaplace, Laplace
from .noise.intervals import epsilon_for, size_for
from .noise.mechanism import LaplaceMechanism, laplace, randomized_response
from .noise.sampler import discrete_laplace
from .question.derivation import Derivation, expression, recode
from .question.file import File, file
from .question.join import Join, join
from .question.noise_levels import NoiseLevels, noise_levels
from .question.query import cdf, count, histogram, mean, median, people, proportion, quantile, std, variance
from .question.query import max as max  # public too, though not in __all__
from .question.query import min as min
from .question.query import sum as sum
from .question.ratios import ratio
from .question.schema import Column, dates, keys, number, plain
from .question.sets import KeySets, cube, marginals, rollup, sets
from .version import __version__ as __version__

if TYPE_CHECKING:
    from .auditing.audit import audit
    from .auditing.functions import audit_function
    from .auditing.mechanisms import audit_mechanism
    from .checking import check
    from .client.remote import connect
    from .ledger.ledger import Ledger
    from .plan.plan import Plan
    from .release.bounds import Bounds
    from .release.discover import Discovery
    from .release.result import Release
    from .release.rows_per_person import RowsPerPerson
    from .source import Source


__all__ = [
    "Bounds",
    "Column",
    "Derivation",
    "Discovery",
    "DiscreteLaplace",
    "File",
    "Join",
    "KeySets",
    "Laplace",
    "LaplaceMechanism",
    "Ledger",
    "NoiseLevels",
    "Plan",
    "Release",
    "RowsPerPerson",
    "Source",
    "audit",
    "audit_function",
    "audit_mechanism",
    "cdf",
    "check",
    "connect",
    "count",
    "cube",
    "dates",
    "discrete_laplace",
    "epsilon_for",
    "errors",
    "expression",
    "file",
    "histogram",
    "join",
    "keys",
    "laplace",
    "marginals",
    "mean",
    "median",
    "noise_levels",
    "number",
    "people",
    "plain",
    "proportion",
    "quantile",
    "randomized_response",
    "ratio",
    "recode",
    "rollup",
    "sensitivity",
    "sets",
    "size_for",
    "std",
    "variance",
]

_BUILT_IN = ("max", "min", "sum")
"""Public names that ``import *`` leaves out, since they would hide Python's own."""

_LATER = {
    "Bounds": "release.bounds",
    "Discovery": "release.discover",
    "Ledger": "ledger.ledger",
    "Plan": "plan.plan",
    "Release": "release.result",
    "RowsPerPerson": "release.rows_per_person",
    "Source": "source",
    "audit": "auditing.audit",
    "audit_function": "auditing.functions",
    "audit_mechanism": "auditing.mechanisms",
    "check": "checking",
    "connect": "client.remote",
}
"""Names that need a database or an engine, and the modules that define them."""


def __getattr__(name: str) -> Any:
    """Import some names only when they are used."""
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module 'lapwing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({"__version__", *__all__, *_BUILT_IN})
