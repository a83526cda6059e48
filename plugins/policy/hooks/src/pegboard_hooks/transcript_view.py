"""A conversation in the form that existing hook scripts read: one JSON object per line, with `message.role` in each.

It is kept beside Pegboard's own transcript, which is written for resuming and has another form.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pegboard import Context

FOLDER = "hooks"


class TranscriptView:
    """One such file. It grows with the conversation, and is written anew when its beginning has changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._written: list[Mapping[str, Any]] = []

    def update(self, messages: Sequence[Mapping[str, Any]], ctx: Context, session_id: str) -> None:
        """Write what is new. Handlers then find all that was said so far."""
        known = len(self._written)
        same = known <= len(messages) and all(old is new for old, new in zip(self._written, messages, strict=False))
        fresh = messages[known:] if same else messages
        if known and same and not fresh:
            return
        about = {"sessionId": session_id, "cwd": str(ctx.cwd), "isSidechain": ctx.agent.depth > 0}
        lines = [_line(message, about) for message in fresh]
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self.path, flags | (os.O_APPEND if known and same else os.O_TRUNC), 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(b"".join(lines))
        self._written = list(messages)


def _line(message: Mapping[str, Any], about: Mapping[str, Any]) -> bytes:
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    said = {"role": message["role"], "content": message["content"]}
    line = {"type": message["role"], "message": said, "uuid": str(uuid.uuid4()), "timestamp": now, **about}
    # No blanks: scripts look for "role":"assistant" with grep.
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def view_path(transcript: Path | None, name: str, ctx: Context) -> Path | None:
    """Where the view of a conversation belongs: next to a saved transcript, else with what ends with the session."""
    if transcript is not None:
        return transcript.with_suffix("") / FOLDER / f"{name}.jsonl"
    files = ctx.services.files
    return files.scratch(FOLDER) / f"{name}.jsonl" if files else None
