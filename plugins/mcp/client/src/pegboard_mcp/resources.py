"""The tools ListMcpResources and ReadMcpResource. They are there while a server has resources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pegboard import Block, Context, Input, Tool, ToolError
from pegboard.wording import did_you_mean
from pegboard_mcp.content import resource_blocks
from pegboard_mcp.server_calls import McpValue, ask_server

if TYPE_CHECKING:
    from mcp import Client

    from pegboard_mcp.connection import Connection
    from pegboard_mcp.hub import Hub

MOST_RESOURCES = 1_000
MOST_PAGES = 50


class ListMcpResourcesInput(Input):
    server: str | None = None
    """Only the resources of this server."""


class ReadMcpResourceInput(Input):
    server: str
    """The server that has the resource."""
    uri: str
    """The address of the resource, as ListMcpResources shows it."""


class ListMcpResources(Tool[ListMcpResourcesInput, list[dict[str, Any]]]):
    """List the resources that MCP servers offer: documents, records and other data that ReadMcpResource can read.

    Each has a server, a uri and a name. A uri with braces, such as notes://{id}, is a template to fill in.
    """

    family = "mcp"
    concurrency_safe = True
    search_hint = "mcp resources documents of servers"

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def call(self, args: ListMcpResourcesInput, ctx: Context, /) -> list[dict[str, Any]]:
        chosen = [connection_of(self._hub, args.server)] if args.server else with_resources(self._hub)
        found: list[dict[str, Any]] = []
        for connection in chosen:
            listed = await ask_server(self._hub, connection, _list_all, ctx)
            found += [{"server": connection.server.name, **row} for row in listed]
        return found[:MOST_RESOURCES]


class ReadMcpResource(Tool[ReadMcpResourceInput, Any]):
    """Read a resource of an MCP server, by the server and the uri that ListMcpResources shows."""

    family = "mcp"
    concurrency_safe = True
    search_hint = "mcp resource read document of a server"
    rule_subject = "name"
    rule_parameter = "server"

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def call(self, args: ReadMcpResourceInput, ctx: Context, /) -> McpValue:
        return await read_resource(self._hub, connection_of(self._hub, args.server), args.uri, ctx)

    def content(self, value: Any, /) -> str | Block | Sequence[Block]:
        return value.blocks if isinstance(value, McpValue) else super().content(value)


class ResourceSource:
    """Both tools, while any server has resources."""

    family, name = "mcp", "mcp"

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    @property
    def version(self) -> bool:
        """Whether there is something to list."""
        return bool(with_resources(self._hub))

    def tools(self) -> list[Tool[Any, Any]]:
        """The two tools, or none."""
        return [ListMcpResources(self._hub), ReadMcpResource(self._hub)] if self.version else []


def with_resources(hub: Hub) -> list[Connection]:
    """The servers that have resources."""
    return [connection for connection in hub.connections.values() if connection.listing.has_resources]


def connection_of(hub: Hub, name: str) -> Connection:
    """The server with this name, or a `ToolError`."""
    found = hub.connections.get(name)
    if found is None:
        known = ", ".join(sorted(hub.connections)) or "none"
        hint = did_you_mean(name, hub.connections)
        raise ToolError(f"There is no MCP server {name!r}.{hint} The servers are: {known}.", code="not_found")
    return found


async def read_resource(hub: Hub, connection: Connection, uri: str, ctx: Context) -> McpValue:
    """The contents of a resource."""

    async def read(client: Client) -> Any:
        return await client.read_resource(uri)

    got = await ask_server(hub, connection, read, ctx)
    return McpValue(resource_blocks(got.contents))


async def _list_all(client: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await client.list_resources(cursor=cursor)
        found += [_row(one, str(one.uri)) for one in page.resources]
        cursor = page.next_cursor
        if not cursor or len(found) >= MOST_RESOURCES:
            break
    templates = await client.list_resource_templates()
    return found + [_row(one, one.uri_template) for one in templates.resource_templates]


def _row(one: Any, uri: str) -> dict[str, Any]:
    row = {"uri": uri, "name": one.name, "type": one.mime_type, "description": one.description}
    return {key: value for key, value in row.items() if value}
