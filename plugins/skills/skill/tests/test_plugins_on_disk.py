"""A plugin on disk in use: its skills, commands, agents and hooks under its name, by option and by setting."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from pegboard_definitions import with_plugins
from pegboard_session import find_slash_commands

from .world import calls, results, says, use


@pytest.fixture
def plugin(world, tmp_path):
    folder = tmp_path / "acme"
    world.put(".claude-plugin/plugin.json", '{"name": "acme"}', at=folder)
    world.skill("ship", "allowed-tools: Bash(echo:*)\n", "!`echo ${CLAUDE_PLUGIN_ROOT}`", at=folder, place="skills")
    world.command("stamp", "Stamp $ARGUMENTS.", at=folder, place="commands")
    world.put("agents/judge.md", "---\nname: judge\ndescription: Judges.\n---\nJudge.\n", at=folder)
    hook = {"type": "command", "command": "env > $CLAUDE_PLUGIN_ROOT/seen.txt; echo 'not here' >&2; exit 2"}
    hooks = {"hooks": {"PreToolUse": [{"matcher": "Write", "hooks": [hook]}]}}
    world.put("hooks/hooks.json", json.dumps(hooks), at=folder)
    return folder


async def test_everything_of_a_plugin_is_used_under_its_name(world, plugin):
    settings = with_plugins(world.settings(pluginDirs=[str(plugin)], permissions={"allow": ["Skill", "Write"]}))
    board = world.board_of(settings)
    agent = calls(("Agent", {"description": "d", "prompt": "p", "subagent_type": "acme:judge"}))
    write = calls(("Write", {"file_path": "a.txt", "content": "x"}))
    child = {"agent": "acme:judge", **says("Judged.")}
    async with world.session(use("acme:ship"), agent, write, says(), child, board=board) as session:
        assert "acme:stamp" in find_slash_commands(session)
        await session.run("Go")
    shipped, judged, written = results(session)
    assert str(plugin) in shipped
    assert "Judged." in judged
    assert "not here" in written
    assert f"CLAUDE_PLUGIN_ROOT={plugin}" in (plugin / "seen.txt").read_text()
    assert not (world.repo / "a.txt").exists()


async def test_rules_name_skills_of_plugins(world, plugin):
    deny = {"permissions": {"deny": ["Skill(acme:ship)"]}}
    settings = with_plugins(world.settings(pluginDirs=[str(plugin)], **deny))
    async with world.session(use("acme:ship"), says(), board=world.board_of(settings)) as session:
        await session.run("Go")
    assert "was denied by the rule Skill(acme:ship)" in results(session)[0]


def test_the_option_names_plugins_and_doctor_reports_them(world, plugin, tmp_path):
    command = [sys.executable, "-m", "pegboard_cli", "doctor", "--plugin-dir", "../acme", "--plugin-dir", "../none"]
    made = subprocess.run(command, cwd=world.repo, env=os.environ, capture_output=True, text=True, timeout=120)
    assert f"The plugin acme is used from {plugin}." in made.stdout
    assert f"There is no folder {tmp_path}/none." in made.stdout
