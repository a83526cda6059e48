"""Keep the SDK's own log off the screen."""

from __future__ import annotations

import logging

NAMES = ("mcp", "client", "httpx2", "httpcore2")


def quiet() -> None:
    """Without a handler, Python would print what the SDK logs about a broken server; we tell it in our words."""
    for name in NAMES:
        log = logging.getLogger(name)
        if not log.handlers:
            log.addHandler(logging.NullHandler())
