"""The page of the audit report: what was checked about the program that answers; it is the same for every source."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ...version import __version__
from ..audit_report import AuditReport, ReportedCheck
from ..parts import parts_of
from ..permissions import Permission
from ..routing import RouteDeclaration
from .shell import render


def audit(request: Request) -> Response:
    """Show the report that the server was given at its start; without one, how to make it."""
    report = parts_of(request).audit
    return render(request, "audit.html", report=None if report is None else _told(report))


def _told(report: AuditReport) -> dict[str, Any]:
    """Return the report for a template; what fails comes first."""
    audited = report.versions.get("lapwing", "")
    return {
        "passed": report.passed,
        "looked": f"{report.looked:,}",
        "failed": f"{report.failed:,}",
        "false_alarm": f"at most {report.false_alarm:.1e}" if report.false_alarm else "0: every finding is exact",
        "not_run": report.not_run,
        "other_version": "" if audited == __version__ else audited or "unknown",
        "facts": [
            ("date", f"{report.date.astimezone(UTC):%Y-%m-%d %H:%M} UTC"),
            *report.versions.items(),
            ("engines", ", ".join(report.engines)),
            ("deep", "yes" if report.deep else "no"),
        ],
        "checks": [_check(each) for each in sorted(report.checks, key=lambda each: each.passed)],
    }


def _check(check: ReportedCheck) -> dict[str, Any]:
    return {
        "name": check.check,
        "passed": check.passed,
        "looked": f"{len(check.findings):,}",
        "failed": f"{check.failed:,}",
        "seconds": f"{check.seconds:.1f}",
        "findings": [
            {"what": each.what, "passed": each.passed, "told": each.told, "false_alarm": f"{each.false_alarm:.2g}"}
            for each in sorted(check.findings, key=lambda each: each.passed)
        ],
    }


ROUTES = [RouteDeclaration("GET", "/sources/{source}/audit", Permission.AUDIT, audit, None, page=True)]
