"""A program that drives a conversation through standard input and output, one JSON object per line."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import anyio
from anyio import to_thread

from pegboard import (
    Allow,
    Answer,
    Board,
    Decision,
    DefinitionError,
    Deny,
    FormField,
    ProviderError,
    Question,
    SettingsError,
    ToolSource,
    hookimpl,
)
from pegboard_cli import program_messages as messages
from pegboard_cli.main import OK, PROVIDER, USAGE
from pegboard_cli.program_lines import LONGEST, read_lines
from pegboard_cli.program_tools import Pending, ProgramTools
from pegboard_cli.slash_prompt import answer_prompt
from pegboard_session import Outcome, SlashCommandError

if TYPE_CHECKING:
    from pegboard_cli.views import StreamJsonView
    from pegboard_session import Session


class Program:
    """A plugin of the board: questions and calls of its own tools go to the program, whose lines are the answers."""

    board: Board
    """Set once there is one."""

    def __init__(self, view: StreamJsonView) -> None:
        self.view, self.own_tools = view, ProgramTools(view)
        self._prompts: deque[messages.Prompt] = deque()
        self._questions: dict[str, tuple[Question, Pending]] = {}
        self._asked = self._lines = 0
        self._is_closed = False
        self._session: Session | None = None
        self._news = anyio.Event()

    @hookimpl
    def tool_sources(self) -> Sequence[ToolSource]:
        """The tools that the program registers."""
        return [self.own_tools]

    @hookimpl
    async def ask_user(self, question: Question) -> Decision | Answer | None:
        """Put a question to the program; without its answer the call is denied."""
        if self._is_closed:
            return None
        self._asked += 1
        key, pending = f"question-{self._asked}", Pending()
        self._questions[key] = (question, pending)
        # In a thread: a preview reads files.
        self.view.line("question", id=key, **await to_thread.run_sync(as_data, question))
        try:
            said: messages.AnswerMessage | None = await pending.wait()
        except BaseException:
            self.view.line("question_cancelled", id=key)
            raise
        finally:
            self._questions.pop(key, None)
        return self._decision(question, said) if said else None

    def _decision(self, question: Question, said: messages.AnswerMessage) -> Decision | Answer:
        if said.decision == "deny":
            return Deny(f"The user denied it and said: {said.reason}" if said.reason else "The user denied it.")
        if said.keep_rules and question.rules:
            try:
                self.view.line("rules_kept", rules=list(question.rules), where=question.keep_rules())
            except SettingsError as error:
                self.view.line("notice", message=f"The rules were not saved: {error}", data={})
        allow = Allow("Approved by the program.", layer="ask")
        return allow if said.input is None else Answer(allow, input=said.input)

    async def converse(self, session: Session) -> int:
        """Answer prompts until the program ends its input. Returns the exit code of the last one."""
        from pegboard_cli.run_command import finish  # It imports this module for its own need.

        self._session, code = session, OK
        read_lines(self._hear, self._close)
        while (prompt := await self._next()) is not None:
            try:
                outcome = await self._answer(session, prompt)
            except (ProviderError, SlashCommandError) as error:
                self.view.fail(str(error))
                code = PROVIDER if isinstance(error, ProviderError) else USAGE
                continue
            code = finish(outcome, session, self.view)
        return code

    async def _answer(self, session: Session, prompt: messages.Prompt) -> Outcome:
        if not prompt.content:
            return await answer_prompt(session, prompt.text)
        try:
            return await session.run(prompt.content)
        except (TypeError, ValueError, KeyError) as error:
            self._complain(f"prompt: the content cannot be used: {error}.")
            return Outcome("", "blocked", 0)

    async def _next(self) -> messages.Prompt | None:
        while not self._prompts:
            if self._is_closed:
                return None
            self._news = anyio.Event()
            await self._news.wait()
        return self._prompts.popleft()

    def _hear(self, line: bytes | None) -> None:
        """One line. Whatever is wrong with it, the conversation goes on."""
        self._lines += 1
        try:
            if line is None:
                raise ValueError(f"This line has more than {LONGEST:,} bytes.")
            self._take(messages.parse(line))
        except (ValueError, DefinitionError, SettingsError) as error:
            self._complain(str(error))

    def _complain(self, words: str) -> None:
        self.view.line("input_error", line=self._lines, message=words)

    def _take(self, message: messages.AnyMessage) -> None:
        match message:
            case messages.Prompt():
                self._prompts.append(message)
                self._news.set()
                if self._session and self._session.is_running:
                    self._session.emit("prompt_waiting")
            case messages.Interrupt():
                self._interrupt()
            case messages.AnswerMessage():
                self._answer_question(message)
            case messages.Filters():
                self._filter(message)
            case messages.RegisterTools():
                self.own_tools.register(message.tools)
                self.board.refresh()
            case messages.RemoveTools():
                self.own_tools.remove(message.names)
                self.board.refresh()
            case messages.ToolResult():
                self.own_tools.answer(message)

    def _interrupt(self) -> None:
        session = self._session
        if session and session.is_running:
            session.interrupt()
        elif session and self._prompts:  # It was written together with its prompt.
            self._prompts.popleft()
            self.view.finish(Outcome("", "interrupted", 0), session)
        else:
            raise ValueError("interrupt: no prompt is being answered.")

    def _filter(self, message: messages.Filters) -> None:
        pool = self.board.filter_tools(message.available, message.excluded)
        for notice in pool.notices:
            if notice.source == "filters":
                self.view.line("notice", message=str(notice), data={})

    def _answer_question(self, said: messages.AnswerMessage) -> None:
        if said.id not in self._questions:
            raise ValueError(f"answer: no question with the id {said.id!r} is open.")
        question, pending = self._questions[said.id]
        if question.form and said.decision == "allow":
            try:
                question.fill(said.input or {})
            except ValueError as error:
                raise ValueError(f"answer: {error} The question is still open.") from None
        del self._questions[said.id]
        pending.set(said)

    def stop(self) -> None:
        """Take no more prompts: no one would read the answers."""
        self._prompts.clear()
        self._close()

    def _close(self) -> None:
        """The program says no more: prompts that wait are still answered, and what it is asked has no answer."""
        self._is_closed = True
        self.own_tools.close()
        for _, pending in self._questions.values():
            pending.set(None)
        self._news.set()


def as_data(question: Question) -> dict[str, Any]:
    """A question as a program reads it; with the form to fill in, if it has one."""
    form = {"form": [_field_data(field) for field in question.form]} if question.form else {}
    return {
        **form,
        "call": question.call.id,
        "name": question.call.name,
        "input": question.input,
        "description": question.description,
        "reason": question.decision.reason,
        "layer": question.decision.layer,
        "rules": list(question.rules),
        "preview": question.preview,
        "agent": question.agent,
    }


def _field_data(field: FormField) -> dict[str, Any]:
    """A field without what it does not say."""
    data = {name: value for name, value in asdict(field).items() if value or (name == "default" and value is not None)}
    if field.choices:
        data["choices"] = [{name: word for name, word in asdict(choice).items() if word} for choice in field.choices]
    return {**data, "required": field.required}
