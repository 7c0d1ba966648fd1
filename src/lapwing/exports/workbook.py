"""An Excel workbook of an answer: the data, what the columns are, and notes.

It is written cell by cell: a text is an inline string, which no program takes for a formula, whatever it starts with;
and a number has all of its digits, of which the usual libraries write 16.

Format: Office Open XML, ECMA-376 part 1, SpreadsheetML.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from .described import Answer, ExportColumn, facts_of, title_of

MOST_ROWS = 2**20 - 1
"""How many groups fit on a sheet, below its head."""

_LONGEST = 32_767
"""The longest text of a cell."""

_BOLD, _DAY = 1, 2
"""The styles: numbers of xl/styles.xml."""

_FIRST_DAY, _EPOCH = date(1900, 3, 1), date(1899, 12, 30)
"""Before March 1900, Excel counts a day that never was."""


def write_workbook(
    answer: Answer,
    columns: Sequence[ExportColumn],
    pieces: Iterable[Mapping[str, Sequence[Any]]],
    path: Path,
) -> None:
    """Write the workbook; ``pieces`` are the columns of the answer, some groups at a time."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in _PARTS.items():
            _write(file, name, [text])
        _write(file, "xl/worksheets/sheet1.xml", _sheet(_data(columns, pieces), frozen=True))
        _write(file, "xl/worksheets/sheet2.xml", _sheet(_about_columns(columns), frozen=True))
        _write(file, "xl/worksheets/sheet3.xml", _sheet(_notes(answer), frozen=False))


def _write(file: zipfile.ZipFile, name: str, texts: Iterable[str]) -> None:
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))  # the same answer makes the same file
    entry.compress_type = zipfile.ZIP_DEFLATED
    with file.open(entry, "w", force_zip64=True) as part:
        for text in texts:
            part.write(text.encode("utf-8"))


Rows = Iterable[Sequence[object]]


def _data(columns: Sequence[ExportColumn], pieces: Iterable[Mapping[str, Sequence[Any]]]) -> Rows:
    yield [each.name for each in columns]
    texts = [each.type == "text" for each in columns]
    for piece in pieces:
        cells = [
            [None if cell is None else str(cell) for cell in piece[each.name]] if text else piece[each.name]
            for each, text in zip(columns, texts, strict=True)
        ]
        yield from zip(*cells, strict=True)


def _about_columns(columns: Sequence[ExportColumn]) -> Rows:
    yield ["column", "what it is", "of", "title", "unit", "type"]
    for each in columns:
        yield [each.name, each.description, each.of, each.title, each.unit, each.type]


def _notes(answer: Answer) -> Rows:
    facts = facts_of(answer)
    yield [title_of(answer)]
    for note in facts["notes"]:
        yield [note]
    yield []
    for name in ("question", "comparison", "cut", "epsilon", "delta", "protects", "privacy_unit", "rows_per_person",
                 "neighbors", "confidence", "simultaneous", "suppressed", "view", "version", "entry", "recorded_at",
                 "software"):  # fmt: skip
        if facts.get(name) is not None:
            yield [name.replace("_", " "), facts[name]]
    for name, column in facts["columns_of_the_source"].items():
        told = ", ".join(f"{key} {value}" for key, value in column.items())
        yield [f"declared: {name}", told]


def _sheet(rows: Rows, *, frozen: bool) -> Iterable[str]:
    yield f'{_XML}<worksheet xmlns="{_MAIN}">'
    if frozen:
        pane = '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>'
        yield f'<sheetViews><sheetView workbookViewId="0">{pane}</sheetView></sheetViews>'
    yield '<sheetFormatPr defaultRowHeight="15"/>'
    yield '<cols><col min="1" max="64" width="18" customWidth="1"/></cols>'
    yield "<sheetData>"
    for number, row in enumerate(rows):
        style = f' s="{_BOLD}"' if number == 0 else ""
        yield f"<row>{''.join(_cell(each, style) for each in row)}</row>"
    yield "</sheetData></worksheet>"


def _cell(value: object, style: str) -> str:
    """Return one cell; cells without a position follow each other."""
    if value is None:
        return "<c/>"
    if isinstance(value, bool):
        return f'<c{style} t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f"<c{style}><v>{value!r}</v></c>"
    if isinstance(value, date) and value >= _FIRST_DAY:
        return f'<c s="{_DAY}"><v>{(value - _EPOCH).days}</v></c>'
    return f'<c{style} t="inlineStr"><is><t xml:space="preserve">{_xml_text(str(value))}</t></is></c>'


_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0d\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def _xml_text(text: str) -> str:
    """Return a text for XML; what XML cannot hold is written as SpreadsheetML does, such as _x000D_."""
    plain = re.sub(r"_(?=x[0-9A-Fa-f]{4}_)", "_x005F_", text)
    plain = _NOT_IN_XML.sub(lambda found: f"_x{ord(found[0]):04X}_", plain)
    return escape(plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1]}…")


_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_SHEETS = ("data", "columns", "notes")
_PARTS = {
    "[Content_Types].xml": (
        f'{_XML}<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/>'
        + "".join(
            f'<Override PartName="/xl/worksheets/sheet{i}.xml" ContentType="{_TYPE}.worksheet+xml"/>'
            for i in range(1, len(_SHEETS) + 1)
        )
        + "</Types>"
    ),
    "_rels/.rels": (
        f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
    ),
    "xl/workbook.xml": (
        f'{_XML}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        + "".join(f'<sheet name="{name}" sheetId="{i}" r:id="rId{i}"/>' for i, name in enumerate(_SHEETS, 1))
        + "</sheets></workbook>"
    ),
    "xl/_rels/workbook.xml.rels": (
        f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">'
        + "".join(
            f'<Relationship Id="rId{i}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{i}.xml"/>'
            for i in range(1, len(_SHEETS) + 1)
        )
        + f'<Relationship Id="rId9" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>'
    ),
    "xl/styles.xml": (
        f'{_XML}<styleSheet xmlns="{_MAIN}">'
        '<numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/></numFmts>'
        '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
        '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
        '<fills count="2"><fill><patternFill patternType="none"/></fill>'
        '<fill><patternFill patternType="gray125"/></fill></fills>'
        '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
        '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
        '<cellXfs count="3"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
        '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/>'
        '<xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs>'
        '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>'
        "</styleSheet>"
    ),
}
