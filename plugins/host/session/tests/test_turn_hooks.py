"""Hooks after a turn, around a sub-agent's work, and when the model cannot be asked."""

from dataclasses import replace

import pytest

from pegboard import After, Agent, Board, Context, Input, ProviderError, Settings, hookimpl, tool
from pegboard_session import ReplayProvider, Session

DONE = {"content": [{"type": "text", "text": "Done."}]}


class EchoInput(Input):
    text: str


@tool(read_only=True, open_world=False)
def Echo(args: EchoInput, ctx: Context) -> str:
    """Say it again."""
    return args.text


def board(plugin):
    return Board(Settings(), [], plugins=[plugin], tools=[Echo])


def calling(*texts):
    return {"content": [{"type": "tool_use", "name": "Echo", "input": {"text": text}} for text in texts]}


def texts(message):
    return [block["text"] for block in message["content"] if block["type"] == "text"]


@pytest.mark.parametrize(("stop", "stopped_by"), [("", "end"), ("Enough.", "hook")])
async def test_all_results_of_a_turn_are_seen_together(stop, stopped_by):
    seen = []

    class Plugin:
        @hookimpl
        def after_turn(self, results):
            seen.append([result.text for result in results])
            return After(context="Noted.", stop=stop)

    async with Session(board(Plugin()), ReplayProvider([calling("a", "b"), DONE])) as session:
        outcome = await session.run("Go")
    assert (seen, outcome.stopped_by) == ([["a", "b"]], stopped_by)
    assert texts(session.messages[2]) == ["Noted."]


async def test_a_model_that_cannot_be_asked_is_told_once():
    seen = []

    class Plugin:
        @hookimpl
        def prompt_failed(self, error):
            seen.append(error.kind)

    async with Session(board(Plugin()), ReplayProvider([])) as session:
        with pytest.raises(ProviderError):
            await session.run("Go")
    assert len(seen) == 1


async def test_a_sub_agent_is_spoken_to_at_its_start_and_before_its_report():
    class Plugin:
        asked = 0

        @hookimpl
        def start_agent(self, ctx):
            return f"You are {ctx.agent.id}."

        @hookimpl
        def before_agent_stop(self, text):
            self.asked += 1
            return "Which line?" if self.asked == 1 else None

        @hookimpl
        def start_session(self):
            return "Not for agents."

    made = board(Plugin())
    async with Session(made, ReplayProvider([DONE])) as parent:
        ctx = replace(parent.ctx, agent=Agent("a1", "reviewer", "main", 1))
        async with Session(made, ReplayProvider([DONE, DONE]), ctx=ctx, parent=parent) as child:
            await child.run("Look.")
        await parent.run("Go")
    assert [texts(message) for message in child.messages[::2]] == [["You are a1.", "Look."], ["Which line?"]]
    assert texts(parent.messages[0]) == ["Not for agents.", "Go"]
