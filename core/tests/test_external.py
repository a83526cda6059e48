"""Tools that an application hands in, and sources that change while a board is in use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pegboard import Board, Call, Context, DefinitionError, Event, Tool, hookimpl
from pegboard_external import ExternalTool

from .plugin_records import READ, Plain, settings

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}


def weather(args: dict[str, Any], ctx: Context) -> str:
    return f"rain in {args['city']} for {args.get('days', 1)} days"


async def weather_soon(args: dict[str, Any], ctx: Context) -> str:
    return weather(args, ctx)


def external(name: str = "Weather", callback: Any = weather, **more: Any) -> ExternalTool:
    """A tool as an application would hand it in, safe to run without asking."""
    return ExternalTool(name, "Foretell rain.", SCHEMA, callback, **{"read_only": True, "open_world": False, **more})


def board(*tools: Tool[Any, Any], plugins: Sequence[object] = (), found: Sequence[dict[str, Any]] = ()) -> Board:
    """A board with nothing but what is given."""
    return Board(settings(), list(found), tools=tools, plugins=plugins, env={})


@pytest.mark.parametrize("callback", [weather, weather_soon])
async def test_an_external_tool_is_called_with_what_the_model_sent(callback: Any) -> None:
    result = await board(external(callback=callback)).dispatch(Call("1", "Weather", '{"city": "Bergen", "days": "3"}'))

    assert (result.text, result.is_error) == ("rain in Bergen for 3 days", False)


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({}, "Weather needs the argument 'city'."),
        ({"city": 3}, "city must be text, got 3."),
        ({"city": "Oslo", "dayz": 1}, "Weather has no argument 'dayz'; did you mean 'days'?"),
    ],
)
async def test_faults_in_an_external_call_are_worded_as_for_any_other_tool(sent: dict[str, Any], sentence: str) -> None:
    result = await board(external()).dispatch(Call("1", "Weather", sent))

    assert result.is_error
    assert sentence in result.text


def test_the_model_sees_the_schema_exactly_as_it_was_handed_in() -> None:
    (definition,) = board(external()).definitions()

    assert definition == {"name": "Weather", "description": "Foretell rain.", "input_schema": SCHEMA}


@pytest.mark.parametrize(
    ("name", "schema", "reason"),
    [
        ("no spaces", SCHEMA, "'no spaces' is not a legal tool name. Use 1 to 64 letters, digits, _ and -."),
        ("X", [], "X: the input schema must be an object, got list."),
        ("X", {"type": "array"}, 'X: the input schema must have "type": "object", got \'array\'.'),
        ("X", {"type": "object", "properties": {"a": 1}}, "X: properties must map each name to a schema."),
        ("X", {"type": "object", "required": "a"}, "X: required must be a list of names."),
        ("X", {"type": "object", "required": ["a"]}, "X: 'a' is required but not among the properties."),
        (
            "X",
            {"type": "object", "properties": {"a": {"default": float("nan")}}},
            "X: the input schema cannot be written as JSON: Out of range float values are not JSON compliant",
        ),
    ],
)
def test_a_schema_that_no_provider_would_take_is_refused_with_the_reason(name: str, schema: Any, reason: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        ExternalTool(name, "Some tool.", schema, weather)

    assert str(refused.value).startswith(reason)


def test_options_and_callbacks_are_checked() -> None:
    with pytest.raises(DefinitionError, match="there is no tool option 'colour'"):
        external(colour="red")
    with pytest.raises(DefinitionError, match="the callback must be callable, got 3"):
        external(callback=3)


def test_a_built_in_name_needs_an_explicit_override() -> None:
    with pytest.raises(
        DefinitionError, match=r"'Read' is the name of a built-in tool\. Choose another, or set overrides"
    ):
        board(external("Read"))


async def test_an_override_takes_the_place_of_the_built_in() -> None:
    made = board(external("Read", overrides_built_in=True), found=[READ])
    result = await made.dispatch(Call("1", "Read", {"city": "Bergen"}))

    assert result.text == "rain in Bergen for 1 days"
    assert [gone.dist for gone in made.pool.absent if gone.name == "Read"] == ["pegboard-read"]


async def test_of_two_equal_names_the_earlier_wins_and_the_later_is_reported() -> None:
    made = board(external(), external(callback=lambda args, ctx: "sunshine"))
    result = await made.dispatch(Call("1", "Weather", {"city": "Bergen"}))

    assert result.text == "rain in Bergen for 1 days"
    assert made.pool.names == ["Weather"]
    (gone,) = [gone for gone in made.pool.absent if gone.name == "Weather"]
    assert gone.reason.startswith("application defines the tool 'Weather' twice. The earlier is used.")


class Server:
    """A source of tools, such as an MCP server: it changes, and it may fail."""

    def __init__(self, *tools: Tool[Any, Any], name: str = "server") -> None:
        self.name, self.offered, self.version, self.asked = name, list(tools), 1, 0

    def tools(self) -> list[Tool[Any, Any]]:
        self.asked += 1
        if any(tool.name == "Down" for tool in self.offered):
            raise ConnectionError("the server is gone")
        return list(self.offered)

    def change(self, *tools: Tool[Any, Any]) -> None:
        """Offer other tools from now on."""
        self.offered, self.version = list(tools), self.version + 1


class Watch:
    """A plugin that brings sources and remembers what happens."""

    def __init__(self, *servers: Server) -> None:
        self.servers, self.events = servers, list[Event]()

    @hookimpl
    def tool_sources(self) -> Sequence[Server]:
        return self.servers

    @hookimpl
    def observe(self, event: Event) -> None:
        self.events.append(event)


def test_tools_of_a_source_are_dynamic_and_come_last() -> None:
    made = board(plugins=[Watch(Server(Plain("AAA")))], found=[READ])

    assert [(entry.name, entry.partition, entry.dist) for entry in made.pool.entries] == [
        ("Read", "built-in", "pegboard-read"),
        ("AAA", "dynamic", "server"),
    ]


def test_a_source_is_asked_again_only_when_its_version_moved() -> None:
    server = Server(Plain("One"))
    made = board(plugins=[Watch(server)])
    pool = made.pool

    assert made.refresh() is pool
    assert server.asked == 1
    server.change(Plain("Two"))
    assert made.refresh().names == ["Two"]
    assert (server.asked, made.pool.version) == (2, pool.version + 1)


def test_an_update_says_what_was_added_removed_and_changed() -> None:
    server = Server(Plain("Stays"), Plain("Goes"), Plain("Changes"))
    watch = Watch(server)
    made = board(plugins=[watch])
    server.change(Plain("Stays"), Plain("Comes"), Plain("Changes", prompt="Something else."))
    made.refresh()

    (event,) = [event for event in watch.events if event.kind == "tools_updated"]
    assert event.data == {"version": 2, "added": ["Comes"], "removed": ["Goes"], "changed": ["Changes"]}


def test_a_version_that_moved_without_a_visible_change_is_no_update() -> None:
    server = Server(Plain("One"))
    watch = Watch(server)
    made = board(plugins=[watch])
    server.change(Plain("One"))
    made.refresh()

    assert "tools_updated" not in [event.kind for event in watch.events]


@pytest.mark.parametrize("bad", [Plain("Down"), Plain("no good name"), Plain("Read"), Plain("X", aliases="text")])
def test_a_failing_refresh_keeps_the_last_good_tools_and_says_so(bad: Plain) -> None:
    server, other = Server(Plain("One")), Server(Plain("Other"), name="other")
    watch = Watch(server, other)
    made = board(plugins=[watch])
    before = made.pool.request_bytes()
    server.change(bad)
    made.refresh()

    assert made.pool.request_bytes() == before
    (event,) = [event for event in watch.events if event.kind == "refresh_failed"]
    assert event.data["source"] == "server"
    assert event.data["reason"]


async def test_the_last_good_tools_still_run_while_their_source_fails() -> None:
    server = Server(Plain("One", read_only=True, open_world=False))
    made = board(plugins=[Watch(server)])
    server.change(Plain("Down"))
    made.refresh()

    assert (await made.dispatch(Call("1", "One"))).text == "One was here"


def test_a_source_that_recovers_is_used_again() -> None:
    server = Server(Plain("Down"))
    made = board(plugins=[Watch(server)])
    assert made.pool.names == []
    server.change(Plain("Up"))

    assert made.refresh().names == ["Up"]


async def test_a_call_of_a_tool_that_left_says_that_there_is_none() -> None:
    server = Server(Plain("Goes"), Plain("Stays"))
    made = board(plugins=[Watch(server)])
    server.change(Plain("Stays"))
    made.refresh()
    result = await made.dispatch(Call("1", "Goes"))

    assert (result.is_error, result.code) == (True, "not_found")


def test_of_two_sources_the_earlier_keeps_a_name() -> None:
    one, two = Server(Plain("Same", prompt="one"), name="one"), Server(Plain("Same", prompt="two"), name="two")
    made = board(plugins=[Watch(one, two)])

    assert [entry.dist for entry in made.pool.entries] == ["one"]
    assert "one and two both own the tool 'Same'. one is used." in made.pool.why_absent("Same")


class Broken:
    """A plugin that cannot bring its sources."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    @hookimpl
    def tool_sources(self) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("answer", [RuntimeError("boom"), SystemExit(7), None, [object()]])
def test_a_plugin_that_cannot_bring_its_sources_loses_nobody_elses(answer: Any) -> None:
    made = board(plugins=[Broken(answer), Watch(Server(Plain("One")))])

    assert made.pool.names == ["One"]
    (notice,) = made.pool.notices
    assert str(notice).startswith("application:0: tool_sources failed, so its tools are missing: ")
