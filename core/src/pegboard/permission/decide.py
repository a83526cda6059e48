"""How opinions combine: deny beats ask beats allow, and of equals the first in the order of the steps is named.

    deny rules · safety (critical, protected and unresolvable paths) · questions that only a person may answer ·
    ask rules · opinions of hooks, tool and plugins · allow rules · mode · it only reads · ask

Every opinion is a `Decision`; its layer says to which step it belongs. The last two steps count only when there is no
opinion. The classifier is not asked here: it is expensive and awaits. A caller that has one asks it when
`may_classify` says so, and takes its answer instead.

The core has three permission modes: `default`, `plan` and `dontAsk`. None of them is looser than the default. Plugins
bring others with the hook `register_modes`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pegboard.calls import Allow, Ask, Decision, Deny
from pegboard.context import Context
from pegboard.contract import Facts, Tool, with_paths
from pegboard.extensions import Mode
from pegboard.paths import ResolvedPath, resolve_path
from pegboard.settings import FROM_REPOSITORY, Notice, Settings
from pegboard.wording import listed

SAFETY = frozenset({"critical-path", "protected-path", "unresolvable"})
"""Layers of the step safety: no allow and no option answers their questions, only a person does."""

HELD = SAFETY | {"hooks", "forced", "rules"}
"""Layers whose ask a person has to answer even in a mode that lifts asks."""

READS = "read-only"
"""The layer of an allow that counts only when there is no other opinion. Plugins may widen what is fine to read."""
ONLY_READS = Allow("It only reads.", READS)

SEVERITY = {"deny": 0, "ask": 10, "allow": 20}
RULES = {"deny": 0, "ask": 3, "allow": 5}
RANKS = {**dict.fromkeys(SAFETY, 1), "forced": 2, "mode": 6, READS: 9}
OPINION = 4

MOST_KNOWN = 64
KEY = "working_directories"

CLASSIFIED = frozenset({"default", "working-directory", "critical-path"})
"""Layers whose ask goes to the classifier first, in a mode that has one. All others are explicit opinions."""


def decide(tool: Tool[Any, Any], facts: Facts, ctx: Context, opinions: Sequence[Decision], modes: Modes) -> Decision:
    """May this call run? From what rules, hooks, tool and plugins said, the mode, and what the call would do."""
    facts = with_paths(facts, ctx)
    mode = modes.effective(ctx.mode, ctx.settings)
    weighed = [*opinions] if not mode.lifts_asks else [said for said in opinions if not _is_lifted(said)]
    if facts.paths and (doubt := by_paths(tool, facts)) is not None:
        weighed.append(doubt)
    if mode.decide is not None and (said := mode.decide(tool, facts, ctx)) is not None:
        weighed.append(said)
    decision = min(weighed, key=_weight) if weighed else by_facts(tool, facts, ctx)
    if mode.asks or not isinstance(decision, Ask):
        return decision
    reason = f"{decision.reason} The mode {mode.name} does not ask for approval."
    return Deny(reason, "mode", decision.rule, decision.source, decision.line, decision.matched)


def _is_lifted(opinion: Decision) -> bool:
    return isinstance(opinion, Ask) and opinion.layer not in HELD


def _weight(opinion: Decision) -> int:
    word, layer = opinion.word, opinion.layer
    return SEVERITY[word] + (RULES[word] if layer == "rules" else RANKS.get(layer, OPINION))


def by_paths(tool: Tool[Any, Any], facts: Facts) -> Decision | None:
    """A path that cannot be resolved could be any path."""
    doubtful = ""
    for path in facts.paths:  # A generator would cost more than the loop, and this is on the way of each call.
        if not path.sound:
            doubtful = path.spellings[0]
    if not doubtful:
        return None
    reason = f"{tool.name} would use {doubtful}, and its target cannot be resolved."
    return Ask(reason, "unresolvable", matched=doubtful)


def by_facts(tool: Tool[Any, Any], facts: Facts, ctx: Context) -> Decision:
    """What is decided when there is no opinion: reading in the working directories is fine, everything else asks."""
    name = tool.name
    if facts.level == "read-only":
        if facts.paths:
            inside = WorkingDirectories.of(ctx)
            for path in facts.paths:
                if not inside.contain(path):
                    at = path.spellings[-1]
                    reason = f"{name} would read {at}, outside the working directories."
                    return Ask(reason, "working-directory", matched=at)
        return ONLY_READS
    if facts.destructive:
        return Ask(facts.reason or f"{name} can destroy something.", "default")
    if facts.read_only:
        return Ask(facts.reason or f"{name} reaches outside this machine.", "default")
    return Ask(facts.reason or f"{name} can change something.", "default")


class WorkingDirectories:
    """The folders of one context: `cwd`, its roots, and what settings add; each under every name that it has."""

    __slots__ = ("roots",)

    def __init__(self, settings: Settings, cwd: str, roots: tuple[str, ...]) -> None:
        added: list[str] = settings.get("permissions.additionalDirectories", [])
        extra = (os.path.join(settings.cwd, os.path.expanduser(name)) for name in added)
        inside = [cwd, *roots, *(os.path.normpath(folder) for folder in extra)]
        if cwd.startswith(f"{settings.cwd}/"):
            inside.append(settings.cwd)
        self.roots = tuple(dict.fromkeys(spelled for folder in inside for spelled in both_spellings(folder)))

    @classmethod
    def of(cls, ctx: Context) -> WorkingDirectories:
        """The working directories of a context, found once and kept with its settings."""
        known = ctx.settings.__dict__.get(KEY)
        if known is None:
            known = ctx.settings.__dict__[KEY] = _Known()
        return known.of(ctx)

    def hold(self, spelling: str) -> bool:
        """Whether a normalised absolute path is in one of them, as it is spelled."""
        for root in self.roots:
            if spelling == root or (spelling.startswith(root) and (root == "/" or spelling[len(root)] == "/")):
                return True
        return False

    def contain(self, path: ResolvedPath) -> bool:
        """Whether a path is in them under each of its spellings; one that cannot be resolved is not."""
        if not path.sound:
            return False
        for spelling in path.spellings:  # noqa: SIM110 - a generator costs more than the whole loop
            if not self.hold(spelling):
                return False
        return True


class _Known:
    """What was found for the contexts of one `Settings`. Calls in a row have the same context."""

    __slots__ = ("_by_key", "_last")

    def __init__(self) -> None:
        self._by_key: dict[tuple[str, tuple[str, ...]], WorkingDirectories] = {}
        self._last: tuple[object, object, WorkingDirectories] | None = None

    def of(self, ctx: Context) -> WorkingDirectories:
        last = self._last
        if last is not None and last[0] is ctx.cwd and last[1] is ctx.roots:
            return last[2]
        key = (str(ctx.cwd), tuple(map(str, ctx.roots)))
        found = self._by_key.get(key)
        if found is None:
            if len(self._by_key) >= MOST_KNOWN:
                self._by_key.clear()
            found = self._by_key[key] = WorkingDirectories(ctx.settings, os.path.normpath(key[0]), key[1])
        self._last = (ctx.cwd, ctx.roots, found)
        return found


def both_spellings(folder: str) -> tuple[str, ...]:
    """A folder as it is written and as the kernel knows it."""
    real = resolve_path(folder).spellings[-1]  # realpath fails where a link is swapped while it looks.
    return (folder,) if real == folder else (folder, real)


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

    def get(self, name: str) -> Mode | None:
        """The mode with this name or alias, if there is one."""
        return self._by_name.get(name)

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
    """Whether the classifier is asked before a person is: there was no opinion, and the mode has a classifier."""
    return mode.classifies and isinstance(decision, Ask) and decision.layer in CLASSIFIED
