"""Each kind of failure, where possible on real files and a real server; none is told by anyone's words."""

import errno
import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import InterfaceError, OperationalError

from lapwing import errors
from lapwing.ledger.failure import meaning
from lapwing.ledger.ledger import Ledger

HERE = sa.create_engine("sqlite://")


@dataclass
class SaidByServer(Exception):
    """An error of a server, in a language that nobody here reads."""

    sqlstate: str | None

    def __str__(self):
        return "keine Verbindung, gesperrt: locked, full, read-only"


def refusal(call) -> str:
    with pytest.raises(errors.LedgerError) as caught:
        call()
    return caught.value.args[1]


def sqlite_error(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("database is locked")  # words that are true of none but one
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("SQLITE_BUSY", "is busy: another process holds it"),
        ("SQLITE_BUSY_SNAPSHOT", "is busy: another process holds it"),
        ("SQLITE_LOCKED", "is busy: another process holds it"),
        ("SQLITE_PROTOCOL", "is busy: another process holds it"),
        ("SQLITE_FULL", "cannot be written: the disk is full"),
        ("SQLITE_IOERR", "cannot be written: the disk refuses"),
        ("SQLITE_IOERR_WRITE", "cannot be written: the disk refuses"),
        ("SQLITE_READONLY", "cannot be written: it is read-only"),
        ("SQLITE_READONLY_DIRECTORY", "cannot be written: it is read-only"),
        ("SQLITE_PERM", "cannot be used: permission denied"),
        ("SQLITE_AUTH", "cannot be used: permission denied"),
        ("SQLITE_CANTOPEN_ISDIR", "cannot be opened"),
        ("SQLITE_NOTADB", "is not a ledger but some other file"),
        ("SQLITE_CORRUPT_INDEX", "is damaged: the file is malformed"),
        ("SQLITE_MISUSE", "cannot be used: the database refuses"),
    ],
)
def test_sqlite_failures_are_told_by_their_code(name, what):
    error = sqlite_error(getattr(sqlite3, name))
    assert meaning(error, HERE)[0] == what
    assert meaning(OperationalError("SELECT 1", {}, error), HERE)[0] == what


def test_sqlite_failures_without_a_code_are_not_guessed():
    assert meaning(sqlite3.OperationalError("database is locked"), HERE)[0] == "cannot be used: the database refuses"


@pytest.mark.parametrize(
    ("state", "what"),
    [
        ("08006", "cannot be reached"),
        ("25006", "cannot be written: it is read-only"),
        ("40001", "is busy: another process holds it"),
        ("40P01", "is busy: another process holds it"),
        ("42501", "cannot be used: permission denied"),
        ("42P01", "is damaged: its tables are gone"),
        ("53100", "cannot be written: the disk is full"),
        ("53200", "cannot be used: the server has no memory or connection left"),
        ("53300", "cannot be used: the server has no memory or connection left"),
        ("55P03", "is busy: another process holds it"),
        ("57014", "is busy: another process holds it"),
        ("57P01", "cannot be reached"),
        ("57P03", "cannot be reached"),
        ("58030", "cannot be written: the disk refuses"),
        ("XX001", "is damaged: the file is malformed"),
        ("22003", "cannot be used: the database refuses"),
    ],
)
def test_failures_of_a_server_are_told_by_their_sqlstate(state, what):
    assert meaning(OperationalError("SELECT 1", {}, SaidByServer(state)), HERE)[0] == what


def test_no_sqlstate_means_that_no_server_answered():
    assert meaning(OperationalError("SELECT 1", {}, SaidByServer(None)), HERE)[0] == "cannot be reached"
    assert meaning(InterfaceError("SELECT 1", {}, SaidByServer(None)), HERE)[0].endswith("the database refuses")


@pytest.mark.parametrize(
    ("number", "what"),
    [
        (errno.ENOSPC, "cannot be written: the disk is full"),
        (errno.EDQUOT, "cannot be written: the disk is full"),
        (errno.EIO, "cannot be written: the disk refuses"),
        (errno.EROFS, "cannot be written: it is read-only"),
        (errno.EACCES, "cannot be used: permission denied"),
        (errno.EPERM, "cannot be used: permission denied"),
        (errno.ENOENT, "has gone"),
        (errno.ENAMETOOLONG, "cannot be opened"),
        (errno.ELOOP, "cannot be opened"),
        (errno.EBUSY, "cannot be used: the database refuses"),
        (None, "cannot be used: the database refuses"),
    ],
)
def test_failures_of_the_system_are_told_by_their_errno(number, what):
    assert meaning(OSError(number, "database is locked"), HERE)[0] == what


@pytest.mark.parametrize("error", [UnicodeDecodeError("utf-8", b"\xff", 0, 1, "locked"), OverflowError("disk full")])
def test_what_damage_brings_is_not_guessed_at(error):
    assert meaning(error, HERE)[0] == "cannot be used: the database refuses"


# --- real files ---


def test_a_file_that_lost_a_table_is_damaged(tmp_path):
    path = tmp_path / "a.ledger"
    ledger = Ledger.open(path, epsilon=1)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE lapwing_entries")
    assert refusal(lambda: ledger.charge("a", 1)) == "is damaged: its tables are gone"


def test_a_column_that_was_renamed_is_not_taken_for_a_lost_table(tmp_path):
    path = tmp_path / "a.ledger"
    ledger = Ledger.open(path, epsilon=1)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE lapwing_entries RENAME COLUMN note TO remark")
    assert refusal(lambda: ledger.charge("a", 1)) == "cannot be used: the database refuses"


