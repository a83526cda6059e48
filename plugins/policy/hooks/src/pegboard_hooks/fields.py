"""The fields of a handler, by its type: which there are, and what makes a handler impossible to run."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any

from pegboard_hooks.protocol import JUDGED, TIMEOUTS

COMMON = ("type", "timeout", "if", "once", "statusMessage", "onError")
FIELDS = {
    "command": ("command", "args", "shell", "async", "asyncRewake"),
    "http": ("url", "headers", "allowedEnvVars"),
    "mcp_tool": ("server", "tool", "input"),
    "prompt": ("prompt", "model", "continueOnBlock"),
    "agent": ("prompt", "model"),
}
"""What each type has besides the common fields."""
NEEDED = {"command": ("command",), "http": ("url",), "mcp_tool": ("server", "tool"), "prompt": ("prompt",)}
ON_ERROR = ("allow", "ask", "deny")
SHELLS = {"bash": ("bash", "-c"), "sh": ("sh", "-c"), "powershell": ("pwsh", "-NoProfile", "-Command")}
SHOWN = 80


def fault_of(event: str, given: Any) -> str:
    """Why a handler cannot be run at all; empty for one that can."""
    if not isinstance(given, Mapping):
        return f"A handler must be an object, got {given!r}."
    kind = given.get("type", "command")
    if not isinstance(kind, str) or kind not in TIMEOUTS:
        return f"There is no handler type {kind!r}. The types are {', '.join(TIMEOUTS)}."
    for name in NEEDED.get(kind, ("prompt",)):
        if not isinstance(given.get(name), str) or not given[name].strip():
            return (
                f'A handler of type {kind} needs a "{name}".' if kind != "command" else 'A handler needs a "command".'
            )
    if kind in ("prompt", "agent") and event not in JUDGED:
        return f"A handler of type {kind} cannot run at {event}."
    return FAULTS[kind](given) if kind in FAULTS else ""


def _fault_of_command(given: Mapping[str, Any]) -> str:
    words = given.get("args")
    if words is not None and not _are_strings(words):
        return "args must be a list of strings."
    if given.get("shell") is not None and given["shell"] not in SHELLS:
        return f"There is no shell {given['shell']!r}. Use one of {', '.join(SHELLS)}."
    return ""


def _fault_of_http(given: Mapping[str, Any]) -> str:
    if not given["url"].startswith(("http://", "https://")):
        return f"url must begin with http:// or https://, got {given['url']!r}."
    headers = given.get("headers", {})
    if not isinstance(headers, Mapping) or not all(isinstance(value, str) for value in headers.values()):
        return "headers must be an object with string values."
    return "" if _are_strings(given.get("allowedEnvVars", [])) else "allowedEnvVars must be a list of strings."


def _fault_of_tool(given: Mapping[str, Any]) -> str:
    return "" if isinstance(given.get("input", {}), Mapping) else "input must be an object."


FAULTS = {"command": _fault_of_command, "http": _fault_of_http, "mcp_tool": _fault_of_tool}


def _are_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def fields_of(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Every field that a handler of this type may have."""
    return (*COMMON, *FIELDS[given.get("type", "command")])


def on_error_of(given: Any) -> str:
    """The setting's value; an invalid one counts as the strictest, because a guard was wanted."""
    said = given.get("onError") if isinstance(given, Mapping) else None
    if said is None:
        return ""
    return said if said in ON_ERROR else "deny"


def shell_argv(given: Mapping[str, Any]) -> tuple[str, ...]:
    """The command as a shell runs it."""
    shell = given.get("shell") or ("bash" if shutil.which("bash") else "sh")
    return (*SHELLS[shell], given["command"])


def is_seconds(value: object) -> bool:
    """Whether this can be a timeout."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


def shown(given: Any) -> str:
    """A handler in one short line, for messages."""
    said: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    tool = f"{said['server']}.{said['tool']}" if "server" in said and "tool" in said else None
    text = said.get("command") or said.get("url") or tool or said.get("prompt") or said.get("type") or "without a name"
    line = " ".join(str(text).split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"
