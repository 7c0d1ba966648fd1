"""SQL as people write it: what means the same as a longer form, and what a refusal says to write instead."""

import pandas as pd
import pytest

import lapwing as lw
from lapwing import errors
from lapwing.question.schema_json import schema_of
from lapwing.question.statement import read
from lapwing.release.recall import recall

pytestmark = pytest.mark.usefixtures("frozen_noise")

AGES = [(7 * i) % 111 for i in range(400)]
FRAME = pd.DataFrame(
    {
        "ward": ["north", "south"] * 200,
        "age": [*AGES[:-1], None],
        "cost": [float(i % 100) for i in range(400)],
        "day": ["2024-03-01", "2024-04-01"] * 200,
        "seen": ["2024-03-01", "2024-04-01"] * 200,
    }
)
COLUMNS = {
    "ward": lw.keys("north", "south"),
    "age": lw.number(0, 110, integer=True),
    "cost": lw.number(0, 100),
    "day": lw.dates("2024-01-01", "2024-12-31"),
    "seen": "date",
}


@pytest.fixture
def source(tmp_path):
    return lw.Source(FRAME, name="t", columns=COLUMNS, epsilon=900, ledger=tmp_path / "t.ledger")


def refusal(source, text):
    with pytest.raises(errors.UnsupportedQuery) as refused:
        source.plan(text, epsilon=1)
    return str(refused.value)


# --- FLOOR(age / 10) * 10 ---

TENS = '10 * FLOOR(0.1 * "age")'


@pytest.mark.parametrize(
    ("select", "group", "canonical"),
    [
        ("FLOOR(age/10)*10 AS g, ", "FLOOR(age/10)*10", TENS),
        ("10*FLOOR(age/10) AS g, ", "g", TENS),
        ("FLOOR(age/10)*10 AS g, ", "1", TENS),
        ("(FLOOR(age * 0.1)) * 10 AS g, ", "10 * FLOOR(age / 10)", TENS),
        ("", "FLOOR(age/10)*10", TENS),
        ("ROUND(age, -1) AS g, ", "g", '10 * ROUND(0.1 * "age")'),
    ],
)
def test_multiples_are_public_keys(source, select, group, canonical):
    answer = source.sql(f"SELECT {select}COUNT(*) AS n FROM t GROUP BY {group}", epsilon=100)
    assert answer.plan.query.text == f'SELECT COUNT(*) FROM "t" GROUP BY {canonical}'
    half = 5 if "ROUND" in canonical else 0
    due = {key: sum((age + half) // 10 * 10 == key for age in AGES[:-1]) for key in range(0, 111, 10)}
    key = "g" if select else answer.keys[0]
    assert {row[key]: row["n"]["value"] for row in answer.rows} == due
    assert answer.flat()[key] == [*range(0, 111, 10)]


def test_multiples_are_the_groups_of_bin_and_one_question_however_they_are_written(source):
    first = source.sql("SELECT FLOOR(cost/20)*20 AS g, AVG(age) AS a FROM t GROUP BY g", epsilon=100)
    again = source.release(lw.mean("age", name="a"), by="20 * FLOOR(cost / 20)", epsilon=100)
    bins = source.sql("SELECT AVG(age) AS a FROM t GROUP BY BIN(cost, 0, 20, 40, 60, 80, 100)", epsilon=100)
    assert again.repeated
    assert first.flat()["g"] == [0, 20, 40, 60, 80, 100]
    assert [round(a) for a in first.flat()["a"]][:5] == [round(a) for a in bins.flat()["a"]]


def test_multiples_stand_in_tables_with_totals_and_are_read_from_the_ledger_again(source):
    text = "SELECT FLOOR(age/50)*50 AS g, ward, COUNT(*) AS n FROM t GROUP BY CUBE (g, ward)"
    answer = source.sql(text, epsilon=100)
    assert answer.table("g").flat()["g"] == [0, 50, 100]
    assert recall(source.schema, source.ledger, answer.entry).flat() == answer.flat()


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("age/10*10", "BIN(age, 0, 10, 20)"),
        ("10*(age/10)", "/ does not round"),
        ("age/10", "GROUP BY BIN(age, 0, 55, 110)"),
        ("FLOOR(cost*10)/10", "GROUP BY BIN(cost, 0, 50, 100)"),
        ("FLOOR(cost/10)*10 + 5", "GROUP BY BIN(cost, 0, 50, 100)"),
        ("FLOOR(cost*100)*10", "GROUP BY BIN(cost, 0, 50, 100)"),
        ("day", "GROUP BY DATE_TRUNC('month', day)"),
        ("seen", "Once the owner of the source declares its first and last day: GROUP BY DATE_TRUNC('month', seen)"),
    ],
)
def test_other_keys_are_refused_with_the_bins_to_choose(source, group, said):
    assert said in refusal(source, f"SELECT COUNT(*) FROM t GROUP BY {group}")


