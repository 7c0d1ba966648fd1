"""PostgreSQL as an engine: what it refuses and when, what it may do, and that nothing in a database changes an integer.

What a server says may quote a cell: the canary, and the server's own words, must appear nowhere (T24).
"""

import logging
import re
import time
import tomllib
from dataclasses import replace
from datetime import date
from urllib.parse import quote, urlencode

import pyarrow as pa
import pytest
from click.testing import CliRunner

import lapwing as lw
from lapwing import errors
from lapwing.cli import main as cli
from lapwing.engine import postgres as engine
from lapwing.engine.connect import connect
from lapwing.engine.table import quiet
from lapwing.question.codes import KINDS
from lapwing.question.schema import make_schema
from lapwing.release.discover import plan_keys
from lapwing.source_file import describe

from ..claims.test_release import CANARY, everything_about
from ..tables import decided, plan_of
from .test_same_integers import counted

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed here: `make install` brings it")

COLUMNS = {"x": lw.number(0, 10, integer=True), "y": lw.number(0, 1), "key": lw.keys("a", "b", "c", other="rest")}
ROWS = 60
TABLE = f"""
CREATE TABLE visits AS SELECT 'p' || i % 30 AS p, i % 11 AS x, CAST(i AS float8) / 60 AS y,
  substr('abd', i % 3 + 1, 1) AS key, '{CANARY}' AS note FROM generate_series(1, {ROWS}) AS i
"""
ENGINE_WORDS = ("FATAL", "ERROR:", "permission denied", "does not exist", "SQLSTATE", "canceling")


def run(url, *statements):
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def ask(url, question, *values):
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(question, values or None).fetchall()


