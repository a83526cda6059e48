"""Turns through the real SDK against a server that speaks the real protocol."""

import json
import os
import subprocess
import sys
import threading

import anyio
import pytest

from pegboard import Allow, Board, Context, Input, hookimpl, tool
from pegboard.settings import Settings
from pegboard_anthropic import AnthropicProvider
from pegboard_session import Retries, Session
from pegboard_testing.warm import warm

from .sse import Refusal, SseServer, cut, message, text, tool_use


class NameInput(Input):
    name: str = ""


class Works:
    """Tools that tell when they begin, and approve whatever asks."""

    def __init__(self):
        self.begun = {}
        self.ran = []

    def started(self, name):
        return self.begun.setdefault(name, threading.Event())

    def tools(self):
        @tool(read_only=True, concurrency_safe=True, open_world=False)
        async def Look(args: NameInput, ctx: Context) -> str:
            """Look at something."""
            self.ran.append(args.name)
            self.started(args.name).set()
            return f"saw {args.name}"

        @tool(open_world=False)
        async def Touch(args: NameInput, ctx: Context) -> str:
            """Change something."""
            self.ran.append(args.name)
            self.started(args.name).set()
            return f"touched {args.name}"

        return [Look, Touch]

    @hookimpl
    def ask_user(self):
        return Allow("by the test")


@pytest.fixture
def works():
    return Works()


@pytest.fixture
def board(works, tmp_path):
    return Board(Settings(cwd=str(tmp_path)), [], plugins=[works], tools=works.tools(), env={"HOME": str(tmp_path)})


async def run(board, script, **options):
    with SseServer(script) as server:
        provider = AnthropicProvider(base_url=server.url, api_key="test")
        async with Session(board, provider, model="claude-test", **options) as session:
            outcome = await session.run("Go")
        await provider.aclose()
    return outcome, session, server


async def test_reading_calls_run_while_the_model_still_writes(board, works):
    """The server sends each block only after the call of the one before it has begun, so waiting for the end hangs."""
    script = [
        message(
            tool_use("Look", {"name": "a"}, id="a"),
            (works.started("a"), tool_use("Look", {"name": "b"}, id="b")),
            (works.started("b"), text("…")),
        ),
        message(text("Done.")),
    ]
    outcome, session, _ = await run(board, script)
    assert outcome.text == "Done."
    assert [block["tool_use_id"] for block in session.messages[2]["content"]] == ["a", "b"]


async def test_a_changing_call_waits_for_the_end_of_the_message(board, works):
    ended = threading.Event()
    began_early = []

    def end_of_message():
        began_early.append(works.started("t").wait(0.2))
        ended.set()

    threading.Thread(target=end_of_message).start()
    script = [
        message(tool_use("Touch", {"name": "t"}, id="t"), (ended, text("…"))),
        message(text("Done.")),
    ]
    await run(board, script)
    assert (began_early, works.ran) == ([False], ["t"])


async def test_overload_and_rate_limits_are_waited_out(board):
    script = [
        Refusal(529, "overloaded_error", "Busy."),
        Refusal(429, "rate_limit_error", "Slow down.", headers={"retry-after-ms": "5"}),
        Refusal(500),
        message(text("Done.")),
    ]
    outcome, _, server = await run(board, script, retries=Retries(first=0.001))
    assert outcome.text == "Done."
    assert len({request.raw for request in server.requests}) == 1


async def test_a_connection_lost_in_the_middle_of_a_block_runs_nothing_twice_and_nothing_half(board, works):
    whole = message(
        tool_use("Look", {"name": "a"}, id="a"), (works.started("a"), tool_use("Look", {"name": "b"}, id="b"))
    )
    outcome, session, server = await run(board, [cut(whole, 1), message(text("Done."))], retries=Retries(first=0.001))
    assert (outcome.text, works.ran) == ("Done.", ["a"])
    assert [block["id"] for block in session.messages[1]["content"]] == ["a"]
    sent = server.requests[1].body["messages"]
    assert [block["tool_use_id"] for block in sent[2]["content"]] == ["a"]


async def test_a_connection_lost_before_anything_ran_is_repeated_whole(board, works):
    whole = message(text("Let me see."), tool_use("Touch", {"name": "t"}, id="t"))
    outcome, _, server = await run(board, [cut(whole, 1), whole, message(text("Done."))], retries=Retries(first=0.001))
    assert (outcome.text, works.ran) == ("Done.", ["t"])
    assert server.requests[0].body == server.requests[1].body


