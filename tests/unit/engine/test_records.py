"""The records of CSV files, read by DuckDB, against what was written and an independent parser."""

import csv
import gzip
import io
import random
import time
import tracemalloc
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from lapwing.engine import header, records
from lapwing.engine.header import TextForm
from lapwing.engine.table import Problem

COMMAS = TextForm()
NO_RECORDS = (
    "has a CSV file in which a quote is never closed, or is in the middle of a field",
    "Write it with a CSV library, which quotes fields that contain quotes and doubles the quotes, or use Parquet.",
)
HOSTILE = ['"', '""', ",", "\r", "\n", "\r\n", "\t", " ", "a", "7", "é", "€😀", "\0", "\ufeff", "NULL", "\\", "#", ""]


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect(config={"threads": 4, "preserve_insertion_order": "false"}) as made:
        yield made


@pytest.fixture
def read(connection, tmp_path):
    """Return what reads a file, or bytes as one: its rows, in any order."""
    folder = tmp_path / "copies"
    folder.mkdir()

    def rows(given, needed=None, **how):
        file = given
        if isinstance(given, bytes):
            file = tmp_path / "given.csv"
            file.write_bytes(given)
        checked = records.check(str(file), TextForm(**how))
        needed = range(len(checked.names)) if needed is None else needed
        found = records.prepare(checked, needed, str(folder))
        result = Counter(connection.execute(records.read_sql([found])).fetchall())
        for copy in folder.iterdir():
            copy.unlink()
        return result

    return rows


def parsed(data, separator=b","):
    """Parse CSV a byte at a time: return its records and their raw lengths, or None if it is not well formed."""
    rows, fields, cell, state, length = [], [], bytearray(), "start", 0
    if not data.endswith(b"\n"):
        data += b"\n"
    for place, byte in enumerate(data):
        sign = bytes([byte])
        length += 1
        if state == "quoted":
            if sign == b'"':
                state = "closed"
            else:
                cell.append(byte)
        elif sign == b'"' and state == "start":
            state = "quoted"
        elif sign == b'"' and state == "closed":
            state = "quoted"
            cell.append(byte)
        elif sign == b'"':
            return None
        elif sign == separator:
            fields, cell, state = [*fields, bytes(cell)], bytearray(), "start"
        elif sign == b"\n":
            if state == "open":
                cell = cell.removesuffix(b"\r")
            rows.append(([*fields, bytes(cell)], length - 1 - (data[place - 1 : place] == b"\r")))
            fields, cell, state, length = [], bytearray(), "start", 0
        elif state == "closed":
            if data[place : place + 2] != b"\r\n":
                return None
        else:
            state = "open"
            cell.append(byte)
    return None if state in ("quoted", "closed") else rows


def expected(data, width, longest, needed):
    """Return the rows of a file without its header by the rules, or None if it is not well formed."""
    rows = parsed(data) if data else []
    if rows is None:
        return None
    found = Counter()
    for fields, length in rows:
        if len(fields) >= width and length <= longest:
            found[tuple(decoded(fields[number]) or None for number in needed)] += 1
    return found


def decoded(cell):
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return None


# ── what was seen ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_carriage_return_in_the_only_column_makes_no_rows(read, tmp_path):
    cells = ["b", "x" + "\ry" * 1000, "c"]
    pd.DataFrame({"a": cells}).to_csv(tmp_path / "t.csv", index=False, lineterminator="\n")
    assert read(tmp_path / "t.csv") == Counter((cell,) for cell in cells)


def test_a_carriage_return_before_a_quoted_field_hides_no_rows(read):
    data = b"h,i,j\r\n" + b"1,2,3\r\n" * 5 + b'a\r,"x\r\n",c\r\n' + b"1,2,3\r\n" * 1000
    assert read(data) == {("1", "2", "3"): 1005, ("a\r", "x\r\n", "c"): 1}


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_cell_with_many_lines_is_one_cell(read, line_end):
    cell = f'7,8{line_end}"'.join([""] * 100_000)
    rows = [["1", "2"]] * 1_000_000
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator=line_end).writerows([["h", "i"], *rows, ["a", cell], *rows])
    assert read(out.getvalue().encode()) == {("1", "2"): 2_000_000, ("a", cell): 1}


