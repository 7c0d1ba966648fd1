"""Comparisons of a release: which groups they mean, what they refuse, and that every form has the same numbers."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

import lapwing as lw
from lapwing import errors

pytestmark = pytest.mark.usefixtures("frozen_noise")

FRAME = pd.DataFrame(
    {
        "sex": ["F", "M"] * 600,
        "age": [0, 1, 2] * 400,
        "x": [1.0, 4.0, 9.0, None] * 300,
        "y": [3, 5] * 600,
        "z": [-1, 1] * 600,
    }
)
COLUMNS = {
    "sex": lw.keys({"F": "women", "M": "men"}),
    "age": lw.keys(range(3)),
    "x": lw.number(0, 10),
    "y": lw.number(1, 6, integer=True),
    "z": lw.number(-1, 1),
}


@pytest.fixture
def source(tmp_path):
    return lw.Source(FRAME, name="t", columns=COLUMNS, epsilon=900, ledger=str(tmp_path / "t.ledger"))


@pytest.fixture
def answer(source):
    asked = lw.count(name="n"), lw.sum("y"), lw.mean("x"), lw.ratio(lw.sum("x"), lw.sum("y"), name="rate")
    return source.release(*asked, lw.median("y"), by=["sex", "age"], epsilon=500)


def near(found, due, slack=0.05):
    assert np.abs(np.asarray(found, dtype=float) - due).max() <= slack * (1 + np.abs(due).max())


def test_values_are_those_of_the_released_numbers(answer):
    counts = answer["n"].value.reshape(2, 3)
    found = answer.difference(by="sex", of="F", to="M")
    assert found["n"].value.tolist() == (counts[0] - counts[1]).tolist()
    assert found["age"].tolist() == [0, 1, 2]
    assert answer.difference(by="sex", of="women", to="M").rows == found.rows
    near(answer.ratio(by="age", of=2, to=0)["n"].value, counts[:, 2] / counts[:, 0])
    assert answer.ratio(by="age", of="2", to="0").rows == answer.ratio(by="age", of=2, to=0).rows
    near(answer.share()["n"].value, (counts / counts.sum()).reshape(-1))
    near(answer.share(within="sex")["n"].value, (counts / counts.sum(axis=1, keepdims=True)).reshape(-1))
    assert answer.total(over="sex")["n"].value.tolist() == counts.sum(axis=0).tolist()
    everything = answer.total()
    assert everything["n"].value.tolist() == [counts.sum()]
    near(everything["mean_x"].value, FRAME.x.mean())
    near(everything["rate"].value, FRAME.x.sum() / FRAME.y.sum())
    assert answer.total(over=["age", "SEX"]).rows == everything.rows


def test_a_code_may_be_given_as_a_number_where_the_keys_are_texts(tmp_path, frozen_noise):
    frame = pd.DataFrame({"k": ["1", "2", "2"]})
    source = lw.Source(frame, name="t", columns={"k": lw.keys("1", "2")}, epsilon=9, ledger=tmp_path / "l")
    counts = source.release(lw.count(), by="k", epsilon=1)
    assert counts.difference(by="k", of=2, to=1).rows == counts.difference(by="k", of="2", to="1").rows
    with pytest.raises(errors.InvalidParameter, match="to is one of 1, 2"):
        counts.difference(by="k", of=2, to=True)


def test_what_cannot_be_compared_is_left_out_and_said(answer, source):
    assert answer.share().left_out == ["mean_x", "rate", "median_y"]
    assert "Not compared: median_y." in str(answer.ratio(by="sex", of="F", to="M"))
    signed = source.release(lw.count(), lw.sum("z"), lw.mean("z"), by="sex", epsilon=1)
    assert signed.share().left_out == ["sum_z", "mean_z"]
    assert signed.ratio(by="sex", of="F", to="M").left_out == ["mean_z"]
    medians = source.release(lw.median("y"), by="sex", epsilon=1)
    with pytest.raises(errors.UselessParameter, match="median_y"):
        medians.share()


@pytest.mark.parametrize(
    ("verb", "given", "said"),
    [
        ("difference", {"by": "x", "of": 1, "to": 2}, "sex, age"),
        ("difference", {"by": "sex", "of": "F", "to": "F"}, "another key"),
        ("ratio", {"by": "sex", "of": "F", "to": "Z"}, "F, M"),
        ("ratio", {"by": "age", "of": True, "to": 0}, "0, 1, 2"),
        ("ratio", {"by": 5, "of": True, "to": 0}, "sex, age"),
        ("share", {"within": ["sex", "age"]}, "fewer"),
        ("share", {"within": 7}, "several"),
        ("total", {"over": "q"}, "sex, age"),
    ],
)
def test_what_is_refused(answer, verb, given, said):
    with pytest.raises(errors.RequestError, match=said):
        getattr(answer, verb)(**given)


def test_a_release_without_groups_has_nothing_to_compare(source):
    made = source.release(lw.count(), epsilon=1)
    for verb in ("share", "total"):
        with pytest.raises(errors.UselessParameter, match="no groups"):
            getattr(made, verb)()


def test_every_form_has_the_same_numbers(answer, tmp_path):
    found = answer.difference(by="age", of=2, to=0)
    rows = found.rows
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["rows"] == rows
    frame = found.to_pandas()
    assert list(frame)[:5] == ["sex", "sex_label", "n", "n_low", "n_high"]
    assert list(frame)[-5:] == ["n_noise", "sum_y_noise", "mean_x_noise", "rate_noise", "median_y_noise"]
    assert frame.n.tolist() == [row["n"]["value"] for row in rows] == found.to_polars()["n"].to_list()
    assert found.to_arrow()["n_low"].to_pylist() == frame.n_low.tolist()
    read = list(csv.DictReader(io.StringIO(found.to_csv())))
    widths = frame.rate_high - frame.rate_low
    assert [float(row["rate"]) for row in read] == pytest.approx(frame.rate.tolist(), abs=widths.max() / 1000)
    found.to_csv(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == found.to_csv()
    found.to_parquet(tmp_path / "a.parquet")
    assert pd.read_parquet(tmp_path / "a.parquet").n.tolist() == frame.n.tolist()
    page = found.to_html(tmp_path / "a.html")
    assert "women" in page
    assert (tmp_path / "a.html").read_text() == page
    assert len(found) == 2
    assert found.plot() is not None


def test_bars_widen_with_confidence_and_for_all_at_once(answer):
    found = answer.share()

    def width(made):
        return float((made["n"].high - made["n"].low).max())

    widths = [width(found.at(each)) for each in ("0.5", "0.95", "0.999")]
    assert widths[0] < widths[1] < widths[2]
    assert width(found.at(simultaneous=True)) > widths[1]
    assert answer.at("0.5").share()["n"].low.tolist() == found.at("0.5")["n"].low.tolist()


def test_a_recorded_answer_is_compared_at_no_charge(source):
    asked = (lw.count(), lw.mean("x"))
    first = source.release(*asked, by="sex", epsilon=1).difference(by="sex", of="F", to="M")
    left = source.left()
    again = source.release(*asked, by="sex", epsilon=1).difference(by="sex", of="F", to="M")
    assert again.rows == first.rows
    assert source.left() == left


def test_suppressed_numbers_are_gone_from_every_form(source, tmp_path):
    made = source.release(lw.count(name="n"), lw.mean("x"), by=["sex", "age"], epsilon="0.005").suppressed()
    assert {row["n"]["value"] for row in made.rows} == {None}
    assert {row["n"]["noise"] for row in made.rows} == {"high"}
    assert made.to_polars()["n"].null_count() == 6
    made.to_parquet(tmp_path / "a.parquet")
    assert pd.read_parquet(tmp_path / "a.parquet").n.isna().all()
    assert "NaN" not in json.dumps(made.to_dict())
    assert made.share().suppressed().rows[0]["n"]["value"] is None
    assert "no information" in str(made)
    made.to_html()


def test_constants_become_one_factor(source):
    plan = source.plan("SELECT SUM(x)/COUNT(y)/2 FROM t", epsilon=1)
    assert plan.query.text == 'SELECT 0.5 * SUM("x") / COUNT("y") FROM "t"'


@pytest.mark.parametrize("sql", ["2/COUNT(*)", "SUM(x)/0", "AVG(x)/SUM(y)", "1/SUM(x)", "SUM(x)*SUM(y)"])
def test_ratios_that_are_none(source, sql):
    with pytest.raises(errors.UnsupportedQuery):
        source.plan(f"SELECT {sql} FROM t", epsilon=1)


def test_one_measurement_serves_a_sum_and_its_count(source):
    texts = {
        "SUM(x)/COUNT(x)": 1, "SUM(x)/COUNT(*)": 1, "COUNT(x)/COUNT(*)": 1, "100.0*SUM(x)/NULLIF(COUNT(*),0)": 1,
        "SUM(x)/SUM(y)": 2, "(SUM(x))/CAST(SUM(y) AS DOUBLE)": 2,
    }  # fmt: skip
    for text, measured in texts.items():
        plan = source.plan(f"SELECT {text} FROM t", epsilon=1)
        assert len(plan.parts) == measured, text
    assert source.plan("SELECT SUM(x)/SUM(y) FROM t", epsilon=1, weights={"x": 3}).parts[0].epsilon * 4 == 3


def test_thresholds_in_a_source_file(tmp_path):
    FRAME[["sex"]].to_parquet(tmp_path / "t.parquet")
    keys = '[columns.sex]\nkeys = ["F", "M"]\n'
    lines = f'table = "t.parquet"\nepsilon = 5\n{keys}[noise_levels]\nlow = 0.001\nmedium = 0.5\n'
    (tmp_path / "t.toml").write_text(lines)
    made = lw.Source.open(tmp_path / "t.toml").release(lw.count(), by="sex", epsilon="0.5")
    assert set(made.noise_marks["count"]) == {"medium"}
    for wrong in ("low = 2\nmedium = 1", "bad = 1", "low = 0"):
        (tmp_path / "t.toml").write_text(lines.replace("low = 0.001\nmedium = 0.5", wrong))
        with pytest.raises(errors.InvalidSource, match="noise_levels"):
            lw.Source.open(tmp_path / "t.toml")


def test_a_difference_of_quantiles_lies_between_the_ends_of_two_bars_that_miss_half_as_often(answer):
    gap = answer.difference(by="sex", of="F", to="M")
    sure = answer.at("0.975")["median_y"]
    low, high = (np.asarray(end, dtype=float).reshape(2, 3) for end in (sure.low, sure.high))
    np.testing.assert_allclose(gap["median_y"].low, low[0] - high[1])
    np.testing.assert_allclose(gap["median_y"].high, high[0] - low[1])
    assert [row["age"] for row in gap.rows] == [0, 1, 2]
    assert "median_y" not in answer.ratio(by="sex", of="F", to="M").estimates
