"""A program drives a conversation through pipes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard_cli.main import main
from pegboard_cli.program_lines import LONGEST, LineSplitter
from pegboard_cli.program_messages import TYPES, ToolResult, parse
from pegboard_cli.program_tools import ProgramTools
from pegboard_testing.warm import warm

pytestmark = pytest.mark.timeout(90)
PAGE = Path(__file__).parents[4] / "docs/reference/stream-json.md"


class Driven:
    """`pegboard run` with pipes on both ends."""

    def __init__(self, folder: Path, script: str, *words: str) -> None:
        (folder / "script.jsonl").write_text(script)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PEGBOARD", "XDG"))}
        formats = ["--input-format", "stream-json", "--output-format", "stream-json"]
        self.seen: list[dict[str, Any]] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pegboard_cli", "run", *formats, "--replay", "script.jsonl", *words],
            cwd=folder,
            env={**kept, "HOME": str(warm(folder))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def write(self, message: dict[str, Any] | str) -> None:
        assert self.process.stdin
        self.process.stdin.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
        self.process.stdin.flush()

    def wait_for(self, expected: dict[str, Any]) -> dict[str, Any]:
        """The next line that has these fields."""
        assert self.process.stdout
        for line in self.process.stdout:
            event = json.loads(line)
            self.seen.append(event)
            if expected.items() <= event.items():
                return event
        raise AssertionError(f"{expected} never came after {self.seen[-5:]}")

    def end(self) -> int:
        assert self.process.stdin
        self.process.stdin.close()
        if self.process.stdout:
            self.seen += map(json.loads, self.process.stdout)
        return self.process.wait(60)


@pytest.fixture
def driven(tmp_path: Path) -> Iterator[Any]:
    started: list[Driven] = []

    def start(turns: list[Any] | str, *words: str) -> Driven:
        text = turns if isinstance(turns, str) else "\n".join(json.dumps({"content": content}) for content in turns)
        started.append(Driven(tmp_path, text, *words))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()
        for stream in (one.process.stdin, one.process.stdout):
            if stream:
                stream.close()


def says(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


def calls(name: str, **given: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "name": name, "input": given}]


def blocks(kind: str) -> str:
    return "\n".join(re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text(), re.DOTALL))


def test_the_example_in_the_reference_plays_as_written(driven, tmp_path):
    program = driven(blocks("jsonl"))
    for line in blocks("dialogue").strip().splitlines():
        if line.startswith("> "):
            program.write(line[2:])
        elif line:
            program.wait_for(json.loads(line[2:]))
    assert program.end() == 130, "the last prompt was interrupted"
    assert (tmp_path / "made").exists()
    assert not (tmp_path / "refused").exists()


def test_the_reference_has_every_type_with_an_example(driven):
    text = PAGE.read_text()
    written = {json.loads(line[2:])["type"] for line in blocks("dialogue").splitlines() if line.startswith("> ")}
    assert written == {*TYPES, "promt"}
    program = driven([says("Hello.")])
    program.write({"type": "prompt", "text": "Hi"})
    program.wait_for({"type": "result"})
    assert program.end() == 0
    assert [event["type"] for event in program.seen if f"`{event['type']}`" not in text] == []


def test_every_bad_line_is_an_event_and_the_conversation_goes_on(driven):
    program = driven([says("Still here.")])
    schema = {"type": "object", "properties": {}}
    bad = {
        "{": "This line is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1).",
        "[1]": "A line must be a JSON object, got list.",
        '{"type": "promt"}': "There is no message of the type 'promt'. The types are: prompt, interrupt, answer, "
        "filters, register_tools, remove_tools, tool_result.",
        '{"type": "prompt"}': "prompt: give either text or content.",
        '{"type": "prompt", "text": "a", "txt": 1}': "prompt: txt: Extra inputs are not permitted.",
        '{"type": "interrupt"}': "interrupt: no prompt is being answered.",
        '{"type": "answer", "id": "x", "decision": "allow"}': "answer: no question with the id 'x' is open.",
        '{"type": "tool_result", "id": "x", "content": ""}': (
            "tool_result: no call with the id 'x' is waiting for a result."
        ),
        '{"type": "remove_tools", "names": ["X"]}': "remove_tools: you have registered no tool 'X'.",
        json.dumps(
            {"type": "register_tools", "tools": [{"name": "a b", "description": "d", "input_schema": schema}]}
        ): "'a b' is not a legal tool name. Use 1 to 64 letters, digits, _ and -.",
    }
    for number, (line, words) in enumerate(bad.items(), 1):
        program.write(line)
        assert program.wait_for({"type": "input_error"})["message"] == words
        assert program.seen[-1]["line"] == number
    program.write({"type": "prompt", "text": "Are you there?"})
    assert program.wait_for({"type": "result"})["text"] == "Still here."
    assert program.end() == 0


def test_an_answer_may_bring_another_input(driven, tmp_path):
    program = driven([calls("Bash", command="touch asked"), says("Done.")])
    program.write({"type": "prompt", "text": "Go"})
    question = program.wait_for({"type": "question"})
    answer = {"type": "answer", "id": question["id"], "decision": "allow", "input": {"command": "touch given"}}
    program.write(answer)
    program.wait_for({"type": "result"})
    assert program.end() == 0
    assert (tmp_path / "given").exists()
    assert not (tmp_path / "asked").exists()


def test_rules_can_be_kept(driven, tmp_path):
    program = driven([calls("Bash", command="touch a"), calls("Bash", command="touch a"), says("Done.")])
    program.write({"type": "prompt", "text": "Go"})
    question = program.wait_for({"type": "question"})
    assert question["rules"][0] == "Bash(touch a)"
    program.write({"type": "answer", "id": question["id"], "decision": "allow", "keep_rules": True})
    assert program.wait_for({"type": "rules_kept"})["rules"] == question["rules"]
    program.end()
    assert "Bash(touch a)" in (tmp_path / ".pegboard/settings.local.json").read_text()


WEATHER = {"name": "Weather", "description": "Weather.", "input_schema": {"type": "object", "properties": {}}}


def test_a_tool_of_the_program_is_judged_fails_and_is_cancelled_like_any_other(driven):
    program = driven([calls("Weather"), calls("Weather"), says("No idea."), calls("Weather")])
    program.write({"type": "register_tools", "tools": [WEATHER]})
    program.write({"type": "prompt", "text": "Go"})
    for is_error in (True, False):
        question = program.wait_for({"type": "question", "name": "Weather"})
        program.write({"type": "answer", "id": question["id"], "decision": "allow"})
        call = program.wait_for({"type": "tool_call", "name": "Weather"})
        program.write({"type": "tool_result", "id": call["id"], "content": {"sky": "grey"}, "is_error": is_error})
        done = program.wait_for({"type": "call_finished"})
        assert (done["is_error"], done["said"].replace(" ", "")) == (is_error, '{"sky":"grey"}')
    program.wait_for({"type": "result"})
    program.write({"type": "prompt", "text": "Again"})
    question = program.wait_for({"type": "question", "name": "Weather"})
    program.write({"type": "answer", "id": question["id"], "decision": "allow"})
    call = program.wait_for({"type": "tool_call"})
    program.write({"type": "interrupt"})
    assert program.wait_for({"type": "tool_call_cancelled"})["id"] == call["id"]
    assert program.wait_for({"type": "result"})["stopped_by"] == "interrupted"
    assert program.end() == 130


def test_when_the_input_ends_what_waits_for_the_program_fails_and_the_prompt_is_answered(driven):
    program = driven([calls("Weather"), says("I could not find out.")])
    program.write({"type": "register_tools", "tools": [{**WEATHER, "read_only": True, "open_world": False}]})
    program.write({"type": "prompt", "text": "Go"})
    program.wait_for({"type": "tool_call"})
    assert program.end() == 0
    results = [event for event in program.seen if event["type"] == "call_finished"]
    assert results[0]["said"] == "The program that runs this tool has ended its input, so there is no result."
    assert [event["text"] for event in program.seen if event["type"] == "result"] == ["I could not find out."]


def test_filters_change_what_the_model_is_shown_and_can_be_lifted(driven):
    program = driven([calls("Read", file_path="script.jsonl"), says("Hidden."), says("x")])
    program.write({"type": "filters", "availableTools": ["Grep"]})
    assert "Read" in program.wait_for({"type": "tools_updated"})["removed"]
    program.write({"type": "prompt", "text": "Go"})
    assert "Read is not in availableTools of filters." in program.wait_for({"type": "call_finished"})["said"]
    program.wait_for({"type": "result"})
    program.write({"type": "filters"})
    assert "Read" in program.wait_for({"type": "tools_updated"})["added"]
    program.write({"type": "filters", "excludedTools": ["Nix"]})
    assert "there is no tool 'Nix'" in program.wait_for({"type": "notice"})["message"]
    assert program.end() == 0


def test_a_program_that_no_longer_reads_ends_the_conversation(driven):
    program = driven([calls("Bash", command="touch begun; sleep 600")], "--allow", "Bash")
    program.write({"type": "prompt", "text": "Go"})
    program.wait_for({"type": "call_started"})
    program.process.stdout.close()
    program.process.stdout = None
    assert program.process.wait(60) == 141


@pytest.mark.parametrize("words", [["Hello"], ["--print"], ["--output-format", "json"]])
def test_options_that_make_no_sense_together_are_a_usage_error(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["run", "--output-format", "stream-json", "--input-format", "stream-json", *words])
    assert ended.value.code == 2
    assert "stream-json" in capsys.readouterr().err


def test_lines_come_whole_from_any_pieces():
    lines: list[bytes | None] = []
    splitter = LineSplitter(lines.append)
    for piece in (b'{"a"', b": 1}\n\n  \n", b"x\ny", b"z"):
        splitter.feed(piece)
    splitter.end()
    assert lines == [b'{"a": 1}', b"x", b"yz"]
    splitter.feed(b"x" * LONGEST)
    splitter.feed(b"yz\nnext\n")
    assert lines[3:] == [None, b"next"]


def test_a_message_is_read_with_its_defaults():
    message = parse(b'{"type": "filters", "availableTools": null}')
    assert message.model_dump() == {"type": "filters", "available": None, "excluded": []}


async def test_calls_with_equal_ids_each_get_their_result():
    asked: list[dict[str, Any]] = []

    class Lines:
        def line(self, kind: str, **data: Any) -> None:
            asked.append({"type": kind, **data})

    tools, results = ProgramTools(Lines()), dict[str, Any]()

    async def ask(city: str) -> None:
        results[city] = await tools._ask("Weather", {"city": city}, Namespace(call_id="call_0", session_id="s"))

    async with anyio.create_task_group() as group:
        group.start_soon(ask, "Rome")
        group.start_soon(ask, "Oslo")
        await anyio.wait_all_tasks_blocked()
        for call in asked:
            tools.answer(ToolResult(type="tool_result", id=call["id"], content=call["input"]))
    assert results == {"Rome": {"city": "Rome"}, "Oslo": {"city": "Oslo"}}
