"""The server keeps what its OpenAPI document says, whatever it is sent: schemathesis makes the requests.

Each role sends requests that fit the document and requests that do not, to a real server.  Numbers of entries, jobs,
tokens and requests in answers are used in later addresses, and half of the fitting bodies can be answered: every route
gives a good answer at least once, but for the few that are named.
"""

import json
from collections import Counter
from contextlib import suppress
from fractions import Fraction
from functools import partial
from itertools import cycle

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from lapwing.ledger.ledger import Ledger

from ...conftest import NO_SCHEMATHESIS
from .conftest import CANARY

try:
    import schemathesis
    from schemathesis import checks
except ModuleNotFoundError:
    pytest.skip(NO_SCHEMATHESIS, allow_module_level=True)

checks.load_all_checks()
ALWAYS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
]
QUESTION = {"sql": st.sampled_from(["SELECT COUNT(*) FROM visits", "SELECT ward, AVG(cost) FROM visits GROUP BY ward"])}
ANSWERABLE = {
    "plan": {**QUESTION, "epsilon": st.sampled_from(["0.1", "1/2", 1])},
    "release": {**QUESTION, "epsilon": st.sampled_from(["0.001", "0.002", "0.003"])},
    "jobs": {**QUESTION, "epsilon": st.sampled_from(["0.001", "0.004"])},
    "total": {"epsilon": st.sampled_from(["4", "5"]), "note": st.just("another year")},
    "{person}": {"role": st.sampled_from(["analyst", "auditor"]), "cap": st.just("0.5")},
    "tokens": {"days": st.integers(1, 366)},
    "requests": {"reason": st.just("the second wave")},
    "grant": {"note": st.just("yes")},
    "decline": {"note": st.just("no")},
}
"""Bodies that can be answered, by the end of the address; the cap of a request has the name that the document says."""

UNANSWERED = {
    "DELETE /api/v1/me/token",  # it is not sent: it would end the token that is used here
    "POST /api/v1/sign-in/openid",  # it needs a provider: test_sign_in.py has one
}
"""The only routes that give no good answer here."""

MOST = {"olga": 10, "ana": 10, "audrey": 4, "oscar": 2, None: 1}
"""How many requests of each route a person sends."""


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=str)
def test_no_request_gets_an_answer_that_the_document_does_not_have(serve, folder, mode):
    server = serve(config="requests_per_minute = 1000000000\nbody_bytes = 1000000000\n")
    document = server.connect("ana")._link.get("openapi.json")
    schema = schemathesis.openapi.from_dict(document)
    routes = [each.ok() for each in schema.get_all_operations()]
    sent = Sent(server)
    for who, most in MOST.items():
        for route in routes:
            if route.label != "DELETE /api/v1/me/token":
                ask_often(route, mode, most, answerable(route, document), partial(sent.one, who))
    assert {status for _, status in sent.seen} >= {400, 401, 404}, sent.seen
    assert sum(sent.seen.values()) > 300
    if mode.is_positive:
        answered = {label for label, status in sent.seen if status < 300}
        assert {route.label for route in routes} - answered == UNANSWERED
    assert CANARY not in server.said
    server.end()
    ledger = Ledger.open(folder / "visits.ledger")
    ledger.verify()
    assert Fraction(0) < ledger.spent < 1 or not mode.is_positive


def answerable(route, document):
    """Return bodies of a route that can be answered."""
    name = route.path.rpartition("/")[2]
    fields = dict(ANSWERABLE.get(name, {}))
    if name == "requests":
        (amount,) = {"cap", "epsilon"} & set(document["components"]["schemas"]["CapWanted"]["properties"])
        fields[amount] = st.sampled_from(["2.5", "3"])
    return st.fixed_dictionaries(fields)


