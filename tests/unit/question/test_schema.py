"""Declarations of columns: keys, by value, and what is refused."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lapwing as lw
from lapwing.errors import InvalidRequest

DAYS = (date(2024, 1, 1), date(2024, 1, 2))


@pytest.mark.parametrize(
    ("given", "kind", "listed"),
    [
        (np.array([1, 2]), "integer", (1, 2)),
        (np.array([1, 2], dtype=np.uint8), "integer", (1, 2)),
        ([np.int16(1), 2], "integer", (1, 2)),
        (np.array([True, False]), "boolean", (True, False)),
        (np.array(["a", "b"]), "text", ("a", "b")),
        (np.array(["a", "b"], dtype=object), "text", ("a", "b")),
        (np.array(DAYS, dtype="datetime64[D]"), "date", DAYS),
        (pd.Series([1, 2]), "integer", (1, 2)),
        (pd.Series(["a", "b"]), "text", ("a", "b")),
        (pl.Series(DAYS), "date", DAYS),
        (range(1, 3), "integer", (1, 2)),
        (np.int64(7), "integer", (7,)),
        (np.str_("a"), "text", ("a",)),
        ("north", "text", ("north",)),
    ],
)
def test_keys_are_taken_by_value(given, kind, listed):
    column = lw.keys(given)
    assert (column.kind, column.keys) == (kind, listed)
    assert {type(key) for key in column.keys} <= {int, str, bool, date}


def test_numbers_may_have_keys_of_numpy():
    assert lw.number(1, 4, integer=True, keys=np.arange(1, 5)).keys == (1, 2, 3, 4)
    with pytest.raises(InvalidRequest, match="The keys of a number are of the type text"):
        lw.number(1, 4, integer=True, keys=np.array(["a"]))
    with pytest.raises(InvalidRequest, match="something of type bytes"):
        lw.number(1, 4, integer=True, keys=b"north")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([1.5], "something of type float in place 1"),
        ([Decimal(1)], "something of type Decimal in place 1"),
        ([b"north"], "something of type bytes in place 1"),
        ([bytearray(b"north")], "something of type bytearray in place 1"),
        ([["a", b"b"]], "something of type bytes in place 2"),
        ([np.array([1.5])], "something of type float64 in place 1"),
        ([np.array(5)], "something of type ndarray in place 1"),
        ([np.array([[1, 2]])], "something of type ndarray in place 1"),
        ([["a", ["b"]]], "something of type list in place 2"),
        ([datetime(2024, 1, 1)], "something of type datetime in place 1"),
        ([np.array(["2024-01-01T05"], dtype="datetime64[h]")], "something of type datetime64 in place 1"),
        ([np.array(["2024-01"], dtype="datetime64[M]")], "something of type datetime64 in place 1"),
        ([None], "a missing key in place 1"),
        ([["a", None]], "a missing key in place 2"),
        ([[1, float("nan")]], "a missing key in place 2"),
        ([["a", pd.NA]], "a missing key in place 2"),
        ([pd.Series(["2024-01-01", None], dtype="datetime64[ns]").iloc[1:]], "a missing key in place 1"),
        ([np.array(["NaT"], dtype="datetime64[D]")], "a missing key in place 1"),
        (["a", 1], "keys of different types (text in place 1, integer in place 2)"),
        ([1, True], "keys of different types (integer in place 1, boolean in place 2)"),
        (["b", "a", "b"], "the same key in places 1 and 3"),
        ([[1, np.int8(1)]], "the same key in places 1 and 2"),
        ([], "nothing in it"),
        ([[]], "nothing in it"),
    ],
)
def test_keys_that_are_refused_say_which_rule_and_where(given, said):
    with pytest.raises(InvalidRequest) as caught:
        lw.keys(*given)
    assert str(caught.value) == (
        f"The list of keys has {said}. No noise was drawn and nothing was charged. Give one or more different texts, "
        "whole numbers up to 2^53, truth values or dates, all of one type."
    )


def test_keys_that_no_engine_holds_are_refused_with_their_place():
    with pytest.raises(InvalidRequest, match=r"a number beyond 2\^53 in place 2"):
        lw.keys(1, 2**53 + 1)
    for text in ("a\0", "\ud800"):
        with pytest.raises(InvalidRequest, match="a text in place 2 that is not Unicode or holds a NUL"):
            lw.keys("a", text)
