"""Large releases: piece by piece, exactly, in bounded memory, and into whole files only."""

import json
import re
import sqlite3
import subprocess
import sys
import tracemalloc
from datetime import date
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapwing as lw
from lapwing import errors
from lapwing.engine.table import Integers
from lapwing.measure import cells
from lapwing.measure.measurement import Sums
from lapwing.noise.entropy import EntropyForTests
from lapwing.question.schema import MAX_CELLS
from lapwing.release import files, result
from lapwing.release.columns import csv_text
from lapwing.release.pipeline import Tally
from lapwing.release.recall import recall
from tests.tables import plan_of

from ..cli.test_main import run

ROWS = 600
TABLE = pd.DataFrame(
    {
        "p": [i % 200 for i in range(ROWS)],
        "x": [i * 7.3 % 10 for i in range(ROWS)],
        "i": [i % 11 for i in range(ROWS)],
        "k": [f"key {i % 5}" for i in range(ROWS)],
        "m": [i % 7 for i in range(ROWS)],
        "d": [f"2024-0{1 + i % 3}-01" for i in range(ROWS)],
        "b": [i % 3 == 0 for i in range(ROWS)],
    }
)
COLUMNS = {
    "x": lw.number(0, 10),
    "i": lw.number(0, 10, integer=True),
    "k": lw.keys([f"key {i}" for i in range(6)]),
    "m": lw.keys(range(5), other="rest"),
    "d": lw.keys(date(2024, 1, 1), date(2024, 2, 1), date(2024, 3, 1)),
    "b": lw.keys(True, False),
}
ASKED = {
    "count": ([lw.count()], ["k", "m"]),
    "mean": ([lw.count(), lw.mean("x")], ["d", "m"]),
    "variance": ([lw.variance("x"), lw.std("i")], ["b", "k"]),
    "sum": ([lw.sum("i"), lw.sum("x")], ["k", "d"]),
    "proportion": ([lw.proportion("x > 5")], ["k", "b"]),
    "quantiles": (lw.quantile("x", [0, 0.25, 0.5]), ["k", "d"]),
    "cdf": ([lw.cdf("x", 5)], ["k", "b"]),
    "tree": ([lw.cdf("x", 60)], ["d"]),
    "histogram": ([lw.histogram("x", [0, 1, 2, 5, 10])], ["k"]),
    "whole table": ([lw.count(), lw.mean("x")], []),
}


def source_of(folder, table=TABLE, columns=COLUMNS, **options):
    return lw.Source(table, name="t", columns=columns, epsilon=100, ledger=Path(folder) / "t.ledger", **options)


@pytest.fixture
def small(monkeypatch):
    """Seven groups at a time, which divides no number of groups here; answers of more than four numbers are packed."""
    monkeypatch.setattr(result, "_PIECE_ROWS", 7)
    monkeypatch.setattr(cells, "READABLE", 4)


def parquet(path):
    """Return the types and the rows of Parquet files, in their order."""
    with duckdb.connect() as connection:
        found = connection.sql(f"SELECT * FROM '{path}'")
        return list(zip(found.columns, map(str, found.types), strict=True)), found.fetchall()


@pytest.mark.parametrize("people", [{}, {"person": "p", "rows_per_person": 2}])
@pytest.mark.parametrize("kind", ASKED)
def test_pieces_are_the_whole(kind, people, tmp_path, monkeypatch, small):
    statistics, by = ASKED[kind]
    made = source_of(tmp_path, **people).release(*statistics, by=by, epsilon=1)
    for view in (made, made.at("0.9", simultaneous=True), made.nonnegative()):
        whole = view.flat()
        pieces = list(view.pieces())
        assert {name: [cell for piece in pieces for cell in piece[name]] for name in whole} == whole
        told = []
        view.to_parquet(tmp_path / "pieces.parquet", told.append)
        assert told == sorted(told)
        assert told[-1] == 1
        view.to_csv(tmp_path / "pieces.csv")
        assert (tmp_path / "pieces.csv").read_text() == view.to_csv() == csv_text(whole)
        types, rows = parquet(tmp_path / "pieces.parquet")
        expected = {name: [cell.isoformat() if isinstance(cell, date) else cell for cell in whole[name]] for name in by}
        if "m" in by:
            expected["m"] = [str(key) for key in whole["m"]]  # a name among numbers makes all of them texts
        assert rows == list(zip(*(whole | expected).values(), strict=True))
        with monkeypatch.context() as patch:
            patch.setattr(result, "_PIECE_ROWS", 10**6)
            view.to_parquet(tmp_path / "whole.parquet")
        assert parquet(tmp_path / "whole.parquet") == (types, rows)
        monkeypatch.setattr(result, "_PIECE_ROWS", 7)
    assert len(made._pieces) > 1 or not by
    assert all(groups.start % made._estimator.together == 0 for groups in made._pieces)


