"""``lapwing plot``: a chart of a recorded release, or of the ledger, as a file; nothing is read or charged."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidRequest, OutputError
from .compare import Compare, comparing_options
from .output import Decorator, check_writable, confidence_option, source_argument
from .recorded import recorded_release
from .remote import ledger_of, opened_source

if TYPE_CHECKING:
    from ..client.remote import RemoteSource
    from ..release.result import Release
    from ..source import Source

theme_option: Decorator = click.option(
    "--theme", type=click.Choice(["light", "dark"]), default="light", show_default=True, help="The background."
)


@click.command()
@source_argument
@click.argument("entry", type=int, required=False)
@click.option("--ledger", "of_ledger", is_flag=True, help="Draw the budget over time instead of an entry.")
@click.option("--statistic", metavar="NAME", help="Draw this statistic alone; by default all, a panel for each.")
@click.option(
    "--kind", type=click.Choice(["points", "bars", "lines", "heatmap"]),
    help="How to draw; by default what fits the keys.  A heat map shows two keys.",
)  # fmt: skip
@click.option("--table", metavar="KEY,KEY", help="Of several tables (ROLLUP, CUBE, …), the one with these keys.")
@comparing_options
@click.option("--simultaneous", is_flag=True, help="Make error bars hold for all cells at once.")
@click.option("--width", type=int, metavar="PIXELS", help="The width of a panel.")
@theme_option
@confidence_option
@click.option(
    "--output", required=True, metavar="FILE", help="The file to write: .svg, .png, .html (offline) or .vl.json."
)
@click.option("--force", is_flag=True, help="Write over a file that exists.")
def plot(
    source: str,
    entry: int | None,
    of_ledger: bool,
    statistic: str | None,
    kind: str | None,
    table: str | None,
    compare: Compare | None,
    simultaneous: bool,
    width: int | None,
    theme: str,
    confidence: str,
    output: str,
    force: bool,
) -> None:
    """Draw ENTRY of the ledger, a release, with its error bars.  It is read from the record, and costs nothing.

    \b
    lapwing plot visits.toml 2 --output visits.svg
    lapwing plot visits.toml 2 --kind heatmap --theme dark --output visits.png
    lapwing plot visits.toml 2 --difference ward=north,south --output difference.svg
    lapwing plot visits.toml --ledger --output budget.html
    """
    if of_ledger == (entry is not None):
        raise click.UsageError("give the number of an ENTRY, or --ledger")
    if of_ledger and (statistic, kind, table, compare, simultaneous) != (None, None, None, None, False):
        raise click.UsageError("--ledger takes --width and --theme alone: the other options are for an ENTRY")
    opened = opened_source(source)
    form = chart_form(output)
    check_chart(form, output, force, opened, source)
    if entry is None:
        chart = ledger_of(opened).plot(theme=theme, width=width)
    else:
        made = recorded_release(opened, entry).at(confidence, simultaneous=simultaneous)
        made = made if table is None else made.table(*_keys(table))
        shown = one_table(made, f"lapwing plot {source} {entry}") if compare is None else compare(made)
        chart = shown.plot(statistic, kind, theme=theme, width=width)
    write_chart(chart, form, output)
    click.echo(f"Wrote {output}.  Nothing was charged.", err=True)


def one_table(made: Release, command: str) -> Release:
    """Return the release, if a chart can show it: it has one table."""
    if len(made.tables) > 1:
        last = ",".join(made.tables[-1])
        advice = f'Draw one table of the recorded answer: {command} --table "{last}" --output …'
        raise InvalidRequest("A chart shows one table, and the release has several", advice)
    return made


def _keys(table: str) -> list[str]:
    """Return the names of keys in a text; a name with a comma in it is quoted, as in CSV."""
    (names,) = csv.reader([table], skipinitialspace=True) if table.strip() else [[]]
    return [name.strip() for name in names]


def chart_form(output: str) -> str:
    """Return what kind of chart a file is by its name; refuse a name that says none."""
    from ..charts.picture import ENDINGS, form_of

    form = form_of(output)
    if form is None:
        raise click.UsageError(f"{output} ends in none of {', '.join(ENDINGS)}: rename it")
    return form


def check_chart(form: str, output: str, force: bool, opened: Source | RemoteSource, source: str) -> None:
    """Refuse a file that should not be written, and a chart that cannot be drawn here, before anything is done."""
    from ..charts.picture import check_drawing

    file = Path(output)
    if file.is_dir():
        raise click.UsageError(f"{output} is a folder: give a file")
    check_writable(file, force, file.resolve() == Path(source).resolve() or opened.holds(file))
    check_drawing(form)


def write_chart(chart: Any, form: str, output: str, entry: int | None = None) -> None:
    """Write a chart to a file."""
    from ..charts.picture import picture
    from ..release.files import in_place_of

    drawn = picture(chart, form)
    try:
        with in_place_of(output) as file:
            file.write_bytes(drawn)
    except OSError:
        raise OutputError(output, entry) from None
