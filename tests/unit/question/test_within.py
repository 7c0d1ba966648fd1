"""Columns that lie within others: the parent is computed by a public map, and tables agree along it."""

import pandas as pd
import pytest

import lapwing as lw
from lapwing import errors
from lapwing.question.derived import with_derived
from lapwing.question.schema import make_schema
from lapwing.question.sql import make_query, parse
from lapwing.question.within import levels, with_parents

from ...set_tables import engine_tables, python_tables, question

MAP = {"region": {"north": ["a", "b"], "south": ["c", "rest"]}}
COUNTY = lw.keys("a", "b", "c", other="rest", within=MAP)
SEX = lw.keys("f", "m")


def schema_of(columns, person=None):
    return with_parents(make_schema("t", columns, person, 2 if person else None, "add_remove", None))


SCHEMA = schema_of({"county": COUNTY, "sex": SEX})


def asked(group, schema=SCHEMA):
    return parse(f"SELECT COUNT(*) FROM t GROUP BY {group}", schema)


def test_the_parent_is_computed_from_the_column():
    region = SCHEMA.columns["region"]
    assert region.keys == ("north", "south")
    assert str(region.expression) == (
        """CASE WHEN "county" IN ('a', 'b') THEN 'north' WHEN "county" = 'c' THEN 'south' ELSE 'south' END"""
    )


def test_a_declared_parent_keeps_its_order_and_labels():
    declared = lw.keys("south", "north", "east", labels=["S", "N", "E"], title="part")
    region = schema_of({"region": declared, "county": COUNTY}).columns["region"]
    assert (region.keys, region.labels, region.title) == (("south", "north", "east"), ("S", "N", "E"), "part")
    assert region.is_computed


def test_the_columns_of_a_schema_declare_the_same_schema():
    assert schema_of(SCHEMA.columns) == SCHEMA


def test_a_table_with_both_has_the_cells_of_the_column():
    query = asked("ROLLUP (region, county)")
    assert query.sets == ((), ("region",), ("county",))
    assert query.by == ("region", "county")
    assert query.groups(SCHEMA) == 1 + 2 + 4
    assert query == make_query([lw.count()], lw.rollup("region", "county"), None, SCHEMA)
    assert query == parse(query.text, SCHEMA, recorded=True)
    assert levels(SCHEMA, query) == (("county", "region", (0, 0, 1, 1)),)


def test_products_with_other_columns():
    query = asked("ROLLUP (region, county), CUBE (sex)")
    assert query == asked("CUBE (region, county, sex)")
    assert query.sets == ((), ("region",), ("county",), ("sex",), ("region", "sex"), ("county", "sex"))


def test_one_table_stays_as_it_is_written():
    assert asked("region, county").by == ("region", "county")
    assert asked("GROUPING SETS ((region, county))") == asked("region, county")
    assert asked("CUBE (sex)").sets == ((), ("sex",))
    assert levels(SCHEMA, asked("CUBE (sex)")) == ()


@pytest.mark.parametrize("group", ["GROUPING SETS ((region, county), ())", "GROUPING SETS ((region, county), county)"])
def test_a_parent_without_a_table_of_its_own_is_refused(group):
    with pytest.raises(errors.UnsupportedQuery, match='"region" only together with "county", which lies within it'):
        asked(group)


@pytest.mark.parametrize("keys", [("north", "south", "east"), ("east", "north", "south")])
def test_a_group_of_the_parent_that_nothing_lies_in_is_refused_before_the_charge(keys, tmp_path):
    columns = {"county": COUNTY, "region": lw.keys(*keys)}
    source = lw.Source(
        pd.DataFrame({"county": ["a", "c"]}), name="t", columns=columns, epsilon=1, ledger=tmp_path / "t.ledger"
    )
    with pytest.raises(errors.UnsupportedQuery, match=r"has no group of .county. in it"):
        source.release(lw.count(), by=lw.rollup("region", "county"), epsilon=1)
    assert not (tmp_path / "t.ledger").exists() or source.ledger.spent == 0


def test_chains_of_three():
    region = lw.keys("north", "south", within={"country": {"all": ["north", "south"]}})
    schema = schema_of({"county": COUNTY, "region": region, "sex": SEX})
    query = asked("ROLLUP (country, region, county)", schema)
    assert query.sets == ((), ("country",), ("region",), ("county",))
    assert set(levels(schema, query)) == {
        ("region", "country", (0, 0)),
        ("county", "country", (0, 0, 0, 0)),
        ("county", "region", (0, 0, 1, 1)),
    }


