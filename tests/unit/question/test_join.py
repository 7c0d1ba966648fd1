"""Joins: what is refused from public facts, what a question needs of them, and what is recorded."""

from dataclasses import replace
from datetime import date

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lapwing as lw
from lapwing import errors
from lapwing.engine.dialect import DUCKDB
from lapwing.question.join import Content, columns_needed, described_joins, joins_read, own_columns
from lapwing.release.recall import recall
from lapwing.release.rows_per_person import plan_rows_per_person

COLUMNS = {
    "cost": lw.number(0, 100),
    "age": lw.number(0, 120, integer=True),
    "postcode": "text",
    "region": lw.keys("north", "south"),
    "country": "text",
}
VISITS = {"patient": ["p", "q"], "cost": [1.0, 2.0], "postcode": ["A", "B"]}
PATIENTS = {"id": ["p"], "age": [50]}
REGIONS = {"code": ["A", "B"], "region": ["north", "south"]}
COUNTRIES = {"region": ["north"], "country": ["N"]}


def visits(folder, *joins, columns=None, table=None, **options):
    if columns is None:
        there = {*VISITS, *(name for each in joins for name, _ in each.columns)}
        columns = {name: each for name, each in COLUMNS.items() if name in there}
    told = {"name": "visits", "person": "patient", "rows_per_person": 2, "epsilon": 100, **options}
    rows = pd.DataFrame(VISITS) if table is None else table
    return lw.Source(rows, columns=columns, joins=list(joins), ledger=folder / "visits.ledger", **told)


def patients(table=None, **options):
    return lw.join(
        pd.DataFrame(PATIENTS) if table is None else table, **{"person": "id", "columns": ["age"], **options}
    )


def regions(table=None, **options):
    rows = pd.DataFrame(REGIONS) if table is None else table
    return lw.join(rows, **{"public": True, "on": {"postcode": "code"}, "columns": ["region"], **options})


def countries():
    return lw.join(pd.DataFrame(COUNTRIES), public=True, on="region", columns=["country"])


# --- declarations ---


@pytest.mark.parametrize(
    ("given", "refusal", "message"),
    [
        ({"columns": ["age"]}, errors.MissingParameter, "person.*public = true"),
        ({"columns": ["age"], "person": "id", "public": True}, errors.ConflictingParameters, "person and public"),
        ({"columns": ["age"], "person": "id", "on": "x"}, errors.ConflictingParameters, "on the person alone"),
        ({"columns": ["age"], "public": True}, errors.MissingParameter, "on.*looked up"),
        ({"columns": ["age"], "public": "yes", "person": "id"}, errors.InvalidParameter, "public"),
        ({"columns": [], "person": "id"}, errors.InvalidParameter, "at least one"),
        ({"columns": None, "person": "id"}, errors.InvalidParameter, "a list of columns"),
        ({"columns": "age", "person": "id"}, errors.InvalidParameter, "a list of columns"),
        ({"columns": ["age", "age"], "person": "id"}, errors.InvalidParameter, "a column twice"),
        ({"columns": {"a": "x", "b": "x"}, "person": "id"}, errors.InvalidParameter, "a column twice"),
        ({"columns": ["a\0b"], "person": "id"}, errors.InvalidParameter, "columns"),
        ({"columns": [1], "person": "id"}, errors.InvalidParameter, "columns"),
        ({"columns": ["age"], "person": ""}, errors.InvalidParameter, "person"),
        ({"columns": ["age"], "public": True, "on": {"a": "b", "c": "d"}}, errors.InvalidParameter, "one column"),
        ({"columns": ["a"], "public": True, "on": {"b": "a"}}, errors.InvalidParameter, "than its key"),
        ({"columns": ["age"], "person": "id", "file": "csv"}, errors.InvalidParameter, "lw.file"),
    ],
)
def test_a_join_that_cannot_be_is_refused(given, refusal, message):
    with pytest.raises(refusal, match=message):
        lw.join(pd.DataFrame(PATIENTS), **given)


