"""What sources and servers share: no ledger by two served sources, and no record of people by different sources."""

import json
import shutil

import pytest
import sqlalchemy as sa

import lapwing as lw
from lapwing.server.access import Access
from lapwing.server.app import Application
from lapwing.server.refusals import Refusal
from lapwing.server.settings import settings_of
from lapwing.server.sources import open_sources
from lapwing.server.store import AccessStore, jobs
from lapwing.source import Source

from ..cli.test_main import run
from .conftest import ASKED, settings, write_source

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
    files = [write_source(tmp_path, name) for name in ("one", "two")]
    for file in files:
        Source.open(file).make_ledger()
    assert len(open_sources([lambda file=file: Source.open(file) for file in files])) == 2


def test_a_copy_of_a_ledger_that_went_on_is_the_same_budget(folder):
    shutil.copy(folder / "visits.ledger", folder / "copied.ledger")
    lw.Ledger.open(folder / "copied.ledger").charge("elsewhere", "0.5")
    other = folder / "secrets.toml"
    other.write_text(other.read_text().replace('name = "secrets"', 'name = "secrets"\nledger = "copied.ledger"'))
    with pytest.raises(lw.errors.InvalidRequest, match="have one ledger"):
        open_sources([lambda: Source.open(folder / "visits.toml"), lambda: Source.open(other)])


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


def test_a_record_of_people_is_not_used_for_another_source_of_the_same_name(folder, tmp_path):
    """Otherwise an owner of the one is an owner of the other, and sees jobs of its people."""
    Application(settings(folder))
    (tmp_path / "elsewhere").mkdir()
    other = write_source(tmp_path / "elsewhere", "visits", epsilon="7")
    named = {"sources": [str(other)], "access": str(folder / "access.sqlite")}
    with pytest.raises(lw.errors.AccessError, match=r'is about another source "visits".*Name another record: --access'):
        Application(settings_of(None, named))
    words = ("access", "invite", "mallory", str(other), "--role", "owner", "--access", named["access"])
    assert 'is about another source "visits"' in run(*words, status=1).stderr
    assert "mallory" not in {each["person"] for each in Access(AccessStore(named["access"])).roles()}
    Application(settings(folder))  # the first one is served as before
    Application(settings_of(None, {**named, "access": str(tmp_path / "other.sqlite")}))


def test_a_moved_ledger_is_the_same_source(folder, tmp_path):
    Application(settings(folder))
    moved = shutil.copytree(folder, tmp_path / "moved")
    Application(settings(moved, access=str(folder / "access.sqlite")))


def put_job(server, **fields):
    """Write an open job down, as a server that was killed leaves it."""
    access = server.app.access
    ana = access.caller(server.tokens["ana"])
    row = {"job": "1" * 32, "person": "ana", "source": "visits", "token": ana.token, "server": "killed"}
    row |= {"question": json.dumps({"sql": ASKED, "epsilon": "0.5"}), "state": "open", "made": "", "changed": ""}
    with access.store.transaction(write=True) as connection:
        connection.execute(sa.insert(jobs), {**row, **fields})


def test_jobs_of_sources_that_a_server_does_not_serve_are_left_alone(start):
    server = start()
    put_job(server, source="survey")
    server.stop()
    with start().app.access.store.transaction() as connection:
        assert connection.execute(sa.select(jobs.c.state, jobs.c.server)).all() == [("open", "killed")]


def test_of_two_servers_one_takes_over_a_job(start):
    one, two = start(), start()
    put_job(one)
    both = [each.app.api.state.parts.jobs for each in (one, two)]
    (row,) = one.app.access.store.rows(sa.select(jobs))
    assert [each._take(row) for each in both] == [True, False]
    both[1]._end(row["job"], {"state": "failed"})  # it is not the second's to end
    assert [each["state"] for each in one.app.access.store.rows(sa.select(jobs))] == ["open"]
    inquiry = both[1]._again(row)
    with pytest.raises(Refusal):
        both[1].check(inquiry, row["job"])
    both[0].check(inquiry, row["job"])
