"""`/help`, `/tools`, `/agents` and `/permissions`: what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard.permission import rule_text
from pegboard.wording import counted
from pegboard_session import SlashCommand, find_agents, find_slash_commands
from pegboard_terminal.columns import columns

if TYPE_CHECKING:
    from pegboard_session import Session

KEYS = (
    ("Enter", "send; while the model is working, the prompt is queued"),
    ("Alt-Enter, Ctrl-J", "start a new line; so do Shift-Enter and a backslash at the end of the line"),
    (
        "Esc, Ctrl-C",
        "stop the answer and keep what was done; at the prompt, Ctrl-C clears the line, Ctrl-C twice leaves",
    ),
    ("Ctrl-D", "leave"),
    ("Up, Down, Ctrl-R", "go through earlier prompts in this folder, or search them"),
    ("Tab", "complete /commands, @files and agents"),
    ("Shift-Tab", "switch to the next permission mode"),
    ("Ctrl-O", "show the last folded output in full"),
    ("# text", "add a line to the project's memory file; #user: and #local: choose another file"),
)
KINDS = ("deny", "ask", "allow")
MOST = 60


async def show_help(session: Session, arguments: str) -> str:
    """All commands, and the keys; or one command."""
    found = find_slash_commands(session)
    name = arguments.removeprefix("/")
    if name in found:
        command = found[name]
        return f"/{name} {command.arguments}".rstrip() + f"\n  {command.summary}"
    rows = [(f"/{command.name} {command.arguments}".rstrip(), command.summary) for command in found.values()]
    return f"{columns(rows)}\n\n{columns(KEYS)}"


async def show_tools(session: Session, arguments: str) -> str:
    """The tools that the model has, or those whose name contains a word."""
    pool = session.tools.pool(session.profile)
    entries = [entry for entry in pool.entries if arguments.lower() in entry.name.lower()]
    rows = [
        (entry.name, f"{entry.family}, {'found with ToolSearch' if entry.deferred else 'listed'}") for entry in entries
    ]
    more = f"\n… {len(rows) - MOST} more; /tools WORD lists those with a word in their name" if len(rows) > MOST else ""
    return f"{counted(len(rows), 'tool')}\n{columns(rows[:MOST])}{more}"


async def show_agents(session: Session, arguments: str) -> str:
    """The kinds of agents that the model can start."""
    found = find_agents(session.board)
    if not found:
        return "There are no agents. To add one, put a Markdown file in .pegboard/agents."
    return columns([(agent.name, agent.description.splitlines()[0]) for agent in found.values()])


async def show_permissions(session: Session, arguments: str) -> str:
    """The mode and the rules, in the order in which they count."""
    settings, lines = session.board.settings, [f"mode  {session.current.mode}"]
    for kind in KINDS:
        for item, layer in settings.items(f"permissions.{kind}"):
            lines.append(f"{kind:<5} {rule_text(item)}  ({layer.source})")
    if len(lines) == 1:
        lines.append("There are no rules: reading in this folder is allowed, everything else asks.")
    lines.append("Deny wins over ask, and ask over allow. `pegboard why TOOL` explains a decision.")
    return "\n".join(lines)


COMMANDS = (
    SlashCommand("help", "list the commands and keys", show_help, "[command]", at_once=True),
    SlashCommand("tools", "list the tools that the model has", show_tools, "[word]", at_once=True),
    SlashCommand("agents", "list the agents that the model can start", show_agents, at_once=True),
    SlashCommand("permissions", "show the mode and the permission rules", show_permissions, at_once=True),
)
