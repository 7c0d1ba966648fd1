"""``lapwing package``: a released answer as a folder to hand over."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from .compare import Compare, comparing_options
from .output import confidence_option, format_option, print_json, source_argument
from .recorded import recorded_release
from .remote import opened_source

FORMATS = ("csv", "parquet", "sdmx", "csvw", "xlsx", "html", "registry", "datapackage")
"""Those of ``exports.package``, which is imported when the command runs."""


@click.command()
@source_argument
@click.argument("entry", type=int)
@click.option(
    "--to", "folder", required=True, metavar="DIR", type=click.Path(path_type=Path), help="A folder, new or empty."
)
@click.option("--only", multiple=True, type=click.Choice(FORMATS), help="Write only this format; may be repeated.")
@click.option("--force", is_flag=True, help="Replace a package that is there; nothing else is replaced.")
@click.option(
    "--safe-csv", is_flag=True,
    help="In data.csv, put an apostrophe before texts that a spreadsheet would take for formulas.",
)  # fmt: skip
@click.option("--simultaneous", is_flag=True, help="Make error bars hold for all cells at once.")
@click.option("--nonnegative", is_flag=True, help="Show negative counts as 0, as `lapwing release` does.")
@click.option("--rounded", is_flag=True, help="With --nonnegative and several tables: whole numbers.")
@click.option("--suppress", is_flag=True, help="Leave out numbers whose noise is high, by the levels of the source.")
@comparing_options
@confidence_option
@format_option
def package(
    source: str,
    entry: int,
    folder: Path,
    only: Sequence[str],
    force: bool,
    safe_csv: bool,
    simultaneous: bool,
    nonnegative: bool,
    rounded: bool,
    suppress: bool,
    compare: Compare | None,
    confidence: str,
    form: str,
) -> None:
    """Write the answer of ENTRY to a folder to hand over.

    The folder has the numbers as CSV, Parquet, SDMX-CSV and Excel, what they are as CSVW metadata, a data package and a
    record for the registry of deployments of differential privacy, a report to read, and a README.txt with checksums.
    Nothing is charged, and no data is read.  The folder is written completely, or not at all.

    \b
    lapwing package visits.toml 2 --to visits-2026
    lapwing package visits.toml 2 --to visits-2026 --only csv --only csvw --suppress
    """
    from ..exports.package import names_of

    if rounded and not nonnegative:
        raise click.UsageError("--rounded needs --nonnegative")
    if compare is not None and nonnegative:
        raise click.UsageError("--nonnegative is biased: leave it out of comparisons")
    opened = opened_source(source)
    places = [folder / name for name in names_of()]
    if any(opened.holds(place) or place.resolve() == Path(source).resolve() for place in places):
        raise click.UsageError(f"{folder} has the source, its table or its ledger: give another folder")
    made = recorded_release(opened, entry).at(confidence, simultaneous=simultaneous)
    made = made.nonnegative(rounded=rounded) if nonnegative else made
    made = made.suppressed() if suppress else made
    answer = made if compare is None else compare(made)
    written = answer.package(folder, only=only, force=force, safe_csv=safe_csv)
    if form == "json":
        print_json(folder=str(folder), entry=entry, files=written)
        return
    click.echo(f"Wrote {len(written)} files to {folder}: {', '.join(written)}.  Nothing was charged.")
    if "registry.yaml" in written:
        click.echo("Complete registry.yaml before you send it: lines that only you can write say fill in.")
