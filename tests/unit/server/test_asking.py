"""Plan, release, history and entries: the same JSON as here, charged to the one who signed in, and once."""

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

import lapwing as lw
from lapwing.engine.table import Table
from lapwing.plan import asked
from lapwing.plan.planning import make_plan
from lapwing.server import models
from lapwing.server.routing import is_page
from lapwing.server.sources import Served, open_sources
from lapwing.source import Source

from .conftest import ASKED, CANARY
from .test_jobs import ended
from .test_pages_ask import Visitor

QUESTIONS = [
    {"sql": ASKED},
    {"sql": f"{ASKED} HAVING n > 50 ORDER BY n DESC LIMIT 1"},
    {"sql": "SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward)"},
    {"sql": "SELECT MEDIAN(age), MAX(cost) FROM visits WHERE age >= 30", "intervals": False},
    {"sql": "SELECT SUM(cost) / SUM(age) AS r FROM visits", "confidence": "0.8"},
    {"statistics": [{"statistic": "mean", "column": "cost * age", "name": "m"}, {"statistic": "count"}], "by": "ward"},
    {"statistics": [{"statistic": "sum", "column": "cost"}, {"statistic": "sum", "column": "age"}],
     "weights": [["cost", "3"]], "where": "age < 50"},
    {"statistics": [{"statistic": "count"}], "by": {"tables": [["ward"], []]}, "weights": [[["ward"], "4"]]},
]  # fmt: skip


def here(question):
    """Return the same question for Python."""
    from lapwing.server.asking import ReleaseBody

    statistics, named = ReleaseBody(**question, epsilon="0.1").arguments()
    return statistics, named


@pytest.mark.parametrize("question", QUESTIONS, ids=range(len(QUESTIONS)))
def test_plan_and_release_are_those_of_python(server, folder, question):
    source = Source.open(folder / "visits.toml")
    statistics, named = here(question)
    planned = server.post("/api/v1/sources/visits/plan", "ana", {**question, "epsilon": "0.1"})
    assert planned.json == json.loads(json.dumps(source.plan(*statistics, epsilon="0.1", **named).to_dict()))
    models.PlanAnswer(**planned.json)
    released = server.post("/api/v1/sources/visits/release", "ana", {**question, "epsilon": "0.1"})
    assert released.status == 200, released.text
    again = source.release(*statistics, epsilon="0.1", **named)  # the recorded answer
    passing = ("repeated", "remaining")
    mine = json.loads(json.dumps(again.to_dict()))
    assert {name: each for name, each in released.json.items() if name not in passing} == {
        name: each for name, each in mine.items() if name not in passing
    }
    assert (released.json["repeated"], mine["repeated"]) == (False, True)
    assert (released.json["remaining"], mine["remaining"]) == ("1.9", "3.9")  # of the cap of ana, and of the total
    assert source.ledger.entry(released.json["entry"]).analyst == "ana"
    assert CANARY not in released.text


def test_a_question_is_planned_once_whether_it_is_new_or_repeated(server, monkeypatch):
    planned = []
    monkeypatch.setattr(asked, "make_plan", lambda *given, **named: planned.append(1) or make_plan(*given, **named))
    for repeated in (False, True):
        answer = server.post("/api/v1/sources/visits/release", "ana", {"sql": ASKED, "epsilon": "0.1"})
        assert answer.json["repeated"] is repeated
    assert len(planned) == 2


def test_T27_a_repeated_question_is_free_for_everyone(server):
    first = server.release("ana").json
    before = server.ledger.head
    again = server.release("bob").json
    assert (first["repeated"], again["repeated"]) == (False, True)
    assert (first["rows"], first["entry"]) == (again["rows"], again["entry"])
    assert server.ledger.head == before
    assert server.release("bob", epsilon="0.4").json["rows"] != first["rows"]


ALIAS = "my_idea"
NAMED = f"SELECT ward AS {ALIAS}_1, COUNT(*), AVG(cost) AS {ALIAS}_2 FROM visits GROUP BY ward"
PLAIN = "SELECT ward, COUNT(*), AVG(cost) FROM visits GROUP BY ward"


