"""The faults that rules make, and how they are run: `make generated` runs a sample of them."""

import ast
import json
import signal
import sys
from itertools import pairwise
from time import monotonic

import pytest
from coverage import CoverageData

from lapwing.auditing.audit import CHECKS

from . import generated
from .changes import RULES, changes
from .generated import INTACT, MODULES, ORDER, WORDS, Result, equivalent, recorded, sample, summary
from .mutants import PACKAGE, build, failed_findings, ran
from .reached import Reached, parts, statement_lines

MADE = {
    "number": ("x = 3", {"x = 4", "x = 2", "x = 0", "x = 6"}),
    "flag": ("f(strict=True)", {"f(strict=False)"}),
    "compare": ("x = a < b", {"x = a <= b", "x = a >= b"}),
    "arithmetic": ("x = a // b", {"x = a / b", "x = a * b"}),
    "term": ("x = a + b", {"x = (a)", "x = (b)"}),
    "logic": ("x = a and b", {"x = ((b))", "x = ((a))", "x = ((a) or (b))"}),
    "guard": ("def f(x):\n    if x:\n        raise E\n    return x", {"def f(x):\n    pass\n    return x"}),
    "condition": ("x = [i for i in y if i]", {"x = [i for i in y if True]"}),
    "call": ("x = max(sorted(y))", {"x = min(sorted(y))", "x = max(list(y))"}),
    "argument": ("f(a, b, c=d)", {"f(b, a, c=d)", "f(a, b)"}),
    "element": ("x = {1: a, 2: b}", {"x = {2: b}", "x = {1: a}"}),
    "statement": ("def f(x):\n    check(x)\n    return x", {"def f(x):\n    pass\n    return x"}),
    "sql": ('x = f"SUM({y}) AND z <= 1"', {'x = f"MAX({y}) AND z <= 1"', 'x = f"SUM({y}) OR z <= 1"',
                                           'x = f"SUM({y}) AND z < 1"'}),
}  # fmt: skip


def made(source, rule=None):
    raw = source.encode()
    return {each.applied(raw).decode() for each in changes("a.py", raw) if rule in (None, each.rule)}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_changes_what_it_says(rule):
    source, expected = MADE[rule]
    assert made(source, rule) == expected


TEXT = """
LIMIT = 3


def f(x):
    if (
        x > LIMIT
    ):
        return [
            x
        ]
    return 0
"""


@pytest.mark.parametrize(
    ("line", "expected"), [(2, range(2, 3)), (7, range(6, 9)), (10, range(9, 12)), (12, range(12, 13))]
)
def test_the_lines_of_a_statement_are_those_without_its_body(line, expected):
    assert statement_lines(TEXT, line) == expected


def test_the_parts_of_all_checks_are_known():
    found = parts()
    assert {each.partition("/")[0] for each in found} == set(CHECKS)
    assert len(found) == len(set(found)) > 100


@pytest.mark.parametrize(
    "source",
    [
        '"""Says 3 < 4."""\nimport x',
        "def f(x: int | None = None) -> list[int | str]: ...",
        "def f(x):\n    raise E(3 + x)",
        "def __repr__(self):\n    return 3 + 4",
        "Key = str | int",
        "@dataclass(frozen=True)\nclass A:\n    x: int",
        "progress(1 / 3)",
        "if TYPE_CHECKING:\n    x = 3",
        "x = 'seven and eight'",
    ],
)
def test_what_is_for_people_or_for_tools_stays(source):
    assert made(source) - {source.replace("raise E(3 + x)", "pass")} == set()


def test_changes_compile_differ_and_leave_the_rest_as_it_is():
    file = "engine/write_sql.py"
    raw = (PACKAGE / file).read_bytes()
    found = changes(file, raw)
    assert {each.rule for each in found} >= set(RULES) - {"flag"}
    texts = {each.applied(raw) for each in found}
    assert raw not in texts
    assert len(texts) == len({each.id for each in found}) == len(found)
    for each in found[::20]:
        ast.parse(each.applied(raw))
        assert each.applied(raw).startswith(raw[: each.start])
        assert each.applied(raw).endswith(raw[each.end :])


