"""What to write instead of SQL that is refused: by the kind of a node, by the name of a function, by a symbol."""

from __future__ import annotations

from difflib import get_close_matches

from sqlglot import exp

SHAPE = (
    "Write one SELECT with COUNT(*), COUNT(x), SUM, AVG, VAR_SAMP, VAR_POP, STDDEV_SAMP, STDDEV_POP, MEDIAN, "
    "QUANTILE_CONT(x, 0.9), WEIGHTED_QUANTILE(x, w, 0.9), MIN, MAX or CDF, FROM the source, WHERE, GROUP BY, "
    "HAVING, ORDER BY, LIMIT."
)

FUNCTIONS = (
    "COUNT", "SUM", "AVG", "VAR_SAMP", "VAR_POP", "VARIANCE", "STDDEV", "STDDEV_SAMP", "STDDEV_POP", "MEDIAN", "MIN",
    "MAX", "QUANTILE_CONT", "QUANTILE_DISC", "PERCENTILE_CONT", "PERCENTILE_DISC", "WEIGHTED_QUANTILE",
    "WEIGHTED_MEDIAN", "CDF", "BIN",
)  # fmt: skip
"""The functions that a question may use."""

UNKNOWN_AGGREGATES = ("CDF", "QUANTILE_CONT", "QUANTILE_DISC", "WEIGHTED_QUANTILE", "WEIGHTED_MEDIAN")
"""Aggregates that sqlglot does not know."""

_OTHER_NAMES = {
    "MEAN": "AVG", "AVERAGE": "AVG", "STD": "STDDEV", "STDEV": "STDDEV", "STDDEVP": "STDDEV_POP", "VAR": "VAR_SAMP",
    "VARP": "VAR_POP", "N": "COUNT(*)", "SIZE": "COUNT(*)", "LEN": "COUNT(*)", "NUNIQUE": "COUNT(DISTINCT person)",
    "APPROX_DISTINCT": "COUNT(DISTINCT person)", "APPROX_COUNT_DISTINCT": "COUNT(DISTINCT person)",
    "PERCENTILE": "QUANTILE_CONT", "NTILE": "QUANTILE_CONT", "CUME_DIST": "CDF", "ECDF": "CDF", "TOTAL": "SUM",
    "QUANTILE_WEIGHTED": "WEIGHTED_QUANTILE(x, w, 0.9)", "WEIGHTED_PERCENTILE": "WEIGHTED_QUANTILE(x, w, 0.9)",
    "PERCENTILE_APPROX_WEIGHTED": "WEIGHTED_QUANTILE(x, w, 0.9)", "WMEDIAN": "WEIGHTED_MEDIAN(x, w)",
    "WIDTH_BUCKET": "BIN", "CUT": "BIN", "HISTOGRAM": "COUNT(*) … GROUP BY BIN(x, 0, 10, 20)",
}  # fmt: skip
"""What other programs call them."""

_TWO = (
    "Release AVG(x * y), AVG(x), AVG(y), VAR_POP(x) and VAR_POP(y) in one question, and compute it from them: it then "
    "has no error bar."
)
_CURVED = "It is not computed for rows.  Group by BIN(x, 1, 10, 100, 1000), or release AVG(x) and compute it from that."
_MOMENTS = "It is not available.  Group by BIN(x, …) to see the form of a distribution."
_INSTEAD = {
    "CORR": _TWO, "COVAR_POP": _TWO, "COVAR_SAMP": _TWO, "REGR_SLOPE": _TWO, "REGR_INTERCEPT": _TWO, "REGR_R2": _TWO,
    "LOG": _CURVED, "LN": _CURVED, "LOG2": _CURVED, "LOG10": _CURVED, "EXP": _CURVED, "SQRT": _CURVED,
    "KURTOSIS": _MOMENTS, "SKEWNESS": _MOMENTS, "KURTOSIS_POP": _MOMENTS, "SKEW": _MOMENTS,
}  # fmt: skip
"""What to do instead of other functions."""

