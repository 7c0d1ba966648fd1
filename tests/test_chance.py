"""The list of tests that draw at random: its sum, its formulas, and that nobody who draws is missing from it."""

import ast
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

import lapwing as lw
from lapwing.noise.entropy import EntropyForTests

from . import chance, drawn, soak
from .chance import CHANCES, LIMIT
from .drawn import NUMPY, PROCESS, RANDOM, SOURCES, SYSTEM

ROOT = Path(__file__).parents[1]


def test_the_suite_raises_a_false_alarm_in_less_than_one_run_of_a_million():
    assert math.fsum(each.rate for each in CHANCES.values()) < LIMIT
    assert all(each.rate >= 0 and each.reason for each in CHANCES.values())


def test_every_test_of_the_list_exists():
    for file, names in chance._BY_FILE.items():
        tree = ast.parse((ROOT / file).read_text())
        assert set(names) <= {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}, file


def test_every_statistical_test_is_made_once():
    text = "\n".join(path.read_text() for path in (ROOT / "tests/claims").glob("test_*.py"))
    for name in chance.NAMES:
        assert text.count(f'"{name}"') == 1, name


@pytest.mark.parametrize("scale", [0.02, 0.5, 1, 2, 10])
def test_tails_are_those_of_the_law(scale):
    law = lw.DiscreteLaplace(scale)
    for k in (1, 2, 5, 40):
        assert chance.beyond(k, scale) == pytest.approx(law.tail(k - 1), rel=1e-9)
        assert chance.above(k, scale) == pytest.approx(law.tail(k - 1) / 2, rel=1e-9)
        assert chance.far(k / scale) >= law.tail(k - 1)
        assert chance.summed(k, scale) >= law.tail(k - 1)
    assert chance.likeliest(scale) == pytest.approx(law.pmf(0), rel=1e-9)
    for delta, keys in ((1e-8, 2), (1e-12, 1), (1e-3, 5)):
        assert chance.threshold(scale, delta, keys) == law.threshold(delta, keys)
    shown = law.threshold(1e-8, 2)
    assert chance.hidden(shown + 9, scale, 1e-8, 2) == pytest.approx(law.cdf(-10), rel=1e-9)


def test_the_bound_of_a_sum_is_no_lower_than_the_truth_and_not_far_above_it():
    """Of three draws at scale 2, by a convolution of the law."""
    law = np.array([lw.DiscreteLaplace(2).pmf(x) for x in range(-150, 151)])
    three = np.convolve(np.convolve(law, law), law)
    for t in (5, 20, 60):
        truth = 2 * three[450 + t :].sum()
        assert truth <= chance.summed(t, 2, 2, 2) <= 60 * truth


