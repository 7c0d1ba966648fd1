"""Small changes to a module, made by rules: the faults that ``tests.generated`` plants.

A change replaces a few bytes of the source; all other bytes stay.  Only changes that compile to other bytecode are
made, and of those that compile to the same bytecode only the first.  The id of a change is a hash of its file,
function, rule, line and replacement, so that it survives edits elsewhere.

Left out: docstrings, annotations, decorators, imports, types, assertions, what is raised (whether it is raised is not),
calls that report progress or write to a log, and the names of SKIPPED.
"""

from __future__ import annotations
import __future__

import ast
import hashlib
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

SKIPPED = {
    "texts for people": "__repr__ Bounds.__str__ Bounds.share Clipped.__str__ Discovery.__str__ KeyPlan.__str__ "
    "Plan.__str__ advice assumption cells_in_words charged explanation formula lacking meaning note refuse remark "
    "rows_assumed _BY_ERRNO _BY_SQLITE_CODE _BY_SQLSTATE _fewer _for_plan _protects _quotable _refuse_without_delta "
    "_refused _short _shown",
    "run by servers alone": "POSTGRES SPARK _BIGQUERY _CLICKHOUSE _SNOWFLAKE _TRINO _connect_postgresql lock_making",
    "calculators that no release uses": "DiscreteLaplace.mean DiscreteLaplace.mean_abs DiscreteLaplace.std "
    "DiscreteLaplace.variance Error Laplace epsilon_for size_for _EULER _ceil_root _harmonic _is_enough "
    "_is_laplace _smallest_nano",
    "examples for the documentation": "CATALOGUE _largest _mean_of _middle _one_apart _top _variance_of",
}
"""Functions and constants without changes, by the reason."""

_SKIPPED = {name for names in SKIPPED.values() for name in names.split()}
_SILENT = re.compile(r"\b(progress|tell|_log|logging|warnings)\b")
_TYPE = re.compile(r"_?[A-Z]\w*[a-z]\w*|int|str|float|bool|bytes|date|datetime|list|tuple|dict|set")

Edit = tuple[int, int, str]
"""The bytes from the first to the second number are replaced by the text."""


@dataclass(frozen=True)
class Change:
    """One change of a file: its id, where it is, its rule, and the bytes that are replaced."""

    id: str
    file: str
    function: str
    rule: str
    line: int
    start: int
    end: int
    new: str

    def applied(self, text: bytes) -> bytes:
        """Return the text with the change."""
        return text[: self.start] + self.new.encode() + text[self.end :]