# --- joins as SQL writes them ---

JOINED = {"cost": lw.number(0, 100), "age": lw.number(0, 120), "ward": "text", "region": lw.keys("n", "s"),
          "area": lw.keys("n", "s", other="rest")}  # fmt: skip


@pytest.fixture
def joined(tmp_path):
    rows = {"patient": ["p", "q", "q", "r"], "cost": [10.0, 20.0, 30.0, 40.0], "ward": ["a", "b", "b", "zz"]}
    pd.DataFrame(rows).to_csv(tmp_path / "visits.csv", index=False)
    pd.DataFrame({"code": ["a", "b"], "name": ["n", "s"], "area": ["n", "s"]}).to_csv(
        tmp_path / "regions.csv", index=False
    )
    pd.DataFrame({"id": ["p", "q"], "age": [50, 60]}).to_csv(tmp_path / "people.csv", index=False)
    regions = {"region": "name", "area": "area"}
    return lw.Source(
        tmp_path / "visits.csv", name="visits", columns=JOINED, person="patient", rows_per_person=2, epsilon=900,
        ledger=tmp_path / "visits.ledger",
        joins=[
            lw.join(tmp_path / "people.csv", person="id", columns=["age"]),
            lw.join(tmp_path / "regions.csv", public=True, on={"ward": "code"}, columns=regions),
        ],
    )  # fmt: skip


ON = "ON v.ward = r.code"


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT r.name AS region, COUNT(*) AS n FROM visits v JOIN regions r {ON} GROUP BY r.name",
        "SELECT r.name AS k, COUNT(*) AS n FROM visits AS v INNER JOIN Regions AS r ON (r.code = v.ward) GROUP BY 1",
        f"SELECT COUNT(*) AS n FROM visits v LEFT JOIN regions r {ON} GROUP BY r.name",
        "SELECT COUNT(*) AS n FROM visits LEFT OUTER JOIN regions ON ward = code GROUP BY regions.name",
    ],
)
def test_a_join_that_the_source_declares_may_be_written(joined, text):
    plain = joined.plan("SELECT COUNT(*) FROM visits GROUP BY region", epsilon=1)
    assert joined.plan(text, epsilon=1).query.text == plain.query.text
    answer = joined.sql(text, epsilon=100)
    assert [row["n"]["value"] for row in answer.rows] == [1, 2]


def test_a_table_of_people_and_a_look_up_may_both_be_written(joined):
    both = f"visits v LEFT JOIN people p ON p.id = v.patient LEFT JOIN regions r {ON}"
    text = f"SELECT AVG(p.age) FROM {both} WHERE r.name = 'n'"
    plain = joined.plan("SELECT AVG(age) FROM visits WHERE region = 'n'", epsilon=1)
    assert joined.plan(text, epsilon=1).query.text == plain.query.text


def test_away_from_its_tables_a_source_says_how_joined_columns_are_named(joined):
    text = f"SELECT COUNT(*) FROM visits v LEFT JOIN regions r {ON} GROUP BY r.name"
    with pytest.raises(errors.UnsupportedQuery, match="like its own, without JOIN: age, region, area"):
        read(text, schema_of(joined.describe()))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"COUNT(*) FROM visits v JOIN wards r {ON} GROUP BY r.name", "without JOIN: age, region, area"),
        (f"COUNT(*) FROM visits v JOIN regions r {ON}", "Write LEFT JOIN"),
        (f"COUNT(*) FROM visits v JOIN regions r {ON} GROUP BY r.area", "Write LEFT JOIN"),
        ("AVG(p.age) FROM visits v JOIN people p ON v.patient = p.id", "Write LEFT JOIN"),
        ("COUNT(*) FROM visits v LEFT JOIN regions r ON v.cost = r.code", "Write ON v.ward = r.code"),
        ("COUNT(*) FROM visits v LEFT JOIN regions r ON r.ward = r.code", "Write ON v.ward = r.code"),
        ("COUNT(*) FROM visits v LEFT JOIN regions r ON u.ward = r.code", "Write ON v.ward = r.code"),
        ("COUNT(*) FROM visits v LEFT JOIN regions r ON v.ward = r.code AND v.cost > 5", "Write ON v.ward = r.code"),
        ("COUNT(*) FROM visits v LEFT JOIN regions r ON v.ward <> r.code", "Write ON v.ward = r.code"),
        ("COUNT(*) FROM visits v LEFT JOIN regions r USING (ward)", "Write ON v.ward = r.code"),
        ("COUNT(*) FROM visits v, regions r", "Write ON v.ward = r.code"),
        (f"COUNT(*) FROM visits v RIGHT JOIN regions r {ON}", "can declare the join"),
        (f"COUNT(*) FROM visits v FULL JOIN regions r {ON}", "can declare the join"),
        (f"COUNT(*) FROM visits v SEMI JOIN regions r {ON}", "can declare the join"),
        ("COUNT(*) FROM visits v NATURAL JOIN regions r", "can declare the join"),
        (f"COUNT(*) FROM visits v LEFT JOIN regions r {ON} WHERE r.code = 'a'", "`r.code` of an unknown table"),
        (f"COUNT(*) FROM visits v LEFT JOIN regions r {ON} WHERE r.region = 'n'", "`r.region` of an unknown table"),
        (f"COUNT(*) FROM (SELECT * FROM visits) v LEFT JOIN regions r {ON}", "can declare the join"),
        (
            "COUNT(*) FROM visits v LEFT JOIN (SELECT * FROM regions) r ON v.ward = r.code",
            "can declare the join",
        ),
    ],
)
def test_other_joins_are_refused(joined, text, said):
    assert said in refusal(joined, f"SELECT {text}")


