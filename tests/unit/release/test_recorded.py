"""A recorded answer says how old it is, and whether the files of its table were modified since."""

import json
import os
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest
from click.testing import CliRunner

import lapwing as lw
from lapwing.cli.main import main
from lapwing.release.recorded import age, modified_after

pytestmark = pytest.mark.usefixtures("frozen_noise")

COLUMNS = {"k": lw.keys("a", "b"), "x": lw.number(0, 100)}
ASKS = {
    "release": lambda source: source.release(lw.count(), by="k", epsilon=1),
    "discover": lambda source: source.discover("k", epsilon=1, delta="1e-8"),
    "bounds": lambda source: source.bounds("x", epsilon=1),
}
VERSION = "the source needs a new version from its owner"


def of_frame(folder, rows=100, **more):
    frame = pd.DataFrame({"k": ["a", "b"] * (rows // 2), "x": [5.0] * rows})
    return lw.Source(frame, name="t", columns=COLUMNS, epsilon=9, delta="1e-6", ledger=folder / "t.ledger", **more)


def of_files(folder, given="*.csv", **more):
    for name in ("one", "two"):
        file = folder / f"{name}.csv"
        if not file.exists():
            file.write_text("k,x\n" + "a,5\nb,6\n" * 50)
    described = {"columns": COLUMNS, "epsilon": 9, "delta": "1e-6", "ledger": folder / "t.ledger"}
    return lw.Source(str(folder / given), name="t", **described, **more)


def touch(file, **ago):
    at = (datetime.now(UTC) + timedelta(**ago)).timestamp()
    os.utime(file, (at, at))


@pytest.mark.parametrize("ask", ASKS)
def test_an_answer_to_other_data_of_the_same_name_says_how_old_it_is(tmp_path, ask):
    first = ASKS[ask](of_frame(tmp_path))
    again = ASKS[ask](of_frame(tmp_path, rows=10))
    made = first.to_dict()
    told = again.to_dict()
    assert (made["repeated"], told["repeated"]) == (False, True)
    assert made["recorded_at"] == told["recorded_at"] == of_frame(tmp_path).ledger.entries()[-1].time
    assert told["modified_at"] is None
    assert VERSION not in str(first)
    for text in (again.charged, str(again)):
        assert f"recorded on {told['recorded_at'][:10]} at " in text
        assert VERSION in text
    anew = ASKS[ask](of_frame(tmp_path, rows=10, version="2"))
    assert not anew.to_dict()["repeated"]


@pytest.mark.parametrize("given", ["*.csv", "one.csv", "t[wo]*.csv", "**/*.csv"])
@pytest.mark.parametrize("ask", ASKS)
def test_files_that_were_modified_after_the_record_are_told(tmp_path, ask, given):
    source = of_files(tmp_path, given)
    ASKS[ask](source)
    same = ASKS[ask](source)
    assert same.to_dict()["modified_at"] is None
    assert "modified" not in str(same)
    touch(tmp_path / "one.csv", days=3)
    touch(tmp_path / "two.csv", days=3)
    told = ASKS[ask](of_files(tmp_path, given))
    day = (datetime.now(UTC) + timedelta(days=3)).date().isoformat()
    assert told.to_dict()["modified_at"].startswith(day)
    assert f"the table was modified after that, on {day} at " in told.charged
    assert f'{VERSION}, such as "{day}"' in str(told)
    anew = ASKS[ask](of_files(tmp_path, given, version=day))
    assert not anew.to_dict()["repeated"]
    assert anew.to_dict()["modified_at"] is None


def test_one_file_of_many_is_enough_and_older_ones_are_not(tmp_path):
    source = of_files(tmp_path)
    for name in ("one", "two"):
        touch(tmp_path / f"{name}.csv", days=-3)
    ASKS["release"](source)
    assert ASKS["release"](source).modified_at is None
    (tmp_path / "three.csv").write_text("k,x\n")
    touch(tmp_path / "three.csv", hours=1)
    assert ASKS["release"](source).modified_at is not None


def test_a_table_that_is_gone_or_has_no_files_says_nothing(tmp_path):
    source = of_files(tmp_path, "one.csv")
    ASKS["release"](source)
    (tmp_path / "one.csv").unlink()
    answer = ASKS["release"](source)
    assert (answer.repeated, answer.modified_at) == (True, None)


def test_views_keep_the_age(tmp_path):
    source = of_files(tmp_path, "one.csv")
    ASKS["release"](source)
    touch(tmp_path / "one.csv", days=3)
    answer = ASKS["release"](source)
    for view in (answer.at("0.99"), answer.at(simultaneous=True), answer.nonnegative()):
        assert (view.recorded_at, view.modified_at) == (answer.recorded_at, answer.modified_at)


def test_pages_say_it_too(tmp_path):
    source = of_files(tmp_path, "one.csv")
    first = ASKS["release"](source)
    assert "recorded answer" not in first.to_html() + first._repr_html_()
    touch(tmp_path / "one.csv", days=3)
    again = ASKS["release"](source)
    for page in (again.to_html(), again._repr_html_()):
        assert "This is the recorded answer of entry 2." in page
        assert "the table was modified after that" in page
    assert f"<dt>recorded</dt><dd>{again.recorded_at}</dd>" in again.to_html()


def test_a_note_in_a_notebook_escapes_the_names_of_columns(tmp_path):
    name = "<script>x</script>"
    frame = pd.DataFrame({name: [1.0] * 50})
    source = lw.Source(frame, name="t", columns={name: lw.number(0, 2)}, epsilon=9, ledger=tmp_path / "t.ledger")
    page = source.release(lw.min(name, name="m"), epsilon=1)._repr_html_()
    assert "&lt;script&gt;" in page
    assert "<script>" not in page


def test_the_command_line_says_it(tmp_path):
    of_files(tmp_path, "one.csv")
    (tmp_path / "t.toml").write_text(
        'table = "one.csv"\nepsilon = 9\ndelta = 1e-6\n[columns]\nk = {keys = ["a", "b"]}\nx = {low = 0, high = 9}\n'
    )
    asked = ["release", str(tmp_path / "t.toml"), "SELECT k, COUNT(*) FROM t GROUP BY k", "--epsilon", "1"]
    run = CliRunner()
    assert VERSION not in run.invoke(main, asked).output
    assert "at no charge.  It was recorded on " in run.invoke(main, asked).output
    touch(tmp_path / "one.csv", days=3)
    assert "the table was modified after that" in run.invoke(main, asked).output
    assert "the table was modified after that" in run.invoke(main, [*asked, "--format", "csv"]).stderr
    told = json.loads(run.invoke(main, [*asked, "--format", "json"]).stdout)
    assert told["recorded_at"] < told["modified_at"]
    explained = run.invoke(main, ["explain", str(tmp_path / "t.toml"), "2"]).output
    assert "the table was modified after that" in explained


def test_no_fingerprint_of_the_data_is_in_the_ledger(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    for folder, rows in ((here, 100), (there, 10)):
        folder.mkdir()
        ASKS["release"](of_frame(folder, rows))
    questions = [lw.Ledger.open(folder / "t.ledger").entries()[1].question for folder in (here, there)]
    assert questions[0] == questions[1]


@pytest.mark.parametrize(
    ("recorded_at", "modified", "due"),
    [
        ("2026-01-01T00:00:00+00:00", datetime(2026, 1, 1, 0, 0, 0, 999999, UTC), None),  # the record has whole seconds
        ("2026-01-01T00:00:00+00:00", datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC), "2026-01-01T00:00:01+00:00"),
        ("2026-01-01T00:00:00+00:00", datetime(2025, 12, 31, tzinfo=UTC), None),
        ("2026-01-01T00:00:00+00:00", None, None),
        (None, datetime(2026, 1, 1, tzinfo=UTC), None),
        ("yesterday", datetime(2026, 1, 1, tzinfo=UTC), None),
        ("2026-01-01T00:00:00", datetime(2027, 1, 1, tzinfo=UTC), None),  # of no zone
    ],
)
def test_only_a_later_second_counts_as_after(recorded_at, modified, due):
    assert modified_after(recorded_at, modified) == due


def test_an_answer_without_a_time_still_recommends_a_version():
    assert age(None, None) == "If the data has changed since then, the source needs a new version from its owner."
