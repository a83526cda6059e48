"""Permission modes: what each lets run without asking, and what it blocks.

The core has three: `default`, `plan` and `dontAsk`. None of them is looser than the default. Plugins bring others with
the hook `register_modes`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from pegboard.calls import Ask, Decision, Deny
from pegboard.context import Context
from pegboard.contract import Facts, Tool
from pegboard.extensions import Mode
from pegboard.settings.layers import FROM_REPOSITORY, Notice, Settings
from pegboard.wording import listed

CLASSIFIED = frozenset({"default", "working-directory", "critical-path"})
"""Layers whose ask goes to the classifier first, in a mode that has one. All others are somebody's explicit opinion."""


def _by_plan(tool: Tool[Any, Any], facts: Facts, ctx: Context) -> Decision | None:
    if facts.writes or facts.deletes or facts.destructive:
        reason = f"{tool.name} changes something, and in the mode plan nothing changes until the plan is approved."
        return Deny(reason, layer="mode")
    if not facts.read_only:
        return Ask(f"{tool.name} can change something, and the mode is plan.", layer="mode")
    return None


DEFAULT = Mode("default", aliases=("manual",))
OWN = (DEFAULT, Mode("plan", _by_plan, width=-1), Mode("dontAsk", asks=False))


class Modes:
    """The modes of one board by name. A mode of the core cannot be replaced; of equal names the first counts."""

    __slots__ = ("_by_name", "_modes")

    def __init__(self, brought: Iterable[Mode] = ()) -> None:
        self._by_name: dict[str, Mode] = {}
        self._modes: dict[str, Mode] = {}
        for mode in (*OWN, *brought):
            if mode.name not in self._by_name:
                self._modes[mode.name] = mode
                for name in (mode.name, *mode.aliases):
                    self._by_name.setdefault(name, mode)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modes)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def effective(self, name: str, settings: Settings) -> Mode:
        """The mode that counts: one that does not exist here or is switched off is the default."""
        if name == "default":
            return DEFAULT
        mode = self._by_name.get(name, DEFAULT)
        return DEFAULT if mode.switch and settings.get(mode.switch, None) == "disable" else mode

    def starting(
        self, settings: Settings, wanted: str | None = None, *, sandboxed: bool = False, as_root: bool | None = None
    ) -> tuple[str, Notice | None]:
        """The name of the mode that a session starts in, and why it is not the one that was wanted."""
        source = "command line"
        if wanted is None:
            wanted, source = self._configured(settings)
        known = self._by_name.get(wanted)
        if known is None:
            why = f"no installed plugin provides it. The modes here are {listed(self._modes)}"
            return DEFAULT.name, _unused(source, wanted, why)
        mode = self.effective(wanted, settings)
        if mode is not known:
            switcher = settings.holders(known.switch)[0].source_of(known.switch)
            return mode.name, _unused(source, known.name, f"{switcher} switches it off")
        root = os.geteuid() == 0 if as_root is None else as_root
        if not mode.as_root and root and not sandboxed:
            return DEFAULT.name, _unused(source, mode.name, "it is refused for root outside a sandbox")
        return mode.name, None

    def narrower(self, parent: str, wanted: str | None, settings: Settings) -> str:
        """The mode of a sub-agent: the one that is wanted, but never a wider one than its parent's."""
        above = self.effective(parent, settings)
        mode = self._by_name.get(wanted) if wanted else above
        if mode is None or not above.asks:
            return above.name
        if not mode.asks:
            return mode.name if above.width >= DEFAULT.width else above.name
        return above.name if mode.width > above.width else mode.name

    def _configured(self, settings: Settings) -> tuple[str, str]:
        for layer in settings.holders("permissions.defaultMode"):
            name = layer.values["permissions.defaultMode"]
            mode = self._by_name.get(name)
            if layer.name not in FROM_REPOSITORY or mode is None or mode.from_repository:
                return name, layer.source_of("permissions.defaultMode")
        return DEFAULT.name, ""


def _unused(source: str, name: str, why: str) -> Notice:
    return Notice(source, f"The mode {name} is not used: {why}.")


def may_classify(decision: Decision, mode: Mode) -> bool:
    """Whether the classifier is asked before a person is: nobody had an opinion, and the mode has a classifier."""
    return mode.classifies and isinstance(decision, Ask) and decision.layer in CLASSIFIED