def test_types_in_parquet_are_those_of_the_keys(tmp_path, small):
    made = source_of(tmp_path).release(lw.count(), lw.mean("x"), by=["k", "m", "d", "b"], epsilon=1)
    made.to_parquet(tmp_path / "t.parquet")
    types = dict(parquet(tmp_path / "t.parquet")[0])
    assert [types[name] for name in ("k", "m", "d", "b", "count", "mean_x")] == [
        "VARCHAR", "VARCHAR", "VARCHAR", "BOOLEAN", "BIGINT", "DOUBLE",
    ]  # fmt: skip
    columns = COLUMNS | {"m": lw.keys(range(20))}
    source_of(tmp_path, columns=columns).release(lw.count(), by="m", epsilon=1).to_parquet(tmp_path / "m.parquet")
    assert dict(parquet(tmp_path / "m.parquet")[0])["m"] == "BIGINT"


def test_a_folder_gets_its_parts_if_it_is_empty(tmp_path, small):
    source = source_of(tmp_path)
    made = source.release(lw.count(), by=["k", "m"], epsilon=1)
    folder = tmp_path / "a=1 [x]*"
    made.to_parquet(f"{folder}/")
    assert [each.name for each in sorted(folder.iterdir())] == [f"part-0000{i}.parquet" for i in range(6)]
    for number, piece in enumerate(made.pieces()):
        rows = pd.read_parquet(folder / f"part-0000{number}.parquet", partitioning=None)
        assert rows["count"].tolist() == piece["count"]
    other = source.release(lw.count(), by="k", epsilon=1)
    with pytest.raises(errors.OutputError):  # its files could be those of the table
        other.to_parquet(folder)
    assert len(list(folder.iterdir())) == 6
    made.to_parquet(folder / "one.parquet")  # a name in a folder that looks like a partition and a glob
    assert pd.read_parquet(folder / "one.parquet", partitioning=None)["count"].tolist() == made.flat()["count"]


def test_a_large_answer_is_recalled_as_it_was_and_a_small_one_reads_as_before(tmp_path, monkeypatch):
    source = source_of(tmp_path)
    asked = [lw.count(), lw.variance("x"), lw.median("i")]
    plain = source.release(*asked, by=["k", "m"], epsilon=1, entropy=EntropyForTests(3))
    monkeypatch.setattr(cells, "READABLE", 4)
    packed = source.release(*asked, by=["k", "m"], epsilon=2)
    again = source.release(*asked, by=["k", "m"], epsilon=2)
    assert isinstance(plain.answer["cells"][0][0][0], int)
    assert set(packed.answer["cells"][0][0]) == {"width", "packed"}
    for made in (again, recall(source.schema, source.ledger, packed.entry)):
        assert made.repeated
        assert made.answer == packed.answer
        assert made.rows == packed.rows
    assert recall(source.schema, source.ledger, plain.entry).rows == plain.rows
    assert source.ledger.verify() == 5
    with sqlite3.connect(tmp_path / "t.ledger") as connection:
        text = connection.execute("SELECT text FROM lapwing_answers ORDER BY number").fetchone()[0]
    assert text == json.dumps(plain.answer, sort_keys=True, separators=(",", ":"))


def test_the_same_entropy_gives_the_same_answer_in_either_form(tmp_path, monkeypatch):
    found = []
    for readable in (10**6, 4):
        monkeypatch.setattr(cells, "READABLE", readable)
        (tmp_path / str(readable)).mkdir()
        source = source_of(tmp_path / str(readable))
        found.append(source.release(lw.mean("x"), by=["k", "m"], epsilon=1, entropy=EntropyForTests(9)))
    assert found[0].rows == found[1].rows


