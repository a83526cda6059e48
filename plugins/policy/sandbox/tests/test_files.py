"""What a sandboxed process can change."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from pegboard import ToolError
from pegboard_rules.protected import FILES, FOLDERS, FOLDERS_IN

PLANTED = sorted(
    [f"{name}/planted" for name in FOLDERS - {".git"}]
    + [f"{outer}/{inner}/planted" for outer, inner in FOLDERS_IN]
    + [name for name in FILES if name != "makefile"]
    + ["Makefile", "makefile", ".git/hooks/pre-commit", ".pegboard/settings.json", ".claude/settings.json", "HEAD"]
)


async def test_a_command_writes_inside_the_working_directory(box, tree):
    assert await box.sh("mkdir -p src && echo hi > src/a.txt && echo ok") == "ok\n"
    assert tree() == {"src": "/", "src/a.txt": "hi\n"}


async def test_a_command_cannot_write_outside(box, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    said = await box.sh(f"echo x > {outside}/a; echo x > ../b; touch /etc/c /usr/d ~/e; rm -rf {outside}; true")
    assert "Read-only file system" in said
    assert list(outside.iterdir()) == []
    assert not any((tmp_path / name).exists() for name in "abcde")
    assert not any(Path(path).exists() for path in ("/etc/c", "/usr/d", Path.home() / "e"))


async def test_without_writable_folders_nothing_is_writable(box, tree):
    assert "Read-only file system" in await box.sh("touch a", writable=())
    assert tree() == {}


async def test_the_temporary_folder_is_private_and_goes_away(box, tmp_path):
    said = await box.sh('echo x > "$TMPDIR/mine" && cat "$TMPDIR/mine" && ls /tmp | grep -c mine')
    assert said == "x\n1\n"
    assert not Path("/tmp/mine").exists()


async def test_no_missing_protected_path_can_be_planted(box, tree):
    script = "; ".join(f"mkdir -p $(dirname {shlex.quote(path)}); echo evil > {shlex.quote(path)}" for path in PLANTED)
    await box.sh(f"{script}; true")
    assert tree() == {}


async def test_no_existing_protected_path_can_be_changed(box, tree):
    for path in [*PLANTED, ".git/HEAD"]:
        file = box.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("good\n")
    (box.root / "a.pth").write_text("good\n")
    before = tree()
    paths = " ".join(shlex.quote(path) for path in [*PLANTED, "a.pth"])
    await box.sh(f"for p in {paths}; do echo evil > $p; rm -rf $p; mv $p $TMPDIR; chmod 777 $p; done; true")
    assert tree() == before


async def test_the_parent_of_a_protected_path_cannot_be_renamed(box, tree):
    for path in (".git/hooks", ".github/workflows", ".config/git"):
        (box.root / path).mkdir(parents=True)
    before = tree()
    for path in (".git", ".github", ".config", "."):
        await box.sh(f"mv {path} gone; mkdir -p .git/hooks .github/workflows .config/git; true")
        await box.sh(f"mv $PWD/{path} gone && mkdir {path}; true")
    for path in (".git/hooks", ".github/workflows", ".config/git"):
        await box.sh(f"mv $(dirname {path}) .x; mkdir -p {path}; echo evil > {path}/evil; true")
    assert tree() == before


async def test_the_parent_of_a_missing_protected_path_cannot_be_renamed(box, tree):
    (box.root / ".github").mkdir()
    await box.sh("mv .github x; mkdir -p .github/workflows; echo evil > .github/workflows/evil.yml; true")
    await box.sh("mv .config x; mkdir -p .config/git; echo evil > .config/git/config; true")
    assert tree() == {".github": "/"}


async def test_a_neighbour_of_a_protected_path_stays_writable(box, tree):
    (box.root / ".github").mkdir()
    await box.sh("echo x > .github/CODEOWNERS")
    assert tree() == {".github": "/", ".github/CODEOWNERS": "x\n"}


@pytest.mark.parametrize("name", [".claude", ".envrc", ".github"])
async def test_a_protected_link_keeps_the_process_from_starting(box, name):
    (box.root / name).symlink_to("elsewhere")
    with pytest.raises(ToolError, match=rf"cannot protect .*\{name}, because it is a symbolic link"):
        await box.sh("true")


async def test_a_file_in_place_of_the_parent_of_a_protected_folder_stays(box, tree):
    (box.root / ".config").write_text("a file")
    await box.sh("rm -f .config; mkdir -p .config/git; true")
    assert tree() == {".config": "a file"}


async def test_a_working_directory_inside_a_protected_folder_is_not_writable(box, tree):
    hooks = box.root / ".git" / "hooks"
    hooks.mkdir(parents=True)
    await box.sh(f"echo evil > {hooks}/pre-commit", writable=(hooks,))
    assert tree() == {".git": "/", ".git/hooks": "/"}


async def test_worktrees_inside_a_protected_folder_are_writable(box, tree):
    work = box.root / ".pegboard" / "worktrees" / "one"
    work.mkdir(parents=True)
    await box.sh(f"echo x > {work}/a; echo evil > {work}/.envrc; echo evil > .pegboard/settings.json", writable=(work,))
    assert (work / "a").read_text() == "x\n"
    assert sorted(path.name for path in work.iterdir()) == ["a"]
    assert not (box.root / ".pegboard/settings.json").exists()


async def test_the_state_of_the_host_is_held_although_its_home_is_writable(box, state, tmp_path):
    await box.sh(
        f"mv {tmp_path}/state {tmp_path}/gone; echo x > {state}/evil; echo x > {tmp_path}/ok", writable=(tmp_path,)
    )
    assert (tmp_path / "ok").exists()
    assert not (state / "evil").exists()
    assert not (tmp_path / "gone").exists()


async def test_allow_write_opens_a_build_file_and_a_folder_but_no_policy(box, tmp_path):
    more, log, start = tmp_path / "more", tmp_path / "log", tmp_path / ".bashrc"
    more.mkdir()
    log.touch()
    start.write_text("good")
    await box.sh(
        f"echo x > package.json; echo x > {more}/a; echo x > {log}; echo evil > .envrc; echo evil > {start}",
        allowWrite=["package.json", str(more), str(log), ".envrc", str(start)],
    )
    assert (box.root / "package.json").read_text() == "x\n"
    assert log.read_text() == "x\n"
    assert start.read_text() == "good"
    assert (more / "a").read_text() == "x\n"
    assert not (box.root / ".envrc").exists()


async def test_deny_write_holds_a_path_that_does_not_exist_below_a_renamed_parent(box, tree):
    (box.root / "deploy").mkdir()
    await box.sh("echo x > deploy/key; mv deploy d; mkdir deploy; echo x > deploy/key", denyWrite=["deploy/key"])
    assert tree() == {"deploy": "/"}


async def test_deny_read_hides_files_and_folders(box):
    (box.root / "secret").write_text("hush")
    (box.root / "vault").mkdir()
    (box.root / "vault/key").write_text("hush")
    said = await box.sh("cat secret; ls vault; mv vault v; cat v/key; cat vault/key", denyRead=["secret", "vault"])
    assert "hush" not in said
    assert "key\n" not in said.replace("vault/key", "").replace("v/key", "")


async def test_the_rule_that_says_more_exactly_where_wins(box):
    for name in ("vault/key", "vault/open/note", "vault/open/inner/key"):
        (box.root / name).parent.mkdir(parents=True, exist_ok=True)
        (box.root / name).write_text(f"{name}\n")
    said = await box.sh(
        "cat vault/open/note; echo more >> vault/open/note; cat vault/key vault/open/inner/key; ls vault; true",
        denyRead=["vault", "vault/open/inner"],
        allowRead=["vault/open"],
    )
    assert said.splitlines()[0] == "vault/open/note"
    assert said.count("No such file") == 2
    assert said.endswith("open\n")
    assert (box.root / "vault/open/note").read_text() == "vault/open/note\nmore\n"


async def test_a_working_directory_inside_a_folder_that_is_hidden_stays_as_it_is(box, tmp_path):
    (tmp_path / "secret").write_text("hush")
    (box.root / ".vscode").mkdir()
    (box.root / ".vscode/settings.json").write_text("good")
    said = await box.sh(
        f"cat {tmp_path}/secret; echo x > ok; echo evil > .vscode/settings.json; mv .vscode v; echo evil > .envrc",
        denyRead=[str(tmp_path)],
    )
    assert "hush" not in said
    assert (box.root / "ok").read_text() == "x\n"
    assert (box.root / ".vscode/settings.json").read_text() == "good"
    assert not (box.root / ".envrc").exists()


async def test_a_rule_that_denies_to_read_or_edit_holds_for_every_program(box):
    (box.root / ".env").write_text("hush")
    (box.root / "deploy").mkdir()
    script = "cat .env; mv .env e; cat e; cp .env f; echo evil > deploy/key; mv deploy d"
    said = await box.sh(script, **{"permissions.deny": ["Read(.env)", "Edit(deploy/**)"]})
    assert "hush" not in said
    assert (box.root / ".env").read_text() == "hush"
    assert list((box.root / "deploy").iterdir()) == []
