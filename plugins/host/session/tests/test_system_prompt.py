"""Parts of the system prompt that plugins bring."""

import pytest

import pegboard_files
import pegboard_processes
from pegboard import Board, Settings, SettingsError, hookimpl
from pegboard_session import PromptPart, ReplayProvider, Session, Transcript, restore

from .scripts import Echo, text, turn


class Parts:
    def __init__(self, *parts):
        self.parts = parts

    @hookimpl
    async def system_prompt_parts(self, session, ctx):
        if isinstance(self.parts[0], Exception):
            raise self.parts[0]
        return [part() if callable(part) else part for part in self.parts]


def board_with(tmp_path, *plugins):
    plugins = [*plugins, pegboard_files, pegboard_processes]
    return Board(Settings(cwd=str(tmp_path)), [], plugins=plugins, tools=[Echo], env={"HOME": str(tmp_path)})


async def system_of(board, **options):
    provider = ReplayProvider([turn(text("Done."))])
    async with Session(board, provider, **options) as session:
        await session.run("Go")
    return list(provider.requests[0].system)


async def test_parts_are_sent_in_their_order_with_the_guidance_of_tools_in_the_middle(tmp_path):
    parts = Parts(PromptPart("b", "last", 90), PromptPart("a", "first", 10), PromptPart("none", ""))
    assert await system_of(board_with(tmp_path, parts)) == ["first", "Echo repeats.", "last"]


async def test_of_two_parts_with_one_name_the_first_counts_and_system_before_all(tmp_path):
    board = board_with(
        tmp_path, Parts(PromptPart("x", "1")), Parts(PromptPart("x", "2"), PromptPart("instructions", "3"))
    )
    assert await system_of(board) == ["1", "3", "Echo repeats."]
    assert await system_of(board, system=["mine"]) == ["mine", "1", "Echo repeats."]


async def test_a_failing_plugin_adds_nothing_and_bad_settings_stop_the_session(tmp_path, caplog):
    good = Parts(PromptPart("x", "good"))
    assert await system_of(board_with(tmp_path, Parts(ValueError("no")), good)) == ["good", "Echo repeats."]
    assert "a system_prompt_parts hook failed" in caplog.text
    with pytest.raises(SettingsError, match="there: gone"):
        await system_of(board_with(tmp_path, Parts(SettingsError("gone", source="there"))))


async def test_a_resumed_session_sends_a_kept_part_as_it_was(tmp_path):
    words = iter("abcd")
    plugin = Parts(lambda: PromptPart("kept", next(words), keep=True), lambda: PromptPart("fresh", next(words)))
    path = tmp_path / "t.jsonl"
    board = board_with(tmp_path, plugin)
    assert await system_of(board, transcript=Transcript(path)) == ["a", "b", "Echo repeats."]
    provider = ReplayProvider([turn(text("Done."))])
    later = Session(board, provider, transcript=Transcript(path))
    later.resume(restore(path), later.ctx)
    async with later:
        await later.run("On")
    assert list(provider.requests[0].system) == ["a", "d", "Echo repeats."]
