"""A filter of system calls, in the kernel's classic BPF."""

from __future__ import annotations

import os
import struct

from pegboard_confine import syscalls
from pegboard_confine.syscalls import MACHINES, REFUSED, SIGNALS, Numbers

Step = tuple[int, int, int, int]

LOAD, EQUALS, GREATER, ANY_BIT, AND, RETURN = 0x20, 0x15, 0x25, 0x45, 0x54, 0x06
NUMBER, ARCHITECTURE = 0, 4
FIRST, SECOND = 16, 24
"""Where the arguments are: their low halves, which is all that the kernel looks at for the calls below."""

ALLOW: list[Step] = [(RETURN, 0, 0, 0x7FFF0000)]
KILL: list[Step] = [(RETURN, 0, 0, 0x80000000)]
EPERM, ENOTTY, ENOSYS = 1, 25, 38
UNIX, STREAM = 1, 1


def is_known_machine() -> bool:
    """Whether there is a table for this kind of processor."""
    return os.uname().machine in MACHINES


def program(*, signals_are_scoped: bool) -> bytes:
    """The filter: an allow list, so that a system call that is not listed fails."""
    column, architecture = MACHINES[os.uname().machine]
    code = [_load(ARCHITECTURE), (EQUALS, 1, 0, architecture), *KILL, _load(NUMBER)]
    code += [(GREATER, 0, 1, syscalls.LAST_KNOWN), *_answer(ENOSYS)]  # also every call of the x32 kind
    # Its flags are behind a pointer; the C library falls back to the older call.
    code += _when(syscalls.CLONE3, _answer(ENOSYS))
    refused = REFUSED if signals_are_scoped else {**REFUSED, **SIGNALS}
    for numbers in refused.values():
        code += _on(numbers, column, _answer(EPERM))
    for numbers in syscalls.OWN_ONLY.values():
        code += _on(numbers, column, _only(FIRST, 0))
    if not signals_are_scoped:
        code += _on(syscalls.KILL, column, _only(FIRST, 0))
    code += _on(syscalls.PERSONALITY, column, _only(FIRST, 0xFFFFFFFF))
    flags = syscalls.NEW_NAMESPACES | syscalls.CLONE_PARENT
    code += _on(syscalls.CLONE, column, [_load(FIRST), (ANY_BIT, 0, 1, flags), *_answer(EPERM), *ALLOW])
    owners = [step for command in syscalls.FCNTL_REFUSED for step in _when(command, _answer(EPERM))]
    code += _on(syscalls.FCNTL, column, [_load(SECOND), *owners, *ALLOW])
    known = [step for command in syscalls.IOCTL_ALLOWED for step in _when(command, ALLOW)]
    code += _on(syscalls.IOCTL, column, [_load(SECOND), *known, *_answer(ENOTTY)])
    # Which kind of target, then which: only a process, and only the caller.
    for numbers, kind in ((syscalls.SETPRIORITY, 0), (syscalls.IOPRIO_SET, 1)):
        code += _on(numbers, column, [_load(FIRST), (EQUALS, 1, 0, kind), *_answer(EPERM), *_only(SECOND, 0)])
    # Datagrams of a pair could be sent to any other socket on the machine.
    pair = [_load(FIRST), (EQUALS, 1, 0, UNIX), *_answer(EPERM), _load(SECOND), (AND, 0, 0, 0xF)]
    code += _on(syscalls.SOCKETPAIR, column, [*pair, (EQUALS, 1, 0, STREAM), *_answer(EPERM), *ALLOW])
    return b"".join(struct.pack("=HBBI", *step) for step in [*code, *ALLOW])


def _load(offset: int) -> Step:
    return (LOAD, 0, 0, offset)


def _answer(errno: int) -> list[Step]:
    return [(RETURN, 0, 0, 0x00050000 | errno)]


def _only(argument: int, value: int) -> list[Step]:
    """Allow a call whose argument has this value."""
    return [_load(argument), (EQUALS, 1, 0, value), *_answer(EPERM), *ALLOW]


def _when(value: int, then: list[Step]) -> list[Step]:
    return [(EQUALS, 0, len(then), value), *then]


def _on(numbers: Numbers, column: int, then: list[Step]) -> list[Step]:
    """What to do on a system call, if this kind of processor has it. `then` must end in an answer."""
    number = numbers[column]
    return [] if number is None else _when(number, then)
