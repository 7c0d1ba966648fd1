"""Builds with a fault that a rule made, not a person: ``make generated`` runs a sample of them.

``tests.changes`` makes the faults, in the modules that privacy depends on.  Each mutant is a copy of the package with
one change.  It is tried by the audit, up to the first finding that fails, and by tests: first those of ``make quick``,
then others of ``make test``, which ``tests.reached`` selects.  A mutant counts as killed when a finding or a test
fails, when it cannot be imported, or when it is ended after a time in which the intact build is done several times
over; the summary tells these apart.

What does not run a changed line cannot see the change, so it is left out: ``tests.reached`` measures first which parts
of checks and which tests run which lines.  All others try a mutant that none of them sees, so their order changes
nothing but the time: what sees most in a second comes first.  ``--blind`` counts the mutants that no part of the audit
reaches.  ``--either`` leaves the tests of a mutant out if the audit has seen it, and tells only the two shares that
then are known: that of the audit, and that of both together.

A sample is uniform over all mutants except those of tests/equivalent.toml, which change nothing that is promised.
The first N of a seed are also the first of any larger sample.  Every result is appended to a file at once: a run that
was stopped goes on, and results of another build are not used.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from signal import SIGXCPU
from threading import Lock
from time import monotonic

import click

from lapwing.auditing.tools.certify import least_share, most_share

from .changes import RULES, Change, changes
from .mutants import PACKAGE, audit_words, build, failures, ran
from .reached import Reached, measured

_ENGINE = (
    "cells", "computing", "dialect", "duckdb", "joins", "keys", "look_up", "reading", "records", "row_counts",
    "set_sql", "table", "write_sql",
)  # fmt: skip
_RELEASE = ("bounds", "discover", "pipeline", "recall", "reuse", "rows_per_person")

MODULES = (
    "noise/*.py",
    "sensitivity.py",
    "exact.py",
    "measure/*.py",
    "question/*.py",
    *(f"engine/{name}.py" for name in _ENGINE),
    "plan/*.py",
    *(f"release/{name}.py" for name in _RELEASE),
    "ledger/*.py",
    "source.py",
)
"""The modules that privacy depends on."""

WORDS = frozenset({
    "question/arguments.py", "question/foreign_objects.py", "question/labels.py", "question/noise_levels.py",
    "plan/naming.py", "plan/plots.py", "ledger/lines.py", "ledger/plots.py",
})  # fmt: skip
"""Modules among them that only write advice, names, marks and pictures."""

AFTER = frozenset({
    "measure/adding_up.py", "measure/apportion.py", "measure/hierarchy.py", "measure/linear.py",
    "measure/nonnegative.py", "measure/quotients.py", "measure/rounding.py", "measure/support.py", "measure/tables.py",
    "plan/cell.py", "plan/clipped.py", "plan/left_out.py", "plan/side_by_side.py", "plan/silent.py",
    "plan/strategy.py", "plan/weighing.py", "plan/workload.py", "question/example.py", "ledger/cell.py",
})  # fmt: skip
"""Modules among them that see public parameters and noisy integers alone: what they do wrong is an error, not a leak.

``--after`` takes them in.  Whether bars and tables hold is asked by `coverage` and `worlds`, and by tests of their own.
"""

TESTS = Path(__file__).parent
ROOT = TESTS.parent
EQUIVALENT = TESTS / "equivalent.toml"
KILLERS = ("audit", "tests")
INTACT = "the build as it is"
MEMORY = 12_000_000
"""The kilobytes that one process may write to: a mutant that never stops adding takes no other's.

