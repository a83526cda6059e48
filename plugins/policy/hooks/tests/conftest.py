"""A project in a temporary folder: scripts, settings files of every layer, and a board with a few small tools."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import pegboard_files
import pegboard_hooks
import pegboard_processes
import pegboard_rules
from pegboard import Allow, Board, Call, Context, Facts, Input, Part, ProcessSpec, Tool, ToolError, hookimpl
from pegboard.settings import load
from pegboard_session import ReplayProvider, Session
from pegboard_testing.warm import warm


class WriteInput(Input):
    file_path: Path
    content: str


class WriteOutput(BaseModel):
    file_path: str
    content: str


class Write(Tool[WriteInput, WriteOutput]):
    """Write a file."""

    overrides_built_in = True
    rule_subject, rule_parameter, capability = "path", "file_path", "edit"
    open_world = False

    def facts(self, args: WriteInput, ctx: Context, /) -> Facts:
        return Facts(open_world=False, writes=(ctx.resolve(args.file_path),))

    def call(self, args: WriteInput, ctx: Context, /) -> WriteOutput:
        path = ctx.resolve(args.file_path)
        path.write_text(args.content)
        return WriteOutput(file_path=str(path), content=args.content)

    def content(self, value: WriteOutput, /) -> str:
        return f"Wrote {value.content!r}."


class BashInput(Input):
    command: str
    description: str | None = None


class Bash(Tool[BashInput, str]):
    """Run a command."""

    overrides_built_in = True
    rule_subject, rule_parameter = "command", "command"

    def facts(self, args: BashInput, ctx: Context, /) -> Facts:
        return Facts(parts=tuple(Part(piece.strip()) for piece in args.command.split("&&")))

    async def call(self, args: BashInput, ctx: Context, /) -> str:
        output = bytearray()
        ended = await ctx.processes.run(ProcessSpec(("sh", "-c", args.command), ctx.cwd), on_output=output.extend)
        if ended.code:
            raise ToolError(f"The command exited with code {ended.code}.", code="internal", remedy="")
        return output.decode()


class EchoInput(Input):
    text: str


class Echo(Tool[EchoInput, str]):
    """Say it again."""

    read_only = concurrency_safe = True
    open_world = False
    aliases = ("Repeat",)

    async def call(self, args: EchoInput, ctx: Context, /) -> str:
        return args.text


class Person:
    """Somebody who says yes to everything, and whoever watches."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.events: list[Any] = []
        self.answer: Any = Allow("by hand", layer="ask")

    @hookimpl
    def ask_user(self, question):
        self.asked.append(question)
        return self.answer

    @hookimpl
    def observe(self, event):
        self.events.append(event)

    def notices(self):
        return [e.data["message"] for e in self.events if e.kind in ("notice", "call_progress")]


class Project:
    """Scripts and settings on disk, read the way a host reads them."""

    def __init__(self, tmp_path: Path) -> None:
        self.root, self.home = tmp_path / "project", tmp_path / "home"
        self.files = {
            "user": self.home / ".pegboard/settings.json",
            "project": self.root / ".pegboard/settings.json",
            "local": self.root / ".pegboard/settings.local.json",
            "managed": tmp_path / "managed/settings.json",
        }
        for file in self.files.values():
            file.parent.mkdir(parents=True, exist_ok=True)
        self.person = Person()

    def script(self, text: str, name: str = "") -> str:
        """An executable script; Python unless it begins with a #! line."""
        folder = self.home / "scripts"
        folder.mkdir(exist_ok=True)
        path = folder / (name or f"hook{len(list(folder.iterdir()))}")
        path.write_text(text if text.startswith("#!") else f"#!{sys.executable}\nimport json, sys, os\n{text}\n")
        path.chmod(0o755)
        return str(path)

    def answer(self, said: Any, code: int = 0) -> str:
        """A script that prints this as JSON and exits."""
        return self.script(f"print(json.dumps({said!r}))\nsys.exit({code})")

    def recorder(self) -> tuple[str, Path]:
        """A script that writes what it read to a file, a line each time."""
        log = self.home / f"seen{len(list(self.home.iterdir()))}.jsonl"
        log.touch()
        return self.script(f"open({str(log)!r}, 'a').write(sys.stdin.read().strip() + chr(10))"), log

    def hook(self, event: str, *commands: Any, matcher: str | None = None, layer: str = "user", **fields: Any) -> None:
        """Add a group of handlers to a settings file."""
        file = self.files[layer]
        said = json.loads(file.read_text()) if file.exists() else {}
        handlers = [{"type": "command", "command": one, **fields} if isinstance(one, str) else one for one in commands]
        group = {"hooks": handlers} if matcher is None else {"matcher": matcher, "hooks": handlers}
        said.setdefault("hooks", {}).setdefault(event, []).append(group)
        file.write_text(json.dumps(said))

    def set(self, layer: str = "user", **values: Any) -> None:
        file = self.files[layer]
        said = json.loads(file.read_text()) if file.exists() else {}
        file.write_text(json.dumps({**said, **values}))

    def settings(self, **options: Any) -> Any:
        env = {"HOME": str(warm(self.home)), "PATH": os.environ["PATH"]}
        return load(self.root, env, managed=str(self.files["managed"].parent), **options)

    def board(self, *plugins: Any, **options: Any) -> Board:
        given = {name: value for name, value in options.items() if name != "tools"}
        settings = options.get("settings") or self.settings(**given)
        settings.require_sound()
        plugged = [pegboard_rules, pegboard_hooks, pegboard_processes, pegboard_files, self.person, *plugins]
        return Board(
            settings,
            [],
            plugins=plugged,
            tools=[Write(), Bash(), Echo(), *options.get("tools", ())],
            env={"HOME": str(warm(self.home))},
        )

    async def call(self, name: str, *plugins: Any, trusted: bool = False, mode: str = "default", **given: Any) -> Any:
        """One call through a fresh board."""
        made = self.board(*plugins, trusted=trusted)
        return await made.dispatch(Call("toolu_1", name, given), made.context(mode=mode, session_id="s1"))

    async def talk(self, prompt: str, *turns: Any, **options: Any) -> tuple[Any, Session]:
        """One prompt through a session that plays these turns."""
        provider = ReplayProvider([{"content": list(turn)} for turn in turns])
        async with Session(self.board(), provider, session_id="s1", **options) as session:
            return await session.run(prompt), session


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture
def lines():
    """The JSON objects of a file, one a line."""
    return lambda file: [json.loads(line) for line in file.read_text().splitlines()]
