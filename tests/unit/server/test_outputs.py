"""All that a server sends and writes is what Python shows, and nothing beside it: in JSON, headers, log and pages."""

import json
import os
import re

from prometheus_client.parser import text_string_to_metric_families

from lapwing.server.routing import is_page
from lapwing.source import Source

from .conftest import ASKED
from .test_jobs import ended
from .test_pages import look, sign_in
from .test_pages_ask import Visitor, entry_of

S = "/api/v1/sources/visits"
QUESTION = {"sql": ASKED, "epsilon": "0.5"}
SHOWN_ELSEWHERE = {
    "GET /metrics", "GET /api/v1/openapi.json",
    "POST /api/v1/sign-in/openid",
}  # fmt: skip
"""The first is below; the second is about the program; the third needs a provider, and test_sign_in has it."""


def plain(value):
    """A value of Python as JSON has it."""
    return json.loads(json.dumps(value))


class Asker:
    """Calls routes, and remembers which."""

    def __init__(self, server):
        self.server, self.called = server, set()

    def __call__(self, method, path, who=None, body=None):
        answer = self.server.call(method, path, who, body)
        self.called.add(self.server.lines[-1]["route"])
        assert answer.status < 300, answer.text
        return answer.json


def release_of(source, **more):
    """What Python shows of the recorded answer; what is left is told for the cap of ana, not for the total."""
    made = source.release(ASKED, epsilon="0.5")
    return {**plain(made.to_dict()), "remaining": "1.5", **more}


def entry(number, source):
    return plain(source.ledger.entry(number).to_dict())


def test_every_route_answers_what_python_shows_and_no_field_more(server, folder):
    ask, here = Asker(server), Source.open(folder / "visits.toml")
    assert ask("GET", "/healthz") == {"status": "ok"}
    assert ask("GET", "/readyz") == {"status": "ready"}
    assert ask("GET", "/api/v1/sign-in") == {"token": True, "openid": None}
    me = ask("GET", "/api/v1/me", "ana")
    assert me == {"person": "ana", "expires": me["expires"], "roles": {"visits": ["analyst"]}}
    assert ask("GET", "/api/v1/sources", "ana") == {"sources": [{"name": "visits", "roles": ["analyst"]}]}
    assert ask("GET", S, "ana") == plain({**here.describe(), "engine": "duckdb"})
    assert ask("GET", f"{S}/example?rows=3", "ana") == plain(
        {"source": "visits", "rows": 3, "columns": here.example(3)}
    )
    assert ask("POST", f"{S}/plan", "ana", QUESTION) == plain(here.plan(ASKED, epsilon="0.5").to_dict())

    released = ask("POST", f"{S}/release", "ana", QUESTION)
    assert released == release_of(here, repeated=False)
    number = released["entry"]
    record = ask("POST", f"{S}/release", "ana", {**QUESTION, "record": True})
    kept = here.ledger.find(here.ledger.entry(number).question, "0.5")
    made = here.release(ASKED, epsilon="0.5")
    assert record == plain({
        "source": "visits", "entry": number, "question": kept.question, "epsilon": "0.5", "answer": kept.answer,
        "analyst": "ana", "repeated": True, "completed": False, "reused": False, "recorded_at": made.recorded_at,
        "modified_at": None, "remaining": "1.5", "budget": made.budget.to_dict(), "head": record["head"],
    })  # fmt: skip
    assert record["head"] == made.head
    assert ask("GET", f"{S}/entries/{number}", "ana") == release_of(here)
    assert ask("GET", f"{S}/entries/{number}?record=true", "ana") == record

    amounts = {"total": "4", "spent": "0.5", "remaining": "3.5"}
    mine = {"analyst": "ana", "total": "2", "spent": "0.5", "remaining": "1.5"}
    nothing = plain(here.ledger.delta.to_dict())
    assert ask("GET", f"{S}/budget", "ana") == {
        "source": "visits", "epsilon": amounts, "delta": nothing, "mine": mine
    }  # fmt: skip
    assert ask("GET", f"{S}/ledger/head", "ana") == {"head": here.ledger.head}
    charge = entry(number, here)
    assert ask("GET", f"{S}/history", "ana") == {"source": "visits", "entries": [charge], "before": None}
    answered = {each.charge: each.number for each in here.ledger.entries() if each.kind == "answer"}
    assert ask("GET", f"{S}/ledger", "olga") == {
        "ledger": "visits", "epsilon": amounts, "delta": nothing,
        "analysts": plain([each.to_dict() for each in here.ledger.analysts()]),
        "entries": plain([
            {**each.to_dict(), "answered_by": answered.get(each.number)} for each in here.ledger.entries()
        ]),
        "before": None,
    }  # fmt: skip
    assert ask("GET", f"{S}/ledger/verify", "olga") == {"entries": here.ledger.verify(), "head": here.ledger.head}
    assert ask("GET", f"{S}/versions", "olga") == {
        "source": "visits", "version": None,
        "versions": [{"version": None, "first_seen": charge["time"], "entries": 1}],
    }  # fmt: skip
    jobs_are_their_questions_and_states(ask, here)
    requests_are_those_of_the_ledger(ask, here)
    people_are_their_roles_caps_and_tokens(ask, here)
    total = ask("PUT", f"{S}/total", "olga", {"epsilon": "5", "note": "another year"})
    assert total == plain(here.ledger.entries()[-1].to_dict())
    assert ask("DELETE", "/api/v1/me/token", "bob") == {"changed": 1}
    routes = {f"{method} {each.path}" for each in server.app.api.routes if not is_page(each) for method in each.methods}
    assert routes - ask.called == SHOWN_ELSEWHERE