def test_a_chain_of_as_many_groups_goes_one_way():
    region = lw.keys("north", "south", within={"country": {"x": ["south"], "y": ["north"]}})
    schema = schema_of({"county": COUNTY, "region": region})
    query = asked("ROLLUP (country, region, county)", schema)
    assert query.sets == ((), ("country",), ("region",), ("county",))
    assert ("region", "country", (1, 0)) in levels(schema, query)


def test_a_recode_and_a_case_are_levels_too():
    source = lw.Source(
        pd.DataFrame({"county": ["a"], "sex": ["f"]}),
        name="t",
        columns={"county": lw.keys("a", "b"), "part": lw.recode("county", {"a": "one", "b": "two"}), "sex": SEX},
    )
    assert asked("ROLLUP (part, county)", source.schema).sets == ((), ("part",), ("county",))
    text = "CASE WHEN county = 'a' THEN 'first' ELSE 'later' END"
    assert len(asked(f"ROLLUP ({text}, county)", source.schema).sets) == 3


def test_a_recode_that_leaves_out_a_key_is_a_column_like_others():
    source = lw.Source(
        pd.DataFrame({"county": ["a"]}),
        name="t",
        columns={"county": lw.keys("a", "b"), "part": lw.recode("county", {"a": "one"})},
    )
    assert asked("ROLLUP (part, county)", source.schema).sets == ((), ("part",), ("part", "county"))


def test_bins_of_a_column_decide_nothing():
    schema = schema_of({"c": lw.number(0, 9, integer=True, keys=range(10))})
    text = "CASE WHEN c = 1 THEN 'one' ELSE 'others' END"
    assert len(asked(f"ROLLUP ({text}, c)", schema).sets[-1]) == 1
    query = asked(f"ROLLUP ({text}, BIN(c, 0, 5, 9))", schema)
    assert len(query.sets[-1]) == 2
    assert levels(with_derived(schema, query.derived), query) == ()


ROWS = [
    {"county": county, "sex": sex, "region": "south", "person": f"p{i % 5}"}
    for i, (county, sex) in enumerate([(c, s) for c in ["a", "b", "c", "zz", None, "a"] for s in ["f", "m", None]])
]


@pytest.mark.parametrize("person", [None, "person"])
def test_U6_tables_agree_along_the_map_whatever_the_table_says(person):
    """The table has a region of its own, which is wrong; it is not read."""
    schema = schema_of({"county": COUNTY, "sex": SEX}, person)
    of = {"a": "north", "b": "north"}
    what = question(schema, (lw.count(),), [lw.rollup("region", "county"), lw.cube("sex")])
    found = engine_tables(what, pd.DataFrame(ROWS))
    assert found == python_tables(what, ROWS, keys={"region": lambda row: of.get(row["county"], "south")})
    (level,) = levels(schema, what[1])
    for county, values in found["county",].items():
        assert found["region",][level.numbers[county]][0][0] >= values[0][0]
    sums = {}
    for county, ((n,),) in found["county",].items():
        sums[level.numbers[county]] = sums.get(level.numbers[county], 0) + n
    assert sums == {region: n for region, ((n,),) in found["region",].items()}


def test_a_parent_is_released_by_the_map(tmp_path, frozen_noise):
    source = lw.Source(
        pd.DataFrame(ROWS), name="t", columns={"county": COUNTY, "sex": SEX}, epsilon=999, ledger=tmp_path / "l"
    )
    answer = source.release(lw.count(), by="region", epsilon=900)
    assert [row["region"] for row in answer.rows] == ["north", "south"]
    assert "CASE WHEN" in str(answer.plan.schema.columns["region"].expression)


MAPS = {
    "no group for key 2": {"region": {"north": ["a"]}},
    "key 1 of the column twice": {"region": {"north": ["a", "b", "c"], "south": ["a"]}},
    "a key in group 1 that the column does not have": {"region": {"north": ["a", "b", "z"]}},
    "something in place 1 that is no text": {"region": {3: ["a", "b", "c"]}},
}


