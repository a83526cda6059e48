"""Commands that cannot be found, for `pegboard doctor`: such a hook fails and, by the protocol, blocks nothing."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator, Mapping

from pegboard import Notice, Settings, ToolInfo
from pegboard_hooks.handlers import Handler, read_handlers

PROJECT = ("${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR", "${PEGBOARD_PROJECT_DIR}", "$PEGBOARD_PROJECT_DIR")


def missing_programs(settings: Settings) -> Iterator[str]:
    """A sentence for each handler whose program does not exist or cannot be executed."""
    handlers, _ = read_handlers(settings)
    for handler in handlers:
        program = _program(handler, settings)
        if program and (wrong := _fault(program, settings)):
            yield f"{handler.source}: {handler.event}: {handler.name}: {wrong}"


def faulty_conditions(settings: Settings, tools: Mapping[str, ToolInfo]) -> Iterator[Notice]:
    """A notice for each `if` that no call of its tool can meet."""
    for handler in read_handlers(settings)[0]:
        if handler.condition and (fault := handler.condition.fault_for(tools)):
            rule = handler.condition.rule.text
            yield Notice(handler.source, f"{handler.event}: if {rule}: {fault} The hook runs without this condition.")


def _program(handler: Handler, settings: Settings) -> str:
    """The program as a path, or a bare name in exec form; empty where only a shell can tell."""
    if not handler.argv:
        return ""
    text = handler.argv[-1] if handler.in_shell else handler.argv[0]
    for variable in PROJECT:
        text = text.replace(variable, handler.project or settings.root)
    if not handler.in_shell:
        return text
    try:
        first = shlex.split(text)[0]
    except (ValueError, IndexError):
        return ""
    if first.startswith("~/"):
        first = os.path.expanduser(first)
    return first if "/" in first and not set("$`*?;&|<>(){}=") & set(first) else ""


def _fault(program: str, settings: Settings) -> str:
    if "/" not in program:
        return "" if shutil.which(program) else f"There is no program {program!r}, so the hook always fails."
    path = os.path.join(settings.cwd, program)
    if not os.path.isfile(path):
        return f"There is no file {path}, so the hook always fails."
    return "" if os.access(path, os.X_OK) else f"{path} is not executable. Run chmod +x on it."
