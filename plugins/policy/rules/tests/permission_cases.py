"""Tools and settings that the permission tests share: real files, real settings, real tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pegboard import Context, Decision, Facts, Input, Part, Tool, ToolInfo, tool
from pegboard.contract import with_paths
from pegboard.settings import Settings, load
from pegboard_cli.explanation import Step, trace
from pegboard_rules.modes import ALL
from pegboard_rules.opinions import decide_by_rules, opinions


def judge(
    tool: Tool[Any, Any], facts: Facts, ctx: Context, said: Sequence[Decision], args: Input | None = None
) -> Decision:
    """The decision on a board with nothing but rules, and whoever said something."""
    return decide_by_rules(tool, facts, ctx, args, list(said))


def judge_with_trace(
    tool: Tool[Any, Any], facts: Facts, ctx: Context, said: Sequence[Decision], args: Input | None = None
) -> tuple[Decision, list[Step]]:
    """The same decision, and what each step said."""
    facts = with_paths(facts, ctx)
    return trace(tool, facts, ctx, [*said, *opinions(tool, args, facts, ctx)], ALL)


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


@tool(read_only=True, open_world=False, rule_subject="path", rule_parameter="file_path")
def Read(args: FileInput, ctx: Context) -> str:
    """Read a file."""
    return ctx.resolve(args.file_path).read_text()


def _write(name: str, capability: Any = "") -> Tool[FileInput, str]:
    @tool(name=name, open_world=False, rule_subject="path", rule_parameter="file_path", capability=capability)
    def write(args: FileInput, ctx: Context) -> str:
        """Write a file."""
        ctx.resolve(args.file_path).write_text("written")
        return "done"

    return write


Edit, Write, NotebookEdit = _write("Edit"), _write("Write", "edit"), _write("NotebookEdit", "edit")


@tool(rule_subject="command", rule_parameter="command")
def Bash(args: CommandInput, ctx: Context) -> str:
    """Run a command."""
    return args.command


@tool(read_only=True, rule_subject="host", rule_parameter="url")
def WebFetch(args: UrlInput, ctx: Context) -> str:
    """Fetch a page."""
    return args.url


@tool(aliases=("Task",), rule_subject="name", rule_parameter="subagent_type")
def Agent(args: AgentInput, ctx: Context) -> str:
    """Start an agent."""
    return args.prompt


class SearchInput(Input):
    pattern: str
    path: Path | None = None


@tool(read_only=True, open_world=False, rule_subject="path", rule_parameter="path", capability="read")
def Glob(args: SearchInput, ctx: Context) -> str:
    """Find files."""
    return args.pattern


TOOLS: dict[str, Tool[Any, Any]] = {
    made.name: made for made in (Read, Edit, Write, NotebookEdit, Bash, WebFetch, Agent, Glob)
}


INFOS: dict[str, ToolInfo] = {
    made.name: ToolInfo(made.name, made.aliases, made.rule_subject, made.rule_parameter, made.capability)
    for made in TOOLS.values()
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
