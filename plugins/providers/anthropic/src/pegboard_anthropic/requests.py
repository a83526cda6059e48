"""A neutral request in the shape of the Messages API, with its cache markers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pegboard_anthropic.deferred_tools import with_references, without_names
from pegboard_session import ModelOptions, Request

CACHE = {"cache_control": {"type": "ephemeral"}}
"""The API takes four of these: end of the built-in tools, end of all tools, system prompt, last message."""
THINKING = {"adaptive": "adaptive", "budget": "enabled", "off": "disabled"}
CONTEXT_BETA, COMPACT_BETA, SPEED_BETA = "context-management-2025-06-27", "compact-2026-01-12", "fast-mode-2026-02-01"
"""Features on trial that options cannot be sent without."""


def body_of(request: Request, *, defers: bool = False) -> dict[str, Any]:
    """The body of a request. Options go in as they are, and may replace anything.

    With `defers`, the service itself loads the tools that the model has fetched.
    """
    body: dict[str, Any] = {"model": request.model, "max_tokens": request.max_tokens}
    system = [{"type": "text", "text": part} for part in request.system if part]
    if system:
        body["system"] = [*system[:-1], {**system[-1], **CACHE}] if request.cache.system else system
    if request.tools:
        cached = request.cache.tools
        body["tools"] = [{**tool, **CACHE} if i in cached else dict(tool) for i, tool in enumerate(request.tools)]
    if defers and request.fetched:
        body["tools"], messages = with_references(request, body["tools"])
    else:
        messages = without_names(request.messages)
    if messages and request.cache.last_message:
        messages[-1] = _marked(messages[-1])
    body["messages"] = messages
    return {**body, **_options(request.wanted), **request.options}


def headers_of(request: Request) -> dict[str, str]:
    """The headers of a request: those that were asked for, and the features on trial that its options need."""
    wanted = request.wanted
    betas = list(wanted.betas)
    if wanted.context_management is not None:
        edits = wanted.context_management.get("edits")
        kinds = (
            [str(edit.get("type", "")) for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else []
        )
        betas.append(CONTEXT_BETA)
        betas += [COMPACT_BETA] if any(kind.startswith("compact_") for kind in kinds) else []
    betas += [SPEED_BETA] if wanted.speed else []
    sent = {name.lower(): value for name, value in wanted.headers.items()}
    return {**sent, "anthropic-beta": ",".join(dict.fromkeys(betas))} if betas else sent


def _options(wanted: ModelOptions) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if wanted.thinking:
        thinking: dict[str, Any] = {"type": THINKING[wanted.thinking]}
        if wanted.thinking == "budget":
            thinking["budget_tokens"] = wanted.thinking_budget
        if wanted.thinking_display and wanted.thinking != "off":
            thinking["display"] = wanted.thinking_display
        made["thinking"] = thinking
    output: dict[str, Any] = {"effort": wanted.effort} if wanted.effort else {}
    if wanted.output_schema is not None:
        output["format"] = {"type": "json_schema", "schema": wanted.output_schema}
    plain = {
        "output_config": output,
        "context_management": wanted.context_management,
        "speed": wanted.speed,
        "service_tier": wanted.service_tier,
        "stop_sequences": list(wanted.stop_sequences),
        "metadata": dict(wanted.metadata),
    }
    return made | {name: value for name, value in plain.items() if value}


def _marked(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message["content"]
    if message["role"] != "user" or not content:
        return dict(message)
    return {**message, "content": [*content[:-1], {**content[-1], **CACHE}]}
