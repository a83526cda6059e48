"""Lay out the file system that a sandboxed process sees."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pegboard.errors import ToolError
from pegboard_sandbox.bubblewrap import HIDDEN, Mounts, empty, nothing, own, read_only, sockets, writable
from pegboard_sandbox.ledger import Ledger
from pegboard_sandbox.policy import Policy
from pegboard_sandbox.protecting import is_inside_protected, open_inside, protected_in, require_holdable


def writable_roots(wanted: tuple[Path, ...]) -> list[str]:
    """The folders that are writable: none inside a protected folder, however it got there."""
    roots = [os.path.realpath(path) for path in wanted]
    roots = [root for root in dict.fromkeys(roots) if os.path.isdir(root) and not is_inside_protected(root)]
    if "/" in roots:
        raise ToolError("The sandbox cannot make / writable. Nothing was started. Work in a folder of its own.")
    return roots


def held_paths(roots: list[str], policy: Policy, own_folders: tuple[str, ...]) -> list[str]:
    """Every path in the writable folders that must not change, outermost first."""
    held = [path for root in roots for path in protected_in(root, policy.allow_write)]
    further = (*own_folders, *policy.deny_write)
    held += [path for path in further if any(is_in(path, root) for root in (*roots, *policy.allow_write))]
    return sorted(dict.fromkeys(held))


def lay_out(
    roots: list[str], cwd: str, policy: Policy, own_folders: tuple[str, ...], ledger: Ledger
) -> tuple[Mounts, str]:
    """The mounts, and the status file of the run where something stands in for missing paths."""
    mounts: Mounts = {path: own(path) for path in HIDDEN if os.path.isdir(path) and not os.path.islink(path)}
    for path in (cwd, os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix)):
        if any(is_in(path, hidden) for hidden in HIDDEN):
            mounts[path] = read_only(path)
    opened = [path for path in policy.allow_write if _can_open(path, roots)]
    mounts |= {path: writable(path) for path in (*opened, *roots)}
    held = held_paths(roots, policy, own_folders)
    for path in held:
        require_holdable(path)
    refused = [f"{path}/commondir" for path in opened if path.endswith("/.git")]
    status, missing = ledger.begin(held, refused) if held else ("", [])
    _pin_parents(mounts, [*held, *policy.deny_read], [*roots, *opened])
    mounts |= {path: read_only(path) for path in held} | {path: empty(path) for path in missing}
    mounts |= {path: writable(path) for root in roots for path in open_inside(root)}
    mounts |= {path: writable(path) for path in roots}
    for path in sockets():
        if not any(is_in(path, hidden) for hidden in HIDDEN) or any(is_in(path, root) for root in (*roots, cwd)):
            mounts[path] = nothing(path)
    for path in policy.deny_read:
        if os.path.exists(path):
            mounts[path] = empty(path) if os.path.isdir(path) else nothing(path)
    return mounts | {"/proc": ("--proc", "/proc"), "/dev": ("--dev", "/dev")}, status


def is_in(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies in it."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _can_open(path: str, roots: list[str]) -> bool:
    """Whether `sandbox.allowWrite` needs a mount for this path. Of what is protected it opens `.git` only."""
    if path in (f"{root}/.git" for root in roots):
        return os.path.isdir(path)
    return os.path.exists(path) and not is_inside_protected(path) and not any(is_in(path, root) for root in roots)


def _pin_parents(mounts: Mounts, paths: list[str], roots: list[str]) -> None:
    """Make the folders between a writable root and a held path mount points: these cannot be renamed away."""
    for path in paths:
        parent = os.path.dirname(path)
        while any(is_in(parent, root) and parent != root for root in roots):
            mounts.setdefault(parent, writable(parent))
            parent = os.path.dirname(parent)