def test_the_names_that_somebody_gave_are_told_to_nobody_else_who_asks_the_same(server):
    first = server.release("ana", NAMED).json["entry"]
    tables = f"SELECT ward, COUNT(*) AS {ALIAS} FROM visits GROUP BY ROLLUP (ward)"
    server.release("ana", tables)
    job = server.post("/api/v1/sources/visits/jobs", "bob", {"sql": PLAIN, "epsilon": "0.5", "record": True}).json
    while server.get(f"/api/v1/sources/visits/jobs/{job['job']}", "bob").json["state"] == "open":
        pass
    told = [
        server.release("bob", PLAIN, record=True),
        server.get(f"/api/v1/sources/visits/jobs/{job['job']}/result", "bob"),
        server.release("bob", tables.replace(f" AS {ALIAS}", ""), record=True),
        server.release("bob", "SELECT ward, COUNT(*) FROM visits GROUP BY ward", "0.1", record=True),
    ]
    for answer in told:
        assert answer.status == 200
        assert answer.json["repeated"]
        assert set(answer.json["answer"]) == {"cells"}
        assert ALIAS not in answer.text
    for who in ("ana", "audrey"):
        mine = server.get(f"/api/v1/sources/visits/entries/{first}?record=true", who).json["answer"]
        assert set(mine) == {"cells", "names", "titles", "order"}


def test_who_completes_a_question_of_somebody_else_gives_it_no_names(server, monkeypatch):
    def fail(*_):
        raise OSError

    with monkeypatch.context() as patch:
        patch.setattr(Table, "tally", fail)
        assert server.release("ana", PLAIN).status == 503
    completed = server.release("bob", NAMED, record=True).json
    assert completed["completed"]
    mine = server.get(f"/api/v1/sources/visits/entries/{completed['entry']}?record=true", "ana")
    assert mine.json["answer"] == completed["answer"]
    assert ALIAS not in mine.text


def test_a_plan_says_what_share_is_beyond_the_bounds_that_an_owner_found_and_no_more_of_them(server, folder):
    mean = {"sql": "SELECT AVG(cost) FROM visits", "epsilon": "0.1"}
    before = server.post("/api/v1/sources/visits/plan", "ana", mean).json["clipped"][0]
    assert (before["share"], before["entry"]) == (None, None)
    found = Source.open(folder / "visits.toml").bounds("cost", epsilon=1)
    told = server.post("/api/v1/sources/visits/plan", "ana", mean).json["clipped"][0]
    share = found.beyond(Fraction(0), Fraction(100))
    assert told["entry"] == found.release.entry
    assert (told["share"]["value"], told["share"]["low"], told["share"]["high"]) == share
    assert server.get(f"/api/v1/sources/visits/entries/{told['entry']}", "ana").status == 404


def test_views_of_an_answer_are_free(server):
    first = server.release("ana").json
    spent = server.ledger.spent
    for view in ("simultaneous", "nonnegative", "suppress"):
        seen = server.release("ana", **{view: True}).json
        assert seen["repeated"]
        assert seen["simultaneous"] == (view == "simultaneous")
        assert seen["view"] == ("nonnegative" if view == "nonnegative" else "unbiased")
        assert seen["suppressed"] == (view == "suppress")
    assert server.ledger.spent == spent == Fraction(first["epsilon"])


def test_T45_the_total_binds_over_all_and_caps_below_it(server):
    for place, (who, epsilon, status) in enumerate(
        [("ana", "1.5", 200), ("ana", "0.5", 200), ("ana", "0.000000001", 409), ("bob", "1.999999999", 200),
         ("olga", "0.000000002", 409), ("olga", "0.000000001", 200), ("olga", "0.000000003", 409)]
    ):  # fmt: skip
        answer = server.release(who, f"SELECT COUNT(*) FROM visits WHERE age > {place}", epsilon)
        assert answer.status == status, (who, epsilon, answer.text)
        if status == 409:
            assert answer.json["error"] == "BudgetExceeded"
            assert answer.json["message"].endswith(", or ask the owner.")
            assert "visits.ledger" not in answer.text
    assert server.ledger.remaining == 0
    assert {each.analyst: each.spent for each in server.ledger.analysts()} == {
        "ana": 2, "bob": Fraction(1999999999, 10**9), "olga": Fraction(1, 10**9)
    }  # fmt: skip


