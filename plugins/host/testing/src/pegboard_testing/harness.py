"""Where the kit runs a tool: a sample tree, a session with a scripted model, and an approver."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from pegboard import Allow, Block, Board, Call, Context, Result, Tool, ToolError
from pegboard.hosting import BoundHooks, BoundTool, PluginRecord, load_index, maybe_await, run_calls, runner
from pegboard.settings import load
from pegboard_session.loop import Session
from pegboard_session.replay import ReplayProvider
from pegboard_testing.answers import Answers
from pegboard_testing.trees import plant

ANSWER = "Done."
"""What the played model says to whoever asks it: a tool with a question, or a sub-agent."""
MOST_ANSWERS = 200
OWN = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{6,}(?![0-9A-Za-z])|\d+(\.\d+)?(?= ?(ms|s)\b)")
"""Ids and times: they differ from call to call, whatever else runs."""

HARMLESS = frozenset(
    {
        *("register_tools", "register_services", "register_session_services", "register_agents", "find_agents"),
        *("start_session", "system_prompt_parts", "check_tools", "diagnose"),
    }
)
"""Hooks that add something to a session and do nothing to a call."""

Execute = Callable[..., Awaitable[Any]]
Wrap = Callable[[Tool[Any, Any], Execute], Execute]
Example: TypeAlias = dict[str, Any] | Callable[[Context], dict[str, Any] | Awaitable[dict[str, Any]]]
"""An input, or a function that makes what the call needs in a session and returns the input."""


@dataclass(frozen=True, slots=True)
class Case:
    """A tool and the settings under which it is tested, as the command line would give them."""

    tool: Tool[Any, Any]
    settings: Mapping[str, Any] = field(default_factory=dict)


class Stand:
    """One tool in an open session, in a fresh sample tree. It is what a turn needs of a board."""

    def __init__(self, tool: Tool[Any, Any], session: Session, wrap: Wrap | None = None) -> None:
        self.tool, self._session = tool, session
        self.folder = Path(session.board.settings.cwd)
        self.hooks: BoundHooks = session.board.hooks
        execute = runner(tool, self.hooks.wrap_execute)
        self._ready = BoundTool(tool, "the tool under test", wrap(tool, execute) if wrap else execute)

    @property
    def ctx(self) -> Context:
        """The session's context: with files, processes, background work, a model and sub-agents."""
        return self._session.ctx

    def find(self, name: str) -> BoundTool:
        """The tool under test; there is no other."""
        if name != self.tool.name:
            raise ToolError(f"Only {self.tool.name} is under test.", code="not_found")
        return self._ready

    def equip(self, ctx: Context) -> Context:
        """As a real board does it."""
        return self._session.board.equip(ctx)

    async def fit(self, tool: Tool[Any, Any], blocks: tuple[Block, ...], call: Call) -> tuple[Block, ...]:
        """As a real board does it."""
        return await self._session.board.fit(tool, blocks, call)

    async def input(self, example: Example) -> dict[str, Any]:
        """The input itself; what it needs is made in this session."""
        return dict(await maybe_await(example(self.ctx))) if callable(example) else example

    async def run(self, inputs: Iterable[dict[str, Any]], **options: Any) -> list[Result]:
        """The calls of one turn."""
        calls = [Call(f"call-{number}", self.tool.name, given) for number, given in enumerate(inputs)]
        results, _ = await run_calls(self, calls, self.ctx, **options)
        return results

    def words(self, result: Result) -> str:
        """What the model reads, wherever the tree happens to be."""
        return words(result, self.folder)


def words(result: Result, folder: Path) -> str:
    """The text of a result without the name of the temporary folder, private files of the session, ids and times."""
    text = result.text.replace(str(folder), "{cwd}")
    return OWN.sub("*", re.sub(rf"{re.escape(str(folder.parent))}/[^\s:;,)]*", "{private}", text))


@asynccontextmanager
async def stand(case: Case, wrap: Wrap | None = None) -> AsyncGenerator[Stand, None]:
    """A test session in a folder that is removed once everything that the tool started has ended."""
    with tempfile.TemporaryDirectory(prefix="pegboard-contract-", ignore_cleanup_errors=True) as folder:
        script = ReplayProvider([{"content": [{"type": "text", "text": ANSWER}]}] * MOST_ANSWERS, "the kit's script")
        board = _board(case, Path(folder))
        mode, _ = board.hooks.modes.starting(board.settings)
        async with Session(board, script, model="scripted", ctx=board.context(mode=mode)) as session:
            yield Stand(case.tool, session, wrap)


def _board(case: Case, folder: Path) -> Board:
    """A board with the tool's own plugin, the services and the tools it may call; whoever asks is told yes."""
    folder, answers = folder.resolve(), Answers()
    answers.decision = Allow("Approved by the kit.", layer="ask")
    env = {"HOME": str(folder / "home"), "PATH": os.environ.get("PATH", "")}
    settings = load(plant(folder / "work"), env, case.settings, managed=str(folder / "managed"))
    return Board(settings, _plugins_for(package_of(case.tool)), plugins=[answers], env=env)


def package_of(tool: Tool[Any, Any]) -> str:
    """The package in which a tool is written."""
    made: Any = getattr(tool, "__wrapped__", type(tool))
    return str(made.__module__).partition(".")[0]


@cache
def _plugins_for(package: str) -> list[PluginRecord]:
    """The installed plugins that a tool of this package may rely on.

    These are its own, the services, and plugins that only provide tools and what these need, so that it can call them.
    Hooks of other plugins are left out: what they do to a call is not the tool's doing.
    """

    def is_own(plugin: PluginRecord) -> bool:
        return str(plugin["value"]).partition(":")[0].partition(".")[0] == package

    def is_needed(plugin: PluginRecord) -> bool:
        return is_own(plugin) or plugin["family"] not in ("policy", "providers")

    def is_plain(plugin: PluginRecord) -> bool:
        scanned = plugin["scan"]
        return scanned is not None and HARMLESS.issuperset(scanned["hooks"])

    return [
        plugin
        for plugin in load_index(is_needed, {})["plugins"]
        if is_needed(plugin) and (is_own(plugin) or is_plain(plugin))
    ]
