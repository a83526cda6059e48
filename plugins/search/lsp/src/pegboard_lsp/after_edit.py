"""New problems of a file, added to the result of the tool that edited it. It never makes an edit fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from pegboard import After, Context, Input, Tool, ToolError
from pegboard.wording import counted
from pegboard_lsp.choice import absolute, choose
from pegboard_lsp.hub import Hub, hub_of
from pegboard_lsp.items import Items
from pegboard_lsp.lsp_output import LspItem
from pegboard_lsp.operations import Request, perform

if TYPE_CHECKING:
    from typing import Any

SECONDS = 5.0
"""How long an edit waits for what a server says about it."""
MOST = 10
MOST_FILES = 5
SERIOUS = ("error", "warning")


def remember(hub: Hub, path: str, items: Sequence[LspItem]) -> list[LspItem]:
    """Keep the problems of a file, and return those that were not there before."""
    before = Counter(hub.last_problems.get(path, ()))
    new: list[LspItem] = []
    for item in items:
        words = _identity(item)
        if before[words] > 0:
            before[words] -= 1
        else:
            new.append(item)
    hub.last_problems[path] = [_identity(item) for item in items]
    return new


def _identity(item: LspItem) -> str:
    """A problem without its place: an edit above it moves it."""
    return f"{item.severity} {item.source} {item.message}"


async def after_edit(tool: Tool[Any, Any], args: Input, ctx: Context) -> After | None:
    """The new errors and warnings of the files that a tool has edited."""
    given, hub = getattr(args, "file_path", None), hub_of(ctx.settings)
    named = [absolute(given, ctx)] if isinstance(given, Path) else []
    said = []
    # Without a session nothing is heard before the first server has started.
    for path in list(dict.fromkeys(hub.take_written() or named))[-MOST_FILES:]:
        shown = ctx.path_filter(tool, path)
        if shown is None or shown(path):
            said.append(await _new_problems(path, hub, ctx, shown))
    words = "\n".join(filter(None, said))
    return After(context=words) if words else None


async def _new_problems(path: str, hub: Hub, ctx: Context, shown: Callable[[str], bool] | None) -> str:
    try:
        chosen = choose(hub.found, path, ctx, diagnostics=True)
        if not chosen.config.diagnostics or (chosen.asks and not hub.is_running(chosen)):
            return ""
        request = Request("diagnostics", path, seconds=SECONDS)
        with anyio.fail_after(SECONDS * 2):
            done = await hub.ask(chosen, ctx, lambda running: perform(request, running))
    except (ToolError, TimeoutError):
        return ""
    if done.is_silent:
        return ""
    found = Items(ctx, shown).of("diagnostics", done)
    new = [item for item in remember(hub, path, found) if item.severity in SERIOUS]
    return _words(new, chosen.config.name) if new else ""


def _words(new: list[LspItem], server: str) -> str:
    rows = [f"{item.path}:{item.line}:{item.character}: {item.severity}: {item.message}" for item in new[:MOST]]
    more = [f"(and {len(new) - MOST} more)"] if len(new) > MOST else []
    return "\n".join([f"{server} reports {counted(len(new), 'new problem')} after this edit:", *rows, *more])
