"""One table gets one budget, whatever its files are called."""

import os

import pytest

import lapwing as lw
from lapwing.engine.connect import connect
from lapwing.server.access import invite
from lapwing.server.permissions import Role
from lapwing.server.sources import open_sources
from lapwing.source import Source

from .test_new_source import FORM, TABLE
from .test_pages import csrf, look, send, sign_in

COLUMNS = "[columns.cost]\nlow = 0\nhigh = 100\n"
JOIN = '[[join]]\ntable = "{}"\ncolumns = ["{}"]\n{}\n'
PEOPLE, LOOK_UP = 'person = "patient"', 'on = "ward"\npublic = true'


@pytest.fixture
def tables(folder):
    """The folder of the sources, with files that have several names."""
    parts = folder / "parts"
    parts.mkdir()
    (parts / "one.csv").write_text("patient,cost\np,1\n")
    (parts / "two.csv").write_text("patient,cost\nq,1\n")
    (folder / "linked").symlink_to(parts)
    (folder / "link.csv").symlink_to("visits.csv")
    os.link(folder / "visits.csv", folder / "hard.csv")
    (folder / "people.csv").write_text("patient,age\np,30\n")
    (folder / "wards.csv").write_text("ward,region\nnorth,n\n")
    return folder


def opened(folder, *tables):
    """Return the sources of tables, each with its own ledger, as a server opens them."""
    openers = []
    for name, (table, joins) in zip("ab", tables, strict=True):
        file = folder / f"{name}.toml"
        file.write_text(
            f'name = "{name}"\ntable = "{table}"\nepsilon = 1\nperson = "patient"\nrows_per_person = 1\n'
            f'{joins}{COLUMNS}[columns.ward]\nkeys = ["north"]\n[columns.age]\nlow = 0\nhigh = 120\n'
            '[columns.region]\nkeys = ["n"]\n'
        )
        openers.append(lambda file=file: Source.open(file))
    return open_sources(openers)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("visits.csv", "./visits.csv"), ("visits.csv", "parts/../visits.csv"), ("visits.csv", "link.csv"),
        ("visits.csv", "hard.csv"), ("visits.csv", "vis*.csv"), ("hard.csv", "vis*.csv"),
        ("visits.csv", "{}/visits.csv"),
        ("parts/*.csv", "parts/one.csv"), ("parts/*.csv", "linked/two.csv"), ("parts/o*.csv", "**/*e.csv"),
        ("none.csv", "parts/../none.csv"), ("none.csv", "no*.csv"),
    ],
)  # fmt: skip
def test_T46_one_table_by_two_names_gets_no_second_budget(tables, one, other):
    for pair in ((one, other), (other, one)):
        with pytest.raises(lw.errors.InvalidRequest, match="one table and two ledgers"):
            opened(tables, *((each.format(tables), "") for each in pair))


@pytest.mark.parametrize(
    ("one", "other"), [("visits.csv", "secrets.csv"), ("parts/one.csv", "parts/t*.csv"), ("none.csv", "parts/*.csv")]
)
def test_tables_without_a_common_file_are_served_beside_each_other(tables, one, other):
    assert set(opened(tables, (one, ""), (other, ""))) == {"a", "b"}


def test_T46_a_joined_table_of_people_has_a_budget_too_and_a_look_up_has_none(tables):
    people, wards = JOIN.format("people.csv", "age", PEOPLE), JOIN.format("wards.csv", "region", LOOK_UP)
    (tables / "again.csv").symlink_to("people.csv")
    for other in (("again.csv", ""), ("secrets.csv", people.replace("people", "again"))):
        with pytest.raises(lw.errors.InvalidRequest, match="one table and two ledgers"):
            opened(tables, ("visits.csv", people), other)
    assert set(opened(tables, ("visits.csv", wards), ("secrets.csv", wards))) == {"a", "b"}


def test_T46_a_maker_gets_no_budget_for_a_file_of_a_source_by_another_name(start, folder):
    server = start(sources_folder=str(folder / "tables"))
    server.tokens["mara"] = invite(server.app.access, "mara", Role.MAKER, [], 30, [""]).text
    cookie = sign_in(server, "mara")
    room = folder / "tables" / "mara"
    room.mkdir(parents=True)
    os.link(folder / "visits.csv", room / "hard.csv")
    assert look(server, "/new/hard.csv", cookie).status == 409
    (folder / "tables" / "max").mkdir()
    (room / "own.csv").write_text(TABLE)
    os.link(room / "own.csv", folder / "tables" / "max" / "other.csv")
    (folder / "tables" / "max" / "max.toml").write_text('name = "max"\ntable = "other.csv"\n')  # of another server
    assert look(server, "/new/own.csv", cookie).status == 409
    served = send(server, "/new/own.csv/serve", {"csrf": csrf(server, cookie), **FORM, "confirmed": "1"}, cookie)
    assert served.status == 409


POSTGRES = "postgresql://ana:secret@db.example/clinic#visits"


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ("postgres://bob@DB.example:5432/clinic#public.visits", True),
        ("postgresql:///?dbname=clinic&user=x&host=db.example#visits", True),
        ("postgresql://db.example/clinic?sslmode=require&application_name=x#%76isits", True),
        ("postgresql://other.example,db.example/clinic#visits", True),
        ("postgresql://db.example:5433/clinic#visits", False),
        ("postgresql://other.example/clinic#visits", False),
        ("postgresql://db.example/ward#visits", False),
        ("postgresql://db.example/clinic#Visits", False),
        ("visits.csv", False),
    ],
)
def test_T46_an_address_of_postgresql_names_one_table_whoever_reads_it(other, same):
    pytest.importorskip("psycopg", reason="psycopg is not installed here: `make install` brings it")
    tables = connect(POSTGRES, "one"), connect(other, "other")
    assert tables[0].shares_rows_with(tables[1]) is same
    assert tables[1].shares_rows_with(tables[0]) is same


def test_a_schema_that_is_not_said_may_be_any_and_two_that_are_said_differ(monkeypatch):
    pytest.importorskip("psycopg", reason="psycopg is not installed here: `make install` brings it")
    for name in ("PGHOST", "PGPORT", "PGDATABASE", "PGHOSTADDR", "PGSERVICE"):
        monkeypatch.delenv(name, raising=False)
    one, two = (connect(f"postgresql:///clinic#{name}.visits", "t") for name in ("a", "b"))
    assert not one.shares_rows_with(two)
    here = [connect(f"postgresql://{host}/clinic#visits", "t") for host in ("", "localhost", "127.0.0.1", "[::1]")]
    assert all(one.shares_rows_with(each) for each in here)
    monkeypatch.setenv("PGHOST", "db.example")
    monkeypatch.setenv("PGDATABASE", "clinic")
    assert connect("postgresql://#visits", "t").shares_rows_with(connect(POSTGRES, "t"))


def test_T46_names_of_spark_are_one_in_any_case_and_with_any_quotes():
    pytest.importorskip("pyspark", reason="pyspark is not installed here: `make install` brings it")
    one = connect("spark:clinic.visits", "t")
    for name, same in (("`Clinic`.visits", True), ("visits", True), ("other.visits", False), ("clinic.visit", False)):
        assert connect(f"spark:{name}", "t").shares_rows_with(one) is same
