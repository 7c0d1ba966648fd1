"""Which statements of some modules ran, so that a check can say what it never tried."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType, ModuleType, TracebackType
from typing import Any


class Ran:
    """A context in which the lines of some modules that run in this thread are recorded."""

    def __init__(self, *modules: ModuleType) -> None:
        self._modules = modules
        self._files = {str(module.__file__): module.__name__ for module in modules}
        self._lines: dict[str, set[int]] = {file: set() for file in self._files}
        self._before: Any = None

    def __enter__(self) -> Ran:
        """Begin to record; what the modules remember of earlier calls is forgotten, so that it is computed again."""
        for module in self._modules:
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
        self._before = sys.gettrace()
        sys.settrace(self._called)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        sys.settrace(self._before)

    def _called(self, frame: FrameType, event: str, arg: object) -> Any:
        lines = self._lines.get(frame.f_code.co_filename)
        if lines is None:
            return None

        def moved(frame: FrameType, event: str, arg: object) -> Any:
            lines.add(frame.f_lineno)
            return moved

        return moved

    def missed(self, never: Sequence[str] = ()) -> dict[str, tuple[int, list[str]]]:
        """Return, by the name of each module, how many statements ran, and which did not, except those of ``never``."""
        found = {}
        for file, name in self._files.items():
            text, ran = Path(file).read_text(encoding="utf-8"), 0
            lines, missed = text.splitlines(), []
            for first, last in statements(ast.parse(text)):
                written = lines[first - 1].strip()
                if self._lines[file].isdisjoint(range(first, last + 1)):
                    missed += [] if written in never else [f"{first}: {written}"]
                else:
                    ran += 1
            found[name] = ran, missed
        return found


def statements(tree: ast.AST, inside: bool = False) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of every statement in functions; of one with a body, of its head.

    Left out are those that take no step of their own: docstrings, ``pass``, ``try``, ``while True`` and definitions;
    and what never runs: overloads and protocols.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            if not _is_declaration(node):
                yield from statements(node, isinstance(node, ast.FunctionDef))
        elif isinstance(node, ast.stmt):
            if inside and not _is_silent(node):
                body = getattr(node, "body", None)
                yield node.lineno, body[0].lineno - 1 if body else node.end_lineno or node.lineno
            yield from statements(node, inside)
        elif isinstance(node, ast.ExceptHandler | ast.match_case):
            yield from statements(node, inside)


def _is_declaration(node: ast.FunctionDef | ast.ClassDef) -> bool:
    names = {each.id for each in (*node.decorator_list, *getattr(node, "bases", ())) if isinstance(each, ast.Name)}
    return not names.isdisjoint({"overload", "Protocol"})


def _is_silent(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return True
    forever = isinstance(node, ast.While) and isinstance(node.test, ast.Constant)
    return forever or isinstance(node, ast.Pass | ast.Try | ast.Continue | ast.Import | ast.ImportFrom)
