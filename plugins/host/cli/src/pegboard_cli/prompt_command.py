"""`pegboard prompt show`: what the first request of a session would tell the model, with the size of each part."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pegboard_cli import options, output, request_flags
from pegboard_cli.main import OK
from pegboard_cli.session_setup import MODEL

if TYPE_CHECKING:
    import argparse

    from pegboard import Board

# Imports happen inside functions: a listing and --help must not load what only other commands need.

EXAMPLES = """\
  pegboard prompt show                 the system prompt, memory files and options, part by part
  pegboard prompt show --json
  pegboard prompt show --agent Explore --effort low
"""
CHARACTERS = 4
"""How many characters a token has, about."""
LONGEST = 160
"""The longest title of a part."""


def run(words: list[str]) -> int:
    """The command."""
    parser = options.parser("prompt", "Show what a model would be told, without asking it.", EXAMPLES)
    options.listing(parser)
    options.trusting(parser)
    parser.add_argument("act", nargs="?", metavar="show", choices=["show"], default="show", help="what to do")
    parser.add_argument("--provider", metavar="P", help=options.PROVIDER)
    parser.add_argument("--model", metavar="M", help=f"the model (default: the provider's, {MODEL} for anthropic)")
    parser.add_argument("--agent", metavar="A", help="as this agent")
    parser.add_argument("--permission-mode", metavar="M", help=options.MODES)
    request_flags.add(parser)
    given = parser.parse_args(words)
    named = {name: value for name in ("model", "provider") if (value := getattr(given, name))}
    settings = options.settings_for(given, **request_flags.layer(parser, given), **named)
    settings.require_sound()

    import anyio

    from pegboard import Board

    notices: list[str] = []
    board = Board.load(settings=settings, plugins=[Listener(notices)], record=True)
    shown = anyio.run(collect, given, board)
    options.warn(settings)
    for notice in notices:
        sys.stderr.write(f"pegboard: {output.visible(notice)}\n")
    if given.json:
        output.print_json(shown)
    else:
        print_parts(shown)
    return OK


class Listener:
    """Keeps what people would be told at the start."""

    def __init__(self, notices: list[str]) -> None:
        from pegboard import Event, hookimpl

        @hookimpl
        def observe(event: Event) -> None:
            if event.kind == "notice":
                notices.append(str(event.data["message"]))

        self.observe = observe


async def collect(given: argparse.Namespace, board: Board) -> dict[str, Any]:
    """What would be sent. No session is opened: its hooks may run commands."""
    from pegboard_cli.session_setup import prepare
    from pegboard_session.session_services import add_plugin_services

    session = prepare(given, board)
    add_plugin_services(session)
    await session.system_prompt.open({})
    session.asking.report()
    reminders = [str(block["text"]) for block in session.conversation.take_news("prompt")]
    request = session.conversation.request()
    tools = [
        {"name": tool["name"], "tokens": tokens(json.dumps(tool, ensure_ascii=False, separators=(",", ":")))}
        for tool in request.tools
    ]
    parts = [row(part.name, part.text) for part in session.system_prompt.parts()]
    told = [row(title(words), words) for words in reminders]
    everything = [*tools, *parts, *told]
    return {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "options": {name: value for name, value in asdict(request.wanted).items() if value},
        "system": parts,
        "reminders": told,
        "tools": tools,
        "tokens": sum(each["tokens"] for each in everything),
    }


def row(name: str, text: str) -> dict[str, Any]:
    """One part with its size."""
    return {"name": name, "tokens": tokens(text), "text": text}


def compact(tool: Any) -> str:
    """A definition as `pegboard tools` counts it."""
    return json.dumps(tool, ensure_ascii=False, separators=(",", ":"))


def tokens(text: str) -> int:
    """How many tokens a text has, about."""
    return -(-len(text) // CHARACTERS)


def title(reminder: str) -> str:
    """The first sentence or line of a reminder, without its tag."""
    line = re.sub(r"<[^>]*>\s*", "", reminder, count=1).split("\n", 1)[0]
    return line if len(line) <= LONGEST else re.split(r"(?<=[.!?:]) ", line, maxsplit=1)[0][:LONGEST]


def print_parts(shown: dict[str, Any]) -> None:
    """Each part with a heading."""
    write = sys.stdout.write
    for kind, rows in (("system", shown["system"]), ("first message", shown["reminders"])):
        for part in rows:
            heading = f"## {kind}: {output.visible(part['name'])} (about {part['tokens']} tokens)"
            write(f"{output.styled(heading, 'bold')}\n{output.printable(part['text'])}\n\n")
    sizes = ", ".join(f"{tool['name']} {tool['tokens']}" for tool in shown["tools"])
    write(output.styled(f"## tools: about {sum(tool['tokens'] for tool in shown['tools'])} tokens", "bold") + "\n")
    write(f"{output.visible(sizes)}\n\n")
    write(output.styled("## request", "bold") + "\n")
    write(f"model {output.visible(shown['model'])}, up to {shown['max_tokens']} tokens for an answer\n")
    for name, value in shown["options"].items():
        write(f"{name}: {output.visible(json.dumps(value, ensure_ascii=False))}\n")
    write(f"about {shown['tokens']} tokens in all\n")