class Text:
    """A source text, and the places of its nodes in bytes."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._lines = [0, *(found.end() for found in re.finditer(b"\n", raw))]

    def start(self, node: Any) -> int:
        """Return where a node begins."""
        return self._lines[node.lineno - 1] + node.col_offset

    def end(self, node: Any) -> int:
        """Return where a node ends."""
        return self._lines[node.end_lineno - 1] + node.end_col_offset

    def of(self, node: ast.AST) -> str:
        """Return the text of a node."""
        return self.raw[self.start(node) : self.end(node)].decode()

    def line(self, number: int) -> str:
        """Return a line without the space around it."""
        return self.raw.splitlines()[number - 1].decode().strip()

    def whole(self, node: ast.AST, new: str) -> Edit:
        """Replace a whole node."""
        return self.start(node), self.end(node), new

    def between(self, left: ast.AST, right: ast.AST, old: str, new: str) -> Iterator[Edit]:
        """Replace the operator between two nodes."""
        begin, end = self.end(left), self.start(right)
        found = re.search(re.escape(old).replace("\\ ", r"\s+"), self.raw[begin:end].decode())
        if found:
            yield begin + found.start(), begin + found.end(), new

    def without(self, listed: Sequence[ast.AST | None], last: Sequence[ast.AST | None], i: int) -> Iterator[Edit]:
        """Drop one of some nodes with commas between them; ``last`` are the nodes with which they end."""
        here, there = listed[i], last[i]
        following, before = listed[i + 1] if i + 1 < len(listed) else None, last[i - 1] if i else None
        if here is not None and there is not None and following is not None:
            yield self.start(here), self.start(following), ""
        elif here is not None and there is not None and i + 1 == len(listed):
            yield self.start(here) if before is None else self.end(before), self.end(there), ""


# --- the rules: node, parent, text → edits ---

_COMPARED: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<", "<=", ">="),
    ast.LtE: ("<=", "<", ">"),
    ast.Gt: (">", ">=", "<="),
    ast.GtE: (">=", ">", "<"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
_COMPUTED: dict[type[ast.operator], tuple[str, ...]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/", "//"),
    ast.Div: ("/", "*", "//"),
    ast.FloorDiv: ("//", "/", "*"),
    ast.Mod: ("%", "//"),
    ast.Pow: ("**", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "|"),
}
_OTHER = {
    "min": "max",
    "any": "all",
    "floor": "ceil",
    "minimum": "maximum",
    "bisect_left": "bisect_right",
    "startswith": "endswith",
}
_OTHER |= {new: old for old, new in _OTHER.items()}
_UNORDERED = {"min", "max", "minimum", "maximum", "gcd", "lcm", "isinstance"}
"""The functions whose arguments are not exchanged: that would change nothing, or be an error at once."""
_DROPPED = {"sorted": "list({})", "reversed": "list({})", "set": "list({})", "abs": "({})", "clip": "({})"}
_SQL = re.compile(
    r"\b(SELECT|FROM|WHERE|AND|OR|NOT|NULL|SUM|COUNT|CASE|WHEN|THEN|CAST|TRY_CAST|COALESCE|DISTINCT|JOIN|GROUP|ORDER|IN"
    r"|BETWEEN|BEGIN|PRAGMA|SET|isfinite|floor)\b"
)
_WORDS = {
    r"\bSUM\b": "MAX",
    r"\bCOUNT\((?!DISTINCT)": "COUNT(DISTINCT ",
    r"\bDISTINCT ": "",
    r"\bAND\b": "OR",
    r"\bOR\b": "AND",
    r"\bIS NOT NULL\b": "IS NULL",
    r"\bIS NULL\b": "IS NOT NULL",
    r"\bNOT (?!NULL)": "",
    r"\bLEFT JOIN\b": "JOIN",
    r"(?<!LEFT )\bJOIN\b": "LEFT JOIN",
    r"\bMIN\b": "MAX",
    r"\bMAX\b": "MIN",
    r"\bLEAST\b": "GREATEST",
    r"\bGREATEST\b": "LEAST",
    r"\b(FLOOR|floor)\b": "CEIL",
    r"\babs\(": "(",
    r"\bTRY_CAST\b": "CAST",
    r"\bORDER BY [\w.]+": "",
    r"\b(IMMEDIATE|EXTRA)\b": "",
    r"(?<= )<(?= )": "<=",
    r"(?<= )<=(?= )": "<",
    r"(?<= )>(?= )": ">=",
    r"(?<= )>=(?= )": ">",
    r"(?<= )=(?= )": "<>",
    r"(?<= )<>(?= )": "=",
    r"(?<= )\+(?= )": "-",
    r"(?<= )-(?= )": "+",
    r"(?<= )\*(?= )": "+",
    r"(?<= )//?(?= )": "*",
    r"(?<=[ (])0(?=[ )])": "1",
    r"(?<=[ (])1(?=[ )])": "0",
}
_TEXTS = {"left": "right", "add_remove": "change_one", "<": "<=", ">": ">=", "=": "<>", " AND ": " OR "}
_TEXTS |= {new: old for old, new in _TEXTS.items()}


def number(node: ast.AST, parent: ast.AST, text: Text) -> Iterator[Edit]:
    """A number is one larger, one smaller, 0 or doubled."""
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            for new in dict.fromkeys((value + 1, value - 1, 0, 2 * value)):
                yield text.whole(node, f"({new})" if new < 0 else str(new))
        case ast.Constant(value=float() as value):
            yield from (text.whole(node, repr(new)) for new in (2 * value, value / 2, 0.0))


def flag(node: ast.AST, parent: ast.AST, text: Text) -> Iterator[Edit]:
    """True is False, and False is True."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield text.whole(node, str(not node.value))


