"""Runs of sub-agents: names and resuming, the background, limits, typed and long reports, folders."""

import json
from dataclasses import replace

import anyio

from pegboard import Call, Context, hookimpl, tool
from pegboard_session import ReplayProvider, Session

from .agents import (
    Meeting,
    NameInput,
    Watching,
    _at_home,
    agent,
    make_board,
    of,
    play,
    results_of,
    said_by,
    text,
    turn,
    use,
    watching,
)

__all__ = ["_at_home", "watching"]


async def test_a_name_is_used_once_and_resume_goes_on(tmp_path, watching):
    board = make_board(tmp_path, watching)
    script = [
        turn(agent(name="ann")),
        turn(agent(name="ann")),
        turn(use("Agent", description="more", prompt="And now?", resume="ann")),
        turn(text("Done.")),
        of("ann", text("first")),
        of("ann", text("second")),
    ]
    provider = ReplayProvider(script)
    async with Session(board, provider) as session:
        await session.run("Go")
    assert "The name 'ann' already belongs to agent ann" in results_of(session, 4)[0]
    assert results_of(session, 6)[0].startswith("second")
    [child] = provider.children
    history = [part["text"] for sent in child.requests[1].messages for part in sent["content"]]
    assert history == ["Do it.", "first", "And now?"]


async def test_resume_of_nobody_and_of_a_running_agent(tmp_path, watching):
    board = make_board(tmp_path, watching, Meeting().tools())
    script = [
        turn(agent(name="busy", run_in_background=True)),
        turn(
            use("Agent", description="d", prompt="p", resume="busy"),
            use("Agent", description="d", prompt="p", resume="no"),
        ),
        turn(text("Done.")),
        of("busy", use("Hang")),
    ]
    _, session = await play(board, *script)
    running, nobody = results_of(session, 4)
    assert "The agent 'busy' is still running. Running agents: agent busy (agent-" in running
    assert "You have not started an agent 'no'. Your agents: agent busy (agent-" in nobody


async def test_a_background_agent_is_announced_once(tmp_path, watching):
    meeting = Meeting(size=2)
    board = make_board(tmp_path, watching, meeting.tools())
    script = [
        turn(agent(name="back", run_in_background=True)),
        turn(use("Meet", name="x")),
        turn(text("One.")),
        turn(text("Two.")),
        turn(text("Three.")),
        of("back", use("Meet", name="x")),
        of("back", text("the report")),
    ]
    async with Session(board, ReplayProvider(script)) as session:
        await session.run("Go")
        [task] = session.ctx.background.tasks()
        ended = await session.ctx.background.wait(task.id)
        await session.run("Next")
        await session.run("Again")
    launched = results_of(session)[0]
    assert f"is running in the background as {task.id}" in launched
    assert ended.value.content == "the report"
    lines = task.output.read_text().splitlines()
    assert lines[0].startswith("general-purpose agent agent-")
    assert any(line.startswith("Meet ok") for line in lines)
    assert "the report" in lines
    told = json.dumps(session.messages).count(
        "A background agent has finished. This is its report, not a message from the user"
    )
    assert told == 1


async def test_closing_the_session_ends_background_agents(tmp_path, watching):
    board = make_board(tmp_path, watching, Meeting().tools())
    script = [turn(agent(name="b", run_in_background=True)), turn(text("Done.")), of("b", use("Hang"))]
    with anyio.fail_after(10):
        await play(board, *script)
    assert [data["state"] for data in watching.of("agent_finished")] in ([], ["interrupted"])


async def test_limits_return_what_exists(tmp_path, watching):
    board = make_board(tmp_path, watching, Meeting().tools())
    script = [turn(agent(name="slow", timeout=0.2), agent(name="short", max_turns=1)), turn(text("Done."))]
    script += [of("slow", text("so far"), use("Hang")), of("short", text("a start"), use("Read", file_path="x"))]
    with anyio.fail_after(10):
        _, session = await play(board, *script)
    slow, short = results_of(session)
    assert slow.startswith("so far")
    assert "stopped by timeout" in slow
    assert short.startswith("a start")
    assert "stopped by max_turns" in short
    assert "Hang was cancelled because its agent timed out." in said_by(watching)


