"""Runs a server until it is told to stop; what was charged by then is recorded before it ends."""

from __future__ import annotations

import errno
import logging
import os
import signal
import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

from ..errors import ServerError
from ..optional import library
from .app import Application
from .log import Failures
from .settings import Settings

_CONNECTIONS = 500
"""How many connections are open at once; more are refused."""

_WAITING = 2048
"""How many connections wait to be opened."""


def serve(settings: Settings, tell: Callable[[str], object]) -> None:
    """Serve sources until SIGTERM, SIGHUP or SIGINT; ``tell`` is told once where.

    The port is taken first: if that is refused, no source was opened and nothing was told.  Returning, the server has
    answered and recorded all that it had begun: that is no failure, whatever the signal.
    """
    uvicorn: Any = library("uvicorn", "server")
    with ExitStack() as taken:
        sockets = take_port(settings.host, settings.port, taken)
        app = Application(settings)
        for name in ("lapwing.server", "lapwing.engine", "uvicorn.error"):
            logging.getLogger(name).addHandler(Failures())
        config = _config(uvicorn, app, settings)
        listen(sockets, settings.host, settings.port)
        kind = "https" if settings.certificate else "http"
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        tell(f"Serving {', '.join(app.sources)} on {kind}://{host}:{settings.port}")
        server = uvicorn.Server(config)
        for ending in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(ending) is not signal.SIG_IGN:  # nohup
                signal.signal(ending, server.handle_exit)  # uvicorn leaves SIGHUP alone, and repeats the others
        with suppress(KeyboardInterrupt):  # SIGINT, after all that was begun has ended
            server.run(sockets)


def _config(uvicorn: Any, app: Application, settings: Settings) -> Any:
    """Return how uvicorn serves the application, its certificate read."""
    config = uvicorn.Config(
        app,
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
        access_log=False,
        log_config=None,
        log_level="warning",
        server_header=False,
        http="h11",  # httptools, taken if it is there, has no limit for headers
        proxy_headers=False,
        ws="none",
        limit_concurrency=_CONNECTIONS,
        backlog=_WAITING,
        lifespan="on",
    )
    try:
        config.load()
    except OSError:
        advice = "Give a certificate with its chain by --certificate, and its private key by --key, as PEM files."
        raise ServerError("The certificate or its key cannot be used", advice) from None
    return config


def take_port(host: str, port: int, taken: ExitStack) -> list[socket.socket]:
    """Return sockets that have the port, one for each address of the host; ``taken`` closes them."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise _refused(host, port, error) from None
    sockets: list[socket.socket] = []
    missing: OSError | None = None
    for family, kind, protocol, _, address in dict.fromkeys(found):
        try:
            one = taken.enter_context(socket.socket(family, kind, protocol))
            if os.name == "posix":
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind(address)
        except OSError as error:
            if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                raise _refused(host, port, error) from None
            missing = error  # localhost is often two addresses, of which a machine may have one
        else:
            sockets.append(one)
    if missing is not None and not sockets:
        raise _refused(host, port, missing) from None
    return sockets


def listen(sockets: list[socket.socket], host: str, port: int) -> None:
    """Listen: of two servers that took a port at the same moment, the second is refused here."""
    try:
        for each in sockets:
            each.listen(_WAITING)
    except OSError as error:
        raise _refused(host, port, error) from None


def _refused(host: str, port: int, error: OSError) -> ServerError:
    """Return the error for an address that cannot be used, with what to do."""
    if error.errno == errno.EADDRINUSE:
        what = f"Port {port} of {host} is in use by another program"
        return ServerError(what, "If it is a server of yours, stop it; else give another port, by --port.")
    if error.errno in (errno.EACCES, errno.EPERM):
        what = f"You may not use port {port} of {host}"
        return ServerError(what, "Give a port from 1024 to 65535, by --port; a proxy in front may have port 443.")
    if error.errno == errno.EADDRNOTAVAIL:
        return ServerError(f"This machine has no address {host}", "Give one of its addresses, by --host.")
    return ServerError(f"Nothing can listen on port {port} of {host}", "Give another --host or --port.")
