"""The LSP tool, and the language servers behind it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pegboard import hookimpl

if TYPE_CHECKING:
    from pegboard import After, Context, Input, Notice, Settings, Tool
    from pegboard_lsp.hub import Hub
    from pegboard_lsp.lsp import Lsp, LspInput
    from pegboard_lsp.lsp_output import LspItem, LspOutput

# Imports happen inside functions: every session loads the plugin, and few use the tool.

WARM_UP = ("pegboard_lsp.lsp",)
__all__ = ["Lsp", "LspInput", "LspItem", "LspOutput", "register_tools"]


@hookimpl
def register_tools() -> list[Lsp]:
    from pegboard_lsp.lsp import Lsp

    return [Lsp()]


@hookimpl
def check_tools(settings: Settings) -> Sequence[Notice]:
    """Language servers that are described and not used, and why."""
    files = (os.path.join(settings.root, name) for name in (".lsp.json", ".github/lsp.json"))
    if not settings.holders("lsp.servers") and not any(map(os.path.lexists, files)):
        return []
    from pegboard_lsp.server_config import find_servers

    return find_servers(settings).notices


@hookimpl
def start_session(session_id: str, ctx: Context) -> None:
    """Remember the session: servers live as long as one of them does."""
    from pegboard_lsp.hub import hub_of

    hub = hub_of(ctx.settings)
    hub.enter(session_id)
    if ctx.settings.get("lsp.diagnosticsAfterEdit"):
        hub.listen(ctx)


@hookimpl
async def after_call(tool: Tool[Any, Any], args: Input, ctx: Context) -> After | None:
    """Add the new problems of a file that was edited, where a person wants that."""
    if tool.read_only or not ctx.settings.get("lsp.diagnosticsAfterEdit"):
        return None
    from pegboard_lsp.after_edit import after_edit

    return await after_edit(tool, args, ctx)


@hookimpl
async def end_session(session_id: str, ctx: Context) -> None:
    """End the servers with the last session."""
    hub: Hub | None = ctx.settings.__dict__.get("lsp_hub")
    if hub is not None:
        await hub.leave(session_id)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pegboard_lsp import lsp, lsp_output

    return getattr(lsp, name, None) or getattr(lsp_output, name)
