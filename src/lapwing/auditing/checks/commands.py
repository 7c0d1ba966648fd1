"""Commands ask what Python asks: every option is passed on, every charge is held by the cap and the total.

The options come from the definitions of the commands: one without an example here is reported.  Each command runs in a
real process; then Python asks the same of the same ledger, and must get the answer that was printed, at no charge.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from importlib import import_module
from inspect import signature, unwrap
from itertools import islice
from pathlib import Path
from typing import Any

import click
import duckdb

from ...exact import text
from ...ledger.ledger import Ledger
from ...noise.mechanism import LaplaceMechanism
from ...question import query
from ...release.bounds import Bounds, plan_bounds, seen
from ...release.recall import recall
from ...release.rows_per_person import RowsPerPerson, plan_rows_per_person
from ...source import Source
from ..finding import Finding, first_of
from ..room import Room
from ..tools import others
from ..tools.described import DESCRIBED, place

main: Any = import_module("lapwing.cli.main").main
"""The commands.  They lie above the audit, which looks at them from outside."""

SQL = "SELECT k, SUM(x), SUM(y) FROM t GROUP BY k"
OWN_SQL = {
    "no_intervals": "SELECT MEDIAN(x) FROM t",
    "within": "SELECT k, w, COUNT(*) FROM t GROUP BY k, w",
    "rows": "SELECT AVG(x) FROM t",
    "errors": "SELECT COUNT(x) FROM t",
    "rows_per_person": "SELECT COUNT(*), COUNT(DISTINCT p) FROM t",
    "objective": "SELECT k, w, COUNT(*) FROM t GROUP BY CUBE (k, w)",
    "rounded": "SELECT k, w, COUNT(*) FROM t GROUP BY ROLLUP (k, w)",
}
"""What is asked, and what with options that need something else."""

OPTIONS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "epsilon": (("--epsilon", "0.2"), {"epsilon": "0.2"}),
    "delta": (("--delta", "0.0002"), {"delta": "0.0002"}),
    "weights": (("--weight", "x=3", "--weight", "y=1"), {"weights": {"x": 3, "y": 1}}),
    "no_intervals": (("--no-intervals",), {"intervals": False}),
    "analyst": (("--analyst", "ana"), {"analyst": "ana"}),
    "confidence": (("--confidence", "0.8"), {"confidence": "0.8"}),
    "where": (("--where", "x > 1 AND k = 'it''s \"c\" \\ %'"), {"where": "x > 1 AND k = 'it''s \"c\" \\ %'"}),
    "keys_per_person": (("--keys-per-person", "2"), {"keys_per_person": 2}),
    "rows": (("--rows", "50"), {"rows": 50}),
    "simultaneous": (("--simultaneous",), {}),
    "nonnegative": (("--nonnegative",), {}),
    "rounded": (("--nonnegative", "--rounded"), {}),
    "suppress": (("--suppress",), {}),
    "objective": (("--objective", "minimax"), {"objective": "minimax"}),
    "difference": (("--difference", "k=b,a"), {}),
    "ratio": (("--ratio", "k=rest,a"), {}),
    "shares": (("--share",), {}),
    "within": (("--share", "--within", "w"), {}),
    "total": (("--total", "k"), {}),
    "other": (("--other", "the rest"), {}),
    "dry_run": (("--dry-run",), {}),
    "share": (("--share", "0.5"), {"share": "0.5"}),
    "rows_per_person": (("--rows-per-person", "4,9"), {"rows_per_person": 4}),
    "engine": (("--engine", "postgres"), {}),
}
"""For each option of a command that asks a source: how it is given, and the same for Python."""

COMPARED: dict[str, Callable[[Any], Any]] = {
    "difference": lambda made: made.difference(by="k", of="b", to="a"),
    "ratio": lambda made: made.ratio(by="k", of="rest", to="a"),
    "shares": lambda made: made.share(),
    "within": lambda made: made.share(within="w"),
    "total": lambda made: made.total(over="k"),
}
"""What an option that compares groups asks of the release."""

ELSEWHERE = {
    "source": "an argument", "sql": "an argument", "column": "an argument", "entry": "an argument",
    "form": "JSON is read here, and the other formats below", "show_sql": "JSON has the SQL",
    "errors": "instead of --epsilon, below", "output": "below", "force": "below",
}  # fmt: skip
"""Options that are checked in another way, and how."""

BASES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "release": ((SQL, "--epsilon", "{}"), {}),
    "plan": ((SQL, "--epsilon", "{}"), {}),
    "discover": (("u", "--epsilon", "{}", "--delta", "0.0001"), {"delta": "0.0001"}),
    "bounds": (("x", "--epsilon", "{}"), {}),
    "bounds --rows-per-person": (("--rows-per-person", "--epsilon", "{}"), {}),
}
"""For each command that asks: its arguments, with a place for ε, and the options that Python is given."""

OTHERS = {
    "audit": "this audit", "demo": "a made-up table", "error": "public parameters alone", "init": "no ledger",
    "check": "no ledger", "package": "what is recorded: files of the same numbers",
    "sensitivity": "public parameters alone", "noise": "below", "explain": "below", "ledger": "below",
    "plot": "the record alone", "serve": "the verbs of Python", "access": "people, tokens and caps: no question",
    "request": "a server, asked for a cap: no question", "sign-in": "a server: no question",
    "sign-out": "a server: no question", "sources": "a server: no question", "history": "a server: no question",
}  # fmt: skip
"""Other commands, and what they use."""

LEDGER: dict[str, dict[str, str]] = {
    "create": {"epsilon": "3", "delta": "0.1"},
    "total": {"epsilon": "4", "delta": "0.2", "note": "more"},
    "analysts add": {"name": "eve", "cap": "0.5", "note": "new"},
    "analysts cap": {"name": "eve", "cap": "0.7", "note": "higher"},
    "verify": {},
    "head": {},
    "show": {},
    "analysts": {},
}
"""For each command of a ledger, its arguments and options."""

LEDGER_OTHERS = {
    "backup": "a copy, elsewhere", "restore": "a copy, which counts as spent what it lacks",
    "requests": "what people ask for", "requests grant": "a cap, as by analysts cap", "requests decline": "no amount",
}  # fmt: skip
"""Other commands of a ledger, and what they use: none of them charges."""


Line = tuple[str, ...]
Done = list[tuple[int, str]]
"""The statuses of commands, and what they printed."""


@dataclass(frozen=True)
class Prepared:
    """A source and a ledger, and the commands that are run on them."""

    room: Room
    file: Path
    ledger: Path
    steps: list[_Step]
    forms: dict[str, Line]
    refused: list[tuple[Line, str]]
    entries: list[int]

    @property
    def lines(self) -> list[list[Line]]:
        """The commands, by what they are for."""
        options = ("--confidence", "0.7", "--format", "json")
        explain: list[Line] = [("explain", self.file.name, str(each), *options) for each in self.entries]
        forbidden = [line for line, _ in self.refused]
        return [
            [each.line for each in self.steps],
            [*self.forms.values()],
            forbidden,
            explain,
            _ledger_lines(self.ledger),
            [("ledger", self.file.name, "--format", "json")],
        ]

    def run(self) -> list[tuple[int, bytes]]:
        """Run all commands, in other processes."""
        return others.each_command([line for some in self.lines for line in some], self.file.parent)


def prepared(room: Room) -> Prepared:
    """Return the commands, on a new source."""
    folder = room.path("folder")
    folder.mkdir()
    described = DESCRIBED[0]
    file = described.file(place(room, described.ending, folder), folder)
    ledger, steps = Source.open(file).make_ledger(), _steps(file.name)
    ledger.add_analyst("ana", 2)
    first, charged = len(ledger.entries()) + 1, sum(step.charges > 0 for step in steps)
    entries = [first + 8 * i for i in range(charged // 4)]  # charges and answers in turn
    return Prepared(room, file, room.path("ledger"), steps, _forms(file.name), _refused(file.name), entries)


def compared(given: Prepared, ended: Sequence[tuple[int, bytes]]) -> Iterator[Finding]:
    """Yield whether commands pass everything on, print what is recorded, and are held by caps and totals."""
    lost = _lost()
    yield Finding(
        "R2: every command and every option has an example here",
        not lost,
        f"{len(lost)} have none in checks/commands.py, 0 are right{first_of(lost)}.",
    )
    done = iter([(status, printed.decode("utf-8", "replace")) for status, printed in ended])
    asked, formed, forbidden, explained, told, [(_, shown)] = (list(islice(done, len(some))) for some in given.lines)
    source = Source.open(given.file)
    yield _passed_on(source, given.steps, asked)
    yield _other_forms(source, given.file.parent, dict(zip(given.forms, formed, strict=True)))
    yield _held(source, given.steps, [said for _, said in given.refused], forbidden, shown)
    yield _explained(source, given.entries, explained)
    yield from _ledger(given.room, given.ledger, told)


def _lost() -> list[str]:
    """Return the commands and options that have no example, and those that Python has but its example has not."""
    lost = [name for name in main.commands if name not in {*BASES, *OTHERS}]
    for base in BASES:
        name, parameters = base.split(" ")[0], signature(unwrap(_method(base))).parameters
        for option in main.commands[name].params:
            known = str(option.name)
            given = OPTIONS.get(known, ((), {}))[1]
            if known not in {*OPTIONS, *ELSEWHERE} or (known in parameters and known in OPTIONS and known not in given):
                lost.append(f"{option.name} of {name}")
        if "analyst" in parameters and "analyst" not in [option.name for option in main.commands[name].params]:
            lost.append(f"analyst of {name}, which charges")
    ledger = main.commands["ledger"]
    for path, command in _below(ledger):
        options = {str(option.name) for option in command.params} - {"form", "head", "where"}
        if path not in LEDGER_OTHERS and options != set(LEDGER.get(path, {"": ""})):
            lost.append(f"{', '.join(sorted(options)) or 'nothing'} of ledger {path}")
    return lost


def _method(base: str) -> Callable[..., Any]:
    """Return the method of a source that asks what a command asks."""
    name = "rows_per_person" if base.endswith("--rows-per-person") else base
    method: Callable[..., Any] = getattr(Source, name)
    return method


def _below(group: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield the commands of a group, and of the groups in it, with their names."""
    for name, command in getattr(group, "commands", {}).items():
        yield f"{path} {name}".strip(), command
        yield from _below(command, f"{path} {name}".strip())


