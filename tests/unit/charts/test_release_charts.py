"""Charts of releases and comparisons: they have the released numbers, and Vega-Lite draws them without warnings."""

from collections import Counter
from dataclasses import replace
from datetime import date, timedelta
from itertools import pairwise, product

import pandas as pd
import pytest

import lapwing as lw
from lapwing import errors
from lapwing.charts.numbers import ROWS, ChartKey, Drawn, Numbers
from lapwing.charts.panels import chart_of
from lapwing.charts.wording import harmless

from .drawing import drawn, rows, vl_convert, whole, words

pytestmark = pytest.mark.usefixtures("frozen_noise")

WARDS = ("north", "south", "harbour")
EDGES = [0, 18, 30, 45, 65, 120]
HOSTILE = (
    "</script><script>alert(1)</script>", "<!--<script>", "=1+1\nnext line", "\u202eleft", "a\tb", "{{x}}", '"\'\\',
    "x" * 300, "datum.value", "ward\x07bell", "😀 日本",
)  # fmt: skip


@pytest.fixture
def visits(tmp_path):
    people = list(product(WARDS, "FM", range(60)))
    table = pd.DataFrame(
        {
            "ward": [ward for ward, _, _ in people],
            "sex": [sex for _, sex, _ in people],
            "age": [(7 * i) % 100 for _, _, i in people],
            "heat": [-20.0 + i % 9 for _, _, i in people],
            "cost": [float(i) for _, _, i in people],
            "day": [date(2024, 1, 1) + timedelta(days=6 * i) for _, _, i in people],
            "code": [i % 40 for _, _, i in people],
            "odd": [HOSTILE[i % len(HOSTILE)] for _, _, i in people],
        }
    )
    columns = {
        "ward": lw.keys(*WARDS, title="Ward of the hospital"),
        "sex": lw.keys({"F": "women", "M": "men"}),
        "age": lw.number(0, 120, integer=True, edges=EDGES, unit="years"),
        "heat": lw.number(-40, 40, unit="°C", title="Temperature"),
        "cost": lw.number(0, 100, unit="euro"),
        "day": lw.dates("2024-01-01", "2024-12-31"),
        "code": lw.keys(range(40)),
        "odd": lw.keys(*HOSTILE),
    }
    return lw.Source(table, name="visits", columns=columns, epsilon=1000, ledger=str(tmp_path / "visits.ledger"))


MONTHS = "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY month"


def grouped_by(key):
    return f"SELECT {key} AS k, COUNT(*) AS n FROM visits GROUP BY k"


