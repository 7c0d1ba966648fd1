"""Claims J1 and J2 on every engine: joined rows give the same integers, and those of loops over all pairs of rows."""

import pandas as pd
import pyarrow as pa
import pytest

import lapwing as lw
from lapwing import errors

from ..claims.test_joins import DOUBLED, MADE, tally_of
from ..tables import make, plan_of, python_tally
from .conftest import postgres_table
from .test_same_integers import make_rows

ROWS, MATES = make_rows(150, 2), make_rows(60, 3)
MATES += MATES[:20]  # equal rows of a person, beside different ones
LOOK_UP = {-7: "a", 3: "it's", 2**62: None, 0: "100%"}
REGIONS = {"a": 1.5, "it's": -0.0, "é": 7.0, "100%": None}
COLUMNS = {
    "x": lw.number(-2, 7, integer=True),
    "code": lw.keys([-7, 3, 0]),
    "y": lw.number("-0.5", 100),
    "yes": "boolean",
    "key": lw.keys(["a", "it's"], other="rest"),
    "level": lw.number(0, 10),
}
QUERIES = [
    ((lw.count(), lw.mean("y")), (), None),
    ((lw.sum("x"), lw.count(), lw.variance("y")), ("key",), None),
    ((lw.people(), lw.sum("level")), ("code", "key"), "yes"),
    ((lw.median("y"),), ("key",), None),
    ((lw.count("level"),), (), "key = 'it''s' OR yes IS NULL"),
]
WHERE = {
    None: lambda row: True,
    "yes": lambda row: row["yes"] is True,
    "key = 'it''s' OR yes IS NULL": lambda row: row["key"] == "it's" or row["yes"] is None,
}


@pytest.fixture(params=["duckdb", "postgres", "spark"])
def tables(request):
    """The rows, and a table of the same people, on the engine."""
    if request.param == "duckdb":
        return make(ROWS, "arrow", None), make(MATES, "arrow", None)
    if request.param == "postgres":
        url = request.getfixturevalue("postgres")
        postgres_table(url, MATES, "mates")
        return postgres_table(url, ROWS), "#mates"
    session = request.getfixturevalue("spark")
    return tuple(session.createDataFrame(make(rows, "arrow", None)) for rows in (ROWS, MATES))


def source_of(main, mates, **options):
    codes = pd.DataFrame({"c": pd.array(list(LOOK_UP), "Int64"), "k": list(LOOK_UP.values())})
    levels = pd.DataFrame({"key": list(REGIONS), "level": list(REGIONS.values())})
    joins = [
        lw.join(mates, person="person", columns=["y", "yes"]),
        lw.join(codes, public=True, on={"code": "c"}, columns={"key": "k"}),
        lw.join(levels, public=True, on="key", columns=["level"]),
    ]
    named = {"name": "t", "person": "person", "rows_per_person": 3, "columns": COLUMNS, "joins": joins}
    return lw.Source(main, **named, **options)


def joined_rows():
    found = []
    for row in ROWS:
        mates = [mate for mate in MATES if mate["person"] is not None and mate["person"] == row["person"]]
        for mate in mates or [{}]:
            key = LOOK_UP.get(row["code"])
            looked = {"key": key, "level": REGIONS.get(key)}
            found.append({**row, "y": mate.get("y"), "yes": mate.get("yes"), **looked})
    return found


def test_J1_J2_joined_rows_give_the_same_integers_on_every_engine(tables):
    source = source_of(*tables)
    for question in QUERIES:
        plan = plan_of(source.schema, *question)
        source._table.check(source.schema, plan.columns)
        if question[0][0].level is None:
            found = tally_of(source, plan)
            expected = python_tally(source.schema, plan, joined_rows(), WHERE[question[2]])
            empty = [tuple(0 for _ in part.measurement.names) for part in plan.parts]
            assert all(found.get(at, empty) == expected.get(at, empty) for at in {*found, *expected}), question
        else:
            reference = source_of(make(ROWS, "arrow", None), make(MATES, "arrow", None))
            spread = [each._table.tally(each.schema, plan.on(each.dialect).lowered).own for each in (source, reference)]
            assert sorted(zip(*spread[0][0], strict=True)) == sorted(zip(*spread[1][0], strict=True))