def compare(node: ast.AST, parent: ast.AST, text: Text) -> Iterator[Edit]:
    """A comparison includes equality or not, or is negated."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        for i, operator in enumerate(node.ops):
            old, *others = _COMPARED[type(operator)]
            for new in others:
                yield from text.between(sides[i], sides[i + 1], old, new)


def arithmetic(node: ast.AST, parent: ast.AST, text: Text) -> Iterator[Edit]:
    """An operation is another one: plus is minus, times is divided by."""
    match node:
        case ast.BinOp(left=left, right=right) if not any(_is_type_or_text(side) for side in (left, right)):
            old, *others = _COMPUTED.get(type(node.op), ("",))
            for new in others:
                yield from text.between(left, right, old, new)
        case ast.AugAssign(target=left, value=right) if not _is_type_or_text(right):
            old, *others = _COMPUTED.get(type(node.op), ("",))
            for new in others:
                yield from text.between(left, right, f"{old}=", f"{new}=")


def term(node: ast.AST, parent: ast.AST, text: Text) -> Iterator[Edit]:
    """A term of a sum, a factor, a divisor, an exponent or a sign is dropped."""
    match node:
        case ast.BinOp(left=left, right=right, op=ast.Add() | ast.Mult() | ast.BitOr() | ast.BitAnd() | ast.BitXor()):
            yield from (text.whole(node, f"({text.of(side)})") for side in (left, right))
        case ast.BinOp(left=left):
            yield text.whole(node, f"({text.of(left)})")
        case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=operand):
            yield text.whole(node, f"({text.of(operand)})")


def logic(node: ast.AST, parent: ast.AST, text: Text) -> Iterator[Edit]:
    """An operand of and/or is dropped, and is or, or a not is dropped."""
    match node:
        case ast.BoolOp(op=operator, values=values):
            for dropped in values:
                kept = [f"({text.of(value)})" for value in values if value is not dropped]
                yield text.whole(node, f"({f' {_word(operator)} '.join(kept)})")
            yield text.whole(node, f"({f' {_word(operator, True)} '.join(f'({text.of(each)})' for each in values)})")
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield text.whole(node, f"({text.of(operand)})")


def guard(node: ast.AST, parent: ast.AST, text: Text) -> Iterator[Edit]:
    """An `if` that only raises, returns or goes on is dropped."""
    if _is_guard(node):
        yield text.whole(node, "pass") if text.of(node).startswith("if") else text.whole(node.test, "False")


def condition(node: ast.AST, parent: ast.AST, text: Text) -> Iterator[Edit]:
    """A condition is always or never true."""
    match node:
        case ast.If(test=test):
            yield from (text.whole(test, new) for new in ("True", "False") if new == "True" or not _is_guard(node))
        case ast.While(test=test) if not isinstance(test, ast.Constant):
            yield text.whole(test, "False")
        case ast.IfExp(body=body, orelse=orelse):
            yield from (text.whole(node, f"({text.of(side)})") for side in (body, orelse))
        case ast.comprehension(ifs=tests):
            yield from (text.whole(test, "True") for test in tests)


def call(node: ast.AST, parent: ast.AST, text: Text) -> Iterator[Edit]:
    """A function is another: min is max, any is all, floor is ceil; sorted, reversed, set, abs and clip are dropped."""
    if isinstance(node, ast.Call):
        name = _name(node)
        if name in _OTHER:
            yield text.end(node.func) - len(name), text.end(node.func), _OTHER[name]
        if name in _DROPPED and node.args and not isinstance(node.args[0], ast.Starred):
            yield text.whole(node, _DROPPED[name].format(text.of(node.args[0])))


def argument(node: ast.AST, parent: ast.AST, text: Text) -> Iterator[Edit]:
    """Two neighboring arguments of a call are exchanged, or one that has a name is dropped."""
    if isinstance(node, ast.Call):
        for one, two in zip(node.args, node.args[1:], strict=False):
            if not isinstance(one, ast.Starred) and not isinstance(two, ast.Starred) and _name(node) not in _UNORDERED:
                middle = text.raw[text.end(one) : text.start(two)].decode()
                yield text.start(one), text.end(two), text.of(two) + middle + text.of(one)
        given = sorted([*node.args, *node.keywords], key=text.start)
        for i, each in enumerate(given):
            if isinstance(each, ast.keyword) and each.arg:
                yield from text.without(given, given, i)


def element(node: ast.AST, parent: ast.AST, text: Text) -> Iterator[Edit]:
    """An element of a list, set or dict is dropped."""
    match node:
        case ast.List(elts=elts, ctx=ast.Load()) | ast.Set(elts=elts):
            for i in range(len(elts)):
                yield from text.without(elts, elts, i)
        case ast.Dict(keys=keys, values=values):
            for i in range(len(keys)):
                yield from text.without(keys, values, i)


def statement(node: ast.AST, parent: ast.AST, text: Text) -> Iterator[Edit]:
    """A step is dropped: a call for its effect, an addition, a raise, an early return; or break is continue."""
    match node:
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise():
            yield text.whole(node, "pass")
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield text.whole(node, "pass")
        case ast.Return() if isinstance(parent, ast.If | ast.For | ast.While):
            yield text.whole(node, "pass")
        case ast.Break() | ast.Continue():
            yield text.whole(node, "continue" if isinstance(node, ast.Break) else "break")


def sql(node: ast.AST, parent: ast.AST, text: Text) -> Iterator[Edit]:
    """A word of SQL, or one that decides in a comparison, is another."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in _TEXTS:
        yield text.whole(node, f'"{_TEXTS[node.value]}"')
    elif isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        written, begin = text.raw[text.start(node) : text.end(node)], text.start(node)
        if _SQL.search(written.decode()):
            for pattern, new in _WORDS.items():
                for found in re.finditer(pattern.encode(), written):
                    yield begin + found.start(), begin + found.end(), new


