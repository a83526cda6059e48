"""The events of a session, to iterate over, and the services that plugins bring for one."""

import anyio
import pytest

import pegboard_files
import pegboard_processes
from pegboard import Board, Context, Input, hookimpl, tool
from pegboard.settings import Settings
from pegboard_session import ReplayProvider, Session

from .scripts import text, turn, use


class NameInput(Input):
    who: str


async def collect(session, events):
    async for event in session.events():
        events.append(event)


async def test_two_sessions_on_one_board_do_not_mix_their_events(tmp_path):
    """Each call waits for the other session's call to begin, so that the events must interleave."""
    begun = {"left": anyio.Event(), "right": anyio.Event()}

    @tool(read_only=True, concurrency_safe=True, open_world=False)
    async def Meet(args: NameInput, ctx: Context) -> str:
        """Wait for the other."""
        begun[args.who].set()
        ctx.report(f"{args.who} is here")
        await begun["right" if args.who == "left" else "left"].wait()
        return args.who

    @tool(read_only=True, open_world=False)
    async def Nested(args: NameInput, ctx: Context) -> str:
        """Call another tool."""
        return (await ctx.call("Meet", {"who": args.who})).text

    plugins = [pegboard_files, pegboard_processes]
    env = {"HOME": str(tmp_path)}
    board = Board(Settings(cwd=str(tmp_path)), [], plugins=plugins, tools=[Meet, Nested], env=env)
    seen = {"left": [], "right": []}

    async def talk(name):
        provider = ReplayProvider([turn(use("Nested", f"call-{name}", who=name)), turn(text(f"I am {name}."))])
        async with Session(board, provider, session_id=name) as session, anyio.create_task_group() as group:
            group.start_soon(collect, session, seen[name])
            await anyio.wait_all_tasks_blocked()
            await session.run("Go")
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(talk, "left")
        group.start_soon(talk, "right")
    for name, events in seen.items():
        assert {event.data["session"] for event in events} == {name}
        kinds = [event.kind for event in events]
        assert kinds.count("call_started") == kinds.count("call_finished") == 2
        assert "call_progress" in kinds
        assert kinds[-1] == "prompt_answered"
        assert "".join(event.data["text"] for event in events if event.kind == "text_written") == f"I am {name}."


async def test_events_wait_until_they_are_taken_and_end_with_the_session(board):
    async with Session(board, ReplayProvider([turn(text("Hi."))])) as session:
        events = session.events()
        await session.run("Go")
    kinds = [event.kind async for event in events]
    assert (kinds[0], kinds[-1]) == ("request_started", "session_finished")


async def test_a_stream_that_is_closed_hears_nothing_more(board):
    async with Session(board, ReplayProvider([turn(text("Hi."))])) as session:
        events = session.events()
        events.close()
        await session.run("Go")
        assert [event async for event in events] == []


class Brings:
    def __init__(self):
        self.sessions = []

    @hookimpl
    def register_session_services(self, session):
        self.sessions.append(session.id)
        return {"notebook": [session.id]}


class Fails:
    @hookimpl
    def register_session_services(self, session):
        raise RuntimeError("no notebook")


async def test_a_plugin_brings_a_service_for_each_session(tmp_path, caplog):
    @tool(read_only=True, open_world=False)
    async def Look(args: Input, ctx: Context) -> str:
        """Look into the notebook."""
        return str(ctx.service("notebook"))

    brings = Brings()
    board = Board(Settings(cwd=str(tmp_path)), [], plugins=[brings, Fails()], tools=[Look], env={"HOME": str(tmp_path)})
    for name in ("one", "two"):
        provider = ReplayProvider([turn(use("Look", "a")), turn(text("Done."))])
        async with Session(board, provider, session_id=name) as session:
            await session.run("Go")
        assert session.messages[2]["content"][0]["content"] == [text(f"['{name}']")]
    assert brings.sessions == ["one", "two"]
    assert "no notebook" in caplog.text


async def test_without_the_agent_plugin_a_session_works_and_has_no_agents(board):
    async with Session(board, ReplayProvider([turn(text("Hi."))])) as session:
        assert (await session.run("Go")).text == "Hi."
        assert sorted(session.ctx.services.others) == ["conversation", "events", "results", "tools"]


async def test_what_is_announced_is_told_once_with_the_next_message(board):
    provider = ReplayProvider([turn(text("Hi.")), turn(text("Ho.")), turn(text("Well."))])
    async with Session(board, provider) as session:
        await session.run("Go")
        session.ctx.service("conversation").announce("The build is done.")
        await session.run("On")
        await session.run("And on")
    said = [
        [block["text"] for block in message["content"]] for message in session.messages if message["role"] == "user"
    ]
    assert said == [["Go"], ["The build is done.", "On"], ["And on"]]


@pytest.mark.parametrize("name", ["Session", "ReplayProvider", "Transcript", "restore", "Retries", "Outcome"])
def test_the_public_names_load(name):
    import pegboard_session

    assert getattr(pegboard_session, name).__doc__