def test_a_join_with_aliases_is_refused_as_one_without_them(source):
    said = "The owner of the source can declare the join, with [[join]]"
    assert said in refusal(source, "SELECT COUNT(*) FROM t s JOIN regions r ON s.ward = r.name GROUP BY r.nuts1")
    assert said in refusal(source, "SELECT COUNT(*) FROM t JOIN regions ON ward = name GROUP BY nuts1")


# --- whole numbers between bounds, and truth values, are their own keys ---

ODD = {"odd name": [*range(-1, 5), None, 2.0], "insured": [True, False, None, True] * 2}


@pytest.fixture
def valued(tmp_path):
    whole = {"odd name": lw.number(0, 3, integer=True), "cost": lw.number(0, 2000, integer=True)}
    frame = pd.DataFrame({**ODD, "cost": 1.0})
    return lw.Source(
        frame, name="t", columns={"insured": "boolean", **whole}, epsilon=900, ledger=tmp_path / "t.ledger"
    )


@pytest.mark.parametrize(
    ("column", "due"),
    [("odd name", {0: 1, 1: 1, 2: 2, 3: 1}), ("insured", {False: 2, True: 4})],
)
def test_values_that_are_public_and_few_are_keys_and_what_lies_beyond_is_in_no_group(valued, column, due):
    text = f'SELECT "{column}" AS k, COUNT(*) AS n, AVG("odd name") AS m FROM t GROUP BY "{column}"'
    answer = valued.sql(text, epsilon=400)
    assert {row["k"]: round(row["n"]["value"]) for row in answer.rows} == due
    assert answer.plan.query.text == f'SELECT AVG("odd name"), COUNT(*) FROM "t" GROUP BY "{column}"'
    again = valued.release(lw.count(), lw.mean("odd name"), by=column, epsilon=400)
    assert again.repeated
    sets = valued.release(lw.count(), by=lw.cube("odd name", "insured"), epsilon=400)
    assert len(sets.rows) == 5 * 3


def test_whole_numbers_with_many_values_need_bins(valued):
    assert "BIN(cost, 0, 1000, 2000)" in refusal(valued, "SELECT cost, COUNT(*) FROM t GROUP BY cost")


# --- what other programs write, and slips ---

SAME = {
    "COUNT(*) FROM t WHERE 1=1": "COUNT(*) FROM t",
    "COUNT(*) FROM t WHERE 1 = 1 AND cost > 5 AND TRUE": "COUNT(*) FROM t WHERE cost > 5",
    "COUNT(*) FROM t WHERE (1=1) AND (cost > 5 OR ward = 'north')": "COUNT(*) FROM t WHERE cost > 5 OR ward = 'north'",
    "COUNT(*) FROM (SELECT * FROM t WHERE 1=1) WHERE cost > 5": "COUNT(*) FROM t WHERE cost > 5",
    "SUM(1) FROM t": "COUNT(*) FROM t",
    "ward, SUM(1.0) AS n FROM t GROUP BY ward": "ward, COUNT(*) AS n FROM t GROUP BY ward",
    "SUM(1) FILTER (WHERE cost > 5) FROM t": "COUNT(*) FILTER (WHERE cost > 5) FROM t",
    "COUNT(*) FROM t WHERE ward == 'north'": "COUNT(*) FROM t WHERE ward = 'north'",
}


