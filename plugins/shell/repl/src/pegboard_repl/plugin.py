"""The hooks: the tool, and the interpreters of each session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pegboard import Context, Tool, hookimpl

if TYPE_CHECKING:
    from pegboard_session import Session

# Imports happen inside functions: every session loads these hooks, and few use the tool.


@hookimpl
def register_tools() -> list[Tool[Any, Any]]:
    from pegboard_repl.repl import REPL

    return [REPL()]


@hookimpl
def register_session_services(session: Session) -> Mapping[str, object]:
    """Interpreters of its own for each session and each sub-agent: no one finds variables that another changes."""
    from pegboard_repl.session_interpreters import SERVICE, Interpreters

    return {SERVICE: Interpreters()}


@hookimpl
async def end_session(ctx: Context) -> None:
    """Close the interpreters in order; the process service would only end them."""
    interpreters = ctx.services.others.get("repl")
    if interpreters is not None:
        await interpreters.close()  # type: ignore[attr-defined]
