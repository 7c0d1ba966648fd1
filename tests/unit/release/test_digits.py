"""Digits that mean nothing are not shown, nor written to files; what adds up in a file still does."""

import math

import pandas as pd
import pytest

import lapwing as lw
from lapwing.release.columns import csv_text, in_files
from lapwing.report import bar_text, shown

CELLS = {  # a number and its bar → as files have it
    "a mean": ((501.65261762306784, 483.6, 519.7), (501.65, 483.6, 519.7)),
    "a bar is rounded outward": ((501.65261762306784, 483.60261, 519.70263), (501.65, 483.6, 519.71)),
    "a share": ((0.12039984819030981, 0.1081234567, 0.1326761234), (0.1204, 0.10812, 0.13268)),
    "a large sum": ((123456789.123, 113456789.1, 133456789.1), (123456789.0, 113456789.0, 133456790.0)),
    "a negative number": ((-2.51234567, -4.51234567, -0.51234567), (-2.512, -4.513, -0.512)),
    "little noise": ((3.14159265358979, 3.14159265358970, 3.14159265358988), None),
    "a whole number": ((60001, 59989, 60013), None),
    "an exact number": ((12.345678, 12.345678, 12.345678), None),
    "no bar": ((12.345678, None, None), None),
    "left out": ((None, None, None), None),
    "an open bar": ((12.345678, -math.inf, math.inf), None),
}


def table(value, low, high, mark="low"):
    return {"k": ["a"], "x": [value], "x_low": [low], "x_high": [high], "x_noise": [mark]}


@pytest.mark.parametrize(("cells", "due"), CELLS.values(), ids=CELLS)
def test_files_have_three_digits_beyond_the_first_of_the_margin(cells, due):
    assert in_files(table(*cells)) == table(*(due or cells))


def test_numbers_that_add_up_keep_all_of_their_digits_and_so_do_those_without_a_bar():
    cells = 60000.9375, 59988.591827, 60013.283173
    assert in_files(table(*cells), {"x"}) == table(60000.9375, 59988.59, 60013.29)
    assert in_files(table(*cells, "no bar")) == table(*cells, "no bar")
    assert csv_text(table(*cells), whole={"x"}).splitlines()[1] == "a,60000.9375,59988.59,60013.29,low"


SHOWN = [
    ((60000.9375, 59988.9375, 60012.9375), ("60,001", "± 12")),
    ((501.65261762306784, 498.2, 505.1), ("501.7", "± 3.5")),
    ((0.12039984819030981, 0.1081, 0.1327), ("0.120", "± 0.012")),
    ((60001, 59989, 60013), ("60,001", "± 12")),
]


@pytest.mark.parametrize(("cells", "texts"), SHOWN)
def test_people_read_no_digit_far_below_the_margin(cells, texts):
    value, low, high = cells
    assert (shown(value, high - low), bar_text(*cells)) == texts


@pytest.mark.usefixtures("frozen_noise")
def test_a_row_of_a_distribution_function_says_what_its_share_is_of(tmp_path):
    income = pd.DataFrame({"income": [5_000, 15_000, 30_000, 90_000] * 50, "ward": ["a", "b"] * 100})
    columns = {"income": lw.number(0, 100_000), "ward": lw.keys("a", "b")}
    source = lw.Source(income, name="t", columns=columns, epsilon=100, ledger=tmp_path / "t.ledger")
    answer = source.release(lw.cdf("income", [10_000, 20_000]), by="ward", epsilon=50)
    names = ["below 10000", "below 20000", "up to 100000"]
    assert [(row["ward"], row["income"]) for row in answer.rows] == [(ward, name) for ward in "ab" for name in names]
    assert "b      below 20000" in str(answer)
    assert "a,below 10000," in answer.to_csv()
    counted = source.release(lw.histogram("income", [0, 10_000, 20_000, 100_000]), epsilon=1)
    assert [row["income"] for row in counted.rows] == ["[0, 10000)", "[10000, 20000)", "[20000, 100000]"]
