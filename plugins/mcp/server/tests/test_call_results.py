"""Results as MCP content, and the gate that keeps calls apart."""

import anyio
import pytest
from pydantic import BaseModel
from tests.pictures import picture

from pegboard import Document, Image, Result, Text
from pegboard_mcp_server.call_results import call_result
from pegboard_mcp_server.gate import Gate


class Value(BaseModel):
    text: str


@pytest.mark.parametrize(
    ("value", "most", "structured"),
    [
        (Value(text="short"), None, {"text": "short"}),
        ({"a": 1}, 30_000, {"a": 1}),
        ("just text", None, None),
        ([1, 2], None, None),
        (Value(text="x" * 40_000), None, None),
        (Value(text="x" * 500), 100, None),
    ],
)
def test_a_value_goes_along_if_it_is_a_small_object(value, most, structured):
    made = call_result(Result("1", "T", (Text("words"),), value=value), most)
    assert made.structured_content == structured
    assert [block.text for block in made.content] == ["words"]
    assert made.is_error is False


def test_halves_of_characters_are_spelled_out():
    result = Result("1", "T", (Text("a\udcff"),), value={"name": ["b\udcff"]}, messages=("c\udcff",))
    made = call_result(result, None)
    assert [block.text for block in made.content] == ["a\\udcff", "c\\udcff"]
    assert made.structured_content == {"name": ["b\\udcff"]}
    assert made.model_dump_json()


def test_an_error_has_no_value():
    made = call_result(Result("1", "T", (Text("It failed."),), is_error=True, value={"a": 1}), None)
    assert (made.is_error, made.structured_content) == (True, None)


def test_every_kind_of_content_has_its_block():
    blocks = (
        Image(picture()),
        Document(b"%PDF-1.4", "application/pdf", "a b.pdf"),
        Document(b"plain", "text/plain", "notes"),
        Document(b"RIFF", "audio/wav"),
    )
    made = call_result(Result("call-1", "T", blocks, value={"a": 1}), None).model_dump(by_alias=True, exclude_none=True)
    image, pdf, notes, sound = made["content"]
    assert (image["type"], image["mimeType"]) == ("image", "image/png")
    assert pdf["resource"]["uri"] == "pegboard://result/call-1/a%20b.pdf"
    assert pdf["resource"]["blob"]
    assert notes["resource"]["text"] == "plain"
    assert (sound["type"], sound["mimeType"]) == ("audio", "audio/wav")
    assert "structuredContent" not in made


async def test_an_unsafe_call_is_alone_and_nothing_overtakes_it():
    gate, acting, seen = Gate(3), set[str](), []
    going_on = {name: anyio.Event() for name in ("read 1", "write", "read 2")}

    async def call(name):
        async with gate.acting(safe=name != "write"):
            acting.add(name)
            seen.append(frozenset(acting))
            await going_on[name].wait()
            acting.remove(name)

    async with anyio.create_task_group() as group:
        for name in going_on:
            group.start_soon(call, name)
            await anyio.wait_all_tasks_blocked()
        for name in going_on:
            going_on[name].set()
            await anyio.wait_all_tasks_blocked()
    assert seen == [{"read 1"}, {"write"}, {"read 2"}]


async def test_a_call_that_gives_up_waiting_no_longer_holds_others():
    gate, first = Gate(3), anyio.Event()

    async def act():
        async with gate.acting(safe=True):
            await first.wait()

    async with anyio.create_task_group() as group:
        group.start_soon(act)
        await anyio.wait_all_tasks_blocked()
        async with anyio.create_task_group() as waiting:
            waiting.start_soon(_alone, gate)
            await anyio.wait_all_tasks_blocked()
            waiting.cancel_scope.cancel()
        with anyio.fail_after(60):
            async with gate.acting(safe=True):
                first.set()


async def _alone(gate):
    async with gate.acting(safe=False):
        raise AssertionError("it was not alone")
