"""Deferred tools through whole sessions: searched, fetched, called, resumed, healed, and never when filtered."""

from __future__ import annotations

import json
import os
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from pegboard import Board, ExternalTool, hookimpl
from pegboard_anthropic import AnthropicProvider
from pegboard_session import ReplayProvider, Session, Transcript, restore

from .agents import Watching, _at_home, make_board, watching
from .sse import SseServer, message, tool_use
from .sse import text as said

__all__ = ["_at_home", "watching"]
pytestmark = pytest.mark.anyio
MANY = 9544 if os.environ.get("PEGBOARD_TEST_SLOW") else 2000


def served(name: str, description: str = "Do something.", ran: list[str] | None = None) -> ExternalTool:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

    def act(given: dict[str, Any], ctx: Any) -> str:
        (ran if ran is not None else []).append(name)
        return f"{name}: {given['city']}"

    return ExternalTool(name, description, schema, act, read_only=True, open_world=False)


def weather(ran: list[str] | None = None) -> list[ExternalTool]:
    words = {"forecast": "Get the weather forecast for a city.", "alerts": "List weather alerts for a city."}
    return [served(f"mcp__weather__{name}", description, ran) for name, description in words.items()]


def board_with(folder: Path, watching: Watching, tools: list[ExternalTool], **cli: Any) -> Board:
    return make_board(folder, watching, tools, **{"deferral": {"mode": "always"}, **cli})


def use(tool: str, /, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "name": tool, "input": given}


def turn(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"content": list(blocks)}


DONE = turn({"type": "text", "text": "Done."})
REMINDER = (
    "<system-reminder>\nSome tools are deferred: they exist, but their definitions are not loaded. "
    "Fetch those you need with ToolSearch; then you can call them. The names by server:\n"
    "- weather: mcp__weather__alerts, mcp__weather__forecast\n</system-reminder>"
)


def names(request: Any) -> list[str]:
    return [definition["name"] for definition in request.tools]


def texts(message: Any) -> list[str]:
    """What a message says, without what the agent plugin says about agents."""
    found = [block["text"] for block in message["content"] if block["type"] == "text"]
    return [words for words in found if not words.startswith("Kinds of agents")]


def script(request):
    """A model that searches, then calls what it found, then ends."""
    rounds = sum(sent["role"] == "assistant" for sent in request.body["messages"])
    if rounds == 0:
        return message(tool_use("ToolSearch", {"query": "weather forecast", "max_results": 1}, id="one"))
    if rounds == 1:
        return message(tool_use("mcp__weather__forecast", {"city": "Oslo"}, id="two"))
    return message(said("Done."))


async def searched_and_called(
    folder: Path, watching: Watching, defer_loading: str
) -> tuple[list[Any], list[str], Session]:
    ran: list[str] = []
    board = board_with(folder, watching, weather(ran))
    with SseServer(script) as server:
        provider = AnthropicProvider(base_url=server.url, api_key="test", defer_loading=defer_loading)
        async with Session(board, provider, model="claude-opus-5-5") as session:
            outcome = await session.run("How is the weather?")
        await provider.aclose()
    assert outcome.text == "Done."
    return [request.body for request in server.requests], ran, session


async def test_without_native_deferral_schemas_are_text_and_the_tool_is_added_at_the_end(tmp_path, watching):
    bodies, ran, _ = await searched_and_called(tmp_path, watching, "off")
    assert ran == ["mcp__weather__forecast"]
    first, second, third = bodies
    assert second["tools"] == [*first["tools"], second["tools"][-1]]
    assert second["tools"][-1]["name"] == "mcp__weather__forecast"
    assert "defer_loading" not in second["tools"][-1]
    assert third["tools"] == second["tools"]
    assert first["system"] == second["system"] if "system" in first else "system" not in second
    result = second["messages"][-1]["content"][0]
    assert result["tool_use_id"] == "one"
    assert "fetched" not in result
    definition = result["content"][0]["text"].splitlines()[1]
    assert json.loads(definition)["name"] == "mcp__weather__forecast"
    assert third["messages"][-1]["content"][0]["content"][0]["text"] == "mcp__weather__forecast: Oslo"


