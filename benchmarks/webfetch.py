"""What fetching costs: ten hosts in one turn against one, and a page of 60 KB as Markdown against parsing it alone."""

from __future__ import annotations

import socketserver
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio

from pegboard import Allow, Board, Call, hookimpl
from pegboard.execution.turn import Turn
from pegboard.settings import load
from pegboard_webfetch import WebFetch
from pegboard_webfetch.cache import Cache
from pegboard_webfetch.connect import dial
from pegboard_webfetch.fetch import Network

from .harness import CPU, Comparison, Pace, cpu, interleave

DELAY = 0.1
HOSTS = 10


class Slow(socketserver.StreamRequestHandler):
    """Answers a little text, after a while."""

    def handle(self) -> None:
        """One request."""
        while self.rfile.readline() not in (b"\r\n", b""):
            pass
        time.sleep(DELAY)
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello")


class Server(socketserver.ThreadingTCPServer):
    """A thread for each connection."""

    daemon_threads = True
    request_queue_size = 64


class Yes:
    """Approves everything."""

    @hookimpl
    def ask_user(self) -> Allow:
        """The one answer."""
        return Allow("Approved.")


def board_for(port: int, folder: str) -> Board:
    async def resolve(host: str, _port: int) -> Sequence[str]:
        return ["93.184.215.14"]

    async def lead(_address: str, asked: int, seconds: float) -> Any:
        return await dial("127.0.0.1", port if asked == 80 else 1, seconds)

    tool = WebFetch(Network(resolve, lead), Cache(most_bytes=0))
    tool.overrides_built_in = True  # type: ignore[attr-defined]
    env = {"HOME": folder, "PEGBOARD_DISABLE": "pegboard-webfetch"}
    return Board.load(settings=load(folder, env), env=env, plugins=[Yes()], tools=[tool])


def turn(board: Board, hosts: int) -> float:
    async def act() -> float:
        calls = [Call(str(n), "WebFetch", {"url": f"http://h{n}.example/"}) for n in range(hosts)]
        began = time.perf_counter()
        async with Turn(board.context(), board) as turn:
            for call in calls:
                turn.add(call)
            turn.end()
            results = [result async for result in turn.results()]
        taken = time.perf_counter() - began
        if [result.value.result for result in results] != ["hello"] * hosts:
            raise RuntimeError(f"A fetch failed: {results[0].text}")
        return taken

    return anyio.run(act)


def page_of(kilobytes: int) -> str:
    """A page as documentation generators make them."""
    part = (
        "<section><h2>Part {n}</h2><p>Words with <a href='p{n}.html'>a link</a>, <code>code</code> and <em>more</em>"
        " words, as pages have.</p><div class='highlight-python'><pre><b>def</b> f{n}():\n    pass\n</pre>"
        "</div><table><tr><th>A</th><th>B</th></tr><tr><td>{n}</td><td>two</td></tr></table><ul><li>one</li></ul></section>"
    )
    parts, size = list[str](), 0
    while size < kilobytes * 1000:
        parts.append(part.replace("{n}", str(len(parts))))
        size += len(parts[-1])
    return f"<html><head><title>T</title></head><body><nav>menu</nav><main>{''.join(parts)}</main></body></html>"


def conversion(pace: Pace) -> Comparison:
    """A page as Markdown, against only parsing it."""
    from lxml import html as lxml_html

    from pegboard_webfetch.html import converted

    page = page_of(60)
    cases = {
        "parse with lxml": lambda: cpu(lambda: lxml_html.document_fromstring(page)),
        "page to Markdown": lambda: cpu(lambda: converted(page, "https://example.com/")),
    }
    samples = interleave(cases, pace.rounds(15))
    return Comparison("webfetch/markdown", "a page of 60 KB", samples, "parse with lxml", CPU)


def benchmark(pace: Pace) -> Iterator[Comparison]:
    """Ten hosts against one, and a page as Markdown."""
    with tempfile.TemporaryDirectory() as folder, Server(("127.0.0.1", 0), Slow) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        board = board_for(server.server_address[1], str(Path(folder)))
        cases = {"1 host": lambda: turn(board, 1), f"{HOSTS} hosts": lambda: turn(board, HOSTS)}
        samples = interleave(cases, pace.rounds(15))
        server.shutdown()
    title = f"fetches that take {DELAY * 1000:g} ms each, in one turn"
    yield Comparison("webfetch/turn", title, samples, "1 host")
    yield conversion(pace)