# --- commands that ask ---


@dataclass(frozen=True)
class _Step:
    """A command, and how Python asks the same; ``charges`` is what the ledger must be charged for it."""

    command: str
    line: tuple[str, ...]
    options: Mapping[str, Any]
    given: str = ""
    charges: Fraction = Fraction(0)

    @property
    def what(self) -> str:
        return f"{self.command} {self.given}".strip()

    @property
    def people(self) -> bool:
        """Whether rows per person are looked for."""
        return "--rows-per-person" in self.line

    def _asked(self, source: Source) -> Callable[..., Any]:
        return source.rows_per_person if self.people else partial(getattr(source, self.command), self.line[2])

    def again(self, source: Source) -> tuple[Any, Any]:
        """Return what Python answers, if anything, and what the command must print."""
        argument = self.line[2]
        if self.given == "rows_per_person":
            plans = [source.plan(argument, **{**self.options, "rows_per_person": k}).to_dict() for k in (4, 9)]
            return None, {"plans": plans}
        if self.command == "plan":
            plan = source.plan(argument, **self.options)
            return None, {**plan.to_dict(), "sql": plan.to_sql("postgres") if self.given == "engine" else plan.sql}
        if self.given == "dry_run" and self.people:
            return None, plan_rows_per_person(source.schema, **self.options).on(source.dialect).to_dict()
        if self.given == "dry_run":
            if self.command == "discover":
                return None, source.plan_keys(argument, **self.options).to_dict()
            rows = seen(plan_bounds(source.schema, argument, **self.options))
            return None, {"source": "t", "column": argument, "epsilon": self.options["epsilon"], "seen": rows}
        made = self._asked(source)(**self.options)
        if self.command == "release":
            made = made.at(simultaneous=self.given == "simultaneous")
            made = made.nonnegative() if self.given == "nonnegative" else made
            made = made.nonnegative(rounded=True) if self.given == "rounded" else made
            made = made.suppressed() if self.given == "suppress" else made
            return made, COMPARED.get(self.given, lambda answer: answer)(made).to_dict()
        some = made.keys if self.command == "discover" else made.found if self.people else made.occupied
        how = partial(made.to_toml, "the rest") if self.given == "other" else made.to_toml
        return made, {**made.to_dict(), "toml": how() if some else None}


