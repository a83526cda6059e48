"""What a sandboxed process reaches. All servers are on loopback."""

from __future__ import annotations

import http.server
import sys
import threading
from collections.abc import Iterator
from ipaddress import ip_address

import pytest

from pegboard_sandbox.hosts import Allowed, HostRefusedError, is_public

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


RAW = """
import os, socket, sys, urllib.parse
proxy = urllib.parse.urlsplit(os.environ["http_proxy"])
link = socket.create_connection((proxy.hostname, proxy.port), 5)
link.sendall(sys.argv[1].encode("latin-1").decode("unicode_escape").encode("latin-1"))
said = b""
while not said.endswith(b"\\n") or b"\\r\\n\\r\\n" not in said:
    more = link.recv(65536)
    if not more:
        break
    said += more
print(said.decode("latin-1").splitlines()[0] if said else "closed")
"""


@pytest.mark.parametrize(
    "request_",
    [
        "CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\n\\r\\n",
        "CONNECT user@127.0.0.1:{port} HTTP/1.1\\r\\n\\r\\n",
        "CONNECT localhost:{port}@127.0.0.1:{port} HTTP/1.1\\r\\n\\r\\n",
        "CONNECT 2130706433:{port} HTTP/1.1\\r\\n\\r\\n",
        "CONNECT [::ffff:127.0.0.1]:{port} HTTP/1.1\\r\\n\\r\\n",
        "CONNECT 0:{port} HTTP/1.1\\r\\n\\r\\n",
        "CONNECT localhost.evil.example:{port} HTTP/1.1\\r\\n\\r\\n",
        "CONNECT localhost..:{port} HTTP/1.1\\r\\n\\r\\n",
        "CONNECT localhost%00.evil.example:{port} HTTP/1.1\\r\\n\\r\\n",
        "CONNECT \\0localhost:{port} HTTP/1.1\\r\\n\\r\\n",
        "CONNECT localhost:99999 HTTP/1.1\\r\\n\\r\\n",
        "GET http://localhost:{port}@127.0.0.1:{port}/ HTTP/1.1\\r\\n\\r\\n",
        "GET http://127.0.0.1:{port}/ HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n",
        "GET http://localhost:{port}/ HTTP/1.1\\r\\nX: y\\nHost: evil.example\\r\\n\\r\\n",
        "GET https://localhost:{port}/ HTTP/1.1\\r\\n\\r\\n",
        "GET file:///etc/passwd HTTP/1.1\\r\\n\\r\\n",
        "GET / HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n",
        "\\x05\\x01\\x00\\r\\n\\r\\n",
    ],
)
async def test_no_spelling_gets_past_the_list(box, port, request_):
    _, said = await box.run(
        (sys.executable, "-c", RAW, request_.format(port=port)), network="proxy", allowedDomains=[f"localhost:{port}"]
    )
    assert said == "HTTP/1.1 403 Forbidden\n"


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST", "localhost."])
async def test_every_spelling_of_a_listed_name_is_that_name(box, port, name):
    words = f"GET http://{name}:{port}/ HTTP/1.1\\r\\n\\r\\n"
    _, said = await box.run((sys.executable, "-c", RAW, words), network="proxy", allowedDomains=["localhost"])
    assert said == "HTTP/1.0 200 OK\n"


async def test_nothing_is_reached_past_the_proxy_by_any_protocol(box, port):
    script = """
import socket, sys
port = int(sys.argv[1])
for family, kind, where in (
    (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port)),
    (socket.AF_INET, socket.SOCK_STREAM, ("8.8.8.8", 53)),
    (socket.AF_INET, socket.SOCK_DGRAM, ("8.8.8.8", 53)),
    (socket.AF_INET6, socket.SOCK_STREAM, ("2001:4860:4860::8888", 53)),
    (socket.AF_INET6, socket.SOCK_DGRAM, ("2001:4860:4860::8888", 53)),
    (socket.AF_INET, socket.SOCK_RAW, ("8.8.8.8", 0)),
    (socket.AF_PACKET, socket.SOCK_RAW, ("eth0", 0)),
):
    try:
        with socket.socket(family, kind) as door:
            door.settimeout(2)
            door.connect(where)
        print("reached", where)
    except OSError as error:
        print("no")
try:
    socket.getaddrinfo("example.com", 80)
    print("looked up")
except OSError:
    print("no")
"""
    for settings in ({}, {"network": "proxy", "allowedDomains": ["*"]}):
        _, said = await box.run((sys.executable, "-c", script, str(port)), **settings)
        assert said == "no\n" * 8


async def test_a_denied_host_is_refused_although_it_is_allowed(box, port):
    async def ask(denied):
        return await fetch(box, "plain", port, network="proxy", allowedDomains=["127.0.0.1"], deniedDomains=denied)

    assert await ask([]) == "200 hello 127.0.0.1"
    assert await ask(["127.0.0.1"]) == f"403 127.0.0.1:{port} is in sandbox.network.deniedDomains."
    assert await ask([f"127.0.0.1:{port + 1}"]) == "200 hello 127.0.0.1"


def test_a_denied_host_is_not_reached_by_its_number():
    with pytest.raises(HostRefusedError, match="List it by its IP address"):
        Allowed(("*",), ("evil.example",)).addresses("8.8.8.8", 443)
    assert Allowed(("*", "8.8.8.8"), ("evil.example",)).addresses("8.8.8.8", 443)


async def test_listening_inside_works_and_is_not_reached_from_outside(box):
    script = """
import socket, threading
door = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: door.accept()[0].sendall(b"mine"), daemon=True).start()
print(socket.create_connection(door.getsockname(), 5).recv(4).decode())
"""
    _, said = await box.run((sys.executable, "-c", script))
    assert said == "mine\n"


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
    with pytest.raises(HostRefusedError):
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
