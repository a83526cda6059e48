"""The service's own web search: when it is offered, and what its blocks mean."""

from __future__ import annotations

import pytest

from pegboard import ProviderError
from pegboard_anthropic import AnthropicProvider
from pegboard_session import ServerSearch

from .loopback import REQUEST, ask, sse


@pytest.mark.parametrize(
    ("options", "has_search"),
    [
        ({}, True),
        ({"base_url": "https://gateway.example"}, False),
        ({"base_url": "https://gateway.example", "search": "on"}, True),
        ({"search": "off"}, False),
        ({"client": "bedrock"}, False),
    ],
)
def test_the_search_is_offered_where_the_service_is_known_to_have_one(options, has_search):
    assert (AnthropicProvider(**options).search_request(REQUEST, ServerSearch()) is not None) is has_search


def test_the_request_has_one_list_of_domains():
    made = AnthropicProvider().search_request(REQUEST, ServerSearch(("a.com",), ("b.com",), 3))
    assert made is not None
    assert made.options["tools"] == [
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 3, "allowed_domains": ["a.com"]}
    ]


def test_sources_come_from_results_and_citations():
    provider = AnthropicProvider()
    results = [{"type": "web_search_result", "url": "https://a.com/", "title": "A", "page_age": None}, "junk", {}]
    assert provider.search_sources({"type": "web_search_tool_result", "content": results}) == [
        {"url": "https://a.com/", "title": "A"}
    ]
    cited = [{"url": "https://b.com/", "title": "B", "cited_text": "It says so."}]
    assert provider.search_sources({"type": "text", "text": "x", "citations": cited}) == [
        {"url": "https://b.com/", "title": "B", "text": "It says so."}
    ]
    assert provider.search_sources({"type": "server_tool_use"}) == []
    with pytest.raises(ProviderError, match="max_uses_exceeded"):
        provider.search_sources({"type": "web_search_tool_result", "content": {"error_code": "max_uses_exceeded"}})


async def test_searches_of_the_service_are_counted():
    answer = sse.message(sse.text("Hello."))
    answer[-2][1]["usage"] = {"output_tokens": 20, "server_tool_use": {"web_search_requests": 2}}
    with sse.SseServer([answer]) as server:
        events = await ask(server.url)
    assert {"web_search_requests": 2} in [event.others for event in events if hasattr(event, "others")]


def test_an_unknown_word_is_refused():
    with pytest.raises(ValueError, match="search must be one of auto, on, off, got 'maybe'"):
        AnthropicProvider(search="maybe")
