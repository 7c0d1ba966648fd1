"""A script for a process of its own: reads workbooks and files of statistics programs by libraries in other languages.

Such a library may take all memory, or end the process, because of what is in one cell.  So this script imports nothing
of Lapwing, and the process that started it (``apart``) refuses the file if it ends too early.  It gets one job as JSON
on standard input, and writes lines of JSON: {"refused": reason}, or what was asked for and then {"done": true}.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from itertools import compress
from typing import Any

_CHUNK = 2**14
_LOOKED_AT = 10_000


class CannotRead(Exception):
    """CannotRead(reason): a public fact about the file because of which it cannot be read."""


# --- workbooks, by calamine ---


def _sheet(file: str, part: str | None) -> Any:
    """Return the sheet of this name, or the only one."""
    import python_calamine as calamine

    try:
        book = calamine.load_workbook(file)
    except calamine.PasswordError:
        raise CannotRead("password") from None
    kinds = {each.name: each.typ for each in book.sheets_metadata}
    sheets = [name for name in book.sheet_names if kinds.get(name) in (None, calamine.SheetTypeEnum.WorkSheet)]
    if part is None and len(sheets) != 1:
        raise CannotRead("parts\n" + "\n".join(sheets))
    if part is not None and part not in sheets:
        raise CannotRead("no part\n" + "\n".join(sheets))
    return book.get_sheet_by_name(sheets[0] if part is None else part)


def _rows(sheet: Any) -> Iterator[list[Any]]:
    """Yield the rows from the first of the sheet on, as if the sheet began with its first column."""
    if sheet.start is None:
        return
    top, left = sheet.start
    for _ in range(top):
        yield []
    for row in sheet.iter_rows():
        yield row if len(row) > sheet.end[1] - left + 1 else [""] * left + row


def workbook_names(file: str, part: str | None) -> Iterator[Any]:
    """Yield the cells of the first row, and whether one of them occurs again below, in its column."""
    rows = _rows(_sheet(file, part))
    names = [_plain(cell) for cell in next(rows, [])]
    again = False
    for _, row in zip(range(_LOOKED_AT), rows, strict=False):
        again = again or any(a == _plain(b) for a, b in zip(names, row, strict=False) if isinstance(a, str) and a)
    yield {"names": names, "again": again}


def workbook_rows(file: str, part: str | None, places: Sequence[int]) -> Iterator[Any]:
    """Yield the columns at these places, in chunks; rows without any value are left out, wherever they are."""
    rows = _rows(_sheet(file, part))
    next(rows, None)
    kept = ([_at(row, place) for place in places] for row in rows if any(cell != "" for cell in row))
    yield from _chunks(kept)


def _at(row: Sequence[Any], place: int) -> Any:
    cell = _plain(row[place]) if place < len(row) else None
    return None if cell == "" else cell


# --- Stata, SPSS and SAS, by ReadStat ---

_DAYS = {
    "stata": re.compile("%-?t?d"),
    "sas": re.compile(
        r"(YYMMDD|DDMMYY|MMDDYY|DATE|E8601DA|B8601DA|JULIAN|JULDAY|MONYY|MMYY|YYMM|YYMON|YYQ|YEAR|WEEKDAT|WORDDAT|"
        r"NENGO|DAY|DOWNAME|MONNAME|MONTH|QTR|EURDFDE|EURDFDD|MINGUO|WEEKU|WEEKV|WEEKW|ND8601DA|IS8601DA)"
    ),
}
_SECONDS = {
    "stata": re.compile(r"%-?t[cC]"),
    "spss": re.compile(r"(DATE|ADATE|EDATE|JDATE|SDATE|QYR|MOYR|WKYR|DATETIME|YMDHMS)(?![A-Z])"),
    "sas": re.compile(r"(DATETIME|DATEAMPM|E8601DT|B8601DT|E8601DN|B8601DN|DTDATE|DTMONYY|DTWKDATX|DTYEAR|DTYYQC|"
                      r"MDYAMPM|EURDFDT|IS8601DT)"),
}  # fmt: skip
_FIRST = {"stata": datetime(1960, 1, 1), "sas": datetime(1960, 1, 1), "spss": datetime(1582, 10, 14)}
"""The formats of days and of moments, which are numbers in the file, and what they are counted from."""


def _reader(form: str, file: str, encoding: str | None) -> tuple[Callable[..., Any], dict[str, Any]]:
    import pyreadstat

    readers = {"stata": "dta", "spss": "por" if file.lower().endswith(".por") else "sav",
               "sas": "xport" if file.lower().endswith(".xpt") else "sas7bdat"}  # fmt: skip
    settings: dict[str, Any] = {"output_format": "dict", "disable_datetime_conversion": True}
    if encoding is not None and readers[form] != "por":  # which has one of its own
        settings["encoding"] = encoding
    return getattr(pyreadstat, f"read_{readers[form]}"), settings


def statistics_names(file: str, form: str, encoding: str | None) -> Iterator[Any]:
    """Yield the names, the kinds, the titles and the labels of values, as the file describes its columns."""
    read, settings = _reader(form, file, encoding)
    if form == "spss" and not file.lower().endswith(".por"):
        settings["user_missing"] = True  # or the file would not tell which codes it marks as missing
    _, about = read(file, metadataonly=True, **settings)
    kinds = [_kind(form, about, name) for name in about.column_names]
    titles = [about.column_names_to_labels.get(name) for name in about.column_names]
    listed = [
        [[_plain(code), str(label)] for code, label in about.variable_value_labels.get(name, {}).items()
         if not any(_between(code, each) for each in about.missing_ranges.get(name, ()))]
        for name in about.column_names
    ]  # fmt: skip
    yield {"names": about.column_names, "kinds": kinds, "titles": titles, "labels": listed}


def _between(code: Any, missing: dict[str, Any]) -> bool:
    """Return whether a code is one of those that the file marks as missing."""
    try:
        return bool(missing["lo"] <= code <= missing["hi"])
    except (KeyError, TypeError):
        return False


def _kind(form: str, about: Any, name: str) -> str:
    """Return what a column holds: texts, numbers, days, or moments in seconds or thousandths."""
    if about.readstat_variable_types.get(name) == "string":
        return "text"
    shown = about.original_variable_types.get(name) or ""
    shown = shown if form == "stata" else shown.upper().rstrip(".")
    if form in _SECONDS and _SECONDS[form].match(shown):
        return "moment"
    return "day" if form in _DAYS and _DAYS[form].match(shown) else "number"


def statistics_rows(file: str, form: str, encoding: str | None, names: Sequence[str]) -> Iterator[Any]:
    """Yield the columns of these names, in chunks."""
    read, settings = _reader(form, file, encoding)
    if file.lower().endswith(".xpt"):
        columns, about = read(file, **settings)
        kept = [any(map(_is_given, row)) for row in zip(*columns.values(), strict=True)]
        columns = {name: list(compress(columns[name], kept)) for name in names}
    else:
        columns, about = read(file, usecols=list(names), **settings)
    count = len(next(iter(columns.values()), []))
    readers = [_moments(form, _kind(form, about, name)) for name in names]
    for start in range(0, count, _CHUNK):
        parts = [columns[name][start : start + _CHUNK] for name in names]
        yield [[read_cell(cell) for cell in part] for read_cell, part in zip(readers, parts, strict=True)]


_BLANKS = 0x20202020202020 / 2**56 * 16.0**-32
"""The number that eight blanks are in a SAS transport file."""


def _is_given(cell: Any) -> bool:
    """Return whether a cell of a SAS transport file is more than blanks."""
    return cell not in ("", _BLANKS)


def _moments(form: str, kind: str) -> Callable[[Any], Any]:
    """Return how a cell of this kind is read; a text without characters is missing, as these programs mean it."""
    if kind not in ("day", "moment"):
        return lambda cell: None if cell == "" else _plain(cell)
    parts = {"day": 1, "moment": 86_400_000 if form == "stata" else 86_400}[kind]

    def day(cell: Any) -> Any:
        try:
            return _plain((_FIRST[form] + timedelta(days=math.floor(cell / parts))).date())
        except (OverflowError, TypeError, ValueError):  # missing, or no date of the years 1 to 9999
            return None

    return day


# --- what is written ---


def _plain(cell: Any) -> Any:
    """Return a cell as JSON has it, a day as {"day": text}; what the rule for cells has no value for is missing."""
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else None
    if isinstance(cell, datetime):
        return {"day": cell.date().isoformat()}
    if isinstance(cell, date):
        return {"day": cell.isoformat()}
    return cell if isinstance(cell, str | int) else None


def _chunks(rows: Iterable[Sequence[Any]]) -> Iterator[list[list[Any]]]:
    """Yield rows as columns, in chunks."""
    chunk: list[Sequence[Any]] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == _CHUNK:
            yield _columns(chunk)
            chunk = []
    if chunk:
        yield _columns(chunk)


def _columns(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Return rows as columns; if none is wanted, as one column without values."""
    return [list(column) for column in zip(*rows, strict=True)] or [[None] * len(rows)]


_JOBS: dict[str, Callable[..., Iterator[Any]]] = {
    "workbook names": workbook_names,
    "workbook rows": workbook_rows,
    "statistics names": statistics_names,
    "statistics rows": statistics_rows,
}


def main() -> None:
    """Do the job of standard input."""
    job = json.loads(sys.stdin.readline())
    sys.path[:] = job["path"]
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (job["memory"], job["memory"]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, OSError, ValueError):  # not on every system
        pass
    try:
        for line in _JOBS[job["job"]](*job["of"]):
            sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.write(json.dumps({"done": True}) + "\n")
    except CannotRead as refused:
        sys.stdout.write(json.dumps({"refused": str(refused)}) + "\n")
    except BaseException:  # its text may quote a cell
        sys.stdout.flush()
        sys.exit(1)


if __name__ == "__main__":
    main()
