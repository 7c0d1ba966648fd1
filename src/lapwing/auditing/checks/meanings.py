"""Statistics in SQL and what they mean: for each, the fields of the question, and ways to write it."""

from __future__ import annotations

from fractions import Fraction

from ...question.conditions import Against, All, Missing, Not, OneOf, Some, Unknown
from ...question.expression import Apply, Choose, Indicator, Product, Quotient, Sum
from ...question.query import Compare, Statistic
from ..tools.meant import ComputedAs, Meant, compare, constant, named, statistic, whole

X, Y, Z, LARGE = named("x", "y", "z", "large")
ONE, ZERO = constant(1), constant(0)
COUNT = statistic("count", name="count")
_BIG = compare("z", ">=", 4)
_TENTH = Fraction(1, 10)


def _of(column: str, kind: str, name: str, ways: tuple[str, ...], canonical: str, **more: object) -> Meant:
    """Return a statistic of a column, with a name that the question gives and one that it does not."""
    usual = statistic(kind, column, name, **more)
    return Meant([f"SELECT {way} FROM t" for way in ways], (usual,), f'{canonical} FROM "t"')


def _ratio(
    ways: tuple[str, ...], parts: tuple[Statistic, Statistic], factor: Fraction, name: str, canonical: str
) -> Meant:
    asked = statistic("ratio", None, name, parts=parts, factor=factor)
    return Meant([f"SELECT {way} FROM t" for way in ways], (asked,), f'{canonical} FROM "t"')


_COUNTED = Choose(((_BIG, ONE),), None)
_CHOSEN = Choose(((_BIG, X),), None)
_SUMS = statistic("sum", "x"), statistic("sum", "z")
_CASE = 'CASE WHEN "z" >= 4 THEN'

