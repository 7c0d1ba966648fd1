"""Sources on a server: the verbs of ``Source``, and the same plans and releases.

The server sends what is declared about a source, and the noisy integers of a release, as JSON.  From these the client
makes the same ``Plan`` and ``Release`` as the server's, so that error bars, comparisons, charts and files work here as
there.  Nothing that a server sends is run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from functools import cached_property
from os import PathLike
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

from .. import exact
from ..engine.dialect import dialect
from ..errors import InvalidRequest, InvalidSource, LedgerError, NotAllowed, NotSignedIn, ServerError
from ..exact import Number
from ..ledger.entry import Entry
from ..ledger.requests import CapRequest
from ..noise.mechanism import NINETY_FIVE
from ..plan.asked import plan_asked
from ..plan.clipped import Clipped, Share
from ..plan.plan import Plan
from ..question.arguments import by_name
from ..question.cut import WHOLE
from ..question.query import Statistic
from ..question.schema import Schema
from ..question.schema_json import schema_of
from ..question.sets import Keys, Objective, Weights
from ..question.statistic_json import keys_to_json, statistic_to_dict, weights_to_json
from ..release.recall import recorded_plan
from ..release.result import Release
from ..release.reuse import shown_of
from .answers import (
    all_entries,
    amount_of,
    budget_of,
    cap_request_of,
    entry_of,
    finite_of,
    list_of,
    or_none,
    text_of,
    whole_of,
)
from .link import Link, reading, refusal
from .remote_ledger import Budgets, RemoteLedger
from .token_file import found_token

_VERSIONS = "Is it a server with another version of Lapwing?"
_POLL, _LONGEST_JOB = timedelta(seconds=1), timedelta(hours=24)


def connect(
    url: str,
    token: str | None = None,
    *,
    token_file: str | PathLike[str] | None = None,
    certificates: str | None = None,
    seconds: float = 120,
) -> Server:
    """Return the sources of a server, which are asked with the same verbs as ``Source``.

    Args:
        url: the address of the server, such as "https://stats.example".
        token: the token that you were given; by default what ``token_file`` holds, LAPWING_TOKEN, or the token of
            ``lapwing --server URL sign-in``, in this order.
        token_file: a file with the token, readable by you alone.
        certificates: a file with the certificates to trust, if not those of the system.
        seconds: how long the server has for an answer, from the connection to its last byte; at most a day.  A release
            that takes long is answered as a job, which ``release`` waits for.
    """
    return Server(Link(url, found_token(token, token_file, url), seconds, certificates))


@dataclass(frozen=True)
class SourceOverview:
    """A source that you may use: your roles, and what is left; ``left`` is None if it cannot be used now."""

    name: str
    roles: tuple[str, ...]
    left: Budgets | None

    def to_dict(self) -> dict[str, Any]:
        """Return the source for JSON; amounts are exact texts."""
        nothing = dict.fromkeys(("epsilon", "delta", "mine"))
        return {"name": self.name, "roles": list(self.roles), **(nothing if self.left is None else self.left.to_dict())}


class Server:
    """The sources of a server that you may use: ``server["visits"]``; make one with ``lw.connect``."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def __repr__(self) -> str:
        return f"Server({self._link.url!r})"

    @property
    def sources(self) -> list[str]:
        """The names of the sources that you may use."""
        return list(self.roles)

    @property
    def roles(self) -> dict[str, list[str]]:
        """The roles that you have, for each source that you may use."""
        told = self._link.get("sources")["sources"]
        with reading():
            return {text_of(each["name"]): [text_of(role) for role in list_of(each["roles"])] for each in told}

    def overview(self) -> list[SourceOverview]:
        """Return the sources that you may use, with your roles and what is left."""
        return [SourceOverview(name, tuple(roles), self._left(name)) for name, roles in self.roles.items()]

    def _left(self, name: str) -> Budgets | None:
        try:
            return RemoteLedger(self._link, name).budgets()
        except (LedgerError, NotAllowed):  # or a role that was just taken away
            return None

    @property
    def me(self) -> dict[str, Any]:
        """Who you are, and which roles your token gives."""
        found: dict[str, Any] = self._link.get("me")
        return found

    def source(self, name: str) -> RemoteSource:
        """Return a source by its name."""
        if not isinstance(name, str) or not name:
            raise NotAllowed
        described = self._link.get("sources", name)
        if described["name"] != name:
            raise ServerError("The server describes a different source from the one that was asked for", _VERSIONS)
        return RemoteSource(self._link, described)

    def __getitem__(self, name: str) -> RemoteSource:
        return self.source(name)

    def __iter__(self) -> Any:
        return iter(self.sources)


