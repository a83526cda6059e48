"""Parse the handlers in the settings once, with a message for everything that is wrong with them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pegboard import Settings, canonical
from pegboard.settings import Layer
from pegboard.wording import did_you_mean
from pegboard_hooks.conditions import Condition
from pegboard_hooks.matchers import Matcher, matcher_of

TOOL_EVENTS = ("PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "PermissionDenied")
SESSION_EVENTS = (
    *("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd", "SubagentStart", "SubagentStop"),
    *("PreCompact", "PostCompact"),
)
EVENTS = (*TOOL_EVENTS, *SESSION_EVENTS)
NOT_FIRED = (
    *("Setup", "UserPromptExpansion", "PostToolBatch", "Notification", "MessageDisplay", "TaskCreated"),
    *("TaskCompleted", "StopFailure", "TeammateIdle", "InstructionsLoaded", "ConfigChange", "CwdChanged"),
    *("DirectoryAdded", "FileChanged", "WorktreeCreate", "WorktreeRemove", "Elicitation"),
    "ElicitationResult",
)
"""Events of the protocol that Pegboard does not fire."""

WITHOUT_MATCHER = ("UserPromptSubmit", "Stop")
GUARDS = ("PreToolUse", "PermissionRequest", "UserPromptSubmit", "PreCompact")
"""Events at which `onError` can prevent something."""

TYPES = ("command", "http", "mcp_tool", "prompt", "agent")
FIELDS = (
    *("type", "command", "args", "shell", "timeout", "if", "once"),
    *("async", "asyncRewake", "statusMessage", "onError"),
)
ON_ERROR = ("allow", "ask", "deny")
SHELLS = {"bash": ("bash", "-c"), "sh": ("sh", "-c"), "powershell": ("pwsh", "-NoProfile", "-Command")}
TIMEOUT = 600.0
"""The default timeout of a handler, in seconds."""

SHOWN = 80


@dataclass(frozen=True, slots=True)
class Handler:
    """One command of one settings file. With a `fault` it cannot be run."""

    event: str
    matches: Matcher = field(repr=False)
    source: str
    key: bytes = field(repr=False)
    """Handlers with the same key are duplicates, whatever files they come from."""
    name: str = ""
    argv: tuple[str, ...] = ()
    timeout: float = TIMEOUT
    condition: Condition | None = field(default=None, repr=False)
    once: bool = False
    is_async: bool = False
    status: str = ""
    on_error: str = ""
    fault: str = ""

    def __str__(self) -> str:
        return f"the {self.event} hook {self.name!r} of {self.source}"


@dataclass(frozen=True, slots=True)
class Group:
    """Where a handler is defined: event, matcher, file."""

    event: str
    matches: Matcher
    layer: Layer
    settings: Settings

    @property
    def source(self) -> str:
        """The file."""
        return self.layer.source_of("hooks")


def read_handlers(settings: Settings) -> tuple[list[Handler], list[str]]:
    """Every handler that is in force, the strongest layer first, and what is wrong with them."""
    handlers: list[Handler] = []
    problems: list[str] = []
    for layer in in_force(settings):
        source = layer.source_of("hooks")
        for event, groups in _items(layer.values["hooks"]):
            if event not in EVENTS:
                problems.append(f"{source}: {_unknown_event(event)}")
                continue
            for given in groups if isinstance(groups, list) else [groups]:
                found, wrong = _read_group(event, given, layer, settings)
                handlers += found
                problems += [f"{source}: {event}: {words}" for words in wrong]
    return handlers, problems


def in_force(settings: Settings) -> list[Layer]:
    """The layers whose hooks run. Only managed settings can switch off managed hooks."""
    holders = settings.holders("hooks")
    switches = settings.holders("disableAllHooks")
    if not switches or switches[0].values["disableAllHooks"] is not True:
        return holders
    owners = ("baked", "managed")
    return [] if switches[0].name in owners else [layer for layer in holders if layer.name in owners]


def _items(value: Any) -> list[tuple[str, Any]]:
    return [(str(event), groups) for event, groups in value.items()] if isinstance(value, Mapping) else []


def _unknown_event(event: str) -> str:
    if event in NOT_FIRED:
        return f"Pegboard has no event {event}; its hooks never run."
    return f"There is no event {event!r}.{did_you_mean(event, EVENTS)}"


def _read_group(event: str, given: Any, layer: Layer, settings: Settings) -> tuple[list[Handler], list[str]]:
    fits = isinstance(given, Mapping) and isinstance(given.get("hooks"), list)
    matches, wrong = matcher_of(given.get("matcher") if isinstance(given, Mapping) else None)
    group = Group(event, matches, layer, settings)
    problems = [wrong] if wrong else []
    if isinstance(given, Mapping) and given.get("matcher") and event in WITHOUT_MATCHER:
        group = Group(event, matcher_of("")[0], layer, settings)
        problems.append("This event takes no matcher; its hooks run every time.")
    if not fits:
        fault = 'Expected {"matcher": "…", "hooks": [{"type": "command", "command": "…"}]}.'
        return [_unusable(group, given, fault)], [*problems, fault]
    handlers = [_read_handler(group, one) for one in given["hooks"]]
    for one, handler in zip(given["hooks"], handlers, strict=True):
        problems += _complaints(event, one, handler)
    return handlers, problems


def _read_handler(group: Group, given: Any) -> Handler:
    fault = _fault(given)
    if fault:
        return _unusable(group, given, fault)
    command, words = given["command"], given.get("args")
    argv = (command, *words) if words is not None else (*SHELLS[given.get("shell") or _shell()], command)
    rule, timeout = given.get("if"), given.get("timeout")
    return Handler(
        group.event,
        group.matches,
        group.source,
        _key(group, given),
        name=_shown(command),
        argv=argv,
        timeout=float(timeout) if _is_seconds(timeout) else TIMEOUT,
        condition=Condition(rule, group.layer, group.settings) if isinstance(rule, str) else None,
        once=given.get("once") is True,
        is_async=given.get("async") is True or given.get("asyncRewake") is True,
        status=str(given.get("statusMessage") or ""),
        on_error=_on_error(given),
    )


def _unusable(group: Group, given: Any, fault: str) -> Handler:
    name = given.get("command") or given.get("type") if isinstance(given, Mapping) else None
    key = _key(group, given) if isinstance(given, Mapping) else repr(given).encode()
    shown = _shown(str(name or "without a name"))
    return Handler(group.event, group.matches, group.source, key, name=shown, on_error=_on_error(given), fault=fault)


def _fault(given: Any) -> str:
    """Why a handler cannot be run at all."""
    if not isinstance(given, Mapping):
        return f"A handler must be an object, got {given!r}."
    kind = given.get("type", "command")
    if kind != "command":
        known = f"Handlers of type {kind!r} are not supported. Use command."
        return known if kind in TYPES else f"There is no handler type {kind!r}. Use command."
    if not isinstance(given.get("command"), str) or not given["command"].strip():
        return 'A handler needs a "command".'
    words = given.get("args")
    if words is not None and not (isinstance(words, list) and all(isinstance(word, str) for word in words)):
        return "args must be a list of strings."
    if given.get("shell") is not None and given["shell"] not in SHELLS:
        return f"There is no shell {given['shell']!r}. Use one of {', '.join(SHELLS)}."
    return ""


def _complaints(event: str, given: Any, handler: Handler) -> Iterator[str]:
    """What is wrong with a handler, whether or not it can run."""
    name = handler.name
    if handler.fault:
        yield f"{name}: {handler.fault}" + (" Calls that it guards need approval." if event == "PreToolUse" else "")
        return
    for unknown in (word for word in given if word not in FIELDS):
        yield f"{name}: A handler has no field {unknown!r}.{did_you_mean(str(unknown), FIELDS)}"
    if given.get("timeout") is not None and not _is_seconds(given["timeout"]):
        yield f"{name}: timeout must be a number of seconds above 0, got {given['timeout']!r}. {TIMEOUT:g} is used."
    if given.get("onError") is not None and given["onError"] not in ON_ERROR:
        yield f"{name}: onError must be one of {', '.join(ON_ERROR)}, got {given['onError']!r}. deny is used."
    elif given.get("onError") in ("ask", "deny") and event not in GUARDS:
        yield f"{name}: onError has no effect at {event}: there is nothing left to prevent."
    if handler.is_async and event in GUARDS:
        yield f"{name}: an async handler cannot decide anything at {event}: the call does not wait for it."
    if given.get("asyncRewake"):
        yield f"{name}: asyncRewake is not supported; it runs as async."
    if given.get("if") is not None:
        yield from (f"{name}: {words}" for words in _condition_complaints(event, given["if"], handler))


def _condition_complaints(event: str, rule: object, handler: Handler) -> Iterator[str]:
    if handler.condition is None:
        yield f"if must be one permission rule as text, got {rule!r}. The hook runs without this condition."
    elif handler.condition.wrong:
        yield f"if {rule}: {handler.condition.wrong} The hook runs without this condition."
    elif event not in TOOL_EVENTS:
        yield f"if has no effect at {event}: there is no call to compare with. The hook runs without this condition."


def _on_error(given: Any) -> str:
    """The setting's value; an invalid one counts as the strictest, because a guard was wanted."""
    said = given.get("onError") if isinstance(given, Mapping) else None
    if said is None:
        return ""
    return said if said in ON_ERROR else "deny"


def _key(group: Group, given: Mapping[str, Any]) -> bytes:
    # A path in the rule is relative to a different folder in each layer.
    anchor = group.layer.name if "if" in given else ""
    return anchor.encode() + b":" + canonical(dict(given))


def _shell() -> str:
    return "bash" if shutil.which("bash") else "sh"


def _is_seconds(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


def _shown(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"
