"""A server that is killed again and again, at random moments: nothing is lost, and nothing is charged twice.

`make server KILLS=50` kills it fifty times.
"""

import http.client
import json
import os
import random
import signal
import sys
import threading
from fractions import Fraction

from lapwing.ledger.ledger import Ledger
from lapwing.server.jobs import MOST_ATTEMPTS

from .conftest import ASKED

KILLS = int(os.environ.get("LAPWING_KILLS", "5"))
CONFIG = "lease_seconds = 1\nseconds = 600\nrequests_per_minute = 1000000000\n"
VISITS = "/api/v1/sources/visits"


class Asker:
    """Asks new questions, as releases and as jobs, until the server is gone; remembers what it was told."""

    def __init__(self, who, first):
        self.who, self._amounts = who, iter(range(first, first + 100_000))
        self.asked, self.jobs, self.shown, self.wrong = {}, {}, {}, []

    def work(self, server):
        try:
            while True:
                epsilon = f"0.000{next(self._amounts):06d}"
                self.asked[epsilon] = route = random.choice(["release", "release", "jobs"])
                status, answer = self.ask(server, route, epsilon)
                if status == 429:  # too many open jobs: it was not begun
                    del self.asked[epsilon]
                elif status == 202:
                    self.jobs[answer["job"]] = epsilon
                elif status == 200:
                    self.shown[epsilon] = answer["entry"], answer["answer"]
                else:
                    self.wrong.append((status, answer))
        except (OSError, http.client.HTTPException):
            pass  # it was killed

    def ask(self, server, route, epsilon):
        body = {"sql": ASKED, "epsilon": epsilon, "record": True}
        return self.send(server, "POST", f"{VISITS}/{route}", body)

    def send(self, server, method, path, body=None):
        link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=900)
        headers = {"Authorization": f"Bearer {server.tokens[self.who]}", "Content-Type": "application/json"}
        try:
            link.request(method, path, None if body is None else json.dumps(body), headers)
            response = link.getresponse()
            return response.status, json.loads(response.read())
        finally:
            link.close()


def test_T26_a_server_that_is_killed_at_random_moments_loses_nothing_and_charges_nothing_twice(serve, folder):
    askers = [Asker(who, 100_000 * (1 + number)) for number, who in enumerate(["ana", "ana", "bob", "bob"])]
    left_open = 0
    for _ in range(KILLS):
        server = serve(config=CONFIG)
        threads = [threading.Thread(target=each.work, args=[server]) for each in askers]
        for thread in threads:
            thread.start()
        threading.Event().wait(random.uniform(0.05, 1.5))
        server.end(signal.SIGKILL)
        for thread in threads:
            thread.join()
        ledger = Ledger.open(folder / "visits.ledger")
        ledger.verify()
        entries = [each for each in ledger.entries(answers=True) if each.kind == "charge"]
        left_open += sum(not each.answered for each in entries)
        charged = {each.epsilon: each for each in entries}
        assert len(charged) == len(entries)
        for asker in askers:
            assert not asker.wrong
            for epsilon, (number, answer) in asker.shown.items():  # what was shown is charged and recorded
                found = charged[Fraction(epsilon)]
                assert (found.number, found.answer) == (number, answer)
    server = serve(config=CONFIG)
    for asker in askers:
        for job, epsilon in asker.jobs.items():
            done = ended(asker, server, job)
            given_up = done["state"] == "failed" and f"begun {MOST_ATTEMPTS} times" in done["message"]
            assert given_up or done["state"] == "done", done  # who was killed too often is completed below
            asker.shown.setdefault(epsilon, None)
    before, open_charges = ledger.spent, {each.epsilon for each in ledger.entries() if each.kind == "charge"}
    for asker in askers:
        for epsilon in asker.asked:
            status, answer = asker.ask(server, "release", epsilon)
            assert status == 200, answer
            if asker.shown.get(epsilon) is not None:
                assert (answer["entry"], answer["answer"]) == asker.shown[epsilon]
    asked = [Fraction(epsilon) for asker in askers for epsilon in asker.asked]
    assert ledger.spent == sum(asked)
    assert ledger.spent - before == sum(each for each in asked if each not in open_charges)
    server.end()
    ledger.verify()
    charges = [each for each in ledger.entries() if each.kind == "charge"]
    assert sorted(each.epsilon for each in charges) == sorted(asked)
    assert all(each.answered for each in charges)
    sys.stdout.write(f"{KILLS} kills, {len(asked)} questions, {left_open} charges left without an answer by a kill\n")


def ended(asker, server, job):
    for _ in range(2400):
        status, found = asker.send(server, "GET", f"{VISITS}/jobs/{job}")
        assert status == 200, found
        if found["state"] != "open":
            return found
        threading.Event().wait(0.05)
    raise AssertionError("the job did not end")
