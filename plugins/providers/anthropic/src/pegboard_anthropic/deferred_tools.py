"""Fetched tools in the shape of the Messages API.

With `defer_loading`, the service leaves a tool out of the prompt and puts its definition where a `tool_reference` names
it, so that fetching a tool changes nothing that was sent before. Only tools that were fetched are sent at all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pegboard_session import Message, Request

DEFER_LOADING = ("auto", "on", "off")
TOO_OLD = re.compile(r"claude-(2|3|instant|haiku-4|sonnet-4-(0|2025)|opus-4-(0|1|2025))")
"""Models that do not know references."""


def is_supported(model: str, *, is_first_party: bool, base_url: str | None) -> bool:
    """Whether the service loads tools for this model. Of other services and gateways that is not known."""
    elsewhere = base_url or os.environ.get("ANTHROPIC_BASE_URL")
    return is_first_party and not elsewhere and not TOO_OLD.search(model)


def with_references(request: Request, tools: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[Any]]:
    """The tools and messages of a request with `defer_loading` and references for what was fetched.

    A tool whose result is no longer in the conversation, because it was compacted, is sent as an ordinary one.
    """
    fetched = set(request.fetched)
    named = {name for block in _results(request.messages) for name in block.get("fetched", ()) if name in fetched}
    made = [{**tool, "defer_loading": True} if tool["name"] in named else tool for tool in tools]
    return made, _all_referring(request.messages, named)


def without_names(messages: Sequence[Message]) -> list[Message]:
    """The messages as they were, without what only sessions know: which result has fetched which tools."""
    return _all_referring(messages, ())


def _results(messages: Sequence[Message]) -> list[Mapping[str, Any]]:
    return [block for message in messages for block in message["content"] if block["type"] == "tool_result"]


def _all_referring(messages: Sequence[Message], named: Collection[str]) -> list[Message]:
    made = list(messages)
    for at, message in enumerate(messages):
        for block in message["content"]:  # A generator takes three times as long, and this sees each block every turn.
            if "fetched" in block:
                made[at] = _referring(message, named)
                break
    return made


def _referring(message: Message, named: Collection[str]) -> Message:
    """A message whose results refer to the tools that they fetched, in place of the definitions.

    The service takes references alone, so what a result says besides follows all results as text.
    """
    content, others, remarks = list[Any](), list[Any](), list[Any]()
    for block in message["content"]:
        if block["type"] != "tool_result":
            others.append(block)
            continue
        sent = {key: value for key, value in block.items() if key != "fetched"}
        if names := [name for name in block.get("fetched", ()) if name in named]:
            remarks += [part for part in block.get("content", ())[1:] if part["type"] == "text"]
            sent["content"] = [{"type": "tool_reference", "tool_name": name} for name in names]
        content.append(sent)
    return {**message, "content": [*content, *remarks, *others]}
