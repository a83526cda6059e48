"""Every tool of the catalogue respects what the first ones do. The list is the catalogue's own: new tools are covered.

Inputs are those that each plugin gives to the contract suite in its conftest.py; others are invented from the schema.
What a tool promises about one call (its cancellation once it acts among others) is in test_contract_kit.py.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest

from pegboard import Allow, Board, Call, Change, Context, Tool, ToolError, Turn
from pegboard.hosting import (
    OWNERS,
    Pool,
    assemble,
    load_index,
    maybe_await,
    validate,
)
from pegboard.settings import load, state_dir
from pegboard_agent.tool_choice import ToolChoice, child_pool
from pegboard_cli.explanation import explain
from pegboard_session import ProviderEvent, ReplayProvider, Request, Session, Transcript, restore
from pegboard_testing.answers import Answers
from pegboard_testing.strategies import invented
from pegboard_testing.trees import plant
from pegboard_testing.warm import warm
from pegboard_toolsearch.finder import ToolFinder

NAMES = sorted(OWNERS, key=lambda name: (name == "task_complete", name))
"""The one that ends a session comes last."""
ALWAYS = {"complete": {"required": True}, "deferral": {"mode": "auto"}}
"""Settings with which every tool is there."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def installed() -> Any:
    return load_index(lambda plugin: True, {})["plugins"]


