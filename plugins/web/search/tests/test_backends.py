"""The three ready backends against a server that speaks their formats, and one that another plugin brings."""

from __future__ import annotations

import pytest
from websearch_servers import FORMATS, KEY, PAGES

from pegboard import hookimpl
from pegboard_websearch import SearchResult


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
@pytest.mark.parametrize("name", FORMATS)
async def test_results_come_with_titles_addresses_and_excerpts(search, server, name):
    server.finds(name)
    result = await search(name)
    assert not result.is_error, result.text
    assert [(hit.url, hit.title, hit.text) for hit in result.value.results] == [
        (page["url"], page["title"], page["text"]) for page in PAGES
    ]
    assert (result.value.backend, result.value.searches) == (name, 1)


async def test_what_the_model_reads(search, server):
    server.finds("brave", PAGES[:1])
    assert (await search("brave")).text == (
        "1 result from brave\n"
        '<untrusted-web-content origin="web search">\n'
        "1. asyncio (May 2, 2026)\n"
        "   https://docs.python.org/3/library/asyncio.html\n"
        "   Asynchronous I/O.\n"
        "</untrusted-web-content>\n"
        "Name the addresses that you use as sources. WebFetch reads a page."
    )


async def test_searxng_is_asked_for_json(search, server):
    server.finds("searxng")
    await search("searxng", blocked_domains=["example.com"])
    asked = server.asked[0]
    assert (asked.path, asked.query) == ("/search", {"q": "async python -site:example.com", "format": "json"})
    assert asked.headers["authorization"] == f"Bearer {KEY}"


async def test_brave_gets_its_key_in_a_header(search, server):
    server.finds("brave")
    await search("brave", allowed_domains=["python.org", "readthedocs.io"])
    asked = server.asked[0]
    assert asked.query["q"] == "async python site:python.org OR site:readthedocs.io"
    assert asked.query["count"] == "10"
    assert asked.headers["x-subscription-token"] == KEY


async def test_tavily_gets_lists_of_domains(search, server):
    server.finds("tavily")
    await search("tavily", allowed_domains=["Python.org."])
    asked = server.asked[0]
    assert asked.body == {"query": "async python", "max_results": 10, "include_domains": ["python.org"]}
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    await search("tavily", blocked_domains=["example.com"])
    assert server.asked[1].body["exclude_domains"] == ["example.com"]


async def test_a_key_may_be_in_the_environment(search, make_board, server, monkeypatch):
    monkeypatch.setenv("MY_SEARCH_KEY", "from-the-environment")
    server.finds("brave")
    await search(make_board("brave", key="$MY_SEARCH_KEY"))
    assert server.asked[0].headers["x-subscription-token"] == "from-the-environment"


class Handbook:
    name = "handbook"

    async def search(self, query):
        return [SearchResult("https://handbook.example/1", f"About {query.text}", "Page one.")]


class Plugin:
    @hookimpl
    def register_search(self, settings):
        return [Handbook()]


class Broken:
    @hookimpl
    def register_search(self, settings):
        raise RuntimeError("not today")


async def test_a_plugin_brings_a_backend_which_is_used_without_a_setting(search, make_board):
    result = await search(make_board(backends=None, plugins=(Broken(), Plugin())))
    assert [hit.title for hit in result.value.results] == ["About async python"]
    assert result.value.backend == "handbook"


async def test_the_first_backend_that_can_be_used_is_used(search, make_board, server):
    server.finds("tavily")
    result = await search(make_board(backends=["absent", "provider", "tavily", "handbook"], plugins=(Plugin(),)))
    assert result.value.backend == "tavily"


async def test_without_a_backend_the_model_is_told_what_the_user_can_set(search, make_board, server):
    result = await search(make_board(backends=None))
    assert (result.is_error, result.code) == (True, "unsupported")
    assert "No web search is set up." in result.text
    assert "websearch.backends" in result.text
    assert server.asked == []


@pytest.mark.parametrize(
    ("name", "settings", "reason"),
    [
        ("searxng", {"url": None}, "searxng needs the setting websearch.url, which is not set."),
        ("brave", {"key": None}, "brave needs the setting websearch.key, which is not set."),
        ("brave", {"key": "$NO_SUCH_KEY"}, "the environment variable NO_SUCH_KEY, which is not set."),
        ("brave", {"key": "two\nlines"}, "websearch.key contains spaces, line breaks or special characters."),
        ("searxng", {"url": "ftp://127.0.0.1/"}, "websearch.url is not an address."),
        ("searxng", {"url": "http://127.0.0.1:99999/"}, "websearch.url is not an address."),
        ("brave", {"url": "http://search.example/"}, "which would send the key without encryption."),
    ],
)
async def test_settings_that_cannot_work_send_nothing(search, make_board, server, name, settings, reason):
    result = await search(make_board(name, **settings))
    assert result.is_error
    assert reason in result.text
    assert server.asked == []
