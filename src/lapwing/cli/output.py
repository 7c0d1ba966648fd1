"""How the commands print: tables for people, JSON for programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .remote import asks_server


def _remember_format(ctx: click.Context, _: click.Parameter, value: str) -> str:
    """Remember the format for errors, and let a command take that of the command above it."""
    if ctx.get_parameter_source("form") == click.core.ParameterSource.DEFAULT:
        return str(ctx.meta.setdefault("lapwing.format", value))
    ctx.meta["lapwing.format"] = value
    return value


Decorator = Callable[[Callable[..., None]], Callable[..., None]]


def format_options(*forms: str) -> Decorator:
    """Return the option --format with these choices, the first by default."""
    return click.option(
        "--format", "form", type=click.Choice(forms), default=forms[0], show_default=True,
        callback=_remember_format, is_eager=True, help="A table for people, or a format for programs.",
    )  # fmt: skip


format_option = format_options("table", "json")


class _SourceName(click.Path):
    """A file; with --server the name of a source there, whatever is called so on this machine."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if asks_server() else super().convert(value, param, ctx)


source_argument: Decorator = click.argument("source", type=_SourceName(dir_okay=False), metavar="SOURCE")
confidence_option: Decorator = click.option(
    "--confidence", default="0.95", show_default=True, metavar="P", help="Confidence level of the error bars."
)

analyst_option: Decorator = click.option(
    "--analyst", metavar="NAME", help="The analyst whose cap in the ledger is charged."
)


def print_json(**fields: Any) -> None:
    """Print one JSON object on one line."""
    text = json.dumps(fields, ensure_ascii=False)
    click.echo(text.encode("utf-8", "backslashreplace").decode())  # a lone surrogate becomes JSON's own escape


def print_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; columns of numbers are right-aligned."""
    click.secho(title, bold=True)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header=any(heads))
    numeric = [all(_is_numeric(row[i]) for row in rows) for i in range(len(heads))]
    for head, right in zip(heads, numeric, strict=True):
        table.add_column(head, justify="right" if right else "left")
    for row in rows:
        table.add_row(*map(Text, row))  # never read brackets in a question as markup
    console().print(table)


def _is_numeric(cell: str) -> bool:
    return cell != "" and not set(cell) - set("0123456789.,e+-")


def console() -> Console:
    """Return the terminal, or a page of fixed width."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else 110)


def rows_on_terminal() -> int | None:
    """Return how many rows of a table are printed: some on a terminal, and all (None) to a file or a pipe."""
    from ..release.result import TEXT_ROWS

    return TEXT_ROWS if sys.stdout.isatty() else None


@contextmanager
def progress_bar(what: str) -> Iterator[Any]:
    """Yield a function that draws a bar on a terminal once the work takes longer than a second."""
    if not sys.stderr.isatty():
        yield None
        return
    from time import monotonic

    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task, start = bar.add_task(what, total=1.0), monotonic()

    def tell(share: float, doing: str = what) -> None:
        if monotonic() - start > 1:
            bar.start()
        bar.update(task, completed=share, description=doing)

    try:
        yield tell
    finally:
        bar.stop()


@contextmanager
def asking() -> Iterator[Any]:
    """Yield what shows the progress of a question; say what an interrupt means for its charge."""
    try:
        with progress_bar("reading") as progress:
            yield progress
    except KeyboardInterrupt:
        click.echo("Interrupted.  If ε was charged, the same question completes it at no charge.", err=True)
        raise


def warned(answer: Any) -> Any:
    """Say on stderr that a release began a new ledger, if it did; return the answer without that, to print it."""
    if answer.new_ledger is None:
        return answer
    click.echo(answer.new_ledger, err=True)
    return answer.beside(None)  # new, so its table was not modified since


def check_writable(output: Path, force: bool, precious: bool) -> None:
    """Refuse, before anything is charged, a file that cannot or should not be written; none is made."""
    if precious:
        raise click.UsageError(f"{output} is or would become the source, its table or its ledger: give another file")
    if output.exists() and not force:
        raise click.UsageError(f"{output} exists: give another file, or --force to overwrite it")
    folder, device = output.resolve().parent, output.exists() and not output.is_file()
    needed = [*([] if device else [folder]), *([output] if output.exists() else [])]
    if not folder.is_dir() or not all(os.access(each, os.W_OK) for each in needed):
        raise click.UsageError(f"{output} cannot be written: {why_not(folder)}")


def why_not(folder: Path) -> str:
    """Say why nothing can be written to a folder, and what to do."""
    if folder.is_dir():
        return "you may not write there: give another place"
    return f"{folder} {'is no folder' if folder.exists() else 'does not exist'}: make this folder, or give another one"
