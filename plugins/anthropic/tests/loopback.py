"""The scripted server of the whole project, and short words for asking it."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from pegboard import ProviderError
from pegboard_anthropic import AnthropicProvider


def _shared(name: str) -> Any:
    """A module of the project's own tests folder, which is on nobody's path."""
    spec = spec_from_file_location(f"pegboard_shared_{name}", Path(__file__).parents[3] / "tests" / f"{name}.py")
    assert spec
    assert spec.loader
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


sse = _shared("sse")

REQUEST: dict[str, Any] = {
    "model": "claude-test",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Hello"}],
}


async def ask(url: str, request: dict[str, Any] | None = None, **options: Any) -> list[dict[str, Any]]:
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
