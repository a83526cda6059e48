"""`/cost`, `/context` and `/compact`: what the conversation uses, and how it becomes shorter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard.wording import counted
from pegboard_session import SlashCommand
from pegboard_terminal.columns import columns

if TYPE_CHECKING:
    from pegboard_session import Session


async def show_cost(session: Session, arguments: str) -> str:
    """Tokens by kind, money where prices are known, and what each tool put in."""
    usage = session.usage
    rows = [(counted(usage.requests, "request"), f"{usage.total_tokens:,} tokens")]
    rows += [(name.replace("_", " "), f"{number:,}") for name, number in usage.tokens.items()]
    if usage.priced:
        unknown = usage.requests - usage.priced
        more = f", and {counted(unknown, 'request')} without a known price" if unknown else ""
        rows.append(("cost", f"{usage.cost:.4f}{more}"))
    else:
        rows.append(("cost", f"the price of {session.model} is not known; set it in `prices`"))
    for name, use in sorted(usage.tools.items()):
        failed = f", {use.errors} failed" if use.errors else ""
        rows.append((name, f"{counted(use.calls, 'call')}{failed}, about {use.result_tokens:,} tokens"))
    return columns(rows)


async def show_context(session: Session, arguments: str) -> str:
    """How full the window is, and with what."""
    compaction, conversation = session.compaction, session.conversation
    use = compaction.use
    messages = compaction.meter.tokens(conversation.messages)
    of = f" of {use.window:,} ({use.percent} %)" if use.window else ""
    rows = [
        ("next request", f"about {use.tokens:,} tokens{of}"),
        ("instructions and tools", f"{max(use.tokens - messages, 0):,}"),
        (counted(len(conversation.messages), "message"), f"{messages:,}"),
    ]
    if compaction.limit is not None and compaction.rules.automatic:
        rows.append(("compacted from", f"{compaction.limit:,}"))
    return columns(rows)


async def compact(session: Session, arguments: str) -> str:
    """Replace what is older by a summary."""
    done = await session.compact(arguments)
    if not done.done:
        return done.why
    return f"Compacted: {done.before:,} → {done.after:,} tokens."


COMMANDS = (
    SlashCommand("cost", "show tokens and cost", show_cost, at_once=True),
    SlashCommand("context", "show how full the context window is", show_context, at_once=True),
    SlashCommand(
        "compact", "replace the older part of the conversation with a summary", compact, "[what to keep]", at_once=True
    ),
)
