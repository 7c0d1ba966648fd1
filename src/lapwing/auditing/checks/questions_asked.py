"""GROUP BY, subqueries and cuts in SQL and what they mean: the fields of the question, and ways to write it."""

from __future__ import annotations

from datetime import date

from ...question.conditions import All, Missing, OneOf, Some
from ...question.cut import Cut, Order
from ...question.expression import Choose, Extract, Product, Recode, Sum, Truncate
from ..tools.meant import ComputedAs, Meant, compare, constant, named, statistic, whole
from .meanings import COUNT, X, Y, Z

_MEAN = statistic("mean", "x", "mean_x")
_MONTHS = (date(2020, 1, 1), date(2020, 2, 1), date(2020, 3, 1))
_MONTH = "DATE_TRUNC('month', \"d\")"
(_D,) = named("d")
_TRUNCATED = ComputedAs(Truncate("MONTH", _D), "date", keys=_MONTHS)
_PART = ComputedAs(Extract("MONTH", _D), "integer", whole(1), whole(12), tuple(range(1, 13)))
_HIGH = compare("x", ">", 5)
_TEXT = "CASE WHEN \"x\" > 5 THEN 'high' ELSE 'low' END"
_RECODE = ComputedAs(Recode(((_HIGH, "high"),), "low"), "text", keys=("high", "low"))
_ONLY = "CASE WHEN \"x\" > 5 THEN 'high' END"
_EDGES = (whole(0), whole(5), whole(10))

