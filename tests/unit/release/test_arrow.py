"""A release as other libraries and Python itself take it: Arrow's stream, len, loops and names."""

import gc
import subprocess
import sys
from datetime import date

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lapwing as lw
from lapwing import errors
from lapwing.release import result

pytestmark = pytest.mark.usefixtures("frozen_noise")

DAYS = (date(1850, 3, 4), date(2024, 1, 2))
FRAME = pd.DataFrame(
    {
        "ward": ["north", "south", "harbour"] * 400,
        "level": [1, 2] * 600,
        "day": [str(day) for day in DAYS] * 600,
        "old": [True, False] * 600,
        "cost": [10.5, 20.25] * 600,
    }
)
COLUMNS = {
    "ward": lw.keys("north", "south", "harbour"),
    "level": lw.keys(1, 2, other="rest"),
    "day": lw.keys(*DAYS),
    "old": lw.keys(False, True),
    "cost": lw.number(0, 100),
}
READERS = {
    "pyarrow": lambda answer: pa.table(answer).to_pydict(),
    "polars": lambda answer: pl.DataFrame(answer).to_dict(as_series=False),
    "pandas": lambda answer: pd.DataFrame.from_arrow(answer).to_dict("list"),
    "duckdb": lambda answer: pa.table(duckdb.sql("SELECT * FROM answer")).to_pydict(),
}


@pytest.fixture
def source(tmp_path):
    described = {"columns": COLUMNS, "epsilon": 100, "delta": "1e-4", "ledger": tmp_path / "t.ledger"}
    return lw.Source(FRAME, name="t", **described)


@pytest.mark.parametrize("reader", READERS)
def test_libraries_read_a_release_as_it_is(source, reader):
    answer = source.release(lw.count(), lw.mean("cost"), by=["ward", "day", "old"], epsilon=10)
    read = READERS[reader](answer)
    assert read == answer.flat()
    assert list(read) == [
        *("ward", "day", "old", "count", "count_low", "count_high"),
        *(f"mean_cost{end}" for end in ("", "_low", "_high")),
        "count_noise",
        "mean_cost_noise",
    ]
    assert read["day"][:3] == [DAYS[0], DAYS[0], DAYS[1]]


@pytest.mark.parametrize("reader", READERS)
def test_keys_of_two_kinds_are_texts(source, reader):
    answer = source.release(lw.count(), by="level", epsilon=10)
    assert READERS[reader](answer)["level"] == ["1", "2", "rest"]
    assert answer.to_polars()["level"].to_list() == answer.to_arrow()["level"].to_pylist() == ["1", "2", "rest"]


@pytest.mark.parametrize("reader", READERS)
def test_libraries_read_what_discover_found(source, reader):
    for name in ("ward", "day", "old", "level"):
        found = source.discover(name, epsilon=10, delta="1e-6")
        assert READERS[reader](found) == found.flat()
        assert len(found.flat()[name]) > 1
    none = source.discover("ward", epsilon="0.001", delta="1e-6")
    assert READERS[reader](none) == {"ward": [], "count": [], "count_low": [], "count_high": []}
    assert pa.table(none).schema.field("ward").type == pa.string()


def test_types_are_those_of_the_numbers(source):
    answer = source.release(lw.count(), lw.mean("cost"), by=["ward", "day", "old"], epsilon=10)
    types = {field.name: str(field.type) for field in pa.table(answer).schema}
    assert (types["ward"], types["day"], types["old"]) == ("string", "date32[day]", "bool")
    assert (types["count"], types["mean_cost_high"]) == ("int64", "double")


@pytest.mark.parametrize("reader", READERS)
def test_a_large_release_is_read_in_pieces_and_in_order(source, reader, monkeypatch):
    answer = source.release(lw.count(), by=["ward", "day", "old"], epsilon=10)
    whole = answer.flat()
    monkeypatch.setattr(result, "_PIECE_ROWS", 5)
    assert len(list(answer.pieces())) == 3
    assert READERS[reader](answer) == whole
    assert list(answer) == answer.rows


def test_more_rows_than_one_chunk_of_the_engine_keep_their_order(tmp_path):
    columns = {"a": lw.keys(range(300)), "b": lw.keys(range(300))}
    frame = pd.DataFrame({"a": [1], "b": [2]})
    source = lw.Source(frame, name="t", columns=columns, epsilon=1, ledger=tmp_path / "t.ledger")
    read = pa.table(source.release(lw.count(), by=["a", "b"], epsilon=1))
    assert (np.array(read["a"]) * 300 + np.array(read["b"])).tolist() == list(range(90_000))