@pytest.fixture(scope="module")
def pool_with(installed: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The pool under these settings, without a board around it."""
    folder = tmp_path_factory.mktemp("pools")

    def make(**chosen: Any) -> Pool:
        settings = load(folder, {"HOME": str(folder)}, {**ALWAYS, **chosen}, managed=str(folder / "m"))
        return assemble(installed, settings, env=os.environ)

    return make


class Examples:
    """An input for each tool, from the conftest.py of its plugin or from its schema."""

    def __init__(self) -> None:
        self._hooks: dict[Path, dict[str, Any]] = {}

    async def input(self, tool: Tool[Any, Any], ctx: Context) -> dict[str, Any]:
        package = sys.modules[type(tool).__module__.partition(".")[0]]
        file = Path(str(package.__file__)).parents[2] / "tests/conftest.py"
        if file not in self._hooks:
            self._hooks[file] = runpy.run_path(str(file)) if file.exists() else {}
        told = self._hooks[file].get("pytest_pegboard_examples", lambda tool: None)(tool)
        example = told[0] if told else next(self._invented(tool))
        return dict(await maybe_await(example(ctx))) if callable(example) else example

    def _invented(self, tool: Tool[Any, Any]) -> Iterator[dict[str, Any]]:
        for given in invented(tool, 40):
            try:
                args, _ = validate(tool.name, tool.input, given)
            except ToolError:
                continue
            if tool.validate_input(args) is None:
                yield given

    def close(self) -> None:
        for hooks in self._hooks.values():
            hooks.get("pytest_unconfigure", lambda: None)()


@pytest.fixture
def examples() -> Iterator[Examples]:
    made = Examples()
    yield made
    made.close()


@pytest.fixture
def world(tmp_path: Path) -> Board:
    """A board with every tool, a person who says yes, and an audit log, in a sample tree."""
    answers = Answers()
    answers.decision = Allow("Approved by the test.", layer="ask")
    env = {"HOME": str(warm(tmp_path / "home")), "PATH": os.environ["PATH"]}
    chosen = {**ALWAYS, "permissions": {"allow": ["WebFetch(domain:localhost)"]}}
    settings = load(plant(tmp_path / "work"), env, chosen, managed=str(tmp_path / "m"))
    return Board.load(settings=settings, env=env, plugins=[answers], record=True)


def layer_of(pool: Pool, name: str) -> str:
    assert pool.get(name) is None
    (gone,) = [gone for gone in pool.absent if gone.name == name]
    assert gone.reason
    return gone.layer


def test_the_catalogue_is_whole(pool_with: Any) -> None:
    assert sorted(entry.name for entry in pool_with().entries) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_switches_filters_and_deny_rules_take_it_away_with_a_reason(pool_with: Any, name: str) -> None:
    dist, entry = OWNERS[name]
    for word in (name, entry.partition(".")[0], entry, dist):
        assert layer_of(pool_with(disable=[word]), name) == "features"
        assert pool_with(only=[word]).get(name) is not None
    others = [other for other in NAMES if other != name]
    assert layer_of(pool_with(only=[other for other in ("Read", "Glob") if other != name]), name) == "features"
    assert layer_of(pool_with(excludedTools=[name]), name) == "session"
    assert layer_of(pool_with(availableTools=others), name) == "session"
    assert [kept.name for kept in pool_with(availableTools=[name]).entries] == [name]
    assert layer_of(pool_with(permissions={"deny": [name]}), name) == "deny-rule"


def test_sub_agents_have_what_declares_it_and_nothing_by_another_name(pool_with: Any) -> None:
    pool = pool_with()
    given = {entry.name for entry in child_pool(pool, ToolChoice("an agent")).entries}
    assert given == {entry.name for entry in pool.entries if entry.record["subagents"]}
    for entry in pool.entries:
        named = child_pool(pool, ToolChoice("an agent", tools=((entry.name,),)))
        assert [kept.name for kept in named.entries] == ([entry.name] if entry.record["subagents"] else [])
        for alias in entry.record["aliases"]:
            assert child_pool(pool, ToolChoice("an agent", disallowed=(alias,))).get(entry.name) is None


async def test_modes_and_path_rules_hold_for_every_call(world: Board, examples: Examples) -> None:
    """What a call would do decides, whatever tool it is."""
    async with Session(world, ReplayProvider([]), model="m") as session:
        for name in NAMES:
            tool = world.find(name).tool
            given = await examples.input(tool, session.ctx)
            said = {
                mode: await explain(Call("1", name, given), session.ctx.after(Change(mode=mode)), world)
                for mode in ("plan", "dontAsk", "default")
            }
            facts = said["default"].facts
            assert said["dontAsk"].decision.word != "ask", name
            if facts.writes or facts.deletes or facts.destructive:
                assert said["plan"].decision.word == "deny", name
            if facts.level != "read-only":
                assert (said["default"].decision.word, said["default"].decision.layer) in UNSEEN, name


UNSEEN = {("ask", "default"), ("ask", "tool"), ("allow", "rules")}
"""What is decided about a call that changes something: a person is asked, or a rule allows it."""


class EachTool(ReplayProvider):
    """A model that calls one tool after another, each with an input that fits the session as it is by then."""

    session: Session

    def __init__(self, world: Board, examples: Examples) -> None:
        super().__init__([])
        self._world, self._examples, self._left = world, examples, list(NAMES)
        self.turns: list[Any] = []

    def for_agent(self, name: str, kind: str) -> ReplayProvider:
        return ReplayProvider([{"content": [{"type": "text", "text": "Done."}]}])

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent, None]:
        if not request.tools:  # A tool asks a question of its own.
            async for event in self.for_agent("", "").stream(request):
                yield event
            return
        name = self._left.pop(0)
        given = await self._examples.input(self._world.find(name).tool, self.session.ctx)
        self.turns.append({"content": [{"type": "tool_use", "name": name, "input": given, "id": f"call-{name}"}]})
        async for event in super().stream(request):
            yield event


async def test_every_tool_is_played_audited_kept_summarised_and_resumed(
    world: Board, examples: Examples, tmp_path: Path
) -> None:
    path, played = tmp_path / "session.jsonl", EachTool(world, examples)
    async with Session(world, played, model="m", transcript=Transcript(path)) as session:
        played.session = session
        outcome = await session.run("Use everything.")
    assert (outcome.stopped_by, outcome.turns) == ("completed", len(NAMES))
    failed = {name for name, use in session.usage.tools.items() if use.errors}
    reasons = {
        "ApplyPatch": "is for other models",
        "EnterWorktree": "waits for the plan to end",
        "WebSearch": "no service",
    }
    assert failed <= set(reasons)

    lines = [json.loads(line) for line in _audit_log(tmp_path).read_text().splitlines()]
    assert {line.get("name") or line.get("tool") for line in lines} >= set(NAMES) - {"ApplyPatch"}

    restored = restore(path)
    assert _answered(restored.messages) == set(NAMES)
    summary = {"content": [{"type": "text", "text": "<summary>Everything was used.</summary>"}]}
    again = ReplayProvider([_done(), summary, _done()])
    second = Session(world, again, model="m", transcript=Transcript(path))
    second.resume(restored, second.ctx)
    async with second:
        await second.run("Was everything used?")
        assert _answered(again.requests[0].messages) == set(NAMES)
        await second.compact()
        assert (await second.run("Go on.")).stopped_by == "completed"
    assert "Everything was used." in json.dumps(again.requests[-1].messages)


def _done() -> dict[str, Any]:
    return {"content": [{"type": "tool_use", "name": "task_complete", "input": {"summary": "Done."}}]}


def _audit_log(folder: Path) -> Path:
    return Path(str(state_dir({"HOME": str(folder / "home")})), "audit.jsonl")


def _answered(messages: Any) -> set[str]:
    """The tools whose calls have exactly one result in a conversation."""
    blocks = [block for message in messages for block in message["content"]]
    calls = {block["id"]: block["name"] for block in blocks if block["type"] == "tool_use"}
    results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    return {name for key, name in calls.items() if results.count(key) == 1}


async def test_a_call_that_is_cancelled_before_it_acts_changes_nothing_and_is_answered(
    world: Board, examples: Examples
) -> None:
    async with Session(world, ReplayProvider([]), model="m") as session:
        for name in NAMES:
            given = await examples.input(world.find(name).tool, session.ctx)
            async with Turn(session.ctx, session.desk) as turn:
                turn.cancel("by the test")
                turn.add(Call("1", name, given))
                turn.end()
                results = [result async for result in turn.results()]
            assert [(result.code, result.change) for result in results] == [("cancelled", None)], name
            assert f"{name} was cancelled by the test" in results[0].text


def test_a_search_finds_every_tool_by_its_name_and_its_own_words(pool_with: Any) -> None:
    pool, finder = pool_with(), ToolFinder()
    for entry in pool.entries:
        for query in (f"select:{entry.name}", entry.name, entry.record["hint"]):
            found = [match.name for match in finder.search(pool, query).entries]
            assert entry.name in found, query


def test_a_tool_that_is_deferred_is_not_listed_until_it_is_fetched(pool_with: Any) -> None:
    pool = pool_with()
    for name in NAMES:
        deferred = pool.deferring({name})
        assert name not in {entry.name for entry in deferred.listed(())}
        assert name in {entry.name for entry in deferred.listed((name,))}
        assert deferred.get(name) is not None
