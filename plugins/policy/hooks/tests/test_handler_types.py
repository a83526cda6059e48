"""Handlers of the types http, prompt and mcp_tool: a real server, a scripted model, a tool of the board."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pegboard import Context, Input, tool
from pegboard_session import ReplayProvider, Session

DENY = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}


class Server:
    """Answers every request with what it was told to."""

    def __init__(self):
        self.status, self.body, self.headers, self.seen = 200, b"", {}, []
        server = self

        class Answering(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                server.seen.append((dict(self.headers), json.loads(body)))
                self.send_response(server.status)
                for name, value in {"Content-Length": str(len(server.body)), **server.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(server.body)

            def log_message(self, *words):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self.url = f"http://127.0.0.1:{self.http.server_port}/hook"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()


@pytest.fixture
def server():
    made = Server()
    yield made
    made.http.shutdown()
    made.thread.join()
    made.http.server_close()


async def test_an_event_is_posted_and_the_answer_decides(project, server):
    server.body = json.dumps(DENY).encode()
    project.hook("PreToolUse", {"type": "http", "url": server.url})
    result = await project.call("Echo", text="hi")
    assert result.code == "permission_denied"
    headers, read = server.seen[0]
    assert (headers["Content-Type"], read["tool_name"], read["tool_input"]) == (
        "application/json",
        "Echo",
        {"text": "hi"},
    )


async def test_headers_get_only_the_variables_that_the_handler_names(project, server, monkeypatch):
    monkeypatch.setenv("HOOK_TOKEN", "yes")
    monkeypatch.setenv("OTHER_TOKEN", "no")
    headers = {"X-A": "Bearer $HOOK_TOKEN", "X-B": "${OTHER_TOKEN}."}
    project.hook(
        "PreToolUse", {"type": "http", "url": server.url, "headers": headers, "allowedEnvVars": ["HOOK_TOKEN"]}
    )
    assert (await project.call("Echo", text="hi")).text == "hi"
    assert (server.seen[0][0]["X-A"], server.seen[0][0]["X-B"]) == ("Bearer yes", ".")


@pytest.mark.parametrize("status", [302, 404, 500])
@pytest.mark.parametrize(("on_error", "code"), [(None, ""), ("deny", "permission_denied")])
async def test_another_status_is_a_failure_and_no_redirect_is_followed(project, server, status, on_error, code):
    server.status, server.headers, server.body = status, {"Location": server.url}, json.dumps(DENY).encode()
    more = {"onError": on_error} if on_error else {}
    project.hook("PreToolUse", {"type": "http", "url": server.url, **more})
    assert (await project.call("Echo", text="hi")).code == code
    assert len(server.seen) == 1


async def test_an_address_that_is_not_listed_is_not_asked_and_the_call_needs_approval(project, server):
    project.person.answer = None
    project.hook("PreToolUse", {"type": "http", "url": server.url})
    project.set(allowedHttpHookUrls=["https://hooks.example.com/*"])
    assert (await project.call("Echo", text="hi")).code == "permission_denied"
    assert (len(project.person.asked), server.seen) == (1, [])


async def judged(project, verdict, event="PreToolUse"):
    """One call in a session whose model first answers the handler's question."""
    turns = [[{"type": "tool_use", "name": "Echo", "input": {"text": "hi"}}], [{"type": "text", "text": verdict}]]
    project.hook(event, {"type": "prompt", "prompt": "Is this polite? $ARGUMENTS"})
    provider = ReplayProvider([{"content": turn} for turn in (*turns, [{"type": "text", "text": "Done."}])])
    async with Session(project.board(), provider) as session:
        await session.run("Go")
    return session.messages[2]["content"], provider


@pytest.mark.parametrize(
    ("verdict", "is_error"), [('{"ok": true}', False), ('```\n{"ok": false, "reason": "Rude."}```', True)]
)
async def test_a_model_is_asked_and_its_verdict_counts(project, verdict, is_error):
    results, provider = await judged(project, verdict)
    assert bool(results[0].get("is_error")) is is_error
    assert ("Rude." in json.dumps(results)) is is_error
    question = provider.requests[1].messages[0]["content"][0]["text"]
    assert question.startswith('Is this polite? {"session_id"')


async def test_a_model_without_a_verdict_makes_the_call_ask(project):
    project.person.answer = None
    await judged(project, "I cannot say.")
    assert "The model gave no verdict: 'I cannot say.'" in project.person.asked[0].decision.reason


async def test_a_question_without_a_model_makes_the_call_ask(project):
    project.person.answer = None
    project.hook("PreToolUse", {"type": "prompt", "prompt": "Is this polite?"})
    await project.call("Echo", text="hi")
    assert "This host has no model to ask." in project.person.asked[0].decision.reason


class CheckInput(Input):
    path: str


async def test_a_tool_of_a_server_is_called_with_fields_of_the_event(project):
    seen = []

    @tool(name="mcp__guard__check", read_only=True, open_world=False)
    def check(args: CheckInput, ctx: Context) -> str:
        """Check a file."""
        seen.append(args.path)
        return json.dumps(DENY)

    handler = {"type": "mcp_tool", "server": "guard", "tool": "check", "input": {"path": "${tool_input.file_path}"}}
    project.hook("PreToolUse", handler)
    board = project.board(tools=[check])
    turns = [{"content": [{"type": "tool_use", "name": "Write", "input": {"file_path": "a.txt", "content": "x"}}]}]
    async with Session(board, ReplayProvider([*turns, {"content": [{"type": "text", "text": "Done."}]}])) as session:
        await session.run("Go")
    assert session.messages[2]["content"][0]["is_error"]
    assert seen == [str(project.root / "a.txt")]


async def test_a_server_that_is_not_there_makes_the_call_ask_and_is_named(project):
    project.person.answer = None
    project.hook("PreToolUse", {"type": "mcp_tool", "server": "guard", "tool": "check"})
    await project.talk(
        "Go", [{"type": "tool_use", "name": "Echo", "input": {"text": "hi"}}], [{"type": "text", "text": "."}]
    )
    assert "the server 'guard' is not connected" in project.person.asked[0].decision.reason