def test_a_quote_that_is_not_closed_refuses_the_file(read):
    with pytest.raises(Problem) as caught:
        read(b'h,i\n1,2\n"3,4\n5,6\n')
    assert caught.value.args == NO_RECORDS


# ── the rules ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("record", "row"),
    [
        (b"a,b", ("a", "b")),
        (b'"a","b"', ("a", "b")),
        (b'"a",b', ("a", "b")),
        (b'"a,b","c"', ("a,b", "c")),
        (b'"a\nb",c', ("a\nb", "c")),
        (b'"a\r\nb",c', ("a\r\nb", "c")),
        (b'"a""b",""', ('a"b', None)),
        (b'"""",""""""', ('"', '""')),
        (b",", (None, None)),
        (b'"",""', (None, None)),
        (b" a , b ", (" a ", " b ")),
        (b"a\rb,c", ("a\rb", "c")),
        (b"\r,c", ("\r", "c")),
        (b"a\0,b", ("a\0", "b")),
        (b'"\0",b', ("\0", "b")),
        (b"\xef\xbb\xbfa,b", ("\ufeffa", "b")),
        (b"\\N,NULL", ("\\N", "NULL")),
        (b"#a,'b'", ("#a", "'b'")),
        ("é,€😀".encode(), ("é", "€😀")),
        (b"a,b,c", ("a", "b")),
        (b'"a,b",c,"d\n"', ("a,b", "c")),
        (b"a", None),
        (b'"a,b"', None),
        (b"", None),
        (b"\r", None),
        (b"\xff,b", (None, "b")),
        (b"a,\xed\xa0\x80", ("a", None)),
        (b'"\xff\n",b', (None, "b")),
        (b'"\xff"', None),
        (b"a,b,\xff", ("a", "b")),
        (b"a" * 1_999_998 + b",b", ("a" * 1_999_998, "b")),
        (b"a" * 1_999_999 + b",b", None),
        (b'"' + b"a" * 1_999_996 + b'\n",b', None),
        (b'"' + b"," * 1_999_996 + b'",b', ("," * 1_999_996, "b")),
        (b"a," + b"\0" * 1_999_998, ("a", "\0" * 1_999_998)),
    ],
)
def test_what_a_record_says_depends_on_itself_alone(read, record, row):
    row = Counter([] if row is None else [row])
    for line_end in (b"\n", b"\r\n"):
        for before, after in ((0, 0), (1, 0), (0, 1), (3, 3)):
            lines = [b"x,y"] * before + [record] + [b"x,y"] * after
            data = b"h,i" + line_end + line_end.join(lines)
            assert read(data + line_end) == row + Counter({("x", "y"): before + after})
            assert read(data) == (row if after or record else Counter()) + Counter({("x", "y"): before + after})


def test_one_carriage_return_at_its_end_belongs_to_the_line_end(read):
    long = b"a" * 1_999_998
    data = b'h,i\na,b\r\r\na,"c\r"\r\na,d\r\na,"e"\r\n\r\n' + long + b",f\r\n" + long + b",g\r\r\na,h\r"
    assert read(data, [1]) == Counter((cell,) for cell in ["b\r", "c\r", "d", "e", "f", "h"])


def test_an_empty_line_is_an_empty_cell_of_the_only_column(read):
    assert read(b'h\n\na\n""\n\r\nb\n\n') == {(None,): 4, ("a",): 1, ("b",): 1}


def test_columns_that_are_not_needed_may_hold_anything(read):
    data = b'h,i,j\n\xff,b,"\n"\na,b,\xff\n"\n",\xff,c\n'
    assert read(data, [1]) == {("b",): 2, (None,): 1}
    assert read(data, [2, 0]) == {("\n", "c"): 1, ("a", None): 1, (None, "\n"): 1}
    assert sum(read(data, []).values()) == 3


def test_tabs_separate_too(read):
    assert read(b'h\ti\na,b\tc\n"d\te"\tf\n', separator="\t") == {("a,b", "c"): 1, ("d\te", "f"): 1}


