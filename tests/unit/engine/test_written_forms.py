"""CSV files in every encoding, with every separator and quote, with and without a header, against what was written."""

import csv
import io
import random
from collections import Counter

import duckdb
import pytest

from lapwing.engine import records
from lapwing.engine.encodings import as_utf8
from lapwing.engine.header import TextForm
from lapwing.engine.table import Problem

CODECS = {
    "utf-8": "utf-8",
    "latin-1": "latin-1",
    "windows-1252": "cp1252",
    "utf-16": "utf-16",
    "utf-16le": "utf-16-le",
    "utf-16be": "utf-16-be",
}
SEPARATORS = [",", ";", "\t", "|", ":", " ", "\x1f", "'", "~"]
CELLS = [
    "a",
    "",
    "Ü",
    "é è",
    "-",
    "7",
    "x;y",
    "x,y",
    "x|y",
    "'",
    '"',
    "it's",
    'a "b"',
    "two\nlines",
    "a\r\nb",
    "x\ry",
    "\\",
    "¥",
]


def written(rows, separator, quote, line_end, quoting=csv.QUOTE_MINIMAL):
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator, quotechar=quote, lineterminator=line_end, quoting=quoting).writerows(rows)
    return text.getvalue()


def read(tmp_path, data, form, needed=None):
    file = tmp_path / "given.csv"
    file.write_bytes(data)
    checked = records.check(str(file), form)
    found = records.prepare(checked, range(len(checked.names)) if needed is None else needed, str(tmp_path))
    with duckdb.connect() as connection:
        return Counter(connection.execute(records.read_sql([found])).fetchall())


def as_read(rows):
    return Counter(tuple(cell or None for cell in row) for row in rows)


@pytest.mark.parametrize("encoding", CODECS)
@pytest.mark.parametrize("header", [True, False])
def test_every_form_gives_the_rows_that_were_written(tmp_path, encoding, header):
    """E0: the form in which a table is written changes no cell."""
    draw = random.Random(f"{encoding} {header}")
    for separator in SEPARATORS:
        for quote in ('"', "'", "$"):
            if quote == separator:
                continue
            rows = [[draw.choice(CELLS) for _ in range(3)] for _ in range(40)]
            head = [["h", "ï", "j k"]] if header else []
            data = written([*head, *rows], separator, quote, draw.choice(["\n", "\r\n"])).encode(CODECS[encoding])
            form = TextForm(separator, quote, encoding, None if header else ("h", "ï", "j k"))
            assert read(tmp_path, data, form) == as_read(rows), (separator, quote)


@pytest.mark.parametrize("encoding", CODECS)
def test_without_quotes_every_quote_is_a_character(tmp_path, encoding):
    rows = [["a", '"'], ['"x', "y'"], ["", 'x"y"'], ["é", "b"]]
    data = "h;i\n" + "".join(";".join(row) + "\n" for row in rows)
    form = TextForm(";", "", encoding)
    assert read(tmp_path, data.encode(CODECS[encoding]), form) == as_read(rows)
    assert read(tmp_path, data.encode(CODECS[encoding]), TextForm(";", "", encoding, ("p", "q"))) == as_read(
        [["h", "i"], *rows]
    )


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_file_without_a_header_loses_no_row(tmp_path, line_end, last, mark):
    rows = [["1", "2"], ["3", "4"], ["5", "6"]]
    text = written(rows, ",", '"', line_end)
    data = mark + (text if last else text.removesuffix(line_end)).encode()
    form = TextForm(names=("a", "b"))
    assert read(tmp_path, data, form) == as_read(rows)
    assert records.check(str(tmp_path / "given.csv"), form).plain == (not mark)  # DuckDB would drop a second mark
    assert read(tmp_path, b"", form) == Counter()


def test_a_second_byte_order_mark_is_part_of_the_first_cell(tmp_path):
    assert read(tmp_path, "\ufeff\ufeff1,2\n".encode(), TextForm(names=("a", "b"))) == {("\ufeff1", "2"): 1}


@pytest.mark.parametrize("start", [b"PK\x03\x04", b"PAR1\x15"])
def test_a_first_cell_that_looks_like_another_format_is_a_cell(tmp_path, start):
    assert read(tmp_path, start + b",2\n", TextForm(names=("a", "b"))) == {(start.decode(), "2"): 1}


@pytest.mark.parametrize("start", [b"\xff\xfe1\x00", b"\xfe\xff\x001", b"\x1f\x8b\x08"])
def test_a_file_that_cannot_be_utf8_is_refused_also_without_a_header(tmp_path, start):
    with pytest.raises(Problem, match="cannot be read"):
        read(tmp_path, start, TextForm(names=("a",)))


# ── encodings ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("encoding", CODECS)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 64])
def test_text_is_the_same_in_every_encoding_and_for_every_size_of_blocks(encoding, size):
    text = "aé\r\nÿ¥ " + ("漢🦤€" if "16" in encoding or encoding == "utf-8" else "") + "z" * 9
    stream = as_utf8(io.BytesIO(text.encode(CODECS[encoding])), encoding)
    assert b"".join(iter(lambda: stream.read(size), b"")).decode() == text


def test_every_byte_of_windows_1252_is_a_character():
    text = as_utf8(io.BytesIO(bytes(range(256))), "windows-1252").read().decode()
    assert len(text) == 256
    assert text[0x80] == "€"
    assert [text[byte] for byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D)] == ["\x81", "\x8d", "\x8f", "\x90", "\x9d"]
    known = [byte for byte in range(256) if byte not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)]
    assert "".join(text[byte] for byte in known) == bytes(known).decode("cp1252")


@pytest.mark.parametrize("size", [1, 2, 3, 4, 64])
def test_half_a_pair_in_utf16_makes_one_cell_unreadable_and_no_other(size, tmp_path):
    text = "h,i\na,b\n\ud83e,c\n\udda4\ud83e,d\n🦤,e\n"
    for encoding in ("utf-16le", "utf-16be"):
        data = text.encode(CODECS[encoding], "surrogatepass")
        stream = as_utf8(io.BytesIO(data), encoding)
        found = b"".join(iter(lambda: stream.read(size), b""))  # noqa: B023
        assert found == text.encode("utf-8", "surrogatepass")
        assert read(tmp_path, data, TextForm(encoding=encoding)) == {
            ("a", "b"): 1, (None, "c"): 1, (None, "d"): 1, ("🦤", "e"): 1,
        }  # fmt: skip
        assert read(tmp_path, data, TextForm(encoding=encoding), [1]) == Counter([("b",), ("c",), ("d",), ("e",)])


@pytest.mark.parametrize(
    ("encoding", "data", "said"),
    [
        ("utf-16", "a,b\n1,2\n".encode("utf-16-le"), "does not begin with a byte order mark"),
        ("utf-16", b"a", "does not begin with a byte order mark"),
        ("utf-16le", "a,b\n1,2\n".encode("utf-16-le") + b"x", "half a character at its end"),
        ("utf-16be", "a,b\n1,2\n".encode("utf-16-be") + b"\0", "half a character at its end"),
        ("latin-1", "a,b\n1,2\n".encode("utf-16-le"), "NUL characters"),
    ],
)
@pytest.mark.parametrize("quote", ['"', ""])
def test_a_file_that_is_not_in_its_encoding_is_refused_as_a_whole(tmp_path, encoding, data, said, quote):
    with pytest.raises(Problem, match=said):
        read(tmp_path, data, TextForm(quote=quote, encoding=encoding))
