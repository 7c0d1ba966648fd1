"""What the description of a file means, and where noise is called low."""

from __future__ import annotations

from typing import Any

from ...question.file import File, file
from ...question.noise_levels import NoiseLevels, noise_levels
from ..tools.meaning import Cases, Denied, F

_SIGN = Denied("one ASCII character")
_PATTERN = Denied("dates is a pattern of day, month and year")


def files() -> dict[str, Cases]:
    """Return descriptions of files, and levels of noise."""
    return {
        "format and encoding": _formats(),
        "delimiter and quote": _signs(),
        "marks": _marks(),
        "names": _names(),
        "missing": _missing(),
        "dates": _dates(),
        "part": _parts(),
        "described": _described(),
        "noise_levels": _noise_levels(),
    }


def _formats() -> Cases:
    formats = ("csv", "parquet", "jsonl", "excel", "sqlite", "duckdb", "arrow", "stata", "spss", "sas")
    encodings = ("utf-8", "latin-1", "windows-1252", "utf-16", "utf-16le", "utf-16be")
    return [
        (file, File()),
        (file, File(None, None, None, None, None, None, None, None, (), None)),
        *[(lambda each=each: file(format=each), File(format=each)) for each in formats],
        *[(lambda each=each: file(encoding=each), File(encoding=each)) for each in encodings],
        (lambda: file(format="CSV"), Denied("format is one of csv, parquet")),
        (lambda: file(format=""), Denied('format = ""')),
        (lambda: file(format=_as(7)), Denied("format = 7")),
        (lambda: file(encoding="utf8"), Denied("encoding is one of utf-8, latin-1")),
        (lambda: file(encoding=""), Denied('encoding = ""')),
        (
            lambda: file(
                format="csv", delimiter=";", quote="'", encoding="utf-8", header=False, names=["a"], decimal=",",
                thousands=".", dates="%d.%m.%Y", missing=["b", "a"], part="p",
            ),
            File("csv", ";", "'", "utf-8", ("a",), ",", ".", "%d.%m.%Y", ("a", "b"), "p"),
        ),
    ]  # fmt: skip


def _signs() -> Cases:
    same = Denied("delimiter is another character than the quote")
    usual = Denied("Nothing was given for delimiter")
    return [
        *[(lambda each=each: file(delimiter=each), File(delimiter=each)) for each in ";,\t| :'"],
        *[(lambda each=each: file(quote=each), File(quote=each)) for each in "'\"|;"],
        (lambda: file(quote=""), File(quote="")),
        (lambda: file(quote="", delimiter='"'), File(quote="", delimiter='"')),
        (lambda: file(quote="'", delimiter='"'), File(quote="'", delimiter='"')),
        (lambda: file(quote=",", delimiter=";"), File(quote=",", delimiter=";")),
        *[
            (lambda each=each: file(delimiter=each), _SIGN)
            for each in ("", ";;", "a", "Z", "5", "é", "\u00a0", "\n", "\r", "\0", "\\", 7)
        ],
        *[(lambda each=each: file(quote=each), _SIGN) for each in ("''", "a", "5", "é", "\n", "\r", "\0", "\\", 7)],
        (lambda: file(delimiter='"'), same),
        (lambda: file(delimiter="'", quote="'"), same),
        (lambda: file(quote=","), usual),
        (lambda: file(quote="\t"), usual),
    ]


def _marks() -> Cases:
    same = Denied("thousands is another character than the decimal mark")
    spaces = (",", " ", "'", "\u00a0", "\u202f", "_")
    return [
        (lambda: file(decimal="."), File(decimal=".")),
        (lambda: file(decimal=","), File(decimal=",")),
        *[(lambda each=each: file(thousands=each), File(thousands=each)) for each in spaces],
        (lambda: file(decimal=",", thousands="."), File(decimal=",", thousands=".")),
        (lambda: file(decimal=".", thousands=","), File(decimal=".", thousands=",")),
        (lambda: file(thousands="."), same),
        (lambda: file(thousands=".", decimal="."), same),
        (lambda: file(thousands=",", decimal=","), same),
        (lambda: file(decimal=";"), Denied('decimal = ";"')),
        (lambda: file(decimal=""), Denied('decimal = ""')),
        (lambda: file(thousands=";"), Denied('thousands = ";"')),
        (lambda: file(thousands=""), Denied('thousands = ""')),
    ]


