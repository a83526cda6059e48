"""Read one definition: a Markdown file with YAML between two lines of dashes. Every fault has a line."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from unicodedata import category

from pegboard_session import AgentDefinition

LARGEST = 256_000
LONGEST_HEAD = 16_000
"""A repository may hold any file: what is parsed is bounded."""
LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
MODES = ("default", "manual", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions")
FIELDS = (
    *("name", "description", "tools", "disallowedTools", "model", "permissionMode", "maxTurns", "background"),
    *("isolation", "color", "memoryFiles"),
)
NOT_YET = ("skills", "mcpServers", "hooks", "memory", "effort", "initialPrompt")
"""Fields of other hosts. They are reported and ignored, so that no one relies on them by mistake."""

UNSEEN = ("Cc", "Cf", "Cs")
SEEN_AFTER_ALL = "\n\t\u200c\u200d"
"""Control characters and marks of direction change what a person sees; joiners belong to scripts and pictures."""


class FaultError(Exception):
    """The file cannot be used; the message begins with file and line."""


@dataclass(frozen=True, slots=True)
class ParsedDefinition:
    """A definition, and what its author should know about the file."""

    definition: AgentDefinition
    lines: dict[str, int]
    remarks: tuple[str, ...] = ()


def read_definition(path: Path) -> ParsedDefinition:
    """The definition in a file; raises `FaultError`."""
    try:
        seen = path.stat()
        stamp = (seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)
    except OSError as error:
        raise FaultError(f"{path}:1: The file cannot be read: {error.strerror}.") from None
    found = _read(path, stamp)
    if isinstance(found, str):
        raise FaultError(found)
    return found


@lru_cache(maxsize=2000)
def _read(path: Path, stamp: tuple[int, ...]) -> ParsedDefinition | str:
    """The same, read once as long as the file stays as it is; a fault is returned so that it is kept as well."""
    try:
        return _parse(path)
    except FaultError as fault:
        return str(fault)


def _parse(path: Path) -> ParsedDefinition:
    # Imported here because most sessions start no agent, and a parser is not free.
    from pegboard_agent.fields import FieldsError, read_fields

    remarks: list[str] = []
    raw = _bytes(path)
    if raw.startswith(b"\xef\xbb\xbf"):
        raw = raw[3:]
        remarks.append(f"{path}:1: The file begins with a byte order mark, which is ignored. Save it without one.")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FaultError(f"{path}:{line}: This is not UTF-8 text.") from None
    head, body = _split(path, text)
    try:
        fields, lines = read_fields(head)
    except FieldsError as fault:
        raise FaultError(f"{path}:{fault.line + 1}: {fault}") from None
    lines = {name: line + 1 for name, line in lines.items()}
    remarks += _unused(path, fields, lines)
    return ParsedDefinition(_definition(path, fields, lines, body), lines, tuple(remarks))


def _bytes(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise FaultError(f"{path}:1: The file cannot be read: {error.strerror}.") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FaultError(f"{path}:1: This is not a file.")
        with open(descriptor, "rb", closefd=False) as stream:
            raw = stream.read(LARGEST + 1)
    except OSError as error:
        raise FaultError(f"{path}:1: The file cannot be read: {error.strerror}.") from None
    finally:
        os.close(descriptor)
    if len(raw) > LARGEST:
        raise FaultError(f"{path}:1: The file is larger than {LARGEST} bytes.")
    return raw


def _split(path: Path, text: str) -> tuple[str, str]:
    lines = LINE.findall(text)  # Not `splitlines`: a description may hold U+2028.
    if not lines or lines[0].rstrip() != "---":
        raise FaultError(
            f"{path}:1: Expected a first line of three dashes, then name and description, then three dashes."
        )
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            head = "".join(lines[1:number])
            if len(head) > LONGEST_HEAD:
                raise FaultError(f"{path}:2: The fields have more than {LONGEST_HEAD} characters.")
            return head, "".join(lines[number + 1 :]).strip()
    raise FaultError(f"{path}:1: The three dashes that end the fields are missing.")


def _unused(path: Path, fields: dict[str, Any], lines: dict[str, int]) -> Iterator[str]:
    for name in fields:
        if name in NOT_YET:
            yield f"{path}:{lines[name]}: {name} is ignored: Pegboard does not support it for agents."
        elif name not in FIELDS:
            yield f"{path}:{lines.get(str(name), 2)}: There is no field {name!r}; it is ignored."


def _definition(path: Path, fields: dict[str, Any], lines: dict[str, int], body: str) -> AgentDefinition:
    def wrong(name: str, what: str) -> FaultError:
        return FaultError(f"{path}:{lines.get(name, 2)}: {name} {what}")

    def text(name: str) -> str:
        value = fields.get(name)
        if value is not None and not isinstance(value, str):
            raise wrong(name, f"must be text, got {value!r}.")
        odd = next((char for char in value or "" if category(char) in UNSEEN and char not in SEEN_AFTER_ALL), "")
        if odd:
            raise wrong(name, f"contains the character U+{ord(odd):04X}, which is not allowed.")
        return (value or "").strip()

    name, description = text("name") or path.stem, text("description")
    if not NAME.fullmatch(name):
        raise wrong("name", f"must be 1 to 64 letters, digits, dots, _ and -, got {name!r}.")
    if not description:
        raise wrong("description", "is missing. Describe when this agent should be used.")
    mode, isolation = text("permissionMode"), text("isolation")
    if mode and mode not in MODES:
        raise wrong("permissionMode", f"must be one of {', '.join(MODES)}, got {mode!r}.")
    if isolation not in ("", "worktree"):
        raise wrong("isolation", f"must be worktree, got {isolation!r}.")
    turns, background = fields.get("maxTurns"), fields.get("background", False)
    if turns is not None and (isinstance(turns, bool) or not isinstance(turns, int) or turns < 1):
        raise wrong("maxTurns", f"must be a whole number of 1 or more, got {turns!r}.")
    memory_files = fields.get("memoryFiles", True)
    for key, value in (("background", background), ("memoryFiles", memory_files)):
        if not isinstance(value, bool):
            raise wrong(key, f"must be true or false, got {value!r}.")
    model = text("model")
    return AgentDefinition(
        name,
        description,
        body,
        tools=_names(path, fields, lines, "tools"),
        disallowed_tools=_names(path, fields, lines, "disallowedTools") or (),
        model=None if model in ("", "inherit") else model,
        permission_mode=mode or None,
        max_turns=turns,
        source=str(path),
        background=background,
        isolation=isolation,
        color=text("color"),
        memory_files=memory_files,
    )


def _names(path: Path, fields: dict[str, Any], lines: dict[str, int], name: str) -> tuple[str, ...] | None:
    """A list of tools: a YAML list, or text with commas outside of parentheses."""
    if name not in fields:
        return None
    value = [] if fields[name] is None else fields[name]
    if isinstance(value, str):
        value = _split_names(value)
    if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
        raise FaultError(f"{path}:{lines.get(name, 2)}: {name} must be a list of tool names, got {value!r}.")
    return tuple(item.strip() for item in value)


def _split_names(text: str) -> list[str]:
    parts, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")" and depth > 0)
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [part for part in parts if part.strip()]
