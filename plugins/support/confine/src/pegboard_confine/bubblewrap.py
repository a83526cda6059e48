"""The second choice, for a kernel without Landlock: an empty file system with what is granted mounted into it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache

from pegboard_confine import seccomp
from pegboard_confine.visible_paths import is_in

PLACES = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/run/current-system/sw/bin"
FLAGS = (
    *("--die-with-parent", "--new-session", "--unshare-user", "--disable-userns", "--unshare-net"),
    *("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL"),
)
MOST_WORDS = 8_900
"""Bubblewrap itself takes 9,000."""


@cache
def find() -> str | None:
    """Where bubblewrap is. Never searched for in folders that the project controls."""
    return shutil.which("bwrap", path=PLACES)


@cache
def trouble() -> str:
    """Why bubblewrap cannot be used here, or nothing. It is run once to find out."""
    program = find()
    if program is None:
        return "bubblewrap is not installed"
    if not seccomp.is_known_machine():
        return f"there is no system-call filter for {os.uname().machine}"
    words = command(program, ["/usr", "/bin", "/lib", "/lib64"], [], "/tmp", "/", None)  # noqa: S108 - not used
    try:
        done = subprocess.run((*words, "/bin/true"), capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not run ({error})"
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return "" if done.returncode == 0 else f"bubblewrap is not permitted ({said[-1] if said else done.returncode})"


def command(
    program: str, granted: Iterable[str], hidden: Iterable[str], private: str, cwd: str, filtered: int | None
) -> tuple[str, ...]:
    """The words before the command itself. `filtered` is a descriptor with the filter of system calls."""
    words = [program, *FLAGS, *(("--seccomp", str(filtered)) if filtered is not None else ())]
    words += ["--dev", "/dev", "--proc", "/proc"]
    if os.geteuid() == 0:  # the kernel lets root change its settings from inside any sandbox
        words += ["--ro-bind", "/proc/sys", "/proc/sys"]
    bound: list[str] = []
    for path in sorted(dict.fromkeys(granted), key=lambda path: path.split("/")):
        real = os.path.realpath(path)
        if not os.path.exists(real) or (real == path and any(is_in(path, outer) for outer in bound)):
            continue
        if any(is_in(path, outer) for outer in bound):
            path = real
        words += ["--ro-bind", real, path]
        bound.append(path)
    for path in hidden:
        words += ["--perms", "0555", "--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
    words += ["--bind", private, private, "--chdir", cwd, "--"]
    if len(words) > MOST_WORDS:
        raise OSError(
            f"there are too many paths for bubblewrap: it accepts {MOST_WORDS} arguments, and this needs {len(words)}"
        )
    return tuple(words)
