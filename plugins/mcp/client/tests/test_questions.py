"""What servers ask during a call: forms for the person, in both eras of the protocol, and questions to the model."""

import json
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from pegboard import Allow, Answer, Deny, Settings, hookimpl
from pegboard.settings import Layer
from pegboard_mcp.forms import FormError, form_of, problem_in
from pegboard_mcp.limits import may_sample
from pegboard_session import Session, Stop, TextDelta, ToolCall

from .sdk_server import EVERY_KIND
from .test_sdk_server import Remote
from .world import Person, close, raw, tool, until

SERVER = Path(__file__).with_name("sdk_server.py")
STDIO = {"command": sys.executable, "args": [str(SERVER), "stdio"]}
YES = Allow("yes")
FILLED = {"name": "Ada", "size": 3, "colour": "b"}


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """A server of the older protocol."""
    made = Remote(tmp_path_factory.mktemp("old"), "sse")
    yield made
    made.end()


async def entry_of(era, old):
    return await old.entry() if era == "older" else STDIO


BOTH = pytest.mark.parametrize("era", ["older", "newer"])


@BOTH
@pytest.mark.anyio
async def test_a_form_with_required_fields_goes_to_the_person(world, old, era):
    person = Person(
        Answer(YES, {**FILLED, "weight": 1.5, "extras": ["x", "z"]}),
        YES,  # A yes that leaves the questions open is no answer.
        Deny("Not today."),
        Answer(YES, {**FILLED, "size": 12}),  # Too large: the form is shown again, with the reason.
        Answer(YES, FILLED),
        Answer(YES, {**FILLED, "colour": "green"}),
    )
    board = world.board({"it": await entry_of(era, old)}, person)
    await world.connect(board)

    async def said():
        return (await board.call("mcp__it__form")).text

    everything = {**FILLED, "weight": 1.5, "sure": False, "extras": ["x", "z"]}
    action, content = (await said()).split(" ", 1)
    assert (action, eval(content)) == ("accept", everything)
    assert await said() == "cancel None"
    assert await said() == "decline None"
    assert (await said()).startswith("accept {'name': 'Ada', 'size': 3")
    assert "'size' must be at most 9." in person.questions[4].description
    assert await said() == "cancel None"
    question = person.questions[0]
    assert question.decision.layer == "forced"  # No option, rule or hook answers it, only a person.
    assert [field.name for field in question.form] == list(EVERY_KIND["properties"])
    await close(board)


@pytest.mark.anyio
async def test_a_server_that_asks_without_end_is_not_listened_to(world):
    person = Person()
    board = world.board({"it": raw(tools=[tool("ask")])}, person)
    await world.connect(board)
    result = await board.call("mcp__it__ask", {"times": 100, "waits": True})
    assert sorted(result.text.split()) == ["cancel"] * 70 + ["decline"] * 30
    assert len(person.questions) == 30
    await close(board)


@pytest.mark.anyio
async def test_what_a_server_asked_is_not_put_to_the_person_once_the_call_is_over(world):
    asked = []

    class Slow:
        """Thinks until the call has its result."""

        @hookimpl
        async def ask_user(self, question):
            asked.append(question)
            await until(lambda: not hub.callbacks.running["it"])
            return Deny("no")

    board = world.board({"it": raw(tools=[tool("ask")])}, Slow())
    hub = await world.connect(board)
    assert not (await board.call("mcp__it__ask", {"times": 25, "waits": False})).is_error
    assert 0 < len(asked) < 20
    assert not (await board.call("mcp__it__ask", {"times": 0, "waits": False})).is_error
    await close(board)


@pytest.mark.anyio
async def test_a_mode_that_asks_nothing_cancels_the_form(world):
    person = Person(Answer(YES, FILLED))
    board = world.board({"it": STDIO}, person)
    await world.connect(board)
    result = await board.call("mcp__it__form", {}, board.context(mode="dontAsk"))
    assert (result.text, person.questions) == ("cancel None", [])
    await close(board)


@pytest.mark.anyio
async def test_the_time_that_a_person_takes_is_not_that_of_the_call(world):
    class Slow(Person):
        @hookimpl
        async def ask_user(self, question):
            await anyio.sleep(1.5)
            return Answer(YES, FILLED)

    board = world.board({"it": {**STDIO, "timeout": 1}}, Slow())
    await world.connect(board)
    assert (await board.call("mcp__it__form")).text.startswith("accept ")
    await close(board)


def test_every_kind_of_field():
    name, size, weight, sure, colour, extras = form_of(EVERY_KIND)
    assert (name.header, name.question, name.kind) == ("Name", "What to call it (at least 2 characters)", "text")
    assert (size.question, size.kind) == ("size (at least 1, at most 9)", "integer")
    assert (weight.kind, weight.required) == ("number", False)
    assert (sure.kind, sure.default) == ("boolean", False)
    assert [(one.value, one.title) for one in colour.choices] == [("r", "Red"), ("b", "Blue")]
    assert (extras.multiple, [one.value for one in extras.choices]) == (True, ["x", "y", "z"])
    older = {"type": "string", "enum": ["a", "b"], "enumNames": ["First", "Second"]}
    [field] = form_of({"type": "object", "properties": {"it": older}})
    assert [one.title for one in field.choices] == ["First", "Second"]


