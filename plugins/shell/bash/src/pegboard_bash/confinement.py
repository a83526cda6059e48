"""Hold a command that runs because it only reads to reading."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pegboard import Allow, Context, Facts, Fine, ProcessSpec, Settings, Tool, ToolError
from pegboard.permission import WorkingDirectories
from pegboard.settings import FROM_REPOSITORY
from pegboard_confine import (
    Access,
    Available,
    CannotHideError,
    Confinement,
    Launch,
    ResourceLimits,
    available,
    confinement_for,
    limited,
    why_not,
)
from pegboard_rules.grammar import Rule
from pegboard_rules.path_index import DEEP, start_of
from pegboard_rules.patterns import literal
from pegboard_rules.ruleset import RuleSet

if TYPE_CHECKING:
    from pegboard_bash.understanding import Understanding

LAYER = "read-only"
"""The layer of a decision that follows from the facts alone."""
MEGABYTE = 1_000_000
OUTPUT_BYTES = 100_000_000

NEED_PROCESSES = frozenset(
    {"ps", "pgrep", "pidof", "pstree", "df", "free", "uptime", "lscpu", "top", "vmstat", "w", "findmnt", "mount"}
)
"""Programs that read /proc: it cannot be granted in parts, and shows the command lines of all processes."""

HELD = (
    "It ran confined, like every command that runs without approval: it could read only the working directories and "
    "what is installed, write nothing and reach no network. If that made it fail, run it again with "
    "dangerouslyDisableSandbox: true. The user will be asked."
)
TELLING = re.compile(
    r"permission denied|operation not permitted|read-only file system|\be(?:acces|perm|rofs)\b|not implemented|"
    r"did not start|could not resolve|name resolution|network is unreachable|cannot allocate|out of memory|"
    r"file size limit|file too large|resource temporarily unavailable|unable to (?:create|write|open)|cannot fork",
    re.IGNORECASE,
)


def confinement(settings: Settings) -> Available:
    """Which confinement there is. A repository has no say in it, however trusted it is."""
    holders = (layer for layer in settings.holders("bash.confine") if layer.name not in FROM_REPOSITORY)
    return available(next((layer.values["bash.confine"] for layer in holders), "auto"))


def runs_as_reader(ctx: Context) -> bool:
    """Whether this call runs because it was judged to only read, without a rule, a mode or a person."""
    return isinstance(ctx.decision, Allow) and ctx.decision.layer == LAYER


def held_to_reading(facts: Facts, understood: Understanding, leaves: bool, tool: Tool[Any, Any], ctx: Context) -> Facts:
    """The facts of a command that would be approved, with how it will be held; or why it asks instead."""
    found = confinement(ctx.settings)
    if not (facts.read_only and found):
        return facts
    if leaves:
        return _asking(facts, "It asks to run unconfined, unlike other commands that only read.")
    wanted = wanted_by(facts, understood, tool, ctx)
    problem = wanted if isinstance(wanted, str) else why_not(wanted, found.kind)
    if problem:
        return _asking(facts, f"It cannot be confined to what it may read: {problem}.")
    sentence = (
        f"It runs confined by {found.name}: it can only read the working directories and what is installed, "
        "and write nothing but temporary files of its own."
    )
    return replace(facts, confinement=sentence)


def _asking(facts: Facts, reason: str) -> Facts:
    parts = tuple(replace(part, read_only=False) for part in facts.parts)
    return replace(facts, read_only=False, concurrency_safe=False, parts=parts, reason=reason)


_latest: list[tuple[Understanding, Settings, Path, tuple[Path, ...], Access | str]] = []


def wanted_by(facts: Facts, understood: Understanding, tool: Tool[Any, Any], ctx: Context) -> Access | str:
    """What a command is to see, or why that cannot be said. Asked for a command when it is judged, and when it runs."""
    for known, settings, cwd, roots, wanted in _latest:
        if known is understood and settings is ctx.settings and cwd == ctx.cwd and roots == ctx.roots:
            return wanted
    wanted = _wanted_by(facts, understood, tool, ctx)
    _latest[:] = [(understood, ctx.settings, ctx.cwd, ctx.roots, wanted)]
    return wanted


def _wanted_by(facts: Facts, understood: Understanding, tool: Tool[Any, Any], ctx: Context) -> Access | str:
    rules = RuleSet.of(ctx.settings)
    if ("deny", "Read") in rules.whole or ("ask", "Read") in rules.whole:
        return "a rule applies to every file"
    at = WorkingDirectories.of(ctx)
    home, sandboxed = _real(os.path.expanduser("~")), ctx.settings.get("sandbox.enabled", False)
    hidden, searched = _hidden(rules, ctx, home)
    if sandboxed:
        hidden += [
            os.path.join(ctx.settings.root, os.path.expanduser(path))
            for path in ctx.settings.get("sandbox.filesystem.denyRead", ())
        ]
    elsewhere = tuple(str(path) for path in facts.reads if not at.hold(os.path.realpath(path)))
    return Access(
        at.roots,
        home,
        os.environ.get("PATH", ""),
        elsewhere,
        repository="git" in understood.programs,
        processes=not sandboxed and not NEED_PROCESSES.isdisjoint(understood.programs),
        hidden=tuple(hidden),
        may_read=ctx.path_filter(tool, ctx.cwd) if searched else None,
        rules=rules if searched else None,
    )


_real = cache(os.path.realpath)


def _hidden(rules: RuleSet, ctx: Context, home: str) -> tuple[list[str], bool]:
    """The paths that rules withhold, and whether some can only be found by a search."""
    found, searched = list[str](), False
    for rule in rules.rules:
        if rule.wrong or rule.kind == "allow" or rule.tool != "Read" or not rule.may_be_path:
            continue
        paths = None if rules.volume.folds else _literal_paths(rule, ctx, home)
        searched = searched or paths is None
        found += paths or ()
    return found, searched


def _literal_paths(rule: Rule, ctx: Context, home: str) -> list[str] | None:
    base, names = start_of(rule, ctx.settings.cwd, home)
    plain = [literal(name) for name in (names[:-1] if names[-1:] == [DEEP] else names)]
    if not plain or any(name is None or name == DEEP for name in plain):
        return None
    bases = (base,) if base is not None else (ctx.settings.cwd, str(ctx.cwd))
    return [os.path.join(folder, *(name for name in plain if name)) for folder in dict.fromkeys(bases)]


class Confined:
    """The place of one command, which ends when both the call and the process are over."""

    def __init__(self, made: Confinement, limits: ResourceLimits) -> None:
        self._place, self._limits = made, limits
        self._running, self._call_is_over = False, False

    @property
    def folder(self) -> Path:
        """Where it may write."""
        return Path(self._place.folder)

    def around(self, spec: ProcessSpec) -> ProcessSpec:
        """The same process, held to reading."""

        def starter(argv: Any, cwd: Any, env: Any, standard: Any, enter: Any, /) -> Any:
            self._running = True
            return self._place.start(argv, cwd, env, standard, enter, self._limits)

        return replace(spec, starter=starter, confined=True, network=False, on_end=self._process_is_over)

    def call_is_over(self) -> None:
        """The call no longer needs its folder; a process that continues in the background does."""
        self._call_is_over = True
        if not self._running:
            self._place.end()

    def _process_is_over(self) -> None:
        self._running = False
        if self._call_is_over:
            self._place.end()


def confine(understood: Understanding, tool: Tool[Any, Any], ctx: Context) -> Confined | None:
    """A place for a command that runs because it only reads; None where there is no confinement."""
    found = confinement(ctx.settings)
    if not found:
        return None
    wanted = wanted_by(understood.facts, understood, tool, ctx)
    try:
        if isinstance(wanted, str):
            raise CannotHideError(wanted)
        return Confined(confinement_for(wanted, found.kind), limits_of(ctx.settings))
    except (CannotHideError, OSError) as problem:
        raise ToolError(f"The command cannot be confined: {problem}. Nothing was started. {RETRY}") from problem


RETRY = "Run it again with dangerouslyDisableSandbox: true. The user will be asked."


def limits_of(settings: Settings) -> ResourceLimits:
    """What each process of a command that runs because it only reads may use."""
    usual = ResourceLimits()
    memory, size = settings.get("bash.readers.maxMemoryMb"), settings.get("bash.readers.maxFileMb")
    return ResourceLimits(
        memory * MEGABYTE if memory else usual.memory_bytes,
        settings.get("bash.readers.maxCpuSeconds", usual.cpu_seconds),
        size * MEGABYTE if size else usual.file_bytes,
        settings.get("bash.readers.maxProcesses", usual.processes),
    )


def with_limits(spec: ProcessSpec, settings: Settings) -> ProcessSpec:
    """The same process under the limits of readers, with the output that they may write."""
    most = min(spec.max_output_bytes, settings.get("bash.readers.maxOutputBytes", OUTPUT_BYTES))
    spec = replace(spec, max_output_bytes=most)
    if spec.starter is not None or os.uname().sysname != "Linux":
        return spec
    numbers = limits_of(settings).as_numbers()

    def starter(argv: Any, cwd: Any, env: Any, standard: Any, enter: Any, /) -> Any:
        return limited(Launch(argv, cwd, env, standard, enter), numbers)

    return replace(spec, starter=starter)


def may_be_held_back(text: str, signal: str) -> bool:
    """Whether a command that failed may have failed because it was confined."""
    return signal in ("SIGXCPU", "SIGXFSZ", "SIGSYS") or bool(TELLING.search(text))


def diagnosis(settings: Settings) -> list[str]:
    """Say what holds commands that run because they only read."""
    found = confinement(settings)
    if found:
        why = f" Landlock is not used: {found.why}." if found.why else ""
        return [Fine(f"Commands that run because they only read are confined by {found.name}.{why}")]
    meaning = "Until then, only plain commands run without approval."
    remedy = "Use a kernel with Landlock (6.2 or later), or install bubblewrap."
    return [f"Commands that run because they only read are not confined: {found.why}. {meaning} {remedy}"]
