"""The rules of expressions and conditions: texts that keep each of them, and texts that break it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from fractions import Fraction
from functools import partial
from typing import Any, cast

from ...errors import RequestError
from ...question import sql
from ...question.arithmetic import parse_expression
from ...question.asking import check_number, column_for
from ...question.condition import parse_condition
from ...question.derived import added_to, derive
from ...question.expression import Constant, Named, added, divided, multiplied
from ...question.grids import clamped, step_of
from ...question.query import count, mean, named, proportion, sum
from ...question.schema import Schema, keys, make_schema, number
from ..finding import Finding
from ..tools.refusing import Call, Rule
from .phrase_texts import phrase_schema

_RIGHT_AND_WRONG: tuple[tuple[str, str, str], ...] = (
    ("an expression names declared columns of numbers", "x; u + b; c; d - e", "k; nothing + 1; own + 1; t.x; x.y + 1"),
    ("functions are known, with their numbers of operands",
     "ABS(x); LEAST(x); CLAMP(x, 0, 1); NULLIF(x, 1); ROUND(x, 9); ROUND(x, -1)"
     + "".join(f"; {name}({', '.join(['x'] * 100)})" for name in ("COALESCE", "LEAST", "GREATEST")),
     "SIN(x); GREATEST(" + ", ".join(["x"] * 101) + "); LEAST(" + ", ".join(["x"] * 101) + "); CLAMP(x, 1);"
     "CLAMP(x, 1, 2, 3); FLOOR(); GREATEST(); ROUND(x, 10); ROUND(x, -10); ROUND(x, 0.5); ROUND(x, u);"
     "ABS(DISTINCT x); RANDOM(); x % 2; x ^ 2; x || 'a'; x::INT; CAST(x AS INT); (SELECT 1); AVG(x); x[1]; LENGTH(k);"
     "COALESCE(" + ", ".join(["x"] * 101) + "); POWER(x, 2); x & 1; EXP(x); TRY_CAST(x AS INT); x + *; SUM(x) OVER ()"),
    ("dates have these parts and periods",
     "EXTRACT(ISODOW FROM d); DATE_TRUNC('week', d) - d; DATEDIFF('day', e, d); DATE_PART('year', d);"
     "d - DATE '2020-02-29'",
     "EXTRACT(HOUR FROM d); EXTRACT(WEEK FROM d); DATE_TRUNC('hour', d) - d; DATEDIFF('month', e, d);"
     "DATE_PART('hour', d);"
     "EXTRACT(YEAR FROM x); DATE_TRUNC('week', x) - d; EXTRACT(YEAR FROM f); f - d; DATE_PART('year')"),
    ("dates are not added, multiplied or mixed with numbers",
     "d - e; (d - e) * 2; LEAST(d, e) - d; (d - e) / 2; d + 1 - e; ABS(d - e); FLOOR(d - e)",
     "d + e; d * 2; d * x; d / 2; x / d; -d; LEAST(d, x); COALESCE(d, 1) - d; CASE WHEN b THEN d ELSE 1 END - d;"
     "ABS(d); FLOOR(d);"
     "ROUND(d); CLAMP(d, 0, 1); 2 * d + e; LEAST(d + 0.5, e); LEAST(d + 9000000, e); LEAST(d - 9000000, e);"
     "NULLIF(d, 1) - d; d + x; 1 - d;"
     "CLAMP(d, DATE '2020-01-01', DATE '2020-02-01')"),
    ("TRUE and FALSE are no numbers to calculate with", "x + 1; b = TRUE", "x + TRUE; x / TRUE; -FALSE"),
    ("what divides is never 0, or the quotient has bounds",
     "x / p; x / n; CLAMP(x / z, 0, 1); x / 2; x / (p * p)",
     "x / 0; x / z; x / b; p / (p - 2); p / (p - 9); x / (2 - 2); x / (0 * x); x / u; 1 / (n + 2)"),
    ("CLAMP has two numbers in rising order", "CLAMP(x, 0, 1); CLAMP(x, 1, 1); CLAMP(x, -1, 1)",
     "CLAMP(x, 1, 0); CLAMP(x, u, 1); CLAMP(x, 0, u); CLAMP(x, 0, DATE '2020-01-01'); CLAMP(x, DATE '2020-01-01', 5);"
     "CLAMP(x / z, 1, 0); CLAMP(x / z, 0, u)"),
    ("columns of an expression have bounds", "x + 1; c + 1; m + 1; w + 1; d - e",
     "free + 1; many + 1; far + 1; f - d; own + 1; EXTRACT(YEAR FROM f)"),
    ("a CASE has conditions and numbers", "CASE WHEN b THEN 1 ELSE x END; IF(b, 1, 2); CASE z WHEN 1 THEN 2 END",
     "CASE WHEN b THEN 1 ELSE 'a' END; CASE WHEN x THEN 1 END; CASE WHEN b THEN k END; CASE k WHEN 1 THEN 2 END;"
     "IF(x > 'a', 1, 2); NULLIF(x, 'a'); NULLIF(k, 'a') + 1"),
    ("an expression is one, of fitting size",
     "1 * x" + " + 1" * 400 + "; " + "(" * 15 + "x + 1" + ")" * 15,
     "x, u; x AS y; x + ; ) ; ; x FROM t; " + "x" + " + u" * 1000 + "; " + "(" * 40 + "x" + ")" * 40
     + "; " + "x + " * 5001 + "x;"
     "x IN (" + ", ".join(map(str, range(600))) + ") + 0; " + "-" * 30 + "x; 1" + "0" * 310 + " * x; x * 1" + "0" * 290
     + " * 1" + "0" * 290 + "; x * 1e99999; x" + "/ 1000000007" * 40),
    ("integers of an expression fit into 64 bits", "x * u; v * v; w * w * w; g + z; v / p",
     "v + t; w + t; v + r; g + x; (v + t) / p; w / (t + 1); CLAMP(w * w, 5, 1000); FLOOR(v * v + 1 / 3); LEAST(v, t);"
     "COALESCE(v * v, t); NULLIF(v, t); CLAMP(v, 0, 0.000000001); (w + 1) / (t + 1); FLOOR(v + r); ROUND(v * 7 + t)"),
    ("an expression names a column", "x + 0; 0 * x", "1 + 1; 2; ABS(-3); DATE '2020-01-01' - DATE '2019-01-01'; TRUE"),
    ("values are neither too large nor too close together", "x * 1" + "0" * 90 + "; x / 1" + "0" * 90,
     "x * 1" + "0" * 100 + "; x / 1" + "0" * 102 + "; -x * 1" + "0" * 101),
)  # fmt: skip
_CONDITIONS: tuple[tuple[str, str, str], ...] = (
    ("a condition is one text that can be true", "x > 1; b; x IS NULL; (x > 1); x + 1 > u",
     "x; 1; 'a'; NULL; x >; x > 1 GROUP BY k; ; x > 1 LIMIT 1; x = NULL; x IS TRUE; x > ALL (1); x LIKE 'a'; TRUE;"
     "1 = 1;"
     "EXISTS (SELECT 1); x IN (SELECT 1); x > (SELECT 1); COUNT(*) > 1; x > 1 -- \x00; x > 1 UNION SELECT 1; d; k;"
     "z; NOT x;"
     "x > 1 |> WHERE u > 1; 1 + 1 > 1; 1 IS NULL; (1 + 1) IS NULL; -(-x) = d; -(-x) = DATE '2020-01-01'; -(-b) = 5;"
     "-(-d) = 5; NULL IS NULL; x IS DISTINCT FROM 1; k ~ 'a'; " + "(" * 21 + "x > 1" + ")" * 21),
    ("a column is compared with values of its type",
     "x = 1; k = 'a'; b = TRUE; d = DATE '2020-03-01'; f = '2020-03-01'; x = u; d < e; b <> FALSE; b + 0 = 1",
     "x = 'a'; k = 1; k = a; b = 1; b = 'true'; d = 5; d = '2020-02-30'; d = '2020-2-3'; x = k; d = x;"
     "x = DATE '2020-03-01'; k = TRUE;"
     "b = x; x = TRUE; d = '2020-03-01 10:00'; k = \"a\"; x IN ('a'); k IN (1); k IN ('a', 1); x IN (NULL);"
     "x BETWEEN 'a' AND 'b';"
     "CAST(x AS INT) = 1; d = CAST('2020' AS DATE); x = 1e400; x > " + "9" * 400 + "; (d) + 0 = 5; d - e = d;"
     "c + 0 = 'a'"),
    ("a value can occur in its column",
     "x = 7; x = -3; z = 7; k = 'b'; c = 9; c > 1; c < 9; rest = 'new'; free = 1e9; z > 0.5; k < 'b'; own = 'z';"
     "miss > 9; miss = 10",
     "x = 8; x = -4; x > 7.5; x < -3.1; x IN (1, 8); z = 0.5; z IN (1, 0.5); z <> 1.5; k = 'c'; k IN ('a', 'c');"
     "k > 'c'; k < 'A'; c = 3; c > 10;"
     "c < 0; miss = 9; miss IN (1, 9); miss <> 9; k = 'the first'; x BETWEEN 0 AND 8; NOT x = 8; b AND x = 8;"
     "b OR x = 8; labelled = 'the first';"
     "NOT (b AND x = 8); CASE WHEN x = 8 THEN 1 ELSE 0 END > 0; (x = 8) + 0 > 0; (x = 8) + u > 0; edged = 'low';"
     "when = DATE '2020-01-03';"
     "many = 2000; ((x = 8) + 0) IS NULL; CASE WHEN b THEN u WHEN z = 8 THEN 1 END > 1"),
    ("BETWEEN and IN have values in order", "x BETWEEN 1 AND 1; x IN (1); x BETWEEN 1 AND 2; x + 0 BETWEEN 1 AND 2",
     "x BETWEEN 2 AND 1; x IN (); x + 0 IN (); k BETWEEN 'b' AND 'a'; x BETWEEN SYMMETRIC 1 AND 2"),
    ("comparisons in comparisons are not deep", "(((x > 0) + 0 > 0) + 0 > 0) + 0 > 0",
     "(((((x + 0 > 0) + 0 > 0) + 0 > 0) + 0 > 0) + 0 > 0) + 0 > 0;"
     "(((((x + 0 > 0) + 0 > 0) + 0 > 0) + 0 > 0) + 0) IS NULL"),
    ("a compared expression can be computed", "x + u > z; x * x > 5; f + 0 > d; (x / p) IS NULL",
     "v + t > 1; x / z > 1; d + e > 1; d * 2 > 1; b AND v + t > 1; NOT (b AND v + t > 1); (v + t) IS NULL;"
     "(v + t > 1) + 0 > 0; CASE WHEN v + t > 1 THEN 1 ELSE 0 END = 1; free + 0 > 1; LEAST(d, x) > 1"),
)  # fmt: skip
_KEYS = (
    "CASE WHEN x > 1 THEN 'a' ELSE 'b' END; CASE WHEN x > 1 THEN 'a' END; k; c; DATE_TRUNC('month', d); z + 1; z;"
    "CASE WHEN b THEN 'a' ELSE NULL END",
    "CASE WHEN x > 1 THEN 'a' ELSE 1 END; CASE WHEN x > 1 THEN 'a' WHEN b THEN 2 END; CASE z WHEN 1 THEN 'a' END;"
    "x > ; nothing; ;"
    "x; x + 1; own; CASE WHEN own THEN 'a' END",
)  # fmt: skip


def phrase_rules() -> list[Rule]:
    """Return the rules of expressions and conditions."""
    more = {
        "labelled": keys({1: "the first", 2: "the second"}),
        "edged": number(0, 10, edges=[0, 5, 10], labels=["low", "high"]),
        "when": keys(date(2020, 1, 1), date(2020, 1, 9)),
    }
    known = phrase_schema()
    schema = make_schema("t", {**known.columns, **more}, None, None, "add_remove", None)
    rules = [Rule(what, _all(right, _mean_of, schema), _all(wrong, _mean_of, schema))
             for what, right, wrong in _RIGHT_AND_WRONG]  # fmt: skip
    rules += [Rule(what, _all(right, _where, schema), _all(wrong, _where, schema))
              for what, right, wrong in _CONDITIONS]  # fmt: skip
    rules.append(Rule("a key has values that are known", _all(_KEYS[0], _by, schema), _all(_KEYS[1], _by, schema)))
    return [*rules, *_of_values(schema)]


def too_deep() -> Iterator[Finding]:
    """Yield whether an expression that is nested too deeply is refused; so deep a call ends the record of what ran."""
    try:
        sql.parse(f"SELECT AVG(x{' / p' * 900}) FROM t", phrase_schema(), recorded=True)
        told = "accepted"
    except RequestError:
        told = ""
    except Exception as error:
        told = type(error).__name__
    yield Finding("T16: an expression that is nested too deeply is refused", not told, told or "It is.")


def _all(texts: str, call: Any, schema: Schema) -> list[Call]:
    return [partial(call, text.strip(" "), schema) for text in texts.split(";")]


def _mean_of(text: str, schema: Schema) -> object:
    name, more = column_for(text, schema)
    return more.columns[name] if name not in schema.columns else derive(parse_expression(text, schema), schema)


def _by(text: str, schema: Schema) -> object:
    return sql.make_query([count()], [text], None, schema)


def _where(text: str, schema: Schema) -> object:
    return sql.make_query([count()], None, text, schema)


def _of_values(schema: Schema) -> Sequence[Rule]:
    """Return the rules of what is made without a text."""
    x, one = parse_expression("x", schema), Constant(Fraction(1))
    step = step_of(parse_expression("x + 0", schema), schema)
    recoded, with_recode = column_for("CASE WHEN b THEN 'a' END", schema)
    asked_where, parsed, share_of = cast(Any, parse_condition), cast(Any, sql.parse), cast(Any, proportion)
    long, longer = Constant(Fraction(2**1024 - 1)), Constant(Fraction(2**1024))
    return [
        Rule("constants have at most 1024 bits", [partial(added, [long, x]), partial(multiplied, [long, one, x]),
             partial(divided, x, long)],
             [partial(added, [long, one]), partial(multiplied, [long, Constant(Fraction(2))]), partial(multiplied,
             [longer, one]),
              partial(added, [Constant(Fraction(1, 2**1024)), x]), partial(divided, x, longer), partial(divided, x,
              Constant(Fraction(0)))]),
        Rule("a bound is not above the other", [partial(clamped, step, Fraction(1), Fraction(1))],
             [partial(clamped, step, Fraction(2), Fraction(1)), partial(clamped, step, Fraction(0), Fraction(2**62)),
              partial(clamped, step, Fraction(-(2**62)), Fraction(0))]),
        Rule("a condition is a text", [partial(parse_condition, "x > 1", schema), partial(proportion, "x > 1")],
             [*(partial(asked_where, each, schema) for each in (5, None, ["x > 1"], True, "x > 1" + " " * 100_000,
             "x > '\ud800'")),
              partial(share_of, 5), partial(share_of, None)]),
        Rule("a question has at most 100,000 characters", [partial(sql.parse, "SELECT COUNT(*) FROM t" + " " * 99_978,
        schema)],
             [partial(sql.parse, "SELECT COUNT(*) FROM t" + " " * 99_979, schema), partial(parsed, 5, schema)]),
        Rule("a statistic is about one column or expression", [partial(sql.parse,
        "SELECT SUM(X), SUM((x)), SUM(t.u), SUM(u * 2) FROM t", schema)],
             [partial(sql.parse, f"SELECT {each} FROM t", schema) for each in
              ("SUM(*)", "AVG(t.*)", "SUM()", "COUNT()", "SUM(x, u)", "COUNT(t.*)", "SUM(DISTINCT x)", "MEDIAN(*)",
              "SUM('x')", "SUM(NULL)")]),
        Rule("a text is no number", [partial(step_of, parse_expression("z", schema), schema)],
             [partial(step_of, Named(recoded), with_recode)]),
        Rule("statistics are about numbers", [partial(_asked, mean("x + 1"), schema), partial(_asked, sum("b"), schema),
             partial(check_number, "x", schema.columns["x"])],
             [partial(_asked, each, schema) for each in (
                 mean("k"), mean("free"), sum("d"), mean("CASE WHEN b THEN 'a' END"), sum("x", weight="k"), mean("x",
                 weight="free"),
                 mean("x", weight="CASE WHEN b THEN 'a' END"), count("x", weight="u"), count("nothing"), mean(" "),
                 mean("x +"), mean("v + t"),
             )]),
        Rule("names are different", [partial(named, [count(), count()], []), partial(named, [count(name="n"),
        sum("x")], ["k"])],
             [partial(named, [count(name="n"), sum("x", name="N")], []), partial(named, [count(name="k")], ["K"]),
              partial(named, [count(name="n"), sum("x", name="n_low")], []), partial(named, [count(name="n_noise"),
              count(name="n")], []),
              partial(named, [count(name="n"), count(name="n_high")], [])]),
        Rule("an expression is not the name of a column", [partial(added_to, schema, parse_expression("x + 1",
        schema))],
             [partial(added_to, _named_so(schema, '1 + "x"'), parse_expression("x + 1", schema))]),
    ]  # fmt: skip


def _named_so(schema: Schema, name: str) -> Schema:
    columns = {**schema.columns, name: number(0, 1)}
    return make_schema("t", columns, None, None, "add_remove", None)


def _asked(statistic: Any, schema: Schema) -> object:
    return sql.make_query([statistic], None, None, schema)
