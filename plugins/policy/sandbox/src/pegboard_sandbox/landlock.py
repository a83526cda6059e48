"""The second choice: no mounts, no namespaces, but the kernel refuses changes outside what was granted.

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
import threading

from pegboard import ToolError
from pegboard_sandbox import launch
from pegboard_sandbox.layout import ProcessPaths, files_to_write, held_paths
from pegboard_sandbox.policy import Policy
from pegboard_sandbox.roots import is_in, is_scratch

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
LIMITS = (
    "It is weaker: it hides no files, processes or sockets, leaves UDP open, "
    "and lets nothing be created at the top of a "
    "working directory. Install bubblewrap for full protection."
)


def trouble(policy: Policy, *, network: bool) -> str:
    """Why Landlock cannot do what the policy asks, or nothing."""
    version = launch.abi() if sys.platform == "linux" else 0
    if not version:
        return "this kernel has no Landlock"
    if network and policy.network == "proxy":
        return "Landlock cannot send the network through a proxy"
    if not (network and policy.network == "on") and version < launch.FIRST_WITH_NETWORK:
        return f"Landlock version {version} cannot switch the network off"
    if policy.deny_read:
        return "Landlock cannot hide what sandbox.filesystem.denyRead names"
    return ""


def command(place: ProcessPaths, policy: Policy, *, network: bool) -> tuple[tuple[str, ...], str]:
    """The words that come before the command itself, and the folder for its temporary files."""
    # Commits need to make files at the top of .git, which is the one thing that cannot be granted.
    held = {*held_paths(place, policy).paths(), *(f"{root}/.git" for root in place.roots)}
    temporary = os.path.realpath(tempfile.mkdtemp(prefix="pegboard-sandbox-"))
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    folders, files = [temporary, *place.opens], [path for path in DEVICES if os.path.exists(path)]
    for root in place.roots:
        if is_scratch(root):
            folders.append(root)
        else:
            _grant_inside(root, held, folders, files)
    files += [path for path in files_to_write(place.roots, policy) if path not in held]
    grants = json.dumps({"folders": folders, "files": files, "network": network})
    return (os.path.realpath(sys.executable), "-I", "-S", launch.__file__, grants), temporary


def remove(temporary: str) -> None:
    """Remove the temporary files of a process that has ended, however many there are, without waiting for it."""
    threading.Thread(target=shutil.rmtree, args=(temporary,), kwargs={"ignore_errors": True}).start()


def _grant_inside(folder: str, held: set[str], folders: list[str], files: list[str]) -> None:
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
        raise ToolError(f"{folder} has too many entries for a Landlock sandbox. Install bubblewrap.")
