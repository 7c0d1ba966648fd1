"""What ran: statements of functions that were run are told from those that were not."""

import ast
import importlib.util
import sys

from lapwing.auditing.tools.ran import Ran, statements
from lapwing.noise import sampler
from lapwing.noise.entropy import EntropyForTests

TEXT = '''
from typing import Protocol, overload


class Shape(Protocol):
    def area(self) -> int: ...


@overload
def twice(x: int) -> int: ...
def twice(x):
    """Double."""
    y: int
    if x > 3:
        return (
            2
            * x
        )
    while True:
        try:
            return x + x
        except TypeError:
            raise
'''


def module(tmp_path):
    path = tmp_path / "shapes.py"
    path.write_text(TEXT)
    spec = importlib.util.spec_from_file_location("shapes", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_statements_that_take_a_step_are_listed():
    lines = TEXT.splitlines()
    assert [lines[first - 1].strip() for first, _ in statements(ast.parse(TEXT))] == [
        "if x > 3:", "return (", "return x + x", "raise",
    ]  # fmt: skip


def test_what_did_not_run_is_told(tmp_path):
    shapes = module(tmp_path)
    before = sys.gettrace()
    with Ran(shapes) as ran:
        assert shapes.twice(2) == 4
    assert sys.gettrace() is before
    assert ran.missed() == {"shapes": (2, ["15: return (", "23: raise"])}
    assert ran.missed(["raise"]) == {"shapes": (2, ["15: return ("])}
    with Ran(shapes) as ran:
        assert shapes.twice(5) == 10
    assert ran.missed()["shapes"][1] == ["21: return x + x", "23: raise"]


def test_what_a_module_remembers_is_computed_again():
    counts = []
    for _ in range(2):
        with Ran(sampler) as ran:
            sampler.discrete_laplace(7, 4, entropy=EntropyForTests(1))
        counts.append(ran.missed()[sampler.__name__][0])
    assert counts[0] == counts[1]