@pytest.mark.parametrize(
    "body",
    [
        b'"',
        b'a"',
        b'a"b,c',
        b'a""b,c',
        b' "a",b',
        b'"a" ,b',
        b'"a"b,c',
        b'"a"\r,b',
        b'a\r"b",c',
        b'"a","b',
        b'"a\n',
        b'"a"""b,c',
        b'"a"\rb',
        b'a,b\n"\n1,2',
        b'"a"\x00,b',
        b'a,"b"\r\r',
        b'\xef\xbb\xbf"a",b',
        b'"' * 7,
    ],
)
def test_a_file_that_is_not_well_formed_is_refused(read, monkeypatch, body):
    files = (b"h,i\nx,y\n" + body, b"h,i\nx,y\n" + body + b"\n1,2\n", b"h,i\n" + body + b"\r\n1,2\r\n")
    refused = [data for data in files if parsed(data) is None]
    assert refused
    for block in (*range(1, 12), 2**21):
        monkeypatch.setattr(records, "_BLOCK", block)
        for data in refused:
            with pytest.raises(Problem) as caught:
                read(data)
            assert caught.value.args == NO_RECORDS


# ── the header ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (b"a,b\n1,2\n", ["a", "b"]),
        (b"a,b", ["a", "b"]),
        (b"a,b\r\n1,2\n", ["a", "b"]),
        (b"a,b\r", ["a", "b"]),
        (b'\xef\xbb\xbf"a",b\n', ["a", "b"]),
        (b'"a\r\n1","b,""2"""\n', ["a\r\n1", 'b,"2"']),
        (b"a,a\xff\n", ["a", "a\ufffd"]),
        (b"a,a\n", ["a", "a"]),
        (b",v\n0,1\n", ["column1", "v"]),
        (b'"","g",""\n"1","a",2\n', ["column1", "g", "column3"]),
        (b'"' + b"a" * 100_000 + b'"\n1\n', ["a" * 100_000]),
    ],
)
def test_names_are_those_of_the_header(tmp_path, data, names):
    file = tmp_path / "t.csv"
    file.write_bytes(data)
    assert records.names(str(file), COMMAS) == names
    assert records.check(str(file), COMMAS).names == tuple(names)


NUMBER = "has a column name that is a number or a date, as if its first line were a row"
REFUSED = {
    b"": "is empty",
    b"\xef\xbb\xbf": "is empty",
    b"\n": "has a first line that is blank",
    b"\n\na,b\n": "has a first line that is blank",
    b",,\n": "has no names in its first line",
    b"a,1\n": NUMBER,
    b"region,2019,2020\nnorth,1,2\n": NUMBER,
    b"2024-01-02,x\n": NUMBER,
    b",1,\n": NUMBER,
    b"a,b\r1,2\r3,4\r": "has carriage returns instead of line feeds",
    b'"a","b"\r"1","2"\r': "has carriage returns instead of line feeds",
    b"a\rb,c\n": "has carriage returns in its first line",
    b"a\x00b\n": "has NUL characters in its first line, as UTF-16 has",
    "a,b\n1,2\n".encode("utf-16-le"): "has NUL characters in its first line, as UTF-16 has",
    "a,b\n1,2\n".encode("utf-16"): "is in UTF-16",
    b"sep=,\na,b\n": 'begins with a line "sep=" of Excel',
    b"sep=;\r\na;b\r\n": 'begins with a line "sep=" of Excel',
    b"\x1f\x8b\x08": "is compressed",
    b"PK\x03\x04": "is a ZIP archive or an Excel workbook, not a CSV file",
    b"PAR1\x15": "is a Parquet file",
    b"a" * 200000: "has a column name of more than 131,072 characters",
    b"a" * 2100000 + b"\n": "has no line end in its first 2 MB",
    b'"' + b"a\n" * 1100000: "has no line end in its first 2 MB",
}


@pytest.mark.parametrize("data", REFUSED, ids=lambda data: ascii(data[:20]))
def test_a_file_without_names_is_refused_with_the_cause(tmp_path, data):
    (tmp_path / "t.csv").write_bytes(data)
    for look in (records.names, records.check):
        with pytest.raises(Problem) as caught:
            look(str(tmp_path / "t.csv"), COMMAS)
        assert caught.value.args[0] == f'cannot be read: the file "{tmp_path / "t.csv"}" {REFUSED[data]}'


@pytest.mark.parametrize("row", [b"Ann,7,north", b"Ann,7,", b",7,north", b",7,"])
def test_of_a_first_row_with_a_number_no_more_is_told(tmp_path, row):
    (tmp_path / "t.csv").write_bytes(row + b"\nBob,8,south\n")
    with pytest.raises(Problem) as caught:
        records.names(str(tmp_path / "t.csv"), COMMAS)
    assert caught.value.args == (
        f'cannot be read: the file "{tmp_path / "t.csv"}" {NUMBER}',
        "If it has no column names, say header = false and names = [...] in [file] (`lapwing init --no-header` "
        "writes both). If a column is called 2019, rename it, for example to y2019.",
    )