def test_an_operation_inside_an_f_string_and_a_non_ascii_text_is_found():
    assert 'x = f"ε {a - b}"' in made('x = f"ε {a + b}"')
    assert 'x = "ε", a - b' in made('x = "ε", a + b')


def test_changes_with_the_same_meaning_are_made_once():
    assert len(made("def f(x):\n    if x:\n        return 1\n    return 2", "condition")) == 1  # never is the guard's


def test_ids_survive_edits_elsewhere_and_tell_equal_lines_apart():
    before = "def f(a):\n    x = a + 1\n    x = a + 1\n    return x\n"
    after = f"import y\n\n\ndef g(b):\n    return b * 2\n\n\n{before}"
    ids = [each.id for each in changes("a.py", before.encode())]
    assert len(set(ids)) == len(ids)
    assert set(ids) <= {each.id for each in changes("a.py", after.encode())}
    assert not set(ids) & {each.id for each in changes("b.py", before.encode())}


def test_a_sample_is_reproducible_and_part_of_a_larger_one():
    ids = [f"{i:010x}" for i in range(1000)]
    assert sample(ids, 20, 1) == sample(reversed(ids), 20, 1) == sample(ids, 50, 1)[:20]
    assert sample(ids, 20, 1) != sample(ids, 20, 2)
    assert len(set(sample(ids, 2000, 1))) == 1000


def test_every_module_is_there():
    assert all(list(PACKAGE.glob(pattern)) for pattern in MODULES)
    assert all((PACKAGE / file).is_file() for file in WORDS)


def test_equivalent_mutants_are_mutants_and_have_a_reason():
    for file, reasons in equivalent().items():
        ids = {each.id for each in changes(file, (PACKAGE / file).read_bytes())}
        assert set(reasons) <= ids, f"{file}: {set(reasons) - ids} are gone"
        assert all(len(reason) > 20 for reason in reasons.values())


def test_a_build_has_the_change_and_no_compiled_file_of_the_text_before(tmp_path):
    build(tmp_path, "exact.py", b"changed = 1\n")
    assert (tmp_path / "lapwing" / "exact.py").read_text() == "changed = 1\n"
    assert not list((tmp_path / "lapwing" / "__pycache__").glob("exact.*"))
    assert (tmp_path / "lapwing" / "source.py").read_bytes() == (PACKAGE / "source.py").read_bytes()


def test_a_command_is_ended_with_all_that_it_started(tmp_path):
    start = monotonic()
    status, output, _ = ran(["sh", "-c", "echo begun; sleep 60 & sleep 60"], tmp_path, tmp_path, 0.5)
    assert (status, output) == (None, "begun\n")
    assert monotonic() - start < 30


def _audit(*findings):
    told = [{"what": what, "passed": passed, "told": "5 of 4"} for what, passed in findings]
    return json.dumps({"checks": [{"check": "laws", "findings": told}]})


def test_findings_that_fail_are_read():
    assert failed_findings(_audit(("a", True), ("b", False))) == ["b: 5 of 4"]
    assert failed_findings(_audit(("a", True))) == []
    assert failed_findings("Traceback") is None


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        ([(0, _audit(("a", True)), "")] * len(ORDER), "survived"),
        ([(0, _audit(("a", True)), ""), (1, _audit(("b", False)), "")], "killed"),
        ([(None, "", "")], "time"),
        ([(-signal.SIGXCPU, "", "")], "time"),
        ([(1, "", "ImportError: x")], "broken"),
    ],
)
def test_the_audit_is_run_up_to_the_first_finding_that_fails(monkeypatch, tmp_path, answers, outcome):
    left, names = list(answers), []
    monkeypatch.setattr(generated, "ran", lambda words, *_: names.extend(_named(words)) or left.pop(0))
    parts = [f"{name}/{part}" for name in CHECKS for part in ("one", "two")]
    assert generated.audited(tmp_path, "ledger/ledger.py", parts)[0] == outcome
    assert not left
    assert names[:2] == ["ledgers/one", "ledgers/two"]
    assert outcome != "survived" or sorted(names) == sorted(parts)


