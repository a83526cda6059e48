"""The service's own web search: which models have it, and what their annotations mean."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pegboard_openai import OpenAIProvider
from pegboard_session import OpaqueBlock, ServerSearch

from .chat import END, REQUEST, ChatServer, ask, delta, usage


@pytest.mark.parametrize(
    ("model", "options", "has_search"),
    [
        ("gpt-5-search-api", {}, True),
        ("gpt-5", {}, False),
        ("gpt-5-search-api", {"base_url": "http://127.0.0.1:1/v1"}, False),
        ("tiny", {"base_url": "http://127.0.0.1:1/v1", "search": "on"}, True),
        ("gpt-5-search-api", {"search": "off"}, False),
    ],
)
def test_the_search_is_offered_for_models_that_are_known_to_have_one(monkeypatch, model, options, has_search) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    made = OpenAIProvider(**options).search_request(replace(REQUEST, model=model), ServerSearch())
    assert (made is not None) is has_search


async def test_the_pages_that_an_answer_cites_are_its_sources() -> None:
    cited = [{"type": "url_citation", "url_citation": {"url": "https://a.com/", "title": "A", "start_index": 0}}, 3]
    answer = [delta(content="It says so."), delta(annotations=cited), delta("stop"), usage(), END]
    provider = OpenAIProvider(search="on")
    request = provider.search_request(REQUEST, ServerSearch())
    assert request is not None
    with ChatServer([answer]) as server:
        events = await ask(server, request)
        assert server.requests[0].body["web_search_options"] == {}
    [block] = [event.data for event in events if isinstance(event, OpaqueBlock)]
    assert provider.search_sources(block) == [{"url": "https://a.com/", "title": "A"}]
    assert provider.search_sources({"type": "text", "text": "x"}) == []