@pytest.mark.parametrize(
    "told",
    [
        {"width": 1, "packed": "eJxjAAAAAQAB"},
        {"width": 1, "packed": "not base64"},
        {"width": 1, "packed": "AAAA"},
        {"width": 0, "packed": ""},
        {"width": True, "packed": ""},
        {"width": 99, "packed": ""},
        {"packed": ""},
        {"width": 2, "packed": cells.packed(np.array([1, 2, 300, 4, 5, 6, 7]))["packed"]},
        {"width": 1, "packed": cells.packed(np.array([1, 2, 3, 4, 5, 300]))["packed"]},
        {"width": 1, "packed": cells.packed(np.zeros(10**6, dtype=np.int64))["packed"]},
        "eJxj",
        None,
        [1, 2, 3],
        [1, 2, 3, 4, 5, 6.5],
        [1, 2, 3, 4, 5, True],
    ],
)
def test_a_recorded_column_that_is_none_is_refused(told, tmp_path):
    from lapwing.release.pipeline import question

    source = source_of(tmp_path)
    entry = source.make_ledger().charge(question(source.plan(lw.count(), by="k", epsilon=1)), 1)
    source.ledger.record(entry, {"cells": [[told]]})
    with pytest.raises(errors.LedgerError, match="does not fit"):
        source.release(lw.count(), by="k", epsilon=1)


@given(
    st.lists(st.integers(-(2**290), 2**290) | st.integers(-300, 300) | st.sampled_from([2**63 - 1, -(2**63), 2**63]))
)
def test_whole_numbers_come_back_from_text(values):
    told = cells.packed(cells.column(values))
    found = cells.unpacked(json.loads(json.dumps(told)), len(values))
    assert found.tolist() == values
    assert found.dtype == (object if told["width"] > 8 else np.int64)
    shortest = max((8 * told["width"] - 1, *(max(v, ~v).bit_length() for v in values)))
    assert shortest == 8 * told["width"] - 1


def test_the_pages_tell_the_format_and_the_sizes():
    docs = Path(__file__).parents[3] / "docs"
    ledger = (docs / "reference/ledger.md").read_text()
    packed = re.search(r'"packed": "([^"]+)"', ledger)[1]
    assert cells.unpacked({"width": 2, "packed": packed}, 3).tolist() == [412, -388, 57]
    assert f"more than {cells.READABLE:,} integers" in ledger
    assert f"at most {result._PIECE_ROWS:,} groups" in (docs / "how-to/publish-a-table.md").read_text()


def test_every_release_fits_the_ledger():
    """SQLite and PostgreSQL hold a text of 10^9 characters."""
    random = np.random.default_rng(1).integers(0, 256, 37 * 10**4, dtype=np.uint8).tobytes()
    wide = [int.from_bytes(random[i : i + 37], "little", signed=True) for i in range(0, len(random), 37)]
    told = cells.packed(np.array(wide, dtype=object))
    assert told["width"] == 37
    assert len(json.dumps(told)) * MAX_CELLS / 10**4 < 10**9


LARGE = st.integers(-(2**64), 2**64)


@given(st.lists(LARGE, min_size=3, max_size=3), st.lists(LARGE, min_size=2, max_size=2))
def test_sums_do_not_overflow(noise, values):
    found = cells.add(cells.column(noise), np.array([2, 0]), cells.column(values))
    assert found.tolist() == [noise[0] + values[1], noise[1], noise[2] + values[0]]


@pytest.mark.parametrize("most", [10, 2**31, 2**60])
@pytest.mark.parametrize("statistic", [lw.count(), lw.sum("x"), lw.mean("x"), lw.variance("x"), lw.variance("i")])
def test_a_tally_is_exact_beyond_int64(statistic, most):
    schema = source_of(".").schema
    plan = plan_of(schema, [statistic], ["k", "m"])
    (part,) = plan.parts
    width = 2 if part.measurement.form == "rows" else 3 + part.measurement.degree
    random = np.random.default_rng(most)
    groups = random.permutation(30)[:20]
    sums = [groups, *(random.integers(0, most, 20) for _ in range(width - 1))]
    found, columns = part.measurement.exact_cells(Tally(Integers(sums, [])).exact(plan, 0))
    assert found.tolist() == groups.tolist()
    for i in range(20):
        _, *own = (int(column[i]) for column in sums)
        expected = part.measurement.cells(Sums(*[*own, 0, 0, 0][:4]))
        assert tuple(int(column[i]) for column in columns) == expected


