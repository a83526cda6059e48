"""A small process that waits with confined children, each ready to become the next command.

Run as a file with an empty environment: `python -I -S -E helper.py CONTROL`. It imports as little as it can, because
each child carries a copy of its memory. On CONTROL it gets the filter, and then a descriptor for each child that it is
to make. On that descriptor the child tells its id, and later that it has taken its command. Children are those of the
host (CLONE_PARENT): the host waits for them, signals them and reaps them like any other.

A child gives up its rights before it receives a command, and each on its own: it shares its Landlock domain with no
other process, neither this one nor its siblings, so there is no moment at which a command could reach one of them.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import ctypes
import gc
import os
import struct
import sys

CLONE_PARENT, SIGCHLD = 0x8000, 17
NO_NEW_PRIVS, DROP_FROM_BOUNDS, SET_SECCOMP, FILTER = 38, 24, 22, 2
CLONE_OF = {"x86_64": 56, "aarch64": 220}
CAPSET_OF = {"x86_64": 126, "aarch64": 91}
RESTRICT, PRLIMIT_OF = 446, {"x86_64": 302, "aarch64": 261}
HEADER = struct.Struct("=IHH")
LIMIT = struct.Struct("=IQ")
ID = struct.Struct("=i")
TAKEN = b"T"
AT_ONCE = 65_536
CORE, NO_CORE = 4, 1
FAILED = 126

# Without giving up the interpreter's lock: a child of a raw clone must not wait for one.
libc = ctypes.PyDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
machine = os.uname().machine


class Filter(ctypes.Structure):
    """What prctl takes."""

    _fields_ = (("length", ctypes.c_ushort), ("program", ctypes.c_void_p))


def checked(result: int) -> int:
    """The result of a call, or an `OSError`."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def give_up_privileges() -> None:
    """No capability, now or after an exec, also for root: some of them open /proc/<pid>/environ past Landlock."""
    checked(libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0))
    # From the bounding set first: without it, a set-user-ID program could get them back.
    for capability in range(64):
        if libc.prctl(DROP_FROM_BOUNDS, capability, 0, 0, 0) < 0:  # not ours to drop, or there are no more
            break
    checked(libc.syscall(CAPSET_OF[machine], struct.pack("=Ii", 0x20080522, 0), bytes(24)))


def receive(channel: _socket.socket, size: int) -> bytes:
    """Exactly so many bytes; fewer when the other side is gone."""
    data = b""
    while len(data) < size and (piece := channel.recv(size - len(data))):
        data += piece
    return data


def descriptors(ancillary: list[tuple[int, int, bytes]]) -> tuple[int, ...]:
    """The descriptors that came with a message."""
    return tuple(number for _, _, data in ancillary for number in struct.unpack(f"={len(data) // 4}i", data))


def take_job(channel: _socket.socket) -> tuple[tuple[int, ...], bytes, int, int]:
    """The next command as it was sent: its descriptors, its text, and how many words and limits it has."""
    data, ancillary, _, _ = channel.recvmsg(AT_ONCE, _socket.CMSG_SPACE(16), _socket.MSG_CMSG_CLOEXEC)
    given = descriptors(ancillary)
    if len(data) < HEADER.size or len(given) != 4:
        raise EOFError
    size, words, limits = HEADER.unpack_from(data)
    body = data[HEADER.size :]
    if len(body) < size:
        body += receive(channel, size - len(body))
    if len(body) < size:
        raise EOFError
    return given, body, words, limits


def read_job(body: bytes, words: int, limits: int) -> tuple[bytes, bytes, list[bytes], dict[bytes, bytes]]:
    """Where a command runs, its program, its words and its environment."""
    cwd, program, *rest = body[limits * LIMIT.size :].split(b"\0")
    return cwd, program, rest[:words], dict(pair.split(b"=", 1) for pair in rest[words:])


