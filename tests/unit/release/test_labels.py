"""Labels, units and titles beside the codes, in every form of an answer; and what was left out, said below it."""

import csv
import io
import json
import re
from dataclasses import replace
from importlib.util import find_spec

import duckdb
import pandas as pd
import pytest

import lapwing as lw
from lapwing.noise.entropy import EntropyForTests
from lapwing.plan.planning import make_plan
from lapwing.question.sql import parse
from lapwing.release.pipeline import make_release, question
from lapwing.release.recall import recall

pytestmark = pytest.mark.usefixtures("frozen_noise")

SEX = lw.keys({"1": "men", "2": "women"}, other="rest", title="Sex of the person")
AGE = lw.number(0, 120, integer=True, edges=[0, 18, 120], labels=["child", "adult"], unit="years")
HOURS = lw.number(0, 40, unit="hours", title="Hours worked")
LABELS = ["men", "men", "women", "women", "rest", "rest"]


def source_of(folder, columns=None, **more):
    n = 600
    frame = pd.DataFrame(
        {
            "p": [f"p{i // 2}" for i in range(n)],
            "sex": ["1", "2"] * (n // 2),
            "age": [i % 90 for i in range(n)],
            "h": [float(i % 50) for i in range(n)],
            "b": [True, False] * (n // 2),
        }
    )
    columns = columns or {"sex": SEX, "age": AGE, "h": HOURS, "b": lw.keys(False, True)}
    return lw.Source(frame, name="t", columns=columns, epsilon=100, ledger=folder / "t.ledger", **more)


@pytest.fixture
def made(tmp_path):
    return source_of(tmp_path).release(lw.count(), lw.mean("h"), lw.variance("h"), by=["sex", "age"], epsilon=5)


def test_every_form_has_code_and_label(made, tmp_path):
    assert [row["sex_label"] for row in made.rows] == LABELS
    assert [row["sex"] for row in made.to_dict()["rows"]] == ["1", "1", "2", "2", "rest", "rest"]
    assert made.flat()["age_label"] == ["child", "adult"] * 3
    assert list(made.flat())[:4] == ["sex", "sex_label", "age", "age_label"]
    assert [label for piece in made.pieces() for label in piece["sex_label"]] == LABELS
    assert made["sex_label"].tolist() == LABELS
    assert "age_label" in made
    assert [row["sex_label"] for row in csv.DictReader(io.StringIO(made.to_csv()))] == LABELS
    made.to_parquet(tmp_path / "t.parquet")
    stored = duckdb.sql(f"SELECT sex, sex_label, age, age_label FROM '{tmp_path / 't.parquet'}'").fetchall()
    assert stored[0] == ("1", "men", "[0, 18)", "child")
    assert made.to_pandas()["sex_label"].tolist() == LABELS
    if find_spec("polars") and find_spec("pyarrow"):
        assert made.to_polars()["sex_label"].to_list() == LABELS
        assert made.to_arrow().column("age_label").to_pylist() == ["child", "adult"] * 3
    page = re.sub(r"(?s)<script.*?</script>", "", made.to_html())
    for text in (str(made), page, made._repr_html_()):
        assert re.findall(r"\b(?:men|women)\b", text) == LABELS[:4]
        assert "Sex of the person" in text
        assert "h: Hours worked, in hours" in text


def test_json_says_what_each_column_is(made):
    told = {column["name"]: column for column in json.loads(json.dumps(made.to_dict()))["columns"]}
    assert told["sex"] == {"name": "sex", "kind": "key", "title": "Sex of the person"}
    assert told["sex_label"] == {"name": "sex_label", "kind": "label", "of": "sex"}
    assert told["age"]["unit"] == "years"
    assert (told["mean_h"]["unit"], told["mean_h"]["title"]) == ("hours", "Hours worked")
    assert told["variance_h"]["unit"] == "hours²"
    assert "unit" not in told["count"]


def test_a_label_column_gives_way_to_other_names(tmp_path):
    made = source_of(tmp_path).sql('SELECT sex, COUNT(*) AS "SEX_label" FROM t GROUP BY sex', epsilon=1)
    assert list(made.flat()) == [
        "sex",
        "sex_label_2",
        "SEX_label",
        "SEX_label_low",
        "SEX_label_high",
        "SEX_label_noise",
    ]
    assert made["sex_label_2"].tolist() == ["men", "women", "rest"]
    renamed = source_of(tmp_path).sql("SELECT sex AS s, COUNT(*) AS n FROM t GROUP BY s", epsilon=1)
    assert list(renamed.flat())[:2] == ["s", "s_label"]


def test_labels_cost_nothing_and_a_recorded_answer_shows_the_present_ones(tmp_path):
    first = source_of(tmp_path).release(lw.count(), by="sex", epsilon=1)
    other = lw.keys({"1": "boys", "2": "girls"}, other="rest", title="Other", unit="x")
    again = source_of(tmp_path, {"sex": other}).release(lw.count(), by="sex", epsilon=1)
    assert again.repeated
    assert again.remaining == first.remaining == 99
    assert again["sex_label"].tolist() == ["boys", "girls", "rest"]
    assert again["count"].value.tolist() == first["count"].value.tolist()
    source = source_of(tmp_path, {"sex": other})
    assert recall(source.schema, source.ledger, first.entry)["sex_label"].tolist() == ["boys", "girls", "rest"]


def test_bins_of_the_question_have_no_labels_and_declared_ones_have(tmp_path):
    source = source_of(tmp_path)
    assert "age_label" not in source.sql("SELECT COUNT(*) FROM t GROUP BY BIN(age, 0, 30, 120)", epsilon=1)
    assert "age_label" in source.sql("SELECT COUNT(*) FROM t GROUP BY BIN(age, 0, 18, 120)", epsilon=1)


@pytest.mark.skipif(not find_spec("altair"), reason="altair is not installed here: `make install` brings it")
def test_a_chart_has_labels_and_units_and_its_page_no_script_of_theirs(tmp_path):
    hostile = lw.keys({"1": "</script><script>alert(1)", "2": "<!--<script>"}, title="</script>")
    source = source_of(tmp_path, {"sex": SEX, "age": AGE, "h": HOURS, "b": lw.keys(False, True)})
    layers = source.release(lw.mean("h"), by=["sex", "age"], epsilon=1).plot().to_dict()["layer"]
    assert layers[0]["encoding"]["x"]["title"] == "mean_h (hours)"
    assert layers[0]["encoding"]["y"]["axis"]["title"] == "Sex of the person"
    assert layers[0]["encoding"]["color"]["legend"]["title"] == "age (years)"
    chart = source.release(lw.count(), by="sex", epsilon=1).plot().to_dict()
    assert [row["group"] for row in chart["datasets"][chart["data"]["name"]]] == ["men (1)", "women (2)", "rest"]
    curve = source.release(lw.cdf("h", 4), epsilon=1).plot().to_dict()["layer"]
    assert curve[0]["encoding"]["x"]["title"] == "Hours worked (hours)"
    page = (
        source_of(tmp_path, {"sex": hostile})
        .sql('SELECT COUNT(*) AS "</script>" FROM t GROUP BY sex', epsilon=1)
        .plot()
        .to_html()
    )
    assert page.count("</script>") == scripts(source)
    assert "<!--<" not in page


def scripts(source):
    """Return how many scripts the page of a harmless chart has."""
    return source.release(lw.count(), by="b", epsilon=1).plot().to_html().count("</script>")


def test_html_escapes_labels_and_titles(tmp_path):
    hostile = lw.keys({"1": "<b>1</b>", "2": "a & b"}, title="<i>t</i>")
    page = source_of(tmp_path, {"sex": hostile}).release(lw.count(), by="sex", epsilon=1).to_html()
    assert "&lt;b&gt;1&lt;/b&gt;" in page
    assert "&lt;i&gt;t&lt;/i&gt;" in page
    assert "<b>" not in page


# --- what was left out ---

ADVICE = ', unless the owner of the source declares other = "…"'
UNLISTED = f"Rows whose sex is not one of 2 keys are not counted{ADVICE}."
NOBODY = "Rows without a person are not counted."
OF_GROUPS = "People in more than 1 group count as 1 in all, and how much that takes away is not known"
AFTER = "Weights are computed over the rows that WHERE keeps."
LISTED = {"sex": lw.keys("1", "2"), "h": HOURS, "age": AGE, "b": lw.keys(False, True)}


def weighed(k):
    rows = "row" if k == 1 else "rows"
    return f"People with more than {k} {rows} weigh as {k}, and how much that takes away is not known"


def page_of(made):
    return made.to_html().replace("&quot;", '"')


@pytest.mark.parametrize(
    ("sql", "more", "due"),
    [
        ("SELECT COUNT(*) FROM t", {}, []),
        ("SELECT COUNT(*) FROM t WHERE sex = '1'", {}, []),
        ("SELECT COUNT(*) FROM t GROUP BY sex", {}, [UNLISTED]),
        (
            "SELECT COUNT(*) FROM t GROUP BY b",
            {},
            [f"Rows without a value of b are not counted{ADVICE}."],
        ),
        ("SELECT COUNT(*) FROM t GROUP BY age", {}, ["Rows without a value of age are not counted."]),
        ("SELECT CDF(h) FROM t GROUP BY BIN(h, 0, 20, 40)", {}, ["Rows without a value of h are not counted."]),
        ("SELECT COUNT(h), AVG(h), MEDIAN(h) FROM t", {}, ["Missing values of h are left out."]),
        ("SELECT SUM(h), AVG(age) FROM t", {}, ["Missing values of age and h are left out."]),
        ("SELECT AVG(CASE WHEN h > 5 THEN 1 ELSE 0 END) FROM t", {}, []),
        (
            "SELECT AVG(h) FROM t",
            {"neighbors": "change_one", "public_rows": True},
            ["Missing values of h count as the middle of the bounds."],
        ),
        (
            "SELECT AVG(h) FROM t",
            {"neighbors": "change_one"},
            ["Missing values of h are left out."],
        ),
        (
            "SELECT COUNT(*) FROM t",
            {"person": "p", "rows_per_person": 3},
            [f"{weighed(3)}: this is not the number of rows.", NOBODY],
        ),
        (
            "SELECT AVG(h) FROM t",
            {"person": "p", "rows_per_person": 1},
            [f"{weighed(1)}.", "Missing values of h are left out.", NOBODY],
        ),
        ("SELECT COUNT(DISTINCT p) FROM t", {"person": "p", "rows_per_person": 1}, [NOBODY]),
        (
            "SELECT COUNT(DISTINCT p) FROM t GROUP BY sex",
            {"person": "p", "rows_per_person": 1},
            [f"{OF_GROUPS}.", UNLISTED, NOBODY],
        ),
        ("SELECT COUNT(DISTINCT p) FROM t GROUP BY sex", {"person": "p", "rows_per_person": 2}, [UNLISTED, NOBODY]),
        (
            "SELECT COUNT(*) FROM t WHERE age > 5",
            {"person": "p", "rows_per_person": 3},
            [f"{weighed(3)}: this is not the number of rows. {AFTER}", NOBODY],
        ),
        (
            "SELECT COUNT(DISTINCT p) FROM t WHERE age > 5 GROUP BY b",
            {"person": "p", "rows_per_person": 1},
            [f"{OF_GROUPS}. {AFTER}", f"Rows without a value of b are not counted{ADVICE}.", NOBODY],
        ),
        ("SELECT COUNT(*) FROM t WHERE age > 5", {}, []),
    ],
)
def test_T52_an_answer_says_what_was_left_out_by_public_rules_and_what_is_not_known(sql, more, due, tmp_path):
    source = source_of(tmp_path, LISTED, **more)
    plan, made = source.plan(sql, epsilon=5), source.sql(sql, epsilon=5)
    assert list(plan.notes) == plan.to_dict()["notes"] == due
    read = [line.replace(ADVICE, "") for line in due]  # readers cannot change the source
    first = [line for line in read if "takes away" in line]
    rest = read[len(first) :]
    assert list(made.notes[: len(first)]) == first
    assert list(made.notes[-len(rest) :] if rest else []) == rest
    assert made.to_dict()["notes"] == list(made.notes)
    for text, said in ((str(plan), due), (str(made), read)):
        assert [line for line in text.splitlines() if line in said] == said
    numbers = "% error bars"
    assert all(text.index(line) < text.index(numbers) for text in (str(made), page_of(made)) for line in first)
    assert all(line in page_of(made) for line in read)
    assert str(made).count("not counted") + str(made).count("left out") == sum(
        "not counted" in line or "left out" in line for line in due
    )


def test_T52_every_form_of_an_answer_marks_the_noise_and_calls_no_number_good(tmp_path):
    """Half of the rows are weighed away, and the noise is low: both are said, and not that the number is good."""
    source = source_of(tmp_path, LISTED, person="p", rows_per_person=1)
    made = source.sql("SELECT COUNT(*) FROM t GROUP BY ROLLUP(BIN(age, 0, 1, 120))", epsilon=1)
    assert set(made.flat()["count_noise"]) == {"low", "high"}
    told, page = json.dumps(made.to_dict()), page_of(made)
    for text in (str(made), told, page, made.to_csv(), made._repr_html_()):
        assert not re.search(r"\b(good|usable|reliable)\b", re.sub(r"(?s)<style.*?</style>", "", text))
    assert all(weighed(1) in text for text in (str(made), told, page))


ENCODED = "Cells of town that are not UTF-8 count as missing, since the source says no encoding: how many is not known"


@pytest.mark.parametrize(
    ("sql", "columns", "file", "due"),
    [
        ("SELECT COUNT(*) FROM t GROUP BY town", {"town": lw.keys("Köln", other="other")}, {}, True),
        ("SELECT COUNT(*) FROM t WHERE town = 'Köln'", {"town": lw.keys("Köln")}, {}, True),
        ("SELECT COUNT(*) FROM t WHERE town <> 'x'", {"town": "text"}, {}, True),
        ("SELECT COUNT(*) FROM t GROUP BY big", {"town": "text", "big": lw.recode("town", {"Köln": "big"})}, {}, True),
        ("SELECT COUNT(*) FROM t", {"town": lw.keys("Köln")}, {}, False),
        ("SELECT COUNT(*) FROM t GROUP BY town", {"town": lw.keys("Koeln")}, {}, False),
        ("SELECT COUNT(*) FROM t GROUP BY town", {"town": lw.keys("Köln")}, {"encoding": "utf-8"}, False),
        ("SELECT AVG(x) FROM t", {"x": lw.number(0, 9)}, {}, False),
    ],
)
def test_where_no_encoding_is_said_an_answer_about_texts_says_what_is_missing(sql, columns, file, due, tmp_path):
    (tmp_path / "t.csv").write_text("town,x\nKöln,1\n", encoding="utf-8")
    source = lw.Source(tmp_path / "t.csv", name="t", columns=columns, epsilon=99, file=lw.file(**file))
    made, again = source.sql(sql, epsilon=1), source.declare(more="text").sql(sql, epsilon=1)
    for notes, said in (
        (source.plan(sql, epsilon=1).notes, f"{ENCODED}; `lapwing check` tells its owner."),
        (made.notes, f"{ENCODED}."),
        (again.notes, f"{ENCODED}."),
    ):
        assert [line for line in notes if "UTF-8" in line] == [said] * due


def test_whatever_the_table_holds_the_note_about_its_encoding_is_the_same(tmp_path):
    notes = []
    for text in ("Köln,1\n".encode("latin-1"), "Köln,1\n".encode(), b"Bonn,1\n"):
        (tmp_path / "t.csv").write_bytes(b"town,x\n" + text)
        source = lw.Source(tmp_path / "t.csv", name="t", columns={"town": lw.keys("Köln", "Bonn")}, epsilon=99)
        notes.append(source.release(lw.count(), by="town", epsilon=1, entropy=EntropyForTests(1)).notes)
        (tmp_path / "t.ledger").unlink()
    assert notes[0] == notes[1] == notes[2]


FIXED = (
    "WHERE fixes {0}: these numbers differ from those for the same keys in a table grouped by {0}. "
    "Here people weigh by the rows that WHERE keeps, there by their rows of all keys."
)


@pytest.mark.parametrize(
    ("where", "keys"),
    [
        ("sex = '1'", "sex"),
        ("sex IN ('1', '2') AND age > 5", "sex"),
        ("age > 5 AND (b AND sex = '1')", "b and sex"),
        ("h = 5", None),
        ("sex <> '1'", None),
        ("sex = '1' OR age > 5", None),
        ("NOT (sex = '1' AND age > 5)", None),
        ("sex IS NOT NULL", None),
    ],
)
def test_T52_a_plan_warns_where_a_condition_fixes_a_key_of_people(where, keys, tmp_path):
    sql = f"SELECT COUNT(*) FROM t WHERE {where}"
    people = source_of(tmp_path, LISTED, person="p", rows_per_person=3).plan(sql, epsilon=1)
    assert [note for note in people.notes if "fixes" in note] == ([] if keys is None else [FIXED.format(keys)])
    rows = source_of(tmp_path, LISTED).plan(sql, epsilon=1)
    assert not any("fixes" in note for note in rows.notes)


def test_with_other_nothing_is_left_out(tmp_path):
    assert source_of(tmp_path).plan(lw.count(), by="sex", epsilon=1).notes == ()


def test_a_number_with_keys_has_no_other_to_add(tmp_path):
    columns = {"age": lw.number(0, 120, integer=True, keys=[1, 2, 3])}
    (note,) = source_of(tmp_path, columns).plan(lw.count(), by="age", epsilon=1).notes
    assert note == "Rows whose age is not one of 3 keys are not counted."


# --- the words below a table ---


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(h) FROM t",
        "SELECT COUNT(*) FROM t GROUP BY age",
        "SELECT CDF(h) FROM t GROUP BY BIN(h, 0, 20, 40)",
    ],
)
def test_bounds_are_no_topic_where_none_matter(sql, tmp_path):
    text = str(source_of(tmp_path).sql(sql, epsilon=1))
    assert "bounds" not in text.replace(str(tmp_path), "")  # the place of a new ledger is named, too
    assert "count as the bounds" in str(source_of(tmp_path).sql("SELECT AVG(h) FROM t", epsilon=1))


