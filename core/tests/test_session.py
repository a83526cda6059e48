"""The loop between a model and the board, played by scripts."""

import json
import os
import sys
import threading
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest

from pegboard import (
    Allow,
    Board,
    Call,
    Change,
    Context,
    Image,
    Input,
    Output,
    ProcessSpec,
    ProviderError,
    Result,
    Text,
    ToolError,
    hookimpl,
    tool,
)
from pegboard.errors import PegboardError
from pegboard.host.media import checked
from pegboard.session import requests
from pegboard.session.assembler import Assembler
from pegboard.session.loop import Session
from pegboard.session.replay import ReplayProvider
from pegboard.session.retries import Retries
from pegboard.session.transcript import Transcript, read, restore
from pegboard.settings.layers import Layer, Settings


class TextInput(Input):
    text: str = ""


@tool(read_only=True, concurrency_safe=True, open_world=False, guidance="Echo repeats.")
async def Echo(args: TextInput, ctx: Context) -> str:
    """Say it again."""
    return args.text


@tool(open_world=False)
async def Mutate(args: TextInput, ctx: Context) -> Output[str]:
    """Change something."""
    return Output(f"changed {args.text}", change=Change(mode="plan"), messages=["A remark."])


class Watching:
    def __init__(self):
        self.events = []

    @hookimpl
    def observe(self, event):
        self.events.append((event.kind, dict(event.data)))

    @hookimpl
    def ask_user(self):
        return Allow("yes")

    def of(self, kind):
        return [data for name, data in self.events if name == kind]


def turn(*blocks, **more):
    return {"content": list(blocks), **more}


def text(words):
    return {"type": "text", "text": words}


def use(name, id=None, **given):
    return {"type": "tool_use", "name": name, "input": given, **({"id": id} if id else {})}


class Faulty(ReplayProvider):
    """Breaks off as told: `faults[n]` is (number of events to let through, the error) for the n-th request."""

    def __init__(self, turns, faults):
        super().__init__(turns)
        self.faults, self.tries = faults, 0

    async def stream(self, request):
        fault = self.faults.get(self.tries)
        self.tries += 1
        if fault is None:
            async with aclosing(super().stream(request)) as events:
                async for event in events:
                    yield event
            return
        after, error = fault
        script = ReplayProvider([self.turns[len(self.requests)]])
        async with aclosing(script.stream(request)) as events:
            for _ in range(after):
                yield await anext(events)
        if error == "cut":
            self.requests.append(request)
            return
        raise error


@pytest.fixture
def watching():
    return Watching()


@pytest.fixture
def board(watching, tmp_path):
    settings = Settings([Layer("user", "test", {"maxTurns": 5})], cwd=str(tmp_path))
    return Board(settings, [], plugins=[watching], tools=[Echo, Mutate], env={"HOME": str(tmp_path)})


def quick():
    return Retries(most=3, first=0.001)


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
    assert provider.requests[1]["messages"][:3] == [*session.messages[:2], provider.requests[1]["messages"][2]]


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


async def test_the_request_has_its_four_cache_breakpoints(board):
    provider = ReplayProvider([turn(use("Echo", text="x")), turn(text("end"))])
    async with Session(board, provider, model="m", system=["Be brief."]) as session:
        await session.run("Go")
    request = provider.requests[1]
    assert request["system"] == [text("Be brief."), {**text("Echo repeats."), **requests.CACHE}]
    assert [("cache_control" in tool) for tool in request["tools"]] == [False, True]
    assert "cache_control" in request["messages"][-1]["content"][-1]
    assert json.dumps(request).count("cache_control") == 3  # no built-in tool here, so one is not needed
    assert "cache_control" not in json.dumps(session.messages)


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
    assert provider.requests[1]["messages"][1]["content"][:2] == [thinking, unknown]


def test_deltas_of_every_kind_are_put_together():
    made = Assembler()
    for event in [
        {"type": "message_start", "message": {"usage": {"input_tokens": 3}}},
        {"type": "ping"},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "a"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "sig"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "b"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "citations_delta", "citation": {"c": 1}}},
        {"type": "content_block_stop", "index": 1},
        {"type": "brand_new_event"},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]:
        made.feed(event)
    assert made.blocks == [
        {"type": "thinking", "thinking": "a", "signature": "sig"},
        {"type": "text", "text": "b", "citations": [{"c": 1}]},
    ]
    assert (made.stop_reason, made.usage, made.finished) == ("end_turn", {"input_tokens": 3, "output_tokens": 2}, True)