def read_in_order(body: Any) -> list[str]:
    """The parts of a request in the order in which the service reads and caches them, without the cache markers."""
    parts = [
        *body["tools"],
        *body.get("system", ()),
        *(block for sent in body["messages"] for block in sent["content"]),
    ]
    return [json.dumps({key: part[key] for key in part if key != "cache_control"}) for part in parts]


def kept(earlier: Any, later: Any) -> list[str]:
    """The parts at the beginning of two requests that are the same bytes."""
    pairs = zip(read_in_order(earlier), read_in_order(later), strict=False)
    return [one for one, other in takewhile(lambda pair: pair[0] == pair[1], pairs)]


def size(parts: list[str]) -> int:
    return sum(len(part.encode()) for part in parts)


async def test_a_fetch_as_text_misses_the_cache_once_and_behind_the_tools(tmp_path, watching):
    bodies, _, _ = await searched_and_called(tmp_path, watching, "off")
    first, second, third = bodies
    stayed = kept(first, second)
    assert stayed == read_in_order({**first, "system": [], "messages": []}), "all tools, up to the fetched one"
    assert "cache_control" in first["tools"][-1]
    assert first["tools"] == second["tools"][:-1], "the marker stays, so the service finds what it has cached"
    missed = read_in_order(second)[len(stayed) :]
    fetched, *rest = missed
    assert json.loads(fetched)["name"] == "mcp__weather__forecast"
    assert rest[: len(read_in_order(first)) - len(stayed)] == read_in_order(first)[len(stayed) :], "the same, but later"
    # docs/explanation/finding-tools.md has the numbers: 13,370 bytes stay, 3,443 are read again.
    assert size(stayed) > 0.75 * size(read_in_order(second))
    assert size(missed) < 5_000
    assert kept(second, third) == read_in_order(second), "once: the next request continues this one"


async def test_with_native_deferral_nothing_that_was_sent_changes(tmp_path, watching):
    bodies, ran, _ = await searched_and_called(tmp_path, watching, "on")
    assert ran == ["mcp__weather__forecast"]
    first, second, third = bodies
    listed = [tool for tool in second["tools"] if not tool.get("defer_loading")]
    assert listed == first["tools"]
    (deferred,) = [tool for tool in second["tools"] if tool.get("defer_loading")]
    assert deferred["name"] == "mcp__weather__forecast"
    result = second["messages"][-1]["content"][0]
    assert result["content"] == [{"type": "tool_reference", "tool_name": "mcp__weather__forecast"}]
    assert "fetched" not in result
    assert first.get("system") == second.get("system")

    def unmarked(messages: Any) -> Any:
        return json.loads(json.dumps(messages).replace(', "cache_control": {"type": "ephemeral"}', ""))

    assert unmarked(second["messages"])[: len(first["messages"])] == unmarked(first["messages"])
    assert unmarked(third["messages"])[: len(second["messages"])] == unmarked(second["messages"])


async def test_both_styles_leave_the_same_conversation(tmp_path, watching):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    _, _, one = await searched_and_called(tmp_path / "a", watching, "off")
    _, _, other = await searched_and_called(tmp_path / "b", watching, "on")
    assert one.messages == other.messages
    assert one.ctx.loaded_tools == other.ctx.loaded_tools == ("mcp__weather__forecast",)


async def test_a_result_that_was_compacted_away_makes_its_tool_an_ordinary_one(tmp_path, watching):
    from pegboard_anthropic.requests import body_of

    _, _, session = await searched_and_called(tmp_path, watching, "on")
    session.conversation.messages = session.messages[:1]
    tools = body_of(session.conversation.request(), defers=True)["tools"]
    assert tools[-1]["name"] == "mcp__weather__forecast"
    assert not any("defer_loading" in tool for tool in tools)


