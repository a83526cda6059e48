"""`pegboard sessions`: the transcripts that are kept."""

from __future__ import annotations

import os
import shutil
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from pegboard.errors import PegboardError
from pegboard.settings import Settings
from pegboard.settings.places import state_dir
from pegboard_cli import options, output
from pegboard_cli.main import OK

EXAMPLES = """\
  pegboard sessions                  what is kept, newest first
  pegboard sessions show ID          one conversation
  pegboard sessions show ID --agent A
  pegboard sessions delete ID
  pegboard run --resume ID "Go on"
"""

KEEP_DAYS = 30
AS_AGENT = "as_agent"
"""The kind of line that says which agent the session itself is."""


def run(words: list[str]) -> int:
    """The command."""
    parser = options.parser("sessions", "The transcripts that are kept.", EXAMPLES)
    options.listing(parser)
    parser.add_argument("act", nargs="?", choices=["list", "show", "delete"], default="list", help="what to do")
    parser.add_argument("id", nargs="?", metavar="ID", help="the session, or the beginning of its id")
    parser.add_argument("--agent", metavar="A", help="with show: a sub-agent of the session, by id or name")
    given = parser.parse_args(words)
    if given.act == "list":
        return show_list(as_json=given.json)
    if not given.id:
        parser.error(f"{given.act} needs the id of a session")
    path = find_session(given.id)
    if given.act == "delete":
        forget(path)
        sys.stdout.write(f"Deleted {path.stem}.\n")
        return OK
    return show(agent_of(path, given.agent) if given.agent else path, as_json=given.json)


def selected_agent(path: Path) -> str | None:
    """The agent that a session was last started as; None for none."""
    from pegboard.session.transcript import read

    return next((entry["name"] for entry in reversed(list(read(path))) if entry["type"] == AS_AGENT), None)


def folder() -> Path | None:
    """Where transcripts are kept; None where there is no place for them."""
    state = state_dir(os.environ)
    return Path(state, "transcripts") if state else None


def transcripts() -> list[Path]:
    """All transcripts, newest first."""
    place = folder()
    found = list(place.glob("*.jsonl")) if place and place.is_dir() else []
    return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)


def new_session(settings: Settings) -> Path | None:
    """The file of a new session; old ones go now."""
    place = folder()
    if place is None:
        return None
    oldest = time.time() - settings.get("sessionRetentionDays", KEEP_DAYS) * 86_400
    for path in transcripts():
        if path.stat().st_mtime < oldest:
            forget(path)
    return place / f"{uuid.uuid4().hex}.jsonl"


def forget(path: Path) -> None:
    """Remove a transcript and those of its sub-agents."""
    path.unlink(missing_ok=True)
    shutil.rmtree(path.with_suffix(""), ignore_errors=True)


def find_session(beginning: str) -> Path:
    """The transcript whose id begins like this; the newest for nothing."""
    found = [path for path in transcripts() if path.stem.startswith(beginning)]
    if not found:
        reason = f"no session begins with {beginning!r}" if beginning else "there is no session yet"
        raise PegboardError(f"Nothing to resume: {reason}. See `pegboard sessions`.")
    if beginning and len(found) > 1:
        raise PegboardError(f"{len(found)} sessions begin with {beginning!r}. Give more of the id.")
    return found[0]


def agent_of(path: Path, wanted: str) -> Path:
    """The transcript of a sub-agent."""
    from pegboard.session.records import recorded

    records, _ = recorded(path)
    for record in records:
        if wanted in (record.agent.id, record.request.name):
            return path.with_suffix("") / f"{record.agent.id}.jsonl"
    known = ", ".join(record.label for record in records) or "none"
    raise PegboardError(f"The session {path.stem} has no agent {wanted!r}. Its agents: {known}.")


def show_list(*, as_json: bool) -> int:
    """A line a session."""
    rows = [describe(path) for path in transcripts()]
    if as_json:
        output.print_json(rows)
    else:
        output.print_table(
            ["ID", "WHEN", "MESSAGES", "PROMPT"],
            [[r["id"][:12], r["when"], str(r["messages"]), r["prompt"][:80]] for r in rows],
        )
    return OK


def describe(path: Path) -> dict[str, Any]:
    """What a transcript is about."""
    from pegboard.session.transcript import read, restore

    try:
        count = len(restore(path)[0])
        prompt = next((str(entry.get("text", "")) for entry in read(path) if entry["type"] == "prompt"), "")
    except PegboardError as error:
        count, prompt = 0, f"({error})"
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(path.stat().st_mtime))
    return {"id": path.stem, "when": when, "messages": count, "prompt": prompt}


def show(path: Path, *, as_json: bool) -> int:
    """One conversation."""
    from pegboard.session.transcript import restore

    messages = restore(path)[0]
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
        parts = [part.get("text", f"({part['type']})") for part in block.get("content", [])]
        return ("failed: " if block.get("is_error") else "") + "\n".join(parts)
    return f"({block.get('type')})"
