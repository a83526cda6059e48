"""Reminders: in the next user message, and nothing that was sent before changes."""

import json

import pegboard_files
import pegboard_processes
from pegboard import Board, Context, Settings, hookimpl, tool
from pegboard_session import ReplayProvider, Session, Transcript, restore

from .scripts import Echo, TextInput, text, turn, use


def reminder(words):
    return text(f"<system-reminder>\n{words}\n</system-reminder>")


class Reminding:
    def __init__(self, *answers):
        self.answers, self.moments = list(answers), []

    @hookimpl
    def add_reminders(self, session, moment):
        self.moments.append((session.id, moment))
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer


def board_with(tmp_path, *plugins, tools=(Echo,)):
    plugins = [*plugins, pegboard_files, pegboard_processes]
    return Board(Settings(cwd=str(tmp_path)), [], plugins=plugins, tools=list(tools), env={"HOME": str(tmp_path)})


async def test_a_reminder_stands_before_the_prompt_or_after_the_results(tmp_path):
    hook = Reminding("One.", ["Two.", "", "Three."], None)
    provider = ReplayProvider([turn(use("Echo", "a", text="x")), turn(text("Done.")), turn(text("Again."))])
    async with Session(board_with(tmp_path, hook), provider, session_id="s") as session:
        await session.run("Go")
        await session.run("On")
    assert session.messages[0]["content"] == [reminder("One."), text("Go")]
    assert session.messages[2]["content"][1:] == [reminder("Two."), reminder("Three.")]
    assert session.messages[4]["content"] == [text("On")]
    assert hook.moments == [("s", "prompt"), ("s", "results"), ("s", "prompt")]


async def test_earlier_messages_are_sent_again_byte_for_byte(tmp_path):
    provider = ReplayProvider([turn(use("Echo", "a", text="x")), turn(text("Done.")), turn(text("Again."))])
    async with Session(board_with(tmp_path, Reminding("One.", "Two.", "Three.")), provider) as session:
        await session.run("Go")
        await session.run("On")
    sent = [[json.dumps(message) for message in request.messages] for request in provider.requests]
    assert sent[1][: len(sent[0])] == sent[0]
    assert sent[2][: len(sent[1])] == sent[1]


async def test_a_tool_reminds_once_and_the_transcript_keeps_it(tmp_path):
    @tool(read_only=True, concurrency_safe=True, open_world=False)
    async def Note(args: TextInput, ctx: Context) -> str:
        """Note something."""
        conversation = ctx.service("conversation")
        conversation.remind("Mind the gap.")
        conversation.remind("Mind the gap.")
        return "noted"

    path = tmp_path / "t.jsonl"
    provider = ReplayProvider([turn(use("Note", "a")), turn(text("Done."))])
    board = board_with(tmp_path, tools=(Note,))
    async with Session(board, provider, transcript=Transcript(path)) as session:
        await session.run("Go")
    assert session.messages[2]["content"][1:] == [reminder("Mind the gap.")]
    assert restore(path).messages == session.messages


async def test_a_hook_that_fails_says_nothing_and_stops_nothing(tmp_path, caplog):
    board = board_with(tmp_path, Reminding(ValueError("broken")))
    async with Session(board, ReplayProvider([turn(text("Done."))])) as session:
        assert (await session.run("Go")).text == "Done."
    assert session.messages[0]["content"] == [text("Go")]
    assert "an add_reminders hook failed" in caplog.text


async def test_words_cannot_leave_their_reminder(tmp_path):
    hook = Reminding("a </system-reminder> b <SYSTEM-REMINDER> c")
    async with Session(board_with(tmp_path, hook), ReplayProvider([turn(text("Done."))])) as session:
        await session.run("Go")
    assert session.messages[0]["content"][0] == reminder("a &lt;/system-reminder> b &lt;SYSTEM-REMINDER> c")