def test_a_quantile_at_a_bound_may_be_there_because_of_the_bound(tmp_path):
    text = str(source_of(tmp_path).release(lw.median("h"), epsilon=1))
    assert "too few rows on that side to say more, or many values beyond the bound." in text


def test_a_printed_answer_is_cut_and_says_where_the_rest_is(tmp_path):
    columns = {"age": lw.keys(range(90))}
    made = source_of(tmp_path, columns).release(lw.count(), by="age", epsilon=1)
    assert "… 50 more groups: see .to_text()" in str(made)
    assert "… 50 more groups: see .to_pandas()" in made._repr_html_()
    whole = made.to_text()
    assert "more groups" not in whole
    assert [line.split()[0] for line in whole.splitlines()[2:92]] == [str(i) for i in range(90)]
    assert made.to_text(3).count("±") == 3
    assert "… 87 more groups" in made.to_text(3)


# --- questions and names ---


def test_declared_bins_written_out_are_the_same_question(tmp_path):
    source = source_of(tmp_path)
    first = source.sql("SELECT age, COUNT(*) FROM t GROUP BY age", epsilon=1)
    for again in (
        source.sql("SELECT COUNT(*) FROM t GROUP BY BIN(age, 0, 18.0, 120)", epsilon=1),
        source.release(lw.histogram("age", [0, 18, 120]), epsilon=1),
    ):
        assert again.repeated
        assert again.entry == first.entry
    assert not source.sql("SELECT COUNT(*) FROM t GROUP BY BIN(age, 0, 19, 120)", epsilon=1).repeated
    assert not source.release(lw.cdf("age", [0, 18, 120]), epsilon=1).repeated


