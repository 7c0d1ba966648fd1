"""``lapwing check``: whether a source file fits its table."""

from __future__ import annotations

import sys

import click

from .output import format_option, print_json, progress_bar, source_argument


@click.command()
@source_argument
@format_option
def check(source: str, form: str) -> None:
    """Check that SOURCE fits its table, before any ε is spent.  For the owner of the table alone.

    It reads the whole table, without noise, and says in words (none, under 1 %, under 10 %, many, nearly all, all) how
    many cells of each declared column are values, missing, beyond the bounds or no listed key.  What it prints is
    private.  Nothing is charged, and no ledger is made.  The exit status is 1 if a declared column can give nothing but
    wrong numbers.

    \b
    lapwing check visits.toml
    """
    from ..checking import check as check_source
    from ..source import Source

    with progress_bar("reading") as progress:
        found = check_source(Source.open(source), progress=progress)
    if form == "json":
        print_json(**found.to_dict())
    else:
        click.echo(str(found))
    if found.wrong:
        sys.exit(1)