def ask_often(route, mode, most, bodies, send):
    """Send requests of a route: in half of those that fit, the body is one that can be answered."""
    if mode.is_negative:
        with suppress(Unsatisfiable):  # a route without parameters has no wrong requests
            ask(route, mode, most, st.none(), send)
        return
    ask(route, mode, (most + 1) // 2, bodies, send)
    if most > 1:
        ask(route, mode, most // 2, st.none(), send)


def ask(route, mode, most, bodies, send):
    @settings(max_examples=most, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(case=route.as_strategy(generation_mode=mode), body=bodies)
    def one(case, body):
        if body:
            case.body = body
        send(case)

    one()


class Sent:
    """Sends cases, counts the answers, and remembers the numbers in them for later addresses."""

    def __init__(self, server):
        self.seen = Counter()
        self._server, self._people = server, cycle(["mona", "nina"])
        self._known = {"source": "visits", "entry": "2", "job": "0" * 32}
        self._token, self._requests = "0" * 16, []

    def one(self, who, case):
        if case.meta.generation.mode.is_positive:
            case.path_parameters = {name: self._part(name, case) for name in case.path_parameters or {}}
        elif "source" in (case.path_parameters or {}):
            case.path_parameters["source"] = "visits"
        case.headers = {}
        token = {} if who is None else {"Authorization": f"Bearer {self._server.tokens[who]}"}
        response = case.call(base_url=self._server.url, headers=token, timeout=60)
        self.seen[case.operation.label, response.status_code] += 1
        some = ALWAYS + [checks.negative_data_rejection] * wrong_body(case)
        case.validate_response(response, checks=some)
        assert CANARY not in response.text + str(response.headers)
        if response.status_code < 300 and response.headers["content-type"] == ["application/json"]:
            self._remember(case.path, response.json())

    def _part(self, name, case):
        """Return what stands for a name in an address, so that the route can give a good answer."""
        if name == "person":  # both get a role, nina loses it, and mona has the tokens
            last = case.path.endswith("{person}")
            return next(self._people) if case.method == "PUT" else "nina" if last else "mona"
        if name == "number":
            return self._token if "/tokens/" in case.path else self._request(case)
        return self._known[name]

    def _request(self, case):
        """Return the number of a request: what is withdrawn, what is granted and what is declined are not the same."""
        place = ["{number}", "grant", "decline"].index(case.path.rpartition("/")[2])
        return self._requests[place] if place < len(self._requests) else "0"

    def _remember(self, path, answer):
        self._known |= {name: str(answer[name]) for name in ("entry", "job") if answer.get(name)}
        if path.endswith("/tokens") and "number" in answer:
            self._token = answer["number"]
        if path.endswith("/requests") and "request" in answer:
            self._requests.append(str(answer["request"]))


def wrong_body(case):
    """Return whether the body is one that the document does not allow."""
    parts = {str(place): part.mode for place, part in case.meta.components.items()}
    return any("body" in place.lower() and mode.is_negative for place, mode in parts.items())


def test_the_document_has_one_form_of_refusals_and_no_other(server):
    document = server.get("/api/v1/openapi.json", "ana").json
    refusal = {"$ref": "#/components/schemas/RefusalAnswer"}
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            assert "422" not in told["responses"], (method, path)
            refused = {code: each["content"] for code, each in told["responses"].items() if code >= "400"}
            assert refused.pop("503")["application/json"]["schema"] == refusal or path == "/readyz"
            assert {"400", "401", "404", "409", "429", "500"} <= set(refused)
            assert all(each["application/json"]["schema"] == refusal for each in refused.values())
    assert "ValidationError" not in json.dumps(document)
    wrong = server.post("/api/v1/sources/visits/plan", "ana", {"sql": 1})
    assert (wrong.status, set(wrong.json)) == (400, {"error", "message"})


def test_the_document_says_what_needs_no_token(server):
    document = server.get("/api/v1/openapi.json", "ana").json
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            anyone = told["x-permission"] == "public"
            assert (told.get("security") == []) is anyone, (method, path)
    assert document["paths"]["/healthz"]["get"]["security"] == []
    assert document["security"] == [{"token": []}]
    assert json.loads(json.dumps(document)) == document
