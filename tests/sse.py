"""A loopback server that speaks POST /v1/messages from a script: real sockets, real timing, real faults.

    with SseServer([message(text("Hello.")), Refusal(529, "overloaded_error", "Busy.")]) as server:
        ...  # ask server.url twice
        assert server.requests[0].body["model"] == "claude-test"

The script has one answer a request: a list of (pause, event) as `message()` builds it, a `Refusal`, or DROP to close
the connection without a word. In a list, DROP closes it at that point. A pause is a number of seconds, or an event that
the test sets. A script may also be a function from the request to its answer.
"""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

DROP: dict[str, Any] = {"type": "drop the connection"}
POLL_SECONDS = 0.005

Pause: TypeAlias = "float | threading.Event"
Events: TypeAlias = "list[tuple[Pause, dict[str, Any]]]"


@dataclass(frozen=True)
class Refusal:
    """An HTTP status with the API's error body; `raw` sends another body as it is."""

    status: int
    type: str = "api_error"
    message: str = "The script says so."
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None


@dataclass
class Request:
    """What arrived, and when; times are `time.monotonic()`."""

    path: str
    headers: dict[str, str]
    """Names are in lower case."""
    raw: bytes
    connection: int
    """Which TCP connection it came on, counted from 1."""
    arrived: float
    message_end: float | None = None
    """When `message_stop` was sent."""
    disconnected: threading.Event = field(default_factory=threading.Event)
    """Set when the client has gone before the end."""

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


Answer: TypeAlias = "Events | Refusal | dict[str, Any]"
Script: TypeAlias = "Sequence[Answer] | Callable[[Request], Answer]"


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def thinking(words: str, signature: str = "sig") -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": signature}


def tool_use(name: str, input: dict[str, Any], id: str = "toolu_1") -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def message(
    *blocks: dict[str, Any] | tuple[Pause, dict[str, Any]],
    stop_reason: str | None = None,
    end_pause: Pause = 0.0,
    model: str = "claude-test",
) -> Events:
    """A whole answer. A block given as (pause, block) begins after that pause; `end_pause` comes before the end."""
    given = [block if isinstance(block, tuple) else (0.0, block) for block in blocks]
    calls = any(block["type"] == "tool_use" for _, block in given)
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []}
    end = {"stop_reason": stop_reason or ("tool_use" if calls else "end_turn"), "stop_sequence": None}
    usage = {"input_tokens": 10, "output_tokens": 1}
    events: Events = [
        (
            0.0,
            {"type": "message_start", "message": {**start, "stop_reason": None, "stop_sequence": None, "usage": usage}},
        )
    ]
    for index, (pause, block) in enumerate(given):
        first, *rest = _block_events(index, block)
        events += [(pause, first), *((0.0, event) for event in rest)]
    events.append((end_pause, {"type": "message_delta", "delta": end, "usage": {"output_tokens": 20}}))
    events.append((0.0, {"type": "message_stop"}))
    return events


def cut(answer: Events, block: int) -> Events:
    """The same answer, broken off in the middle of a block: after its first delta the connection drops."""
    for position, (_, event) in enumerate(answer):
        if event["type"] == "content_block_delta" and event["index"] == block:
            return [*answer[: position + 1], (0.0, DROP)]
    raise ValueError(f"Block {block} of this answer has no delta to be cut after.")


def error_event(type: str, message: str = "The script says so.") -> dict[str, Any]:
    return {"type": "error", "error": {"type": type, "message": message}}


def _block_events(index: int, block: dict[str, Any]) -> list[dict[str, Any]]:
    kind, deltas = block["type"], []
    if kind == "text":
        start = {**block, "text": ""}
        deltas = [{"type": "text_delta", "text": part} for part in _halves(block["text"])]
    elif kind == "thinking":
        start = {**block, "thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": part} for part in _halves(block["thinking"])]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    elif kind == "tool_use":
        start = {**block, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in _halves(json.dumps(block["input"]))]
    else:
        start = block  # A block of a kind nobody knows comes whole.
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _halves(whole: str) -> list[str]:
    middle = len(whole) // 2
    return [part for part in (whole[:middle], whole[middle:]) if part]


class SseServer:
    """Serves the script on 127.0.0.1 while the `with` block lasts."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[Request] = []
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._connections = 0
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(POLL_SECONDS,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> SseServer:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def next_connection(self) -> int:
        with self._lock:
            self._connections += 1
            return self._connections

    def answer(self, request: Request) -> Answer:
        with self._lock:
            self.requests.append(request)
            number = len(self.requests)
        if callable(self.script):
            return self.script(request)
        if number > len(self.script):
            return Refusal(400, "invalid_request_error", f"The script has no answer number {number}.")
        return self.script[number - 1]

    @property
    def closing(self) -> bool:
        return self._closing.is_set()


class _GoneError(Exception):
    """The client closed the connection, the script drops it, or the server stops."""


class _Handler(BaseHTTPRequestHandler):
    owner: SseServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.number = self.owner.next_connection()

    def handle(self) -> None:
        try:
            super().handle()
        except (ConnectionError, _GoneError):
            self._hang_up()

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, raw, self.number, time.monotonic())
        if not self.path.partition("?")[0].endswith("/v1/messages"):
            self._refuse(Refusal(404, "not_found_error", f"There is nothing at {self.path}."))
            return
        answer = self.owner.answer(request)
        if isinstance(answer, Refusal):
            self._refuse(answer)
        elif isinstance(answer, dict):
            raise _GoneError
        else:
            self._stream(answer, request)

    def _refuse(self, refusal: Refusal) -> None:
        body = {"type": "error", "error": {"type": refusal.type, "message": refusal.message}}
        data = json.dumps(body).encode() if refusal.raw is None else refusal.raw
        self.send_response(refusal.status)
        for name, value in {"content-type": "application/json", **refusal.headers, "content-length": len(data)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: Events, request: Request) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            for pause, event in events:
                self._wait(pause)
                if event is DROP:
                    raise _GoneError
                # Not escaped: line separators of Unicode inside a text must survive the way.
                data = json.dumps(event, ensure_ascii=False)
                self._chunk(f"event: {event['type']}\ndata: {data}\n\n".encode())
                if event["type"] == "message_stop":
                    request.message_end = time.monotonic()
            self._chunk(b"")
        except (ConnectionError, _GoneError):
            request.disconnected.set()
            raise

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def _wait(self, pause: Pause) -> None:
        """Let the time pass, but notice a client that goes away."""
        until = time.monotonic() + pause if not isinstance(pause, threading.Event) else None
        while True:
            left = POLL_SECONDS if until is None else until - time.monotonic()
            if pause.is_set() if isinstance(pause, threading.Event) else left <= 0:
                return
            readable, _, _ = select.select([self.connection], [], [], min(left, POLL_SECONDS))
            if self.owner.closing or (readable and not self.connection.recv(1, socket.MSG_PEEK)):
                raise _GoneError

    def _hang_up(self) -> None:
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # The other side was quicker.
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass
