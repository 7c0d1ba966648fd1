"""A schema, a statistic and keys as JSON, and back; and rows that are invented from declarations."""

import json
from datetime import date

import pytest

import lapwing as lw
from lapwing.auditing.tools.described import EVERY
from lapwing.errors import InvalidParameter, InvalidRequest, InvalidSource
from lapwing.plan.asked import plan_asked
from lapwing.question.described import described_schema
from lapwing.question.example import MOST_EXAMPLES, example_columns
from lapwing.question.noise_levels import noise_levels
from lapwing.question.schema_json import describe, schema_of
from lapwing.question.statistic_json import (
    keys_of,
    keys_to_json,
    statistic_of,
    statistic_to_dict,
    weights_of,
    weights_to_json,
)

DECLARED = {name: column for name, (_, column) in EVERY.items()}
FILE = lw.file(delimiter=";", decimal=",", header=False, names=["p", "x"])


def made(**changes):
    described = {"name": "t", "person": "p", "rows_per_person": 3, "neighbors": "add_remove", "version": "1"}
    described |= {
        "columns": DECLARED,
        "every_row_counts": True,
        "file": FILE,
        "noise_levels": noise_levels(low="0.1"),
        **changes,
    }
    return described_schema(**{**described, **changes})


@pytest.mark.parametrize("changes", [{}, {"person": None, "rows_per_person": None, "neighbors": "change_one"}])
def test_a_schema_is_the_same_after_it_was_sent(changes):
    schema = made(**changes)
    sent = json.loads(json.dumps(describe(schema, DECLARED)))
    assert schema_of(sent) == schema
    sent["columns"]["x"]["low"] = "-1"
    assert schema_of(sent) != schema


def test_a_description_says_what_is_declared_and_not_where_the_table_is(tmp_path):
    place = tmp_path / "secret-folder" / "t.csv"
    source = lw.Source(str(place), name="t", columns={"k": lw.keys("a", "b")}, epsilon=1)
    assert source.describe()["columns"] == {"k": {"type": "text", "keys": ["a", "b"]}}
    assert "secret-folder" not in json.dumps(source.describe())


def test_joins_are_sent_without_their_rows_and_places(tmp_path):
    (tmp_path / "places.csv").write_text("code,region\n1,secret-region\n")
    joined = [
        lw.join(str(tmp_path / "places.csv"), columns=["region"], public=True, on={"place": "code"}),
        lw.join(str(tmp_path / "patients.csv"), columns={"age": "years"}, person="id"),
    ]
    columns = {"place": lw.keys("1", "2", within="region"), "region": lw.keys("a", "b"), "age": lw.number(0, 99)}
    source = lw.Source(
        str(tmp_path / "t.csv"), name="t", person="p", rows_per_person=1, columns=columns, epsilon=1, joins=joined
    )
    sent = json.dumps(source.describe())
    assert not any(word in sent for word in ("places", "patients", "secret-region", str(tmp_path)))
    schema = schema_of(json.loads(sent))
    asked = "SELECT region, COUNT(*), AVG(age) FROM t GROUP BY region"
    here, there = source.plan(asked, epsilon=1).to_dict(), plan_asked(schema, [asked], epsilon=1).to_dict()
    assert {name for name in here if here[name] != there[name]} == {"clipped"}  # which a source adds to its plan
    with pytest.raises(InvalidRequest, match="rows of a look-up"):
        plan_asked(schema, ["SELECT region, place, COUNT(*) FROM t GROUP BY ROLLUP (region, place)"], epsilon=1)


@pytest.mark.parametrize(
    "sent", [{}, None, [], {"name": "t"}, {"name": "t", "columns": 3}, {"name": "t", "columns": {"x": {"low": []}}}]
)
def test_what_is_no_description_is_refused(sent):
    with pytest.raises(InvalidSource, match="cannot be read"):
        schema_of(sent)


