"""Spark alone: types, texts and settings that change no integer, failures that tell nothing, interrupts, progress.

All run on a local Spark in the suite, and on a cluster and behind Connect by ``make cluster``, which also has what can
be killed.
"""

import logging
import math
import os
import shutil
import signal
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

import lapwing as lw
from lapwing import errors
from lapwing.engine import spark as engine
from lapwing.engine.connect import connect
from lapwing.question.schema import make_schema
from lapwing.release.discover import plan_keys

from ..claims.test_release import CANARY, everything_about
from ..tables import engine_tally, make, plan_of, python_tally
from .conftest import REMOTE, WHERE
from .test_same_integers import ROWS, counted, schema_of

WORKERS = [int(pid) for pid in os.environ.get("LAPWING_SPARK_WORKERS", "").split()]
SERVER = os.environ.get("LAPWING_SPARK_SERVER")
on_cluster = pytest.mark.skipif(not WORKERS, reason="needs a cluster to kill parts of: make cluster")
not_remote = pytest.mark.skipif(REMOTE, reason="Connect has no such thing")


def source_of(table, folder, columns=None, **options):
    columns = {"x": lw.number(0, 10, integer=True)} if columns is None else columns
    return lw.Source(table, name="t", columns=columns, epsilon=500, delta="1e-3", ledger=folder / "t.ledger", **options)


def slow(session, tasks, seconds=0.3):
    """Return a data frame of one row for each task, which takes its time."""
    from pyspark.sql.functions import udf

    def wait(x):
        import time

        time.sleep(seconds)
        return x

    return session.range(0, tasks, 1, tasks).select(udf(wait, "long", useArrow=False)("id").alias("x"))


def keys_of(table, column, kind, person="person", where=None, keys_per_person=None):
    """Return the keys that occur and how many people have each."""
    schema = make_schema("t", {column: kind}, person, 2 if person else None, "add_remove", None)
    asked = connect(table, "t")
    asked.check(schema, (column,))
    lowered = replace(plan_keys(schema, column, epsilon=1, delta="1e-6", where=where), dialect=asked.dialect).lowered
    return dict(asked.count_keys(schema, lowered))


# --- failures ---


class Heard(logging.Handler):
    """What all loggers, those of Spark's Python side too, and streams are told, from ``begin`` on."""

    def __init__(self, streams):
        super().__init__(logging.DEBUG)
        self._streams = streams
        self._texts = []

    def emit(self, record):
        self._texts.append(f"{record.getMessage()} {record.exc_info} {vars(record)}")

    def begin(self):
        self._streams.readouterr()
        self._texts.clear()
        logging.getLogger().setLevel(logging.DEBUG)

    def text(self):
        logging.getLogger().setLevel(logging.WARNING)
        return "\n".join([*self._texts, *self._streams.readouterr()])


@pytest.fixture
def heard(capsys):
    from pyspark.logger import PySparkLogger

    handler = Heard(capsys)
    loggers = [logging.getLogger(), *map(PySparkLogger.getLogger, engine._LOGGERS)]
    for logger in loggers:
        logger.addHandler(handler)
    yield handler
    for logger in loggers:
        logger.removeHandler(handler)


def assert_tells_nothing(error, heard):
    assert error.__cause__ is None
    assert error.__context__ is None
    told = everything_about(error) + heard.text()
    assert CANARY not in told
    assert "SQLSTATE" not in told
    assert "org.apache" not in told


VIEWS = {
    "a cast": f"SELECT CAST(IF(id = 7, '{CANARY}', '1') AS INT) AS x FROM range(9)",
    "an error of the view's own": f"SELECT IF(id = 7, raise_error('{CANARY}'), 1) AS x FROM range(9)",
    "an overflow": "SELECT CAST(id + 9223372036854775807 AS BIGINT) AS x FROM range(9)",
}


