"""100 * AVG(x), COUNT(*) / 1000 and ROUND(…, 1): views of the released number, of which the question knows nothing."""

import csv
import io
import json
import random

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import lapwing as lw
from lapwing import errors
from lapwing.cli.main import main
from lapwing.release.pipeline import unnamed
from lapwing.release.recall import recall

pytestmark = pytest.mark.usefixtures("frozen_noise")

WARDS = ("north", "south", "west")
COLUMNS = {
    "ward": lw.keys(*WARDS),
    "sex": lw.keys("f", "m"),
    "poor": lw.number(0, 1, integer=True),
    "cost": lw.number(0, 100, unit="EUR", title="Cost"),
}
SHAPES = ["{} FROM t", "{} FROM t GROUP BY ward", "{} FROM t GROUP BY CUBE (ward, sex)"]


@pytest.fixture
def source(tmp_path):
    draw = random.Random(1)
    rows = 800
    table = {
        "ward": [draw.choice(WARDS) for _ in range(rows)],
        "sex": [draw.choice("fm") for _ in range(rows)],
        "poor": [draw.randrange(2) for _ in range(rows)],
        "cost": [draw.randrange(100) for _ in range(rows)],
    }
    pd.DataFrame(table).to_parquet(tmp_path / "t.parquet")
    return lw.Source(tmp_path / "t.parquet", name="t", columns=COLUMNS, epsilon=20, ledger=tmp_path / "t.ledger")


def asked(source, text, epsilon=1):
    return source.sql(text, epsilon=epsilon)


def ends(answer, name="n"):
    return [np.ma.filled(np.ma.asarray(end, dtype=float), np.nan) for end in answer[name]]


def rounded(numbers, digits):
    value, low, high = (each * 10.0**digits for each in numbers)
    return [np.floor(value + 0.5) / 10.0**digits, np.floor(low) / 10.0**digits, np.ceil(high) / 10.0**digits]


SCALED = {
    "100 * AVG(poor)": ("AVG(poor)", 100, None, "100 * AVG(poor)"),
    "AVG(cost) * 12": ("AVG(cost)", 12, None, "12 * AVG(cost)"),
    "AVG(cost) / 12": ("AVG(cost)", 1 / 12, None, "AVG(cost) / 12"),
    "(AVG(cost) * 100.0) / 12": ("AVG(cost)", 100 / 12, None, "25/3 * AVG(cost)"),
    "-1 * SUM(cost)": ("SUM(cost)", -1, None, "-1 * SUM(cost)"),
    "COUNT(*) / 1000.0": ("COUNT(*)", 1 / 1000, None, "COUNT(*) / 1000"),
    "ROUND(AVG(cost), 2)": ("AVG(cost)", 1, 2, "ROUND(AVG(cost), 2)"),
    "ROUND(SUM(cost), -2)": ("SUM(cost)", 1, -2, "ROUND(SUM(cost), -2)"),
    "ROUND(COUNT(*))": ("COUNT(*)", 1, 0, "ROUND(COUNT(*), 0)"),
    "ROUND(100 * AVG(poor), 1)": ("AVG(poor)", 100, 1, "ROUND(100 * AVG(poor), 1)"),
    "CAST(ROUND(AVG(cost), 1) AS DOUBLE)": ("AVG(cost)", 1, 1, "ROUND(AVG(cost), 1)"),
    "(STDDEV(cost))": ("STDDEV(cost)", 1, None, "STDDEV_SAMP(cost)"),
}


EVERYWHERE = [(text, shape) for text in ("COUNT(*) / 1000.0", "ROUND(100 * AVG(poor), 1)") for shape in SHAPES]


@pytest.mark.parametrize(
    ("text", "shape"), [*EVERYWHERE, *((text, SHAPES[1]) for text in SCALED if text not in dict(EVERYWHERE))]
)
def test_a_scaled_statistic_is_a_view_of_the_plain_one_and_free_beside_it(source, text, shape):
    plain, times, digits, shown = SCALED[text]
    scaled = asked(source, f"SELECT {shape.format(text + ' AS n')}")
    there = asked(source, f"SELECT {shape.format(plain + ' AS n')}")
    both = asked(source, f"SELECT {shape.format(f'{plain} AS n, {text} AS m')}")
    assert there.repeated
    assert both.repeated
    assert scaled.entry == there.entry == both.entry
    assert scaled.plan.query.text == there.plan.query.text == both.plan.query.text
    due = [end * times for end in ends(there)]
    due = [due[0], *sorted(due[1:], key=lambda end: np.nansum(end))]
    for found, end in zip(ends(scaled), due if digits is None else rounded(due, digits), strict=True):
        np.testing.assert_allclose(found, end, rtol=1e-12)
    np.testing.assert_array_equal(ends(both, "m"), ends(scaled))
    np.testing.assert_array_equal(ends(both, "n"), ends(there))
    assert scaled.noise_marks["n"].tolist() == there.noise_marks["n"].tolist()
    assert scaled.plan.forecast_rows[0][1].replace('"', "") == shown


