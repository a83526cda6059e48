"""A provider of a third party: written against the façade only, with a wire of its own."""

import json
from collections.abc import AsyncGenerator, Iterator

import pytest

from pegboard_session import (
    OpaqueBlock,
    ProviderEvent,
    ReplayProvider,
    Request,
    Session,
    Stop,
    TextDelta,
    TextEnd,
    ThinkingDelta,
    ToolCall,
    Transcript,
    Usage,
    restore,
)

from .scripts import Saying, quick, text, turn

SECRET = {"type": "acme_state", "blob": "\u2028 \ud800", "order": {"z": 1, "a": [0.1, 1e300, -0.0, None, True]}}


class Acme:
    """Speaks lines of `kind:payload`, which no other provider knows."""

    name = "acme"

    def __init__(self, *answers: list[str]) -> None:
        self.answers, self.requests = list(answers), list[Request]()

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent, None]:
        self.requests.append(request)
        for line in self.answers.pop(0):
            for event in self._parse(*line.split(":", 1)):
                yield event

    def _parse(self, kind: str, payload: str) -> Iterator[ProviderEvent]:
        if kind == "say":
            yield TextDelta(payload)
        elif kind == "think":
            yield ThinkingDelta(payload)
            yield OpaqueBlock(SECRET)
        elif kind == "call":
            name, _, given = payload.partition(" ")
            yield ToolCall("", name, given)
        elif kind == "paid":
            yield Usage(input_tokens=int(payload), output_tokens=1)
        elif kind == "end":
            yield Stop()


async def test_a_provider_with_a_wire_of_its_own_runs_a_whole_session(board, watching, tmp_path):
    provider = Acme(
        ["think:hm", "say:Let me ", "say:see.", 'call:Echo {"text": "one"}', "paid:7", "end:"], ["say:Done.", "end:"]
    )
    path = tmp_path / "t.jsonl"
    async with Session(board, provider, model="m", transcript=Transcript(path), options={"heat": 1}) as session:
        outcome = await session.run("Go")
    assert (outcome.text, outcome.stopped_by, outcome.turns) == ("Done.", "end", 2)
    first = session.messages[1]["content"]
    assert [block["type"] for block in first] == ["acme_state", "text", "tool_use"]
    assert (first[1], first[2]["input"]) == (text("Let me see."), {"text": "one"})
    assert session.messages[2]["content"][0]["tool_use_id"] == first[2]["id"] != ""
    assert [data["text"] for data in watching.of("thinking_written")] == ["hm"]
    assert session.usage.as_data()["input_tokens"] == 7
    assert (provider.requests[1].options, provider.requests[1].model) == ({"heat": 1}, "m")


async def test_opaque_blocks_survive_resume_byte_for_byte(board, tmp_path):
    path = tmp_path / "t.jsonl"
    provider = Acme(["think:hm", "say:One.", "end:"])
    async with Session(board, provider, transcript=Transcript(path)) as session:
        await session.run("Go")
    later = Acme(["say:Two.", "end:"])
    session = Session(board, later, transcript=Transcript(path))
    session.resume(restore(path), session.ctx)
    async with session:
        await session.run("And?")
    sent = later.requests[0].messages[1]["content"][0]
    assert json.dumps(sent).encode() == json.dumps(SECRET).encode()


async def test_another_provider_is_not_sent_what_it_cannot_understand(board, tmp_path):
    path = tmp_path / "t.jsonl"
    async with Session(board, Acme(["think:hm", "say:One.", "end:"]), transcript=Transcript(path)) as session:
        await session.run("Go")
    other = ReplayProvider([turn(text("Two."))])
    session = Session(board, other, transcript=Transcript(path))
    session.resume(restore(path), session.ctx)
    async with session:
        await session.run("And?")
    assert other.requests[0].messages[1]["content"] == [text("One.")]