def _names() -> Cases:
    different = Denied("a list of different texts, none of them empty")
    return [
        (lambda: file(header=True), File()),
        (lambda: file(header=False, names=["b", "a"]), File(names=("b", "a"))),
        (lambda: file(header=False, names=("b",)), File(names=("b",))),
        (lambda: file(header=False, names=["a" * 200]), File(names=("a" * 200,))),
        (lambda: len(file(header=False, names=list(map(str, range(100_000)))).names or ()), 100_000),
        (lambda: file(header=False, names=[]), File(names=())),
        (lambda: file(names=["a"]), Denied("names and header were both given")),
        (lambda: file(header=True, names=[]), Denied("names and header were both given")),
        (lambda: file(header=False), Denied("Nothing was given for names")),
        (lambda: file(header=_as(0), names=["a"]), Denied("header = 0")),
        (lambda: file(header=_as(None)), Denied("header = nothing")),
        (lambda: file(header=False, names=_as("ab")), different),
        (lambda: file(header=False, names=_as({"a"})), different),
        (lambda: file(header=False, names=["a", "a"]), different),
        (lambda: file(header=False, names=["a", ""]), Denied('names = ""')),
        (lambda: file(header=False, names=["a", _as(1)]), Denied("names = 1")),
        (lambda: file(header=False, names=["a\0"]), different),
        (lambda: file(header=False, names=["\ud800"]), different),
        (lambda: file(header=False, names=["\udfff"]), different),
        (lambda: file(header=False, names=["a" * 201]), different),
        (lambda: file(header=False, names=list(map(str, range(100_001)))), different),
    ]


def _missing() -> Cases:
    different = Denied("missing is a list of different texts.")
    return [
        (lambda: file(missing=["b", "", "a"]), File(missing=("", "a", "b"))),
        (lambda: file(missing=("a" * 200,)), File(missing=("a" * 200,))),
        (lambda: file(missing=[]), File()),
        (lambda: file(missing=_as("NA")), different),
        (lambda: file(missing=["a", "a"]), different),
        (lambda: file(missing=_as([1])), different),
        (lambda: file(missing=["a" * 201]), different),
        (lambda: file(missing=["\0"]), different),
        (lambda: file(missing=_as(None)), different),
    ]


def _dates() -> Cases:
    right = (
        "%d.%m.%Y", "%Y-%m-%d", "%d %b %y", "%B %d, %Y", "%Y-%j", "%y%j", "%m/%d/%Y %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f",
        "%d%%%m%%%Y", "%d.%m.%Y" + "." * 92,
    )  # fmt: skip
    wrong = (
        "", "dmY", "%d.%m", "%d.%Y", "%m.%Y", "%Y", "%j", "%d.%m.%Y %Z", "%d.%m.%Y %A", "%d.%m.%Y\n", "%d.%m.%Y %",
        "%d.%m.%Y" + "." * 93, 7,
    )  # fmt: skip
    return [
        *[(lambda each=each: file(dates=each), File(dates=each)) for each in right],
        *[(lambda each=each: file(dates=each), _PATTERN) for each in wrong],
        (lambda: file(dates="%d"), Denied("made of %Y %y %m %d %H %M %S %f %b %B %j.")),
    ]


def _parts() -> Cases:
    name = Denied("part is the name of a sheet or table")
    return [
        (lambda: file(part="a"), File(part="a")),
        (lambda: file(part="a" * 200), File(part="a" * 200)),
        *[(lambda each=each: file(part=each), name) for each in ("", "a\0", "a" * 201, 7)],
    ]


def _described() -> Cases:
    return [
        (lambda: file().describe(), {}),
        (lambda: file(quote="").describe(), {"quote": ""}),
        (lambda: file(missing=["b", "a"]).describe(), {"missing": ["a", "b"]}),
        (lambda: file(header=False, names=["b", "a"]).describe(), {"names": ["b", "a"]}),
        (
            lambda: file(
                format="csv", delimiter=";", encoding="utf-8", decimal=",", thousands=".", dates="%Y%j", part="p"
            ).describe(),
            {"format": "csv", "delimiter": ";", "encoding": "utf-8", "decimal": ",", "thousands": ".", "dates": "%Y%j",
             "part": "p"},
        ),
    ]  # fmt: skip


def _noise_levels() -> Cases:
    return [
        (noise_levels, NoiseLevels(F(33, 200), F(333, 1000))),
        (lambda: noise_levels(low=0.1), NoiseLevels(F(1, 10), F(333, 1000))),
        (lambda: noise_levels(medium="0.5"), NoiseLevels(F(33, 200), F(1, 2))),
        (lambda: noise_levels(low=0.2, medium=0.2), NoiseLevels(F(1, 5), F(1, 5))),
        (lambda: noise_levels(low=0.2, medium=0.1), Denied("low is at most as large as medium")),
        (lambda: noise_levels(low=0), Denied("low is a positive number")),
        (lambda: noise_levels(medium=-1), Denied("medium is a positive number")),
        (lambda: noise_levels(low=_as(None)), Denied("low = nothing")),
    ]


def _as(value: object) -> Any:
    return value
