"""The second choice, where the kernel has it."""

from __future__ import annotations

import os
import socket
import sys

import anyio
import pytest

from pegboard import ToolError
from pegboard_sandbox import landlock, mechanism
from pegboard_sandbox.policy import Policy


@pytest.fixture
def locked(tmp_path, state, new_box):
    if problem := landlock.trouble(Policy(), network=False):
        pytest.skip(f"No sandbox of Landlock can be made here: {problem}.")
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "a.txt").write_text("old")
    return new_box(root.resolve())


async def test_landlock_allows_changes_below_the_working_directory_only(locked, tmp_path):
    said = await locked.sh(
        f'echo x > src/new; echo new > a.txt; echo x > "$TMPDIR/t" && echo kept; echo x > {tmp_path}/b; rm a.txt; true',
        mechanism="landlock",
    )
    assert "kept" in said
    assert "Permission denied" in said
    assert (locked.root / "src/new").read_text() == "x\n"
    assert (locked.root / "a.txt").read_text() == "new\n"
    assert not (tmp_path / "b").exists()


async def test_landlock_holds_protected_paths_existing_missing_and_below_a_renamed_parent(locked):
    (locked.root / ".github/workflows").mkdir(parents=True)
    (locked.root / ".git/hooks").mkdir(parents=True)
    await locked.sh(
        "echo x > .git/hooks/pre-commit; mv .git g; mkdir .vscode; echo x > .envrc; mv src .claude; mv .github g; "
        "echo x > .github/workflows/evil; ln -s src .claude; true",
        mechanism="landlock",
    )
    found = sorted(str(path.relative_to(locked.root)) for path in locked.root.rglob("*"))
    assert found == [".git", ".git/hooks", ".github", ".github/workflows", "a.txt", "src"]


async def test_landlock_cuts_connections_and_hides_the_environment_of_the_host(locked):
    locked.env = {"ACME_API_KEY": locked.key}
    with socket.create_server(("127.0.0.1", 0)) as server:
        script = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}))"
        _, said = await locked.run((sys.executable, "-c", script), mechanism="landlock")
    assert "PermissionError" in said
    assert locked.key not in await locked.sh(f"env; cat /proc/{os.getpid()}/environ", mechanism="landlock")


async def test_landlock_makes_root_one_in_name_only(locked):
    said = await locked.sh("cat /proc/self/status; cd src; mknod d b 254 0; ls", mechanism="landlock")
    assert "CapEff:\t0000000000000000" in said
    assert "CapBnd:\t0000000000000000" in said or os.geteuid() != 0
    assert said.endswith("mknod: d: Permission denied\n") or "not permitted" in said
    # Opened only: a test that fails must not change the machine.
    script = "import os; os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY)"
    _, said = await locked.run((sys.executable, "-c", script), mechanism="landlock")
    assert "PermissionError" in said


async def test_landlock_gives_each_process_a_temporary_folder_that_goes_away(locked):
    said = await locked.sh('echo x > "$TMPDIR/a"; echo $TMPDIR', mechanism="landlock")
    other = await locked.sh("echo $TMPDIR; ls $TMPDIR", mechanism="landlock")
    assert said != other
    assert other.count("\n") == 1
    with anyio.fail_after(10):  # a thread of the plugin removes them; nothing announces it
        while any(os.path.exists(folder.strip()) for folder in (said, other)):
            await anyio.sleep(0.02)


def test_the_doctor_says_what_landlock_does_not_hold(locked):
    settings = locked.context(mechanism="landlock", **{"permissions.deny": ["Read(.env)"]}).settings
    assert mechanism.diagnose(settings)[1:] == [
        f"The sandbox uses Landlock. {landlock.LIMITS}",
        "Rules that deny Read do not apply to the programs that a command starts: Landlock cannot hide files.",
    ]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"network": "proxy"}, "Landlock cannot send the network through a proxy"),
        ({"denyRead": ["a.txt"]}, "Landlock cannot hide what sandbox.filesystem.denyRead names"),
    ],
)
async def test_what_landlock_cannot_do_keeps_the_process_from_starting(locked, settings, why):
    with pytest.raises(ToolError, match=why):
        await locked.sh("true", mechanism="landlock", **settings)
