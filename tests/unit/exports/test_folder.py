"""The folder of a package: it is there completely or not at all, and replaces nothing but an unchanged package."""

from __future__ import annotations

import os
import signal
import stat
import sys
import threading
from types import SimpleNamespace

import duckdb
import pytest

from lapwing import errors
from lapwing.exports import package as packaging
from lapwing.exports import parquet
from lapwing.exports.package import README
from lapwing.release import files

from ...exported import Answers

pytestmark = pytest.mark.usefixtures("frozen_noise")


@pytest.fixture
def made(tmp_path):
    return Answers(tmp_path)


def test_a_folder_that_is_not_empty_is_refused_and_nothing_in_it_changes(made, tmp_path):
    folder = tmp_path / "a"
    folder.mkdir()
    made["plain"].package(folder)  # an empty one is taken
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(errors.InvalidRequest, match="is not empty"):
        made["table"].package(folder)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    made["table"].package(folder, force=True, only="csv")
    assert sorted(each.name for each in folder.iterdir()) == [README, "data.csv"]


@pytest.mark.parametrize("name", ["data.csv", "thesis.docx"])
def test_only_a_package_is_replaced(made, tmp_path, name):
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / name).write_text("mine")
    with pytest.raises(errors.InvalidRequest, match="not a package"):
        made["plain"].package(folder, force=True)
    assert (folder / name).read_text() == "mine"
    (tmp_path / "file").write_text("mine")
    with pytest.raises(errors.InvalidRequest, match="not a folder"):
        made["plain"].package(tmp_path / "file", force=True)
    with pytest.raises(errors.InvalidRequest, match="no folder"):
        made["plain"].package(tmp_path / "b" / "c")


def test_a_package_is_written_completely_or_not_at_all(made, tmp_path, monkeypatch):
    made["plain"].package(tmp_path / "a")
    before = (tmp_path / "a" / README).read_bytes()
    everything = sorted(tmp_path.iterdir())

    def full(*_):
        raise OSError("no space")

    monkeypatch.setattr(packaging, "registry_record", full)
    for name in ("a", "b"):
        with pytest.raises(errors.OutputError):
            made["table"].package(tmp_path / name, force=True)
    assert (tmp_path / "a" / README).read_bytes() == before
    assert sorted(tmp_path.iterdir()) == everything


def test_the_folder_that_one_is_in_is_refused(made, tmp_path, monkeypatch):
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    for place in (".", tmp_path / "a"):
        with pytest.raises(errors.InvalidRequest, match="the folder that you are in"):
            made["plain"].package(place)


CONTENT = ("data.csv", "data.csv-metadata.json", "data.parquet", "data.sdmx.csv", "data.xlsx", "report.html")


@pytest.mark.parametrize("name", CONTENT)
def test_a_package_with_a_file_that_was_changed_is_not_replaced(made, tmp_path, name):
    folder = tmp_path / "a"
    made["plain"].package(folder)
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))  # as long as before
    changed = {file.name: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(errors.InvalidRequest, match=f"{name} has changed since the package was written"):
        made["plain"].package(folder, force=True)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == changed
    (folder / name).write_bytes(content)
    made["plain"].package(folder, force=True, only="csv")
    assert sorted(file.name for file in folder.iterdir()) == [README, "data.csv"]


def test_what_was_put_into_a_package_is_not_replaced(made, tmp_path):
    folder = tmp_path / "a"
    made["plain"].package(folder, only="csv")
    (folder / "data.parquet").write_text("mine")  # a name of a package, but none of its files
    with pytest.raises(errors.InvalidRequest, match=r"data\.parquet has changed"):
        made["plain"].package(folder, force=True)
    (folder / "data.parquet").unlink()
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(errors.InvalidRequest, match=r'not a package of Lapwing: it has "notes\.txt"'):
        made["plain"].package(folder, force=True)
    (folder / "notes.txt").unlink()
    (tmp_path / "elsewhere.csv").write_bytes((folder / "data.csv").read_bytes())
    (folder / "data.csv").unlink()
    (folder / "data.csv").symlink_to(tmp_path / "elsewhere.csv")  # the same content, but not the file
    with pytest.raises(errors.InvalidRequest, match=r"data\.csv has changed"):
        made["plain"].package(folder, force=True)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(("umask", "due"), [(0o022, 0o755), (0o077, 0o700), (0o002, 0o775)])
def test_a_new_folder_has_the_mode_of_the_umask(made, tmp_path, umask, due):
    before = os.umask(umask)
    try:
        made["plain"].package(tmp_path / "a", only=["csv", "parquet"])
    finally:
        os.umask(before)
    assert mode(tmp_path / "a") == due
    assert {mode(file) for file in (tmp_path / "a").iterdir()} == {due & 0o666}


@pytest.mark.parametrize("due", [0o700, 0o750, 0o770])
def test_a_folder_that_is_there_keeps_its_mode(made, tmp_path, due):
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(due)
    made["plain"].package(tmp_path / "a", only="csv")
    assert mode(tmp_path / "a") == due
    made["plain"].package(tmp_path / "a", only="parquet", force=True)
    assert mode(tmp_path / "a") == due


class Endless:
    """A connection of DuckDB on which no file is ever complete."""

    def __init__(self, connection):
        self.connection = connection

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def __getattr__(self, name):
        return getattr(self.connection, name)

    def execute(self, sql):
        if not sql.startswith("COPY "):
            return self.connection.execute(sql)
        assert self.connection.execute("SELECT current_setting('async_threads')").fetchone() == (0,)
        end = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM))
        end.start()
        return self.connection.execute(f"COPY (SELECT random() FROM range({10**11})) {sql[sql.rindex(' TO ') :]}")


@pytest.mark.parametrize("module", [parquet, files])
def test_a_signal_while_a_file_is_written_ends_the_program_and_leaves_nothing(made, tmp_path, monkeypatch, module):
    answer = made["plain"]
    answer.package(tmp_path / "a", only="csv")
    before = sorted(tmp_path.rglob("*"))
    connect = duckdb.connect
    monkeypatch.setattr(module, "duckdb", SimpleNamespace(connect=lambda _: Endless(connect()), Error=duckdb.Error))
    monkeypatch.setattr(files, "measure_progress", lambda _: None)
    usual = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        for folder, force in ((tmp_path / "a", True), (tmp_path / "b", False)):
            with pytest.raises(SystemExit, match="143"):
                answer.package(folder, only="parquet", force=force)
            assert sorted(tmp_path.rglob("*")) == before
    finally:
        signal.signal(signal.SIGTERM, usual)
