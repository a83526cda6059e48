"""Rules that a person agreed to are kept as their own, and never in a file that came with a repository."""

import json
import subprocess

import pytest
from tests.settings_world import LOOSE, world

from pegboard.errors import SettingsError
from pegboard_rules.remember import remember
from pegboard_trust.own_files import local_file

__all__ = ["world"]


def test_a_rule_that_a_person_kept_counts_without_trust_until_somebody_else_touches_the_file(world):
    settings = world.load()
    path = remember(["Edit(//srv/a)"], settings, world.trust)
    assert path == local_file(settings)
    assert world.load().get("permissions.allow") == ["Edit(//srv/a)"]
    remember(["Edit(//srv/b)", "Edit(//srv/a)"], world.load(), world.trust)
    assert world.load().get("permissions.allow") == ["Edit(//srv/a)", "Edit(//srv/b)"]
    with open(path, "a") as file:
        file.write("\n")
    assert world.load().get("permissions.allow") is None


def test_a_rule_is_never_added_to_a_file_that_came_with_the_repository(world):
    path = world.write(world.project / ".pegboard" / "settings.local.json", LOOSE)
    before = path.read_text()
    with pytest.raises(SettingsError, match="Run pegboard trust first"):
        remember(["Edit(//srv/a)"], world.load(), world.trust)
    assert path.read_text() == before
    world.trust.add(str(world.project))
    remember(["Edit(//srv/a)"], world.load(), world.trust)
    assert world.load().get("permissions.allow") == ["Bash", "Edit(//srv/a)"]


def test_a_linked_folder_never_counts_as_the_persons_own(world, tmp_path):
    remember(["Edit(//srv/a)"], world.load(), world.trust)
    (world.project / ".pegboard").rename(tmp_path / "real")
    (world.project / ".pegboard").symlink_to(tmp_path / "real")
    assert world.load().get("permissions.allow") is None
    with pytest.raises(SettingsError, match="contains a symbolic link"):
        remember(["Edit(//srv/b)"], world.load(), world.trust)


def test_what_stands_beside_the_rules_is_kept(world):
    world.trust.add(str(world.project))
    world.write(
        world.project / ".pegboard" / "settings.local.json", {"strict": True, "permissions": {"deny": ["Bash"]}}
    )
    path = remember(["Edit(//srv/ä)"], world.load(), world.trust)
    with open(path) as file:
        assert json.load(file) == {"strict": True, "permissions": {"deny": ["Bash"], "allow": ["Edit(//srv/ä)"]}}


def git(folder, *words):
    return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)


def test_git_ignores_the_file_from_the_start(world):
    git(world.project, "init", "-q")
    path = remember(["Edit(//srv/a)"], world.load(), world.trust)
    assert git(world.project, "check-ignore", path).returncode == 0
    assert "settings.local.json" not in git(world.project, "status", "--porcelain", "-uall").stdout


@pytest.mark.parametrize("before", ["cache", "cache\n", "/settings.local.json\n", "settings.local.json"])
def test_what_was_ignored_before_stays_and_nothing_is_said_twice(world, before):
    git(world.project, "init", "-q")
    ignore = world.project / ".pegboard/.gitignore"
    ignore.parent.mkdir()
    ignore.write_text(before)
    for rule in ("Edit(//srv/a)", "Edit(//srv/b)"):
        path = remember([rule], world.load(), world.trust)
    assert ignore.read_text().startswith(before)
    assert ignore.read_text().count("settings.local.json") == 1
    assert git(world.project, "check-ignore", path).returncode == 0


def test_no_rule_is_kept_where_the_list_of_ignored_files_is_a_link(world):
    ignore = world.project / ".pegboard/.gitignore"
    ignore.parent.mkdir()
    ignore.symlink_to(world.base / "elsewhere")
    with pytest.raises(SettingsError, match="contains a symbolic link"):
        remember(["Edit(//srv/a)"], world.load(), world.trust)
    assert not (world.base / "elsewhere").exists()
    assert not (world.project / ".pegboard/settings.local.json").exists()
