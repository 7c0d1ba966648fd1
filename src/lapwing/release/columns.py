"""An answer as plain columns: its keys, and value, low and high of each statistic; and those as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measure.cells import Column
from ..measure.measurement import Estimate
from ..question.schema import Key, written
from . import arrow


def ends(estimates: Mapping[str, Estimate]) -> list[tuple[str, Column]]:
    """Return the columns of estimates under their names."""
    endings = "", "_low", "_high"
    return [
        (f"{name}{ending}", end) for name, each in estimates.items() for ending, end in zip(endings, each, strict=True)
    ]


def key_array(labels: Sequence[Key]) -> Column:
    """Return the keys of a column as Parquet stores them; if some are texts, all are."""
    values = [written(label) for label in labels]
    if any(isinstance(value, str) for value in values):
        return np.array([str(value) for value in values], dtype=object)
    return np.array(values)


def days_or_keys(labels: Sequence[Key]) -> Column:
    """Return the keys of a column as Arrow stores them: as for Parquet, but dates as days."""
    return arrow.days(labels) if all(isinstance(each, date) for each in labels) else key_array(labels)


def key_values(labels: Sequence[Key]) -> NDArray[Any]:
    """Return keys as an array: whole numbers and truth values as such, and anything else as objects."""
    plain = {type(each) for each in labels} in ({int}, {bool})
    return np.array(labels) if plain else np.array([*labels, None], dtype=object)[:-1]


def csv_text(table: Mapping[str, list[Any]], *, header: bool = True) -> str:
    """Return plain columns as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if header:
        writer.writerow(table)
    cells = (
        [str(cell).lower() if isinstance(cell, bool) else written(cell) for cell in each] for each in table.values()
    )
    writer.writerows(zip(*cells, strict=True))
    return text.getvalue()
