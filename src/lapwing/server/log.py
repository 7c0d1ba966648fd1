"""What a server writes about itself: a line of JSON for each request, and counts for Prometheus.

Both hold public facts alone: no token, no address, no header, no SQL, and of an address only the template of its route.
How long questions take depends on the table, so it is in no metric.
"""

from __future__ import annotations

import json
import logging
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime

Line = dict[str, str | int | None]

UNKNOWN = "none"
"""The template of an address that no route has."""


def to_standard_error(line: Line) -> None:
    """Write a line of the log."""
    sys.stderr.write(json.dumps(line, ensure_ascii=False) + "\n")
    sys.stderr.flush()


class Failures(logging.Handler):
    """Writes what failed, and why, as lines of JSON: for those who run the server, not for those who ask."""

    def emit(self, record: logging.LogRecord) -> None:
        to_standard_error({"time": _now(), "log": record.name, "message": record.getMessage()})


class Log:
    """The log of requests, and their counts."""

    def __init__(self, write: Callable[[Line], None] = to_standard_error) -> None:
        self._write = write
        self._counts: Counter[tuple[str, str]] = Counter()
        self._since = int(datetime.now(UTC).timestamp())

    def request(self, person: str | None, route: str, status: int, milliseconds: int) -> None:
        """Note a request."""
        self._counts[route, f"{status // 100}xx"] += 1
        self._write({"time": _now(), "person": person, "route": route, "status": status, "ms": milliseconds})

    def failure(self, route: str, kind: str) -> None:
        """Note that something failed that nobody expected, by its kind alone: its text may quote a cell."""
        self._write({"time": _now(), "person": None, "route": route, "failure": kind})

    def left_out(self, file: str, kind: str) -> None:
        """Note that a source which a person made is not served, by its file and the kind of failure alone."""
        told = "This source is not served, all others are. Run lapwing check on its file."
        self._write({"time": _now(), "source": file, "failure": kind, "message": told})

    def metrics(self) -> str:
        """Return the counts in the text format of Prometheus; none of questions that are open, by which to time one."""
        lines = [
            "# HELP lapwing_requests_total Requests, by route and class of status.",
            "# TYPE lapwing_requests_total counter",
        ]
        for (route, status), count in sorted(self._counts.items()):
            lines.append(f'lapwing_requests_total{{route="{route}",status="{status}"}} {count}')
        lines += [
            "# HELP lapwing_start_time_seconds When the server started, in seconds since 1970.",
            "# TYPE lapwing_start_time_seconds gauge",
            f"lapwing_start_time_seconds {self._since}",
        ]
        return "\n".join(lines) + "\n"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
