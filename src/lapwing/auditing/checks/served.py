"""The server is a door like the others: the same charge and answer, for those who may ask, and no canary in any of it.

The application runs in this process, without a network.  The checks are exact, and raise no false alarms.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InvalidRequest, MissingLibrary
from ...optional import library
from ...release.pipeline import question
from ...source import Source
from ..finding import Finding, first_of
from ..room import Room
from ..tools.listening import NUMBER, PERSON, WORD, sightings

if TYPE_CHECKING:
    from ..tools.served import AuditedServer, ServerAnswer

_ASKED = "SELECT k, COUNT(*) AS n, SUM(x) AS total FROM t GROUP BY k"
_QUARTER = {"sql": _ASKED, "epsilon": "0.25", "record": True}
_UNNAMED = {**_QUARTER, "sql": "SELECT k, COUNT(*), SUM(x) FROM t GROUP BY k"}
_SOURCE = """
name = "{name}"
table = "{name}.csv"
person = "p"
rows_per_person = 2
epsilon = 9
[columns]
k = {{keys = ["a", "b"], other = "else"}}
x = {{low = 0, high = 10}}
"""


def served(room: Room) -> Iterator[Finding]:
    """Ask a server and Python the same; ask what must be refused; look for canaries in all that the server tells."""
    try:
        for name in ("fastapi", "uvicorn"):
            library(name, "server")
    except MissingLibrary:
        yield Finding("the server", True, "the extra lapwing[server] is not installed here: no server was asked")
        return
    folder = room.path("served")
    folder.mkdir()
    yield from _Asked(folder).findings()


class _Asked:
    """What is asked of one server, and what is wrong with the answers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = [_write(folder, name) for name in ("t", "u")]
        self._ledgers = [Source.open(file).make_ledger() for file in self._files]
        for ledger in self._ledgers:
            for name in ("ana", "olga"):
                ledger.add_analyst(name, 2)
        self.wrong: dict[str, list[str]] = {"charges": [], "budgets": [], "permissions": [], "canaries": []}

    def findings(self) -> Iterator[Finding]:
        """Ask everything, and say what was found."""
        from ..tools.served import serving

        server = serving(self._folder, self._files, {"ana": ["t"]}, self._ask)
        self._second_budgets()
        told = [text for each in server.answers for text in (each.text, each.headers)] + server.said
        self.wrong["canaries"] += [found for text in told for found in sightings(text)]
        self.wrong["canaries"] += [f"a path: {text[:80]}" for text in told if str(self._folder) in text]
        asked = f"of {len(server.answers)} requests"
        for what, kind in (
            ("L2: by the server, a question is charged as in Python, once, to its person, with one answer", "charges"),
            ("L1: by the server, the people of a table get one budget, whatever its files are called", "budgets"),
            ("R2: by the server, nobody asks or sees what is not theirs, or is charged unchecked", "permissions"),
            ("T24: no canary or path is in an answer, header, log or metric of the server", "canaries"),
        ):  # fmt: skip
            wrong = self.wrong[kind]
            yield Finding(what, not wrong, f"{len(wrong)} faults {asked}, 0 are right{first_of(wrong)}.")

    async def _ask(self, server: AuditedServer) -> None:
        await self._charges(server)
        await self._permissions(server)
        await self._completed(server)
        await self._failures(server)

    async def _charges(self, server: AuditedServer) -> None:
        ledger, wrong = self._ledgers[0], self.wrong["charges"]
        first, again = await server.ask("ana", _QUARTER), await server.ask("ana", _QUARTER)
        python = Source.open(self._files[0]).release(_ASKED, epsilon="0.25", analyst="ana")
        told = [_read(each) for each in (first, again)]
        right = {"entry": python.entry, "answer": dict(python.answer)}
        for each, repeated in zip(told, (False, True), strict=True):
            shown = {name: each.get(name) for name in right}
            if shown != right or each.get("repeated") is not repeated:
                wrong.append(f"entry {each.get('entry')}, repeated = {each.get('repeated')}; Python: {python.entry}")
        spent, own = ledger.spent, ledger.budget("ana").spent
        if (spent, own) != (Fraction(1, 4), Fraction(1, 4)) or not python.repeated:
            wrong.append(f"ε = {spent} was charged, {own} to the cap; 1/4 is right")
        beyond = await server.ask("ana", {**_QUARTER, "epsilon": "1.8"})
        if beyond.status != 409 or ledger.spent != Fraction(1, 4):
            wrong.append(f"ε = 1.8 above a cap of 1.75 had status {beyond.status}")

    def _second_budgets(self) -> None:
        """Open sources of one file by two names, each with its own ledger, and of two files, as a server does."""
        from ...server.sources import open_sources

        (self._folder / "link.csv").symlink_to("u.csv")
        (self._folder / "hard.csv").hardlink_to(self._folder / "u.csv")
        (self._folder / "v.csv").write_text("p,k,x\nq1,a,1\n", encoding="utf-8")
        for table in ("link.csv", "hard.csv", "*.csv", f"../{self._folder.name}/u.csv", "v.csv"):
            other = self._folder / "other.toml"
            text = _SOURCE.format(name="other").replace('"other.csv"', f'"{table}"')
            other.write_text(text, encoding="utf-8")
            try:
                open_sources([lambda file=file: Source.open(file) for file in (self._files[1], other)])  # type: ignore[misc]
                refused = False
            except InvalidRequest:
                refused = True
            if refused is (table == "v.csv"):
                self.wrong["budgets"].append(f"u.csv and {table} were {'refused' if refused else 'given two budgets'}")

    async def _permissions(self, server: AuditedServer) -> None:
        ledger, wrong = self._ledgers[0], self.wrong["permissions"]
        before = ledger.head, self._ledgers[1].head
        other = await server.call("GET", "/api/v1/sources/none", "ana")
        asked: tuple[tuple[str, str, str, Any], ...] = (
            ("POST", "/api/v1/sources/u/release", "ana", {**_QUARTER, "sql": _ASKED.replace("FROM t", "FROM u")}),
            ("GET", "/api/v1/sources/u", "ana", None),
            ("GET", "/api/v1/sources/t/ledger", "ana", None),
            ("POST", "/api/v1/sources/t/release", "audrey", _QUARTER),
            ("PUT", "/api/v1/sources/t/total", "audrey", {"epsilon": "10"}),
            ("GET", "/api/v1/sources/t", "oscar", None),
            ("GET", "/metrics", "olga", None),
        )  # fmt: skip
        for method, address, who, body in asked:
            answer = await server.call(method, address, who, body)
            if (answer.status, answer.text, answer.headers) != (other.status, other.text, other.headers):
                wrong.append(f"{who} had status {answer.status} from {method} {address}")
        await self._unchecked(server)
        same = _read(await server.ask("olga", _UNNAMED))  # what ana asked, without her names
        if same.get("repeated") is not True or set(same.get("answer", ())) != {"cells"}:
            wrong.append("of a question that somebody else asked, more than the noisy numbers was told")
        if (ledger.head, self._ledgers[1].head) != before:
            wrong.append("a refused question left an entry in the ledger")

    async def _unchecked(self, server: AuditedServer) -> None:
        """Begin a question whose job was cancelled, and one whose token was revoked, before they are charged."""
        from ...server.asking import Inquiry, ReleaseBody
        from ...server.refusals import Refusal

        parts = server.app.api.state.parts
        caller = server.app.access.caller(server.tokens["ana"])
        number = "" if caller is None else caller.token
        for token, job, epsilon in ((number, "0" * 32, "0.01"), ("0" * 16, None, "0.02")):
            asking = ReleaseBody.model_validate({"sql": _ASKED, "epsilon": epsilon})
            inquiry = Inquiry(server.app.sources["t"], "ana", asking, token)
            leave = parts.jobs.leave(inquiry)
            leave.job = job
            try:
                await parts.work.begin(inquiry, leave)
            except Refusal:
                continue
            self.wrong["permissions"].append(f"a question of ε = {epsilon} was charged without its job or token")

    async def _completed(self, server: AuditedServer) -> None:
        """Complete a question that another was charged for, and give it names."""
        from ...server.asking import Inquiry, ReleaseBody

        asking = ReleaseBody.model_validate({**_UNNAMED, "epsilon": "0.125"})
        asked = question(Inquiry(server.app.sources["t"], "ana", asking).plan)
        charged = self._ledgers[0].charge(asked, "0.125", analyst="ana")
        told = _read(await server.ask("olga", {**_QUARTER, "epsilon": "0.125"}))
        kept = self._ledgers[0].entry(charged.number)
        if told.get("completed") is not True or kept is None or set(kept.answer) != {"cells"}:
            self.wrong["permissions"].append("who completed a question of somebody else gave it names")

    async def _failures(self, server: AuditedServer) -> None:
        """Ask while the table has gone, and look at the metrics."""
        (self._folder / "t.csv").unlink()
        failed = await server.ask("ana", {**_QUARTER, "epsilon": "0.5"})
        if failed.status != 503:
            self.wrong["canaries"].append(f"without its table, the server had status {failed.status}")
        await server.call("GET", "/metrics", "oscar")
        named = [line for line in server.said if "/api/v1/sources/t" in line or "epsilon" in line or "SELECT" in line]
        self.wrong["canaries"] += [f"the log has {line[:80]}" for line in named]


def _read(answer: ServerAnswer) -> dict[str, Any]:
    return dict(answer.json) if answer.status == 200 else {}


def _write(folder: Path, name: str) -> Path:
    """Write a table with canaries, and its source file."""
    rows = [f"q{i},{'ab'[i % 2]},{i % 10}" for i in range(80)]
    rows += [f"{PERSON},a,{NUMBER}", f"q80,{WORD},3", f"{PERSON},{WORD},-{NUMBER}"]
    (folder / f"{name}.csv").write_text("p,k,x\n" + "\n".join(rows) + "\n", encoding="utf-8")
    file = folder / f"{name}.toml"
    file.write_text(_SOURCE.format(name=name), encoding="utf-8")
    return file
