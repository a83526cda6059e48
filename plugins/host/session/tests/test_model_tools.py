"""What a profile does to tools: hidden, swapped and reworded, for listing and for calls alike."""

import pytest

import pegboard_files
import pegboard_processes
from pegboard import Board, Context, hookimpl, tool
from pegboard.settings import Layer, Settings
from pegboard_session import ReplayProvider, Session

from .scripts import Echo, Mutate, TextInput, text, turn, use


@tool(read_only=True, concurrency_safe=True, open_world=False, guidance="Shout is loud.")
async def Shout(args: TextInput, ctx: Context) -> str:
    """Say it louder."""
    return args.text.upper()


@tool(read_only=True, concurrency_safe=True, open_world=False)
async def Both(args: TextInput, ctx: Context) -> str:
    """Ask another tool."""
    return (await ctx.call("Echo", {"text": args.text})).text


class Rows:
    @hookimpl
    def register_models(self):
        return {"loud-*": {"tools": {"swap": {"Echo": "Shout"}}}, "bad": {"window": "x"}}


def board(tmp_path, *plugins, tools=(Echo, Shout, Mutate, Both), **models):
    layer = Layer("user", "test", {"models": models} if models else {})
    given = [*plugins, pegboard_files, pegboard_processes]
    return Board(Settings([layer], cwd=str(tmp_path)), [], plugins=given, tools=tools, env={"HOME": str(tmp_path)})


async def ask(board, model, *turns):
    provider = ReplayProvider([*turns, turn(text("Done."))])
    async with Session(board, provider, model=model) as session:
        await session.run("Go")
    return provider, list(session.messages[2]["content"]) if turns else []


def names(provider):
    return [made["name"] for made in provider.requests[0].tools]


async def test_a_replacement_is_shown_only_to_models_that_ask_for_it(tmp_path):
    loud, _ = await ask(board(tmp_path, Rows()), "loud-1")
    other, _ = await ask(board(tmp_path, Rows()), "other")
    assert names(loud) == ["Both", "Mutate", "Shout"]
    assert names(other) == ["Both", "Echo", "Mutate"]
    assert loud.requests[0].system == ("Shout is loud.",)
    assert other.requests[0].system == ("Echo repeats.",)
    assert loud.requests[0].cache.tools == (2,)


async def test_what_a_model_does_not_see_it_cannot_call(tmp_path):
    made = board(tmp_path, Rows(), **{"loud-1": {"tools": {"hide": ["Mutate"]}}})
    _, results = await ask(
        made, "loud-1", turn(use("Echo", "a", text="x"), use("Mutate", "b"), use("Shout", "c", text="x"))
    )
    assert [block["content"][0]["text"] for block in results] == [
        "Echo is replaced by Shout for the model loud-1. Use Shout.",
        "Mutate is not offered to the model loud-1.",
        "X",
    ]


async def test_calls_of_tools_are_not_the_models(tmp_path):
    _, results = await ask(board(tmp_path, Rows()), "loud-1", turn(use("Both", "a", text="still there")))
    assert results[0]["content"][0]["text"] == "still there"


async def test_without_the_replacement_the_tool_stays(tmp_path):
    provider, _ = await ask(board(tmp_path, Rows(), tools=(Echo, Mutate)), "loud-1")
    assert names(provider) == ["Echo", "Mutate"]


async def test_settings_may_show_again_what_a_plugin_hides_and_reword_it(tmp_path):
    rows = {"other": {"tools": {"show": ["Shout"], "reword": {"Echo": "Repeat the words, nothing else."}}}}
    provider, _ = await ask(board(tmp_path, Rows(), **rows), "other")
    assert names(provider) == ["Both", "Echo", "Mutate", "Shout"]
    said = {made["name"]: made["description"] for made in provider.requests[0].tools}
    assert said["Echo"] == "Repeat the words, nothing else."
    assert said["Shout"] == "Say it louder."


async def test_a_faulty_row_of_a_plugin_is_left_out_with_a_warning(tmp_path, caplog):
    await ask(board(tmp_path, Rows()), "bad")
    assert "bad: window must be a whole number of 1 or more" in caplog.text


async def test_answers_are_no_longer_than_the_model_can_make_them(tmp_path):
    class Limited(ReplayProvider):
        models = {"m": {"maxOutput": 4_000}, "n": {"window": 8_000}}

    for model, most in (("m", 4_000), ("n", 2_000), ("o", 32_000)):
        provider = Limited([turn(text("Done."))])
        async with Session(board(tmp_path), provider, model=model) as session:
            await session.run("Go")
        assert provider.requests[0].max_tokens == most


@pytest.mark.parametrize(
    ("model", "there", "gone"),
    [
        ("gpt-5-codex", {"ApplyPatch", "Read"}, {"Edit", "Write"}),
        ("claude-opus-5-5", {"Edit", "Write"}, {"ApplyPatch"}),
    ],
)
async def test_apply_patch_takes_the_place_of_edit_and_write(tmp_path, model, there, gone):
    provider = ReplayProvider([turn(text("Done."))])
    async with Session(Board.load(cwd=tmp_path), provider, model=model) as session:
        await session.run("Go")
    listed = set(names(provider))
    assert there <= listed
    assert not gone & listed
