"""What the events of the wire mean, without a wire."""

from __future__ import annotations

from typing import Any

import pytest

from pegboard import ProviderError
from pegboard_anthropic.assembler import Assembler
from pegboard_session import OpaqueBlock, ProviderEvent, Stop, TextDelta, TextEnd, ThinkingDelta, ToolCall, Usage


def fed(*events: dict[str, Any]) -> list[ProviderEvent]:
    made = Assembler()
    return [meant for event in events for meant in made.feed(event)]


def test_deltas_of_every_kind_are_put_together() -> None:
    made: list[ProviderEvent] = []
    assembler = Assembler()
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
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2, "seconds": 9}},
        {"type": "message_stop"},
    ]:
        made += assembler.feed(event)
    assert made == [
        Usage(input_tokens=3),
        ThinkingDelta("a"),
        OpaqueBlock({"type": "thinking", "thinking": "a", "signature": "sig"}),
        TextDelta("b"),
        TextEnd({"citations": [{"c": 1}]}),
        Usage(output_tokens=2, others={"seconds": 9}),
        Stop("end_turn"),
    ]


def opened(**block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": 0, "content_block": block}


def grown(**delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": delta}


CLOSED = {"type": "content_block_stop", "index": 0}


NONSENSE: dict[str, list[Any]] = {
    "no index": [{"type": "content_block_start", "content_block": {"type": "text", "text": ""}}],
    "no block": [{"type": "content_block_start", "index": 0}],
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


@pytest.mark.parametrize("events", NONSENSE.values(), ids=NONSENSE)
def test_events_that_make_no_sense_are_named_and_can_be_asked_for_again(events: list[Any]) -> None:
    with pytest.raises(ProviderError, match="contains an invalid event") as caught:
        fed(*events)
    assert (caught.value.kind, caught.value.retryable) == ("server", True)


def test_a_call_is_handed_on_whole_and_as_it_was_written() -> None:
    pieces = [grown(type="input_json_delta", partial_json=part) for part in ('{"a": 1', 'e999, "b', '": NaN}')]
    block = {"type": "tool_use", "id": "a", "name": "Echo", "input": {}, "caller": {"type": "direct"}}
    assert fed(opened(**block), *pieces) == []
    [call] = fed(opened(**block), *pieces, CLOSED)
    assert call == ToolCall("a", "Echo", '{"a": 1e999, "b": NaN}', {"caller": {"type": "direct"}})


def test_a_call_of_the_service_itself_is_opaque_and_has_its_input() -> None:
    block = {"type": "server_tool_use", "id": "a", "name": "search", "input": {}}
    whole = fed(opened(**block), grown(type="input_json_delta", partial_json='{"q": 1}'), CLOSED)
    assert whole == [OpaqueBlock({**block, "input": {"q": 1}})]


def test_the_reasons_to_stop_are_neutral() -> None:
    end = {"type": "message_delta", "delta": {"stop_reason": "model_context_window_exceeded"}}
    assert fed(end, {"type": "message_stop"}) == [Stop("context_overflow")]