GROUPED = (
    Meant(("SELECT COUNT(*) FROM t GROUP BY k", "SELECT k, COUNT(*) FROM t GROUP BY k",
        "SELECT COUNT(*), k FROM t GROUP BY 2",
        "SELECT k, COUNT(*) FROM t GROUP BY ALL", 'SELECT t.k, COUNT(*) FROM t GROUP BY "K"',
        "SELECT COUNT(*) FROM t GROUP BY (k)"),
        (COUNT,), 'COUNT(*) FROM "t" GROUP BY "k"', ("k",)),
    Meant(("SELECT k AS kind, COUNT(*) FROM t GROUP BY k", "SELECT k kind, COUNT(*) FROM t GROUP BY 1",
        "SELECT k AS kind, COUNT(*) FROM t GROUP BY kind", "SELECT k AS kind, COUNT(*) FROM t GROUP BY Kind"),
        (COUNT,), 'COUNT(*) FROM "t" GROUP BY "k"', ("k",), titles=("kind",)),
    Meant(("SELECT m, k, COUNT(*) FROM t GROUP BY k, m", "SELECT COUNT(*), k, m FROM t GROUP BY 2, 3",
        "SELECT k, COUNT(*), m FROM t GROUP BY ALL", "SELECT COUNT(*) FROM t GROUP BY (k, m)"),
        (COUNT,), 'COUNT(*) FROM "t" GROUP BY "k", "m"', ("k", "m")),
    Meant(("SELECT COUNT(*), k, m FROM t GROUP BY 3, 2", "SELECT COUNT(*) FROM t GROUP BY m, k"),
        (COUNT,), 'COUNT(*) FROM "t" GROUP BY "m", "k"', ("m", "k")),
    Meant(("SELECT COUNT(*) FROM t GROUP BY e", "SELECT COUNT(*) FROM t GROUP BY BIN(e, 0, 3, 10)"),
        (COUNT,), 'COUNT(*) FROM "t" GROUP BY "e"', ("e",)),
    Meant(("SELECT COUNT(*) FROM t GROUP BY BIN(x, 0, 5, 10)",
        "SELECT bin(X, 0.0, 15/3, 10), COUNT(*) FROM t GROUP BY 1",
        "SELECT BIN(x, 0, 5, 10), COUNT(*) FROM t GROUP BY ALL"),
        (COUNT,), 'COUNT(*) FROM "t" GROUP BY BIN("x", 0, 5, 10)', ("x",), edges=(("x", _EDGES),)),
    Meant(("SELECT BIN(x, 0, 5, 10) AS part, COUNT(*) FROM t GROUP BY part",),
        (COUNT,), 'COUNT(*) FROM "t" GROUP BY BIN("x", 0, 5, 10)', ("x",), edges=(("x", _EDGES),), titles=("part",)),
    Meant(("SELECT COUNT(*) FROM t GROUP BY bin", "SELECT bin, COUNT(*) FROM t GROUP BY 1",
        "SELECT bin, COUNT(*) FROM t GROUP BY ALL"), (COUNT,), 'COUNT(*) FROM "t" GROUP BY "bin"', ("bin",)),
    Meant(("SELECT COUNT(*) FROM t GROUP BY BIN(e, -0.5, 1/3)",), (COUNT,),
        'COUNT(*) FROM "t" GROUP BY BIN("e", -0.5, 1/3)',
        ("e",), edges=(("e", (whole(-1, 2), whole(1, 3))),)),
    Meant(("SELECT BIN(z, 0, 5), BIN(x, 0, 5, 10), COUNT(*) FROM t GROUP BY BIN(z, 0, 5), BIN(x, 0, 5, 10)",), (COUNT,),
        'COUNT(*) FROM "t" GROUP BY BIN("z", 0, 5), BIN("x", 0, 5, 10)', ("z", "x"),
        edges=(("x", _EDGES), ("z", (whole(0), whole(5))))),
    Meant(("SELECT COUNT(*) FROM t GROUP BY DATE_TRUNC('month', d)",
        "SELECT DATE_TRUNC('MONTH', d), COUNT(*) FROM t GROUP BY 1"),
        (COUNT,), f'COUNT(*) FROM "t" GROUP BY {_MONTH}', (_MONTH,), titles=("DATE_TRUNC('month', d)",),
        computed={_MONTH: _TRUNCATED}),
    Meant(("SELECT DATE_TRUNC('month', d) AS month, COUNT(*) FROM t GROUP BY month",),
        (COUNT,), f'COUNT(*) FROM "t" GROUP BY {_MONTH}', (_MONTH,), titles=("month",),
        computed={_MONTH: _TRUNCATED}),
    Meant(("SELECT COUNT(*) FROM t GROUP BY EXTRACT(MONTH FROM d)",
        "SELECT MONTH(d), COUNT(*) FROM t GROUP BY MONTH(d)"),
        (COUNT,), 'COUNT(*) FROM "t" GROUP BY EXTRACT(MONTH FROM "d")', ('EXTRACT(MONTH FROM "d")',),
        titles=("EXTRACT(MONTH FROM d)",), computed={'EXTRACT(MONTH FROM "d")': _PART}),
    Meant(("SELECT COUNT(*) FROM t GROUP BY CASE WHEN x > 5 THEN 'high' ELSE 'low' END",), (COUNT,),
        f'COUNT(*) FROM "t" GROUP BY {_TEXT}', (_TEXT,), titles=("CASE WHEN x > 5 THEN 'high' ELSE 'low' END",),
        computed={_TEXT: _RECODE}),
    Meant(("SELECT COUNT(*) FROM t GROUP BY CASE WHEN x > 5 THEN 'high' END",
        "SELECT COUNT(*) FROM t GROUP BY CASE WHEN x > 5 THEN 'high' ELSE NULL END"), (COUNT,),
        f'COUNT(*) FROM "t" GROUP BY {_ONLY}', (_ONLY,), titles=("CASE WHEN x > 5 THEN 'high' END",),
        computed={_ONLY: ComputedAs(Recode(((_HIGH, "high"),), None), "text", keys=("high",))}),
    Meant(("SELECT COUNT(*) FROM t GROUP BY z + 1", "SELECT z + 1, COUNT(*) FROM t GROUP BY 1 + z"), (COUNT,),
        'COUNT(*) FROM "t" GROUP BY 1 + "z"', ('1 + "z"',), titles=("1 + z",),
        computed={'1 + "z"': ComputedAs(Sum((constant(1), Z)), "integer", whole(1), whole(10), tuple(range(1, 11)))}),
    Meant(("SELECT COUNT(*) FROM t GROUP BY BIN(x + y, 0, 5)",), (COUNT,),
        'COUNT(*) FROM "t" GROUP BY BIN("x" + "y", 0, 5)',
        ('"x" + "y"',), titles=("x + y",), edges=(('"x" + "y"', (whole(0), whole(5))),),
        computed={'"x" + "y"': ComputedAs(Sum((X, Y)), "number", whole(-4), whole(20))}),
    Meant(("SELECT CDF(x) FROM t GROUP BY BIN(x, 2, 4)", "SELECT BIN(x, 2, 4), cdf(x) FROM t GROUP BY 1"),
        (statistic("cdf", "x", "cdf_x"),), 'CDF("x") FROM "t" GROUP BY BIN("x", 0, 2, 4, 10)', ("x",),
        edges=(("x", (whole(0), whole(2), whole(4), whole(10))),)),
    Meant(("SELECT CDF(e) FROM t GROUP BY k, e",), (statistic("cdf", "e", "cdf_e"),),
        'CDF("e") FROM "t" GROUP BY "k", BIN("e", 0, 3, 10)', ("k", "e"),
        edges=(("e", (whole(0), whole(3), whole(10))),)),
    Meant(("SELECT CDF(x) FROM t GROUP BY BIN(x, -1, 5, 12)",), (statistic("cdf", "x", "cdf_x"),),
        'CDF("x") FROM "t" GROUP BY BIN("x", -1, 5, 12)', ("x",), edges=(("x", (whole(-1), whole(5), whole(12))),)),
)  # fmt: skip