@pytest.mark.parametrize(
    ("model", "base_url", "is_native"),
    [
        ("claude-opus-5-5", None, True),
        ("claude-sonnet-4-5", None, True),
        ("claude-haiku-4-5", None, False),
        ("claude-3-7-sonnet", None, False),
        ("claude-opus-5-5", "http://127.0.0.1:1", False),
    ],
)
def test_auto_is_native_only_where_that_is_known_to_work(model, base_url, is_native, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    assert AnthropicProvider(base_url=base_url)._defers(model) is is_native


async def test_the_names_are_told_once_and_again_when_they_change(tmp_path, watching):
    class Source:
        name, family, version = "weather", "mcp", 1

        def tools(self):
            return weather()[: 3 - self.version]

    class Plugin:
        @hookimpl
        def tool_sources(self):
            return [source]

    source = Source()
    board = make_board(tmp_path, watching, deferral={"mode": "always"})
    board = Board.load(settings=board.settings, env=board.env, plugins=[watching, Plugin()])
    provider = ReplayProvider([DONE, DONE, DONE])
    async with Session(board, provider) as session:
        await session.run("One")
        await session.run("Two")
        source.version = 2
        board.refresh()
        await session.run("Three")
    first, second, third = (texts(session.messages[place]) for place in (0, 2, 4))
    assert first == [REMINDER, "One"]
    assert second == ["Two"]
    assert len(third) == 2
    assert "mcp__weather__forecast" in third[0]
    assert "mcp__weather__alerts" not in third[0]


async def test_many_names_become_servers_with_counts(tmp_path, watching):
    tools = [served(f"mcp__server{number % 7}__tool_number_{number}") for number in range(2000)]
    provider = ReplayProvider([DONE])
    async with Session(board_with(tmp_path, watching, tools), provider) as session:
        await session.run("Go")
    (reminder, _) = texts(session.messages[0])
    assert len(reminder) <= 4_000 * 3
    assert "There are 2000; the servers and how many tools each has:\n- server0: 286 tools\n" in reminder
    assert "tool_number" not in reminder


async def test_too_many_servers_are_cut_at_the_limit(tmp_path, watching):
    tools = [served(f"mcp__a_server_with_a_long_name_{number}__x") for number in range(1500)]
    async with Session(board_with(tmp_path, watching, tools), ReplayProvider([DONE])) as session:
        await session.run("Go")
    (reminder, _) = texts(session.messages[0])
    assert 11_000 < len(reminder) <= 4_000 * 3
    assert reminder.rstrip().endswith("servers more\n</system-reminder>")


async def test_thousands_of_deferred_tools_change_no_byte_of_tools_and_system(tmp_path, watching):
    many = [served(f"mcp__s{number % 300}__tool_{number}", f"Do thing {number}.") for number in range(MANY)]
    bodies = []
    for tools in ([], many):
        with SseServer([message(said("Hi."))]) as server:
            provider = AnthropicProvider(base_url=server.url, api_key="test")
            board = make_board(tmp_path, watching, tools)
            async with Session(board, provider, model="claude-opus-5-5", system=["Be brief."]) as session:
                await session.run("Go")
            await provider.aclose()
        bodies.append(server.requests[0].body)
    without, with_them = bodies
    assert json.dumps(without["tools"]) == json.dumps(with_them["tools"])
    assert json.dumps(without["system"]) == json.dumps(with_them["system"])
    assert "ToolSearch" in [tool["name"] for tool in with_them["tools"]]
    (reminder,) = [block for block in with_them["messages"][0]["content"] if "are deferred" in block["text"]]
    assert reminder["text"].startswith("<system-reminder>\nSome tools are deferred")
    with_them["messages"][0]["content"].remove(reminder)
    assert with_them["messages"] == without["messages"]
    assert {**with_them, "messages": 0} == {**without, "messages": 0}


async def test_below_the_threshold_nothing_is_deferred(tmp_path, watching):
    provider = ReplayProvider([DONE])
    async with Session(make_board(tmp_path, watching, weather()), provider) as session:
        await session.run("Go")
    assert names(provider.requests[0])[-2:] == ["mcp__weather__alerts", "mcp__weather__forecast"]
    assert texts(session.messages[0]) == ["Go"]
    assert "ToolSearch" in names(provider.requests[0])


async def test_a_small_window_defers_earlier(tmp_path, watching):
    provider = ReplayProvider([DONE])
    board = make_board(tmp_path, watching, weather(), models={"tiny": {"window": 9000}})
    async with Session(board, provider, model="tiny") as session:
        await session.run("Go")
    assert not any(name.startswith("mcp__") for name in names(provider.requests[0]))


async def test_fetched_tools_survive_resume_in_their_order(tmp_path, watching):
    board, path = board_with(tmp_path, watching, weather()), tmp_path / "t.jsonl"
    search = use("ToolSearch", query="select:mcp__weather__forecast,mcp__weather__alerts")
    async with Session(board, ReplayProvider([turn(search), DONE]), transcript=Transcript(path)) as session:
        await session.run("Go")
    restored, provider = restore(path), ReplayProvider([DONE])
    resumed = Session(board, provider)
    resumed.resume(restored, board.context().after(restored.change()))
    async with resumed:
        await resumed.run("On")
    assert names(provider.requests[0])[-2:] == ["mcp__weather__forecast", "mcp__weather__alerts"]
    assert texts(resumed.messages[-2]) == ["On"], "the names are known from before"


async def test_a_crash_after_the_result_loses_no_fetched_tool(tmp_path, watching):
    board, path = board_with(tmp_path, watching, weather()), tmp_path / "t.jsonl"
    script = [turn(use("ToolSearch", query="select:mcp__weather__alerts")), DONE]
    async with Session(board, ReplayProvider(script), transcript=Transcript(path)) as session:
        await session.run("Go")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if '"type":"change"' not in line))
    assert restore(path).change().loaded_tools == ("mcp__weather__alerts",)


