"""Expressions and conditions: what a text means, written as the values it must become, and what is refused.

Each text stands beside the canonical text that it must have; that text must be read as the same value again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from typing import Any

from ...question.arithmetic import parse_expression
from ...question.asking import resolved
from ...question.condition import parse_condition
from ...question.periods import date_of, day_number, part_range, periods, truncated
from ...question.query import (
    Statistic,
    count,
    histogram,
    mean,
    median,
    people,
    proportion,
    quantile,
    std,
    sum,
    variance,
)
from ...question.ratios import ratio
from ...question.schema import Schema, keys, make_schema, number, plain
from ..finding import Finding, all_right
from .grids_compared import COLUMNS

EXPRESSIONS: tuple[tuple[str, str], ...] = (
    ("x", '"x"'), ("X", '"x"'), ("(x)", '"x"'), ("1", "1"), ("-1.50", "-1.5"), ("1 / 3", "(1/3)"), ("- x", '-1 * "x"'),
    ("x + u", '"u" + "x"'), ("u + x", '"u" + "x"'), ("x - u", '"x" - "u"'), ("u + 2 + x + 3", '5 + "u" + "x"'),
    ("x + (u + z)", '"u" + "x" + "z"'), ("2 * x * 3", '6 * "x"'), ("x * u * z", '"u" * "x" * "z"'), ("-(-x)", '"x"'),
    ("-(2 * x)", '-2 * "x"'), ("x - 2", '-2 + "x"'), ("2 - x", '2 - "x"'), ("x - (-2)", '2 + "x"'), ("x / 4",
    '0.25 * "x"'),
    ("x / p", '"x" / "p"'), ("(x + 1) / (p * z)", '(1 + "x") / ("p" * "z")'), ("x / (p / z)", '"x" / ("p" / "z")'),
    ("x * (u + 1)", '"x" * (1 + "u")'), ("x - (u + z)", '"x" - ("u" + "z")'), ("x - 3 * u", '"x" - 3 * "u"'),
    ("(x / p) * u", '"u" * ("x" / "p")'), ("-3 * x * 2 / 6", '-1 * "x"'), ("1 * x", '1 * "x"'), ("0 + x", '0 + "x"'),
    ("ABS(x)", 'ABS("x")'), ("GREATEST(x, u)", 'GREATEST("u", "x")'), ("LEAST(x, 2, u)", 'LEAST("u", "x", 2)'),
    ("COALESCE(x, u)", 'COALESCE("x", "u")'), ("CLAMP(x, 0, 1)", 'CLAMP("x", 0, 1)'), ("FLOOR(x)", 'FLOOR("x")'),
    ("ROUND(x)", 'ROUND("x")'), ("ROUND(x, 1)", '0.1 * ROUND(10 * "x")'), ("ROUND(x, 0)", '1 * ROUND(1 * "x")'),
    ("ROUND(x, 9)", '0.000000001 * ROUND(1000000000 * "x")'),
    ("NULLIF(x, 1)", 'CASE WHEN "x" <> 1 THEN "x" END'), ("NULLIF(x, u)", 'NULLIF("x", "u")'),
    ("NULLIF(x + 1, u)", 'NULLIF(1 + "x", "u")'), ("NULLIF((x), 0)", 'CASE WHEN "x" <> 0 THEN "x" END'),
    ("CASE WHEN x > 1 THEN u END", 'CASE WHEN "x" > 1 THEN "u" END'), ("IF(x > 1, u, 2)",
    'CASE WHEN "x" > 1 THEN "u" ELSE 2 END'),
    ("CASE WHEN x > 1 THEN u ELSE NULL END", 'CASE WHEN "x" > 1 THEN "u" END'), ("TRUE", "1"), ("FALSE", "0"),
    ("CASE z WHEN 1 THEN x WHEN 2 THEN u ELSE 0 END", 'CASE WHEN "z" = 1 THEN "x" WHEN "z" = 2 THEN "u" ELSE 0 END'),
    ("(x > 1) + 0", '0 + ("x" > 1)'), ("x > 1", '("x" > 1)'), ("x * (k IN ('b', 'a'))",
    '"x" * ("k" IN (\'a\', \'b\'))'),
    ("x BETWEEN 1 AND 2", '("x" <= 2 AND "x" >= 1)'), ("NOT b", '("b" <> TRUE)'),
    ("EXTRACT(YEAR FROM d)", 'EXTRACT(YEAR FROM "d")'), ("YEAR(d)", 'EXTRACT(YEAR FROM "d")'), ("MONTH(d)",
    'EXTRACT(MONTH FROM "d")'),
    ("DAY(d)", 'EXTRACT(DAY FROM "d")'), ("QUARTER(d)", 'EXTRACT(QUARTER FROM "d")'), ("EXTRACT(ISODOW FROM d)",
    'EXTRACT(ISODOW FROM "d")'),
    ("DATE_PART('month', d)", 'EXTRACT(MONTH FROM "d")'), ("DATE_TRUNC('WEEK', d)", "DATE_TRUNC('week', \"d\")"),
    ("DATEDIFF('day', e, d)", '"d" - "e"'), ("DATEDIFF(d, e)", '"d" - "e"'), ("d - DATE '2020-01-31'",
    '"d" - DATE \'2020-01-31\''),
    ("d", '"d"'), ("b", '"b"'), ("LEAST(d, DATE '2020-01-31')", 'LEAST("d", DATE \'2020-01-31\')'), ("c + b",
    '"b" + "c"'),
)  # fmt: skip
"""Expressions, each with its canonical text."""

CONDITIONS: tuple[tuple[str, str], ...] = (
    ("x > 1", '"x" > 1'), ("1 < x", '"x" > 1'), ("1 <= x", '"x" >= 1'), ("1 > x", '"x" < 1'), ("1 >= x", '"x" <= 1'),
    ("1 = x", '"x" = 1'), ("1 <> x", '"x" <> 1'), ("x != 1", '"x" <> 1'), ("NOT x > 1", '"x" <= 1'), ("NOT x >= 1",
    '"x" < 1'),
    ("NOT x < 1", '"x" >= 1'), ("NOT x <= 1", '"x" > 1'), ("NOT x = 1", '"x" <> 1'), ("NOT x <> 1", '"x" = 1'),
    ("NOT NOT x > 1", '"x" > 1'),
    ("x > u", '"u" < "x"'), ("u < x", '"u" < "x"'), ("x = 7", '"x" = 7'), ("x = -3", '"x" = -3'), ("x >= 7.0",
    '"x" >= 7'),
    ("x > 1 AND u < 2", '"u" < 2 AND "x" > 1'), ("x > 1 OR u < 2", '"u" < 2 OR "x" > 1'), ("x > 1 AND x > 1",
    '"x" > 1'),
    ("(x > 1 AND u < 2) AND z = 0", '"u" < 2 AND "x" > 1 AND "z" = 0'), ("(x > 1 OR u < 2) AND z = 0",
    '("u" < 2 OR "x" > 1) AND "z" = 0'),
    ("NOT (x > 1 AND u < 2)", 'NOT ("u" < 2 AND "x" > 1)'), ("NOT (NOT (x > 1 AND u < 2))", '"u" < 2 AND "x" > 1'),
    ("x BETWEEN 1 AND 2", '"x" <= 2 AND "x" >= 1'), ("x BETWEEN 1 AND 1", '"x" <= 1 AND "x" >= 1'),
    ("x NOT BETWEEN 1 AND 2", 'NOT ("x" <= 2 AND "x" >= 1)'),
    ("k IN ('b', 'a', 'b')", "\"k\" IN ('a', 'b')"), ("k IN ('a')", "\"k\" = 'a'"), ("k NOT IN ('a', 'b')",
    "NOT (\"k\" IN ('a', 'b'))"),
    ("z IN (3, 1)", '"z" IN (1, 3)'), ("x + 0 IN (3, 1)", '0 + "x" = 1 OR 0 + "x" = 3'), ("k = 'a'", "\"k\" = 'a'"),
    ("'a' = k", "\"k\" = 'a'"),
    ("x IS NULL", '"x" IS NULL'), ("x IS NOT NULL", 'NOT ("x" IS NULL)'), ("(x) IS NULL", '"x" IS NULL'),
    ("(x + u) IS NULL", '("u" + "x") IS NULL'),
    ("b", '"b" = TRUE'), ("NOT b", '"b" <> TRUE'), ("b = FALSE", '"b" = FALSE'), ("b IS NULL", '"b" IS NULL'),
    ("d = DATE '2020-02-29'", '"d" = DATE \'2020-02-29\''),
    ("d > '2020-02-29'", '"d" >= DATE \'2020-03-01\''), ("d < e", '"d" < "e"'), ("x + u > 3", '"u" + "x" > 3'),
    ("3 < x + u", '"u" + "x" > 3'),
    ("x > u + 1", '"x" > 1 + "u"'), ("u + 1 < x", '"x" > 1 + "u"'), ("NOT x + u > 3", '"u" + "x" <= 3'),
    ("own = ' a'", "\"own\" = ' a'"), ("own = 'it''s'", "\"own\" = 'it''s'"), ("free > 10000000000",
    '"free" > 10000000000'), ("x > 0.1", '"x" > 0.1'),
    ("free = 1e-3", '"free" = 0.001'), ("k >= 'a'", "\"k\" >= 'a'"), ("rest = 'other'", "\"rest\" = 'other'"),
    ("z > 0.5", '"z" >= 1'),
    ("-(-x) > 1", '"x" > 1'), ("-(-x) < u", '"u" > "x"'), ("-(-b) = 1", '"b" = TRUE'), ("-(-b) <> 0", '"b" <> FALSE'),
    ("(-(-x)) IS NULL", '"x" IS NULL'), ("miss <> 8", '"miss" <> 8'), ("miss > 9", '"miss" >= 10'), ("free = 1.5",
    '"free" = 1.5'),
)  # fmt: skip
"""Conditions, each with its canonical text."""

STATISTICS: tuple[tuple[Statistic, str, str], ...] = (
    (count(), "COUNT(*)", "count"), (count("x"), 'COUNT("x")', "count_x"), (people(), "COUNT(DISTINCT *)", "people"),
    (sum("x"), 'SUM("x")', "sum_x"), (mean("x"), 'AVG("x")', "mean_x"), (sum("u + x"), 'SUM("u" + "x")', "sum_u_x"),
    (variance("x"), 'VAR_SAMP("x")', "variance_x"), (variance("x", sample=False), 'VAR_POP("x")', "variance_x"),
    (std("x"), 'STDDEV_SAMP("x")', "std_x"), (std("x", sample=False), 'STDDEV_POP("x")', "std_x"),
    (proportion("x > 1"), 'AVG(CASE WHEN "x" > 1 THEN 1 ELSE 0 END)', "proportion"), (median("x"), 'MEDIAN("x")',
    "median_x"),
    (quantile("x", 0), 'MIN("x")', "min_x"), (quantile("x", 1), 'MAX("x")', "max_x"),
    (quantile("x", "0.9"), 'QUANTILE_CONT("x", 0.9)', "q0.9_x"), (quantile("x", "1/3"), 'QUANTILE_CONT("x", 1/3)',
    "q1/3_x"),
    (median("x", weight="u"), 'WEIGHTED_QUANTILE("x", "u", 0.5)', "median_x"), (histogram("x", [0, 1]),
    'HISTOGRAM("x")', "histogram_x"),
    (ratio(sum("x"), count()), 'SUM("x") / COUNT(*)', "sum_x_per_count"),
    (ratio(count(), sum("x"), factor=100), '100 * COUNT(*) / SUM("x")', "count_per_sum_x"),
    (count(weight="u"), 'SUM("u")', "sum_u"), (sum("x", weight="u"), 'SUM("u" * "x")', "sum_u_x"),
    (mean("x", weight="u"), 'SUM("u" * "x") / SUM("u")', "mean_x"), (mean("x", weight="3 * u"),
    'SUM("u" * "x") / SUM("u")', "mean_x"),
    (proportion("b", weight="u"), 'SUM("u" * CASE WHEN "b" = TRUE THEN 1 ELSE 0 END) / SUM("u")', "proportion"),
    (mean("b"), 'AVG(("b" = TRUE))', "mean_b"), (sum("b"), 'SUM(("b" = TRUE))', "sum_b"), (count("b"), 'COUNT("b")',
    "count_b"),
    (ratio(sum("u * x"), sum("u")), 'SUM("u" * "x") / SUM("u")', "mean_x"), (mean("x", weight="u * 0 + 1"),
    'SUM("x" * (1 + 0 * "u")) / SUM(1 + 0 * "u")', "mean_x"),
    (ratio(sum("6 * u * x"), sum("2 * u")), 'SUM(3 * "u" * "x") / SUM("u")', "mean_x"),
    (ratio(sum("x"), sum("u")), 'SUM("x") / SUM("u")', "sum_x_per_sum_u"),
    (ratio(sum("x * u"), sum("x")), 'SUM("u" * "x") / SUM("x")', "sum_u_x_per_sum_x"),
)  # fmt: skip
"""Statistics, each with its text in SQL, and the name of its column."""


def phrase_schema() -> Schema:
    """Return the columns that phrases are about."""
    more = {
        "rest": keys("a", "b", other="other"),
        "miss": number(0, 10, integer=True, missing=[9]),
        "own": plain("text"),
    }
    return make_schema("t", {**COLUMNS, **more}, None, None, "add_remove", None)


def phrase_texts() -> Iterator[Finding]:
    """Yield whether texts mean what they should, and mean the same when their canonical text is read."""
    schema, wrong = phrase_schema(), list[str]()
    for text, right in EXPRESSIONS:
        expression = parse_expression(text, schema)
        wrong += [] if str(expression) == right else [f"{text} is {expression}, not {right}"]
        again = parse_expression(right, schema)
        wrong += [] if again == expression else [f"{right} is {again!r}, not {expression!r}"]
    for text, right in CONDITIONS:
        condition = parse_condition(text, schema)
        wrong += [] if str(condition) == right else [f"{text} is {condition}, not {right}"]
        again_condition = parse_condition(right, schema)
        wrong += [] if again_condition == condition else [f"{right} is {again_condition!r}, not {condition!r}"]
    number_of = len(EXPRESSIONS) + len(CONDITIONS)
    yield Finding("L2: expressions and conditions mean what they state", not wrong, all_right(wrong, 2 * number_of))
    yield _statistics(schema)
    yield _periods()


def _statistics(schema: Schema) -> Finding:
    wrong = []
    for statistic, right, name in STATISTICS:
        (found,), _ = resolved([statistic], schema)
        if (found.text, found.default_name) != (right, name):
            wrong.append(f"{statistic} is {found.text} named {found.default_name}, not {right} named {name}")
    return Finding("L2: a statistic has its text and its name", not wrong, all_right(wrong, len(STATISTICS)))


def _periods() -> Finding:
    """Periods, parts and numbers of days are those that are counted day by day."""
    wrong, number_of = list[str](), 0
    spans = [(date(2019, 12, 29), date(2021, 3, 2)), (date(1, 1, 1), date(1, 2, 3)), (date(9998, 11, 30), date.max),
             (date(2020, 2, 29), date(2020, 2, 29))]  # fmt: skip
    for first, last in spans:
        days = [date.fromordinal(each) for each in range(first.toordinal(), last.toordinal() + 1)]
        for unit, start in _STARTS.items():
            begins = [first] if unit == "DAY" else [_back(first, start)]
            right = [*begins, *(day for day in days[1:] if start(day))]
            found: Any = periods(unit, first, last)  # type: ignore[arg-type]
            wrong += [] if found == right else [f"{unit} from {first} to {last}"]
            wrong += [f"{unit} of {day}" for day in days if truncated(unit, day) != _back(day, start)]  # type: ignore[arg-type]
            number_of += 1 + len(days)
        for part, ends in (("DAY", (1, 31)), ("ISODOW", (1, 7)), ("MONTH", (1, 12)), ("QUARTER", (1, 4)),
                           ("YEAR", (first.year, last.year))):  # fmt: skip
            wrong += [] if part_range(part, first, last) == ends else [f"{part} between {first} and {last}"]  # type: ignore[arg-type]
        for day in days:
            same = day_number(day) == (day - date(1970, 1, 1)).days and date_of(day_number(day)) == day
            wrong += [] if same else [f"the number of {day}"]
    return Finding("X1: dates are in their weeks, months, quarters and years", not wrong, all_right(wrong, number_of))


_STARTS: dict[str, Callable[[date], bool]] = {
    "DAY": lambda day: True,
    "WEEK": lambda day: day.isoweekday() == 1,
    "MONTH": lambda day: day.day == 1,
    "QUARTER": lambda day: day.day == 1 and day.month in (1, 4, 7, 10),
    "YEAR": lambda day: (day.month, day.day) == (1, 1),
}


def _back(day: date, start: Callable[[date], bool]) -> date:
    while not start(day):
        day = date.fromordinal(day.toordinal() - 1)
    return day
