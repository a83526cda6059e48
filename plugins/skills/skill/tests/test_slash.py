"""Commands and skills for people: `/name arguments`, through the registry that every host asks."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pegboard import PegboardError
from pegboard_session import SlashPrompt, find_slash_commands, split_slash_command

from .world import reminders, results, runs, says, texts


async def typed(session, line):
    """What a host does with a line that a person typed."""
    name, given = split_slash_command(line)
    made = await find_slash_commands(session)[name].run(session, given)
    return await session.run(made.text) if isinstance(made, SlashPrompt) else made


async def test_commands_come_from_the_project_and_the_person(world):
    world.command("fix", "---\ndescription: Fixes it\nargument-hint: [issue]\n---\nFix $ARGUMENTS.")
    world.command("front/component", "Make $1 and $2.")
    world.command("mine", "Mine.", at=world.home, place=".pegboard/commands")
    world.skill("review")
    world.skill("for-model", "user-invocable: false\n")
    async with world.session(says()) as session:
        found = find_slash_commands(session)
    ours = {name: found[name] for name in ("component", "fix", "front:component", "mine", "review")}
    assert (ours["fix"].summary, ours["fix"].arguments) == ("Fixes it", "[issue]")
    assert ours["component"].summary == "Make $1 and $2."
    assert "for-model" not in found


async def test_a_command_becomes_a_prompt_with_all_that_it_inserts(world):
    world.command("look", "---\nallowed-tools: Bash(echo:*), Bash(touch:*)\n---\nNow: !`echo $1 $2` @a.txt\n$ARGUMENTS")
    world.put("a.txt", "inside")
    async with world.session(runs("touch b"), says(), runs("touch c"), says()) as session:
        await typed(session, "/look one 'two three'")
        assert world.person.asked == []  # The turn of the command may do what it allows.
        await session.run("On")
    prompt = texts(session.messages[0])[-1]
    assert prompt.startswith("/look one 'two three'\n\nNow: one two three @a.txt\none 'two three'\n\nContents of ")
    assert prompt.endswith("1\tinside")
    assert len(world.person.asked) == 1  # The next one may not.
    assert len(results(session)) == 2


async def test_a_command_that_may_not_run_something_stops_with_the_reason(world):
    world.command("push", "!`git push`")
    rules = {"permissions": {"deny": ["Bash(git push:*)"]}}
    async with world.session(says(), **rules) as session:
        with pytest.raises(PegboardError, match=r"The command /push was stopped: .* denied by the rule Bash\(git push"):
            await typed(session, "/push")
    assert session.messages == []


async def test_a_skill_beats_a_command_of_its_name_and_no_file_beats_a_command_of_a_distribution(world, monkeypatch):
    world.command("same", "Of the command.")
    world.skill("same", body="Of the skill.")
    world.command("help", "Not help.")
    async with world.session(says()) as session:
        await typed(session, "/same")
        assert "Of the skill." in texts(session.messages[0])[-1]
        assert all(command.is_fallback for name, command in find_slash_commands(session).items() if name == "same")


async def test_a_skill_that_runs_in_a_sub_agent_shows_its_report(world):
    world.skill("study", "context: fork\ndisable-model-invocation: true\n", "Study $0.")
    child = {"agent": "general-purpose", **says("The report.")}
    async with world.session(says(), child) as session:
        said = await typed(session, "/study it")
        await session.run("And?")
    assert "The report." in said
    assert any(
        "The user ran /study in a sub-agent, which reported:" in words for words in reminders(session.messages[0])
    )


async def test_names_with_blanks_are_typed_with_dashes(world):
    world.skill("dir", "name: Code Review\n")
    async with world.session(says()) as session:
        assert "Code-Review" in find_slash_commands(session)


def test_the_command_line_runs_a_command_by_its_name(world):
    world.command("greet", "Greet $ARGUMENTS.")
    world.put("r.jsonl", '{"content": [{"type": "text", "text": "Hello."}]}\n')
    command = [sys.executable, "-m", "pegboard_cli", "run", "/greet Ann", "--replay", "r.jsonl", "--trust"]
    made = subprocess.run(command, cwd=world.repo, capture_output=True, text=True, timeout=120)
    assert "Hello." in made.stdout, made.stderr
    told = "".join(path.read_text() for path in world.home.parent.glob("state/**/*.jsonl"))
    assert "Greet Ann." in told
