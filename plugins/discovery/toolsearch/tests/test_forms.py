"""The forms of a query: by name, required words, regular expressions."""

from __future__ import annotations

import pytest

from pegboard import ToolError
from pegboard.hosting import Pool
from pegboard_toolsearch.finder import Found, ToolFinder

from .catalogue import a_board, external


@pytest.fixture(scope="module")
def pool(tmp_path_factory) -> Pool:
    return a_board(tmp_path_factory.mktemp("board"), excludedTools=["mcp__shop__create_order"]).pool


def search(pool: Pool, query: str, limit: int = 5) -> Found:
    return ToolFinder().search(pool, query, limit)


def names(found: Found) -> list[str]:
    return [entry.name for entry in found.entries]


@pytest.mark.parametrize(
    "query",
    [
        "select:mcp__files__read_file,mcp__slack__send_message",
        "Select: MCP__Files__Read_File , mcp__slack__SEND_message",
        "select:read_file,send_message",
        "select:ReadFile,sendMessage",
        "select:mcp.files.readFile,mcp-slack-send-message",
    ],
)
def test_select_takes_names_exactly_then_in_any_case_then_bare_then_by_letters(query: str, pool: Pool) -> None:
    assert names(search(pool, query)) == ["mcp__files__read_file", "mcp__slack__send_message"]


def test_an_exact_name_wins_over_all_others(tmp_path) -> None:
    tools = [external("read"), external("Read_"), external("mcp__x__read")]
    pool = a_board(tmp_path, tools).pool
    assert names(search(pool, "select:read")) == ["read"]
    assert names(search(pool, "select:READ")) == ["read"]


def test_select_reports_unknown_names_with_the_nearest(pool: Pool) -> None:
    found = search(pool, "select:mcp__slack__send_mesage,zzz,mcp__mail__send_email")
    assert names(found) == ["mcp__mail__send_email"]
    assert found.missing["zzz"] == "There is no such tool."
    nearest = found.missing["mcp__slack__send_mesage"]
    assert nearest.startswith("There is no such tool. The nearest are mcp__slack__send_message")


def test_one_nearest_name_is_written_as_one(tmp_path) -> None:
    pool = a_board(tmp_path, [external("deploy_shop")]).pool
    assert search(pool, "select:deploy_shp").missing == {
        "deploy_shp": "There is no such tool. The nearest is deploy_shop."
    }


def test_a_filtered_tool_is_not_found_by_any_form(pool: Pool) -> None:
    gone = "mcp__shop__create_order"
    found = search(pool, f"select:{gone}")
    assert not found.entries
    assert found.missing == {gone: "mcp__shop__create_order is in excludedTools of settings.json."}
    for query in ("place an order", "+order", "/create_order/", "create_order", gone):
        assert gone not in names(search(pool, query, 20))


def test_a_plus_requires_a_word_in_the_name(pool: Pool) -> None:
    assert names(search(pool, "+mail send")) == ["mcp__mail__send_email", "mcp__mail__search_emails"]
    assert names(search(pool, "send +slack +user")) == ["mcp__slack__list_users"]
    assert names(search(pool, "+nothing send")) == []


def test_a_plus_in_prose_is_no_requirement(pool: Pool) -> None:
    assert "mcp__weather__get_forecast" in names(search(pool, "weather + hotels"))


def test_a_regular_expression_looks_at_names_first_then_definitions(pool: Pool) -> None:
    assert names(search(pool, r"/^mcp__k8s__/")) == ["mcp__k8s__get_logs", "mcp__k8s__get_pods"]
    assert names(search(pool, r"/kubernetes|get_logs/")) == ["mcp__k8s__get_logs", "mcp__k8s__get_pods"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("/(/", "query: '(' is not a regular expression: missing ), unterminated subpattern at position 0."),
        (f"/{'a' * 201}/", "query: a regular expression may have up to 200 characters, got 201."),
    ],
)
def test_a_bad_regular_expression_is_explained(query: str, message: str, pool: Pool) -> None:
    with pytest.raises(ToolError) as error:
        search(pool, query)
    assert error.value.message == message


@pytest.mark.parametrize("words", ["(.*a){12}[!?]Z$", "(a|a|aa)+[bc]x"])
def test_a_regular_expression_without_end_is_stopped(words: str, tmp_path) -> None:
    tool = external("mcp__x__paint")
    tool.prompt = ("a" * 40 + " paints ") * 30
    with pytest.raises(ToolError, match=r"takes too long to match\. Use a simpler one, or words."):
        search(a_board(tmp_path, [tool]).pool, f"/{words}/")
