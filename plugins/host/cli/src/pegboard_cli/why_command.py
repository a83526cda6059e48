"""`pegboard why`: what would be decided about a call, by whom and where that is written. Nothing runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pegboard_cli import options, output
from pegboard_cli.call_command import parse_arguments
from pegboard_cli.main import ASKS, DENIED, OK, USAGE

if TYPE_CHECKING:
    from pegboard import Decision, Settings
    from pegboard_cli.explanation import Explanation

# Imports happen inside functions: a listing and --help must not load what only other commands need.

EXAMPLES = """\
  pegboard why Bash command="git push"
  pegboard why Write '{"file_path": "a.txt", "content": ""}' --mode acceptEdits
  pegboard why Read file_path=.env --json
  pegboard why --batch calls.jsonl          a line: {"tool": "Read", "input": {"file_path": ".env"}}

Exit codes: 0 allow, 3 deny, 4 ask, 2 unknown tool or invalid input. A batch: 0, or 2 if a line is invalid.
"""
DENY = "permissions.deny"
CODES = {"allow": OK, "ask": ASKS, "deny": DENIED}


def run(words: list[str]) -> int:
    """The command."""
    parser = options.parser("why", "Explain the permission decision for a call. Nothing runs.", EXAMPLES)
    options.listing(parser)
    options.trusting(parser)
    parser.add_argument("--mode", metavar="M", help=options.MODES)
    parser.add_argument("--batch", metavar="FILE", help="read one call per line (JSON; - reads stdin)")
    parser.add_argument("name", nargs="?", metavar="NAME", help="the tool")
    parser.add_argument("arguments", nargs="*", metavar="JSON | key=value", help="its input")
    given = parser.parse_args(words)
    if (given.name is None) == (given.batch is None):
        parser.error("give the name of a tool, or --batch FILE")
    settings = options.settings_for(given)
    settings.require_sound()
    options.warn(settings, settings.notices if given.batch is None else [])
    if given.batch is not None:
        # A batch has a reader and a cache of its own, which a single question should not wait for.
        from pegboard_cli.why_batch import judge_all

        return judge_all(given, settings)
    arguments = parse_arguments(given.arguments, parser)

    from pegboard import Board, Call, ToolError
    from pegboard_cli.explanation import explain
    from pegboard_cli.signals import run_stoppable

    board = Board.load(settings=showing_all(settings))
    if not options.is_mode(given.mode, board):
        return USAGE
    mode = given.mode or board.hooks.modes.starting(settings)[0]
    ctx = board.context(mode=mode, settings=settings)
    try:
        found = run_stoppable(explain, Call("why", given.name, arguments), ctx, board)
    except ToolError as error:
        sys.stderr.write(f"pegboard: {error}\n")
        return USAGE
    if given.json:
        output.print_json({**as_data(found), "mode": mode, "cwd": settings.cwd, "trusted": settings.trusted})
    else:
        show(found, mode)
    return CODES[found.decision.word]


def showing_all(settings: Settings) -> Settings:
    """Settings without deny rules, for the board alone: a tool that a rule hides must be there to be explained."""
    from pegboard.settings import Layer

    layers = [
        Layer(layer.name, layer.source, {k: v for k, v in layer.values.items() if k != DENY}, layer.sources)
        for layer in settings.layers
    ]
    return settings.with_layers(layers)


def as_data(found: Explanation) -> dict[str, Any]:
    """The explanation as plain data."""
    facts = found.facts
    return {
        "tool": found.tool,
        **of_decision(found.decision),
        "read_only": facts.read_only,
        "concurrency_safe": facts.concurrency_safe,
        "facts": {
            "level": facts.level,
            "read_only": facts.read_only,
            "concurrency_safe": facts.concurrency_safe,
            "open_world": facts.open_world,
            "destructive": facts.destructive,
            "reads": [str(path) for path in facts.reads],
            "writes": [str(path) for path in facts.writes],
            "deletes": [str(path) for path in facts.deletes],
            "hosts": list(facts.hosts),
            "parts": [part.text for part in facts.parts],
            "reason": facts.reason,
            "confinement": facts.confinement,
        },
        "trace": [
            {"step": step.layer, **(of_decision(step.decision) if step.decision else {"decision": None})}
            for step in found.trace
        ],
        "not_run": list(found.not_run),
        "input": found.input,
        "input_sha256": found.digest,
    }


def of_decision(decision: Decision) -> dict[str, Any]:
    """A decision as plain data."""
    return {
        "decision": decision.word,
        "layer": decision.layer,
        "rule": decision.rule,
        "source": decision.source,
        "line": decision.line,
        "matched": decision.matched,
        "reason": decision.reason,
    }


STYLES = {"allow": "green", "ask": "yellow", "deny": "red"}


def show(found: Explanation, mode: str) -> None:
    """The answer first, then every step in the order in which it counts."""
    decision = found.decision
    word = output.styled(decision.word, STYLES[decision.word])
    sys.stdout.write(f"{word}: {output.visible(decision.reason)}\n\n")
    rows = [[step.layer, step.decision.word if step.decision else "-", where(step.decision)] for step in found.trace]
    output.print_table(["STEP", "SAYS", "BECAUSE"], rows)
    sys.stdout.write("\n")
    for line in facts_in_words(found):
        sys.stdout.write(f"{output.visible(line)}\n")
    sys.stdout.write(f"mode: {mode}\ninput sha256: {found.digest}\n")
    for sentence in found.not_run:
        sys.stdout.write(f"{output.styled('not run', 'yellow')}: {output.visible(sentence)}\n")


def where(decision: Decision | None) -> str:
    """The rule with its file and line and what it matched, or the reason of a step that is no rule."""
    if decision is None:
        return ""
    if not decision.rule:
        return f"{decision.reason}  ({decision.source})" if decision.source else decision.reason
    place = f"{decision.source}:{decision.line}" if decision.line else decision.source
    return f"{decision.rule}  {place}" + (f"  matches {decision.matched}" if decision.matched else "")


def facts_in_words(found: Explanation) -> list[str]:
    """What the call would do."""
    facts = found.facts
    flags = ("read_only", "concurrency_safe", "open_world", "destructive")
    lines = [
        "facts: " + ", ".join(f"{flag.replace('_', '-')} {'yes' if getattr(facts, flag) else 'no'}" for flag in flags)
    ]
    for verb, paths in (("reads", facts.reads), ("writes", facts.writes), ("deletes", facts.deletes)):
        lines += [f"  {verb} {Path(path)}" for path in paths]
    lines += [f"  reaches {host}" for host in facts.hosts]
    lines += [f"  part: {part.text}" for part in facts.parts]
    if facts.confinement and found.decision.layer == "read-only":
        lines.append(f"confinement: {facts.confinement}")
    return lines