STATISTICS = [
    lw.count(), lw.count("x", weight="y", share="1/3"), lw.people(name="n"), lw.sum("x * y"), lw.mean("x", error=3),
    lw.variance("x", sample=False), lw.std("x"), lw.proportion("x > 1"), lw.histogram("x", [0, 1, 2.5]),
    lw.cdf("x", 16), lw.cdf("x", [0, 1]), lw.quantile("x", "1/3"), lw.median("x"), lw.min("x"), lw.max("x"),
    lw.ratio(lw.sum("x"), lw.count(), factor=100, name="r"),
]  # fmt: skip


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda each: each.kind)
def test_a_statistic_is_the_same_after_it_was_sent(statistic):
    assert statistic_of(json.loads(json.dumps(statistic_to_dict(statistic)))) == statistic


@pytest.mark.parametrize("by", [None, "a", ["a", "b"], lw.cube("a", "b"), ["a", lw.rollup("b", "c")]])
def test_keys_are_the_same_after_they_were_sent(by):
    assert keys_of(json.loads(json.dumps(keys_to_json(by)))) == by


def test_weights_are_the_same_after_they_were_sent():
    weights = {"cost": 3, ("sex", "age"): "0.5", (): 1}
    sent = json.loads(json.dumps(weights_to_json(weights)))
    assert weights_of(sent) == {"cost": 3, ("sex", "age"): lw.sum("x", share="0.5").share, (): 1}
    assert (weights_of(None), weights_to_json(None)) == (None, None)
    assert weights_of({"cost": "3"}) == {"cost": 3}


@pytest.mark.parametrize(
    "sent",
    [
        None, "count", {}, {"statistic": "drop"}, {"statistic": "mean"}, {"statistic": "count", "eval": "1"},
        {"statistic": "quantile", "column": "x", "q": ["0.5"]}, {"statistic": "mean", "column": "x", "share": 0.5},
        {"statistic": "mean", "column": ["x"]}, {"statistic": "ratio", "numerator": 1, "denominator": 2},
        {"statistic": "histogram", "column": "x", "edges": 7}, {"statistic": ["mean"]},
        {"statistic": "std", "column": "x", "sample": "false"}, {"statistic": "variance", "column": "x", "sample": 0},
    ],
)  # fmt: skip
def test_what_is_no_statistic_is_refused(sent):
    with pytest.raises(lw.errors.RequestError):
        statistic_of(sent)


@pytest.mark.parametrize("sent", [3, {"tables": []}, {"tables": [["a", 1]]}, [["a"]], {"sets": []}, [None]])
def test_what_is_no_key_is_refused(sent):
    with pytest.raises(InvalidParameter):
        keys_of(sent)


@pytest.mark.parametrize("sent", [3, [["a"]], [["a", 0.5]], {"a": "-1"}, [[3, "1"]], "ab"])
def test_what_are_no_weights_is_refused(sent):
    with pytest.raises(InvalidParameter):
        weights_of(sent)


def test_invented_rows_fit_the_declarations_and_are_the_same_again():
    schema = made()
    rows = example_columns(schema, 500)
    assert rows == example_columns(schema, 500)
    assert set(rows) == {"p", *(name for name, column in schema.columns.items() if not column.is_computed)}
    assert len(set(rows["p"])) == -(-500 // 3)
    assert min(rows["x"]) >= -2
    assert max(rows["x"]) <= 7
    assert {type(x) for x in rows["y"]} == {int}
    assert set(rows["y"]) == set(range(1, 10))
    assert set(rows["k"]) == set(DECLARED["k"].keys)
    assert set(rows["w"]) == {1, 2}
    assert {date.fromisoformat(day) for day in rows["day"]} == set(DECLARED["day"].keys)
    assert min(rows["til"]) >= "2024-01-01"
    assert max(rows["til"]) <= "2024-02-29"
    assert set(rows["b"]) == {True, False}
    json.dumps(rows)


def test_invented_rows_never_read_the_table(tmp_path):
    source = lw.Source(str(tmp_path / "no.csv"), name="t", columns={"k": lw.keys("a", "b"), "u": "text"}, epsilon=1)
    assert [len(column) for column in source.example(7).values()] == [7, 7]
    assert not list(tmp_path.iterdir())
    for wrong in (0, -1, MOST_EXAMPLES + 1, "ten", 2.5):
        with pytest.raises(InvalidParameter):
            source.example(wrong)