@pytest.mark.parametrize(("text", "times"), [("100 * AVG(poor)", 100), ("COUNT(*) / 1000.0", 1 / 1000)])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_plan_expects_the_scaled_error_and_a_wanted_error_is_the_scaled_one(source, shape, text, times):
    plain = text.replace("100 * ", "").replace(" / 1000.0", "")
    here, there = (source.plan(f"SELECT {shape.format(f'{each} AS n')}", epsilon=1) for each in (text, plain))
    (scaled,), (due,) = here.forecasts, there.forecasts
    assert scaled.margin == pytest.approx(due.margin * times)
    assert scaled.simultaneous_margin == pytest.approx(due.simultaneous_margin * times)
    assert scaled.most == pytest.approx(due.most * times)
    needed, same = (
        source.plan(f"SELECT {shape.format(f'{each} AS n')}", error={"n": wanted * 1.01})
        for each, wanted in ((text, scaled.margin), (plain, due.margin))
    )
    assert float(needed.epsilon) == pytest.approx(float(same.epsilon), rel=1e-6)


def test_tables_of_a_plan_show_the_scaled_errors(source):
    ((*_, one), (*_, other)) = (
        source.plan(f"SELECT {text} FROM t GROUP BY CUBE (ward, sex)", epsilon=1).to_dict()["tables"]
        for text in ("AVG(poor)", "100 * AVG(poor)")
    )
    assert other["columns"][0]["margin"] == pytest.approx(100 * one["columns"][0]["margin"])
    assert other["columns"][0]["margin_alone"] == pytest.approx(100 * one["columns"][0]["margin_alone"])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("100 * AVG(poor)", "mean_poor_times_100"),
        ("COUNT(*) / 1000.0", "count_per_1000"),
        ("ROUND(AVG(cost), 1)", "mean_cost"),
        ("AVG(cost) * 0.5", "mean_cost_per_2"),
    ],
)
def test_a_scaled_column_without_a_name_says_how(source, text, name):
    assert source.plan(f"SELECT {text} FROM t", epsilon=1).to_dict()["columns"][0]["name"] == name


def test_a_factor_takes_the_unit_away_and_rounding_keeps_it(source):
    answer = asked(source, "SELECT AVG(cost) AS a, ROUND(AVG(cost), 1) AS b, AVG(cost) / 12 AS c FROM t")
    assert [each.get("unit") for each in answer.columns] == ["EUR", "EUR", None]
    assert [(each.get("times"), each.get("digits")) for each in answer.columns] == [
        (None, None),
        (None, 1),
        ("1/12", None),
    ]


def test_having_and_order_by_see_the_scaled_number(source):
    select = "SELECT ward, 100 * AVG(poor) AS pct FROM t GROUP BY ward"
    whole = {row["ward"]: row["pct"]["value"] for row in asked(source, select).rows}
    limit = sorted(whole.values())[1]
    found = asked(source, f"{select} HAVING pct >= {limit!r} ORDER BY 100 * AVG(poor) DESC")
    assert [row["ward"] for row in found.rows] == sorted(
        (k for k in whole if whole[k] >= limit), key=lambda k: -whole[k]
    )
    with pytest.raises(errors.UnsupportedQuery, match='Add AVG\\("poor"\\) to SELECT'):
        asked(source, f"{select} HAVING AVG(poor) > 0.5")
    both = asked(
        source, f"{select.replace('SELECT', 'SELECT AVG(poor) AS p,')} HAVING AVG(poor) >= {limit / 100 - 1e-9}"
    )
    assert {row["ward"] for row in both.rows} == {row["ward"] for row in found.rows}


