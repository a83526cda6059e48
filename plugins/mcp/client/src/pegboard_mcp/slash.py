"""`/mcp`, and the prompts of servers as slash commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from pegboard import ToolError
from pegboard.wording import counted
from pegboard_mcp import hub_in
from pegboard_mcp.names import tool_name
from pegboard_mcp.server_calls import ask_server
from pegboard_session import Expansion, SlashCommand, SlashPrompt, announce_expansion

if TYPE_CHECKING:
    from mcp import Client

    from pegboard_mcp.connection import Connection
    from pegboard_mcp.hub import Hub
    from pegboard_session import Session


def commands(session: Session) -> Iterable[SlashCommand]:
    """The commands of this moment: servers may come, go, and change their prompts."""
    hub = hub_in(session.ctx)
    if hub is None:
        return
    yield SlashCommand(
        "mcp", "show the MCP servers, their state and their tools", _show, "[restart NAME]", complete=_complete
    )
    for connection in hub.connections.values():
        for prompt in connection.listing.prompts:
            yield _prompt_command(hub, connection, prompt)


async def _show(session: Session, words: str) -> str:
    hub = hub_in(session.ctx)
    assert hub is not None  # noqa: S101 - the command is only there with a hub
    act, _, name = words.partition(" ")
    if act == "restart":
        connection = hub.connections.get(name.strip())
        if connection is None:
            return f"There is no MCP server {name.strip()!r}. The servers are: {', '.join(hub.connections) or 'none'}."
        await hub.restart(connection, session.ctx)
        return _line(connection)
    if act:
        return "Type /mcp for a list, or /mcp restart NAME."
    lines = [_line(connection) for connection in hub.connections.values()]
    lines += [f"{server.name}: disabled" for server in hub.disabled]
    lines += [str(notice) for notice in hub.notices]
    return "\n".join(lines) or "There are no MCP servers here."


def _complete(session: Session, words: str) -> Iterable[str]:
    hub = hub_in(session.ctx)
    offers = [f"restart {name}" for name in hub.connections] if hub else []
    return [offer for offer in offers if offer.startswith(words)]


def _line(connection: Connection) -> str:
    tools = counted(len(connection.definitions), "tool")
    words = f"{connection.server.name}: {connection.state}, {tools}"
    return f"{words}. {connection.problem}" if connection.problem else words


def _prompt_command(hub: Hub, connection: Connection, prompt: dict[str, Any]) -> SlashCommand:
    name = tool_name(connection.server.name, prompt["name"])
    takes = " ".join(
        f"<{one['name']}>" if one.get("required") else f"[{one['name']}]" for one in prompt.get("arguments") or ()
    )
    summary = str(prompt.get("description") or prompt.get("title") or f"a prompt of {connection.server.name}")
    run = partial(_run_prompt, hub, connection, prompt)
    return SlashCommand(name, summary.partition("\n")[0][:200], run, takes)


async def _run_prompt(
    hub: Hub, connection: Connection, prompt: dict[str, Any], session: Session, words: str
) -> str | SlashPrompt:
    takes = [one["name"] for one in prompt.get("arguments") or ()]
    try:
        given = shlex.split(words)
    except ValueError:
        given = words.split()
    if takes and len(given) > len(takes):
        given = [*given[: len(takes) - 1], " ".join(given[len(takes) - 1 :])]
    required = [one["name"] for one in prompt.get("arguments") or () if one.get("required")]
    filled = dict(zip(takes, given, strict=False))
    if missing := [name for name in required if name not in filled]:
        return f"{prompt['name']} needs {', '.join(missing)}."
    name = tool_name(connection.server.name, prompt["name"])
    more = await announce_expansion(Expansion(name, words, connection.server.name, "mcp_prompt"), session.ctx)

    async def get(client: Client) -> Any:
        return await client.get_prompt(prompt["name"], filled)

    try:
        got = await ask_server(hub, connection, get, session.board.equip(session.ctx))
    except ToolError as error:
        return error.message
    texts = [getattr(message.content, "text", f"[{message.content.type}]") for message in got.messages]
    return SlashPrompt("\n\n".join(filter(None, (*texts, more))))
