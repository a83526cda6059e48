"""Diagnostics of a file: servers are asked for them, or send them by themselves when they are ready."""

from __future__ import annotations

import time
from typing import Any

from pegboard_lsp.addresses import uri_of
from pegboard_lsp.live_server import Pushed, RunningServer

QUIET = 0.5
"""Seconds without another list after which the last one counts, for servers that do not say which version it is for."""
METHOD = "textDocument/diagnostic"


async def problems_of(running: RunningServer, path: str, seconds: float) -> tuple[list[Any], bool]:
    """The diagnostics of a file as it is now, and whether the server said anything within the time."""
    began = time.monotonic()
    deadline = began + seconds
    async with running.in_step:
        document = await running.documents.bring(path)
        known = running.pushed.get(path)
        is_stale = known is not None and known.version in (None, document.version)
        if is_stale and not _pulls(running) and document.seen != running.documents.changes:
            # It may say nothing more about a file that is the same, though another has changed.
            await running.documents.open_again(document)
        since = began if document.seen != running.documents.changes else 0.0
        changes = running.documents.changes
    await running.settle(deadline - time.monotonic())
    while not _pulls(running):
        pushed = running.pushed.get(path)
        if pushed is not None and _is_current(pushed, running, document.version, since):
            document.seen = changes
            return pushed.items, True
        wait = deadline - time.monotonic()
        if pushed is not None and not running.versioned and pushed.at >= since:
            wait = min(wait, QUIET)
        elif wait <= 0:
            return [], False
        await running.news(max(wait, 0.01))
        if running.is_over:
            break
    answer = await running.ask(METHOD, {"textDocument": {"uri": uri_of(path)}})
    items = answer.get("items") if isinstance(answer, dict) else None
    return (items if isinstance(items, list) else []), True


def _pulls(running: RunningServer) -> bool:
    return running.offers("diagnosticProvider", METHOD)


def _is_current(pushed: Pushed, running: RunningServer, version: int, since: float) -> bool:
    if running.versioned:
        return pushed.version == version
    return pushed.at >= since and time.monotonic() - pushed.at >= QUIET