@pytest.mark.parametrize("what", VIEWS)
def test_T24_a_view_that_fails_on_a_cell_tells_nothing_and_the_question_completes_later(spark, tmp_path, heard, what):
    spark.conf.set("spark.sql.ansi.enabled", "true")
    spark.sql(VIEWS[what]).createOrReplaceTempView("fails")
    source = source_of("spark:fails", tmp_path)
    heard.begin()
    with pytest.raises(errors.EngineError) as caught:
        source.release(lw.mean("x"), epsilon=400)
    assert_tells_nothing(caught.value, heard)
    assert "completes it at no charge" in str(caught.value)
    assert source.ledger.spent == 400
    spark.sql("SELECT 1 AS x FROM range(9)").createOrReplaceTempView("fails")
    answer = source.release(lw.mean("x"), epsilon=400)
    assert (answer.completed, source.ledger.spent) == (True, 400)
    assert answer.rows[0]["mean_x"]["value"] == pytest.approx(1, abs=0.5)


def test_what_users_make_spark_say_is_still_logged(spark, tmp_path, heard):
    """The filter is for our work alone; and the test above can hear."""
    spark.conf.set("spark.sql.ansi.enabled", "true")
    source_of(spark.range(3).selectExpr("id AS x"), tmp_path).release(lw.count(), epsilon=1)
    heard.begin()
    with pytest.raises(Exception, match=CANARY):
        spark.sql(VIEWS["a cast"]).collect()
    assert CANARY in heard.text()


def test_T24_files_that_are_gone_tell_nothing_and_the_question_completes_later(spark, tmp_path, heard):
    place, away = tmp_path / CANARY, tmp_path / "away"
    spark.range(9).selectExpr("1 AS x").write.parquet(str(place))
    frame = spark.read.parquet(str(place))
    assert frame.columns == ["x"]
    source = source_of(frame, tmp_path)
    shutil.move(place, away)
    heard.begin()
    with pytest.raises(errors.EngineError) as caught:
        source.release(lw.count(), epsilon=100)
    assert_tells_nothing(caught.value, heard)
    spent = source.ledger.spent
    shutil.move(away, place)
    again = source_of(spark.read.parquet(str(place)), tmp_path)
    assert again.release(lw.count(), epsilon=100).rows[0]["count"]["value"] == 9
    assert again.ledger.spent == max(spent, 100)


@pytest.mark.parametrize(
    "name", ["spark:nowhere", "spark:no.such.place", "spark:it's `odd", *[f"{WHERE}#nowhere"] * REMOTE]
)
def test_a_table_that_is_not_there_costs_nothing(spark, tmp_path, heard, name):
    source = source_of(name, tmp_path)
    with pytest.raises(
        errors.EngineError, match=r"could not be opened\. Nothing was charged\. This session has no such table"
    ) as caught:
        source.release(lw.count(), epsilon=1)
    assert_tells_nothing(caught.value, heard)
    assert source.ledger.spent == 0


def test_a_server_that_cannot_be_reached_costs_nothing_and_shows_no_token(tmp_path, heard, monkeypatch):
    monkeypatch.setattr(engine, "_PATIENCE", {"max_retries": 0})
    for given in (f"sc://127.0.0.1:1/;token={CANARY}#t", f"sc://127.0.0.1:1/;{CANARY}#t", f"sc://{CANARY}:x/#t"):
        source = source_of(given, tmp_path)
        heard.begin()
        with pytest.raises(errors.EngineError, match=r"could not be opened\. Nothing was charged\.") as caught:
            source.release(lw.count(), epsilon=1)
        assert_tells_nothing(caught.value, heard)
        assert CANARY not in repr(source)
        assert source.ledger.spent == 0
    heard.begin()
    with pytest.raises(errors.InvalidAddress, match="sc://host:port#table") as caught:
        source_of(f"sc://127.0.0.1:1/;token={CANARY}", tmp_path)
    assert_tells_nothing(caught.value, heard)


