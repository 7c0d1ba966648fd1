"""What init recognises from the first lines of a file: each wrong reading that was seen is right after it."""

import gzip
import random
import re
from fractions import Fraction as F

import pytest

import lapwing as lw
from lapwing import errors
from lapwing.noise.entropy import EntropyForTests
from lapwing.source_file import describe

from ...tables import decided

CANARY = "Quetzalcoatl"


def recognised(tmp_path, data, name="t.csv", told=None, **options):
    """Return the description that init writes for a file, and what it could not recognise."""
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    draft = describe(str(path), tmp_path, told or lw.file(), **options)
    (tmp_path / "t.toml").write_text(decided(draft.text, 1000))
    known = lw.Source.open(tmp_path / "t.toml").schema.file.describe()
    return known, [line for line in draft.recognised if line.startswith("Not")]


def rows(made, number=60):
    """Return as many lines, each made from its number."""
    return "".join(f"{made(i)}\n" for i in range(number))


def counted(tmp_path, asked, columns, **options):
    """Return the exact answer of the source that init wrote, once these columns are declared in it."""
    text = (tmp_path / "t.toml").read_text()
    (tmp_path / "t.toml").write_text(f"{text}{columns}\n")
    made = lw.Source.open(tmp_path / "t.toml").release(asked, epsilon=500, entropy=EntropyForTests(1), **options)
    return [round(float(value)) for each in made.estimates.values() for value in each.value]


# ── the wrong readings that were seen ────────────────────────────────────────────────────────────────────────


def test_text_in_latin_1_is_counted_after_init(tmp_path):
    data = "ort,n\n" + rows(lambda i: f"Zürich,{i}", 1000)
    known, doubts = recognised(tmp_path, data.encode("latin-1"))
    assert known == {"encoding": "windows-1252"}
    assert "Latin-1" in doubts[0]
    assert counted(tmp_path, lw.count(), 'ort = { keys = ["Zürich"] }', by="ort") == [1000]


def test_a_decimal_comma_in_a_file_with_semicolons_is_read_after_init(tmp_path):
    known, doubts = recognised(tmp_path, "id;hours\n" + rows(lambda i: f"{i};{i % 7},5", 2929))
    assert known == {"delimiter": ";", "decimal": ","}
    assert not doubts
    assert counted(tmp_path, lw.count("hours"), "hours = { low = 0, high = 10 }") == [2929]
    assert counted(tmp_path, lw.sum("hours"), "") == [pytest.approx(sum(i % 7 + 0.5 for i in range(2929)), abs=1)]


def test_the_text_na_is_no_key_after_init(tmp_path):
    known, _ = recognised(tmp_path, "sex,n\n" + rows(lambda i: f"{['m', 'f', 'NA'][i % 3]},{i}", 90))
    assert known == {"missing": ["NA"]}
    assert counted(tmp_path, lw.count("sex"), 'sex = { type = "text" }') == [60]


def test_numbers_with_leading_zeros_are_codes(tmp_path):
    (tmp_path / "t.csv").write_text("plz,n,zero,year\n" + rows(lambda i: f"{i * 997:05},{i},0,{2000 + i}"))
    found = describe(str(tmp_path / "t.csv"), tmp_path).text.partition("[columns]\n")[2].splitlines()
    whole = "{ low = ?, high = ?, integer = true }"
    assert found == ["# plz = { keys = [?] }", f"# n = {whole}", f"# zero = {whole}", f"# year = {whole}"]


def test_a_file_of_a_glob_that_is_not_utf8_tells_the_encoding_of_all(tmp_path):
    for number, data in enumerate((b"Bonn,1\n" * 9, b"Bonn,1\n" * 300_000 + "Köln,1\n".encode("latin-1"), b"x,1\n")):
        (tmp_path / f"part{number}.csv").write_bytes(b"ort,n\n" + data)
    draft = describe(str(tmp_path / "part*.csv"), tmp_path)
    assert 'encoding = "windows-1252"' in draft.text


# ── one thing at a time ──────────────────────────────────────────────────────────────────────────────────────

