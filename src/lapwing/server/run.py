"""Runs a server until it is told to stop; what was charged by then is recorded before it ends."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ..optional import library
from .app import Application
from .log import Failures
from .settings import Settings

_CONNECTIONS = 500
"""How many connections are open at once; more are refused."""


def serve(settings: Settings, tell: Callable[[str], object]) -> None:
    """Serve sources until SIGTERM or SIGINT; ``tell`` is told once where."""
    uvicorn: Any = library("uvicorn", "lapwing[server]")
    app = Application(settings)
    for name in ("lapwing.server", "lapwing.engine"):
        logging.getLogger(name).addHandler(Failures())
    kind = "https" if settings.certificate else "http"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    tell(f"Serving {', '.join(app.sources)} on {kind}://{host}:{settings.port}")
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port,
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
        access_log=False,
        log_config=None,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=_CONNECTIONS,
        lifespan="on",
    )
