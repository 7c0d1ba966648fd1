"""What the routes answer, for the OpenAPI document: the same JSON as ``--format json`` of the commands."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..ledger.requests import LONGEST_REASON
from .access import USUAL_DAYS
from .asking import Amount
from .permissions import Role


class Open(BaseModel):
    """An object that may get more fields in later versions."""

    model_config = ConfigDict(extra="allow")


class RefusalAnswer(BaseModel):
    """What every refusal looks like."""

    error: str = Field(description="The name of the error, as in lapwing.errors.")
    message: str


class Health(BaseModel):
    """That the server runs."""

    status: Literal["ok"]


class Readiness(BaseModel):
    """Whether it can answer questions."""

    status: Literal["ready", "not ready"]


class Me(BaseModel):
    """Who I am, and which roles this token gives."""

    person: str
    expires: str
    roles: dict[str, list[Role]] = Field(description="By source; roles for the server are under an empty name.")


class SourceName(BaseModel):
    """A source that I may use."""

    name: str
    roles: list[Role]


class Sources(BaseModel):
    """The sources that I may use."""

    sources: list[SourceName]


class Description(Open):
    """What is declared about a source, and nothing else."""

    name: str
    person: str | None
    rows_per_person: int | None
    neighbors: Literal["add_remove", "change_one"]
    version: str | None
    every_row_counts: bool
    file: dict[str, Any]
    noise_levels: dict[str, str]
    columns: dict[str, dict[str, Any]]
    joins: list[dict[str, Any]]
    engine: str


class Example(BaseModel):
    """Invented rows, made of the declarations alone."""

    source: str
    rows: int
    columns: dict[str, list[Any]]


class Amounts(Open):
    """A total, what is spent and what remains, as exact texts."""

    total: str
    spent: str
    remaining: str


class BudgetAnswer(BaseModel):
    """What is left of the total, and of my cap."""

    source: str
    epsilon: Amounts
    delta: Amounts
    mine: Amounts | None


class PlanAnswer(Open):
    """A plan: docs/reference/json.md."""

    source: str
    epsilon: str
    delta: str
    neighbors: str
    rows_per_person: int | None
    query: str
    confidence: str
    groups: int
    rows: int
    columns: list[dict[str, Any]]
    measurements: list[dict[str, Any]]
    notes: list[str]
    sql: str


class ReleaseAnswer(Open):
    """A release: docs/reference/json.md; with ``record`` its noisy integers instead of rows."""

    source: str
    entry: int | None
    repeated: bool
    recorded_at: str | None
    epsilon: str
    remaining: str | None


class JobAnswer(BaseModel):
    """A question that is answered later."""

    job: str
    source: str
    state: Literal["open", "done", "failed", "cancelled"]
    entry: int | None
    error: str | None
    message: str | None
    made: str
    changed: str
    question: dict[str, Any]


class JobList(BaseModel):
    """My jobs, the newest first."""

    jobs: list[JobAnswer]


class EntryAnswer(Open):
    """An entry of the ledger."""

    entry: int
    time: str
    kind: Literal["open", "charge", "answer", "analyst", "total", "request", "grant", "decline", "withdraw"]
    analyst: str | None
    question: Any
    epsilon: str | None
    delta: str | None
    note: str | None
    spent: str
    charge: int | None
    answered: bool
    hash: str


_BEFORE = "Give this as `before` to get the entries before these; null if there are none."


class History(BaseModel):
    """What I was charged for: the last charges, in their order."""

    source: str
    entries: list[EntryAnswer]
    before: int | None = Field(description=_BEFORE)


class LedgerAnswer(BaseModel):
    """The ledger: what is left, and the last entries, in their order."""

    ledger: str
    epsilon: Amounts
    delta: Amounts
    analysts: list[Amounts]
    entries: list[EntryAnswer]
    before: int | None = Field(description=_BEFORE)


class Head(BaseModel):
    """The hash of the last entry."""

    head: str


class VersionAnswer(BaseModel):
    """A version of a source, as questions name it."""

    version: str | None = Field(description="Null for questions that were asked when none was declared.")
    first_seen: str = Field(description="When a question about it was first charged.")
    entries: int = Field(description="How many questions about it were charged.")


class VersionList(BaseModel):
    """The version that is declared now, and those that questions were about, the first one first."""

    source: str
    version: str | None
    versions: list[VersionAnswer]


class Verified(BaseModel):
    """That all entries are sound."""

    entries: int
    head: str


class PersonAnswer(BaseModel):
    """A person with a role for a source, and their budget."""

    person: str
    roles: list[Role]
    budget: Amounts | None


class PersonList(BaseModel):
    """The people of a source."""

    people: list[PersonAnswer]


class TokenAnswer(BaseModel):
    """What is known about a token; never the token."""

    number: str
    made: str
    expires: str
    revoked: str | None
    used: str | None


class TokenList(BaseModel):
    """The tokens of a person that are limited to this source."""

    tokens: list[TokenAnswer]


class MadeToken(BaseModel):
    """A new token: it is shown once, here."""

    token: str
    number: str
    expires: str


class CapRequestAnswer(BaseModel):
    """A request for a higher cap, and what became of it."""

    request: int
    time: str
    analyst: str
    cap: str = Field(description="The cap that was asked for.")
    reason: str
    state: Literal["open", "granted", "declined", "withdrawn"]
    decided: str | None
    granted: str | None
    note: str | None


class CapRequestList(BaseModel):
    """Requests for higher caps: mine; for owners and auditors, all."""

    requests: list[CapRequestAnswer]


class Done(BaseModel):
    """How many were changed."""

    changed: int


# --- what an analyst sends, beside questions ---


class CapWanted(BaseModel):
    """The cap that is wanted, and why."""

    model_config = ConfigDict(extra="forbid")

    cap: Amount
    reason: str = Field(description="A printable text; owners and auditors read it.", max_length=LONGEST_REASON)


# --- what an owner sends ---


class Grant(BaseModel):
    """The cap that is granted: what was asked for, or less."""

    model_config = ConfigDict(extra="forbid")

    cap: Amount | None = None
    note: str | None = None


class Decline(BaseModel):
    """Why a request is declined, if that is said."""

    model_config = ConfigDict(extra="forbid")

    note: str | None = None


class PersonChange(BaseModel):
    """A role for a person, and the most ε that they may spend."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["owner", "analyst", "auditor"]
    cap: Amount | None = Field(None, description="Needed for an analyst who has none yet.")
    note: str | None = None


class TokenWanted(BaseModel):
    """How long a new token lasts."""

    model_config = ConfigDict(extra="forbid")

    days: int = USUAL_DAYS


class OpenIdWay(BaseModel):
    """Sign-in by OpenID Connect."""

    issuer: str = Field(description="The address of the provider.")
    client_id: str | None = Field(description="What a terminal calls itself there; null if terminals cannot sign in.")
    scopes: list[str]


class Ways(BaseModel):
    """How one can sign in."""

    token: bool
    openid: OpenIdWay | None


class IdTokenGiven(BaseModel):
    """What the provider gave to a terminal."""

    model_config = ConfigDict(extra="forbid")

    id_token: str


class TotalChange(BaseModel):
    """The new total that may ever be spent."""

    model_config = ConfigDict(extra="forbid")

    epsilon: Amount
    delta: Amount | None = None
    note: str | None = None
