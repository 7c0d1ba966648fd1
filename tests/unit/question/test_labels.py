"""Labels, units and titles: what can be declared, in Python and in a source file."""

from datetime import date

import pytest

import lapwing as lw
from lapwing.errors import InvalidSource, RequestError
from lapwing.source_file import read

SEX = {"1": "men", "2": "women"}


def declared(folder, lines):
    (folder / "t.toml").write_text(f'table = "t.csv"\n[columns.c]\n{lines}\n')
    return read(str(folder / "t.toml"))[1]["c"]


@pytest.mark.parametrize(
    ("lines", "column"),
    [
        ('keys = {"1" = "men", "2" = "women"}', lw.keys(SEX)),
        ('keys = {1 = "men", 2 = "women"}\ntype = "integer"', lw.keys({1: "men", 2: "women"})),
        ('keys = {true = "yes", false = "no"}\ntype = "boolean"', lw.keys({True: "yes", False: "no"})),
        ('keys = {2024-02-29 = "leap"}\ntype = "date"', lw.keys({date(2024, 2, 29): "leap"})),
        ('keys = ["1", "2"]\nlabels = ["men", "women"]\nother = "rest"', lw.keys(SEX, other="rest")),
        ('keys = {"1" = "one", "2" = "two"}\nlow = 0\nhigh = 9', lw.number(0, 9, keys={1: "one", 2: "two"})),
        ('edges = [0, 18, 99]\nlabels = ["young", "old"]', lw.number(edges=[0, 18, 99], labels=["young", "old"])),
        ('low = 0\nhigh = 9\nunit = "hours"\ntitle = "Hours"', lw.number(0, 9, unit="hours", title="Hours")),
        ('keys = ["a"]\ntype = "text"\ntitle = "A"', lw.keys("a", title="A")),
    ],
)
def test_a_source_file_declares_what_python_does(lines, column, tmp_path):
    assert declared(tmp_path, lines) == column


def test_a_mapping_gives_keys_in_its_order_with_their_labels():
    column = lw.keys({2: "women", 1: "men"}, other="rest")
    assert (column.kind, column.group_keys, column.group_labels) == (
        "integer",
        (2, 1, "rest"),
        ("women", "men", "rest"),
    )
    assert lw.keys("a", "b").group_labels is None
    assert lw.number(edges=[0, 1, 2], labels=["x", "y"]).group_labels == ("x", "y")


def test_presentation_is_no_part_of_a_question():
    plain, shown = lw.keys("1", "2"), lw.keys(SEX, unit="persons", title="Sex")
    assert plain != shown
    assert plain.describe() == shown.describe()
    assert lw.number(0, 9).describe() == lw.number(0, 9, unit="hours", title="Hours").describe()


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        (["men"], "1 labels for 2 groups"),
        (["men", "men"], "the same label in places 1 and 2"),
        (["men", "1"], "the code of another group in place 2"),
        (["men", "rest"], "the name of all other keys in place 2"),
        (["men", ""], "something in place 2 that cannot be shown"),
        (["men", " women"], "place 2"),
        (["men", "wo\x1b[31mmen"], "place 2"),
        (["men", "wo\u202emen"], "place 2"),
        (["men", "two\nlines"], "place 2"),
        (["men", '=HYPERLINK("x")'], "place 2"),
        (["men", "@SUM(1)"], "place 2"),
        (["+1", "women"], "place 1"),
        (["-1", "women"], "place 1"),
        (["men", "w" * 250], "a text of 250 characters, too many, in place 2 .* 1 to 200 characters"),
        (["men", 2], "place 2"),
        (["men", None], "place 2"),
        ("ab", "labels"),
        (5, "labels"),
    ],
)
def test_labels_that_mislead_or_harm_are_refused(labels, why):
    with pytest.raises(RequestError, match=why) as caught:
        lw.keys("1", "2", labels=labels, other="rest")
    assert "\x1b" not in str(caught.value)


def test_a_label_may_be_its_own_code():
    assert lw.keys({"men": "men", "w": "women"}).labels == ("men", "women")


@pytest.mark.parametrize(
    "declare",
    [
        lambda: lw.number(0, 1, labels=["a"]),
        lambda: lw.keys(SEX, labels=["a", "b"]),
        lambda: lw.number(0, 1, unit=""),
        lambda: lw.number(0, 1, unit="a\nb"),
        lambda: lw.number(0, 1, unit=5),
        lambda: lw.keys("a", title="=1"),
        lambda: lw.number(edges=[0, 1, 2], labels=["[1, 2]", "x"]),
        lambda: lw.keys({}),
    ],
)
def test_what_says_nothing_or_harms_is_refused(declare):
    with pytest.raises(RequestError):
        declare()


@pytest.mark.parametrize(
    "lines",
    [
        'keys = {"1" = "men", "01" = "women"}\ntype = "integer"',
        'keys = {"1.5" = "men"}\ntype = "integer"',
        'keys = {"20240229" = "leap"}\ntype = "date"',
        'keys = {"yes" = "x"}\ntype = "boolean"',
        'keys = {"a" = "x"}\ntype = "number"',
        'keys = {"a" = 5}',
        'keys = {"a" = "x"}\nlow = 0\nhigh = 9',
        'keys = ["a"]\ntype = "integer"',
        'keys = "a"',
        'type = "text"\nlabels = ["a"]',
        'low = 0\nhigh = 9\nlabels = ["a"]',
    ],
)
def test_a_source_file_with_labels_that_fit_nothing_is_refused(lines, tmp_path):
    with pytest.raises(InvalidSource, match='in column "c"'):
        declared(tmp_path, lines)
