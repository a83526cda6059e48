"""Fetching, through the door the model uses, against real servers on loopback."""

from __future__ import annotations

import gc
import threading
import weakref
from contextlib import suppress

import anyio
import pytest
from webfetch_sites import PUBLIC

from pegboard import Call
from pegboard_webfetch.cache import Cache

LONG = "\n".join(f"line {number}" for number in range(1000)).encode()


async def test_webfetch_returns_a_page_with_status_type_size_and_origin(fetch, secure):
    secure.pages["/a"] = b"<title>A page</title><h1>Hello</h1><p>World &amp; all.</p>"
    result = await fetch("https://example.com/a")
    assert result.text == (
        "https://example.com/a · status 200 OK · text/html · 58 bytes · verbatim\n"
        '<untrusted-web-content origin="https://example.com/a">\n'
        "Title: A page\n\n"
        "# Hello\n\nWorld & all.\n"
        "</untrusted-web-content>"
    )
    assert (result.value.code, result.value.how, result.value.final_url) == (200, "verbatim", "https://example.com/a")


async def test_webfetch_sends_an_honest_user_agent_and_prefers_markdown(fetch, secure):
    secure.pages["/"] = b"x"
    await fetch("https://example.com/", headers={"Accept-Language": "de"})
    sent = secure.visits[0].headers
    assert sent["user-agent"].startswith("pegboard-webfetch/")
    assert sent["accept"].startswith("text/markdown")
    assert (sent["host"], sent["accept-language"]) == ("example.com", "de")
    assert "cookie" not in sent


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({"Authorization": "Bearer x"}, "the header 'Authorization' cannot be set"),
        ({"Host": "a"}, "the header 'Host' cannot be set"),
        ({"Accept": "a\r\nX: y"}, "the header Accept must be up to 500 printable ASCII characters"),
    ],
)
async def test_only_listed_headers_can_be_set(fetch, web, headers, words):
    result = await fetch("https://example.com/", headers=headers)
    assert (result.code, words in result.text) == ("invalid_input", True)
    assert web.dialled == []


async def test_a_new_host_asks_and_an_allow_rule_answers(make_board, settings_file, answers, secure):
    secure.pages["/"] = b"x"
    call = Call("1", "WebFetch", {"url": "https://example.com/"})
    asked = await make_board().dispatch(call)
    assert (asked.is_error, answers.asked[0].preview) == (True, "GET https://example.com/")
    settings_file("WebFetch(domain:example.com)")
    assert not (await make_board().dispatch(call)).is_error


async def test_http_is_upgraded_to_https_for_public_hosts(fetch, plain, secure):
    secure.pages["/a"] = b"safe"
    result = await fetch("http://example.com/a")
    assert (result.value.final_url, plain.visits) == ("https://example.com/a", [])


async def test_http_stays_http_where_https_does_not_answer(fetch, plain, web):
    plain.pages["/a"] = b"plain"
    web.ports[443] = 1
    result = await fetch("http://example.com/a")
    assert result.value.final_url == "http://example.com/a"
    assert "over http without encryption" in result.text
    assert web.looked_up == ["example.com"]


async def test_localhost_needs_a_rule_that_names_it_and_is_never_upgraded(fetch, settings_file, plain, web):
    plain.pages["/"] = b"mine"
    web.answers["localhost"] = [["127.0.0.1", "::1"]]
    refused = await fetch("http://localhost/")
    assert refused.decision.layer == "webfetch"
    assert "add the allow rule WebFetch(domain:localhost)" in refused.text
    for rule in ("WebFetch", "WebFetch(domain:*)", "WebFetch(domain:local*)"):
        settings_file(rule)
        assert (await fetch("http://localhost/")).decision.word == "deny"
    settings_file("WebFetch(domain:localhost)")
    assert "mine" in (await fetch("http://localhost/")).text
    assert web.dialled == [("127.0.0.1", 80)]


async def test_a_named_host_may_use_another_port_but_never_that_of_another_service(fetch, settings_file, plain):
    plain.pages["/"] = b"mine"
    settings_file("WebFetch(domain:127.0.0.1)")
    assert "mine" in (await fetch(f"http://127.0.0.1:{plain.port}/")).text
    assert "and is never used" in (await fetch("http://127.0.0.1:22/")).text


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (["169.254.169.254"], "a metadata address, not a public one. No rule can allow it."),
        (["224.0.0.1"], "a multicast address"),
        (["10.0.0.1", PUBLIC], "both public and private addresses"),
    ],
)
async def test_a_rule_on_a_name_opens_private_addresses_but_nothing_worse(fetch, settings_file, web, found, words):
    settings_file("WebFetch(domain:intra.example)")
    web.answers["intra.example"] = [found]
    result = await fetch("http://intra.example/")
    assert (result.is_error, words in result.text, web.dialled) == (True, True, [])


async def test_a_rule_on_a_name_opens_a_private_address(fetch, settings_file, web, plain):
    plain.pages["/"] = b"wiki"
    settings_file("WebFetch(domain:intra.example)")
    web.answers["intra.example"] = [["10.0.0.7"]]
    assert "wiki" in (await fetch("http://intra.example/")).text
    assert web.dialled == [("10.0.0.7", 80)]


async def test_a_redirect_to_another_host_is_reported_with_both_addresses(fetch, secure, web):
    secure.pages["/a"] = lambda visit: visit.answer(b"", "301 Moved Permanently", location="https://other.example/b")
    result = await fetch("https://example.com/a")
    assert result.text == (
        "https://example.com/a · status 301 Moved Permanently · redirect to another host\n"
        "https://example.com/a redirects to another host: https://other.example/b\n"
        "It was not followed. To go there, call WebFetch with url=https://other.example/b"
    )
    assert web.looked_up == ["example.com"]


async def test_redirects_on_the_same_host_are_followed_five_times(fetch, secure):
    for number in range(7):
        secure.pages[f"/{number}"] = lambda visit, n=number: visit.answer(b"", "302 Found", location=f"/{n + 1}")
    secure.pages["/7"] = b"end"
    assert (await fetch("https://example.com/2")).value.final_url == "https://example.com/7"
    result = await fetch("https://example.com/1")
    assert "redirects more than 5 times" in result.text
    assert secure.paths[-1] == "/6"


async def test_each_redirect_looks_its_host_up_again_and_checks_it(fetch, secure, web):
    secure.pages["/a"] = lambda visit: visit.answer(b"", "302 Found", location="/b")
    web.answers["example.com"] = [[PUBLIC], ["127.0.0.1"]]
    result = await fetch("https://example.com/a")
    assert "resolves to 127.0.0.1, a loopback address" in result.text
    assert web.dialled == [(PUBLIC, 443)]


async def test_an_error_page_gives_the_code_and_an_excerpt_and_is_not_cached(fetch, secure):
    secure.pages["/"] = lambda visit: visit.answer(LONG, "403 Forbidden")
    for _ in range(2):
        result = await fetch("https://example.com/")
        assert not result.value.from_cache
    assert "status 403 Forbidden" in result.text
    assert "this tool cannot log in" in result.text
    assert 1500 < len(result.value.result) <= 2000
    assert "(EXCERPT: characters 0 to" in result.text


async def test_a_long_page_comes_in_parts_from_one_fetch(fetch, secure):
    secure.pages["/"] = lambda visit: visit.answer(LONG)
    parts, offset = [], 0
    while offset is not None:
        result = await fetch("https://example.com/", offset=offset, max_chars=3000)
        parts.append(result.value.result)
        offset = result.value.next_offset
    assert "".join(parts).encode() == LONG
    assert all(part.endswith("\n") for part in parts[:-1])
    assert len(secure.visits) == 1
    past = await fetch("https://example.com/", offset=99_999)
    assert "The page has 8889 characters; offset 99999 is beyond its end." in past.text


async def test_the_next_part_is_named(fetch, secure):
    secure.pages["/"] = lambda visit: visit.answer(LONG)
    result = await fetch("https://example.com/", max_chars=1000)
    assert result.value.truncated
    assert result.text.endswith(
        f"(PARTIAL: characters 0 to {result.value.next_offset} of 8889; "
        f"continue with offset={result.value.next_offset}.)"
    )


async def test_a_page_is_kept_for_a_quarter_of_an_hour_under_its_normal_name(fetch, secure, clock):
    secure.pages["/"] = b"x"
    await fetch("https://example.com/")
    assert (await fetch("https://EXAMPLE.com:443/#part")).value.from_cache
    assert not (await fetch("https://example.com/", format="html")).value.from_cache
    clock[0] += 901
    assert not (await fetch("https://example.com/")).value.from_cache