@pytest.mark.parametrize("error", [ProviderError("busy", kind="overloaded", retryable=True), "cut"])
async def test_a_stream_that_breaks_before_anything_ran_is_repeated(board, watching, error):
    provider = Faulty([turn(text("Hello"), use("Mutate", text="x")), turn(text("end"))], {0: (3, error)})
    if error == "cut":
        provider.turns = [provider.turns[0], *provider.turns]
    async with Session(board, provider, retries=quick()) as session:
        outcome = await session.run("Go")
    assert outcome.text == "end"
    assert len(watching.of("request_retried")) == 1
    assert len(session.messages) == 4


async def test_a_stream_that_breaks_after_a_call_ran_goes_on_from_the_last_complete_block(board, watching):
    ran = []

    @tool(read_only=True, concurrency_safe=True, open_world=False)
    async def Count(args: TextInput, ctx: Context) -> str:
        """Count."""
        ran.append(args.text)
        return args.text

    class Breaks:
        name, number = "breaks", 0

        async def stream(self, request):
            self.number += 1
            if self.number == 1:
                script = ReplayProvider([turn(use("Count", "a", text="first"), use("Count", "b", text="second"))])
                async with aclosing(script.stream(request)) as events:
                    async for event in events:
                        if event.get("index") == 1 and event["type"] == "content_block_stop":
                            await anyio.wait_all_tasks_blocked()
                            raise ProviderError("lost", kind="connection", retryable=True)
                        yield event
            async for event in ReplayProvider([turn(text("end"))]).stream(request):
                yield event

    made = Board(board.settings, [], plugins=[watching], tools=[Count], env=board.env)
    async with Session(made, Breaks(), retries=quick()) as session:
        outcome = await session.run("Go")
    assert (outcome.text, ran) == ("end", ["first"])
    assert [block["id"] for block in session.messages[1]["content"]] == ["a"]
    assert [block["tool_use_id"] for block in session.messages[2]["content"]] == ["a"]
    assert watching.of("message_cut") == [{"reason": "lost"}]


async def test_a_half_received_input_never_runs(board):
    class Cuts:
        name, number = "cuts", 0

        async def stream(self, request):
            self.number += 1
            if self.number > 1:
                async for event in ReplayProvider([turn(text("end"))]).stream(request):
                    yield event
                return
            block = {"type": "tool_use", "id": "a", "name": "Echo", "input": {}}
            yield {"type": "content_block_start", "index": 0, "content_block": block}
            yield {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": '{"text": "ha'},
            }
            yield {"type": "content_block_stop", "index": 0}
            yield {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}
            yield {"type": "message_stop"}

    async with Session(board, Cuts()) as session:
        assert (await session.run("Go")).text == "end"
    assert session.messages[1]["content"] == [{"type": "tool_use", "id": "a", "name": "Echo", "input": {}}]
    [answer] = session.messages[2]["content"]
    assert answer["is_error"]
    assert "not valid JSON" in answer["content"][0]["text"]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ProviderError("no key", kind="authentication"), "authentication"),
        (ProviderError("prompt is too long", kind="context_overflow"), "context_overflow"),
        (ProviderError("slow down", kind="rate_limit", retryable=True, retry_after=3600), "rate_limit"),
    ],
)
async def test_what_cannot_be_repeated_is_raised_and_the_session_can_go_on(board, error, kind):
    provider = Faulty([turn(text("end"))], {0: (0, error)})
    async with Session(board, provider, retries=quick()) as session:
        with pytest.raises(ProviderError) as caught:
            await session.run("Go")
        assert caught.value.kind == kind
        assert (await session.run("Again")).text == "end"
    assert [message["role"] for message in session.messages] == ["user", "assistant"]


