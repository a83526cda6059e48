"""Questions of the model, answered through the hook `ask_user`, in real sessions."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from pegboard import Answer, Board, Call, Deny, Question, hookimpl
from pegboard_session import ReplayProvider, Session, Transcript, restore

from .played import YES, board_with, called, provider, said

DATABASE = {
    "question": "Which database?",
    "header": "Database",
    "options": [
        {"label": "Postgres", "description": "A server.", "preview": "host=db"},
        {"label": "SQLite", "description": "A file."},
    ],
}
PARTS = {
    "question": "Which parts?",
    "options": [{"label": "API"}, {"label": "Worker"}, {"label": "Pages"}],
    "multiSelect": True,
}
BOTH = {"questions": [DATABASE, PARTS]}


@pytest.fixture
def anyio_backend() -> str:
    """One is enough: what differs between the two is tested with the seam itself."""
    return "asyncio"


async def ask(board: Board, given: dict[str, Any], mode: str = "default") -> Any:
    return await board.dispatch(Call("1", "AskUserQuestion", given), board.context(mode=mode))


async def test_a_person_chooses_and_writes_their_own_words(board, answers):
    answers.decision = Answer(YES, input={"Which database?": "MySQL 8", "Which parts?": ["API", "Pages"]})
    result = await ask(board, BOTH)
    expected = "The user answered:\n- Which database?: MySQL 8 (in their own words)\n- Which parts?: API, Pages"
    assert (result.text, result.is_error) == (expected, False)
    assert result.value.answers == {"Which database?": "MySQL 8", "Which parts?": "API, Pages"}


async def test_the_question_has_all_that_a_host_needs_to_show(board, answers):
    answers.decision = YES
    await ask(board, BOTH)
    [question] = answers.asked
    assert question.input == BOTH
    first, second = question.form
    assert (first.name, first.header, first.multiple, second.multiple) == ("Which database?", "Database", False, True)
    assert [(choice.value, choice.description, choice.preview) for choice in first.choices] == [
        ("Postgres", "A server.", "host=db"),
        ("SQLite", "A file.", ""),
    ]
    assert first.own_words


async def test_answers_may_come_in_the_shape_of_other_hosts(board, answers):
    given = {"Which database?": "SQLite", "Which parts?": "API, Worker"}
    answers.decision = Answer(YES, input={"questions": [], "answers": given})
    result = await ask(board, BOTH)
    assert result.value.answers == given
    answers.decision = Answer(YES, input={"answers": {**given, "Which parts?": "API, and mobile"}})
    assert (await ask(board, BOTH)).value.own_words == ["Which parts?"]


async def test_the_model_cannot_answer_itself(board, answers):
    answers.decision = YES
    result = await ask(board, {**BOTH, "answers": {"Which database?": "SQLite"}})
    assert "AskUserQuestion has no argument 'answers'" in result.text
    assert answers.asked == []


async def test_who_does_not_want_to_answer_says_so(board, answers):
    answers.decision = Deny("The user denied it and said: look it up", layer="ask")
    result = await ask(board, BOTH)
    assert result.code == "cancelled"
    assert result.text.startswith("The questions were not answered. The user denied it and said: look it up")


@pytest.mark.parametrize("mode", ["default", "dontAsk"])
async def test_where_no_one_can_answer_the_model_is_told(board, answers, mode):
    if mode == "dontAsk":
        answers.decision = YES
    result = await ask(board, BOTH, mode)
    assert (result.code, result.text.startswith("No one can answer questions here.")) == ("unsupported", True)
    assert len(answers.asked) == (mode == "default")


async def test_asking_needs_no_permission_in_any_mode_that_asks(board, answers):
    answers.decision = YES
    for mode in ("default", "plan", "acceptEdits", "bypassPermissions"):
        assert not (await ask(board, BOTH, mode)).is_error, mode
    assert len(answers.asked) == 4


async def test_an_answer_that_does_not_fit_is_an_error_not_a_guess(board, answers):
    answers.decision = Answer(YES, input={"Which database?": "SQLite"})
    assert "'Which parts?' is not answered." in (await ask(board, BOTH)).text


def options(*labels: str) -> list[dict[str, str]]:
    return [{"label": label} for label in labels]


BAD: list[tuple[list[dict[str, Any]], str]] = [
    ([], "questions"),
    ([DATABASE] * 5, "questions"),
    ([DATABASE, DATABASE], "questions must differ from one another."),
    ([{"question": "?", "options": options("a")}], "options"),
    ([{"question": "?", "options": options(*"abcde")}], "options"),
    ([{"question": "?", "options": options("a", "a")}], "must have different labels."),
    ([{"question": "?", "options": options("a,b", "c"), "multiSelect": True}], "its labels must have none."),
    ([{"question": "", "options": options("a", "b")}], "question"),
    ([{"question": "?", "options": options("a", "")}], "label"),
    ([{"question": "?", "options": options("a", "b"), "header": "x" * 31}], "header"),
]


async def test_bad_questions_get_a_clear_error_and_no_one_is_asked(board, answers):
    answers.decision = YES
    for questions, words in BAD:
        result = await ask(board, {"questions": questions})
        assert (result.code, words in result.text) == ("invalid_input", True), result.text
    assert answers.asked == []


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"permissions": {"deny": ["AskUserQuestion"]}}, "AskUserQuestion"),
        ({"disable": ["dialog"]}, "AskUserQuestion is not available"),
        ({"excludedTools": ["AskUserQuestion"]}, "AskUserQuestion is not available"),
        ({"availableTools": ["Read"]}, "AskUserQuestion is not available"),
    ],
)
async def test_rules_families_and_filters_take_the_tool_away(tmp_path, answers, settings, words):
    answers.decision = YES
    result = await ask(board_with(tmp_path, answers, **settings), BOTH)
    assert (result.is_error, words in result.text) == (True, True)
    assert answers.asked == []


async def test_a_hook_of_the_user_may_answer_for_them_but_not_with_a_bare_yes(tmp_path, answers):
    def hook(**more: Any) -> dict[str, Any]:
        decision = {"behavior": "allow", **more}
        said = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}
        return {"PermissionRequest": [{"hooks": [{"type": "command", "command": f"/bin/echo '{json.dumps(said)}'"}]}]}

    given = {"answers": {"Which database?": "SQLite", "Which parts?": "API"}}
    board = board_with(tmp_path, answers, hooks=hook(updatedInput={**BOTH, **given}))
    assert (await ask(board, BOTH)).value.answers == given["answers"]
    assert answers.asked == []
    result = await ask(board_with(tmp_path, answers, hooks=hook()), BOTH)
    assert (result.code, len(answers.asked)) == ("unsupported", 1)


async def test_after_the_time_of_the_setting_the_model_goes_on(tmp_path):
    class Away:
        @hookimpl
        async def ask_user(self, question: Question) -> None:
            await anyio.sleep_forever()

    result = await ask(board_with(tmp_path, Away(), **{"dialog.timeout": 0.05}), BOTH)
    assert (result.code, result.text.startswith("The user did not answer within 0.05 s.")) == ("timeout", True)


async def test_an_interrupted_question_is_a_cancelled_call_and_the_session_goes_on(tmp_path):
    class Away:
        @hookimpl
        async def ask_user(self, question: Question) -> None:
            session.interrupt()
            await anyio.sleep_forever()

    board, played = board_with(tmp_path, Away()), provider(called("AskUserQuestion", **BOTH))
    async with Session(board, played, model="m") as session:
        assert (await session.run("Go")).stopped_by == "interrupted"
        [result] = session.messages[-1]["content"]
        assert (result["is_error"], result["content"][0]["text"]) == (
            True,
            "AskUserQuestion was cancelled by the user.",
        )
        assert (await session.run("And now?")).text == "Done."


async def test_answers_are_in_the_transcript_the_audit_log_and_a_resumed_conversation(tmp_path, answers):
    events: list[dict[str, Any]] = []

    class Watch:
        @hookimpl
        def observe(self, event: Any) -> None:
            if event.kind == "answered":
                events.append(dict(event.data))

    answers.decision = Answer(YES, input={"Which database?": "SQLite", "Which parts?": ["API"]})
    board = board_with(tmp_path, answers)
    watched = Board.load(settings=board.settings, env=board.env, plugins=[answers, Watch()])
    path = tmp_path / "s.jsonl"
    turns = provider(called("AskUserQuestion", **BOTH))
    async with Session(watched, turns, model="m", transcript=Transcript(path)) as session:
        await session.run("Go")
    assert [(event["name"], event["decision"], event["asked_by"]) for event in events] == [
        ("AskUserQuestion", "allow", "question")
    ]
    answers.decision = None
    played = provider()
    second = Session(board, played, model="m", transcript=Transcript(path))
    second.resume(restore(path), second.ctx)
    async with second:
        await second.run("And now?")
    assert "- Which database?: SQLite\\n- Which parts?: API" in json.dumps(played.requests[0].messages)
    assert len(answers.asked) == 1, "a resumed conversation asks nothing again"


async def test_sub_agents_do_not_get_the_tools(tmp_path):
    ended: list[dict[str, Any]] = []

    class Watch:
        @hookimpl
        def observe(self, event: Any) -> None:
            if event.kind == "call_finished":
                ended.append(dict(event.data))

    board = board_with(tmp_path, Watch())
    names = ("AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "Config")
    assert [name for name in names if board.find(name).tool.subagents] == []
    turns = [
        called("Agent", description="Work", prompt="Ask."),
        {"agent": "general-purpose", **called("AskUserQuestion", **BOTH)},
        {"agent": "general-purpose", **said("I could not.")},
        said("Done."),
    ]
    async with Session(board, ReplayProvider(turns), model="m") as session:
        await session.run("Go")
    [tried] = [row for row in ended if row["name"] == "AskUserQuestion"]
    assert (tried["code"], tried["is_error"]) == ("permission_denied", True)


def test_each_tool_says_what_a_person_reads(board):
    tool = board.find("AskUserQuestion").tool
    assert tool.describe(tool.input.model_validate(BOTH)) == "Ask you 2 questions"