def test_a_ceiling_for_one_question(start):
    server = start(epsilon_per_question="0.3")
    answer = server.release("ana", epsilon="0.300000001")
    assert (answer.status, answer.json["error"]) == (409, "BudgetExceeded")
    assert "at most 0.3 for one question" in answer.json["message"]
    assert server.post("/api/v1/sources/visits/plan", "ana", {"sql": ASKED, "epsilon": "2"}).status == 200
    assert server.ledger.spent == 0
    assert server.release("ana", epsilon="0.3").status == 200


KINDS = {
    "several columns": {"sql": "SELECT COUNT(*), AVG(cost), SUM(age), STDDEV_SAMP(cost) FROM visits GROUP BY ward"},
    "several tables": {"sql": "SELECT COUNT(*), AVG(cost) FROM visits GROUP BY CUBE (ward, BIN(age, 0, 60, 120))"},
    "people": {"sql": "SELECT COUNT(DISTINCT patient), COUNT(*) FROM visits GROUP BY ward"},
    "quantiles": {"sql": "SELECT MEDIAN(age), QUANTILE_CONT(cost, 0.9), MAX(cost) FROM visits GROUP BY ward"},
    "ratios": {"sql": "SELECT SUM(cost) / SUM(age), COUNT(*) FROM visits"},
    "weights": {"statistics": [{"statistic": "sum", "column": "cost"}, {"statistic": "sum", "column": "age"}],
                "weights": [["cost", "7"], ["age", "1"]]},
    "weighted tables": {"statistics": [{"statistic": "count"}], "by": {"tables": [["ward"], []]},
                        "weights": [[["ward"], "9"]]},
}  # fmt: skip
"""Questions of more than one measurement."""


@pytest.mark.parametrize("kind", KINDS)
def test_T45_every_limit_holds_for_questions_of_every_kind(start, monkeypatch, kind):
    server = start(epsilon_per_question="1.25")
    visits = "/api/v1/sources/visits"

    def about(epsilon):  # other rows for each ε: what was released more precisely is free
        rows = f"age >= {int(Fraction(epsilon) * 10**9) % 97}"
        if "sql" in KINDS[kind]:
            return {"sql": re.sub(r"(?<=FROM visits)\b", f" WHERE {rows}", KINDS[kind]["sql"])}
        return {**KINDS[kind], "where": rows}

    def ask(who, epsilon, route="release"):
        return server.post(f"{visits}/{route}", who, {**about(epsilon), "epsilon": epsilon})

    def refused(who, epsilon):
        spent = server.ledger.spent
        answer = ask(who, epsilon)
        job = ended(server, ask(who, epsilon, "jobs").json["job"], who)
        assert (answer.status, answer.json["error"]) == (409, "BudgetExceeded")
        assert (job["state"], job["error"], job["message"]) == ("failed", "BudgetExceeded", answer.json["message"])
        if "sql" in KINDS[kind]:
            assert Visitor(server, who).ask("release", about(epsilon)["sql"], epsilon).status == 409
        assert server.ledger.spent == spent

    refused("ana", "1.250000001")  # the ceiling of one question
    assert ask("ana", "1.25").status == 200
    assert server.ledger.spent == Fraction(5, 4)
    refused("ana", "0.750000001")  # the cap of ana is 2
    assert ask("ana", "0.75").status == 200
    refused("ana", "0.000000001")
    assert [ask("bob", epsilon).status for epsilon in ("1", "0.999999999")] == [200, 200]
    refused("olga", "0.000000002")  # the total is 4
    assert ask("olga", "0.000000001").status == 200
    refused("olga", "0.000000003")
    charges = [each.epsilon for each in server.ledger.entries() if each.kind == "charge"]
    assert server.ledger.spent == sum(charges) == 4

    groups = ask("ana", "0.1", "plan").json["groups"]
    monkeypatch.setattr("lapwing.server.asking.MOST_GROUPS", groups - 1)
    assert ask("ana", "1.25").json["error"] == "TooLarge"
    monkeypatch.setattr("lapwing.server.asking.MOST_GROUPS", groups)
    assert ask("ana", "1.25").json["repeated"]


