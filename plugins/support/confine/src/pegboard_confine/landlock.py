"""Landlock rulesets: what a process may open. Created here, applied by the process that is confined."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import sys
from collections.abc import Iterable
from functools import cache

CREATE, ADD, RESTRICT = 444, 445, 446
"""The numbers are the same on every kind of processor."""

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
MAKE_CHAR, MAKE_BLOCK = 1 << 6, 1 << 11
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
OF_FIRST_VERSION = (1 << 13) - 1
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV

LIST, READ, RUN = READ_DIR, READ_FILE | READ_DIR, READ_FILE | READ_DIR | EXECUTE
CHANGE = (OF_FIRST_VERSION | REFER | TRUNCATE) & ~EXECUTE & ~MAKE_CHAR & ~MAKE_BLOCK

USED_UP = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS)
"""What this host has run out of; says nothing about what was asked for."""

FIRST_USABLE = 3
"""Before it, a reader could empty a file."""
FIRST_WITH_NETWORK, FIRST_WITH_DEVICES, FIRST_WITH_SCOPES = 4, 5, 6

_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long


@cache
def version() -> int:
    """Landlock's version; 0 where the kernel has none, it is switched off, or a filter around us forbids it."""
    if sys.platform != "linux":
        return 0
    return max(0, int(_syscall(CREATE, None, ctypes.c_size_t(0), 1)))


def ruleset(rules: Iterable[tuple[str, int]]) -> int:
    """A ruleset that grants rights on paths and nothing else; the descriptor is the caller's to close."""
    known = version()
    handled = OF_FIRST_VERSION | REFER | TRUNCATE | (IOCTL_DEV if known >= FIRST_WITH_DEVICES else 0)
    network = 0b11 if known >= FIRST_WITH_NETWORK else 0
    scopes = 0b11 if known >= FIRST_WITH_SCOPES else 0
    attributes = struct.pack("=QQQ", handled, network, scopes)
    attributes = attributes[: 8 if known < FIRST_WITH_NETWORK else 16 if known < FIRST_WITH_SCOPES else 24]
    made = _checked(_syscall(CREATE, attributes, ctypes.c_size_t(len(attributes)), 0))
    try:
        for path, rights in rules:
            _add(made, path, rights & handled)
    except BaseException:
        os.close(made)
        raise
    return made


def _add(made: int, path: str, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in USED_UP:
            raise
        return  # not installed, or gone since: then there is nothing to grant
    try:
        if not stat.S_ISDIR(os.fstat(opened).st_mode):
            rights &= OF_FILES
        _checked(_syscall(ADD, made, 1, struct.pack("=Qi", rights, opened), 0))
    finally:
        os.close(opened)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(result)
