"""Tools and settings that the permission tests share: real files, real settings, real tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pegboard import Context, Decision, Facts, Input, Part, Tool, tool
from pegboard.permission.pipeline import judge
from pegboard.settings import Settings, load

FILES = {"user": "home/.pegboard/settings.json", "managed": "managed/settings.json"}


class FileInput(Input):
    file_path: Path
    limit: int | None = None


class CommandInput(Input):
    command: str
    run_in_background: bool = False


class UrlInput(Input):
    url: str


class AgentInput(Input):
    prompt: str = ""
    subagent_type: str = ""
    model: str | None = None


@tool(read_only=True, open_world=False)
def Read(args: FileInput, ctx: Context) -> str:
    """Read a file."""
    return ctx.resolve(args.file_path).read_text()


def _write(name: str) -> Tool[FileInput, str]:
    @tool(name=name, open_world=False)
    def write(args: FileInput, ctx: Context) -> str:
        """Write a file."""
        ctx.resolve(args.file_path).write_text("written")
        return "done"

    return write


Edit, Write, NotebookEdit = _write("Edit"), _write("Write"), _write("NotebookEdit")


@tool()
def Bash(args: CommandInput, ctx: Context) -> str:
    """Run a command."""
    return args.command


@tool(read_only=True)
def WebFetch(args: UrlInput, ctx: Context) -> str:
    """Fetch a page."""
    return args.url


@tool(aliases=("Task",))
def Agent(args: AgentInput, ctx: Context) -> str:
    """Start an agent."""
    return args.prompt


TOOLS: dict[str, Tool[Any, Any]] = {
    made.name: made for made in (Read, Edit, Write, NotebookEdit, Bash, WebFetch, Agent)
}


class World:
    """A project, a home directory and a machine's policy in one temporary folder."""

    def __init__(self, base: Path) -> None:
        self.base, self.project, self.home = base, base / "project", base / "home"
        for folder in (self.project / ".pegboard", self.home / ".pegboard", base / "managed"):
            folder.mkdir(parents=True, exist_ok=True)

    def settings(self, *, trusted: Any = True, cwd: Any = None, **layers: Any) -> Settings:
        """Settings read from real files: `project={"deny": [...]}` becomes the permissions of the project's file."""
        for layer, permissions in layers.items():
            name = {"project": "settings.json", "local": "settings.local.json"}.get(layer)
            path = self.project / ".pegboard" / name if name else self.base / FILES[layer]
            path.write_text(json.dumps({"permissions": permissions}, indent=2))
        settings = load(
            cwd or self.project, {"HOME": str(self.home)}, trusted=trusted, managed=str(self.base / "managed")
        )
        settings.require_sound()
        return settings

    def context(self, settings: Settings, **changes: Any) -> Context:
        return Context(**{"cwd": Path(settings.cwd), "settings": settings, **changes})

    def judge(
        self, name: str, given: dict[str, Any], settings: Settings, *, said: Any = (), **changes: Any
    ) -> Decision:
        """The decision on a call of a tool with its own facts."""
        made, ctx = TOOLS[name], self.context(settings, **changes)
        args = made.input.model_validate_json(json.dumps(given))
        facts = made.facts(args, ctx)
        assert isinstance(facts, Facts)
        return judge(made, facts, ctx, list(said), args)

    def command(self, *parts: str | Part, settings: Settings, mode: str = "default", **facts: Any) -> Decision:
        """The decision on a command that was taken apart into these parts."""
        made = tuple(part if isinstance(part, Part) else Part(part) for part in parts)
        ctx = self.context(settings, mode=mode)
        text = " && ".join(part.text for part in made)
        args = CommandInput(command=text)
        return judge(Bash, Facts(parts=made, **{"open_world": False, **facts}), ctx, [], args)
