"""CSVW and CSVW-EO metadata as a source file: what is known is declared, the rest is left to the owner or refused."""

from __future__ import annotations

import datetime as dt
import json
import os
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

import lapwing as lw
from lapwing import errors
from lapwing.cli.main import main
from lapwing.exports.csvw_eo import draft_of_metadata

from ...exported import Answers
from ...tables import decided

KEY = {"name": "k", "datatype": "string"}
PENGUINS = Path(__file__).parent / "data" / "penguins.json"


def written(folder, metadata, **more):
    """The source file of some metadata, read as TOML, and its draft."""
    path = folder / "birds.csv-metadata.json"
    path.write_text(metadata if isinstance(metadata, str) else json.dumps(metadata), encoding="utf-8")
    draft = draft_of_metadata(str(path), folder, **more)
    return tomllib.loads(decided(draft.text)), draft


def described(*columns, **more):
    return {"@context": "http://www.w3.org/ns/csvw", "tableSchema": {"columns": list(columns)}, **more}


def test_person_bounds_keys_bins_and_dates_are_those_of_the_metadata(tmp_path):
    draft = draft_of_metadata(str(PENGUINS), tmp_path)
    assert tomllib.loads(decided(draft.text)) == {
        "name": "penguins",
        "person": "penguin",
        "rows_per_person": 3,
        "epsilon": 1,
        "columns": {
            "species": {"keys": ["Adelie", "Chinstrap", "Gentoo"]},
            "island": {"keys": ["Biscoe", "Dream"]},
            "bill": {"low": 30.5, "high": 60, "edges": [30, 40, 60]},
            "depth": {"low": 0.1, "high": 21.5},
            "mass": {"low": 2700, "high": 6300, "integer": True},
            "wild": {"keys": [False, True]},
            "seen": {"type": "date", "first": "2025-01-02", "last": "2025-12-30"},
            "ring": {"low": 0, "high": 5, "integer": True, "keys": [0, 1, 2]},
        },
    }
    assert "# table = ?" in draft.text
    assert "# wing = { low = ?, high = ?, integer = true }" in draft.text
    assert "# nest = { keys = [?] }" in draft.text
    assert '# neighbors = "change_one"' in draft.text
    assert "To be filled in: wing, nest." in draft.recognised
    assert any("ColumnGroup" in line for line in draft.recognised)
    assert "never from the data" in draft.text


def test_the_command_writes_a_source_that_can_be_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "birds.csv").write_text("p;k;Mass (kg)\n1;a;3,5\n2;b;NA\n")
    metadata = described(
        {"name": "p", "datatype": "integer", "privacyId": True},
        {"name": "k", "datatype": "string", "keyValues": ["a", "b"], "dc:title": "Kind"},
        {"name": "m", "titles": "Mass (kg)", "datatype": {"base": "decimal", "minimum": "0", "maximum": "10"},
         "null": ["NA", ""], "schema:unitText": "kg"},
        url="birds.csv", maxContributions=1, dialect={"delimiter": ";", "encoding": "UTF-8"},
    )  # fmt: skip
    (tmp_path / "data" / "birds.csv-metadata.json").write_text(json.dumps(metadata))
    done = CliRunner().invoke(main, ["init", "data/birds.csv-metadata.json"])
    assert done.exit_code == 0, done.output
    assert "Wrote birds.toml" in done.output
    place = tmp_path / "birds.toml"
    place.write_text(decided(place.read_text()))
    source = tomllib.loads(place.read_text())
    assert source["table"] == "data/birds.csv"
    assert source["file"] == {"delimiter": ";", "encoding": "utf-8", "missing": ["NA"]}
    assert source["columns"]["Mass (kg)"] == {"low": 0, "high": 10, "unit": "kg"}
    opened = lw.Source.open("birds.toml")
    assert opened.schema.person == "p"
    assert opened.schema.columns["k"].title == "Kind"
    assert opened.plan('SELECT k, SUM("Mass (kg)") FROM birds GROUP BY k', epsilon=1).groups == 2
    again = CliRunner().invoke(main, ["init", "data/birds.csv-metadata.json"])
    assert (again.exit_code, "birds.toml exists" in again.output) == (2, True)
    told = CliRunner().invoke(main, ["init", "data/birds.csv-metadata.json", "--delimiter", ",", "--force"])
    assert (told.exit_code, "The metadata says" in told.output) == (2, True)