Space that is only reserved is not counted: the library that draws charts reserves more than there is.
"""

ORDER: tuple[tuple[str, ...], ...] = (
    ("worlds",),
    ("sensitivities", "replay"),
    ("laws", "doors", "identity", "refusals"),
    ("coverage",),
    ("ledgers", "failures"),
    ("sampler", "reading", "canary"),
    ("bound", "timing"),
)
"""The checks, those first that see most faults in a second; those in one line share a process."""

FIRST = {"noise": "sampler", "ledger": "ledgers"}
"""The check whose line comes first for the modules of a folder."""

PROCESSOR = 900
"""The processor seconds that a process may take, several times what the intact build needs for any step."""

SLOW_PROCESSOR = 3600
"""Those of a process that runs slow tests."""

SECONDS = 5400
"""The seconds that one step may take, also on a machine with much else to do."""

TESTS_FIRST = 150
"""So many tests of a mutant run before all others: those that run the fewest lines besides."""

SECONDS_OF_A_TEST = 300
"""The seconds that one test may take: each of the quick ones ends within a few."""


@dataclass(frozen=True)
class Result:
    """What the audit or the tests did with a mutant: it was killed, ended by time, could not start, or survived."""

    id: str
    killer: str
    outcome: str
    told: str
    seconds: float
    build: str

    @property
    def killed(self) -> bool:
        """Whether the fault was seen."""
        return self.outcome != "survived"


def mutants(after: bool = True) -> dict[str, Change]:
    """Return every mutant by its id; without ``after``, those whose module works before the noise, or makes it."""
    files = [file.relative_to(PACKAGE).as_posix() for pattern in MODULES for file in sorted(PACKAGE.glob(pattern))]
    left_out = WORDS if after else WORDS | AFTER
    found = [each for file in files if file not in left_out for each in changes(file, (PACKAGE / file).read_bytes())]
    return {each.id: each for each in found}


def equivalent() -> dict[str, dict[str, str]]:
    """Return the reasons of the mutants that break no promise, by file and id."""
    return tomllib.loads(EQUIVALENT.read_text())


def sample(ids: Iterable[str], number: int, seed: int) -> list[str]:
    """Return so many ids, each as likely as any other: those whose hash with the seed is smallest."""
    return sorted(ids, key=lambda each: hashlib.sha256(f"{seed} {each}".encode()).digest())[:number]


def difference(change: Change) -> str:
    """Return what a change does to its file, as lines with - and +."""
    before = (PACKAGE / change.file).read_bytes()
    lines = [text.decode().splitlines() for text in (before, change.applied(before))]
    return "\n".join([*difflib.unified_diff(*lines, lineterm="", n=0)][3:])


# --- the killers ---


def audited(folder: Path, file: str, parts: Iterable[str]) -> tuple[str, str]:
    """Run parts of checks on the build in a folder, up to the first finding that fails."""
    first, chosen = FIRST.get(file.split("/")[0], ""), sorted(parts)
    for names in sorted(ORDER, key=lambda each: first not in each):
        some = [part for name in names for part in chosen if part.partition("/")[0] == name]
        if not some:
            continue
        words = _limited([sys.executable, "-m", "lapwing", *audit_words(*some)], PROCESSOR)
        status, output, errors = ran(words, folder, folder, SECONDS)
        found, line = failures(output), " ".join(names)
        if status in _ENDED:
            return "time", line
        if found:
            return "killed", ": ".join(found[0])
        if found is None or status:
            return "broken", f"{line}: {_last_line(errors)}"
    return "survived", ""


def tested(folder: Path, tests: Sequence[str], slow: Sequence[str]) -> tuple[str, str]:
    """Run tests on the build in a folder, the quick ones first, up to the first that fails twice.

    The first of the quick ones come first, then the files that they are in, since a test may use what another has
    cached.  A test that fails and then passes is left out: some depend on the clock, or on the load of the machine.
    """
    files, unsure = sorted({test.partition("::")[0] for test in tests}), []
    steps = [each for each in ([*tests[:TESTS_FIRST]], files, [*slow]) if each]
    while steps:
        marker = "slow" if steps[0] == [*slow] else "not slow"
        status, output, errors = _pytest(folder, [*steps[0], *(f"--deselect={each}" for each in unsure)], marker)
        if status in _ENDED or "Timeout (" in errors:
            return "time", _last_line(output)
        if status == 1:
            failed = [line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
            test = failed[0].partition(" ")[2].partition(" - ")[0] if failed else ""
            if not test or test in unsure or _pytest(folder, [test], marker)[0] != 0:
                return "killed", failed[0] if failed else _last_line(output)
            unsure.append(test)
        elif status in (0, 5):  # 5: none is left
            steps.pop(0)
        else:
            return "broken", _last_line(errors) or _last_line(output)
    return "survived", ""


def _pytest(folder: Path, chosen: Sequence[str], marker: str) -> tuple[int | None, str, str]:
    words = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=line", "-m", marker, "-p", "no:cacheprovider"]
    limits = [f"faulthandler_timeout={SECONDS_OF_A_TEST}", "faulthandler_exit_on_timeout=true"]
    (folder / "chosen").write_text("\n".join(chosen))
    words += [f"--basetemp={folder / 'pytest'}", *(f"-o{each}" for each in limits)]
    words = _limited([*words, f"@{folder / 'chosen'}"], SLOW_PROCESSOR if marker == "slow" else PROCESSOR)
    return ran(words, folder, ROOT, SECONDS)


_ENDED = (None, -SIGXCPU)
"""The status of a process that was ended by time: ours, or that of its processor."""


def _limited(words: Sequence[str], processor: int) -> list[str]:
    return ["sh", "-c", f'ulimit -d {MEMORY} && ulimit -S -t {processor} && exec "$@"', "sh", *words]


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]


def run(change: Change | None, killer: str, of: str, reached: Reached) -> Result:
    """Make the build of a change, or the intact one, and let one killer try it."""
    start = monotonic()
    # a test lets other users into the folders of pytest, which it knows by this name
    with tempfile.TemporaryDirectory(prefix="pytest-generated-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if change is None:
            build(folder)
        else:
            build(folder, change.file, change.applied((PACKAGE / change.file).read_bytes()))
        if killer == "audit":
            outcome, told = audited(folder, change.file if change else "", reached.parts(change))
        else:
            outcome, told = tested(folder, reached.tests(change), reached.slow(change))
    seconds = round(monotonic() - start, 1)
    return Result(change.id if change else INTACT, killer, outcome, told[:400], seconds, of)


# --- the results ---


def fingerprints() -> dict[str, str]:
    """Return what the results of each killer depend on, as a hash: the package, and for tests also the tests."""
    own = {TESTS / name for name in ("changes.py", "generated.py", "mutants.py", "reached.py")}
    package, tests = sorted(PACKAGE.rglob("*.py")), sorted({*TESTS.rglob("*.py")} - own)
    return {"audit": _hash(package), "tests": _hash([*package, *tests])}


_NAMES = {"audit": "the audit", "tests": "the quick tests", "slow": "the slow tests"}


def reached(killers: Sequence[str], jobs: int) -> Reached:
    """Return which lines of this build the killers reach; measured once, in a few minutes."""
    of = fingerprints()
    folders = {killer: ROOT / "build" / "reached" / of[killer] for killer in killers}
    if "tests" in folders:
        folders["slow"] = folders["tests"]
    for killer, folder in folders.items():
        if not (folder / killer).exists():
            click.echo(f"measuring which lines are run by {_NAMES[killer]}, in {folder}")
    return Reached({killer: measured(folder, killer, jobs) for killer, folder in folders.items()})


def unreached(known: Mapping[str, Change], reached: Reached) -> str:
    """Return how many mutants no part of the audit reaches, by file and line."""
    lines = Counter((each.file, each.line) for each in known.values() if not reached.parts(each))
    files = Counter({file: sum(n for (name, _), n in lines.items() if name == file) for file, _ in lines})
    told = [f"{sum(lines.values()):,} of {len(known):,} are reached by no part of the audit"]
    for file, number in files.most_common():
        text = (PACKAGE / file).read_text().splitlines()
        told.append(f"{file} {number:,}")
        told += [
            f"  {line:4} {n:3} {text[line - 1].strip()[:100]}"
            for (name, line), n in sorted(lines.items())
            if name == file
        ]
    return "\n".join(told)


def _hash(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.relative_to(ROOT).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def recorded(file: Path, of: Mapping[str, str], earlier: bool) -> dict[tuple[str, str], Result]:
    """Return the results in a file that are of this build; with ``earlier``, also what was killed on another one."""
    results = {}
    for line in file.read_text().splitlines() if file.exists() else []:
        each = Result(**json.loads(line))
        if each.id == INTACT and each.killed:
            continue  # tried again, since nothing can be said about others before it passes
        if each.build == of[each.killer] or (earlier and each.killed):
            results[each.id, each.killer] = each
    return results


def summary(chosen: Mapping[str, Change], results: Mapping[tuple[str, str], Result]) -> str:
    """Return the scores, by folder and in all, and the survivors with their changes."""
    done = {name: [results[name, each] for each in KILLERS if (name, each) in results] for name in chosen}
    lines = [f"{'':12} {'mutants':>8} {'audit':>14} {'tests':>14} {'either':>14}"]
    folders = sorted({_folder(each) for each in chosen.values()})
    for folder in [*folders, "all"]:
        inside = [found for name, found in done.items() if found and folder in ("all", _folder(chosen[name]))]
        tried = [[each for found in inside for each in found if each.killer == killer] for killer in KILLERS]
        shares = [_share(sum(each.killed for each in some), len(some)) for some in tried]
        known = [any(each.killed for each in found) for found in inside if _is_known(found)]
        either = _share(sum(known), len(known))
        lines.append(f"{folder:12} {len(inside):8,} {shares[0]:>14} {shares[1]:>14} {either:>14}")
    lines.append(f"either: {_interval(sum(known), len(known))}")
    for killer in KILLERS:
        some = [each for found in done.values() for each in found if each.killer == killer]
        if some:
            counts, killed = Counter(each.outcome for each in some), sum(each.killed for each in some)
            chosen_ones = all(killer in {each.killer for each in found} for found in done.values() if found)
            lines.append(
                f"{killer}: {_interval(killed, len(some)) if chosen_ones else f'{killed} of the {len(some)} tried'}; "
                f"{counts['time']} were ended by time, {counts['broken']} could not start; "
                f"{sum(each.seconds for each in some) / len(some):.0f} s each"
            )
    checks = Counter(each.told.split(":")[0] for found in done.values() for each in found if _is_seen(each))
    lines.append(
        f"first seen by: {', '.join(f'{name} {number}' for name, number in checks.most_common()) or 'no check'}"
    )
    for name, found in done.items():
        alive = [each.killer for each in found if not each.killed]
        if alive:
            lines.append(f"\n{name} survived {' and '.join(alive)}: {place(chosen[name])}\n{difference(chosen[name])}")
    return "\n".join(lines)


def _is_known(found: Sequence[Result]) -> bool:
    """Return whether one of the killers saw a mutant, or neither of them did."""
    return any(each.killed for each in found) or len(found) == len(KILLERS)


def _interval(killed: int, tried: int) -> str:
    if not tried:
        return "none tried by both"
    low, high = least_share(killed, tried, 0.025), most_share(killed, tried, 0.025)
    return f"{killed / tried:.1%} killed, of all mutants {low:.0%} to {high:.0%} (95 %)"


def _is_seen(result: Result) -> bool:
    return result.killer == "audit" and result.outcome == "killed"


def place(change: Change) -> str:
    """Return where a change is, and its rule."""
    return f"{change.file}:{change.line} {change.function or 'module'} ({change.rule})"


def _folder(change: Change) -> str:
    return change.file.split("/")[0]


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({part / whole:.0%})" if whole else "–"


def table(found: Mapping[str, Change]) -> str:
    """Return how many mutants there are, by module and by rule."""
    counts = Counter((each.file, each.rule) for each in found.values())
    rows = [*sorted({each.file for each in found.values()}), "all"]
    lines = [" ".join([f"{'':24}", *(f"{rule[:6]:>6}" for rule in RULES), f"{'all':>6}"])]
    for row in rows:
        numbers = [sum(n for (file, each), n in counts.items() if row in ("all", file) and each == r) for r in RULES]
        lines.append(" ".join([f"{row:24}", *(f"{each:6,}" for each in [*numbers, sum(numbers)])]))
    return "\n".join([*lines, *(f"{name:10} {rule.__doc__}" for name, rule in RULES.items())])


@click.command()
@click.option("--list", "listed", is_flag=True, help="Count the mutants by module and rule, and run none.")
@click.option("--sample", "number", type=int, default=16, show_default=True, help="Run so many, chosen at random.")
@click.option("--seed", type=int, default=1, show_default=True, help="Another seed chooses others.")
@click.option("--id", "ids", multiple=True, help="Run this mutant, and show what it changes; may be repeated.")
@click.option("--only", default="", metavar="TEXT", help="Only mutants of files with this text in their names.")
@click.option("--audit", "by_audit", is_flag=True, help="Try them by the audit; by both if neither is named.")
@click.option("--tests", "by_tests", is_flag=True, help="Try them by the tests.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Run so many at once.")
@click.option("--earlier", is_flag=True, help="Run again only what survived on an earlier build, or is new.")
@click.option("--either", is_flag=True, help="Run the tests only on what the audit did not see.")
@click.option("--blind", is_flag=True, help="Count those that no part of the audit reaches, by line; run none.")
@click.option("--after", is_flag=True, help="Also modules that see only what is public and the noisy integers.")
@click.option(
    "--results", type=click.Path(dir_okay=False, path_type=Path), default=Path("build/generated.jsonl"),
    show_default=True, help="The file to which results are appended, and from which a run goes on.",
)  # fmt: skip
def main(
    listed: bool, number: int, seed: int, ids: Sequence[str], only: str, by_audit: bool, by_tests: bool, jobs: int,
    earlier: bool, either: bool, blind: bool, after: bool, results: Path,
) -> None:  # fmt: skip
    """Run the audit and the tests on builds with generated faults, and print how many they kill."""
    everything = mutants()
    left_out = {name: reason for reasons in equivalent().values() for name, reason in reasons.items()}
    known = {name: each for name, each in mutants(after).items() if only in each.file}
    if listed:
        click.echo(f"{table(known)}\n{len(left_out)} of them change nothing that is promised: {EQUIVALENT.name}")
        return
    for name in ids:
        if name not in everything:
            raise click.UsageError(f"there is no mutant {name}")
        click.echo(f"{name} {place(everything[name])}\n{difference(everything[name])}\n{left_out.get(name, '')}")
    if blind:
        click.echo(unreached(known, reached(["audit"], jobs)))
        return
    chosen = list(ids) or sample(known.keys() - left_out.keys(), number, seed)
    killers = [name for name, asked in zip(KILLERS, (by_audit, by_tests), strict=True) if asked] or list(KILLERS)
    click.echo(f"{len(chosen)} of {len(known.keys() - left_out.keys()):,} mutants, seed {seed}, into {results}")
    found = _run_all([everything[name] for name in chosen], killers, jobs, results, earlier, either)
    click.echo(summary({name: everything[name] for name in chosen}, found))


def _run_all(
    chosen: Sequence[Change], killers: Sequence[str], jobs: int, file: Path, earlier: bool, either: bool = False
) -> dict[tuple[str, str], Result]:
    """Run what has no result yet, append every result to the file, and return them all."""
    of, lock = fingerprints(), Lock()
    results = recorded(file, of, earlier)
    file.parent.mkdir(parents=True, exist_ok=True)
    found = reached(killers, jobs)

    def one(task: tuple[Change | None, str]) -> None:
        change, killer = task
        result = run(change, killer, of[killer], found)
        with lock, file.open("a") as out:
            out.write(json.dumps(asdict(result), ensure_ascii=False) + "\n")
            results[result.id, killer] = result
        where = INTACT if change is None else f"{change.id} {place(change)}"
        click.echo(f"{result.outcome:8} {killer:5} {result.seconds:6.1f} s  {where}  {result.told[:120]}")

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, [(None, killer) for killer in killers if (INTACT, killer) not in results]))
        for killer in killers:
            if results[INTACT, killer].killed:
                raise click.ClickException(f"{INTACT} fails {killer}, so nothing can be said about others")

        def by_all(change: Change) -> None:
            for killer in killers:
                seen = killer == "tests" and (change.id, "audit") in results and results[change.id, "audit"].killed
                if (change.id, killer) not in results and not (either and seen):
                    one((change, killer))

        list(pool.map(by_all, chosen))
    return results


if __name__ == "__main__":
    main()