CUBE, BOTH = lw.cube("ward", "sex"), ["ward", "sex"]
ODD_NAMES = 'SELECT odd AS "</script>.[0]", COUNT(*) AS "<b>\'n" FROM visits GROUP BY 1'
CHARTS = {
    "one statistic": (lambda s: s.release(lw.count(), by="ward", epsilon=1), {}),
    "bars": (lambda s: s.release(lw.sum("heat"), by="ward", epsilon=1), {"kind": "bars"}),
    "dark": (lambda s: s.release(lw.count(), by="ward", epsilon=1), {"theme": "dark", "width": 900}),
    "no look": (lambda s: s.release(lw.count(), by="ward", epsilon=1), {"theme": None}),
    "three statistics": (lambda s: s.release(lw.count(), lw.mean("heat"), lw.median("cost"), by="sex", epsilon=5), {}),
    "no keys": (lambda s: s.release(lw.mean("heat"), epsilon=1), {}),
    "two keys by color": (lambda s: s.release(lw.mean("heat"), by=["ward", "sex"], epsilon=1), {}),
    "two keys as bars": (lambda s: s.release(lw.mean("heat"), by=["sex", "ward"], epsilon=1), {"kind": "bars"}),
    "facets": (lambda s: s.release(lw.count(), by=["odd", "age"], epsilon=1), {"kind": "points"}),
    "three keys": (lambda s: s.release(lw.count(), by=["ward", "sex", "age"], epsilon=1), {"kind": "points"}),
    "bins": (lambda s: s.release(lw.count(), by="age", epsilon=1), {}),
    "bins by color": (lambda s: s.release(lw.count(), by=["ward", "age"], epsilon=1), {"kind": "lines"}),
    "bins by facets": (lambda s: s.release(lw.count(), by=["odd", "age"], epsilon=1), {"kind": "lines"}),
    "even bins": (lambda s: s.sql(grouped_by("BIN(age, 0, 30, 60, 90, 120)"), epsilon=1), {}),
    "months": (lambda s: s.sql(MONTHS, epsilon=1), {}),
    "lines along any key": (lambda s: s.release(lw.count(), by="code", epsilon=1), {"kind": "lines"}),
    "a distribution function": (lambda s: s.release(lw.cdf("cost", 20), by="sex", epsilon=1), {}),
    "heat map": (lambda s: s.release(lw.count(), by=["odd", "ward"], epsilon=1), {"kind": "heatmap"}),
    "heat map on both sides of 0": (
        lambda s: s.release(lw.sum("heat"), by=["ward", "sex"], epsilon="0.001"),
        {"kind": "heatmap", "theme": "dark"},
    ),
    "heat map of means": (lambda s: s.release(lw.mean("heat"), by=["code", "sex"], epsilon=1), {"kind": "heatmap"}),
    "suppressed": (lambda s: s.release(lw.mean("cost"), by="code", epsilon=1).suppressed(), {}),
    "suppressed heat map": (
        lambda s: s.release(lw.mean("cost"), by=["code", "sex"], epsilon=1).suppressed(),
        {"kind": "heatmap"},
    ),
    "nothing known": (lambda s: s.release(lw.mean("cost"), by="code", epsilon="0.001"), {}),
    "a table with totals": (lambda s: s.release(lw.count(), by=CUBE, epsilon=1).table("ward", "sex"), {}),
    "a total": (lambda s: s.release(lw.count(), by=CUBE, epsilon=1).table(), {}),
    "without bars": (
        lambda s: s.release(lw.count(), by=CUBE, epsilon=1).nonnegative().table("ward"),
        {},
    ),
    "a difference": (
        lambda s: s.release(lw.count(), lw.mean("heat"), by=BOTH, epsilon=1).difference(by="sex", of="F", to="M"),
        {},
    ),
    "a total over all keys": (lambda s: s.release(lw.count(), by="ward", epsilon=1).total(over="ward"), {}),
    "hostile names": (lambda s: s.sql(ODD_NAMES, epsilon=1), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CHARTS)
def test_every_kind_of_chart_is_drawn_without_a_warning_and_has_the_released_numbers(visits, capfd, name):
    make, options = CHARTS[name]
    made = make(visits)
    chart = made.plot(**options)
    assert drawn(chart, capfd)
    ends = "value", "low", "high"
    released = [tuple(row[panel][end] for end in ends) for panel in made.estimates for row in made.rows]
    assert Counter(tuple(row[end] for end in ends) for row in rows(chart)) == Counter(released)


STEPS = {
    "even bins": ("BIN(age, 0, 30, 60, 90, 120)", True),
    "even bins within the bounds": ("BIN(age, 20, 40, 60, 80)", False),  # the first and the last reach to the bounds
    "bins of all widths": ("BIN(age, 0, 18, 30, 65, 120)", False),
    "declared edges": ("age", False),
    "months": ("DATE_TRUNC('month', day)", True),
    "weeks": ("DATE_TRUNC('week', day)", True),
    "decades": ("FLOOR(age / 10)", True),
    "days at odd distances": ("visited", False),
    "years": ("since", True),
    "codes": ("code", False),
}


@pytest.mark.parametrize(("key", "joined"), STEPS.values(), ids=STEPS)
def test_a_line_joins_what_follows_in_equal_steps_alone(visits, key, joined):
    days = {"visited": ["2024-01-01", "2024-01-02", "2024-03-01", "2024-12-31"]}
    days["since"] = [f"{year}-01-01" for year in (2021, 2022, 2023, 2024)]
    named = {"day": lw.keys(*map(date.fromisoformat, days[key]))} if key in days else {}
    made = visits.declare(named).sql(grouped_by("day" if named else key), epsilon=1)
    marks = [layer["mark"]["type"] for layer in made.plot().to_dict()["layer"]]
    assert ("line" in marks) == joined
    assert "line" in [layer["mark"]["type"] for layer in made.plot(kind="lines").to_dict()["layer"]]


def test_a_chart_that_warns_is_noticed(capfd):
    spec = {"data": {"values": [{"a": 1}]}, "mark": "bar", "encoding": {"nothing": {"field": "a"}}}
    vl_convert.vegalite_to_svg(spec, show_warnings=True)
    assert "not a valid encoding" in capfd.readouterr().err


def test_the_words_of_a_chart_say_what_it_shows(visits, capfd):
    made = visits.release(lw.mean("heat"), by="ward", epsilon=1)
    chart = made.plot()
    assert chart.to_dict()["title"]["text"] == ["mean_heat: Temperature"]
    assert words(chart) == "visits, entry 2: 95 % error bars, ε = 1"
    told = drawn(chart, capfd)
    assert {"mean_heat (°C)", "Ward of the hospital", *WARDS} <= set(told)
    assert "mean_heat: Temperature by Ward of the hospital: 3 numbers, from" in chart.to_dict()["description"]
    assert "for all cells at once" in words(made.at("0.9", simultaneous=True).plot())
    assert "biased" in words(made.nonnegative().plot())
    fitted = visits.release(lw.count(), by=CUBE, epsilon=1).nonnegative().table("ward").plot()
    assert "without error bars" in words(fitted)
    cut = made.cut(order_by="mean_heat DESC", limit=2)
    assert "2 of 3 groups" in words(cut.plot())
    assert [row["k0"] for row in rows(cut.plot())] == [row["ward"] for row in cut.rows]
    both = visits.release(lw.count(), by=["ward", "sex"], epsilon=1).plot()
    assert {"women (F)", "men (M)"} <= set(drawn(both, capfd))


def test_the_chart_of_a_comparison_has_the_unit_and_epsilon(visits, capfd):
    made = visits.release(lw.count(), lw.mean("heat"), lw.sum("cost"), by=BOTH, epsilon=1)
    pair = {"by": "sex", "of": "F", "to": "M"}
    difference = made.difference(**pair).plot()
    assert words(difference) == "visits, entry 2: 95 % error bars, ε = 1"
    assert {"count", "mean_heat (°C)", "sum_cost (euro)"} <= set(drawn(difference, capfd))
    assert "mean_heat (°C)" in drawn(made.total(over="ward").plot("mean_heat"), capfd)
    ratio = drawn(made.ratio(**pair).plot(), capfd)
    assert "sum_cost" in ratio
    assert not any("euro" in line for line in ratio)  # a ratio has no unit
    sure = made.at("0.9", simultaneous=True).share()
    assert words(sure.plot("count")).startswith("visits, entry 2: 90 % error bars for all cells at once, ε = 1")


def test_hostile_texts_stay_texts(visits, capfd):
    made = visits.sql('SELECT odd AS "</script><b>", COUNT(*) AS n FROM visits GROUP BY 1', epsilon=1)
    chart = made.plot()
    told = drawn(chart, capfd)
    assert "=1+1 next line" in told
    assert "left" in told
    assert "a b" in told
    assert "ward bell" in told
    assert "</script" not in whole(chart)
    assert "<!--" not in whole(chart)
    assert "\u202e" not in whole(chart)
    assert len({row["group"] for row in rows(chart)}) == len(HOSTILE)
    assert "</script><script>" not in chart.to_html()


@pytest.mark.parametrize("kind", ["points", "lines", "heatmap"])
def test_the_lines_of_a_tooltip_are_told_apart(kind):
    titles = "image", "title", "value", "low", "high", "noise", "a", "a", "</script><b>"
    for one, other in pairwise(titles):
        keys = ChartKey(one, ("x", "y"), (0, 1)), ChartKey(other, ("x", "y"), (0, 1))
        shown = Numbers("n", (), "n", keys, (Drawn(5.0, 4.0, 6.0, noise="low"),) * 2)
        tips = _tooltips(chart_of([shown], kind, "light", None, "", []).to_dict())
        assert tips
        for tip in tips:
            lines = [each.get("title", each["field"]) for each in tip]
            assert len(set(lines)) == len(lines) == 6  # those of Vega are an object with a field for each line
            assert lines[2:] == ["value", "low", "high", "noise"]
            assert not {"image", "title"} & set(lines)  # Vega shows these in another way
            assert not any("</" in line for line in lines)
            assert lines[0].rstrip("\u200b") == harmless(one)


def _tooltips(spec):
    """Return all tooltips in a chart."""
    if isinstance(spec, list):
        return [tip for each in spec for tip in _tooltips(each)]
    if not isinstance(spec, dict):
        return []
    mine = [spec["tooltip"]] if isinstance(spec.get("tooltip"), list) else []
    return mine + [tip for name, each in spec.items() if name != "tooltip" for tip in _tooltips(each)]


def test_equal_labels_have_lines_of_their_own(tmp_path, capfd):
    same = ["a" * 400 + "1", "a" * 400 + "2", "x, y", "x"]
    table = pd.DataFrame({"k": same, "l": ["y", "y", "z", "y, z"]})
    columns = {"k": lw.keys(*same), "l": lw.keys("z", "y, z")}
    source = lw.Source(table, name="t", columns=columns, epsilon=10, ledger=str(tmp_path / "t.ledger"))
    chart = source.release(lw.count(), by="k", epsilon=1).plot()
    assert len({row["group"] for row in rows(chart)}) == 4
    assert drawn(chart, capfd)
    both = source.release(lw.count(), by=["k", "l"], epsilon=1).plot()
    assert len({row["group"] for row in rows(both)}) == 8


def test_many_groups_are_the_largest_and_the_chart_says_so(tmp_path, capfd):
    table = pd.DataFrame({"k": range(400)})
    source = lw.Source(
        table, name="t", columns={"k": lw.keys(range(400))}, epsilon=10, ledger=str(tmp_path / "t.ledger")
    )
    made = source.release(lw.count(), by="k", epsilon=1)
    chart = made.plot()
    assert f"The {ROWS} largest of 400 groups" in words(chart)
    largest = sorted(made["count"].value.tolist(), reverse=True)[:ROWS]
    assert [row["value"] for row in rows(chart)] == largest
    assert drawn(chart, capfd)
    all_of_them = made.cut(limit=ROWS).plot()
    assert "largest" not in words(all_of_them)
    assert len(rows(all_of_them)) == ROWS


def test_the_marks_of_numbers_that_say_little_are_explained(visits, capfd):
    made = visits.release(lw.proportion("age > 98"), by="ward", epsilon="0.2")
    chart = made.plot()
    bounded = [row["proportion"]["low"] == 0 and row["proportion"]["noise"] != "no information" for row in made.rows]
    assert [row["low_bound"] for row in rows(chart)] == bounded
    assert any(bounded)
    assert "ends at a bound" in words(chart)
    assert any(layer["mark"].get("style") == "bound" for layer in chart.to_dict()["layer"])
    noisy = visits.release(lw.count(), by="code", epsilon="0.1").plot()
    assert "Hollow: the noise is high" in words(noisy)
    left_out = visits.release(lw.mean("cost"), by="code", epsilon=1).suppressed().plot()
    assert "left out: the noise is high" in drawn(left_out, capfd)


def test_a_bar_that_spans_all_that_is_possible_does_not_press_the_others_together(capfd):
    key = ChartKey("k", ("a", "b"), (0, 1))
    known, nothing = Drawn(5.0, 4.0, 6.0), Drawn(1.0, -1e9, 1e9, usable=False, informs=False)
    for kind in ("points", "bars", "lines"):
        shown = Numbers("n", (), "n", (key,), (known, nothing), zero=False)
        chart = chart_of([shown], kind, "light", None, "", [])
        assert "1,000,000,000" not in drawn(chart, capfd)
        assert "no information" in words(chart)


def test_lines_have_gaps_where_groups_are_not_shown(visits, capfd):
    made = visits.sql(MONTHS, epsilon=1)
    cut = made.cut("month <> '2024-03-01'")
    assert cut.plot().to_dict()["layer"][0]["mark"]["type"] == "rule"
    lines = cut.plot(kind="lines")
    assert [row["x"] for row in rows(lines) if row["value"] is None] == ["2024-03-01"]
    assert len(rows(lines)) == 12
    assert drawn(lines, capfd)


def test_many_lines_are_those_that_reach_highest(visits, capfd):
    made = visits.release(lw.count(), by=["code", "age"], epsilon=1)
    chart = made.plot(kind="lines")
    assert "The 24 lines that reach highest, of 40" in words(chart)
    assert len({row["group"] for row in rows(chart)}) == 24
    assert drawn(chart, capfd)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"kind": "pie"}, "points, bars, lines, heatmap"),
        ({"kind": "heatmap"}, "two keys, and this answer has one key"),
        ({"theme": "sepia"}, "light, dark"),
        ({"width": 5}, "120 to 4000"),
        ({"width": True}, "120 to 4000"),
        ({"statistic": "x"}, "count"),
        ({"statistic": 5}, "count"),
    ],
)
def test_what_cannot_be_drawn_is_refused(visits, options, says):
    made = visits.release(lw.count(), by="ward", epsilon=1)
    with pytest.raises(errors.RequestError, match=says):
        made.plot(**options)


def test_a_line_needs_a_key_and_a_heat_map_few_values(tmp_path, visits):
    with pytest.raises(errors.InvalidRequest, match="there is none"):
        visits.release(lw.count(), epsilon=1).plot(kind="lines")
    table = pd.DataFrame({"k": range(201), "l": [1] * 201})
    columns = {"k": lw.keys(range(201)), "l": lw.keys(1, 2)}
    source = lw.Source(table, name="t", columns=columns, epsilon=10, ledger=str(tmp_path / "t.ledger"))
    with pytest.raises(errors.InvalidRequest, match="201 by 2 groups could not be read"):
        source.release(lw.count(), by=["k", "l"], epsilon=1).plot(kind="heatmap")


def test_numbers_made_with_noise_for_tests_say_so(visits):
    assert "NOT PRIVATE" in words(_unprivate(visits.release(lw.count(), by="ward", epsilon=1)).plot())


def _unprivate(made):
    return replace(made, answer={**made.answer, "private": False})