def test_a_joined_source_is_checked_discovered_and_released_on_every_engine(tables, tmp_path, frozen_noise):
    source = source_of(*tables, epsilon=50, delta="0.5", ledger=tmp_path / "t.ledger")
    found = lw.check(source)
    assert [table for table, _ in found.partners] == [
        "mates" if isinstance(tables[1], str) else "join 1",
        "join 2",
        "join 3",
    ]
    assert {each.name: each.table for each in found.columns}["x"] is None
    assert source.discover("key", epsilon=20, delta="0.01").keys
    assert source.rows_per_person(epsilon=1).entry
    assert source.bounds("y", epsilon=1).entry
    first = source.release(lw.count(), by="key", epsilon=1)
    again = source_of(*tables, ledger=tmp_path / "t.ledger").release(lw.count(), by="key", epsilon=1)
    assert again.repeated
    assert again.answer == first.answer


def test_a_look_up_can_be_a_table_of_the_same_database(postgres, tmp_path, frozen_noise):
    import psycopg

    url = postgres_table(postgres, ROWS)
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE TABLE regions AS SELECT * FROM (VALUES (-7, 'a'), (3, 'b%')) AS r (c, k)")
    columns = {"code": lw.keys([-7, 3]), "region": lw.keys("a", "b%", other="rest")}
    joins = [lw.join("#regions", public=True, on={"code": "c"}, columns={"region": "k"})]
    source = lw.Source(url, name="t", columns=columns, joins=joins, epsilon=9, ledger=tmp_path / "l")
    release = source.release(lw.count(), by="region", epsilon=9)
    exact = [sum(row["code"] == code for row in ROWS) for code in (-7, 3)]
    assert all(abs(value - right) <= 9 for value, right in zip(release.estimates["count"].value, exact, strict=False))
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("INSERT INTO regions VALUES (3, 'again')")
    with pytest.raises(errors.InvalidSource, match="1 keys occur more than once"):
        source.release(lw.count(), by="region", epsilon=1)


@pytest.fixture(params=["postgres", "spark"])
def look_up_there(request):
    """A function that makes a look-up of rows on an engine, and a table there that looks something up."""
    if request.param == "spark":
        session = request.getfixturevalue("spark")
        return session.createDataFrame, session.createDataFrame(pa.table({"x": [1], "code": [1]}))

    import psycopg

    url = request.getfixturevalue("postgres")

    def make_look_up(rows):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS looked_up")
            connection.execute("CREATE TABLE looked_up (c bigint, k text, v double precision, w bigint)")
            for row in zip(*rows.to_pydict().values(), strict=True):
                connection.execute("INSERT INTO looked_up VALUES (%s, %s, %s, %s)", row)
        return "#looked_up"

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS x, 1 AS code")
    return make_look_up, f"{url}#t"


def test_J2_T39_a_key_that_a_look_up_of_an_engine_has_twice_is_refused_whatever_its_cells(look_up_there, tmp_path):
    make_look_up, main = look_up_there
    columns = {"code": lw.keys(1, 2, 3), "key": lw.keys("a", "b"), "y": lw.number(0, 10), "z": "number"}
    for number, cells in enumerate(DOUBLED.values()):
        named = zip(MADE.items(), zip(*cells, strict=True), strict=True)
        rows = pa.table({name: pa.array(column, kind) for (name, kind), column in named})
        joins = [lw.join(make_look_up(rows), public=True, on={"code": "c"}, columns={"key": "k", "y": "v", "z": "w"})]
        ledger = tmp_path / f"{number}.ledger"
        source = lw.Source(main, name="t", columns=columns, joins=joins, epsilon=9, ledger=ledger)
        with pytest.raises(errors.InvalidSource, match="1 keys occur more than once"):
            source.release(lw.sum("y"), by="key", epsilon=1)
        assert source.ledger.spent == 0


def test_people_of_another_database_are_refused(postgres):
    url = postgres_table(postgres, ROWS)
    mark = "&" if "?" in url else "?"
    for other in (make(MATES, "arrow", None), url.replace("#t", f"{mark}user=somebody#t")):
        joins = [lw.join(other, person="person", columns=["y"])]
        with pytest.raises(errors.InvalidSource, match="in another engine, database or session"):
            lw.Source(
                url, name="t", columns={"y": lw.number(0, 1)}, person="person", rows_per_person=1, joins=joins
            )  # fmt: skip
