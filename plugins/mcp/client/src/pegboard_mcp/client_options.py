"""What we tell each server about ourselves, and what we do when it asks. Imports the SDK."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import mcp_types as types

from pegboard_mcp.sdk_log import quiet
from pegboard_mcp.tasks import Tasks

if TYPE_CHECKING:
    from pegboard_mcp.callbacks import Callbacks
    from pegboard_mcp.connection import Connection

CHANGES = (types.ToolListChangedNotification, types.PromptListChangedNotification)


def client_options(connection: Connection, callbacks: Callbacks) -> dict[str, Any]:
    """The arguments of `mcp.Client`. There is no cache: what a server lists is kept on disk, by us."""
    quiet()

    async def message(received: Any) -> None:
        if isinstance(received, CHANGES):
            connection.mark_changed()

    made: dict[str, Any] = {
        "mode": "legacy" if connection.server.kind == "sse" else "auto",  # SSE is the transport of the older protocol.
        "cache": None,
        "client_info": types.Implementation(name="pegboard", version=version("pegboard-mcp")),
        "message_handler": message,
        "elicitation_callback": callbacks.for_elicitation(connection),
        "list_roots_callback": callbacks.roots,
        "extensions": [Tasks()],
    }
    if callbacks.sampling:
        made["sampling_callback"] = callbacks.for_sampling(connection)
    return made