async def test_an_unfetched_tool_runs_if_the_input_fits(tmp_path, watching):
    ran: list[str] = []
    board = board_with(tmp_path, watching, weather(ran))
    provider = ReplayProvider([turn(use("mcp__weather__forecast", city="Oslo")), DONE])
    async with Session(board, provider) as session:
        await session.run("Go")
    assert ran == ["mcp__weather__forecast"]
    assert session.ctx.loaded_tools == ()


async def test_an_unfetched_tool_with_a_bad_input_answers_with_its_schema_and_is_fetched(tmp_path, watching):
    ran: list[str] = []
    board = board_with(tmp_path, watching, weather(ran))
    calls = [turn(use("mcp__weather__forecast", town="Oslo")), turn(use("mcp__weather__forecast", city="Oslo")), DONE]
    provider = ReplayProvider(calls)
    async with Session(board, provider) as session:
        await session.run("Go")
    (result,) = [block for block in session.messages[2]["content"] if block["type"] == "tool_result"]
    words = result["content"][0]["text"]
    first, second, schema = words.splitlines()
    assert first == "mcp__weather__forecast: mcp__weather__forecast needs the argument 'city'."
    assert second == "mcp__weather__forecast was not fetched before. This is the schema of its input:"
    assert json.loads(schema)["required"] == ["city"]
    assert result["is_error"] is True
    assert names(provider.requests[1])[-1] == "mcp__weather__forecast"
    assert ran == ["mcp__weather__forecast"]


async def test_a_fetched_tool_with_a_bad_input_gets_no_second_schema(tmp_path, watching):
    board = board_with(tmp_path, watching, weather())
    search = use("ToolSearch", query="select:forecast")
    provider = ReplayProvider([turn(search), turn(use("mcp__weather__forecast")), DONE])
    async with Session(board, provider) as session:
        await session.run("Go")
    (result,) = [block for block in session.messages[4]["content"] if block["type"] == "tool_result"]
    assert result["content"][0]["text"] == "mcp__weather__forecast: mcp__weather__forecast needs the argument 'city'."


