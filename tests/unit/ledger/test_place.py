"""Where a ledger is kept when none is named: the same place from every working directory."""

import os
import subprocess
import sys
from fractions import Fraction as F
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import lapwing as lw
from lapwing import errors
from lapwing.cli import main as cli
from lapwing.ledger.place import file_name, user_folder

COLUMNS = {"x": lw.number(0, 1)}
FRAMES = {
    "pandas": lambda: pd.DataFrame({"x": [1.0]}),
    "duckdb": lambda: duckdb.sql("SELECT 1.0 AS x"),
}
SERVERS = ("postgresql://db.example/clinic#visits", "spark:clinic.visits", "sc://spark.example:15002#visits")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder of the user, and a working directory that is another one."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "home" / "lapwing"


def source(table, name="visits", **more):
    return lw.Source(table, name=name, columns=COLUMNS, **{"epsilon": 1, **more})


def place(table, **more):
    return source(table, **more)._place.where


@pytest.mark.parametrize("kind", FRAMES)
def test_T26_a_frame_has_one_budget_whatever_the_working_directory(home, tmp_path, monkeypatch, kind):
    source(FRAMES[kind]()).release(lw.count(), epsilon="0.6")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = source(FRAMES[kind]())
    assert again.left() == F(2, 5)
    with pytest.raises(errors.BudgetExceeded):
        again.release(lw.sum("x"), epsilon="0.6")
    assert Path(again.ledger.where) == home / "visits.ledger"
    assert [each.name for each in home.iterdir()] == ["visits.ledger"]
    assert not list(tmp_path.glob("work/*")) + list(tmp_path.glob("elsewhere/*"))


@pytest.mark.parametrize("table", SERVERS)
def test_a_table_on_a_server_has_its_ledger_with_the_user(home, table):
    if table.startswith(("spark:", "sc:")):
        pytest.importorskip("pyspark", reason="pyspark is not installed here: `make install` brings it")
    assert place(table) == str(home / "visits.ledger")


@pytest.mark.parametrize(
    ("table", "folder"),
    [
        ("visits.csv", "."),
        ("/data/visits.parquet", "/data"),
        ("data/2024/visits.csv.gz", "data/2024"),
        ("*.csv", "."),
        ("/data/*.parquet", "/data"),
        ("data/20??/*.parquet", "data"),
        ("/data/[ab]/deep/visits.parquet", "/data"),
        ("data/**/visits.parquet", "data"),
        (Path("/data") / "visits.parquet", "/data"),
    ],
)
def test_a_table_of_files_has_its_ledger_beside_them(home, table, folder):
    assert place(table) == str(Path(folder).absolute() / "visits.ledger")


@pytest.mark.parametrize("folder", ["postgres", "postgresql data", "passwords"])
def test_a_folder_that_sounds_like_a_server_is_a_folder(home, folder):
    Path(folder).mkdir()
    Path(folder, "visits.csv").write_text("x\n1\n")
    asked = source(f"{folder}/visits.csv")
    assert asked.release(lw.count(), epsilon=1).entry == 2
    assert Path(folder, "visits.ledger").exists()


def test_brackets_in_the_name_of_a_file_that_is_there_are_no_wildcards(home):
    Path("a[1]").mkdir()
    Path("a[1]/visits.csv").write_text("x\n1\n")
    assert place("a[1]/visits.csv") == str(Path("a[1]/visits.ledger").absolute())
    assert place("a[1]/*.csv") == str(Path("visits.ledger").absolute())


def test_T26_a_file_has_one_budget_whatever_the_working_directory(home, tmp_path, monkeypatch):
    data = tmp_path / "data"
    data.mkdir()
    (data / "visits.csv").write_text("x\n1\n")
    source("../data/visits.csv").release(lw.count(), epsilon="0.6")
    monkeypatch.chdir(data)
    assert source("visits.csv").left() == source("*.csv").left() == source(data / "visits.csv").left() == F(2, 5)
    assert sorted(each.name for each in data.iterdir()) == ["visits.csv", "visits.ledger"]
    assert not home.exists()


def test_a_source_file_has_its_ledger_beside_it_whatever_its_table_is(home, tmp_path):
    pytest.importorskip("pyspark", reason="pyspark is not installed here: `make install` brings it")
    for table in ("elsewhere/visits.csv", *SERVERS):
        (tmp_path / "visits.toml").write_text(f'table = "{table}"\nepsilon = 1\n')
        opened = lw.Source.open(tmp_path / "visits.toml")
        assert opened._place.where == str(tmp_path / "visits.ledger")
        assert opened.holds(tmp_path / "visits.ledger")
        assert opened.make_ledger().remaining == 1
    assert not home.exists()