STATISTICS = (
    Meant(("SELECT COUNT(*) FROM t", "SELECT COUNT(1) FROM t", 'select count ( * ) from "T";'), (COUNT,),
        'COUNT(*) FROM "t"'),
    Meant(("SELECT COUNT(*) AS n FROM t", 'SELECT COUNT(2) n FROM t -- all', "SELECT COUNT(*) /* all */ AS n FROM t"),
        (statistic("count", name="n"),), 'COUNT(*) FROM "t"'),
    Meant(("SELECT COUNT(DISTINCT p) FROM t", "SELECT COUNT(DISTINCT P) FROM t"),
        (statistic("people", "p", "people"),), 'COUNT(DISTINCT "p") FROM "t"'),
    _of("s", "count", "count_s", ("COUNT(s)", "COUNT(S)", 'COUNT("s")'), 'COUNT("s")'),
    _of("x", "sum", "sum_x", ("SUM(x)", "SUM((x))", "sum(t.x)", 'SUM("X")'), 'SUM("x")'),
    _of("x", "mean", "mean_x", ("AVG(x)",), 'AVG("x")'),
    _of("x", "variance", "variance_x", ("VAR_SAMP(x)", "VARIANCE(x)"), 'VAR_SAMP("x")'),
    _of("x", "variance", "variance_x", ("VAR_POP(x)",), 'VAR_POP("x")', sample=False),
    _of("x", "std", "std_x", ("STDDEV(x)", "STDDEV_SAMP(x)"), 'STDDEV_SAMP("x")'),
    _of("x", "std", "std_x", ("STDDEV_POP(x)",), 'STDDEV_POP("x")', sample=False),
    _of("x", "quantile", "median_x", ("MEDIAN(x)", "QUANTILE_CONT(x, 0.5)",
        "PERCENTILE_CONT(1/2) WITHIN GROUP (ORDER BY x)"),
        'MEDIAN("x")', level=whole(1, 2)),
    _of("x", "quantile", "min_x", ("MIN(x)", "QUANTILE_DISC(x, 0)"), 'MIN("x")', level=whole(0)),
    _of("x", "quantile", "max_x", ("MAX(x)", "QUANTILE_CONT(x, 1.0)"), 'MAX("x")', level=whole(1)),
    _of("x", "quantile", "q0.9_x",
        ("QUANTILE_CONT(x, 0.9)", "QUANTILE_DISC(x, 0.90)", "QUANTILE(x, 0.9)", "quantile_cont(x, 9/10)",
        "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)", "PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY x ASC)"),
        'QUANTILE_CONT("x", 0.9)', level=whole(9, 10)),
    _of("x", "quantile", "q1/3_x", ("QUANTILE_CONT(x, 1/3)", "QUANTILE(x, 2/6)"), 'QUANTILE_CONT("x", 1/3)',
        level=whole(1, 3)),
    _of("y", "quantile", "q0.1_y", ("WEIGHTED_QUANTILE(y, x, 0.1)", "weighted_quantile(y, x, 1/10)"),
        'WEIGHTED_QUANTILE("y", "x", 0.1)', level=_TENTH, weight=X),
    _of("y", "quantile", "median_y", ("WEIGHTED_MEDIAN(y, x)", "WEIGHTED_QUANTILE(y, x, 0.5)"),
        'WEIGHTED_QUANTILE("y", "x", 0.5)', level=whole(1, 2), weight=X),
    Meant(("SELECT AVG(CASE WHEN z > 3 THEN 1 ELSE 0 END) FROM t",
        "SELECT AVG(CASE WHEN 3 < z THEN 1.0 ELSE 0 END) FROM t"),
        (statistic("proportion", None, "proportion", condition=_BIG),), f'AVG({_CASE} 1 ELSE 0 END) FROM "t"'),
    Meant(("SELECT AVG(CASE WHEN z > 3 THEN 2 ELSE 0 END) FROM t",),
        (statistic("mean", f"{_CASE} 2 ELSE 0 END", "mean_z", expression=Choose(((_BIG, constant(2)),), ZERO)),),
        f'AVG({_CASE} 2 ELSE 0 END) FROM "t"',
        computed={f"{_CASE} 2 ELSE 0 END": ComputedAs(Choose(((_BIG, constant(2)),), ZERO), "number",
        whole(0), whole(2))}),
    Meant(("SELECT SUM(CASE WHEN z > 3 THEN 1 ELSE 0 END) FROM t",),
        (statistic("sum", f"{_CASE} 1 ELSE 0 END", "sum_z", expression=Choose(((_BIG, ONE),), ZERO)),),
        f'SUM({_CASE} 1 ELSE 0 END) FROM "t"',
        computed={f"{_CASE} 1 ELSE 0 END": ComputedAs(Choose(((_BIG, ONE),), ZERO), "integer",
        whole(0), whole(1), (0, 1))}),
    Meant(("SELECT COUNT(*) FILTER (WHERE z > 3) FROM t", "SELECT COUNT(CASE WHEN z > 3 THEN 1 END) FROM t",
        "SELECT COUNT(1) FILTER (WHERE NOT z <= 3) FROM t"),
        (statistic("count", f"{_CASE} 1 END", "count_z", expression=_COUNTED),), f'COUNT({_CASE} 1 END) FROM "t"',
        computed={f"{_CASE} 1 END": ComputedAs(_COUNTED, "integer", whole(0), whole(1), (1,))}),
    Meant(("SELECT SUM(x) FILTER (WHERE z > 3) FROM t", "SELECT SUM(CASE WHEN z > 3 THEN x END) FROM t",
        "SELECT SUM(CASE WHEN z > 3 THEN x ELSE NULL END) FROM t", "SELECT SUM(IF(z > 3, x, NULL)) FROM t"),
        (statistic("sum", f'{_CASE} "x" END', "sum_z_x", expression=_CHOSEN),), f'SUM({_CASE} "x" END) FROM "t"',
        computed={f'{_CASE} "x" END': ComputedAs(_CHOSEN, "number", whole(0), whole(10))}),
    Meant(("SELECT SUM(x + y) FROM t", "SELECT SUM(y + x) AS sum_x_y FROM t", "SELECT SUM((y) - (-x)) FROM t"),
        (statistic("sum", '"x" + "y"', "sum_x_y", expression=Sum((X, Y))),), 'SUM("x" + "y") FROM "t"',
        computed={'"x" + "y"': ComputedAs(Sum((X, Y)), "number", whole(-4), whole(20))}),
    Meant(("SELECT SUM(x * 2 - 1) FROM t", "SELECT SUM(-1 + 2 * x) FROM t", "SELECT SUM(x / 0.5 - 1) FROM t"),
        (statistic("sum", '-1 + 2 * "x"', "sum_x", expression=Sum((constant(-1), Product((constant(2), X))))),),
        'SUM(-1 + 2 * "x") FROM "t"',
        computed={'-1 + 2 * "x"': ComputedAs(Sum((constant(-1), Product((constant(2), X)))), "number",
        whole(-1), whole(19))}),
    Meant(("SELECT AVG(b) FROM t", "SELECT AVG(b = TRUE) FROM t", "SELECT AVG((b)) FROM t"),
        (statistic("mean", '("b" = TRUE)', "mean_b", expression=Indicator(compare("b", "=", True))),),
        'AVG(("b" = TRUE)) FROM "t"',
        computed={'("b" = TRUE)': ComputedAs(Indicator(compare("b", "=", True)), "integer", whole(0), whole(1),
        (0, 1))}),
    Meant(("SELECT SUM(x), SUM(x), AVG(y), COUNT(*) AS SUM_X_3 FROM t",),
        (statistic("sum", "x", "sum_x"), statistic("sum", "x", "sum_x_2"), statistic("mean", "y", "mean_y"),
        statistic("count", None, "SUM_X_3")), 'AVG("y"), COUNT(*), SUM("x") FROM "t"'),
    Meant(("SELECT SUM(cdf), AVG(bin), MAX(clamp) FROM t",
        "SELECT SUM(cdf), AVG(bin), MAX(v) AS max_clamp FROM (SELECT cdf, bin, clamp AS v FROM t)"),
        (statistic("sum", "cdf", "sum_cdf"), statistic("mean", "bin", "mean_bin"),
        statistic("quantile", "clamp", "max_clamp", level=whole(1))),
        'AVG("bin"), MAX("clamp"), SUM("cdf") FROM "t"'),
    _ratio(("SUM(x) / SUM(z)", "(SUM(x)) / (SUM(z))", "SUM(x) / NULLIF(SUM(z), 0)", "CAST(SUM(x) AS DOUBLE) / SUM(z)",
        "SUM(x)::DECIMAL / CAST(SUM(z) AS REAL)", "1.0 * SUM(x) / SUM(z)", "SUM(x) / (1 * SUM(z))",
        "1 / (SUM(z) / SUM(x))"), _SUMS, whole(1), "sum_x_per_sum_z", 'SUM("x") / SUM("z")'),
    _ratio(("100.0 * SUM(x) / SUM(z)", "SUM(x) * 100 / SUM(z)", "100 * (SUM(x) / SUM(z))", "SUM(x) / SUM(z) * 100",
        "SUM(x) / (SUM(z) / 100)", "SUM(x) / SUM(z) / 0.01", "25 * SUM(x) * 4 / NULLIF(SUM(z), 0.0)"),
        _SUMS, whole(100), "sum_x_per_sum_z", '100 * SUM("x") / SUM("z")'),
    _ratio(("SUM(x) / (3 * SUM(z))", "1/3 * SUM(x) / SUM(z)", "SUM(x) / SUM(z) / 3"), _SUMS, whole(1, 3),
        "sum_x_per_sum_z", '1/3 * SUM("x") / SUM("z")'),
    _ratio(("-2 * SUM(x) / SUM(z)",), _SUMS, whole(-2), "sum_x_per_sum_z", '-2 * SUM("x") / SUM("z")'),
    _ratio(("SUM(z) / SUM(x)",), _SUMS[::-1], whole(1), "sum_z_per_sum_x", 'SUM("z") / SUM("x")'),
    _ratio(("SUM(x) / COUNT(*)",), (_SUMS[0], statistic("count")), whole(1), "sum_x_per_count", 'SUM("x") / COUNT(*)'),
    _ratio(("COUNT(*) / COUNT(DISTINCT p)",), (statistic("count"), statistic("people", "p")), whole(1),
        "count_per_people", 'COUNT(*) / COUNT(DISTINCT "p")'),
    _ratio(("SUM(x) / SUM(x)",), (_SUMS[0], _SUMS[0]), whole(1), "sum_x_per_sum_x", 'SUM("x") / SUM("x")'),
)  # fmt: skip

