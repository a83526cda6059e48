"""Plan before anything changes: enter the mode plan, and leave it with a plan that the person has approved."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints
from pydantic.alias_generators import to_camel

from pegboard import (
    Allow,
    Answer,
    Ask,
    Call,
    Change,
    Choice,
    Context,
    FormField,
    Input,
    Output,
    Question,
    Tool,
    ToolError,
    put_question,
)  # fmt: skip
from pegboard.wording import counted
from pegboard_dialog.plans import IN_PLAN_MODE, PLAN, plans_of
from pegboard_dialog.terminal import terminal_markdown

EDITS = "acceptEdits"
APPROVE, ACCEPT_EDITS, EDIT, REFUSE = "approve", "accept_edits", "edit", "refuse"
SAY_WHY = "No, and tell the model what to change"
ASKS_NO_ONE = "dontAsk"
NO_PLAN = f"In the mode {ASKS_NO_ONE} no one is asked, so no one could approve a plan. Go on without plan mode."
NO_ONE = "No one can approve a plan here, so the mode is still plan. Give the plan as your answer and stop."


class EnterPlanModeInput(Input):
    pass


class EnterPlanMode(Tool[EnterPlanModeInput, str]):
    """Switch to plan mode: you read, search and ask, and nothing changes until the user has approved your plan.

    Use it before work that touches many files, that can be done in several ways, or whose requirements are unclear.
    Do not use it for a small change, or for a question that needs no change at all.
    """

    read_only = True
    open_world = False
    subagents = False
    search_hint = "plan mode design before implementation"

    async def call(self, args: EnterPlanModeInput, ctx: Context, /) -> Output[str]:
        plans = plans_of(ctx)
        if ctx.mode == PLAN:
            raise ToolError("The mode is plan already. When the plan is ready, call ExitPlanMode.")
        if ctx.mode == ASKS_NO_ONE:  # In the mode plan a person would be asked after all, and only one leads out of it.
            raise ToolError(NO_PLAN, code="unsupported", remedy="")
        plans.enter(ctx.mode)
        return Output(IN_PLAN_MODE, change=Change(mode=PLAN))

    def describe(self, args: EnterPlanModeInput, /) -> str:
        return "Plan before anything changes"

    def render_result(self, value: str, /) -> object | None:
        return "Planning: nothing changes until you have approved a plan."


class ExitPlanModeInput(Input):
    plan: Annotated[str, StringConstraints(min_length=1, max_length=100_000, strip_whitespace=True)]
    """The whole plan in Markdown: what you will do, in which files, and how you will check it."""


class ExitPlanModeOutput(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)

    plan: str
    approved: bool = True
    plan_was_edited: bool = False
    file_path: str = ""
    """Where the approved plan is kept."""
    mode: str = PLAN
    """The permission mode from now on."""


class ExitPlanMode(Tool[ExitPlanModeInput, ExitPlanModeOutput]):
    """Show the user your plan and ask for approval. Once it is approved, plan mode ends and you may begin.

    The user may edit the plan: then the edited one counts. Call it only in plan mode, and only when the plan is
    complete. Ask open questions with AskUserQuestion first.
    """

    read_only = True
    open_world = False
    subagents = False
    search_hint = "leave plan mode approve plan begin implementation"

    async def call(self, args: ExitPlanModeInput, ctx: Context, /) -> Output[ExitPlanModeOutput]:
        plans = plans_of(ctx)
        if ctx.mode != PLAN:
            raise ToolError(f"The mode is {ctx.mode}, not plan. There is nothing to approve: go on with the work.")
        answer = await put_question(_question(self, args, ctx, plans.mode_before), ctx)
        if answer is None:
            raise ToolError(NO_ONE, code="unsupported", remedy="")
        filled = dict(answer.input or {})
        decision = str(filled.get("decision", REFUSE))
        if not isinstance(answer.decision, Allow) or decision not in (APPROVE, ACCEPT_EDITS, EDIT):
            said = _refusal(answer, decision)
            plans.refuse(args.plan, said)
            raise ToolError(
                f"{said} The mode is still plan: change the plan and call ExitPlanMode again, or ask what is wanted.",
                code="permission_denied",
                remedy="",
                value=ExitPlanModeOutput(plan=args.plan, approved=False),
            )
        plan = str(filled.get("plan", args.plan)).strip()
        mode = EDITS if decision == ACCEPT_EDITS else str(filled.get("mode", plans.mode_before))
        edited = plan != args.plan
        file = plans.approve(plan, edited=edited, mode=mode)
        value = ExitPlanModeOutput(plan=plan, plan_was_edited=edited, file_path=file, mode=mode)
        return Output(value, change=Change(mode=mode))

    def content(self, value: ExitPlanModeOutput, /) -> str:
        kept = f" It is kept in {value.file_path}." if value.file_path else ""
        begin = f"The mode is {value.mode} now. Begin with the work.{kept}"
        if not value.plan_was_edited:
            return f"The user has approved the plan. {begin}"
        return f"The user has edited the plan and approved this version. {begin}\n\n{value.plan}"

    def describe(self, args: ExitPlanModeInput, /) -> str:
        return f"Ask you to approve a plan of {counted(args.plan.count(chr(10)) + 1, 'line')}"

    def render_result(self, value: ExitPlanModeOutput, /) -> object | None:
        return terminal_markdown(value.plan)


def _question(tool: ExitPlanMode, args: ExitPlanModeInput, ctx: Context, before: str) -> Question:
    may_accept = before == "default" and ctx.policy is not None and ctx.policy.has_mode(EDITS)
    return Question(
        Call(ctx.call_id, tool.name, {"plan": args.plan}),
        Ask("A plan needs your approval.", layer="forced"),
        "This is the plan:",
        {"plan": args.plan},
        tool=tool,
        args=args,
        form=_form(args.plan, before, may_accept=may_accept),
        read=lambda given: _read(given, may_accept=may_accept),
        make_preview=lambda: args.plan,
    )


def _form(plan: str, before: str, *, may_accept: bool) -> tuple[FormField, ...]:
    edits = (Choice(ACCEPT_EDITS, "Yes, and accept all edits in this session"),) if may_accept else ()
    choices = (
        Choice(APPROVE, f"Yes, and go on in the mode {before}"),
        *edits,
        Choice(EDIT, "Yes, after I have edited the plan"),
        Choice(REFUSE, "No, keep planning"),
    )
    edited = ("decision", EDIT)
    form = (
        FormField("decision", "Shall the model go ahead with this plan?", "Plan", choices=choices, own_words=SAY_WHY),
        FormField("plan", "The plan:", default=plan, many_lines=True, only_if=edited),
    )
    if not may_accept:
        return form
    modes = (Choice(before, f"In the mode {before}"), Choice(EDITS, "Accept all edits in this session"))
    how = FormField("mode", "How shall the model go on?", "Mode", choices=modes, default=before, only_if=edited)
    return (*form, how)


def _read(given: Any, *, may_accept: bool) -> dict[str, Any]:
    """What a program may leave out: a bare yes approves, another plan is an edited one, a mode says how to go on."""
    by_itself = EDIT if "plan" in given else ACCEPT_EDITS if given.get("mode") == EDITS else APPROVE
    decision = given.get("decision", by_itself)
    if not may_accept and (decision == ACCEPT_EDITS or given.get("mode") == EDITS):
        raise ValueError(f"The mode {EDITS} cannot be chosen here.")
    return {**given, "decision": decision}


def _refusal(answer: Answer, decision: str) -> str:
    if not isinstance(answer.decision, Allow):
        return f"The plan was not approved. {answer.decision.reason}"
    words = "" if decision == REFUSE else f" and said: {decision}"
    return f"The user did not approve the plan{words}{'' if words and words[-1] in '.!?' else '.'}"
