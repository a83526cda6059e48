"""`pegboard call`: one tool call through the full pipeline."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pegboard_cli import options, output
from pegboard_cli.main import DENIED, FAILED, OK, USAGE
from pegboard_cli.remedies import without_remedy

if TYPE_CHECKING:
    from pegboard import Result

# Imports happen inside functions: a listing and --help must not load what only other commands need.

EXAMPLES = """\
  pegboard call Read file_path=README.md limit=3
  pegboard call Read '{"file_path": "README.md"}' --json
  echo '{"file_path": "README.md"}' | pegboard call Read -
  pegboard call Write --yes file_path=a.txt content=hello

key=value is text (numbers and true/false are understood), key:=JSON is JSON, - reads JSON from stdin.
"""


def run(words: list[str]) -> int:
    """The command."""
    parser = options.parser("call", "Call a tool through the full pipeline: permissions, hooks, limits.", EXAMPLES)
    options.listing(parser)
    options.trusting(parser)
    parser.add_argument("--yes", action="store_true", help="approve calls that would ask for approval")
    parser.add_argument("name", metavar="NAME", help="the tool")
    parser.add_argument("arguments", nargs="*", metavar="JSON | key=value", help="its input")
    given = parser.parse_intermixed_args(words)
    settings = options.settings_for(given)
    settings.require_sound()
    options.warn(settings, settings.notices)
    arguments = parse_arguments(given.arguments, parser)

    from pegboard import Board, Call
    from pegboard_cli.ask_user import Answer
    from pegboard_cli.signals import run_stoppable
    from pegboard_cli.stdout_capture import PRINTED, StdoutCapture

    answer, capture = Answer(given.yes), StdoutCapture()
    board = Board.load(settings=settings, plugins=[answer, capture], record=True)
    mode, refusal = board.hooks.modes.starting(settings)
    if refusal:
        options.warn(settings, [refusal])
    with redirect_stdout(sys.stderr), capture:  # What plugins print is noted or said, never mixed in.
        result = run_stoppable(board.dispatch, Call("call", given.name, arguments), board.context(mode=mode))
    if isinstance(arguments, dict):
        typed = tuple(note for note in result.notes if note.startswith(PRINTED))
        # Command-line values are always text, so notes about coerced numbers would only distract.
        result = replace(result, notes=typed)
    return present(result, as_json=given.json, advice=answer.advice)


def parse_arguments(words: list[str], parser: Any) -> str | dict[str, Any]:
    """The input as it was typed: JSON text goes through untouched, so that its faults are named by the tool."""
    if words == ["-"]:
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    if len(words) == 1 and words[0].lstrip()[:1] in ("{", "["):
        return words[0].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    made: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            parser.error(f"expected JSON or key=value, got {word!r}")
        if key.endswith(":"):
            try:
                made[key[:-1]] = json.loads(value)
            except (ValueError, RecursionError) as error:
                parser.error(f"{key[:-1]}: not valid JSON: {error}")
        else:
            made[key] = value
    return made


def present(result: Result, *, as_json: bool, advice: str = "") -> int:
    """Show the result; the exit code says how it went."""
    if as_json:
        output.print_json(as_data(result))
    elif result.is_error:
        said = without_remedy(result.text)
        output.complain(f"{said} {advice}" if advice and result.code == "permission_denied" else said)
    else:
        for note in result.notes:
            output.complain(f"note: {note}")
        for block in as_data(result)["content"]:
            text = block.get("text") or f"[{block['type']}, {block['media_type']}, {block['bytes']} bytes]"
            sys.stdout.write(output.printable(text) + "\n")
    if not result.is_error:
        return OK
    denied = result.decision is not None and result.decision.word != "allow"
    return (
        DENIED if denied else USAGE if result.code in ("invalid_input", "not_found") and not result.decision else FAILED
    )


def as_data(result: Result) -> dict[str, Any]:
    """The result as plain data."""
    import base64

    from pegboard import Text, jsonable

    content: list[dict[str, Any]] = []
    for block in result.content:
        if isinstance(block, Text):
            content.append({"type": "text", "text": block.text})
        else:
            data = base64.b64encode(block.data).decode()
            kind = type(block).__name__.lower()
            content.append({"type": kind, "media_type": block.media_type, "bytes": len(block.data), "data": data})
    decision = result.decision
    return {
        "name": result.name,
        "is_error": result.is_error,
        "code": result.code,
        "content": content,
        "value": jsonable(result.value),
        "decision": decision
        and {
            "decision": decision.word,
            "layer": decision.layer,
            "rule": decision.rule,
            "source": decision.source,
            "reason": decision.reason,
        },
        "notes": list(result.notes),
    }
