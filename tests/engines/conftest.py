"""One fixture for every engine: the same test bodies run on DuckDB, on PostgreSQL from a wheel, and on Spark.

With LAPWING_SPARK=sc://… or spark://… the Spark tests run on that server instead of a local one (make cluster).
"""

import os
import sys
import warnings
from contextlib import suppress

import pytest

from ..conftest import JAVA, NO_JAVA
from ..tables import TYPES, make

WHERE = os.environ.get("LAPWING_SPARK", "local[2]")
REMOTE = WHERE.startswith("sc://")
SQL_TYPES = {"person": "text", "x": "float8", "y": "float8", "key": "text", "code": "bigint", "day": "date",
             "yes": "boolean"}  # fmt: skip


@pytest.fixture(scope="session")
def sparks(tmp_path_factory):
    """A function that returns the Spark session of this run, or a new one if it was stopped."""
    if not JAVA:
        pytest.skip(NO_JAVA)
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {"spark.sql.shuffle.partitions": "3", "spark.sql.session.timeZone": "America/New_York"}
    if not REMOTE:
        settings |= {
            "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.driver.memory": "1g",
            "spark.executor.memory": "600m", "spark.log.level": "OFF", "spark.task.maxFailures": "2",
            "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        }  # fmt: skip

    def session():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            builder = SparkSession.builder.remote(WHERE) if REMOTE else SparkSession.builder.master(WHERE)
            return builder.config(map=settings).getOrCreate()

    yield session
    with suppress(Exception):
        if REMOTE:
            SparkSession.getActiveSession().client.set_retry_policies([])  # the server may be gone
        SparkSession.getActiveSession().stop()


@pytest.fixture
def spark(sparks):
    """A Spark session: local, or the one that LAPWING_SPARK names."""
    return sparks()


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

    def frame(rows):
        made = session.createDataFrame(make(rows or [{}], "arrow", None))
        return made if rows else made.limit(0)  # Connect takes no table without rows

    return frame