def test_what_does_not_run_a_changed_line_does_not_try_it(monkeypatch, tmp_path):
    monkeypatch.setattr(generated, "ran", lambda *_: pytest.fail("something was run"))
    assert generated.audited(tmp_path, "ledger/ledger.py", ()) == ("survived", "")
    assert generated.tested(tmp_path, (), ()) == ("survived", "")


def _named(words):
    return [name for word, name in pairwise(words) if word == "--only"]


def test_every_check_is_in_the_order_once():
    assert sorted(name for names in ORDER for name in names) == sorted(CHECKS)


def test_a_process_that_computes_for_too_long_is_ended(monkeypatch, tmp_path):
    monkeypatch.setattr(generated, "PROCESSOR", 1)
    words = generated._limited([sys.executable, "-c", "while True: pass"], 1)
    assert ran(words, tmp_path, tmp_path, 60)[0] == -signal.SIGXCPU


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        ([(0, "", ""), (0, "", "")], "survived"),
        ([(5, "", ""), (1, "FAILED tests/a.py::b - x\n", ""), (1, "", "")], "killed"),
        ([(0, "", ""), (1, "FAILED tests/a.py::b - x\n", ""), (0, "", ""), (0, "", "")], "survived"),
        ([(1, "", "Timeout (0:02:00)!\n")], "time"),
        ([(None, "", "")], "time"),
        ([(4, "", "ImportError while loading conftest\n")], "broken"),
    ],
)
def test_the_tests_that_run_a_line_come_first_and_then_their_files(monkeypatch, tmp_path, answers, outcome):
    left, chosen = list(answers), []

    def ran(*_):
        chosen.append((tmp_path / "chosen").read_text().splitlines())
        return left.pop(0)

    monkeypatch.setattr(generated, "ran", ran)
    assert generated.tested(tmp_path, ["tests/a.py::b", "tests/c.py::d"], [])[0] == outcome
    assert not left
    assert chosen[0] == ["tests/a.py::b", "tests/c.py::d"]
    assert all(words[:2] == ["tests/a.py", "tests/c.py"] for words in chosen[1:2])
    assert all(words == ["tests/a.py::b"] for words in chosen[2:3])
    assert all(words[-1] == "--deselect=tests/a.py::b" for words in chosen[3:])


def test_slow_tests_come_last(monkeypatch, tmp_path):
    steps = []

    def ran(words, *_):
        steps.append((words[words.index("-m", 8) + 1], (tmp_path / "chosen").read_text().splitlines()))
        return 0, "", ""

    monkeypatch.setattr(generated, "ran", ran)
    assert generated.tested(tmp_path, ["tests/a.py::b"], ["tests/c.py::d"])[0] == "survived"
    assert steps == [("not slow", ["tests/a.py::b"]), ("not slow", ["tests/a.py"]), ("slow", ["tests/c.py::d"])]


def test_a_run_goes_on_where_it_was_stopped_and_an_intact_build_must_pass(monkeypatch, tmp_path):
    monkeypatch.setattr(generated, "fingerprints", lambda: {"audit": "now", "tests": "now"})
    monkeypatch.setattr(generated, "reached", lambda killers, jobs: None)
    tried = []

    def run(change, killer, of, reached):
        tried.append(change and change.id)
        return Result(change.id if change else INTACT, killer, "killed" if change else "survived", "", 1.0, of)

    monkeypatch.setattr(generated, "run", run)
    chosen, file = changes("a.py", b"x = 3\n"), tmp_path / "results" / "a.jsonl"
    generated._run_all(chosen[:2], ["audit"], 1, file, False)
    generated._run_all(chosen, ["audit"], 2, file, False)
    assert tried == [None, *(each.id for each in chosen)]
    monkeypatch.setattr(generated, "run", lambda *_: Result(INTACT, "tests", "killed", "", 1.0, "now"))
    with pytest.raises(generated.click.ClickException, match="the build as it is fails tests"):
        generated._run_all(chosen, ["tests"], 1, file, False)