def test_a_session_that_was_stopped_costs_nothing(spark, tmp_path, heard):
    source = source_of(spark.range(9).selectExpr("1 AS x"), tmp_path)
    source.plan(lw.count(), epsilon=1)
    spark.stop()
    heard.begin()
    with pytest.raises(errors.EngineError, match=r"could not be opened\. Nothing was charged\.") as caught:
        source.release(lw.count(), epsilon=1)
    assert_tells_nothing(caught.value, heard)
    assert source.ledger.spent == 0


def test_a_session_that_is_stopped_in_mid_query_leaves_a_question_that_completes(sparks, tmp_path, heard):
    session = sparks()
    source = source_of(slow(session, 200), tmp_path)
    heard.begin()
    with pytest.raises(errors.EngineError, match="completes it at no charge") as caught:
        source.release(lw.count(), lw.sum("x"), epsilon=100, progress=lambda share: session.stop())
    assert_tells_nothing(caught.value, heard)
    assert source.ledger.spent == 100
    again = source_of(sparks().range(200).selectExpr("id AS x"), tmp_path)
    assert again.release(lw.count(), lw.sum("x"), epsilon=100).rows[0]["count"]["value"] == 200
    assert again.ledger.spent == 100


def test_what_is_no_table_of_spark_is_refused(spark, tmp_path):
    class DataFrame:
        __module__ = "pyspark.pandas.frame"

    for given in (spark, spark.range(1).groupBy("id"), spark.range(1).id, DataFrame()):
        with pytest.raises(errors.InvalidParameter, match="a data frame of Spark, such as") as caught:
            source_of(given, tmp_path)
        assert f"table = a {type(given).__name__} was asked" in str(caught.value)
    stream = source_of(spark.readStream.format("rate").load().selectExpr("value AS x"), tmp_path)
    with pytest.raises(errors.InvalidRequest, match="The table is a stream"):
        stream.release(lw.count(), epsilon=1)
    assert stream.ledger.spent == 0