# ── copies ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "data",
    [
        b"h,i\na,b\nc,d\n",
        b"h,i\na,b\nc,d",
        b"h,i\r\na,b\r\n,\r\n",
        b"h,i\r\na,b",
        b"h,i\n",
        b"h,i",
        "h,i\né,b\n".encode(),
        b"\xef\xbb\xbfh,i\na,b\n",
        b'"h","i, j"\na,b\n',
        b"h,i\n" + b"a" * 900000 + b",b\n",
        b"h,i\r\na,b\r",
    ],
)
def test_plain_files_are_not_copied(read, tmp_path, data):
    file = tmp_path / "t.csv"
    file.write_bytes(data)
    found = records.prepare(records.check(str(file), COMMAS), [0, 1], "no folder is needed")
    assert (found.plain, found.odd) == (str(file), None)
    body = data.partition(b"\n")[2]
    assert read(file) == expected(body, 2, 2_000_000, [0, 1])


@pytest.mark.parametrize(
    ("name", "data", "odd"),
    [
        ("t.csv", b'h,i\na,"b"\n', False),
        ("t.csv", b"h,i\na,b\r\n", False),
        ("t.csv", b"h,i\r\na,b\n", False),
        ("t.csv", b"h,i\na\n", False),
        ("t.csv", b"h,i\na,b\n\n", False),
        ("t.csv", b"h,i\n" + b"a" * 2_000_000 + b",\n", False),
        ("t.csv", b'"h\n",i\na,b\n', False),
        ("t.csv", b"h,i\na,b,c\n", True),
        ("t.csv", b"h,i\na,b\0\n", True),
        ("t.csv", b"h,i\na\r,b\n", True),
        ("t.csv", b"h,i\na,\xff\n", True),
        ("t.csv", b"h,i\na,b,\xff\n", True),
        ("t.csv", b'h,i\na,"b,"\n', True),
        ("t.csv", b"h\n\n", True),
        ("t.csv", b'h\n""\n', True),
        ("t.csv.gz", gzip.compress(b"h,i\na,b\n", mtime=0), False),
        ("t.CSV.GZ", gzip.compress(b"h,i\n", mtime=0) + gzip.compress(b'a,"b\n"\n', mtime=0), True),
    ],
)
def test_other_files_are_copied(tmp_path, name, data, odd):
    file, folder = tmp_path / name, tmp_path / "copies"
    file.write_bytes(data)
    folder.mkdir()
    checked = records.check(str(file), COMMAS)
    found = records.prepare(checked, range(len(checked.names)), str(folder))
    assert not checked.plain
    assert Path(found.plain).parent == folder
    assert (found.odd is not None) == odd
    assert Path(found.plain).stat().st_mode & 0o077 == 0  # they are for the owner alone


def test_a_compressed_file_says_the_same(read, tmp_path):
    data = b"\xef\xbb\xbfh,i\r\n" + b'a,b\r\n"c\n",d\r\n"e",f\r\n' * 1000
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(data[:5000], mtime=0) + gzip.compress(data[5000:], mtime=0))
    assert read(tmp_path / "t.csv.gz") == read(data) == {("a", "b"): 1000, ("c\n", "d"): 1000, ("e", "f"): 1000}


def test_files_are_read_together(connection, tmp_path):
    bodies = [b"h,i\na,b\n", b"h,i\r\nc,d\r\n", b'h,i\n"e\n",f\ng,h\n', b"h,i\n"]
    found = []
    for number, body in enumerate(bodies):
        file = tmp_path / f"it's [{number}].csv"
        file.write_bytes(body)
        found.append(records.prepare(records.check(str(file), COMMAS), [1, 0], str(tmp_path)))
    rows = connection.execute(records.read_sql(found)).fetchall()
    assert Counter(rows) == Counter([("a", "b"), ("c", "d"), ("e\n", "f"), ("g", "h")])
    assert [name for name, *_ in connection.description] == ["c0", "c1"]


