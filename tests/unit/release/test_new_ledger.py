"""A release that begins a new ledger says so, once: the ledger may have been lost."""

import json

import pandas as pd
import pytest

import lapwing as lw
from lapwing import errors

from ..cli.test_main import run
from ..test_source import ROWS, TOML

ASKED = ("visits.toml", "SELECT COUNT(*) AS n FROM visits", "--epsilon", "1")
CALLS = (
    ("release", (lw.count(),), {"epsilon": 1}),
    ("release", (lw.count(),), {"by": "key", "epsilon": 1}),
    ("sql", ("SELECT COUNT(*) FROM t",), {"epsilon": 1}),
    ("discover", ("key",), {"epsilon": 1, "delta": "1e-3"}),
    ("bounds", ("x",), {"epsilon": 1}),
    ("rows_per_person", (), {"epsilon": 1}),
)


def told(path, total="3, δ = 0.01"):
    totals = f"the total ε = {total}"
    return f"began a new ledger, {path}, with {totals}. If there was one before, stop and restore it."


def source_of(folder, **more):
    columns = {"x": lw.number(0, 9), "key": lw.keys(["a", "b"])}
    described = {"name": "t", "columns": columns, "person": "p", "rows_per_person": 1, "epsilon": 3, "delta": "0.01"}
    frame = pd.DataFrame({"p": [1, 2], "x": [1.0, 2.0], "key": ["a", "b"]})
    return lw.Source(frame, **{**described, "ledger": folder / "t.ledger", **more})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "visits.csv").write_text(ROWS)
    (tmp_path / "visits.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("call", "args", "options"), CALLS, ids=[f"{i} {call}" for i, (call, _, _) in enumerate(CALLS)]
)
def test_an_answer_that_began_the_ledger_says_so_once(tmp_path, call, args, options):
    where = tmp_path / "t.ledger"
    source = source_of(tmp_path)
    first = getattr(source, call)(*args, **options)
    assert str(first).splitlines()[-1] == first.new_ledger == f"This release {told(where)}"
    assert told(where) in first._repr_html_()
    assert str(where) not in json.dumps(first.to_dict())
    for each in (getattr(source, call)(*args, **options), source_of(tmp_path).release(lw.sum("x"), epsilon=1)):
        assert each.new_ledger is None
        assert "new ledger" not in str(each)


def test_a_page_that_is_published_does_not_say_where_the_ledger_is(tmp_path):
    assert str(tmp_path) not in source_of(tmp_path).release(lw.count(), by="key", epsilon=1).to_html()


def test_a_new_ledger_is_told_with_the_error_if_the_release_fails(tmp_path):
    source = source_of(tmp_path)
    with pytest.raises(errors.BudgetExceeded) as caught:
        source.release(lw.count(), epsilon=4)
    assert caught.value.__notes__ == [f"This release {told(tmp_path / 't.ledger')}"]
    with pytest.raises(errors.BudgetExceeded) as caught:
        source.release(lw.count(), epsilon=4)
    assert not hasattr(caught.value, "__notes__")


def test_a_public_number_begins_no_ledger(tmp_path):
    more = {"person": None, "rows_per_person": None, "neighbors": "change_one", "public_rows": True}
    answer = source_of(tmp_path, **more).release(lw.count(), epsilon=1)
    assert (answer.entry, answer.new_ledger, (tmp_path / "t.ledger").exists()) == (None, None, False)


def test_a_command_says_it_on_standard_error(folder):
    first, again = run("release", *ASKED), run("release", *ASKED)
    sentence = f"This release {told('visits.ledger', '2')}"
    assert first.stderr == f"{sentence}\n"
    assert "new ledger" not in first.stdout
    assert again.stderr == ""
    (folder / "visits.ledger").unlink()
    made = run("release", *ASKED, "--format", "json")
    assert sentence in made.stderr
    assert "new_ledger" not in json.loads(made.stdout)
    (folder / "visits.ledger").unlink()
    assert sentence in run("bounds", "visits.toml", "cost", "--epsilon", "1").stderr
    (folder / "visits.ledger").unlink()
    added = run("ledger", "visits.toml", "analysts", "add", "ana", "--cap", "1")
    assert added.stderr == f"This command {told('visits.ledger', '2')}\n"
    assert run("ledger", "visits.toml", "analysts", "add", "bob", "--cap", "1").stderr == ""


@pytest.mark.parametrize("form", ["table", "json"])
def test_a_command_that_fails_says_it_too(folder, form):
    asked = ("release", *ASKED[:-1], "9")
    failed = run(*asked, "--format", form, status=2)
    sentence = f"This release {told('visits.ledger', '2')}"
    assert sentence in (failed.stderr if form == "table" else json.loads(failed.stderr)["message"])
    assert "new ledger" not in run(*asked, status=2).stderr
