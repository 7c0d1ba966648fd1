"""A package: every file has the same numbers and the metadata, hostile texts stay texts, and the folder is whole."""

from __future__ import annotations

import csv
import datetime as dt
import hashlib
import json
import re
import zipfile
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from pathlib import Path

import duckdb
import openpyxl
import pytest
import python_calamine
import yaml

import lapwing as lw
from lapwing import errors
from lapwing.exports import package as packaging
from lapwing.exports.flags import NOISE_CODES, obs_status
from lapwing.exports.package import FORMATS, README, names_of
from lapwing.exports.texts import shielded, yaml_scalar
from lapwing.release.result import Release

from ...exported import ANSWERS, HOSTILE, Answers, hostile, source

pytestmark = pytest.mark.usefixtures("frozen_noise")


@pytest.fixture
def made(tmp_path):
    return Answers(tmp_path)


def cell(value):
    """A cell of CSV as it was meant, but for its type."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def same(found, due):
    return found == due or float(found) == float(due)


def with_fewer_digits(answer):
    """Return the columns as files for people have them: three digits beyond the first of the margin, bars outward."""
    flat = answer.flat()
    stays = answer.adding_up if isinstance(answer, Release) else ()
    for name in answer.estimates:
        ends = [f"{name}{ending}" for ending in ("", "_low", "_high")]
        for i, (value, low, high) in enumerate(zip(*(answer.flat()[end] for end in ends), strict=True)):
            if value is None or low is None or isinstance(value, int) or flat[f"{name}_noise"][i] == "no bar":
                continue
            step = Decimal(10) ** min(Decimal((high - low) / 2).adjusted() - 3, 0)
            modes = ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING
            for end, number, mode in zip(ends, (value, low, high), modes, strict=True):
                if end not in stays:
                    flat[end][i] = float(Decimal(number).quantize(step, rounding=mode))
    return flat


@pytest.mark.parametrize("name", ANSWERS)
def test_every_kind_of_answer_makes_a_whole_package_with_the_same_numbers_in_each_file(made, tmp_path, name):
    answer, folder = made[name], tmp_path / "package"
    assert answer.package(folder) == sorted(names_of())
    assert sorted(each.name for each in folder.iterdir()) == sorted(names_of())
    flat, shorter = answer.flat(), with_fewer_digits(answer)
    rows, short = (list(zip(*each.values(), strict=True)) for each in (flat, shorter))
    in_csv(folder, flat, short)
    in_parquet(folder, flat, rows, answer)
    in_sdmx(folder, answer, shorter)
    in_workbook(folder, flat, short)
    in_metadata(folder, flat, answer)


def in_csv(folder, flat, rows):
    with (folder / "data.csv").open(newline="", encoding="utf-8") as file:
        head, *found = csv.reader(file)
    assert head == list(flat)
    assert all(same(a, cell(b)) for x, y in zip(found, rows, strict=True) for a, b in zip(x, y, strict=True))


def in_parquet(folder, flat, rows, answer):
    place = folder / "data.parquet"
    with duckdb.connect() as connection:
        relation = connection.sql(f"SELECT * FROM '{place}'")
        assert relation.columns == list(flat)
        found = relation.fetchall()
        metadata = connection.sql(f"SELECT value FROM parquet_kv_metadata('{place}') WHERE key = 'lapwing'")
        [[told]] = metadata.fetchall()
    due = [tuple(str(each) if isinstance(each, dt.date) else each for each in row) for row in rows]
    assert [tuple(map(cell, row)) for row in found] == [tuple(map(cell, row)) for row in due]
    facts = json.loads(told)
    release = answer if isinstance(answer, Release) else answer.release
    assert facts["epsilon"] == release.to_dict()["epsilon"]
    assert facts["notes"] == list(answer.notes)
    assert [each["name"] for each in facts["columns"]] == list(flat)


def in_sdmx(folder, answer, flat):
    structure = json.loads((folder / "data.sdmx-structure.json").read_text())
    lists = {each["id"]: each for each in structure["data"]["codelists"]}
    [parts] = structure["data"]["dataStructures"]
    parts = parts["dataStructureComponents"]
    with (folder / "data.sdmx.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = list(answer.estimates)
    assert len(rows) == len(answer) * len(names)
    for name, place in zip(names, range(len(names)), strict=True):
        values = [None if each["OBS_VALUE"] == "" else float(each["OBS_VALUE"]) for each in rows[place :: len(names)]]
        assert values == flat[name]
        lows = [None if each["OBS_LOW"] == "" else float(each["OBS_LOW"]) for each in rows[place :: len(names)]]
        assert lows == flat[f"{name}_low"]
        marks = [each["NOISE"] for each in rows[place :: len(names)]]
        assert marks == [NOISE_CODES[mark] for mark in answer.noise_marks[name]]
    dimensions = [each["id"] for each in parts["dimensionList"]["dimensions"]]
    attributes = [each["id"] for each in parts["attributeList"]["attributes"]]
    assert list(rows[0]) == ["STRUCTURE", "STRUCTURE_ID", "ACTION", *dimensions, "OBS_VALUE", *attributes]
    for each in (*parts["dimensionList"]["dimensions"], *parts["attributeList"]["attributes"]):
        coded = each["localRepresentation"].get("enumeration")
        if coded is not None:
            known = {code["id"] for code in lists[re.search(r":(\w+)\(", coded)[1]]["codes"]}
            assert {row[each["id"]] for row in rows} <= known
    assert len({tuple(row[each] for each in dimensions) for row in rows}) == len(rows)


def in_workbook(folder, flat, rows):
    sheet = openpyxl.load_workbook(folder / "data.xlsx")["data"]
    head, *found = sheet.iter_rows()
    assert [each.value for each in head] == list(flat)
    assert all(each.data_type != "f" for row in sheet.iter_rows() for each in row)
    numbers = [i for i, column in enumerate(flat.values()) if any(isinstance(each, int | float) for each in column)]
    for shown, row in zip(found, rows, strict=True):
        assert [shown[i].value for i in numbers] == [row[i] for i in numbers]
    read = python_calamine.CalamineWorkbook.from_path(folder / "data.xlsx").get_sheet_by_name("data").to_python()
    assert len(read) == len(rows) + 1


def in_metadata(folder, flat, answer):
    csvw = json.loads((folder / "data.csv-metadata.json").read_text())
    assert [each["titles"] for each in csvw["tableSchema"]["columns"]] == [[name] for name in flat]
    described = json.loads((folder / "datapackage.json").read_text())
    table = described["resources"][0]
    assert [each["name"] for each in table["schema"]["fields"]] == list(flat)
    assert table["hash"] == f"sha256:{hashlib.sha256((folder / 'data.csv').read_bytes()).hexdigest()}"
    facts = {each["schema:name"]: each["schema:value"] for each in csvw["schema:additionalProperty"]}
    for name in ("epsilon", "privacy_unit", "neighbors", "confidence", "question"):
        assert facts[name] == described["lapwing"][name]
    record = yaml.safe_load((folder / "registry.yaml").read_text())["deployment"]
    assert record["privacy_loss"]["privacy_parameters"] == {"epsilon": float(described["lapwing"]["epsilon"])}
    readme = (folder / README).read_text()
    for name in names_of():
        if name != README:
            assert f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}" in readme
    assert answer.to_html().encode() == (folder / "report.html").read_bytes()


def test_keys_labels_units_bins_and_dates_are_described(made, tmp_path):
    made["table"].package(tmp_path / "a")
    fields = json.loads((tmp_path / "a" / "datapackage.json").read_text())["resources"][0]["schema"]["fields"]
    known = {each["name"]: each for each in fields}
    assert known["sex"]["constraints"] == {"required": True, "enum": ["F", "M", "rest"]}
    assert known["sex_label"]["lapwing"] == {"role": "label", "of": "sex"}
    assert known["age"]["constraints"]["enum"] == ["[0, 18)", "[18, 120]"]
    assert known["ok"]["type"] == "boolean"
    assert known["n"]["type"] == known["n_low"]["type"] == "integer"
    assert (known["mean_pay"]["type"], known["mean_pay"]["lapwing"]["unit"]) == ("number", "euro/hour")
    assert known["mean_pay_low"]["description"] == "lower end of the 95 % error bar of mean_pay"
    made["days"].package(tmp_path / "b")
    assert json.loads((tmp_path / "b" / "datapackage.json").read_text())["resources"][0]["schema"]["fields"][0] == {
        "name": "day",
        "type": "date",
        "description": "key of the group",
        "constraints": {"required": True, "enum": ["2020-01-01", "2021-07-01"]},
        "lapwing": {"role": "key", "of": "day"},
    }
    sheet = openpyxl.load_workbook(tmp_path / "b" / "data.xlsx")["data"]
    assert sheet["A2"].value == dt.datetime(2020, 1, 1)
    assert sheet["A2"].number_format == r"yyyy\-mm\-dd"


def test_totals_are_empty_in_tables_and_have_the_code_of_totals_in_sdmx(made, tmp_path):
    made["cube"].package(tmp_path / "a")
    with (tmp_path / "a" / "data.sdmx.csv").open() as file:
        first = next(csv.DictReader(file))
    assert (first["SEX"], first["AGE"]) == ("_T", "_T")
    described = json.loads((tmp_path / "a" / "datapackage.json").read_text())
    assert "primaryKey" not in described["resources"][0]["schema"]
    sheet = openpyxl.load_workbook(tmp_path / "a" / "data.xlsx")["data"]
    assert sheet["A2"].value is None


@pytest.mark.parametrize(
    ("mark", "missing", "suppressed", "fitted", "flag"),
    [
        ("low", False, False, False, "A"),
        ("low", False, True, True, "E"),
        ("medium", False, False, True, "U"),
        ("high", False, False, False, "U"),
        ("no information", False, False, False, "U"),
        ("no bar", False, False, False, "E"),
        ("high", True, True, False, "Q"),
        ("no information", True, True, False, "Q"),
        ("no information", True, False, False, "O"),
    ],
)
def test_each_mark_of_noise_has_its_flag(mark, missing, suppressed, fitted, flag):
    assert obs_status(mark, missing=missing, suppressed=suppressed, fitted=fitted) == flag


def test_flags_of_suppressed_and_fitted_numbers(made, tmp_path):
    for name, flags in (("noisy", {"A", "Q", "U"}), ("clipped", {"E", "U"}), ("no bars", {"E"})):
        made[name].package(tmp_path / name, only="sdmx")
        with (tmp_path / name / "data.sdmx.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert {row["OBS_STATUS"] for row in rows} <= flags, name
        assert {row["CONF_STATUS"] for row in rows} == {"F"}
        assert all((row["OBS_VALUE"] == "") == (row["OBS_STATUS"] == "Q") for row in rows)


# --- texts that others wrote ---


def test_hostile_texts_are_read_back_as_they_were(made, tmp_path):
    made["hostile"].package(tmp_path / "a")
    with (tmp_path / "a" / "data.csv").open(newline="", encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    assert [tuple(row[:2]) for row in rows] == list(HOSTILE.items())
    book = python_calamine.CalamineWorkbook.from_path(tmp_path / "a" / "data.xlsx").get_sheet_by_name("data")
    read = book.to_python()
    assert [row[0].replace("_x000D_", "\r").replace("_x005F_", "_") for row in read[1:]] == list(HOSTILE)
    assert read[0][0] == "=key"
    page = (tmp_path / "a" / "report.html").read_text()
    assert "<script>alert" not in page
    record = (tmp_path / "a" / "registry.yaml").read_text()
    assert yaml.safe_load(record)["deployment"]["basic"]["name"] == "`` <b>=x</b> `y` ${z} ``"
    assert "\u202e" not in record
    for name in ("data.csv-metadata.json", "datapackage.json", "data.sdmx-structure.json"):
        assert (tmp_path / "a" / name).read_text().isascii()
    codes = json.loads((tmp_path / "a" / "data.sdmx-structure.json").read_text())["data"]["codelists"][0]["codes"]
    assert all(re.fullmatch(r"[A-Za-z0-9_@$\-]+", each["id"]) for each in codes)
    assert codes[0] == {"id": "K1", "name": "HYPERLINK(1)", "description": "=1+1"}


def test_no_cell_of_a_safe_csv_begins_like_a_formula_and_an_apostrophe_brings_the_text_back(made, tmp_path):
    made["hostile"].package(tmp_path / "a", safe_csv=True)
    with (tmp_path / "a" / "data.csv").open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    for text in (*head, *(text for row in rows for text in row[:2])):
        assert text[0] not in "=+-@\t\r\n"
    assert [unshielded(row[0]) for row in rows] == list(HOSTILE)
    described = json.loads((tmp_path / "a" / "datapackage.json").read_text())["resources"][0]["schema"]["fields"]
    assert [each["name"] for each in described] == head
    assert described[0]["constraints"]["enum"] == [row[0] for row in rows]
    assert "apostrophe" in (tmp_path / "a" / README).read_text()


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_no_cell_of_a_safe_csv_is_a_formula_whatever_a_spreadsheet_takes_for_the_separator(made, tmp_path, delimiter):
    made["hostile"].package(tmp_path / "a", safe_csv=True, only="csv")
    for quotechar in ('"', "\0"):  # without quotes, every line break begins a cell
        with (tmp_path / "a" / "data.csv").open(newline="", encoding="utf-8") as file:
            cells = [cell for row in csv.reader(file, delimiter=delimiter, quotechar=quotechar) for cell in row]
        texts = [cell for cell in cells if not re.fullmatch(r"-?[\d.]+", cell)]
        assert not [cell for cell in texts if cell.lstrip('"').startswith(("=", "+", "-", "@"))]


def test_a_plain_csv_with_formulas_says_so(made, tmp_path):
    made["hostile"].package(tmp_path / "a")
    assert "open data.xlsx instead" in (tmp_path / "a" / README).read_text()
    made["table"].package(tmp_path / "b")
    assert "open data.xlsx instead" not in (tmp_path / "b" / README).read_text()


def test_a_readme_names_no_workbook_that_was_not_written(made, tmp_path):
    made["hostile"].package(tmp_path / "a", only="csv")
    readme = (tmp_path / "a" / README).read_text()
    assert "data.xlsx" not in readme
    assert "import all columns as text" in readme


def unshielded(text):
    """The text as it was, as the how-to page says it."""
    return re.sub(r"(\A|(?<=[;\t\r\n]))'", "", text)


@pytest.mark.parametrize(
    "text",
    ["", "a", "=1", "'x", "''", "\tx", "-", "x;=1+1", "x;'=1", ";;-", 'x;"=1"', "x\n@y", "x\r\n+y", "x\t=1", ";'",
     "\t'", 'x;"\'=1', "a;b"],
)  # fmt: skip
def test_the_shield_can_be_taken_off(text):
    found = shielded(text)
    assert unshielded(found) == text
    assert not found.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert not re.search(r'[;\t\r\n]"*[=+\-@]', found)


@pytest.mark.parametrize("text", ["a: b # c", '"', "\\n", "\x7f\x85\u2028\ufeff\U0001f600", "- x", "\r\n\t", "é\u202e"])
def test_texts_in_yaml_are_read_back(text):
    assert yaml.safe_load(f"a: {yaml_scalar(text)}") == {"a": text}


def test_a_carriage_return_in_a_key_does_not_end_its_row(tmp_path):
    rows = list(
        csv.reader(hostile(tmp_path).release(lw.count(), by="=key", epsilon=1).to_csv().splitlines(keepends=True))
    )
    assert len(rows) == len(HOSTILE) + 1


def test_nothing_of_the_rows_is_in_a_package(tmp_path):
    import pandas as pd

    secret = "canary-7391"
    frame = pd.DataFrame({"p": [secret] * 3 + ["b"], "k": ["x", secret, "x", "y"], "v": [7391.25, 1, 2, 3]})
    asked = lw.Source(
        frame, name="t", person="p", rows_per_person=1, epsilon=9, ledger=str(tmp_path / "t.ledger"),
        columns={"k": lw.keys("x", "y"), "v": lw.number(0, 10)},
    )  # fmt: skip
    asked.release(lw.count(), lw.mean("v"), by="k", epsilon=1).package(tmp_path / "a")
    for file in (tmp_path / "a").iterdir():
        content = file.read_bytes()
        assert b"canary" not in content
        assert b"7391.25" not in content


# --- what is written ---


@pytest.mark.parametrize("name", ANSWERS)
def test_the_readme_says_what_each_column_is(made, tmp_path, name):
    made[name].package(tmp_path / "a", only=["csv", "sdmx"])
    lines = (tmp_path / "a" / README).read_text().splitlines()
    start = lines.index("Columns of data.csv") + 1
    listed = lines[start : lines.index("", start)]
    heads = list(made[name].flat())
    assert len(listed) == len(heads)
    assert all(re.match(rf"  {re.escape(head)} *  \S", line) for head, line in zip(heads, listed, strict=True))
    if name == "table":
        assert "  sex             key of the group; Sex" in listed
        assert '  mean_pay        AVG("pay"), released with noise; Pay; in euro/hour' in listed
        assert "  n_high          upper end of the 95 % error bar of n" in listed
        assert "  mean_pay_low    lower end of the 95 % error bar of mean_pay; in euro/hour" in listed
        assert "  n_noise         noise of n, from its 95 % error bar" in listed
        assert "low up to 16.5 %" in "".join(lines)
    made[name].package(tmp_path / "b", only="sdmx")
    assert "Columns of" not in (tmp_path / "b" / README).read_text()


def test_a_difference_has_the_unit_of_its_numbers_and_a_ratio_none(made, tmp_path):
    units = {}
    table = made["table"]
    compared = {
        "difference": table.difference(by="sex", of="F", to="M"), "ratio": table.ratio(by="sex", of="F", to="M"),
        "total": table.total(over="sex"),
    }  # fmt: skip
    for name, answer in compared.items():
        answer.package(tmp_path / name, only=["sdmx", "datapackage"])
        with (tmp_path / name / "data.sdmx.csv").open(newline="") as file:
            units[name] = {row["INDICATOR"]: row["UNIT_MEASURE"] for row in csv.DictReader(file)}
        structure = json.loads((tmp_path / name / "data.sdmx-structure.json").read_text())["data"]
        [known] = [each["codes"] for each in structure["codelists"] if each["id"].endswith("UNIT_MEASURE")]
        assert {each["id"] for each in known} >= set(units[name].values())
    assert units["difference"] == {"n": "_Z", "mean_pay": "euro_hour", "sum_pay": "euro_hour"}
    assert units["total"]["sum_pay"] == "euro_hour"
    assert set(units["ratio"].values()) == {"_Z"}
    fields = json.loads((tmp_path / "difference" / "datapackage.json").read_text())["resources"][0]["schema"]["fields"]
    assert {each["lapwing"].get("unit") for each in fields if each["name"] == "mean_pay_low"} == {"euro/hour"}
    assert {each["unit"] for each in compared["difference"].to_dict()["columns"] if each["name"] == "mean_pay"} == {
        "euro/hour"
    }


def test_a_comparison_has_other_identifiers_than_its_release_and_other_comparisons(made, tmp_path):
    table = made["table"]
    long = source(tmp_path, name="x" * 90, ledger=str(tmp_path / "long.ledger")).release(
        lw.count(), by="sex", epsilon=1
    )
    answers = (
        table, table.difference(by="sex", of="F", to="M"), table.difference(by="sex", of="M", to="F"), table.share(),
        long, long.share(),
    )  # fmt: skip
    found = []
    for number, answer in enumerate(answers):
        folder = tmp_path / str(number)
        answer.package(folder, only=["sdmx", "datapackage", "registry"])
        structure = json.loads((folder / "data.sdmx-structure.json").read_text())
        flow = structure["data"]["dataflows"][0]["id"]
        assert f"LAPWING:{flow}(1.0.0)" in (folder / "data.sdmx.csv").read_text()
        name = json.loads((folder / "datapackage.json").read_text())["name"]
        found.append((flow, name, yaml.safe_load((folder / "registry.yaml").read_text())["url_slug"]))
    assert found[0] == ("VISITS_2", "visits-2", "visits_2")
    assert all(len(set(each)) == len(answers) for each in zip(*found, strict=True))
    assert re.fullmatch(r"VISITS_2_COMPARED_[0-9A-F]{8}", found[1][0])


def test_advice_for_the_owner_of_the_source_is_in_no_file(made, tmp_path):
    answer = made["days"]
    assert "declares other" in str(answer.plan)
    for each in (answer, answer.difference(by="k", of=0, to=1)):
        each.package(tmp_path / "a", force=True)
        for file in (tmp_path / "a").iterdir():
            content = file.read_bytes()
            if file.name == "data.xlsx":
                with zipfile.ZipFile(file) as book:
                    content = b"".join(map(book.read, book.namelist()))
            assert b"declares other" not in content, file.name
        assert "is not one of 2 keys are not counted." in (tmp_path / "a" / README).read_text()


def test_some_formats_are_written_with_what_they_need(made, tmp_path):
    assert made["plain"].package(tmp_path / "a", only=["xlsx"]) == [README, "data.xlsx"]
    assert made["plain"].package(tmp_path / "b", only="csvw") == [README, "data.csv", "data.csv-metadata.json"]
    with pytest.raises(errors.InvalidParameter, match="one of csv, parquet, sdmx"):
        made["plain"].package(tmp_path / "c", only="ods")
    assert set(FORMATS) == {"csv", "parquet", "sdmx", "csvw", "xlsx", "html", "registry", "datapackage"}


def test_more_groups_than_a_sheet_holds_are_left_out_or_refused(made, tmp_path, monkeypatch):
    monkeypatch.setattr(packaging, "MOST_ROWS", 3)
    assert "data.xlsx" not in made["table"].package(tmp_path / "a")
    with pytest.raises(errors.InvalidRequest, match="A sheet of Excel holds 3 groups"):
        made["table"].package(tmp_path / "b", only="xlsx")


def test_an_answer_without_noise_has_no_record_for_the_registry(tmp_path):
    public = source(tmp_path, neighbors="change_one", person=None, rows_per_person=None, public_rows=True)
    answer = public.release(lw.count(), epsilon=1)
    assert answer.entry is None
    assert "registry.yaml" not in answer.package(tmp_path / "a")
    assert "has no noise" in (tmp_path / "a" / README).read_text()
    with pytest.raises(errors.InvalidRequest, match="nothing to register"):
        answer.package(tmp_path / "b", only=["csv", "registry"])


def test_a_number_that_is_public_is_said_to_be_exact_in_every_file(tmp_path):
    public = source(tmp_path, neighbors="change_one", person=None, rows_per_person=None, public_rows=True)
    public.release(lw.count(name="rows"), lw.mean("pay"), epsilon=1).package(tmp_path / "a")
    said = "rows is exact: the number of rows is public here."
    readme = (tmp_path / "a" / README).read_text()
    assert f"{said}\nThe other numbers have noise" in readme
    page = (tmp_path / "a" / "report.html").read_text()
    assert f"{said}  Every other number has noise, and an error bar of 95 %." in page
    csvw = json.loads((tmp_path / "a" / "data.csv-metadata.json").read_text())
    told = {each["titles"][0]: each["dc:description"] for each in csvw["tableSchema"]["columns"]}
    assert told["rows"] == "COUNT(*), public and exact"
    assert told["rows_low"] == told["rows_high"] == "the same as rows, which is exact"
    assert told["mean_pay"] == 'AVG("pay"), released with noise'
    assert (tmp_path / "a" / "data.sdmx-structure.json").read_text().count("with noise") == 1  # that of the mean
    record = yaml.safe_load((tmp_path / "a" / "registry.yaml").read_text())["deployment"]
    assert record["implementation"]["utility"].startswith("Exact, since it is public: `rows`. Every other number is")


def test_the_same_answer_makes_the_same_files(made, tmp_path):
    for name in ("a", "b"):
        made["table"].package(tmp_path / name)
    for file in sorted((tmp_path / "a").iterdir()):
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes(), file.name
    assert Path(tmp_path / "a" / "data.csv").read_text() == made["table"].to_csv()
