"""What the benchmarks share: facts about the machine, tables, and the page that they write."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

from cryptography.hazmat.backends.openssl import backend as openssl

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "benchmarks.md"
TITLE = "# Benchmarks\n\nWritten by `make bench`; do not edit.\n"
SECTIONS = (
    "noise",
    "timing",
    "engine",
    "engines",
    "accuracy",
    "tree",
    "quantiles",
    "coverage",
    "tables",
    "sets",
    "contingency",
    "ledger",
    "server",
)


# ── what the machine did ─────────────────────────────────────────────────────────────────────────────────────


def busy_seconds() -> tuple[float, float, float] | None:
    """Return the clock, the CPU seconds used by all processes and by this one with its ended children."""
    try:
        fields = [int(each) for each in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    except (OSError, ValueError):
        return None
    own = os.times()
    mine = own.user + own.system + own.children_user + own.children_system
    return time.perf_counter(), (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK"), mine


def used_elsewhere(before: tuple[float, float, float] | None) -> str:
    """Say how many cores other processes kept busy on average since ``before``."""
    after = busy_seconds()
    if before is None or after is None:
        return "unknown"
    cores = (after[1] - before[1] - (after[2] - before[2])) / (after[0] - before[0])
    return f"{max(cores, 0.0):.2f} cores on average"


def machine() -> list[tuple[str, str]]:
    """Return what the numbers depend on: processor, memory, system and versions."""
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        system = platform.system()
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return [
        ("processor", f"{processor()}, {len(os.sched_getaffinity(0))} cores"),
        ("memory", f"{gigabytes:.0f} GiB"),
        ("system", f"{system}, {platform.system()} {'.'.join(platform.release().split('.')[:2])}"),
        ("Python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("packages", ", ".join(f"{name} {version(name)}" for name in ("lapwing", "numpy", "cryptography"))),
        ("cipher", openssl.openssl_version_text()),
    ]


def processor() -> str:
    """Return the processor's name."""
    try:
        found = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found[1] if found else platform.machine()


def number(value: float | None) -> str:
    """Write a number with three digits, or say that there is none."""
    if value is None:
        return "not measured"
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:,.{digits}f}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table with aligned columns: words flush left (the first column and notes), the rest right."""
    lines = [[cell.replace("|", "\\|") for cell in line] for line in (head, *rows)]
    words = [i == 0 or name in ("note", "met", "seen") for i, name in enumerate(head)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    rule = ["-" * width if left else "-" * (width - 1) + ":" for width, left in zip(widths, words, strict=True)]
    lines.insert(1, rule)
    return "\n".join("| " + " | ".join(map(_padded, line, widths, words)) + " |" for line in lines)


def _padded(cell: str, width: int, left: bool) -> str:
    return cell.ljust(width) if left else cell.rjust(width)


# ── the page ─────────────────────────────────────────────────────────────────────────────────────────────────


def replace_section(page: Path, name: str, text: str) -> None:
    """Write one section of the page, between its marks, and keep the others as they are."""
    before = page.read_text() if page.exists() else ""
    parts = [TITLE]
    for each in SECTIONS:
        first, last = f"<!-- {each}: begin -->", f"<!-- {each}: end -->"
        kept = re.search(f"{re.escape(first)}\n(.*?)\n{re.escape(last)}", before, re.DOTALL)
        body = text.strip() if each == name else kept[1] if kept else ""
        if body:
            parts.append(f"{first}\n{body}\n{last}\n")
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n".join(parts))


def step(text: str) -> None:
    """Print one line of progress."""
    print(f"· {text}", flush=True)
