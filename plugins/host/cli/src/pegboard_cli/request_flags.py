"""The options of `pegboard run` that say what the model is told and how it is asked, as settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

PLAIN = {
    "system_prompt": "systemPrompt",
    "append_system_prompt": "appendSystemPrompt",
    "thinking_display": "thinkingDisplay",
    "effort": "effort",
    "speed": "speed",
    "service_tier": "serviceTier",
    "max_tokens": "maxTokens",
    "beta": "betas",
    "stop_sequence": "stopSequences",
    "json_schema": "jsonSchema",
}
"""The options whose value is that of a setting. Settings check them, with the same words as for a file."""


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    told = parser.add_argument_group("what the model is told")
    told.add_argument("--system-prompt", metavar="TEXT", help="replace the built-in instructions: text or @file")
    told.add_argument("--append-system-prompt", metavar="TEXT", help="more instructions: text or @file")
    asked = parser.add_argument_group("how the model is asked")
    asked.add_argument("--thinking", metavar="T", help="adaptive, off, or the number of tokens to think with")
    asked.add_argument("--thinking-display", metavar="D", help="summarized or omitted: what is shown of the thinking")
    asked.add_argument("--effort", metavar="E", help="low, medium, high, xhigh or max")
    asked.add_argument("--max-tokens", type=int, metavar="N", help="the maximum length of an answer")
    asked.add_argument("--json-schema", metavar="FILE", help="the final answer must be JSON that follows this schema")
    asked.add_argument("--stop-sequence", action="append", metavar="TEXT", help="stop writing at this text")
    asked.add_argument("--speed", metavar="S", help="standard or fast")
    asked.add_argument("--service-tier", metavar="T", help="auto or standard_only")
    asked.add_argument("--beta", action="append", metavar="NAME", help="a beta feature of the service")
    asked.add_argument(
        "--context-management", metavar="JSON", help="how the service shortens a long context: JSON or @file"
    )
    asked.add_argument("--header", action="append", metavar="NAME=VALUE", help="an additional HTTP header")
    asked.add_argument("--metadata", action="append", metavar="NAME=VALUE", help="metadata for the service")


def layer(parser: argparse.ArgumentParser, given: argparse.Namespace) -> dict[str, Any]:
    """What the options say, as settings. A value that cannot be one is a usage error."""
    values = {setting: getattr(given, option) for option, setting in PLAIN.items()}
    made = {setting: value for setting, value in values.items() if value is not None}
    if given.thinking is not None:
        is_budget = given.thinking.isdecimal()
        made["thinking"] = "budget" if is_budget else given.thinking
        if is_budget:
            made["thinkingBudget"] = int(given.thinking)
        elif given.thinking not in ("adaptive", "off"):
            parser.error(f"--thinking must be adaptive, off, or a number of tokens, got {given.thinking!r}")
    if given.context_management is not None:
        made["contextManagement"] = _object(parser, given.context_management)
    for option, setting in (("header", "requestHeaders"), ("metadata", "requestMetadata")):
        if pairs := getattr(given, option):
            made[setting] = dict(_pair(parser, f"--{option}", text) for text in pairs)
    return made


def _object(parser: argparse.ArgumentParser, text: str) -> dict[str, Any]:
    try:
        value = json.loads(Path(text[1:]).read_text("utf-8") if text.startswith("@") else text)
    except OSError as error:
        parser.error(f"--context-management: {text[1:]} cannot be read: {error.strerror}")
    except (ValueError, RecursionError) as error:
        parser.error(f"--context-management must be JSON or @file: {error}")
    if not isinstance(value, dict):
        parser.error("--context-management must be a JSON object")
    return value


def _pair(parser: argparse.ArgumentParser, option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        parser.error(f"{option} must be NAME=VALUE, got {text!r}")
    return name.strip(), value
