"""MCP over streamable HTTP."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import uvicorn
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.transport_security import TransportSecuritySettings

from pegboard import SettingsError
from pegboard_mcp_server.guard import Guard, Names
from pegboard_mcp_server.options import is_loopback
from pegboard_mcp_server.server import PoolServer
from pegboard_mcp_server.tokens import Tokens

GRACE = 1
"""Seconds that open streams have when the server ends."""


class _Server(uvicorn.Server):
    """Signals are handled where the whole command is."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them alone."""
        yield


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens here; a `SettingsError` where that is not possible."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise SettingsError(f"Cannot listen on {host}:{port}: {error.strerror}.", source="--http") from None


async def serve_http(server: PoolServer, listener: socket.socket, names: Names, tokens: Tokens) -> None:
    """Serve clients until this is cancelled."""
    security = TransportSecuritySettings(allowed_hosts=sorted(names.hosts), allowed_origins=sorted(names.origins))
    app = Guard(AuthContextMiddleware(server.streamable_http_app(transport_security=security)), names, tokens)
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, ws="none", timeout_graceful_shutdown=GRACE
    )
    web = _Server(config)
    async with anyio.create_task_group() as group:
        with anyio.CancelScope(shield=True) as serving:

            async def end_when_cancelled() -> None:
                try:
                    await anyio.sleep_forever()
                finally:
                    server.close()
                    web.should_exit = True

            group.start_soon(end_when_cancelled)
            await web.serve([listener])
        del serving
        group.cancel_scope.cancel()


def announce(listener: socket.socket, host: str, token: str, tools: int) -> None:
    """Say where the server is, and the token if it was made for this run."""
    port = listener.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    lines = [f"pegboard: serving {tools} tools at http://{shown}:{port}/mcp"]
    if token:
        lines.append(f"pegboard: the token for this run: {token}")
    if not is_loopback(host):
        lines.append(
            "pegboard: warning: other machines can connect, and nothing is encrypted. Put a TLS proxy in front of it."
        )
    sys.stderr.write("\n".join(lines) + "\n")
    sys.stderr.flush()
