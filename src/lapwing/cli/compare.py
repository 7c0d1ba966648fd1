"""The options that compare groups: before a release they are tried on zeros, and only then anything is charged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from ..errors import RequestError
from .output import Decorator

if TYPE_CHECKING:
    from ..plan.plan import Plan
    from ..release.comparison import Comparison
    from ..release.result import Release

_OPTIONS: tuple[Decorator, ...] = (
    click.option(
        "--difference", metavar="KEY=OF,TO",
        help="Show the groups of one key minus those of another, for example --difference sex=F,M.",
    ),
    click.option("--ratio", metavar="KEY=OF,TO", help="Show the groups of one key divided by those of another."),
    click.option("--share", "shares", is_flag=True, help="Show each count and sum as a share of its total."),
    click.option("--within", multiple=True, metavar="KEY", help="With --share: the total is that within each KEY."),
    click.option("--total", multiple=True, metavar="KEY", help="Show the numbers of all groups of a key together."),
)  # fmt: skip


def comparing_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to a command, which gets what they ask as ``compare``."""

    @wraps(command)
    def with_compare(
        *,
        difference: str | None,
        ratio: str | None,
        shares: bool,
        within: Sequence[str],
        total: Sequence[str],
        **rest: Any,
    ) -> None:
        command(compare=comparing(difference, ratio, shares, within, total), **rest)

    found: Callable[..., None] = with_compare
    for option in reversed(_OPTIONS):
        found = option(found)
    return found


Compare = Callable[["Release"], "Release | Comparison"]


def comparing(
    difference: str | None, ratio: str | None, shares: bool, within: Sequence[str], total: Sequence[str]
) -> Compare | None:
    """Return what the options ask of a release, or None if they ask nothing."""
    given = {"--difference": difference, "--ratio": ratio, "--share": shares, "--total": total}
    asked = [name for name, value in given.items() if value]
    if len(asked) > 1:
        raise click.UsageError(f"give one of {' and '.join(asked)}: the same question again costs nothing")
    if within and not shares:
        raise click.UsageError("--within needs --share")
    if difference is not None:
        return _pair("difference", difference)
    if ratio is not None:
        return _pair("ratio", ratio)
    if shares:
        return lambda release: release.share(within=list(within))
    return (lambda release: release.total(over=list(total))) if total else None


def _pair(verb: str, given: str) -> Compare:
    """Return the comparison of KEY=OF,TO; a key may have commas in it."""
    by, equals, keys = given.partition("=")
    places = [i for i, letter in enumerate(keys) if letter == ","]
    if not by or not equals or not places:
        raise click.UsageError(f"write --{verb} KEY=OF,TO, for example sex=F,M")

    def compare(release: Release) -> Comparison:
        refusal: RequestError | None = None
        for i in places:
            try:
                found: Comparison = getattr(release, verb)(by=by, of=keys[:i].strip(), to=keys[i + 1 :].strip())
            except RequestError as error:
                refusal = error
            else:
                return found
        assert refusal is not None
        raise refusal

    return compare


def try_on_zeros(compare: Callable[[Release], Any], plan: Plan) -> None:
    """Refuse, before anything is charged, what cannot be compared or drawn: the keys and the statistics are public."""
    from ..release.result import Release

    zeros: list[Any] = [[[0] * plan.length(part) for _ in part.measurement.names] for part in plan.parts]
    compare(Release(plan, None, False, {"cells": zeros, "rows": plan.rows}, None, None))
