"""How a source describes its files: what is refused, from public parameters alone."""

import pytest

import lapwing as lw
from lapwing import errors


@pytest.mark.parametrize(
    "fields",
    [
        {"delimiter": ";;"}, {"delimiter": "a"}, {"delimiter": "é"}, {"delimiter": "\n"}, {"delimiter": '"'},
        {"delimiter": ";", "quote": ";"}, {"quote": ","}, {"quote": "\t"}, {"quote": "\\"}, {"encoding": "utf-7"},
        {"decimal": ";"}, {"thousands": "."}, {"decimal": ",", "thousands": ","}, {"dates": "%d.%m"}, {"dates": "%c"},
        {"dates": 5}, {"missing": "NA"}, {"missing": ["NA", "NA"]}, {"missing": ["a\0"]}, {"missing": ["\ud800"]},
        {"header": False}, {"names": ["a"]}, {"header": False, "names": ["a", "a"]}, {"header": False, "names": [""]},
        {"header": 0, "names": ["a"]}, {"format": "docx"},
    ],
)  # fmt: skip
def test_a_description_that_cannot_hold_is_refused(fields):
    with pytest.raises(errors.RequestError):
        lw.file(**fields)


def test_a_description_says_only_what_is_not_as_usual():
    assert lw.file().describe() == {}
    told = {
        "delimiter": ";",
        "quote": "",
        "encoding": "latin-1",
        "decimal": ",",
        "thousands": ".",
        "missing": ["", "NA"],
    }
    assert lw.file(**told).describe() == told
    assert lw.file(delimiter='"', quote="").delimiter == '"'


def test_the_order_of_texts_for_missing_says_nothing():
    assert lw.file(missing=["NA", "."]) == lw.file(missing=[".", "NA"])
