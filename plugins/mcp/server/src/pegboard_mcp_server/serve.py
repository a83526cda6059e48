"""`pegboard mcp serve`: serve the tools over MCP.

The SDK and the board are imported when the options are known to be right: `--help` answers at once.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pegboard import Notice, Settings
from pegboard_mcp_server import options
from pegboard_mcp_server.tokens import read_tokens

if TYPE_CHECKING:
    import argparse

    from anyio.abc import TaskGroup

    from pegboard import Board, Context
    from pegboard_mcp_server.questions import McpPlugin
    from pegboard_mcp_server.server import PoolServer

# Imports happen inside functions: the SDK takes a second, and the help of `pegboard mcp` imports this module.

OK, USAGE, STOPPED = 0, 2, 128
POLL_SECONDS = 0.5
"""How often changed sources of tools are looked for while no client asks."""


def run(words: Sequence[str]) -> int:
    """Serve until the client leaves or a signal arrives."""
    given = options.parse(list(words))
    settings = options.settings_of(given)
    settings.require_sound()
    _warn(settings.notices)
    _log(debug=given.debug)
    # Before anything else sees the environment: tools and their processes must not.
    given.tokens = read_tokens(given.token_file, os.environ) if given.http else None

    import anyio

    from pegboard_hosts import tidy_up

    tidy_up()
    return anyio.run(_serve, given, settings)


async def _serve(given: argparse.Namespace, settings: Settings) -> int:
    import anyio

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        stopped_by = 0
        async with anyio.create_task_group() as group:

            async def stop() -> None:
                nonlocal stopped_by
                async for number in signals:
                    stopped_by = stopped_by or number
                    group.cancel_scope.cancel()

            group.start_soon(stop)
            code = await _serve_board(given, settings)
            group.cancel_scope.cancel()
        return STOPPED + stopped_by if stopped_by else code


async def _serve_board(given: argparse.Namespace, settings: Settings) -> int:
    import anyio

    from pegboard import Board
    from pegboard_mcp_server.questions import McpPlugin

    plugin = McpPlugin()
    board = Board.load(settings=settings, plugins=[plugin], record=True)
    mode, refusal = board.hooks.modes.starting(settings, given.permission_mode)
    if given.permission_mode is not None and given.permission_mode not in board.hooks.modes:
        sys.stderr.write(f"pegboard: {refusal}\n")
        return USAGE
    _warn([*board.pool.notices, *([refusal] if refusal else [])], but=settings.notices)
    base = board.context(mode=mode, roots=options.roots_of(given))
    async with anyio.create_task_group() as tasks:
        server = _server(given, board, base, tasks)
        tasks.start_soon(_watch_tools, board, plugin, server)
        await _transport(given, server)
        server.close()
        tasks.cancel_scope.cancel()
    return OK


async def _watch_tools(board: Board, plugin: McpPlugin, server: PoolServer) -> None:
    """Ask changed sources again from time to time, and tell the clients of what came of it."""
    import anyio

    while True:
        await anyio.sleep(POLL_SECONDS)
        board.refresh()
        if plugin.tools_updated:
            plugin.tools_updated = False
            await server.announce()


def _server(given: argparse.Namespace, board: Board, base: Context, tasks: TaskGroup) -> PoolServer:
    from importlib.metadata import version

    from pegboard_mcp_server.server import PoolServer

    made = PoolServer(board, base, version("pegboard-mcp-server"), "http" if given.http else "stdio")
    made.tasks = tasks
    return made


async def _transport(given: argparse.Namespace, server: PoolServer) -> None:
    if given.http is None:
        from pegboard_mcp_server.stdio import serve_stdio

        await serve_stdio(server)
        return
    from pegboard_mcp_server.guard import Names
    from pegboard_mcp_server.http import announce, listen, serve_http

    tokens, made = given.tokens
    host, port = given.http
    with listen(host, port) as listener:
        names = Names.of(host, listener.getsockname()[1], given.allow_host or [], given.allow_origin or [])
        announce(listener, host, made, server.tool_count)
        await serve_http(server, listener, names, tokens)


def _warn(notices: Sequence[Notice], but: Sequence[Notice] = ()) -> None:
    for notice in notices:
        if notice not in but:
            sys.stderr.write(f"pegboard: warning: {notice}\n")


def _log(*, debug: bool) -> None:
    """Send what is logged to standard error, the client's own log: warnings only, unless it is asked for more."""
    import logging

    logging.basicConfig(
        stream=sys.stderr, format="%(name)s: %(message)s", level=logging.INFO if debug else logging.ERROR
    )
    for name in () if debug else ("mcp", "uvicorn"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