@pytest.mark.usefixtures("frozen_noise")
def test_the_metadata_of_a_package_makes_a_source_for_a_table_like_the_one_behind_it(tmp_path):
    made = Answers(tmp_path)
    made["table"].package(tmp_path / "a", only="csvw")
    draft = draft_of_metadata(str(tmp_path / "a" / "data.csv-metadata.json"), tmp_path)
    source = tomllib.loads(decided(draft.text))
    assert (source["name"], source["person"], source["rows_per_person"]) == ("visits", "p", 2)
    assert "table" not in source
    assert source["columns"] == {
        "sex": {"keys": ["F", "M"], "title": "Sex"},
        "age": {"low": 0, "high": 120, "integer": True, "edges": [0, 18, 120], "unit": "years"},
        "ok": {"keys": [False, True]},
        "pay": {"low": 0, "high": 40, "title": "Pay", "unit": "euro/hour"},
    }
    assert "The metadata is of a release" in draft.recognised[0]
    made["hostile"].package(tmp_path / "b", only="csvw")
    draft = draft_of_metadata(str(tmp_path / "b" / "data.csv-metadata.json"), tmp_path)
    assert list(tomllib.loads(decided(draft.text))["columns"]) == ["=key", "x"]


@pytest.mark.usefixtures("frozen_noise")
def test_codes_for_missing_are_the_same_after_a_package_and_init(tmp_path):
    (tmp_path / "t.csv").write_text("x,k,i,d,b\n1,a,1,2020-01-01,1\nNA,9,9,1900-01-01,99\n")
    columns = {
        "x": lw.number(0, 10, missing=[99, "99.5"]),
        "k": lw.keys("a", "b", missing=["9", ""]),
        "i": lw.keys(1, 2, missing=[9]),
        "d": lw.dates("2020-01-01", "2020-12-31", missing=[dt.date(1900, 1, 1)]),
        "b": lw.number(0, 10, edges=[0, 5, 10], missing=[99]),
    }
    asked = lw.Source(
        str(tmp_path / "t.csv"), name="t", columns=columns, epsilon=9, ledger=str(tmp_path / "t.ledger"),
        file=lw.file(missing=["NA", "-"]),
    )  # fmt: skip
    sql = "SELECT k, i, b, AVG(x) FROM t WHERE d >= '2020-02-01' GROUP BY k, i, b"
    asked.release(sql, epsilon=1).package(tmp_path / "a", only="csvw")
    draft = draft_of_metadata(str(tmp_path / "a" / "data.csv-metadata.json"), tmp_path)
    (tmp_path / "again.toml").write_text(decided(draft.text).replace("# table = ?", 'table = "t.csv" #'))
    again = lw.Source.open(tmp_path / "again.toml").schema
    assert {name: each.missing for name, each in again.columns.items()} == {
        name: each.missing for name, each in asked.schema.columns.items()
    }
    assert again.file.missing == asked.schema.file.missing == ("-", "NA")


def test_codes_of_a_column_are_its_own_and_texts_that_are_no_values_are_missing_in_the_file(tmp_path):
    columns = (
        {"name": "x", "datatype": "integer", "minimum": 0, "maximum": 9, "null": ["99", "NA", "-"]},
        {"name": "k", "datatype": "string", "null": "NA"},
        {"name": "d", "datatype": "date", "null": ["1900-01-01", "never"]},
        {"name": "o", "datatype": "boolean", "null": "99"},
    )
    source, draft = written(tmp_path, described(*columns, null="."))
    assert source["columns"]["x"] == {"low": 0, "high": 9, "integer": True, "missing": [99]}
    assert '# k = { keys = [?], missing = ["NA"] }' in draft.text
    assert source["columns"]["d"] == {"type": "date", "missing": [dt.date(1900, 1, 1)]}
    assert sorted(source["file"]["missing"]) == ["-", ".", "99", "NA", "never"]


