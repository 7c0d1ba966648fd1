"""``lapwing discover`` and ``bounds``: find privately what is not public about a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..errors import OutputError
from .output import (
    Decorator,
    analyst_option,
    asking,
    confidence_option,
    format_options,
    print_json,
    source_argument,
    warned,
)

if TYPE_CHECKING:
    from ..release.bounds import Bounds
    from ..release.discover import Discovery
    from ..release.rows_per_person import RowsPerPerson
    from ..source import Source

_where: Decorator = click.option("--where", metavar="CONDITION", help='Which rows count, for example "age >= 65".')
_dry_run: Decorator = click.option(
    "--dry-run", is_flag=True, help="Only say what can be found.  No data is read, and nothing is charged."
)


@click.command()
@source_argument
@click.argument("column")
@click.option("--epsilon", required=True, metavar="NUMBER", help="The privacy to spend.")
@click.option(
    "--delta", required=True, metavar="NUMBER",
    help="The probability that a key of a single person is shown, for example 1e-8.",
)  # fmt: skip
@_where
@click.option(
    "--keys-per-person", type=int, metavar="N",
    help="The most keys for which one person counts.  [default: rows_per_person]",
)  # fmt: skip
@click.option("--other", metavar="NAME", help="For the declaration: a name that stands for all other keys.")
@analyst_option
@_dry_run
@confidence_option
@format_options("table", "json", "csv")
def discover(
    source: str,
    column: str,
    epsilon: str,
    delta: str,
    where: str | None,
    keys_per_person: int | None,
    other: str | None,
    analyst: str | None,
    dry_run: bool,
    confidence: str,
    form: str,
) -> None:
    """Find the keys of COLUMN that many people have.  Charge ε and δ, and print them with noisy counts.

    This is partition selection, for a column whose keys are not public; declare it by its type, for example type =
    "text".  Keys that few people have are not shown.  The output includes the lines to paste into the source file.

    \b
    lapwing discover visits.toml diagnosis --epsilon 0.5 --delta 1e-8 --other rest
    """
    from ..source import Source

    if other == "":
        raise click.UsageError("give --other a name")
    opened = Source.open(source)
    asked: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "where": where, "keys_per_person": keys_per_person}
    if dry_run:
        plan = opened.plan_keys(column, **asked)
        print_json(**plan.to_dict()) if form == "json" else click.echo(str(plan))
        return
    with asking() as progress:
        found = warned(opened.discover(column, **asked, analyst=analyst, confidence=confidence, progress=progress))
    taken = other in found.keys
    lines = found.to_toml(None if taken else other) if found.keys else None
    _tell(found, lines, form)
    if taken:
        click.echo(f'"{other}" is one of the keys found: give --other another name.', err=True)


@click.command()
@source_argument
@click.argument("column", required=False)
@click.option("--epsilon", required=True, metavar="NUMBER", help="The privacy to spend.")
@click.option(
    "--rows-per-person", is_flag=True,
    help="Instead of a COLUMN: find how many rows most people have.  The source need not say it yet.",
)  # fmt: skip
@click.option(
    "--share", metavar="P",
    help="With --rows-per-person: the share of people who should have at most so many.  [default: 0.95]",
)  # fmt: skip
@_where
@analyst_option
@_dry_run
@format_options("table", "json", "csv")
def bounds(
    source: str,
    column: str | None,
    epsilon: str,
    rows_per_person: bool,
    share: str | None,
    where: str | None,
    analyst: str | None,
    dry_run: bool,
    form: str,
) -> None:
    """Find bounds that contain most values of COLUMN.  Charge ε, and print them with a noisy histogram.

    This is for a numeric column with unknown bounds; declare it by its type, type = "number" or "integer".  Values that
    few rows have are left outside.  With --rows-per-person, find how many rows most people have.  The output includes
    the lines to paste into the source file.

    \b
    lapwing bounds visits.toml cost --epsilon 0.1
    lapwing bounds visits.toml --rows-per-person --epsilon 0.1
    """
    from ..source import Source

    if (column is None) != rows_per_person:
        raise click.UsageError("give a COLUMN, or --rows-per-person")
    if share is not None and not rows_per_person:
        raise click.UsageError("--share needs --rows-per-person")
    opened = Source.open(source)
    if column is None:
        _find_rows(opened, epsilon, share or "0.95", where, analyst, dry_run, form)
    else:
        _find_bounds(opened, column, epsilon, where, analyst, dry_run, form)


def _find_rows(
    opened: Source, epsilon: str, share: str, where: str | None, analyst: str | None, dry_run: bool, form: str
) -> None:
    """Find how many rows most people have, or say how well it could be known."""
    from ..release.rows_per_person import people_share, plan_rows_per_person

    if dry_run:
        people_share(share)
        plan = plan_rows_per_person(opened.schema, epsilon=epsilon, where=where).on(opened.dialect)
        print_json(**plan.to_dict()) if form == "json" else click.echo(str(plan))
        return
    with asking() as progress:
        found = warned(
            opened.rows_per_person(epsilon=epsilon, share=share, where=where, analyst=analyst, progress=progress)
        )
    _tell(found, found.to_toml() if found.found else None, form)


def _find_bounds(
    opened: Source, column: str, epsilon: str, where: str | None, analyst: str | None, dry_run: bool, form: str
) -> None:
    """Find bounds of a column, or say how many rows a bin needs."""
    from ..release.bounds import plan_bounds, seen

    if dry_run:
        rows = seen(plan_bounds(opened.schema, column, epsilon=epsilon, where=where))
        if form == "json":
            print_json(source=opened.name, column=column, epsilon=epsilon, seen=rows)
        else:
            click.echo(f"A bin with more than {rows:,} rows is found with probability 95 %.  No data was read.")
        return
    with asking() as progress:
        found = warned(opened.bounds(column, epsilon=epsilon, where=where, analyst=analyst, progress=progress))
    _tell(found, found.to_toml() if found.occupied else None, form)


def _tell(found: Discovery | Bounds | RowsPerPerson, lines: str | None, form: str) -> None:
    """Print what was found, and the lines of TOML that declare it."""
    from ..release.rows_per_person import RowsPerPerson

    try:
        if form == "json":
            print_json(**found.to_dict(), toml=lines)
        elif form == "csv":
            click.echo(found.to_csv(), nl=False)
            click.echo(found.charged, err=True)
        else:
            click.echo(str(found))
            if lines is not None:
                place = "instead of what it declares for the column"
                if isinstance(found, RowsPerPerson):
                    place = "above the columns"
                click.echo(f"\nTo declare it, put this into the source file, {place}:\n\n{lines}", nl=False)
    except OSError:
        raise OutputError("standard output", found.entry) from None
