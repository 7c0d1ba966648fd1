"""The engine's connections as parts of one database."""

import duckdb
import numpy as np
import pytest

from lapwing.auditing.finding import Finding
from lapwing.auditing.tools.pooled import pooled, sharing
from lapwing.engine import connection
from lapwing.engine.connection import connected


def settings(opened):
    names = ("preserve_insertion_order", "autoload_known_extensions", "pandas_analyze_sample", "TimeZone")
    return [opened.execute(f"SELECT current_setting('{name}')").fetchall() for name in names]


def test_a_part_has_the_settings_of_a_connection_and_a_catalog_of_its_own():
    with connected() as alone:
        expected = settings(alone)
    with pooled(), connected() as one, connected() as two:
        assert settings(one) == settings(two) == expected
        one.execute("CREATE TABLE source AS SELECT 1 AS x")
        with pytest.raises(duckdb.CatalogException):
            two.execute("FROM source")


def test_what_a_part_made_or_attached_is_gone_when_it_is_closed(tmp_path):
    path = str(tmp_path / "a.duckdb")
    with duckdb.connect(path) as made:
        made.execute("CREATE TABLE t AS SELECT 1 AS x")
    with pooled() as root:
        for _ in range(2):
            with connected() as part:
                part.execute(f"ATTACH '{path}' AS attached (READ_ONLY); CREATE TABLE source AS FROM attached.t")
                part.register("frame", {"x": np.array([1])})
        left = root.execute("SELECT database_name FROM duckdb_databases() WHERE NOT internal").fetchall()
    assert left == [("memory",)]


def test_afterwards_connections_are_opened_as_before_also_by_a_check_that_stops():
    check = sharing(lambda: (Finding(str(number), connection.duckdb is not duckdb, "") for number in range(3)))
    findings = check()
    assert next(findings).passed
    findings.close()
    assert connection.duckdb is duckdb
    assert [each.passed for each in check()] == [True] * 3
    assert connection.duckdb is duckdb
