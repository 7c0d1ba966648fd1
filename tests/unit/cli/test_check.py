"""The command ``lapwing check``."""

import json

import pytest

from .test_main import run

TOML = """
table = "t.csv"
person = "who"
rows_per_person = 1
epsilon = 1

[columns.wage]
low = 0
high = 100

[columns.ward]
keys = ["north", "south"]
"""
ROWS = "who,wage,ward\n" + "".join(f"p{i},{i % 90},{'north' if i % 2 else 'south'}\n" for i in range(500))


@pytest.fixture
def source(tmp_path):
    (tmp_path / "t.csv").write_text(ROWS)
    (tmp_path / "t.toml").write_text(TOML)
    return str(tmp_path / "t.toml")


def test_check_prints_words_and_makes_no_ledger(source, tmp_path):
    text = run("check", source).stdout
    assert text.startswith("PRIVATE")
    assert "The declaration fits the table." in text
    assert "500" not in text
    told = json.loads(run("check", source, "--format", "json").stdout)
    assert (told["wrong"], told["publish"], told["people"]["people_beyond"]) == (False, False, "none")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["t.csv", "t.toml"]


def test_check_exits_with_1_for_wrong_columns_and_2_for_refusals(source, tmp_path):
    (tmp_path / "t.csv").write_text(ROWS.replace("north", "North").replace("south", "South"))
    done = run("check", source, status=1)
    assert "WRONG: ward: no cell is a listed key." in done.stdout
    assert json.loads(run("check", source, "--format", "json", status=1).stdout)["wrong"] is True
    run("check", str(tmp_path / "gone.toml"), status=2)
    assert "No such option" in run("check", source, "--analyst", "ana", status=2).stderr
    assert "No such option" in run("check", source, "--epsilon", "1", status=2).stderr


def test_init_names_the_source_after_the_file_that_it_writes(tmp_path):
    (tmp_path / "t.csv").write_text(ROWS)
    run("init", str(tmp_path / "t.csv"), "--output", str(tmp_path / "wages 2024.toml"))
    assert 'name = "wages_2024"\n' in (tmp_path / "wages 2024.toml").read_text()