TABLE = "a{0}b{0}c\n" + "".join(f"{i}{{0}}x{i % 3}{{0}}{i % 7}.5\n" for i in range(50))
RECOGNISED = {
    "commas": (TABLE.format(","), {}),
    "semicolons": (TABLE.format(";"), {"delimiter": ";"}),
    "tabs": (TABLE.format("\t"), {"delimiter": "\t"}),
    "bars": (TABLE.format("|"), {"delimiter": "|"}),
    "colons": (TABLE.format(":"), {"delimiter": ":"}),
    "spaces": (TABLE.format(" "), {"delimiter": " "}),
    "UTF-8": ("é,b\n" + rows(lambda i: f"ü{i},1"), {}),
    "UTF-8 with a mark": (b"\xef\xbb\xbfa,b\n1,2\n3,4\n", {}),
    "UTF-16": (TABLE.format(";").encode("utf-16"), {"encoding": "utf-16", "delimiter": ";"}),
    "UTF-16 without a mark": (TABLE.format(",").encode("utf-16-le"), {"encoding": "utf-16le"}),
    "UTF-16, high bytes first": (TABLE.format(",").encode("utf-16-be"), {"encoding": "utf-16be"}),
    "single quotes": ("'a','b'\n" + rows(lambda i: f"'{i},5','it''s'"), {"quote": "'", "decimal": ","}),
    "apostrophes": ("a,b\n" + rows(lambda i: f"it's,{i}"), {}),
    "quotes in cells": ("a;b\n" + rows(lambda i: f'{i}" x 7";{i}'), {"quote": "", "delimiter": ";"}),
    "quotes around fields": ('"a","b"\n' + rows(lambda i: f'"{i}","x;y;z"'), {}),
    "line breaks in quotes": ("a;b\n" + rows(lambda i: f'"x,\ny,\nz,";{i}'), {"delimiter": ";"}),
    "thousands": ("a;b\n" + rows(lambda i: f"{i + 1}.{i + 100},5;1"),
                  {"delimiter": ";", "decimal": ",", "thousands": "."}),
    "thousands with points": ("a;b\n" + rows(lambda i: f"{i + 1},{i + 100}.5;1"), {"delimiter": ";", "thousands": ","}),
    "thousands with spaces": ("a;b\n" + rows(lambda i: f"{i + 1} {i + 100};1"), {"delimiter": ";", "thousands": " "}),
    "narrow spaces": ("a;b\n" + rows(lambda i: f"{i + 1}\u202f{i + 100},5;1"),
                      {"delimiter": ";", "decimal": ",", "thousands": "\u202f"}),
    "days first": ("d,n\n" + rows(lambda i: f"{i % 28 + 1:02}.{i % 12 + 1:02}.2020,1"), {"dates": "%d.%m.%Y"}),
    "months first": ("d,n\n" + rows(lambda i: f"{i % 12 + 1}/{i % 28 + 1}/2020,1"), {"dates": "%m/%d/%Y"}),
    "names of months": ("d,n\n" + rows(lambda i: f"{i % 28 + 1} May 2020,1"), {"dates": "%d %b %Y"}),
    "with a time": ("d,n\n" + rows(lambda i: f"{i % 28 + 1}.5.2020 10:{i:02},1"), {"dates": "%d.%m.%Y %H:%M"}),
    "usual dates": ("d,n\n" + rows(lambda i: f"2020-05-{i % 28 + 1:02},1"), {}),
    "codes": ("k,n\n" + rows(lambda i: f"{['NULL', 'N/A', 'x', '-'][i % 4]},{'.' if i % 9 == 0 else i}"),
              {"missing": [".", "N/A", "NULL"]}),
}  # fmt: skip


@pytest.mark.parametrize("what", RECOGNISED)
def test_what_is_recognised(tmp_path, what):
    data, known = RECOGNISED[what]
    assert recognised(tmp_path, data) == (known, [])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("d,n\n" + rows(lambda i: f"0{i % 9 + 1}/0{i % 7 + 1}/2020,1"), '"d" do not show whether the day or the month'),
        ("d,e\n" + rows(lambda i: f"{i % 28 + 1}.01.2020,2020-01-{i % 28 + 1:02}"), "different patterns"),
        ("d,e\n" + rows(lambda i: f"{i % 28 + 1}.01.2020,01/{i % 28 + 1}/2020"), "different patterns"),
        ("a;n\n" + rows(lambda i: f"1,{i + 100};1"), "may be a decimal mark or divide thousands"),
        ("a;n\n" + rows(lambda i: f"{i + 1}.{i + 100};1"), "The point in numbers: it may be a decimal mark or divide"),
        ("a\n" + rows(lambda i: f"x{i}"), "seems to have one column"),
    ],
)
def test_what_cannot_be_recognised_is_said_and_not_written(tmp_path, data, said):
    known, doubts = recognised(tmp_path, data)
    assert set(known) <= {"delimiter"}
    assert len(doubts) == 1
    assert said in doubts[0]


def test_what_is_told_is_not_recognised_otherwise(tmp_path):
    data = "a;n\n" + rows(lambda i: f"1,{i + 100};0{i % 9 + 1}/01/2020")
    told = lw.file(decimal=",", dates="%d/%m/%Y", delimiter=";", encoding="latin-1", missing=["x"])
    assert recognised(tmp_path, data, told=told) == (told.describe(), [])


def test_a_file_without_a_header_gets_names(tmp_path):
    data = rows(lambda i: f"{i},x,{i % 3}")
    with pytest.raises(errors.EngineError, match="lapwing init --no-header"):
        recognised(tmp_path, data)
    known, _ = recognised(tmp_path, data, header=False)
    assert known == {"names": ["column1", "column2", "column3"]}
    assert counted(tmp_path, lw.count("column1"), "column1 = { low = 0, high = 9 }") == [60]