def _steps(file: str) -> list[_Step]:
    """Return a command for every option, each with another ε, so that each is charged."""
    steps: list[_Step] = []
    for base, (arguments, usual) in BASES.items():
        command, method = base.split(" ")[0], _method(base)
        asking = {*signature(unwrap(method)).parameters, "dry_run"} if command == "bounds" else None
        known = [
            str(option.name) for option in main.commands[command].params if asking is None or option.name in asking
        ]
        for given in ("", *(name for name in known if name in OPTIONS)):
            epsilon = f"0.0{len(steps) + 10}"
            more, options = OPTIONS.get(given, ((), {}))
            words = (OWN_SQL.get(given, each) if each == SQL else each.format(epsilon) for each in arguments)
            line = (command, file, *words, *more, "--format", "json")
            asked = {**usual, "epsilon": epsilon, **options}
            free = command == "plan" or given == "dry_run"
            steps.append(_Step(command, line, asked, given, Fraction(0) if free else Fraction(asked["epsilon"])))
    error = ("plan", file, OWN_SQL["errors"], "--error", "40", "--format", "json")
    return [*steps, _Step("plan", error, {"error": 40}, "errors")]


def _passed_on(source: Source, steps: Sequence[_Step], done: Done) -> Finding:
    """Compare what each command printed with what Python answers; the analyst is in the entry."""
    wrong = []
    for step, (status, printed) in zip(steps, done, strict=True):
        try:
            shown = json.loads(printed)
        except ValueError:
            wrong.append(f"{step.what} ended with status {status}: {printed[:200]}")
            continue
        made, right = step.again(source)
        names = [name for name in {**shown, **right} if name not in _PASSING and shown.get(name) != right.get(name)]
        if status or names:
            wrong.append(f"{step.what} printed other {', '.join(names) or 'statuses'} than Python")
        if made is None:
            continue
        entry = source.ledger.entry(made.entry)
        if not (made.release if isinstance(made, Bounds) else made).repeated or shown.get("entry") != made.entry:
            wrong.append(f"{step.what} is another question than in Python: {step.options}")
        elif entry is None or (entry.analyst, entry.epsilon) != (step.options.get("analyst"), step.charges):
            wrong.append(f"{step.what} is not charged to {step.options.get('analyst')}, or other than {step.charges}")
    return Finding(
        "R2: every option of a command asks what the same argument asks in Python",
        not wrong,
        f"{len(wrong)} of {len(steps)} commands did not, 0 are right{first_of(wrong)}.",
    )


