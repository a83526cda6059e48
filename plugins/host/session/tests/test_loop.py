"""The loop between a model and the board, played by scripts."""

import anyio
import pytest

import pegboard_files
import pegboard_processes
from pegboard import Board, Context, ProcessSpec, Result, Text, tool, tool_result
from pegboard_session import CachePoints, ReplayProvider, Session, Transcript, restore

from .scripts import Mutate, TextInput, text, turn, use


async def test_a_prompt_runs_until_no_call_is_left(board):
    provider = ReplayProvider(
        [turn(text("Look."), use("Echo", "a", text="one"), use("Echo", "b", text="two")), turn(text("Done."))]
    )
    async with Session(board, provider, model="m") as session:
        outcome = await session.run("Go")
    assert (outcome.text, outcome.stopped_by, outcome.turns) == ("Done.", "end", 2)
    roles = [message["role"] for message in session.messages]
    assert roles == ["user", "assistant", "user", "assistant"]
    answers = session.messages[2]["content"]
    assert [(block["tool_use_id"], block["content"][0]["text"]) for block in answers] == [("a", "one"), ("b", "two")]
    assert list(provider.requests[1].messages) == session.messages[:3]


async def test_every_kind_of_trouble_still_gets_one_result_per_call(board):
    provider = ReplayProvider(
        [
            turn(
                use("Nope", "a"), use("Echo", "b", words=1), use("Mutate", "c", text="x"), use("Echo", "d", text="ok")
            ),
            turn(text("end")),
        ]
    )
    async with Session(board, provider) as session:
        await session.run("Go")
    answers = session.messages[2]["content"]
    assert [block.get("tool_use_id") for block in answers] == ["a", "b", "c", "d", None]
    assert [block.get("is_error", False) for block in answers] == [True, True, False, False, False]
    assert answers[-1] == text("A remark.")
    assert session.ctx.mode == "plan"


async def test_the_request_says_where_it_may_be_cached(board):
    provider = ReplayProvider([turn(use("Echo", text="x")), turn(text("end"))])
    async with Session(board, provider, model="m", system=["Be brief."]) as session:
        await session.run("Go")
    request = provider.requests[1]
    assert request.system == ("Be brief.", "Echo repeats.")
    assert [tool["name"] for tool in request.tools] == ["Anything", "Echo", "Mutate"]
    assert request.cache == CachePoints(tools=(2,), system=True, last_message=True)  # no built-in tool here


async def test_usage_adds_up_and_counts_each_tool(board):
    provider = ReplayProvider(
        [
            turn(use("Echo", text="x" * 40), use("Nope"), usage={"output_tokens": 7}),
            turn(text("end"), usage={"output_tokens": 5}),
        ]
    )
    async with Session(board, provider) as session:
        await session.run("Go")
    usage = session.usage.as_data()
    assert (usage["requests"], usage["output_tokens"]) == (2, 12)
    assert usage["tools"]["Echo"] == {"calls": 1, "errors": 0, "result_tokens": 10}
    assert usage["tools"]["Nope"]["errors"] == 1


async def test_thinking_and_unknown_blocks_are_carried_through_untouched(board):
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    unknown = {"type": "from_the_future", "data": {"x": [1]}}
    provider = ReplayProvider([turn(thinking, unknown, use("Echo", "a", text="x")), turn(text("end"))])
    async with Session(board, provider) as session:
        await session.run("Go")
    assert session.messages[1]["content"][:2] == [thinking, unknown]
    assert provider.requests[1].messages[1]["content"][:2] == [thinking, unknown]


async def test_max_turns_stops_and_says_so(board):
    provider = ReplayProvider([turn(use("Echo", text="x"))] * 9)
    async with Session(board, provider, max_turns=3) as session:
        outcome = await session.run("Go")
    assert (outcome.stopped_by, outcome.turns) == ("max_turns", 3)
    assert session.messages[-1]["role"] == "user"


@pytest.mark.parametrize(
    ("reason", "stopped"),
    [
        ("max_tokens", "max_tokens"),
        ("refusal", "refusal"),
        ("model_context_window_exceeded", "context_overflow"),
        ("context_overflow", "context_overflow"),
    ],
)
async def test_the_reason_for_stopping_is_told(board, reason, stopped):
    async with Session(board, ReplayProvider([turn(text("half"), stop_reason=reason)])) as session:
        assert (await session.run("Go")).stopped_by == stopped


