"""``lapwing --server URL request``: ask the owner of a source on a server for a higher cap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .ledger import print_requests
from .output import format_option
from .remote import asks_server, opened_source

if TYPE_CHECKING:
    from ..client.remote import RemoteSource


@click.command()
@click.argument("source")
@click.option("--cap", metavar="NUMBER", help="The cap that you want, above the one that you have.")
@click.option("--reason", metavar="TEXT", help="Why; the owner and auditors read it.")
@click.option("--withdraw", type=int, metavar="REQUEST", help="Take an open request of yours back.")
@format_option
def request(source: str, cap: str | None, reason: str | None, withdraw: int | None, form: str) -> None:
    """Ask the owner of SOURCE on a server for a higher cap.  Or list what you have asked for.

    \b
    lapwing --server https://stats.example request visits
    lapwing --server https://stats.example request visits --cap 2 --reason "The second wave of the survey."
    """
    if not asks_server():
        raise click.UsageError("request is for a source on a server: lapwing --server URL request SOURCE")
    if (cap is None) != (reason is None) or (cap is not None and withdraw is not None):
        raise click.UsageError("give --cap and --reason, or --withdraw, or none of them to list your requests")
    opened: RemoteSource = opened_source(source)  # type: ignore[assignment]  # since a server is asked
    if cap is not None and reason is not None:
        print_requests([opened.request(cap, reason)], form)
    elif withdraw is not None:
        print_requests([opened.withdraw(withdraw)], form)
    else:
        print_requests(opened.requests(), form)
