"""The conversation on disk, a line at a time: whatever kills the process, at most the line being written is lost."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pegboard.context import MODES, Change
from pegboard.errors import PegboardError
from pegboard.session.assembler import sendable

INTERRUPTED = "This call was interrupted before it had a result. It may have run in part; look before you repeat it."


class Transcript:
    """Appends to a JSON-lines file; each line is handed to the system before the session goes on.

    One at a time: two conversations in one file could not be told apart, so a second writer is a `PegboardError`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._file = os.fdopen(descriptor, "ab", buffering=0)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise PegboardError(f"The session {path.stem} is open elsewhere. Close it there first.") from None
        cut_torn_line(path)

    def write(self, kind: str, **data: Any) -> None:
        """One line."""
        line = json.dumps({"type": kind, **data}, ensure_ascii=False, separators=(",", ":"))
        rest = memoryview(line.encode("utf-8", "surrogatepass") + b"\n")
        while rest:  # A disk that is nearly full takes a part, and refuses the next.
            rest = rest[self._file.write(rest) :]

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
        except (ValueError, RecursionError):
            if number == len(lines):
                return
            raise PegboardError(
                f"{path}:{number}: this line is not valid JSON. The transcript cannot be resumed."
            ) from None
        if not _is_entry(entry):
            raise PegboardError(f"{path}:{number}: this is no line of a transcript. The transcript cannot be resumed.")
        yield entry


def _is_entry(entry: Any) -> bool:
    """Whether a line has what its kind needs; kinds that are not known here are passed over later."""
    if not isinstance(entry, dict):
        return False
    if entry.get("type") == "user":
        return isinstance(entry.get("content"), list) and all(map(_is_block, entry["content"]))
    if entry.get("type") in ("block", "result"):
        return _is_block(entry.get("block")) and (entry["type"] == "block" or "tool_use_id" in entry["block"])
    if entry.get("type") == "change":
        return isinstance(entry.get("cwd"), str | None) and entry.get("mode") in (None, *MODES)
    return isinstance(entry.get("type"), str)


def _is_block(block: Any) -> bool:
    needs = {"text": {"text": str}, "tool_use": {"id": str, "name": str}, "tool_result": {"tool_use_id": str}}
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        return False
    return all(isinstance(block.get(key), kind) for key, kind in needs.get(block["type"], {}).items())


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
                _take_back(messages, entry.get("blocks"))
        elif entry["type"] == "result":
            _answer(messages, entry["block"])
        elif entry["type"] == "change":
            cwd = entry.get("cwd")
            changes.append(Change(Path(cwd) if cwd else None, entry.get("mode"), tuple(entry.get("loaded_tools", ()))))
    _close(messages)
    return _sendable(messages), changes


def _take_back(messages: list[dict[str, Any]], count: object) -> None:
    """Forget the blocks of an answer that was discarded; what a paused answer had said before them stays."""
    content = messages[-1]["content"]
    del content[-count if isinstance(count, int) and 0 < count < len(content) else 0 :]
    if not content:
        messages.pop()


def _sendable(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for message in messages:
        content = sendable(message["content"]) if message["role"] == "assistant" else message["content"]
        if content:
            _append(made, message["role"], content)
    return made


def answer_open_calls(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A conversation that was broken off, so that it can go on: calls without a result are answered as interrupted."""
    made = [{**message, "content": list(message["content"])} for message in messages]
    _close(made)
    return made


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
