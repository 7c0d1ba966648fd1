"""Refusals are true sentences, and are made when something is refused, never in advance."""

import ast
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner

import lapwing as lw
from lapwing import errors
from lapwing.cli.main import main
from lapwing.measure.measurement import Exact


@pytest.fixture
def made(monkeypatch):
    """The names of the errors of Lapwing that are made while the test runs."""
    names = []

    def note(error, *details):
        names.append(type(error).__name__)

    monkeypatch.setattr(errors.LapwingError, "__init__", note)
    return names


@pytest.fixture
def visits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text("person,ward,cost,age\n1,A,10.5,30\n2,B,20,70\n3,A,5,45\n")
    (tmp_path / "visits.toml").write_text(
        'table = "visits.csv"\nperson = "person"\nrows_per_person = 1\nepsilon = "10"\n'
        '[columns.ward]\nkeys = ["A", "B"]\n[columns.cost]\nlow = 0\nhigh = 100\n'
        '[columns.age]\ntype = "integer"\nlow = 0\nhigh = 120\nedges = [0, 18, 65, 120]\n'
    )


def test_a_release_that_is_granted_makes_no_error(visits, made, frozen_noise):
    sql = "SELECT ward, COUNT(*), AVG(cost) FROM visits WHERE age >= 18 GROUP BY ward"
    for epsilon in ("1", "2", "2"):  # on a new ledger, on one that is there, and once more
        asked = CliRunner().invoke(main, ["release", "visits.toml", sql, "--epsilon", epsilon, "--format", "json"])
        assert asked.exit_code == 0, asked.output
        assert len(json.loads(asked.stdout)["rows"]) == 2
    assert made == []


def test_an_error_that_is_raised_is_seen(visits, made):
    assert (
        CliRunner().invoke(main, ["release", "visits.toml", "SELECT COUNT(*) FROM visits", "--epsilon", "0"]).exit_code
    )
    assert made