def _several(groups: str, sets: tuple[tuple[str, ...], ...], by: tuple[str, ...], *ways: str, **more: object) -> Meant:
    texts = [f"SELECT COUNT(*) FROM t GROUP BY {way}" for way in ways]
    return Meant(texts, (COUNT,), f'COUNT(*) FROM "t" GROUP BY GROUPING SETS ({groups})', by, sets=sets, **more)  # type: ignore[arg-type]


_K, _KM = ("k",), ("k", "m")
SEVERAL = (
    _several('(), ("k")', ((), _K), _K, "ROLLUP (k)", "CUBE (k)", "GROUPING SETS ((), k)", "k WITH ROLLUP",
        "GROUPING SETS ((k), (), (k))", "rollup((k))", "k WITH CUBE"),
    _several('(), ("k"), ("k", "m")', ((), _K, _KM), _KM, "ROLLUP (k, m)", "GROUPING SETS ((m, k), k, ())",
        "GROUPING SETS (ROLLUP (k, m))", "k, m WITH ROLLUP", "GROUPING SETS (ROLLUP (k), (k, m))"),
    _several('(), ("k", "m")', ((), _KM), _KM, "ROLLUP ((k, m))", "CUBE ((k, m))", "GROUPING SETS ((k, m), ())",
        "(k, m) WITH ROLLUP"),
    _several('(), ("k"), ("m"), ("k", "m")', ((), _K, ("m",), _KM), _KM, "CUBE (k, m)", "ROLLUP (k), ROLLUP (m)",
        "k, m WITH CUBE", "GROUPING SETS (CUBE (k, m), k)", "ROLLUP (k), CUBE (m)"),
    _several('(), ("m"), ("k"), ("m", "k")', ((), ("m",), _K, ("m", "k")), ("m", "k"), "CUBE (k), ROLLUP (m)"),
    _several('("k"), ("k", "m")', (_K, _KM), _KM, "k, ROLLUP (m)", "k, CUBE (m)", "k, GROUPING SETS ((m), ())",
        "GROUPING SETS (k, (k, m))", "ROLLUP (m), k"),
    _several('("k"), ("m")', (_K, ("m",)), _KM, "GROUPING SETS (k, m)", "GROUPING SETS ((k), (m))"),
    _several('("m"), ("k")', (("m",), _K), ("m", "k"), "GROUPING SETS (m, k)"),
    _several('("k", "m"), ("k", "o")', (_KM, ("k", "o")), ("k", "m", "o"), "k, GROUPING SETS (m, o)",
        "GROUPING SETS ((k, m), (o, k))"),
    _several('(), ("k", "m"), ("k", "m", "o")', ((), _KM, ("k", "m", "o")), ("k", "m", "o"), "ROLLUP ((k, m), o)"),
    _several('("region"), ("town")', (("region",), ("town",)), ("region", "town"), "GROUPING SETS (region, town)",
        "GROUPING SETS (region, (region, town))"),
    _several('(), ("region"), ("town")', ((), ("region",), ("town",)), ("region", "town"), "ROLLUP (region, town)",
        "CUBE (region, town)"),
    _several('(), (BIN("x", 0, 5, 10)), (BIN("x", 0, 5, 10), "k")', ((), ("x",), ("x", "k")), ("x", "k"),
        "ROLLUP (BIN(x, 0, 5, 10), k)", edges=(("x", _EDGES),)),
    _several(f'(), ({_MONTH})', ((), (_MONTH,)), (_MONTH,), "ROLLUP (DATE_TRUNC('month', d))",
        titles=("DATE_TRUNC('month', d)",), computed={_MONTH: _TRUNCATED}),
    Meant(("SELECT k, AVG(x), GROUPING(k) AS g FROM t GROUP BY ROLLUP (1)",
        "SELECT GROUPING(k) AS g, AVG(x), k FROM t GROUP BY CUBE (k)"),
        (_MEAN,), 'AVG("x") FROM "t" GROUP BY GROUPING SETS ((), ("k"))', _K, sets=((), _K), grouping=(("g", _K),)),
    Meant(("SELECT AVG(x), GROUPING(m, k), GROUPING_ID(K) FROM t GROUP BY ROLLUP (k, m)",),
        (_MEAN,), 'AVG("x") FROM "t" GROUP BY GROUPING SETS ((), ("k"), ("k", "m"))', _KM, sets=((), _K, _KM),
        grouping=(("grouping_m_k", ("m", "k")), ("grouping_k", _K))),
    Meant(("SELECT k AS kind, COUNT(*), m FROM t GROUP BY ROLLUP (kind, m)",), (COUNT,),
        'COUNT(*) FROM "t" GROUP BY GROUPING SETS ((), ("k"), ("k", "m"))', _KM, titles=("kind", "m"),
        sets=((), _K, _KM)),
)  # fmt: skip

