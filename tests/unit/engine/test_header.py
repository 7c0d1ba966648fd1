"""A first line is taken for a row, for ``lapwing init``, if something tells it from a header."""

from __future__ import annotations

import pytest

from lapwing.engine.header import is_value, row_rather_than_names, shape
from lapwing.question.file import file
from lapwing.source_file import describe


@pytest.mark.parametrize(
    "cell",
    [
        "17", "-3.5", "1,234.5", "1 234,5", "1'000", "1.5e10", "2E-3", "(15)", "15 %", "5%", "€15", "$ 3.10", "12 €",
        "2024-01-02", "02.01.2024", "1/2/2024", "10:11", "2024-01-02 10:11:12", "2024-01-02T10:11:12Z", "2 Jan 2024",
        "2-Jan-24", "January 2, 2024", "true", "FALSE", "NA", "N/A", "null", "NaN", "\\N", "ann@example.org",
        "https://example.org/1", "123e4567-e89b-12d3-a456-426614174000", "0123456789abcdef01", '"17', " 17 ",
    ],
)  # fmt: skip
def test_a_value_is_no_name(cell):
    assert is_value(cell)


@pytest.mark.parametrize(
    "name",
    [
        "age", "Age (years)", "q1", "v101", "y2019", "x", "n", "no", "yes", "Na", "income in €", "share %", "date",
        "may",
        "March", "icd10", "t-1", "größe", "name@home", "a1b2", "", "_1", "col.1", "id#", "deadbeef",
    ],
)  # fmt: skip
def test_a_name_is_no_value(name):
    assert not is_value(name)


def test_the_form_of_a_text_is_that_of_its_signs():
    assert shape("P-0017 ä") == "A-9999 a"


@pytest.mark.parametrize(
    ("first", "rows", "why"),
    [
        (["name", "age"], [["ann", "17"], ["bob", "4"]], None),
        (["ann", "17"], [["bob", "4"]], "a value or a code"),
        (["ann", "north"], [["bob", "south"], ["eve", "north"]], "occurs again below"),
        (["ann", "P-0017"], [["bob", "P-0018"], ["eve", "P-0019"], ["joe", "none"]], "of the same form"),
        (["code", "icd10"], [["ann", "E11"], ["bob", "E12"]], None),
        (["q1", "q2"], [["a", "b"], ["c", "d"]], None),
        (["ann", "north"], [], "no line below"),
        (["ann", "north"], [[]], "no line below"),
        (["name", "city"], [["ann", "Rome"], ["bob", "Oslo"]], None),
        (["name", "age"], [["ann"], ["bob", "4", "more"]], None),
    ],
)
def test_what_tells_a_row_from_a_header(first, rows, why):
    found = row_rather_than_names(first, rows)
    assert found == why or (why is not None and why in str(found))


def test_a_mark_before_a_quoted_cell_hides_no_row(tmp_path):
    place = tmp_path / "t.csv"
    place.write_bytes('\ufeff"true","a"\n"false","b"\n'.encode())
    with pytest.raises(Exception, match="looks like a row"):
        describe(str(place), tmp_path)
    assert describe(str(place), tmp_path, file(), header=False).columns == ["column1", "column2"]
