"""Protected and critical paths: no rule, no mode but bypass, no spelling and no link gets past them."""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from pegboard import Allow, Ask, Decision, Deny

sys.path.insert(0, str(Path(__file__).parent))
from permission_cases import World

EVERYTHING = {"allow": ["Edit", "Write", "Bash", "Edit(//**)", "Edit(**)"]}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for variable in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return World(tmp_path)


def write(world: World, path: str, mode: str = "default", **rules: Any) -> Decision:
    return world.judge("Write", {"file_path": path}, world.settings(user=rules or EVERYTHING), mode=mode)


PROTECTED = """
.pegboard/settings.json .pegboard/settings.local.json .pegboard .pegboard/hooks/x .git/hooks/pre-commit .git .git/config
sub/.git/config .config/git/config .vscode/tasks.json .idea/x .husky/pre-commit .cargo/config.toml
.devcontainer/devcontainer.json .yarn/releases/y.cjs .mvn/extensions.xml .claude/settings.json .cursor/mcp.json
.gemini/settings.json .codex/config.toml .github/workflows/ci.yml .gitconfig .gitmodules .gitattributes .bashrc
.bash_profile .bash_login .bash_aliases .bash_logout .zshrc .zprofile .zshenv .zlogin .zlogout .profile .envrc
sub/.envrc .npmrc .yarnrc .yarnrc.yml .pnp.cjs .pnp.loader.mjs .pnpmfile.cjs bunfig.toml .bunfig.toml .bazelrc
.bazelversion .bazeliskrc .pre-commit-config.yaml lefthook.yml lefthook.yaml .lefthook.yml .lefthook.yaml
gradle/wrapper/gradle-wrapper.properties .mvn/wrapper/maven-wrapper.properties .devcontainer.json .ripgreprc
pyrightconfig.json .mcp.json .claude.json x.code-workspace conftest.py tests/conftest.py sitecustomize.py
GNUmakefile sub/GNUmakefile justfile .ssh .ssh/authorized_keys .ssh/config .gnupg/gpg.conf .aws/credentials .kube/config
.docker/config.json .hg/hgrc .hgrc .vim/vimrc .emacs.d/init.el .config/fish/config.fish .config/fish/functions/ls.fish
.config/nvim/init.lua .config/systemd/user/x.service .local/share/systemd/user/x.service .config/autostart/x.desktop
.config/environment.d/x.conf .config/mise/config.toml .config/direnv/direnvrc .local/bin/ls .cshrc .tcshrc .login
.logout .kshrc .mkshrc .inputrc .zsh_aliases .bash_completion .vimrc .gvimrc .exrc .nvimrc .emacs .screenrc .tmux.conf
.xinitrc .xprofile .xsession .xsessionrc .xserverrc .pam_environment .gdbinit .lldbinit .pdbrc .pythonrc .irbrc .pryrc
.Rprofile .Renviron .ackrc .curlrc .wgetrc .netrc .pypirc .gemrc .rpmmacros .psqlrc .sqliterc .my.cnf .tool-versions
.mise.toml mise.toml .justfile .VIMRC .SSH/id_rsa
lib/evil.pth Makefile package.json .rgignore .ignore .claude/worktrees/w/.git/config .pegboard/worktrees/w/.envrc
""".split()


@pytest.mark.parametrize("path", PROTECTED)
def test_a_protected_path_asks_whatever_is_allowed(world: World, path: str) -> None:
    decision = write(world, path)
    assert isinstance(decision, Ask), decision
    assert decision.layer == "protected-path"
    assert decision.matched.endswith(path)


@pytest.mark.parametrize(
    "path",
    [
        ".pegboard/worktrees/w1/a.py",
        ".claude/worktrees/w1/a.py",
        ".github/ISSUE_TEMPLATE.md",
        ".config/other/x",
        "git/config",
        ".gitignore",
        "my.bashrc",
        "docs/package.json.md",
        "a.pth.txt",
        "workflows/ci.yml",
        "ssh/config",
        "docs/vimrc",
        ".config/user/x",
        "bin/ls",
        ".local/share/x",
        "fish/config.fish",
        ".pegboarding/x",
    ],
)
def test_a_path_that_only_looks_protected_does_not_ask(world: World, path: str) -> None:
    assert isinstance(write(world, path), Allow)


@pytest.mark.parametrize(
    "path",
    [
        ".GIT/config",
        ".Git/hooks/x",
        ".cLauDe/Settings.locaL.json",
        ".pegBOARD/settings.json",
        ".BASHRC",
        "MAKEFILE",
        ".git./config",
        ".git /config",
        "GIT~1/config",
        "CLAUDE~1/settings.json",
        ".g\u200cit/config",
        ".\uff47it/config",
        "src/../.git/config",
        "src/./../.git//config",
        unicodedata.normalize("NFD", ".gít").replace("\u0301", "") + "/config",
    ],
)
def test_another_spelling_of_a_protected_path_is_protected(world: World, path: str) -> None:
    assert write(world, path).layer == "protected-path"


def test_a_link_into_a_protected_folder_is_protected(world: World) -> None:
    (world.project / ".git").mkdir()
    (world.project / "hooks").symlink_to(".git")
    (world.project / "two").symlink_to("hooks")
    (world.project / "rc").symlink_to(world.home / ".bashrc")
    for path in ("hooks/config", "two/config", "rc", "hooks/new/deeper"):
        assert write(world, path).layer == "protected-path", path


