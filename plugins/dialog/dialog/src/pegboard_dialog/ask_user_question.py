"""Ask the person up to four questions at once."""

from __future__ import annotations

from typing import Annotated, Any

import anyio
from pydantic import ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from pegboard import Allow, Ask, Call, Choice, Context, FormField, Input, Question, Tool, ToolError, put_question
from pegboard.wording import counted
from pegboard_dialog.terminal import terminal_rows

OTHER = "Other (in your own words)"
Words = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]

NO_ONE = (
    "No one can answer questions here. Decide yourself with what you know, say what you assumed, and go on; or ask at "
    "the end of your answer."
)


class DialogInput(Input):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)


class Option(DialogInput):
    label: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    """The answer in one to five words."""
    description: Annotated[str, StringConstraints(max_length=1_000)] = ""
    """What choosing it means."""
    preview: Annotated[str, StringConstraints(max_length=10_000)] = ""
    """Text to look at before choosing, such as code, a drawing or a configuration."""


class AskedQuestion(DialogInput):
    question: Words
    """The whole question, as a sentence."""
    header: Annotated[str, StringConstraints(max_length=30)] = ""
    """The topic in a word or two."""
    options: Annotated[list[Option], Field(min_length=2, max_length=4)]
    """Two to four answers, the one you recommend first. The person can always answer in their own words instead."""
    multi_select: bool = False
    """Whether several options may be chosen."""


class AskUserQuestionInput(DialogInput):
    questions: Annotated[list[AskedQuestion], Field(min_length=1, max_length=4)]
    """One to four questions."""


class AskUserQuestionOutput(DialogInput):
    questions: list[AskedQuestion]
    answers: dict[str, str]
    """The answer to each question; several labels are joined by commas."""
    own_words: list[str] = Field(default_factory=list)
    """The questions that were answered in the person's own words."""


class AskUserQuestion(Tool[AskUserQuestionInput, AskUserQuestionOutput]):
    """Ask the user one to four questions with answers to choose from.

    Use it when the next step depends on what only the user can decide: a preference, a choice between approaches, an
    unclear requirement. Do not ask what you can find out yourself, and do not add an option for "other": it is always
    there. In plan mode, ask for approval of a plan with ExitPlanMode, not with this.
    """

    read_only = True
    open_world = False
    subagents = False
    search_hint = "ask user question choose options clarify preference"

    def validate_input(self, args: AskUserQuestionInput, /) -> str | None:
        asked = [question.question for question in args.questions]
        if len(set(asked)) < len(asked):
            return "questions must differ from one another."
        for question in args.questions:
            labels = [option.label for option in question.options]
            if len(set(labels)) < len(labels):
                return f"the options of {question.question!r} must have different labels."
            if question.multi_select and any("," in label for label in labels):
                return f"{question.question!r} is answered with labels joined by commas: its labels must have none."
        return None

    async def call(self, args: AskUserQuestionInput, ctx: Context, /) -> AskUserQuestionOutput:
        form = tuple(_field(question) for question in args.questions)
        seen = args.model_dump(mode="json", by_alias=True, exclude_unset=True)
        question = Question(
            Call(ctx.call_id, self.name, seen),
            Ask("The model asks you something.", layer="question"),
            f"The model has {counted(len(form), 'question')} for you.",
            seen,
            tool=self,
            args=args,
            form=form,
            read=lambda given: _read(form, given),
        )
        seconds = ctx.settings.get("dialog.timeout")
        with anyio.move_on_after(seconds) as waiting:
            answer = await put_question(question, ctx)
        if waiting.cancelled_caught:
            raise ToolError(f"The user did not answer within {seconds:g} s. {NO_ONE}", code="timeout", remedy="")
        if answer is None:
            raise ToolError(NO_ONE, code="unsupported", remedy="")
        if not isinstance(answer.decision, Allow):
            reason = f"{answer.decision.reason} Go on without the answers, or stop and let the user say what to do."
            raise ToolError(f"The questions were not answered. {reason}", code="cancelled", remedy="")
        return _output(args, dict(answer.input or {}))

    def content(self, value: AskUserQuestionOutput, /) -> str:
        rows = [
            f"- {asked}: {answer}{' (in their own words)' if asked in value.own_words else ''}"
            for asked, answer in value.answers.items()
        ]
        return "\n".join(["The user answered:", *rows])

    def describe(self, args: AskUserQuestionInput, /) -> str:
        return f"Ask you {counted(len(args.questions), 'question')}"

    def render_result(self, value: AskUserQuestionOutput, /) -> object | None:
        return terminal_rows([(f"{asked} ", answer) for asked, answer in value.answers.items()])


def _field(question: AskedQuestion) -> FormField:
    choices = tuple(
        Choice(option.label, description=option.description, preview=option.preview) for option in question.options
    )
    return FormField(
        question.question,
        question.question,
        question.header,
        choices=choices,
        multiple=question.multi_select,
        own_words=OTHER,
    )


def _read(form: tuple[FormField, ...], given: Any) -> dict[str, Any]:
    """The answers by question, or under `answers` as other hosts write them, several labels joined by commas."""
    inner = given.get("answers")
    answers = inner if isinstance(inner, dict) and "answers" not in [field.name for field in form] else given
    return {field.name: _value(field, answers[field.name]) for field in form if field.name in answers}


def _value(field: FormField, value: Any) -> Any:
    if not field.multiple or not isinstance(value, str):
        return value[0] if isinstance(value, list) and len(value) == 1 and not field.multiple else value
    known = {choice.value for choice in field.choices}
    parts = [part.strip() for part in value.split(",")]
    return parts if known.issuperset(parts) else [value]


def _output(args: AskUserQuestionInput, filled: dict[str, Any]) -> AskUserQuestionOutput:
    answers, own_words = dict[str, str](), list[str]()
    for question in args.questions:
        given = filled[question.question]
        chosen = given if isinstance(given, list) else [given]
        answers[question.question] = ", ".join(chosen)
        if not {option.label for option in question.options}.issuperset(chosen):
            own_words.append(question.question)
    return AskUserQuestionOutput(questions=args.questions, answers=answers, own_words=own_words)