_SUM = statistic("sum", "x", "sum_x")
_Z3, _X5 = compare("z", ">=", 4), compare("x", "<", 5)
_DOUBLE = Product((constant(2), X))

NESTED = (
    Meant(("SELECT SUM(x) FROM (SELECT x FROM t)", "SELECT SUM(x) FROM (SELECT * FROM t)", "SELECT SUM(u.x) FROM t u",
        "SELECT SUM(x) FROM (SELECT t.* FROM t) AS u", "WITH u AS (SELECT x FROM t) SELECT SUM(x) FROM u",
        "WITH u AS (SELECT * FROM t) SELECT SUM(w.x) FROM u AS w", "SELECT SUM(x) FROM ((SELECT x, z FROM t))",
        "WITH u AS (SELECT x FROM t), v AS (SELECT * FROM U) SELECT SUM(V.X) FROM v",
        "SELECT SUM(x) FROM (SELECT x FROM (SELECT x FROM (SELECT x FROM (SELECT x FROM (SELECT x FROM t)))))"),
        (_SUM,), 'SUM("x") FROM "t"'),
    Meant(("SELECT SUM(v) AS sum_x FROM (SELECT x AS v FROM t)",
        "SELECT SUM(v) AS sum_x FROM (SELECT x V, z AS x FROM t)",
        "WITH u AS (SELECT z AS x, x AS z FROM t) SELECT SUM(z) AS sum_x FROM u",
        "SELECT SUM(v) AS sum_x FROM (SELECT * FROM (SELECT x AS v FROM t))",
        "SELECT SUM(z) AS sum_x FROM (SELECT u.* FROM (SELECT z AS x, x AS z FROM t) AS u)"), (_SUM,),
        'SUM("x") FROM "t"'),
    Meant(("SELECT SUM(x) FROM t WHERE z > 3 AND x < 5", "SELECT SUM(x) FROM (SELECT x FROM t WHERE z > 3) WHERE x < 5",
        "SELECT SUM(x) FROM (SELECT * FROM (SELECT * FROM t AS u WHERE u.z > 3) v WHERE v.x < 5)",
        "WITH u AS (SELECT x AS v FROM t WHERE z > 3 AND x < 5) SELECT SUM(v) AS sum_x FROM u",
        "WITH a AS (SELECT * FROM t WHERE z > 3), b AS (SELECT x FROM a) SELECT SUM(x) FROM b WHERE x < 5"),
        (_SUM,), 'SUM("x") FROM "t" WHERE "x" < 5 AND "z" >= 4', where=All((_X5, _Z3))),
    Meant(("SELECT SUM(x) FROM (SELECT x, z FROM t WHERE z > 3 OR x < 5) WHERE z > 3 AND x < 5",),
        (_SUM,), 'SUM("x") FROM "t" WHERE "x" < 5 AND ("x" < 5 OR "z" >= 4) AND "z" >= 4',
        where=All((_X5, Some((_X5, _Z3)), _Z3))),
    Meant(("SELECT SUM(v) AS n FROM (SELECT x * 2 AS v FROM t)", "SELECT SUM(2 * w) AS n FROM (SELECT x AS w FROM t)"),
        (statistic("sum", '2 * "x"', "n", expression=_DOUBLE),), 'SUM(2 * "x") FROM "t"',
        computed={'2 * "x"': ComputedAs(_DOUBLE, "number", whole(0), whole(20))}),
    Meant(("SELECT g, COUNT(*) FROM (SELECT k AS g FROM t) GROUP BY g", "SELECT k AS g, COUNT(*) FROM t GROUP BY k",
        "WITH u AS (SELECT k AS g FROM t) SELECT u.g, COUNT(*) FROM u GROUP BY 1"),
        (COUNT,), 'COUNT(*) FROM "t" GROUP BY "k"', ("k",), titles=("g",)),
    Meant(("SELECT month, COUNT(*) FROM (SELECT DATE_TRUNC('month', d) AS month FROM t) GROUP BY month",),
        (COUNT,), f'COUNT(*) FROM "t" GROUP BY {_MONTH}', (_MONTH,), titles=("month",),
        computed={_MONTH: _TRUNCATED}),
    Meant(("SELECT COUNT(DISTINCT who) FROM (SELECT p AS who FROM t)",
        "SELECT COUNT(DISTINCT p) FROM (SELECT * FROM t)"),
        (statistic("people", "p", "people"),), 'COUNT(DISTINCT "p") FROM "t"'),
    Meant(("SELECT COUNT(v) AS n FROM (SELECT CASE WHEN z > 3 THEN x END AS v FROM t)",),
        (statistic("count", 'CASE WHEN "z" >= 4 THEN "x" END', "n", expression=Choose(((_Z3, X),), None)),),
        'COUNT(CASE WHEN "z" >= 4 THEN "x" END) FROM "t"',
        computed={'CASE WHEN "z" >= 4 THEN "x" END': ComputedAs(Choose(((_Z3, X),), None), "number", whole(0),
        whole(10))}),
    Meant(("SELECT COUNT(*) FROM (SELECT s AS name FROM t WHERE s IS NULL) WHERE name IN ('b', 'a')",),
        (COUNT,), 'COUNT(*) FROM "t" WHERE "s" IN (\'a\', \'b\') AND "s" IS NULL',
        where=All((OneOf("s", ("a", "b")), Missing("s")))),
)  # fmt: skip


