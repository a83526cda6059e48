"""Tools that a program registers while it drives a conversation: it is asked to run each call, and answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import anyio

from pegboard import Context, ExternalTool, Tool, ToolError

if TYPE_CHECKING:
    from pegboard_cli.program_messages import ToolDefinition, ToolResult
    from pegboard_cli.views import StreamJsonView

CLOSED = "The program that runs this tool has ended its input, so there is no result."


class Pending:
    """One thing that the program is asked. None is the answer when it can give none any more."""

    def __init__(self) -> None:
        self._come, self._answer = anyio.Event(), None

    def set(self, answer: Any) -> None:
        """The answer has come."""
        self._answer = answer
        self._come.set()

    async def wait(self) -> Any:
        """The answer."""
        await self._come.wait()
        return self._answer


class ProgramTools:
    """The tools of the program, as a source of tools for the board."""

    name, family = "program", "application"

    def __init__(self, view: StreamJsonView) -> None:
        self.version, self._view = 0, view
        self._tools: dict[str, ExternalTool] = {}
        self._calls: dict[str, Pending] = {}
        self.is_closed = False

    def tools(self) -> Sequence[Tool[Any, Any]]:
        """The tools as they are now."""
        return list(self._tools.values())

    def register(self, definitions: Sequence[ToolDefinition]) -> None:
        """Add or replace tools: all of them, or none if one cannot be used."""
        made = {definition.name: self._tool(definition) for definition in definitions}
        self._tools |= made
        self.version += 1

    def remove(self, names: Sequence[str]) -> None:
        """Take tools away. A `ValueError` names one that is not there."""
        if unknown := [name for name in names if name not in self._tools]:
            raise ValueError(f"remove_tools: you have registered no tool {unknown[0]!r}.")
        self._tools = {name: tool for name, tool in self._tools.items() if name not in names}
        self.version += 1

    def _tool(self, definition: ToolDefinition) -> ExternalTool:
        about = definition.model_dump(exclude={"name", "description", "input_schema"})

        async def call(given: dict[str, Any], ctx: Context) -> Any:
            return await self._ask(definition.name, given, ctx)

        return ExternalTool(definition.name, definition.description, definition.input_schema, call, **about)

    async def _ask(self, name: str, given: dict[str, Any], ctx: Context) -> Any:
        if self.is_closed:
            raise ToolError(CLOSED, code="failed", remedy="")
        key, pending = ctx.call_id, Pending()
        while key in self._calls:  # Some models number the calls of each answer anew, also those of two agents.
            key += "+"
        self._calls[key] = pending
        self._view.line("tool_call", id=key, name=name, input=given, session=ctx.session_id)
        try:
            result: ToolResult | None = await pending.wait()
        except BaseException:
            self._view.line("tool_call_cancelled", id=key, name=name, session=ctx.session_id)
            raise
        finally:
            self._calls.pop(key, None)
        if result is None:
            raise ToolError(CLOSED, code="failed", remedy="")
        if result.is_error:
            raise ToolError(_text(result.content), code="failed", remedy="")
        return result.content

    def answer(self, result: ToolResult) -> None:
        """A result has come. A `ValueError` says that no one waits for it."""
        pending = self._calls.pop(result.id, None)
        if pending is None:
            raise ValueError(f"tool_result: no call with the id {result.id!r} is waiting for a result.")
        pending.set(result)

    def close(self) -> None:
        """The program says no more: calls that wait for it fail."""
        self.is_closed = True
        for pending in self._calls.values():
            pending.set(None)


def _text(content: Any) -> str:
    import json  # Only a failed call with data comes here.

    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