_XY, _YZ = Product((X, Y)), Product((Y, Z))
_HALF = Product((constant(3, 2), Y))

WEIGHTED = (
    Meant(("SELECT SUM(x * y) / SUM(x) FROM t", "SELECT SUM(y * x) / SUM(x) FROM t",
        "SELECT SUM(2 * x * y) / SUM(2 * x) FROM t"),
        (statistic("mean", "y", "mean_y", weight=X),), 'SUM("x" * "y") / SUM("x") FROM "t"'),
    Meant(("SELECT SUM(3 * x * y) / SUM(x * 2) FROM t", "SELECT 1.5 * SUM(x * y) / SUM(x) FROM t"),
        (statistic("mean", '1.5 * "y"', "mean_y", weight=X, expression=_HALF),),
        'SUM(1.5 * "x" * "y") / SUM("x") FROM "t"',
        computed={'1.5 * "y"': ComputedAs(_HALF, "number", whole(-6), whole(15))}),
    Meant(("SELECT SUM(y * z) / SUM(y) FROM t",),  # weights may not be negative, so that it is a ratio
        (statistic("ratio", None, "sum_y_z_per_sum_y", factor=whole(1),
        parts=(statistic("sum", '"y" * "z"', expression=_YZ), statistic("sum", "y"))),),
        'SUM("y" * "z") / SUM("y") FROM "t"',
        computed={'"y" * "z"': ComputedAs(_YZ, "number", whole(-36), whole(90))}),
    Meant(("SELECT SUM(x * y) / SUM(z) FROM t",),
        (statistic("ratio", None, "sum_x_y_per_sum_z", factor=whole(1),
        parts=(statistic("sum", '"x" * "y"', expression=_XY), statistic("sum", "z"))),),
        'SUM("x" * "y") / SUM("z") FROM "t"',
        computed={'"x" * "y"': ComputedAs(_XY, "number", whole(-40), whole(100))}),
    Meant(("SELECT SUM(x * z * y) / SUM(z * x) FROM t",),
        (statistic("mean", "y", "mean_y", weight=Product((X, Z))),),
        'SUM("x" * "y" * "z") / SUM("x" * "z") FROM "t"',
        computed={'"x" * "z"': ComputedAs(Product((X, Z)), "number", whole(0), whole(90))}),
)  # fmt: skip


