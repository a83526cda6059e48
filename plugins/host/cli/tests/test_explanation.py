"""What leads to a decision, step by step, without running the call."""

from __future__ import annotations

import anyio

from pegboard import Ask, Board, Call, Context, Deny, Input, Settings, hookimpl, tool
from pegboard_cli.explanation import explain


class LookInput(Input):
    text: str = ""


@tool(read_only=True, open_world=False)
async def Look(args: LookInput, ctx: Context) -> str:
    """Look."""
    raise AssertionError("The call must not run.")


class Strict:
    @hookimpl
    def check_permission(self):
        return [Ask("Hm."), Deny("No.")]


class Commanding(Strict):
    runs_user_commands = ("check_permission",)


def explained(plugin):
    board = Board(Settings(), [], plugins=[plugin], tools=[Look], env={})
    return anyio.run(explain, Call("1", "Look", {}), board.context(), board)


def test_why_names_the_plugin_and_the_hook():
    found = explained(Strict())
    assert found.decision == Deny("No.", "plugins", source="check_permission of application:0")
    said = [(step.layer, step.decision.word) for step in found.trace if step.decision]
    assert said == [("plugins", "ask"), ("plugins", "deny"), ("facts", "allow")]


def test_a_hook_that_starts_commands_of_the_user_is_named_and_not_run():
    found = explained(Commanding())
    assert found.decision.word == "allow"
    [sentence] = found.not_run
    assert sentence.startswith("application:0 runs commands of the user in check_permission; they were not run")