_PASSING = ("repeated", "recorded_at", "modified_at", "remaining", "remaining_delta", "clipped")
"""What changes when an answer is shown again, or when bounds were found meanwhile."""


def _forms(file: str) -> dict[str, tuple[str, ...]]:
    """Return the same release in every format, printed and written."""
    asked = ("release", file, SQL, "--epsilon", "0.05")
    formats = next(each for each in main.commands["release"].params if each.name == "form").type
    forms = {f"printed as {form}": (*asked, "--format", form) for form in getattr(formats, "choices", ())}
    forms.pop("printed as parquet", None)
    written = {f"written to {name}": (*asked, "--output", name) for name in ("a.csv", "a.json", "a.parquet", "a.html")}
    again = {"written again": (*asked, "--output", "a.csv"), "over it": (*asked, "--output", "a.json", "--force")}
    return {**forms, **written, **again}


def _other_forms(source: Source, folder: Path, done: Mapping[str, tuple[int, str]]) -> Finding:
    """All formats show one recorded answer; a file is not overwritten, unless that is asked for."""
    made = source.release(SQL, epsilon="0.05")
    rows = made.to_csv()
    with duckdb.connect() as connection:
        read = connection.execute(f"FROM read_parquet({query.literal(str(folder / 'a.parquet'))})").fetchall()
    numbers = list(zip(*made.flat().values(), strict=True))
    table = str(made).split("\n\n")[0].splitlines()[1:-2]
    checks = {
        "printed as csv": rows in done["printed as csv"][1],
        "printed as json": json.loads(done["printed as json"][1])["rows"] == made.rows,
        "printed as table": all(line in done["printed as table"][1] for line in table[:-1]),
        "written to a.csv": (folder / "a.csv").read_text() == rows,
        "written to a.json": json.loads((folder / "a.json").read_text())["rows"] == made.rows,
        "written to a.parquet": read == numbers,
        "written again": done["written again"][0] == 2,
        "every other status is 0": not any(status for name, (status, _) in done.items() if name != "written again"),
        "charged once": made.repeated,
    }
    wrong = [name for name, right in checks.items() if not right]
    return Finding(
        "R2: every format shows the recorded answer",
        not wrong,
        f"{len(wrong)} of {len(checks)} are not as recorded, 0 are right{first_of(wrong)}.",
    )


