"""A loopback server that speaks POST /v1/chat/completions from a script, and short words for asking it.

The script is that of `tests/sse.py`, but its events are chunks of this wire; bytes are sent as they are.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from pegboard import ProviderError
from pegboard_openai import OpenAIProvider
from pegboard_session import ProviderEvent, Request


def _shared(name: str) -> Any:
    """A module of the project's own tests folder, which is on nobody's path."""
    spec = spec_from_file_location(f"pegboard_shared_{name}", Path(__file__).parents[4] / "tests" / f"{name}.py")
    assert spec
    assert spec.loader
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


sse = _shared("sse")
DROP, Refusal = sse.DROP, sse.Refusal
DONE = b"data: [DONE]\n\n"
REQUEST = Request("tiny", ({"role": "user", "content": [{"type": "text", "text": "Hello"}]},), max_tokens=100)


class ChatServer(sse.SseServer):  # type: ignore[misc]
    """Serves the script on 127.0.0.1 while the `with` block lasts."""

    def __init__(self, script: Any) -> None:
        super().__init__(script)
        self._server.RequestHandlerClass = type("Handler", (_Handler,), {"owner": self})

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"


class _Handler(sse._Handler):  # type: ignore[misc]
    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = sse.Request(self.path, headers, raw, self.number, time.monotonic())
        if not self.path.endswith("/chat/completions"):
            self._refuse(Refusal(404, "not_found_error", f"There is nothing at {self.path}."))
            return
        answer = self.owner.answer(request)
        if isinstance(answer, Refusal):
            self._refuse(answer)
        elif isinstance(answer, dict):
            raise sse._GoneError
        else:
            self._stream(answer, request)

    def _stream(self, events: Any, request: Any) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            for pause, event in events:
                self._wait(pause)
                if event is DROP:
                    raise sse._GoneError
                if isinstance(event, bytes):
                    self._chunk(event)
                else:
                    self._chunk(f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode())
                if event is DONE:
                    request.message_end = time.monotonic()
            self._chunk(b"")
        except (ConnectionError, sse._GoneError):
            request.disconnected.set()
            raise


def delta(finish: str | None = None, **fields: Any) -> tuple[float, dict[str, Any]]:
    """One chunk."""
    choice = {"index": 0, "delta": fields, "finish_reason": finish}
    return 0.0, {"id": "c", "object": "chat.completion.chunk", "model": "tiny", "choices": [choice]}


def tool_call(index: int | None, arguments: Any = None, *, id: str | None = None, name: str | None = None) -> Any:
    """A piece of a call."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    piece: dict[str, Any] = {"function": function}
    if index is not None:
        piece["index"] = index
    if id is not None:
        piece |= {"id": id, "type": "function"}
    return delta(tool_calls=[piece])


def usage(prompt: int = 10, completion: int = 5, **more: Any) -> tuple[float, dict[str, Any]]:
    """The last chunk, without choices."""
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion, **more}
    return 0.0, {"id": "c", "choices": [], "usage": counts}


END = (0.0, DONE)


def says(*words: str) -> list[Any]:
    """A whole answer of words."""
    return [delta(role="assistant", content=""), *(delta(content=w) for w in words), delta("stop"), usage(), END]


def with_blocks(*blocks: dict[str, Any]) -> Request:
    """A request whose one message has these blocks."""
    return replace(REQUEST, messages=({"role": "user", "content": list(blocks)},))


async def ask(server: ChatServer, request: Request = REQUEST, **options: Any) -> list[ProviderEvent]:
    """All events of one answer."""
    provider = OpenAIProvider(**{"base_url": server.base_url, "api_key": "test-key", **options})
    try:
        return [event async for event in provider.stream(request)]
    finally:
        await provider.aclose()


async def failure(server: ChatServer, request: Request = REQUEST, **options: Any) -> ProviderError:
    """The error that asking ends with."""
    with pytest.raises(ProviderError) as caught:
        await ask(server, request, **options)
    return caught.value
