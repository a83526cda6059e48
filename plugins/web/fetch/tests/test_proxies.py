"""Proxies: which one is used for a URL, and that the guard still stands before it."""

from __future__ import annotations

import socket
import threading
from dataclasses import replace

import pytest
from webfetch_sites import Site

from pegboard_webfetch import WebFetch
from pegboard_webfetch.proxies import proxy_for
from pegboard_webfetch.urls import parse

P = "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("url", "env", "proxy"),
    [
        ("https://a.example/", {}, None),
        ("https://a.example/", {"HTTPS_PROXY": P}, P),
        ("https://a.example/", {"https_proxy": "proxy.example:3128"}, P),
        ("http://a.example/", {"HTTPS_PROXY": P}, None),
        ("http://a.example/", {"ALL_PROXY": P}, P),
        ("http://a.example/", {"HTTP_PROXY": P, "REQUEST_METHOD": "GET"}, None),
        ("https://a.example/", {"HTTPS_PROXY": P, "NO_PROXY": "example"}, None),
        ("https://a.example/", {"HTTPS_PROXY": P, "NO_PROXY": "b.example, .a.example"}, None),
        ("https://aa.example/", {"HTTPS_PROXY": P, "NO_PROXY": "a.example"}, P),
        ("https://a.example/", {"HTTPS_PROXY": P, "NO_PROXY": "*"}, None),
        ("https://a.example/", {"HTTPS_PROXY": P, "NO_PROXY": "a.example:8443"}, P),
        ("https://10.1.2.3/", {"HTTPS_PROXY": P, "NO_PROXY": "10.0.0.0/8"}, None),
        ("https://[::1]/", {"HTTPS_PROXY": P, "NO_PROXY": "::1"}, None),
        ("https://a.example/", {"HTTPS_PROXY": P, "NO_PROXY": "10.0.0.0/8"}, P),
    ],
)
def test_the_proxy_follows_the_usual_variables(url, env, proxy):
    assert proxy_for(parse(url), env) == proxy


def tunnel(visit, port):
    """Play a proxy: connect to a port of ours and carry bytes both ways."""
    with socket.create_connection(("127.0.0.1", port)) as far:
        visit.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        threading.Thread(target=carry, args=(far, visit.wire), daemon=True).start()
        carry(visit.wire, far)


def carry(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


@pytest.fixture
def proxy(tool: WebFetch, web, secure):
    site = Site()
    site.pages["example.com:443"] = lambda visit: tunnel(visit, secure.port)
    tool._network = replace(web.network, env={"HTTPS_PROXY": f"http://me:secret@127.0.0.1:{site.port}"})
    yield site
    site.close()


async def test_https_goes_through_the_proxy_by_name(fetch, secure, proxy, web):
    secure.pages["/"] = b"through"
    assert "through" in (await fetch("https://example.com/")).text
    assert proxy.visits[0].headers["proxy-authorization"] == "Basic bWU6c2VjcmV0"
    assert web.looked_up == ["example.com"]


async def test_a_private_answer_of_dns_stops_a_fetch_before_the_proxy(fetch, proxy, web):
    web.answers["example.com"] = [["10.0.0.1"]]
    assert (await fetch("https://example.com/")).is_error
    assert proxy.visits == []


async def test_a_name_that_only_the_proxy_knows_is_fetched(fetch, secure, proxy, web, tool):
    async def unknown(host, port):
        raise socket.gaierror("unknown")

    secure.pages["/"] = b"through"
    tool._network = replace(tool._network, resolve=unknown)
    assert "through" in (await fetch("https://example.com/")).text


async def test_without_a_proxy_an_unknown_name_is_an_error(fetch, tool, web):
    async def unknown(host, port):
        raise socket.gaierror("unknown")

    tool._network = replace(web.network, resolve=unknown)
    result = await fetch("https://example.com/")
    assert (result.code, result.text) == ("not_found", "The host example.com cannot be resolved. Check its spelling.")
