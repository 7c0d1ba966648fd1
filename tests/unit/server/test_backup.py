"""Backups of the record of people: what was revoked or taken since must not come back unnoticed."""

import json
from fractions import Fraction

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from lapwing import errors
from lapwing.cli.main import main
from lapwing.engine.table import Table
from lapwing.ledger.backup import back_up, restore
from lapwing.ledger.ledger import Ledger
from lapwing.server.access import Access
from lapwing.server.backup import back_up_access, restore_access
from lapwing.server.permissions import Role
from lapwing.server.store import AccessStore, jobs, tokens


@pytest.fixture
def access(where, frozen_noise):
    made = Access(AccessStore(where))
    made.add_role("ana", "visits", Role.ANALYST)
    made.know_source("visits", "0" * 64)
    return made


def test_a_copy_that_is_put_back_knows_everybody_and_no_token_holds(access, tmp_path):
    token = access.make_token("ana")
    assert back_up_access(access.store, tmp_path / "copy") == 1
    assert (tmp_path / "copy").stat().st_mode & 0o077 == 0
    access.revoke(person="ana")
    again = Access(AccessStore(str(tmp_path / "new.sqlite")))
    assert restore_access(again.store, tmp_path / "copy") == 1
    assert again.roles() == access.roles()
    assert again.caller(token.text) is None
    assert again.caller(again.make_token("ana").text).may
    kept = Access(AccessStore(str(tmp_path / "kept.sqlite")))
    restore_access(kept.store, tmp_path / "copy", keep_tokens=True)
    assert kept.caller(token.text).person == "ana"


def test_jobs_that_waited_are_cancelled_and_other_ledgers_are_still_refused(access, tmp_path):
    row = {
        "job": "j", "person": "ana", "source": "visits", "token": "t", "server": "s", "question": "{}",
        "state": "open", "made": "m", "changed": "c",
    }  # fmt: skip
    with access.store.transaction(write=True) as connection:
        connection.execute(sa.insert(jobs), row)
    back_up_access(access.store, tmp_path / "copy")
    again = Access(AccessStore(str(tmp_path / "new.sqlite")))
    again.know_source("visits", "0" * 64)  # a server that was started too early
    restore_access(again.store, tmp_path / "copy", keep_tokens=True)
    assert [each["state"] for each in again.store.rows(sa.select(jobs))] == ["cancelled"]
    with pytest.raises(errors.AccessError, match="another source"):
        again.know_source("visits", "1" * 64)


def test_a_record_that_knows_people_is_not_replaced(access, tmp_path):
    back_up_access(access.store, tmp_path / "copy")
    with pytest.raises(errors.AccessError, match="knows people already"):
        restore_access(access.store, tmp_path / "copy")
    with pytest.raises(errors.AccessError, match="is not there"):
        restore_access(access.store, tmp_path / "nothing")
    with pytest.raises(errors.InvalidRequest, match="replaces nothing"):
        back_up_access(access.store, tmp_path / "copy")


def test_an_answer_that_was_lost_when_a_ledger_was_put_back_is_not_said_to_be_completed(
    start, folder, tmp_path, monkeypatch
):
    def gone(*_, **__):
        raise errors.EngineError("visits", "is away", "", "")

    server, place = start(), folder / "visits.ledger"
    with monkeypatch.context() as patch:
        patch.setattr(Table, "tally", gone)
        assert server.release("ana").status == 503
    server.stop()
    back_up(Ledger.open(place), tmp_path / "ledger-copy")
    place.rename(tmp_path / "moved")
    restore(str(place), tmp_path / "ledger-copy", write_off=True)
    again = start()
    told = again.release("ana")
    assert (told.status, told.json["error"]) == (409, "AnswerLost")
    assert "asking again does not complete it" in told.json["message"]
    assert str(folder) not in told.text
    assert again.ledger.spent == Fraction(1, 2)


def test_the_commands_copy_and_put_back(folder, frozen_noise):
    def run(*words):
        done = CliRunner().invoke(main, ["access", *words, "--format", "json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    record, copy, new = (str(folder / name) for name in ("access.sqlite", "copy", "new.sqlite"))
    assert run("backup", copy, "--access", record)["people"] == 7
    assert run("restore", copy, "--access", new) == {"people": 7, "tokens_revoked": True}
    told = CliRunner().invoke(main, ["access", "restore", copy, "--access", str(folder / "third.sqlite")])
    for words in ("a role is enough to sign in", "`lapwing access list`", "`lapwing access revoke PERSON`"):
        assert words in told.output
    listed = run("list", "--access", new)
    assert listed["roles"] == run("list", "--access", record)["roles"]
    assert all(each["revoked"] for each in listed["tokens"])
    assert len(AccessStore(new).rows(sa.select(tokens))) == len(listed["tokens"])