@pytest.mark.parametrize(
    ("joins", "options", "message"),
    [
        ([patients(columns=["height"])], {}, 'lists the column "height".*does not declare'),
        ([patients(), patients()], {}, 'the column "age" in two joins'),
        ([patients()], {"person": None, "rows_per_person": None}, "names no person column"),
        ([regions(on={"zip": "code"})], {}, 'looks up the column "zip".*does not declare'),
        ([regions(on={"cost": "code"})], {}, "need not be whole"),
        ([countries(), regions()], {}, 'before the look-up that adds "region"'),
        ([regions(on={"country": "code"}), countries()], {}, 'before the look-up that adds "country"'),
        ([regions(on={"region": "code"})], {}, 'before the look-up that adds "region"'),
        ([regions()] * 100, {}, "has 100 joins, and at most 20"),
    ],
    ids=["undeclared", "twice", "nobody", "no key", "number", "order", "circle", "itself", "many"],
)
def test_joins_that_do_not_fit_the_declarations_are_refused_when_the_source_is_made(joins, options, message, tmp_path):
    with pytest.raises(errors.InvalidSource, match=message):
        visits(tmp_path, *joins, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("joins", [1, "join", [pd.DataFrame(PATIENTS)], {"a": 1}])
def test_joins_are_a_list_of_joins(joins, tmp_path):
    with pytest.raises(errors.InvalidParameter, match=r"a list of lw\.join"):
        lw.Source(pd.DataFrame(VISITS), name="t", columns={}, joins=joins)


def test_a_computed_column_is_joined_and_computed_with_but_neither_listed_nor_looked_up(tmp_path, frozen_noise):
    source = visits(tmp_path, patients(), regions())
    older = source.declare(older=lw.expression("age + 1"))
    assert older.release(lw.mean("older"), epsilon=1).columns[0]["name"] == "mean_older"
    with pytest.raises(errors.InvalidSource, match='lists the computed column "age"'):
        source.declare(age=lw.expression("cost + 1"))
    with pytest.raises(errors.InvalidSource, match='looks up the computed column "postcode"'):
        source.declare(postcode=lw.expression("FLOOR(cost)"))


def test_declare_keeps_joins_and_checks_them_again(tmp_path):
    source = visits(tmp_path, patients(), regions())
    assert source.declare(age=lw.number(0, 99)).schema.joins == source.schema.joins
    with pytest.raises(errors.InvalidSource, match="need not be whole"):
        source.declare(postcode=lw.number(0, 9))


# --- what a question needs ---


def test_people_are_always_joined_and_look_ups_where_a_column_is_read(tmp_path):
    schema = visits(tmp_path, regions(), countries(), patients()).schema
    read = {columns: [number for number, _ in joins_read(schema, columns)] for columns in ((), ("age",), ("region",))}
    assert read == {(): [2], ("age",): [2], ("region",): [2, 0]}
    assert [number for number, _ in joins_read(schema, ("country",))] == [2, 0, 1]
    assert columns_needed(schema, ("country",)) == ("country", "postcode", "region")
    assert own_columns(schema, ("country", "age", "cost")) == ("cost", "postcode")


def test_the_digest_of_a_look_up_depends_on_its_rows_and_not_on_their_order():
    one = Content(("a", "b"), {"x": (1.0, None), "y": (date(2024, 1, 1), None)})
    same = Content(("b", "a"), {"x": (None, 1.0), "y": (None, date(2024, 1, 1))})
    assert one.digest(["x", "y"]) == same.digest(["x", "y"])
    others = [replace(one, keys=("a", "c")), replace(one, cells={**one.cells, "x": (1.0, 0.0)})]
    digests = {each.digest(["x", "y"]) for each in (one, *others)} | {one.digest(["x"]), one.digest(["y"])}
    assert len(digests) == 5


def test_a_look_up_that_changes_is_another_question_and_one_in_another_order_is_not(tmp_path, frozen_noise):
    path = tmp_path / "regions.csv"
    path.write_text("code,region\nA,north\nB,south\n")
    source = visits(tmp_path, regions(path))
    first = source.release(lw.count(), by="region", epsilon=1)
    path.write_text("code,region,more\nB,south,1\nA,north,2\n")
    assert source.release(lw.count(), by="region", epsilon=1).entry == first.entry
    path.write_text("code,region\nA,south\nB,south\n")
    changed = source.release(lw.count(), by="region", epsilon=1)
    assert changed.entry != first.entry
    assert source.ledger.spent == 2
    with pytest.raises(errors.InvalidSource, match="has changed since entry"):
        recall(source.schema.anew(), source.ledger, first.entry)


def test_a_question_has_its_joins(tmp_path):
    schema = visits(tmp_path, patients(columns={"age": "age"}), regions(), countries()).schema
    described = described_joins(schema, ("age", "region"))
    assert described[0] == {"columns": {"age": "age"}, "person": "id"}
    assert described[1]["on"] == "postcode"
    assert described[1]["content"].startswith("SHA-256 ")
    assert len(described) == 2
    assert described_joins(visits(tmp_path).schema, ("cost",)) == []


# --- people in two tables ---

PEOPLE = {
    "int64": pd.DataFrame({"patient": [1, 2]}),
    "int64 and an odd one": pd.DataFrame({"patient": pd.Series([1, 2, "odd"], dtype=object)}),
    "decimals": pa.table({"patient": pa.array([1, 2], pa.decimal128(20, 3))}),
    "texts": pd.DataFrame({"patient": ["1", "2"]}),
    "texts and an odd one": pd.DataFrame({"patient": pd.Series(["1", "2", 3], dtype=object)}),
    "CSV": "1\n2\n",
    "CSV with zeros": "01\n2\n",
}
NUMBERS = ("int64", "int64 and an odd one", "decimals")


@pytest.mark.parametrize("main", PEOPLE)
@pytest.mark.parametrize("other", PEOPLE)
@pytest.mark.parametrize("declared", ["integer", None])
def test_E0_a_person_is_the_same_by_value_in_all_types_or_the_types_are_refused(main, other, declared, tmp_path):
    """7 and "7" are two people; in a CSV file, 7 is a text, or a number if the person is declared as an integer."""
    sides = []
    for name, column in ((main, "patient"), (other, "id")):
        table = PEOPLE[name]
        if isinstance(table, str):
            path = tmp_path / f"{column}.csv"
            path.write_text(f"{column},age\n" + "".join(f"{each},50\n" for each in table.split()))
            table = path
        else:
            frame = table if isinstance(table, pd.DataFrame) else table.to_pandas(types_mapper=pd.ArrowDtype)
            table = frame.rename(columns={"patient": column}).assign(age=50)
        sides.append(table)
    columns = {"age": lw.number(0, 120)} | ({} if declared is None else {"patient": declared})
    source = visits(tmp_path, patients(sides[1]), table=sides[0], columns=columns)
    whole = [name in NUMBERS or (name.startswith("CSV") and declared == "integer") for name in (main, other)]
    odd = [name.endswith("odd one") for name in (main, other)]
    plan = source.plan(lw.count("age"), epsilon=1)
    if whole[0] != whole[1] and not any(odd):
        with pytest.raises(errors.InvalidSource, match="whole numbers in one of its tables, and of texts in another"):
            source._table.check(source.schema, plan.columns)
        return
    source._table.check(source.schema, plan.columns)
    ((present,), *_) = (source._table.tally(source.schema, plan.on(source.dialect).lowered).sums[2].tolist(),)
    zeros = [name == "CSV with zeros" for name in (main, other)]
    shared = (1 if zeros[0] != zeros[1] else 2) if whole[0] == whole[1] else 0
    shared += all(odd) and main == other
    assert present == shared * 2**16


# --- hostile look-ups ---


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"code": ["A", "A"], "region": ["x", "y"]}, "1 keys occur more than once"),
        ({"code": ["A\0"], "region": ["x"]}, "NUL"),
        ({"code": ["A"], "region": ["x\0"]}, "NUL"),
        ({"code": ["A"], "region": ["x" * 1001]}, "more than 1,000 characters"),
        ({"code": ["A" * 10**7], "region": ["x"]}, "more than 1,000 characters"),
        ({"code": ["A"]}, 'declares the column "region"'),
        ({"CODE": ["A"], "region": ["x"]}, 'declares the column "code"'),
        ({"code": ["A"], "Region": ["x"], "region": ["y"]}, "could be taken for another"),
    ],
    ids=["twice", "nul key", "nul cell", "long", "huge", "lacking", "case", "mixed up"],
)
def test_a_look_up_that_cannot_be_joined_is_one_refusal_and_nothing_is_charged(rows, message, tmp_path):
    source = visits(tmp_path, regions(pl.DataFrame(rows)))
    with pytest.raises(errors.InvalidSource, match=message):
        source.release(lw.count(), by="region", epsilon=1)
    assert source.ledger.spent == 0


