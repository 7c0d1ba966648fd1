"""What a notebook shows of a ledger: what is spent of the total, and the last entries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from .. import exact
from ..pages import document as parts
from ..pages.axis import WIDTH
from .entry import Budget, Entry

if TYPE_CHECKING:
    from .ledger import Ledger

_SHOWN = 20
_LONGEST = 120

MEANINGS = {
    "open": "ledger created, with this total",
    "total": "new total",
    "analyst": "cap",
    "request": "asks for this cap",
    "grant": "granted, new cap",
    "decline": "declined",
    "withdraw": "withdrawn",
}
"""What entries other than charges and answers say."""


def ledger_cell(ledger: Ledger) -> str:
    """Return the budget, that of each analyst, and the last entries."""
    entries, whole, delta = ledger.entries(), ledger.budget(), ledger.delta
    listed = [each for each in entries if each.kind != "answer"]
    rows = [_row(each) for each in listed[-_SHOWN:]]
    more = len(listed) - len(rows)
    deltas = [f"δ: {_amounts(delta)}."] if delta.total else []
    people = [
        [str(each.analyst), exact.text(each.total), exact.text(each.spent), exact.text(each.remaining), _meter(each)]
        for each in ledger.analysts()
    ]
    return parts.cell(
        parts.paragraph(f"Ledger {ledger.where}", f"ε: {_amounts(whole)}.", *deltas),
        _meter(whole),
        parts.table(
            "Entries, the last ones" if more else "Entries",
            ("entry", "when (UTC)", "who", "what", "ε", "spent", "answered"), rows, (0, 1, 2, 3, 6),
        ),
        parts.paragraph(*([f"… {more:,} earlier entries: see .entries()"] if more else []), kind="quiet"),
        parts.table("Analysts", ("analyst", "cap", "spent", "left", ""), people) if people else "",
        parts.paragraph(f"head {entries[-1].hash}", kind="quiet"),
    )  # fmt: skip


def _amounts(budget: Budget) -> str:
    spent, total, left = (exact.text(each) for each in (budget.spent, budget.total, budget.remaining))
    return f"{spent} of {total} is spent, {left} is left"


def _meter(budget: Budget) -> parts.Ready:
    """Return a drawing of the share that is spent."""
    share = min(float(budget.spent / budget.total), 1.0) if budget.total else 1.0
    return parts.Ready(
        f'<svg width="{WIDTH}" height="14" viewBox="0 0 {WIDTH} 14" role="img" aria-label="{_amounts(budget)}">'
        f'<path class="grid" d="M1 1H{WIDTH - 1}V13H1Z"/>'
        f'<path class="meter" d="M2 7H{2 + (WIDTH - 4) * share:.1f}"/>'
        f'<path class="axis" d="M1 1H{WIDTH - 1}V13H1Z"/></svg>'
    )


def _row(entry: Entry) -> list[str]:
    answered = ("yes" if entry.answered else "no") if entry.kind == "charge" else ""
    when = entry.time.replace("T", " ").replace("+00:00", "")
    amount = "" if entry.epsilon is None else exact.text(entry.epsilon)
    return [str(entry.number), when, entry.analyst or "", _what(entry), amount, exact.text(entry.spent), answered]


def _what(entry: Entry) -> str:
    if entry.kind == "charge":
        asked = entry.question.get("query") if isinstance(entry.question, dict) else entry.question
        text = asked if isinstance(asked, str) else json.dumps(entry.question)
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    meaning = MEANINGS.get(entry.kind, "")
    about = "" if entry.charge is None else f" (request {entry.charge})"
    return meaning + about + (f": {entry.note}" if entry.note else "")
