"""``lapwing --server URL sources`` and ``history``: what one may ask on a server, and what one was charged for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..exact import text
from ..ledger.lines import what, when
from .ledger import LONGEST
from .output import format_option, print_json, print_table
from .remote import asked_server, asks_server

if TYPE_CHECKING:
    from ..client.remote import RemoteSource, SourceOverview
    from ..client.remote_ledger import Budgets
    from ..ledger.entry import Budget

_MOST_KEYS = 20
"""How many keys of a column are printed."""


@click.command()
@click.argument("name", required=False)
@click.option("--example", type=int, metavar="N", help="Also print N invented rows, to try questions on.")
@format_option
def sources(name: str | None, example: int | None, form: str) -> None:
    """List the sources of a server that you may use.  Each with your roles, and what is left to spend.

    With NAME, print what is public about one: who is protected, and for each column what it holds, its bounds and its
    keys.  Invented rows are made of these declarations alone: their numbers say nothing about the data.  Nothing is
    charged.

    \b
    lapwing --server https://stats.example sources
    lapwing --server https://stats.example sources visits --example 5
    """
    if not asks_server():
        raise click.UsageError(
            "sources is for a server: lapwing --server URL sources.  For a source of your own, look into its file"
        )
    if name is None:
        if example is not None:
            raise click.UsageError("--example is for one source: give its NAME")
        _list(asked_server().overview(), form)
        return
    opened = asked_server().source(name)
    rows = None if example is None else opened.example(example)
    left = opened.ledger.budgets()
    if form == "json":
        print_json(**opened.describe(), budget=left.to_dict(), **({} if rows is None else {"example": rows}))
        return
    _describe(opened, left)
    if rows is not None:
        _print_rows(rows)


@click.command()
@click.argument("name")
@format_option
def history(name: str, form: str) -> None:
    """List what you were charged for in a server's source NAME.  The answers are not shown.

    The answer of an entry is there to be shown again, at no charge: `explain`, `plot` and `package`.

    \b
    lapwing --server https://stats.example history visits
    """
    if not asks_server():
        raise click.UsageError(
            "history is for a source on a server: lapwing --server URL history NAME.  "
            "For a source of your own, `lapwing ledger FILE` shows what was charged"
        )
    opened = asked_server().source(name)
    entries = opened.history()
    if form == "json":
        print_json(source=opened.name, entries=[each.to_dict() for each in entries])
        return
    rows = [
        [str(each.number), when(each.time), what(each, LONGEST), "" if each.epsilon is None else text(each.epsilon),
         "yes" if each.answered else "no"]
        for each in entries
    ]  # fmt: skip
    print_table(f"What you were charged for in {opened.name}", ["entry", "when (UTC)", "what", "ε", "answered"], rows)
    click.echo(_left(opened.ledger.budgets()))


def _list(found: Sequence[SourceOverview], form: str) -> None:
    """Print the sources that one may use."""
    if form == "json":
        print_json(sources=[each.to_dict() for each in found])
        return
    if not found:
        click.echo("There is no source that you may use: ask the owner of one for a role.")
        return
    rows = [
        [each.name, ", ".join(each.roles), *(["cannot be used now", ""] if each.left is None else _amounts(each.left))]
        for each in found
    ]
    print_table("Sources that you may use", ["source", "role", "left of your cap", "left of the total"], rows)


def _amounts(left: Budgets) -> list[str]:
    return ["no cap" if left.mine is None else _of(left.mine), _of(left.epsilon)]


def _of(budget: Budget) -> str:
    return f"{text(budget.remaining)} of {text(budget.total)}"


def _left(left: Budgets) -> str:
    """Say what is left of a source."""
    cap = "You have no cap" if left.mine is None else f"{_of(left.mine)} is left of your cap"
    delta = f"; δ: {_of(left.delta)}" if left.delta.total else ""
    return f"ε: {cap}, and {_of(left.epsilon)} of the total{delta}"


def _describe(opened: RemoteSource, left: Budgets) -> None:
    """Print what is public about a source."""
    from ..client.link import reading
    from ..release.legend import protects
    from ..report import printable
    from ..server.pages.columns import column_shown

    with reading():
        columns = [column_shown(name, each) for name, each in opened.describe()["columns"].items()]
    rows = [[printable(cell) for cell in (each["name"], each["what"], _keys(each), each["title"])] for each in columns]
    print_table(f"{opened.name}   protects {protects(opened.schema)}", ["column", "holds", "keys", "title"], rows)
    click.echo(f"Neighboring tables: {opened.schema.neighbors}.  {_left(left)}.")


def _keys(column: Mapping[str, Any]) -> str:
    """Return the keys of a column with their labels, those that stand for others, codes for missing, and bins."""
    listed = [f"{each['key']} ({each['label']})" if each["label"] else each["key"] for each in column["keys"]]
    more = len(listed) + column["more"] - _MOST_KEYS
    words = [", ".join(listed[:_MOST_KEYS]) + (f", … {more:,} more: see --format json" if more > 0 else "")]
    words += [f"others: {column['other']}"] if column["other"] else []
    words += [f"missing: {', '.join(column['missing'])}"] if column["missing"] else []
    words += [f"bins: {', '.join(column['edges'])}"] if column["edges"] else []
    return "; ".join(each for each in words if each)


def _print_rows(columns: Mapping[str, Sequence[Any]]) -> None:
    """Print invented rows."""
    from ..report import text_table

    rows = [list(map(_cell, row)) for row in zip(*columns.values(), strict=False)]
    numeric = [all(isinstance(cell, int | float) for cell in cells) for cells in columns.values()]
    click.secho("\nInvented rows, made of the declarations alone", bold=True)
    click.echo(text_table(list(columns), rows, [i for i, number in enumerate(numeric) if not number]))


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
