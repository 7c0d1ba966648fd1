"""Tables of numbers with their bars: one axis, bars that are cut, numbers without bars."""

import re

import pytest

from lapwing.pages.numbers import KeyHead, NumberHead, NumberTable, range_text, value_text

LOW, NOTHING = "low", "no information"


def table(rows, head=None, **more):
    head = head or NumberHead("n")
    return NumberTable("t", [KeyHead("k")], [head], [([str(i)], [row]) for i, row in enumerate(rows)], **more)


def centers(page):
    return [float(each) for each in re.findall(r'cx="([\d.]+)"', page)]


def test_all_bars_of_a_statistic_are_on_one_axis():
    page = table([(9526, 9500, 9552, LOW), (10376, 10350, 10402, LOW), (9526, 9326, 9726, LOW)]).html()
    first, second, third = centers(page)
    assert first == third < second


def test_each_number_is_said_in_words_too():
    page = table([(412, 403, 421, LOW)], NumberHead("n", "kg")).html()
    assert 'aria-label="412, from 403 to 421"' in page
    assert "<td>412</td>" in page
    assert '<span class="range">± 9</span>' in page
    assert page.count("in kg") == 2
    assert '<th scope="row"' in page
    assert "<caption>" in page


def test_a_bar_that_a_bound_cuts_says_so():
    head = NumberHead("m", low=0.0, high=100.0)
    assert range_text((5.0, 0.0, 14.0, LOW), head) == "0 to 14, cut at 0"
    assert range_text((95.0, 80.0, 100.0, LOW), head) == "80 to 100, cut at 100"
    assert range_text((50.0, 40.0, 60.0, LOW), head) == "± 10"
    page = table([(5.0, 0.0, 14.0, LOW), (50.0, 40.0, 60.0, LOW)], head).html()
    assert page.count('class="cut"') == 1


def test_numbers_that_say_nothing_have_no_point():
    nothing = (50.0, 0.0, 100.0, NOTHING)
    page = table([nothing], NumberHead("m", low=0.0, high=100.0)).html()
    assert centers(page) == []
    assert value_text(nothing, NumberHead("m")) == "–"
    assert '<span class="mark">no information</span>' in page
    assert centers(table([(None, None, None, "high")]).html()) == []


@pytest.mark.parametrize(
    ("mark", "words"),
    [("low", None), ("medium", "noise: medium"), ("high", "noise: high"), ("no information", "no information")],
)
def test_a_mark_names_the_noise_and_low_noise_has_none(mark, words):
    marks = re.findall('<span class="mark">([^<]*)</span>', table([(50.0, 20.0, 80.0, mark)]).html())
    assert marks == ([] if words is None else [words])


def test_numbers_without_bars_have_a_point_alone():
    page = table([(5.0, 0.0, 100.0, "no bar")], NumberHead("m", bare=True)).html()
    assert len(centers(page)) == 1
    assert 'class="line"' not in page
    assert ">none<" in page


def test_a_line_is_at_zero_where_there_are_negative_numbers():
    assert 'class="zero"' in table([(-5, -9, -1, LOW), (5, 1, 9, LOW)]).html()
    assert 'class="zero"' not in table([(5, 1, 9, LOW)]).html()


def test_groups_of_the_first_key_are_together():
    rows = [(["a", "x"], [(1, 0, 2, LOW)]), (["a", "y"], [(1, 0, 2, LOW)]), (["b", "x"], [(1, 0, 2, LOW)])]
    page = NumberTable("t", [KeyHead("k"), KeyHead("l")], [NumberHead("n")], rows, outer=1).html()
    assert page.count("<tbody>") == 2
    assert page.count('<tr class="again">') == 1


def test_rows_that_are_summed_are_marked():
    page = NumberTable("t", [KeyHead("k")], [NumberHead("n")], [([None], [(1, 0, 2, LOW)])], total="Total").html()
    assert '<tr class="total"><th scope="row" class="key">Total</th>' in page
