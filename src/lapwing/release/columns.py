"""An answer as plain columns: keys and their labels, and value, low and high of each statistic; and those as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measure.cells import Column
from ..measure.measurement import Estimate
from ..plan.plan import Plan
from ..question.codes import Key, written
from ..question.schema import bin_names
from . import arrow


def ends(estimates: Mapping[str, Estimate]) -> list[tuple[str, Column]]:
    """Return the columns of estimates under their names."""
    endings = "", "_low", "_high"
    return [
        (f"{name}{ending}", end) for name, each in estimates.items() for ending, end in zip(endings, each, strict=True)
    ]


class KeyColumn(NamedTuple):
    """A column of keys, or of their labels: its name, which key of the question it shows, and a value for each."""

    name: str
    at: int
    values: tuple[Key, ...]
    is_label: bool = False


def key_columns(plan: Plan) -> list[KeyColumn]:
    """Return the columns of an answer that say which group a row is: each key, and its label after it, if it has one.

    Labels are named like ward_label; a number follows if something else has that name.
    """
    query, bins = plan.query, dict(plan.query.edges)
    names = query.titles or query.by
    endings = "", "_low", "_high"
    taken = {*names, *(f"{statistic.name}{ending}" for statistic in query.statistics for ending in endings)}
    used = {name.casefold() for name in taken}
    found = []
    for at, (key, name) in enumerate(zip(query.by, names, strict=True)):
        column = plan.schema.columns[key]
        keys = bin_names(bins[key], column) if key in bins else column.group_keys or ()
        found.append(KeyColumn(name, at, keys))
        if key not in bins and column.group_labels is not None:
            label, number = f"{name}_label", 1
            while label.casefold() in used:
                number += 1
                label = f"{name}_label_{number}"
            used.add(label.casefold())
            found.append(KeyColumn(label, at, column.group_labels, is_label=True))
    return found


def key_array(keys: Sequence[Key]) -> Column:
    """Return the keys of a column as Parquet stores them; if some are texts, all are."""
    values = [written(key) for key in keys]
    if any(isinstance(value, str) for value in values):
        return np.array([str(value) for value in values], dtype=object)
    return np.array(values)


def days_or_keys(keys: Sequence[Key]) -> Column:
    """Return the keys of a column as Arrow stores them: as for Parquet, but dates as days."""
    return arrow.days(keys) if all(isinstance(each, date) for each in keys) else key_array(keys)


def key_values(keys: Sequence[Key]) -> NDArray[Any]:
    """Return keys as an array: whole numbers and truth values as such, and anything else as objects."""
    plain = {type(each) for each in keys} in ({int}, {bool})
    return np.array(keys) if plain else np.array([*keys, None], dtype=object)[:-1]


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