def test_a_link_that_lies_in_a_protected_folder_is_protected(world: World) -> None:
    (world.project / ".git").mkdir()
    (world.project / ".git" / "out").symlink_to(world.project / "open.txt")
    assert write(world, ".git/out").layer == "protected-path"


def test_the_folders_of_policy_and_state_are_protected(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(world.base / "state"))
    folders = (
        world.home / ".pegboard" / "x",
        world.base / "managed" / "settings.json",
        Path("/etc/pegboard/settings.json"),
        world.home / ".cache" / "pegboard" / "index",
        world.base / "state" / "pegboard" / "audit.jsonl",
    )
    world.settings(managed={"deny": ["Nothing_here"]})
    for path in folders:
        assert write(world, str(path)).layer == "protected-path", path


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("default", Ask),
        ("acceptEdits", Ask),
        ("auto", Ask),
        ("plan", Deny),
        ("dontAsk", Deny),
        ("bypassPermissions", Allow),
    ],
)
def test_each_mode_and_a_protected_path(world: World, mode: str, expected: type[Decision]) -> None:
    assert isinstance(write(world, ".git/config", mode), expected)


def test_a_hook_cannot_wave_a_protected_path_through(world: World) -> None:
    said = [Allow("by a hook", layer="hooks")]
    decision = world.judge("Write", {"file_path": ".git/config"}, world.settings(user=EVERYTHING), said=said)
    assert isinstance(decision, Ask)


def test_reading_a_protected_path_is_free(world: World) -> None:
    assert isinstance(world.judge("Read", {"file_path": ".git/config"}, world.settings()), Allow)


def test_deleting_a_protected_path_asks(world: World) -> None:
    settings = world.settings(user=EVERYTHING)
    decision = world.command("rm -r .git", settings=settings, deletes=(world.project / ".git",))
    assert decision.layer == "protected-path"


# What must not be deleted.


def delete(world: World, path: str | Path, mode: str = "default", **layers: Any) -> Decision:
    settings = world.settings(user={**EVERYTHING, **layers})
    return world.command(f"rm -rf {path}", settings=settings, mode=mode, deletes=(world.project / path,))


@pytest.mark.parametrize(
    "path", ["/", "/usr", "/etc", "/*", "/etc/*", "/mnt/c", "/usr/", "/Usr", "/x/..", "/no-such-folder"]
)
def test_the_root_and_its_children_are_critical(world: World, path: str) -> None:
    assert delete(world, path).layer == "critical-path"


def test_home_and_the_working_directory_and_all_above_them_are_critical(world: World) -> None:
    paths: list[str | Path] = [
        world.home,
        world.project,
        world.base,
        world.base.parent,
        ".",
        "..",
        "./*",
        "sub/..",
        "../project",
    ]
    for path in [*paths, f"{world.home}/*", str(world.project).upper(), f"{world.project}/.*"]:
        assert delete(world, path).layer == "critical-path", path


def test_an_added_folder_and_all_in_it_is_critical(world: World) -> None:
    added = world.base / "added" / "one"
    added.mkdir(parents=True)
    for path in (added, f"{added}/*", added.parent):
        assert delete(world, path, additionalDirectories=[str(added)]).layer == "critical-path", path
    assert isinstance(delete(world, added / "file", additionalDirectories=[str(added)]), Allow)


def test_a_link_to_a_critical_folder_is_critical(world: World) -> None:
    (world.project / "there").symlink_to(world.home)
    assert delete(world, "there").layer == "critical-path"
    assert delete(world, "there/*").layer == "critical-path"


def test_a_plain_file_is_not_critical(world: World) -> None:
    assert isinstance(delete(world, "build/out.o"), Allow)
    assert isinstance(delete(world, "build/*"), Allow)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("default", Ask),
        ("acceptEdits", Ask),
        ("bypassPermissions", Ask),
        ("dontAsk", Deny),
        ("auto", Ask),
        ("plan", Deny),
    ],
)
def test_each_mode_and_a_critical_path(world: World, mode: str, expected: type[Decision]) -> None:
    assert isinstance(delete(world, world.home, mode), expected)


# What cannot be found out.


def test_a_circle_of_links_is_never_allowed(world: World) -> None:
    (world.project / "a").symlink_to("b")
    (world.project / "b").symlink_to("a")
    settings = world.settings(user={"allow": ["Read", "Edit", "Read(//**)"]})
    for mode in ("default", "acceptEdits", "bypassPermissions"):
        for name in ("Read", "Write"):
            decision = world.judge(name, {"file_path": "a"}, settings, mode=mode)
            assert isinstance(decision, Ask), (mode, name)
            assert decision.layer == "unresolvable"


def test_a_link_out_of_the_working_directory_is_outside(world: World) -> None:
    (world.base / "secret").write_text("x")
    (world.project / "inside").symlink_to(world.base / "secret")
    assert world.judge("Read", {"file_path": "inside"}, world.settings()).layer == "working-directory"
    assert isinstance(world.judge("Write", {"file_path": "inside"}, world.settings(), mode="acceptEdits"), Ask)
