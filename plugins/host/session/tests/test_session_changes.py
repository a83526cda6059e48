"""A person changes the mode or the model of a session, also in the middle of a turn."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from pegboard import Board, Context, Event, Input, ProviderError, Settings, Tool, hookimpl
from pegboard_session import Budget, ReplayProvider, Session, SlashCommandError, Transcript, answer_slash_command

SAID = {"content": [{"type": "text", "text": "Done."}]}


class Which(Tool[Input, str]):
    """Say the mode."""

    name = "Which"
    read_only, concurrency_safe, open_world = True, False, False

    def call(self, args: Input, ctx: Context, /) -> str:
        return ctx.mode


def call(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "name": name, "input": {}}


class AfterTheFirstCall:
    """A person who changes the mode when the first call is over."""

    def __init__(self) -> None:
        self.session: Session | None = None

    @hookimpl
    def observe(self, event: Event) -> None:
        if event.kind == "call_finished" and self.session and self.session.current.mode == "default":
            assert self.session.set_mode("plan") == ""


async def test_another_mode_holds_for_later_calls_of_the_running_turn(tmp_path: Path) -> None:
    person = AfterTheFirstCall()
    board = Board(Settings(), [], plugins=[person], tools=[Which()])
    provider = ReplayProvider([{"content": [call("Which"), call("Which")]}, SAID])
    transcript = Transcript(tmp_path / "t.jsonl")
    async with Session(board, provider, transcript=transcript) as session:
        person.session = session
        await session.run("Go.")
        assert session.ctx.mode == "plan"
    results = provider.requests[1].messages[-1]["content"]
    assert [result["content"][0]["text"] for result in results] == ["default", "plan"]
    lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert [line["mode"] for line in lines if line["type"] == "change"] == ["plan"]


async def test_a_mode_that_does_not_exist_is_refused() -> None:
    async with Session(Board(Settings(), [], tools=[Which()]), ReplayProvider([])) as session:
        assert session.set_mode("nothing").startswith("The mode nothing is not used: no installed plugin provides it.")
        assert session.ctx.mode == "default"


async def test_another_model_is_asked_from_the_next_request_on() -> None:
    provider = ReplayProvider([SAID, SAID])
    async with Session(Board(Settings(), [], tools=[Which()]), provider, model="one") as session:
        await session.run("Go.")
        session.set_model("two")
        await session.run("Go on.")
    assert [request.model for request in provider.requests] == ["one", "two"]


async def test_a_model_without_a_price_is_refused_where_a_budget_needs_one() -> None:
    provider = ReplayProvider([SAID])
    provider.models = {"one": {"price": {"input": 1, "output": 1, "cacheRead": 1, "cacheWrite": 1}}}  # type: ignore[attr-defined]
    board = Board(Settings(), [], tools=[Which()])
    async with Session(board, provider, model="one", budget=Budget(cost=Decimal(1))) as session:
        with pytest.raises(ProviderError, match="the model 'two' has no price"):
            session.set_model("two")
        assert session.model == "one"


async def test_an_unknown_command_is_refused_with_the_nearest_names() -> None:
    async with Session(Board(Settings(), [], tools=[Which()]), ReplayProvider([])) as session:
        with pytest.raises(SlashCommandError, match=r"^There is no command /xyzzy\."):
            await answer_slash_command(session, "xyzzy", "")
