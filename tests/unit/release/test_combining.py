"""Releases of the same rows, combined: what every view of them says, and what is refused."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import lapwing as lw
from lapwing import errors
from lapwing.cli.main import main
from lapwing.release.combining import combined_tables
from lapwing.release.recall import recall
from lapwing.source import Source

NOTHING = "No noise was drawn and nothing was charged."
pytestmark = pytest.mark.usefixtures("frozen_noise")

SAME = "Combine answers to one question, or to questions that differ in their tables and ε only."
WITHIN = {"region": {"north": ["n1", "n2", "n3"], "south": ["s1"]}}


def frame(n=500, seed=3):
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": draw.choice(["F", "M", "?"], n),
            "edu": draw.choice(["low", "high", "?"], n),
            "age": draw.integers(0, 90, n),
            "county": draw.choice(["n1", "n2", "n3", "s1", "?"], n),
            "hours": draw.integers(0, 81, n),
            "person": draw.integers(0, n, n),
        }
    )


def columns(**changed):
    return {
        "sex": lw.keys("F", "M", other="other"),
        "edu": lw.keys("low", "high", other="unknown"),
        "age": lw.number(0, 100, integer=True, edges=[0, 20, 60, 100]),
        "county": lw.keys("n1", "n2", "n3", "s1"),
        "hours": lw.number(0, 80, integer=True),
        **changed,
    }


def source(folder, number=1, **options):
    declared = {"columns": columns(), "epsilon": 1000, "ledger": folder / f"{number}.ledger", "name": "t", **options}
    return lw.Source(frame(), **declared)


@pytest.fixture
def two(tmp_path):
    asked = source(tmp_path)
    earlier = asked.release(lw.count(), lw.mean("hours"), by="sex", epsilon="0.5")
    return asked, earlier, asked.release(lw.mean("hours"), lw.count(), by=lw.cube("sex", "edu"), epsilon=1)


# --- what is shown ---


def test_every_view_says_which_entries_were_combined(two, tmp_path):
    asked, earlier, answer = two
    spent = asked.ledger.spent
    both = answer.combined(earlier)
    said = "Combined from the noisy numbers of entries 2 and 4 of the ledger, by inverse variances."
    assert both.entries == (2, 4)
    assert both.epsilon == Fraction(3, 2)
    assert both.notes[0] == said
    text = str(both)
    assert 'Release from "t"   ε = 1.5   protects' in text
    assert said in text
    assert text.endswith("Nothing was charged beside entries 2 and 4.")
    told = both.to_dict()
    assert (told["entry"], told["combined"], told["epsilon"], told["notes"][0]) == (4, [2, 4], "1.5", said)
    page = both.to_html(tmp_path / "t.html")
    assert page.count(said) >= 1
    for part in ("· entries 2 and 4 of the ledger", "<dd>2 and 4</dd>", "ε = 1.5, δ = 0", "(claim U9)"):
        assert part in page
    assert said in both._repr_html_()
    assert "entries 2 and 4" in json.dumps(both.table("sex").plot("count").to_dict())
    assert asked.ledger.spent == spent
    assert (answer.entries, answer.epsilon, answer.to_dict()["combined"]) == ((4,), Fraction(1), [])


def test_an_entry_that_may_be_about_older_data_says_so(two):
    _, earlier, answer = two
    old = replace(
        earlier, repeated=True, recorded_at="2026-01-02T03:04:05+00:00", modified_at="2026-02-03T04:05:06+00:00"
    )
    both = answer.combined(old)
    said = "Entry 2: It was recorded on 2026-01-02 at 03:04:05 UTC, and the table was modified after that"
    assert both.notes[1].startswith(said)
    assert said in str(both)
    assert said in both.to_html()


def test_views_of_a_combined_release_have_its_numbers(two):
    _, earlier, answer = two
    both = answer.combined(earlier)
    assert both.tables == answer.tables
    whole = {tuple(row[name] for name in ("sex", "edu")): row["count"]["value"] for row in both}
    assert [row["count"]["value"] for row in both.table("sex")] == [whole[key, None] for key in ("F", "M", "other")]
    assert [row["count"]["value"] for row in answer.table("sex").combined(earlier)] == [
        whole[key, None] for key in ("F", "M", "other")
    ]
    wide, plain = both.at("0.999"), both.estimates["count"]
    assert (wide["count"].value == plain.value).all()
    assert (wide["count"].low < plain.low).all()
    assert (both.at(simultaneous=True)["mean_hours"].low <= both["mean_hours"].low).all()
    view = both.nonnegative(rounded=True)
    assert view["count"].value.dtype == np.int64
    assert view.table("sex")["count"].value.sum() == view.table()["count"].value[0]
    assert len(both.to_rows(10)["sex"]) == 10
    most = both.table("sex").cut("count > 0", order_by="count DESC", limit=1)
    assert most["count"].value[0] == both.table("sex")["count"].value.max()
    assert list(both.suppressed().to_pandas()) == list(answer.to_pandas())


def test_combined_bars_are_narrower_than_those_of_each_release(two):
    _, earlier, answer = two
    both = answer.combined(earlier).table("sex")
    for name in ("count", "mean_hours"):
        widths = [each[name].high - each[name].low for each in (both, earlier, answer.table("sex"))]
        assert (widths[0] < widths[1]).all()
        assert (widths[0] < widths[2]).all()


def test_plain_answers_are_combined_too_and_the_order_does_not_matter(tmp_path):
    asked = source(tmp_path)
    one = asked.release(lw.count(), epsilon=1)
    two, three = (asked.release(lw.count(), epsilon=each) for each in ("1.5", "0.3"))
    found = [one.combined(two, three), three.combined(one).combined(two), two.combined(three.combined(one))]
    assert {each["count"].value[0] for each in found} == {found[0]["count"].value[0]}
    assert {each.entries for each in found} == {(2, 4, 6)}
    assert one.combined(two)["count"].high - one.combined(two)["count"].low < one["count"].high - one["count"].low


def test_a_hierarchy_adds_up_after_releases_are_combined(tmp_path):
    county = {"county": lw.keys("n1", "n2", "n3", "s1", within=WITHIN)}
    asked = source(tmp_path, columns=columns(**county))
    answer = asked.release(lw.count(), by=lw.rollup("region", "county"), epsilon=1)
    again = asked.release(lw.count(), by=lw.rollup("region", "county"), epsilon=2, objective="minimax")
    both = answer.combined(again)
    counties, regions = both.table("county"), both.table("region")
    sums = dict.fromkeys(("north", "south"), 0.0)
    for row in counties:
        sums[row["region"]] += row["count"]["value"]
    assert sums == {row["region"]: row["count"]["value"] for row in regions}
    assert sum(sums.values()) == both.table()["count"].value[0]
    table = (both.plan.query.by.index("county"),)
    alone = [each.plan.several.deviation(each.plan.query.statistics[0], table) for each in (answer, again)]
    best = combined_tables(both).deviation(both.plan.query.statistics[0], table)
    assert best < min(alone)


def test_recorded_answers_are_combined_as_released_ones(two):
    asked, earlier, answer = two
    known = [recall(asked.schema, asked.ledger, number) for number in (4, 2)]
    both = known[0].combined(known[1])
    for name, each in answer.combined(earlier).estimates.items():
        for mine, other in zip(both.estimates[name], each, strict=True):
            np.testing.assert_array_equal(mine, other)


# --- what is refused ---


def refused(answer, *others):
    with pytest.raises(errors.RequestError) as raised:
        answer.combined(*others)
    return str(raised.value)


def test_an_entry_is_not_counted_twice(two):
    asked, earlier, answer = two
    twice = "Entry {} would be counted twice, as if its noise were two independent measurements. "
    told = f"{twice}{NOTHING} Give each entry once."
    assert refused(answer, answer) == told.format(4)
    assert refused(answer, answer.at("0.5").table("sex")) == told.format(4)
    assert refused(answer, earlier, earlier.nonnegative()) == told.format(2)
    assert refused(answer.combined(earlier), earlier) == told.format(2)
    assert refused(recall(asked.schema, asked.ledger, 4), answer.combined(earlier)) == told.format(4)
    again = asked.release(lw.mean("hours"), lw.count(), by=lw.sets("edu", "sex"), epsilon="0.05")
    assert again.entry == 4
    assert refused(answer, again) == told.format(4)


def test_what_is_no_release_of_the_ledger_is_refused(two, tmp_path):
    _, _, answer = two
    assert (
        refused(answer)
        == f"Nothing was given for the releases to combine with. {NOTHING} Give one or more: answer.combined(earlier)."
    )
    assert (
        refused(answer, 2)
        == f"what to combine with = 2 was asked; what to combine with is one or more releases. {NOTHING}"
    )
    rows = source(tmp_path, 2, neighbors="change_one", public_rows=True)
    public = rows.release(lw.count(), epsilon=1)
    assert refused(answer, public) == (
        f"An answer that is public has no noise, and is combined with nothing. {NOTHING} Combine answers of the ledger."
    )
    mean = rows.release(lw.mean("hours"), epsilon=1)
    assert refused(mean, mean) == (
        f"The number of rows is public here, and such answers are not combined. {NOTHING} "
        "Ask by a key, or with a condition."
    )


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"name": "u"}, "it is of another source"),
        ({"version": "2"}, "it is of another version of the data"),
        ({"neighbors": "change_one"}, "it protects against another change of the data (neighbors)"),
        ({"person": "person", "rows_per_person": 2}, "it identifies people by another column"),
        ({"columns": columns(hours=lw.number(0, 90, integer=True))}, "hours was declared otherwise"),
        ({"columns": columns(sex=lw.keys("F", "M", other="rest"))}, "sex was declared otherwise"),
        ({"columns": columns(sex=lw.keys("M", "F", other="other"))}, "sex was declared otherwise"),
    ],
)
def test_other_sources_people_and_declarations_are_refused(two, tmp_path, changed, why):
    _, _, answer = two
    other = source(tmp_path, 2, **changed).release(lw.count(), lw.mean("hours"), by="sex", epsilon=1)
    other = replace(other, entry=99)
    assert refused(answer, other) == f"Entry 99 cannot be combined with entry 4: {why}. {NOTHING} {SAME}"


def test_other_rows_statistics_bins_and_keys_are_refused(two):
    asked, _, answer = two
    two_numbers = (lw.count(), lw.mean("hours"))
    some = asked.release(*two_numbers, by="sex", where="hours > 5", epsilon=1)
    other = asked.release(lw.count(), lw.sum("hours"), by="sex", epsilon=1)
    county = asked.release(*two_numbers, by="county", epsilon=1)
    both = asked.release(*two_numbers, by=lw.sets("sex", "county"), epsilon=1)
    ages = asked.release(*two_numbers, by=lw.cube("sex", "age"), epsilon=1)
    bins = asked.sql("SELECT COUNT(*), AVG(hours) FROM t GROUP BY BIN(age, 0, 20, 100)", epsilon=1)

    def text(one, two, why, advice=SAME):
        return f"Entry {two.entry} cannot be combined with entry {one.entry}: {why}. {NOTHING} {advice}"

    assert refused(answer, some) == text(answer, some, "its condition (WHERE) is another")
    assert refused(some, answer.table("sex")) == text(some, answer, "its condition (WHERE) is another")
    assert refused(answer, other) == text(answer, other, "its statistics are others")
    round_ = "Combine the other way round, or ask for tables that have all of its keys."
    assert refused(answer, county) == text(answer, county, "its key county is not one of the answer", round_)
    assert refused(ages, bins) == text(ages, bins, "age has other bins")
    alone = asked.release(*two_numbers, by="sex", epsilon=2)
    rest = "Combine it with an answer that has the same keys."
    why = "it counts rows without a key of county as well"
    assert refused(both, alone) == text(both, alone, why, rest)


def test_statistics_that_do_not_add_up_are_refused(two):
    asked, _, _ = two
    middle = [asked.release(lw.median("hours"), by="sex", epsilon=each) for each in (1, 2)]
    assert refused(*middle) == (
        f"Only counts, sums, means, variances and shares are combined. {NOTHING} "
        "Combine answers that have no other statistics."
    )


def test_a_package_is_about_one_entry(two, tmp_path):
    _, earlier, answer = two
    with pytest.raises(errors.InvalidRequest) as raised:
        answer.combined(earlier).package(tmp_path / "package")
    assert str(raised.value) == (
        f"The answer is combined from entries 2 and 4, and a package is about one entry. {NOTHING} "
        "Write it by to_csv, to_parquet or to_html, or package each answer by itself."
    )
    assert not (tmp_path / "package").exists()


# --- the command ---


def test_explain_combines_entries(tmp_path):
    frame().drop(columns="person").to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "t.toml").write_text(
        'table = "t.csv"\nepsilon = 9\n[columns.sex]\nkeys = ["F", "M"]\nother = "other"\n', encoding="utf-8"
    )
    opened = Source.open(tmp_path / "t.toml")
    opened.release(lw.count(), by="sex", epsilon=1)
    opened.release(lw.count(), by=lw.cube("sex"), epsilon="1.25")

    def run(*words, status=0):
        found = CliRunner().invoke(main, [*map(str, words)])
        assert found.exit_code == status, found.output
        return found.output

    path = tmp_path / "t.toml"
    text = run("explain", path, 4, "--with", 2)
    assert "3. Charged     ε = 1.25, entry 4" in text
    assert "6. Estimated   from noisy integers of entries 2 and 4 and public parameters alone" in text
    assert "Combined from the noisy numbers of entries 2 and 4 of the ledger, by inverse variances." in text
    told = json.loads(run("explain", path, 4, "--with", 2, "--format", "json"))
    assert told["release"]["combined"] == [2, 4]
    assert "Entry 4 would be counted twice" in run("explain", path, 4, "--with", 4, status=2)


CHANGES = {
    "the version": ('version = "q1"', 'version = "q2"', 'version was "q1" and is "q2"'),
    "a column": ("high = 100", "high = 90", 'column "cost" declared otherwise'),
    "both": ('version = "q1"\nneighbors', "neighbors", 'version was "q1" and is none'),
    "neighbors": ('"add_remove"', '"change_one"', 'neighbors was "add_remove" and is "change_one"'),
}


@pytest.mark.parametrize(("old", "new", "cause"), CHANGES.values(), ids=CHANGES)
def test_an_entry_of_another_time_is_refused_with_what_has_changed(
    tmp_path, monkeypatch, frozen_noise, old, new, cause
):
    monkeypatch.chdir(tmp_path)
    Path("v.csv").write_text("ward,cost\nn,5\ns,7\n")
    text = (
        'table = "v.csv"\nname = "visits"\nepsilon = 9\nversion = "q1"\nneighbors = "add_remove"\n'
        '[columns]\nward = { keys = ["n", "s"] }\ncost = { low = 0, high = 100 }\n'
    )
    Path("v.toml").write_text(text)
    sql = "SELECT ward, AVG(cost) AS n FROM visits GROUP BY ward"
    lw.Source.open("v.toml").release(sql, epsilon=1)
    assert old in text
    Path("v.toml").write_text(text.replace(old, new))
    lw.Source.open("v.toml").release(sql, epsilon=2)
    for numbers in (["2", "--with", "4"], ["4", "--with", "2"]):
        done = CliRunner().invoke(main, ["explain", "v.toml", *numbers])
        assert done.exit_code == 2
        assert "has changed since entry 2 was released: " in done.stderr
        assert cause in done.stderr
        assert "nothing was charged" in done.stderr