def test_the_folder_of_the_user_is_made_with_the_first_ledger_and_for_nobody_else(home):
    asked = source(FRAMES["duckdb"]())
    asked.plan(lw.sum("x"), epsilon=1)
    assert asked.left() is None
    with pytest.raises(errors.NoLedger):
        source(FRAMES["duckdb"](), epsilon=None).release(lw.count(), epsilon=1)
    assert not home.parent.exists()
    assert asked.release(lw.count(), epsilon=1).entry == 2
    assert home.stat().st_mode & 0o777 == home.parent.stat().st_mode & 0o777 == 0o700
    assert asked.holds(home / "visits.ledger")
    assert not asked.holds(Path("visits.ledger"))


def test_a_ledger_that_is_named_is_where_it_is_named(home):
    source(FRAMES["duckdb"](), ledger="mine.ledger").release(lw.count(), epsilon=1)
    assert Path("mine.ledger").exists()
    with pytest.raises(errors.LedgerError, match="there is no folder"):
        source(FRAMES["duckdb"](), ledger="nowhere/mine.ledger").release(lw.count(), epsilon=1)
    assert not home.exists()


def test_without_a_home_a_frame_needs_a_ledger_that_is_named(home, monkeypatch):
    monkeypatch.delenv("XDG_DATA_HOME")
    for unknown in ("", "relative"):
        monkeypatch.setenv("HOME", unknown)
        monkeypatch.setattr(Path, "home", lambda: Path(os.environ["HOME"]))
        with pytest.raises(errors.InvalidSource) as caught:
            source(FRAMES["duckdb"]())
        assert str(caught.value) == (
            'Source "visits" has no place for its ledger, since you have no home folder. '
            'No row was read and nothing was charged. Name one: ledger = "…".'
        )
    assert source(FRAMES["duckdb"](), ledger="mine.ledger").left() is None


def test_a_relative_folder_of_the_environment_does_not_count(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for relative in ("", "relative", "./x"):
        monkeypatch.setenv("XDG_DATA_HOME", relative)
        assert user_folder() == tmp_path / ".local" / "share" / "lapwing"


def test_a_folder_that_cannot_be_made_is_said(home, monkeypatch):
    Path("taken").write_text("a file")
    monkeypatch.setenv("XDG_DATA_HOME", str(Path("taken").absolute()))
    with pytest.raises(errors.LedgerError, match=r"its folder .* cannot\. Nothing was granted\. Name another place"):
        source(FRAMES["duckdb"]()).release(lw.count(), epsilon=1)


def test_a_folder_that_cannot_be_written_is_said(home, monkeypatch):
    Path("data").mkdir()
    frame = FRAMES["duckdb"]()
    frame.write_parquet("data/t.parquet")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != Path("data").absolute())
    where = Path("data/visits.ledger").absolute()
    with pytest.raises(errors.LedgerError) as caught:
        source("data/t.parquet").make_ledger()
    assert str(caught.value) == (
        f'Ledger "{where}" cannot be made: its folder cannot be written. Nothing was granted. '
        'Name another place: ledger = "…".'
    )
    assert source("data/t.parquet", ledger="elsewhere").make_ledger().where == "elsewhere"


def test_the_ledger_of_a_table_with_a_relative_path_stays_where_it_is(home, monkeypatch):
    FRAMES["duckdb"]().write_parquet("t.parquet")
    asked, folder = source("t.parquet"), Path().absolute()
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert asked.make_ledger().where == str(folder / "visits.ledger")


# --- where it was kept before ---


def test_T26_a_ledger_where_it_was_kept_before_is_neither_used_nor_left_behind(home):
    old = Path("visits.ledger").absolute()
    lw.Ledger.open(old, epsilon=1).charge("before", "0.9")
    asked = source(FRAMES["duckdb"]())
    expected = (
        f'Source "visits" has no ledger at "{home}/visits.ledger", where it is kept if none is named, but there is one '
        f'at "{old}", where it was kept before. No row was read and nothing was charged. '
        f"Move it: `mkdir -p -m 700 {home} && mv -n {old} {home}/visits.ledger`, or name it: ledger = '{old}'."
    )
    for call in (
        lambda: asked.release(lw.count(), epsilon="0.5"),
        lambda: asked.ledger,
        asked.open_ledger,
        asked.left,
        lambda: asked.bounds("x", epsilon="0.5"),
    ):
        with pytest.raises(errors.InvalidSource) as caught:
            call()
        assert str(caught.value) == expected
    asked.plan(lw.sum("x"), epsilon="0.5")  # costs nothing, and needs no ledger
    assert not home.exists()
    assert source(FRAMES["duckdb"](), ledger=old).left() == F(1, 10)
    subprocess.run(expected.split("`")[1], shell=True, check=True)
    assert asked.left() == F(1, 10)
    assert home.stat().st_mode & 0o777 == 0o700
    assert not old.exists()


