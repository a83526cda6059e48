"""What a tool may do wrong, and what the model reads of it."""

import subprocess
import sys

import pytest

from pegboard import Board, Call, Context, Document, Image, Input, Output, Text, ToolError, hookimpl, tool
from pegboard.content import checked
from pegboard.settings import Settings


class TextInput(Input):
    text: str = ""


@pytest.fixture
def make(tmp_path):
    def board(*tools, plugins=()):
        return Board(Settings(cwd=str(tmp_path)), [], plugins=plugins, tools=tools, env={"HOME": str(tmp_path)})

    return board


@pytest.mark.parametrize(
    ("data", "given", "expected"),
    [
        (b"\x89PNG\r\n\x1a\nbroken", "image/png", "(The image is not an intact image/png file and was omitted.)"),
        (b"not a picture", "image/jpeg", "(The image is not an intact image/jpeg file and was omitted.)"),
        (b"\xff\xd8\xff\xe0....\xff\xd9", "image/png", "image/jpeg"),
        (b"GIF89a....\x3b", "image/gif", "image/gif"),
        (b"x" * 5_000_001, "image/png", "(An image of 5000001 bytes was omitted: the limit is 5000000.)"),
    ],
)
def test_broken_media_becomes_text_and_wrong_types_are_mended(data, given, expected):
    made = checked(Image(data, given))
    assert (made.media_type if isinstance(made, Image) else made.text) == expected


async def test_a_tool_that_returns_the_wrong_type_is_a_reported_bug(make, caplog):
    @tool(read_only=True, open_world=False)
    async def Lies(args: TextInput, ctx: Context) -> str:
        """Promise text."""
        return 3

    made = make(Lies)
    result = await made.dispatch(Call("1", "Lies"))
    assert (result.code, result.text.split(".")[0]) == ("internal", "application returned int where Lies promises str")


async def test_a_tool_error_and_a_crash_are_told_apart(make, caplog):
    @tool(read_only=True, open_world=False)
    def Fails(args: TextInput, ctx: Context) -> str:
        """Fail."""
        if args.text:
            raise ToolError("The cellar is locked.", code="permission_denied")
        raise ZeroDivisionError("secret detail")

    made = make(Fails)
    assert (await made.dispatch(Call("1", "Fails", {"text": "x"}))).text == "The cellar is locked."
    crash = await made.dispatch(Call("1", "Fails"))
    assert "failed because of a bug in application: ZeroDivisionError" in crash.text
    assert "secret detail" not in crash.text
    assert "secret detail" in caplog.text


async def test_a_tool_that_changes_its_input_changes_nobody_elses(make):
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

    made = make(Greedy, plugins=[Looks()])
    await made.dispatch(Call("1", "Greedy", {"items": [1, 2]}))
    assert seen == [{"items": [1, 2]}]


async def test_without_a_plugin_that_keeps_results_a_long_one_is_cut(make):
    @tool(read_only=True, open_world=False, max_result_chars=1_000)
    def Flood(args: TextInput, ctx: Context) -> list[Text | Document]:
        """Say a lot."""
        return [Text("a" * 700), Document(b"notes", "text/plain"), Text("b" * 700), Text("c")]

    result = await make(Flood).dispatch(Call("1", "Flood"))
    *shown, remark = result.content
    assert shown == [Text("a" * 700), Document(b"notes", "text/plain"), Text("b" * 300), Text("")]
    words = "The result of Flood has 1,401 characters; only the first 1,000 are shown."
    assert remark == Text(f"[{words} To see more, ask for a smaller part.]")


GREEDY = '''
import gc, resource
from pegboard import Board, Input, Context, tool

class GreedyInput(Input):
    """Nothing."""

def take():
    held = []
    while True:
        held.append(bytearray(16 * 1024 * 1024))

@tool(read_only=True, open_world=False)
def Blocking(args: GreedyInput, ctx: Context) -> str:
    """Take all memory in a thread."""
    take()
    return ""

@tool(read_only=True, open_world=False)
async def Awaiting(args: GreedyInput, ctx: Context) -> str:
    """Take all memory in the event loop."""
    take()
    return ""

@tool(read_only=True, open_world=False)
async def After(args: GreedyInput, ctx: Context) -> str:
    """Work in what is left."""
    return "still here"

board = Board.load(tools=[Blocking, Awaiting, After])
board.call_sync("After")  # Everything is imported before the limit holds.
with open("/proc/self/statm") as statm:
    used = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 256 * 1024 * 1024,) * 2)
for name in ("Blocking", "Awaiting", "Blocking", "After"):
    gc.collect()  # What a failed call held may hang in a cycle with its traceback.
    result = board.call_sync(name)
    print(result.code or "ok", result.text)
'''


def test_a_tool_that_takes_all_memory_fails_alone_and_the_process_ends():
    done = subprocess.run([sys.executable, "-c", GREEDY], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[-1] == "ok still here"
    assert [line.partition(" ran out of memory.")[0] for line in lines[:-1]] == [
        "failed Blocking",
        "failed Awaiting",
        "failed Blocking",
    ]


async def test_notes_of_a_tool_are_for_programs_and_not_for_the_model(make):
    @tool(read_only=True, open_world=False)
    def Notes(args: TextInput, ctx: Context) -> Output[str]:
        """Note something."""
        return Output("value", notes=["it rained"])

    result = await make(Notes).dispatch(Call("1", "Notes", '{"text": null}'))
    assert (result.text, result.notes) == ("value", ("it rained",))
