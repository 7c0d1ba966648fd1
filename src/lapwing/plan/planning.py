"""A question, and ε or the wanted errors → its plan; everything that can be refused is refused here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from .. import exact
from ..errors import (
    ConflictingParameters,
    InvalidParameter,
    MissingParameter,
    OutOfReach,
    TooLarge,
    UselessParameter,
)
from ..exact import NANO, Number
from ..measure.kinds import answering, measurements
from ..measure.measurement import Measurement, Setting
from ..measure.selection import MAX_VALUES
from ..measure.tables import Axes
from ..noise.mechanism import NINETY_FIVE
from ..question.derived import with_derived
from ..question.narrowed import narrowed
from ..question.query import Query, Statistic, elementary
from ..question.schema import MAX_CELLS, Schema
from ..question.sets import MOST_SET_CELLS, KeyTable, checked_objective, table_weights
from ..question.within import levels
from .plan import Part, Plan, bar_confidence
from .several import chain_of
from .strategy import Strategy, choose

_LARGEST_SCALE = 2**200
_USUAL_SCALE = 2**100
"""With less noise an integer is recorded in at most 14 bytes, so that a ledger holds more cells in one answer."""


def make_plan(
    schema: Schema,
    query: Query,
    *,
    epsilon: Number | None = None,
    error: Number | None = None,
    confidence: Number = NINETY_FIVE,
    rows: int = 1000,
    split: Mapping[str, Number] | None = None,
    intervals: bool = True,
    tables: Mapping[KeyTable, Number] | None = None,
    objective: object = "mean",
    strategy: Strategy | None = None,
    all_groups: bool = False,
) -> Plan:
    """Return the plan for a given ε, or with the smallest ε that meets the wanted errors.

    ``split`` gives the shares of the measurements by name, as ``Plan.split`` returns them.  Without ``intervals`` all
    of the ε of quantiles goes to their values, and none to error bars.  Of several tables, ``tables`` says how much
    each counts, and ``objective`` what is made small; ``strategy`` is one that was chosen before.  With ``all_groups``
    groups that the condition excludes are asked too.
    """
    schema.most_rows  # noqa: B018  # a source that does not say it is refused
    if not isinstance(intervals, bool):
        raise InvalidParameter(intervals, "intervals", "true or false")
    schema = with_derived(schema, query.derived) if all_groups else narrowed(schema, query)
    measured = measurements(schema, query, intervals)
    chosen = _chosen(schema, query, measured, tables or {}, objective) if strategy is None else strategy
    wanted = _wanted(query, epsilon, error)
    sure, size = bar_confidence(confidence), exact.whole(rows, "rows", 10**15)

    def plan(total: Fraction, shares: Sequence[Fraction]) -> Plan:
        whole = sum(shares, Fraction(0))
        parts = tuple(Part(each, total * share / whole) for each, share in zip(measured, shares, strict=True))
        return Plan(schema, query, total, parts, sure, size, strategy=chosen)

    needs = _weights(query, measured)
    if split is not None:
        needs = [exact.positive(split.get(each.name, 0), "split") for each in measured]
    elif wanted:
        needs = _needs(wanted, measured, lambda share: plan(share, [Fraction(1)] * len(measured)), needs)
    if epsilon is not None:
        made = plan(exact.epsilon(epsilon), needs)
    elif not measured:
        why = "nothing here gets noise: the number of rows is public"
        raise UselessParameter("error", why, "Give epsilon instead.")
    else:
        least = _least(lambda nano: _meets(plan(Fraction(nano, NANO), needs), wanted))
        if least is None:
            raise OutOfReach(wanted[0][1], exact.MAX_EPSILON, "Ask for a larger error, or assume more rows.")
        made = plan(Fraction(least, NANO), needs)
    _refuse_too_large(made)
    return made


def _wanted(query: Query, epsilon: Number | None, error: Number | None) -> list[tuple[Statistic, Fraction]]:
    """Return the statistics with a wanted error, and what it is."""
    targets = [
        (statistic, statistic.error if error is None or statistic.error is not None else exact.positive(error, "error"))
        for statistic in query.statistics
    ]
    wanted = [(statistic, target) for statistic, target in targets if target is not None]
    if epsilon is None and not wanted:
        raise MissingParameter("epsilon", "Give the ε of the release, or an error to learn the ε that it needs.")
    if epsilon is not None and error is not None:
        raise ConflictingParameters("epsilon", "error", "Give ε to learn the error, or the error to learn ε.")
    return wanted


def _chosen(
    schema: Schema, query: Query, measured: Sequence[Measurement], tables: Mapping[KeyTable, Number], objective: object
) -> Strategy | None:
    """Return which tables to measure, if several are asked."""
    aim = checked_objective(objective)
    if not query.sets:
        if tables or aim != "mean":
            name = "weights by table" if tables else "objective"
            raise UselessParameter(name, "the question asks for one table", "Leave it out, or ask for several.")
        return None
    places = {table: tuple(map(query.by.index, table)) for table in query.sets}
    weights = {places[table]: float(weight) for table, weight in table_weights(query, tables).items()}
    costs: dict[Axes, float] = {(): _cost_of_total(schema, query, measured)}
    chain = chain_of(query, levels(schema, query))
    return choose(query.shape(schema), list(places.values()), costs=costs, weights=weights, objective=aim, chain=chain)


def _cost_of_total(schema: Schema, query: Query, measured: Sequence[Measurement]) -> float:
    """Return how far one person moves the total, relative to tables with groups: less under change_one (claim P4)."""
    whole = Setting(schema, query, Fraction(1), 1)
    total = replace(whole, query=replace(query, by=(), sets=()))
    moved = [Fraction(each.sensitivity(total), each.sensitivity(whole)) for each in measured]
    return float(sum(moved, Fraction(0)) / len(moved))


def _refuse_too_large(plan: Plan) -> None:
    """Refuse a plan whose noise, cells or values are more than can be drawn, held or chosen."""
    scale = max((scale for part in plan.parts for scale in plan.scales(part)), default=Fraction(0))
    if scale > _LARGEST_SCALE:
        about = f"about 2^{int(scale).bit_length()}"
        raise TooLarge("The noise scale", about, "2^200", "Give bounds, weights and ε of a usual size.")
    several = bool(plan.query.sets)
    most = MOST_SET_CELLS if several and scale <= _USUAL_SCALE else MAX_CELLS
    measured = sum(plan.length(part) * len(part.measurement.names) for part in plan.parts)
    what = "The number of cells that are measured" if several and measured > plan.groups else "The number of cells"
    for cells, limit in ((measured, most), (plan.groups, MOST_SET_CELLS if several else MAX_CELLS)):
        if cells > limit:
            raise TooLarge(what, f"{cells:,}", f"{limit:,}", "Group by fewer keys, or by wider bins.")
    values = plan.groups * sum(each.chosen_values for each in plan.measured)
    if values > MAX_VALUES:
        what = "The number of quantiles in all groups"
        raise TooLarge(what, f"{values:,}", f"{MAX_VALUES:,}", "Ask for fewer, or group by fewer keys.")


def _weights(query: Query, measured: Sequence[Measurement]) -> list[Fraction]:
    """Return the share of each measurement: the largest that one of its statistics was given, else 1."""
    largest = [Fraction(0)] * len(measured)
    for statistic in elementary(query.statistics):
        for i in answering(statistic, measured):
            largest[i] = max(largest[i], statistic.share or Fraction(0))
    return [weight or Fraction(1) for weight in largest]


def _needs(
    wanted: Sequence[tuple[Statistic, Fraction]],
    measured: Sequence[Measurement],
    alone: Callable[[Fraction], Plan],
    weights: Sequence[Fraction],
) -> list[Fraction]:
    """Return the share of each measurement in proportion to the ε that its wanted errors need."""
    needs: list[Fraction | None] = [None] * len(measured)
    for statistic, target in wanted:
        for i in answering(statistic, measured):
            least = _least(lambda nano, s=statistic, t=target: _meets(alone(Fraction(nano, NANO)), [(s, t)]))  # type: ignore[misc]
            needs[i] = max(needs[i] or Fraction(0), Fraction(least or exact.MAX_EPSILON * NANO))
    known = [need for need in needs if need is not None]
    usual = sum(known, Fraction(0)) / len(known) if known else Fraction(1)
    return [usual * weight if need is None else need for need, weight in zip(needs, weights, strict=True)]


def _meets(plan: Plan, wanted: Sequence[tuple[Statistic, Fraction]]) -> bool:
    return all(plan.margin(statistic, plan.confidence) <= target for statistic, target in wanted)


def _least(enough: Callable[[int], bool]) -> int | None:
    """Return the smallest nano-ε that is enough, or None; every larger ε is enough too."""
    low, high = 0, exact.MAX_EPSILON * NANO
    if not enough(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
