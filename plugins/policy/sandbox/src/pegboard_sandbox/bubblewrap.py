"""Say to bubblewrap what a process may see and change."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache

from pegboard import ToolError

HIDDEN = ("/tmp", "/var/tmp", "/run", "/var/run")  # noqa: S108 - these are hidden, not used
"""Where sockets and other people's temporary files are. Each process finds them empty, and its own."""

FLAGS = (
    *("--die-with-parent", "--new-session", "--unshare-user", "--disable-userns"),
    *("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--cap-drop", "ALL"),
)
PROC = ("--proc", "/proc", *(("--ro-bind", "/proc/sys", "/proc/sys") if os.geteuid() == 0 else ()))
"""The kernel lets root change its settings from inside any sandbox, and one of them names a program to run."""

DEV = ("--dev", "/dev")
MOST_WORDS = 8_990
"""Bubblewrap itself takes 9,000. Each working directory needs about 250."""

PLACES = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/run/current-system/sw/bin"

Mounts = dict[str, tuple[str, ...]]
"""The mounts: for each path the arguments for bubblewrap, to be given from the outermost path inwards."""


def read_only(path: str) -> tuple[str, ...]:
    """A path as it is, not to be changed. A mount point can neither be renamed nor removed."""
    return ("--ro-bind", path, path)


def writable(path: str) -> tuple[str, ...]:
    """A path as it is, to be changed."""
    return ("--bind", path, path)


def empty(path: str) -> tuple[str, ...]:
    """An empty folder that refuses every change; nothing in it ever reaches the disk. Made where it is missing."""
    return ("--perms", "0555", "--tmpfs", path)


def own(path: str) -> tuple[str, ...]:
    """An empty folder of the process's own."""
    return ("--perms", "0700", "--tmpfs", path)


def nothing(path: str) -> tuple[str, ...]:
    """A file without content in place of a file or socket."""
    return ("--ro-bind", "/dev/null", path)


def command(
    program: str, mounts: Mounts, cwd: str, *, network: bool, last: Iterable[str] = (), lock: str = ""
) -> tuple[str, ...]:
    """The words that come before the command itself. `lock` is a file that is locked while the sandbox lives.

    `last` are paths that are held empty. For every bind bubblewrap reads the list of all mounts, so these, of which
    there are many and which are no binds, come after all binds.
    """
    words = [program, *FLAGS, *(() if network else ("--unshare-net",))]
    if lock:
        words += ["--lock-file", lock]
    words += ["--ro-bind", "/", "/"]
    # By components, not by characters: a folder must come before everything inside it, or it would hide that again.
    for path in sorted(mounts, key=lambda path: path.split("/")):
        words += mounts[path]
    for path in last:
        words += empty(path)
    if len(words) > MOST_WORDS:
        raise ToolError(
            "There are too many working directories and protected paths for the sandbox: bubblewrap accepts "
            f"{MOST_WORDS} arguments, and this needs {len(words)}. Nothing was started. Use fewer directories."
        )
    return (*words, "--chdir", cwd, "--")


def sockets() -> set[str]:
    """The paths of all sockets on this machine: a read-only mount does not stop a connect."""
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().split("\n")
    except OSError:
        return set()
    return {line[at + 1 :] for line in lines if (at := line.find(" /")) >= 0}


@cache
def trouble(program: str | None) -> str:
    """Why bubblewrap cannot be used here, or nothing. It is run once to find out."""
    if program is None:
        return "bwrap is not installed"
    mounts: Mounts = {"/proc": PROC, "/dev": DEV}
    words = (*command(program, mounts, "/", network=False), "true")
    try:
        done = subprocess.run(words, capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bwrap does not run ({error})"
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return "" if done.returncode == 0 else f"bwrap is not permitted ({said[-1] if said else done.returncode})"


@cache
def find() -> str | None:
    """Where bubblewrap is. Never searched for in folders that the project controls."""
    return shutil.which("bwrap", path=PLACES)


@cache
def hidden() -> tuple[str, ...]:
    """The folders that are hidden here: those that exist and are no links to another."""
    found = [path for path in HIDDEN if os.path.isdir(path) and not os.path.islink(path)]
    runtime = os.path.realpath(os.environ.get("XDG_RUNTIME_DIR") or "/run")
    home = os.path.realpath(os.path.expanduser("~"))
    # A home below the runtime folder would vanish with it.
    if os.path.isdir(runtime) and not f"{home}/".startswith(f"{runtime.rstrip('/')}/"):
        found.append(runtime)
    return tuple(dict.fromkeys(found))
