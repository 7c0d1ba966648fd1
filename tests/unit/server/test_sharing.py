"""What sources and servers share: no ledger by two served sources, and no record of people by different sources."""

import json
import shutil

import pytest

import lapwing as lw
from lapwing.server.sources import open_sources
from lapwing.source import Source

from .conftest import write_source

VISITS = "/api/v1/sources/visits"


@pytest.mark.parametrize("ledger", ["visits.ledger", "./linked.ledger", "copied.ledger"])
def test_two_sources_with_one_ledger_are_refused(folder, ledger):
    """Otherwise the owner or auditor of one of them sees and changes the budget of the other."""
    (folder / "linked.ledger").symlink_to(folder / "visits.ledger")
    shutil.copy(folder / "visits.ledger", folder / "copied.ledger")
    other = folder / "secrets.toml"
    other.write_text(other.read_text().replace('name = "secrets"', f'name = "secrets"\nledger = "{ledger}"'))
    with pytest.raises(lw.errors.InvalidRequest, match=r'"visits" and "secrets" have one ledger.*Serve one of them'):
        open_sources([lambda: Source.open(folder / "visits.toml"), lambda: Source.open(other)])


def test_two_new_ledgers_are_not_taken_for_one(tmp_path):
    """Their first entries are equal if they were made in the same second."""
    files = [write_source(tmp_path, name) for name in ("one", "two")]
    for file in files:
        Source.open(file).open_ledger()
    assert len(open_sources([lambda file=file: Source.open(file) for file in files])) == 2


def test_questions_to_another_source_of_the_ledger_are_not_shown(server, folder):
    other = folder / "annex.toml"
    text = (folder / "visits.toml").read_text().replace('name = "visits"', 'name = "annex"\nledger = "visits.ledger"')
    other.write_text(text)
    made = Source.open(other).release(lw.count(), epsilon="0.25", analyst="ana")
    mine = server.release("ana").json["entry"]
    assert [each["entry"] for each in server.get(f"{VISITS}/history", "ana").json["entries"]] == [mine]
    for who in ("olga", "audrey"):
        told = server.get(f"{VISITS}/ledger", who).json
        assert [each["entry"] for each in told["entries"] if each["kind"] == "charge"] == [mine]
        assert "annex" not in json.dumps(told)
        assert told["epsilon"]["spent"] == "0.75"
        hidden, none = (server.get(f"{VISITS}/entries/{number}", who) for number in (made.entry, 999))
        assert hidden.shape == none.shape
        assert hidden.status == 404
    assert server.get(f"{VISITS}/entries/{made.entry}", "ana").status == 404