def test_names_with_prefixes_are_the_same_terms_and_recommendations_are_none(tmp_path):
    metadata = described(
        {"name": "x", "datatype": "double", "csvw:minimum": {"@value": 1}, "maximum": 2},
        {"name": "k", "datatype": "string", "https://w3id.org/csvw-eo#keyValues": [{"@value": "a"}]},
        **{"csvw-eo:public.privacyUnit": "p", "csvw-eo:rec.maxContributions": 9},
    )
    source, draft = written(tmp_path, metadata)
    assert source["columns"] == {"x": {"low": 1, "high": 2}, "k": {"keys": ["a"]}}
    assert source["person"] == "p"
    assert "rows_per_person" not in source
    assert "# rows_per_person = ?" in draft.text


def test_bounds_are_read_as_they_are_written(tmp_path):
    text = json.dumps(described({"name": "x", "datatype": "decimal", "minimum": 1, "maximum": 2}))
    source, draft = written(tmp_path, text.replace('"maximum": 2', '"maximum": 2.30000000000000000001'))
    assert 'high = "230000000000000000001/100000000000000000000"' in draft.text
    for hostile in ("1e999999999", "NaN", "Infinity", '"x"', "true", "[1]"):
        source, draft = written(tmp_path, text.replace('"maximum": 2', f'"maximum": {hostile}'))
        assert source["columns"] == {}
        assert "# x = { low = ?, high = ? }" in draft.text


HOSTILE = ['a"b', "a\nb = 1", "]\n[columns.evil]", "\u202ex", "=1+1", "a.b", "x" * 5000, "'''", '"""', "# c", "\r"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_stay_texts(tmp_path, text):
    columns = (
        {"name": text, "datatype": "string", "keyValues": [text, "b"], "dc:description": text, "schema:unitText": text},
        {"name": f"n{text}", "datatype": "double", "minimum": 0, "maximum": 1},
        {"name": f"u{text}", "datatype": text},
    )
    source, draft = written(
        tmp_path, described(*columns, privacyUnit=f"p{text}", null=[text], dialect={"quoteChar": text})
    )
    assert source["person"] == f"p{text}"
    assert source["columns"][text]["keys"] == [text, "b"]
    assert source["columns"][f"n{text}"] == {"low": 0, "high": 1}
    assert set(source) <= {"name", "person", "epsilon", "columns", "file"}
    assert len(draft.columns) == 3


def test_what_cannot_be_declared_is_a_comment_with_the_reason(tmp_path):
    columns = (
        {"name": "x", "datatype": "integer", "minimum": 0, "maximum": 10**40},
        {"name": "X", "datatype": "double", "minimum": 0, "maximum": 1},
        {"name": "k", "datatype": "string", "keyValues": ["a", "b"], "exhaustiveKeys": False},
        {"name": "d", "datatype": "date", "minimum": "soon", "maximum": "later"},
        {"name": "t", "datatype": "duration"},
    )
    source, draft = written(tmp_path, described(*columns))
    assert source["columns"] == {"k": {"keys": ["a", "b"]}}
    lines = draft.text.splitlines()
    assert any(line.startswith("# x = {") and "is refused" in line for line in lines)
    assert any(line.startswith("# X cannot be declared: another column") for line in lines)
    assert any(line.startswith("k = {") and "not all keys are listed" in line for line in lines)
    assert any(line.startswith("# d = {") and "is refused" in line for line in lines)
    assert '# t = { type = "text" }' in lines
    assert "person = ?" in lines


def test_some_columns_can_be_chosen(tmp_path):
    metadata = described({"name": "a", "datatype": "boolean"}, {"name": "b", "datatype": "boolean"})
    source, _ = written(tmp_path, metadata, chosen=["b"])
    assert list(source["columns"]) == ["b"]
    with pytest.raises(errors.InvalidSource, match='has no column "c"'):
        written(tmp_path, metadata, chosen=["c"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "nested more than 50 levels deep"),
        ("[]", "no CSVW metadata"),
        ('{"a": 1}', "no CSVW metadata"),
        ('{"tableSchema": {"columns": 3}}', "no CSVW metadata"),
        ('{"tables": [{}, {}]}', "describes 2 tables"),
    ],
)
def test_what_is_no_metadata_is_refused(tmp_path, text, said):
    with pytest.raises(errors.InvalidSource, match=said):
        written(tmp_path, text)


