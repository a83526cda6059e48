"""Give up rights by Landlock, then become the command.

Run as a file, with nothing but the standard library: `python -I -S launch.py GRANTS COMMAND…`, where GRANTS is JSON:
`folders` and `files` that may be written, and whether the `network` may be used.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
import struct
import sys

CREATE, ADD, RESTRICT = 444, 445, 446
SET_PDEATHSIG, DROP_FROM_BOUNDS, SET_NO_NEW_PRIVS = 1, 24, 38
CAPSET, CAPSET_VERSION = {"x86_64": 126, "aarch64": 91, "riscv64": 91}.get(os.uname().machine, 0), 0x20080522
FIRST_WITH_NETWORK = 4

WRITE_FILE, TRUNCATE, IOCTL, REFER = 1 << 1, 1 << 14, 1 << 15, 1 << 13
CHANGES = sum(1 << bit for bit in range(4, 13)) | WRITE_FILE
"""Making and removing whatever there is, and writing to files."""
DEVICES = 1 << 6 | 1 << 11
"""Making devices, which is never granted: one of them is the disk."""

libc = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """Which version of Landlock this kernel has; 0 for none."""
    return max(int(libc.syscall(CREATE, None, 0, 1)), 0)


def restrict(folders: list[str], files: list[str], *, network: bool) -> None:
    """Let this process, and all that it starts, change nothing but this."""
    version = abi()
    handled = CHANGES | (REFER if version >= 2 else 0) | (TRUNCATE if version >= 3 else 0)
    net = 0b11 if version >= FIRST_WITH_NETWORK and not network else 0
    scoped = 0b11 if version >= 6 else 0
    attributes = struct.pack("=QQQ", handled, net, scoped)[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = _checked(libc.syscall(CREATE, attributes, len(attributes), 0))
    for path in folders:
        _grant(ruleset, path, handled & ~DEVICES)
    for path in files:
        _grant(ruleset, path, handled & (WRITE_FILE | TRUNCATE))
    _drop_capabilities()
    _checked(libc.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _checked(libc.syscall(RESTRICT, ruleset, 0))
    os.close(ruleset)


def _drop_capabilities() -> None:
    """Be root in name only: Landlock does not keep a real one from loading a module into the kernel."""
    if os.geteuid() != 0:
        return
    for capability in range(64):
        if libc.prctl(DROP_FROM_BOUNDS, capability, 0, 0, 0) < 0:  # there are no more of them
            break
    if not CAPSET:
        raise OSError(errno.ENOSYS, "root cannot drop its capabilities on this architecture")
    _checked(libc.syscall(CAPSET, struct.pack("=Ii", CAPSET_VERSION, 0), bytes(24)))


def _grant(ruleset: int, path: str, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:  # gone since the grants were written; then there is nothing to grant
        return
    try:
        _checked(libc.syscall(ADD, ruleset, 1, struct.pack("=Qi", rights, handle), 0))
    finally:
        os.close(handle)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def main() -> None:
    """Restrict this process and become the command."""
    grants, *command = sys.argv[1:]
    wanted = json.loads(grants)
    try:
        libc.prctl(SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        restrict(wanted["folders"], wanted["files"], network=wanted["network"])
    except OSError as error:
        sys.stderr.write(f"The sandbox cannot be set up: {error.strerror}. Nothing was started.\n")
        os._exit(126)
    try:
        os.execvp(command[0], command)  # noqa: S606 - the command brings its own shell
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be started: {error.strerror}.\n")
        os._exit(127)


if __name__ == "__main__":
    main()
