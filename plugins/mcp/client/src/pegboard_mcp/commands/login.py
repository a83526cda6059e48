"""`pegboard mcp login`: log in to a server with a browser, or log out."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Sequence

import anyio

from pegboard import DefinitionError, PegboardError
from pegboard_mcp.commands.shared import parser, servers_of, settings_for
from pegboard_mcp.config import ServerConfig
from pegboard_mcp.faults import leaves, words_for
from pegboard_mcp.sdk_log import quiet

# Imports happen inside functions: --help must not wait for the SDK.


def run(words: Sequence[str]) -> int:
    """Begin a login in the browser and keep the tokens."""
    made = parser("login", "Log in to an MCP server with a browser. The tokens are kept in a file only you can read.")
    made.add_argument("--no-browser", action="store_true", help="only print the address to open")
    made.add_argument("--logout", action="store_true", help="forget the login instead")
    made.add_argument("name", metavar="NAME", help="the server")
    given = made.parse_args(words)
    (server,), _ = servers_of(settings_for(given), given.name)
    if server.kind == "stdio":
        raise DefinitionError(f"{server.name} is a local program; only servers with a URL have logins.")
    if given.logout:
        from pegboard_mcp.oauth import TokenFile

        TokenFile(server, os.environ).forget()
        sys.stdout.write(f"Logged out of {server.name}.\n")
        return 0
    anyio.run(log_in, server, not given.no_browser)
    sys.stdout.write(f"Logged in to {server.name}.\n")
    return 0


async def log_in(server: ServerConfig, opens_browser: bool) -> None:
    """Reach the server, let the person agree in the browser, and keep what the login server returns."""
    import httpx2
    from mcp import Client
    from mcp.client.sse import sse_client
    from mcp.client.streamable_http import streamable_http_client

    from pegboard_mcp.oauth import LOGIN_SECONDS, TokenFile, auth_for

    async def show(address: str) -> None:
        sys.stdout.write(f"Open this address to log in:\n  {address}\n")
        sys.stdout.flush()
        if opens_browser:
            webbrowser.open(address)

    quiet()
    storage, url = TokenFile(server, os.environ), server.text("url")
    storage.forget()
    auth = auth_for(server, url, os.environ, show)
    try:
        headers = server.map("headers")
        async with httpx2.AsyncClient(headers=headers, auth=auth, timeout=30) as http:
            old = server.kind == "sse"
            way = sse_client(url, headers=headers, auth=auth) if old else streamable_http_client(url, http_client=http)
            async with Client(way, mode="legacy" if old else "auto", cache=None):
                pass  # To connect is enough: the first request brings the login.
    except Exception as error:
        if any(isinstance(leaf, TimeoutError) for leaf in leaves(error)):
            raise PegboardError(f"No one logged in within {LOGIN_SECONDS:g} s.") from None
        raise PegboardError(f"The login to {server.name} failed: {words_for(error, server)}") from None
    if not storage.exists():
        raise PegboardError(f"{server.name} did not ask for a login.")
