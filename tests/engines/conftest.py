"""One fixture for every engine: the same test bodies run on DuckDB, on PostgreSQL from a wheel, and on Spark.

With LAPWING_SPARK=sc://… or spark://… the Spark tests run on that server in place of a local one (make cluster).
"""

import os
import shutil
import warnings

import pytest

from ..tables import TYPES, make

JAVA = shutil.which("java", path=os.pathsep.join([f"{os.environ.get('JAVA_HOME', '')}/bin", os.environ["PATH"]]))
NO_JAVA = "NO JAVA HERE: the tests on Spark are SKIPPED; install a Java runtime of version 17 or later to run them"
SQL_TYPES = {"person": "text", "x": "float8", "y": "float8", "key": "text", "code": "bigint", "day": "date",
             "yes": "boolean"}  # fmt: skip


def pytest_terminal_summary(terminalreporter):
    if any(NO_JAVA in str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line(NO_JAVA, red=True, bold=True)


@pytest.fixture(scope="session")
def spark():
    """A Spark session for this run: local, or the one that LAPWING_SPARK names."""
    if not JAVA:
        pytest.skip(NO_JAVA)
    from pyspark.sql import SparkSession

    where = os.environ.get("LAPWING_SPARK", "local[2]")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder = SparkSession.builder
        builder = builder.remote(where) if where.startswith("sc://") else builder.master(where)
        settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "3", "spark.driver.memory": "1g",
                    "spark.log.level": "OFF", "spark.sql.session.timeZone": "America/New_York"}  # fmt: skip
        for name, value in settings.items():
            if not where.startswith("sc://") or name.startswith("spark.sql."):
                builder = builder.config(name, value)
        session = builder.getOrCreate()
    yield session
    session.stop()


def postgres_table(url, rows, name="t"):
    """Make a table of these rows; return its URL."""
    import psycopg

    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {name} CASCADE")
        cursor.execute(f"CREATE TABLE {name} ({', '.join(f'{each} {kind}' for each, kind in SQL_TYPES.items())})")
        with cursor.copy(f"COPY {name} FROM STDIN") as copy:
            for row in rows:
                copy.write_row([row.get(each) for each in TYPES])
    return f"{url}#{name}"


@pytest.fixture(params=["duckdb", "postgres", "spark"])
def table_of(request):
    """A function from rows to a table on the engine."""
    if request.param == "duckdb":
        return lambda rows: make(rows, "arrow", None)
    if request.param == "postgres":
        url = request.getfixturevalue("postgres")
        return lambda rows: postgres_table(url, rows)
    session = request.getfixturevalue("spark")
    return lambda rows: session.createDataFrame(make(rows, "arrow", None))