def test_an_unchanged_file_is_not_looked_at_twice(tmp_path, monkeypatch):
    file = tmp_path / "t.csv"
    file.write_bytes(b"h,i\na,b\n")
    known = records.check(str(file), COMMAS)
    assert records.check(str(file), COMMAS, known) is known
    file.write_bytes(b'h,i\na,"b"\n')
    assert not records.check(str(file), COMMAS, known).plain
    file.write_bytes(b"i,h\na,b\n")
    with pytest.raises(Problem, match="was changed while it was read"):
        records.prepare(known, [0], str(tmp_path))


def test_a_file_that_changes_while_it_is_copied_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "t.csv"
    file.write_bytes(b'h,i\na,"b"\n')
    known = records.check(str(file), COMMAS)
    divided = records._Lines.divided
    monkeypatch.setattr(records._Lines, "divided", lambda *given: file.write_bytes(b"h,i\n") and divided(*given))
    with pytest.raises(Problem, match="was changed while it was read"):
        records.prepare(known, [0], str(tmp_path))


# ── every border ─────────────────────────────────────────────────────────────────────────────────────────────


def test_every_border_of_blocks_and_buffers_is_like_any_other_place(read, monkeypatch):
    source = random.Random(20261014)
    files = 0
    end = time.monotonic() + 15
    while files < 600 and time.monotonic() < end:
        longest = source.choice([20, 40, 100])
        monkeypatch.setattr(records, "LONGEST", longest)
        monkeypatch.setattr(header, "LONGEST", longest)
        monkeypatch.setattr(records, "_BLOCK", source.choice([1, 2, 3, 5, 8, 64, 1000, 2**21]))
        width = source.randint(1, 3)
        signs = source.choice([["a", "b", ",", "\n"], ["a", ",", "\n", "\r", "\r\n"], HOSTILE, ["ab", "é", "\n"]])
        body = "".join(source.choices(signs, k=source.choice([3, 30, 300]))).encode()
        if source.random() < 0.5:  # as a program writes it
            cells = [["".join(source.choices(signs, k=source.randint(0, 3))) for _ in range(width)] for _ in range(300)]
            out = io.StringIO(newline="")
            csv.writer(out, lineterminator=source.choice(["\n", "\r\n"])).writerows(cells)
            body = out.getvalue().encode()
        if source.random() < 0.2:
            body = body.replace(b"a", b"\xff").replace(b"b", b"b" * longest, 2)
        data = ",".join("hij"[:width]).encode() + b"\n" + body
        needed = sorted(source.sample(range(width), source.randint(1, width)))
        rows = expected(body, width, longest, needed)
        if rows is None:
            with pytest.raises(Problem):
                read(data, needed)
        else:
            assert read(data, needed) == rows
        files += 1
    assert files > 100


def random_cells(source, count, width):
    """Return records of which some cells are hostile; the last one does not end with CR, a part of the line end."""
    often = source.choice([0.02, 0.3, 1])

    def cell(last):
        text = str(source.randint(0, 99))
        if source.random() < often:
            text = "".join(source.choices(HOSTILE, k=source.randint(0, 6)))
        return text + "." if last and text.endswith("\r") else text

    return [[cell(column == width - 1) for column in range(width)] for _ in range(count)]


def write_csv(rows, file, line_end, quoting):
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out, lineterminator=line_end, quoting=quoting).writerows(rows)


def write_pandas(rows, file, line_end, quoting):
    pd.DataFrame(rows[1:], columns=rows[0]).to_csv(file, index=False, lineterminator=line_end, quoting=quoting)


def write_polars(rows, file, line_end, quoting):
    frame = pl.DataFrame(rows[1:], schema=dict.fromkeys(rows[0], pl.String), orient="row")
    frame.write_csv(file, line_terminator=line_end, quote_style="always" if quoting == csv.QUOTE_ALL else "necessary")


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
@pytest.mark.parametrize("write", [write_csv, write_pandas, write_polars])
def test_what_was_written_is_read_and_one_cell_changes_one_row(read, tmp_path, write, quoting, line_end):
    source = random.Random(f"{write.__name__} {quoting} {line_end!r}")
    file = tmp_path / "t.csv"
    for _ in range(14):
        width = source.choice([1, 1, 2, 5])
        names = [source.choice(["a", "b,", 'c"', "d\n", "e\r\n"]) + str(number) for number in range(width)]
        rows = random_cells(source, 300, width)
        write([names, *rows], file, line_end, quoting)
        before = read(file)
        assert before == Counter(tuple(cell or None for cell in row) for row in rows)
        changed = source.randrange(len(rows))
        rows[changed] = random_cells(source, 1, width)[0]
        write([names, *rows], file, line_end, quoting)
        after = read(file)
        assert (before - after).total() <= 1
        assert after == Counter(tuple(cell or None for cell in row) for row in rows)


