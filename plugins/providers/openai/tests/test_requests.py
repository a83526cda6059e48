"""What is sent."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest

from pegboard_openai import OpenAIProvider
from pegboard_session import ModelOptions, Request

from .chat import REQUEST, ChatServer, ask, failure, says, with_blocks

DATA = base64.b64encode(b"\x89PNG").decode()
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}
PART = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}}
PDF = {
    "type": "document",
    "source": {"type": "base64", "media_type": "application/pdf", "data": "UERG"},
    "title": "a.pdf",
}
NOTES = {
    "type": "document",
    "source": {"type": "base64", "media_type": "text/plain", "data": base64.b64encode(b"Hi").decode()},
    "title": "notes",
}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


async def sent(request: Request, **options: Any) -> dict[str, Any]:
    with ChatServer([says("ok")]) as server:
        await ask(server, request, **options)
    return dict(server.requests[0].body)


async def messages_of(*messages: dict[str, Any], **options: Any) -> Any:
    return (await sent(replace(REQUEST, messages=messages), **options))["messages"]


async def test_the_body_is_the_request_in_its_own_order() -> None:
    schema = {"type": "object", "required": ["z"], "properties": {"z": {"type": "string"}, "a": {"type": "integer"}}}
    tools = [{"name": "Zed", "input_schema": schema, "description": "z"}, {"name": "Ay", "input_schema": schema}]
    request = replace(
        REQUEST, system=("Stable.", "", "Be brief. ✓"), tools=tools, options={"temperature": 0.5, "x": None}
    )
    with ChatServer([says("ok")]) as server:
        await ask(server, request)
    [received] = server.requests
    body = {
        "model": "tiny",
        "max_tokens": 100,
        "messages": [{"role": "system", "content": "Stable.\n\nBe brief. ✓"}, {"role": "user", "content": "Hello"}],
        "tools": [
            {"type": "function", "function": {"name": "Zed", "description": "z", "parameters": schema}},
            {"type": "function", "function": {"name": "Ay", "description": "", "parameters": schema}},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "x": None,
    }
    assert received.raw == json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    assert received.path == "/v1/chat/completions"
    assert received.headers["authorization"] == "Bearer test-key"
    assert received.headers["user-agent"].startswith("pegboard-openai/")


async def test_calls_and_results_become_messages_of_their_own() -> None:
    made = await messages_of(
        {"role": "user", "content": [text("Look.")]},
        {
            "role": "assistant",
            "content": [
                text("I "),
                text("will."),
                {"type": "tool_use", "id": "a", "name": "Read", "input": {"n": "é"}},
                {"type": "tool_use", "id": "b", "name": "Grep", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": [text("one"), text("two")]},
                {"type": "tool_result", "tool_use_id": "b", "content": [text("no such file")], "is_error": True},
                text("Go on."),
            ],
        },
    )
    assert made == [
        {"role": "user", "content": "Look."},
        {
            "role": "assistant",
            "content": "I will.",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "Read", "arguments": '{"n": "é"}'}},
                {"id": "b", "type": "function", "function": {"name": "Grep", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "one\ntwo"},
        {"role": "tool", "tool_call_id": "b", "content": "Error: no such file"},
        {"role": "user", "content": "Go on."},
    ]


async def test_images_and_documents_are_parts() -> None:
    [message] = await messages_of({"role": "user", "content": [text("See"), IMAGE, PDF, NOTES]})
    assert message["content"] == [
        text("See"),
        PART,
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,UERG"}},
        text("notes:\nHi"),
    ]


async def test_an_image_with_an_address_keeps_it() -> None:
    image = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    [message] = (await sent(with_blocks(image)))["messages"]
    assert message["content"] == [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]


async def test_images_of_results_follow_in_the_message_of_the_user() -> None:
    results = [
        {"type": "tool_result", "tool_use_id": "a", "content": [text("A picture:"), IMAGE, NOTES]},
        {"type": "tool_result", "tool_use_id": "b", "content": [IMAGE]},
        {"type": "tool_result", "tool_use_id": "c"},
    ]
    made = await messages_of({"role": "user", "content": results})
    note = "(Images and documents of this result are in the next message.)"
    assert made == [
        {"role": "tool", "tool_call_id": "a", "content": f"A picture:\nnotes:\nHi\n{note}"},
        {"role": "tool", "tool_call_id": "b", "content": note},
        {"role": "tool", "tool_call_id": "c", "content": ""},
        {"role": "user", "content": [text("From the result of a:"), PART, text("From the result of b:"), PART]},
    ]


@pytest.mark.parametrize("returns", [True, False])
async def test_reasoning_is_sent_back_where_a_setting_says_so(returns: bool) -> None:
    thought = {"type": "reasoning", "field": "reasoning_content", "text": "Hm."}
    answer = {"role": "assistant", "content": [thought, text("Yes.")]}
    [message] = await messages_of(answer, returns_reasoning=returns)
    expected = {"role": "assistant", "content": "Yes."}
    assert message == ({**expected, "reasoning_content": "Hm."} if returns else expected)


async def test_an_answer_of_calls_alone_has_no_content_and_an_empty_one_an_empty_text() -> None:
    call = {"type": "tool_use", "id": "a", "name": "Read", "input": {}}
    made = await messages_of({"role": "assistant", "content": [call]}, {"role": "assistant", "content": []})
    assert [message["content"] for message in made] == [None, ""]


async def test_halves_of_characters_are_replaced() -> None:
    [message] = (await sent(with_blocks(text("caf\udce9.txt \ud83d\ude00 ok"))))["messages"]
    assert message["content"] == "caf\ufffd.txt \U0001f600 ok"


async def test_options_may_replace_anything() -> None:
    body = await sent(replace(REQUEST, options={"stream_options": None, "max_tokens": 7}))
    assert (body["stream_options"], body["max_tokens"]) == (None, 7)


async def test_wanted_options_go_out_in_the_words_of_this_wire() -> None:
    schema = {"type": "object"}
    wanted = ModelOptions(
        thinking="budget",
        thinking_budget=2000,
        effort="high",
        betas=("of-another-service",),
        service_tier="flex",
        stop_sequences=("END",),
        headers={"X-Trace": "1"},
        metadata={"user_id": "u"},
        output_schema=schema,
    )
    with ChatServer([says("ok")]) as server:
        await ask(server, replace(REQUEST, wanted=wanted))
    [received] = server.requests
    usual = {"model", "max_tokens", "messages", "stream", "stream_options"}
    assert {name: value for name, value in received.body.items() if name not in usual} == {
        "reasoning_effort": "high",
        "service_tier": "flex",
        "stop": ["END"],
        "metadata": {"user_id": "u"},
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}},
    }
    assert received.headers["x-trace"] == "1"


async def test_the_limit_has_the_name_that_the_server_knows() -> None:
    body = await sent(REQUEST, limit_field="max_completion_tokens")
    assert body["max_completion_tokens"] == 100
    assert "max_tokens" not in body


async def test_address_key_and_model_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer([says("ok")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url + "/")
        monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
        monkeypatch.setenv("OPENAI_MODEL", "tiny")
        assert OpenAIProvider().default_model == "tiny"
        await ask(server, base_url=None, api_key=None)
    assert server.requests[0].headers["authorization"] == "Bearer from-the-environment"
    assert server.requests[0].path == "/v1/chat/completions"


async def test_a_server_of_your_own_needs_no_key_and_gets_none() -> None:
    with ChatServer([says("ok")]) as server:
        await ask(server, api_key=None)
    assert "authorization" not in server.requests[0].headers


async def test_further_headers_are_sent_and_may_name_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "s3cret")
    with ChatServer([says("ok")]) as server:
        await ask(server, headers={"Api-Key": "$SECRET", "X-Plain": "words"})
        error = await failure(server, headers={"Api-Key": "$NOT_SET"})
    assert server.requests[0].headers["api-key"] == "s3cret"
    assert server.requests[0].headers["x-plain"] == "words"
    assert str(error) == (
        "The header Api-Key in openai.headers needs the environment variable NOT_SET, which is not set."
    )


@pytest.mark.parametrize("address", [None, "https://api.openai.com/v1"])
def test_the_openai_api_needs_a_key(address: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert OpenAIProvider(base_url=address).missing() == "OPENAI_API_KEY"
    assert OpenAIProvider(base_url=address, key_variable="MY_KEY").missing() == "MY_KEY"
    assert OpenAIProvider(base_url=address, headers={"Authorization": "x"}).missing() == ""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert OpenAIProvider(base_url=address).missing() == ""
    assert OpenAIProvider(base_url="http://127.0.0.1:8080/v1", key_variable="X").missing() == ""


async def test_without_a_model_nothing_is_sent() -> None:
    with ChatServer([]) as server:
        error = await failure(server, replace(REQUEST, model=""))
    assert str(error) == ("No model is set. Name one with --model, with the setting openai.model or in OPENAI_MODEL.")
    assert server.requests == []


async def test_a_request_that_is_not_json_is_refused_before_it_is_sent() -> None:
    with ChatServer([]) as server:
        error = await failure(server, replace(REQUEST, options={"x": float("nan")}))
    assert (error.kind, error.retryable) == ("invalid_request", False)
    assert server.requests == []


async def test_a_key_with_a_line_break_is_refused_without_being_quoted() -> None:
    with ChatServer([]) as server:
        error = await failure(server, api_key="sk-secret\n")
    assert error.kind == "authentication"
    assert "sk-secret" not in str(error)


def test_no_representation_shows_the_key() -> None:
    assert repr(OpenAIProvider(api_key="sk-secret")) == "<provider openai (api.openai.com)>"
