"""A tool that calls another tool: validated and permitted like a call of the model."""

import anyio
import pytest

import pegboard_rules
from pegboard import After, Allow, Board, Call, Context, Deny, Input, hookimpl, tool
from pegboard.execution.dispatch import STOP
from pegboard.settings import Layer, Settings
from pegboard_session import ReplayProvider, Session


class WordInput(Input):
    word: str


class OuterInput(Input):
    name: str
    given: dict[str, object]


@tool(read_only=True, concurrency_safe=True, open_world=False)
def Shout(args: WordInput, ctx: Context) -> str:
    """Say it loud."""
    return args.word.upper()


@tool()
def Change(args: WordInput, ctx: Context) -> str:
    """Change something."""
    return f"changed {args.word}"


@tool(read_only=True, concurrency_safe=True, open_world=False)
async def Outer(args: OuterInput, ctx: Context) -> str:
    """Call another tool."""
    result = await ctx.call(args.name, args.given)
    return f"{result.name} {'failed' if result.is_error else 'said'}: {result.text}"


class Person:
    def __init__(self, answer):
        self.answer, self.asked = answer, []

    @hookimpl
    def ask_user(self, question):
        self.asked.append(question.call.name)
        return self.answer


def said(name, given, person=None, **settings):
    layers = [Layer("cli", "test", settings)]
    board = Board(
        Settings(layers), [], plugins=[pegboard_rules, *([person] if person else [])], tools=[Shout, Change, Outer]
    )
    return anyio.run(board.dispatch, Call("1", "Outer", {"name": name, "given": given})).text


def test_a_tool_calls_another():
    assert said("Shout", {"word": "hi"}) == "Shout said: HI"


def test_the_input_of_the_other_is_validated():
    assert said("Shout", {"wort": "hi"}).startswith("Shout failed: Shout: Shout needs the argument 'word'.")


@pytest.mark.parametrize(
    ("answer", "text"),
    [(Allow("yes"), "Change said: changed x"), (Deny("No."), "Change failed: Change was denied. No.")],
)
def test_a_person_is_asked_for_what_the_other_would_do(answer, text):
    person = Person(answer)
    assert said("Change", {"word": "x"}, person).startswith(text)
    assert person.asked == ["Change"]


def test_a_rule_against_the_other_holds():
    assert "was denied by the rule" in said("Change", {"word": "x"}, **{"permissions.deny": ["Change(word:*)"]})


class Crowd:
    """Counts how many are at it at the same time."""

    def __init__(self):
        self.now = self.most = 0

    async def __aenter__(self):
        self.now += 1
        self.most = max(self.most, self.now)
        await anyio.sleep(0.02)

    async def __aexit__(self, *error):
        self.now -= 1


def run_four(name, plugins=(), tools=()):
    """Four calls of Outer in one turn, each of which calls this tool."""
    board = Board(Settings(), [], plugins=plugins, tools=[Shout, Change, Outer, *tools])
    given = {"name": name, "given": {"word": "x"}}
    return anyio.run(board.run, [Call(str(number), "Outer", given) for number in range(4)])


def test_calls_that_are_not_safe_do_not_overlap_inside_others_either():
    crowd = Crowd()

    @tool()
    async def Slowly(args: WordInput, ctx: Context) -> str:
        """Change something, and take a while."""
        async with crowd:
            return (await ctx.call("Change", {"word": "y"})).text

    results = run_four("Slowly", [Person(Allow("yes"))], [Slowly])
    assert [result.text for result in results] == ["Slowly said: changed y"] * 4
    assert crowd.most == 1


def test_one_question_is_asked_at_a_time():
    crowd = Crowd()

    class Slow:
        @hookimpl
        async def ask_user(self, question):
            async with crowd:
                return Allow("yes")

    assert not any(result.is_error for result in run_four("Change", [Slow()]))
    assert crowd.most == 1


def test_a_hook_that_ends_the_conversation_is_heard_from_inside():
    class Stopping:
        @hookimpl
        def after_call(self, tool, call, value):
            return After(stop="enough") if tool.name == "Shout" else None

    board = Board(Settings(), [], plugins=[Stopping()], tools=[Shout, Outer])
    given = {"name": "Shout", "given": {"word": "x"}}
    result = anyio.run(board.dispatch, Call("1", "Outer", given))
    assert result.metadata[STOP] == "enough"


def test_a_tool_that_calls_itself_comes_to_an_end():
    given = {"name": "Shout", "given": {"word": "x"}}
    for _ in range(8):
        given = {"name": "Outer", "given": given}
    assert "calls can be nested at most 5 deep" in said("Outer", given)


async def test_a_session_calls_with_its_own_tools():
    turns = [
        {"content": [{"type": "tool_use", "name": "Outer", "input": {"name": "Shout", "given": {"word": "hi"}}}]},
        {"content": [{"type": "text", "text": "Done."}]},
    ]
    board = Board(Settings(), [], tools=[Shout, Outer])
    async with Session(board, ReplayProvider(turns)) as session:
        await session.run("Go")
    assert session.messages[2]["content"][0]["content"][0]["text"] == "Shout said: HI"
