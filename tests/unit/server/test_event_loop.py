"""The event loop waits for no database and opens no table: a ledger that is locked must not stop other requests."""

import asyncio
import traceback

import pytest
import sqlalchemy as sa

from lapwing.server.sources import Served

from .conftest import ASKED
from .test_pages_ask import ASK, Visitor


@pytest.fixture
def in_loop(server, monkeypatch):
    """Where a database was opened, or a source used, by the thread of an event loop."""
    found = []

    def note():
        try:
            asyncio.get_running_loop()
        except RuntimeError:  # a thread that may wait
            return
        found.append("".join(traceback.format_stack(limit=12)[:-2]))

    connect, source = sa.Engine.connect, Served.source.fget
    monkeypatch.setattr(sa.Engine, "connect", lambda engine: note() or connect(engine))
    monkeypatch.setattr(Served, "source", property(lambda served: note() or source(served)))
    return found


def test_what_watches_the_event_loop_sees_a_database_that_it_opens(server, in_loop):
    async def opens():
        return server.ledger.head

    asyncio.run(opens())
    assert in_loop


def test_no_page_of_questions_makes_the_event_loop_wait(server, in_loop):
    ana, olga = Visitor(server, "ana"), Visitor(server, "olga")
    for person in (ana, olga):
        person.get(ASK)
        person.post(f"{ASK}/plan", sql=ASKED, epsilon="0.5")
        person.post(f"{ASK}/plan", sql=ASKED, epsilon="3")
        for step in ("plan", "edit", "confirm", "release", "confirm"):
            person.ask(step)
        person.ask("plan", "SELECT nonsense")
        person.ask("confirm", epsilon="3")
        person.ask("release", simultaneous="1")
        entry = max(each.number for each in server.ledger.entries() if each.kind == "charge")
        person.post("/sources/visits/answer", entry=str(entry), suppress="1")
        person.post("/sources/visits/answer", entry=str(entry), compare="difference", of="ward\nx", to="ward\ny")
        assert person.get("/sources/visits/entries/99").status == 404
        started = server.post("/api/v1/sources/visits/jobs", "ana", {"sql": ASKED, "epsilon": "0.25"})
        assert started.status == 202
        person.get(f"/sources/visits/jobs/{started.json['job']}")
    assert not in_loop, in_loop[0]


def test_no_route_of_the_api_makes_the_event_loop_wait(server, in_loop):
    assert server.release("ana").status == 200
    assert server.post("/api/v1/sources/visits/plan", "ana", {"sql": ASKED, "epsilon": "0.5"}).status == 200
    assert server.get("/api/v1/sources/visits/entries/5", "audrey").status == 200
    assert server.get("/api/v1/sources/visits/budget", "ana").status == 200
    assert not in_loop, in_loop[0]