def test_row_names_of_r_do_not_shift_columns(tmp_path):
    with pytest.raises(errors.EngineError, match="one name fewer than its rows have fields"):
        recognised(tmp_path, '"age","cost"\n' + rows(lambda i: f'"{i}",{i},{i}'))
    with pytest.raises(errors.EngineError, match="one name fewer than its rows have fields"):
        recognised(tmp_path, '"age" "cost"\n' + rows(lambda i: f'"{i}" {i} {i}'), "t.txt")
    recognised(tmp_path, '"","age"\n' + rows(lambda i: f'"{i}",{i}'))  # write.csv, and pandas
    assert counted(tmp_path, lw.count("age"), "age = { low = 0, high = 9 }") == [60]


def test_a_compressed_file_is_recognised_as_well(tmp_path):
    data = gzip.compress(("ü;b\n" + rows(lambda i: f"{i},5;x")).encode("cp1252"))
    known, _ = recognised(tmp_path, data, "t.csv.gz")
    assert known == {"delimiter": ";", "encoding": "windows-1252", "decimal": ","}


# ── no cell is shown ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_T24_no_cell_is_written_or_said(tmp_path, separator):
    draw = random.Random(separator)
    hostile = [CANARY, f"{CANARY}, x", f'"{CANARY}', f"{CANARY}'", f"{CANARY};1,5", f"31.01.2020 {CANARY}", "1e999"]
    for turn in range(30):
        lines = [separator.join(["name", "d", "v"])]
        for i in range(20):
            cells = [draw.choice(hostile) if draw.random() < 0.3 else each for each in (f"p{i}", "03.04.2020", "1,5")]
            quoted = ['"' + each.replace('"', '""') + '"' if turn % 2 else each for each in cells]
            lines.append(separator.join(quoted))
        path = tmp_path / f"{turn}.csv"
        path.write_text("\n".join(lines))
        try:
            draft = describe(str(path), tmp_path)
            shown = draft.text + "".join(draft.recognised)
        except errors.LapwingError as error:
            shown = str(error)
        assert CANARY not in shown
        assert not re.search("1,5|2020|p1", shown)


def test_odd_files_are_refused_or_described(tmp_path):
    draw = random.Random(17)
    for turn in range(150):
        data = bytes(draw.choice(b'a,;"\n\r\t\0\xff\xfe1.') for _ in range(draw.randrange(80)))
        path = tmp_path / f"{turn}.csv"
        path.write_bytes(data)
        for header in (True, False):
            said = ""
            try:
                describe(str(path), tmp_path, header=header)
            except errors.LapwingError as error:
                said = str(error)
            assert "failed" not in said


# ── again ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_columns_that_are_new_are_added_and_all_else_stays(tmp_path, monkeypatch):
    from lapwing.source_file import added

    monkeypatch.chdir(tmp_path)
    table = tmp_path / "t.csv"
    table.write_text("a,b\n1,x\n2,y\n")
    path = tmp_path / "t.toml"
    filled = describe("t.csv", tmp_path).text.replace("# a = { low = ?, high = ?,", "a = { low = 0, high = 9,  ")
    path.write_text(f'{filled}# my remark\n[columns."a b"]\ntype = "text"\n')
    assert added(path, "t.csv") == ("", [])
    table.write_text("a,b,new,a b,odd.name,k\n1,x,2,z,2.5,true\n2,y,3,z,3.5,false\n")
    lines, names = added(path, "t.csv")
    assert names == ["new", "odd.name", "k"]
    path.write_text(path.read_text() + lines)
    assert added(path, "t.csv") == ("", [])
    assert path.read_text().startswith(filled)
    text = path.read_text()
    for name in ("new", '"odd.name"', "k"):
        text = text.replace(f"# [columns.{name}]\n", f"[columns.{name}]\n")
    text = re.sub(r"^# (low|high|integer|keys) = ", r"\1 = ", text, flags=re.MULTILINE)
    path.write_text(decided(text).replace("low = ?", "low = 0").replace("high = ?", "high = 5"))
    declared = lw.Source.open(path).schema.columns
    assert list(declared) == ["a", "a b", "new", "odd.name", "k"]
    assert declared["new"] == lw.number(0, 5, integer=True)
    assert declared["odd.name"].high == F(5)
    assert declared["k"] == lw.keys(False, True)
    assert added(path, "other.csv") is None
    path.write_text("not toml")
    assert added(path, "t.csv") is None


def test_chosen_columns_alone_are_written(tmp_path):
    (tmp_path / "t.csv").write_text("ward,b,c\n1,x,2\n")
    draft = describe(str(tmp_path / "t.csv"), tmp_path, chosen=["c", "ward"])
    assert draft.columns == ["c", "ward"]
    assert "# b = " not in draft.text
    with pytest.raises(errors.InvalidSource, match=r'no column "wardd".* Did you mean "ward"'):
        describe(str(tmp_path / "t.csv"), tmp_path, chosen=["wardd"])
