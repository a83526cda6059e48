"""What a sub-agent may use and where it may work: never more than the agent that starts it."""

from __future__ import annotations

import os
from pathlib import Path

from pegboard import Context, Settings, ToolError
from pegboard.hosting import Pool
from pegboard.permission import Modes, WorkingDirectories
from pegboard_agent.service import SubAgentRequest
from pegboard_agent.tool_choice import ToolChoice, child_pool, unresolved


def choice_of(request: SubAgentRequest, label: str, *, may_nest: bool, depth_limit: int) -> ToolChoice:
    """What an agent may use, from its definition and what the call narrows further."""
    lists = tuple(names for names in (request.definition.tools, request.tools) if names is not None)
    disallowed = (*request.definition.disallowed_tools, *request.disallowed_tools)
    return ToolChoice(f"the {label}", lists, disallowed, may_nest, depth_limit)


def require_tools(pool: Pool, choice: ToolChoice, kind: str, *, may_grow: bool = False) -> list[str]:
    """What is missing of the lists; nothing left of them is an error that names every entry.

    With `may_grow`, tools of servers that are not running yet may be meant.
    """
    if may_grow:
        is_known = [name for names in choice.tools for name in names if not name.startswith("mcp__")]
        return unresolved(pool, is_known)
    missing = [reason for names in choice.tools for reason in unresolved(pool, names)]
    if choice.tools and not child_pool(pool, choice).entries:
        reason = f"The agent {kind} would have no tool at all. "
        raise ToolError(reason + (" ".join(missing) or "Its tool lists do not overlap."), code="unsupported")
    return missing


def inside(ctx: Context, folder: Path) -> Path:
    """A folder to work in: it must be inside the working directories, links resolved."""
    wanted = ctx.resolve(folder)
    real, folders = os.path.realpath(wanted), WorkingDirectories.of(ctx)
    if not os.path.isdir(real):
        raise ToolError(f"cwd: there is no folder {wanted}.", code="not_found")
    if not (folders.hold(real) and folders.hold(os.path.normpath(wanted))):
        reason = f"cwd: {wanted} is outside the working directories. An agent may work only where its parent may."
        raise ToolError(reason, code="permission_denied")
    return Path(real)


def narrower_mode(modes: Modes, parent: str, wanted: str | None, settings: Settings) -> str:
    """The mode of a sub-agent: the one that is wanted, but never a wider one than its parent's."""
    above = modes.effective(parent, settings)
    mode = modes.get(wanted) if wanted else above
    if mode is None or not above.asks:
        return above.name
    if not mode.asks:
        return mode.name if above.width >= 0 else above.name
    return above.name if mode.width > above.width else mode.name
