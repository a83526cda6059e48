"""The second choice: no mounts, no namespaces, but the kernel refuses changes outside of what was granted.

Landlock knows only what is allowed. A missing protected path is therefore held by granting nothing on the folder it
would be made in: at the top of a working directory nothing can be made, renamed or removed, below it everything can.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import stat
import sys
import tempfile
from functools import cache

from pegboard.errors import ToolError
from pegboard_sandbox import launch
from pegboard_sandbox.layout import held_paths, is_in
from pegboard_sandbox.policy import Policy

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")


def trouble(policy: Policy, *, network: bool) -> str:
    """Why Landlock cannot do what is asked here, or nothing."""
    version = launch.abi() if sys.platform == "linux" else 0
    if not version:
        return "this kernel has no Landlock"
    if network and policy.network == "proxy":
        return "Landlock cannot send the network through a proxy"
    if not (network and policy.network == "on") and version < launch.FIRST_WITH_NETWORK:
        return f"Landlock version {version} cannot switch the network off"
    if policy.deny_read:
        return "Landlock cannot hide what sandbox.denyRead names"
    return ""


def command(
    roots: list[str], policy: Policy, own_folders: tuple[str, ...], *, network: bool
) -> tuple[tuple[str, ...], str]:
    """The words that come before the command itself, and the folder for its temporary files."""
    held = held_paths(roots, policy, own_folders)
    folders, files = [temporary()], [path for path in DEVICES if os.path.exists(path)]
    for root in roots:
        _grant_inside(root, held, folders, files)
    grants = json.dumps({"folders": folders, "files": files, "network": network})
    return (os.path.realpath(sys.executable), "-I", "-S", launch.__file__, grants), temporary()


@cache
def temporary() -> str:
    """A folder for the temporary files of this host's processes; it goes away with the host."""
    folder = tempfile.mkdtemp(prefix="pegboard-sandbox-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return os.path.realpath(folder)


def _grant_inside(folder: str, held: list[str], folders: list[str], files: list[str]) -> None:
    """Grant each entry of a folder, except those that are held, and only parts of those that contain what is held."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.path in held or entry.is_symlink():
                continue
            if not entry.is_dir():
                if stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
                    files.append(entry.path)
            elif any(is_in(path, entry.path) for path in held):
                _grant_inside(entry.path, held, folders, files)
            else:
                folders.append(entry.path)
    if len(folders) + len(files) > 10_000:
        raise ToolError(f"{folder} has too many entries for a sandbox of Landlock. Install bubblewrap.")
