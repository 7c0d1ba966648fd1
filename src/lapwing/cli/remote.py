"""``lapwing --server URL plan|release|request|sign-in|sign-out``: commands for a server and its sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..client.remote import RemoteSource
    from ..source import Source

ASKS = ("plan", "release", "request", "sign-in", "sign-out")
"""The commands that can ask a server."""

_KEPT = "lapwing.server"


def remember_server(ctx: click.Context, server: str | None, token_file: str | None) -> None:
    """Keep which server is asked; refuse commands that cannot ask one."""
    if server is None:
        if token_file is not None:
            raise click.UsageError("--token-file is for --server")
        return
    if ctx.invoked_subcommand not in ASKS:
        raise click.UsageError(f"--server is for {', '.join(ASKS[:-1])} and {ASKS[-1]}")
    ctx.meta[_KEPT] = server, token_file


def asks_server() -> bool:
    """Return whether a server is asked."""
    return _KEPT in click.get_current_context().meta


def named_server() -> str:
    """Return the address of the server to sign in to, or out of."""
    if not asks_server():
        raise click.UsageError("name the server: lapwing --server URL sign-in")
    url, token_file = click.get_current_context().meta[_KEPT]
    if token_file is not None:
        raise click.UsageError("--token-file is for plan and release: a sign-in has a file of its own")
    return str(url)


def opened_source(source: str) -> Source | RemoteSource:
    """Return the source of a file, or of this name on the server."""
    if asks_server():
        from ..client.remote import connect

        url, token_file = click.get_current_context().meta[_KEPT]
        return connect(url, token_file=token_file).source(source)
    from ..source import Source

    return Source.open(source)


def asked_by(analyst: str | None, progress: Any) -> dict[str, Any]:
    """Return the arguments that only a source of this machine takes."""
    if not asks_server():
        return {"analyst": analyst, "progress": progress}
    if analyst is not None:
        raise click.UsageError(
            "--analyst is for sources of this machine: on a server it is the one whose token is used"
        )
    return {}