@pytest.mark.parametrize("fault", MAPS)
def test_a_map_that_does_not_fit_its_column_is_refused(fault):
    with pytest.raises(errors.InvalidRequest, match=f"The map of within has {fault}"):
        lw.keys("a", "b", "c", within=MAPS[fault])


@pytest.mark.parametrize("within", [3, {}, {"a": {}, "b": {}}, {"region": {}}, {"region": {"north": "abc"}}, ""])
def test_what_is_no_map_is_refused(within):
    with pytest.raises(errors.InvalidParameter, match="within"):
        lw.keys("a", "b", "c", within=within)


def test_numbers_and_truth_values_are_not_confused():
    assert lw.keys(0, 1, within={"part": {"x": [0], "y": [1]}}).within.groups == (("x", (0,)), ("y", (1,)))
    with pytest.raises(errors.InvalidRequest, match="a key in group 1"):
        lw.keys(0, 1, within={"part": {"x": [False], "y": [1]}})


SOURCES = {
    "group 2 is not one of its keys": {"county": COUNTY, "region": lw.keys("north", "east")},
    "declared as something else": {"county": COUNTY, "region": lw.keys(1, 2)},
    "no look-up on": {"county": lw.keys("a", within="region"), "region": lw.keys("north")},
    "two columns that lie within": {"county": COUNTY, "sex": lw.keys("f", within={"region": {"north": ["f"]}})},
    "which is also another column": {"county": COUNTY, "REGION": "text"},
    "lie within each other": {
        "a": lw.keys("x", within={"b": {"y": ["x"]}}),
        "b": lw.keys("y", within={"a": {"x": ["y"]}}),
    },
}


@pytest.mark.parametrize("fault", SOURCES)
def test_declarations_that_do_not_fit_are_refused(fault):
    with pytest.raises(errors.InvalidSource, match=fault):
        lw.Source(pd.DataFrame(ROWS), name="t", columns=SOURCES[fault])


TOML = """
table = "t.csv"
[columns.sex]
keys = ["f", "m"]
[columns.county]
keys = ["a", "b", "c"]
other = "rest"
within = { region = { north = ["a", "b"], south = ["c", "rest"] } }
"""


def test_a_source_file_has_the_map(tmp_path):
    (tmp_path / "t.toml").write_text(TOML)
    (tmp_path / "t.csv").write_text("county,sex\na,f\n")
    schema = lw.Source.open(tmp_path / "t.toml").schema
    assert schema.columns["county"] == COUNTY
    assert schema.columns["region"] == SCHEMA.columns["region"]


def test_a_source_file_with_a_map_that_misses_a_key_is_refused(tmp_path):
    (tmp_path / "t.toml").write_text(TOML.replace('["c", "rest"]', '["c"]'))
    with pytest.raises(errors.InvalidSource, match='in column "county"'):
        lw.Source.open(tmp_path / "t.toml")


def looked_up(tmp_path, rows, county=("a", "b", "c"), **more):
    (tmp_path / "regions.csv").write_text("county,region\n" + "".join(f"{a},{b}\n" for a, b in rows))
    columns = {"county": lw.keys(list(county), within="region", **more), "region": lw.keys("north", "south")}
    join = lw.join(str(tmp_path / "regions.csv"), columns=["region"], public=True, on="county")
    frame = pd.DataFrame(ROWS)[["county", "sex"]]
    return lw.Source(frame, name="t", columns=columns, joins=[join])


def test_a_public_look_up_has_the_map(tmp_path):
    source = looked_up(tmp_path, [("a", "north"), ("b", "north"), ("c", "south"), ("d", "south")])
    query = asked("ROLLUP (region, county)", source.schema)
    assert query.sets == ((), ("region",), ("county",))
    assert levels(source.schema, query) == (("county", "region", (0, 0, 1)),)


def test_a_look_up_that_misses_a_key_is_refused(tmp_path):
    for rows in ([("a", "north"), ("c", "south")], [("a", "north"), ("b", "east"), ("c", "south")]):
        source = looked_up(tmp_path, rows)
        with pytest.raises(errors.InvalidSource, match='no declared "region" for key 2'):
            levels(source.schema, asked("ROLLUP (region, county)", source.schema))
    source = looked_up(tmp_path, [("a", "north")], county=["a"], other="rest")
    with pytest.raises(errors.InvalidSource, match='no declared "region" for other keys'):
        levels(source.schema, asked("ROLLUP (region, county)", source.schema))
