import io
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from click.testing import CliRunner
from rich.console import Console

from lapwing.cli import demo, floats
from lapwing.cli.main import main
from lapwing.noise.mechanism import LaplaceMechanism

README = (Path(__file__).parents[3] / "README.md").read_text()


def told(folder, *options: str) -> str:
    done = CliRunner().invoke(main, ["demo", "--folder", str(folder), *options])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_demo_tells_the_story(tmp_path):
    folder = tmp_path / "it's a demo"
    for options in ((), ("--fast",)):  # it may be told again
        text = told(folder, *options)
        assert "100,000 invented people" in text
        assert re.search(r"surgery +[\d,]+ +± 2[0-9] +[\d,]+ +(yes|no)", text)
        assert "the same numbers.  ε left: 1\n" in text
        assert "12 of 12 sums are exact" in text
        assert "asks for ε = 1" in text
        assert "has 0.2 left of 2" in text
        assert "ε spent: 1.8 of 2" in text
        assert "\x1b" not in text  # plain where it is not a terminal
    page = (folder / "visits.html").read_text()
    assert "surgery" in page
    assert f"{folder / 'visits.html'} (" in text
    explained = CliRunner().invoke(main, ["explain", str(folder / "visits.toml"), "2"])
    assert "1. Source" in explained.stdout


def test_the_excerpt_in_the_readme_is_what_the_demo_prints(tmp_path, monkeypatch):
    """Line by line, with any noisy number; "…" stands for lines that are left out."""
    monkeypatch.chdir(tmp_path)
    printed = [without_noise(line) for line in told("lapwing-demo").splitlines()]
    (excerpt,) = re.findall(r"^\$ make demo\n(.*?)\n(?=\$ make test|```)", README, re.DOTALL | re.MULTILINE)
    at = 0
    for line in excerpt.splitlines():
        if line.strip() != "…":
            assert without_noise(line) in printed[at:], line
            at += printed[at:].index(without_noise(line)) + 1


def without_noise(line: str) -> str:
    """Return a row of the table without the released numbers, bars and verdicts; any other line as it is."""
    row = re.fullmatch(r"  (\w+) +[\d,]+ +± \d+ +([\d,]+) +\w+ +[\d,.]+ +± [\d.]+ +([\d,.]+) +\w+", line)
    return " ".join(row.groups()) if row else line


def test_on_a_terminal_there_are_frames_and_pauses_and_narrow_ones_hold_all_cells(tmp_path, monkeypatch):
    waited = []
    monkeypatch.setattr(demo, "time", SimpleNamespace(sleep=waited.append))  # threads of others sleep, too
    for width in (80, 120):
        shown = io.StringIO()
        demo.tell(Console(file=shown, force_terminal=True, width=width, highlight=False), tmp_path / "demo")
        text = re.sub(r"\x1b\[[\d;]*m", "", shown.getvalue())
        assert "─────" in text
        assert "…" not in text  # no cell is cut
        assert "maternity" in text
    assert waited == [demo.PAUSE] * 12
    demo.tell(Console(file=io.StringIO(), force_terminal=True, width=80), tmp_path / "demo", fast=True)
    assert waited[12:] == [0] * 6


def test_exact_averages_give_charles_away_and_noisy_ones_do_not():
    shown = io.StringIO()
    demo.subtraction(demo.Tour(Console(file=shown, width=110), 0))
    rows = [line.split() for line in shown.getvalue().splitlines() if re.search(r"(yes|no)$", line)]
    assert [(row[0], row[-2], row[-1]) for row in rows if row[1] == "exact"] == [
        ("4", "80", "yes"),
        ("1,000", "80", "yes"),
    ]
    assert len(rows) == 4


ANSWERS = [(160 + weight) / 4 for weight in range(30, 151)]


def test_numpys_noise_can_always_come_from_the_true_answer_and_rules_out_most_others():
    outputs = np.random.default_rng(5).laplace(60.0, 300.0, 200).tolist()
    left = [floats.possible_with_numpy(output, ANSWERS, 300.0) for output in outputs]
    assert all(60.0 in each for each in left)
    assert sum(map(len, left)) / len(left) < 60  # 121 before
    numbers, found = demo._attack(
        iter(outputs * 9).__next__, lambda output, some: floats.possible_with_numpy(output, some, 300.0), ANSWERS, None
    )
    assert found == [[60.0]] * demo.TRIES
    assert max(numbers) < 40


def test_noise_on_a_grid_rules_out_nothing():
    mechanism = LaplaceMechanism(30, "0.1")
    for _ in range(50):
        assert floats.possible_on_grid(mechanism.release(60.0), ANSWERS, mechanism.grid()) == ANSWERS


def test_a_float_between_the_points_of_the_grid_comes_from_nothing():
    grid = LaplaceMechanism(30, "0.1").grid()
    assert floats.possible_on_grid(60.0 + grid.step / 2, ANSWERS, grid) == []
