"""``lapwing init``: a source file for a table, with what can be recognised about its files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .output import check_writable, format_option, print_json

if TYPE_CHECKING:
    from ..question.file import File
    from ..source_file import Draft


@click.command()
@click.argument("table", metavar="TABLE")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="[default: TABLE.toml]")
@click.option("--force", is_flag=True, help="Write over a file that exists.")
@click.option("--columns", metavar="NAMES", help="Write only these columns, for example age,cost.")
@click.option("--delimiter", metavar="SIGN", help='The character between two fields, for example ";".')
@click.option("--quote", metavar="SIGN", help='The character around fields, or "" if there is none.')
@click.option("--encoding", metavar="NAME", help="utf-8, latin-1, windows-1252, utf-16, utf-16le or utf-16be.")
@click.option("--no-header", is_flag=True, help="The first line is a row; the columns are named column1, column2, ….")
@click.option("--decimal", metavar="MARK", help='The decimal mark, "." or ",".')
@click.option("--thousands", metavar="MARK", help='The mark between groups of three digits, for example ".".')
@click.option("--dates", metavar="PATTERN", help='How dates are written, for example "%d.%m.%Y".')
@click.option("--missing", multiple=True, metavar="TEXT", help="A text that means that there is no value, such as NA.")
@click.option("--part", metavar="NAME", help="The sheet or table that is meant, in a file that has several.")
@format_option
def init(
    table: str,
    output: Path | None,
    force: bool,
    columns: str | None,
    no_header: bool,
    form: str,
    **written: Any,
) -> None:
    """Write a source file for TABLE.  It has the columns, for you to fill in.

    TABLE is a path or glob of files (CSV, Parquet, JSON lines, Excel, SQLite, DuckDB, Arrow, Stata, SPSS, SAS), a
    folder of Parquet files, or a URL such as postgresql://user@host/database#table.  Bounds and keys are left for you
    to fill in: taken from the data, they would reveal single people (the oldest, the richest, the only one).

    How a text file is written (delimiter, encoding, decimal comma, dates, codes for missing) is recognised from its
    first lines as far as possible, and written to [file] of the source file; give an option where it is wrong.  No cell
    is written or shown.

    TABLE may also be a file of CSVW metadata (.json), best with the vocabulary CSVW-EO: then person, bounds and keys
    are taken from it, for you to check.

    Run again on a table that has its source file, it adds columns that are new, and changes nothing else.

    \b
    lapwing init visits.parquet
    lapwing init survey.csv --columns age,sex,hours
    lapwing init visits.csv-metadata.json
    lapwing init 'postgresql://lapwing@db.example/clinic#visits'
    """
    from ..exports.csvw_eo import is_metadata
    from ..question.file import AS_USUAL, file
    from ..release.files import in_place_of
    from ..source_file import NO_SECRET

    if written["delimiter"] in ("\\t", "tab"):
        written["delimiter"] = "\t"
    told = file(**written)
    chosen = None if columns is None else [name.strip() for name in columns.split(",")]
    described = is_metadata(table)
    if described and (told != AS_USUAL or no_header):
        raise click.UsageError("the metadata says how the table is written: change [file] of the source file instead")
    if not described and not force and _add(table, output, told != AS_USUAL or no_header, chosen, form):
        return
    draft = _draft(table, output, told, chosen, header=not no_header, described=described)
    path = output or Path(f"{draft.name}.toml")
    check_writable(path, force, path.resolve() == Path(table).resolve())
    with in_place_of(path) as place:
        place.write_text(draft.text, encoding="utf-8")
    if NO_SECRET in draft.text:
        click.echo(NO_SECRET, err=True)
    if form == "json":
        print_json(source=str(path), columns=list(draft.columns), recognised=list(draft.recognised))
        return
    for line in draft.recognised:
        click.echo(line)
    click.echo(f"Wrote {path}.  Remove the # from the lines you need, fill in every ?, then:")
    click.echo(f"  lapwing check {path}")
    click.echo(f'  lapwing plan {path} "SELECT COUNT(*) FROM {draft.name}" --epsilon 0.1')


def _draft(
    table: str, output: Path | None, told: File, chosen: Sequence[str] | None, *, header: bool, described: bool
) -> Draft:
    """Return the source file of a table, or of the table that metadata describes."""
    from ..exports.csvw_eo import draft_of_metadata
    from ..source_file import describe, source_name

    folder, name = (Path(), None) if output is None else (output.parent, source_name(str(output)))
    if described:
        return draft_of_metadata(table, folder, chosen=chosen, name=name)
    return describe(table, folder, told, header=header, chosen=chosen, name=name)


def _add(table: str, output: Path | None, told: bool, chosen: Sequence[str] | None, form: str) -> bool:
    """Add new columns to the source file of a table, if it has one; return whether it has."""
    from ..source_file import added, source_name

    path = output or Path(f"{source_name(table)}.toml")
    if not path.is_file():
        return False
    more = added(path, table, chosen)
    if more is None:
        return False
    if told:
        raise click.UsageError(f"{path} exists: change its [file], or give --force to write it anew")
    lines, names = more
    if names:
        check_writable(path, force=True, precious=False)
        with path.open("a", encoding="utf-8") as file:
            file.write(lines)
    if form == "json":
        print_json(source=str(path), added=names)
    elif names:
        click.echo(f"Added {len(names)} column{'s' * (len(names) > 1)} to {path}: {', '.join(names)}.")
    else:
        click.echo(f"{path} has all of these columns: nothing was added.")
    return True
