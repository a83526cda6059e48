"""A strict reader of the Messages API's requests, and a model behind it with a real window: what it is sent must fit.

    with SseServer(Model(window=200_000, turns=…)) as server: ...

It refuses as the service does: too long, a call without its result, roles that do not alternate, thinking that was
changed. It summarises by a fixed function of the request: every line that begins with FACT is in the summary.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

from .sse import Answer, Refusal, Request, message, text, thinking, tool_use

FACT = re.compile(r"FACT:[^\n<]*")
SUMMARY = "Write that summary now."


def fault_of(body: dict[str, Any], *, binds: bool = False) -> str:
    """What the service would refuse about a request's messages, or nothing."""
    messages = body["messages"]
    if not messages or messages[0]["role"] != "user":
        return "the first message must be the user's"
    if messages[-1]["role"] != "user":
        return "the last message must be the user's"
    seen: set[str] = set()
    for place, said in enumerate(messages):
        if place and messages[place - 1]["role"] == said["role"]:
            return f"message {place}: roles must alternate"
        if not said["content"]:
            return f"message {place} is empty"
        fault = _assistant(messages, place, seen) if said["role"] == "assistant" else _user(messages, place)
        if fault:
            return f"message {place}: {fault}"
    return _thinking(body, binds=binds)


def _assistant(messages: list[Any], place: int, seen: set[str]) -> str:
    content = messages[place]["content"]
    if content[-1]["type"] == "thinking":
        return "thinking must not be last"
    if any(block["type"] == "text" and not block["text"].strip() for block in content):
        return "a text without words"
    calls = [block["id"] for block in content if block["type"] == "tool_use"]
    if len({*calls, *seen}) != len(calls) + len(seen):
        return "two calls with one id"
    seen.update(calls)
    after = messages[place + 1]["content"] if place + 1 < len(messages) else []
    results = [block["tool_use_id"] for block in after if block["type"] == "tool_result"]
    return "" if results == calls else f"calls {calls}, results {results}"


def _user(messages: list[Any], place: int) -> str:
    kinds = [block["type"] for block in messages[place]["content"]]
    if "tool_result" in kinds[kinds.count("tool_result") :]:
        return "results must come first"
    before = messages[place - 1]["content"] if place else []
    if "tool_result" in kinds and not any(block["type"] == "tool_use" for block in before):
        return "a result without its call"
    return ""


def _thinking(body: dict[str, Any], *, binds: bool) -> str:
    """Thinking must be as it was made; where it is bound, so must everything before it."""
    state = prefix(body) if binds else hashlib.sha256()
    for place, said in enumerate(body["messages"]):
        content = said["content"]
        if said["role"] == "assistant":
            for block in content:
                if block["type"] == "thinking":
                    expected = state.hexdigest() if binds else sign(block["thinking"])
                    if block["signature"] != expected:
                        return f"message {place}: thinking is not as it was"
            last = place == len(body["messages"]) - 2
            if last and not binds and content[-1]["type"] == "tool_use" and content[0]["type"] != "thinking":
                return f"message {place}: expected thinking before the calls of the last answer"
        if binds:
            state.update(_bytes(said))
    return ""


def prefix(body: dict[str, Any]) -> Any:
    """A running digest of what stands before the messages."""
    return hashlib.sha256(_bytes([body.get("system"), body.get("tools")]))


def digest(body: dict[str, Any]) -> str:
    """A digest of a whole request, to bind the thinking of its answer to."""
    state = prefix(body)
    for said in body["messages"]:
        state.update(_bytes(said))
    return str(state.hexdigest())


def sign(words: str) -> str:
    return hashlib.sha256(words.encode()).hexdigest()


def _bytes(value: Any) -> bytes:
    return re.sub(r', "cache_control": {"type": "ephemeral"}', "", json.dumps(value)).encode()


class Model:
    """Answers requests, each after a strict look at it. `calls(number)` is what the n-th answer does."""

    def __init__(self, calls: Callable[[int], dict[str, Any] | None], window: int, *, binds: bool = False) -> None:
        self.calls, self.window, self.binds = calls, window, binds
        self.answered = self.summaries = self.most = 0
        self.faults: list[str] = []

    def __call__(self, request: Request) -> Answer:
        body = request.body
        size = len(request.raw) // 4  # Four bytes are a token here.
        self.most = max(self.most, size + body["max_tokens"])
        if fault := fault_of(body, binds=self.binds):
            self.faults.append(fault)
            return Refusal(400, "invalid_request_error", fault)
        if size + body["max_tokens"] > self.window:
            self.faults.append(f"prompt is too long: {size} tokens and {body['max_tokens']} for the answer")
            return Refusal(400, "invalid_request_error", self.faults[-1])
        return with_usage(self._answer(body), size)

    def _answer(self, body: dict[str, Any]) -> Any:
        facts = list(dict.fromkeys(FACT.findall("\n".join(_texts(body["messages"])))))
        last = "\n".join(_texts(body["messages"][-1:]))
        if SUMMARY in last:
            self.summaries += 1
            return message(text("\n".join(["The user wants files to be read.", *facts])))
        self.answered += 1
        words = f"I think about step {self.answered}."
        thought = thinking(words, digest(body) if self.binds else sign(words))
        use = self.calls(self.answered)
        if use is None:
            return message(thought, text(f"You told me: {' '.join(facts)}"))
        said = f"Step {self.answered}: " + "I look at the next file. " * 20
        return message(thought, text(said), tool_use("Fetch", use, f"toolu_{self.answered}"))


def with_usage(answer: Any, size: int) -> Any:
    """The answer with the tokens that the service has counted."""
    start = answer[0][1]
    start["message"]["usage"] = {"input_tokens": size // 10, "cache_read_input_tokens": size - size // 10}
    return answer


def _texts(messages: list[Any]) -> list[str]:
    return [block["text"] for said in messages for block in said["content"] if block["type"] == "text"]
