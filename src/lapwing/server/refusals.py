"""What a request is told when it is refused or fails: one shape, our own texts, and nothing that depends on data.

The texts of errors about the request are passed on.  Those about the table, its description or the ledger may name
files and columns of the server: a client is told which kind it is, and the text goes to the server's log.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from ..engine.table import COMPLETE
from ..errors import (
    AccessError,
    AnswerLost,
    BudgetExceeded,
    EngineError,
    InvalidAddress,
    InvalidSource,
    LapwingError,
    LedgerError,
    MissingLibrary,
    NoLedger,
    NotAllowed,
    NotSignedIn,
    RequestError,
)
from .sources import Served

log = logging.getLogger("lapwing.server")
log.addHandler(logging.NullHandler())

_ABOUT_SERVER: Mapping[type[LapwingError], tuple[int, str]] = {
    InvalidSource: (503, "The description of this source does not fit its table, or has changed. Ask its owner."),
    NoLedger: (503, "This source has no ledger yet. Nothing was charged. Ask its owner."),
    InvalidAddress: (503, "This source cannot be opened. Nothing was charged. Ask its owner."),
    MissingLibrary: (503, "The server lacks a library for this. Ask its operator."),
    EngineError: (503, f"The table could not be read. {COMPLETE} Ask its owner if it happens again."),
    AnswerLost: (
        409,
        "The ledger has an answer to this question that cannot be shown: it was lost when a backup was put back, or is "
        "damaged. What was charged stays charged, and asking again does not complete it. Ask another question.",
    ),
    LedgerError: (503, f"The ledger cannot be used now. Nothing was granted. {COMPLETE}"),
    AccessError: (503, "The server cannot check tokens now. Nothing was read and nothing was charged. Try again."),
}
"""Errors whose texts may name what is the server's own: the status, and what a client is told instead."""


class Refusal(Exception):  # as our other errors
    """Refusal(status, name, message): an answer that is not the one asked for, in our own words."""

    def __init__(self, status: int, name: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, name)
        self.status, self.name, self.message, self.headers = status, name, message, dict(headers or {})

    def response(self) -> Response:
        """Return the response."""
        return json_response({"error": self.name, "message": self.message}, self.status, self.headers)


def not_signed_in() -> Refusal:
    """Return the one refusal of a request without a valid token."""
    return Refusal(401, "NotSignedIn", str(NotSignedIn()), {"WWW-Authenticate": "Bearer"})


def not_allowed() -> Refusal:
    """Return the one refusal for what is not there and for what belongs to others."""
    return Refusal(404, "NotAllowed", str(NotAllowed()))


def failed() -> Refusal:
    """Return what is told when something failed that nobody expected."""
    return Refusal(500, "ServerError", f"The server failed. {COMPLETE} Its log has the kind of failure.")


def note(error: Exception) -> None:
    """Write an error to the log of the server; if nobody expected it, only its kind: its text may quote a cell."""
    if isinstance(error, LapwingError):
        log.error("%s: %s", type(error).__name__, error)
    else:
        log.error("%s", type(error).__name__)


def refusal_of(error: LapwingError, served: Served | None = None) -> Refusal:
    """Return what a client is told about an error."""
    name = type(error).__name__
    for kind, (status, message) in _ABOUT_SERVER.items():
        if isinstance(error, kind):
            note(error)
            return Refusal(status, name, message)
    if isinstance(error, NotAllowed):
        return not_allowed()
    message = str(error) if served is None else served.public_text(str(error))
    if isinstance(error, BudgetExceeded):
        return Refusal(409, name, f"{message.partition(', or see ')[0]}, or ask the owner.")  # who has the ledger
    return Refusal(400 if isinstance(error, RequestError) else 500, name, message)


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response of JSON."""
    return Response(json_bytes(value), status, dict(headers or {}), media_type="application/json")


def json_bytes(value: Any) -> bytes:
    """Return JSON as it is sent; a lone surrogate becomes JSON's own escape."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace")