def within(seconds, holds):
    """Wait until it holds; what a server does after a connection is closed takes a moment."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def url_of(url, table="", **changed):
    """Return the URL of a table, with another user, password, database or whatever."""
    told = {**psycopg.conninfo.conninfo_to_dict(url), **changed}
    user, password = quote(told.pop("user", "")), quote(told.pop("password", None) or "", safe="")
    login = f"{user}:{password}@" if password else f"{user}@" if user else ""
    return f"postgresql://{login}/{told.pop('dbname')}?{urlencode(told, quote_via=quote)}" + (
        f"#{table}" if table else ""
    )


def connections(url):
    asked = "SELECT state FROM pg_stat_activity WHERE application_name = 'lapwing' AND datname = current_database()"
    return [state for (state,) in ask(url, asked)]


@pytest.fixture
def clinic(postgres):
    """The URL of a database with a table of visits."""
    run(postgres, TABLE)
    return postgres


@pytest.fixture
def role(clinic):
    """A user who may log in and nothing else."""
    database = psycopg.conninfo.conninfo_to_dict(clinic)["dbname"]
    name = f"r{database}"
    run(
        clinic, f"CREATE ROLE {name} LOGIN", f"REVOKE ALL ON DATABASE {database} FROM PUBLIC",
        "REVOKE ALL ON SCHEMA public FROM PUBLIC", f"GRANT CONNECT ON DATABASE {database} TO {name}",
    )  # fmt: skip
    yield name
    run(clinic, f"DROP OWNED BY {name} CASCADE", f"DROP ROLE {name}")


def make(folder, url, **options):
    given = {"name": "t", "columns": COLUMNS, "person": "p", "rows_per_person": 2, "epsilon": 1000, "delta": "1e-3",
             "ledger": folder / "t.ledger", **options}  # fmt: skip
    return lw.Source(url, **given)


@pytest.fixture
def silent(caplog, capfd):
    """A function that holds what was raised, logged and printed against what must not be told."""
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "psycopg")  # which would be silent below warnings

    def check(error=None, *secrets):
        seen = "\n".join(["" if error is None else everything_about(error), caplog.text, *capfd.readouterr()])
        for word in (CANARY, *ENGINE_WORDS, *secrets):
            assert word not in seen
        assert error is None or error.__cause__ is error.__context__ is None
        return seen

    return check


# --- failures before the charge ---


def closed(url, role, *statements):
    run(url, *(statement.format(role=role) for statement in statements))
    return url_of(url, "public.visits", user=role)


USAGE, SELECT = "GRANT USAGE ON SCHEMA public TO {role}", "GRANT SELECT ON visits TO {role}"
BEFORE = {
    "no server": (lambda url, role: url_of(url, "visits", port="1"), "cannot be reached"),
    "no database": (lambda url, role: url_of(url, "visits", dbname="nothing"), "cannot be reached"),
    "no login": (lambda url, role: closed(url, role, "ALTER ROLE {role} NOLOGIN"), "the user and the password"),
    "no user": (lambda url, role: url_of(url, "visits", user="nobody"), "the user and the password"),
    "no table": (lambda url, role: f"{url}#visitors", 'there is no table "visitors"'),
    "no schema": (lambda url, role: f"{url}#clinic.visits", 'there is no table "clinic"."visits"'),
    "closed schema": (lambda url, role: closed(url, role, SELECT), "closed to this user"),
    "closed table": (lambda url, role: closed(url, role, USAGE), "GRANT SELECT"),
    "closed column": (
        lambda url, role: closed(url, role, USAGE, "GRANT SELECT (p, x, note) ON visits TO {role}"),
        'which this user may not read',
    ),
    "closed person": (
        lambda url, role: closed(url, role, USAGE, "GRANT SELECT (key, x, note) ON visits TO {role}"),
        'which this user may not read',
    ),
    "no column": (
        lambda url, role: closed(url, role, "ALTER TABLE visits DROP COLUMN key", USAGE, SELECT),
        'declares the column "key", which its table does not have',
    ),
    "closed table below": (
        lambda url, role: closed(
            url, role, "ALTER TABLE visits RENAME TO below", USAGE,
            "CREATE VIEW visits WITH (security_invoker) AS SELECT * FROM below", SELECT,
        ),
        "may not read it",
    ),
    "closed function": (
        lambda url, role: closed(
            url, role, "ALTER TABLE visits RENAME TO below", USAGE,
            "CREATE FUNCTION f(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN $1; END'",
            "REVOKE ALL ON FUNCTION f FROM PUBLIC", "GRANT SELECT ON below TO {role}",
            "CREATE VIEW visits WITH (security_invoker) AS SELECT p, f(x) AS x, y, key FROM below", SELECT,
        ),
        "may not read it",
    ),
    "no data": (
        lambda url, role: closed(
            url, role, "ALTER TABLE visits RENAME TO below",
            "CREATE MATERIALIZED VIEW visits AS SELECT * FROM below WITH NO DATA", USAGE, SELECT,
        ),
        "materialized view without data",
    ),
    "a sequence": (
        lambda url, role: closed(url, role, "DROP TABLE visits", "CREATE SEQUENCE visits", USAGE, SELECT),
        "is not a table or view",
    ),
    "policies that may not be applied": (
        lambda url, role: closed(
            url, role, "ALTER TABLE visits ENABLE ROW LEVEL SECURITY", USAGE, SELECT,
            "ALTER ROLE {role} SET row_security = off",
        ),
        "may not read it",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BEFORE)
def test_T24_what_fails_before_the_query_is_charged_nothing(clinic, role, what, tmp_path, silent):
    broken, told = BEFORE[what]
    source = make(tmp_path, broken(clinic, role))
    for ask_for in (
        lambda: source.release(lw.count(), lw.mean("x"), by="key", epsilon=1),
        lambda: source.declare(key="text").discover("key", epsilon=1, delta="1e-6", where="x > 1"),
    ):
        with pytest.raises((errors.EngineError, errors.InvalidSource), match=r"othing was charged") as caught:
            ask_for()
        assert told in str(caught.value)
        silent(caught.value)
    assert source.ledger.spent == 0


def test_T24_a_table_that_is_locked_is_charged_nothing(clinic, tmp_path, silent):
    source = make(tmp_path, url_of(clinic, "visits", options="-c lock_timeout=300"))
    with psycopg.connect(clinic) as other:
        other.execute("LOCK TABLE visits IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(errors.EngineError, match="Another session holds a lock") as caught:
            source.release(lw.count(), epsilon=1)
    silent(caught.value)
    assert source.ledger.spent == 0
    assert not source.release(lw.count(), epsilon=1).repeated


def test_T24_a_secret_is_asked_for_and_told_nowhere(clinic, role, postgres_server, tmp_path, silent):
    secret = "se#c@r:e/t?1"
    run(clinic, f"ALTER ROLE {role} PASSWORD '{secret}'", USAGE.format(role=role), SELECT.format(role=role))
    if postgres_server.pgdata is None:
        pytest.skip("the rules by which a server of others asks for passwords are not ours to change")
    rules = postgres_server.pgdata / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(f"local all {role} scram-sha-256\n{before}")
    try:
        run(clinic, "SELECT pg_reload_conf()")
        within(20, lambda: not works(url_of(clinic, user=role)))
        for url in (url_of(clinic, "visits", user=role), url_of(clinic, "visits", user=role, password=f"{secret}2")):
            source = make(tmp_path, url)
            with pytest.raises(errors.EngineError, match="the user and the password") as caught:
                source.release(lw.count(), epsilon=1)
            assert secret not in silent(caught.value) + repr(source)
            assert source.ledger.spent == 0
        source = make(tmp_path, url_of(clinic, "visits", user=role, password=secret))
        shown = [repr(source), str(source.release(lw.count(), epsilon=1)), silent()]
        assert not any(part in text for part in (secret, quote(secret, safe="")) for text in shown)
    finally:
        rules.write_text(before)
        run(clinic, "SELECT pg_reload_conf()")


def works(url):
    try:
        with quiet(logging.getLogger("psycopg")):
            psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_T24_a_database_that_is_not_utf8_is_refused(postgres, tmp_path, encoding, silent):
    name = "e" + psycopg.conninfo.conninfo_to_dict(postgres)["dbname"]
    run(postgres, f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    other = url_of(postgres, dbname=name)
    run(other, TABLE)
    source = make(tmp_path, f"{other}#visits")
    with pytest.raises(errors.EngineError, match=f"has the encoding {encoding}, and UTF8 is needed") as caught:
        source.release(lw.count(), epsilon=1)
    silent(caught.value)
    assert source.ledger.spent == 0
    run(postgres, f"DROP DATABASE {name} WITH (FORCE)")


def test_psycopg_is_asked_for_when_it_is_missing(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(engine, "import_module", missing)
    with pytest.raises(errors.MissingLibrary, match=r"pip install '\.\[postgres\]'"):
        connect("postgresql://db.example/clinic#visits", "t")


# --- failures after the charge ---

FUNCTION = "CREATE FUNCTION f(i int, note text) RETURNS int LANGUAGE plpgsql VOLATILE AS $$ BEGIN {} RETURN i; END $$"
VIEW = "CREATE VIEW v AS SELECT p, {} AS x, y, key FROM visits"
AFTER = {
    "a function that raises": ([FUNCTION.format("RAISE EXCEPTION 'no %', note;")], "f(x, note)", "lapwing.engine"),
    "a cast": ([], "CAST(note AS int)", "lapwing.engine"),
    "a division": ([], "x / (x - 5)", "lapwing.engine"),
    "a function that writes": (
        ["CREATE TABLE seen (note text)", FUNCTION.format("INSERT INTO public.seen VALUES (note);")],
        "f(x, note)",
        "calls a function that writes",
    ),
    "a function that needs the path": (
        ["CREATE TABLE aside (i int)", FUNCTION.format("PERFORM i FROM aside;")],
        "f(x, note)",
        "SET search_path",
    ),
    "a timeout": (["ALTER ROLE {role} SET statement_timeout = '3s'"], "x + length(pg_sleep(9)::text)", "statement_tim"),
    "no room": (
        [
            "INSERT INTO visits SELECT repeat('p', 200) || i, 1, 1, 'a' FROM generate_series(1, 400000) AS i",
            "ALTER ROLE {role} SET temp_file_limit = 0",
            "ALTER ROLE {role} SET max_parallel_workers_per_gather = 0",  # each may have memory of its own
        ],
        "x",
        "ran out of memory",
    ),
}


@pytest.mark.parametrize("what", AFTER)
def test_T24_what_fails_while_it_is_read_completes_later_at_no_charge(clinic, role, what, tmp_path, silent):
    first, x, told = AFTER[what]
    run(clinic, *(each.replace("{role}", role) for each in first), VIEW.format(x))
    run(clinic, USAGE.format(role=role), f"GRANT SELECT ON v TO {role}")
    source = make(tmp_path, url_of(clinic, "v", user=role))

    def release():
        return source.release(lw.count(), lw.mean("x"), by="key", epsilon=1)

    with pytest.raises(errors.EngineError, match="completes it at no charge") as caught:
        release()
    assert told in str(caught.value)
    silent(caught.value)
    assert source.ledger.spent == 1
    run(clinic, f"ALTER ROLE {role} RESET ALL", VIEW.format("x").replace("CREATE", "CREATE OR REPLACE"))
    completed = release()
    assert (completed.repeated, completed.completed) == (True, True)
    assert release().repeated
    assert source.ledger.spent == 1
    within(10, lambda: connections(clinic) == [])


SLOW = VIEW.format("x + length(pg_sleep(0.5)::text)")


def sleeping(url):
    return ask(url, "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()")


def test_T24_a_connection_that_is_ended_completes_later_at_no_charge(clinic, tmp_path, silent):
    run(clinic, SLOW)
    source = make(tmp_path, f"{clinic}#v")

    def end(_):
        for (pid,) in sleeping(clinic):
            ask(clinic, "SELECT pg_terminate_backend(%s)", pid)

    with pytest.raises(errors.EngineError, match="ended the connection") as caught:
        source.release(lw.mean("x"), epsilon=1, progress=end)
    silent(caught.value, "terminating")
    assert source.ledger.spent == 1
    run(clinic, "DROP VIEW v", VIEW.format("x"))
    assert source.release(lw.mean("x"), epsilon=1).completed
    assert source.ledger.spent == 1


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, RuntimeError(CANARY)], ids=["keyboard", "progress"])
def test_an_interrupt_ends_the_query_on_the_server(clinic, tmp_path, interrupt, silent):
    run(clinic, SLOW)
    source = make(tmp_path, f"{clinic}#v")

    def stop(_):
        if sleeping(clinic):
            raise interrupt

    with pytest.raises((KeyboardInterrupt, errors.EngineError)) as caught:
        source.release(lw.mean("x"), epsilon=1, progress=stop)
    assert caught.type is (KeyboardInterrupt if interrupt is KeyboardInterrupt else errors.EngineError)
    within(10, lambda: connections(clinic) == [])
    silent(None if interrupt is KeyboardInterrupt else caught.value)


def test_T24_what_a_function_says_is_told_nowhere(clinic, tmp_path, silent):
    run(clinic, FUNCTION.format("RAISE WARNING 'saw %', note; RAISE NOTICE 'saw %', note;"), VIEW.format("f(x, note)"))
    answer = make(tmp_path, f"{clinic}#v").release(lw.mean("x"), epsilon=1)
    assert answer.rows
    silent()


# --- one state, nothing written, least privilege ---


def test_E3_all_queries_of_a_release_see_one_state(clinic, monkeypatch):
    schema = make_schema("t", COLUMNS, "p", 2, "add_remove", None)
    plan = plan_of(schema, (lw.count(), lw.median("y"), lw.median("x")))
    expected = counted(schema, plan, f"{clinic}#visits")
    whole, told = engine._Session.integers, []

    def slowly(session, sql):
        found = whole(session, sql)
        for setting in ("transaction_isolation", "transaction_read_only"):
            told.extend(session._connection.execute(f"SHOW {setting}").fetchone())
        run(clinic, "INSERT INTO visits SELECT 'q' || i, i, i, 'a' FROM generate_series(1, 1000) AS i")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(engine._Session, "integers", slowly)
        assert counted(schema, plan, f"{clinic}#visits") == expected
    assert told == ["repeatable read", "on"] * 3
    assert counted(schema, plan, f"{clinic}#visits") != expected


def test_nothing_is_made_and_nothing_stays_open(clinic, tmp_path):
    asked = (
        "SELECT oid FROM pg_class UNION ALL SELECT oid FROM pg_namespace UNION ALL SELECT oid FROM pg_type ORDER BY 1"
    )
    before = ask(clinic, asked)
    source = make(tmp_path, f"{clinic}#visits")
    source.release(lw.count(), lw.median("x"), by="key", epsilon=1)
    source.declare(key="text").discover("key", epsilon=1, delta="1e-6")
    assert ask(clinic, asked) == before
    within(10, lambda: connections(clinic) == [])


def everything(source):
    """Ask in every way; return the counts, which at this ε are rounded to what they are but for 10^-12."""
    by_key = source.release(lw.count(), lw.mean("x"), lw.median("y"), by="key", epsilon=300)
    assert source.declare(key="text").discover("key", epsilon=300, delta="1e-4").keys == ("a", "b", "d")
    assert source.bounds("x", epsilon=300).occupied
    return [row["count"]["value"] for row in by_key.rows]


def test_least_privilege_is_enough(clinic, role, tmp_path):
    """CONNECT, USAGE, and SELECT on the columns that are asked for; no TEMP, no CREATE, nothing to be written."""
    run(
        clinic, USAGE.format(role=role), f"GRANT SELECT (p, x, y, key) ON visits TO {role}",
        f"ALTER ROLE {role} SET default_transaction_read_only = on",
        f"ALTER ROLE {role} SET default_transaction_isolation = 'read committed'",
    )  # fmt: skip
    source = make(tmp_path, url_of(clinic, "public.visits", user=role))
    assert everything(source) == [20, 20, 0, 20]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        ask(url_of(clinic, user=role), "SELECT note FROM visits")


def test_a_view_is_enough(clinic, role, tmp_path):
    """The user sees the view alone, and cannot look behind it."""
    run(
        clinic, USAGE.format(role=role),
        "CREATE VIEW v WITH (security_barrier) AS SELECT p, x, y, key FROM visits WHERE note IS NOT NULL",
        f"GRANT SELECT ON v TO {role}",
    )  # fmt: skip
    assert everything(make(tmp_path, url_of(clinic, "v", user=role, options="-c search_path=public"))) == [
        20,
        20,
        0,
        20,
    ]


def test_policies_of_rows_hold(clinic, role, tmp_path):
    """The table is what this user sees of it."""
    run(
        clinic, USAGE.format(role=role), SELECT.format(role=role), "ALTER TABLE visits ENABLE ROW LEVEL SECURITY",
        f"CREATE POLICY fewer ON visits TO {role} USING (key <> 'b')",
    )  # fmt: skip
    source = make(tmp_path, url_of(clinic, "public.visits", user=role))
    answer = source.release(lw.count(), by="key", epsilon=100)
    assert [row["count"]["value"] for row in answer.rows] == [20, 0, 0, 20]


# --- names ---

NAMES = [
    "Visits", "two words", 'say "hi"', "100%", "%s", "a.b", "it's", "{x}", "日本", "source", "typed", "select", "x#y",
    "a/b?c:d@e", "back\\slash", "n" * 63,
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_tables_schemas_and_columns_of_any_name(postgres, name, tmp_path):
    told = '"' + name.replace('"', '""') + '"'
    run(postgres, f"CREATE SCHEMA {told}", TABLE)
    run(postgres, f"ALTER TABLE visits RENAME x TO {told}", f"ALTER TABLE visits RENAME TO {told}")
    run(postgres, f"ALTER TABLE {told} SET SCHEMA {told}")
    columns = {name: COLUMNS["x"], "key": COLUMNS["key"]}
    source = make(tmp_path, f"{postgres}#{quote(f'{told}.{told}', safe='')}", columns=columns)
    assert [row["count"]["value"] for row in source.release(lw.count(), lw.mean(name), by="key", epsilon=900).rows] == [
        20,
        20,
        0,
        20,
    ]


def test_columns_whose_names_differ_only_at_their_end(postgres, tmp_path):
    """With two more characters PostgreSQL would cut the difference off."""
    names = ["n" * 61 + end for end in ("a1", "a2", "b1")]
    columns = ", ".join(f"{i} AS {name}" for i, name in enumerate(names))
    run(postgres, f"CREATE TABLE t AS SELECT {columns} FROM generate_series(1, 100)")
    source = make(tmp_path, f"{postgres}#t", person=None, rows_per_person=None,
                  columns={name: lw.number(0, 10, integer=True) for name in names})  # fmt: skip
    found = source.release(*map(lw.sum, names), where=f"{names[1]} > {names[0]}", epsilon=900).rows[0]
    assert [found[f"sum_{name}"]["value"] for name in names] == [0, 100, 200]


OTHER_TABLES = {
    "view": ["CREATE VIEW t AS SELECT * FROM visits"],
    "materialized view": ["CREATE MATERIALIZED VIEW t AS SELECT * FROM visits"],
    "partitioned": [
        "CREATE TABLE t (LIKE visits) PARTITION BY LIST (key)", "CREATE TABLE t_a PARTITION OF t FOR VALUES IN ('a')",
        "CREATE TABLE t_b PARTITION OF t DEFAULT", "INSERT INTO t SELECT * FROM visits",
    ],
    "inherited": ["CREATE TABLE t (LIKE visits)", "ALTER TABLE visits INHERIT t"],
    "values": [
        f"CREATE VIEW t AS SELECT 'p' || i AS p, 1 AS x, 1e400 AS y, 'a' AS key FROM generate_series(1, {ROWS}) AS i",
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", OTHER_TABLES)
def test_whatever_can_be_selected_from_is_a_table(clinic, kind, tmp_path):
    run(clinic, *OTHER_TABLES[kind])
    answer = make(tmp_path, f"{clinic}#t").release(lw.count(), lw.mean("y"), lw.median("x"), epsilon=900)
    assert answer.rows[0]["count"]["value"] == ROWS


# --- types ---

NAN, INF = float("nan"), float("inf")
NUMERICS = {
    "NaN": NAN, "Infinity": INF, "-Infinity": -INF, "1e400": INF, "-1e400": -INF, "1e-400": 0.0, "-1e-400": 0.0,
    "1e-310": 1e-310, "5e-324": 5e-324, "2.4e-324": 0.0, "1.7976931348623157e308": 1.7976931348623157e308,
    "1.79769313486231571e308": 1.7976931348623157e308, "9" * 130000: INF, "0." + "0" * 16000 + "1": 0.0, "2.50": 2.5,
    "-0.0": 0.0, "7": 7.0, "6.9999999999999999999": 7.0, "123456789012345678901234567890": 1.2345678901234568e29,
}  # fmt: skip
FLOATS = {
    "NaN": NAN, "Infinity": INF, "-Infinity": -INF, "5e-324": 5e-324, "-5e-324": -5e-324, "2.3e-308": 2.3e-308,
    "1.7976931348623157e308": 1.7976931348623157e308, "-0": -0.0, "2.5": 2.5, "6.999999999999999": 6.999999999999999,
}  # fmt: skip
SMALL_FLOATS = {"NaN": NAN, "Infinity": INF, "1e-45": 1.401298464324817e-45, "3.4028235e38": 3.4028234663852886e38,
                "2.5": 2.5, "0.1": 0.10000000149011612}  # fmt: skip
WHOLE = {"-9223372036854775808": -(2**63), "9223372036854775807": 2**63 - 1, "0": 0, "3": 3, "-7": -7,
         "9007199254740993": 2**53 + 1}  # fmt: skip
SHORT = {"-32768": -32768, "32767": 32767, "0": 0, "3": 3}
YES = {"true": True, "false": False}
TEXTS = {
    "a": "a",
    "A": "A",
    "b ": "b ",
    "": "",
    "é": "é",
    "e\u0301": "e\u0301",
    "it's": "it's",
    "\\": "\\",
    "NaN": "NaN",
}
DAYS = {"2024-01-01": date(2024, 1, 1), "0001-01-01": date(1, 1, 1), "9999-12-31": date(9999, 12, 31)}
TIMES = {"2024-01-01 23:59:59.999999": date(2024, 1, 1), "1969-12-31 23:59:59.5": date(1969, 12, 31),
         "0001-01-01 00:00": date(1, 1, 1)}  # fmt: skip
ZONED = {"2024-01-01 23:30:00-05": date(2024, 1, 2), "2024-01-01 00:30:00+02": date(2023, 12, 31)}
UUIDS = {"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}
TYPES = [
    ("numeric", "number", NUMERICS), ("numeric", "integer", NUMERICS), ("float8", "number", FLOATS),
    ("float8", "integer", FLOATS), ("float4", "number", SMALL_FLOATS), ("int8", "number", WHOLE),
    ("int8", "integer", WHOLE), ("int2", "number", SHORT), ("bool", "number", YES), ("decimal(5,2)", "number",
    {"1.25": 1.25, "-999.99": -999.99}), ("positive", "number", {"2.50": 2.5, "NaN": NAN}),
    ("above", "number", {"2": 2.0}),
    ("text", "text", TEXTS), ("varchar(9)", "text", TEXTS), ("name", "text", TEXTS), ("label", "text", TEXTS),
    ("char(4)", "text", {"a": "a", "a  ": "a", "": "", "abcd": "abcd"}), ("uuid", "text", UUIDS),
    ("mood", "text", {"a": "a", "A": "A", "it''s": "it''s"}), ("moods", "text", {"a": "a"}),
    ("int8", "text", {"-7": "-7", "5": "5", str(2**53): None}), ("bool", "text", {"true": "1", "false": "0"}),
    ("date", "date", DAYS), ("timestamp", "date", TIMES), ("timestamptz", "date", ZONED),
    ("bool", "boolean", YES), ("int4", "boolean", {"0": False, "1": True, "-5": True}), ("flag", "boolean", YES),
]  # fmt: skip
MADE = [
    "CREATE TYPE mood AS ENUM ('a', 'A', 'it''''s', 'b')", "CREATE DOMAIN moods AS mood", "CREATE DOMAIN label AS text",
    "CREATE DOMAIN positive AS numeric CHECK (VALUE > 0)", "CREATE DOMAIN above AS positive CHECK (VALUE > 1)",
    "CREATE DOMAIN flag AS bool", "CREATE TYPE pair AS (a int, b int)",
]  # fmt: skip
ARROW = {
    "number": pa.float64(),
    "integer": pa.float64(),
    "text": pa.string(),
    "date": pa.date32(),
    "boolean": pa.bool_(),
}
DECLARED = {
    "number": lw.number(-2, 7),
    "integer": lw.number(-2, 7, integer=True),
    "text": lw.keys(["a", "b ", "é", "it's", "\\", "abcd", "5", "1", *UUIDS.values()], other="rest"),
    "date": lw.keys([date(2024, 1, 1), date(2024, 1, 2), date(1, 1, 1)], other="rest"),
    "boolean": lw.keys([True, False]),
}
WHERE = {
    "number": ["v > 0", "v < 0", "v = 2.5", "v IS NULL"], "integer": ["v > 0", "v IN (3, 7)"],
    "text": ["v = 'a'", "v > 'a'", "v <> 'b '", "v IS NULL"], "date": ["v > '2024-01-01'", "v < '2000-01-01'"],
    "boolean": ["v", "NOT v"],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "declared", "cells"), TYPES, ids=[f"{a} as {b}" for a, b, _ in TYPES])
def test_E1_cells_of_every_type_have_the_integers_of_their_values(postgres, kind, declared, cells):
    run(postgres, *MADE, f"CREATE TABLE t (v {kind})", "INSERT INTO t VALUES (NULL)")
    with psycopg.connect(postgres) as connection:
        for cell in cells:
            connection.execute(f"INSERT INTO t VALUES (CAST(%s AS {kind}))", [cell])
    values = [None, *cells.values()]
    reference = pa.table({"v": pa.array(values, pa.int64() if cells is WHOLE else ARROW[declared])})
    schema = make_schema("t", {"v": DECLARED[declared]}, None, None, "add_remove", None)
    if declared in ("number", "integer"):
        questions = [((lw.count(), lw.count("v"), lw.variance("v"), lw.median("v")), ())]
    else:
        questions = [((lw.count(), lw.count("v")), ()), ((lw.count(),), ("v",))]
    questions += [((lw.count(), lw.count("v")), (), where) for where in WHERE[declared]]
    for question in questions:
        plan = plan_of(schema, *question)
        assert counted(schema, plan, f"{postgres}#t") == counted(schema, plan, reference), question


def test_E0_dates_that_are_endless_before_the_year_1_or_after_9999_are_missing(postgres):
    schema = make_schema("t", {"v": "date"}, None, None, "add_remove", None)
    for kind in ("date", "timestamp", "timestamptz"):
        run(postgres, "DROP TABLE IF EXISTS t", f"CREATE TABLE t (v {kind})")
        run(postgres, "INSERT INTO t VALUES ('infinity'), ('-infinity'), ('0044-03-15 BC'), ('200000-01-01'), (NULL)")
        for where, rows in (("v > '2020-01-01'", 0), ("v < '2020-01-01'", 0), ("v IS NULL", 5)):
            assert counted(schema, plan_of(schema, (lw.count(),), (), where), f"{postgres}#t")[0] == [(0, rows)]


READABLE = {
    **dict.fromkeys(("int2", "int4", "int8", "bool", "flag"), ("number", "integer", "text", "boolean")),
    **dict.fromkeys(("float4", "float8", "numeric", "positive", "above"), ("number", "integer")),
    **dict.fromkeys(("text", "varchar", "bpchar", "char(3)", "name", "uuid", "mood", "moods", "label"), ("text",)),
    **dict.fromkeys(("date", "timestamp", "timestamptz"), ("date",)),
    **dict.fromkeys(
        ("int4[]", "text[]", "json", "jsonb", "money", "interval", "bytea", "time", "timetz", "inet", "pair", "oid",
         "bit(3)", "tsvector", "point", "int4range", "xml", '"char"', "like_text", "regclass", "xid8"),
        (),
    ),
}  # fmt: skip
PEOPLE = {"int2", "int4", "int8", "numeric", "positive", "above", "text", "varchar", "bpchar",
          "char(3)", "name", "uuid", "mood", "moods", "label"}  # fmt: skip
LIKE_TEXT = [  # as citext is made
    "CREATE TYPE like_text",
    "CREATE FUNCTION li(cstring) RETURNS like_text LANGUAGE internal STRICT IMMUTABLE AS 'textin'",
    "CREATE FUNCTION lo(like_text) RETURNS cstring LANGUAGE internal STRICT IMMUTABLE AS 'textout'",
    "CREATE TYPE like_text (INPUT = li, OUTPUT = lo, LIKE = text)",
]  # fmt: skip


def test_every_type_is_read_as_declared_or_refused_before_the_charge(postgres, tmp_path):
    run(postgres, *MADE, *LIKE_TEXT)
    run(postgres, f"CREATE TABLE t ({', '.join(f'c{i} {kind}' for i, kind in enumerate(READABLE))})")
    run(postgres, "INSERT INTO t DEFAULT VALUES")
    for i, kind in enumerate(READABLE):
        for declared in KINDS:
            source = make(tmp_path, f"{postgres}#t", person=None, rows_per_person=None, columns={f"c{i}": declared})
            before = source.make_ledger().spent
            if declared in READABLE[kind]:
                source.release(lw.count(f"c{i}"), epsilon="0.1")
                continue
            with pytest.raises(errors.InvalidSource, match=f'"c{i}" as {declared}, but in its table it is') as caught:
                source.release(lw.count(f"c{i}"), epsilon="0.1")
            assert "Declare what it is, or name a view in which it is converted." in str(caught.value)
            assert source.ledger.spent == before
        source = make(tmp_path, f"{postgres}#t", person=f"c{i}", rows_per_person=1, columns={})
        if kind in PEOPLE:
            source.release(lw.count(), epsilon="0.1")
        else:
            with pytest.raises(errors.InvalidSource, match="has a person column of type"):
                source.release(lw.count(), epsilon="0.1")


def extension(url, name):
    try:
        run(url, f"CREATE EXTENSION {name}")
    except psycopg.errors.FeatureNotSupported:
        pytest.skip(f"this PostgreSQL has no {name}: give LAPWING_POSTGRES, the URL of one that has it")


def test_texts_with_an_equality_of_their_own_are_refused(postgres, tmp_path):
    extension(postgres, "citext")
    run(postgres, "CREATE DOMAIN mail AS citext", "CREATE TABLE t (p citext, key citext, mail mail)")
    with pytest.raises(errors.InvalidSource, match=r"has a person column of type public\.citext"):
        make(tmp_path, f"{postgres}#t").release(lw.count(), epsilon=1)
    for column in ("key", "mail"):
        source = make(tmp_path, f"{postgres}#t", person=None, rows_per_person=None, columns={column: "text"})
        with pytest.raises(errors.InvalidSource, match=r"but in its table it is public\.citext"):
            source.release(lw.count(column), epsilon=1)
        assert source.ledger.spent == 0


def test_a_foreign_table_is_a_table(clinic, tmp_path):
    extension(clinic, "postgres_fdw")
    told = psycopg.conninfo.conninfo_to_dict(clinic)
    run(
        clinic,
        "CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw "
        f"OPTIONS (dbname '{told['dbname']}', host '{told['host']}')",
        "CREATE USER MAPPING FOR CURRENT_USER SERVER far",
        "CREATE FOREIGN TABLE t (p text, x int, y float8, key text) SERVER far OPTIONS (table_name 'visits')",
    )
    assert everything(make(tmp_path, f"{clinic}#t")) == [20, 20, 0, 20]


# --- people and keys ---

PERSONS = {
    "int8": [["9223372036854775807"], ["9223372036854775806"], ["-1"]],
    "numeric": [
        ["1.0", "1.00", "1"],
        ["15", "15.0"],
        ["1e400"],
        ["Infinity"],
        ["10000000000000000000001"],
    ],
    "uuid": [["A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]],
    "mood": [["a"], ["A"], ["b"]],
    "char(4)": [["a", "a  "], ["A"], [" a"]],
    "text": [
        ["a"],
        ["A"],
        ["a "],
        ["é"],
        ["e\u0301"],
        [""],
        ["1." + "0" * 20000],
        ["9" * 5000],
        ["1e5"],
        ["+7"],
        ["7"],
    ],
    "label": [["a"], ["A"]],
}


NOBODY = {"numeric": ["NaN", None, "1.5", "1e-400"], "text": [None, "\1x"], "label": [None, "\1x"]}


def keys_asked(schema, keys_per_person):
    plan = plan_keys(schema, "key", epsilon=1, delta="1e-6", keys_per_person=keys_per_person)
    return replace(plan, dialect=engine.POSTGRES).lowered


def weights_of(url, person="v", columns=None):
    """Return the weights of people with one row each: 2^16 for everyone."""
    schema = make_schema("t", columns or {}, person, 1, "add_remove", None)
    return counted(schema, plan_of(schema, (lw.count(),)), url)


@pytest.mark.parametrize("kind", PERSONS)
def test_E2_people_of_every_type_are_told_apart_by_their_values(postgres, kind):
    run(postgres, *MADE, *(f"CREATE TABLE {table} (v {kind}, key text)" for table in ("t", "plain")))
    with psycopg.connect(postgres) as connection:
        for same in PERSONS[kind]:
            for i in range(6):  # shared equally: 2^16 // 6 each, whoever they are
                for table, cell in (("t", same[i % len(same)]), ("plain", same[0])):
                    connection.execute(f"INSERT INTO {table} VALUES (CAST(%s AS {kind}), %s)", [cell, f"k{i}"])
        for cell in (
            ["NaN", None, "1.5", "1e-400"]
            if kind == "numeric"
            else [None, "\1x"]
            if kind in ("text", "label")
            else [None]
        ):
            connection.execute(f"INSERT INTO t VALUES (CAST(%s AS {kind}), 'k0')", [cell])
    assert weights_of(f"{postgres}#t") == ([(0, len(PERSONS[kind]) * 6 * (2**16 // 6))], [])
    schema = make_schema("t", {"key": "text"}, "v", 1, "add_remove", None)
    found, plain = (
        sorted(connect(f"{postgres}#{table}", "t").count_keys(schema, keys_asked(schema, 4)))
        for table in ("t", "plain")
    )
    assert sum(people for _, people in found) == 4 * len(PERSONS[kind])  # claim K3
    assert found == plain  # however a person is written


def icu(url):
    try:
        run(url, "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    except psycopg.errors.FeatureNotSupported:
        pytest.skip("this PostgreSQL is built without ICU: give LAPWING_POSTGRES, the URL of one that has it")
    assert ask(url, "SELECT 'a' = 'A' COLLATE loose") == [(True,)]


@pytest.mark.parametrize(
    "kind", ["text COLLATE loose", "varchar COLLATE loose", "char(1) COLLATE loose", "soft", "softer"]
)
def test_E2_texts_are_equal_only_byte_by_byte_whatever_their_collation(postgres, kind, tmp_path):
    icu(postgres)
    run(postgres, "CREATE DOMAIN soft AS text COLLATE loose", "CREATE DOMAIN softer AS soft")
    run(postgres, f"CREATE TABLE t (v {kind}, key {kind})")
    run(postgres, "INSERT INTO t VALUES ('a', 'a'), ('A', 'a'), ('b', 'A'), ('B', 'É'), ('c', 'é')")
    assert weights_of(f"{postgres}#t") == ([(0, 5 * 2**16)], [])
    source = make(tmp_path, f"{postgres}#t", person="v", columns={"key": lw.keys("a", "A", "É")})
    answer = source.release(lw.count(), by="key", epsilon=150)
    assert [row["count"]["value"] for row in answer.rows] == [2, 1, 1]
    for where, rows in (("key = 'a'", 2), ("key IN ('A', 'É')", 2), ("key <> 'a'", 3), ("key < 'a'", 1)):
        assert source.release(lw.count(), where=where, epsilon=150).rows[0]["count"]["value"] == rows
    run(
        postgres,
        "INSERT INTO t SELECT 'p' || i, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'A' END FROM generate_series(1, 400) i"
        if "1" not in kind
        else "INSERT INTO t SELECT chr(200 + i), substr('aA', i % 2 + 1, 1) FROM generate_series(1, 400) i",
    )
    found = source.declare(key="text").discover("key", epsilon=150, delta="1e-4")
    assert dict(zip(found.keys, found.counts, strict=True)) == {"A": 201, "a": 202}


def test_a_text_is_read_with_a_collation_of_its_bytes():
    """As the test above, where there is no ICU."""
    read = [*engine._CELLS["text"].values(), *(engine._PEOPLE[kind] for kind in engine._TEXTS)]
    assert all(how.removesuffix(" END").endswith(' AS TEXT) COLLATE "C"') for how in read)


def test_a_hundred_thousand_keys(postgres, tmp_path):
    keys = [f"it's {i} 100% \\" for i in range(100_000)]
    run(postgres, "CREATE TABLE t (p text, key text)")
    with psycopg.connect(postgres) as connection, connection.cursor() as cursor:
        with cursor.copy("COPY t FROM STDIN") as copy:
            for i, key in enumerate(keys[:3000]):
                copy.write_row([f"p{i}", key])
        columns = {"key": lw.keys(keys, other="rest"), "p": "text"}
    schema = make_schema("t", columns, "p", 1, "add_remove", None)
    found, _ = counted(schema, plan_of(schema, (lw.count(),), ("key",)), f"{postgres}#t")
    assert found == [(i, 2**16) for i in range(3000)]


ODD = [
    "\\", "\\'", "''", "'", "%", "%s", "%(keys_0_key)s", "%%", "{}", "$1", "$$", "U&'\\0041'", "\\x41", "E'\\n'",
    "\\u0041", "A", "--", "/*", ";", "\u2028", "😀", "\t", "\n", "\r", "\x7f", "NULL", "{a,b}", '"', '"a","b"',
]  # fmt: skip


@pytest.mark.parametrize("conforming", ["on", "off"])
def test_odd_texts_mean_themselves_in_conditions_and_keys(postgres, conforming):
    name = psycopg.conninfo.conninfo_to_dict(postgres)["dbname"]
    run(postgres, "CREATE TABLE t (key text)", f"ALTER DATABASE {name} SET standard_conforming_strings = {conforming}")
    with psycopg.connect(postgres) as connection, connection.cursor() as cursor:
        cursor.executemany("INSERT INTO t VALUES (%s)", [[text] for text in ODD])
    schema = make_schema("t", {"key": lw.keys(ODD)}, None, None, "add_remove", None)
    assert counted(schema, plan_of(schema, (lw.count(),), ("key",)), f"{postgres}#t")[0] == [
        (i, 1) for i in range(len(ODD))
    ]
    for text in ODD:
        told = text.replace("'", "''")
        for where in (f"key = '{told}'", f"key IN ('{told}')"):
            assert counted(schema, plan_of(schema, (lw.count(),), (), where), f"{postgres}#t")[0] == [(0, 1)], text
    with pytest.raises(errors.RequestError):
        plan_of(schema, (lw.count(),), (), "key = 'a\0b'")
    with pytest.raises(errors.RequestError):
        lw.keys("a\0b", "c")


# --- settings ---

SETTINGS = {
    "standard_conforming_strings": "off", "escape_string_warning": "on", "backslash_quote": "on",
    "extra_float_digits": "-15", "DateStyle": "'German, DMY'", "TimeZone": "'Pacific/Kiritimati'",
    "IntervalStyle": "'iso_8601'", "bytea_output": "'escape'", "transform_null_equals": "on", "array_nulls": "off",
    "quote_all_identifiers": "on", "default_transaction_isolation": "'serializable'", "client_encoding": "'LATIN1'",
    "default_transaction_read_only": "on", "default_transaction_deferrable": "on", "jit": "on", "jit_above_cost": "0",
    "min_parallel_table_scan_size": "0", "parallel_setup_cost": "0", "parallel_tuple_cost": "0",
    "enable_hashagg": "off", "plan_cache_mode": "'force_generic_plan'",
    "work_mem": "'64kB'", "search_path": "evil, pg_catalog, public",
    "lc_numeric": "'C'", "default_statistics_target": "1", "from_collapse_limit": "1", "geqo_threshold": "2",
}  # fmt: skip
EVIL = [
    "CREATE SCHEMA evil",
    "CREATE FUNCTION evil.floor(float8) RETURNS float8 LANGUAGE sql AS 'SELECT 1e0'",
    "CREATE FUNCTION evil.abs(float8) RETURNS float8 LANGUAGE sql AS 'SELECT 1e0'",
    "CREATE FUNCTION evil.abs(numeric) RETURNS numeric LANGUAGE sql AS 'SELECT 0.0'",
    "CREATE FUNCTION evil.md5(text) RETURNS text LANGUAGE sql AS $$ SELECT 'x' $$",
    "CREATE FUNCTION evil.length(text) RETURNS int LANGUAGE sql AS 'SELECT 999'",
    "CREATE FUNCTION evil.trim_scale(numeric) RETURNS numeric LANGUAGE sql AS 'SELECT 1.0'",
    "CREATE FUNCTION evil.has_column_privilege(oid, int2, text) RETURNS bool LANGUAGE sql AS 'SELECT false'",
    "CREATE FUNCTION evil.to_regclass(text) RETURNS regclass LANGUAGE sql AS 'SELECT NULL::regclass'",
    "CREATE FUNCTION evil.wrong(text, text) RETURNS bool LANGUAGE sql AS 'SELECT true'",
    "CREATE FUNCTION evil.wrong(float8, float8) RETURNS bool LANGUAGE sql AS 'SELECT true'",
    "CREATE FUNCTION evil.wrong(float8, numeric) RETURNS bool LANGUAGE sql AS 'SELECT true'",
    "CREATE OPERATOR evil.= (FUNCTION = evil.wrong, LEFTARG = text, RIGHTARG = text)",
    "CREATE OPERATOR evil.= (FUNCTION = evil.wrong, LEFTARG = float8, RIGHTARG = float8)",
    "CREATE OPERATOR evil.<= (FUNCTION = evil.wrong, LEFTARG = float8, RIGHTARG = float8)",
    "CREATE OPERATOR evil.>= (FUNCTION = evil.wrong, LEFTARG = float8, RIGHTARG = numeric)",
    "CREATE AGGREGATE evil.count(int8) (SFUNC = pg_catalog.int8pl, STYPE = int8, INITCOND = '5')",
    "CREATE AGGREGATE evil.sum(int8) (SFUNC = pg_catalog.int8pl, STYPE = int8, INITCOND = '5')",
    "CREATE DOMAIN evil.text AS int4",
    "CREATE DOMAIN evil.date AS int4",
]


def test_E3_no_setting_of_a_user_or_database_and_no_schema_before_ours_changes_an_integer(postgres):
    name = psycopg.conninfo.conninfo_to_dict(postgres)["dbname"]
    run(postgres, "CREATE TABLE t (p numeric, key text, x float8, n numeric, day timestamptz)", *EVIL)
    cells = [(f"{i % 7}.{'0' * (i % 3)}", ["a", "back\\slash", "it's", "NULL", None][i % 5], i / 7, i / 3,
              f"2024-01-01 {i % 24:02}:30:00+00") for i in range(200)]  # fmt: skip
    with psycopg.connect(postgres) as connection, connection.cursor() as cursor:
        cursor.executemany("INSERT INTO t VALUES (%s, %s, %s, %s, %s)", cells)
    columns = {"x": lw.number(0, 20), "n": lw.number("1/3", 50), "day": lw.keys([date(2024, 1, 1), date(2024, 1, 2)]),
               "key": lw.keys("a", "back\\slash", "it's", "NULL", other="rest")}  # fmt: skip
    schema = make_schema("t", columns, "p", 3, "add_remove", None)
    plans = [
        plan_of(schema, *question)
        for question in (
            ((lw.count("x"), lw.variance("n"), lw.median("x")), ("key", "day"), None),
            ((lw.count(),), (), "key = 'back\\slash' OR key IN ('it''s', '\\', 'NULL') OR x < n"),
            ((lw.count("n"),), ("day",), "NOT (key = 'a') AND x <= 15 AND day < '2024-01-02'"),
        )
    ]
    keys = keys_asked(schema, 2)

    def found():
        table = connect(f"{postgres}#t", "t")
        return [counted(schema, plan, f"{postgres}#t") for plan in plans], sorted(table.count_keys(schema, keys))

    expected = found()
    parallel = "debug_parallel_query" if ask(postgres, "SHOW server_version_num")[0][0] >= "160000" else None
    settings = {**SETTINGS, **({parallel: "on"} if parallel else {})}
    run(postgres, *(f"ALTER DATABASE {name} SET {setting} = {value}" for setting, value in settings.items()))
    assert ask(postgres, "SELECT length('a'), sum(1::int8)") == [(999, 6)]
    assert found() == expected
    writable = url_of(postgres, options="-c default_transaction_read_only=off")
    run(writable, f"ALTER DATABASE {name} SET search_path = public, evil")
    assert found() == expected


# --- URLs ---

LEAKS = [
    "postgresql://u:se#cret@db.example/clinic#t", "postgresql://u:se#cret@db.example/clinic",
    "postgresql://u:sec@ret@db.example/clinic#t", "postgresql://u:sec/ret@db.example/clinic#t",
    "postgresql://u:sec%ret@db.example/clinic#t", "postgresql+psycopg://u:secret@db.example/clinic#t",
    "POSTGRESQL://u:secret@db.example/clinic#t", "postgresql:/u:secret@db.example/clinic#t",
    "host=db.example password=secret dbname=clinic", "mysql://u:secret@db.example/clinic", "postgresql://u:secret@/c#",
    "postgresql://u:secret@db.example/c?secret=1#t", "postgresql://u:secret@db.example/c#a.b.c",
]  # fmt: skip


@pytest.mark.parametrize("url", LEAKS)
def test_T24_a_url_that_cannot_be_read_is_not_shown(url, tmp_path, silent):
    (tmp_path / "t.toml").write_text(f"table = '{url}'\nepsilon = 1\n")
    for ask_for in (lambda: make(tmp_path, url), lambda: lw.Source.open(tmp_path / "t.toml")):
        with pytest.raises(errors.LapwingError) as caught:
            ask_for()
        assert not {"sec", "ret", "cret"} & set(re.split(r"\W+", everything_about(caught.value)))
        assert "secret" not in silent(caught.value)


def test_a_source_shows_no_user_and_no_password():
    table = connect(
        "postgresql://u:secret@db.example:5433/clinic?sslpassword=hidden&scram_client_key=hidden#public.visits", "t"
    )
    assert repr(table) == "Table('postgresql://db.example/clinic#public.visits')"
    assert table.public() == "postgresql://u@db.example:5433/clinic#public.visits"
    for url, written in {
        "postgres://u:a%23b@h1.example,h2.example/c?password=x&sslmode=require#t":
            "postgres://u@h1.example,h2.example/c?sslmode=require#t",
        "postgresql:///c?host=/tmp&pass%77ord=x#t": "postgresql:///c?host=/tmp#t",
        "postgresql://:x@/c#t": "postgresql://@/c#t",
        "postgresql://u:se?c:r%23t@db.example/c#t": "postgresql://u@db.example/c#t",
        "postgresql:///?service=clinic#t": "postgresql:///?service=clinic#t",
    }.items():  # fmt: skip
        assert connect(url, "t").public() == written


def test_the_environment_of_libpq_counts(clinic, monkeypatch, tmp_path):
    told = psycopg.conninfo.conninfo_to_dict(clinic)
    monkeypatch.setenv("PGHOST", told["host"])
    monkeypatch.setenv("PGUSER", told["user"])
    answer = make(tmp_path, f"postgresql:///{told['dbname']}#visits").release(lw.count(), epsilon=100)
    assert answer.rows[0]["count"]["value"] == ROWS
    (tmp_path / "service.conf").write_text(
        f"[clinic]\nhost={told['host']}\ndbname={told['dbname']}\nuser={told['user']}\n"
    )
    monkeypatch.delenv("PGHOST")
    monkeypatch.delenv("PGUSER")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "service.conf"))
    assert make(tmp_path, "postgresql:///?service=clinic#visits").release(lw.count(), epsilon=99).rows


def test_init_plan_and_release_from_the_command_line(clinic, tmp_path, monkeypatch, silent):
    monkeypatch.chdir(tmp_path)
    run(
        clinic,
        "CREATE SCHEMA ward",
        "ALTER TABLE visits SET SCHEMA ward",
        'ALTER TABLE ward.visits RENAME TO "Visits 2"',
    )
    url = url_of(clinic, "ward.Visits%202", password="secret")
    made = command("init", url)
    assert "without its password" in made.stderr
    text = decided((tmp_path / "Visits_2.toml").read_text())
    assert "secret" not in made.output + text
    assert tomllib.loads(text)["table"] == url.replace(":secret@", "@")
    lines = "x = { low = ?, high = ?, integer = true }", "y = { low = ?, high = ? }", "key = { keys = [?] }"
    assert all(f"\n# {line}\n" in text for line in lines)
    (tmp_path / "Visits_2.toml").write_text(f"{text}\n[columns.x]\nlow = 0\nhigh = 10\ninteger = true\n")
    asked = ("Visits_2.toml", "SELECT COUNT(*), AVG(x) FROM Visits_2", "--epsilon", "1")
    assert "WITH typed AS" in command("plan", *asked, "--sql").stdout
    assert "Charged ε = 1" in command("release", *asked).stdout
    assert "at no charge" in command("release", *asked).stdout
    run(clinic, 'DROP TABLE ward."Visits 2"')
    failed = command("release", *asked[:-1], "0.5", status=1)
    assert 'there is no table "ward"."Visits 2"' in failed.output
    silent(None, "secret")


def command(*words, status=0):
    found = CliRunner().invoke(cli.main, list(words))
    assert found.exit_code == status, found.output
    return found


def test_init_knows_the_types(postgres, tmp_path):
    kinds = {
        "integer": ("int2", "int4", "int8"), "low": ("float4", "float8", "numeric(9,2)"), "keys = [false": ("bool",),
        'type = "date"': ("date", "timestamp", "timestamptz"),
        "keys = [?]": ("text", "varchar(3)", "char(3)", "uuid", "mood"),
        "cannot be read": ("json", "int4[]", "money", "interval"),
    }  # fmt: skip
    run(postgres, *MADE)
    listed = [kind for each in kinds.values() for kind in each]
    run(postgres, f"CREATE TABLE t ({', '.join(f'c{i} {kind}' for i, kind in enumerate(listed))})")
    name, text, *_ = describe(f"{postgres}#public.t", tmp_path)
    assert name == "t"
    told = dict(re.findall(r"# (c\d+) (.*)\n", text))
    for start, some in kinds.items():
        for kind in some:
            assert start in told[f"c{listed.index(kind)}"], kind
    assert "it''s" not in text  # the labels of an enum are no names


@pytest.mark.parametrize(
    "declared", [lw.number(0, 10), "integer", lw.keys([1, 2, 3])], ids=["number", "integer", "keys"]
)
def test_T24_a_person_that_is_also_asked_about_cannot_fail(postgres, tmp_path, declared):
    """Read twice: as a person, exactly, and as a number, which a cell could be too large or too small for.

    A number that is not whole is nobody.
    """
    run(postgres, "CREATE TABLE people (id NUMERIC, x FLOAT8)")
    run(postgres, "INSERT INTO people VALUES (1e400, 1), (1e-400, 2), (2, 3), ('NaN', 4), (NULL, 5)")
    source = lw.Source(f"{postgres}#people", name="t", person="id", rows_per_person=1, epsilon=1000,
                       columns={"id": declared, "x": lw.number(0, 9)}, ledger=tmp_path / "t.ledger")  # fmt: skip
    assert source.release(lw.count(), epsilon=100).rows[0]["count"]["value"] == 2
    by = ["id"] if not isinstance(declared, str) and declared.keys else []
    assert len(source.release(lw.count("id"), by=by, epsilon=100).rows) == (3 if by else 1)
