"""Read one definition of an agent: a Markdown file with fields between two lines of dashes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pegboard_agent.soft_fields import SoftFields
from pegboard_definitions import FaultError, Markdown, NoFieldsError, read_markdown
from pegboard_session import AgentDefinition

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""A name that a call gives to one agent. It becomes part of branches and files."""
KIND = re.compile(r"(?=.{1,64}\Z)[A-Za-z0-9][A-Za-z0-9_.+&#-]*(?: [A-Za-z0-9_.+&#-]+)*")
"""The name of a kind of agents: words with blanks between them. ASCII, because other letters look like these."""
KIND_RULE = "must be 1 to 64 letters, digits, blanks, dots, _, +, &, # and -"
MODES = ("default", "manual", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions")
TEXT_FIELDS = ("description",)
FIELDS = (
    *("name", "description", "tools", "disallowedTools", "model", "permissionMode", "maxTurns", "background"),
    *("isolation", "color", "memoryFiles", "skills", "effort", "hooks", "mcpServers", "memory"),
)
MEMORIES = ("user", "project", "local")
EFFORTS = ("low", "medium", "high", "xhigh", "max")
OTHER_SCRIPT = re.compile(r"[\w.-]+(?: [\w.-]+)*")


@dataclass(frozen=True, slots=True)
class ParsedDefinition:
    """A definition, and what its author should know about the file."""

    definition: AgentDefinition
    lines: dict[str, int]
    remarks: tuple[str, ...] = ()
    quiet: tuple[str, ...] = ()
    """What is read although it is not quite right, or not used here; it is no error."""


@dataclass(frozen=True, slots=True)
class Documentation:
    """A file that defines no agent: it has no name."""

    remark: str


def read_definition(path: Path) -> ParsedDefinition | Documentation:
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
def _read(path: Path, stamp: tuple[int, ...]) -> ParsedDefinition | Documentation | str:
    """The same, read once as long as the file stays as it is; a fault is returned so that it is kept as well."""
    try:
        return _parse(path)
    except FaultError as fault:
        return str(fault)


def _parse(path: Path) -> ParsedDefinition | Documentation:
    try:
        found = read_markdown(path, text_fields=TEXT_FIELDS, known=FIELDS)
    except NoFieldsError:
        return Documentation(f"{path}:1: This file has no fields, so it is treated as documentation, not as an agent.")
    if found.fields.get("name") is None:
        return Documentation(f"{path}:1: This file has no name, so it is treated as documentation, not as an agent.")
    name, remark = _name(found)
    soft = SoftFields(found)
    made = _definition(found, name, soft)
    remarks = (*found.remarks, *([remark] if remark else []))
    return ParsedDefinition(made, found.lines, remarks, (*found.quiet, *_unused(found), *soft.remarks))


def _unused(found: Markdown) -> Iterator[str]:
    unknown = [name for name in found.fields if name not in FIELDS]
    if unknown:
        words = ", ".join(map(str, unknown))
        yield f"{found.place(unknown[0])}: These fields have no meaning here and are ignored: {words}."


def _name(found: Markdown) -> tuple[str, str]:
    """The name, and what is said about it. One in another script is not used, but that of its file may be."""
    name = found.text("name")
    if KIND.fullmatch(name):
        return name, ""
    wrong, instead = f"name {KIND_RULE}, got {name!r}.", found.path.stem
    if not OTHER_SCRIPT.fullmatch(name) or name.isascii() or not KIND.fullmatch(instead):
        raise FaultError(f"{found.place('name')}: {wrong}")
    return instead, f"{found.place('name')}: {wrong} Other letters look like these. It is called {instead} here."


def _definition(found: Markdown, name: str, soft: SoftFields) -> AgentDefinition:
    description = found.text("description")
    if not description:
        raise found.fault("description", "is missing. Describe when this agent should be used.")
    mode, isolation = found.text("permissionMode"), soft.isolation()
    if mode and mode not in MODES:
        raise found.fault("permissionMode", f"must be one of {', '.join(MODES)}, got {mode!r}.")
    if isolation not in ("", "worktree"):
        raise found.fault("isolation", f"must be worktree, got {isolation!r}.")
    turns = soft.number("maxTurns")
    if turns is not None and (isinstance(turns, bool) or not isinstance(turns, int) or turns < 1):
        raise found.fault("maxTurns", f"must be a whole number of 1 or more, got {turns!r}.")
    model = soft.text("model")
    return AgentDefinition(
        name,
        description,
        found.body,
        tools=soft.tools(),
        disallowed_tools=found.names("disallowedTools") or (),
        model=None if model in ("", "inherit") else model,
        permission_mode=mode or None,
        max_turns=turns,
        source=str(found.path),
        background=found.truth("background", False),
        isolation=isolation,
        color=found.text("color"),
        memory_files=found.truth("memoryFiles", True),
        skills=found.names("skills") or (),
        effort=soft.choice("effort", EFFORTS),
        memory=soft.choice("memory", MEMORIES),
        hooks=_object(found, "hooks"),
        mcp_servers=_servers(found),
    )


def _object(found: Markdown, name: str) -> dict[str, Any]:
    value = found.fields.get(name)
    if value is None or value == []:
        return {}
    if not isinstance(value, dict):
        raise found.fault(name, f"must be an object, got {value!r}.")
    # As JSON holds it: transcripts keep definitions, and YAML has dates.
    made: dict[str, Any] = json.loads(json.dumps(value, default=str))
    return made


def _servers(found: Markdown) -> dict[str, Any]:
    """MCP servers by name: an object, or a list of names and objects. A name alone means a server of the settings."""
    value = found.fields.get("mcpServers")
    if isinstance(value, str):
        return {name: {} for name in found.names("mcpServers") or ()}
    if not isinstance(value, list):
        return _object(found, "mcpServers")
    servers: dict[str, Any] = {}
    for item in json.loads(json.dumps(value, default=str)):
        if isinstance(item, str):
            servers[item] = {}
        elif isinstance(item, dict):
            servers |= item
        else:
            raise found.fault("mcpServers", f"must be names and objects, got {item!r}.")
    return servers
