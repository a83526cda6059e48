"""What a tool can ask of an MCP client, as plain data: `await ctx.service("mcp_client").ask({"name": Form(...)})`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Form:
    """A form for a person: flat, with text, numbers, yes or no, and choices, as a JSON Schema of an object."""

    message: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """A question to the client's model."""

    prompt: str
    max_tokens: int = 1024


@dataclass(frozen=True, slots=True)
class Roots:
    """The question which folders the client offers."""


Wish = Form | Sample | Roots
