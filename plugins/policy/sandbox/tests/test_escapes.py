"""Ways out of the sandbox, tried by real commands from inside."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from pegboard import ToolError


async def python(box, script, *words, **settings):
    """What a Python script prints in the sandbox."""
    _, said = await box.run((sys.executable, "-c", script, *words), **settings)
    return said.strip()


TRY = """
import os, sys
try:
    {0}
    print("done")
except OSError as error:
    print(error.strerror)
"""


@pytest.fixture
def victim():
    """A process of the host."""
    process = subprocess.Popen(["sleep", "1000"])
    yield process
    process.kill()
    process.wait()


async def test_a_process_of_the_host_gets_no_signal(box, victim):
    assert "No such process" in await box.sh(f"kill -9 {victim.pid}")
    assert victim.poll() is None


async def test_a_process_of_the_host_cannot_be_traced(box, victim):
    script = "import ctypes, sys; print(ctypes.CDLL(None).ptrace(16, int(sys.argv[1]), 0, 0))"
    assert await python(box, script, str(victim.pid)) == "-1"


async def test_the_first_process_shows_the_sandbox_and_nothing_else(box, tmp_path):
    said = await box.sh(f"touch /proc/1/root/etc/x /proc/1/cwd/{tmp_path}/x; cat /proc/1/cmdline | head -c 14")
    assert "Read-only file system" in said
    assert said.endswith("/usr/bin/bwrap")
    assert not (tmp_path / "x").exists()


async def test_no_further_namespaces_can_be_made(box):
    assert "unshare failed" in await box.sh("unshare -Ur true")


async def test_nothing_can_be_mounted_or_unmounted(box, tree):
    (box.root / ".vscode").mkdir()
    (box.root / ".vscode/settings.json").write_text("good")
    lines = ("mount -t tmpfs x .", "umount .vscode", "umount -l .envrc", "mount -o remount,bind,rw .vscode")
    said = await box.sh("; ".join((*lines, "echo evil > .vscode/settings.json")))
    assert said.count("must be superuser") + said.count("permission denied") + said.count("not permitted") == 4
    assert tree() == {".vscode": "/", ".vscode/settings.json": "good"}


async def test_root_inside_is_nobody_outside(box):
    assert "CapEff:\t0000000000000000" in await box.sh("cat /proc/self/status")
    assert "CapBnd:\t0000000000000000" in await box.sh("cat /proc/self/status")


@pytest.mark.parametrize("path", ["kernel/core_pattern", "vm/drop_caches", "kernel/printk"])
async def test_no_setting_of_the_kernel_can_be_changed(box, path):
    # Opened only: a test that fails must not change the machine.
    said = await python(box, TRY.format(f"os.open('/proc/sys/{path}', os.O_WRONLY)"))
    assert said in ("Read-only file system", "Permission denied")


async def test_no_device_of_the_host_is_there_or_can_be_made(box):
    said = await box.sh("ls /dev | tr '\\n' ' '; mknod d b 254 0; mknod c c 1 1; test -e d || test -e c || echo none")
    names = "core fd full null ptmx pts random shm stderr stdin stdout tty urandom zero "
    assert said.startswith(names)
    assert said.endswith("none\n")


async def test_no_key_can_be_typed_into_the_terminal_of_the_host(box):
    leader, follower = os.openpty()
    script = "import fcntl, termios; fcntl.ioctl(os.open('/dev/tty', os.O_RDWR), termios.TIOCSTI, b'x')"
    said = await python(box, TRY.format(script))
    os.close(leader)
    os.close(follower)
    assert said == "No such device or address"


async def test_a_hard_link_to_a_file_outside_cannot_be_made(box, tmp_path):
    (tmp_path / "outside").write_text("good")
    said = await box.sh(f"ln {tmp_path}/outside l; ln /etc/passwd p")
    assert said.count("nvalid cross-device link") + said.count("No such file") == 2
    assert (tmp_path / "outside").read_text() == "good"


async def test_a_link_out_does_not_lead_out(box, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    await box.sh(f"ln -s {outside} l; ln -s ../outside m; echo evil > l/x; echo evil > m/x; cp /etc/passwd l/; true")
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("how", ["{outside}", "../outside"])
async def test_a_working_directory_that_became_a_link_is_not_followed(box, tmp_path, how):
    outside, sub = tmp_path / "outside", box.root / "sub"
    outside.mkdir()
    sub.mkdir()
    await box.sh(f"mv sub old; ln -s {how.format(outside=outside)} sub")
    assert sub.is_symlink()
    await box.sh(f"echo evil > sub/evil; echo evil > {outside}/evil; true", writable=(sub, box.root))
    # alone too: a sub-agent may have nothing but its own folder
    await box.sh(f"echo evil > sub/evil; echo evil > {outside}/evil; true", writable=(sub,))
    assert list(outside.iterdir()) == []


async def test_starting_in_a_link_that_leads_to_hidden_files_is_refused(box, tmp_path):
    (tmp_path / "hidden").mkdir()
    await box.sh("ln -s ../hidden sub")
    inside = type(box)(box.root / "sub")
    inside.context = box.context
    with pytest.raises(ToolError, match=r"outside the working directory\. Nothing was started"):
        await inside.sh("ls", writable=())


async def test_allow_write_does_not_follow_a_link_that_a_command_has_made(box, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "file").write_text("good")
    await box.sh("ln -s ../outside build; ln -s ../file note")
    await box.sh(
        f"echo evil > build/x; echo evil > {outside}/x; echo evil > note; true", allowWrite=["build", "note", "build/x"]
    )
    assert list(outside.iterdir()) == []
    assert (tmp_path / "file").read_text() == "good"


async def test_the_notes_of_the_host_can_be_neither_changed_nor_locked(box, state):
    script = "import fcntl; fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX)"
    # With its folder among those that may be written to, the sandbox sees it, and holds it.
    await box.sh("true")
    roots = (box.root, state.parents[1])
    _, said = await box.run((sys.executable, "-c", TRY.format(script), str(state / "lock")), writable=roots)
    assert said.strip() == "Permission denied"
    await box.sh(f"rm -rf {state}; echo evil > {state}/evil.json; true", writable=roots)
    assert (state / "lock").exists()
    assert not (state / "evil.json").exists()


async def test_memory_is_not_shared_with_the_host(box):
    (box.root / "size").write_text("")
    script = "import os; fd = os.open('/dev/shm/pegboard-test', os.O_CREAT | os.O_RDWR); print(fd > 0)"
    assert await python(box, script) == "True"
    assert not os.path.exists("/dev/shm/pegboard-test")
    assert "key" in await box.sh("ipcs -m")


async def test_sockets_that_begin_in_a_hidden_folder_of_the_session_are_hidden(box, tmp_path, monkeypatch):
    from pegboard_sandbox import bubblewrap

    runtime = box.root.parent / "runtime"
    runtime.mkdir()
    (runtime / "bus").write_text("")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    bubblewrap.hidden.cache_clear()
    try:
        assert str(runtime) in bubblewrap.hidden()
        assert await box.sh(f"ls -A {runtime}") == ""
    finally:
        monkeypatch.undo()
        bubblewrap.hidden.cache_clear()


CONNECT = """
import socket, sys
for name in sys.argv[1:]:
    try:
        socket.socket(socket.AF_UNIX).connect(name)
        print("reached")
    except OSError as error:
        print("refused")
