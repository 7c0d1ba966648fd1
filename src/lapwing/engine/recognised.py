"""What ``lapwing init`` recognised about a file: facts from fixed lists, names of columns and types, never a cell."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..question.codes import Kind
from ..question.file import File


@dataclass
class Recognised:
    """What was recognised: how the file is written, why, what is left open, and the types of columns by name."""

    file: File
    remarks: dict[str, str] = field(default_factory=dict)
    """For each field of ``file`` that was recognised, what it says."""

    doubts: list[str] = field(default_factory=list)
    types: dict[str, Kind] = field(default_factory=dict)

    def add(self, remark: str, **fields: object) -> None:
        """Add a field that was recognised."""
        self.file = replace(self.file, **fields)  # type: ignore[arg-type]
        self.remarks |= dict.fromkeys(fields, remark)