async def test_retries_end(board):
    fault = (0, ProviderError("busy", retryable=True))
    provider = Faulty([turn(text("end"))], dict.fromkeys(range(9), fault))
    async with Session(board, provider, retries=quick()) as session:
        with pytest.raises(ProviderError, match="busy"):
            await session.run("Go")
    assert provider.tries == 4


@pytest.mark.parametrize(
    ("error", "attempt", "expected"),
    [
        (ProviderError("x", retryable=True, retry_after=7), 0, (7, 7)),
        (ProviderError("x", retryable=True, retry_after=61), 0, None),
        (ProviderError("x", retryable=True), 2, (1.5, 2.0)),
        (ProviderError("x", retryable=True), 5, None),
        (ProviderError("x"), 0, None),
    ],
)
def test_how_long_to_wait(error, attempt, expected):
    delay = Retries(most=5).delay(error, attempt)
    assert delay is None if expected is None else expected[0] <= delay <= expected[1]


async def test_max_turns_stops_and_says_so(board):
    provider = ReplayProvider([turn(use("Echo", text="x"))] * 9)
    async with Session(board, provider, max_turns=3) as session:
        outcome = await session.run("Go")
    assert (outcome.stopped_by, outcome.turns) == ("max_turns", 3)
    assert session.messages[-1]["role"] == "user"


@pytest.mark.parametrize(
    ("reason", "stopped"),
    [("max_tokens", "max_tokens"), ("refusal", "refusal"), ("model_context_window_exceeded", "context_overflow")],
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

    made = Board(board.settings, [], plugins=[watching], tools=[Wait, Mutate], env=board.env)
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


async def test_a_transcript_restores_the_conversation(board, tmp_path):
    path = tmp_path / "t.jsonl"
    provider = ReplayProvider([turn(text("Look."), use("Mutate", "a", text="x")), turn(text("Done."))])
    async with Session(board, provider, transcript=Transcript(path)) as session:
        await session.run("Go")
    messages, changes = restore(path)
    assert messages == session.messages
    assert changes[-1].mode == "plan"
    assert path.stat().st_mode & 0o777 == 0o600


async def test_every_beginning_of_a_transcript_can_be_resumed(board, tmp_path):
    path = tmp_path / "t.jsonl"
    provider = ReplayProvider(
        [
            turn(text("Look."), use("Echo", "a", text="x"), use("Echo", "b", text="y")),
            turn(use("Echo", "c")),
            turn(text("Done.")),
        ]
    )
    async with Session(board, provider, transcript=Transcript(path)) as session:
        await session.run("Go")
    whole = path.read_bytes()
    for end in range(len(whole)):
        part = tmp_path / "part.jsonl"
        part.write_bytes(whole[:end])
        messages, _ = restore(part)
        for place, before in enumerate(messages):
            after = messages[place + 1] if place + 1 < len(messages) else None
            asked = [b["id"] for b in before["content"] if b["type"] == "tool_use"]
            if asked:
                assert after is not None
                assert [b["tool_use_id"] for b in after["content"] if b["type"] == "tool_result"] == asked
        assert [m["role"] for m in messages] == ["user", "assistant"] * (len(messages) // 2) + ["user"] * (
            len(messages) % 2
        )


def test_writing_after_a_crash_does_not_glue_lines(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"type":"user","content":[]}\n{"type":"blo')
    transcript = Transcript(path)
    transcript.write("user", content=[text("x")])
    transcript.close()
    assert [entry["type"] for entry in read(path)] == ["user", "user"]


async def test_a_discarded_answer_is_not_restored(board, tmp_path):
    path = tmp_path / "t.jsonl"
    provider = Faulty(
        [turn(text("Hello"), use("Mutate", "a", text="x")), turn(text("end"))],
        {0: (3, ProviderError("busy", retryable=True))},
    )
    async with Session(board, provider, retries=quick(), transcript=Transcript(path)) as session:
        await session.run("Go")
    assert restore(path)[0] == session.messages


async def test_results_beyond_the_budget_of_a_turn_are_saved(watching, tmp_path):
    settings = Settings([Layer("user", "t", {"resultBudgetChars": 20_000})], cwd=str(tmp_path))
    made = Board(settings, [], plugins=[watching], tools=[Echo], env={"HOME": str(tmp_path)})
    calls = [use("Echo", str(i), text=str(i) * 9000) for i in range(4)]
    path = tmp_path / "t.jsonl"
    async with Session(made, ReplayProvider([turn(*calls), turn(text("end"))]), transcript=Transcript(path)) as session:
        await session.run("Go")
    said = [block["content"][0]["text"] for block in session.messages[2]["content"]]
    assert sum(map(len, said)) <= 20_000
    assert restore(path)[0] == session.messages
    saved = next(words for words in said if len(words) < 9000)
    [file] = [Path(word.strip(".:")) for word in saved.split() if word.startswith(str(tmp_path))][:1]
    assert len(file.read_text()) == 9000


async def test_a_tool_may_ask_the_model_a_small_question(watching, board):
    @tool(read_only=True, open_world=False)
    async def Summarise(args: TextInput, ctx: Context) -> str:
        """Ask."""
        return await ctx.model.complete(args.text, system="Be brief.")

    made = Board(board.settings, [], plugins=[watching], tools=[Summarise], env=board.env)
    provider = ReplayProvider([turn(use("Summarise", text="long")), turn(text("short")), turn(text("end"))])
    async with Session(made, provider) as session:
        await session.run("Go")
    assert session.messages[2]["content"][0]["content"] == [text("short")]
    assert provider.requests[1]["system"] == [text("Be brief.")]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "script.jsonl:1: this is not valid JSON"),
        ("[]", 'turn 1: expected {"content": [...]}'),
        ('{"content": [{"type": "text"}]}', "a text block needs a text"),
        ('{"content": [{"type": "tool_use", "name": "X"}]}', "a tool_use block needs a name and an input object"),
        ('{"content": [{}]}', "every block needs a type"),
        ('{"content": [], "chunk_ms": -1}', "chunk_ms must be a number of milliseconds"),
    ],
)
def test_a_broken_script_is_explained(tmp_path, line, words):
    (tmp_path / "script.jsonl").write_text(line)
    with pytest.raises(ProviderError) as caught:
        ReplayProvider.from_file(tmp_path / "script.jsonl")
    assert words in str(caught.value)


