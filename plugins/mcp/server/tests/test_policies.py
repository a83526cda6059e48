"""A call that arrives over MCP meets the hooks and the sandbox of the person, and tools can put forms to them."""

import json

import mcp_types as types
import pytest
from tests.mcp_clients import over_http, text_of
from tests.mcp_serving import World

from pegboard import Ask, Call, Choice, FormField, Question
from pegboard_mcp_server.elicitation import filled_in, schema_of
from pegboard_sandbox import bubblewrap

ASKING = """
from pegboard import Allow, Ask, Call, Choice, FormField, Input, Question, hookimpl, put_question, tool

class AskColourInput(Input):
    pass

FORM = (
    FormField("colour", "Which colour?", choices=(Choice("red"), Choice("blue", "Deep blue"))),
    FormField("count", "How many?", kind="integer", default=1),
)

@tool(read_only=True, concurrency_safe=True, open_world=False)
async def AskColour(args: AskColourInput, ctx) -> str:
    "Ask the person for a colour."
    question = Question(Call(ctx.call_id, "AskColour", {}), Ask("It asks.", layer="forced"), "Paint it", form=FORM)
    said = await put_question(question, ctx)
    if said is None:
        return "no one"
    return str(said.input) if isinstance(said.decision, Allow) else said.decision.reason

@hookimpl
def register_tools():
    return [AskColour]
"""
BOTH = pytest.mark.parametrize("mode", ["auto", "legacy"])


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server without hooks and sandbox, and with a tool that asks."""
    world = World(tmp_path_factory.mktemp("plain"))
    world.plugin("asking", ASKING)
    with world.http("--allow", "Bash") as listening:
        listening.world = world
        yield listening


STOP = "echo 'not this one' >&2; exit 2"


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """A server with the person's hooks, and their sandbox where this machine has one."""
    world = World(tmp_path_factory.mktemp("strict"))
    (world.project / "a.txt").write_text("hello\n")
    hooks = {
        "PreToolUse": [{"matcher": "Write", "hooks": [{"type": "command", "command": STOP}]}],
        "PostToolUse": [{"matcher": "Read", "hooks": [{"type": "command", "command": f"cat >> {world.project}/seen"}]}],
    }
    sandbox = {"enabled": not bubblewrap.trouble(bubblewrap.find())}
    settings = {"hooks": hooks, "sandbox": sandbox, "permissions": {"allow": ["Bash"]}}
    (world.home / ".pegboard").mkdir()
    (world.home / ".pegboard/settings.json").write_text(json.dumps(settings))
    with world.http("--permission-mode", "acceptEdits") as listening:
        listening.world = world
        yield listening


@BOTH
async def test_hooks_see_and_stop_calls_of_a_client(strict, mode):
    world, seen = strict.world, strict.world.project / "seen"
    seen.unlink(missing_ok=True)
    async with over_http(strict.url, mode) as client:
        refused = await client.call_tool("Write", {"file_path": "b.txt", "content": "x"})
        assert not (await client.call_tool("Read", {"file_path": "a.txt"})).is_error
    assert refused.is_error
    assert "not this one" in text_of(refused)
    assert not (world.project / "b.txt").exists()
    assert json.loads(seen.read_text())["tool_name"] == "Read"


@pytest.mark.parametrize("held", [True, False])
async def test_the_sandbox_holds_a_command_of_a_client(strict, server, held):
    if problem := bubblewrap.trouble(bubblewrap.find()):
        pytest.skip(problem)
    chosen = strict if held else server
    outside = chosen.world.folder / "outside/made"
    outside.parent.mkdir()
    async with over_http(chosen.url, "auto") as client:
        await client.call_tool("Bash", {"command": f"touch inside; touch {outside}"})
    assert (chosen.world.project / "inside").exists()
    assert outside.exists() is not held


@BOTH
async def test_the_form_of_a_tool_becomes_a_form_of_the_client(server, mode):
    answers = [
        types.ElicitResult(action="accept", content={"colour": "blue", "count": 2}),
        types.ElicitResult(action="decline"),
        types.ElicitResult(action="cancel"),
        types.ElicitResult(action="accept", content={"colour": "green"}),
    ]
    shown = []

    async def person(ctx, params):
        shown.append(params)
        return answers.pop(0)

    async with over_http(server.url, mode, elicitation_callback=person) as client:
        said = [text_of(await client.call_tool("AskColour", {})) for _ in range(4)]
    assert said == ["{'colour': 'blue', 'count': 2}", "The user did not answer.", "no one", "no one"]
    assert shown[0].message == "Paint it"
    options = [{"const": "red", "title": "red"}, {"const": "blue", "title": "Deep blue"}]
    assert shown[0].requested_schema["properties"]["colour"]["oneOf"] == options
    async with over_http(server.url, mode) as client:
        assert text_of(await client.call_tool("AskColour", {})) == "no one"


def test_choices_with_words_of_ones_own_are_texts():
    field = FormField("tags", "Which?", choices=(Choice("a"), Choice("b")), multiple=True, own_words="Other")
    question = Question(Call("1", "T", {}), Ask("?"), "?", form=(field,))
    assert schema_of(question)["properties"]["tags"]["type"] == "string"
    assert filled_in(question, {"tags": "a\nsomething else\n"}) == {"tags": ["a", "something else"]}
    assert filled_in(question, {}) is None