def jobs_are_their_questions_and_states(ask, here):
    begun = ask("POST", f"{S}/jobs", "ana", QUESTION)
    asked = {name: value for name, value in begun["question"].items() if value is not None}
    assert asked == {
        **QUESTION, "objective": "mean", "intervals": True, "confidence": "0.95", "record": False,
        "simultaneous": False, "nonnegative": False, "rounded": False, "suppress": False,
    }  # fmt: skip
    job = begun["job"]
    fixed = {"job": job, "source": "visits", "error": None, "message": None, "question": begun["question"]}
    times = {name: begun[name] for name in ("made", "changed")}
    assert begun == {**fixed, **times, "state": "open", "entry": None}
    ended(ask.server, job)
    done = ask("GET", f"{S}/jobs/{job}", "ana")
    assert done == {**fixed, "made": begun["made"], "changed": done["changed"], "state": "done", "entry": 5}
    assert ask("GET", f"{S}/jobs", "ana") == {"jobs": [done]}
    assert ask("GET", f"{S}/jobs/{job}/result", "ana") == release_of(here)
    assert ask("DELETE", f"{S}/jobs/{job}", "ana") == done


def requests_are_those_of_the_ledger(ask, here):
    for decided in ("", "decline", "grant"):
        made = ask("POST", f"{S}/requests", "ana", {"cap": "3", "reason": f"a wave {decided or 'more'}"})
        assert made == plain(here.ledger.requests("ana")[-1].to_dict())
        path = f"{S}/requests/{made['request']}"
        how = ("POST", f"{path}/{decided}", "olga", {"note": "so be it"}) if decided else ("DELETE", path, "ana")
        assert ask(*how) == plain(
            next(each.to_dict() for each in here.ledger.requests() if each.number == made["request"])
        )
    assert ask("GET", f"{S}/requests", "ana") == {
        "requests": plain([each.to_dict() for each in here.ledger.requests("ana")])
    }


def people_are_their_roles_caps_and_tokens(ask, here):
    changed = ask("PUT", f"{S}/people/mona", "olga", {"role": "analyst", "cap": "0.5"})
    assert changed == {"person": "mona", "roles": ["analyst"], "budget": plain(here.ledger.budget("mona").to_dict())}
    roles = {"ana": "analyst", "audrey": "auditor", "bob": "analyst", "mona": "analyst", "olga": "owner"}
    caps = {each.analyst: plain(each.to_dict()) for each in here.ledger.analysts()}
    assert ask("GET", f"{S}/people", "olga") == {
        "people": [{"person": name, "roles": [role], "budget": caps.get(name)} for name, role in roles.items()]
    }
    token = ask("POST", f"{S}/people/mona/tokens", "olga", {"days": 1})
    assert set(token) == {"token", "number", "expires"}
    assert re.fullmatch(r"lapwing_[A-Za-z0-9_-]+", token["token"])
    known = {"number": token["number"], "expires": token["expires"], "revoked": None, "used": None}
    listed = ask("GET", f"{S}/people/mona/tokens", "olga")
    assert listed == {"tokens": [{**known, "made": listed["tokens"][0]["made"]}]}
    assert ask("DELETE", f"{S}/people/mona/tokens/{token['number']}", "olga") == {"changed": 1}
    assert ask("DELETE", f"{S}/people/mona", "olga") == {"changed": 1}


HEADERS = {
    "cache-control": "no-store|public, max-age=86400",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer|same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "content-security-policy": "default-src 'none'; [a-z0-9' ;:-]+",
    "content-type": r"application/json|text/html; charset=utf-8|text/plain; version=0\.0\.4; charset=utf-8"
    r"|text/(css|javascript); charset=utf-8|image/svg\+xml",
    "content-length": "[0-9]+",
    "www-authenticate": "Bearer",
    "retry-after": "[0-9]+",
    "refresh": "5",
    "location": "/.*",
    "set-cookie": r'lapwing="?[A-Za-z0-9_-]*"?; HttpOnly; Max-Age=[0-9]+; Path=/; SameSite=strict',
}
"""Every header that a response may have, and what it may say."""