def test_a_look_up_of_more_than_a_million_rows_is_refused(tmp_path):
    rows = pl.DataFrame({"code": pl.arange(1_000_001, eager=True).cast(pl.String), "region": "north"})
    with pytest.raises(errors.InvalidSource, match=r"1,000,001 rows, and at most 1,000,000"):
        visits(tmp_path, regions(rows)).release(lw.count(), by="region", epsilon=1)


def test_a_look_up_with_records_that_cannot_be_read_is_refused(tmp_path):
    path = tmp_path / "regions.csv"
    path.write_text("code,region\nA,north\nB\n")
    with pytest.raises(errors.InvalidSource, match="records that cannot be read"):
        visits(tmp_path, regions(path)).release(lw.count(), by="region", epsilon=1)


def test_a_look_up_that_is_not_there_is_refused_only_where_it_is_needed(tmp_path, frozen_noise):
    source = visits(tmp_path, regions(tmp_path / "none.csv"))
    assert source.release(lw.count(), epsilon=1).entry
    with pytest.raises(errors.EngineError, match="there is no file") as failure:
        source.release(lw.count(), by="region", epsilon=1)
    assert "Nothing was charged" in str(failure.value)
    assert source.ledger.spent == 1


# --- source files ---


def test_a_source_file_joins_tables_beside_it(tmp_path, monkeypatch, frozen_noise):
    home = tmp_path / "home"
    home.mkdir()
    pd.DataFrame(VISITS).to_csv(home / "visits.csv", index=False)
    (home / "patients.txt").write_text("id;years\np;50\n")
    (home / "regions.csv").write_text("code,region\nA,north\n")
    (home / "visits.toml").write_text(
        """
        table = "visits.csv"
        person = "patient"
        rows_per_person = 2
        epsilon = 100
        [[join]]
        table = "patients.txt"
        person = "id"
        columns = {age = "years"}
        file = {delimiter = ";"}
        [[join]]
        table = "regions.csv"
        public = true
        on = {postcode = "code"}
        columns = ["region"]
        [columns]
        age = {low = 0, high = 120, integer = true}
        postcode = {type = "text"}
        region = {keys = ["north", "south"], other = "?"}
        """
    )
    monkeypatch.chdir(tmp_path)
    source = lw.Source.open("home/visits.toml")
    assert [each.name for each in source.schema.joins] == ["patients", "regions"]
    answer = source.release(lw.count("age"), by="region", epsilon=90)
    assert [round(each) for each in answer.estimates["count_age"].value] == [1, 0, 0]
    assert source.holds(home / "patients.txt")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("join = 1", r"Write \[\[join\]\]"),
        ("[join]\ntable = 'a.csv'", r"Write \[\[join\]\]"),
        ("[[join]]\ncolumns = ['x']", "lacks a table or columns in join 1"),
        ("[[join]]\ntable = 'a.csv'", "lacks a table or columns in join 1"),
        ("[[join]]\ntable = 1\ncolumns = ['x']", "lacks a table or columns in join 1"),
        ("[[join]]\ntable = 'a.csv'\ncolumns = ['x']\nkey = 'y'", 'unknown field "key" in join 1'),
        ("[[join]]\ntable = 'a.csv'\ncolumns = ['x']", "refused in join 1.*public = true"),
        ("[[join]]\ntable = 'a.csv'\ncolumns = ['x']\nperson = 'p'\nfile = 3", "file that is not a table"),
        ("[[join]]\ntable = 'a.csv'\ncolumns = [['x']]\nperson = 'p'", "refused in join 1"),
    ],
)
def test_joins_of_a_source_file_that_cannot_be_are_refused(lines, message, tmp_path):
    (tmp_path / "t.toml").write_text(f"table = 'b.csv'\n{lines}\n")
    with pytest.raises(errors.InvalidSource, match=message):
        lw.Source.open(tmp_path / "t.toml")