@pytest.mark.parametrize(
    "taken_away",
    [
        {"excludedTools": ["mcp__weather__alerts"]},
        {"permissions": {"deny": ["mcp__weather__alerts"]}},
        {"disable": ["mcp__weather__alerts"]},
        {"models": {"m": {"tools": {"hide": ["mcp__weather__alerts"]}}}},
    ],
)
async def test_a_filtered_tool_is_never_found_and_never_callable(tmp_path, watching, taken_away):
    ran: list[str] = []
    board = board_with(tmp_path, watching, weather(ran), **taken_away)
    queries = ("weather alerts", "select:mcp__weather__alerts", "+alerts", "/alerts/", "mcp__weather__alerts")
    searches = [use("ToolSearch", query=query) for query in queries]
    provider = ReplayProvider([turn(*searches), turn(use("mcp__weather__alerts", city="Oslo")), DONE])
    async with Session(board, provider, model="m") as session:
        await session.run("Go")
    assert "alerts" not in texts(session.messages[0])[0]
    assert "mcp__weather__alerts" not in session.ctx.loaded_tools
    for request in provider.requests:
        assert "mcp__weather__alerts" not in names(request)
    (result,) = [block for block in session.messages[4]["content"] if block["type"] == "tool_result"]
    assert result["is_error"] is True
    assert ran == []


async def test_a_rule_about_a_deferred_tool_holds_after_fetching(tmp_path, watching):
    ran: list[str] = []
    rules = {"deny": ["mcp__weather__forecast(city:Oslo)"]}
    board = board_with(tmp_path, watching, weather(ran), permissions=rules)
    calls = [use("mcp__weather__forecast", city="Oslo"), use("mcp__weather__forecast", city="Rome")]
    script = [turn(use("ToolSearch", query="forecast")), turn(*calls), DONE]
    async with Session(board, ReplayProvider(script)) as session:
        await session.run("Go")
    results = [block for block in session.messages[4]["content"] if block["type"] == "tool_result"]
    assert [result.get("is_error", False) for result in results] == [True, False]
    assert ran == ["mcp__weather__forecast"]


async def test_a_sub_agent_finds_only_its_own_tools_and_fetches_for_itself(tmp_path, watching):
    board = board_with(tmp_path, watching, [*weather(), served("mcp__mail__send", "Send weather by mail.")])
    (tmp_path / ".pegboard/agents").mkdir(parents=True)
    (tmp_path / ".pegboard/agents/reader.md").write_text(
        "---\nname: reader\ndescription: Reads.\ndisallowedTools: mcp__mail__send\n---\nx"
    )
    start = use("Agent", description="d", prompt="p", subagent_type="reader", name="r")
    of_child = [turn(use("ToolSearch", query="send weather mail forecast")), DONE]
    provider = ReplayProvider([turn(start), DONE, *({**made, "agent": "r"} for made in of_child)])
    async with Session(board, provider) as session:
        await session.run("Go")
    child = provider.children[0]
    assert "mcp__mail__send" not in json.dumps([dict(sent) for sent in child.requests[-1].messages])
    assert "mcp__weather__forecast" in names(child.requests[-1])
    assert session.ctx.loaded_tools == (), "what a child fetches is its own"


async def test_a_tool_that_an_agents_list_names_is_there_from_the_start(tmp_path, watching):
    board = board_with(tmp_path, watching, weather())
    (tmp_path / ".pegboard/agents").mkdir(parents=True)
    (tmp_path / ".pegboard/agents/forecaster.md").write_text(
        "---\nname: forecaster\ndescription: F.\ntools: ToolSearch, mcp__weather__forecast, mcp__weather__*\n---\nx"
    )
    start = use("Agent", description="d", prompt="p", subagent_type="forecaster", name="f")
    provider = ReplayProvider([turn(start), DONE, {**DONE, "agent": "f"}])
    async with Session(board, provider) as session:
        await session.run("Go")
    assert names(provider.children[0].requests[0]) == ["ToolSearch", "mcp__weather__forecast"]
