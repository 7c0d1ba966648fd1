"""Which lines of the package each part of the audit runs, and each test: no other can see a change of that line.

Measured by coverage.py on a copy of the package, once for a build, and kept in a folder.  A line that runs at import is
reached by all.  What a process ran that was killed, or that a test started, or that a check recorded itself in a test,
is not counted, so that a line may have a part or a test too few.
"""

from __future__ import annotations

import ast
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import Lock

from coverage import CoverageData

from lapwing.auditing.audit import CHECKS
from lapwing.auditing.finding import NoSuchPart
from lapwing.auditing.room import Room

from .changes import Change
from .mutants import PACKAGE, audit_words, build, ran

ROOT = Path(__file__).parent.parent
SECONDS = 3600
SELECTED = {
    "tests": ("-m", "not slow", "--ignore=tests/engines"),
    "slow": (
        "-m", "slow and not long", "--ignore=tests/engines", "--ignore=tests/browser", "--ignore=tests/test_pages.py",
        "--ignore=tests/test_chance.py", "--ignore=tests/unit/auditing", "--ignore=tests/unit/client",
        "--ignore=tests/unit/server", "--ignore=tests/unit/test_bench.py", "--ignore=tests/unit/test_gallery.py",
        "--ignore=tests/unit/test_package.py", "--deselect=tests/unit/cli/test_demo.py",
    ),
}  # fmt: skip
"""The tests that try a mutant, as pytest selects them: first those of `make quick`, then others of `make test`.

Left out are those that look at pages, that start servers or build packages, and those of the audit, which runs itself.
"""

_SETTINGS = """
[run]
source = lapwing
omit = */lapwing/auditing/*, */lapwing/server/*, */lapwing/cli/*
"""
_PROCESSES = "patch = subprocess, _exit\n"
"""Also measure the processes that a part starts; for a test it would not be known which one started them."""


_UNRECORDED = """
from types import SimpleNamespace

from lapwing.auditing.tools import ran
from lapwing.cli.main import main

ran.sys = SimpleNamespace(gettrace=lambda: None, settrace=lambda called: None)
ran.Ran.missed = lambda self, never=(): {}
main(prog_name="lapwing")
"""
"""The command `lapwing`, whose checks do not record which lines they run: only one thing at a time can."""


class Reached:
    """What was measured of a build, by killer: the audit, the tests, and the slow ones among them."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._folders = folders
        self._data = {killer: _read(folder / killer) for killer, folder in folders.items()}
        self._lines: dict[tuple[str, str], dict[int, list[str]]] = {}
        self._lock = Lock()

    def parts(self, change: Change | None) -> set[str]:
        """Return the parts of checks that run a line of a change; for the build as it is, all."""
        return set(parts()) if change is None else self._of(change, "audit")

    def tests(self, change: Change | None) -> list[str]:
        """Return the ids of quick tests that run a line of a change, those that run the fewest lines first."""
        return self._sorted("tests", change)

    def slow(self, change: Change | None) -> list[str]:
        """Return those of slow tests; for the build as it is none, since they have passed when they were measured."""
        return [] if change is None else self._sorted("slow", change)

    def _sorted(self, killer: str, change: Change | None) -> list[str]:
        found, sizes = {""} if change is None else self._of(change, killer), self._sizes(killer)
        return sorted(sizes if "" in found else found, key=lambda test: (sizes.get(test, 0), test))

    def _of(self, change: Change, killer: str) -> set[str]:
        by_line = self._by_line(str(self._folders[killer] / "lapwing" / change.file), killer)
        lines = statement_lines((PACKAGE / change.file).read_text(), change.line)
        return {context for line in lines for context in by_line.get(line, ())}

    def _by_line(self, file: str, killer: str) -> dict[int, list[str]]:
        with self._lock:
            if (file, killer) not in self._lines:
                found = self._data[killer].contexts_by_lineno(file)
                self._lines[file, killer] = {
                    line: [context.partition("|")[0] for context in contexts] for line, contexts in found.items()
                }
            return self._lines[file, killer]

    @cache  # noqa: B019  # there is one
    def _sizes(self, killer: str) -> dict[str, int]:
        """The number of lines that each test runs."""
        sizes = Counter[str]()
        for file in self._data[killer].measured_files():
            for contexts in self._by_line(file, killer).values():
                sizes.update(set(contexts) - {""})
        return dict(sizes)


def _read(file: Path) -> CoverageData:
    data = CoverageData(str(file))
    data.read()
    return data


def statement_lines(text: str, line: int) -> range:
    """Return the lines of the innermost statement around a line, without those of the statements within it."""
    around = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt) and _holds(node, line)]
    inner = max(around, key=lambda node: (node.lineno, -(node.end_lineno or 0)))
    within = [each.lineno for each in ast.walk(inner) if isinstance(each, ast.stmt) and each is not inner]
    return range(inner.lineno, max(line + 1, min([*within, (inner.end_lineno or line) + 1])))


def _holds(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def parts() -> list[str]:
    """Return the parts of all checks, as `lapwing audit --only` names them."""
    return [f"{name}/{part}" for name, entry in CHECKS.items() for part in _parts_of(entry.check)]


def _parts_of(check: object) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        try:
            list(check(Room(Path(folder), part="?")))  # type: ignore[operator]
        except NoSuchPart as error:
            yield from error.names


def measured(folder: Path, killer: str, jobs: int) -> Path:
    """Measure a killer on the build as it is, and keep what was found in a folder, which is returned."""
    if (folder / killer).exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "lapwing").exists():
        build(folder)
    (folder / "settings").write_text(_SETTINGS + (_PROCESSES if killer == "audit" else ""))
    (folder / "unrecorded.py").write_text(_UNRECORDED)
    if killer == "audit":
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(lambda part: _audited(folder, part), parts()))
        words = ["env", f"COVERAGE_FILE={folder / '.combined'}", sys.executable, "-m", "coverage", "combine", "--quiet"]
        words += [f"--rcfile={folder / 'settings'}", *map(str, folder.glob(".part.*"))]
    else:
        words = ["env", f"COVERAGE_FILE={folder / '.combined'}", sys.executable, "-m", "pytest", "-q", "-n", str(jobs)]
        words += [*SELECTED[killer], "-p", "no:cacheprovider"]
        words += [f"--cov-config={folder / 'settings'}", "--cov=lapwing", "--cov-context=test", "--cov-report="]
    _run(words, folder, ROOT)
    (folder / ".combined").rename(folder / killer)
    return folder


def _audited(folder: Path, part: str) -> None:
    words = ["env", f"COVERAGE_FILE={folder / '.part'}", sys.executable, "-m", "coverage", "run", "--parallel-mode"]
    words += [f"--rcfile={folder / 'settings'}", f"--context={part}", str(folder / "unrecorded.py")]
    words += audit_words(part)
    _run(words, folder, folder)


def _run(words: list[str], folder: Path, where: Path) -> None:
    status, output, errors = ran(words, folder, where, SECONDS)
    if status != 0:
        raise RuntimeError(f"the build as it is fails: {' '.join(words)}\n{output[-2000:]}\n{errors[-2000:]}")
