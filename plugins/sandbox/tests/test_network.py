"""What a sandboxed process reaches. All servers are on loopback."""

from __future__ import annotations

import http.server
import sys
import threading
from collections.abc import Iterator
from ipaddress import ip_address

import pytest

from pegboard_sandbox.hosts import Allowed, RefusedError, is_public

FETCH = """
import http.client, os, sys, urllib.parse, urllib.request
kind, url = sys.argv[1:]
proxy = urllib.parse.urlsplit(os.environ.get("http_proxy", "//127.0.0.1:9"))
target = urllib.parse.urlsplit(url)
try:
    if kind == "direct":
        link = http.client.HTTPConnection(target.hostname, target.port, timeout=5)
        link.request("GET", "/")
    else:
        link = http.client.HTTPConnection(proxy.hostname, proxy.port, timeout=5)
        if kind == "tunnel":
            link.set_tunnel(target.hostname, target.port)
        headers = {"Host": "elsewhere.example"} if kind == "fronted" else {}
        link.request("GET", "/" if kind == "tunnel" else url, headers=headers)
    answer = link.getresponse()
    print(answer.status, answer.read().decode().strip())
except OSError as error:
    print("failed", error)
"""


class Hello(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"hello {self.headers['Host'].partition(':')[0]}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


async def fetch(box, kind, port, **settings):
    _, said = await box.run((sys.executable, "-c", FETCH, kind, f"http://127.0.0.1:{port}/"), **settings)
    return said.strip()


async def test_nothing_is_reached_without_a_network(box, port):
    assert (await fetch(box, "direct", port)).startswith("failed")
    assert "lo" in await box.sh("cat /proc/net/dev")
    assert len((await box.sh("cat /proc/net/dev")).splitlines()) == 3


async def test_everything_is_reached_with_the_network_on(box, port):
    assert await fetch(box, "direct", port, network="on") == "200 hello 127.0.0.1"


@pytest.mark.parametrize("kind", ["plain", "tunnel", "fronted"])
async def test_a_listed_host_is_reached_through_the_proxy(box, port, kind):
    assert await fetch(box, kind, port, network="proxy", allowedDomains=["127.0.0.1"]) == "200 hello 127.0.0.1"


@pytest.mark.parametrize("domains", [[], ["example.com"], ["*"], ["127.0.0.1:1"]])
async def test_another_host_is_refused(box, port, domains):
    said = await fetch(box, "plain", port, network="proxy", allowedDomains=domains)
    assert said.startswith("403 ")
    assert (await fetch(box, "tunnel", port, network="proxy", allowedDomains=domains)).startswith("failed")


async def test_nothing_is_reached_past_the_proxy(box, port):
    said = await fetch(box, "direct", port, network="proxy", allowedDomains=["127.0.0.1"])
    assert said.startswith("failed")


async def test_the_exit_code_comes_through_the_bridge(box):
    ended, _ = await box.run(("sh", "-c", "exit 5"), network="proxy")
    assert ended.code == 5
    _, said = await box.run(("no-such-program",), network="proxy")
    assert said == "no-such-program cannot be started: No such file or directory.\n"


@pytest.mark.parametrize(
    ("patterns", "host"),
    [
        (("example.com",), "www.example.com"),
        (("*.example.com",), "example.com"),
        (("*",), "127.0.0.1"),
        (("*",), "2130706433"),
        (("*",), "0x7f.0.0.1"),
        (("*",), "127.1"),
        (("*",), "[::1]"),
        (("*",), "::ffff:127.0.0.1"),
        (("*",), "169.254.169.254"),
        (("*",), "localhost"),
        ((), "example.com"),
        (("*",), ""),
    ],
)
def test_a_host_that_is_not_meant_is_refused(patterns, host):
    with pytest.raises(RefusedError):
        Allowed(patterns).addresses(host, 443)


@pytest.mark.parametrize(
    ("patterns", "host"),
    [(("localhost",), "LocalHost."), (("127.0.0.1",), "127.0.0.1"), (("[::1]:443",), "::1"), (("*",), "8.8.8.8")],
)
def test_a_host_that_is_meant_is_allowed(patterns, host):
    assert Allowed(patterns).addresses(host, 443)


@pytest.mark.parametrize(
    "address",
    ["10.0.0.1", "100.64.0.1", "0.0.0.0", "224.0.0.1", "168.63.129.16", "fe80::1", "64:ff9b::7f00:1", "2002:7f00:1::"],
)
def test_an_address_that_is_not_public(address):
    assert not is_public(ip_address(address))
