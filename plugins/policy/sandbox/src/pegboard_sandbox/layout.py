"""Lay out the file system that a sandboxed process sees."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cache

from pegboard import ToolError
from pegboard_sandbox import repository
from pegboard_sandbox.bubblewrap import DEV, PROC, Mounts, empty, hidden, nothing, own, read_only, sockets, writable
from pegboard_sandbox.ledger import StandIns, parents
from pegboard_sandbox.policy import Policy
from pegboard_sandbox.protected_paths import Held, hold_in, is_protected_file
from pegboard_sandbox.roots import is_in, is_scratch, stays_inside


@dataclass(slots=True)
class ProcessPaths:
    """Where a process runs, and what it may write to. All paths are free of links."""

    cwd: str
    roots: list[str]
    own_folders: tuple[str, ...] = ()
    opens: tuple[str, ...] = ()
    """Protected folders that the tool itself has to change."""
    visible: tuple[str, ...] = ()
    """The working directories, whether they may be written to or not."""


@dataclass(slots=True)
class Layout:
    """The mounts of a sandbox, and the stand-ins they need."""

    mounts: Mounts = field(default_factory=dict)
    stand_ins: StandIns = field(default_factory=StandIns)


def held_paths(place: ProcessPaths, policy: Policy) -> Held:
    """Every path in the writable folders that must not change."""
    held = Held()
    for root in place.roots:
        if not is_scratch(root):
            hold_in(root, held, policy.allow_write, policy.deny_write)
    known = {*held.there, *held.empty, *held.missing}
    for path in (*place.own_folders, *policy.deny_write):
        if path not in known and any(is_in(path, root) for root in (*place.roots, *held.opened, *policy.allow_write)):
            held.hold(path)
    for group in (held.there, held.empty, held.missing):
        group[:] = [path for path in dict.fromkeys(group) if path not in place.opens]
    return held


def lay_out(place: ProcessPaths, policy: Policy) -> Layout:
    """The mounts, and the stand-ins that missing paths need before they can be created."""
    layout = Layout({path: own(path) for path in hidden()})
    mounts = layout.mounts
    for path in (place.cwd, *place.visible, *_interpreter()):
        if is_hidden(path) and not any(is_in(path, root) for root in place.roots):
            mounts[path] = read_only(path)
            linked = repository.linked(path)
            if linked:
                mounts.setdefault(linked.repository, read_only(linked.repository))
    mounts |= {path: writable(path) for path in (*files_to_write(place.roots, policy), *place.roots)}
    held = held_paths(place, policy)
    opened = [path for path in held.opened if path not in place.roots]
    _pin_parents(mounts, [*held.paths(), *policy.unreadable], [*place.roots, *opened])
    mounts |= {path: writable(path) for path in opened}
    mounts |= {path: read_only(path) for path in (*held.there, *held.files)}
    open_here = [path for path in place.opens if os.path.isdir(path)]
    mounts |= {path: writable(path) for path in (*open_here, *place.roots)}
    _mask_sockets(mounts, place, policy)
    _hide(mounts, place.roots, policy, held.paths())
    relied_on = [*held.relied_on, *open_here]
    layout.stand_ins = StandIns([*held.empty, *held.missing], held.missing, held.files, relied_on)
    mounts |= {"/proc": PROC, "/dev": DEV}
    return layout


def is_hidden(path: str) -> bool:
    """Whether a path is where each process gets its own empty folder."""
    return any(is_in(path, folder) for folder in hidden())


@cache
def _interpreter() -> tuple[str, ...]:
    return tuple(map(os.path.realpath, (sys.prefix, sys.base_prefix)))


def files_to_write(roots: list[str], policy: Policy) -> Iterable[str]:
    """What `allowWrite` opens outside the writable folders; its folders are among these. Nothing that is protected."""
    real = {root: root for root in roots}
    for spelled in policy.allow_write:
        path = os.path.realpath(spelled)
        inside = any(is_in(path, root) or is_in(spelled, root) for root in roots)
        if os.path.isfile(path) and not inside and not is_protected_file(path) and stays_inside(spelled, real):
            yield path


def _pin_parents(mounts: Mounts, paths: Collection[str], roots: list[str]) -> None:
    """Make the folders between a writable root and a held path mount points: these cannot be renamed away."""
    outer = {root: f"{root}/" for root in roots}
    for at in parents(paths):
        while at not in outer and any(at.startswith(prefix) for prefix in outer.values()):
            mounts.setdefault(at, writable(at))
            at = os.path.dirname(at)


def _mask_sockets(mounts: Mounts, place: ProcessPaths, policy: Policy) -> None:
    seen = (*place.roots, place.cwd, *place.visible)
    agent = os.environ.get("SSH_AUTH_SOCK", "")  # listed only when it was bound by its full path
    for path in sockets() | ({agent} if os.path.isabs(agent) else set()):
        if path in policy.sockets or (is_hidden(path) and not any(is_in(path, folder) for folder in seen)):
            continue
        if os.path.exists(path):
            mounts[path] = nothing(path)
    for path in policy.sockets:
        if is_hidden(path) and os.path.exists(path):
            mounts.setdefault(path, read_only(path))


def _hide(mounts: Mounts, roots: list[str], policy: Policy, held: Collection[str]) -> None:
    """Put nothing in place of what may not be read, and of two rules let the one win that says more exactly where."""
    for path in policy.unreadable:
        inner = [root for root in roots if is_in(root, path)]
        for other in [mounted for mounted in mounts if mounted != path and is_in(mounted, path)]:
            if not any(is_in(other, root) for root in inner):
                del mounts[other]
    for path in (*policy.unreadable, *policy.allow_read):
        if not os.path.exists(path):
            continue
        if path in policy.unreadable:
            mounts[path] = empty(path) if os.path.isdir(path) else nothing(path)
        elif any(is_in(path, hidden) for hidden in policy.unreadable):
            is_ours = any(is_in(path, root) for root in roots) and not any(is_in(path, no) for no in held)
            mounts[path] = writable(path) if is_ours else read_only(path)


def require_inside(cwd: str, spelled: str, starts: Iterable[str]) -> None:
    """Refuse to show a hidden folder because a link in a working directory leads there."""
    if cwd == spelled or not is_hidden(cwd):
        return
    if not stays_inside(os.path.normpath(spelled), {start: os.path.realpath(start) for start in starts}):
        raise ToolError(
            f"{spelled} resolves to {cwd}, outside the working directory. Nothing was started. Use a folder inside it."
        )
