"""SQL that means something else is refused: no word is accepted and ignored (claim L2).

Words of SQL are put into every gap of questions that are accepted.  What comes out must be refused, be another
question, or show another cut of the answer: else the word would have no effect, and the answer would be to another
question.

Questions for several tables are the same if and only if their tables are: all choices of tables over three columns are
asked in several ways.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from ...errors import LapwingError
from ...question.query import count
from ...question.schema import Schema, keys, make_schema, number, plain
from ...question.sets import sets
from ...question.sql import make_query, parse
from ...question.statement import Statement, read
from ..finding import Finding, first_of

ACCEPTED = (
    "SELECT k, COUNT(*) AS n, AVG(x) FROM t WHERE z >= 3 AND NOT k = 'a' GROUP BY k",
    "SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x) FROM t",
    "SELECT QUANTILE_CONT(x, 0.5), MIN(x), MAX(z) FROM t WHERE x BETWEEN 1 AND 2 OR k IN ('a', 'b')",
    "SELECT WEIGHTED_QUANTILE(x, z, 0.5), WEIGHTED_MEDIAN(z, x + 1) FROM t",
    "SELECT SUM(x), COUNT(x), STDDEV_POP(z) FROM t WHERE d > DATE '2020-01-01' AND x IS NOT NULL",
    "SELECT COUNT(DISTINCT p) FROM t",
    "WITH u AS (SELECT k, x AS y FROM t WHERE z > 1) SELECT k, COUNT(*) AS n FROM u v WHERE v.y < 5 GROUP BY 1",
    "SELECT k, SUM(y) FROM (SELECT k, x AS y, z > 2 AS b FROM t AS w WHERE w.x > 1) WHERE b GROUP BY ALL",
    "SELECT k, COUNT(*) AS n FROM t GROUP BY k HAVING n > 3 OR k = 'a' ORDER BY n DESC, k LIMIT 3 OFFSET 1",
    "SELECT k, GROUPING(k) AS g, COUNT(*) AS n FROM t GROUP BY CUBE (k, (m, BIN(x, 1, 5, 10)))",
    "SELECT AVG(x) FROM t GROUP BY GROUPING SETS ((k, m), (m))",
    "SELECT k, SUM(x) FROM t GROUP BY m, ROLLUP (1)",
)
WORDS = (
    "DISTINCT", "DESC", "NOT", "-", "+ 1", "* 2", "::INT", "AND 1 = 0", "OR 1 = 1", "IS NULL", "LIKE", "ESCAPE 'a'",
    "COLLATE nocase", "FILTER (WHERE z > 5)", "OVER ()", "OVER (PARTITION BY k)", "IGNORE NULLS", "LIMIT 1", "OFFSET 1",
    "FETCH FIRST 1 ROWS ONLY", "HAVING COUNT(*) > 5", "QUALIFY 1 = 2", "TABLESAMPLE (10 PERCENT)", "USING SAMPLE 5",
    "ROLLUP", "CUBE", "GROUPING SETS (())", "UNION ALL SELECT 1", "CROSS JOIN t AS u", ", t", "WITH TOTALS", "FINAL",
    "WITH ROLLUP", "WITH CUBE", "PREWHERE z > 5", "LATERAL", "SYMMETRIC", "PIVOT (COUNT(*) FOR k IN ('a'))", "INTO u",
)  # fmt: skip
_GAP = re.compile(r" |(?=[(),])|(?<=[(,)])|$")
_HARMLESS = "GROUP BY DISTINCT"
"""Different groups are the same as all groups."""


def syntax() -> Iterator[Finding]:
    """Yield which words SQL has without effect."""
    columns = {"x": number(0, 10), "z": number(0, 9, integer=True), "k": keys("a", "b"), "d": plain("date")}
    columns["m"] = keys(1, 2, 3)
    schema = make_schema("t", columns, "p", 2, "add_remove", None)
    tried, ignored, lost = 0, [], [text for text in ACCEPTED if _asked(text, schema) is None]
    for text in ACCEPTED:
        usual = _asked(text, schema)
        for gap in sorted({found.start() for found in _GAP.finditer(text)}):
            for word in WORDS:
                changed, tried = f"{text[:gap].rstrip()} {word} {text[gap:].lstrip()}", tried + 1
                if _HARMLESS not in changed and usual is not None and _asked(changed, schema) == usual:
                    ignored.append(changed)
    yield Finding(
        "L2: a word of SQL that means something else is refused, or asks another question",
        not ignored and not lost,
        f"{len(ignored)} of {tried:,} texts are taken for others, 0 are right{first_of([*ignored, *lost])}.",
    )


def tables() -> Iterator[Finding]:
    """Yield whether questions for several tables are told apart by their tables, and by nothing else."""
    columns = {"a": keys("x", "y"), "b": keys(1, 2, 3), "c": number(0, 10, edges=[0, 5, 10])}
    schema = make_schema("t", columns, None, None, "add_remove", None)
    subsets = [some for size in range(4) for some in combinations("abc", size)]
    families = [some for size in range(2, len(subsets) + 1) for some in combinations(subsets, size)]
    wrong, texts = [], set()
    for family in families:
        query = make_query([count()], sets(*family), None, schema)
        again = parse(query.text, schema, recorded=True)
        lists = [_tables(again.sets), _tables(query.sets)] + [
            _tables(parse(_select(order, turned), schema).sets)
            for order, turned in ((family, False), (family[::-1], True), (family[1:] + family[:1], False))
        ]
        if again != query or any(each != _tables(family) for each in lists) or query.text in texts:
            wrong.append(query.text)
        texts.add(query.text)
    yield Finding(
        "L2: questions for several tables are the same if and only if their tables are",
        not wrong,
        f"{len(wrong)} of {len(families)} choices of tables are taken for others, 0 are right{first_of(wrong)}.",
    )


def _select(family: Sequence[Sequence[str]], turned: bool) -> str:
    written = (f"({', '.join(table[::-1] if turned else table)})" for table in family)
    return f"SELECT COUNT(*) FROM t GROUP BY GROUPING SETS ({', '.join(written)})"


def _tables(family: Sequence[Sequence[str]]) -> set[frozenset[str]]:
    return set(map(frozenset, family))


def _asked(text: str, schema: Schema) -> Statement | None:
    try:
        return read(text, schema)
    except LapwingError:
        return None
