"""One table about people in every format of files, each written by another program than the one that reads it.

Workbooks are written here, cell by cell, so that cells can be what no library would write.
"""

from __future__ import annotations

import bz2
import csv
import ctypes
import datetime as dt
import gzip
import io
import json
import sqlite3
import sys
import zipfile
from importlib import import_module
from pathlib import Path
from xml.sax.saxutils import escape

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pyreadstat

NAMES = ("person", "n", "x", "key", "day", "yes")
ROWS = [
    {
        "person": f"p{i % 37}" if i % 41 else None,
        "n": i % 7 - 2,
        "x": None if i % 5 == 0 else (i * 37 % 1001) / 8,
        "key": ("é", "b", "日本", None, "other")[i % 5],
        "day": None if i % 11 == 0 else dt.date(2024, 1, 1) + dt.timedelta(days=i % 60),
        "yes": (True, False, None)[i % 3],
    }
    for i in range(300)
]
TYPES = {"person": pa.string(), "n": pa.int64(), "x": pa.float64(), "key": pa.string(), "day": pa.date32(),
         "yes": pa.bool_()}  # fmt: skip

zstd = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


def table(rows=ROWS):
    return pa.table({name: pa.array([row[name] for row in rows], TYPES[name]) for name in NAMES})


def parquet(folder):
    pq.write_table(table(), folder / "t.parquet")
    return folder / "t.parquet"


def parquet_folder(folder):
    for i in range(3):
        (folder / "parts" / f"deep{i}").mkdir(parents=True)
        pq.write_table(table(ROWS[i::3]), folder / "parts" / f"deep{i}" / "part.parquet")
    (folder / "parts" / "_SUCCESS").write_text("")
    (folder / "parts" / ".hidden.parquet").write_text("not Parquet")
    (folder / "parts" / "_temporary").mkdir()
    (folder / "parts" / "_temporary" / "x.parquet").write_text("not Parquet")
    return folder / "parts"


def hive(folder):
    with duckdb.connect() as connection:
        connection.register("t", table())
        connection.execute(f"COPY t TO '{folder / 'hive'}' (FORMAT parquet, PARTITION_BY (key, yes))")
    return folder / "hive"


def spelled(value):
    return "" if value is None else str(value)


def csv_bytes():
    text = io.StringIO()
    csv.writer(text).writerows([NAMES, *([spelled(row[name]) for name in NAMES] for row in ROWS)])
    return text.getvalue().encode()


def json_bytes(rows=ROWS):
    lines = [{name: str(cell) if isinstance(cell, dt.date) else cell for name, cell in row.items()} for row in rows]
    return "".join(json.dumps(line, ensure_ascii=i % 2 == 0) + "\n" for i, line in enumerate(lines)).encode()


def written(data, name, folder):
    opens = {"gz": gzip.open, "bz2": bz2.open, "zst": zstd.open}.get(name.rpartition(".")[2], open)
    with opens(folder / name, "wb") as file:
        file.write(data)
    return folder / name


def sqlite(folder):
    with sqlite3.connect(folder / "t.sqlite") as base:
        base.execute("CREATE TABLE visits (person TEXT, n INT, x REAL, key, day DATE, yes BOOLEAN)")
        rows = [tuple(str(cell) if isinstance(cell, dt.date) else cell for cell in row.values()) for row in ROWS]
        base.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?)", rows)
    base.close()
    return folder / "t.sqlite"


def duckdb_file(folder):
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("t", table())
        connection.execute("CREATE TABLE visits AS FROM t")
    return folder / "t.duckdb"


def arrow(folder, name="t.arrow", **options):
    feather.write_feather(table(), str(folder / name), **options)
    return folder / name


def statistics(name):
    def make(folder):
        frame = table().to_pandas()
        frame["yes"] = [None if row["yes"] is None else float(row["yes"]) for row in ROWS]
        frame["day"] = pd.Series([row["day"] for row in ROWS], dtype=object)
        if name.endswith(".por"):
            frame.columns = [column.upper() for column in frame.columns]
            frame["KEY"] = [None if key is None else {"é": "e", "日本": "j"}.get(key, key) for key in frame["KEY"]]
        writers = {"dta": pyreadstat.write_dta, "xpt": pyreadstat.write_xport, "por": pyreadstat.write_por}
        options = {"compress": True} if name.endswith(".zsav") else {}
        path = folder / name
        writers.get(name.rpartition(".")[2], pyreadstat.write_sav)(frame, str(path), **options)
        return path

    return make