def set_limits(body: bytes, limits: int) -> None:
    """Hold this process, and all that it starts, to limits."""
    now = ctypes.create_string_buffer(16)
    for at in range(limits):
        resource, most = LIMIT.unpack_from(body, at * LIMIT.size)
        checked(libc.syscall(PRLIMIT_OF[machine], 0, resource, None, now))
        most = min(most, struct.unpack("=QQ", now.raw)[1])  # A limit that is already set cannot be raised.
        checked(libc.syscall(PRLIMIT_OF[machine], 0, resource, struct.pack("=QQ", most, most), None))


def become(channel: _socket.socket) -> None:
    """Take one command, give up what is left, and become it."""
    (*standard, ruleset), body, words, limits = take_job(channel)
    # From here on the command may have begun: the host must not give it to another child.
    channel.send(TAKEN)
    for target, descriptor in enumerate(standard):
        os.dup2(descriptor, target)
    set_limits(body, limits)
    # After the limits and before chdir and exec, which must already be subject to the rules.
    checked(libc.syscall(RESTRICT, ruleset, 0))
    cwd, program, argv, env = read_job(body, words, limits)
    os.chdir(cwd)
    os.execve(program, argv, env)  # noqa: S606 - the command brings its own shell


def warm_up() -> None:
    """Use once what a command will need, so that this child has its own copy of that memory before there is one."""
    ours, theirs = _socket.socketpair()
    body = b"/\0/bin/sh\0sh\0A=b"
    rights = struct.pack("=4i", 0, 1, 2, theirs.fileno())
    ours.sendmsg([HEADER.pack(len(body), 1, 0) + body], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
    given, body, words, limits = take_job(theirs)
    read_job(body, words, limits)
    for descriptor in given:
        os.dup2(descriptor, descriptor)
        os.close(descriptor)
    core = LIMIT.pack(CORE, NO_CORE)
    set_limits(core, 1)
    libc.syscall(RESTRICT, -1, 0)


def wait_as_child(descriptor: int, control: _socket.socket, filtered: Filter) -> None:
    """The life of a child, up to the command. Never returns."""
    try:
        os.write(descriptor, ID.pack(os.getpid()))
        os.close(control.fileno())
        os.setsid()
        for number in (_signal.SIGPIPE, _signal.SIGXFSZ):  # Python ignores these, and a command would inherit that
            _signal.signal(number, _signal.SIG_DFL)
        # Before any data from outside is read.
        checked(libc.prctl(SET_SECCOMP, FILTER, ctypes.byref(filtered), 0, 0))
        channel = _socket.socket(fileno=descriptor)
        warm_up()
        become(channel)
    except EOFError:  # the host is gone, or has no use for this child
        pass
    except BaseException as error:
        os.write(2, f"The confined process did not start: {error}.\n".encode())
    finally:
        # Never back into the loop of the parent, and without its exit handlers.
        os._exit(FAILED)


def main(control: _socket.socket) -> None:
    """Make children until the host is gone."""
    os.set_inheritable(control.fileno(), False)
    (size,) = struct.unpack("=I", receive(control, 4))
    program = receive(control, size)
    memory = ctypes.create_string_buffer(program, size)
    filtered = Filter(size // 8, ctypes.addressof(memory))
    give_up_privileges()
    # Children share this memory until one writes to it; the collector would write to all of it.
    gc.disable()
    gc.freeze()
    while True:
        data, ancillary, _, _ = control.recvmsg(1, _socket.CMSG_SPACE(4), _socket.MSG_CMSG_CLOEXEC)
        if not data:
            return
        (descriptor,) = descriptors(ancillary)
        # os.fork() would make it a child of this helper. The host must be able to wait for it itself.
        pid = libc.syscall(CLONE_OF[machine], CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)
        if pid == 0:
            wait_as_child(descriptor, control, filtered)
        os.close(descriptor)  # where there is no child, the host sees the end of the channel


if __name__ == "__main__":
    main(_socket.socket(fileno=int(sys.argv[1])))
