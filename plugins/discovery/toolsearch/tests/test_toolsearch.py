"""ToolSearch through the board, as a model calls it: JSON in, exact content out."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from pegboard import Call, Result, Text, hookimpl
from pegboard.hosting import run_calls
from pegboard_session import DeferralPolicy, ReplayProvider, Session

from .catalogue import TOOLS, a_board, external

pytestmark = pytest.mark.anyio


async def called(tmp_path, query: str, *plugins: object, **more) -> Result:
    """A call in a session, where tools are deferred."""
    given = {"query": query, **more.pop("input", {})}
    board = a_board(tmp_path, more.pop("tools", None), *plugins, **{"deferral": {"mode": "always"}, **more})
    async with Session(board, ReplayProvider([])) as session:
        results, _ = await run_calls(session.desk, [Call("1", "ToolSearch", given)], session.ctx)
    return results[0]


async def test_the_answer_is_the_definitions_best_first(tmp_path) -> None:
    result = await called(tmp_path, "send a message", input={"max_results": 1})
    definition = {
        "description": "Send a message to a channel.",
        "input_schema": {
            "properties": {
                "channel": {"description": "", "type": "string"},
                "text": {"description": "What to say", "type": "string"},
            },
            "required": ["channel"],
            "type": "object",
        },
        "name": "mcp__slack__send_message",
    }
    head = "Fetched 1 tool. You can call it from now on:"
    assert result.content == (Text(f"{head}\n{json.dumps(definition)}"),)
    assert result.change is not None
    assert result.change.loaded_tools == ("mcp__slack__send_message",)


async def test_an_empty_answer_says_what_matched_nothing_and_what_there_is(tmp_path) -> None:
    names = ["mcp__db__run_query", "mcp__db__list_tables", "mcp__k8s__get_pods"]
    result = await called(tmp_path, "xylophone", tools=[external(name) for name in names])
    assert result.text == "No tool mentions 'xylophone'. No tool fits this query. Tools come from db (2), k8s (1)."
    assert result.change is None
    assert not result.is_error


async def test_a_weak_answer_says_what_was_not_found(tmp_path) -> None:
    result = await called(tmp_path, "xylophone screenshot", input={"max_results": 1})
    assert result.change is not None
    assert result.change.loaded_tools == ("mcp__browser__screenshot",)
    assert isinstance(result.content[1], Text)
    assert result.content[1].text.startswith("No tool mentions 'xylophone'. Tools come from browser (3),")


async def test_unknown_names_are_reported_beside_the_found_ones(tmp_path) -> None:
    result = await called(tmp_path, "select:get_pods,mcp__k8s__get_lgs")
    assert isinstance(result.content[1], Text)
    assert result.content[1].text.startswith(
        "mcp__k8s__get_lgs: There is no such tool. The nearest are mcp__k8s__get_logs"
    )


async def test_tools_that_the_model_sees_are_not_sent_again(tmp_path) -> None:
    result = await called(
        tmp_path, "select:ToolSearch,mcp__db__run_query", deferral={"mode": "always", "pinned": ["*"]}
    )
    assert result.text == "You can already call ToolSearch and mcp__db__run_query."


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"query": " "}, "ToolSearch: query is empty. Say what you want to do, or select:Name."),
        (
            {"query": "select:" + "x," * 2_000},
            "ToolSearch: query may have up to 4,000 characters, got 4,007. Say it in a few words.",
        ),
        ({"query": "x", "max_results": 21}, "ToolSearch: max_results must be 20 or less, got 21."),
        ({"query": "x", "max_results": 0}, "ToolSearch: max_results must be 1 or more, got 0."),
    ],
)
async def test_bad_input_is_explained(tmp_path, given, message: str) -> None:
    result = await a_board(tmp_path).call("ToolSearch", given)
    assert result.text == message


async def test_at_most_max_results_tools_are_fetched(tmp_path) -> None:
    for most in (1, 5, 20):
        result = await called(tmp_path, "get", input={"max_results": most})
        assert result.change is not None
        assert len(result.change.loaded_tools) <= most
    default = await called(tmp_path, "get list search of a the pull message file")
    assert default.change is not None
    assert len(default.change.loaded_tools) == 5


async def test_very_long_definitions_are_left_out_by_name(tmp_path) -> None:
    long = [external(f"mcp__big__paint_{number}") for number in range(3)]
    for tool in long:
        tool.prompt = "Paint. " + "x" * 40_000
    result = await called(tmp_path, "paint", tools=long)
    assert result.change is not None
    assert len(result.change.loaded_tools) == 1
    assert (
        "Left out because of their length: mcp__big__paint_1, mcp__big__paint_2. Fetch them with select:."
        in result.text
    )


async def test_guidance_of_a_fetched_tool_comes_with_it(tmp_path) -> None:
    tool = external("mcp__db__run_query", guidance="Ask before you change data.")
    result = await called(tmp_path, "run query", tools=[tool])
    assert result.content[1] == Text("Ask before you change data.")


async def test_hooks_that_edit_definitions_edit_what_is_fetched(tmp_path) -> None:
    class Louder:
        @hookimpl
        def edit_definition(self, definition, profile):
            return {**definition, "description": definition["description"].upper()}

    result = await called(tmp_path, "select:run_query", Louder())
    assert "RUN A SQL QUERY" in result.text


class Meaning:
    """Knows that a spreadsheet is a database."""

    def __init__(self, answer=None) -> None:
        self.asked: list[list[str]] = []
        self.answer = answer

    @hookimpl
    async def embed_texts(self, texts):
        self.asked.append(list(texts))
        if self.answer:
            return self.answer(texts)
        return [[1.0, 0.0] if "list" in text.lower() and "table" in text.lower() else [0.0, 1.0] for text in texts]


async def test_a_plugin_can_rank_by_meaning(tmp_path) -> None:
    query = "run a query, list tables"
    before = await called(tmp_path, "run query database", input={"max_results": 1})
    after = await called(tmp_path, f"{query} of the database", Meaning(), input={"max_results": 1})
    assert before.change is not None
    assert after.change is not None
    assert before.change.loaded_tools == ("mcp__db__run_query",)
    assert after.change.loaded_tools == ("mcp__db__list_tables",)


@pytest.mark.parametrize(
    "answer", [lambda texts: 1 / 0, lambda texts: [[1.0]], lambda texts: [[1.0]] * (len(texts) - 1) + [[1.0, 2.0]]]
)
async def test_a_failing_model_of_meaning_changes_nothing(tmp_path, answer, caplog) -> None:
    result = await called(tmp_path, "run query database", Meaning(answer), input={"max_results": 1})
    assert result.change is not None
    assert result.change.loaded_tools == ("mcp__db__run_query",)
    assert "an embed_texts hook failed" in caplog.text


def test_importing_the_plugin_builds_nothing_and_loads_neither_index_nor_rapidfuzz() -> None:
    program = (
        "import sys, pegboard_toolsearch; print([n for n in sys.modules if 'rapidfuzz' in n or '_toolsearch.' in n])"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "['pegboard_toolsearch.service']"


def test_it_fetches_so_it_is_never_deferred(tmp_path) -> None:
    pool = a_board(tmp_path).pool
    assert DeferralPolicy("always").deferred(pool) == frozenset(TOOLS)


def test_with_deferral_off_it_is_absent_and_says_why(tmp_path) -> None:
    pool = a_board(tmp_path, deferral={"mode": "off"}).pool
    assert pool.get("ToolSearch") is None
    assert pool.why_absent("ToolSearch") == "ToolSearch fetches deferred tools, and deferral.mode is off."
