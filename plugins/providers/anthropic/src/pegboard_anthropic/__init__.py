"""Claude models, through the `anthropic` SDK. Importing this costs nothing: the SDK is loaded by the first request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import hookimpl

if TYPE_CHECKING:
    from pegboard import Settings
    from pegboard_anthropic.provider import AnthropicProvider
    from pegboard_session import Provider

# Imports happen inside functions: every board loads this package, and only a session asks a model.

__all__ = ["AnthropicProvider", "register_providers"]


@hookimpl
def register_providers(settings: Settings) -> list[Provider]:
    from pegboard_anthropic.provider import providers

    return providers(settings)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pegboard_anthropic.provider import AnthropicProvider

    return AnthropicProvider
