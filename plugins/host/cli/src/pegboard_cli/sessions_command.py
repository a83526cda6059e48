"""`pegboard sessions`: the saved transcripts."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pegboard import PegboardError, Settings
from pegboard_cli import options, output
from pegboard_cli.earlier_session import find_session, store
from pegboard_cli.main import OK
from pegboard_session.store import TranscriptStore

# Imports happen inside functions: a listing and --help must not load what only other commands need.

EXAMPLES = """\
  pegboard sessions                  list them, newest first
  pegboard sessions show ID          one conversation
  pegboard sessions show ID --agent A
  pegboard sessions delete ID
  pegboard run --resume ID "Go on"
  pegboard run --continue            continue this folder's last session
"""

AS_AGENT = "as_agent"
"""The kind of line that says which agent the session itself is."""


def run(words: list[str]) -> int:
    """The command."""
    parser = options.parser("sessions", "List, show or delete saved sessions.", EXAMPLES)
    options.listing(parser)
    acts = ["list", "show", "delete"]
    parser.add_argument("act", nargs="?", metavar="|".join(acts), choices=acts, default="list", help="what to do")
    parser.add_argument("id", nargs="?", metavar="ID", help="the session's id, or the start of it")
    parser.add_argument("--agent", metavar="A", help="with show: a sub-agent of the session, by id or name")
    given = parser.parse_args(words)
    if given.act == "list":
        return show_list(as_json=given.json)
    if not given.id:
        parser.error(f"{given.act} needs the id of a session")
    path = find_session(given.id)
    if given.act == "delete":
        TranscriptStore(path.parent).delete(path)
        sys.stdout.write(f"Deleted {path.stem}.\n")
        return OK
    return show(agent_of(path, given.agent) if given.agent else path, as_json=given.json)


def selected_agent(lines: Sequence[Mapping[str, Any]]) -> str | None:
    """The agent that a session was last started as; None for none."""
    return next((str(entry.get("name", "")) for entry in reversed(lines) if entry["type"] == AS_AGENT), None)


def transcripts() -> list[Path]:
    """All transcripts, newest first."""
    kept = store()
    return kept.all() if kept else []


def new_session(settings: Settings) -> Path | None:
    """The file of a new session; old ones go to the trash now."""
    kept = store()
    if kept is None:
        return None
    kept.expire(settings.get("sessionRetentionDays"))
    return kept.new()


def agent_of(path: Path, wanted: str) -> Path:
    """The transcript of a sub-agent."""
    from pegboard_session import restore

    labels: list[str] = []
    for line in restore(path).lines:
        agent, request = line.get("agent"), line.get("request")
        if line["type"] == "agent" and isinstance(agent, dict) and isinstance(request, dict):
            key, name = str(agent.get("id", "")), str(request.get("name", ""))
            if wanted in (key, name) and os.sep not in key:
                return path.with_suffix("") / f"{key}.jsonl"
            labels.append(f"agent {name or agent.get('kind')} ({key})")
    known = ", ".join(labels) or "none"
    raise PegboardError(f"The session {path.stem} has no agent {wanted!r}. Its agents: {known}.")


def show_list(*, as_json: bool) -> int:
    """A line for each session."""
    rows = [describe(path) for path in transcripts()]
    if as_json:
        output.print_json(rows)
    else:
        output.print_table(
            ["ID", "WHEN", "PROMPTS", "COST", "FOLDER", "FIRST PROMPT"],
            [[r["id"][:12], r["when"], str(r["prompts"]), cost(r), r["folder"], r["prompt"][:80]] for r in rows],
        )
    return OK


def cost(row: Mapping[str, Any]) -> str:
    """What a session cost, as far as prices are known."""
    return "" if row["cost"] is None else f"{row['cost']:.4f}"


def describe(path: Path) -> dict[str, Any]:
    """What a transcript is about."""
    from pegboard_session import restore

    row: dict[str, Any] = {"folder": "", "messages": 0, "prompts": 0, "cost": None}
    try:
        restored = restore(path, whole=True)
        usage = restored.usage
        row = {"folder": restored.folder, "messages": len(restored.messages), "prompts": restored.prompts}
        row["cost"] = float(usage.cost) if usage and usage.priced else None
        row["prompt"] = restored.prompt
    except PegboardError as error:
        row["prompt"] = f"({error})"
    try:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(path.stat().st_mtime))
    except OSError:
        when = ""
    return {"id": path.stem, "when": when, **row}


def show(path: Path, *, as_json: bool) -> int:
    """One conversation."""
    from pegboard_session import restore

    messages = restore(path, whole=True).messages
    if as_json:
        output.print_json(messages)
        return OK
    for message in messages:
        for block in message["content"]:
            sys.stdout.write(f"{output.styled(message['role'], 'bold')}: {output.printable(words_of(block))}\n")
    return OK


def words_of(block: dict[str, Any]) -> str:
    """A block in words."""
    from pegboard_cli.views import summary

    if block.get("type") == "text":
        return str(block["text"])
    if block.get("type") == "tool_use":
        return summary(block["name"], block["input"])
    if block.get("type") == "tool_result":
        content = block.get("content", [])
        parts = (
            [content] if isinstance(content, str) else [str(part.get("text", f"({part['type']})")) for part in content]
        )
        return ("failed: " if block.get("is_error") else "") + "\n".join(parts)
    return f"({block.get('type')})"