def test_the_tests_of_what_the_audit_has_seen_may_be_left_out(monkeypatch, tmp_path):
    monkeypatch.setattr(generated, "fingerprints", lambda: {"audit": "now", "tests": "now"})
    monkeypatch.setattr(generated, "reached", lambda killers, jobs: None)
    chosen = changes("exact.py", (PACKAGE / "exact.py").read_bytes())[:2]
    tried = []

    def run(change, killer, of, reached):
        tried.append((change and change.id, killer))
        return Result(
            change.id if change else INTACT, killer, "killed" if change is chosen[0] else "survived", "", 1, of
        )

    monkeypatch.setattr(generated, "run", run)
    results = generated._run_all(chosen, ["audit", "tests"], 1, tmp_path / "a.jsonl", False, True)
    first, second = (each.id for each in chosen)
    assert tried[2:] == [(first, "audit"), (second, "audit"), (second, "tests")]
    told = summary({each.id: each for each in chosen}, results)
    assert "either: 50.0% killed, of all mutants 1% to 99% (95 %)" in told
    assert "tests: 0 of the 1 tried" in told


def test_what_runs_a_line_is_known_from_coverage(tmp_path):
    file = str(tmp_path / "lapwing" / "exact.py")
    lines = (PACKAGE / "exact.py").read_text().splitlines()
    changed = next(each for each in changes("exact.py", (PACKAGE / "exact.py").read_bytes()) if each.function)
    other = next(i for i, line in enumerate(lines, 1) if line.startswith("from fractions"))
    for killer, contexts in (
        ("audit", {"laws/noise": changed.line, "laws/shares": other}),
        ("tests", {"a.py::b|run": changed.line, "a.py::c|setup": changed.line, "a.py::d|run": other}),
        ("slow", {"e.py::f|run": changed.line, "e.py::g|run": other}),
    ):
        data = CoverageData(str(tmp_path / killer))
        for context, line in contexts.items():
            data.set_context(context)
            data.add_lines({file: [line]})
        data.set_context({"audit": "laws/shares", "tests": "a.py::c|run", "slow": "e.py::g|run"}[killer])
        data.add_lines({file: [other]})
        data.write()
    found = Reached(dict.fromkeys(("audit", "tests", "slow"), tmp_path))
    assert found.parts(changed) == {"laws/noise"}
    assert found.tests(changed) == ["a.py::b", "a.py::c"]
    assert found.tests(None) == ["a.py::b", "a.py::d", "a.py::c"]
    assert (found.slow(changed), found.slow(None)) == (["e.py::f"], [])
    assert "are reached by no part of the audit" in generated.unreached({changed.id: changed}, found)


def test_results_of_another_build_count_only_if_asked_and_killed(tmp_path):
    file = tmp_path / "a.jsonl"
    results = [
        Result("a", "audit", "killed", "", 1.0, "before"),
        Result("b", "audit", "survived", "", 1.0, "before"),
        Result("c", "audit", "survived", "", 1.0, "now"),
        Result(INTACT, "audit", "time", "", 1.0, "now"),
    ]
    file.write_text("".join(json.dumps(vars(each)) + "\n" for each in results))
    of = {"audit": "now", "tests": "now"}
    assert [name for name, _ in recorded(file, of, False)] == ["c"]
    assert [name for name, _ in recorded(file, of, True)] == ["a", "c"]


def test_the_summary_has_shares_and_survivors(monkeypatch):
    one, two, *_ = changes("exact.py", (PACKAGE / "exact.py").read_bytes())
    results = {
        (one.id, "audit"): Result(one.id, "audit", "survived", "", 3.0, ""),
        (one.id, "tests"): Result(one.id, "tests", "killed", "", 3.0, ""),
        (two.id, "audit"): Result(two.id, "audit", "killed", "laws: a: b", 5.0, ""),
        (two.id, "tests"): Result(two.id, "tests", "killed", "", 3.0, ""),
    }
    told = summary({one.id: one, two.id: two}, results)
    assert "all                 2        1 (50%)       2 (100%)       2 (100%)" in told
    assert "audit: 50.0% killed, of all mutants 1% to 99% (95 %); 0 were ended by time, 0 could not start; 4 s" in told
    assert "first seen by: laws 1\n" in told
    assert "either: 100.0% killed, of all mutants 16% to 100% (95 %)" in told
    assert f"{one.id} survived audit: exact.py:" in told
    assert f"{two.id} survived" not in told
