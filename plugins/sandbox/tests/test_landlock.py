"""The second choice, where the kernel has it."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from pegboard import ToolError
from pegboard_sandbox import landlock
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
