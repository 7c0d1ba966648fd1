"""The reference of SQL says what is accepted and refused: every statement on the page is read."""

import re
from pathlib import Path

import pytest

import lapwing as lw
from lapwing import errors
from lapwing.question.schema import make_schema
from lapwing.question.sql import make_query, parse
from lapwing.question.statement import read

PAGE = (Path(__file__).parents[3] / "docs/reference/sql.md").read_text()
COLUMNS = {
    "ward": lw.keys("north", "south", "harbour"),
    "sex": lw.keys("f", "m"),
    "age": lw.number(0, 120, integer=True),
    "cost": lw.number(0, 5000),
    "admitted": "date",
    "note": "text",
}
SCHEMA = make_schema("visits", COLUMNS, "patient", 3, "add_remove", None)
BLOCKS = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
SECTION = PAGE.partition("## What is refused")[2].partition("\n## ")[0]
REFUSED = [re.findall(r"`(.*?)`|\| ([^|`]+?) (?=\|$)", line) for line in SECTION.splitlines() if line.startswith("| `")]


@pytest.mark.parametrize("text", BLOCKS)
def test_what_the_page_shows_is_accepted(text):
    read(text, SCHEMA)


def test_the_other_ways_to_write_a_question_ask_the_same():
    section = PAGE.partition("## The same question")[2].partition("\n## ")[0]
    (plain,) = re.findall(r"These ask the same as `(.*?)`", section)
    others = re.findall(r"```sql\n(.*?)```", section, re.DOTALL)
    assert len(others) == 3
    assert {read(other, SCHEMA).query.text for other in others} == {parse(plain, SCHEMA).text}


@pytest.mark.parametrize("line", REFUSED, ids=lambda line: line[0][0])
def test_what_the_page_says_is_refused_is_refused_and_what_to_write_instead_is_accepted(line):
    refused, *instead = [code for code, _ in line if code]
    with pytest.raises(errors.RequestError) as caught:
        read(refused, SCHEMA)
    assert "othing was charged" in str(caught.value)
    for text in instead:
        read(text, SCHEMA)


SETS = PAGE.partition("## Several tables")[2].partition("\n## ")[0]


def test_several_tables_in_sql_and_python_are_those_of_the_page():
    schema = make_schema("t", {name: lw.keys(0, 1) for name in "abc"}, None, None, "add_remove", None)
    rows = [line.strip("|").split(" | ") for line in SETS.splitlines() if line.startswith("| ") and "lw." in line]
    assert len(rows) == 7
    for written, _, python in rows:
        query = make_query([lw.count()], eval(python.strip(" `"), {"lw": lw}), None, schema)
        for group in re.findall("`(.*?)`", written):
            assert parse(f"SELECT COUNT(*) FROM t GROUP BY {group}", schema) == query
        assert len(query.sets) > 2


def test_the_page_has_a_table_of_refusals():
    assert len(REFUSED) > 25
    assert sum(len([code for code, _ in line if code]) == 2 for line in REFUSED) > 20