def test_a_file_that_was_removed_has_gone(tmp_path):
    path = tmp_path / "a.ledger"
    ledger = Ledger.open(path, epsilon=1)
    path.unlink()
    assert refusal(lambda: ledger.charge("a", 1)) == "has gone"


def test_a_file_overwritten_with_text_is_some_other_file(tmp_path):
    path = tmp_path / "a.ledger"
    ledger = Ledger.open(path, epsilon=1)
    path.write_text("no database here\n" * 500)
    assert refusal(lambda: ledger.charge("a", 1)) == "is not a ledger but some other file"


def test_a_file_whose_pages_are_overwritten_is_malformed(tmp_path):
    path = tmp_path / "a.ledger"
    ledger = Ledger.open(path, epsilon=1)
    stored = path.read_bytes()
    path.write_bytes(stored[:4096] + b"\xaa" * (len(stored) - 4096))
    assert refusal(lambda: ledger.charge("a", 1)) == "is damaged: the file is malformed"


def test_a_file_that_another_process_holds_is_busy(tmp_path):
    path = tmp_path / "a.ledger"
    ledger = Ledger.open(path, epsilon=1, wait=0.1)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert refusal(lambda: ledger.charge("a", 1)) == "is busy: another process holds it"


def test_a_folder_in_place_of_the_file_cannot_be_opened(tmp_path):
    path = tmp_path / "a.ledger"
    ledger = Ledger.open(path, epsilon=1)
    path.unlink()
    path.mkdir()
    assert refusal(lambda: ledger.charge("a", 1)) == "cannot be opened"


def test_paths_that_no_system_takes(tmp_path):
    assert refusal(lambda: Ledger.open(tmp_path / ("x" * 5000), epsilon=1)) == "cannot be opened"
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert refusal(lambda: Ledger.open(tmp_path / "loop", epsilon=1)) == "cannot be opened"


def test_a_home_that_nobody_has(tmp_path):
    assert refusal(lambda: Ledger.open("~no-such-user/a.ledger")) == "cannot be found: there is no such home folder"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full here")  # noqa: PTH110
def test_a_device_that_is_full():
    def write() -> None:
        with open("/dev/full", "wb", buffering=0) as device:  # noqa: PTH123
            device.write(b"x")

    with pytest.raises(OSError) as caught:  # noqa: PT011
        write()
    assert meaning(caught.value, HERE)[0] == "cannot be written: the disk is full"


# --- a real server ---


def test_a_server_that_is_not_there_cannot_be_reached():
    assert refusal(lambda: Ledger.open("postgresql://a:secret@127.0.0.1:1/b", epsilon=1)) == "cannot be reached"


def test_a_database_that_is_not_there_cannot_be_reached(postgres):
    assert refusal(lambda: Ledger.open(sa.make_url(postgres).set(database="none").render_as_string(False), 1)) == (
        "cannot be reached"
    )


def test_a_server_that_lost_a_table_is_damaged(postgres):
    ledger = Ledger.open(postgres, epsilon=1)
    with ledger._engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE lapwing_entries")
    assert refusal(lambda: ledger.charge("a", 1)) == "is damaged: its tables are gone"


def test_a_server_that_is_read_only(postgres):
    ledger = Ledger.open(postgres, epsilon=1)
    with ledger._engine.begin() as connection:
        name = connection.scalar(sa.text("SELECT quote_ident(current_database())"))
        connection.exec_driver_sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    assert refusal(lambda: ledger.charge("a", 1)) == "cannot be written: it is read-only"


def test_a_server_that_gives_no_rights(postgres):
    ledger = Ledger.open(postgres, epsilon=1)

    @sa.event.listens_for(ledger._engine, "begin")
    def as_another(connection):
        connection.exec_driver_sql("SET LOCAL ROLE pg_monitor")

    assert refusal(lambda: ledger.charge("a", 1)) == "cannot be used: permission denied"


def test_a_server_that_ends_the_session(postgres):
    ledger = Ledger.open(postgres, epsilon=1)

    @sa.event.listens_for(ledger._engine, "begin")
    def end(connection):
        connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")

    assert refusal(lambda: ledger.charge("a", 1)) == "cannot be reached"


def test_a_server_on_which_another_session_holds_the_ledger_is_busy(postgres):
    import psycopg

    ledger = Ledger.open(postgres, epsilon=1, wait=0.2)
    with psycopg.connect(postgres) as other:
        other.execute("SELECT * FROM lapwing_ledger FOR UPDATE")
        assert refusal(lambda: ledger.charge("a", 1)) == "is busy: another process holds it"


def test_T24_an_answer_that_could_not_be_recorded_is_in_no_log_and_no_error(tmp_path, caplog):
    """Not even where an operator lets SQLAlchemy log everything: it would be a second answer for one charge."""
    place, number = tmp_path / "t.ledger", 987654321
    ledger = Ledger.open(place, 1)
    entry = ledger.charge("how many?", 1)
    with closing(sqlite3.connect(place)) as connection, connection:
        for table in ("lapwing_entries", "lapwing_answers"):
            connection.execute(
                f"CREATE TRIGGER no_{table} BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'no'); END"
            )
    for name in ("sqlalchemy", "lapwing"):
        caplog.set_level("DEBUG", name)
    with pytest.raises(errors.LedgerError) as caught:
        ledger.record(entry, {"cells": [[[number]]]})
    assert "SQL parameters hidden" in caplog.text
    assert "INSERT INTO lapwing_" in caplog.text
    for said in (caplog.text, repr([record.args for record in caplog.records]), str(caught.value), repr(caught.value)):
        assert str(number) not in said
    assert not any(record.exc_info for record in caplog.records)
