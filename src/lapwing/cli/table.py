"""``lapwing plan``, ``release``, ``discover``, ``bounds``: the commands that ask a table.

Engine and ledger are imported only when a command runs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidSource, LedgerError, OutputError
from ..exact import text
from .output import (
    Decorator,
    check_writable,
    confidence_option,
    format_option,
    format_options,
    print_json,
    progress_bar,
    source_argument,
)

if TYPE_CHECKING:
    from ..release.bounds import Bounds
    from ..release.discover import Discovery
    from ..release.result import Release
    from ..source import Source

_weights: Decorator = click.option(
    "--weight", "weights", multiple=True, metavar="COLUMN=NUMBER",
    help="How ε is split between columns (budget allocation), for example --weight cost=3 --weight age=1.",
)  # fmt: skip
_no_intervals: Decorator = click.option(
    "--no-intervals", is_flag=True, help="Spend all ε of quantiles on their values, and none on error bars."
)
_where: Decorator = click.option("--where", metavar="CONDITION", help='Which rows count, for example "age >= 65".')
_analyst: Decorator = click.option("--analyst", metavar="NAME", help="The analyst whose cap in the ledger is charged.")
_dry_run: Decorator = click.option(
    "--dry-run", is_flag=True, help="Only say what can be found.  No data is read, and nothing is charged."
)


@click.command()
@source_argument
@click.argument("sql")
@click.option("--epsilon", metavar="NUMBER", help="The ε of the release.")
@click.option(
    "--error", "errors", multiple=True, metavar="[NAME=]NUMBER",
    help="The error bar (half its width) wanted for every statistic, or for the one named, instead of --epsilon.",
)  # fmt: skip
@click.option(
    "--rows", default=1000, show_default=True, help="Assumed number of rows in a group, for the error of means."
)
@_weights
@_no_intervals
@click.option("--sql", "show_sql", is_flag=True, help="Show the SQL that the engine would run.")
@click.option(
    "--engine", metavar="NAME",
    help="Show the SQL for this engine: duckdb, postgres, spark; written, never run: bigquery, snowflake, trino, "
    "clickhouse.",
)  # fmt: skip
@confidence_option
@format_option
def plan(
    source: str,
    sql: str,
    epsilon: str | None,
    errors: Sequence[str],
    rows: int,
    weights: Sequence[str],
    no_intervals: bool,
    show_sql: bool,
    engine: str | None,
    confidence: str,
    form: str,
) -> None:
    """Show the error and the cost of a question before you ask it.  No data is read, and nothing is charged.

    \b
    lapwing plan visits.toml "SELECT ward, COUNT(*), AVG(cost) FROM visits GROUP BY ward" --epsilon 1
    lapwing plan visits.toml "SELECT COUNT(*) FROM visits" --error 10
    """
    from ..source import Source

    if (epsilon is None) == (not errors):
        raise click.UsageError("give --epsilon, or --error to see the ε it needs")
    opened, split = Source.open(source), _pairs(weights)
    error = errors[0] if len(errors) == 1 and "=" not in errors[0] else _pairs(errors) or None
    made = opened.plan(
        sql,
        epsilon=epsilon,
        error=error,
        weights=split,
        confidence=confidence,
        rows=rows,
        intervals=not no_intervals,
    )
    written = made.sql if engine is None else made.to_sql(engine)
    if form == "json":
        print_json(**{**made.to_dict(), "sql": written})
        return
    click.echo(str(made))
    if errors:
        click.echo(f"These error bars need ε = {text(made.epsilon)}.")
    click.echo(_left(opened))
    if show_sql or engine is not None:
        click.echo(f"\n{written}")


def _left(source: Source) -> str:
    try:
        left = source.left()
    except LedgerError:
        return "The ledger cannot be reached."
    except InvalidSource as refusal:  # it is where it was kept before
        return str(refusal)
    if left is None:  # without a total the plan has said what is lacking
        return f"There is no ledger yet{': the first release creates it' if source.epsilon is not None else ''}."
    return f"ε left: {text(left)}"


@click.command()
@source_argument
@click.argument("sql")
@click.option("--epsilon", required=True, metavar="NUMBER", help="The ε to spend on this release.")
@_weights
@_no_intervals
@_analyst
@click.option("--simultaneous", is_flag=True, help="Make error bars hold for all cells at once.")
@click.option("--nonnegative", is_flag=True, help="Show negative counts as 0 (biased; do not add them up).")
@click.option(
    "--output", metavar="PATH",
    help="Write to a new file; without --format, its extension decides (.csv, .json, .parquet, .html).  "
    "Or write Parquet files to a folder: an empty one, or a new one whose name ends with a slash.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Write over a file that exists.")
@confidence_option
@format_options("table", "json", "csv", "parquet", "html")
def release(
    source: str,
    sql: str,
    epsilon: str,
    weights: Sequence[str],
    no_intervals: bool,
    analyst: str | None,
    simultaneous: bool,
    nonnegative: bool,
    output: str | None,
    force: bool,
    confidence: str,
    form: str,
) -> None:
    """Release statistics: charge ε to the ledger, and print noisy numbers with error bars (confidence intervals).

    The same question at the same ε is answered from the ledger, at no charge.

    \b
    lapwing release visits.toml "SELECT ward, COUNT(*), AVG(cost) FROM visits GROUP BY ward" --epsilon 1
    """
    from ..release.files import is_folder
    from ..source import Source

    opened, split = Source.open(source), _pairs(weights)
    chosen = click.get_current_context().get_parameter_source("form") != click.core.ParameterSource.DEFAULT
    if output is None:
        if form == "parquet":
            raise click.UsageError("with --format parquet give --output PATH")
    elif is_folder(output):
        if chosen and form != "parquet":
            raise click.UsageError(f"{output} is a folder, and only Parquet files are written to a folder: give a file")
        form = "parquet"
        _check_folder(Path(output), opened.holds(Path(output) / "part-00000.parquet"))
    else:
        file = Path(output)
        check_writable(file, force, file.resolve() == Path(source).resolve() or opened.holds(file))
        if not chosen:
            endings = {".csv": "csv", ".json": "json", ".parquet": "parquet", ".html": "html", ".txt": "table"}
            if file.suffix not in endings:
                raise click.UsageError(f"{output} ends in none of {', '.join(endings)}: rename it, or give --format")
            form = endings[file.suffix]
    with _asking() as progress:
        made = opened.release(
            sql,
            epsilon=epsilon,
            weights=split,
            analyst=analyst,
            confidence=confidence,
            intervals=not no_intervals,
            progress=progress,
        )
    made = made.at(simultaneous=simultaneous)
    _write(made.nonnegative() if nonnegative else made, form, output)


def _pairs(given: Sequence[str]) -> dict[str, str]:
    """Return NAME=NUMBER, NAME=NUMBER, … as a mapping."""
    found = {}
    for each in given:
        name, equals, number = each.rpartition("=")
        if not equals or not name or name in found:
            raise click.UsageError("write NAME=NUMBER, for example cost=3, once for every name")
        found[name] = number
    return found


def _check_folder(output: Path, precious: bool) -> None:
    """Refuse, before anything is charged, a folder that cannot or should not be written to; none is made."""
    if precious:
        raise click.UsageError(f"files in {output} would become part of the table: give another folder")
    if output.exists() and not output.is_dir():
        raise click.UsageError(f"{output} is a file: give another folder")
    if output.exists() and any(output.iterdir()):
        raise click.UsageError(f"{output} is not empty: give another folder")
    place = output if output.exists() else output.parent
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise click.UsageError(f"{output} cannot be written")


def _write(made: Release, form: str, output: str | None) -> None:
    try:
        if output is None:
            _show(made, form)
            return
        with progress_bar("writing") as progress:
            _put(made, form, output, progress)
        click.echo(f"Wrote {output}.  {made.charged}", err=True)
    except OSError:
        raise OutputError(output or "standard output", made.entry) from None
    except KeyboardInterrupt:
        click.echo(f"Interrupted.  {made.charged}  The same question gets the same answer at no charge.", err=True)
        raise


def _show(made: Release, form: str) -> None:
    """Print a release, a long one piece by piece."""
    from ..release.columns import csv_text

    if form == "csv":
        for number, piece in enumerate(made.pieces()):
            click.echo(csv_text(piece, header=number == 0), nl=False)
    else:
        click.echo(_text(made, form), nl=False)
    if form in ("csv", "html"):
        click.echo(made.charged, err=True)


def _put(made: Release, form: str, output: str, progress: Any) -> None:
    """Write a release to a file, or to files in a folder."""
    from ..release.files import in_place_of

    if form == "parquet":
        made.to_parquet(output, progress)
    elif form == "csv":
        made.to_csv(output, progress)
    else:
        written = _text(made, form)
        with in_place_of(output) as file:
            file.write_text(written, encoding="utf-8")


def _text(made: Release, form: str) -> str:
    if form == "json":
        return json.dumps(made.to_dict(), ensure_ascii=False) + "\n"
    return made.to_html() if form == "html" else f"{made}\n"


@contextmanager
def _asking() -> Iterator[Any]:
    """Yield what shows the progress of a question; say what an interrupt means for its charge."""
    try:
        with progress_bar("reading") as progress:
            yield progress
    except KeyboardInterrupt:
        click.echo("Interrupted.  If ε was charged, the same question completes it at no charge.", err=True)
        raise


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
@_analyst
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
    """Find the keys of COLUMN that many people have: charge ε and δ, and print them with noisy counts.

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
    with _asking() as progress:
        found = opened.discover(column, **asked, analyst=analyst, confidence=confidence, progress=progress)
    taken = other in found.keys
    lines = found.to_toml(None if taken else other) if found.keys else None
    _tell(found, lines, form)
    if taken:
        click.echo(f'"{other}" is one of the keys found: give --other another name.', err=True)