class RemoteSource:
    """A source on a server: plan, release and sql as for ``Source``; the analyst is the one whose token is used."""

    def __init__(self, link: Link, description: Mapping[str, Any]) -> None:
        self._link, self._description = link, dict(description)
        with reading():
            self.schema: Schema = schema_of(self._description)
            self.dialect = dialect(str(description.get("engine", "duckdb")))

    def __repr__(self) -> str:
        return f"RemoteSource({self.name!r}, {self._link.url!r})"

    @property
    def name(self) -> str:
        """The name of the source in SQL and in the ledger."""
        return self.schema.name

    @cached_property
    def ledger(self) -> RemoteLedger:
        """The ledger of the source, as far as you may see it."""
        return RemoteLedger(self._link, self.name)

    @property
    def epsilon(self) -> Fraction:
        """The total ε that may ever be spent."""
        return self.ledger.total

    def holds(self, file: Path) -> bool:
        """Return whether a file of this machine is a part of the table: never."""
        return False

    def left(self) -> Fraction:
        """Return the ε that is left for you: of the total, or of your cap if that is less."""
        return self.ledger.budgets().remaining

    def describe(self) -> dict[str, Any]:
        """Return what is public about the source, for JSON: what is declared, and which engine holds the table."""
        described: dict[str, Any] = json.loads(json.dumps(self._description))
        return described

    def example(self, rows: int = 10) -> dict[str, list[Any]]:
        """Return invented rows, as columns: made of the declarations alone, to try questions on."""
        found = self._link.get("sources", self.name, "example", rows=rows)["columns"]
        with reading():
            return {name: list_of(cells) for name, cells in found.items()}

    @by_name
    def plan(
        self,
        *statistics: Statistic | Sequence[Statistic] | str,
        by: Keys | None = None,
        where: str | None = None,
        epsilon: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        weights: Weights | None = None,
        objective: Objective = "mean",
        confidence: Number = NINETY_FIVE,
        rows: int = 1000,
        intervals: bool = True,
        rows_per_person: int | None = None,
    ) -> Plan:
        """Return what a release would do and how accurate it would be, as ``Source.plan`` does; it costs nothing."""
        schema = self.schema if rows_per_person is None else self.schema.counting(rows_per_person)
        plan = plan_asked(
            schema, statistics, by, where, epsilon=epsilon, error=error, weights=weights, objective=objective,
            confidence=confidence, rows=rows, intervals=intervals,
        ).on(self.dialect)  # fmt: skip
        body = _asked(statistics, by, where, weights, objective, confidence, intervals)
        body |= {"epsilon": None if epsilon is None else exact.text(exact.epsilon(epsilon)), "error": _error(error)}
        body |= {"rows": plan.rows, "rows_per_person": None if rows_per_person is None else schema.rows_per_person}
        told = self._link.post("sources", self.name, "plan", body=body)
        with reading():
            plan = replace(plan, clipped=tuple(_clipped(each, plan) for each in told["clipped"]))
            _refuse_other(plan, told)
        return plan

    @by_name
    def release(
        self,
        *statistics: Statistic | Sequence[Statistic] | str,
        by: Keys | None = None,
        where: str | None = None,
        epsilon: Number,
        weights: Weights | None = None,
        objective: Objective = "mean",
        confidence: Number = NINETY_FIVE,
        intervals: bool = True,
    ) -> Release:
        """Release statistics: charge ε to the ledger on the server, and return noisy numbers with error bars.

        A question that takes long becomes a job of the server, which is waited for, up to a day.  An interrupt, such as
        Ctrl-C, ends the waiting and not the job: the same question again gets its answer, at no further charge.
        """
        plan = plan_asked(
            self.schema, statistics, by, where, epsilon=epsilon, weights=weights, objective=objective,
            confidence=confidence, intervals=intervals,
        ).on(self.dialect)  # fmt: skip
        body = _asked(statistics, by, where, weights, objective, confidence, intervals)
        body |= {"epsilon": exact.text(plan.epsilon), "record": True}
        told = self._link.post("sources", self.name, "release", body=body)
        if "job" in told:
            told = self._waited(told)
        return _release(plan, told).at(confidence).showing(plan.shown)

    def _waited(self, job: Mapping[str, Any]) -> Any:
        """Wait for the end of a job, up to a day; it goes on when the waiting ends, also by an interrupt."""
        end = monotonic() + _LONGEST_JOB.total_seconds()
        while job["state"] == "open":
            if monotonic() >= end:
                advice = "It goes on there; ask the same question again for its answer, at no further charge."
                raise ServerError(f"The server is not done with the question after {_LONGEST_JOB}", advice)
            Event().wait(_POLL.total_seconds())
            job = self._polled(job)
        if job["state"] != "done":
            raise refusal(job["error"] or "ServerError", job["message"] or f"The job is {job['state']}.")
        return self._polled(job, "result")

    def _polled(self, job: Mapping[str, Any], *what: str) -> Any:
        """Return how a job is doing, or its result; it may have been charged by now, whatever a refusal says."""
        try:
            return self._link.get("sources", self.name, "jobs", str(job["job"]), *what)
        except (NotAllowed, NotSignedIn):
            advice = "What was charged stays charged. With a valid token, ask the same question again for its answer."
            raise ServerError("Your token or your role ended while the question was computed", advice) from None

    @by_name
    def sql(self, text: str, *, epsilon: Number, **options: Any) -> Release:
        """Release what a SELECT asks: the same as ``release``.  HAVING, ORDER BY and LIMIT cut the released answer."""
        return self.release(text, epsilon=epsilon, **options)

    def history(self) -> list[Entry]:
        """Return what you were charged for, without the answers."""
        return all_entries(self._link, "sources", self.name, "history")[1]

    def recall(self, entry: int) -> Release:
        """Return the recorded answer of an entry; nothing is read or charged."""
        told = self._link.get("sources", self.name, "entries", str(entry), record="true")
        if "question" not in told:
            advice = "The owner of the source can look at it where its file is: `lapwing explain`."
            raise InvalidRequest(f"Entry {entry} found keys or bounds, and is not a release of statistics", advice)
        with reading():
            asked = {"entry": entry, "question": told.get("question"), "epsilon": told["epsilon"]}
            plan = recorded_plan(self.schema, entry_of(asked, told.get("answer")))
        if plan is None:
            raise InvalidSource(self.name, f"has no release in entry {entry} that can be shown", _VERSIONS)
        return _release(plan.on(self.dialect), {**told, "reused": False})

    # --- a higher cap ---

    def request(self, cap: Number, reason: str) -> CapRequest:
        """Ask the owner for a higher cap; the request and its reason are recorded in the ledger.

        Args:
            cap: the one that you want, above the one that you have.
            reason: why, for the owner and for auditors: a printable text of at most 500 characters.
        """
        body = {"cap": exact.text(exact.epsilon(cap)), "reason": reason}
        return cap_request_of(self._link.post("sources", self.name, "requests", body=body))

    def requests(self) -> list[CapRequest]:
        """Return your requests for a higher cap; for owners and auditors, all of them."""
        told = self._link.get("sources", self.name, "requests")["requests"]
        return [cap_request_of(each) for each in told]

    def withdraw(self, request: int) -> CapRequest:
        """Take an open request of yours back."""
        return cap_request_of(self._link.call("DELETE", ("sources", self.name, "requests", str(request))))

    def grant(self, request: int, cap: Number | None = None, note: str | None = None) -> CapRequest:
        """Grant a request, for owners: the cap is now what was asked for, or the lower one given."""
        amount = None if cap is None else exact.text(exact.epsilon(cap))
        body = {"cap": amount, "note": note}
        return cap_request_of(self._link.post("sources", self.name, "requests", str(request), "grant", body=body))

    def decline(self, request: int, note: str | None = None) -> CapRequest:
        """Decline a request, for owners: the cap stays as it is."""
        told = self._link.post("sources", self.name, "requests", str(request), "decline", body={"note": note})
        return cap_request_of(told)