_POWER = "Write a product: x * x."

ADVICE: dict[type[exp.Expression], tuple[str, str]] = {
    exp.Having: ("HAVING here", "Put it after GROUP BY: it filters the released numbers."),
    exp.Order: ("ORDER BY here", "Put it at the end: it orders the released numbers."),
    exp.Limit: ("LIMIT here", "Put it at the end, with a whole number: it cuts the released numbers."),
    exp.Fetch: ("FETCH here", "Put it at the end, with a whole number: it cuts the released numbers."),
    exp.Offset: ("OFFSET here", "Put it at the end, with a whole number: it cuts the released numbers."),
    exp.Qualify: ("QUALIFY", "HAVING, ORDER BY and LIMIT cut the released numbers, after the noise."),
    exp.Join: (
        "a join",
        "The owner of the source can declare the join, with [[join]]: who is protected must be known there.",
    ),
    exp.Subquery: (
        "a subquery here",
        "It would compare rows of several people.  Release its number first, and write that number here: x < 12000.  A "
        "subquery may stand in FROM.",
    ),
    exp.Exists: ("EXISTS", "It would compare rows of several people.  Use WHERE with columns of the same row."),
    exp.With: ("WITH here", "Put it before the first SELECT."),
    exp.SetOperation: ("UNION", "It would mix rows of several tables.  Ask two questions."),
    exp.Distinct: (
        "DISTINCT",
        "Which values occur is private.  Group by a key column, or count people: COUNT(DISTINCT person).",
    ),
    exp.Window: (
        "a window function",
        "It would mix rows of several people before the noise.  Group by a key column instead.  Shares of a total are "
        "computed afterwards, at no charge: --share on the command line, .share() in Python.",
    ),
    exp.TableSample: ("a sample of the rows", "Leave it out: all rows cost the same ε."),
    exp.WithinGroup: ("this WITHIN GROUP", "Write QUANTILE_CONT(x, 0.9)."),
    exp.Like: ("LIKE", "List the values: x IN ('a', 'b')."),
    exp.Cast: ("a cast", "The source declares the type of every column; write literals of that type."),
    exp.TryCast: ("a cast", "The source declares the type of every column; write literals of that type."),
    exp.Null: ("a comparison with NULL", "Write x IS NULL or x IS NOT NULL."),
    exp.BitwiseAnd: ("&", "Write AND between conditions: age >= 65 AND ward = 'north'."),
    exp.BitwiseOr: ("|", "Write OR between conditions: age >= 65 OR ward = 'north'."),
    exp.DPipe: ("||", "Write OR between conditions: age >= 65 OR ward = 'north'."),
    exp.BitwiseNot: ("~", "Write NOT: NOT ward = 'north'."),
    exp.Mod: ("a remainder", "Write x - 10 * FLOOR(x / 10) for that of x by 10."),
    exp.Pow: ("a power", _POWER),
    exp.BitwiseXor: ("^", _POWER),
    exp.Star: ("SELECT *", "Rows never leave the source.  Ask for COUNT(*), SUM, AVG, …"),
    exp.Filter: ("FILTER", "Use WHERE, or AVG(CASE WHEN … THEN 1 ELSE 0 END) for a share."),
}
"""What is refused, by the kind of node, and what to write instead."""

SYMBOLS = {"&&": "Write AND.", "**": _POWER}
"""What is no SQL, and what to write instead."""


def nearest(name: str, shape: str) -> str:
    """Return the advice for an unknown function: what to do instead, or the function that it may be another name of."""
    if name.upper() in _INSTEAD:
        return _INSTEAD[name.upper()]
    known = name.upper() in FUNCTIONS
    meant = "" if known else _OTHER_NAMES.get(name.upper()) or "".join(get_close_matches(name.upper(), FUNCTIONS, n=1))
    return f"Did you mean {meant}?  {shape}" if meant else shape
