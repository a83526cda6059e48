"""Workspace trust: known by real path, never inherited, decided before a repository can loosen anything."""

import json
import os
import stat

import pytest
from tests.settings_world import LOOSE, world

from pegboard import SettingsError
from pegboard_trust import Trust

__all__ = ["world"]


@pytest.mark.parametrize("folder", [".pegboard", ".claude"])
@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_before_trust_a_project_can_only_restrict(world, folder, name):
    world.write(world.project / folder / name, LOOSE)
    settings = world.load()
    assert settings.get("permissions.allow") is None
    assert settings.get("permissions.defaultMode") is None
    assert settings.get("permissions.additionalDirectories") is None
    assert settings.get("permissions.deny") == ["Read(.env)"]
    assert {item.key for item in settings.withheld} == {
        "permissions.allow",
        "permissions.defaultMode",
        "permissions.additionalDirectories",
    }
    world.trust.add(str(world.project))
    trusted = world.load()
    assert trusted.get("permissions.allow") == ["Bash"]
    assert trusted.withheld == []
    assert trusted.trusted


def test_trust_is_kept_privately_and_can_be_taken_back(world):
    world.trust.add(str(world.project))
    assert stat.S_IMODE(os.stat(world.trust.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(world.trust.path)).st_mode) == 0o700
    assert list(world.trust.trusted()) == [str(world.project)]
    assert world.trust.revoke(str(world.project))
    assert not world.trust.revoke(str(world.project))
    assert not world.trust.trusts(str(world.project))


def test_a_link_to_a_trusted_project_is_that_project_and_a_moved_one_is_not(world, tmp_path):
    world.trust.add(str(world.project))
    (tmp_path / "link").symlink_to(world.project)
    assert world.trust.trusts(str(tmp_path / "link"))
    world.project.rename(tmp_path / "moved")
    assert not world.trust.trusts(str(tmp_path / "moved"))


def test_a_nested_repository_needs_trust_of_its_own(world):
    world.trust.add(str(world.project))
    inner = world.project / "vendor" / "inner"
    (inner / ".git").mkdir(parents=True)
    world.write(inner / ".pegboard" / "settings.json", LOOSE)
    assert world.load(inner).get("permissions.allow") is None


@pytest.mark.parametrize("mark", ["gitdir: {}/.git/worktrees/x\n", "gitdir: {}/.git\n"])
def test_a_git_file_that_points_at_a_trusted_repository_inherits_nothing(world, tmp_path, mark):
    (world.project / ".git" / "worktrees" / "x").mkdir(parents=True)
    (world.project / ".git" / "worktrees" / "x" / "commondir").write_text(str(world.project / ".git"))
    world.trust.add(str(world.project))
    evil = tmp_path / "evil"
    world.write(evil / ".pegboard" / "settings.json", LOOSE)
    (evil / ".git").write_text(mark.format(world.project))
    (evil / "commondir").write_text(str(world.project / ".git"))
    settings = world.load(evil)
    assert settings.root == str(evil)
    assert settings.get("permissions.allow") is None


def test_a_local_file_in_an_archive_with_its_own_git_folder_counts_as_the_archives(world):
    (world.project / ".git").mkdir()
    (world.project / ".git" / "index").write_bytes(b"DIRC\0\0\0\2\0\0\0\0")
    world.write(world.project / ".pegboard" / "settings.local.json", LOOSE)
    assert world.load().get("permissions.allow") is None


@pytest.mark.parametrize("content", ["", "[]", "{", '{"trusted": []}', '{"trusted": {"%s": true}, "local": {}}'])
def test_a_broken_store_trusts_nothing(world, content):
    world.trust.add(str(world.project))
    with open(world.trust.path, "w") as file:
        file.write(content.replace("%s", str(world.project)))
    assert not world.trust.trusts(str(world.project))


def test_a_store_that_others_can_read_or_write_trusts_nothing(world):
    world.trust.add(str(world.project))
    os.chmod(world.trust.path, 0o644)
    assert not world.trust.trusts(str(world.project))


def test_a_project_cannot_bring_its_own_trust_store(tmp_path):
    env = {"HOME": str(tmp_path)}
    store = Trust.of(env)
    with pytest.raises(SettingsError, match="contains the trust store itself"):
        store.add(str(tmp_path))
    os.makedirs(os.path.dirname(store.path), mode=0o700)
    with open(os.open(store.path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        json.dump({"trusted": {str(tmp_path): {}}, "local": {}}, file)
    assert not store.trusts(str(tmp_path))


def test_without_a_home_nothing_is_trusted_and_nothing_can_be(tmp_path):
    store = Trust.of({})
    assert not store.trusts(str(tmp_path))
    with pytest.raises(SettingsError, match="The trust store has no folder"):
        store.add(str(tmp_path))
