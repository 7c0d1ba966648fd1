"""``lapwing --server URL COMMAND``: which commands can ask a server, and why the others cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..client.remote import RemoteSource, Server
    from ..client.remote_ledger import RemoteLedger
    from ..ledger.ledger import Ledger
    from ..source import Source

ASKS = (
    "sources", "history", "plan", "release", "explain", "plot", "package", "ledger", "request", "sign-in", "sign-out",
)  # fmt: skip
"""The commands that can ask a server."""

_READS_TABLE = "it reads the table itself, which stays with the owner of the source"
_NO_SOURCE = "it asks no source: leave out --server"
_ON_THE_SERVER = "it is run where the server is, without --server"
CANNOT_ASK = {
    "check": f"{_READS_TABLE}, who can run it there",
    "init": f"{_READS_TABLE}, who can run it there",
    "bounds": "what is not declared is found by the owner of the source, where its file is",
    "discover": "what is not declared is found by the owner of the source, where its file is",
    "access": _ON_THE_SERVER,
    "serve": _ON_THE_SERVER,
    "audit": _NO_SOURCE,
    "demo": _NO_SOURCE,
    "error": _NO_SOURCE,
    "noise": _NO_SOURCE,
    "sensitivity": _NO_SOURCE,
}
"""Every other command, and why it cannot."""

_KEPT = "lapwing.server"


def remember_server(ctx: click.Context, server: str | None, token_file: str | None) -> None:
    """Keep which server is asked; refuse commands that cannot ask one."""
    if server is None:
        if token_file is not None:
            raise click.UsageError("--token-file is for --server")
        return
    command = str(ctx.invoked_subcommand)
    if command not in ASKS:
        raise click.UsageError(f"`lapwing {command}` cannot ask a server: {CANNOT_ASK[command]}")
    ctx.meta[_KEPT] = server, token_file


def asks_server() -> bool:
    """Return whether a server is asked."""
    context = click.get_current_context(silent=True)
    return context is not None and _KEPT in context.meta


def named_server() -> str:
    """Return the address of the server to sign in to, or out of."""
    if not asks_server():
        raise click.UsageError("name the server: lapwing --server URL sign-in")
    url, token_file = click.get_current_context().meta[_KEPT]
    if token_file is not None:
        raise click.UsageError("leave out --token-file: a sign-in has a file of its own")
    return str(url)


def asked_server() -> Server:
    """Return the server that is asked."""
    from ..client.remote import connect

    url, token_file = click.get_current_context().meta[_KEPT]
    return connect(url, token_file=token_file)


def opened_source(source: str) -> Source | RemoteSource:
    """Return the source of a file, or of this name on the server."""
    if asks_server():
        return asked_server().source(source)
    from ..source import Source

    return Source.open(source)


def ledger_of(opened: Source | RemoteSource) -> Ledger | RemoteLedger:
    """Return the ledger of a source, whatever its total is."""
    from ..source import Source

    return opened.open_ledger() if isinstance(opened, Source) else opened.ledger


def asked_by(analyst: str | None, progress: Any) -> dict[str, Any]:
    """Return the arguments that only a source of this machine takes."""
    if not asks_server():
        return {"analyst": analyst, "progress": progress}
    if analyst is not None:
        raise click.UsageError(
            "--analyst is for sources of this machine: on a server it is the one whose token is used"
        )
    return {}
