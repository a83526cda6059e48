"""Let Bash run without asking where the sandbox holds whatever the command does."""

from __future__ import annotations

from typing import Any

from pegboard import Allow, Ask, Context, Decision, Input, Tool, hookimpl
from pegboard_sandbox.excluded_commands import is_excluded_command
from pegboard_sandbox.mechanism import choose
from pegboard_sandbox.policy import Policy

REASON = "It runs in the sandbox: it can change only the working directories and reach only listed hosts."


@hookimpl
def check_permission(tool: Tool[Any, Any], args: Input, ctx: Context) -> Decision | None:
    """Allow a command that bubblewrap holds, ask for one that wants to leave.

    Rules that deny or ask, protected and critical paths come before.
    """
    if tool.name != "Bash":
        return None
    policy = Policy.of(ctx.settings)
    if policy is not None and policy.may_leave and getattr(args, "dangerously_disable_sandbox", False):
        return Ask("Bash would run it outside the sandbox.", "sandbox")
    if policy is None or not policy.allows_bash or policy.network == "on":
        return None
    if getattr(args, "task_id", None):
        return None  # It is typed into a command that runs already, perhaps outside the sandbox.
    command = getattr(args, "command", None)
    if not isinstance(command, str) or is_excluded_command(command, policy):
        return None
    # Landlock leaves sockets open, through which a command could ask others to act for it.
    return Allow(REASON, "sandbox") if choose(policy, network=True)[0] == "bubblewrap" else None
