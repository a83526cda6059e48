"""Everything that a confined command must not do, tried for real; and the same unconfined, to see it work."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time

import pytest

HEAD = """
import ctypes, os, platform, socket, struct, sys
OUT = os.environ["OUTSIDE"]
libc = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
def call(x86, arm, *args):
    found = libc.syscall(x86 if X86 else arm, *args)
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found
"""

CHANGES = {
    "write": "open(OUT + '/secret.txt', 'w').write('x')",
    "append": "open(OUT + '/secret.txt', 'a').write('x')",
    "write in the working directory": "open('notes.txt', 'w').write('x')",
    "make in the working directory": "open('new.txt', 'x').write('x')",
    "truncate": "os.truncate(OUT + '/secret.txt', 0)",
    "open to truncate": "os.open('notes.txt', os.O_RDONLY | os.O_TRUNC)",
    "remove": "os.unlink('notes.txt')",
    "rename": "os.rename('notes.txt', 'other.txt')",
    "rename outside": "os.rename(OUT + '/secret.txt', OUT + '/other.txt')",
    "make a folder": "os.mkdir('folder')",
    "link": "os.link('notes.txt', OUT + '/linked')",
    "link inside": "os.link('notes.txt', 'linked')",
    "symbolic link": "os.symlink('/etc', 'link')",
    "pipe with a name": "os.mkfifo(OUT + '/pipe')",
    "mode": "os.chmod('notes.txt', 0o777)",
    "mode by descriptor": "os.fchmod(os.open('notes.txt', os.O_RDONLY), 0o777)",
    "owner": "os.chown('notes.txt', os.getuid(), os.getgid())",
    "times": "os.utime('notes.txt', (1, 1))",
    "times by descriptor": "os.utime(os.open('notes.txt', os.O_RDONLY), (1, 1))",
    "attribute": "os.setxattr('notes.txt', 'user.x', b'y')",
    "allocate": "os.posix_fallocate(os.open('notes.txt', os.O_RDWR), 0, 4096)",
    "map to write": "import mmap; mmap.mmap(os.open('notes.txt', os.O_RDWR), 0)[0] = 1",
    "through /proc": "open(f'/proc/self/fd/{os.open(\"notes.txt\", os.O_RDONLY)}', 'w').write('x')",
    "temporary folder of all": "open('/tmp/pegboard-attack-was-here', 'w').write('x')",
    "shared memory": "open('/dev/shm/pegboard-attack-was-here', 'w').write('x')",
}
REACHES = {
    "read outside": "print(open(OUT + '/secret.txt').read())",
    "list outside": "print(os.listdir(OUT))",
    "climb": "print(open('../outside/secret.txt').read())",
    "link out": "print(open('way-out').read())",
    "link to a folder outside": "print(open('way-out-folder/secret.txt').read())",
    "environment of the host": "print(open(f'/proc/{os.getppid()}/environ').read()[:1] + 'x')",
    "memory of the host": "open(f'/proc/{os.getppid()}/mem', 'rb')",
    "descriptors of the host": "print(os.listdir(f'/proc/{os.getppid()}/fd'))",
    "command line of the host": "print(open(f'/proc/{os.getppid()}/cmdline').read())",
    "root of the host": "print(os.listdir(f'/proc/{os.getppid()}/root'))",
    "TCP": "socket.socket()",
    "UDP": "socket.socket(type=socket.SOCK_DGRAM)",
    "IPv6": "socket.socket(socket.AF_INET6)",
    "UNIX": "socket.socket(socket.AF_UNIX)",
    "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
    "kernel crypto": "socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET, 0)",
    "pair of datagrams": "socket.socketpair(type=socket.SOCK_DGRAM)",
    "wait for files": "call(254, 27, call(294, 26, 0), OUT.encode(), 2)",
    "io_uring": "call(425, 425, 1, ctypes.create_string_buffer(256))",
    "key ring": "call(250, 219, 0, -3, 0)",
    "new key": "call(248, 217, b'user', b'pegboard-attack', b'x', 1, -2)",
    "shared memory without a path": "call(29, 194, 0, 4096, 0o1600)",
    "namespace": "call(272, 97, 0x10000000)",
    "namespace by clone": "call(56, 220, 0x10000000 | 17, 0, 0, 0, 0) or os._exit(0)",
    "sibling by clone": "call(56, 220, 0x8000 | 17, 0, 0, 0, 0) or os._exit(0)",
    "trace": "call(101, 117, 16, os.getppid(), 0, 0)",
    "file by handle": "call(303, 264, -100, OUT.encode(), ctypes.create_string_buffer(b'\\x80' + bytes(200)), "
    "ctypes.byref(ctypes.c_int()), 0)",
    "own the signals of a pipe": "import fcntl; fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, os.getppid())",
    "choose a signal": "import fcntl; fcntl.fcntl(os.pipe()[0], 10, 9)",
    "priority of the host": "os.setpriority(0, os.getppid(), os.getpriority(0, os.getppid()))",
    "processors of the host": "os.sched_setaffinity(os.getppid(), os.sched_getaffinity(0))",
    "limits of the host": "call(302, 261, os.getppid(), 4, ctypes.create_string_buffer(16), None)",
    "signal to the host": "os.kill(os.getppid(), 0)",
    "signal to the first process": "os.kill(1, 0)",
}
PRIVILEGED = {
    "mount": "call(165, 40, b'none', OUT.encode(), b'tmpfs', 0, None)",
    "another root": "os.chroot(OUT)",
    "kernel log": "call(103, 116, 3, ctypes.create_string_buffer(64), 64)",
    "clock": "call(227, 112, 0, struct.pack('qq', 0, 0))",
    "kernel module": "call(175, 105, b'', 0, b'')",
    "program in the kernel": "call(321, 280, 5, ctypes.create_string_buffer(128), 128)",
}
MAY_FAIL_ANYHOW = {
    *(
        "kernel crypto",
        "key ring",
        "new key",
        "io_uring",
        "attribute",
        "file by handle",
        "namespace",
        "limits of the host",
    ),
    *("namespace by clone", "trace", "memory of the host", "signal to the first process", "shared memory"),
    *("root of the host", "through /proc", "environment of the host", "owner", "sibling by clone"),
}
"""What depends on the kernel or the user, so that it need not work unconfined either."""


def prepare(room) -> None:
    (room.inside / "way-out").symlink_to(room.outside / "secret.txt")
    (room.inside / "way-out-folder").symlink_to(room.outside)


@pytest.mark.parametrize("name", CHANGES)
def test_nothing_outside_the_private_folder_changes(name, room):
    prepare(room)
    before = state_of(room)
    ended = room.python(f"{HEAD}\n{CHANGES[name]}\nprint('REACHED')")
    assert "REACHED" not in ended.text
    assert ("Error" in ended.text, ended.code) == (True, 1), ended.text
    assert state_of(room) == before
    assert not os.path.exists("/tmp/pegboard-attack-was-here")


@pytest.mark.parametrize("name", REACHES)
def test_nobody_else_is_reached(name, room):
    prepare(room)
    ended = room.python(f"{HEAD}\n{REACHES[name]}\nprint('REACHED')")
    assert "REACHED" not in ended.text
    assert ("Error" in ended.text, ended.code) == (True, 1), ended.text
    if name not in MAY_FAIL_ANYHOW:
        assert "REACHED" in room.unconfined().text, "the attack itself is wrong"


@pytest.mark.parametrize("name", PRIVILEGED)
def test_root_is_root_in_name_only(name, room):
    ended = room.python(f"{HEAD}\n{PRIVILEGED[name]}\nprint('REACHED')")
    assert "REACHED" not in ended.text
    assert ended.code == 1


def state_of(room) -> list[tuple[str, int, int, bytes]]:
    found = []
    for folder in (room.inside, room.outside):
        for path in sorted(folder.rglob("*")):
            if path.name != "attack.py":
                status = path.lstat()
                data = path.read_bytes() if path.is_file() else b""
                found.append((str(path), status.st_mode, status.st_mtime_ns, data))
    return found


def test_the_environment_of_the_host_stays_closed_with_all_of_proc(room):
    """As root too: some capabilities open it past Landlock, so none may be left."""
    seeing = room.seeing(processes=True)
    for name in ("environ", "mem", "maps", "fd/0", "root/etc/hostname", "cwd/x"):
        ended = seeing.run(f"head -c1 /proc/$PPID/{name}")
        assert ended.code == 1, (name, ended.text)
    assert seeing.run("head -c1 /proc/1/environ").code == 1
    assert seeing.run("cat /proc/$PPID/stat").code == 0
    assert "CapEff:\t0000000000000000\n" in seeing.run("cat /proc/self/status").text
    assert "CapBnd:\t0000000000000000\n" in seeing.run("cat /proc/self/status").text or os.geteuid() != 0


def test_no_signal_reaches_anybody_else(room):
    other = subprocess.Popen(["sleep", "60"])
    try:
        for whom in (str(other.pid), f"-- -{os.getpgid(0)}", "$PPID", "1"):
            assert "REACHED" not in room.run(f"kill -0 {whom} && echo REACHED").text
        room.run(f"kill -9 {other.pid}")
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_command_reaches_neither_the_helper_nor_another_command(room):
    """At once and again and again: there is no moment at which they belong together."""
    from pegboard_confine import HELPER

    room.run("true")
    sleeping: list[int] = []
    pids = " ".join(str(pid) for pid in (HELPER.pid, os.getpid()))
    look = f"for i in 1 2 3 4 5 6 7 8; do for p in {pids} $((PPID)) $(($$ - 1)) $(($$ + 1)); do "
    look += "kill -0 $p 2>/dev/null && echo REACHED $p; done; done; true"
    for _ in range(50):
        ended = room.run(look, on_start=sleeping.append)
        assert "REACHED" not in ended.text, (ended.text, HELPER.pid, sleeping[-1])


def test_no_descriptor_is_inherited(room, tmp_path):
    with open(tmp_path / "outside" / "secret.txt", "rb") as held:
        os.set_inheritable(held.fileno(), True)
        script = "import os\nfor n in range(3, 4096):\n try: os.fstat(n); print('REACHED', n)\n except OSError: pass\n"
        ended = room.python(script + "print('looked')")
    # Python has its own script open while it reads it.
    assert ended.text.replace("REACHED 3\n", "") == "looked\n"


@pytest.mark.parametrize("program", ["su", "sudo", "mount", "passwd"])
def test_a_setuid_program_gains_nothing(program, room):
    seeing = room.seeing(processes=True)
    assert "NoNewPrivs:\t1\n" in seeing.run("cat /proc/self/status").text
    ended = room.run(f"{program} --help > /dev/null 2>&1; echo $?; id -u")
    assert ended.text.split()[-1] == str(os.geteuid())


def test_sockets_by_path_and_by_name_are_out_of_reach(room):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(room.inside / "socket"))
        server.listen()
        code = "import socket\na, b = socket.socketpair()\na.connect('socket')\nprint('REACHED')"
        assert "REACHED" not in room.python(code).text
    assert (
        "REACHED"
        not in room.run(": < /dev/tcp/127.0.0.1/9 && echo REACHED; : > /dev/udp/127.0.0.1/9 && echo REACHED").text
    )


def test_a_pair_of_connected_sockets_works(room):
    ended = room.python("import socket\na, b = socket.socketpair()\na.send(b'hello')\nprint(b.recv(9))")
    assert ended.text == "b'hello'\n"


def test_the_private_folder_is_writable_empty_and_gone_afterwards(room):
    ended = room.run("echo $TMPDIR; ls -A $TMPDIR; echo data > $TMPDIR/file && cat $TMPDIR/file; mkdir $TMPDIR/a/b -p")
    folder, said = ended.text.split()
    assert (said, ended.code) == ("data", 0)
    deadline = time.monotonic() + 10
    while os.path.exists(folder):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert room.run("echo $TMPDIR").text.strip() != folder


def test_programs_of_the_working_directory_are_not_run(room):
    script = room.inside / "evil"
    script.write_text("#!/bin/sh\necho REACHED\n")
    script.chmod(0o755)
    assert "REACHED" not in room.run("./evil").text


def test_null_can_be_written(room):
    assert room.run("echo x > /dev/null && echo well").text == "well\n"


def test_any_command_at_all_is_held(room):
    """What the reading of commands is for does not matter here: the shell itself is the command."""
    before = state_of(room)
    commands = (
        "rm -rf * ../*; echo x > ../outside/secret.txt; cp notes.txt ..; mv notes.txt x; ln notes.txt y; touch z",
        "sh -c 'cat ../outside/secret.txt; echo $(< ../outside/secret.txt)'; find .. -type f -exec cat {} +",
        "git init .; git config --global user.name x; tar cf x.tar .; sed -i s/n/m/ notes.txt; dd if=/dev/zero of=x",
        "curl -sm1 http://127.0.0.1; wget -qt1 http://127.0.0.1; exec 3<>/dev/tcp/127.0.0.1/80; ping -c1 127.0.0.1",
        f"{sys.executable} -c 'import shutil; shutil.rmtree(\"..\", ignore_errors=True)'; perl -e 'unlink glob \"*\"'",
        "setsid sh -c 'sleep 0.2; touch late' & chmod 777 . notes.txt; chattr +i notes.txt; truncate -s0 notes.txt",
    )
    for command in commands:
        assert "secret\n" not in room.run(command).text
    time.sleep(0.5)
    assert state_of(room) == before
