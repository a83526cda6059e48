"""The conversation on disk, a line at a time: whatever kills the process, at most the line being written is lost."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pegboard.context import Change
from pegboard.errors import PegboardError

INTERRUPTED = "This call was interrupted before it had a result. It may have run in part; look before you repeat it."


class Transcript:
    """Appends to a JSON-lines file; each line is handed to the system before the session goes on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        cut_torn_line(path)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._file = os.fdopen(descriptor, "ab", buffering=0)

    def write(self, kind: str, **data: Any) -> None:
        """One line."""
        line = json.dumps({"type": kind, **data}, ensure_ascii=False, separators=(",", ":"))
        self._file.write(line.encode("utf-8", "surrogatepass") + b"\n")

    def close(self) -> None:
        """Give the file back."""
        self._file.close()


def cut_torn_line(path: Path) -> None:
    """A crash may leave half a line at the end; what follows must not be glued to it."""
    try:
        with path.open("rb+") as file:
            whole = file.read()
            if whole and not whole.endswith(b"\n"):
                file.truncate(whole.rfind(b"\n") + 1)
    except FileNotFoundError:
        pass


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a transcript; half a line at the end is passed over, anything else that is broken is named."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        raise PegboardError(f"There is no transcript {path}. See `pegboard sessions`.") from None
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            entry = json.loads(line)
        except ValueError:
            if number == len(lines):
                return
            raise PegboardError(
                f"{path}:{number}: this line is not valid JSON. The transcript cannot be resumed."
            ) from None
        yield entry


def restore(path: Path) -> tuple[list[dict[str, Any]], list[Change]]:
    """The messages of a conversation and its changes of context. Calls without a result are answered as interrupted."""
    messages: list[dict[str, Any]] = []
    changes: list[Change] = []
    for entry in read(path):
        if entry["type"] == "user":
            _close(messages)
            _append(messages, "user", entry["content"])
        elif entry["type"] == "block":
            if messages and messages[-1]["role"] == "user":
                _close(messages)
            _append(messages, "assistant", [entry["block"]])
        elif entry["type"] == "discarded":
            if messages and messages[-1]["role"] == "assistant":
                messages.pop()
        elif entry["type"] == "result":
            _answer(messages, entry["block"])
        elif entry["type"] == "change":
            cwd = entry.get("cwd")
            changes.append(Change(Path(cwd) if cwd else None, entry.get("mode"), tuple(entry.get("loaded_tools", ()))))
    _close(messages)
    return messages, changes


def _append(messages: list[dict[str, Any]], role: str, content: list[dict[str, Any]]) -> None:
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += content
    else:
        messages.append({"role": role, "content": list(content)})


def _answer(messages: list[dict[str, Any]], result: dict[str, Any]) -> None:
    """Add a result; a second one for the same call is the shorter form that was sent."""
    if messages and messages[-1]["role"] == "user":
        for place, block in enumerate(messages[-1]["content"]):
            if block.get("tool_use_id") == result["tool_use_id"]:
                messages[-1]["content"][place] = result
                return
    _append(messages, "user", [result])


def _close(messages: list[dict[str, Any]]) -> None:
    """Answer what was left open, in the order in which it was asked."""
    last = next((i for i in range(len(messages) - 1, -1, -1) if messages[i]["role"] == "assistant"), None)
    if last is None:
        return
    asked = [block["id"] for block in messages[last]["content"] if block.get("type") == "tool_use"]
    after = messages[last + 1]["content"] if last + 1 < len(messages) else []
    answered = {block.get("tool_use_id") for block in after}
    missing = [
        {
            "type": "tool_result",
            "tool_use_id": call,
            "content": [{"type": "text", "text": INTERRUPTED}],
            "is_error": True,
        }
        for call in asked
        if call not in answered
    ]
    if missing:
        _append(messages, "user", missing)
