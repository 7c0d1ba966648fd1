"""``lapwing plan`` and ``release``: the commands that ask a table.

Engine and ledger are imported only when a command runs.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidSource, LedgerError, OutputError
from ..exact import text
from .compare import Compare, comparing_options, try_on_zeros
from .output import (
    Decorator,
    analyst_option,
    asking,
    check_writable,
    confidence_option,
    format_option,
    format_options,
    print_json,
    progress_bar,
    rows_on_terminal,
    source_argument,
    warned,
    why_not,
)
from .plot import chart_form, check_chart, one_table, write_chart
from .remote import asked_by, opened_source

if TYPE_CHECKING:
    from ..client.remote import RemoteSource
    from ..plan.plan import Plan
    from ..release.comparison import Comparison
    from ..release.result import Release
    from ..source import Source

    AnySource = Source | RemoteSource

_weights: Decorator = click.option(
    "--weight", "weights", multiple=True, metavar="COLUMN|(TABLE)=NUMBER",
    help="How ε is split between columns (budget allocation), for example --weight cost=3 --weight age=1.  "
    'Or how much one of several tables counts, by its keys in brackets: --weight "(sex, age)=4"; () is the total.',
)  # fmt: skip
_objective: Decorator = click.option(
    "--objective", type=click.Choice(["mean", "minimax", "cells"]), default="mean", show_default=True,
    help="What is made small for several tables (ROLLUP, CUBE, GROUPING SETS): the mean of their variances, the "
    "largest one, or the mean over all cells.",
)  # fmt: skip
_no_intervals: Decorator = click.option(
    "--no-intervals", is_flag=True, help="Spend all ε of quantiles on their values, and none on error bars."
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
@click.option(
    "--rows-per-person", metavar="K,K,…",
    help="Compare what the question would cost with each of these rows_per_person, for example 1,2,5,10.",
)  # fmt: skip
@_weights
@_objective
@_no_intervals
@click.option(
    "--output", metavar="FILE",
    help="Also draw the error to expect against ε, and write it: .svg, .png, .html (offline) or .vl.json.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Write over a file that exists.")
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
    rows_per_person: str | None,
    weights: Sequence[str],
    objective: str,
    no_intervals: bool,
    output: str | None,
    force: bool,
    show_sql: bool,
    engine: str | None,
    confidence: str,
    form: str,
) -> None:
    """Show the error and the cost of a question before you ask it.  No data is read, and nothing is charged.

    \b
    lapwing plan visits.toml "SELECT ward, COUNT(*), AVG(cost) FROM visits GROUP BY ward" --epsilon 1
    lapwing plan visits.toml "SELECT COUNT(*) FROM visits" --error 10
    lapwing plan visits.toml "SELECT COUNT(*) FROM visits" --epsilon 1 --rows-per-person 1,2,5,10
    lapwing plan visits.toml "SELECT ward, sex, COUNT(*) FROM visits GROUP BY CUBE (ward, sex)" --epsilon 1
    lapwing plan visits.toml "SELECT AVG(cost) FROM visits" --epsilon 1 --output plan.svg
    """
    if (epsilon is None) == (not errors):
        raise click.UsageError("give --epsilon, or --error to see the ε it needs")
    if rows_per_person is not None and (show_sql or (engine, output) != (None, None)):
        raise click.UsageError("--rows-per-person shows no SQL and no chart: leave out --sql, --engine and --output")
    opened = opened_source(source)
    asked: dict[str, Any] = {
        "epsilon": epsilon,
        "error": errors[0] if len(errors) == 1 and "=" not in errors[0] else _pairs(errors) or None,
        "weights": _split(weights),
        "objective": objective,
        "confidence": confidence,
        "rows": rows,
    }
    ask: Callable[..., Plan] = partial(opened.plan, sql, **asked, intervals=not no_intervals)
    if rows_per_person is not None:
        _compare([ask(rows_per_person=k) for k in rows_per_person.split(",")], form)
        return
    made = ask()
    if output is not None:
        _draw_plan(made, output, force, opened, source)
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


def _draw_plan(made: Plan, output: str, force: bool, opened: AnySource, source: str) -> None:
    """Write the chart of a plan."""
    drawn = chart_form(output)
    check_chart(drawn, output, force, opened, source)
    write_chart(made.plot(), drawn, output)
    click.echo(f"Wrote {output}.", err=True)


def _compare(plans: Sequence[Plan], form: str) -> None:
    """Print plans that differ in rows_per_person."""
    from ..plan.side_by_side import side_by_side

    print_json(plans=[each.to_dict() for each in plans]) if form == "json" else click.echo(side_by_side(plans))


def _left(source: AnySource) -> str:
    try:
        left = source.left()
    except LedgerError:
        return "The ledger cannot be reached."
    except InvalidSource as refusal:  # it is where it was kept before
        return str(refusal)
    if left is None:  # without a total the plan has said what is lacking
        makes = "" if source.epsilon is None else f": the first release makes one with ε = {text(source.epsilon)}"
        return f"There is no ledger yet{makes}."
    return f"ε left: {text(left)}"


@click.command()
@source_argument
@click.argument("sql")
@click.option("--epsilon", required=True, metavar="NUMBER", help="The ε to spend on this release.")
@_weights
@_objective
@_no_intervals
@analyst_option
@click.option("--simultaneous", is_flag=True, help="Make error bars hold for all cells at once.")
@click.option(
    "--nonnegative",
    is_flag=True,
    help="Show negative counts as 0 (biased; do not add them up); several tables are fitted so that they add up.",
)
@click.option("--rounded", is_flag=True, help="With --nonnegative and several tables: whole numbers.")
@click.option("--suppress", is_flag=True, help="Leave out numbers whose noise is high, by the levels of the source.")
@comparing_options
@click.option(
    "--output", metavar="PATH",
    help="Write to a new file; without --format, its extension decides (.csv, .json, .parquet, .xlsx, .html; a chart: "
    ".svg, .png, .vl.json).  Or write Parquet files to a folder: an empty one, or a new one ending in a slash.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Write over a file that exists.")
@confidence_option
@format_options("table", "json", "csv", "parquet", "html")
def release(
    source: str,
    sql: str,
    epsilon: str,
    weights: Sequence[str],
    objective: str,
    no_intervals: bool,
    analyst: str | None,
    simultaneous: bool,
    nonnegative: bool,
    rounded: bool,
    suppress: bool,
    compare: Compare | None,
    output: str | None,
    force: bool,
    confidence: str,
    form: str,
) -> None:
    """Release statistics: charge ε, and print noisy numbers.  Each has an error bar (confidence interval).

    The same question at the same ε is answered from the ledger, at no charge, also with another HAVING, ORDER BY or
    LIMIT: these cut the released answer.

    \b
    lapwing release visits.toml "SELECT ward, COUNT(*), AVG(cost) FROM visits GROUP BY ward" --epsilon 1
    lapwing release visits.toml "SELECT ward, COUNT(*), AVG(cost) FROM visits GROUP BY ward" --epsilon 1 \\
        --difference ward=north,south
    lapwing release visits.toml "SELECT ward, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY n DESC LIMIT 3" --epsilon 1
    lapwing release visits.toml "SELECT ward, sex, COUNT(*) FROM visits GROUP BY ROLLUP (ward, sex)" --epsilon 1
    """
    if rounded and not nonnegative:
        raise click.UsageError("--rounded needs --nonnegative")
    opened = opened_source(source)
    asked: dict[str, Any] = {"epsilon": epsilon, "weights": _split(weights), "objective": objective}
    asked["intervals"] = not no_intervals
    if compare is not None:
        if nonnegative:
            raise click.UsageError("--nonnegative is biased: leave it out of comparisons")
        try_on_zeros(compare, opened.plan(sql, **asked))
    form = _form(form, output, force, opened, source)
    if form == "xlsx":
        from ..exports.package import check_sheet

        check_sheet(opened.plan(sql, **asked).groups)
    if form in CHARTS:
        try_on_zeros(_chart(compare, form), opened.plan(sql, **asked))
    with asking() as progress:
        made = warned(opened.release(sql, **asked, confidence=confidence, **asked_by(analyst, progress)))
    made = made.at(simultaneous=simultaneous)
    made = made.nonnegative(rounded=rounded) if nonnegative else made
    made = made.suppressed() if suppress else made
    _write(made if compare is None else compare(made), form, output)


CHARTS = ("svg", "png", "vega-lite")
"""The formats that are charts; a page of a release is a report."""


def _chart(compare: Compare | None, form: str) -> Callable[[Release], Any]:
    """Return how a release is drawn, or what is compared in it; refuse what needs libraries that are not there."""
    from ..charts.picture import check_drawing

    check_drawing(form)
    return lambda made: (one_table(made, "lapwing plot SOURCE ENTRY") if compare is None else compare(made)).plot()


def _form(form: str, output: str | None, force: bool, opened: AnySource, source: str) -> str:
    """Return the format, by the name of the file if none was given; refuse a place that should not be used."""
    from ..release.files import is_folder

    chosen = click.get_current_context().get_parameter_source("form") != click.core.ParameterSource.DEFAULT
    if output is None:
        if form == "parquet":
            raise click.UsageError("with --format parquet give --output PATH")
        return form
    if is_folder(output):
        if chosen and form != "parquet":
            raise click.UsageError(f"{output} is a folder, and only Parquet files are written to a folder: give a file")
        _check_folder(Path(output), opened.holds(Path(output) / "part-00000.parquet"))
        return "parquet"
    file = Path(output)
    check_writable(file, force, file.resolve() == Path(source).resolve() or opened.holds(file))
    if chosen:
        return form
    endings = {".vl.json": "vega-lite", ".csv": "csv", ".json": "json", ".parquet": "parquet", ".html": "html"}
    endings |= {".xlsx": "xlsx", ".svg": "svg", ".png": "png", ".txt": "table"}
    found = next((form for ending, form in endings.items() if file.name.endswith(ending)), None)
    if found is None:
        raise click.UsageError(f"{output} ends in none of {', '.join(endings)}: rename it, or give --format")
    return found


def _split(given: Sequence[str]) -> dict[str | tuple[str, ...], str]:
    """Return the weights of columns, and of tables, which are columns in brackets: "(sex, age)=4"."""
    found: dict[str | tuple[str, ...], str] = {}
    for name, number in _pairs(given).items():
        if name.startswith("(") and name.endswith(")"):
            (names,) = csv.reader([name[1:-1]], skipinitialspace=True)
            found[tuple(each.strip() for each in names)] = number
        else:
            found[name] = number
    return found


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
        raise click.UsageError(f"{output} cannot be written: {why_not(place)}")


def _write(made: Release | Comparison, form: str, output: str | None) -> None:
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


def _show(made: Release | Comparison, form: str) -> None:
    """Print a release, a long one piece by piece."""
    from ..release.columns import csv_text
    from ..release.result import Release

    if form == "csv":
        whole = made.adding_up if isinstance(made, Release) else ()
        for number, piece in enumerate(made.pieces()):
            click.echo(csv_text(piece, header=number == 0, whole=whole), nl=False)
    else:
        click.echo(_text(made, form, rows_on_terminal()), nl=False)
    if form in ("csv", "html"):
        click.echo(made.charged, err=True)


def _put(made: Release | Comparison, form: str, output: str, progress: Any) -> None:
    """Write a release to a file, or to files in a folder."""
    from ..release.files import in_place_of

    if form == "parquet":
        made.to_parquet(output, progress)
    elif form == "csv":
        made.to_csv(output, progress)
    elif form == "xlsx":
        from ..exports.package import Packing

        with in_place_of(output) as file:
            Packing(made, False).workbook(file)
    elif form in CHARTS:
        write_chart(made.plot(), form, output, made.entry)
    else:
        written = _text(made, form)
        with in_place_of(output) as file:
            file.write_text(written, encoding="utf-8")


def _text(made: Release | Comparison, form: str, most: int | None = None) -> str:
    if form == "json":
        return json.dumps(made.to_dict(), ensure_ascii=False) + "\n"
    return made.to_html() if form == "html" else f"{made.to_text(most)}\n"
