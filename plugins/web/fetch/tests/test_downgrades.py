"""Nothing that was under encryption goes on without it: redirects to plain http, certificates that do not hold."""

from __future__ import annotations

import socket
import socketserver
import ssl
import struct
import threading
from collections.abc import Iterator

import pytest
import trustme
from webfetch_sites import Site

NOT_FOLLOWED = (
    "https://example.com/a · status 302 Found · redirect to plain http\n"
    "https://example.com/a redirects to plain http on the same host: http://example.com/b\n"
    "It was not followed: without encryption, anyone on the network path can read and change the page. "
    "Continue without it, or tell the user."
)
NEITHER_WAY = "Nothing was fetched, and plain http was not tried. Continue without it, or tell the user."


def secure_site(authority: trustme.CA, *names: str) -> Site:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return Site(context)


@pytest.fixture
def forged() -> Iterator[Site]:
    """A site under the right name, with a certificate by an authority that nobody trusts."""
    site = secure_site(trustme.CA(), "example.com")
    yield site
    site.close()


@pytest.fixture
def misnamed(authority: trustme.CA) -> Iterator[Site]:
    """A site with a trusted certificate of another host."""
    site = secure_site(authority, "other.example")
    yield site
    site.close()


@pytest.mark.parametrize("asked", ["https://example.com/a", "http://example.com/a"])
@pytest.mark.parametrize("location", ["http://example.com/b", "http://EXAMPLE.com./b", "http://example.com:80/b"])
async def test_a_redirect_to_plain_http_is_reported_and_not_followed(fetch, plain, secure, asked, location):
    secure.pages["/a"] = lambda visit: visit.answer(b"", "302 Found", location=location)
    plain.pages["/b"] = b"changed on the way"
    result = await fetch(asked)
    assert result.text == NOT_FOLLOWED
    assert (result.value.how, result.value.redirect_url, plain.visits) == ("downgrade", "http://example.com/b", [])


async def test_a_redirect_to_plain_http_is_reported_after_others_were_followed(fetch, plain, secure):
    secure.pages["/"] = lambda visit: visit.answer(b"", "301 Moved Permanently", location="/a")
    secure.pages["/a"] = lambda visit: visit.answer(b"", "302 Found", location="http://example.com/b")
    result = await fetch("https://example.com/")
    assert (result.text, plain.visits) == (NOT_FOLLOWED, [])


async def test_a_private_host_that_a_rule_opens_is_not_left_without_encryption_either(
    fetch, plain, secure, web, settings_file
):
    settings_file("WebFetch(domain:example.com)")
    web.answers["example.com"] = [["10.0.0.7"]]
    secure.pages["/a"] = lambda visit: visit.answer(b"", "302 Found", location="http://example.com/b")
    assert (await fetch("https://example.com/a")).text == NOT_FOLLOWED
    assert plain.visits == []


async def test_a_redirect_from_http_to_https_is_followed(fetch, plain, secure, web, settings_file):
    settings_file("WebFetch(domain:example.com)")
    web.answers["example.com"] = [["10.0.0.7"]]
    plain.pages["/a"] = lambda visit: visit.answer(b"", "302 Found", location="https://example.com/b")
    secure.pages["/b"] = b"safe"
    assert (await fetch("http://example.com/a")).value.final_url == "https://example.com/b"


@pytest.mark.parametrize("asked", ["https://example.com/a", "http://example.com/a"])
@pytest.mark.parametrize(
    ("site", "words"),
    [
        ("forged", "The certificate of example.com is not valid: unable to get local issuer certificate. "),
        ("misnamed", "The certificate of example.com is not valid: Hostname mismatch, certificate is not valid for "),
    ],
)
async def test_plain_http_is_not_tried_after_a_failed_certificate(fetch, plain, web, request, asked, site, words):
    web.ports[443] = request.getfixturevalue(site).port
    plain.pages["/a"] = b"changed on the way"
    result = await fetch(asked)
    assert result.is_error
    assert words in result.text
    assert result.text.endswith(NEITHER_WAY)
    assert plain.visits == []


@pytest.fixture
def unencrypted() -> Iterator[int]:
    """The port of a server that greets whoever connects, without any encryption."""

    class Greeting(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1)
            self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socketserver.TCPServer(("127.0.0.1", 0), Greeting) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("asked", ["https://example.com/a", "http://example.com/a"])
async def test_plain_http_is_not_tried_where_the_port_of_https_speaks_something_else(
    fetch, plain, web, unencrypted, asked
):
    web.ports[443] = unencrypted
    plain.pages["/a"] = b"changed on the way"
    result = await fetch(asked)
    assert (result.is_error, plain.paths) == (True, [])
    assert "example.com does not support https correctly" in result.text
    assert result.text.endswith(NEITHER_WAY)


@pytest.fixture(params=["says nothing", "breaks off"])
def stalling(request: pytest.FixtureRequest) -> Iterator[int]:
    """The port of a server that takes connections and does not begin to encrypt."""

    class Stalling(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            if request.param == "breaks off":
                self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            else:
                over.wait(20)

    over = threading.Event()
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Stalling) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_address[1]
        over.set()
        server.shutdown()
        thread.join()


async def test_plain_http_is_not_tried_after_a_handshake_that_does_not_come_about(fetch, plain, web, stalling):
    web.ports[443] = stalling
    plain.pages["/a"] = b"changed on the way"
    result = await fetch("http://example.com/a")
    assert (result.is_error, plain.paths) == (True, [])
    assert result.text.endswith(NEITHER_WAY)


async def test_plain_http_is_not_tried_after_https_answered_with_nonsense(fetch, plain, secure):
    secure.pages["/a"] = lambda visit: visit.send(b"nonsense\r\n\r\n")
    plain.pages["/a"] = b"changed on the way"
    result = await fetch("http://example.com/a")
    assert (result.is_error, plain.paths) == (True, [])
    assert "did not answer with valid HTTP" in result.text


async def test_plain_http_is_fetched_as_asked_where_nothing_listens_for_https(fetch, plain, web):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        web.ports[443] = free.getsockname()[1]
    plain.pages["/a"] = b"as asked"
    assert "as asked" in (await fetch("http://example.com/a")).text
