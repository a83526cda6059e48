"""A search service on loopback that speaks all three formats, and misbehaves as told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

KEY = "sk-very-secret-4711"
PAGES = [
    {"url": "https://docs.python.org/3/library/asyncio.html", "title": "asyncio", "text": "Asynchronous I/O."},
    {"url": "https://anyio.readthedocs.io/en/stable/", "title": "AnyIO", "text": "Structured concurrency."},
    {"url": "https://ads.example.com/buy", "title": "Buy now", "text": "Cheap."},
]


@dataclass
class Asked:
    """What arrived."""

    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class Reply:
    """What goes back. `hang` keeps the connection open without a word until the server closes."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False
    endless: bool = False


def searxng(pages: list[dict[str, str]]) -> Any:
    """The answer of a SearXNG server."""
    return {"query": "q", "results": [{"url": p["url"], "title": p["title"], "content": p["text"]} for p in pages]}


def brave(pages: list[dict[str, str]]) -> Any:
    """The answer of Brave."""
    found = [{"url": p["url"], "title": p["title"], "description": p["text"], "age": "May 2, 2026"} for p in pages]
    return {"type": "search", "web": {"type": "search", "results": found}}


def tavily(pages: list[dict[str, str]]) -> Any:
    """The answer of Tavily."""
    return {"query": "q", "results": [{**page, "content": page["text"], "score": 0.9} for page in pages]}


FORMATS = {"searxng": searxng, "brave": brave, "tavily": tavily}


class SearchServer:
    """Serves on 127.0.0.1 until it is closed."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.reply: Callable[[Asked], Reply] = lambda asked: Reply(404)
        self.closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"owner": self}))
        self._server.daemon_threads = True
        self._server.handle_error = lambda request, address: None  # type: ignore[method-assign]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def finds(self, name: str, pages: list[dict[str, str]] = PAGES) -> None:
        """Answer every search with these pages, in the format of this service."""
        self.says(json.dumps(FORMATS[name](pages)).encode())

    def says(self, body: bytes, status: int = 200, **headers: str) -> None:
        """Answer every search with this."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        self.reply = lambda asked: Reply(status, body, sent)

    def close(self) -> None:
        """Stop."""
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    owner: SearchServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._take(None)

    def do_POST(self) -> None:
        self._take(json.loads(self.rfile.read(int(self.headers["content-length"]))))

    def _take(self, body: Any) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        asked = Asked(parts.path, query, {name.lower(): value for name, value in self.headers.items()}, body)
        self.owner.asked.append(asked)
        reply = self.owner.reply(asked)
        if reply.hang:
            self.owner.closing.wait(60)
            return
        try:
            self._send(reply)
        except OSError:
            self.close_connection = True

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.endless:
            self.send_header("Connection", "close")
            self.end_headers()
            while not self.owner.closing.is_set():
                self.wfile.write(b" " * 65_536)
            return
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""
