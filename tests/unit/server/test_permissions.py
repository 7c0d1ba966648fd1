"""Who may do what: all routes and all roles, walked from the application's own list; and the one refusal."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI

from lapwing.server.permissions import ROLES, SERVER, Caller, Permission, Role
from lapwing.server.routing import OF_SERVER, GuardedRoute, check_routes, permission_of

BODIES = {
    "plan": {"sql": "SELECT COUNT(*) FROM {source}", "epsilon": "0.001"},
    "release": {"sql": "SELECT COUNT(*) FROM {source}", "epsilon": "0.001"},
    "jobs": {"sql": "SELECT COUNT(*) FROM {source}", "epsilon": "0.001"},
    "total": {"epsilon": "5"},
    "{person}": {"role": "auditor"},
    "tokens": {"days": 1},
    "requests": {"cap": "3", "reason": "a second survey"},
    "grant": {},
    "decline": {},
    "openid": {"id_token": "none"},
}
"""A fitting body for each route that takes one, by the end of its address."""

WHO = {"olga": "owner", "ana": "analyst", "audrey": "auditor", "oscar": "operator", "otto": "nobody"}
"""What each person is for the source visits; otto owns another one."""

PAGE = (Path(__file__).parents[3] / "docs/reference/server.md").read_text()
TABLE = {
    (method, path): who.split(", ")
    for method, path, who in re.findall(r"^\| `([A-Z]+) (/[^`]*)` \| ([a-z, ]+) \|", PAGE, re.MULTILINE)
}
"""Who may use each route, as the reference says."""


def all_routes(server):
    return [(route, method) for route in server.app.api.routes for method in sorted(route.methods)]


def body_of(path, source):
    found = BODIES.get(path.rpartition("/")[2])
    return None if found is None else {name: str(each).format(source=source) for name, each in found.items()}


def address(path, source="visits", job="0" * 32):
    values = {"source": source, "entry": "1", "job": job, "person": "mona", "number": "0" * 16, "name": "app.css"}
    return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], path)


def allowed(method, path, person):
    who = TABLE[method, path]
    return who in (["anyone"], ["signed in"]) or WHO[person] in who


def needs_token(route):
    return permission_of(route) is not Permission.PUBLIC


def refused(answer):
    return answer.status == 404 and answer.json["error"] == "NotAllowed"


def test_the_reference_lists_every_route(server):
    assert set(TABLE) == {(method, route.path) for route, method in all_routes(server)}


def test_every_route_refuses_every_role_without_its_permission_and_only_these(server):
    seen = set()
    for route, method in all_routes(server):
        needs = permission_of(route)
        if route.path == "/api/v1/me/token":
            continue  # it would end the token that is used here; test_tokens has it
        for person in WHO:
            body = body_of(route.path, "visits")
            answer = server.call(method, address(route.path), person, body)
            right = allowed(method, route.path, person)
            own = "{entry}" in route.path or "{job}" in route.path or "{number}" in route.path
            if right and own:  # allowed in general, and nothing of this number is there
                assert answer.status in (400, 404, 409), (person, method, route.path, answer.text)
            else:
                assert refused(answer) != right, (person, method, route.path, answer.text)
                assert right or answer.status == 404
            if answer.status < 300 and route.response_model not in (None, dict[str, Any]):
                route.response_model(**answer.json)  # as the OpenAPI document says
            seen.add((needs, right))
    tried = set(Permission) - {Permission.CREATE}  # test_new_source.py has that one
    assert {(needs, True) for needs in tried} <= seen  # each permission was tried
    assert {(needs, False) for needs in tried & set(ROLES)} <= seen


def test_T48_nothing_tells_a_source_of_others_from_one_that_is_not_there(server):
    for route, method in all_routes(server):
        if "{source}" not in route.path:
            continue
        body = body_of(route.path, "x")
        answers = [
            server.call(method, address(route.path, source), person, body)
            for source in ("secrets", "nosuch", "SECRETS", "secrets%20", "..%2Fsecrets", "%00")
            for person in ("olga", "ana", "audrey", "oscar")
        ]
        assert len({str(answer.shape) for answer in answers}) == 1, (method, route.path)
        assert answers[0].status == 404


def test_T48_without_a_token_all_addresses_look_the_same(server):
    paths = [(method, address(route.path)) for route, method in all_routes(server) if needs_token(route)]
    paths += [("GET", "/nosuch"), ("GET", "/api/v1/sources/secrets"), ("GET", "/docs"), ("POST", "/openapi.json")]
    shapes = {str(server.call(method, path, body={"sql": "x"}).shape) for method, path in paths}
    assert len(shapes) == 1
    answer = server.get("/api/v1/sources/visits")
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "visits" not in answer.text
    assert server.get("/healthz").json == {"status": "ok"}


def test_a_list_of_sources_has_only_ones_own(server):
    assert server.get("/api/v1/sources", "ana").json == {"sources": [{"name": "visits", "roles": ["analyst"]}]}
    assert server.get("/api/v1/sources", "eve").json == {"sources": [{"name": "secrets", "roles": ["analyst"]}]}
    assert server.get("/api/v1/sources", "oscar").json == {"sources": []}
    assert server.get("/api/v1/me", "oscar").json["roles"] == {"": ["operator"]}


def test_an_analyst_sees_only_their_own_entries_and_jobs(server):
    entry = server.release("ana").json["entry"]
    job = server.post("/api/v1/sources/visits/jobs", "ana", {"sql": "SELECT COUNT(*) FROM visits", "epsilon": "0.1"})
    own = [f"/api/v1/sources/visits/entries/{entry}", f"/api/v1/sources/visits/jobs/{job.json['job']}"]
    for path in own:
        assert server.get(path, "ana").status == 200
        assert str(server.get(path, "bob").shape) == str(server.get(path[:-1] + "9999999", "bob").shape)
        assert refused(server.get(path, "bob"))
    assert refused(server.call("DELETE", own[1], "bob"))
    assert refused(server.get(f"{own[1]}/result", "bob"))
    assert server.get(own[0], "audrey").json["entry"] == entry  # an auditor sees all entries, and no jobs
    assert refused(server.get(own[1], "audrey"))
    assert [each["entry"] for each in server.get("/api/v1/sources/visits/history", "ana").json["entries"]][:1] == [
        entry
    ]
    assert server.get("/api/v1/sources/visits/history", "bob").json["entries"] == []


@pytest.mark.parametrize("guarded", [False, True])
def test_a_route_without_a_permission_cannot_start(guarded):
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)

    def open_route():
        return {}

    if guarded:
        with pytest.raises(RuntimeError, match="names no permission"):
            app.router.add_api_route("/open", open_route, route_class_override=GuardedRoute)
    else:
        open_route.needs = Permission.PUBLIC
        app.router.add_api_route("/open", open_route)
        with pytest.raises(RuntimeError, match="is not guarded"):
            check_routes(app)


def test_what_is_not_written_down_is_not_allowed():
    nobody = Caller("x", "0", {}, "")
    for needs in Permission:
        assert nobody.may(needs, "visits") == (needs in (Permission.PUBLIC, Permission.SIGNED_IN))
    owner = Caller("x", "0", {"visits": frozenset({Role.OWNER})}, "")
    assert not any(owner.may(needs, SERVER) for needs in ROLES)
    assert not any(owner.may(needs, "secrets") for needs in ROLES)
    assert not owner.may(Permission.OPERATE, "visits")
    assert set(OF_SERVER) | set(ROLES) == set(Permission)
    with pytest.raises(RuntimeError):
        permission_of(SimpleNamespace(path="/x", endpoint=None))