def test_without_pyspark_the_message_says_what_to_install(tmp_path, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(engine, "import_module", missing)
    for given in ("spark:t", "sc://127.0.0.1:1#t"):
        with pytest.raises(errors.MissingLibrary, match=r"pip install '\.\[spark\]'"):
            source_of(given, tmp_path)


# --- interrupts and progress ---


def jobs_of(session):
    """Return what still runs, for the driver, once nothing new is begun."""
    return session.interruptAll() if REMOTE else session.sparkContext.statusTracker().getActiveJobsIds()


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupt_or_a_fault_of_progress_cancels_the_query(spark, tmp_path, heard, error):
    def stop(share):
        raise error

    source = source_of(slow(spark, 1000, 2), tmp_path)
    heard.begin()
    with pytest.raises(KeyboardInterrupt if error is KeyboardInterrupt else errors.EngineError) as caught:
        source.release(lw.count(), lw.sum("x"), epsilon=100, progress=stop)
    assert_tells_nothing(caught.value, heard)
    assert list(jobs_of(spark)) == []
    again = source_of(spark.range(1000).selectExpr("id AS x"), tmp_path)
    assert again.release(lw.count(), lw.sum("x"), epsilon=100).rows[0]["count"]["value"] == 1000
    assert again.ledger.spent == 100


def test_progress_is_a_share_that_does_not_fall(spark, tmp_path):
    told = []
    source = source_of(slow(spark, 12), tmp_path)
    source.release(lw.count(), lw.median("x"), epsilon=100, progress=told.append)
    read = told[: told.index(max(told)) + 1]
    assert read == sorted(read)
    assert all(0 <= share <= 1 for share in told)
    assert max(told) > 0


def test_the_share_is_of_the_tasks_of_stages_that_have_begun():
    assert engine._share([]) == engine._share([(0, 7)]) == 0
    assert engine._share([(1, 4), (0, 7)]) == 0.25
    assert engine._share([(4, 4), (1, 6)]) == 0.5
    assert engine._share([(4, 4), (6, 6), (0, 3)]) == 1


@not_remote
def test_a_release_does_not_need_the_status_of_its_jobs(spark, tmp_path, monkeypatch):
    def fails(self):
        raise RuntimeError

    monkeypatch.setattr(type(spark.sparkContext), "statusTracker", fails)
    told = []
    source = source_of(slow(spark, 2), tmp_path)
    assert source.release(lw.count(), lw.sum("x"), epsilon=100, progress=told.append).rows[0]["count"]["value"] == 2
    assert set(told) == {0}


# --- no setting changes an integer ---

SETTINGS = {
    "ansi": {"ansi.enabled": "true", "ansi.enforceReservedKeywords": "true", "ansi.doubleQuotedIdentifiers": "true",
             "session.timeZone": "Asia/Kolkata", "caseSensitive": "true", "parser.escapedStringLiterals": "true",
             "storeAssignmentPolicy": "STRICT", "execution.arrow.useLargeVarTypes": "true"},
    "lax": {"ansi.enabled": "false", "session.timeZone": "Pacific/Apia", "storeAssignmentPolicy": "LEGACY",
            "decimalOperations.allowPrecisionLoss": "false", "legacy.timeParserPolicy": "LEGACY",
            "legacy.castComplexTypesToString.enabled": "true", "groupByAliases": "false", "groupByOrdinal": "false",
            "legacy.ctePrecedencePolicy": "LEGACY", "legacy.inlineCTEInCommands": "true",
            "legacy.exponentLiteralAsDecimal.enabled": "true"},
    "plain": {"codegen.wholeStage": "false", "adaptive.enabled": "false", "autoBroadcastJoinThreshold": "-1",
              "join.preferSortMergeJoin": "false", "shuffle.partitions": "1", "caseSensitive": "false",
              "optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConstantFolding",
              "optimizer.nestedSchemaPruning.enabled": "false", "constraintPropagation.enabled": "false"},
}  # fmt: skip
QUESTIONS = [
    (
        (lw.variance("y"), lw.mean("x"), lw.count("day")),
        ("key", "code"),
        "key IN ('it''s', 'back\\slash', '${env:HOME}') OR x < y",
    ),
    ((lw.median("y"), lw.proportion("day >= '2024-01-01'")), ("code",), None),
]


@pytest.mark.filterwarnings("ignore:The SQL config:UserWarning")
@pytest.mark.parametrize("which", SETTINGS)
def test_E3_no_setting_of_the_session_changes_an_integer(spark, which):
    frame, reference = spark.createDataFrame(make(ROWS, "arrow", None)), make(ROWS, "arrow", None)
    before = {name: spark.conf.get(f"spark.sql.{name}", None) for name in SETTINGS[which]}
    try:
        for name, value in SETTINGS[which].items():
            spark.conf.set(f"spark.sql.{name}", value)
        for people in (False, True):
            schema = schema_of(people)
            for question in QUESTIONS:
                plan = plan_of(schema, *question)
                assert counted(schema, plan, frame) == counted(schema, plan, reference), question
        for column, kind in (("key", "text"), ("code", "integer"), ("day", "date")):
            assert keys_of(frame, column, kind) == keys_of(reference, column, kind)
        assert {name: spark.conf.get(f"spark.sql.{name}") for name in SETTINGS[which]} == SETTINGS[which]
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(f"spark.sql.{name}")
            else:
                spark.conf.set(f"spark.sql.{name}", value)


def test_E3_moments_have_the_day_that_they_have_in_UTC(spark):
    """Around midnight, and around the hours that a session's time zone leaves out or has twice."""
    begin = datetime(2024, 3, 9, 22, 30, tzinfo=UTC)
    moments = [begin + timedelta(minutes=15 * i) for i in range(30)]
    moments += [datetime(2024, 11, 3, 23, 59, 59, 999999, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, tzinfo=UTC)]
    moments += [datetime(2, 1, 1, tzinfo=UTC), datetime(1900, 1, 1, 3, tzinfo=UTC)]
    frame = spark.createDataFrame(pa.table({"day": pa.array(moments, pa.timestamp("us", "UTC"))}))
    expected = {}
    for moment in moments:
        expected[moment.date()] = expected.get(moment.date(), 0) + 1
    assert keys_of(frame, "day", "date", person=None) == expected
    plain = frame.selectExpr("to_timestamp_ntz('2024-01-01 23:59:59') AS day").limit(1)
    assert keys_of(plain, "day", "date", person=None) == {date(2024, 1, 1): 1}


# --- types and texts ---

NUMBERS = {"tinyint": [-3, 7], "smallint": [-300, 7], "int": [2**31 - 1, -2], "bigint": [2**63 - 1, -(2**63)],
           "float": [2.5, math.nan], "double": [math.inf, 1e308], "decimal(38,18)": [Decimal("2.5"), Decimal("-1e-18")],
           "boolean": [True, False]}  # fmt: skip


def test_E1_every_type_of_number_is_read(spark):
    schema = schema_of(False, columns={"x": lw.number(-10, 10)})
    plan = plan_of(schema, (lw.variance("x"), lw.count()))
    for kind, values in NUMBERS.items():
        frame = spark.createDataFrame([(value,) for value in [*values, None]], f"x {kind}")
        rows = [{"x": None if value is None else float(value)} for value in [*values, None]]
        assert engine_tally(schema, plan, frame) == python_tally(schema, plan, rows), kind


def test_types_that_cannot_be_read_are_refused_before_the_charge(spark, tmp_path):
    for made, kind in {
        "X'ff'": "binary",
        "array(1)": "array",
        "map(1, 2)": "map",
        "'1'": "string",
    }.items():
        source = source_of(spark.sql(f"SELECT {made} AS x"), tmp_path)
        with pytest.raises(
            errors.InvalidSource, match=rf'the column "x" as integer, but in its table it is {kind}\. No row'
        ):
            source.release(lw.mean("x"), epsilon=1)
    for made in ("X'ff'", "array(1)", "named_struct('a', 1)", "DATE '2024-01-01'", "true"):
        source = source_of(spark.sql(f"SELECT 1 AS x, {made} AS p"), tmp_path, person="p", rows_per_person=1)
        with pytest.raises(errors.InvalidSource, match="has a person column of type"):
            source.release(lw.mean("x"), epsilon=1)
    assert source.ledger.spent == 0


def test_columns_may_have_any_name(spark):
    names = ["we ird", "a.b", "back`tick", "UPPER", "key", "person", "cell", "ünï"]
    frame = (
        spark.range(12)
        .toDF("id")
        .selectExpr(*[f"id % 3 AS `{name.replace('`', '``')}`" for name in names], "9 AS other", "9 AS OTHER")
    )
    columns = {name: lw.number(0, 2, integer=True) for name in names if name != "a.b"}
    schema = make_schema("t", columns, "a.b", 4, "add_remove", None)
    plan = plan_of(schema, [lw.sum(name) for name in columns])
    ((_, rows, *sums),) = counted(schema, plan, frame)[0]
    assert rows == 12 * 2**16
    assert sums == [rows, rows] * len(columns)  # how many, and their sum


def test_columns_that_spark_would_mix_up_are_refused_before_the_charge(spark, tmp_path):
    frame = spark.range(3).selectExpr("id AS P", "id AS x", "id AS y")
    for columns, person in (({"p": lw.number(0, 1)}, "P"), ({"${env:HOME}": lw.number(0, 1)}, None)):
        given = frame.toDF("P", "p" if person else "${env:HOME}", "x")
        options = {} if person is None else {"person": person, "rows_per_person": 1}
        source = source_of(given, tmp_path, columns, **options)
        with pytest.raises(errors.InvalidSource, match=r"taken for another|which it is renamed"):
            source.release(lw.mean(next(iter(columns))), epsilon=1)
    twice = source_of(frame.toDF("x", "x", "y"), tmp_path)
    with pytest.raises(errors.InvalidSource, match='column "x" could be taken for another'):
        twice.release(lw.mean("x"), epsilon=1)
    assert twice.ledger.spent == 0


def test_E2_collations_merge_neither_people_nor_keys(spark):
    people, keys = ["a", "A", "é", "É", "e\u0301"], ["k", "K", "K"]
    rows = [{"person": person, "key": key} for person in people for key in keys]
    frame = spark.createDataFrame(make(rows, "arrow", None)).selectExpr(
        "person COLLATE UNICODE_CI AS person", "key COLLATE UTF8_LCASE AS key"
    )
    schema = schema_of(True, 2, columns={"key": lw.keys("k", "K", other="rest")})
    plan = plan_of(schema, (lw.count(), lw.proportion("key = 'K'")), ("key",), "key IN ('k', 'K')")
    assert counted(schema, plan, frame) == counted(schema, plan, make(rows, "arrow", None))
    assert keys_of(frame, "key", "text") == {"k": 5, "K": 5}


def test_E2_bytes_that_are_no_text_merge_neither_people_nor_keys(spark):
    odd = ["X'ff41'", "X'fe41'", "X'efbfbd41'", "X'c0'", "X'eda080'", "X'41'"]
    frame = spark.sql(
        " UNION ALL ".join(
            f"SELECT CAST({x} AS STRING) AS person, CAST({x} AS STRING) AS key, 1D AS x" for x in odd * 3
        )
    )
    schema = schema_of(
        True, 1, columns={"key": lw.keys("A", "\ufffdA", other="rest"), "x": lw.number(0, 1, integer=True)}
    )
    plan = plan_of(schema, (lw.count(), lw.sum("x")), ("key",))
    each = 3 * (2**16 // 3)
    assert [row[:2] for row in counted(schema, plan, frame)[0]] == [(0, each), (1, each), (2, 4 * each)]
    assert keys_of(frame, "key", "text") == {"A": 1, "\ufffdA": 1}


def test_E2_people_may_be_decimals_and_floats_are_refused(spark):
    """The same people have the same keys as on DuckDB; 0 and -0 are one person, and one key."""
    numbers = [0.0, -0.0, 1.0, 2.5, 1e10, 123456789012345.0, None]
    rows = [(number, code) for number in numbers for code in (0.0, 1.0, 2.0, 3.0)]
    frame = spark.createDataFrame(rows, "person double, code double").selectExpr("*", "-code * 0 AS zero")
    schema = schema_of(True, 3, columns={"code": lw.keys(0, 1, 2, 3)})
    with pytest.raises(errors.InvalidSource, match="has a person column of type double"):
        connect(frame, "t").check(schema, ["code"])
    exact = frame.selectExpr("CAST(person AS DECIMAL(38, 18)) AS person", "code", "zero")
    table = exact.toArrow()
    assert keys_of(exact, "code", "integer") == keys_of(table, "code", "integer")
    assert keys_of(exact, "zero", "integer") == {0: 4}  # 2.5 is nobody
    plan = plan_of(schema, (lw.count(),), ("code",))
    assert counted(schema, plan, exact) == counted(schema, plan, table)
    whole = keys_of(exact, "code", "integer")
    for ansi in ("false", "true"):
        spark.conf.set("spark.sql.ansi.enabled", ansi)
        assert keys_of(exact, "code", "integer") == whole


def test_texts_of_fixed_length_are_read_as_spark_stores_them(spark, tmp_path):
    spark.sql("CREATE TABLE fixed (p CHAR(4), k VARCHAR(4), x INT) USING parquet")
    try:
        spark.sql("INSERT INTO fixed VALUES ('a', 'k', 1), ('A', 'K', 1), ('a', 'k', 1)")
        assert keys_of("spark:fixed", "k", "text", person="p") == {"k": 1, "K": 1}
        if REMOTE:
            found = source_of(f"{WHERE}#fixed", tmp_path).release(lw.count(), epsilon=100)
            assert found.rows[0]["count"]["value"] == 3
    finally:
        spark.sql("DROP TABLE fixed")


@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
def test_E3_sums_beyond_64_bits_are_exact(spark, people):
    top = 2**31
    columns = {"y": lw.number(0, top - 1, integer=True), "code": lw.keys(0, 1)}
    rows = [{"person": f"p{i % 40}", "y": float(top - 1 - i % 5), "code": i % 2} for i in range(3000)]
    schema = schema_of(people, 3, columns=columns)
    assert schema.columns["y"].grid.steps == top - 1
    plan = plan_of(schema, (lw.variance("y"), lw.mean("y"), lw.count()), ("code",))
    found = engine_tally(schema, plan, spark.createDataFrame(make(rows, "arrow", None)))
    assert found == python_tally(schema, plan, rows)
    assert max(max(cell) for cells in found.values() for cell in cells) > 2**70


# --- on a cluster ---


def executors(busy=True):
    """Return the executors that the cluster's workers started, and that have begun to work."""
    import psutil

    found = [child for worker in WORKERS for child in psutil.Process(worker).children()]
    return [each for each in found if each.children()] if busy else found


@on_cluster
def test_an_executor_that_is_killed_in_mid_query_changes_no_integer(spark, tmp_path):
    killed = []

    def kill(share):
        if share > 0 and not killed:
            killed.extend(executors()[:1])
            for each in killed:
                each.kill()

    frame = slow(spark, 40, 0.2)
    rows = [{"x": float(x)} for x in range(40)]
    schema = schema_of(False, columns={"x": lw.number(0, 50, integer=True)})
    plan = plan_of(schema, (lw.variance("x"), lw.count()))
    asked = connect(frame, "t")
    found = asked.tally(schema, plan.on(asked.dialect).lowered, kill)
    assert len(killed) == 1
    sums = [sum(row["x"] ** power for row in rows) for power in (0, 0, 1, 2)]
    assert [int(column[0]) for column in found.sums[1:]] == sums


@on_cluster
def test_executors_that_are_killed_again_and_again_are_one_error_and_the_question_completes(spark, tmp_path, heard):
    def kill(share):
        for each in executors():
            each.kill()

    source = source_of(slow(spark, 2, 60), tmp_path)
    heard.begin()
    with pytest.raises(errors.EngineError, match="completes it at no charge") as caught:
        source.release(lw.count(), lw.sum("x"), epsilon=100, progress=kill)
    assert_tells_nothing(caught.value, heard)
    assert source.ledger.spent == 100
    again = source_of(spark.range(2).selectExpr("id AS x"), tmp_path)
    assert again.release(lw.count(), lw.sum("x"), epsilon=100).rows[0]["count"]["value"] == 2
    assert again.ledger.spent == 100


@pytest.mark.skipif(not SERVER, reason="needs a server to kill: make cluster")
def test_a_killed_server_is_one_error(spark, tmp_path, heard):
    """Last of all: there is no server after it.  The view is slow by itself, for each session to see."""
    slowly = "aggregate(sequence(1, 2000000), 0L, (a, b) -> a + b % 7)"
    spark.sql(f"CREATE VIEW slowly AS SELECT {slowly} AS x FROM range(0, 400, 1, 400)")
    source = source_of(f"{WHERE}#slowly", tmp_path)

    def kill(share):
        if share > 0:
            os.kill(int(SERVER), signal.SIGKILL)

    heard.begin()
    with pytest.raises(errors.EngineError, match="completes it at no charge") as caught:
        source.release(lw.count(), lw.sum("x"), epsilon=100, progress=kill)
    assert_tells_nothing(caught.value, heard)
    assert source.ledger.spent == 100
    again = source_of(pa.table({"x": [1, 2, 3]}), tmp_path)
    assert again.release(lw.count(), lw.sum("x"), epsilon=100).rows[0]["count"]["value"] == 3
    assert again.ledger.spent == 100