def test_a_hundred_joins_of_a_source_file_are_one_refusal(tmp_path):
    join = "[[join]]\ntable = 'a.csv'\ncolumns = ['x']\npublic = true\non = 'y'\n"
    (tmp_path / "t.toml").write_text("table = 'b.csv'\n" + join * 100 + "[columns]\nx = {type = 'text'}\n")
    with pytest.raises(errors.InvalidSource, match="at most 20"):
        lw.Source.open(tmp_path / "t.toml")


# --- what is shown ---


def test_a_check_says_where_columns_come_from_and_how_many_rows_have_a_partner(tmp_path):
    found = lw.check(visits(tmp_path, patients(), regions(), countries()))
    assert {each.name: each.table for each in found.columns} == {
        "cost": None, "age": "join 1", "postcode": None, "region": "join 2", "country": "join 3",
    }  # fmt: skip
    assert found.partners == (("join 1", "many"), ("join 2", "all"), ("join 3", "many"))
    assert 'Rows with a partner in "join 1": many.' in str(found)
    assert found.to_dict()["partners"][1] == {"table": "join 2", "rows": "all"}
    lone = lw.check(visits(tmp_path, patients(pd.DataFrame({"id": ["z"], "age": [1]}))))
    assert any(each.wrong and "no row has a partner" in each.what for each in lone.advice)