def test_comparisons_are_of_the_scaled_numbers(source):
    items = "AVG(poor) AS p, ROUND(100 * AVG(poor), 1) AS pct, COUNT(*) / 10 AS n, COUNT(*) AS m"
    answer = asked(source, f"SELECT sex, {items} FROM t GROUP BY sex")
    gap = answer.difference(by="sex", of="f", to="m")
    for found, due in zip(ends(gap, "pct"), rounded([end * 100 for end in ends(gap, "p")], 1), strict=True):
        np.testing.assert_allclose(found, due, rtol=1e-12)
    np.testing.assert_allclose(ends(answer.total(), "n"), np.array(ends(answer.total(), "m")) / 10)
    np.testing.assert_allclose(ends(answer.share(), "n"), ends(answer.share(), "m"))
    assert gap.compared[0].high == 1
    assert gap.compared[1].high == 100


@pytest.mark.parametrize("shape", SHAPES)
def test_an_answer_is_recalled_packaged_and_drawn_as_it_was_shown(source, shape, tmp_path):
    pytest.importorskip("altair")
    answer = asked(source, f"SELECT {shape.format('ROUND(100 * AVG(poor), 1) AS pct, COUNT(*) AS n')}")
    recalled = recall(source.schema, source.ledger, answer.entry)
    assert recalled.flat() == answer.flat()
    files = recalled.package(tmp_path / "package", only="csv")
    (data,) = (tmp_path / "package" / each for each in files if each.endswith("data.csv"))
    found = [row["pct"] for row in csv.DictReader(io.StringIO(data.read_text(encoding="utf-8")))]
    assert found == [str(each) for each in answer.flat()["pct"]]
    assert "times 100, rounded to 1 digits after the point" in answer.to_html()
    drawn = answer if len(answer.tables) == 1 else answer.table("ward")
    assert drawn.plot().to_dict()


def test_the_view_is_no_part_of_what_someone_else_gets(source):
    answer = asked(source, "SELECT 100 * AVG(poor) AS pct FROM t")
    assert answer.answer["views"] == {'AVG("poor")': {"times": "100"}}
    assert set(unnamed(answer.answer)) == {"cells"}
    plain = asked(source, "SELECT AVG(poor) AS n FROM t")
    assert plain.repeated
    assert plain["n"].value[0] <= 1


def test_the_command_line_shows_it(tmp_path, source):
    table = tmp_path / "t.parquet"
    (tmp_path / "t.toml").write_text(
        f'table = "{table}"\nepsilon = 5\n[columns]\nward = {{ keys = ["north", "south", "west"] }}\n'
        "poor = { low = 0, high = 1, integer = true }\n"
    )
    text = "SELECT ward, ROUND(100 * AVG(poor), 1) AS pct FROM t GROUP BY ward"
    run = CliRunner().invoke(main, ["release", str(tmp_path / "t.toml"), text, "--epsilon", "1", "--format", "json"])
    assert run.exit_code == 0, run.stderr
    told = json.loads(run.stdout)
    assert told["query"] == 'SELECT AVG("poor") FROM "t" GROUP BY "ward"'
    assert all(10 < row["pct"]["value"] < 90 and row["pct"]["value"] * 10 % 1 < 1e-9 for row in told["rows"])


REFUSED = {
    "ROUND(ROUND(AVG(x), 2), 1)": "ROUND inside a calculation",
    "100 * ROUND(AVG(x), 2)": "Round the result: ROUND(100 * AVG(x), 1)",
    "ROUND(SUM(x), 1) / COUNT(*)": "ROUND inside a calculation",
    "ROUND(AVG(x), 16)": "from -15 to 15",
    "ROUND(AVG(x), 1.5)": "from -15 to 15",
    "ROUND(AVG(x), x)": "from -15 to 15",
    "0 * AVG(x)": "this calculation",
    "AVG(x) / 0": "a division by 0",
    "12 / AVG(x)": "this calculation",
    "AVG(x) * AVG(x)": "this calculation",
    "AVG(x) * x": "x",
    "AVG(x) + 1": "",
    "FLOOR(AVG(x))": "FLOOR",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_scaling_by_a_constant_is_refused(source, text):
    with pytest.raises(errors.UnsupportedQuery) as refused:
        source.plan(f"SELECT {text.replace('x', 'cost')} FROM t", epsilon=1)
    assert REFUSED[text] in str(refused.value)