@pytest.mark.parametrize("spelled", ["BIN(age, 0, 18, 120), sex", "sex, BIN(age, 0, 18, 120)"])
def test_an_earlier_record_of_declared_bins_is_found_again(spelled, tmp_path):
    """An earlier build recorded declared bins as they were written: those answers are shown, and not charged again."""
    source = source_of(tmp_path)
    asked = f"SELECT COUNT(*) FROM t GROUP BY {spelled}"
    old = make_plan(source.schema, parse(asked, source.schema, recorded=True), epsilon=1)
    assert "BIN" in question(old)["query"]
    entry = source.make_ledger().charge(question(old), 1)
    new = source.plan(asked, epsilon=1)
    cells = make_release(replace(new, schema=replace(new.schema, version="x")), source._table, source.ledger).answer
    source.ledger.record(entry, dict(cells))
    again = source.sql(asked, epsilon=1)
    assert (again.repeated, again.entry) == (True, entry.number)
    assert recall(source.schema, source.ledger, entry.number)["count"].value.tolist() == again["count"].value.tolist()


def test_recalled_answers_have_the_names_that_were_asked(tmp_path):
    source = source_of(tmp_path)
    first = source.sql("SELECT sex AS who, COUNT(*) AS n, AVG(h) FROM t GROUP BY who", epsilon=1)
    shown = recall(source.schema, source.ledger, first.entry)
    assert list(shown.flat()) != []
    assert set(shown.flat()) == set(first.flat()) >= {"who", "who_label", "n", "mean_h"}
    again = source.sql("SELECT COUNT(*) AS other, sex, AVG(h) FROM t GROUP BY sex", epsilon=1)
    assert again.repeated
    assert "other" in again
    assert "n" not in again


