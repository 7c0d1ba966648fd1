"""The report of an audit, as ``lapwing audit --format json`` wrote it: read once, at the start, and checked strictly.

Nothing of the file is trusted: every field has its type and its bound, what it does not say is not guessed, and a
verdict holds only if the findings say the same.  All texts of it are escaped where they are shown.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator

from ..errors import InvalidRequest

MOST_BYTES = 8_000_000
"""How large a report may be."""

_ADVICE = "Write one with this version: lapwing audit --format json > audit.json."

_Text = Annotated[str, Field(max_length=20_000)]
_Name = Annotated[str, Field(min_length=1, max_length=200)]
_Names = Annotated[tuple[_Name, ...], Field(max_length=100)]
_Amount = Annotated[FiniteFloat, Field(ge=0)]


class _Strict(BaseModel):
    """A part of the report: exactly these fields, of exactly these types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class ReportedFinding(_Strict):
    """What was checked, whether it is as promised, and the numbers that show it."""

    what: _Text
    passed: bool
    told: _Text
    false_alarm: _Amount


class ReportedCheck(_Strict):
    """What one check found."""

    check: _Name
    passed: bool
    seconds: _Amount
    findings: Annotated[tuple[ReportedFinding, ...], Field(max_length=100_000)]

    @model_validator(mode="after")
    def agrees(self) -> Self:
        """Refuse a verdict that the findings contradict."""
        if self.passed != all(each.passed for each in self.findings):
            raise ValueError("contradicts its findings")
        return self

    @property
    def failed(self) -> int:
        """How many findings are not as promised."""
        return sum(not each.passed for each in self.findings)


class AuditReport(_Strict):
    """What all checks found."""

    passed: bool
    false_alarm: _Amount
    date: AwareDatetime
    not_run: _Names
    deep: bool
    engines: _Names
    versions: Annotated[dict[_Name, _Name], Field(max_length=100)]
    checks: Annotated[tuple[ReportedCheck, ...], Field(min_length=1, max_length=100)]

    @model_validator(mode="after")
    def agrees(self) -> Self:
        """Refuse a verdict that the checks contradict, and a report without findings, which would say "passed"."""
        if self.passed != all(each.passed for each in self.checks) or not self.looked:
            raise ValueError("contradicts its checks")
        return self

    @property
    def looked(self) -> int:
        """How many findings there are."""
        return sum(len(each.findings) for each in self.checks)

    @property
    def failed(self) -> int:
        """How many findings are not as promised."""
        return sum(each.failed for each in self.checks)


def audit_report(path: str) -> AuditReport:
    """Return the report in a file; refuse what ``lapwing audit --format json`` does not write."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError):
        raise _refused(path, "cannot be read") from None
    if len(data) > MOST_BYTES:
        raise _refused(path, f"is larger than {MOST_BYTES:,} bytes")
    try:
        return AuditReport.model_validate_json(data)
    except ValidationError as error:
        raise _refused(path, _fault(error)) from None


def _refused(path: str, why: str) -> InvalidRequest:
    return InvalidRequest(f'The audit report "{path}" {why}', _ADVICE)


_FIELDS = {name for model in (AuditReport, ReportedCheck, ReportedFinding) for name in model.model_fields}


def _fault(error: ValidationError) -> str:
    """Return what is wrong first, and where; names that the file made up are not repeated."""
    first = error.errors(include_input=False, include_url=False)[0]
    if first["type"] == "json_invalid":
        return "is not JSON"
    what = "contradicts itself" if first["type"] == "value_error" else "is not in the right form"
    where = [str(each) for each in first["loc"]]
    place = ".".join(each if each in _FIELDS or each.isdigit() else "…" for each in where)
    return f"{what}, see {place}" if place else what
