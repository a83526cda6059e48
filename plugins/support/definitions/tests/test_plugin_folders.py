"""Plugins on disk: what a folder brings, under which names, and what of it is not used."""

from __future__ import annotations

import json

import pytest

from pegboard.settings import Layer, Settings, load
from pegboard_definitions import plugin_folders, with_plugins


@pytest.fixture
def plugin(tmp_path):
    folder = tmp_path / "acme dir"

    def put(path, content):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        return file

    put(".claude-plugin/plugin.json", {"name": "acme", "version": "1", "commands": ["./extra/one.md"]})
    put("extra/one.md", "One.")
    put("commands/two.md", "Two.")
    put("skills/three/SKILL.md", "Three.")
    put("agents/four.md", "---\nname: four\ndescription: d\n---\n")
    put.folder = folder
    return put


def of(folder, *more):
    layer = Layer("user", "settings", {"pluginDirs": [str(folder), *map(str, more)]})
    base = load(str(folder.parent))
    return base.with_layers([*base.layers, layer])


def test_a_plugin_brings_its_folders_and_what_its_manifest_adds(plugin):
    [found] = plugin_folders(of(plugin.folder))
    root = str(plugin.folder)
    assert (found.name, found.root, found.problems) == ("acme", root, ())
    assert found.skills == (f"{root}/skills",)
    assert found.commands == (f"{root}/commands", f"{root}/extra/one.md")
    assert found.agents == (f"{root}/agents",)


def test_without_a_manifest_the_folder_gives_the_name(tmp_path):
    (tmp_path / "plain/skills").mkdir(parents=True)
    [found] = plugin_folders(of(tmp_path / "plain"))
    assert (found.name, found.problems) == ("plain", ())


def test_hooks_and_servers_become_settings_that_know_their_plugin(plugin):
    handler = {"type": "command", "command": '"${CLAUDE_PLUGIN_ROOT}"/a.sh'}
    exact = {"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/b.sh", "args": ["x"]}
    plugin(
        "hooks/hooks.json",
        {"description": "d", "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [handler, exact]}]}},
    )
    plugin(".mcp.json", {"mcpServers": {"db": {"command": "${CLAUDE_PLUGIN_ROOT}/serve", "env": {"A": "1"}}}})
    settings = with_plugins(of(plugin.folder))
    root = str(plugin.folder)
    [group] = settings.get("hooks")["PreToolUse"]
    assert [(one["command"], one.get("args")) for one in group["hooks"]] == [
        (f"export CLAUDE_PLUGIN_ROOT='{root}'; \"${{CLAUDE_PLUGIN_ROOT}}\"/a.sh", None),
        ("env", [f"CLAUDE_PLUGIN_ROOT={root}", f"{root}/b.sh", "x"]),
    ]
    if "mcpServers" in settings.keys:
        server = settings.get("mcpServers")["plugin_acme_db"]
        assert server == {"command": f"{root}/serve", "env": {"CLAUDE_PLUGIN_ROOT": root, "A": "1"}}


def test_hooks_that_managed_settings_keep_to_themselves_stay_theirs(plugin):
    plugin("hooks/hooks.json", {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}})
    settings = of(plugin.folder)
    managed = Layer("managed", "/etc/x.json", {"allowManagedHooksOnly": True})
    kept = with_plugins(settings.with_layers([*settings.layers, managed]))
    assert not kept.get("hooks")


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        ({"name": "a/b"}, "name must be 1 to 64 letters"),
        ({"name": "x", "commands": "../outside"}, "commands: ../outside is outside the plugin"),
        ({"name": "x", "skills": 3}, "skills must be a path or a list of paths, got 3"),
        ({"name": "x", "agents": "./none"}, "agents: there is no ./none"),
        ({"name": "x", "hooks": "./none.json"}, "hooks: there is no ./none.json"),
        ({"name": "x", "mcpServers": []}, "mcpServers must be a path or an object"),
        ("{", "The file is not used"),
        ("[]", "expected an object"),
    ],
)
def test_what_is_wrong_with_a_plugin_is_said(plugin, manifest, reason):
    plugin(".claude-plugin/plugin.json", manifest)
    [found] = plugin_folders(of(plugin.folder))
    assert any(reason in problem for problem in found.problems)


def test_a_link_out_of_a_plugin_is_not_followed(plugin, tmp_path):
    (tmp_path / "secret").mkdir()
    (plugin.folder / "linked").symlink_to(tmp_path / "secret")
    plugin(".claude-plugin/plugin.json", {"name": "acme", "skills": "./linked"})
    [found] = plugin_folders(of(plugin.folder))
    assert "skills: ./linked is outside the plugin, so it is not used." in found.problems[0]


def test_a_folder_that_is_not_there_and_a_name_twice_are_said(plugin, tmp_path):
    (tmp_path / "other/.claude-plugin").mkdir(parents=True)
    (tmp_path / "other/.claude-plugin/plugin.json").write_text('{"name": "acme"}')
    found = plugin_folders(of(plugin.folder, tmp_path / "other", tmp_path / "none"))
    assert [len(one.problems) for one in found] == [0, 1, 1]
    assert "The plugin acme is not used" in found[1].problems[0]
    assert "There is no folder" in found[2].problems[0]


def test_an_untrusted_project_names_no_plugins(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".pegboard").mkdir()
    (tmp_path / ".pegboard/settings.json").write_text('{"pluginDirs": ["evil"]}')
    (tmp_path / "evil/skills").mkdir(parents=True)
    assert plugin_folders(load(str(tmp_path))) == []
    assert len(plugin_folders(load(str(tmp_path), trusted=True))) == 1


def test_without_the_setting_there_are_none():
    settings = Settings()
    assert plugin_folders(settings) == []
    assert with_plugins(settings) is settings
