"""Call a server: wait for its connection, pass on progress and questions, and word every failure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from pegboard import Block, Context, Text, ToolError
from pegboard_mcp.callbacks import Asked
from pegboard_mcp.content import blocks_of
from pegboard_mcp.errands import Errand, current
from pegboard_mcp.faults import leaves, words_for
from pegboard_mcp.questions import answer

if TYPE_CHECKING:
    from mcp import Client

    from pegboard_mcp.connection import Connection
    from pegboard_mcp.definitions import Definition
    from pegboard_mcp.hub import Hub

# Imports happen inside functions: the SDK takes a second to import, and only a connecting task needs it.

T = TypeVar("T")


@dataclass(frozen=True)
class McpValue:
    """What a server's tool returned."""

    blocks: list[Block] = field(repr=False)
    structured: Any = None


async def call_tool(hub: Hub, connection: Connection, seen: Definition, args: dict[str, Any], ctx: Context) -> McpValue:
    """Call a tool of a server, as it was seen when the call was permitted, and turn what it returns into blocks."""
    limit = connection.server.timeout or hub.settings.get("mcp.callTimeout")
    errand = Errand()

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        errand.post((progress, total, message), may_be_lost=True)

    async def act(client: Client) -> Any:
        # Only now, when the server has been reached: it may list something else than it did in the last session.
        if not connection.offers_still(seen):
            what = f"{connection.server.name} has changed or removed {seen.name} in the meantime."
            raise ToolError(f"{what} Look at it and call it again.", code="failed")
        if seen.is_changed:
            connection.approve(seen)
        with anyio.fail_after(limit) as errand.clock:
            return await client.call_tool(seen.tool, args, progress_callback=tell)

    result = await ask_server(hub, connection, act, ctx, errand)
    blocks = blocks_of(result.content, result.structured_content)
    if result.is_error:
        words = "\n".join(block.text for block in blocks if isinstance(block, Text))
        raise ToolError(words or "The tool failed and gave no reason.", code="failed", remedy="")
    return McpValue(blocks, result.structured_content)


async def ask_server(
    hub: Hub,
    connection: Connection,
    act: Callable[[Client], Awaitable[T]],
    ctx: Context,
    errand: Errand | None = None,
) -> T:
    """Do something with the client of a server. Every failure becomes a `ToolError` that names the server."""
    hub.start(ctx)
    errand, name = errand or Errand(), connection.server.name

    async def work() -> T:
        client = await _ready(connection)
        running = hub.callbacks.running.setdefault(name, [])
        running.append(errand)
        current.set(errand)
        try:
            return await act(client)
        except Exception:
            connection.look_whether_it_lives()
            raise
        finally:
            running.remove(errand)

    async def handle(item: Any) -> None:
        if isinstance(item, Asked) and errand.is_over:
            item.settle(None)  # The call has its result: no person need answer for it any more.
        elif isinstance(item, Asked):
            await answer(item, ctx)
        else:
            _report(ctx, *item)

    try:
        return await hub.run(work, handle, errand)
    except ToolError:
        raise
    except TimeoutError:
        raise ToolError(f"The MCP server {name} did not answer in time.", code="timeout") from None
    except Exception as error:
        raise _failure(connection, error) from error


async def _ready(connection: Connection) -> Client:
    client = await connection.ready()
    if client is None:
        raise ToolError(
            f"The MCP server {connection.server.name} is not connected. {connection.problem}", code="failed"
        )
    return client


def _report(ctx: Context, done: float | None, total: float | None, message: str | None) -> None:
    if done is None:
        ctx.report(message or "")
        return
    share = f"{done:g} of {total:g}" if total else f"{done:g}"
    ctx.report(f"{message} ({share})" if message else share, progress=done, total=total)


def _failure(connection: Connection, error: Exception) -> ToolError:
    from mcp import MCPError

    name, words = connection.server.name, words_for(error, connection.server)
    said = next((leaf for leaf in leaves(error) if isinstance(leaf, MCPError)), None)
    if said is not None and connection.client is not None:
        return ToolError(f"The MCP server {name} refused the call: {words}", code="failed", remedy="")
    why = f" {connection.problem}" if connection.problem and connection.problem != words else ""
    return ToolError(f"The connection to the MCP server {name} broke: {words}{why}", code="failed")
