"""Values on a column's public grid → numbers to show, with bars that include the rounding to the grid."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..question.schema import Schema
from .measurement import Estimate, Measurement


def widened(ends: list[Any], measurement: Measurement, schema: Schema) -> list[Any]:
    """Return value, low and high, with the bar widened by half a step, for the rounding of values to the grid.

    What is computed is computed from values on their grids, and nothing is rounded afterwards.
    """
    value, low, high = ends
    grid, column = measurement.grid, schema.columns.get(measurement.column or "")
    if column is None or column.is_computed or (column.kind == "integer" and grid.step == 1):
        return ends
    half = float(grid.step) / 2
    lowest, highest = float(grid.step * grid.low), float(grid.step * grid.high)
    return [value, np.maximum(low - half, lowest), np.minimum(high + half, highest)]


def values_of(measurement: Measurement, schema: Schema, *indices: NDArray[Any]) -> Estimate:
    """Return the values of grid indices, between the bounds of the column."""
    grid, column = measurement.grid, schema.columns[measurement.column or ""]
    if column.kind == "integer" and grid.step == 1:
        return Estimate(*((each + grid.low).astype(np.int64) for each in indices))
    numbers = widened([((each + grid.low) * grid.step).astype(float) for each in indices], measurement, schema)
    return Estimate(*(each.clip(float(column.low or 0), float(column.high or 0)) for each in numbers))