# --- what is sent ---


def _asked(
    statistics: Sequence[Any], by: Any, where: Any, weights: Any, objective: Any, confidence: Any, intervals: Any
) -> dict[str, Any]:
    """Return the question for JSON; the plan that was made of it has checked it."""
    sql = statistics[0] if len(statistics) == 1 and isinstance(statistics[0], str) else None
    flat = [one for each in statistics for one in (each if isinstance(each, list | tuple) else (each,))]
    return {
        "sql": sql,
        "statistics": None if sql is not None else [statistic_to_dict(each) for each in flat],
        "by": keys_to_json(by),
        "where": where,
        "weights": weights_to_json(weights),
        "objective": objective,
        "confidence": exact.text(exact.probability(confidence)),
        "intervals": intervals,
    }


def _error(error: Number | Mapping[str, Number] | None) -> Any:
    if isinstance(error, Mapping):
        return {name: _error(each) for name, each in error.items()}
    return None if error is None else exact.text(exact.positive(error, "error"))


# --- what is sent back ---


def _release(plan: Plan, told: Mapping[str, Any]) -> Release:
    """Return the release of a plan, from the noisy integers that the server sends."""
    plan = replace(plan, shown=WHOLE)
    with reading("The server's answer does not fit the question"):
        if told["reused"]:
            held = entry_of({"entry": told["entry"], "question": told["question"], "epsilon": told["epsilon"]})
            earlier = recorded_plan(plan.schema, held)
            chosen = None if earlier is None else shown_of(plan, earlier)
            if chosen is None:
                raise ValueError
            plan = chosen.on(plan.dialect)
        release = Release(
            plan, or_none(whole_of, told["entry"]), bool(told["repeated"]), dict(told["answer"]),
            amount_of(told["remaining"]), or_none(text_of, told["analyst"]), completed=bool(told["completed"]),
            recorded_at=or_none(text_of, told["recorded_at"]), modified_at=or_none(text_of, told["modified_at"]),
            head=or_none(text_of, told["head"]), budget=or_none(budget_of, told["budget"]),
        )  # fmt: skip
        release.cells  # noqa: B018  # cells that do not fit the plan are refused now
    return release


def _refuse_other(plan: Plan, told: Mapping[str, Any]) -> None:
    """Refuse a plan that is not the server's."""
    mine = plan.to_dict()
    if any(mine[name] != told.get(name) for name in mine):
        raise ServerError("The server's plan differs from this client's", _VERSIONS)


def _clipped(told: Mapping[str, Any], plan: Plan) -> Clipped:
    low, high = exact.rational(told["low"]), exact.rational(told["high"])
    share, entry = or_none(_share, told["share"]), or_none(whole_of, told["entry"])
    column = plan.bounded[plan.bounded.index(told["column"])]
    return Clipped(column, low, high, plan.schema.name, plan.query.where, share, entry)


def _share(told: Mapping[str, Any]) -> Share:
    return or_none(finite_of, told["value"]), finite_of(told["low"]), finite_of(told["high"])
