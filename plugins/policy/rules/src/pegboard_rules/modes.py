"""The modes that are more permissive than the default. They are here because they need protected paths and rules."""

from __future__ import annotations

from typing import Any

from pegboard import Allow, Context, Decision, Facts, Mode, Settings, Tool
from pegboard.permission import Modes, WorkingDirectories

EDITING = frozenset({"mkdir", "touch", "rm", "rmdir", "mv", "cp", "sed"})
"""Commands that acceptEdits treats as edits when everything they touch is in the working directories."""


def _accept_edits(tool: Tool[Any, Any], facts: Facts, ctx: Context) -> Decision | None:
    inside = WorkingDirectories.of(ctx)
    if not _is_edit(facts) or not all(inside.contain(path) for path in facts.paths):
        return None
    return Allow(f"{tool.name} edits files in the working directory, and the mode is acceptEdits.", layer="mode")


def _bypass(tool: Tool[Any, Any], facts: Facts, ctx: Context) -> Decision:
    return Allow("The mode bypassPermissions allows every call without asking.", layer="mode")


def _is_edit(facts: Facts) -> bool:
    if facts.open_world or not (facts.writes or facts.deletes):
        return False
    if not facts.parts:
        return not facts.destructive
    return all(part.read_only or (not part.exact and part.text.partition(" ")[0] in EDITING) for part in facts.parts)


ACCEPT_EDITS = Mode("acceptEdits", _accept_edits, width=1)
AUTO = Mode("auto", width=2, classifies=True, switch="permissions.disableAutoMode")
BYPASS = Mode(
    "bypassPermissions",
    _bypass,
    width=3,
    lifts_asks=True,
    switch="permissions.disableBypassPermissionsMode",
    from_repository=False,
    as_root=False,
)
MODES = (ACCEPT_EDITS, AUTO, BYPASS)
ALL = Modes(MODES)
"""The core's modes and the permissive ones."""


def is_bypassing(mode: str, settings: Settings) -> bool:
    """Whether protected paths may be changed without asking."""
    return mode != "default" and ALL.effective(mode, settings) is BYPASS
