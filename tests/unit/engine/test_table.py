"""What all tables share: progress over several queries, work that can be cancelled, and loggers that keep quiet."""

import logging
import threading

import pandas as pd
import pytest

import lapwing as lw
from lapwing.engine.table import DescribedField, Problem, _Shares, added, interruptible, quiet, same_relation, short
from lapwing.errors import EngineError, InvalidSource


def test_the_shares_of_queries_add_up_and_never_fall():
    told = []
    shares = _Shares(told.append, 4)
    for done, share in ((0, 0.0), (0, 0.5), (1, 0.0), (1, 0.5), (1, 0.2), (3, 1.0), (3, 1.5), (4, 0.0)):
        shares.done = done
        shares(share)
    assert told == [0.0, 0.125, 0.25, 0.375, 0.375, 1.0, 1.0, 1.0]


def test_work_returns_what_it_returns_and_raises_what_it_raises():
    assert interruptible(lambda: 7, lambda: None, lambda: pytest.fail("it was cancelled")) == 7
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0, lambda: None, lambda: pytest.fail("it was cancelled"))


def test_work_runs_in_a_thread_of_its_own_and_is_told_about_until_it_is_done():
    told, done = [], threading.Event()

    def tell():
        told.append(threading.current_thread() is threading.main_thread())
        if len(told) == 3:
            done.set()

    def work():
        done.wait(30)
        return threading.current_thread().name

    assert interruptible(work, tell, lambda: None).startswith("lapwing-engine")
    assert told[:3] == [True] * 3


@pytest.mark.parametrize("failure", [KeyboardInterrupt, SystemExit, ZeroDivisionError])
def test_work_is_cancelled_until_it_ends_whatever_cancelling_raises(failure):
    cancelled, ended = [], threading.Event()

    def tell():
        raise failure

    def cancel():
        cancelled.append(1)
        if len(cancelled) == 3:
            ended.set()
        raise RuntimeError("the engine is gone")

    with pytest.raises(failure):
        interruptible(lambda: ended.wait(30), tell, cancel)
    assert len(cancelled) >= 3


def test_a_logger_is_quiet_for_this_thread_and_its_engine_alone_and_only_meanwhile(caplog):
    logger = logging.getLogger("test.of.quiet")

    def say(name):
        other = threading.Thread(target=lambda: logger.warning(name), name=name)
        other.start()
        other.join()

    with quiet(logger):
        logger.warning("mine")
        say("lapwing-engine_0")
        say("another")
    logger.warning("afterwards")
    say("lapwing-engine_1")
    assert caplog.messages == ["another", "afterwards", "lapwing-engine_1"]


def test_steps_come_before_those_of_a_query():
    assert added("WITH c AS (SELECT 1)\nSELECT * FROM c", ["a AS (x)", "b AS (y)"]) == (
        "WITH a AS (x),\nb AS (y),\nc AS (SELECT 1)\nSELECT * FROM c"
    )


def test_names_of_relations_may_mean_one_table_where_a_schema_is_not_said():
    assert same_relation(["a"], ["s", "a"])
    assert same_relation(["s", "a"], ["s", "a"])
    assert not same_relation(["t", "a"], ["s", "a"])
    assert not same_relation(["s", "b"], ["s", "a"])


def test_the_values_of_an_enum_are_not_shown():
    assert [short(each) for each in ("ENUM('x', 'y')", "LIST<int>", "BIGINT")] == ["ENUM", "LIST", "BIGINT"]


@pytest.fixture
def table():
    rows = pd.DataFrame({"p": ["a", "b"], "x": [0.5, 1.5]})
    return lw.Source(rows, name="t", columns={"x": lw.number(0, 1)}, person="p", rows_per_person=1)._table


def test_a_frame_says_what_it_is(table, tmp_path):
    assert table.described() == [DescribedField(*each) for each in table.fields()]
    assert [each.name for each in table.described()] == ["p", "x"]
    assert table.person_type("p") == "VARCHAR"
    assert table.person_type("x") == "DOUBLE"
    assert table.lost == (0, 0)
    assert table.modified() is None
    assert not table.holds(tmp_path)
    assert table.shares_rows_with(table)


def test_a_person_column_of_floats_is_refused_with_advice_of_its_own(table):
    for name in ("double[pyarrow]", "float32", "Real", "object of two types"):
        with pytest.raises(InvalidSource) as caught:
            table.check_person(name)
        text = str(caught.value)
        assert ("Floats cannot" in text) == (not name.startswith("object"))
        assert short(name) in text


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_stays_one_without_its_text(table, kind):
    with pytest.raises(kind) as caught:
        table.guarded("failed", "", lambda: (_ for _ in ()).throw(kind("a cell")))
    assert "a cell" not in str(caught.value)
    assert caught.value.__context__ is None


def test_an_error_of_the_engine_is_told_without_its_text(table, caplog):
    with pytest.raises(EngineError) as caught:
        table.guarded("failed there", "Nothing was charged.", lambda: (_ for _ in ()).throw(ValueError("a cell")))
    text = str(caught.value)
    assert "a cell" not in text
    assert all(each in text for each in ("failed there", "Nothing was charged.", "lapwing.engine"))
    assert caplog.messages == ["source t failed there: ValueError"]
    with pytest.raises(EngineError, match="is gone") as caught:
        table.guarded("failed", "", lambda: (_ for _ in ()).throw(Problem("is gone", "Look again.")))
    assert "Look again." in str(caught.value)
    assert caught.value.__context__ is None


def test_only_a_csv_file_leaves_the_types_of_its_cells_open(table, tmp_path):
    pd.DataFrame({"x": [0.5]}).to_csv(tmp_path / "t.csv", index=False)
    csv = lw.Source(tmp_path / "t.csv", name="t", columns={"x": lw.number(0, 1)})._table
    assert (table.is_csv, csv.is_csv) == (False, True)