async def test_a_script_that_is_too_short_says_so(board):
    async with Session(board, ReplayProvider([turn(use("Echo"))])) as session:
        with pytest.raises(ProviderError, match="has 1 turns, and the session asks for another"):
            await session.run("Go")


@pytest.mark.parametrize(
    ("data", "given", "expected"),
    [
        (b"\x89PNG\r\n\x1a\nbroken", "image/png", "(The image is not a whole image/png file and was left out.)"),
        (b"not a picture", "image/jpeg", "(The image is not a whole image/jpeg file and was left out.)"),
        (b"\xff\xd8\xff\xe0....\xff\xd9", "image/png", "image/jpeg"),
        (b"GIF89a....\x3b", "image/gif", "image/gif"),
        (b"x" * 5_000_001, "image/png", "(An image of 5000001 bytes was left out: the limit is 5000000.)"),
    ],
)
def test_broken_media_becomes_text_and_wrong_types_are_mended(data, given, expected):
    made = checked(Image(data, given))
    assert (made.media_type if isinstance(made, Image) else made.text) == expected


async def test_a_tool_that_returns_the_wrong_type_is_a_reported_bug(watching, board, caplog):
    @tool(read_only=True, open_world=False)
    async def Lies(args: TextInput, ctx: Context) -> str:
        """Promise text."""
        return 3

    made = Board(board.settings, [], plugins=[watching], tools=[Lies], env=board.env)
    result = await made.dispatch(Call("1", "Lies"))
    assert (result.code, result.text.split(".")[0]) == ("internal", "application returned int where Lies promises str")


async def test_a_tool_error_and_a_crash_are_told_apart(watching, board, caplog):
    @tool(read_only=True, open_world=False)
    def Fails(args: TextInput, ctx: Context) -> str:
        """Fail."""
        if args.text:
            raise ToolError("The cellar is locked.", code="permission_denied")
        raise ZeroDivisionError("secret detail")

    made = Board(board.settings, [], plugins=[watching], tools=[Fails], env=board.env)
    assert (await made.dispatch(Call("1", "Fails", {"text": "x"}))).text == "The cellar is locked."
    crash = await made.dispatch(Call("1", "Fails"))
    assert "failed because of a bug in application: ZeroDivisionError" in crash.text
    assert "secret detail" not in crash.text
    assert "secret detail" in caplog.text


