"""Files that a library in another language reads, in a process of its own: whatever a file does to it, it is refused.

A sheet with one cell in its last row and column makes the reader of workbooks ask for 550 GB, and ends its process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import installing
from . import foreign
from .table import Problem

_MOST_MEMORY = 2**33
"""Bytes that the process may take; less on a machine with less."""


class Unread(Exception):
    """Unread(reason): the process refused the file, or ended early; then the reason is empty."""


def need(library: str, extra: str, file: str) -> None:
    """Refuse a file if the library that reads it is not installed."""
    if find_spec(library) is None:
        package = library.replace("_", "-")
        raise Problem(f'cannot be read: for the file "{file}" the library {package} is needed', installing(extra))


def told(job: str, *of: Any) -> Iterator[Any]:
    """Yield what the process says about a job of ``foreign``."""
    command = [sys.executable, "-I", foreign.__file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with suppress(BrokenPipeError):
                asked = {
                    "job": job,
                    "of": of,
                    "path": [str(Path(each).absolute()) for each in sys.path],
                    "memory": _memory(),
                }
                process.stdin.write(json.dumps(asked).encode() + b"\n")
                process.stdin.close()
            for line in process.stdout:
                if not line.endswith(b"\n"):
                    break
                said = json.loads(line)
                if said == {"done": True}:
                    return
                if isinstance(said, dict) and "refused" in said:
                    raise Unread(said["refused"])
                yield said
        finally:
            process.kill()
    raise Unread("")


def _memory() -> int:
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not on every system
        return _MOST_MEMORY
    return min(_MOST_MEMORY, 3 * physical // 4)
