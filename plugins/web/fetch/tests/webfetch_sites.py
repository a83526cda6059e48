"""A web of our own on loopback: servers that say exactly what a test wants, a DNS and a dialler that lead to them."""

from __future__ import annotations

import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Sequence
from typing import Any

from pegboard_webfetch.connect import Stream, dial
from pegboard_webfetch.fetch import Network

PUBLIC = "93.184.215.14"

Play = Callable[["Visit"], None]


class Visit:
    """One request, and the means to answer it byte by byte."""

    def __init__(self, site: Site, wire: socket.socket) -> None:
        self.site, self.wire = site, wire
        self.host, self.path, self.headers = "", "", dict[str, str]()

    def send(self, data: bytes) -> None:
        self.wire.sendall(data)

    def answer(self, body: bytes = b"", status: str = "200 OK", **headers: str) -> None:
        named = {"Content-Type": "text/plain", "Content-Length": str(len(body))}
        named |= {name.replace("_", "-").title(): value for name, value in headers.items()}
        head = "".join(f"{name}: {value}\r\n" for name, value in named.items() if value)
        self.send(f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body)


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64


class Site:
    """A server on loopback. `pages` maps a path, or host and path, to a body or to a function that plays the answer."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.pages: dict[str, bytes | Play] = {}
        self.visits: list[Visit] = []
        self.closing = threading.Event()
        self._context = context
        site = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                site.serve(self.request)

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def serve(self, wire: socket.socket) -> None:
        try:
            wire = self._context.wrap_socket(wire, server_side=True) if self._context else wire
            visit = Visit(self, wire)
            _read_request(visit)
            self.visits.append(visit)
            page = self.pages.get(f"{visit.host}{visit.path}", self.pages.get(visit.path))
            if callable(page):
                page(visit)
            elif page is None:
                visit.answer(b"nothing here", "404 Not Found")
            else:
                visit.answer(page, content_type="text/html; charset=utf-8")
        except OSError:
            pass  # The client hung up, as clients may.
        finally:
            wire.close()

    @property
    def paths(self) -> list[str]:
        return [visit.path for visit in self.visits]

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _read_request(visit: Visit) -> None:
    data = b""
    while b"\r\n\r\n" not in data:
        data += visit.wire.recv(65536) or _raise(ConnectionError("no request"))
    first, *lines = data.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    visit.path = first.split(" ")[1]
    visit.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    visit.host = visit.headers.get("host", "").partition(":")[0]


def _raise(error: Exception) -> Any:
    raise error


class Web:
    """What the tool takes for the network. Public addresses lead to our sites; nothing leaves loopback."""

    def __init__(self, plain: Site | None = None, secure: Site | None = None) -> None:
        self.answers: dict[str, list[Sequence[str]]] = {}
        self.looked_up: list[str] = []
        self.dialled: list[tuple[str, int]] = []
        self.dead = set[str]()
        self.ports = {80: plain.port if plain else _closed_port(), 443: secure.port if secure else _closed_port()}

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.looked_up.append(host)
        answers = self.answers.get(host, [[PUBLIC]])
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def dial(self, address: str, port: int, seconds: float) -> Stream:
        self.dialled.append((address, port))
        return await dial("127.0.0.1", _closed_port() if address in self.dead else self.ports.get(port, port), seconds)

    @property
    def network(self) -> Network:
        return Network(resolve=self.resolve, dial=self.dial)


def _closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