@click.command()
@source_argument
@click.argument("column")
@click.option("--epsilon", required=True, metavar="NUMBER", help="The privacy to spend.")
@_where
@_analyst
@_dry_run
@format_options("table", "json", "csv")
def bounds(
    source: str, column: str, epsilon: str, where: str | None, analyst: str | None, dry_run: bool, form: str
) -> None:
    """Find bounds that contain most values of COLUMN: charge ε, and print them with a noisy histogram.

    This is for a numeric column with unknown bounds; declare it by its type, type = "number" or "integer".  Values that
    few rows have are left outside.  The output includes the lines to paste into the source file.

    \b
    lapwing bounds visits.toml cost --epsilon 0.1
    """
    from ..release.bounds import plan_bounds, seen
    from ..source import Source

    opened = Source.open(source)
    if dry_run:
        rows = seen(plan_bounds(opened.schema, column, epsilon=epsilon, where=where))
        if form == "json":
            print_json(source=opened.name, column=column, epsilon=epsilon, seen=rows)
        else:
            click.echo(f"A bin with more than {rows:,} rows is found with probability 95 %.  No data was read.")
        return
    with _asking() as progress:
        found = opened.bounds(column, epsilon=epsilon, where=where, analyst=analyst, progress=progress)
    _tell(found, found.to_toml() if found.occupied else None, form)


def _tell(found: Discovery | Bounds, lines: str | None, form: str) -> None:
    """Print what was found, and the lines of TOML that declare it."""
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
                click.echo(f"\nTo declare it, put this into the source file, {place}:\n\n{lines}", nl=False)
    except OSError:
        raise OutputError("standard output", found.entry) from None