PROMPT = "What is in note.txt?"


@pytest.fixture
def pegboard(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work/note.txt").write_text("forty-two\n")

    def command(*words, env=None, **options):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PEGBOARD_", "ANTHROPIC_", "XDG_"))}
        return subprocess.run(
            [sys.executable, "-m", "pegboard_cli", *words],
            capture_output=True,
            text=True,
            cwd=tmp_path / "work",
            env={**clean, "HOME": str(warm(tmp_path)), **(env or {})},
            stdin=subprocess.DEVNULL if "input" not in options else None,
            timeout=120,
            **options,
        )

    return command


def reading():
    return [message(tool_use("Read", {"file_path": "note.txt"}, id="r")), message(text("It says forty-two."))]


def keys(server):
    return {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "test-key"}


def test_run_asks_the_model_and_prints_its_answer(pegboard):
    with SseServer(reading()) as server:
        done = pegboard("run", PROMPT, env=keys(server))
    assert (done.returncode, done.stdout) == (0, "It says forty-two.\n")
    assert "ok     Read" in done.stderr
    assert server.requests[0].headers["authorization"] == "Bearer test-key"
    assert "forty-two" in json.dumps(server.requests[1].body["messages"])


def test_run_takes_the_prompt_from_a_pipe_and_answers_in_json(pegboard):
    with SseServer(reading()) as server:
        done = pegboard("run", "--output-format", "json", env=keys(server), input=PROMPT)
    data = json.loads(done.stdout)
    assert (data["text"], data["stopped_by"], data["turns"]) == ("It says forty-two.", "end", 2)
    assert data["usage"]["tools"]["Read"]["calls"] == 1


def test_stream_json_has_a_type_and_a_time_in_every_line(pegboard):
    with SseServer(reading()) as server:
        done = pegboard("run", PROMPT, "--output-format", "stream-json", env=keys(server))
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = [line["type"] for line in lines]
    assert {"call_started", "call_finished", "result"} <= set(kinds)
    assert [line["t"] for line in lines] == sorted(line["t"] for line in lines)
    finished = next(line for line in lines if line["type"] == "call_finished")
    assert {"id", "name", "decision", "is_error", "ms"} <= set(finished)


def test_run_goes_on_with_the_last_session(pegboard, tmp_path):
    with SseServer([*reading(), message(text("Yes."))]) as server:
        pegboard("run", PROMPT, env=keys(server))
        done = pegboard("run", "--resume", "Are you sure?", env=keys(server))
        assert done.stdout == "Yes.\n", done.stderr
    sent = server.requests[2].body["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user", "assistant", "user"]
    [row] = json.loads(pegboard("sessions", "--json").stdout)
    assert (row["prompt"], row["messages"]) == (PROMPT, 6)
    assert "forty-two" in pegboard("sessions", "show", row["id"][:8]).stdout
    assert pegboard("sessions", "delete", row["id"]).returncode == 0
    assert json.loads(pegboard("sessions", "--json").stdout) == []


def test_run_reaches_another_service_without_a_key_for_the_first_party(pegboard, tmp_path):
    (tmp_path / ".pegboard").mkdir()
    (tmp_path / ".pegboard/settings.json").write_text('{"anthropic": {"client": "foundry"}}')
    with SseServer(reading()) as server:
        env = {"ANTHROPIC_FOUNDRY_API_KEY": "k", "ANTHROPIC_FOUNDRY_BASE_URL": server.url}
        done = pegboard("run", PROMPT, env=env)
    assert (done.returncode, done.stdout) == (0, "It says forty-two.\n"), done.stderr


def test_run_without_a_key_says_what_to_do(pegboard):
    done = pegboard("run", PROMPT)
    assert (done.returncode, done.stderr) == (
        5,
        "pegboard: ANTHROPIC_API_KEY is not set. Set it, or play a script with --replay.\n",
    )


def test_run_without_a_prompt_says_so(pegboard):
    done = pegboard("run", input="")
    assert (done.returncode, "no prompt given" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Refusal(401, "authentication_error", "invalid key"), "ANTHROPIC_API_KEY"),
        (Refusal(400, "invalid_request_error", "prompt is too long: 300000 tokens > 200000"), "too long"),
    ],
)
def test_what_the_provider_refuses_is_told_with_exit_code_five(pegboard, answer, words):
    with SseServer([answer]) as server:
        done = pegboard("run", PROMPT, env=keys(server))
    assert done.returncode == 5
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_run_plays_a_script_and_denies_by_rule(pegboard, tmp_path):
    script = tmp_path / "script.jsonl"
    turns = [
        {"content": [{"type": "tool_use", "name": "Read", "input": {"file_path": "note.txt"}}]},
        {"content": [{"type": "text", "text": "Done."}]},
    ]
    script.write_text("\n".join(map(json.dumps, turns)))
    done = pegboard("run", "Go", "--replay", str(script), "--deny", "Read(note.txt)", "--output-format", "stream-json")
    finished = next(line for line in map(json.loads, done.stdout.splitlines()) if line["type"] == "call_finished")
    assert (finished["decision"], finished["is_error"]) == ("deny", True)
    assert "Read(note.txt)" in finished["said"]
    broken = pegboard("run", "Go", "--replay", "nowhere.jsonl")
    assert (broken.returncode, "cannot be read" in broken.stderr) == (5, True)


