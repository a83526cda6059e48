"""Play a session that uses every tool of dialog, tasks, plans, worktrees, notebooks and notes, and write it down.

`python docs/played_session.py` writes explanation/a-session-with-every-tool.md; with `--check` it fails where the page
is out of date. The model is played by a server on loopback, and a program answers its questions. All else is real: the
command line, the files, the repository, the transcript, and the kill in the middle.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # The loopback server is among the tests, and this file is run as a script.

from tests.sse import SseServer, message, text, tool_use  # noqa: E402

PAGE = ROOT / "docs/explanation/a-session-with-every-tool.md"
HEAD = """\
<!-- Written by docs/played_session.py; do not edit. -->

# A session with every tool

This session uses every tool for dialog, plans, tasks, notebooks, worktrees and notes at least once.
The model is played by a server on this machine, and a program answers its questions; everything else is real.
In the middle the process is killed, and a second one continues the session and runs until it is complete.
Each section is one answer of the model; what it reads besides results is quoted.
The tests play it again and compare it with this page.
"""
MODEL = "claude-sonnet-4-5"
"""One that is given the tools for tasks: newer ones plan without them."""
ALLOWED = ("memory", "Edit", "EnterWorktree", "Bash(python3:*)")
CODE = "def double(number):\n    return 2 * number\n\n\ndef triple(number):\n    return 2 * number\n"
NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "id": "title", "metadata": {}, "source": ["# Numbers"]},
        {
            "cell_type": "code",
            "execution_count": 3,
            "id": "sum",
            "metadata": {},
            "outputs": [{"name": "stdout", "output_type": "stream", "text": ["4\n"]}],
            "source": ["double(2)"],
        },
        {"cell_type": "raw", "id": "old", "metadata": {}, "source": ["remove me"]},
    ],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}
PLAN = "1. Mend `triple`.\n2. Use it in the notebook."
EDITED_PLAN = f"{PLAN}\n3. Note how to test."
QUESTION = {
    "question": "Which file first?",
    "header": "Order",
    "options": [{"label": "The code", "description": "Then the notebook"}, {"label": "The notebook"}],
}
MEND = [
    {
        "old_string": "def triple(number):\n    return 2 * number",
        "new_string": "def triple(number):\n    return 3 * number",
    }
]
MEND += [{"old_string": "def double(number):", "new_string": "def double(number: int) -> int:"}]
CHECK = "python3 -c 'from numbers_here import triple; assert triple(2) == 6; print(\"ok\")'"


def turn(*said: str | tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """What the model says in one request: words, and calls."""
    return [text(part) if isinstance(part, str) else {"name": part[0], "input": part[1]} for part in said]


def todo(*states: str) -> dict[str, Any]:
    """The to-do list with its items in these states."""
    items = ("Mend triple", "Use it in the notebook", "Note how to test")
    return {"todos": [{"content": item, "status": state} for item, state in zip(items, states, strict=True)]}


def cell(mode: str, **given: Any) -> tuple[str, dict[str, Any]]:
    """A change of the notebook."""
    return "NotebookEdit", {"notebook_path": "numbers.ipynb", "edit_mode": mode, **given}


def note(command: str, **given: Any) -> tuple[str, dict[str, Any]]:
    """A call of memory."""
    return "memory", {"command": command, **given}


BUILD = "/memories/build.md"
FIRST = "Mend triple, and use it in the notebook. Plan it first."
BEFORE_THE_KILL = [
    turn("I plan before I change anything.", ("EnterPlanMode", {})),
    turn(("Read", {"file_path": "numbers_here.py"}), ("Read", {"file_path": "numbers.ipynb"})),
    turn(("AskUserQuestion", {"questions": [QUESTION]})),
    turn("In plan mode nothing changes:", ("Write", {"file_path": "early.txt", "content": "x"})),
    turn(("ExitPlanMode", {"plan": PLAN})),
    turn("The settings first.", ("Config", {"action": "get", "setting": "todo.remindAfter"})),
    turn(("Config", {"action": "set", "setting": "todo.remindAfter", "value": 20})),
    turn(("TodoWrite", todo("in_progress", "pending", "pending"))),
    turn(("TaskCreate", {"subject": "Review the code", "description": "Once it is mended."})),
    turn(("TaskCreate", {"subject": "Tell the users", "activeForm": "Telling the users"})),
    turn(("TaskUpdate", {"taskId": "5", "addBlockedBy": ["4"], "owner": "docs"})),
    turn(("TaskGet", {"taskId": "5"})),
    turn(("TaskList", {})),
    turn("Are there notes?", note("view")),
    turn(("MultiEdit", {"file_path": "numbers_here.py", "edits": MEND})),
    turn(("Bash", {"command": CHECK})),
    turn(("TodoWrite", todo("completed", "in_progress", "pending"))),
    turn(cell("replace", cell_id="sum", new_source="triple(2)")),
    turn(cell("insert", cell_id="sum", cell_type="markdown", new_source="Three times two.")),
    turn(cell("delete", cell_id="old")),
    turn("What is not there gets a clear answer:", cell("delete", cell_id="old")),
    turn(("TodoWrite", todo("completed", "completed", "in_progress"))),
    turn("A worktree for an experiment.", ("EnterWorktree", {"name": "experiment"})),
    turn(("Write", {"file_path": "idea.txt", "content": "What if numbers were words?\n"})),
    turn("Uncommitted work is not removed:", ("ExitWorktree", {"action": "remove"})),
    turn(("ExitWorktree", {"action": "keep"})),
    turn(("EnterWorktree", {"name": "experiment"})),
    turn(("Read", {"file_path": "idea.txt"})),
    turn(("ExitWorktree", {"action": "remove", "discard_changes": True})),
    turn(note("create", path=BUILD, file_text="# How to test\nRun python3 check.py.\n")),
    turn("The code is mended. The tasks of others are open."),
]
SECOND = "Finish what is left."
AFTER_THE_KILL = [
    turn("What was left?", ("TaskList", {})),
    turn(note("view", path=BUILD)),
    turn(note("str_replace", path=BUILD, old_str="check.py", new_str="test_numbers.py")),
    turn(note("insert", path=BUILD, insert_line=2, insert_text="It prints ok.\n")),
    turn(note("rename", old_path=BUILD, new_path="/memories/how-to/test.md")),
    turn("No note can be elsewhere:", note("create", path="/memories/../up.md", file_text="x")),
    turn(note("create", path="/memories/scratch.md", file_text="Not needed.\n")),
    turn(note("delete", path="/memories/scratch.md")),
    turn(
        ("TaskUpdate", {"taskId": "4", "status": "completed"}), ("TaskUpdate", {"taskId": "5", "status": "completed"})
    ),
    turn("I think that is all."),
    turn(("TodoWrite", todo("completed", "completed", "completed"))),
    turn(("task_complete", {"summary": "Mended `triple`, used it in the notebook, and noted how to test."})),
]
ANSWERS = {
    "AskUserQuestion": {"decision": "allow", "input": {"Which file first?": "The code"}},
    "ExitPlanMode": {"decision": "allow", "input": {"plan": EDITED_PLAN}},
}


class Played:
    """One process of the session, driven through pipes."""

    def __init__(self, folder: Path, url: str, *words: str) -> None:
        home = folder.parent / "home"
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
        env = {**kept, "HOME": str(home), "ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": url}
        formats = ["--input-format", "stream-json", "--output-format", "stream-json"]
        rules = [word for rule in ALLOWED for word in ("--allow", rule)]
        self.events: list[dict[str, Any]] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pegboard_cli", "run", *formats, "--model", MODEL, *rules, *words],
            cwd=folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, prompt: str) -> dict[str, Any]:
        """Answer every question on the way; returns the result."""
        self._write(type="prompt", text=prompt)
        assert self.process.stdout
        for line in self.process.stdout:
            event = json.loads(line)
            self.events.append(event)
            if event["type"] == "question":
                self._write(type="answer", id=event["id"], **ANSWERS.get(event["name"], {"decision": "allow"}))
            if event["type"] == "result":
                return event
        raise SystemExit(f"pegboard ended early: {self.events[-3:]}")

    def _write(self, **message: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()


def play(place: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Any]]:
    """The messages of the whole session, the events of its second process, and the result."""
    project = make_project(place)
    turns = [*BEFORE_THE_KILL, *AFTER_THE_KILL]
    script = [
        message(*(as_block(part, number, at) for at, part in enumerate(said))) for number, said in enumerate(turns)
    ]
    with SseServer(script) as server:
        first = Played(project, server.url)
        first.ask(FIRST)
        first.process.kill()
        first.process.communicate()
        second = Played(project, server.url, "--continue", "--until-complete")
        result = second.ask(SECOND)
        second.process.communicate(timeout=60)
        if second.process.returncode:
            raise SystemExit(f"pegboard failed with exit code {second.process.returncode}: {result}")
        return server.requests[-1].body["messages"], second.events, result


def as_block(part: dict[str, Any], turn: int, at: int) -> dict[str, Any]:
    """A part of a turn as the service sends it."""
    return part if "type" in part else tool_use(part["name"], part["input"], f"toolu_{turn}_{at}")


def make_project(place: Path) -> Path:
    """A small repository."""
    project = place / "project"
    project.mkdir()
    (place / "home").mkdir()
    (project / "numbers_here.py").write_text(CODE)
    (project / "numbers.ipynb").write_text(json.dumps(NOTEBOOK, indent=1) + "\n")
    who = {f"GIT_{role}_{what}": "pegboard" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "Begin"]):
        subprocess.run(["git", *words], cwd=project, env={**os.environ, **who, "HOME": str(place)}, check=True)
    return project


def page(place: Path) -> str:
    """The whole page."""
    messages, events, result = play(place)
    body = "".join(lines(messages, events, result))
    for real, name in ((os.path.realpath(place), ""), (str(place), "")):
        body = body.replace(f"{real}/home", "/home/you").replace(f"{real}/project", f"{name}/project")
    return HEAD + re.sub(r"\b[0-9a-f]{32}\b|\b[0-9a-f]{8}(?=[).])", "…", body)


def lines(messages: list[dict[str, Any]], events: list[dict[str, Any]], result: dict[str, Any]) -> Iterator[str]:
    """The conversation: what was said, what was called, and what came of it."""
    number = 0
    for said in messages:
        if said["role"] == "assistant":
            number += 1
            yield f"\n## {number}\n"
        for block in said["content"]:
            is_quoted = block["type"] == "text" and said["role"] == "user"
            yield from (quote(block["text"]) if is_quoted else as_lines(block))
    last = next(event for event in reversed(events) if event["type"] == "call_finished")
    asked = next(event for event in events if event["type"] == "call_requested" and event["id"] == last["id"])
    yield f"\n## {number + 1}\n"
    yield from as_lines({"type": "tool_use", "name": asked["name"], "input": asked["input"]})
    yield from as_lines({"type": "tool_result", "content": [text(last["said"])]})
    yield f"\nThe run ends with exit code 0, `stopped_by` is `{result['stopped_by']}`, and the text is:\n"
    yield from quote(result["text"])


def quote(words: str) -> Iterator[str]:
    """What the model reads and no tool says."""
    quoted = words.strip().replace("\n", "\n> ")
    yield f"\n> {quoted}\n"


def as_lines(block: dict[str, Any]) -> Iterator[str]:
    """A block as Markdown."""
    if block["type"] == "text":
        yield f"\n{block['text']}\n"
    elif block["type"] == "tool_use":
        given = json.dumps(block["input"], ensure_ascii=False)
        yield f"\n**{block['name']}**\n\n```json\n{given}\n```\n"
    elif block["type"] == "tool_result":
        content = block["content"]
        parts = [content] if isinstance(content, str) else [part["text"] for part in content if part["type"] == "text"]
        fence = "````" if any("```" in part for part in parts) else "```"
        shown = "\n".join(parts).rstrip()
        yield f"\n{fence}text\n{shown}\n{fence}\n"


def main() -> int:
    """Write the page, or with `--check` compare it."""
    with tempfile.TemporaryDirectory(prefix="pegboard-played-") as place:
        made = page(Path(place))
    if "--check" not in sys.argv:
        PAGE.write_text(made)
        return 0
    if PAGE.exists() and PAGE.read_text() == made:
        return 0
    sys.stderr.write(f"{PAGE.relative_to(ROOT)} is out of date. Run python docs/played_session.py.\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
