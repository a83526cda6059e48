"""Sub-agents in a session that is taken up by another process: their history, their tools, their costs, their news."""

import json
import os
import signal
import subprocess
import sys

import anyio
import pytest

from pegboard_session import ReplayProvider, Session, Transcript, restore
from pegboard_testing.warm import warm

from .agents import Meeting, _at_home, agent, make_board, of, results_of, said_by, text, turn, use, watching

__all__ = ["_at_home", "watching"]


@pytest.fixture
def path(tmp_path):
    return tmp_path.parent / f"{tmp_path.name}-state" / "s1.jsonl"


def go_on(prompt="And now?", **given):
    return use("Agent", description="more", prompt=prompt, **given)


async def talk(board, path, *turns, prompt="Go", **options):
    """One prompt of a kept conversation; a second call goes on as another process would."""
    resumes = path.exists()
    provider = ReplayProvider(turns)
    session = Session(board, provider, model="m", transcript=Transcript(path), session_id="s1", **options)
    if resumes:
        session.resume(restore(path), session.ctx)
    async with session:
        await session.run(prompt)
    return session, provider


def last_results(session):
    """What the model read of the calls of its last turn with calls."""
    messages = [
        n for n, sent in enumerate(session.messages) if any(b["type"] == "tool_result" for b in sent["content"])
    ]
    return results_of(session, messages[-1])


def told(session, beginning):
    """The news among the user's words that begin like this."""
    blocks = [block for sent in session.messages if sent["role"] == "user" for block in sent["content"]]
    return [block["text"] for block in blocks if block["type"] == "text" and block["text"].startswith(beginning)]


async def test_an_agent_is_resumed_in_another_process_with_history_tools_and_model(tmp_path, watching, path):
    start = agent(name="ann", tools=["Read"], model="small")
    first = [turn(start), turn(text("Done.")), of("ann", use("Read", file_path="a.txt")), of("ann", text("first"))]
    (tmp_path / "a.txt").write_text("alpha")
    await talk(make_board(tmp_path, watching), path, *first)

    second = [
        turn(go_on(resume="ann")),
        turn(text("Done.")),
        of("ann", use("Bash", command="touch ran")),
        of("ann", text("second")),
    ]
    session, provider = await talk(make_board(tmp_path, watching), path, *second, prompt="Next")
    assert last_results(session)[0].startswith("second")
    [child] = provider.children
    assert child.requests[0].model == "small"
    assert [tool["name"] for tool in child.requests[0].tools] == ["Read"]
    history = [block["type"] for sent in child.requests[0].messages for block in sent["content"]]
    assert history == ["text", "tool_use", "tool_result", "text", "text"]
    assert "alpha" in child.requests[0].messages[2]["content"][0]["content"][0]["text"]
    assert "Bash is not among the tools of the agent ann" in said_by(watching)[-1]
    assert not (tmp_path / "ran").exists()


async def test_names_stay_taken_in_another_process(tmp_path, watching, path):
    await talk(make_board(tmp_path, watching), path, turn(agent(name="ann")), turn(text("Done.")), of("ann", text("1")))
    session, _ = await talk(make_board(tmp_path, watching), path, turn(agent(name="ann")), turn(text("Done.")))
    assert "The name 'ann' already belongs to agent ann (agent-" in last_results(session)[0]


async def test_a_rule_on_a_kind_holds_when_it_is_resumed_by_id(tmp_path, watching, path):
    first = [turn(agent(subagent_type="Explore", name="e")), turn(text("Done.")), of("e", text("1"))]
    await talk(make_board(tmp_path, watching), path, *first)
    board = make_board(tmp_path, watching, permissions={"deny": ["Agent(Explore)"]})
    session, _ = await talk(board, path, turn(go_on(resume="e")), turn(text("Done.")))
    assert "was denied by the rule Agent(Explore)" in last_results(session)[0]