def _where(canonical: str, condition: object, *ways: str) -> Meant:
    texts = [f"SELECT COUNT(*) FROM t WHERE {way}" for way in ways]
    return Meant(texts, (COUNT,), f'COUNT(*) FROM "t" WHERE {canonical}', where=condition)  # type: ignore[arg-type]


_SMALL, _A = compare("x", "<", 2), compare("k", "=", "a")

CONDITIONS = (
    _where('"x" < 2', _SMALL, "x < 2", "2 > x", "NOT x >= 2", "(x) < (2.0)", "NOT (NOT x < 2)", "t.x < 2"),
    _where('"x" <= 2', compare("x", "<=", 2), "x <= 2", "2 >= x", "NOT x > 2", "x <= 2.00"),
    _where('"x" > 2', compare("x", ">", 2), "x > 2", "2 < x", "NOT x <= 2"),
    _where('"x" >= 2', compare("x", ">=", 2), "x >= 2", "2 <= x", "NOT x < 2"),
    _where('"x" = 2', compare("x", "=", 2), "x = 2", "2 = x", "x == 2", "x IN (2)", "NOT x <> 2"),
    _where('"x" <> 2', compare("x", "<>", 2), "x <> 2", "x != 2", "2 <> x", "NOT x = 2", "NOT x IN (2)",
        "x NOT IN (2)"),
    _where('"y" > -1.5', compare("y", ">", Fraction(-3, 2)), "y > -1.5", "-1.5 < y", "y > -1.50"),
    _where('"k" IN (\'a\', \'b\')', OneOf("k", ("a", "b")), "k IN ('a', 'b')", "K in ('b','a','b')"),
    _where('NOT ("k" IN (\'a\', \'b\'))', Not(OneOf("k", ("a", "b"))), "k NOT IN ('a', 'b')", "NOT k IN ('b', 'a')"),
    _where('"x" <= 4 AND "x" >= 1', All((compare("x", "<=", 4), compare("x", ">=", 1))),
        "x BETWEEN 1 AND 4", "x <= 4 AND x >= 1", "1 <= x AND 4 >= x"),
    _where('"x" <= 4 AND "x" >= 4', All((compare("x", "<=", 4), compare("x", ">=", 4))), "x BETWEEN 4 AND 4"),
    _where('NOT ("x" <= 4 AND "x" >= 1)', Not(All((compare("x", "<=", 4), compare("x", ">=", 1)))),
        "x NOT BETWEEN 1 AND 4", "NOT (x BETWEEN 1 AND 4)"),
    _where('"k" = \'a\' AND "x" < 2', All((_A, _SMALL)), "k = 'a' AND x < 2", "x < 2 AND k = 'a'",
        "x < 2 AND (k = 'a' AND x < 2)"),
    _where('"k" = \'a\' OR "x" < 2', Some((_A, _SMALL)), "k = 'a' OR x < 2", "x < 2 OR k = 'a'",
        "(x < 2) OR ('a' = k)"),
    _where('("k" = \'a\' OR "x" < 2) AND "z" >= 4', All((Some((_A, _SMALL)), _BIG)), "(k = 'a' OR x < 2) AND z > 3"),
    _where('("k" = \'a\' AND "x" < 2) OR "z" >= 4', Some((All((_A, _SMALL)), _BIG)), "k = 'a' AND x < 2 OR z > 3",
        "z > 3 OR k = 'a' AND x < 2"),
    _where('"x" IS NULL', Missing("x"), "x IS NULL", "(x) IS NULL", "NOT (x IS NOT NULL)"),
    _where('NOT ("x" IS NULL)', Not(Missing("x")), "x IS NOT NULL", "NOT x IS NULL"),
    _where('("x" + "y") IS NULL', Unknown(Sum((X, Y))), "x + y IS NULL", "(y + x) IS NULL"),
    _where('"b" = TRUE', compare("b", "=", True), "b", "b = TRUE", "(b)"),
    _where('"b" <> TRUE', compare("b", "<>", True), "NOT b", "b <> TRUE", "b != true"),
    _where('"b" = FALSE', compare("b", "=", False), "b = FALSE", "false = B"),
    _where('"x" < "y"', Compare("x", "<", None, "y"), "x < y", "NOT x >= y", "y > x"),
    _where('"z" >= 4', _BIG, "z > 3", "z >= 4", "z > 3.5", "NOT z < 4", "NOT z <= 3"),
    _where('"x" = "y"', Compare("x", "=", None, "y"), "x = y", "NOT x <> y"),
    _where('"x" + "y" > 3', Against(Sum((X, Y)), ">", constant(3)), "x + y > 3", "3 < y + x", "NOT x + y <= 3"),
    _where('"x" * "z" >= ABS("y")', Against(Product((X, Z)), ">=", Apply("ABS", (Y,))), "ABS(y) <= x * z",
        "z * x >= ABS(y)"),
    _where('"x" / (1 + "z") < 2', Against(Quotient(X, Sum((ONE, Z))), "<", constant(2)), "x / (z + 1) < 2"),
    _where('"s" = \'it\'\'s\'', compare("s", "=", "it's"), "s = 'it''s'"),
    _where('"cdf" < "clamp" AND "median" = TRUE',
        All((Compare("cdf", "<", None, "clamp"), compare("median", "=", True))),
        "median AND cdf < clamp", "cdf < clamp AND median = TRUE"),
    _where('"Cost (EUR)" > 50', compare("Cost (EUR)", ">", 50), '"Cost (EUR)" > 50', '"COST (eur)" > 50'),
)  # fmt: skip