def test_an_answer_with_too_many_groups_is_refused_before_it_is_charged(server, monkeypatch):
    monkeypatch.setattr("lapwing.server.asking.MOST_GROUPS", 2)
    answer = server.release("ana")
    assert (answer.status, answer.json["error"]) == (400, "TooLarge")
    assert server.ledger.spent == 0
    assert server.release("ana", "SELECT COUNT(*) FROM visits").status == 200


def test_a_person_without_a_cap_cannot_spend(server):
    server.app.access.add_role("mona", "visits", lw_role("analyst"))
    server.tokens["mona"] = server.app.access.make_token("mona").text
    answer = server.release("mona")
    assert (answer.status, answer.json["error"]) == (409, "BudgetExceeded")
    assert "has no cap for you" in answer.json["message"]
    server.release("ana")
    assert server.release("mona").json["repeated"]  # what was released is free


def lw_role(name):
    from lapwing.server.permissions import Role

    return Role(name)


def test_T25_twenty_who_ask_one_question_at_once_read_the_table_once(server, monkeypatch):
    read, tally, at_once = [], Table.tally, threading.Semaphore(0)

    def counted(*given, **named):
        read.append(threading.current_thread().name)
        at_once.acquire(timeout=2)
        return tally(*given, **named)

    monkeypatch.setattr(Table, "tally", counted)
    with ThreadPoolExecutor(20) as pool:
        asked = [pool.submit(server.release, ("ana", "bob", "olga")[i % 3]) for i in range(20)]
        at_once.release()
        answers = [each.result() for each in asked]
    assert [answer.status for answer in answers] == [200] * 20
    assert len({json.dumps(answer.json["rows"]) for answer in answers}) == 1
    assert sum(not answer.json["repeated"] for answer in answers) == 1
    assert len(read) == 1
    assert server.ledger.spent == Fraction(1, 2)
    assert server.ledger.verify() == 6  # open, three caps, one charge, one answer


def test_T25_many_questions_of_many_people_spend_exactly_the_total(server):
    def ask(place):
        who = ("ana", "bob", "olga")[place % 3]
        return server.release(who, f"SELECT COUNT(*) FROM visits WHERE age > {place}", "0.3").status

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(ask, range(24)))
    assert statuses.count(200) == 13  # of a total of 4, 13 times 0.3 fit
    assert statuses.count(409) == 11
    assert server.ledger.spent == Fraction(39, 10)
    server.ledger.verify()


def test_T25_two_servers_on_one_ledger_in_postgresql_charge_once(postgres, folder, start):
    file = folder / "visits.toml"
    file.write_text(file.read_text().replace("rows_per_person", f'ledger = "{postgres}"\nrows_per_person', 1))
    servers = start(), start()
    for name in ("ana", "bob", "olga"):
        servers[0].ledger.add_analyst(name, 2)

    def ask(place):
        who, epsilon = ("ana", "bob", "olga")[place % 3], f"0.{place % 4 + 1}"
        return servers[place % 2].release(who, "SELECT COUNT(*) FROM visits", epsilon)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(24)))
    assert [answer.status for answer in answers] == [200] * 24
    assert len({(answer.json["epsilon"], json.dumps(answer.json["rows"])) for answer in answers}) == 4
    assert servers[0].ledger.spent == servers[1].ledger.spent == 1
    servers[1].ledger.verify()
    refused = servers[1].release("ana", "SELECT COUNT(*) FROM visits", "2.1")  # above the cap, whoever paid so far
    assert refused.status == 409
    assert "postgresql" not in refused.text


