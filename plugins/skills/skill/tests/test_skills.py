"""Skills in real sessions: what the model is told, what it reads when it uses one, and what it may then do."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pegboard import Board, Call
from pegboard_cli.explanation import explain
from pegboard_session import Transcript, restore
from pegboard_skill.skill_list import INTRODUCTION

from .world import calls, reminders, results, runs, says, texts, use


async def test_only_names_and_descriptions_are_told_before_the_first_prompt(world):
    world.skill("commit", body="A secret body.")
    world.skill("review", "when_to_use: Before a merge\n", place=".pegboard/skills")
    world.skill("agents", place=".agents/skills")
    world.skill("hidden", "disable-model-invocation: true\n")
    async with world.session(says(), says()) as session:
        await session.run("Go")
        await session.run("On")
    told = [
        INTRODUCTION,
        "- agents: About agents",
        "- commit: About commit",
        "- review: About review Before a merge",
    ]
    assert "\n".join(told) in reminders(session.messages[0])
    assert "secret body" not in str(session.messages)
    assert reminders(session.messages[2]) == []


async def test_changes_are_told_with_the_next_prompt(world):
    first = world.skill("one")
    world.skill("two")
    async with world.session(says(), says(), says()) as session:
        await session.run("Go")
        first.write_text("---\ndescription: Another word\n---\nx\n")
        world.skill("three")
        (world.repo / ".claude/skills/two/SKILL.md").unlink()
        await session.run("On")
        await session.run("On")
    assert reminders(session.messages[2]) == [
        "New or changed skills for the tool Skill:\n- one: Another word\n- three: About three",
        "These skills no longer exist: two",
    ]
    assert reminders(session.messages[4]) == []


async def test_a_used_skill_is_read_with_its_arguments_files_and_folder(world):
    file = world.skill("fix", "arguments: issue\n", "Fix $issue ($0). ARGS: $ARGUMENTS. See @notes.txt and [a](a.md).")
    world.put(".claude/skills/fix/scripts/run.sh", "")
    world.put("notes.txt", "remember\n")
    async with world.session(use("fix", "12 'now please'"), says()) as session:
        await session.run("Go")
    [said] = results(session)
    assert said.startswith(f"Instructions from the skill fix. Paths in them are relative to {file.parent}.\n")
    assert "Files there: scripts/run.sh" in said
    assert "Fix 12 (12). ARGS: 12 'now please'. See @notes.txt" in said
    assert f"Contents of {world.repo}/notes.txt:\n\n1\tremember" in said
    assert world.person.asked == []


async def test_arguments_without_a_place_are_added_and_the_same_text_comes_once(world):
    world.skill("plain")
    async with world.session(use("plain", "a"), use("plain", "a"), use("Plain", "b"), says()) as session:
        await session.run("Go")
    first, second, third = results(session)
    assert first.endswith("Do it.\n\nARGUMENTS: a")
    assert second == "The skill plain is already in this conversation, with the same text. Follow it."
    assert third.endswith("ARGUMENTS: b")


async def test_a_person_is_asked_where_a_skill_does_more_than_tell(world):
    world.skill("tell")
    world.skill("grant", "allowed-tools: Bash(touch:*)\n")
    world.skill("run", body="!`git --version`")
    async with world.session(use("tell"), use("grant"), use("run"), says()) as session:
        await session.run("Go")
    assert world.person.asked == ["Use the skill grant", "Use the skill run"]
    assert "git version" in results(session)[2]


async def test_allowed_tools_hold_for_the_turn_that_uses_the_skill(world):
    world.skill("make", "allowed-tools: Bash(touch:*), Write\n")
    turns = [use("make"), runs("touch a"), runs("rm a"), says(), runs("touch b"), says()]
    async with world.session(*turns, permissions={"allow": ["Skill"]}) as session:
        await session.run("Go")
        assert len(world.person.asked) == 1
        assert (world.repo / "a").exists() is False
        await session.run("On")
    assert len(world.person.asked) == 2
    assert (world.repo / "b").exists()


@pytest.mark.parametrize("kind", ["ask", "deny"])
async def test_allowed_tools_stay_below_rules_that_ask_or_deny(world, kind):
    world.skill("make", "allowed-tools: Bash\n")
    rules = {"permissions": {"allow": ["Skill"], kind: ["Bash(touch:*)"]}}
    async with world.session(use("make"), runs("touch a"), says(), **rules) as session:
        await session.run("Go")
    assert len(world.person.asked) == (kind == "ask")
    assert (world.repo / "a").exists() == (kind == "ask")


async def test_an_untrusted_project_allows_nothing_and_runs_nothing(world):
    world.skill("make", "allowed-tools: Bash\n")
    world.skill("run", body="!`touch b`")
    async with world.session(use("make"), runs("touch a"), use("run"), says(), trusted=False, asks=False) as session:
        await session.run("Go")
    assert results(session)[0].endswith("Do it.")
    assert "this project is not trusted. To trust it, run pegboard trust." in results(session)[2]
    assert not (world.repo / "a").exists()
    assert not (world.repo / "b").exists()


async def test_disallowed_tools_are_denied_for_the_turn(world):
    world.skill("look", "disallowed-tools: Bash\n")
    async with world.session(use("look"), runs("true"), says(), runs("true"), says()) as session:
        await session.run("Go")
        await session.run("On")
    _, first, second = results(session)
    assert "The skill look does not allow Bash until the next prompt" in first
    assert "does not allow" not in second


async def test_what_a_skill_inserts_never_asks_and_names_the_rule(world):
    world.skill("open", "allowed-tools: Bash(echo:*)\n", "!`echo from $0`")
    world.skill("unruled", body="!`touch a`")
    world.skill("asking", body="!`touch a`")
    world.skill("failing", body="!`false`")
    rules = {"permissions": {"allow": ["Skill"], "ask": ["Bash(touch a)"]}}
    async with world.session(use("unruled"), says(), permissions={"allow": ["Skill"]}) as session:
        await session.run("Go")
    [unruled] = results(session)
    assert "The skill unruled was stopped: its command `touch a` needs approval, and a skill never asks." in unruled
    assert "No rule allows it: add Bash(touch a) to permissions.allow to use this skill." in unruled
    async with world.session(use("open", "here"), use("asking"), use("failing"), says(), **rules) as session:
        await session.run("Go")
    opened, asking, failing = results(session)
    assert opened.endswith("from here")
    assert "The rule Bash(touch a) is in " in asking
    assert "its command `false` failed. The command exited with code 1." in failing
    assert world.person.asked == []
    assert not (world.repo / "a").exists()


async def test_commands_of_skills_can_be_switched_off(world):
    world.skill("run", body="!`echo hi`")
    switched = {"permissions": {"allow": ["Skill"]}, "disableSkillShellExecution": True}
    async with world.session(use("run"), says(), **switched) as session:
        await session.run("Go")
    assert "its command `echo hi` was not run: disableSkillShellExecution is set" in results(session)[0]


async def test_rules_name_skills(world):
    for name in ("deploy", "Deploy-Prod", "free"):
        world.skill(name, "allowed-tools: Read\n")
    deny = {"permissions": {"deny": ["Skill(deploy)", "Skill(free now)"], "allow": ["Skill(free *)"]}}
    turns = [use("deploy"), use("DEPLOY"), use("free", "now"), use("free", "later"), says()]
    async with world.session(*turns, **deny) as session:
        await session.run("Go")
    denied, also, third, fourth = results(session)
    assert "was denied by the rule Skill(deploy)" in denied
    assert "was denied by the rule Skill(deploy)" in also
    assert "was denied by the rule Skill(free now)" in third
    assert "Do it." in fourth
    assert "deploy:" not in str(reminders(session.messages[0]))
    assert world.person.asked == []


async def test_who_may_start_a_skill_is_kept(world):
    world.skill("by-hand", "disable-model-invocation: true\n")
    async with world.session(use("by-hand"), use("by-hnad"), says()) as session:
        await session.run("Go")
    first, second = results(session)
    assert "Only the user may start the skill by-hand, by typing /by-hand." in first
    assert "There is no skill 'by-hnad'" in second


async def test_skills_for_certain_files_are_told_when_one_is_touched(world):
    world.skill("styles", "paths: '**/*.css'\n")
    world.put("web/a.css", "a{}")
    world.skill("nested", at=world.repo / "web")
    async with world.session(calls(("Read", {"file_path": "web/a.css"})), says()) as session:
        await session.run("Go")
    assert not any("styles" in words or "nested" in words for words in reminders(session.messages[0]))
    assert f"{INTRODUCTION}\n- nested: About nested\n- styles: About styles" in reminders(session.messages[2])


async def test_a_skill_may_run_in_a_sub_agent_with_what_it_allows(world):
    world.skill("study", "context: fork\nallowed-tools: Bash(touch:*)\n", "Study $ARGUMENTS.")
    turns = [use("study", "x"), runs("touch c"), says()]
    child = [{"agent": "general-purpose", **turn} for turn in (runs("touch b"), says("The report."))]
    async with world.session(*turns, *child, permissions={"allow": ["Skill"]}) as session:
        await session.run("Go")
    report = results(session)[0]
    assert "The report." in report
    assert (world.repo / "b").exists()
    assert len(world.person.asked) == 1  # What it allows, it allows only there.


async def test_an_agent_knows_the_skills_that_its_definition_names(world):
    world.skill("house", body="Mind the rules of the house.")
    world.put(".claude/agents/a.md", "---\nname: helper\ndescription: d\nskills: house\n---\nHelp.\n")
    start = calls(("Agent", {"description": "d", "prompt": "p", "subagent_type": "helper"}))
    board, seen = world.board(), []
    async with world.session(start, says(), {"agent": "helper", **says("ok")}, board=board) as session:
        provider_of = session.provider.for_agent

        def watched(name, kind):
            child = provider_of(name, kind)
            stream = child.stream
            child.stream = lambda request: (seen.append(request), stream(request))[1]
            return child

        session.provider.for_agent = watched
        await session.run("Go")
    assert any("Mind the rules of the house." in part for part in seen[0].system)


async def test_personal_beats_project_and_an_untrusted_project_replaces_nothing(world):
    world.skill("same", body="Of the project.")
    world.skill("Same", body="Of the person.", at=world.home)
    async with world.session(use("same"), says()) as session:
        await session.run("Go")
    assert "Of the person." in results(session)[0]


async def test_the_nearest_folder_of_a_project_counts(world):
    world.skill("same", body="Of the root.")
    app = world.repo / "apps/web"
    app.mkdir(parents=True)
    world.skill("same", body="Of the app.", at=app)
    async with world.session(use("same"), says(), cwd=app) as session:
        await session.run("Go")
    assert "Of the app." in results(session)[0]


async def test_a_resumed_session_is_told_only_what_is_new(world, tmp_path):
    world.skill("one")
    path = tmp_path / "t.jsonl"
    board = world.board()
    session = world.session(use("one"), says(), board=board)
    session.transcript = Transcript(path)
    async with session:
        await session.run("Go")
    world.skill("two")
    again = world.session(use("one"), says(), board=board)
    again.resume(restore(path), board.context())
    async with again:
        await again.run("On")
    assert reminders(again.messages[-4])[-1] == "New or changed skills for the tool Skill:\n- two: About two"
    assert "already in this conversation" in results(again)[-1]


async def test_after_a_summary_skills_are_told_and_shown_again(world):
    world.skill("one", body="The body of one.")
    async with world.session(use("one"), says(), says("A summary."), says()) as session:
        await session.run("Go")
        await session.compact()
    whole = "\n".join(texts(session.messages[0]))
    assert f"{INTRODUCTION}\n- one: About one" in whole
    assert "The body of one." in whole


async def test_skills_can_be_switched_off(world):
    world.skill("one")
    async with world.session(use("one"), says(), skills={"enabled": False}) as session:
        await session.run("Go")
    assert reminders(session.messages[0]) == []
    assert "No skills are available here" in results(session)[0]


async def test_why_tells_what_a_skill_would_do(world):
    world.skill("make", "allowed-tools: Bash(touch:*)\n")
    async with world.session(says()) as session:
        judged = await explain(Call("1", "Skill", {"skill": "make"}), session.ctx, session.board)
    assert judged.decision.word == "ask"
    words = "The skill make would allow Bash(touch:*) without asking until the next prompt."
    assert judged.decision.reason == words


def test_an_installed_package_brings_skills_and_is_not_imported(world, tmp_path):
    site = tmp_path / "site"
    package = site / "acme_skills"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    world.skill("acme", at=package, place="skills")
    info = site / "acme_skills-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-skills\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[pegboard.skills]\nacme = acme_skills.skills\n")
    script = (
        f"import sys, os; sys.path.insert(0, {str(site)!r})\n"
        "from pegboard.settings import load\nfrom pegboard_skill.discovery import discover\n"
        "for _ in range(2):\n    print(discover(load('.'), os.environ).find('acme').origin)\n"
        "print('acme_skills' in sys.modules)"
    )
    made = subprocess.run([sys.executable, "-c", script], cwd=world.repo, capture_output=True, text=True, timeout=60)
    assert made.stdout.split() == ["package", "package", "False"], made.stderr


def test_the_tool_is_listed_without_importing_its_plugin():
    assert Board.load().pool.get("Skill").family == "skills"