Rule = Callable[[ast.AST, ast.AST, Text], Iterator[Edit]]
RULES: dict[str, Rule] = {
    rule.__name__: rule
    for rule in (
        number, flag, compare, arithmetic, term, logic, guard, condition, call, argument, element, statement, sql
    )
}  # fmt: skip
"""The rules by their names; the docstring of each says what it does."""


def _name(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _is_guard(node: Any) -> bool:
    leaves = ast.Raise | ast.Return | ast.Continue | ast.Break
    return isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], leaves)


def _is_type_or_text(node: ast.AST) -> bool:
    """Return whether a change of the operation would only be an error: a type, or a text."""
    if isinstance(node, ast.BinOp):
        return _is_type_or_text(node.left) or _is_type_or_text(node.right)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes | None)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Name) and bool(_TYPE.fullmatch(node.id)))


def _word(operator: ast.boolop, other: bool = False) -> str:
    return "and" if isinstance(operator, ast.And) != other else "or"


# --- where they apply ---


def changes(file: str, raw: bytes) -> list[Change]:
    """Return all changes of a file, in the order of their places."""
    text, found, seen = Text(raw), [], Counter[str]()
    for outermost in ast.parse(raw).body:
        begin, end = text.start(outermost), text.end(outermost)
        known = {_meaning(raw[begin:end])}
        for node, parent, function in _inside(outermost, None, "", text):
            for rule, edits in RULES.items():
                for start, stop, new in edits(node, parent, text):
                    meaning = _meaning(raw[begin:start] + new.encode() + raw[stop:end])
                    if meaning is None or meaning in known:
                        continue
                    known.add(meaning)
                    line = 1 + raw.count(b"\n", 0, start)
                    old = raw[start:stop].decode()
                    key = "\0".join([file, function, rule, text.line(line), old, new])
                    digest = hashlib.sha256(f"{key}\0{seen[key]}".encode()).hexdigest()[:10]
                    seen[key] += 1
                    found.append(Change(digest, file, function, rule, line, start, stop, new))
    return sorted(found, key=lambda each: (each.start, each.end, each.new))


def _inside(node: ast.AST, parent: ast.AST | None, function: str, text: Text) -> Iterator[tuple[ast.AST, Any, str]]:
    """Yield the nodes that may change, each with its parent and the qualified name of its function."""
    children: list[Any] = list(ast.iter_child_nodes(node))
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()) | ast.Assert():
            return
        case ast.FunctionDef() | ast.ClassDef():
            function = f"{function}.{node.name}".lstrip(".")
            if {node.name, function} & _SKIPPED or any("overload" in text.of(each) for each in node.decorator_list):
                return
            defaults = [*node.args.defaults, *node.args.kw_defaults] if isinstance(node, ast.FunctionDef) else []
            children = [*filter(None, defaults), *node.body]
        case ast.Assign(targets=[ast.Name(id=name)]) if name in _SKIPPED or (not function and _TYPE.fullmatch(name)):
            return
        case ast.AnnAssign(target=target):
            if text.of(target) in _SKIPPED:
                return
            children = [node.value] if node.value else []
        case ast.Raise():
            children = []
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return
        case ast.Call(func=func) | ast.Expr(value=ast.Call(func=func)) if _SILENT.search(text.of(func)):
            return
        case ast.JoinedStr():
            children = [each for each in ast.walk(node) if isinstance(each, ast.expr) and _is_placed(each, node, text)]
    yield node, parent, function
    for child in children:
        yield from _inside(child, node, function, text)


def _is_placed(node: ast.AST, whole: ast.JoinedStr, text: Text) -> bool:
    """Return whether a node of an f-string is the outermost expression of its braces, and where Python says it is."""
    held = [each.value for each in ast.walk(whole) if isinstance(each, ast.FormattedValue)]
    if node not in held:
        return False
    try:
        return ast.dump(ast.parse(f"({text.of(node)})", mode="eval").body) == ast.dump(node)
    except (SyntaxError, UnicodeDecodeError):
        return False


def _meaning(source: bytes) -> object:
    """Return what a source compiles to without its line numbers, None if it does not compile."""
    try:
        with warnings.catch_warnings(action="ignore"):  # such as: "is" with a number
            return _plain(compile(source, "", "exec", __future__.annotations.compiler_flag, dont_inherit=True))
    except (SyntaxError, ValueError):
        return None


def _plain(code: CodeType) -> object:
    constants = tuple(
        _plain(each) if isinstance(each, CodeType) else (type(each), repr(each)) for each in code.co_consts
    )
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return code.co_name, code.co_code, code.co_exceptiontable, names, constants