def sas7bdat(folder):
    """Write a SAS file by the functions of ReadStat that pyreadstat has but does not offer."""
    library = ctypes.CDLL(next(str(file) for file in Path(pyreadstat.__file__).parent.glob("_readstat_writer*.so")))
    for name in ("readstat_writer_init", "readstat_add_variable"):
        getattr(library, name).restype = ctypes.c_void_p
    parts = []

    @ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    def write(data, size, _):
        parts.append(ctypes.string_at(data, size))
        return size

    writer = ctypes.c_void_p(library.readstat_writer_init())
    library.readstat_set_data_writer(writer, write)
    columns = {}
    for name in NAMES:
        is_text = name in ("person", "key")
        kind, width = (0, 12) if is_text else (5, 8)
        columns[name] = ctypes.c_void_p(
            library.readstat_add_variable(writer, name.encode(), kind, ctypes.c_size_t(width))
        )
    library.readstat_variable_set_format(columns["day"], b"DATE9")
    library.readstat_begin_writing_sas7bdat(writer, None, ctypes.c_long(len(ROWS)))
    for row in ROWS:
        library.readstat_begin_row(writer)
        for name, cell in row.items():
            if cell is None:
                library.readstat_insert_missing_value(writer, columns[name])
            elif isinstance(cell, str):
                library.readstat_insert_string_value(writer, columns[name], cell.encode())
            else:
                number = (cell - dt.date(1960, 1, 1)).days if isinstance(cell, dt.date) else cell
                library.readstat_insert_double_value(writer, columns[name], ctypes.c_double(number))
        library.readstat_end_row(writer)
    library.readstat_end_writing(writer)
    library.readstat_writer_free(writer)
    return written(b"".join(parts), "t.sas7bdat", folder)


# --- workbooks ---


def cell_xml(value, place):
    """Return a cell of a sheet; a dict gives the XML itself."""
    if isinstance(value, dict):
        return value["xml"].format(place=place)
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, dt.date):
        return f'<c r="{place}" s="1"><v>{(value - dt.date(1899, 12, 30)).days}</v></c>'
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
    return "" if value is None else f'<c r="{place}"><v>{value!r}</v></c>'


def sheet_xml(rows):
    lines = []
    for number, row in enumerate(rows, 1):
        cells = "".join(cell_xml(value, f"{chr(65 + at)}{number}") for at, value in enumerate(row))
        lines.append(f'<row r="{number}">{cells}</row>')
    return f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def workbook(path, sheets):
    """Write a workbook with sheets, each a list of rows or XML."""
    named = list(enumerate(sheets.items(), 1))
    listed = "".join(f'<sheet name="{escape(name)}" sheetId="{i}" r:id="r{i}"/>' for i, (name, _) in named)
    links = "".join(
        f'<Relationship Id="r{i}" Type="{OFFICE}/worksheet" Target="worksheets/s{i}.xml"/>' for i, _ in named
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="{TYPE}.worksheet+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{TYPE}.sheet.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">{links}<Relationship '
        f'Id="style" Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/>'
        "</cellXfs></styleSheet>",
    }
    parts |= {f"xl/worksheets/s{i}.xml": rows if isinstance(rows, str) else sheet_xml(rows) for i, (_, rows) in named}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in parts.items():
            file.writestr(name, text if text.startswith("<?xml") else f'<?xml version="1.0" encoding="UTF-8"?>{text}')
    return path


def xlsx(folder):
    return workbook(folder / "t.xlsx", {"Visits": [NAMES, *(row.values() for row in ROWS)]})


def ods(folder):
    def cell(value):
        if isinstance(value, bool):
            return f'<table:table-cell office:value-type="boolean" office:boolean-value="{str(value).lower()}"/>'
        if isinstance(value, dt.date):
            return f'<table:table-cell office:value-type="date" office:date-value="{value}"/>'
        if isinstance(value, str):
            return f'<table:table-cell office:value-type="string"><text:p>{escape(value)}</text:p></table:table-cell>'
        return (
            "<table:table-cell/>"
            if value is None
            else (f'<table:table-cell office:value-type="float" office:value="{value!r}"/>')
        )

    rows = "".join(
        f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in [NAMES, *(r.values() for r in ROWS)]
    )
    office = "urn:oasis:names:tc:opendocument:xmlns"
    with zipfile.ZipFile(folder / "t.ods", "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr(
            "content.xml",
            f'<office:document-content xmlns:office="{office}:office:1.0" xmlns:table="{office}:table:1.0" '
            f'xmlns:text="{office}:text:1.0"><office:body><office:spreadsheet><table:table table:name="T">{rows}'
            "</table:table></office:spreadsheet></office:body></office:document-content>",
        )
        file.writestr("META-INF/manifest.xml", '<manifest:manifest xmlns:manifest="urn:m"/>')
    return folder / "t.ods"


MAKERS = {
    "parquet": parquet,
    "folder": parquet_folder,
    "hive": hive,
    "csv": lambda folder: written(csv_bytes(), "t.csv", folder),
    "csv.gz": lambda folder: written(csv_bytes(), "t.csv.gz", folder),
    "csv.bz2": lambda folder: written(csv_bytes(), "t.csv.bz2", folder),
    "csv.zst": lambda folder: written(csv_bytes(), "t.csv.zst", folder),
    "jsonl": lambda folder: written(json_bytes(), "t.jsonl", folder),
    "ndjson.zst": lambda folder: written(json_bytes(), "t.ndjson.zst", folder),
    "xlsx": xlsx,
    "ods": ods,
    "sqlite": sqlite,
    "duckdb": duckdb_file,
    "arrow": arrow,
    "feather, compressed": lambda folder: arrow(folder, "t.feather", compression="zstd"),
    "stata": statistics("t.dta"),
    "spss": statistics("t.sav"),
    "spss, compressed": statistics("t.zsav"),
    "sas transport": statistics("t.xpt"),
    "sas": sas7bdat,
}
