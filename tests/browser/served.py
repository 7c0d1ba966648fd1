"""A server on a port of this machine, for a real browser: its own folder, people with tokens, and an address."""

import threading

import uvicorn

from lapwing.server.access import invite
from lapwing.server.app import Application
from lapwing.server.permissions import Role
from lapwing.server.settings import settings_of
from lapwing.source import Source

from ..unit.server.conftest import write_source

PEOPLE = {"olga": Role.OWNER, "ana": Role.ANALYST, "audrey": Role.AUDITOR}


class Running:
    """A server in a thread, as people reach it."""

    def __init__(self, folder, **more):
        source = write_source(folder, "visits")
        ledger = Source.open(source).make_ledger()
        for name in ("olga", "ana"):
            ledger.add_analyst(name, 2 if name == "olga" else 1)
        given = {"sources": [str(source)], "access": str(folder / "access.sqlite"), **more}
        self.app = Application(settings_of(None, given), write=lambda line: None)
        self.ledger, self.tokens = self.app.sources["visits"].ledger, {}
        for name, role in PEOPLE.items():
            self.tokens[name] = invite(self.app.access, name, role, ["visits"], 30, ["visits"]).text
        self.tokens["mara"] = invite(self.app.access, "mara", Role.MAKER, [], 30, [""]).text
        config = uvicorn.Config(self.app, port=0, log_config=None, lifespan="on", server_header=False)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        while not self._server.started:
            threading.Event().wait(0.01)
        self.url = f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}"

    def stop(self):
        self._server.should_exit = True
        self._thread.join()

    def sign_in(self, context, who):
        """Sign in as people do, and return the page."""
        page = context.new_page()
        page.goto(f"{self.url}/sign-in")
        page.fill("#token", self.tokens[who])
        page.press("#token", "Enter")
        page.wait_for_url(f"{self.url}/")
        return page
