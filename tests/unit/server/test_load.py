"""Many clients at once, on real servers: every charge is counted exactly, and every answer shown is recorded."""

import http.client
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction

import pytest

from lapwing import exact
from lapwing.server.access import Access, invite
from lapwing.server.permissions import Role
from lapwing.server.store import AccessStore
from lapwing.source import Source

from .conftest import write_source

CLIENTS, REQUESTS = 50, 20
GROUPED = "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward"
LAST = "SELECT COUNT(*) FROM visits WHERE age > {}"
POPULAR = [{"sql": "SELECT COUNT(*) FROM visits", "epsilon": f"0.00000{place}"} for place in range(1, 5)]
"""Questions that all clients ask."""


@pytest.fixture(params=["sqlite", "postgresql"])
def crowd(request, tmp_path):
    """A folder with a source, its ledger and 50 people with caps; and where they are recorded."""
    file = write_source(tmp_path, "visits", epsilon="1")
    access = str(tmp_path / "access.sqlite")
    if request.param == "postgresql":
        access = request.getfixturevalue("postgres")
        file.write_text(file.read_text().replace("rows_per_person", f'ledger = "{access}"\nrows_per_person', 1))
    ledger, people = Source.open(file).make_ledger(), Access(AccessStore(access))
    tokens = {}
    for number in range(CLIENTS):
        ledger.add_analyst(f"a{number}", 1)
        tokens[f"a{number}"] = invite(people, f"a{number}", Role.ANALYST, ["visits"], 1).text
    (tmp_path / "tokens.json").write_text(json.dumps(tokens))
    return tmp_path, access, 2 if request.param == "postgresql" else 1


class Client:
    """One person, and what they were told."""

    def __init__(self, number, server):
        self._port, self._token = server.port, server.tokens[f"a{number}"]
        self.number, self.told = number, []

    def ask(self, route, body):
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        with closing(http.client.HTTPConnection("127.0.0.1", self._port, timeout=900)) as link:
            link.request("POST", f"/api/v1/sources/visits/{route}", json.dumps(body), headers)
            response = link.getresponse()
            self.told.append((route, body, response.status, json.loads(response.read())))
        return response.status

    def work(self):
        """Plan, release what nobody else asks, what all ask, and again what was released."""
        for step in range(REQUESTS // 4):
            mine = {"sql": GROUPED, "epsilon": amount(self.number, step), "record": True}
            self.ask("plan", {"sql": GROUPED, "epsilon": "0.1"})
            self.ask("release", mine)
            self.ask("release", {**POPULAR[(self.number + step) % len(POPULAR)], "record": True})
            self.ask("release", mine)
        return self


def amount(number, step):
    """Return an ε that no other client asks at no other step, with all nine places."""
    return f"0.000{100_000 + number * 100 + step:06d}"


def test_T25_many_clients_are_charged_exactly_and_see_only_what_is_recorded(crowd, serve_in):
    folder, access, count = crowd
    servers = [serve_in(folder, access=access, config="seconds = 600\n", wait=False) for _ in range(count)]
    clients = [Client(number, servers[number % count].wait()) for number in range(CLIENTS)]
    ledger = Source.open(folder / "visits.toml").open_ledger()
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(Client.work, clients))
        told = [each for client in clients for each in client.told]
        assert Counter(status for *_, status, _ in told) == {200: CLIENTS * REQUESTS}, Counter(
            (route, status, answer.get("message")) for route, _, status, answer in told if status != 200
        )
        unique = sum(Fraction(amount(number, step)) for number in range(CLIENTS) for step in range(REQUESTS // 4))
        assert ledger.spent == unique + sum(Fraction(each["epsilon"]) for each in POPULAR)
        # what is left is enough for ten of fifty questions, and for no eleventh
        share = Fraction(int(ledger.remaining * 10**8), 10**9)
        bodies = [{"sql": LAST.format(n), "epsilon": exact.text(share), "record": True} for n in range(CLIENTS)]
        statuses = Counter(pool.map(lambda pair: pair[0].ask("release", pair[1]), zip(clients, bodies, strict=True)))
    assert statuses == {200: 10, 409: CLIENTS - 10}
    assert ledger.remaining < 10 * Fraction(1, 10**9)
    assert_recorded(ledger, [each for client in clients for each in client.told])
    ledger.verify()
    for server in servers:
        server.end()


def assert_recorded(ledger, told):
    """Every answer that was shown is the one in the ledger, and all charges are those that were told."""
    charges = {each.number: each for each in ledger.entries(answers=True) if each.kind == "charge"}
    shown = set()
    for route, body, status, answer in told:
        if route == "release" and status == 200:
            charge = charges[answer["entry"]]
            assert charge.answer == answer["answer"]
            assert charge.epsilon == Fraction(body["epsilon"])
            shown.add(answer["entry"])
    assert shown == set(charges)
    assert sum(each.epsilon for each in charges.values()) == ledger.spent
    assert ledger.spent == sum(each.spent for each in ledger.analysts())