async def test_a_token_budget_counts_the_agents_below(tmp_path, watching):
    board = make_board(tmp_path, watching, agents={"tokenBudget": 20})
    script = [turn(agent(name="one")), turn(text("Done."))]
    script += [of("one", agent(name="two")), of("one", agent(name="three")), of("one", text("never"))]
    script += [of("two", text("2")), of("three", text("3"))]
    _, session = await play(board, *script)
    assert "stopped by token_budget" in results_of(session)[0]
    assert session.usage.tokens["output_tokens"] == 7 + 3 * 7 + 7  # parent, one, two, one; parent again


SCHEMA = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}


async def test_a_typed_result_is_asked_for_twice(tmp_path, watching):
    board = make_board(tmp_path, watching)
    script = [turn(agent(name="n", output_schema=SCHEMA)), turn(text("Done."))]
    script += [of("n", text("three")), of("n", text('```json\n{"count": 3}\n```'))]
    provider = ReplayProvider(script)
    async with Session(board, provider) as session:
        await session.run("Go")
    second = provider.children[0].requests[1].messages[-1]["content"][-1]["text"]
    assert second.startswith("Your answer does not match the schema: this is not JSON")
    assert '"count": 3' in results_of(session)[0]


async def test_a_typed_result_that_never_fits_is_an_error(tmp_path, watching):
    board = make_board(tmp_path, watching)
    script = [turn(agent(name="n", output_schema=SCHEMA)), turn(text("Done."))]
    script += [of("n", text('{"count": "a"}')), of("n", text('{"count": "b"}'))]
    _, session = await play(board, *script)
    assert "does not match output_schema: $.count: 'b' is not of type 'integer'" in results_of(session)[0]


async def test_a_long_report_is_cut_and_kept_whole(tmp_path, watching):
    board = make_board(tmp_path, watching)
    words = "x" * 40_000
    _, session = await play(board, turn(agent(name="w")), turn(text("Done.")), of("w", text(words)))
    [result] = results_of(session)
    place = result.split("the full report is in ")[1].split(".)")[0]
    assert len(result) < 33_000
    with open(place) as file:
        assert file.read() == words


async def test_a_folder_outside_is_refused_and_one_inside_is_used(tmp_path, watching):
    board = make_board(tmp_path, watching)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.txt").write_text("inside")
    (tmp_path / "out").symlink_to(tmp_path.parent)
    script = [turn(agent(cwd="/"), agent(cwd="out"), agent(cwd="sub", name="in")), turn(text("Done."))]
    script += [of("in", use("Read", file_path="a.txt")), of("in", text("read"))]
    _, session = await play(board, *script)
    root, link, fine = results_of(session)
    assert "cwd: / is outside the working directories" in root
    assert "is outside the working directories" in link
    assert fine.startswith("read")
    assert "inside" in said_by(watching)[0]


async def test_what_a_child_reads_is_not_known_to_its_parent(tmp_path, watching):
    board = make_board(tmp_path, watching)
    (tmp_path / "a.txt").write_text("x\n")
    script = [turn(agent(name="r")), turn(text("Done.")), of("r", use("Read", file_path="a.txt")), of("r", text("ok"))]
    async with Session(board, ReplayProvider(script)) as session:
        await session.run("Go")
        assert session.ctx.files.known(tmp_path / "a.txt") is None


async def test_an_unknown_kind_names_those_there_are(tmp_path, watching):
    board = make_board(tmp_path, watching)
    _, session = await play(board, turn(agent(subagent_type="Explor")), turn(text("Done.")))
    assert results_of(session)[0].startswith("There is no kind of agent 'Explor'. Did you mean 'Explore'?")


async def test_without_a_session_there_are_no_agents(tmp_path, watching):
    board = make_board(tmp_path, watching)
    result = await board.dispatch(Call("1", "Agent", {"description": "d", "prompt": "p"}))
    assert result.text == "This host does not support sub-agents."


async def test_a_foreground_agent_shows_signs_of_life_in_its_call(tmp_path, watching):
    board = make_board(tmp_path, watching)
    script = [turn(agent(name="r")), turn(text("Done.")), of("r", use("Read", file_path="x")), of("r", text("ok"))]
    await play(board, *script)
    shown = [data["message"] for data in watching.of("call_progress")]
    assert shown[0] == "0 calls, last none"
    assert shown[-1] == "1 call, last Read"
    assert {data["data"]["agent"] for data in watching.of("call_progress")} == {
        watching.of("agent_started")[0]["agent"]
    }