async def test_a_transcript_from_before_providers_had_names_keeps_its_blocks(board, tmp_path):
    path = tmp_path / "t.jsonl"
    thinking = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    lines = [
        {"type": "session", "id": "s", "model": "m", "cwd": str(tmp_path)},
        {"type": "prompt", "text": "Go"},
        {"type": "user", "content": [text("Go")]},
        {"type": "block", "block": thinking},
        {"type": "block", "block": {"type": "tool_use", "id": "a", "name": "Echo", "input": {"text": "x"}}},
        {"type": "result", "block": {"type": "tool_result", "tool_use_id": "a", "content": [text("x")]}},
        {"type": "usage", "requests": 1, "tokens": {"input_tokens": 3}, "tools": {}, "cost": "0", "priced": 0},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    provider = ReplayProvider([turn(text("Two."))])
    session = Session(board, provider)
    session.resume(restore(path), session.ctx)
    async with session:
        await session.run("And?")
    assert provider.requests[0].messages[1]["content"][0] == thinking
    assert session.usage.as_data()["input_tokens"] == 3


NO_INPUTS = [
    '{"text": NaN}',
    '{"text": 1e999}',
    '{"text": [-Infinity]}',
    "[1]",
    "{",
    '{"text": ' + "[" * 500 + "]" * 500 + "}",
]


@pytest.mark.parametrize("given", NO_INPUTS, ids=range(len(NO_INPUTS)))
async def test_an_input_that_json_cannot_carry_is_refused_and_the_conversation_goes_on(board, tmp_path, given):
    path = tmp_path / "t.jsonl"
    provider = Acme([f"call:Anything {given}", "end:"], ["say:Done.", "end:"])
    async with Session(board, provider, transcript=Transcript(path)) as session:
        assert (await session.run("Go")).text == "Done."
    json.dumps(session.messages, allow_nan=False)
    [asked] = session.messages[1]["content"]
    [result] = session.messages[2]["content"]
    assert (asked["input"], result["is_error"]) == ({}, True)
    assert "JSON" in result["content"][0]["text"]
    assert restore(path).messages == session.messages


BAD_EVENTS = {
    "no event": "hello",
    "nothing": None,
    "a block without a type": OpaqueBlock({"x": 1}),
    "a type that is no text": OpaqueBlock({"type": 7}),
    "a block that is a number": OpaqueBlock({"type": "x", "n": float("inf")}),
    "a key that is no text": OpaqueBlock({"type": "x", "n": {1: 2}}),
    "bytes": OpaqueBlock({"type": "x", "n": b"x"}),
    "a call as an opaque block": OpaqueBlock({"type": "tool_use", "id": "a", "name": "Echo", "input": {}}),
    "a text that is a number": TextDelta(5),
    "a call without a name": ToolCall("a", None),
    "an input that is no text": ToolCall("a", "Echo", {"text": "x"}),
    "an extra that is no JSON": TextEnd({"x": float("nan")}),
}


@pytest.mark.parametrize("event", BAD_EVENTS.values(), ids=BAD_EVENTS)
async def test_events_that_make_no_sense_are_named_and_the_request_is_repeated(event, watching, board):
    provider = Saying([TextDelta("So"), event, Stop()], [TextDelta("fine"), Stop()])
    async with Session(board, provider, retries=quick()) as session:
        assert (await session.run("go")).text == "fine"
    [retried] = watching.of("request_retried")
    assert "contains an invalid event" in retried["reason"]


async def test_a_call_after_the_end_never_runs(board, watching):
    provider = Saying([TextDelta("So"), Stop(), ToolCall("a", "Echo", "{}")], [TextDelta("fine"), Stop()])
    async with Session(board, provider, retries=quick()) as session:
        await session.run("go")
    assert watching.of("call_started") == []


async def test_a_prompt_with_a_block_that_is_none_is_refused(board):
    async with Session(board, Acme()) as session:
        with pytest.raises(ValueError, match="a block must be an object with a type"):
            await session.run([{"text": "no type"}])
        assert session.messages == []


async def test_a_transcript_with_nan_in_it_can_be_resumed(board, tmp_path):
    path = tmp_path / "t.jsonl"
    block = {"type": "tool_use", "id": "a", "name": "Echo", "input": {"text": float("nan")}}
    path.write_text(
        json.dumps({"type": "user", "content": [text("go")]})
        + "\n"
        + json.dumps({"type": "block", "block": block})
        + "\n"
    )
    messages = restore(path).messages
    assert messages[1]["content"][0]["input"] == {"text": "NaN"}
    json.dumps(messages, allow_nan=False)