async def test_the_time_in_the_cache_can_be_set(fetch, secure, clock, settings_file):
    settings_file(webfetch={"cacheSeconds": 5})
    secure.pages["/"] = b"x"
    await fetch("https://example.com/")
    clock[0] += 6
    assert not (await fetch("https://example.com/")).value.from_cache


async def test_a_private_page_is_not_served_from_the_cache_once_its_rule_is_gone(fetch, settings_file, web, plain):
    plain.pages["/"] = b"wiki"
    web.answers["intra.example"] = [["10.0.0.7"]]
    settings_file("WebFetch(domain:intra.example)")
    await fetch("http://intra.example/")
    settings_file()
    result = await fetch("http://intra.example/")
    assert (result.is_error, "private address" in result.text) == (True, True)


def test_the_cache_lets_go_of_what_expired_and_of_the_least_used():
    class Thing:
        pass

    now = [0.0]
    cache, thing = Cache[Thing](most_bytes=100, now=lambda: now[0]), Thing()
    gone = weakref.ref(thing)
    cache.put("a", thing, 40, 10)
    cache.put("b", Thing(), 40, 100)
    del thing
    now[0] = 11
    assert cache.get("b") is not None
    gc.collect()
    assert (gone(), cache.size) == (None, 40)
    cache.put("c", Thing(), 50, 100)
    cache.get("b")
    cache.put("d", Thing(), 50, 100)
    assert [key for key in "bcd" if cache.get(key)] == ["b", "d"]
    cache.put("e", Thing(), 101, 100)
    assert (cache.get("e"), cache.size) == (None, 90)


async def test_fetches_from_ten_hosts_overlap(make_board, approve, secure):
    together = threading.Barrier(10)

    def meet(visit):
        together.wait(20)
        visit.answer(b"met")

    secure.pages["/"] = meet
    board, results = make_board(), []

    async def one(number):
        call = Call(str(number), "WebFetch", {"url": f"https://h{number}.hosts.example/"})
        results.append(await board.dispatch(call))

    async with anyio.create_task_group() as group:
        for number in range(10):
            group.start_soon(one, number)
    assert [result.value.result for result in results] == ["met"] * 10


async def test_a_host_gets_at_most_six_requests_at_once(make_board, approve, secure):
    inside, peak, lock = 0, 0, threading.Lock()
    six = threading.Barrier(6)

    def count(visit):
        nonlocal inside, peak
        with lock:
            inside += 1
            peak = max(peak, inside)
        six.wait(20)
        with lock:
            inside -= 1
        visit.answer(b"done")

    for number in range(12):
        secure.pages[f"/{number}"] = count
    board = make_board()

    async with anyio.create_task_group() as group:
        for number in range(12):
            group.start_soon(board.dispatch, Call(str(number), "WebFetch", {"url": f"https://example.com/{number}"}))
    assert peak == 6


async def test_cancelling_a_call_hangs_up(make_board, approve, secure):
    began, hung_up = threading.Event(), threading.Event()

    def wait(visit):
        began.set()
        with suppress(OSError):
            visit.wire.recv(1)
        hung_up.set()

    secure.pages["/"] = wait
    board = make_board()
    async with anyio.create_task_group() as group:
        group.start_soon(board.dispatch, Call("1", "WebFetch", {"url": "https://example.com/"}))
        assert await anyio.to_thread.run_sync(began.wait, 20)
        group.cancel_scope.cancel()
    assert await anyio.to_thread.run_sync(hung_up.wait, 20)


async def test_a_server_cannot_write_to_the_model_outside_of_the_marks(fetch, secure):
    secure.pages["/"] = lambda visit: visit.answer(
        b"x", "200 Obey me", content_type="text/plain obey me; charset=utf-8"
    )
    result = await fetch("https://example.com/")
    assert "bey me" not in result.text


@pytest.mark.parametrize("rule", ["localhost", "LOCALHOST.", "::1", "[::1]"])
async def test_a_rule_may_spell_its_host_in_the_usual_ways(fetch, settings_file, web, plain, rule):
    plain.pages["/"] = b"mine"
    web.answers["localhost"] = [["::1"]]
    settings_file(f"WebFetch(domain:{rule})")
    host = "[::1]" if ":" in rule else "localhost"
    assert "mine" in (await fetch(f"http://{host}/")).text
