"""Questions of every kind, with noise from a seed: what the ledger records, and what plans and answers say, stays.

If one of these changes, a ledger that exists may charge for a question again, or a number that was published looks
different.  Where that is meant, ``python -m tests.unit.release.test_unchanged`` writes the file again, and its
difference says what changes.
"""

import json
import tempfile
from datetime import date, timedelta
from functools import cache
from itertools import cycle, islice
from pathlib import Path

import pandas as pd
import pytest

import lapwing as lw
from lapwing.noise.entropy import EntropyForTests
from lapwing.source import release_planned

from .test_before import same

FILE = Path(__file__).parent / "data" / "unchanged.json"
ROWS = 240

ROWS_ALONE = {}
PEOPLE = {"person": "p", "rows_per_person": 3}
CHANGE = {"neighbors": "change_one", "public_rows": True}
PEOPLE_CHANGE = {**PEOPLE, "neighbors": "change_one", "version": "2026-11"}
DESCRIBED = {"rows": ROWS_ALONE, "people": PEOPLE, "change": CHANGE, "people change": PEOPLE_CHANGE}

COLUMNS = {
    "x": lw.number(-2.5, 10),
    "n": lw.number(0, 40, integer=True, missing=[99]),
    "w": lw.number(0, 4, integer=True),
    "big": lw.number("-123456.789", "1000000000.25"),
    "k": lw.keys("a", "b", "it's", other="else"),
    "z": lw.keys(1, 2, 3),
    "band": lw.number(0, 60, edges=[0, 10, 20, 40, 60]),
    "d": lw.dates("2024-01-01", "2024-12-31"),
    "e": "date",
    "t": "text",
    "flag": "boolean",
}

SQL = [
    "SELECT COUNT(*), COUNT(n), COUNT(DISTINCT p) FROM t",
    "SELECT SUM(x), SUM(n), SUM(big) FROM t",
    "SELECT AVG(x), AVG(n), AVG(big), COUNT(*) FROM t",
    "SELECT VAR_POP(x), STDDEV_POP(n), VAR_SAMP(n), STDDEV(x) FROM t",
    "SELECT k, COUNT(*), AVG(x) FROM t GROUP BY k",
    "SELECT k, z, COUNT(*) AS c, SUM(n) AS s FROM t GROUP BY k, z HAVING c > 3 ORDER BY s DESC LIMIT 5",
    "SELECT band, VAR_POP(n), COUNT(n) FROM t GROUP BY band",
    "SELECT AVG(CASE WHEN x > 3 AND flag THEN 1 ELSE 0 END), AVG(CASE WHEN t = 'it''s' THEN 1 ELSE 0 END) FROM t",
    "SELECT MIN(n), MEDIAN(n), MAX(n), QUANTILE_CONT(n, 0.9) FROM t",
    "SELECT k, MEDIAN(x) FROM t WHERE n > 5 GROUP BY k",
    "SELECT SUM(x * w) / SUM(w), SUM(n) / COUNT(*) FROM t WHERE NOT (t IN ('abc', 'b') OR z IN (1, 3))",
    "SELECT AVG(GREATEST(x, 2 * n)), SUM(ROUND(x) + 1), AVG(ABS(x - 1)) FROM t",
    "SELECT AVG(CLAMP(n / NULLIF(w, 0), 0, 10)), AVG(COALESCE(n, 7)), AVG(FLOOR(x / 2)) FROM t",
    "SELECT AVG(CASE WHEN z = 1 THEN x WHEN flag THEN n END) FROM t"
    " WHERE d BETWEEN DATE '2024-02-01' AND DATE '2024-06-30'",
    "SELECT EXTRACT(QUARTER FROM d) AS q, COUNT(*) FROM t GROUP BY q",
    "SELECT DATE_TRUNC('month', d) AS m, SUM(w) FROM t GROUP BY m",
    "SELECT CASE WHEN n > 20 THEN 'old' ELSE 'young' END AS g, COUNT(*) FROM t GROUP BY g",
    "SELECT COUNT(*) FROM t WHERE GREATEST(e, d) > DATE '2024-03-01' AND e IS NOT NULL",
    "SELECT COUNT(*) FROM t WHERE x + n * 2 >= w - 0.5 AND (t IS NULL OR t <> 'b') AND n NOT BETWEEN 3 AND 5",
    "SELECT k, z, COUNT(*), SUM(x) FROM t GROUP BY CUBE (k, z)",
    "SELECT k, z, COUNT(*), AVG(n) FROM t GROUP BY ROLLUP (k, z)",
    "SELECT k, z, y, COUNT(*) FROM (SELECT k, z, CASE WHEN flag THEN 'y' ELSE 'n' END AS y FROM t) s"
    " GROUP BY GROUPING SETS ((k, z), (k, y), ())",
]
PYTHON = {
    "shares of ε": lambda s: s.plan(
        lw.count(share=1), lw.mean("x", share=3), lw.sum("n", share="1/2"), by="k", epsilon=1
    ),
    "wanted errors": lambda s: s.plan(lw.count(), lw.mean("n"), by="z", error={"count": 30, "mean_n": 2}),
    "weights": lambda s: s.plan(lw.mean("x", weight="w"), lw.sum("x", weight="w"), lw.count(weight="w"), epsilon=1),
    "weighted quantiles": lambda s: s.plan(*lw.quantile("n", ["0.25", "0.5"], weight="w"), by="z", epsilon=2),
    "a distribution": lambda s: s.plan(lw.cdf("n", 16), epsilon=1),
    "other bars": lambda s: s.plan(lw.count(), lw.std("n"), by="band", epsilon=1, confidence="0.8"),
    "quantiles without bars": lambda s: s.plan(lw.median("x"), lw.max("n"), epsilon=1, intervals=False),
    "a ratio": lambda s: s.plan(lw.ratio(lw.sum("x"), lw.count(), factor=100), by="k", epsilon=1, rows=5000),
    "marginals": lambda s: s.plan(
        lw.count(), by=lw.marginals("k", "z", "band", upto=2), epsilon=1, objective="minimax"
    ),
    "one ε": lambda s: s.plan(lw.count(), lw.median("n"), where="x < 3.25", epsilon="0.123456789", rows=10**6),
}