def _refused(file: str) -> list[tuple[tuple[str, ...], str]]:
    """Return commands that the cap, the total or a name forbids, and what they are."""
    refused = []
    for base, (arguments, _) in BASES.items():
        command = base.split(" ")[0]
        for epsilon, more, why in (
            ("1.99", ("--analyst", "ana"), "beyond the cap"),
            ("0.3", ("--analyst", "nobody"), "by an unknown analyst"),
            ("4.9", (), "beyond the total"),
        ):
            if "analyst" in [option.name for option in main.commands[command].params]:
                line = (command, file, *(each.format(epsilon) for each in arguments), *more)
                refused.append((line, f"{base} {why}"))
    return refused


def _held(source: Source, steps: Sequence[_Step], refused: Sequence[str], done: Done, shown: str) -> Finding:
    """What is beyond the cap or the total is refused; what is spent is what was granted, and is shown."""
    granted = [what for what, (status, _) in zip(refused, done, strict=True) if status != 2]
    due = sum((step.charges for step in steps), Fraction(5, 100))
    own = sum((step.charges for step in steps if step.given == "analyst"), Fraction(0))
    spent, capped = source.ledger.spent, source.ledger.budget("ana").spent
    told = json.loads(shown)
    amounts = [told["epsilon"]["spent"], *(each["spent"] for each in told["analysts"])]
    return Finding(
        "L1: every command that charges is held by the analyst's cap and by the total",
        not granted and spent == due and capped == own and len(refused) >= 9 and amounts == [text(due), text(own)],
        f"{len(granted)} of {len(refused)} commands beyond them were not refused, 0 are right{first_of(granted)}; "
        f"ε = {text(spent)} is spent of {text(due)}, {text(capped)} of the cap of {text(own)}; "
        f"{' and '.join(amounts)} is shown.",
    )


