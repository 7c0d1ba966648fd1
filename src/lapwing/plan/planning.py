"""A question, and ε or the wanted errors → its plan; everything that can be refused is refused here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from .. import exact
from ..errors import ConflictingParameters, InvalidParameter, MissingParameter, OutOfReach, TooLarge, UselessParameter
from ..exact import NANO, Number
from ..measure.kinds import answering, measurements
from ..measure.measurement import Measurement
from ..measure.selection import MAX_VALUES
from ..noise.mechanism import NINETY_FIVE
from ..question.query import Query, Statistic
from ..question.schema import MAX_CELLS, Schema
from .plan import Part, Plan, bar_confidence

_LARGEST_SCALE = 2**200


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
) -> Plan:
    """Return the plan for a given ε, or with the smallest ε that meets the wanted errors.

    ``split`` gives the shares of the measurements by name, as ``Plan.split`` returns them.  Without ``intervals`` all
    of the ε of quantiles goes to their values, and none to error bars.
    """
    schema.most_rows  # noqa: B018  # a source that does not say it is refused
    if not isinstance(intervals, bool):
        raise InvalidParameter(intervals, "intervals", "true or false")
    measured = measurements(schema, query, intervals)
    targets = [
        (statistic, statistic.error if error is None or statistic.error is not None else exact.positive(error, "error"))
        for statistic in query.statistics
    ]
    wanted = [(statistic, target) for statistic, target in targets if target is not None]
    if epsilon is None and not wanted:
        raise MissingParameter("epsilon", "Give the ε of the release, or an error to learn the ε that it needs.")
    if epsilon is not None and error is not None:
        raise ConflictingParameters("epsilon", "error", "Give ε to learn the error, or the error to learn ε.")
    sure, size = bar_confidence(confidence), exact.whole(rows, "rows", 10**15)

    def plan(total: Fraction, shares: Sequence[Fraction]) -> Plan:
        whole = sum(shares, Fraction(0))
        parts = tuple(Part(each, total * share / whole) for each, share in zip(measured, shares, strict=True))
        return Plan(schema, query, total, parts, sure, size)

    weights = _weights(query, measured)
    if split is not None:
        needs = [exact.positive(split.get(each.name, 0), "split") for each in measured]
    elif wanted:
        needs = _needs(wanted, measured, lambda share: plan(share, [Fraction(1)] * len(measured)), weights)
    else:
        needs = weights
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


def _refuse_too_large(plan: Plan) -> None:
    """Refuse a plan whose noise, cells or values are more than can be drawn, held or chosen."""
    scale = max(map(plan.scale, plan.parts), default=Fraction(0))
    if scale > _LARGEST_SCALE:
        about = f"about 2^{int(scale).bit_length()}"
        raise TooLarge("The noise scale", about, "2^200", "Give bounds, weights and ε of a usual size.")
    cells = max(sum(plan.length(part) * len(part.measurement.names) for part in plan.parts), plan.groups)
    if cells > MAX_CELLS:
        raise TooLarge("The number of cells", f"{cells:,}", f"{MAX_CELLS:,}", "Group by fewer keys, or by wider bins.")
    values = plan.groups * sum(each.chosen_values for each in plan.measured)
    if values > MAX_VALUES:
        what = "The number of quantiles in all groups"
        raise TooLarge(what, f"{values:,}", f"{MAX_VALUES:,}", "Ask for fewer, or group by fewer keys.")


def _weights(query: Query, measured: Sequence[Measurement]) -> list[Fraction]:
    """Return the weight of each measurement: the largest that one of its statistics was given, else 1."""
    largest = [Fraction(0)] * len(measured)
    for statistic in query.statistics:
        for i in answering(statistic, measured):
            largest[i] = max(largest[i], statistic.weight or Fraction(0))
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