def test_pythons_parser_reads_the_same(read, tmp_path):
    source = random.Random(20261015)
    for _ in range(20):
        rows = random_cells(source, 300, 3)
        write_csv([["h", "i", "j"], *rows], tmp_path / "t.csv", "\r\n", csv.QUOTE_ALL)
        with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as lines:
            _, *same = csv.reader(lines, strict=True)
        assert read(tmp_path / "t.csv") == Counter(tuple(cell or None for cell in row) for row in same)


# ── large files ──────────────────────────────────────────────────────────────────────────────────────────────


def numbered(count, line):
    """Return lines in which # stands for the digits of the line's number."""
    digits = np.arange(count)[:, None] // 10 ** np.arange(7, -1, -1) % 10 + ord("0")
    lines = np.tile(np.frombuffer(line, np.uint8), (count, 1))
    lines[:, [place for place, byte in enumerate(line) if byte == ord("#")]] = np.tile(digits, line.count(b"#") // 8)
    return lines.tobytes()


EXTRA = b'"x,\n",y\r\n' * 3 + b"\xff,y\nx\n" * 5 + b"x" * 1_900_000 + b",y\n"


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
@pytest.mark.parametrize(("quote", "extra"), [(b"", b""), (b'"', EXTRA)])
def test_large_files_lose_no_row(connection, tmp_path, quote, extra, line_end):
    count = 3_000_000
    lines = numbered(count, b"########," + quote + "-é########".encode() + quote + line_end)
    (tmp_path / "t.csv").write_bytes(b"header,i" + line_end + extra + lines + extra[:-1])
    found = records.prepare(records.check(str(tmp_path / "t.csv"), COMMAS), [0, 1], str(tmp_path))
    numbers = f"SELECT TRY_CAST(c0 AS BIGINT) AS n, c0, c1 FROM ({records.read_sql([found])})"
    sums = "sum(n), sum(n * n), count(*) FILTER (c0 = c1[3:]), count(*) FILTER (c1 = 'y')"
    squares = (count - 1) * count * (2 * count - 1) // 6
    others = 18 if extra else 0
    result = connection.execute(f"SELECT {sums} FROM ({numbers})").fetchone()
    assert result == (count * (count - 1) // 2, squares, count, others)


def test_a_huge_cell_takes_no_memory_and_hides_nothing(read, tmp_path):
    file = tmp_path / "t.csv"
    with file.open("wb") as out:
        out.write(b'h,i\na,b\n"')
        for _ in range(50):
            out.write(b'x\n"",\r\n' * (2**20 // 8))
        out.write(b'",c\r\nd,e\n')
    tracemalloc.start()
    try:
        assert read(file) == {("a", "b"): 1, ("d", "e"): 1}
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200e6


def test_a_file_of_quotes_takes_bounded_memory(read, tmp_path):
    (tmp_path / "t.csv").write_bytes(b"h,i\na,b\n" + b'"' * 20_000_000 + b",c\nd,e\n" + b'"","\n"\n' * 300_000)
    tracemalloc.start()
    try:
        assert read(tmp_path / "t.csv") == {("a", "b"): 1, ("d", "e"): 1, (None, "\n"): 300_000}
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 300e6


@pytest.mark.parametrize(
    ("text", "ended", "whole"),
    [
        (b"a,b\n1,2\n3", False, b"a,b\n1,2\n"),
        (b"a,b\n1,2\n3", True, b"a,b\n1,2\n3"),
        (b'a,b\n1,"x\ny"\n3', False, b'a,b\n1,"x\ny"\n'),
        (b'a,b\n1,"x\ny', False, b"a,b\n"),
        (b'a,b\n1,"x\ny', True, None),
        (b"a,b", False, b""),
        (b"a,b", True, b"a,b"),
    ],
)
def test_of_the_beginning_of_a_file_whole_records_are_looked_at(text, ended, whole):
    assert records.whole_records(text, ended, TextForm()) == whole
