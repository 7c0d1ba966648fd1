"""Several tables without negative numbers, and synthetic rows: from noisy integers alone, at no charge (claim U8)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..measure import nonnegative
from ..measure.linear import Noisy
from ..measure.tables import Axes, Floats, weights
from ..noise.distributions import DiscreteLaplace
from ..plan.several import SeveralTables
from ..plan.weighing import weighing
from ..question.query import Statistic


def view_of(several: SeveralTables, noisy: Noisy, statistic: Statistic) -> nonnegative.View:
    """Return the view of a count or sum that cannot be negative."""
    released, variances = _measured(several, noisy, statistic)
    return nonnegative.view(several.shape, released, variances, several.asked, chain=several.chain)


def nonnegative_cells(several: SeveralTables, view: nonnegative.View, *, rounded: bool) -> Floats:
    """Return the cells of all asked tables, as the answer has them."""
    return several.stacked(view.tables(rounded=rounded)).astype(float)


def synthetic_rows(view: nonnegative.View, n: int | None) -> dict[int, NDArray[np.int64]]:
    """Return, for each column of the view, the number of the key of each synthetic row."""
    return dict(zip(view.axes, view.rows(n).T, strict=True))


def _measured(
    several: SeveralTables, noisy: Noisy, statistic: Statistic
) -> tuple[dict[Axes, Floats], dict[Axes, float]]:
    """Return a count or sum in every measured table, with noise, and the variance of that."""
    made = weighing(several.plan, statistic)
    assert made is not None
    values: dict[Axes, Floats] = {}
    variances = dict.fromkeys(several.with_noise, 0.0)
    for each in made.cells:
        weight = float(each.top)
        for table, cells in several.measured_cells(noisy[each.part][each.cell]).items():
            values[table] = values.get(table, 0.0) + weight * cells.astype(float)
            variances[table] += weight**2 * DiscreteLaplace(several.scale(each.part, table)).variance
    return _pooled(several, values, variances) if several.evidence else (values, variances)


def _pooled(
    several: SeveralTables, values: dict[Axes, Floats], variances: dict[Axes, float]
) -> tuple[dict[Axes, Floats], dict[Axes, float]]:
    """Return one table for each that several releases measured: its mean by inverse variances (claim U9)."""
    columns = len(several.plan.query.by)
    same: dict[Axes, dict[Axes, float]] = {}
    for table, variance in variances.items():
        same.setdefault(tuple(i for i in table if i < columns), {})[table] = variance
    found: dict[Axes, Floats] = {}
    spreads: dict[Axes, float] = {}
    for table, known in same.items():
        shares = weights(several.shape, known, table)
        shape = [several.shape[i] for i in table]
        found[table] = np.asarray(sum(share * values[each].reshape(shape) for each, share in shares.items()))
        spreads[table] = sum(share**2 * known[each] for each, share in shares.items())
    return found, spreads
