"""Plans take no thread from tokens, nor from other people; what is too long is refused before it is worked on."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from lapwing.server import ask_routes
from lapwing.server.planning import AT_ONCE, WAITING

PLAN = "/api/v1/sources/visits/plan"
SMALL = {"sql": "SELECT COUNT(*) FROM visits", "epsilon": "1"}


def test_plans_of_one_person_stop_nobody_else(server, monkeypatch):
    go_on, lock, most, running, planned = threading.Event(), threading.Lock(), 0, 0, ask_routes.planned

    def held(served, asking):
        nonlocal most, running
        if asking.rows == 7:
            with lock:
                running += 1
                most = max(most, running)
            assert go_on.wait(30)
            with lock:
                running -= 1
        return planned(served, asking)

    monkeypatch.setattr(ask_routes, "planned", held)
    with ThreadPoolExecutor(60) as pool:
        asked = [pool.submit(server.post, PLAN, "ana", {**SMALL, "rows": 7}) for _ in range(60)]
        try:
            while sum(each.done() for each in asked) < 60 - AT_ONCE - WAITING:
                threading.Event().wait(0.01)
            refused = server.post(PLAN, "ana", SMALL)
            assert (refused.status, refused.headers["retry-after"]) == (429, "5")
            assert server.get("/api/v1/me", "ana").status == 200
            assert server.get("/healthz").status == 200
            assert server.post(PLAN, "bob", SMALL).status == 200
            assert server.release("bob").status == 200
        finally:
            go_on.set()
        answers = [each.result().status for each in asked]
    assert answers.count(200) == AT_ONCE + WAITING
    assert answers.count(429) == 60 - AT_ONCE - WAITING
    assert most == AT_ONCE
    assert server.post(PLAN, "ana", SMALL).status == 200
    assert not server.app.api.state.parts.planning._people  # nothing is kept of those who have left


def test_a_plan_that_takes_too_long_keeps_its_turn_until_it_ends(start, monkeypatch):
    server, go_on, planned = start(seconds=1), threading.Event(), ask_routes.planned

    def held(served, asking):
        assert asking.rows != 7 or go_on.wait(30)
        return planned(served, asking)

    monkeypatch.setattr(ask_routes, "planned", held)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked = [pool.submit(server.post, PLAN, "ana", {**SMALL, "rows": 7}) for _ in range(AT_ONCE)]
        assert [each.result().status for each in asked] == [503] * AT_ONCE
    assert server.post(PLAN, "ana", SMALL).status == 503  # both threads are still taken
    go_on.set()
    assert server.post(PLAN, "ana", SMALL).status == 200


@pytest.mark.parametrize(
    "more",
    [
        {"by": ["ward"] * 2000},
        {"by": {"tables": [["ward"]] * 2000}},
        {"by": [{"tables": [["ward"] * 2000]}]},
        {"weights": [["cost", "1"]] * 2000},
        {"weights": [[["ward"] * 2000, "1"]]},
        {"error": {f"c{i}": "1" for i in range(101)}},
    ],
)
def test_long_lists_are_refused_before_they_are_read(server, monkeypatch, more):
    def read(*_):
        raise AssertionError("read")

    for name in ("keys_of", "weights_of"):
        monkeypatch.setattr(f"lapwing.server.asking.{name}", read)
    answer = server.post(PLAN, "ana", {"statistics": [{"statistic": "count"}], "epsilon": "1", **more})
    assert (answer.status, answer.json["error"]) == (400, "InvalidRequest")
    assert next(iter(more)) in answer.json["message"]


@pytest.mark.parametrize("place", ["numerator", "denominator"])
def test_a_ratio_of_ratios_is_refused_however_deep(server, place):
    asked = {"statistic": "count"}
    for _ in range(600):
        asked = {"statistic": "ratio", "numerator": {"statistic": "count"}, "denominator": {"statistic": "count"}} | {
            place: asked
        }
    answer = server.post(PLAN, "ana", {"statistics": [asked], "epsilon": "1"})
    assert (answer.status, answer.json["error"]) == (400, "InvalidParameter")
    assert f"{place} is a count or sum" in answer.json["message"]
