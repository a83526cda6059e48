"""What services do wrong: each has its message, nothing hangs, and the key appears nowhere."""

from __future__ import annotations

import gzip
import logging

import pytest
from websearch_servers import FORMATS, KEY, PAGES, Reply, SearchServer

from pegboard import hookimpl

ECHO = f"Your key {KEY} is no good.".encode()
"""A service may repeat the key in what it says."""


BOTH = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "refused the request (status 401): the key is missing or wrong"),
        (403, "refused the request (status 403): the key is missing or wrong"),
        (429, "allows no more searches for now (status 429). It asks to wait 7 seconds."),
        (500, "failed with status 500."),
        (302, "redirects to another address (status 302), which is never followed."),
    ],
)
async def test_a_refusal_is_told_without_what_the_service_said(search, server, name, status, words):
    server.says(ECHO, status, location=f"{server.url}/elsewhere", retry_after="7")
    result = await search(name)
    assert (result.is_error, result.code) == (True, "failed")
    assert words in result.text
    assert KEY not in result.text
    assert len(server.asked) == 1, "a redirect was followed, or a request was repeated"


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"null", b"[" * 100_000, b'{"results": "\xff"}'])
async def test_garbage_is_an_error(search, server, name, body):
    server.says(body)
    result = await search(name)
    assert result.is_error
    assert "did not answer with a JSON object." in result.text


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"results": null, "web": 3}',
        b'{"results": [1, {"title": "x"}, {"url": 7}], "web": {"results": [null, {"url": []}]}}',
    ],
)
async def test_an_answer_of_another_shape_has_no_results(search, server, name, body):
    server.says(body)
    result = await search(name)
    assert not result.is_error
    assert result.text == f"0 results from {name}. Try other words, or fewer domains."


@BOTH
async def test_a_body_without_end_is_cut(search, server):
    server.reply = lambda asked: Reply(endless=True)
    result = await search()
    assert (result.code, "sent more than 2,000,000 bytes." in result.text) == ("too_large", True)


async def test_a_compressed_body_is_refused(search, server):
    server.says(gzip.compress(b" " * 10_000_000), content_encoding="gzip")
    assert "sent a compressed answer, which was not asked for." in (await search()).text


@BOTH
async def test_a_service_that_says_nothing_runs_into_the_timeout(search, make_board, server):
    server.reply = lambda asked: Reply(hang=True)
    result = await search(make_board(timeout=1))
    assert result.code == "timeout"
    assert "searxng at 127.0.0.1 did not answer within 1 seconds." in result.text


@BOTH
async def test_a_service_that_is_not_there(search, make_board):
    result = await search(make_board(url="http://127.0.0.1:1/"))
    assert "searxng at 127.0.0.1 cannot be reached (ConnectError)." in result.text


class Watching:
    def __init__(self):
        self.events = []

    @hookimpl
    def observe(self, event):
        self.events.append(repr(event))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("status", [200, 401, 500])
async def test_the_key_is_in_no_result_event_log_or_file(search, make_board, server, caplog, tmp_path, name, status):
    caplog.set_level(logging.DEBUG)
    watching = Watching()
    server.finds(name)
    if status != 200:
        server.says(ECHO, status)
    result = await search(make_board(name, plugins=(watching,)))
    assert server.asked, "nothing was sent"
    assert watching.events
    written = [path.read_text("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
    assert any("WebSearch" in text for text in written), "there is no audit log"
    said = [result.text, repr(result), caplog.text, *watching.events, *written]
    assert not [text for text in said if KEY in text]


def test_the_key_is_not_shown_among_the_settings(make_board):
    def shown(**given):
        return {row["key"]: row for row in make_board(**given).settings.explain()}["websearch.key"]

    assert shown()["value"] == "***"
    assert KEY not in repr(shown())
    assert shown(key="$MY_KEY")["value"] == "$MY_KEY"


async def test_a_password_in_the_address_is_in_no_message(search, make_board, server):
    server.says(b"no", 500)
    result = await search(make_board(url=server.url.replace("://", "://user:hunter2@")))
    assert result.is_error
    assert "hunter2" not in result.text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"query": "  "}, "query is empty."),
        ({"query": "x" * 401}, "query may have up to 400 characters, got 401."),
        ({"allowed_domains": ["a.com"], "blocked_domains": ["b.com"]}, "cannot be used together."),
        ({"allowed_domains": ["https://a.com/x"]}, "allowed_domains must contain domains such as example.com"),
        ({"blocked_domains": ["a b"]}, "blocked_domains must contain domains such as example.com"),
        ({"blocked_domains": ["a.com"] * 21}, "blocked_domains may have up to 20 domains, got 21."),
        ({"query": None}, "query"),
        ({"most": 3}, "WebSearch has no argument 'most'"),
    ],
)
async def test_bad_input_is_refused_before_anything_is_sent(search, server, given, words):
    result = await search(**given)
    assert (result.is_error, result.code) == (True, "invalid_input")
    assert words in result.text
    assert server.asked == []


async def test_so_many_results_as_the_setting_says(search, make_board, server):
    server.finds("searxng", PAGES * 20)
    assert len((await search(make_board(maxResults=4))).value.results) == 4
    assert len((await search(make_board(maxResults=1000))).value.results) == 20


async def test_a_search_on_this_machine_goes_through_no_proxy(search, server, monkeypatch):
    server.finds("searxng")
    proxy = SearchServer()
    try:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        assert not (await search()).is_error
        assert (len(server.asked), proxy.asked) == (1, []), "the key would leave the machine without encryption"
    finally:
        proxy.close()