"""


async def test_the_agent_for_keys_is_masked_even_where_no_path_is_listed(box, monkeypatch):
    path = box.root / "agent"
    here = os.getcwd()
    with socket.socket(socket.AF_UNIX) as agent:
        os.chdir(box.root)  # bound by a relative name, it is listed by that name
        try:
            agent.bind("agent")
        finally:
            os.chdir(here)
        agent.listen()
        assert await python(box, CONNECT, str(path)) == "reached"
        monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
        assert await python(box, CONNECT, str(path)) == "refused"


async def test_a_socket_is_opened_by_name(box, tmp_path):
    hidden, near = tmp_path / "s", box.root / "s"
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as two:
        for door, path in ((one, hidden), (two, near)):
            door.bind(str(path))
            door.listen()
        words = (str(hidden), str(near))
        assert await python(box, CONNECT, *words) == "refused\nrefused"
        assert await python(box, CONNECT, *words, allowUnixSockets=list(words)) == "reached\nreached"


NAMES = ["with space", "new\nline", "co:lon", "quo'te\"s", "-dash", "ünï", "*star?", "back\\slash", "$HOME"]


@pytest.mark.parametrize("name", NAMES)
async def test_a_folder_with_an_unusual_name_is_held_like_any_other(new_box, box, tmp_path, name):
    root = tmp_path / name
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    odd = new_box(root)
    await odd.sh("echo x > ok; echo evil > .envrc; echo evil > .git/hooks/x; echo evil > ../evil; true")
    assert (root / "ok").read_text() == "x\n"
    assert sorted(os.listdir(root)) == [".git", "ok"]
    assert os.listdir(root / ".git/hooks") == []
    assert not (tmp_path / "evil").exists()


async def test_without_a_home_the_sandbox_holds_too(box, monkeypatch, tmp_path):
    for name in ("HOME", "XDG_STATE_HOME", "TMPDIR"):
        monkeypatch.delenv(name, raising=False)
    box.env = {"TMPDIR": "/no/such/folder"}
    said = await box.sh(f'echo x > "$TMPDIR/t" && cat "$TMPDIR/t"; echo evil > {tmp_path}/evil; echo evil > .envrc')
    assert said.startswith("x\n")
    assert not (tmp_path / "evil").exists()
    assert not (box.root / ".envrc").exists()


async def test_a_large_environment_reaches_the_command(box):
    box.env = {f"LC_{number}": "x" * 100_000 for number in range(10)}
    assert await box.sh('echo "${#LC_9}"') == "100000\n"


async def test_many_working_directories_are_all_held(box, tmp_path):
    roots = [tmp_path / f"root{number}" for number in range(30)]
    for root in roots:
        root.mkdir()
    script = "; ".join(f"echo x > {root}/ok; echo evil > {root}/.envrc" for root in roots)
    await box.sh(f"{script}; true", writable=(box.root, *roots))
    assert [os.listdir(root) for root in roots] == [["ok"]] * 30


async def test_more_working_directories_than_can_be_held_are_refused(box, tmp_path):
    roots = [tmp_path / f"root{number}" for number in range(60)]
    for root in roots:
        root.mkdir()
    with pytest.raises(ToolError, match="too many working directories"):
        await box.sh("true", writable=tuple(roots))


async def test_the_root_of_the_disk_is_never_writable(box):
    with pytest.raises(ToolError, match="cannot make / writable"):
        await box.sh("true", writable=(box.root.parents[-1],))


async def test_a_working_directory_that_cannot_be_written_to(box, tree, new_box, tmp_path):
    there = tmp_path / "there"
    there.mkdir()
    (there / "a").write_text("kept")
    said = await new_box(there).sh("cat a; echo evil > b", writable=(box.root,))
    assert said.startswith("kept")
    assert "Read-only file system" in said
    assert os.listdir(there) == ["a"]
