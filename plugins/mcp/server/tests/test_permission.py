"""Permission over MCP: questions become forms in both eras of the protocol, and roots narrow what runs without one."""

import anyio
import httpx2
import mcp_types as types
import pytest
from tests.mcp_clients import over_http, text_of
from tests.mcp_serving import TOKEN, World

pytestmark = pytest.mark.filterwarnings("ignore:.*roots.*")
BOTH = pytest.mark.parametrize("mode", ["auto", "legacy"])


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("permission"))
    for name in ("inner", "other"):
        (world.project / name).mkdir()
        (world.project / name / "a.txt").write_text(f"{name}\n")
    with world.http("--allow", "Bash(echo *)") as listening:
        listening.world = world
        yield listening


class Person:
    """Answers forms as it is told, and keeps what it was shown."""

    def __init__(self, *answers):
        self.answers, self.shown = list(answers), []

    async def __call__(self, ctx, params):
        self.shown.append(params)
        return self.answers.pop(0)


def accept(decision, **more):
    return types.ElicitResult(action="accept", content={"decision": decision, **more})


@BOTH
async def test_a_person_is_shown_the_whole_call_and_its_answer_counts_once(server, mode):
    path = server.world.project / f"once-{mode}.txt"
    person = Person(accept("allow once"), accept("deny", message="not today"))
    async with over_http(server.url, mode, elicitation_callback=person) as client:
        call = {"file_path": str(path), "content": "first\u202etsrif\nsecond\n"}
        assert not (await client.call_tool("Write", call)).is_error
        denied = await client.call_tool("Write", {**call, "content": "third\n"})
    assert path.read_text() == call["content"]
    assert denied.is_error
    assert "The user denied it and said: not today" in text_of(denied)
    first = person.shown[0]
    assert first.message.startswith("Write asks to run:\n")
    for line in (f"  | file_path: {path}", "  | content: first<U+202E>tsrif", "  |   second", "Why it asks: "):
        assert line in first.message
    choices = first.requested_schema["properties"]["decision"]["enum"]
    assert choices == ["allow once", "allow until this client leaves", "deny"]


@BOTH
async def test_a_rule_that_a_person_agrees_to_holds_for_this_client_alone(server, mode):
    call = {"file_path": str(server.world.project / f"always-{mode}.txt"), "content": "x"}
    person, stranger = Person(accept("allow until this client leaves")), Person(accept("deny"))
    async with over_http(server.url, "legacy", elicitation_callback=stranger) as other:
        async with over_http(server.url, mode, elicitation_callback=person) as client:
            for content in ("one", "two"):
                assert not (await client.call_tool("Write", {**call, "content": content})).is_error
        assert (await other.call_tool("Write", {**call, "content": "three"})).is_error
    assert len(person.shown) == len(stranger.shown) == 1
    assert not list(server.world.home.rglob("settings*.json"))


@BOTH
@pytest.mark.parametrize(
    "answer",
    [
        types.ElicitResult(action="decline"),
        types.ElicitResult(action="cancel"),
        types.ElicitResult(action="accept", content={}),
        types.ElicitResult(action="accept", content={"decision": "yes, everything"}),
    ],
)
async def test_only_a_clear_yes_allows(server, mode, answer):
    path = server.world.project / "never.txt"
    async with over_http(server.url, mode, elicitation_callback=Person(answer)) as client:
        assert (await client.call_tool("Write", {"file_path": str(path), "content": "x"})).is_error
    assert not path.exists()


@BOTH
async def test_two_clients_answer_their_own_questions(server, mode):
    people = [Person(accept("allow once")), Person(accept("deny"))]
    paths = [server.world.project / f"{name}-{mode}.txt" for name in ("ann", "ben")]
    async with (
        over_http(server.url, mode, elicitation_callback=people[0]) as ann,
        over_http(server.url, mode, elicitation_callback=people[1]) as ben,
        anyio.create_task_group() as group,
    ):
        for client, path in zip((ann, ben), paths, strict=True):
            group.start_soon(client.call_tool, "Write", {"file_path": str(path), "content": "x"})
    assert [path.exists() for path in paths] == [True, False]
    for person, path in zip(people, paths, strict=True):
        assert f"  | file_path: {path}" in person.shown[0].message


def post(server, arguments, **more):
    """A call in the newer protocol, as a client that cheats could send it."""
    offered = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", **offered}
    params = {"name": "Write", "arguments": arguments, "_meta": meta, **more}
    headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}
    headers |= {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "Write"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return httpx2.post(server.url, headers=headers, json=body, timeout=120).json()


def test_an_answer_without_its_question_approves_nothing(server):
    path = server.world.project / "forged.txt"
    call, yes = {"file_path": str(path), "content": "x"}, {"action": "accept", "content": {"decision": "allow once"}}
    first = post(server, call, inputResponses=dict.fromkeys(("decision", "question"), yes))["result"]
    assert first["resultType"] == "input_required"
    [key], state = first["inputRequests"], first["requestState"]
    for arguments, sealed in ((call, f"{state}x"), ({**call, "content": "y"}, state)):
        refused = post(server, arguments, inputResponses={key: yes}, requestState=sealed)
        assert refused["error"]["code"] == -32602
    assert not path.exists()
    assert post(server, call, inputResponses={key: yes}, requestState=state)["result"]["isError"] is False
    assert post(server, call, inputResponses={key: yes}, requestState=state)["error"]["code"] == -32602


def test_a_client_that_comes_back_without_an_answer_is_asked_again(server):
    call = {"file_path": str(server.world.project / "again.txt"), "content": "x"}
    first = post(server, call)["result"]
    second = post(server, call, requestState=first["requestState"])["result"]
    assert second["inputRequests"] == first["inputRequests"]
    assert second["requestState"] != first["requestState"]


def roots(*folders):
    async def answer(ctx):
        return types.ListRootsResult(roots=[types.Root(uri=folder.as_uri()) for folder in folders])

    return answer


@BOTH
async def test_roots_narrow_where_a_client_works(server, mode):
    project = server.world.project
    person = Person(accept("deny"), accept("deny"))
    offered = roots(project / "inner", server.world.home)
    async with over_http(server.url, mode, elicitation_callback=person, list_roots_callback=offered) as client:
        assert text_of(await client.call_tool("Read", {"file_path": "a.txt"})) == "1\tinner"
        outside = await client.call_tool("Read", {"file_path": str(project / "other/a.txt")})
        beyond = await client.call_tool("Read", {"file_path": str(server.world.home / "secret")})
    assert outside.is_error
    assert beyond.is_error  # A root outside of the server's folder does not widen it.
    assert "outside the client's roots" in person.shown[0].message


@BOTH
async def test_roots_that_leave_nothing_stop_every_call(server, mode, tmp_path):
    async with over_http(server.url, mode, list_roots_callback=roots(tmp_path)) as client:
        result = await client.call_tool("Read", {"file_path": "inner/a.txt"})
    assert result.is_error
    assert text_of(result).startswith("None of this client's roots contains a folder of this server")


@pytest.mark.parametrize("offered", ["wider", "none"])
async def test_a_wider_root_or_none_leaves_the_folder_of_the_server_as_it_is(server, offered):
    answer = roots(server.world.folder) if offered == "wider" else roots()
    async with over_http(server.url, "auto", list_roots_callback=answer) as client:
        assert text_of(await client.call_tool("Read", {"file_path": "inner/a.txt"})) == "1\tinner"