@pytest.mark.parametrize("field", [{"type": "object"}, {"type": "array", "items": {"type": "string"}}, "text"])
def test_a_form_that_is_not_flat_is_not_put_to_a_person(field):
    with pytest.raises(FormError):
        form_of({"type": "object", "properties": {"it": field}})


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ({"type": "string", "format": "email"}, "ada@example.com", ""),
        ({"type": "string", "format": "email"}, "ada", "'it' must be an e-mail address."),
        ({"type": "string", "format": "uri"}, "example", "'it' must be an address such as https://example.com."),
        ({"type": "string", "format": "date"}, "2026-07-28", ""),
        ({"type": "string", "format": "date"}, "tomorrow", "'it' must be a date such as 2026-07-28."),
        ({"type": "string", "format": "date-time"}, "noon", "'it' must be a time such as 2026-07-28T12:00:00Z."),
        ({"type": "number", "minimum": 1}, 0.5, "'it' must be at least 1."),
        ({"type": "string", "maxLength": 2}, "abc", "'it' must be at most 2 characters."),
        ({"type": "array", "maxItems": 1}, ["a", "b"], "'it' must be at most 1 choices."),
    ],
)
def test_limits_of_fields(field, value, problem):
    assert problem_in({"it": value}, {"properties": {"it": field}}) == problem


CONVERSATION = ["run", "--input-format", "stream-json", "--output-format", "stream-json"]


def test_a_program_fills_in_the_form_of_a_server(world):
    script = world.project / "script.jsonl"
    call = {"type": "tool_use", "id": "1", "name": "mcp__it__form", "input": {}}
    turns = [{"content": [call], "stop_reason": "tool_use"}, {"content": [{"type": "text", "text": "Done."}]}]
    script.write_text("".join(json.dumps(turn) + "\n" for turn in turns))
    servers = {"mcpServers": {"it": STDIO}, "permissions": {"allow": ["mcp__it"]}, "mcp": {"startWait": 120}}
    (world.home / ".pegboard").mkdir()
    (world.home / ".pegboard/settings.json").write_text(json.dumps(servers))
    command = [sys.executable, "-m", "pegboard_cli", *CONVERSATION, "--replay", str(script)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=world.project, env=world.env, stdin=pipe, stdout=pipe, text=True) as process:

        def say(**message):
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()

        def hear(kind):
            for line in process.stdout:
                message = json.loads(line)
                if message["type"] == kind:
                    return message
            raise AssertionError(f"no {kind}")

        say(type="prompt", text="Go")
        question = hear("question")
        assert [field["name"] for field in question["form"]] == list(EVERY_KIND["properties"])
        say(type="answer", id=question["id"], decision="allow", input={"name": "Ada"})
        assert "'size' is not answered. The question is still open." in hear("input_error")["message"]
        say(type="answer", id=question["id"], decision="allow", input=FILLED)
        finished = hear("call_finished")
        process.stdin.close()
        process.stdout.read()
    assert "accept {'name': 'Ada', 'size': 3" in json.dumps(finished)


class Calling:
    """A model that calls a tool, and answers what servers ask."""

    name, default_model = "calling", "calling-1"

    def __init__(self, tool):
        self.tool, self.requests = tool, []

    async def stream(self, request):
        self.requests.append(request)
        if not request.tools:
            yield TextDelta("hi from the model")
        elif request.messages[-1]["content"][-1]["type"] == "text":
            yield ToolCall("call-1", self.tool, "{}")
            yield Stop("tool_use")
            return
        else:
            yield TextDelta(request.messages[-1]["content"][-1]["content"][0]["text"])
        yield Stop("end_turn")


async def sampled(world, entry, person, **mcp):
    board = world.board({"it": entry}, person, mcp={"startWait": 120, **mcp})
    provider = Calling("mcp__it__sample")
    async with Session(board, provider, model="calling-1") as session:
        outcome = await session.run("Go")
    return outcome.text, [request for request in provider.requests if not request.tools]


@BOTH
@pytest.mark.anyio
async def test_a_server_that_may_asks_the_sessions_model_once_the_person_agrees(world, old, era):
    entry, person = await entry_of(era, old), Person(YES)
    text, [asked] = await sampled(world, entry, person, sampling=True)
    assert text.endswith("said hi from the model")
    assert asked.messages[0]["content"][0]["text"] == "Say hi"
    assert (asked.system, asked.max_tokens) == (("Be brief.",), 10)
    [question] = person.questions
    assert "The MCP server it wants to ask the model." in question.description
    assert question.input == {"system": "Be brief.", "prompt": "Say hi"}
    text, asked = await sampled(world, entry, Person(Deny("no")), sampling=True)
    assert "The user does not let the server ask the model." in text
    assert asked == []


@BOTH
@pytest.mark.anyio
async def test_without_the_setting_no_server_reaches_the_model(world, old, era):
    person = Person(YES)
    text, asked = await sampled(world, await entry_of(era, old), person)
    assert (asked, person.questions) == ([], [])
    assert "hi from the model" not in text


@pytest.mark.parametrize(
    ("layers", "may"),
    [
        ({}, False),
        ({"project": True}, False),
        ({"local": True}, False),
        ({"user": True}, True),
        ({"managed": True}, True),
        ({"user": True, "project": False}, False),
        ({"managed": False, "user": True}, False),
    ],
)
def test_a_project_cannot_let_its_servers_ask_the_model(layers, may):
    order = [name for name in ("managed", "local", "project", "user") if name in layers]
    made = [Layer(name, f"{name}.json", {"mcp.sampling": layers[name]}) for name in order]
    assert may_sample(Settings(made)) is may
