"""The scripted server of the whole project, and short words for asking it."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from pegboard import ProviderError
from pegboard_anthropic import AnthropicProvider
from pegboard_anthropic.assembler import Assembler
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

REQUEST = Request("claude-test", ({"role": "user", "content": [{"type": "text", "text": "Hello"}]},), max_tokens=100)


def says(words: str) -> Request:
    """A request with one message."""
    return replace(REQUEST, messages=({"role": "user", "content": [{"type": "text", "text": words}]},))


def meant(answer: Any) -> list[ProviderEvent]:
    """What the events of the wire mean, by the assembler alone."""
    assembler = Assembler()
    return [event for _, sent in answer for event in assembler.feed(sent)]


async def ask(url: str, request: Request | None = None, **options: Any) -> list[ProviderEvent]:
    """All events of one answer."""
    provider = AnthropicProvider(**{"base_url": url, "api_key": "test-key", **options})
    try:
        return [event async for event in provider.stream(request or REQUEST)]
    finally:
        await provider.aclose()


async def failure(url: str, **options: Any) -> ProviderError:
    """The error that asking ends with."""
    with pytest.raises(ProviderError) as caught:
        await ask(url, **options)
    return caught.value
