"""The guard between Pegboard and a server: when Pegboard dies, however it dies, the server and all it started end.

Its source runs as `python -I -S -c SOURCE PROGRAM ARGUMENTS…`, so that it also works in a sandbox that does not show
this file. The kernel tells it when its parent is gone, and as a subreaper it finds children that left their parent.
"""

from __future__ import annotations

import sys

SOURCE = r"""
import ctypes, os, signal, sys, time
def children():
    parents = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid) as file:
                parents.setdefault(int(file.read().rpartition(")")[2].split()[1]), []).append(int(pid))
        except (OSError, ValueError):
            pass
    found, todo = [], [os.getpid()]
    while todo:
        below = parents.get(todo.pop(), [])
        found += below
        todo += below
    return found
def tell(number):
    for pid in children():
        try:
            os.kill(pid, number)
        except OSError:
            pass
def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    except ChildProcessError:
        return False
def end(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    tell(signal.SIGTERM)
    until = time.monotonic() + 1.5
    while reap() and time.monotonic() < until:
        time.sleep(0.02)
    while reap():
        tell(signal.SIGKILL)
        time.sleep(0.02)
    os._exit(143)
prctl = ctypes.CDLL(None).prctl
prctl(36, 1, 0, 0, 0)
signal.signal(signal.SIGTERM, end)
prctl(1, int(signal.SIGTERM), 0, 0, 0)
try:
    server = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
except OSError as error:
    sys.exit("%s cannot be started: %s" % (sys.argv[1], error.strerror))
for standard in (0, 1):
    os.close(standard)
while True:
    pid, status = os.wait()
    if pid == server:
        break
tell(signal.SIGTERM)
reap()
code = os.waitstatus_to_exitcode(status)
os._exit(code if code >= 0 else 128 - code)
"""


def guarded(program: str, arguments: list[str]) -> tuple[str, ...]:
    """The command that starts a server under the guard."""
    return (sys.executable, "-I", "-S", "-c", SOURCE, program, *arguments)