async def test_a_child_of_a_child_is_resumed_with_no_more_than_both_had(tmp_path, watching, path):
    first = [turn(agent(name="one", tools=["Read", "Agent"])), turn(text("Done.")), of("one", agent(name="two"))]
    first += [of("one", text("1")), of("two", text("2"))]
    await talk(make_board(tmp_path, watching), path, *first)
    second = [
        turn(go_on(resume="two")),
        turn(text("Done.")),
        of("two", use("Bash", command="true")),
        of("two", text("3")),
    ]
    session, _ = await talk(make_board(tmp_path, watching), path, *second)
    assert last_results(session)[0].startswith("3")
    assert "Bash is not among the tools of the agent one" in said_by(watching)[-1]


async def test_a_tool_that_is_gone_does_not_come_back_with_an_agent(tmp_path, watching, path):
    first = [turn(agent(name="ann", tools=["Read", "Bash"])), turn(text("Done.")), of("ann", text("1"))]
    await talk(make_board(tmp_path, watching), path, *first)
    board = make_board(tmp_path, watching, disable=["Bash"])
    second = [
        turn(go_on(resume="ann")),
        turn(text("Done.")),
        of("ann", use("Bash", command="true")),
        of("ann", text("2")),
    ]
    _, provider = await talk(board, path, *second)
    assert [tool["name"] for tool in provider.children[0].requests[0].tools] == ["Read"]
    assert watching.of("call_finished")[-2]["is_error"]


async def test_a_resumed_agent_has_the_mode_that_its_parent_has_now(tmp_path, watching, path):
    board = make_board(tmp_path, watching)
    first = [turn(agent(name="ann")), turn(text("Done.")), of("ann", text("1"))]
    await talk(board, path, *first, ctx=board.context(mode="acceptEdits"))
    write = use("Write", file_path="a.txt", content="x")
    second = [turn(go_on(resume="ann")), turn(text("Done.")), of("ann", write), of("ann", text("2"))]
    await talk(board, path, *second, ctx=board.context(mode="plan"))
    assert [data["decision"] for data in watching.of("call_finished") if "agent" in data] == ["deny"]
    assert not (tmp_path / "a.txt").exists()


async def test_the_totals_of_an_agent_go_on_where_they_were(tmp_path, watching, path):
    first = [turn(agent(name="ann")), turn(text("Done.")), of("ann", use("Read", file_path="x")), of("ann", text("1"))]
    session, _ = await talk(make_board(tmp_path, watching), path, *first)
    assert session.usage.requests == 4
    second = [turn(go_on(resume="ann")), turn(text("Done.")), of("ann", text("2"))]
    session, _ = await talk(make_board(tmp_path, watching), path, *second)
    assert session.usage.requests == 7
    assert session.usage.tokens["output_tokens"] == 7 * 7
    ann = watching.of("agent_finished")[-1]["usage"]
    assert (ann["requests"], ann["output_tokens"], ann["tools"]["Read"]["calls"]) == (3, 21, 1)


async def test_the_report_of_a_background_agent_can_be_read_in_another_process(tmp_path, watching, path):
    board = make_board(tmp_path, watching, Meeting(size=2).tools())
    start = agent(name="back", run_in_background=True)
    first = [turn(start), turn(use("Meet", name="x")), turn(text("Done."))]
    first += [of("back", use("Meet", name="x")), of("back", text("the report"))]
    provider = ReplayProvider(first)
    async with Session(board, provider, transcript=Transcript(path), session_id="s1") as session:
        await session.run("Go")
        [task] = session.ctx.background.tasks()
        await session.ctx.background.wait(task.id)

    second = [turn(use("TaskOutput", task_id=task.id)), turn(text("Done."))]
    session, _ = await talk(make_board(tmp_path, watching), path, *second, prompt="Next")
    [read] = last_results(session)
    assert read.startswith(f"{task.id} is done.")
    assert "the report" in read
    assert len(told(session, "A background agent has finished. This is its report, not a message from the user")) == 1
    session, _ = await talk(make_board(tmp_path, watching), path, turn(text("Done.")), prompt="Again")
    assert len(told(session, "A background agent has finished.")) == 1