LINE = {
    "time": r"[0-9T:.+-]+", "person": "[a-z]+|None", "route": r"[A-Z]+ (none|/[a-z0-9/{}._-]*)", "status": "[0-9]{3}",
    "ms": "[0-9]+",
}  # fmt: skip
"""Every field that a line of the log about a request has; that of the time which it took depends on the table."""


def visited(server):
    """Responses of every kind: all routes by all people, pages and forms, answers and refusals."""
    visitor = Visitor(server, "ana")
    visitor.ask("release")
    answers = [server.release(who) for who in ("ana", "bob", "oscar")]
    answers += [server.release("ana", epsilon=each) for each in ("9", "x")]
    for route in server.app.api.routes:
        path = re.sub(r"\{(\w+)\}", lambda name: {"source": "visits", "name": "app.css"}.get(name[1], "5"), route.path)
        if "token" in path or path in ("/sign-out",):
            continue  # these end what is used here
        for who in ("olga", "ana", "oscar", None):
            answers += [server.call(method, path, who, {}) for method in sorted(route.methods)]
            answers.append(look(server, path, sign_in(server, who) if who else None))
    return answers


def test_headers_log_and_metrics_have_what_is_listed_here_and_nothing_more(server):
    answers = visited(server)
    assert len(answers) > 400
    for answer in answers:
        for name, value in answer.headers.items():
            assert re.fullmatch(HEADERS[name], value), (name, value)
        assert answer.headers.get("content-length", str(len(answer.body))) == str(len(answer.body))
    for line in server.lines:
        assert {name: bool(re.fullmatch(LINE[name], str(value))) for name, value in line.items()} == dict.fromkeys(
            LINE, True
        ), line
    found = list(text_string_to_metric_families(server.get("/metrics", "oscar").text))
    assert [each.name for each in found] == ["lapwing_requests", "lapwing_start_time_seconds"]
    paths = {each.path for each in server.app.api.routes} | {"none"}
    for sample in found[0].samples:
        assert set(sample.labels) == {"route", "status"}
        method, path = sample.labels["route"].split(" ")
        assert (method in ("GET", "POST", "PUT", "DELETE"), path in paths) == (True, True)
        assert sample.labels["status"] in ("2xx", "3xx", "4xx", "5xx")
    assert sum(each.value for each in found[0].samples) == len(server.lines) - 1  # this request was counted later
    assert [(each.name, each.labels) for each in found[1].samples] == [("lapwing_start_time_seconds", {})]


def other_table(folder):
    """Put other rows about other people into the table, as many bytes and as old."""
    table = folder / "visits.csv"
    old, rows = table.stat(), table.read_text().splitlines()
    other = [re.sub("north|south", "west ", row).replace(",2", ",9").replace("visits-", "others-") for row in rows[1:]]
    table.write_text("\n".join([rows[0], *other]) + "\n")
    os.utime(table, ns=(old.st_atime_ns, old.st_mtime_ns))


def shown(server, number):
    """What pages and routes show to people who look, without what each session has for itself."""
    found = {}
    for who in ("olga", "ana", "audrey", "oscar"):
        cookie = sign_in(server, who)
        for route in server.app.api.routes:
            path = route.path.replace("{source}", "visits").replace("{entry}", str(number))
            if "GET" in route.methods and "{" not in path and path != "/metrics":
                text = look(server, path, cookie).text if is_page(route) else server.get(path, who).text
                found[who, path] = re.sub('[0-9a-f]{64}|"[0-9a-f]{32}"', "", text)
    ana = Visitor(server, "ana")
    found["ana", "release"] = server.release("ana").text + server.release("ana", record=True).text
    for more in ("plan", "edit", "confirm", "answer"):
        found["ana", more] = re.sub("[0-9a-f]{64}", "", ana.ask(more).text)
    for verb in ("difference", "ratio", "share"):
        compared = ana.post("/sources/visits/answer", entry=number, compare=verb, of="ward\nnorth", to="ward\nsouth")
        found["ana", verb] = re.sub("[0-9a-f]{64}", "", compared.text)
    return found


def test_what_is_shown_after_an_answer_does_not_depend_on_the_table_any_more(start, folder):
    first = start()
    ana = Visitor(first, "ana")
    ana.ask("release")
    number = entry_of(ana)
    page = ana.get(f"/sources/visits/entries/{number}").text
    before = shown(first, number)
    assert len(before) > 60
    first.stop()
    other_table(folder)
    second = start()
    assert shown(second, number) == before
    again = Visitor(second, "ana").get(f"/sources/visits/entries/{number}").text
    assert re.sub("[0-9a-f]{64}", "", again) == re.sub("[0-9a-f]{64}", "", page)