async def test_a_paused_turn_is_continued(board):
    provider = ReplayProvider([turn(text("wait "), stop_reason="pause_turn"), turn(text("done"))])
    async with Session(board, provider) as session:
        assert (await session.run("Go")).text == "done"
    assert session.messages[1]["content"] == [text("wait "), text("done")]


async def test_interrupting_answers_every_call_and_the_conversation_goes_on(watching, board):
    begun = anyio.Event()

    @tool(read_only=True, concurrency_safe=True, open_world=False)
    async def Wait(args: TextInput, ctx: Context) -> str:
        """Wait."""
        begun.set()
        await anyio.sleep_forever()
        return ""

    made = Board(
        board.settings, [], plugins=[watching, pegboard_files, pegboard_processes], tools=[Wait, Mutate], env=board.env
    )
    provider = ReplayProvider([turn(use("Wait", "a"), use("Mutate", "b")), turn(text("end"))])
    async with Session(made, provider) as session, anyio.create_task_group() as group:

        async def stop():
            await begun.wait()
            session.interrupt()

        group.start_soon(stop)
        outcome = await session.run("Go")
        assert outcome.stopped_by == "interrupted"
        said = [block["content"][0]["text"] for block in session.messages[2]["content"]]
        assert said == ["Wait was cancelled by the user.", "Mutate was cancelled by the user."]
        assert (await session.run("Go on")).text == "end"


async def test_a_tool_may_ask_the_model_a_small_question(watching, board):
    @tool(read_only=True, open_world=False)
    async def Summarise(args: TextInput, ctx: Context) -> str:
        """Ask."""
        return await ctx.model.complete(args.text, system="Be brief.")

    made = Board(
        board.settings, [], plugins=[watching, pegboard_files, pegboard_processes], tools=[Summarise], env=board.env
    )
    provider = ReplayProvider([turn(use("Summarise", text="long")), turn(text("short")), turn(text("end"))])
    async with Session(made, provider) as session:
        await session.run("Go")
    assert session.messages[2]["content"][0]["content"] == [text("short")]
    assert provider.requests[1].system == ("Be brief.",)


async def test_calls_with_the_same_id_are_told_apart(board):
    provider = ReplayProvider(
        [
            turn(use("Echo", "a", text="one"), use("Echo", "a", text="two")),
            turn(use("Echo", "a", text="three")),
            turn(text("done")),
        ]
    )
    async with Session(board, provider) as session:
        await session.run("go")
    asked = [b["id"] for m in session.messages for b in m["content"] if b["type"] == "tool_use"]
    answered = [b for m in session.messages for b in m["content"] if b["type"] == "tool_result"]
    assert asked[0] == "a"
    assert len(set(asked)) == 3
    assert [b["tool_use_id"] for b in answered] == asked
    assert [b["content"][0]["text"] for b in answered] == ["one", "two", "three"]


async def test_thinking_that_led_to_nothing_and_empty_text_are_not_sent_back(board, tmp_path):
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    provider = ReplayProvider([turn(text(" "), thought), turn(text("done"))])
    path = tmp_path / "t.jsonl"
    async with Session(board, provider, transcript=Transcript(path)) as session:
        await session.run("go")
        await session.run("and now?")
    sent = provider.requests[1].messages
    assert [message["role"] for message in sent] == ["user"]
    assert [message["role"] for message in restore(path).messages] == ["user", "assistant"]


def test_a_result_without_words_has_no_empty_block():
    assert tool_result(Result("a", "Echo", (Text(""),))) == {"type": "tool_result", "tool_use_id": "a"}


async def test_two_sessions_on_one_board_begin_and_end_when_they_like(board):
    async def one(entered, other_left=None):
        async with Session(board, ReplayProvider([])) as session:
            entered.set()
            if other_left:
                await other_left.wait()
                spec = ProcessSpec(("true",), cwd=session.ctx.cwd)
                child = await session.ctx.processes.start(spec)
                assert (await child.wait()).code == 0

    first, second, left = anyio.Event(), anyio.Event(), anyio.Event()

    async def short():
        await first.wait()
        await one(second)
        left.set()

    async with anyio.create_task_group() as group:
        group.start_soon(one, first, left)
        group.start_soon(short)
