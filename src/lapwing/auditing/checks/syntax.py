"""SQL that means something else is refused: no word is accepted and ignored (claim L2).

Words of SQL are put into every gap of questions that are accepted.  What comes out must be refused, or be another
question: if it were the same one, the word would have no effect, and the answer would be to another question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...errors import LapwingError
from ...question import sql
from ...question.query import Query
from ...question.schema import Schema, keys, make_schema, number, plain
from ..finding import Finding, first_of

ACCEPTED = (
    "SELECT k, COUNT(*) AS n, AVG(x) FROM t WHERE z >= 3 AND NOT k = 'a' GROUP BY k",
    "SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x) FROM t",
    "SELECT QUANTILE_CONT(x, 0.5), MIN(x), MAX(z) FROM t WHERE x BETWEEN 1 AND 2 OR k IN ('a', 'b')",
    "SELECT SUM(x), COUNT(x), STDDEV_POP(z) FROM t WHERE d > DATE '2020-01-01' AND x IS NOT NULL",
    "SELECT COUNT(DISTINCT p) FROM t",
)
WORDS = (
    "DISTINCT", "DESC", "NOT", "-", "+ 1", "* 2", "::INT", "AND 1 = 0", "OR 1 = 1", "IS NULL", "LIKE", "ESCAPE 'a'",
    "COLLATE nocase", "FILTER (WHERE z > 5)", "OVER ()", "OVER (PARTITION BY k)", "IGNORE NULLS", "LIMIT 1", "OFFSET 1",
    "FETCH FIRST 1 ROWS ONLY", "HAVING COUNT(*) > 5", "QUALIFY 1 = 2", "TABLESAMPLE (10 PERCENT)", "USING SAMPLE 5",
    "ROLLUP", "CUBE", "GROUPING SETS (())", "UNION ALL SELECT 1", "CROSS JOIN t AS u", ", t", "WITH TOTALS", "FINAL",
    "PREWHERE z > 5", "LATERAL", "SYMMETRIC", "PIVOT (COUNT(*) FOR k IN ('a'))", "INTO u",
)  # fmt: skip
_GAP = re.compile(r" |(?=[(),])|(?<=[(,)])|$")
_HARMLESS = "GROUP BY DISTINCT"
"""Different groups are the same as all groups."""


def syntax() -> Iterator[Finding]:
    """Yield which words SQL has without effect."""
    columns = {"x": number(0, 10), "z": number(0, 9, integer=True), "k": keys("a", "b"), "d": plain("date")}
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


def _asked(text: str, schema: Schema) -> Query | None:
    try:
        return sql.parse(text, schema)
    except LapwingError:
        return None