def test_a_stream_outlives_what_made_it(source):
    capsule = source.release(lw.count(), by="ward", epsilon=1).__arrow_c_stream__()
    gc.collect()
    reader = pa.RecordBatchReader._import_from_c_capsule(capsule)
    gc.collect()
    assert reader.read_all()["ward"].to_pylist() == ["north", "south", "harbour"]
    assert source.release(lw.count(), by="ward", epsilon=1).__arrow_c_stream__(None) is not capsule


NASTY = ('a"; DROP TABLE released; --', "piece", "c0", "released", "SELECT", "größe 😀", "'", "{0}%s", "<script>")


@pytest.mark.parametrize("reader", READERS)
def test_hostile_names_and_keys_stay_what_they_are(tmp_path, reader):
    labels = (*NASTY, "tab\there")
    frame = pd.DataFrame({name: list(NASTY) for name in NASTY})
    source = lw.Source(
        frame, name="t", columns={name: lw.keys(labels) for name in NASTY}, epsilon=100, ledger=tmp_path / "t.ledger"
    )
    for name in NASTY:
        answer = source.release(lw.count(name=f"{name} of"), by=name, epsilon=1)
        read = READERS[reader](answer)
        assert list(read) == [name, f"{name} of", f"{name} of_low", f"{name} of_high", f"{name} of_noise"]
        assert read[name] == list(labels)
        assert answer[name].tolist() == list(labels)


def test_neither_the_import_nor_the_stream_needs_pyarrow(tmp_path):
    code = f"""
import sys
import duckdb, numpy as np
for name in ("pyarrow", "pandas", "polars"):
    sys.modules[name] = None
import lapwing as lw
relation = duckdb.sql("SELECT 'a' AS k")
source = lw.Source(relation, name="t", columns={{"k": lw.keys("a", "b")}}, epsilon=1, ledger={str(tmp_path / "l")!r})
answer = source.release(lw.count(), by="k", epsilon=1)
print(duckdb.sql("SELECT k, count - count AS zero FROM answer").fetchall())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[('a', 0), ('b', 0)]", done.stderr


def test_a_release_is_a_table_to_python(source):
    answer = source.release(lw.count(), lw.mean("cost"), by=["ward", "old"], epsilon=10)
    assert len(answer) == len(answer.rows) == 6
    assert list(answer) == answer.rows == answer.to_dict()["rows"]
    first = next(iter(answer))
    assert (first["ward"], first["old"], set(first["count"])) == ("north", False, {"value", "low", "high", "noise"})
    assert answer["count"].value.tolist() == answer.flat()["count"]
    assert answer["mean_cost"] is answer.estimates["mean_cost"]
    assert (answer["mean_cost"].low <= answer["mean_cost"].high).all()
    assert answer["count"].value[(answer["ward"] == "south") & answer["old"]].tolist() == [answer.flat()["count"][3]]
    assert "count" in answer
    assert "ward" in answer
    assert "north" not in answer
    assert len(source.release(lw.count(), epsilon=1)) == 1


def test_keys_keep_their_types(source):
    assert source.release(lw.count(), by="day", epsilon=1)["day"].tolist() == list(DAYS)
    assert source.release(lw.count(), by="level", epsilon=1)["level"].tolist() == [1, 2, "rest"]
    assert source.release(lw.count(), by="old", epsilon=1)["old"].dtype == bool


@pytest.mark.parametrize(
    "name", ["cuont", "count_low", 0, None, FRAME["ward"], slice(0, 2)], ids=lambda name: type(name).__name__
)
def test_an_unknown_name_is_refused(source, name):
    answer = source.release(lw.count(), by="ward", epsilon=1)
    with pytest.raises(errors.UnknownName, match=r"\(it has ward, count\)") as caught:
        answer[name]
    assert isinstance(caught.value, KeyError)
    assert "harbour" not in str(caught.value)
    if isinstance(name, str) and name == "cuont":
        assert str(caught.value).endswith('Did you mean "count"?')


def test_what_discover_found_is_a_table_to_python(source):
    found = source.discover("ward", epsilon=10, delta="1e-6")
    assert len(found) == len(found.keys) == 3
    assert list(found) == found.rows
    assert found["ward"].tolist() == list(found.keys)
    assert found["count"].value.tolist() == list(found.counts)
    assert (found["count"].low <= found["count"].high).all()
    assert "ward" in found
    with pytest.raises(errors.UnknownName, match="The discovery has nothing named"):
        found["wards"]


def test_an_older_duckdb_without_pyarrow_is_told(source, monkeypatch):
    class Old:
        def __getattr__(self, name):
            return lambda *_: self

        def __arrow_c_stream__(self, wanted):
            raise ModuleNotFoundError("pyarrow")

    answer = source.release(lw.count(), by="ward", epsilon=1)
    monkeypatch.setattr("lapwing.release.arrow.duckdb.connect", lambda _: Old())
    with pytest.raises(errors.MissingLibrary, match="pip install pyarrow"):
        answer.__arrow_c_stream__()
