"""Models behind OpenAI-compatible servers. Importing this costs nothing: HTTP is loaded by the first request."""

from pegboard_openai.provider import OpenAIProvider, register_providers

__all__ = ["OpenAIProvider", "register_providers"]
