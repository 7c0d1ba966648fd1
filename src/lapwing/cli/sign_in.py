"""``lapwing --server URL sign-in`` and ``sign-out``: a token of one's own, by one's organisation's accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .output import format_option, print_json
from .remote import named_server

if TYPE_CHECKING:
    from ..client.sign_in import Prompt


@click.command(name="sign-in")
@format_option
def sign_in(form: str) -> None:
    """Sign in to a server with your organisation's account.  You do so in a browser, on this or any other device.

    Prints an address and a code, and waits until you have signed in there.  The token that you get lasts 12 hours; it
    is kept in a file that you alone can read, for this server.  LAPWING_TOKEN and --token-file come before it.

    \b
    lapwing --server https://stats.example sign-in
    """
    from ..client.sign_in import shadowed
    from ..client.sign_in import sign_in as begin

    url = named_server()
    made = begin(url, _tell)
    if form == "json":
        print_json(server=url, person=made.person, expires=made.expires)
    else:
        click.echo(f"You are {made.person} at {url} until {made.expires[:16].replace('T', ' ')} UTC.")
    if shadowed():
        click.echo("LAPWING_TOKEN is set, and is used in place of this sign-in.", err=True)


def _tell(asked: Prompt) -> None:
    click.echo(f"Open {asked.address} and type the code {asked.code}", err=True)
    if asked.complete is not None:
        click.echo(f"or open {asked.complete} and compare the code.", err=True)
    click.echo("Go on only if you have just begun this yourself.  Waiting …", err=True)


@click.command(name="sign-out")
@format_option
def sign_out(form: str) -> None:
    """Sign out of a server.  Its token is revoked there, and deleted here."""
    from ..client.sign_in import sign_out as end

    url = named_server()
    ended = end(url)
    if form == "json":
        print_json(server=url, signed_out=ended)
    else:
        click.echo(f"Signed out of {url}." if ended else f"You were not signed in to {url}.")