@pytest.mark.parametrize("text", SAME)
def test_what_programs_write_means_the_plain_form(source, text):
    found, plain = (read(f"SELECT {each}", source.schema).query for each in (text, SAME[text]))
    assert found == plain


REFUSED = {
    "ward, COUNT(*)*100.0/SUM(COUNT(*)) OVER () FROM t GROUP BY ward": "--share on the command line, .share()",
    "NTILE(4) OVER (ORDER BY cost), COUNT(*) FROM t GROUP BY 1": "a window function",
    "COUNT(*) FROM t WHERE 1 = 0": "`1` where a column is expected",
    "COUNT(*) FROM t WHERE cost > 5 OR 1 = 1": "`1` where a column is expected",
    "SUM(2) FROM t": "an expression without a column",
    "SUM(DISTINCT 1) FROM t": "",
    "ward COUNT(*) FROM t GROUP BY ward": "before `(*) FROM t GROUP BY ward`.  A comma may be missing before `COUNT`.",
    "ward,\n  AVG(cost) n COUNT(*)\nFROM t": "At line 2, column 15, before `COUNT(*) FROM t`",
    "ward, COUNT(*) FORM t": "before `t`.  Did you mean FROM?",
    "COUNT(*) FROM t GRUOP BY ward": "before `BY ward`.  Did you mean GROUP?",
    "COUNT(* FROM t": "A bracket may have no end.",
    "COUNT(*) FROM t WHERE ward = 'north": "A quote or a comment in it has no end.",
    "COUNT(*), FROM t": "a comma with nothing after it",
    ", COUNT(*) FROM t": "a comma with nothing before it",
    "ward,, COUNT(*) FROM t GROUP BY ward": "a comma with nothing before it",
    "COUNT(*) FROM t GROUP BY ward,": "a comma with nothing after it",
    "COUNT(*) FROM t GROUP BY , ward": "a comma with nothing before it",
    "ward, COUNT(*) FROM t GROUP BY ward ORDER BY ward, LIMIT 3": "a comma with nothing after it",
    "COUNT(*) FROM t WHERE ward IN ('north',)": "a comma with nothing after it",
    "COUNT(*) FROM t WHERE age >= 65 & ward == 'north'": "Write AND between conditions",
    "COUNT(*) FROM t WHERE age >= 65 && ward = 'north'": "before `&& ward = 'north'`.  Write AND.",
    "COUNT(*) FROM t WHERE (age >= 65) | (ward = 'north')": "Write OR between conditions",
    "COUNT(*) FROM t WHERE ~(ward = 'north')": "Write NOT",
    "CORR(age, cost) FROM t": "Release AVG(x * y), AVG(x), AVG(y), VAR_POP(x) and VAR_POP(y)",
    "COVAR_POP(age, cost) FROM t": "Release AVG(x * y)",
    "REGR_SLOPE(age, cost) FROM t": "Release AVG(x * y)",
    "AVG(LN(cost)) FROM t": "It is not computed for rows.  Group by BIN(x, 1, 10, 100, 1000)",
    "AVG(EXP(age)) FROM t": "It is not computed for rows",
    "AVG(POWER(age, 2)) FROM t": "Write a product: x * x.",
    "AVG(age ** 2) FROM t": "Write a product: x * x.",
    "COUNT(*) FROM t WHERE MOD(age, 2) = 0": "Write x - 10 * FLOOR(x / 10)",
    "COUNT(*) FROM t WHERE age % 2 = 0": "Write x - 10 * FLOOR(x / 10)",
    "KURTOSIS(age) FROM t": "It is not available",
    "COUNT(*) FROM t WHERE cost < 0.6 * (SELECT MEDIAN(cost) FROM t)": "Release its number first",
    "AVG(age) FROM (SELECT DISTINCT ward, age FROM t)": "COUNT(*) / COUNT(DISTINCT person)",
    "QUANTILE_CONT(cost, 0.8) / QUANTILE_CONT(cost, 0.2) FROM t": "the ratio lies between low / high and high / low",
    "MAX(cost) - MIN(cost) FROM t": "Ask for each of them, and add what is released",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_a_slip_is_named_with_what_to_write(source, text):
    said = refusal(source, f"SELECT {text}")
    assert REFUSED[text] in said
    assert "Did you mean COUNT" not in said


def test_a_condition_has_no_line_of_the_text_around_it(source):
    with pytest.raises(errors.UnsupportedQuery, match="Before `65`"):
        source.plan(lw.count(), where="age > ward 65", epsilon=1)