def test_no_value_is_invented_for_a_message():
    """The first thing that InvalidParameter is given is what was asked, and not a text of ours."""
    invented = []
    for file in Path(lw.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "InvalidParameter":
                asked = node.args[0]
                if isinstance(asked, ast.Constant | ast.JoinedStr):
                    invented.append((file.name, ast.unparse(asked)))
    assert invented == []


SOURCE = lw.Source(
    pd.DataFrame({"x": [1], "key": ["a"]}),
    name="t",
    columns={"x": lw.number(0, 10), "key": lw.keys("a", "b")},
    epsilon=1,
)
NOTHING = "No noise was drawn and nothing was charged."


@pytest.mark.parametrize(
    ("ask", "kind", "message"),
    [
        (
            lambda: SOURCE.plan(lw.count(), epsilon=1, error=5),
            errors.ConflictingParameters,
            f"epsilon and error were both given, and only one of them is possible. {NOTHING} Give ε to learn the "
            "error, or the error to learn ε.",
        ),
        (
            lambda: SOURCE.plan("SELECT COUNT(*) FROM t", where="x > 1", epsilon=1),
            errors.ConflictingParameters,
            f"SQL and where were both given, and only one of them is possible. {NOTHING} Put it into the SQL, as GROUP "
            "BY or WHERE.",
        ),
        (
            lambda: lw.number(0, 9, edges=[0, 5, 9], keys=[1, 2]),
            errors.ConflictingParameters,
            f"keys and edges were both given, and only one of them is possible. {NOTHING} Give the keys to group by, "
            "or the edges of bins.",
        ),
        (
            lambda: SOURCE.plan(lw.count()),
            errors.MissingParameter,
            f"Nothing was given for epsilon. {NOTHING} Give the ε of the release, or an error to learn the ε that "
            "it needs.",
        ),
        (
            lambda: SOURCE.plan(epsilon=1),
            errors.MissingParameter,
            f"Nothing was given for statistics. {NOTHING} Ask for one or more, such as lw.count().",
        ),
        (
            lambda: lw.number(0, 9, edges=[]),
            errors.MissingParameter,
            f"Nothing was given for edges. {NOTHING} Give two or more numbers in rising order, such as 0, 18, 65, 120.",
        ),
        (
            lambda: lw.number(0, 9, edges=[3, 2]),
            errors.InvalidParameter,
            "edges = 3, 2 was asked; edges is two or more numbers in rising order, such as 0, 18, 65, 120. " + NOTHING,
        ),
        (
            lambda: lw.quantile("x", []),
            errors.MissingParameter,
            f"Nothing was given for q. {NOTHING} Give one share or more, such as 0.5 for the median.",
        ),
        (
            lambda: lw.quantile("x", [0.1, 0.9], name="tails"),
            errors.UselessParameter,
            f"name was given, but q is a list, and each quantile needs its own. {NOTHING} Ask for each separately.",
        ),
        (
            lambda: SOURCE.plan(lw.count(), weights={"x": 2}, epsilon=1),
            errors.UselessParameter,
            f'A weight for "x" was given, but no statistic is about that column. {NOTHING} Give weights for columns '
            "that the statistics are about.",
        ),
        (
            lambda: SOURCE.plan(5, epsilon=1),
            errors.InvalidParameter,
            f"statistic = 5 was asked; statistic is what lw.count(), lw.mean(…) and so on return. {NOTHING}",
        ),
        (
            lambda: SOURCE.plan(lw.count(), by=5, epsilon=1),
            errors.InvalidParameter,
            f'by = 5 was asked; by is the name of a column, such as "ward", or several. {NOTHING}',
        ),
        (
            lambda: SOURCE.plan(lw.count(), where=object(), epsilon=1),
            errors.InvalidParameter,
            'where = an object was asked; where is a text of SQL, such as where="age >= 65"; not an expression '
            f"or a list of rows. {NOTHING}",
        ),
        (
            lambda: SOURCE.plan(lw.count(), error={1: 2}),
            errors.InvalidParameter,
            f"name in error = 1 was asked; name in error is that of a statistic. {NOTHING}",
        ),
        (
            lambda: lw.number("0.2", "0.8", integer=True),
            errors.InvalidBounds,
            'Bounds "0.2" to "0.8" were asked; bounds of an integer column hold two or more whole numbers, and are at '
            f"most 2^53 in size. {NOTHING} Take bounds from what the column means, never from the data.",
        ),
        (
            lambda: lw.number(0, 9, keys=["a"]),
            errors.InvalidRequest,
            f"The keys of a number are of the type text. {NOTHING} Give whole numbers, or declare lw.keys(…).",
        ),
        (
            lambda: lw.Source("mysql://me:4711@h/x", name="t", columns={}),
            errors.InvalidAddress,
            f"The address of the table cannot be used; it is not shown, since it may hold a password. {NOTHING} Give "
            "the path of a file, or what begins with postgresql://, spark: or sc://.",
        ),
        (
            lambda: lw.audit_mechanism(lambda x: x, 1, 1, 1),
            errors.InvalidRequest,
            f"x and y are the same input. {NOTHING} Give two inputs that differ, and are neighbors.",
        ),
        (
            lambda: lw.audit("laws", engine="spark"),
            errors.UselessParameter,
            f"engine was given, but none of these checks looks at engines. {NOTHING} Leave it out, or run one of "
            "sensitivities, replay, failures.",
        ),
        (
            lambda: lw.audit_function(len, [], 1),
            errors.MissingParameter,
            f"Nothing was given for domain. {NOTHING} Give a list of the rows that may occur, a column with bounds or "
            "keys (lw.number(0, 100), lw.keys(…)), or a mapping from names to these.",
        ),
        (
            lambda: lw.audit_function(len, [1], 1, "change_one"),
            errors.InvalidRequest,
            f'domain has one row, and with neighbors="change_one" a row is exchanged for another. {NOTHING} Give two '
            "or more rows that may occur.",
        ),
        (
            lambda: lw.audit_function(len, [1, 2], 1, rows=[0]),
            errors.InvalidRequest,
            f"rows holds no number from 1 on. {NOTHING} Give a whole number from 1 on, or several such as range(1, 9).",
        ),
        (
            lambda: lw.epsilon_for("1e-9", 10),
            errors.OutOfReach,
            f'An error of "1e-9" was asked; even ε = 1000 does not reach it. {NOTHING} Ask for a larger error, or for '
            "more people than n = 10.",
        ),
        (
            lambda: lw.sensitivity.mean(0, 1, neighbors="change_one"),
            errors.MissingParameter,
            f'Nothing was given for n. {NOTHING} Give the number of rows, which is public with neighbors="change_one".',
        ),
        (
            lambda: SOURCE.plan(lw.mean("x", share="1e-90"), lw.count("key"), epsilon=1),
            errors.TooLarge,
            f"The noise scale is about 2^320, and at most 2^200 is possible. {NOTHING} Give bounds, weights and ε of a "
            "usual size.",
        ),
    ],
)
def test_a_refusal_reads_as_a_sentence(ask, kind, message):
    with pytest.raises(kind) as caught:
        ask()
    assert str(caught.value) == message


CELL = 918273645


@pytest.mark.parametrize("series", [pd.Series([CELL, 3, 4]), pl.Series([CELL, 3, 4]), np.array([CELL, 3, 4])], ids=type)
def test_no_refusal_shows_a_cell_of_a_series(series, tmp_path):
    source = lw.Source(
        pd.DataFrame({"age": [CELL]}), name="t", columns={"age": lw.number(0, 9)}, epsilon=1, ledger=tmp_path / "l"
    )
    for ask in (
        lambda: lw.quantile("age", series),
        lambda: lw.histogram("age", series),
        lambda: lw.cdf("age", series),
        lambda: lw.number(edges=series),
        lambda: source.bounds(series, epsilon=1),
        lambda: source.discover(series, epsilon=1, delta="1e-6"),
        lambda: source.plan(lw.count(), by="age", epsilon=1, weights=series),
        lambda: source.plan(lw.mean("age"), epsilon=1, weights=series),
        lambda: source.plan(series, epsilon=1),
    ):
        with pytest.raises(errors.RequestError) as caught:
            ask()
        assert str(CELL) not in f"{caught.value} {caught.value.args}"


def test_exact_integers_are_hidden_and_not_pickled():
    exact = Exact([np.array([0]), np.array([CELL])])
    assert str(CELL) not in f"{exact!r} {exact}"
    with pytest.raises(TypeError):
        pickle.dumps(exact)
