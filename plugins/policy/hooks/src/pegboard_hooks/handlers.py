"""Parse the handlers in the settings once, with a message for everything that is wrong with them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pegboard import Settings, canonical
from pegboard.settings import Layer
from pegboard.wording import did_you_mean
from pegboard_hooks.complaints import complaints
from pegboard_hooks.conditions import Condition
from pegboard_hooks.fields import fault_of, is_seconds, on_error_of, shell_argv, shown
from pegboard_hooks.matchers import Matcher, matcher_of
from pegboard_hooks.protocol import EVENTS, NOT_FIRED, TIMEOUTS, TOOL_EVENTS, WITHOUT_MATCHER, timeout_of


@dataclass(frozen=True, slots=True)
class Handler:
    """One handler of one settings file. With a `fault` it cannot be run."""

    event: str
    matches: Matcher = field(repr=False)
    source: str
    key: bytes = field(repr=False)
    """Handlers with the same key are duplicates, whatever files they come from."""
    name: str = ""
    kind: str = "command"
    argv: tuple[str, ...] = ()
    in_shell: bool = True
    """Whether a shell reads the command; otherwise `${CLAUDE_PROJECT_DIR}` and the like are replaced before it runs."""
    given: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The handler as it is written, for types other than `command`."""
    project: str = ""
    """The folder that the handler belongs to, if that is not the root of the project."""
    timeout: float = TIMEOUTS["command"]
    condition: Condition | None = field(default=None, repr=False)
    is_async: bool = False
    is_once: bool = False
    """Whether it is done after it has run; only a skill's may be."""
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

    @property
    def project(self) -> str:
        """The folder of a settings file that is below the root of the project; empty for any other."""
        folder = os.path.dirname(os.path.dirname(self.source))
        below = self.layer.name in ("project", "local") and folder.startswith(f"{self.settings.root}{os.sep}")
        return folder if below else ""


def read_handlers(settings: Settings) -> tuple[list[Handler], list[str]]:
    """Every handler that is in force, the strongest layer first, and what is wrong with them."""
    handlers: list[Handler] = []
    problems: list[str] = []
    for layer in in_force(settings):
        found, wrong = read_layer(layer, settings)
        handlers += found
        problems += wrong
    return handlers, problems


def read_layer(layer: Layer, settings: Settings) -> tuple[list[Handler], list[str]]:
    """Every handler of one layer, and what is wrong with them."""
    handlers: list[Handler] = []
    problems: list[str] = []
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
        return f"Pegboard has no event {event}: {NOT_FIRED[event]}. Its hooks never run."
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
    handlers = []
    for one in given["hooks"]:
        handler = _read_handler(group, one)
        problems += complaints(event, one, handler)
        # Without a call there is nothing that the rule could match.
        if handler.fault or event in TOOL_EVENTS or one.get("if") is None:
            handlers.append(handler)
    return handlers, problems


def _read_handler(group: Group, given: Any) -> Handler:
    fault = fault_of(group.event, given)
    if fault:
        return _unusable(group, given, fault)
    kind, rule, timeout = given.get("type", "command"), given.get("if"), given.get("timeout")
    words = given.get("args")
    argv: tuple[str, ...] = ()
    if kind == "command":
        argv = (given["command"], *words) if words is not None else shell_argv(given)
    return Handler(
        group.event,
        group.matches,
        group.source,
        _key(group, given),
        name=shown(given),
        kind=kind,
        argv=argv,
        in_shell=words is None,
        given=given,
        project=group.project,
        timeout=timeout_of(kind, group.event, float(timeout) if is_seconds(timeout) else None),
        condition=Condition(rule, group.layer, group.settings) if isinstance(rule, str) else None,
        is_async=given.get("async") is True or given.get("asyncRewake") is True,
        status=str(given.get("statusMessage") or ""),
        on_error=on_error_of(given),
    )


def _unusable(group: Group, given: Any, fault: str) -> Handler:
    key = _key(group, given) if isinstance(given, Mapping) else repr(given).encode()
    name, on_error = shown(given), on_error_of(given)
    return Handler(group.event, group.matches, group.source, key, name=name, on_error=on_error, fault=fault)


def _key(group: Group, given: Mapping[str, Any]) -> bytes:
    # A path in the rule is relative to a different folder in each layer, and so is the project of a nested file.
    anchor = group.layer.name if "if" in given else ""
    return f"{anchor}:{group.project}:".encode() + canonical(dict(given))
