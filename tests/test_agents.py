"""Sub-agents through whole sessions: what they may use, what they cost, how they end."""

import anyio
import pytest

from pegboard import Context, Deny, Mode, tool
from pegboard.permission import Modes
from pegboard.settings import Settings
from pegboard_agent.limits import narrower_mode
from pegboard_anthropic import AnthropicProvider
from pegboard_cli.question_text import lines_of
from pegboard_rules.modes import ALL
from pegboard_session import ReplayProvider, Session

from .agents import (
    Meeting,
    NameInput,
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
from .sse import SseServer, message, tool_use
from .sse import text as said

__all__ = ["_at_home", "watching"]


def five_rounds(whose):
    return [of(whose, use("Meet", name=str(number))) for number in range(5)]


async def test_three_children_overlap_and_their_results_come_in_order(tmp_path, watching):
    meeting = Meeting()
    board = make_board(tmp_path, watching, meeting.tools())
    names = ["one", "two", "three"]
    script = [turn(*(agent(name=name) for name in names)), turn(text("Done."))]
    for name in names:
        script += [*five_rounds(name), of(name, text(f"report of {name}"))]
    with anyio.fail_after(20):
        outcome, session = await play(board, *script)
    assert outcome.text == "Done."
    assert [result.splitlines()[0] for result in results_of(session)] == [f"report of {name}" for name in names]
    assert len(meeting.ran) == 15
    spans = [kind for kind, data in watching.events if kind in ("agent_started", "agent_finished")]
    assert spans == ["agent_started"] * 3 + ["agent_finished"] * 3


async def test_usage_of_children_adds_up_exactly(tmp_path, watching):
    board = make_board(tmp_path, watching, Meeting(size=1).tools())
    script = [turn(agent(name="one"), agent(name="two")), turn(text("Done."))]
    script += [of("one", use("Meet", name="a")), of("one", agent(name="deep")), of("one", text("1"))]
    script += [of("deep", text("below")), of("two", text("2"))]
    _, session = await play(board, *script)
    children = {data["agent"]: data for data in watching.of("agent_finished")}
    top = [data["usage"] for data in children.values() if data["parent"] == "main"]
    own = 2
    assert session.usage.requests == own + sum(usage["requests"] for usage in top) == 7
    assert session.usage.tokens["output_tokens"] == 7 * 7 == 7 * own + sum(usage["output_tokens"] for usage in top)
    assert session.usage.tools["Meet"].calls == 1
    assert session.usage.tools["Agent"].calls == 3


async def test_three_children_through_the_real_sdk(tmp_path, watching):
    """Each conversation is told apart by its first prompt; the server answers whoever asks."""
    meeting = Meeting()
    board = make_board(tmp_path, watching, meeting.tools())

    def script(request):
        messages = request.body["messages"]
        first = messages[0]["content"][-1]["text"]
        rounds = sum(message["role"] == "assistant" for message in messages)
        if first == "Go":
            calls = [tool_use("Agent", {"description": "t", "prompt": f"child {n}"}, id=f"p{n}") for n in range(3)]
            return message(*calls) if rounds == 0 else message(said("Done."))
        if rounds < 5:
            return message(tool_use("Meet", {"name": str(rounds)}, id=f"{first[-1]}-{rounds}"))
        return message(said(f"report of {first}"))

    with SseServer(script) as server, anyio.fail_after(30):
        provider = AnthropicProvider(base_url=server.url, api_key="test")
        async with Session(board, provider, model="claude-test") as session:
            outcome = await session.run("Go")
        await provider.aclose()
    assert outcome.text == "Done."
    assert [line.splitlines()[0] for line in results_of(session)] == [f"report of child {n}" for n in range(3)]
    assert session.usage.requests == len(server.requests) == 2 + 3 * 6
    assert session.usage.tokens == {"input_tokens": 10 * 20, "output_tokens": 20 * 20}


async def test_a_child_cannot_call_what_it_was_not_given(tmp_path, watching):
    @tool(read_only=True, concurrency_safe=True, open_world=False)
    async def Later(args: NameInput, ctx: Context) -> str:
        """A tool that is fetched when it is needed."""
        ran.append("Later")
        return ""

    ran = []
    board = make_board(tmp_path, watching, [Later])
    board.pool.get("Later").deferred = True
    (tmp_path / ".pegboard/agents").mkdir(parents=True)
    (tmp_path / ".pegboard/agents/reader.md").write_text(
        "---\nname: reader\ndescription: Reads.\ntools: Read, Grep\n---\nx"
    )
    calls = [
        use("Bash", command=f"touch {tmp_path}/ran"),
        use("Later"),
        use("Task", description="d", prompt="p"),
        use("Agent", description="d", prompt="p"),
    ]
    script = [turn(agent(subagent_type="reader", name="r")), turn(text("Done.")), of("r", *calls), of("r", text("no"))]
    provider = ReplayProvider(script)
    async with Session(board, provider) as session:
        await session.run("Go")
    listed = [definition["name"] for definition in provider.children[0].requests[0].tools]
    assert listed == ["Grep", "Read"] or listed == ["Read"]  # Grep where it is installed.
    label = f"the agent r ({watching.of('agent_started')[0]['agent']})"
    allowed = f"is not among the tools of {label}, which may use Read, Grep."
    assert sorted(said_by(watching)) == sorted(
        [
            f"Bash {allowed}",
            f"Later {allowed} Fetching it first does not change that.",
            f"Task is another name for Agent. Agent {allowed}",
            f"Agent {allowed}",
        ]
    )
    assert not ran
    assert not (tmp_path / "ran").exists()
    assert len(watching.of("agent_started")) == 1


async def test_nesting_ends_at_the_depth_limit(tmp_path, watching):
    board = make_board(tmp_path, watching, agents={"maxDepth": 1})
    script = [turn(agent(name="one")), turn(text("Done.")), of("one", agent()), of("one", text("alone"))]
    await play(board, *script)
    [refused] = said_by(watching)
    assert refused.endswith("agents can be nested at most 1 deep. Do the work yourself.")
    assert len(watching.of("agent_started")) == 1


async def test_a_grandchild_has_no_tool_that_its_parent_lacks(tmp_path, watching):
    board = make_board(tmp_path, watching)
    script = [turn(agent(name="one", tools=["Read", "Agent"])), turn(text("Done."))]
    script += [of("one", agent(name="two")), of("one", text("1"))]
    script += [of("two", use("Bash", command="true")), of("two", text("2"))]
    await play(board, *script)
    assert "Bash is not among the tools of the agent one" in said_by(watching)[0]


async def test_an_agent_may_start_only_the_kinds_that_it_names(tmp_path, watching):
    board = make_board(tmp_path, watching)
    script = [turn(agent(name="one", tools=["Agent(Explore)", "Read"])), turn(text("Done."))]
    script += [of("one", agent(name="two"), agent(subagent_type="Explore", name="three")), of("one", text("1"))]
    script += [of("three", text("3"))]
    await play(board, *script)
    assert any("may start only agents of the kind Explore, not general" in words for words in said_by(watching))
    assert [data["name"] for data in watching.of("agent_started")] == ["one", "three"]


async def test_a_list_without_a_usable_tool_is_refused_with_every_reason(tmp_path, watching):
    board = make_board(tmp_path, watching)
    _, session = await play(board, turn(agent(tools=["Nope", "Bash(git *)"])), turn(text("Done.")))
    [refused] = results_of(session)
    assert "would have no tool at all" in refused
    assert "Nope: No installed plugin provides a tool named Nope." in refused
    assert "'Bash(git *)' is not the name of a tool" in refused
    assert not watching.of("agent_started")


async def test_questions_of_a_child_name_the_agent(tmp_path, watching):
    board = make_board(tmp_path, watching)
    script = [turn(agent(name="writer")), turn(text("Done."))]
    script += [of("writer", use("Write", file_path="a.txt", content="x")), of("writer", text("ok"))]
    await play(board, *script)
    [question] = watching.questions
    assert question.description.startswith("agent writer (agent-")
    assert question.agent == f"agent writer ({watching.of('agent_started')[0]['agent']})"
    assert next(lines_of(question, colour=False)) == f"{question.agent}: Write asks to run:"
    assert (tmp_path / "a.txt").read_text() == "x"


async def test_a_denied_child_goes_on(tmp_path, watching):
    watching.answer = Deny("not today", layer="ask")
    board = make_board(tmp_path, watching)
    script = [turn(agent(name="writer")), turn(text("Done."))]
    script += [of("writer", use("Write", file_path="a.txt", content="x")), of("writer", text("could not"))]
    _, session = await play(board, *script)
    assert results_of(session)[0].startswith("could not")
    assert not (tmp_path / "a.txt").exists()


async def test_explore_changes_nothing_even_in_bypass(tmp_path, watching):
    board = make_board(tmp_path, watching)
    write = use("Write", file_path="a.txt", content="x")
    script = [
        turn(agent(subagent_type="Explore")),
        turn(text("Done.")),
        of("Explore", write),
        of("Explore", text("no")),
    ]
    await play(board, *script, ctx=board.context(mode="bypassPermissions"))
    assert "Write is not among the tools" in said_by(watching)[0]
    assert not (tmp_path / "a.txt").exists()


@pytest.mark.parametrize(
    ("parent", "wanted", "mode"),
    [
        ("default", None, "default"),
        ("default", "plan", "plan"),
        ("default", "acceptEdits", "default"),
        ("default", "bypassPermissions", "default"),
        ("acceptEdits", "default", "default"),
        ("acceptEdits", "manual", "default"),
        ("plan", "dontAsk", "plan"),
        ("plan", "auto", "plan"),
        ("auto", "bypassPermissions", "auto"),
        ("bypassPermissions", "auto", "auto"),
        ("bypassPermissions", "dontAsk", "dontAsk"),
        ("dontAsk", "bypassPermissions", "dontAsk"),
        ("dontAsk", "plan", "dontAsk"),
        ("default", "nonsense", "default"),
    ],
)
def test_a_child_never_has_a_wider_mode(parent, wanted, mode):
    assert narrower_mode(ALL, parent, wanted, Settings()) == mode


async def test_failures_are_independent(tmp_path, watching):
    board = make_board(tmp_path, watching)
    script = [turn(agent(name="good"), agent(name="bad")), turn(text("Done.")), of("good", text("fine"))]
    script += [of("bad", use("Read", file_path="missing"))]  # Its script ends here, so its model cannot be asked.
    outcome, session = await play(board, *script)
    good, bad = results_of(session)
    assert good.startswith("fine")
    assert "stopped because the request to the model failed" in bad
    assert "resume='agent-" in bad
    assert outcome.text == "Done."


async def test_rules_reach_kinds_of_agents(tmp_path, watching):
    board = make_board(tmp_path, watching, permissions={"deny": ["Agent(Explore)"]})
    script = [turn(agent(subagent_type="Explore"), agent(name="free")), turn(text("Done.")), of("free", text("ok"))]
    _, session = await play(board, *script)
    denied, ran = results_of(session)
    assert "was denied by the rule Agent(Explore)" in denied
    assert ran.startswith("ok")


async def test_no_more_agents_than_the_limit(tmp_path, watching):
    board = make_board(tmp_path, watching, Meeting(size=2).tools(), agents={"maxConcurrent": 2})
    script = [turn(*(agent(name=name) for name in "abc")), turn(text("Done."))]
    for name in "abc":
        script += [of(name, use("Meet", name="x")), of(name, text(name))]
    _, session = await play(board, *script)
    results = results_of(session)
    assert sum("The limit on running agents (2) has been reached" in result for result in results) == 1
    assert any("Wait until one of them finishes" in result for result in results)


@pytest.mark.parametrize(
    ("parent", "wanted", "mode"),
    [
        ("default", "night", "default"),
        ("night", "default", "default"),
        ("night", "dontAsk", "dontAsk"),
        ("night", "x", "night"),
    ],
)
def test_a_child_never_has_a_wider_mode_of_a_plugin(parent, wanted, mode):
    modes = Modes([Mode("night", width=1)])
    assert narrower_mode(modes, parent, wanted, Settings()) == mode
