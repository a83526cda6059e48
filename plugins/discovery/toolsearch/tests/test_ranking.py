"""Words find the right tool: in other words, misspelled, joined, in long prompts, and as soon as it is there."""

from __future__ import annotations

import pytest

from pegboard import hookimpl
from pegboard.hosting import Pool
from pegboard_toolsearch.documents import Document
from pegboard_toolsearch.finder import ToolFinder
from pegboard_toolsearch.index import ToolIndex
from pegboard_toolsearch.words import Stems, split_name, stem

from .catalogue import a_board, every, external

QUERIES = {
    "send a message": "mcp__slack__send_message",
    "post in a slack channel": "mcp__slack__send_message",
    "report a bug": "mcp__github__create_issue",
    "open pull requests": "mcp__github__list_pull_requests",
    "folder tree": "mcp__files__directory_tree",
    "rename file": "mcp__files__move_file",
    "wordcloud": "mcp__charts__generate_word_cloud",
    "generatePieChart": "mcp__charts__generate_pie_chart",
    "take screenshots": "mcp__browser__screenshot",
    "browse a website": "mcp__browser__navigate",
    "calender free slots": "mcp__calendar__find_free_slots",
    "wether forcast": "mcp__weather__get_forecast",
    "kubernets pods": "mcp__k8s__get_pods",
    "share quote of AAPL": "mcp__stocks__get_price",
    "book a room in a hotel": "mcp__travel__search_hotels",
    "comment on a ticket": "mcp__jira__add_comment",
    "what time is it": "mcp__time__get_current_time",
    "execute sql": "mcp__db__run_query",
    "airline tickets": "mcp__travel__search_flights",
    "translation": "mcp__docs__translate_text",
    "recipients": "mcp__mail__send_email",
    "css selector": "mcp__browser__click",
    "slack.sendMessage": "mcp__slack__send_message",
    "mcp__files__read_file": "mcp__files__read_file",
}


@pytest.fixture(scope="module")
def finder() -> ToolFinder:
    return ToolFinder()


@pytest.fixture(scope="module")
def pool(tmp_path_factory) -> Pool:
    return a_board(tmp_path_factory.mktemp("board")).pool


@pytest.mark.parametrize(("query", "wanted"), QUERIES.items())
def test_the_right_tool_is_among_the_first_three(query: str, wanted: str, finder: ToolFinder, pool: Pool) -> None:
    assert wanted in [entry.name for entry in finder.search(pool, query, 3).entries]


def test_each_part_of_a_long_prompt_finds_its_tool(finder: ToolFinder, pool: Pool) -> None:
    query = "What will the weather be like in Lisbon? Also look for hotels, and then send me an email about it."
    found = {entry.name for entry in finder.search(pool, query, 5).entries}
    assert {"mcp__weather__get_forecast", "mcp__travel__search_hotels", "mcp__mail__send_email"} <= found


def test_words_that_no_tool_has_are_reported(finder: ToolFinder, pool: Pool) -> None:
    found = finder.search(pool, "xylophone lessons")
    assert found.unknown == ["xylophone", "lessons"]
    assert found.is_weak
    assert not found.entries


def test_a_good_answer_is_not_weak(finder: ToolFinder, pool: Pool) -> None:
    assert not finder.search(pool, "list pull requests").is_weak


def test_repairs_are_reported_and_only_in_short_queries(finder: ToolFinder, pool: Pool) -> None:
    assert finder.search(pool, "calender").repaired == {"calender": "calendar"}
    prose = "please put something about calender things into the big long text that I have"
    assert finder.search(pool, prose).repaired == {}


def test_tools_of_a_refreshed_source_are_found_at_once(tmp_path) -> None:
    class Source:
        name, family, version = "late", "mcp", 1

        def __init__(self) -> None:
            self.offered = [external("mcp__db__run_query")]

        def tools(self):
            return self.offered

    class Plugin:
        @hookimpl
        def tool_sources(self):
            return [source]

    source = Source()
    board, finder = a_board(tmp_path, [], Plugin()), ToolFinder()
    assert not finder.search(board.pool, "email").entries
    source.offered, source.version = [external("mcp__mail__send_email")], 2
    board.refresh()
    assert [entry.name for entry in finder.search(board.pool, "email").entries] == ["mcp__mail__send_email"]
    assert not finder.search(board.pool, "sql").entries, "what has gone is not found"


def test_a_pool_with_fewer_tools_finds_only_its_own(tmp_path, finder: ToolFinder, pool: Pool) -> None:
    finder.search(pool, "send")
    fewer = Pool([entry for entry in pool.entries if "slack" not in entry.name])
    assert "mcp__slack__send_message" not in [
        entry.name for entry in finder.search(fewer, "send a message", 20).entries
    ]


def test_a_changed_definition_replaces_the_old_one() -> None:
    index = ToolIndex()
    index.add([Document("t", description="Paints walls.")])
    index.add([Document("t", description="Bakes bread."), Document("u", description="Sings.")])
    assert list(index.impacts(stem("bread"))[0]) == [1]
    assert index.number("t") == 1
    assert len(index) == 2


def test_an_index_that_is_mostly_removed_tools_is_built_anew(tmp_path) -> None:
    finder = ToolFinder()
    for number in range(150):
        tool = external("mcp__x__changing")
        tool.prompt = f"Version {number} of it."
        finder.follow(a_board(tmp_path, [tool]).pool)
    assert len(finder.index.documents) < 120


def test_searching_does_not_depend_on_the_order_of_registration(tmp_path) -> None:
    boards = [a_board(tmp_path, tools) for tools in (every(), every()[::-1])]
    answers = [[entry.name for entry in ToolFinder().search(b.pool, "get the latest price", 8).entries] for b in boards]
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("files", "file"),
        ("queries", "query"),
        ("creating", "create"),
        ("creation", "create"),
        ("running", "run"),
        ("translation", "translate"),
        ("summarization", "summarize"),
        ("branches", "branch"),
        ("stopped", "stop"),
        ("managed", "manage"),
        ("conversion", "conversions"),
    ],
)
def test_forms_of_a_word_have_one_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(("one", "other"), [("news", "new"), ("bus", "but"), ("user", "use"), ("process", "proceed")])
def test_different_words_keep_different_stems(one: str, other: str) -> None:
    assert one == "news" or stem(one) != stem(other)


@pytest.mark.parametrize("name", ["readHTTPFile", "read_http_file", "read-http-file", "ReadHttpFile"])
def test_names_are_split_however_they_are_written(name: str) -> None:
    assert split_name(name) == ["read", "http", "file"]


def test_stop_words_are_no_terms() -> None:
    assert Stems().of_text("I'd like to see the files") == Stems().of_text("see files")
