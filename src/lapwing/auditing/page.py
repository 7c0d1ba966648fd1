"""The report of an audit as one HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..pages import document as parts

if TYPE_CHECKING:
    from .audit import Audit, Verdict

_READ = (
    "All tables are made up.  “False alarm” is the probability with which a correct build fails a finding.  "
    "Two tables are neighbors under add_remove when one has all rows of one more person, under change_one when one "
    "person has other rows; “people” may have several rows, of which two count in full; each of “rows” is a person.  "
    "Distances are in units of the exact integers before the noise: a row of people counts 65,536 of them, and a value "
    "as many as its column has grid steps; they are compared with the declared sensitivity in the same units.  "
    "A row is shown as (number, whole number, key).  L1 to L4 are claims about the ledger, T numbers stand for known "
    "faults of other libraries.  What each check can and cannot show: docs/explanation/audit.md."
)


def page(audit: Audit) -> str:
    """Return the page: the outcome, what was audited, and every finding; those that fail come first."""
    return parts.document(
        "Audit of Lapwing",
        "<header><h1>Audit of Lapwing</h1>",
        parts.paragraph(f"{_mark(audit.passed)}.  {audit.summary}", kind="lead" if audit.passed else "lead bad"),
        "</header>",
        _overview(audit, linked=True),
        parts.facts(_facts(audit)),
        *(_section(each) for each in audit.verdicts),
        parts.section("How to read this", parts.paragraph(_READ)),
    )


def cell(audit: Audit) -> str:
    """Return what a notebook shows: the outcome, the checks, and the findings that fail."""
    failed = [f"{each.check}: {one.what}.  {one.told}" for each in audit.verdicts for one in each.failures]
    return parts.cell(
        parts.paragraph(f"{_mark(audit.passed)}.  {audit.summary}", kind="" if audit.passed else "bad"),
        _overview(audit, linked=False),
        parts.paragraph(*failed, kind="bad"),
    )


def _facts(audit: Audit) -> list[tuple[str, str]]:
    return [
        ("date", audit.date),
        *audit.versions.items(),
        ("engines", ", ".join(audit.engines)),
        ("deep", "yes" if audit.deep else "no"),
    ]


def _overview(audit: Audit, *, linked: bool) -> str:
    rows = [
        [
            parts.Ready(f'<a href="#{parts.escaped(each.check)}">{parts.escaped(each.check)}</a>')
            if linked
            else each.check,
            _verdict(each.passed),
            f"{len(each.findings):,}",
            f"{each.seconds:.1f}",
            each.asks,
        ]
        for each in audit.verdicts
    ]
    return parts.table("The checks", ("check", "verdict", "findings", "seconds", "asks"), rows, (0, 1, 4))


def _section(verdict: Verdict) -> str:
    rows = [
        [each.what, _verdict(each.passed), each.told, f"{each.false_alarm:.2g}"]
        for each in sorted(verdict.findings, key=lambda each: each.passed)
    ]
    shown = "" if verdict.passed else " open"
    name = parts.escaped(verdict.check)
    return (
        f'<section><h2 id="{name}">{name}</h2>{parts.paragraph(verdict.asks)}'
        f"<details{shown}><summary>{_mark(verdict.passed)}, {len(verdict.findings):,} findings</summary>"
        f"{parts.table(f'Findings of {verdict.check}', ('what', 'verdict', 'found', 'false alarm'), rows, (0, 1, 2))}"
        "</details></section>"
    )


def _mark(passed: bool) -> str:
    return "Passed" if passed else "FAILED"


def _verdict(passed: bool) -> str:
    return "passed" if passed else parts.Ready('<strong class="bad">FAILED</strong>')
