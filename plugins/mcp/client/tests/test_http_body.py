"""A server that answers over HTTP with more than anyone should read."""

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pegboard_mcp.stdio import MOST_MESSAGE

from .world import close, tool

pytestmark = pytest.mark.anyio
ABOUT = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "x", "version": "1"}, "capabilities": {"tools": {}}}


class Large(BaseHTTPRequestHandler):
    """Speaks the older protocol; each tool answers in its own way."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer(405, b"")

    do_DELETE = do_GET  # noqa: N815 - its name is given

    def do_POST(self):
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in sent:
            self.answer(202, b"")
        elif sent["method"] == "initialize":
            self.tell(sent, ABOUT)
        elif sent["method"] == "tools/list":
            self.tell(sent, {"tools": [tool("endless"), tool("packed"), tool("events"), tool("echo")]})
        elif sent["method"] == "tools/call":
            self.call(sent, sent["params"]["name"])
        else:
            self.tell(sent, {"code": -32601, "message": "There is no such method."}, key="error")

    def call(self, sent, name):
        result = {"content": [{"type": "text", "text": "x" * 2_000_000 if name == "events" else "hello"}]}
        if name == "packed":
            self.tell(sent, result, {"Content-Encoding": "gzip"}, gzip.compress)
        elif name == "events":
            self.tell(sent, result, {"Content-Type": "text/event-stream"}, lambda data: b"data: " + data + b"\n\n")
        elif name == "endless":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            try:
                for _ in range(MOST_MESSAGE // 1_000_000 + 100):
                    self.wfile.write(b" " * 1_000_000)
            except OSError:
                self.server.cut_off = True
        else:
            self.tell(sent, result)

    def tell(self, sent, result, headers=None, shape=lambda data: data, key="result"):
        data = json.dumps({"jsonrpc": "2.0", "id": sent["id"], key: result}).encode()
        self.answer(200, shape(data), {"Content-Type": "application/json", **(headers or {})})

    def answer(self, status, body, headers=None):
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def large():
    with ThreadingHTTPServer(("127.0.0.1", 0), Large) as server:
        server.cut_off, server.block_on_close = False, False
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


async def test_an_answer_has_the_limit_of_a_message_on_every_transport(world, large):
    board = world.board({"it": {"url": f"http://127.0.0.1:{large.server_port}/mcp"}})
    await world.connect(board)
    result = await board.call("mcp__it__endless")
    assert f"It sent a message of more than {MOST_MESSAGE} bytes." in result.text
    assert large.cut_off
    assert "It sent a packed answer that was not asked for." in (await board.call("mcp__it__packed")).text
    assert not (await board.call("mcp__it__events")).is_error  # Large, but not too large.
    assert (await board.call("mcp__it__echo")).text == "hello"  # It was connected again.
    await close(board)