def _explained(source: Source, entries: Sequence[int], done: Done) -> Finding:
    """Every entry that ``explain`` shows is the one in the ledger, at every confidence."""
    wrong = []
    for number, (status, printed) in zip(entries, done, strict=True):
        made = source.beside(recall(source.schema, source.ledger, number))  # type: ignore[type-var]
        right = made.to_dict() if isinstance(made, Bounds | RowsPerPerson) else made.at("0.7").to_dict()  # type: ignore[union-attr]
        if status or json.loads(printed)["release"] != json.loads(json.dumps(right)):
            wrong.append(f"entry {number}")
    return Finding(
        "R2: explain shows what the ledger holds",
        not wrong and len(entries) > 3,
        f"{len(wrong)} of {len(entries)} entries differ, 0 are right{first_of(wrong)}.",
    )


# --- commands about a ledger, and noise without one ---


def _ledger_lines(path: Path) -> list[tuple[str, ...]]:
    """Return the commands of a ledger, one that must fail since the head is not in it, and two that draw noise."""
    lines = []
    for name, given in LEDGER.items():
        arguments = [each for key, each in given.items() if _is_argument(name, key)]
        options = [part for key, each in given.items() if not _is_argument(name, key) for part in (f"--{key}", each)]
        lines.append(("ledger", str(path), *name.split(), *arguments, *options, "--format", "json"))
    lines.append(("ledger", str(path), "verify", "--head", "0" * 64, "--format", "json"))
    lines.append(("noise", "1000", "--sensitivity", "3", "--epsilon", "0.5", "--format", "json"))
    return [*lines, ("noise", "--scale", "3/7", "--size", "9", "--format", "json")]


def _ledger(room: Room, path: Path, done: Done) -> Iterator[Finding]:
    """Compare what the commands of a ledger did with the same in Python on another; compare every entry."""
    *told, missing, noisy, drawn = [json.loads(printed) if status == 0 else {} for status, printed in done]
    python = Ledger.open(room.path("ledger"), "3", "0.1")
    python.set_total("4", "0.2", "more")
    python.add_analyst("eve", "0.5", "new")
    python.set_cap("eve", "0.7", "higher")
    opened = Ledger.open(path)
    found, right = ([_plain(entry) for entry in each.entries()] for each in (opened, python))
    said = dict(zip(LEDGER, told, strict=True))
    shown = said["verify"].get("entries") == len(right) and said["head"].get("head") == opened.head
    amounts = [said["show"].get(letter, {}).get("total") for letter in ("epsilon", "delta")]
    amounts += [each.get("total") for each in said["analysts"].get("analysts", ())]
    yield Finding(
        "L1: the commands of a ledger write what Python writes, and show it",
        found == right and shown and amounts == ["4", "0.2", "0.7"],
        f"The entries are {found}, and in Python {right}; the totals and caps shown are "
        f"{', '.join(map(str, amounts))}, 4, 0.2, 0.7 are right.",
    )
    yield Finding(
        "L4: a head that was kept elsewhere is looked for by the command too",
        not missing,
        f"A ledger is {'not ' if not missing else ''}sound for a head that it never had.",
    )
    scales, due = [noisy.get("scale"), drawn.get("scale")], [text(LaplaceMechanism("3", "0.5").scale), "3/7"]
    yield Finding(
        "M1: noise by command has the scale that was asked for",
        scales == due and noisy.get("epsilon") == "0.5" and len(drawn.get("noise", ())) == 9,
        f"The scales are {', '.join(map(str, scales))}, {', '.join(due)} are right.",
    )


def _is_argument(command: str, name: str) -> bool:
    found = dict(_below(main.commands["ledger"]))[command]
    return any(each.name == name and isinstance(each, click.Argument) for each in found.params)


def _plain(entry: Any) -> tuple[Any, ...]:
    return entry.kind, entry.analyst, entry.epsilon, entry.delta, entry.note