async def test_of_two_agents_with_one_name_in_one_message_only_one_starts(tmp_path, watching):
    board = make_board(tmp_path, watching)
    script = [turn(agent(name="ann"), agent(name="ann")), turn(text("Done.")), of("ann", text("1"))]
    _, session = await play(board, *script)
    first, second = results_of(session)
    assert first.startswith("1")
    assert "The name 'ann' already belongs to agent ann (agent-" in second


async def test_an_agent_is_resumed_in_the_background(tmp_path, watching):
    board = make_board(tmp_path, watching)
    resume = use("Agent", description="go on", prompt="And?", resume="ann", run_in_background=True)
    script = [turn(agent(name="ann")), turn(resume), turn(text("One.")), turn(text("Two."))]
    script += [of("ann", text("first")), of("ann", text("second"))]
    async with Session(board, ReplayProvider(script)) as session:
        await session.run("Go")
        [task] = session.ctx.background.tasks()
        assert (await session.ctx.background.wait(task.id)).value.content == "second"
        await session.run("Next")
    starts = [(data["description"], data["background"]) for data in watching.of("agent_started")]
    assert starts == [("a task", False), ("go on", True)]
    assert json.dumps(session.messages).count("A background agent has finished. This is its report") == 1


async def test_news_for_an_agent_that_has_ended_goes_to_the_one_that_started_it(tmp_path):
    """The grandchild ends while its starter writes the last answer: nobody but the parent is left to be told."""
    writing = anyio.Event()

    class Seeing(Watching):
        @hookimpl
        def observe(self, event):
            self.events.append((event.kind, dict(event.data)))
            if event.kind == "text_written" and event.data["text"] == "gone":
                writing.set()

    @tool(read_only=True, concurrency_safe=True, open_world=False)
    async def WaitForIt(args: NameInput, ctx: Context) -> str:
        """Wait until the last answer is being written."""
        await writing.wait()
        return ""

    watching = Seeing()
    board = make_board(tmp_path, watching, [WaitForIt])
    script = [turn(agent(name="one")), turn(text("One."))]
    script += [of("one", agent(name="deep", run_in_background=True)), of("one", text("gone"), chunk_ms=1000)]
    script += [of("deep", use("WaitForIt")), of("deep", text("from below"))]
    _, session = await play(board, *script)
    names = {data["agent"]: data["name"] for data in watching.of("agent_started")}
    assert [names[data["agent"]] for data in watching.of("agent_finished")] == ["deep", "one"]
    told = json.dumps(session.messages)
    assert told.count("A background agent has finished. This is its report") == 1
    assert "from below" in told


async def test_a_resumed_agent_follows_its_parent_into_a_narrower_mode(tmp_path, watching):
    board = make_board(tmp_path, watching)
    resume = use("Agent", description="more", prompt="And?", resume="ann")
    script = [turn(agent(name="ann")), turn(text("One.")), turn(resume), turn(text("Two.")), of("ann", text("1"))]
    script += [of("ann", use("Write", file_path="a.txt", content="x")), of("ann", text("2"))]
    async with Session(board, ReplayProvider(script), ctx=board.context(mode="acceptEdits")) as session:
        await session.run("Go")
        session.ctx = replace(session.ctx, mode="plan")
        await session.run("Next")
    assert [data["decision"] for data in watching.of("call_finished") if "agent" in data] == ["deny"]
    assert not (tmp_path / "a.txt").exists()


async def test_the_events_of_a_session_include_those_of_its_agents_once_and_with_its_id(tmp_path, watching):
    script = [
        turn(agent(name="one")),
        turn(text("Done.")),
        of("one", agent(name="two")),
        of("one", text("1")),
        of("two", text("2")),
    ]
    board = make_board(tmp_path, watching)
    async with Session(board, ReplayProvider(script), session_id="s") as session:
        events = session.events()
        await session.run("Go")
    seen = [event async for event in events]
    assert {event.data["session"] for event in seen} == {"s"}
    started = [event.data["name"] for event in seen if event.kind == "agent_started"]
    assert started == ["one", "two"]
    words = [event.data["text"] for event in seen if event.kind == "text_written"]
    assert words == ["2", "1", "Done."]