def test_a_sum_that_int64_cannot_hold_is_shown_as_a_float_in_all_pieces(tmp_path, small):
    columns = COLUMNS | {"i": lw.number(-(2**53), 2**53, integer=True)}
    made = source_of(tmp_path, columns=columns).release(lw.sum("i"), by=["k", "m"], epsilon="0.000001")
    assert made.estimates["sum_i"].value.dtype == float
    assert all(isinstance(piece["sum_i"][0], float) for piece in made.pieces())


def test_memory_does_not_hold_a_python_object_for_each_group(tmp_path):
    """500,000 groups: what NumPy and Python hold at their peak is a few numbers of 8 bytes for each."""
    groups = 500 * 1000
    columns = {"a": lw.keys(range(500)), "b": lw.keys(range(1000)), "x": lw.number(0, 1)}
    table = pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6], "x": [0.5, 0.1, 0.2]})
    source = source_of(tmp_path, table, columns)
    assert groups > cells.READABLE
    source.release(lw.mean("x"), epsilon=1).to_parquet(tmp_path / "first.parquet")  # what is imported once
    tracemalloc.start()
    try:
        made = source.release(lw.count(), by=["a", "b"], epsilon=1)
        after_release = tracemalloc.get_traced_memory()[1] / groups
        tracemalloc.reset_peak()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(result, "_PIECE_ROWS", 20_000)
            str(made), repr(made), made._repr_html_()
            made.to_parquet(tmp_path / "large.parquet")
            made.to_csv(tmp_path / "large.csv")
        after_writing = tracemalloc.get_traced_memory()[1] / groups
        tracemalloc.reset_peak()
        again = recall(source.schema, source.ledger, made.entry)
        after_recall = tracemalloc.get_traced_memory()[1] / groups
    finally:
        tracemalloc.stop()
    assert max(after_release, after_writing, after_recall) < 40
    assert (again.cells[0][0] == made.cells[0][0]).all()
    rows = pd.read_parquet(tmp_path / "large.parquet")
    assert len(rows) == groups
    assert (rows["count"] == made.estimates["count"].value).all()
    assert rows[["a", "b"]].iloc[[0, 999, 1000, groups - 1]].to_numpy().tolist() == [
        [0, 0],
        [0, 999],
        [1, 0],
        [499, 999],
    ]


def test_a_large_scale_tells_its_progress_while_noise_is_added(tmp_path):
    told = []
    source = source_of(tmp_path, person="p", rows_per_person=100, columns=COLUMNS | {"k": lw.keys(range(1500))})
    made = source.release(lw.variance("x"), by="k", epsilon="0.01", progress=told.append)
    assert made.plan.scale(made.plan.parts[0]) > 2**50
    assert 1000 / 1500 in told


LIMITED = """
import resource, sys
import pandas as pd
import lapwing as lw
from lapwing.release import result
from lapwing import errors
folder, to = sys.argv[1:]
columns = {"a": lw.keys(range(100)), "b": lw.keys(range(300))}
table = pd.DataFrame({"a": [1], "b": [2]})
source = lw.Source(table, name="t", columns=columns, epsilon=1, ledger=f"{folder}/t.ledger")
made = source.release(lw.count(), by=["a", "b"], epsilon="0.0001")
result._PIECE_ROWS = 7000
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    (made.to_csv if to.endswith(".csv") else made.to_parquet)(folder + "/" + to)
except errors.OutputError as error:
    print(error)
"""


@pytest.mark.parametrize("to", ["out.parquet", "out.csv", "parts/", "old.parquet"])
def test_a_full_disk_leaves_nothing_half_written(to, tmp_path):
    (tmp_path / "old.parquet").write_bytes(b"old")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path), to], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f'"{tmp_path}/{to}" could not be written. The answer is recorded as entry 2: ask again, at no charge.\n'
    )
    assert {each.name for each in tmp_path.iterdir()} == {"old.parquet", "t.ledger"}
    assert (tmp_path / "old.parquet").read_bytes() == b"old"


