"""Objects given instead of a text: the refusal says what to write, and never shows data."""

from datetime import date

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import lapwing as lw
from lapwing import errors

CELL = 7777
FRAME = pd.DataFrame({"age": [CELL, 20], "ward": ["north", "south"]})
AGE, WARD = duckdb.ColumnExpression("age"), duckdb.ColumnExpression("ward")


@pytest.fixture
def source(tmp_path):
    columns = {"age": lw.number(-5, 120), "ward": lw.keys("north", "south"), "day": "date", "old": "boolean"}
    return lw.Source(FRAME, name="t", columns=columns, epsilon=1, ledger=tmp_path / "t.ledger")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (pl.col("age") >= 65, "age >= 65"),
        (pl.col("age") != -1.5, "age <> -1.5"),
        (pl.col("day") < date(2024, 1, 2), "day < '2024-01-02'"),
        (pl.col("old") == True, "old = TRUE"),  # noqa: E712
        (
            (pl.col("age") > 1) & ((pl.col("ward") == "north") | (pl.col("age") < 9)),
            "age > 1 AND (ward = 'north' OR age < 9)",
        ),
        (pd.col("age") >= 65, "age >= 65"),
        ((pd.col("age") >= 65) | (pd.col("ward") == "north"), "age >= 65 OR ward = 'north'"),
        (AGE >= 65, "age >= 65"),
        ((AGE < 1.5) & (WARD == "north"), "age < 1.5 AND ward = 'north'"),
    ],
)
def test_an_expression_is_refused_with_the_text_that_works(source, given, text):
    with pytest.raises(errors.InvalidParameter) as caught:
        source.release(lw.count(), where=given, epsilon=1)
    assert f'write where="{text}". No noise was drawn' in str(caught.value)
    assert source.plan(lw.count(), where=text, epsilon=1).query.where is not None
    with pytest.raises(errors.InvalidParameter, match="write where="):
        source.discover("ward", where=given, epsilon=1, delta="1e-8")
    with pytest.raises(errors.InvalidParameter, match="write condition="):
        lw.proportion(given)


@pytest.mark.parametrize(
    "given",
    [
        FRAME["age"] > 30,
        FRAME["age"],
        FRAME,
        pl.Series([CELL]),
        pl.DataFrame(FRAME),
        np.array([CELL]),
        [True, False],
        (CELL, CELL),
        CELL,
        np.int64(CELL),
        pl.col("age") > pl.Series([CELL]),
        pl.col("age").is_in([CELL, 2]),
        pl.col("age") + CELL > 3,
        pl.lit(CELL),
        pl.col("age") == f"{CELL}; DROP TABLE #0",
        pl.col(f'{CELL}")) >= (1') == 1,
        pd.col("age") > pd.Series([CELL]),
        pd.col("age") > pd.Series([65], index=[CELL]),
        pd.col("age") > np.array([CELL]),
        pd.col("age") > np.int64(CELL),
        ~(pd.col("age") < CELL),
        duckdb.SQLExpression(f"age >= {CELL}"),
        AGE.isin(duckdb.ConstantExpression(CELL)),
        lambda frame: frame["age"] > CELL,
        {"age": CELL},
    ],
    ids=lambda given: type(given).__name__,
)
def test_of_anything_else_only_the_kind_is_told(source, given):
    for asked in (
        lambda: source.release(lw.count(), where=given, epsilon=1),
        lambda: source.plan(lw.count(), where=given, epsilon=1),
        lambda: source.bounds("age", where=given, epsilon=1),
        lambda: lw.proportion(given),
    ):
        with pytest.raises(errors.InvalidParameter) as caught:
            asked()
        assert "a text of SQL, such as " in str(caught.value)
        assert str(CELL) not in f"{caught.value} {caught.value.args}"
        assert "north" not in str(caught.value)


def test_a_series_of_keys_is_no_name_of_a_column(source):
    with pytest.raises(errors.InvalidParameter, match="by = a Series was asked; by is the name of a column"):
        source.release(lw.count(), by=FRAME["ward"], epsilon=1)
