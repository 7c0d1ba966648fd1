"""``lapwing audit``: the checks that a user can run."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .output import format_options, print_table, progress_bar

if TYPE_CHECKING:
    from ..auditing.audit import Audit


@click.command()
@click.option(
    "--only",
    multiple=True,
    metavar="CHECK[/PART]",
    help="Run this check only, or one part of it (reading/lines); may be given several times.",
)
@click.option("--deep", is_flag=True, help="Draw ten times as much, over more tables; takes several times as long.")
@click.option("--minutes", type=float, metavar="N", help="With --deep: draw worlds for so many minutes; 5 by default.")
@click.option("--seed", type=int, metavar="N", help="Begin with world number N, which a finding has named.")
@click.option("--jobs", type=int, default=2, show_default=True, metavar="N", help="Run so many checks at once.")
@click.option("--stop", is_flag=True, help="Stop at the first finding that fails.")
@click.option(
    "--engine", "engine", multiple=True, metavar="URL",
    help="Also check this engine: spark, sc://host, or postgresql://user@host/database (creates and drops a schema).",
)  # fmt: skip
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the report to this file.")
@format_options("table", "json", "html")
def audit(
    only: Sequence[str],
    deep: bool,
    minutes: float | None,
    seed: int | None,
    jobs: int,
    stop: bool,
    engine: Sequence[str],
    output: Path | None,
    form: str,
) -> None:
    """Check on this machine that Lapwing keeps its promises.  It takes about three minutes.

    The checks cover tables and questions drawn at random, exact distributions of whole releases, sensitivities by
    brute force, replay on neighbors with frozen noise, a statistical lower bound on ε from ten million draws, coverage
    of error bars, timing, every way to ask, failures at every step, races and crashes of the ledger, and leaks.  All
    tables are made up: none of your data is read.  The exit status is 1 if anything is not as promised.

    \b
    lapwing audit
    lapwing audit --only laws --only replay
    lapwing audit --deep --minutes 30
    lapwing audit --format html --output audit.html
    """
    from ..auditing.audit import audit as run

    if output is not None and not output.parent.is_dir():
        raise click.UsageError(f"{output} cannot be written")
    with progress_bar("audit") as progress:
        found = run(
            *only, deep=deep, minutes=minutes, seed=seed, stop=stop, jobs=jobs, engine=engine, progress=progress
        )
    if form == "table" and output is None:
        _show(found)
    else:
        written = {"json": json.dumps(found.to_dict(), ensure_ascii=False) + "\n", "html": found.to_html()}
        _write(written.get(form, f"{found}\n"), output, found.summary)
    sys.exit(0 if found.passed else 1)


def _show(found: Audit) -> None:
    rows = [
        [each.check, "passed" if each.passed else "FAILED", f"{len(each.findings):,}", f"{each.seconds:.1f}", each.asks]
        for each in found.verdicts
    ]
    print_table("Audit of Lapwing", ["check", "verdict", "findings", "seconds", "asks"], rows)
    for verdict in found.verdicts:
        for finding in verdict.failures:
            click.echo(f"FAILED in {verdict.check}: {finding.what}\n    {finding.told}")
    click.echo(found.summary)


def _write(text: str, output: Path | None, summary: str) -> None:
    if output is None:
        click.echo(text, nl=False)
        return
    output.write_text(text, encoding="utf-8")
    click.echo(f"Wrote {output}.  {summary}", err=True)