def test_a_failure_leaves_what_was_there(tmp_path, monkeypatch, small):
    made = source_of(tmp_path).release(lw.count(), by=["k", "m"], epsilon=1)
    (tmp_path / "parts").mkdir()
    made.to_parquet(tmp_path / "parts")
    (tmp_path / "one.parquet").write_text("old")
    before = {each: each.stat().st_mtime_ns for each in (tmp_path / "parts").iterdir()}

    def broken(*given):
        raise duckdb.IOException("disk")

    monkeypatch.setattr(files, "_write", broken)
    for path in (tmp_path / "parts", tmp_path / "one.parquet", tmp_path / "new", tmp_path / "none" / "one.parquet"):
        with pytest.raises(errors.OutputError, match="could not be written"):
            made.to_parquet(path)
    with pytest.raises(errors.OutputError):
        made.to_csv(tmp_path / "none" / "one.csv")
    assert {each: each.stat().st_mtime_ns for each in (tmp_path / "parts").iterdir()} == before
    assert {each.name for each in tmp_path.iterdir()} == {"parts", "one.parquet", "t.ledger"}
    assert (tmp_path / "one.parquet").read_text() == "old"


def test_a_link_is_followed_and_a_device_is_written_to(tmp_path):
    made = source_of(tmp_path).release(lw.count(), by="k", epsilon=1)
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "real.csv").chmod(0o600)
    (tmp_path / "link.csv").symlink_to("real.csv")
    made.to_csv(tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == made.to_csv()
    assert (tmp_path / "real.csv").stat().st_mode & 0o777 == 0o600
    made.to_csv("/dev/null")
    assert not Path("/dev/null").is_file()


TOML = """
name = "t"
table = "t.csv"
epsilon = 2
[columns.k]
keys = ["a", "b", "c"]
[columns.m]
keys = [0, 1, 2, 3, 4]
"""


def test_the_command_writes_parts_to_a_folder(tmp_path, small):
    (tmp_path / "t.toml").write_text(TOML)
    (tmp_path / "t.csv").write_text("k,m\na,1\nb,2\n")
    asked = ["release", str(tmp_path / "t.toml"), "SELECT k, m, COUNT(*) FROM t GROUP BY k, m", "--epsilon", "1"]
    out = tmp_path / "out"
    assert "is a folder" in run(*asked, "--format", "csv", "--output", f"{out}/", status=2).stderr
    assert "cannot be written" in run(*asked, "--output", f"{tmp_path}/no/where/", status=2).stderr
    (tmp_path / "file").write_text("")
    assert "is a file" in run(*asked, "--output", f"{tmp_path}/file/", status=2).stderr
    assert not (tmp_path / "t.ledger").exists()
    assert "Wrote" in run(*asked, "--output", f"{out}/").stderr
    assert [each.name for each in sorted(out.iterdir())] == [f"part-0000{i}.parquet" for i in range(3)]
    assert "is not empty" in run(*asked, "--output", str(out), "--force", status=2).stderr
    printed = run(*asked, "--format", "csv").stdout
    run(*asked, "--output", str(tmp_path / "out.csv"))
    assert (tmp_path / "out.csv").read_text() == printed
    assert printed.count("\n") == 16
    assert pd.read_parquet(out)["count"].tolist() == [int(line.split(",")[2]) for line in printed.splitlines()[1:]]
    (tmp_path / "t.toml").write_text(TOML.replace("t.csv", "out/*.parquet"))
    assert "part of the table" in run(*asked, "--output", str(out), "--force", status=2).stderr


def test_the_command_shows_its_progress_on_a_terminal(tmp_path, monkeypatch, small):
    """Where the clock goes on a second at each look at it, and standard error is a terminal."""
    from lapwing.cli import table as cli_table

    clock = iter(range(10**6))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    shown = []
    monkeypatch.setattr("rich.progress.Progress.start", lambda bar: shown.append(bar.tasks[0].description))
    made = source_of(tmp_path).release(lw.count(), by=["k", "m"], epsilon=1)
    cli_table._write(made, "parquet", str(tmp_path / "out.parquet"))
    assert set(shown) == {"writing"}
    assert pd.read_parquet(tmp_path / "out.parquet")["count"].tolist() == made.flat()["count"]
