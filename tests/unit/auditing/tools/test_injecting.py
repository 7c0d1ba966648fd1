"""Failures are raised where they should be, once, and nothing stays behind."""

import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from lapwing import exact
from lapwing.auditing.tools.injecting import FAULTS, Failing, Silent, counting, failing_at, setting, wired


def names(found):
    return [(step.path[-1], step.returns) for step in found]


def test_steps_are_told_apart_by_the_functions_that_led_to_them():
    with counting() as found:
        exact.epsilon("0.5")
        exact.epsilon("0.5")
        exact.delta("0.5")
    assert ("lapwing.exact.epsilon", False) in names(found)
    assert names(found).count(("lapwing.exact.rational", True)) == 2  # by epsilon and by delta
    assert len(found) == len(set(found))
    assert {step.package for step in found} == {"exact"}


def test_steps_in_other_threads_are_counted():
    with counting() as found, ThreadPoolExecutor(1) as pool:
        pool.submit(exact.epsilon, 1).result()
    assert ("lapwing.exact.epsilon", False) in names(found)


@pytest.mark.parametrize("returns", [False, True])
def test_an_error_is_raised_at_a_step_and_only_once(returns):
    with counting() as found:
        exact.epsilon(1)
    (step,) = (each for each in found if each.path == ("lapwing.exact.epsilon",) and each.returns == returns)
    with failing_at(step, KeyboardInterrupt("now")) as reached:
        assert not reached
        with pytest.raises(KeyboardInterrupt, match="now"):
            exact.epsilon(1)
        assert reached == [step]
        assert exact.epsilon(1) == 1
    assert str(step).startswith("exact.epsilon, as it ")


def test_a_profiler_is_back_afterwards():
    def mine(*_):
        return None

    sys.setprofile(mine)
    try:
        with counting():
            exact.epsilon(1)
        assert sys.getprofile() is mine
    finally:
        sys.setprofile(None)


def work(path):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("CREATE TABLE IF NOT EXISTS t (x)")
    connection.execute("BEGIN")
    connection.cursor().executemany("INSERT INTO t VALUES (?)", [[1]])
    connection.commit()
    connection.close()


def test_every_statement_is_heard(tmp_path):
    heard = Failing()
    with wired(Silent()), wired(heard):
        work(tmp_path / "t")
    assert [each.split()[0] for each in heard.heard] == ["CREATE", "BEGIN", "INSERT", "COMMIT"]
    assert type(sqlite3.connect(tmp_path / "t")) is sqlite3.Connection


@pytest.mark.parametrize(("after", "rows"), [(False, 0), (True, 1)])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_statement_fails_before_or_after_it(tmp_path, after, rows, fault):
    with wired(Failing(4, after=after, fault=fault)), pytest.raises(sqlite3.OperationalError, match=fault) as caught:
        work(tmp_path / "t")
    assert caught.value.sqlite_errorcode == FAULTS[fault]
    assert sqlite3.connect(tmp_path / "t").execute("SELECT count(*) FROM t").fetchone() == (rows,)


def test_all_later_statements_fail_too(tmp_path):
    failing = Failing(2, ever=True)
    with wired(failing):
        for _ in range(2):
            with pytest.raises(sqlite3.OperationalError):
                work(tmp_path / "t")
    assert len(failing.heard) == 3


@pytest.mark.parametrize(("sync", "level"), [(False, 0), (True, 2)])
def test_nothing_waits_for_the_disk_unless_it_is_asked_for(tmp_path, sync, level):
    with wired(Silent(), sync=sync):
        connection = sqlite3.connect(tmp_path / "t")
        connection.execute("SELECT 1")
        assert setting(connection, "synchronous") == level