async def test_a_background_agent_that_ended_with_the_session_is_announced_once_and_goes_on(tmp_path, watching, path):
    board = make_board(tmp_path, watching, Meeting().tools())
    first = [turn(agent(name="b", run_in_background=True)), turn(use("Read", file_path="x")), turn(text("Done."))]
    with anyio.fail_after(20):
        await talk(board, path, *first, of("b", use("Hang")))
    second = [turn(go_on(resume="b")), turn(text("Done.")), of("b", text("went on"))]
    session, provider = await talk(make_board(tmp_path, watching), path, *second, prompt="Next")
    [words] = told(session, "The background agent b (agent-")
    assert words.split(") ", 1)[1].startswith(
        "(a task) was interrupted when the session ended. To continue it, use resume="
    )
    assert last_results(session)[0].startswith("went on")
    answered = provider.children[0].requests[0].messages[2]["content"][0]
    assert "interrupted" in answered["content"][0]["text"] or "cancelled" in answered["content"][0]["text"]
    session, _ = await talk(make_board(tmp_path, watching), path, turn(text("Done.")), prompt="Again")
    assert len(told(session, "The background agent b (agent-")) == 1


async def test_an_agent_that_was_stopped_is_not_resumed_in_another_process(tmp_path, watching, path):
    board = make_board(tmp_path, watching, Meeting().tools())
    script = [turn(agent(name="b", run_in_background=True)), turn(text("One.")), of("b", use("Hang"))]
    async with Session(board, ReplayProvider(script), transcript=Transcript(path), session_id="s1") as session:
        await session.run("Go")
        [task] = session.ctx.background.tasks()
        with anyio.fail_after(10):
            while not watching.of("call_started")[1:]:
                await anyio.sleep(0.01)
            await session.ctx.background.stop(task.id)
    assert [data["state"] for data in watching.of("agent_finished")] == ["stopped"]
    session, _ = await talk(make_board(tmp_path, watching), path, turn(go_on(resume="b")), turn(text("Done.")))
    assert (
        "The agent 'b' was stopped by the user and cannot be resumed. Start a new one if the user asks for it."
        in last_results(session)[0]
    )
    [words] = told(session, "The background agent agent-")
    assert words.endswith("(a task) was stopped.")


async def test_an_agent_that_a_person_interrupts_is_stopped_and_one_at_a_limit_is_not(tmp_path, watching, path):
    board = make_board(tmp_path, watching, Meeting().tools(), timeouts={"Agent": 1})
    script = [turn(agent(name="late")), turn(agent(name="cut")), of("late", use("Hang")), of("cut", use("Hang"))]
    session = Session(board, ReplayProvider(script), transcript=Transcript(path), session_id="s1")

    async def interrupt():
        while len(watching.of("agent_started")) < 2:
            await anyio.sleep(0.01)
        session.interrupt()

    async with session, anyio.create_task_group() as group:
        group.start_soon(interrupt)
        await session.run("Go")
    assert [data["state"] for data in watching.of("agent_finished")] == ["interrupted", "stopped"]
    second = [turn(go_on(resume="late"), go_on(resume="cut")), turn(text("Done.")), of("late", text("went on"))]
    session, _ = await talk(make_board(tmp_path, watching), path, *second, prompt="Next")
    late, cut = last_results(session)
    assert late.startswith("went on")
    assert "The agent 'cut' was stopped by the user and cannot be resumed." in cut


async def test_a_conversation_that_is_gone_is_named(tmp_path, watching, path):
    await talk(make_board(tmp_path, watching), path, turn(agent(name="ann")), turn(text("Done.")), of("ann", text("1")))
    [kept] = path.with_suffix("").iterdir()
    kept.unlink()
    session, _ = await talk(make_board(tmp_path, watching), path, turn(go_on(resume="ann")), turn(text("Done.")))
    assert last_results(session)[0].startswith("The conversation of the agent ann (agent-")
    assert "was not saved. Start a new agent." in last_results(session)[0]