def test_a_queue_that_is_full_refuses_before_anything_is_charged(start, monkeypatch):
    server = start(at_once=1, waiting=1)
    tally, go_on, begun = Table.tally, threading.Event(), threading.Event()

    def slow(*given, **named):
        begun.set()
        go_on.wait(20)
        return tally(*given, **named)

    monkeypatch.setattr(Table, "tally", slow)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(server.release, "ana", "SELECT COUNT(*) FROM visits", "0.1")
        assert begun.wait(10)
        second = pool.submit(server.release, "ana", "SELECT COUNT(*) FROM visits", "0.2")
        while server.app.api.state.parts.work.busy < 2:
            threading.Event().wait(0.01)
        third = server.release("bob", "SELECT COUNT(*) FROM visits", "0.3")
        go_on.set()
        assert (first.result().status, second.result().status) == (200, 200)
    assert (third.status, third.headers["retry-after"]) == (503, "5")
    assert server.ledger.spent == Fraction(3, 10)


def test_a_plan_that_takes_long_is_refused(start, monkeypatch):
    server, planned, ended = start(seconds=1), threading.Event(), []

    def slow(*_):
        planned.wait(20)
        ended.append(True)
        return {}

    monkeypatch.setattr("lapwing.server.ask_routes.planned", slow)
    answer = server.post("/api/v1/sources/visits/plan", "ana", {"sql": ASKED, "epsilon": "0.1"})
    assert not ended  # the answer does not wait for the plan
    planned.set()
    assert (answer.status, answer.json["error"]) == (503, "ServerError")
    assert "longer than the server allows" in answer.json["message"]


def test_history_and_entries(server):
    entry = server.release("ana").json["entry"]
    history = server.get("/api/v1/sources/visits/history", "ana").json
    models.History(**history)
    assert [(each["entry"], each["epsilon"]) for each in history["entries"]] == [(entry, "0.5")]
    recalled = server.get(f"/api/v1/sources/visits/entries/{entry}", "ana").json
    assert recalled["rows"] == server.release("ana").json["rows"]
    assert server.ledger.spent == Fraction(1, 2)
    for wrong in ("0", "1", "999", "x", "-1", "1.5", "9" * 30, "%00"):
        assert server.get(f"/api/v1/sources/visits/entries/{wrong}", "ana").status == 404
        assert server.get(f"/api/v1/sources/visits/entries/{wrong}", "olga").status == 404


@pytest.mark.parametrize(("route", "who"), [("history", "ana"), ("ledger", "audrey")])
def test_entries_are_listed_page_by_page_from_the_last_one(server, route, who):
    for place in range(1, 6):
        assert server.release("ana", f"SELECT COUNT(*) FROM visits WHERE age >= {place}", epsilon="0.01").status == 200
    address, all_of_them = f"/api/v1/sources/visits/{route}", server.ledger.entries()
    if route == "history":
        all_of_them = [each for each in all_of_them if each.kind == "charge"]
    whole = server.get(address, who).json
    assert whole["before"] is None
    assert [(each["entry"], each["answered"]) for each in whole["entries"]] == [
        (each.number, each.answered) for each in all_of_them
    ]
    listed, before = [], ""
    while before is not None:
        page = server.get(f"{address}?most=2{before and f'&before={before}'}", who).json
        assert len(page["entries"]) <= 2
        listed, before = page["entries"] + listed, page["before"]
    assert listed == whole["entries"]
    assert server.get(f"{address}?before=1", who).json["entries"] == []
    for wrong in ("most=0", "most=1001", "most=x", "before=0", "before=x", f"before={2**63}", "before=-1"):
        assert server.get(f"{address}?{wrong}", who).json["error"] == "InvalidRequest", wrong


