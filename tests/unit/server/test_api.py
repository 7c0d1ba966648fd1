"""The server keeps what its OpenAPI document says, whatever it is sent: schemathesis makes the requests.

Each role sends requests that fit the document and requests that do not, to a real server.  Numbers of entries, jobs,
tokens and requests in answers are used in later addresses, and half of the fitting bodies can be answered.
"""

import json
from collections import Counter
from contextlib import nullcontext, suppress
from fractions import Fraction

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
    "total": {"epsilon": st.sampled_from(["4", "5"])},
    "{person}": {"role": st.sampled_from(["analyst", "auditor"]), "cap": st.just("0.5")},
    "tokens": {"days": st.integers(1, 366)},
    "requests": {"cap": st.sampled_from(["2.5", "3"])},
    "grant": {"note": st.just("yes")},
    "decline": {"note": st.just("no")},
}
"""Bodies that can be answered, by the end of the address."""

MOST = {"olga": 10, "ana": 10, "audrey": 4, "oscar": 2, None: 1}
"""How many requests of each route a person sends."""


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=str)
def test_no_request_gets_an_answer_that_the_document_does_not_have(serve, folder, mode):
    server = serve(config="requests_per_minute = 1000000000\n")
    document = server.connect("ana")._link.get("openapi.json")
    schema = schemathesis.openapi.from_dict(document)
    routes = [each.ok() for each in schema.get_all_operations()]
    seen, sent = Counter(), Sent()
    for who, most in MOST.items():
        for route in routes:
            if route.path != "/api/v1/me/token":  # it would end the token that is used here
                ask_often(route, mode, most, lambda case, who=who: sent.one(server, case, who, seen))
    assert {status for _, status in seen} >= {400, 401, 404}, seen
    assert sum(seen.values()) > 300
    if mode.is_positive:
        answered = {label for label, status in seen if status < 300}
        missing = {route.label for route in routes} - answered
        assert len(missing) < 10, missing
    assert CANARY not in server.said
    server.end()
    ledger = Ledger.open(folder / "visits.ledger")
    ledger.verify()
    assert Fraction(0) < ledger.spent < 1 or not mode.is_positive


def ask_often(route, mode, most, send):
    answerable = st.fixed_dictionaries(ANSWERABLE.get(route.path.rpartition("/")[2], {}))

    @settings(max_examples=most, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(case=route.as_strategy(generation_mode=mode), body=answerable, fits=st.booleans())
    def ask(case, body, fits):
        if mode.is_positive and fits and body:
            case.body = body
        send(case)

    with suppress(Unsatisfiable) if mode.is_negative else nullcontext():  # a route without parameters has no wrong ones
        ask()


class Sent:
    """Sends cases, and remembers the numbers in answers for later addresses."""

    def __init__(self):
        self._known = {"source": "visits", "person": "mona", "entry": "2", "job": "0" * 32, "number": "0" * 16}

    def one(self, server, case, who, seen):
        if case.meta.generation.mode.is_positive:
            case.path_parameters = {name: self._known[name] for name in case.path_parameters or {}}
            self._known["person"] = "nina" if self._known["person"] == "mona" else "mona"
        elif "source" in (case.path_parameters or {}):
            case.path_parameters["source"] = "visits"
        case.headers = {}
        token = {} if who is None else {"Authorization": f"Bearer {server.tokens[who]}"}
        response = case.call(base_url=server.url, headers=token, timeout=60)
        seen[case.operation.label, response.status_code] += 1
        some = ALWAYS + [checks.negative_data_rejection] * wrong_body(case)
        case.validate_response(response, checks=some)
        assert CANARY not in response.text + str(response.headers)
        if response.status_code < 300 and response.headers["content-type"] == ["application/json"]:
            self._remember(case.path, response.json())

    def _remember(self, path, answer):
        found = {**answer, "number": answer.get("number") or (answer.get("entry") if "requests" in path else None)}
        self._known |= {name: str(found[name]) for name in ("entry", "job", "number") if found.get(name)}


def wrong_body(case):
    """Return whether the body is one that the document does not allow."""
    parts = {str(place): part.mode for place, part in case.meta.components.items()}
    return any("body" in place.lower() and mode.is_negative for place, mode in parts.items())


def test_the_document_says_what_needs_no_token(server):
    document = server.get("/api/v1/openapi.json", "ana").json
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            anyone = told["x-permission"] == "public"
            assert (told.get("security") == []) is anyone, (method, path)
    assert document["paths"]["/healthz"]["get"]["security"] == []
    assert document["security"] == [{"token": []}]
    assert json.loads(json.dumps(document)) == document
