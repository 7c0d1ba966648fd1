"""The report of an audit as one HTML page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from .. import report

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
    facts = [
        ("date", audit.date),
        *audit.versions.items(),
        ("engines", ", ".join(audit.engines)),
        ("deep", "yes" if audit.deep else "no"),
    ]
    rows = "".join(
        f'<tr><td class="key"><a href="#{each.check}">{each.check}</a></td><td class="key">{_mark(each.passed)}</td>'
        f"<td>{len(each.findings):,}</td><td>{each.seconds:.1f}</td>"
        f'<td class="key">{escape(each.asks)}</td></tr>'
        for each in audit.verdicts
    )
    heads = _head("check") + _head("verdict") + "<th>findings</th><th>seconds</th>" + _head("asks")
    body = [
        f"<p><strong>{_mark(audit.passed)}</strong>  {escape(audit.summary)}</p>",
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>",
        report.html_facts(facts),
        *(_section(each) for each in audit.verdicts),
        f"<h2>How to read this</h2><p>{escape(_READ)}</p>",
    ]
    return report.html_document("Audit of Lapwing", "\n".join(body))


def _section(verdict: Verdict) -> str:
    rows = "".join(
        f'<tr><td class="key">{_mark(each.passed)}</td><td class="key">{escape(each.what)}</td>'
        f'<td class="key">{escape(each.told)}</td><td>{each.false_alarm:.2g}</td></tr>'
        for each in sorted(verdict.findings, key=lambda each: each.passed)
    )
    heads = _head("verdict") + _head("what") + _head("found") + "<th>false alarm</th>"
    shown = "" if verdict.passed else " open"
    return (
        f'<h2 id="{verdict.check}">{verdict.check}</h2><p>{escape(verdict.asks)}</p>'
        f"<details{shown}><summary>{_mark(verdict.passed)}, {len(verdict.findings):,} findings</summary>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></details>"
    )


def _mark(passed: bool) -> str:
    return "passed" if passed else '<strong style="color: #a11">FAILED</strong>'


def _head(name: str) -> str:
    return f'<th class="key">{name}</th>'