async def test_what_a_tool_prints_is_caught_and_noted(watching, board, capsys):
    from pegboard.execution.prints import keep_stdout_clean

    @tool(read_only=True, open_world=False)
    def Chatty(args: TextInput, ctx: Context) -> str:
        """Print."""
        print("hello from", threading.current_thread() is not threading.main_thread())
        sys.stdout.writelines(["and", " again"])
        return "value"

    made = Board(board.settings, [], plugins=[watching], tools=[Chatty], env=board.env)
    with keep_stdout_clean():
        print("outside")
        result = await made.dispatch(Call("1", "Chatty"))
    assert result.notes == ("printed: hello from True\nand again",)
    assert result.text == "value"
    assert capsys.readouterr().out == "outside\n"


async def test_a_tool_that_changes_its_input_changes_nobody_elses(watching, board):
    class ListInput(Input):
        items: list[int]

    seen = []

    @tool(read_only=True, open_world=False)
    async def Greedy(args: ListInput, ctx: Context) -> str:
        """Change the input."""
        args.items.clear()
        return "gone"

    class Looks:
        @hookimpl
        def after_call(self, call):
            seen.append(call.input)

    made = Board(board.settings, [], plugins=[Looks()], tools=[Greedy], env=board.env)
    await made.dispatch(Call("1", "Greedy", {"items": [1, 2]}))
    assert seen == [{"items": [1, 2]}]


async def test_two_hundred_megabytes_are_saved_and_previewed(watching, tmp_path):
    @tool(read_only=True, open_world=False)
    def Flood(args: TextInput, ctx: Context) -> str:
        """Say a lot."""
        return "é" * 100_000_000

    made = Board(Settings(cwd=str(tmp_path)), [], tools=[Flood], env={"HOME": str(tmp_path)})
    result = await made.dispatch(Call("1", "Flood"))
    assert not result.is_error
    assert len(result.text) <= 4000
    [file] = list((tmp_path / ".local/state/pegboard/results").rglob("Flood*.txt"))
    assert file.stat().st_size == 200_000_000
    assert str(file) in result.text


