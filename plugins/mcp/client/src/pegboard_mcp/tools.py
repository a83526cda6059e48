"""A tool of a server as a tool of the board."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pegboard import Ask, Block, Context, Decision, ExternalTool, Input
from pegboard_mcp.definitions import Definition
from pegboard_mcp.limits import is_trusted
from pegboard_mcp.server_calls import McpValue, call_tool

if TYPE_CHECKING:
    from pegboard_mcp.connection import Connection
    from pegboard_mcp.hub import Hub


class McpTool(ExternalTool):
    """What the model calls `mcp__server__tool`.

    What a server says about a tool is a claim. It may decide what people see and what runs side by side, and it may
    make a call ask that otherwise would not. It permits nothing, unless the person has marked the server as trusted.
    """

    family = "mcp"

    def __init__(self, definition: Definition, connection: Connection, hub: Hub) -> None:
        said: dict[str, Any] = dict(definition.data.get("annotations") or {})
        claims_to_read = said.get("readOnlyHint") is True
        trusted = is_trusted(connection.server, hub.settings) and not definition.is_changed
        super().__init__(
            definition.name,
            definition.description,
            definition.schema,
            self._run,
            concurrency_safe=claims_to_read,
            read_only=trusted and claims_to_read,
            open_world=not (trusted and said.get("openWorldHint") is False),
            destructive=said.get("destructiveHint") is True and not claims_to_read,
            pinned=connection.server.always_load,
            search_hint=str(said.get("title") or definition.data.get("title") or "")[:200],
        )
        self.definition_of_server, self._connection, self._hub = definition, connection, hub
        self._claims_to_read = claims_to_read

    def check_permission(self, args: Input, ctx: Context, /) -> Decision | None:
        """A definition that has changed since it was approved is put to a person, whatever rules say."""
        if not self.definition_of_server.is_changed:
            return None
        reason = (
            f"{self._connection.server.name} has changed {self.name} since it was approved. The difference is shown."
        )
        return Ask(reason, layer="forced")

    def preview(self, args: Input, ctx: Context, /) -> str | None:
        """How a changed definition differs from the approved one."""
        changed = self.definition_of_server
        return changed.difference() if changed.is_changed else None

    def describe(self, args: Input, /) -> str:
        """The call, with what the server says about it."""
        words = super().describe(args)
        return f"{words} (the server says that it only reads)" if self._claims_to_read else words

    def user_facing_name(self, args: Input, /) -> str:
        """The title that the server gives it, with the server."""
        data = self.definition_of_server.data
        title = (data.get("annotations") or {}).get("title") or data.get("title") or self.definition_of_server.tool
        return f"{self._connection.server.name}: {title}"

    def content(self, value: Any, /) -> str | Block | Sequence[Block]:
        """The blocks as the server sent them, unless a hook has put something else in their place."""
        return value.blocks if isinstance(value, McpValue) else super().content(value)

    async def _run(self, args: dict[str, Any], ctx: Context) -> McpValue:
        return await call_tool(self._hub, self._connection, self.definition_of_server, args, ctx)


class ServerSource:
    """The tools of one server, as they are now."""

    family = "mcp"

    def __init__(self, connection: Connection, hub: Hub) -> None:
        self._connection, self._hub = connection, hub
        self.name = f"mcp:{connection.server.name}"

    @property
    def version(self) -> int:
        """Moves with each new listing."""
        return self._connection.version

    def tools(self) -> list[McpTool]:
        """The tools that can be offered."""
        return [McpTool(one, self._connection, self._hub) for one in self._connection.definitions]