@pytest.mark.parametrize(
    "url",
    ["../../x", "/etc/passwd", "http://example.org/x.csv", "file:/etc/passwd", "postgresql:x", "a/../../x.csv",
     "~/x.csv", "..\\x.csv", "link/x.csv", ".", "..", "x\n.csv", "//host/x.csv", "/" + "x" * 3000],
)  # fmt: skip
def test_a_table_outside_of_the_folder_of_the_metadata_is_a_comment_with_the_reason(tmp_path, url):
    folder = tmp_path / "from elsewhere"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    source, draft = written(folder, described(KEY, url=url))
    assert "table" not in source
    [line] = [line for line in draft.text.splitlines() if line.startswith("# table = ?")]
    assert "which is not in its folder: check it" in line
    assert len(line) < 300


@pytest.mark.parametrize("url", ["x.csv", "a/x.csv", "a/../x.csv", "./x.csv", "a b.csv", "x[1].csv"])
def test_a_table_in_the_folder_of_the_metadata_is_taken(tmp_path, url):
    source, _ = written(tmp_path, described(KEY, url=url))
    assert source["table"] == os.path.normpath(url)


NESTED = "[" * 900 + "]" * 900


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        (json.dumps(described({**KEY, "keyValues": [0]})).replace("[0]", NESTED), "nested more than 50 levels deep"),
        (json.dumps(described({**KEY, "titles": [0]})).replace("[0]", NESTED), "nested more than 50 levels deep"),
        (json.dumps(described(KEY, more=[0])).replace("[0]", '{"a":' * 900 + "0" + "}" * 900), "nested more than 50"),
        (described({**KEY, "partitions": 5}), 'has partitions of "k" that are not a list'),
        (described({"name": "x", "datatype": "double", "partitions": 5}), 'has partitions of "x" that are not a list'),
        (described({**KEY, "publicPartitions": True}), 'has partitions of "k" that are not a list'),
        (described(KEY, null=5), "has a null that is not a text"),
        (described({**KEY, "null": ["NA", 5]}), "has a null that is not a text"),
        (described({**KEY, "null": {"a": 1}}), "has a null that is not a text"),
        (described({**KEY, "name": "k\ud800"}), "has a text that is not Unicode"),
        (described(KEY, privacyUnit="p\ud800"), "has a text that is not Unicode"),
        (described(KEY, **{"\udfff": 1}), "has a text that is not Unicode"),
    ],
)
def test_odd_json_is_refused_in_one_sentence(tmp_path, monkeypatch, metadata, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.json").write_text(metadata if isinstance(metadata, str) else json.dumps(metadata))
    done = CliRunner().invoke(main, ["init", "m.json"])
    assert (done.exit_code, type(done.exception)) == (2, SystemExit), done.output
    assert done.output.startswith('lapwing: Source "m.json" ')
    assert said in done.output
    assert not (tmp_path / "m.toml").exists()


def test_a_partition_alone_needs_no_list(tmp_path):
    parts = {"predicate": {"lowerBound": 0, "upperBound": 9}}
    source, _ = written(tmp_path, described({"name": "x", "datatype": "double", "partitions": parts}))
    assert source["columns"] == {"x": {"edges": [0, 9]}}


def test_one_table_of_a_group_is_taken_and_a_file_without_a_header_has_names(tmp_path):
    table = {"url": "x.csv", "tableSchema": {"columns": [{"name": "a", "datatype": "boolean"}]}}
    source, _ = written(
        tmp_path, {"@context": "http://www.w3.org/ns/csvw", "tables": [table], "dialect": {"header": False}}
    )
    assert source["table"] == "x.csv"
    assert source["file"] == {"header": False, "names": ["a"]}