def test_recalled_answers_have_the_order_that_was_asked_first(tmp_path):
    source = source_of(tmp_path)
    first = source.release(lw.sum("h", name="z"), lw.count(), lw.mean("h"), by="sex", epsilon=1)
    again = source.release(lw.mean("h"), lw.sum("h", name="z"), lw.count(), by="sex", epsilon=1)
    assert again.repeated
    assert list(again.estimates) == ["mean_h", "z", "count"]
    shown = recall(source.schema, source.ledger, first.entry)
    assert list(shown.flat()) == list(first.flat())
    assert shown.rows == first.rows
    assert "order" not in source.release(lw.count(), lw.sum("h"), by="sex", epsilon=1).answer


@pytest.mark.parametrize("order", [5, ["COUNT(*)"], ["COUNT(*)", "COUNT(*)"], ["COUNT(*)", 'SUM("h")', "x"], [[], {}]])
def test_an_order_in_a_record_that_does_not_fit_is_not_used(order, tmp_path):
    source = source_of(tmp_path)
    made = source.release(lw.sum("h"), lw.count(), by="sex", epsilon=1)
    assert made.answer["order"] == ['SUM("h")', "COUNT(*)"]
    entry = source.ledger.charge({**source.ledger.entry(made.entry).question, "version": "2"}, 1)
    source.ledger.record(entry, {**made.answer, "order": order})
    other = source_of(tmp_path, version="2")
    assert list(recall(other.schema, source.ledger, entry.number).estimates) == ["count", "sum_h"]