def _cut(cut: Cut, *ways: str, titles: tuple[str, ...] = ("k",), name: str = "n") -> Meant:
    asked = statistic("count", None, name), statistic("mean", "x", "mean_x")
    return Meant(ways, asked, 'AVG("x"), COUNT(*) FROM "t" GROUP BY "k"', ("k",), titles=titles, cut=cut)


_ASK = "SELECT k, COUNT(*) AS n, AVG(x) FROM t GROUP BY k"
CUTS = (
    _cut(Cut(None, (), 3, 0), f"{_ASK} LIMIT 3", f"{_ASK} FETCH FIRST 3 ROWS ONLY", f"{_ASK} FETCH NEXT 3 ROWS ONLY"),
    _cut(Cut(None, (), 1, 0), f"{_ASK} LIMIT 1", f"{_ASK} limit 1;"),
    _cut(Cut(None, (), 0, 0), f"{_ASK} LIMIT 0"),
    _cut(Cut(None, (), None, 2), f"{_ASK} OFFSET 2"),
    _cut(Cut(None, (), 999999999999999, 999999999999999), f"{_ASK} LIMIT 999999999999999 OFFSET 999999999999999"),
    _cut(Cut(None, (Order("n", False),), None, 0), f"{_ASK} ORDER BY n", f"{_ASK} ORDER BY 2", f"{_ASK} ORDER BY N ASC",
        f"{_ASK} ORDER BY COUNT(*)", f"{_ASK} ORDER BY COUNT(1)", f"{_ASK} ORDER BY n NULLS LAST",
        f'{_ASK} ORDER BY "n"'),
    _cut(Cut(None, (Order("n", True), Order("k", False)), 2, 1), f"{_ASK} ORDER BY n DESC, k LIMIT 2 OFFSET 1",
        f"{_ASK} ORDER BY 2 DESC, 1 ASC OFFSET 1 ROWS FETCH FIRST 2 ROWS ONLY",
        f"{_ASK} ORDER BY count(*) desc, t.k LIMIT 2 OFFSET 1"),
    _cut(Cut(None, (Order("mean_x", True),), None, 0), f"{_ASK} ORDER BY AVG(x) DESC", f"{_ASK} ORDER BY 3 DESC",
        f"{_ASK} ORDER BY mean_x DESC", f"{_ASK} ORDER BY avg(X) DESC"),
    _cut(Cut(None, (Order("mean_x_low", False), Order("mean_x_high", False)), None, 0),
        f"{_ASK} ORDER BY mean_x_low, MEAN_X_HIGH"),
    _cut(Cut(compare("n", ">", 3), (), None, 0), f"{_ASK} HAVING n > 3", f"{_ASK} HAVING COUNT(*) > 3",
        f"{_ASK} HAVING 3 < N"),
    _cut(Cut(Some((compare("k", "=", "a"), compare("mean_x", "<=", 2))), (), None, 0),
        f"{_ASK} HAVING AVG(x) <= 2 OR k = 'a'",
        f"{_ASK} HAVING k = 'a' OR NOT mean_x > 2"),
    _cut(Cut(All((compare("n", ">=", 3), compare("n_low", ">", -1))), (Order("kind", True),), 5, 0),
        "SELECT k AS kind, COUNT(*) AS n, AVG(x) FROM t GROUP BY k HAVING n >= 3 AND n_low > -1 "
        "ORDER BY kind DESC LIMIT 5",
        "SELECT k AS kind, COUNT(*) AS n, AVG(x) FROM t GROUP BY kind HAVING n_low > -1 "
        "AND COUNT(*) >= 3 ORDER BY k DESC LIMIT 5", titles=("kind",)),
    _cut(Cut(All((compare("mean_x", "<", 4), compare("n", ">=", 3))), (Order("kind", True),), 5, 0),
        "SELECT g AS kind, COUNT(*) AS n, AVG(v) AS mean_x FROM (SELECT k AS g, x AS v FROM t) GROUP BY g "
        "HAVING n >= 3 AND AVG(v) < 4 ORDER BY g DESC LIMIT 5", titles=("kind",)),
)  # fmt: skip