async def test_a_folder_that_is_out_of_reach_by_now_is_refused(tmp_path, watching, path):
    (tmp_path / "sub").mkdir()
    board = make_board(tmp_path, watching)
    await talk(board, path, turn(agent(name="ann", cwd="sub")), turn(text("Done.")), of("ann", text("1")))
    (tmp_path / "sub").rmdir()
    (tmp_path / "sub").symlink_to("/")
    session, _ = await talk(make_board(tmp_path, watching), path, turn(go_on(resume="ann")), turn(text("Done.")))
    assert "is outside the working directories" in last_results(session)[0]


async def test_an_agent_stands_where_it_stood_wherever_its_parent_is_by_now(tmp_path, watching, path):
    (tmp_path / "sub").mkdir()
    await talk(make_board(tmp_path, watching), path, turn(agent(name="ann")), turn(text("Done.")), of("ann", text("1")))
    pwd = use("Bash", command="pwd")
    second = [turn(go_on(resume="ann")), turn(text("Done.")), of("ann", pwd), of("ann", text("2"))]
    board = make_board(tmp_path, watching)
    await talk(board, path, *second, ctx=board.context(cwd=tmp_path / "sub"))
    assert said_by(watching) == [str(tmp_path)]


def pegboard(folder, *words, **more):
    home = folder.parent / f"{folder.name}-home"
    home.mkdir(exist_ok=True)
    env = {**os.environ, "HOME": str(warm(home))} | more.pop("env", {})
    return subprocess.Popen([sys.executable, "-m", "pegboard_cli", *words], cwd=folder, env=env, text=True, **more)


def run(folder, *words):
    made = pegboard(folder, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    out, errors = made.communicate(timeout=60)
    assert made.returncode == 0, errors
    return [json.loads(line) for line in out.splitlines()] if "stream-json" in words else out


def session_of(events):
    return next(event["id"] for event in events if event["type"] == "session_started")


def script(folder, name, *turns):
    (folder / name).write_text("".join(json.dumps(each) + "\n" for each in turns))
    return name


def test_run_resume_goes_on_with_an_agent_of_a_process_that_was_killed(tmp_path):
    """The first process dies by SIGKILL while its agent runs a command; the second takes the agent up."""
    start = agent(name="ann", tools=["Bash"])
    first = script(
        tmp_path, "1.jsonl", turn(start), of("ann", text("So far."), use("Bash", command="echo $PPID > pid; sleep 60"))
    )
    options = ("--output-format", "stream-json", "--allow", "Bash", "--replay")
    process = pegboard(tmp_path, "run", *options, first, "Go", stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    for line in process.stdout:
        event = json.loads(line)
        if event["type"] == "call_started" and event.get("agent"):
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()

    second = script(tmp_path, "2.jsonl", turn(go_on(resume="ann")), turn(text("Done.")), of("ann", text("went on")))
    events = run(tmp_path, "run", *options, second, "--resume", "", "Next")
    started = next(event for event in events if event["type"] == "agent_started")
    assert (started["agent_type"], started["name"], started["parent"]) == ("general-purpose", "ann", "main")
    said = next(event["said"] for event in events if event["type"] == "call_finished")
    assert said.startswith("went on")
    shown = run(tmp_path, "sessions", "show", session_of(events), "--agent", "ann")
    assert "assistant: So far." in shown
    assert "This call was interrupted before it had a result." in shown
    assert "assistant: went on" in shown


def test_deleting_a_session_deletes_the_conversations_of_its_agents(tmp_path):
    name = script(tmp_path, "1.jsonl", turn(agent(name="ann")), turn(text("Done.")), of("ann", text("1")))
    events = run(tmp_path, "run", "--output-format", "stream-json", "--replay", name, "Go")
    place = tmp_path.parent / f"{tmp_path.name}-home/.local/state/pegboard/transcripts"
    session = session_of(events)
    assert sorted(entry.name for entry in place.iterdir()) == [session, f"{session}.jsonl"]
    assert (place / session).stat().st_mode & 0o777 == 0o700
    run(tmp_path, "sessions", "delete", session)
    assert list(place.iterdir()) == []