START = {"type": "message_start", "message": {"usage": {}}}
END = ({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"})


def opened(**block):
    return {"type": "content_block_start", "index": 0, "content_block": block}


def grown(**delta):
    return {"type": "content_block_delta", "index": 0, "delta": delta}


CLOSED = {"type": "content_block_stop", "index": 0}
NONSENSE = {
    "no index": [{"type": "content_block_start", "content_block": {"type": "text", "text": ""}}],
    "no block": [{"type": "content_block_start", "index": 0}],
    "no object": ["hello"],
    "nothing": [None],
    "an index that is a list": [{"type": "content_block_start", "index": [], "content_block": {"type": "text"}}],
    "a delta that is nothing": [opened(type="text", text=""), {**grown(), "delta": None}],
    "a text that is a number": [opened(type="text", text=""), grown(type="text_delta", text=5), CLOSED],
    "a text without words": [opened(type="text"), CLOSED],
    "a call without an id": [opened(type="tool_use", name="Echo", input={}), CLOSED],
    "a call without a name": [opened(type="tool_use", id="a", input={}), CLOSED],
    "a call without an input": [opened(type="tool_use", id="a", name="Echo"), CLOSED],
    "an input that is a list": [opened(type="tool_use", id="a", name="Echo", input=[1]), CLOSED],
    "a piece of input that is nothing": [
        opened(type="tool_use", id="a", name="Echo", input={}),
        grown(type="input_json_delta", partial_json=None),
        CLOSED,
    ],
    "a message that is nothing": [{"type": "message_start"}],
    "an end that says nothing": [{"type": "message_delta"}],
}


class Saying:
    """A provider that yields whatever it is given, answer by answer; an exception is raised."""

    name = "saying"

    def __init__(self, *answers):
        self.answers, self.requests = list(answers), []

    async def stream(self, request):
        self.requests.append(json.loads(json.dumps(request)))
        for event in self.answers.pop(0):
            if isinstance(event, Exception):
                raise event
            if callable(event):
                await event()
            else:
                yield event


def answer(*blocks):
    script = ReplayProvider([turn(*blocks)])

    async def events():
        return [event async for event in script.stream({})]

    return anyio.run(events)


@pytest.mark.parametrize("events", NONSENSE.values(), ids=NONSENSE)
def test_events_that_make_no_sense_are_named_and_the_request_is_repeated(events, watching, board):
    provider = Saying([START, *events, *END], answer(text("fine")))

    async def run():
        async with Session(board, provider, retries=Retries(1, 0.001)) as session:
            return await session.run("go")

    assert anyio.run(run).text == "fine"
    [retried] = watching.of("request_retried")
    assert "makes no sense" in retried["reason"]


def test_a_provider_that_breaks_after_a_call_ran_does_not_make_the_session_forget_the_call(watching, board, caplog):
    async def until_it_ran():
        while not watching.of("call_finished"):
            await anyio.sleep(0.001)

    begun = answer(use("Echo", "a", text="once"))[:-2]
    provider = Saying([*begun, until_it_ran, RuntimeError("boom")], answer(text("fine")))

    async def run():
        async with Session(board, provider) as session:
            return await session.run("go"), session.messages

    outcome, messages = anyio.run(run)
    assert outcome.text == "fine"
    assert messages[1]["content"][0]["id"] == messages[2]["content"][0]["tool_use_id"] == "a"
    [cut] = watching.of("message_cut")
    assert cut["reason"] == "The provider saying failed because of a bug: RuntimeError."


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
    sent = provider.requests[1]["messages"]
    assert [message["role"] for message in sent] == ["user"]
    assert [message["role"] for message in restore(path)[0]] == ["user", "assistant"]


def test_a_result_without_words_has_no_empty_block():
    assert requests.tool_result(Result("a", "Echo", (Text(""),))) == {"type": "tool_result", "tool_use_id": "a"}


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


def test_a_session_that_is_open_elsewhere_is_not_written_to(tmp_path):
    path = tmp_path / "abc.jsonl"
    first = Transcript(path)
    with pytest.raises(PegboardError, match="The session abc is open elsewhere"):
        Transcript(path)
    first.close()
    Transcript(path).close()


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "7",
        '{"no": "type"}',
        '{"type":"user"}',
        '{"type":"user","content":[7]}',
        '{"type":"block","block":{"type":"tool_use"}}',
        '{"type":"result","block":{"type":"tool_result"}}',
        '{"type":"change","mode":"everything"}',
        '{"type":"change","cwd":7}',
        "[" * 100_000,
    ],
)
def test_a_forged_line_of_a_transcript_is_named(tmp_path, line):
    path = tmp_path / "t.jsonl"
    path.write_text(f'{{"type":"user","content":[]}}\n{line}\n')
    with pytest.raises(PegboardError, match=r"t\.jsonl:2: .* cannot be resumed"):
        restore(path)


def test_a_discarded_answer_leaves_what_was_said_before_a_pause(tmp_path):
    path = tmp_path / "t.jsonl"
    transcript = Transcript(path)
    transcript.write("user", content=[text("go")])
    transcript.write("block", block=text("kept"))
    transcript.write("block", block=text("dropped"))
    transcript.write("discarded", reason="cut", blocks=1)
    transcript.close()
    assert restore(path)[0][1]["content"] == [text("kept")]


async def test_a_full_disk_ends_the_transcript_and_not_the_conversation(watching, board, tmp_path):
    provider = ReplayProvider([turn(use("Echo", "a", text="hi")), turn(text("done"))])
    transcript = Transcript(tmp_path / "t.jsonl")
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, transcript._file.fileno())
    os.close(full)
    async with Session(board, provider, transcript=transcript) as session:
        assert (await session.run("go")).text == "done"
    assert [data["message"] for data in watching.of("notice")] == [
        "The conversation is no longer kept: No space left on device."
    ]