def test_what_is_public_about_a_source(server, folder):
    told = server.get("/api/v1/sources/visits", "ana").json
    models.Description(**told)
    assert told["columns"]["ward"] == {"type": "text", "keys": ["north", "south"], "other": "elsewhere"}
    assert str(folder) not in json.dumps(told)
    example = server.get("/api/v1/sources/visits/example?rows=5", "ana").json
    assert example["columns"] == Source.open(folder / "visits.toml").example(5)
    assert server.get("/api/v1/sources/visits/example?rows=0", "ana").status == 400
    assert server.get("/api/v1/sources/visits/example?rows=x", "ana").json["error"] == "InvalidRequest"
    (folder / "visits.csv").unlink()  # neither needs the table
    assert server.get("/api/v1/sources/visits/example?rows=5", "ana").json == example
    assert server.post("/api/v1/sources/visits/plan", "ana", {"sql": ASKED, "epsilon": "1"}).status == 200


def test_T24_a_table_that_cannot_be_read_is_told_without_its_place(server, folder):
    (folder / "visits.csv").rename(folder / f"gone-{CANARY}.csv")
    answer = server.release("ana")
    assert (answer.status, answer.json["error"]) == (503, "EngineError")
    assert str(folder) not in answer.text
    (folder / "visits.csv").write_text(f"patient,wards,cost,age\na,b,{CANARY},1\n")
    answer = server.release("ana")
    assert (answer.status, answer.json["error"]) == (503, "InvalidSource")
    assert "wards" not in answer.text
    assert server.ledger.spent == 0


def test_T24_a_canary_is_nowhere_also_when_the_engine_fails(server, monkeypatch, caplog):
    caplog.set_level("DEBUG")
    shown = [server.release("ana").text]

    def fail(*_, **__):
        raise RuntimeError(f"Could not convert {CANARY} of visits-canary-person")

    with monkeypatch.context() as patch:
        patch.setattr("lapwing.engine.duckdb._Session.integers", fail)
        failed = server.release("ana", epsilon="0.25")
    assert (failed.status, failed.json["error"]) == (503, "EngineError")
    assert "stays charged" in failed.json["message"]
    assert server.ledger.spent == Fraction(3, 4)
    shown.append(server.release("ana", epsilon="0.25").text)  # completed, at no charge
    assert server.ledger.spent == Fraction(3, 4)
    for route in server.app.api.routes:
        for who in server.tokens:
            if "GET" in route.methods:
                path = route.path.format(source="visits", entry="6", job="x", person="ana", number="x", name="app.css")
                answer = server.get(path, who)
                shown.append(answer.text + str(answer.headers))
    shown += [failed.text, json.dumps(server.lines), caplog.text]
    for text in shown:
        assert CANARY not in text
        assert "canary-person" not in text


def test_openapi_describes_every_route_and_its_permission(server):
    document = server.get("/api/v1/openapi.json", "oscar").json
    for route in server.app.api.routes:
        for method in () if is_page(route) else route.methods:
            operation = document["paths"][route.path][method.lower()]
            assert operation["x-permission"]
            assert "404" in operation["responses"]
    assert document["openapi"].startswith("3.")


def test_a_source_file_that_changes_while_the_server_runs_is_not_mixed_with_the_old_one(folder):
    file = folder / "visits.toml"
    served = Served(lambda: Source.open(file))
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: served.source.schema).result() == served.schema
    file.write_text(file.read_text().replace("high = 100", "high = 1000"))
    with ThreadPoolExecutor(1) as pool, pytest.raises(lw.errors.InvalidSource, match="since the server started"):
        pool.submit(lambda: served.source).result()


def test_two_sources_of_one_name_or_one_table_with_two_budgets_are_refused(folder):
    file = folder / "visits.toml"
    with pytest.raises(lw.errors.InvalidRequest, match="Two sources are called"):
        open_sources([lambda: Source.open(file), lambda: Source.open(file)])
    other = folder / "other.toml"
    other.write_text(file.read_text().replace('name = "visits"', 'name = "other"\nledger = "other.ledger"'))
    with pytest.raises(lw.errors.InvalidRequest, match="one table and two ledgers"):
        open_sources([lambda: Source.open(file), lambda: Source.open(other)])
    assert set(open_sources([lambda: Source.open(file), lambda: Source.open(folder / "secrets.toml")])) == {
        "visits", "secrets",
    }  # fmt: skip