def test_the_plan_prints_the_join_and_other_engines_are_refused(tmp_path):
    plan = visits(tmp_path, patients(), regions()).plan(lw.mean("age"), by="region", epsilon=1)
    assert "LEFT JOIN join_0 ON source.person = join_0.person" in plan.sql
    assert 'LEFT JOIN join_1 ON "c_postcode" = join_1.key' in plan.sql
    assert "LEFT JOIN join_0" in plan.to_sql("postgres")
    with pytest.raises(errors.InvalidSource, match="joins, which are not written for bigquery"):
        plan.to_sql("bigquery")


def test_a_check_finds_the_cells_of_a_joined_column_that_has_another_name_there(tmp_path):
    there = pd.DataFrame({"id": ["p", "q", "r"], "years": [50, 200, 30]})
    found = lw.check(visits(tmp_path, patients(there, columns={"age": "years"})))
    assert [line.split() for line in str(found).splitlines() if line.lstrip().startswith("age ")] == [
        ["age", "integer", "all", "none", "none", "none", "many", "none", "join", "1"]
    ]


def test_for_rows_per_person_another_joined_table_is_another_question(tmp_path):
    ids = {"rows_per_person": None}
    plain = visits(tmp_path, **ids)
    there = pd.DataFrame({"id": ["p"], "age": [50], "other": ["p"]})
    once, other = (visits(tmp_path, patients(there, person=person), **ids) for person in ("id", "other"))
    asked = [plan_rows_per_person(each.schema, epsilon=1).on(DUCKDB).question() for each in (plain, once, other)]
    assert asked[0] != asked[1] != asked[2] != asked[0]
    assert "joins" not in asked[0]


def test_a_look_up_is_read_once_also_if_it_changes_meanwhile(tmp_path):
    file = tmp_path / "regions.csv"
    pd.DataFrame(REGIONS).to_csv(file, index=False)
    source = visits(tmp_path, regions(file))
    before = described_joins(source.schema, ["region"])
    pd.DataFrame({**REGIONS, "region": ["south", "south"]}).to_csv(file, index=False)
    assert described_joins(source.schema, ["region"]) == before
    assert described_joins(visits(tmp_path, regions(file)).schema, ["region"]) != before
