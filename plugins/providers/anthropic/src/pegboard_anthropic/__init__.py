"""Claude models, through the `anthropic` SDK. Importing this costs nothing: the SDK is loaded by the first request."""

from pegboard_anthropic.provider import AnthropicProvider, register_providers

__all__ = ["AnthropicProvider", "register_providers"]