def test_tools_can_be_narrowed_for_a_run(pegboard, tmp_path):
    with SseServer([message(text("Done."))]) as server:
        done = pegboard("run", PROMPT, "--tools", "Read,Wriet", env=keys(server))
    assert [tool["name"] for tool in server.requests[0].body["tools"]] == ["Read"]
    assert "there is no tool 'Wriet'. Did you mean 'Write'?" in done.stderr


def test_the_demo_needs_no_key_and_ends_with_what_to_do_next(pegboard):
    done = pegboard("demo")
    assert done.returncode == 0, done.stderr
    assert "denied Bash" in done.stderr
    assert "total with 10 % off: 1350" in done.stderr
    assert "What to do next:" in done.stdout
    events = [json.loads(line) for line in pegboard("demo", "--output-format", "stream-json").stdout.splitlines()]
    assert [event["stopped_by"] for event in events if event["type"] == "result"] == ["end"]


def test_an_interrupt_answers_and_a_second_one_leaves(tmp_path):
    import signal

    script = tmp_path / "script.jsonl"
    turns = [{"content": [{"type": "tool_use", "name": "Bash", "input": {"command": "sleep 61.73"}}]}]
    script.write_text("\n".join(map(json.dumps, turns)))
    command = [
        sys.executable,
        "-m",
        "pegboard_cli",
        "run",
        "Go",
        "--replay",
        str(script),
        "--allow",
        "Bash",
        "--output-format",
        "stream-json",
    ]
    env = {**os.environ, "HOME": str(warm(tmp_path)), "PEGBOARD_DEBUG": "0"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, cwd=tmp_path
    )
    lines = []
    for line in process.stdout:
        lines.append(json.loads(line))
        if lines[-1]["type"] == "decided":
            process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    process.stderr.close()
    process.stdout.close()
    finished = next(line for line in lines if line["type"] == "call_finished")
    assert finished["said"] == "Bash was cancelled by the user."
    assert [line["stopped_by"] for line in lines if line["type"] == "result"] == ["interrupted"]
    assert "sleep 61.73" not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout.replace(
        str(command), ""
    )


async def test_ten_thousand_calls_leave_nothing_behind(board, works):
    """The short form makes 1,000 calls; PEGBOARD_TEST_SLOW=1 makes 10,000."""
    from pegboard_session import ReplayProvider

    rounds = 100 if os.environ.get("PEGBOARD_TEST_SLOW") else 10
    calls = [{"type": "tool_use", "name": "Look", "input": {"name": str(i)}} for i in range(100)]
    provider = ReplayProvider([{"content": calls}] * rounds + [{"content": [{"type": "text", "text": "end"}]}])
    children = children_of_this_process()  # Other tests of this process may have left the helper that confines readers.
    async with Session(board, provider) as session:
        before = len(os.listdir("/proc/self/fd"))
        tasks = len(anyio.get_running_tasks())
        await session.run("Go")
        assert len(os.listdir("/proc/self/fd")) <= before
        assert len(anyio.get_running_tasks()) <= tasks  # Looking for orphans may have ended meanwhile.
    assert len(works.ran) == rounds * 100
    assert children_of_this_process() <= children


def children_of_this_process():
    with open(f"/proc/self/task/{os.getpid()}/children") as children:
        return set(children.read().split())
