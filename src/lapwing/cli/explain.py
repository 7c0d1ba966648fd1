"""``lapwing explain``: how an entry of the ledger was made, from the question to the numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import click

from .. import sensitivity as catalogue
from ..exact import text
from .output import confidence_option, format_option, print_json, rows_on_terminal, source_argument
from .recorded import recorded, recorded_release
from .remote import opened_source

if TYPE_CHECKING:
    from ..plan.plan import Part, Plan
    from ..plan.several import SeveralTables
    from ..question.query import Statistic
    from ..question.schema import Schema
    from ..release.discover import Discovery
    from ..release.result import Release
    from ..release.rows_per_person import RowsPerPerson

_SHOWN_TABLES = 40
"""How many measured tables are listed."""


@click.command()
@source_argument
@click.argument("entry", type=int)
@click.option(
    "--with",
    "others",
    metavar="ENTRY",
    type=int,
    multiple=True,
    help="Combine its numbers with those of another entry, at no charge; may be repeated.",
)
@confidence_option
@format_option
def explain(source: str, entry: int, others: tuple[int, ...], confidence: str, form: str) -> None:
    """Show how ENTRY of the ledger was made.  The query, its SQL, sensitivity, noise, error bars, and the answer.

    With --with, the answer is the best estimate from both entries; they have the same source, rows and statistics.

    \b
    lapwing explain visits.toml 2
    lapwing explain visits.toml 4 --with 2
    """
    from ..release.bounds import Bounds
    from ..release.discover import Discovery
    from ..release.result import Release
    from ..release.rows_per_person import RowsPerPerson

    opened = opened_source(source)
    found = recorded_release(opened, entry) if others else recorded(opened, entry)
    if isinstance(found, Discovery):
        keys = replace(found.at(confidence), plan=found.plan.on(opened.dialect))
        if form == "json":
            print_json(plan=keys.plan.to_dict(), release=keys.to_dict())
        else:
            click.echo(_key_stages(keys))
        return
    if isinstance(found, RowsPerPerson):
        people = replace(found, plan=found.plan.on(opened.dialect))
        if form == "json":
            print_json(plan=people.plan.to_dict(), release=people.to_dict())
        else:
            click.echo(_row_stages(people))
        return
    made = found.release if isinstance(found, Bounds) else found
    made = replace(made.at(confidence), plan=made.plan.on(opened.dialect))
    shown = found if isinstance(found, Bounds) else made
    if isinstance(shown, Release) and others:
        shown = shown.combined(*(recorded_release(opened, each) for each in others))
    if form == "json":
        print_json(plan=made.plan.to_dict(), release=shown.to_dict())
    else:
        answer = shown.to_text(rows_on_terminal()) if isinstance(shown, Release) else str(shown)
        entries = shown.entries if isinstance(shown, Release) and others else ()
        click.echo(_stages(made.plan, made, answer, entries))


def _instead(plan: Plan, statistic: Statistic) -> list[str]:
    """Say why noise is not added to the statistic itself, as textbooks do: its sensitivity is as wide as its range."""
    parts = plan.answering(statistic)
    if statistic.level is not None:
        return _chosen(plan, statistic)
    if statistic.kind not in ("mean", "proportion", "variance", "std") or plan.parts[parts[0]].measurement.public_rows:
        return []
    column = None if statistic.column is None else plan.schema.columns[statistic.column]
    entry = catalogue.entry(statistic.kind)
    ends = {} if column is None else {"low": column.low, "high": column.high}
    sensitivity = entry.sensitivity(**ends)  # n is private
    return [
        f"     (Noise on {statistic.text} itself would be for a sensitivity of {text(sensitivity)}, however many rows "
        f"there are: claim {entry.claim}.)"
    ]


def _chosen(plan: Plan, statistic: Statistic) -> list[str]:
    """Say what noise on a quantile itself would have needed: its sensitivity is the range of the column."""
    column, (i,) = plan.schema.columns[statistic.column or ""], plan.answering(statistic)
    entry = catalogue.entry({"0": "minimum", "1": "maximum"}.get(text(statistic.level or Fraction(0)), "median"))
    sensitivity = entry.sensitivity(low=column.low, high=column.high)
    return [
        f"     (Noise on {statistic.text} itself would need the scale {text(sensitivity / plan.parts[i].epsilon)}: one "
        f"person can move it by {text(sensitivity)}, claim {entry.claim}.)"
    ]


def _first_stages(schema: Schema, question: str, spent: str, entry: int | None) -> list[str]:
    person = "every row is one person"
    if schema.person is not None:
        person = f'"{schema.person}" identifies a person'
    return [
        f'1. Source      "{schema.name}", neighbors {schema.neighbors}; {person}',
        f"2. Question    {question}",
        f"3. Charged     {spent}, entry {entry}, before any row was read (claim L3)",
    ]


def _key_stages(found: Discovery) -> str:
    plan = found.plan
    spent = f"ε = {text(plan.epsilon)}, δ = {text(plan.delta)}"
    lines = [
        *_first_stages(plan.schema, plan.text, spent, found.entry),
        f"4. Counted     by the engine, each person for at most {plan.keys_per_person} keys (claim K3):",
        *(f"     {line}" for line in plan.lowered.sql.splitlines()),
        f"5. Noise       integer Laplace noise (claim N1) of scale {text(plan.scale)}, independent for every key that "
        f"occurs; one person moves the counts by at most {plan.sensitivity} in all",
        f"6. Shown       what is {plan.threshold:,} or more with noise (claims K1 and K2):",
        "",
        str(found),
    ]
    return "\n".join(lines)


def _row_stages(found: RowsPerPerson) -> str:
    plan = found.plan
    lines = [
        *_first_stages(plan.schema, plan.text, f"ε = {text(plan.epsilon)}", found.entry),
        "4. Counted     by the engine, each person in one bin, whatever rows_per_person is (claim K5):",
        *(f"     {line}" for line in str(plan.lowered.sums).splitlines()),
        f"5. Noise       integer Laplace noise (claim N1) of scale {text(plan.scale)}, independent for every bin; one "
        f"person moves them by at most {plan.sensitivity} in all",
        "6. Found       from noisy integers and public parameters alone:",
        "",
        str(found),
    ]
    return "\n".join(lines)


def _of_tables(several: SeveralTables, part: Part) -> list[str]:
    """Say with which noise each table is measured."""
    told = [
        f"     {several.title(table)}, {float(100 * share):.3g} % of ε: {part.measurement.explanation(setting)}"
        for table, share, setting in zip(
            several.strategy.measured, several.strategy.shares, several.settings(part), strict=True
        )
    ]
    more = len(told) - _SHOWN_TABLES
    return [*told[:_SHOWN_TABLES], *([f"     … {more:,} more tables: see --format json"] if more > 0 else [])]


def _stages(plan: Plan, made: Release, answer: str, entries: tuple[int, ...]) -> str:
    from ..release.recorded import entries_text

    schema = plan.schema
    lines = _first_stages(schema, plan.query.text, f"ε = {text(plan.epsilon)}", made.entry)
    if schema.person is not None:
        lines[0] += f"; each weighs at most {schema.rows_per_person} (claim E2)"
    lines += [
        "4. Aggregated  by the engine, in exact integers (claims E1 to E3):",
        *(f"     {line}" for line in plan.sql.splitlines()),
        "5. Noise       integer Laplace noise (claim N1), independent for every cell; quantiles are chosen (claim N6):"
        if any(each.chosen_values for each in plan.measured)
        else "5. Noise       integer Laplace noise (claim N1), independent for every cell:",
    ]
    rows = made.answer.get("rows")
    for part in plan.parts:
        if plan.several is None:
            lines.append(f"     {part.measurement.explanation(plan.setting(part, rows))}")
        else:
            lines += _of_tables(plan.several, part)
    named = [each for each in plan.query.statistics if each.name != each.default_name or each.shown_text != each.text]
    lines += [f"     {each.shown_text} is shown as {each.name}" for each in named]
    for statistic in plan.query.statistics:
        lines += _instead(plan, statistic)
    how = "and public parameters alone (claim R1)"
    if entries:
        how = f"of {entries_text(entries)} and public parameters alone (claims R1, U1, U3 and U9)"
    elif plan.several is not None:
        how = "of all measured tables and public parameters alone (claims R1, U1 and U3)"
    lines += [f"6. Estimated   from noisy integers {how}:", "", answer]
    return "\n".join(lines)