@pytest.mark.parametrize(("n", "p"), [(150, 0.1), (1000, 0.5), (40, 0.01)])
def test_inequalities_are_no_lower_than_the_binomial_law(n, p):
    law = stats.binom(n, p)
    for k in range(math.ceil(n * p) + 1, n + 1, max(1, n // 20)):
        truth, off = float(law.sf(k - 1)), k / n - p
        assert truth <= chance.hoeffding(n, off) * (1 + 1e-9)
        assert truth <= chance.many(n, k, p) * (1 + 1e-9)
        assert truth <= chance.bernstein(k - n * p, n * p * (1 - p), 1) * (1 + 1e-9)


DRAWING = """
import os, random, subprocess, sys
import numpy as np
import pytest
import lapwing as lw
from lapwing.noise.entropy import EntropyForTests

@pytest.fixture(scope="module")
def noise():
    return lw.discrete_laplace(1)

def test_one(): lw.discrete_laplace(1)
def test_array(): lw.discrete_laplace(1, 5)
@pytest.mark.parametrize("x", [1])
def test_parameters(x): lw.laplace(x, sensitivity=1, epsilon=1)
def test_fixture(noise): pass
def test_fixture_again(noise): pass
def test_fork():
    if not os.fork():
        lw.discrete_laplace(1)
        os._exit(0)
    os.wait()
def test_numpy(): np.random.default_rng()
def test_numpy_seed(): np.random.SeedSequence()
def test_random(): random.random()
def test_process(): subprocess.run([sys.executable, "-c", ""])
def test_quiet_entropy(): lw.discrete_laplace(1, 5, entropy=EntropyForTests(1))
def test_quiet_numpy(): np.random.default_rng(1)
def test_quiet_random(): random.Random(1).random()
def test_quiet_process(): subprocess.run(["true"])
def test_fails_first():
    lw.discrete_laplace(1)
    assert False
"""
SOURCE_OF = {
    "one": SYSTEM, "array": SYSTEM, "parameters": SYSTEM, "fixture": SYSTEM, "fixture_again": SYSTEM, "fork": SYSTEM,
    "numpy": NUMPY, "numpy_seed": NUMPY, "random": RANDOM, "process": PROCESS,
}  # fmt: skip


def test_a_test_that_draws_and_is_not_in_the_list_fails(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_it.py").write_text(DRAWING)
    options = ["-p", "tests.drawn", "-p", "no:cacheprovider", "-p", "no:xdist", f"--rootdir={tmp_path}", "-rA"]
    options += ["--basetemp", str(tmp_path / "base")]
    words = [sys.executable, "-m", "pytest", *options, str(tmp_path / "tests")]
    quiet = {name: value for name, value in os.environ.items() if name not in ("CI", "BUILD_NUMBER")}  # no repetitions
    done = subprocess.run(words, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    for name, source in SOURCE_OF.items():
        assert f"tests/test_it.py::test_{name} draws ({SOURCES[source]}) and is not in tests/chance.py" in done.stdout
    assert done.stdout.count("is not in tests/chance.py: state there") == len(SOURCE_OF)
    assert "4 passed" in done.stdout
    assert f"{len(SOURCE_OF) + 1} failed" in done.stdout
    assert "assert False" in done.stdout


CHOOSING = """
import os, random
from pathlib import Path
import numpy as np
import pytest
from hypothesis import given, strategies as st

def say(*seen):
    with Path(os.environ["SAID"]).open("a") as file:
        print(*seen, file=file)

@given(st.integers(), st.floats(), st.sets(st.text()))
def test_given(whole, real, texts): say("given", whole, real, *map(ascii, sorted(texts)))
@pytest.fixture(scope="module")
def shared(): return np.random.default_rng().random(), random.random()
def test_first(shared): say("first", random.random())
def test_numpy(shared): say("numpy", *shared, np.random.default_rng().random(), np.random.default_rng(None).random())
def test_seed(): say("seed", np.random.SeedSequence().generate_state(2))
def test_random(): say("random", random.random())
"""


def test_what_chooses_examples_is_the_same_in_each_run_unless_new_ones_are_searched(tmp_path):
    """In another process with other modules, another hash of texts, and other tests before; each kind has its lines."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_it.py").write_text(CHOOSING)
    (tmp_path / "extra.py").write_text(f"OTHERS = {list(range(10**6, 10**6 + 500))}")

    def said(name, hashed, *more, names=("given", "first", "numpy", "seed", "random"), **search):
        options = ["-p", "tests.conftest", "-p", "no:cacheprovider", "-p", "no:xdist", f"--rootdir={tmp_path}", *more]
        options += [
            "--basetemp",
            str(tmp_path / "base"),
            *(f"{tmp_path}/tests/test_it.py::test_{each}" for each in names),
        ]
        env = {key: value for key, value in os.environ.items() if key not in (drawn.SEARCH, "CI", "BUILD_NUMBER")}
        env |= {"SAID": str(tmp_path / name), "PYTHONHASHSEED": hashed, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
        subprocess.run(
            [sys.executable, "-m", "pytest", *options], cwd=ROOT, env=env | search, capture_output=True, check=False
        )
        lines = (tmp_path / name).read_text().splitlines()
        return {name: [line for line in lines if line.startswith(name)] for name in names}

    once = said("once", "1")
    assert [len(lines) for lines in once.values()] == [100, 1, 1, 1, 1]
    assert len(set(once["numpy"][0].split())) == 5, "a name and four numbers"
    assert said("again", "2", "-p", "extra", names=("random", "numpy", "seed", "first", "given")) == once
    new = said("new", "1", **{drawn.SEARCH: "1"})
    assert all(new[name] != once[name] for name in once)


UNSEEDED = {"Random", "SystemRandom", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64", "RandomState"}
NAMED_BY_CHANCE = {"tests/tables.py", "tests/conftest.py", "tests/unit/engine/test_formats.py"}
"""Files that draw names of tables and files; tests/chance.py lists the tests of others that draw bytes."""


def test_no_test_chooses_examples_by_what_no_seed_reaches():
    for path in sorted((ROOT / "tests").glob("**/*.py")):
        name = str(path.relative_to(ROOT))
        for each in ast.walk(ast.parse(path.read_text())):
            if isinstance(each, ast.Call):
                called = getattr(each.func, "attr", getattr(each.func, "id", None))
                own = {word.arg for word in each.keywords}
                assert each.args or own or called not in UNSEEDED, (name, each.lineno)
                assert called != "settings" or not own & {"derandomize", "database"}, (name, each.lineno)
                if called in ("urandom", "uuid4"):
                    assert name in NAMED_BY_CHANCE | set(chance._BY_FILE), (name, each.lineno)
            if isinstance(each, ast.ImportFrom) and each.module in ("random", "secrets", "numpy.random"):
                assert {one.name for one in each.names} <= {"Random"}, (name, each.lineno)


@pytest.mark.parametrize("run", [1, 2])
def test_frozen_noise_is_the_same_in_every_test(run, frozen_noise):
    assert lw.discrete_laplace(10, 5).tolist() == lw.discrete_laplace(10, 5, entropy=EntropyForTests(1)).tolist()
    assert np.random.default_rng().random() == np.random.default_rng(1).random()


def test_soak_shares_the_time_among_tests():
    seconds = {"quick": 0.01, "middle": 1.0, "slow": 50.0}
    times = soak.rounds_of(seconds, 200, 300.0)
    assert times["quick"] == 200
    assert times["quick"] > times["middle"] > times["slow"] >= 1
    assert sum(times[name] * each for name, each in seconds.items()) <= 300
    assert soak.rounds_of(seconds, 200, 1e6) == dict.fromkeys(seconds, 200)
    assert soak.rounds_of(seconds, 200, 0.0) == dict.fromkeys(seconds, 1)
    found = list(soak.turns(times, 200))
    assert found[-1][0] == 200
    for name, own in times.items():
        assert 1 + sum(due.get(name, 0) for _, due in found) == own


def test_soak_shares_tests_among_processes():
    tests = [*(f"tests/t.py::{i}" for i in range(9)), *(f"tests/engines/test_spark.py::{name}" for name in "ab")]
    parts = soak.split(dict.fromkeys(tests, 3), dict.fromkeys(tests, 1.0), 2)
    assert sorted(test for part in parts for test in part) == sorted(tests)
    assert {times for part in parts for times in part.values()} == {3}
    assert [sum("spark" in test for test in part) for part in parts] in ([2, 0], [0, 2])
    assert soak.split({tests[0]: 1}, {tests[0]: 1.0}, 4) == [{tests[0]: 1}]


SELDOM = """
from pathlib import Path
import pytest
@pytest.fixture
def fresh():
    return []
@pytest.mark.parametrize("x", [1, 2])
def test_good(x, fresh):
    fresh.append(x)
    assert fresh == [x]
def test_seldom(tmp_path):
    assert not list(tmp_path.iterdir())
    (tmp_path / "x").write_text("")
    with Path("runs").open("a") as file:
        file.write("x")
    assert len(Path("runs").read_text()) % 3, "the third run"
"""


def soaked(folder, monkeypatch, *names):
    (folder / "test_it.py").write_text(SELDOM)
    monkeypatch.setattr(soak, "REPOSITORY", folder)
    monkeypatch.setattr(soak, "CHANCES", {f"test_it.py::{name}": chance.never("") for name in names})
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "src")]))
    return CliRunner().invoke(soak.main, ["--rounds", "7", "--jobs", "1", "--minutes", "5"])


def test_soak_repeats_tests_and_counts_failures(tmp_path, monkeypatch):
    done = soaked(tmp_path, monkeypatch, "test_good", "test_seldom")
    assert done.exit_code == 1
    assert "7 rounds of 2 tests" in done.output
    assert "21 runs, 2 failures" in done.output
    assert "test_it.py::test_seldom failed 2 times in 7 runs" in done.output
    assert "the third run" in done.output
    done = soaked(tmp_path, monkeypatch, "test_good")
    assert done.exit_code == 0
    assert "14 runs, 0 failures" in done.output
    done = soaked(tmp_path, monkeypatch, "test_gone")
    assert done.exit_code == 1
    assert "pytest ended with 4" in done.output