def test_the_command_that_moves_it_is_right_for_odd_names_too(home, tmp_path):
    folder = tmp_path / "some data"
    folder.mkdir()
    (folder / "t.csv").write_text("x\n1\n")
    name = "it's $HOME; rm -rf"
    lw.Ledger.open(Path(f"{name}.ledger"), epsilon=1).charge("before", "0.9")
    with pytest.raises(errors.InvalidSource) as caught:
        source(folder / "t.csv", name).left()
    command = str(caught.value).split("`")[1]
    assert command.startswith("mv -n ")
    subprocess.run(command, shell=True, check=True)
    assert source(folder / "t.csv", name).left() == F(1, 10)


def test_a_ledger_in_its_place_is_used_whatever_lies_in_the_working_directory(home):
    asked = source(FRAMES["duckdb"]())
    asked.release(lw.count(), epsilon="0.5")
    lw.Ledger.open("visits.ledger", epsilon=1)
    assert asked.left() == source(FRAMES["duckdb"]()).left() == F(1, 2)


def test_a_source_file_with_an_odd_name_does_not_leave_its_ledger_behind(home, tmp_path):
    (tmp_path / "t.csv").write_text("x\n1\n")
    (tmp_path / "t.toml").write_text('name = "größe"\ntable = "t.csv"\nepsilon = 1\n[columns.x]\nlow = 0\nhigh = 1\n')
    lw.Ledger.open(tmp_path / "größe.ledger", epsilon=1).charge("before", "0.9")
    with pytest.raises(errors.InvalidSource, match="where it was kept before"):
        lw.Source.open(tmp_path / "t.toml").release(lw.count(), epsilon=1)
    asked = [str(tmp_path / "t.toml"), "SELECT COUNT(*) FROM größe", "--epsilon", "0.1"]
    planned = CliRunner().invoke(cli.main, ["plan", *asked])
    assert planned.exit_code == 0
    assert "where it was kept before" in planned.output
    released = CliRunner().invoke(cli.main, ["release", *asked])
    assert released.exit_code == 2
    assert "where it was kept before" in released.output
    (tmp_path / "größe.ledger").rename(tmp_path / file_name("größe"))
    assert lw.Source.open(tmp_path / "t.toml").left() == F(1, 10)
    assert "ε left: 0.1" in CliRunner().invoke(cli.main, ["plan", *asked]).output


# --- names of files ---


def test_names_that_are_plain_are_names_of_files():
    for name in ("visits", "Visits 2024", "a.b-c", "_x", "5", "a..b"):
        assert file_name(name) == f"{name}.ledger"


@pytest.mark.parametrize(
    "name", ["..", ".", "../visits", "/no such folder/visits", "a/b", "a\\b", "~root", "-x", ".x", "größe", "a=b", "%"]
)
def test_other_names_stay_in_the_folder(home, name):
    asked = source(FRAMES["duckdb"](), name)
    asked.release(lw.count(), epsilon=1)
    (made,) = home.iterdir()
    assert made.name == file_name(name)
    assert lw.Ledger.open(made).spent == 1
    assert [each.name for each in home.parent.iterdir()] == ["lapwing"]
    told = CliRunner().invoke(cli.main, ["ledger", asked.ledger.where])
    assert told.exit_code == 0


NAMES = st.text(min_size=1, max_size=100).filter(lambda name: name.isprintable() and name == name.strip())


@given(NAMES, NAMES)
def test_every_name_is_one_name_of_a_file_and_different_names_are_different(name, other):
    made = file_name(name)
    assert Path(made).name == made == os.path.basename(made)  # noqa: PTH119
    assert made.endswith(".ledger")
    assert made.isascii()
    assert len(made) < 128
    assert not made.startswith((".", "-", "~"))
    assert (file_name(other) == made) == (other == name)


def test_a_name_made_to_look_like_another_s_file_is_not_plain():
    taken = file_name("a/b").removesuffix(".ledger")
    assert file_name(taken) != file_name("a/b")


def test_a_message_names_the_ledger_so_that_a_shell_takes_it(home):
    asked = source(FRAMES["duckdb"](), "my visits")
    with pytest.raises(errors.BudgetExceeded) as caught:
        asked.release(lw.count(), epsilon=2)
    told = str(caught.value).split("`")[1]
    assert told == f"lapwing ledger '{home}/my visits.ledger'"
    run = f"{sys.executable} -m {told} --format json"
    done = subprocess.run(run, shell=True, check=True, capture_output=True, text=True)
    assert '"spent": "0"' in done.stdout
