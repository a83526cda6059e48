"""What a permission mode lets run without asking, and what it blocks."""

from __future__ import annotations

import os

from pegboard.calls import Allow, Ask, Decision, Deny
from pegboard.context import MODES
from pegboard.contract import Facts
from pegboard.settings.layers import FROM_REPOSITORY, Notice, Settings

ALIASES = {"manual": "default"}
EDITING = frozenset({"mkdir", "touch", "rm", "rmdir", "mv", "cp", "sed"})
"""Commands that acceptEdits takes for edits, when all they touch lies in the working directories."""

SWITCHES = {
    "bypassPermissions": "permissions.disableBypassPermissionsMode",
    "auto": "permissions.disableAutoMode",
}
CLASSIFIED = frozenset({"default", "working-directory", "critical-path"})
"""Layers whose ask goes to the classifier first, in the mode auto. Everything else was somebody's explicit opinion."""

HELD = frozenset({"hooks", "forced", "critical-path"})
"""Layers whose ask a person has to answer even in bypassPermissions."""


def effective(mode: str, settings: Settings) -> str:
    """The mode that counts: aliases are read, and a mode that is switched off or unknown is the default mode."""
    if mode == "default":
        return mode
    mode = ALIASES.get(mode, mode)
    switch = SWITCHES.get(mode)
    if mode not in MODES or (switch and settings.get(switch) == "disable"):
        return "default"
    return mode


def starting_mode(
    settings: Settings, wanted: str | None = None, *, sandboxed: bool = False, as_root: bool | None = None
) -> tuple[str, Notice | None]:
    """The mode a session starts in, and why it is not the one that was wanted.

    Bypass is refused for root outside a sandbox, and never comes from a repository, however trusted.
    """
    source = "command line"
    if wanted is None:
        for layer in settings.holders("permissions.defaultMode"):
            said = layer.values["permissions.defaultMode"]
            if not (said == "bypassPermissions" and layer.name in FROM_REPOSITORY):
                wanted, source = said, layer.source_of("permissions.defaultMode")
                break
    wanted = ALIASES.get(wanted or "default", wanted or "default")
    mode = effective(wanted, settings)
    if mode != wanted:
        switch = SWITCHES.get(wanted)
        by = settings.holders(switch)[0].source_of(switch) if switch and settings.holders(switch) else ""
        why = f"{by} switches it off" if by else "there is no such mode"
        return mode, Notice(source, f"The mode {wanted} is not used: {why}.")
    root = os.geteuid() == 0 if as_root is None else as_root
    if mode == "bypassPermissions" and root and not sandboxed:
        return "default", Notice(source, f"The mode {mode} is not used: it is refused for root outside a sandbox.")
    return mode, None


def may_classify(decision: Decision, mode: str, settings: Settings) -> bool:
    """Whether the classifier is asked about a call before a person is: in the mode auto, when nobody had an opinion."""
    return isinstance(decision, Ask) and decision.layer in CLASSIFIED and effective(mode, settings) == "auto"


def by_mode(mode: str, name: str, facts: Facts, *, inside: bool) -> Decision | None:
    """The opinion of a mode. `inside` says that every path of the call lies in a working directory."""
    if mode == "bypassPermissions":
        return Allow("The mode bypassPermissions asks nobody.", layer="mode")
    if mode == "plan":
        return _by_plan(name, facts)
    if mode == "acceptEdits" and inside and _is_edit(facts):
        return Allow(f"{name} edits files in the working directory, and the mode is acceptEdits.", layer="mode")
    return None


def _by_plan(name: str, facts: Facts) -> Decision | None:
    if facts.writes or facts.deletes or facts.destructive:
        reason = f"{name} changes something, and in the mode plan nothing changes until the plan is approved."
        return Deny(reason, layer="mode")
    if not facts.read_only:
        return Ask(f"{name} can change something, and the mode is plan.", layer="mode")
    return None


def _is_edit(facts: Facts) -> bool:
    if facts.open_world or not (facts.writes or facts.deletes):
        return False
    if not facts.parts:
        return not facts.destructive
    return all(part.read_only or (not part.exact and part.text.partition(" ")[0] in EDITING) for part in facts.parts)