@cache
def table():
    """Return rows of which every seventh lacks something."""
    x, n = [i * 0.37 % 13 - 3 for i in range(ROWS)], [i * 7 % 45 for i in range(ROWS)]
    days = [date(2023, 12, 20) + timedelta(days=i * 5 % 380) for i in range(ROWS)]
    texts = list(islice(cycle(["it's", "b", None, "abc", "", "else"]), ROWS))
    columns = {
        "p": [f"p{i * i % 101}" for i in range(ROWS)],
        "x": [None if i % 7 == 0 else each for i, each in enumerate(x)],
        "n": [99 if i % 11 == 0 else each for i, each in enumerate(n)],
        "w": [i % 6 for i in range(ROWS)],
        "big": [each * 10**7 for each in x],
        "k": list(islice(cycle(["a", "b", "it's", "c", None]), ROWS)),
        "z": [i % 4 for i in range(ROWS)],
        "band": [each * 1.5 for each in n],
        "d": days,
        "e": [None if i % 7 == 3 else each for i, each in enumerate(reversed(days))],
        "t": texts,
        "flag": [i % 3 == 0 for i in range(ROWS)],
    }
    return pd.DataFrame(columns).astype({"d": "datetime64[s]", "e": "datetime64[s]"})


def asked():
    """Yield the name of each question, how the source is described, and the function that makes its plan.

    All are asked of two sources, every third of two others.
    """
    plans = {text: lambda source, text=text: source.plan(text, epsilon=1) for text in SQL} | PYTHON
    for name, described in DESCRIBED.items():
        for number, (what, plan) in enumerate(plans.items()):
            people = "DISTINCT" not in what or "person" in described
            if people and (name in ("rows", "people change") or number % 3 == (name == "people")):
                yield f"{name}: {what}", described, plan


ASKED = {name: (described, plan) for name, described, plan in asked()}


def said(name, folder):
    """Return what is recorded and said about one question, as JSON."""
    described, make = ASKED[name]
    source = lw.Source(table(), name="t", columns=COLUMNS, ledger=folder / "l", epsilon=10, **described)
    plan = make(source)
    told = {"plan": plan.to_dict(), "plan as text": str(plan)}
    told["plan"].pop("sql")  # that of each engine is kept in tests/unit/engine/sql
    release = release_planned(source, plan, entropy=EntropyForTests(7))
    told["answer"] = {field: value for field, value in release.to_dict().items() if not field.endswith("_at")}
    told["entries"] = [[entry.kind, entry.question] for entry in source.ledger.entries()]
    told["answer as text"] = release.to_text()
    return json.loads(json.dumps(told, default=str).replace(str(folder), "…"))


@pytest.mark.parametrize("name", ASKED)
def test_what_is_recorded_and_said_stays(name, tmp_path):
    now, before = said(name, tmp_path), before_now()[name]
    assert now.keys() == before.keys()
    for part in now:
        assert same(now[part], before[part]), part


@cache
def before_now():
    return json.loads(FILE.read_text())


def test_every_question_is_there_and_no_other():
    assert list(before_now()) == list(ASKED)


def write():
    """Write what this build says of all questions."""
    told = {}
    for name in ASKED:
        with tempfile.TemporaryDirectory() as folder:
            told[name] = said(name, Path(folder))
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(each, ensure_ascii=False)}" for name, each in told.items())
    FILE.write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    write()
