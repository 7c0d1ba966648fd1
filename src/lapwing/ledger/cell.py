"""What a notebook shows of a ledger: what is spent of the total, and the last entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import exact
from ..pages import document as parts
from ..pages.axis import WIDTH
from .entry import Budget, Entry
from .lines import what, when

if TYPE_CHECKING:
    from .ledger import Ledger

_SHOWN = 20
_LONGEST = 120


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
    amount = "" if entry.epsilon is None else exact.text(entry.epsilon)
    said = what(entry, _LONGEST)
    return [str(entry.number), when(entry.time), entry.analyst or "", said, amount, exact.text(entry.spent), answered]
