"""Forms that make or change something are done once: each page gives its form a text of its own, which is used up.

So a page that is loaded again makes no second token, and no second entry of the ledger.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from ..noise.entropy import SYSTEM
from .refusals import Refusal
from .store import AccessStore, forms, time_text

KEPT = timedelta(days=1)
"""How long it is known that a form was sent: longer than a session lasts."""

_TEXT = re.compile("[0-9a-f]{32}")
_ADD = sa.text("INSERT INTO lapwing_forms (form, made) VALUES (:form, :made) ON CONFLICT DO NOTHING")


def new_text() -> str:
    """Return the text of a form, which no other form has."""
    return f"{SYSTEM.bits(128):032x}"


@contextmanager
def done_once(store: AccessStore, text: str) -> Iterator[None]:
    """Run a block unless a form with this text was done before; one that fails may be sent again.

    A form without a text, as programs send it, is done whenever it is sent.
    """
    if text and not _TEXT.fullmatch(text):
        raise Refusal(400, "InvalidRequest", "This form does not come from a page of this server. Open the page again.")
    if text and not _begin(store, text):
        raise Refusal(
            409, "InvalidRequest", "This form was sent before, and was not done again. What it did is on this page. If "
            "it made a token, that was shown once: if nobody has it, revoke it and make a new one.",
        )  # fmt: skip
    try:
        yield
    except BaseException:
        if text:
            _forget(store, text)
        raise


def _begin(store: AccessStore, text: str) -> bool:
    """Note that a form is done; return whether it is the first time."""
    now = datetime.now(UTC)
    with store.transaction(write=True) as connection:
        connection.execute(sa.delete(forms).where(forms.c.made < time_text(now - KEPT)))
        return connection.execute(_ADD, {"form": text, "made": time_text(now)}).rowcount == 1


def _forget(store: AccessStore, text: str) -> None:
    with store.transaction(write=True) as connection:
        connection.execute(sa.delete(forms).where(forms.c.form == text))