@pytest.mark.parametrize("names", [5, {"COUNT(*)": 5}, {"COUNT(*)": "sex"}, {"COUNT(*)": "a\nb"}, {"no": "x"}])
def test_names_in_a_record_that_do_not_fit_are_not_used(names, tmp_path):
    source = source_of(tmp_path)
    made = source.release(lw.count(), by="sex", epsilon=1)
    entry = source.ledger.charge({**source.ledger.entry(made.entry).question, "version": "2"}, 1)
    source.ledger.record(entry, {**made.answer, "names": names})
    other = source_of(tmp_path, version="2")
    assert list(recall(other.schema, source.ledger, entry.number).estimates) == ["count"]


def test_notes_on_computed_keys(tmp_path):
    columns = {"age": lw.number(0, 99, integer=True), "sex": lw.keys("m", "w")}
    columns |= {"kind": lw.recode("sex", {"m": "a"}, other="b"), "some": lw.recode("sex", {"m": "a"})}
    source = lw.Source(pd.DataFrame({"age": [1], "sex": ["m"]}), name="t", columns=columns, epsilon=1)
    notes = [source.plan(lw.count(), by=by, epsilon=1).notes for by in ("kind", "some", "FLOOR(age / 10)")]
    assert notes[0] == ()
    assert notes[1] == ("Rows without a value of some are not counted.",)
    assert notes[2] == ("Rows without a value of FLOOR(0.1 * age) are not counted.",)
