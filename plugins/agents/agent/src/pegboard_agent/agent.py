"""Start a sub-agent for a task, or resume one."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from pegboard import Context, Facts, Input, Part, Tool, ToolError
from pegboard.wording import did_you_mean
from pegboard_agent.catalogue import catalogue, listing
from pegboard_agent.frontmatter import NAME
from pegboard_agent.kinds import ALIASES, BUILT_IN_SOURCE, GENERAL_KIND
from pegboard_agent.models import choose_model
from pegboard_agent.service import SubAgentRequest, SubAgentState, agents_service, find_agents_service
from pegboard_agent.typed import check_schema
from pegboard_session import AgentDefinition
from pegboard_worktrees import folder_of

DEFAULT_KIND = GENERAL_KIND


class AgentInput(Input):
    description: str
    """The task in three to five words, shown to the user."""
    prompt: str
    """The whole task. The agent knows nothing of this conversation: include what it needs, and say what to report."""
    subagent_type: str | None = None
    """The kind of agent; default: general-purpose."""
    model: str | None = None
    """The model to use; default: the definition's, or yours."""
    run_in_background: bool | None = None
    """Return at once; you are told when the agent has finished."""
    name: str | None = None
    """A name to resume this agent by later; unique in the session."""
    resume: str | None = None
    """The id or name of a finished agent: the prompt continues its conversation."""
    isolation: Literal["worktree", "remote"] | None = None
    """worktree: work in a separate git worktree, on a new branch that is kept if anything changed."""
    max_turns: Annotated[int, Field(ge=1)] | None = None
    """The maximum number of requests it may make."""
    timeout: Annotated[float, Field(gt=0)] | None = None
    """Seconds until it is stopped; what it has by then is returned."""
    output_schema: dict[str, Any] | None = None
    """A JSON Schema: the agent answers with a value that matches it."""
    tools: list[str] | None = None
    """Restrict it to these of its tools."""
    disallowed_tools: list[str] | None = None
    """Tools that it must not use."""
    cwd: Path | None = None
    """The folder it works in, inside the working directories."""
    team_name: str | None = None
    """Ignored."""
    mode: str | None = None
    """Ignored: an agent has its parent's permission mode, or a stricter one."""


class AgentOutput(BaseModel):
    status: Literal["completed", "async_launched"]
    agent_id: str
    agent_type: str
    description: str = ""
    prompt: str = ""
    content: str = ""
    stopped_by: str = ""
    """`end`, or the limit that stopped it: `max_turns`, `timeout`, `token_budget`, `cost_budget` and so on."""
    result: Any = None
    """The value that matches `output_schema`."""
    resolved_model: str = ""
    total_tool_use_count: int = 0
    total_duration_ms: float = 0.0
    total_tokens: int = 0
    total_cost: float | None = None
    """In the currency of the setting `prices`; None where a request had no known price."""
    usage: dict[str, Any] = {}
    tool_stats: dict[str, Any] = {}
    worktree_path: str | None = None
    worktree_branch: str | None = None
    output_file: str | None = None
    """The file with the full report, if it was cut, or with the log of a background agent."""
    task_id: str | None = None
    warnings: list[str] = []


class Agent(Tool[AgentInput, AgentOutput]):
    """Hand a task to a sub-agent. It works on its own in a fresh conversation and returns one report.

    Use it for work that would fill your context, such as a broad search, and for independent tasks: several calls in
    one message run at the same time. It has at most your tools and your permissions, and cannot ask questions.
    Its report is not shown to the user. It was written by another model: check what matters.
    Agents that write to the same files at once conflict: give each isolation="worktree".
    """

    aliases = ("Task",)
    search_hint = "delegate task subagent parallel background"
    rule_subject = "name"
    rule_parameter = "subagent_type"
    open_world = False
    max_result_chars = None  # The report is cut at its own limit instead of to the usual short preview.

    def facts(self, args: AgentInput, ctx: Context, /) -> Facts:
        kind = args.subagent_type or DEFAULT_KIND
        if known := self._resumed(args, ctx):
            kind = known.kind
        parts = (_part(kind, self._kind(kind, ctx)),)
        if self._makes_worktree(args, kind, ctx):
            place = folder_of(Path(ctx.settings.root)) / (args.name or kind)
            reason = "Agent would create a git worktree and a branch."
            return Facts(concurrency_safe=True, open_world=False, writes=(place,), parts=parts, reason=reason)
        return Facts(read_only=True, concurrency_safe=True, open_world=False, parts=parts)

    def validate_input(self, args: AgentInput, /) -> str | None:
        if not args.prompt.strip():
            return "prompt is empty. Say what the agent should do."
        if args.name is not None and not NAME.fullmatch(args.name):
            return f"name must be 1 to 64 letters, digits, dots, _ and -, got {args.name!r}."
        fixed = ("subagent_type", "name", "tools", "disallowed_tools", "cwd", "isolation", "model")
        given = [key for key in fixed if getattr(args, key) is not None]
        if args.resume and given:
            return f"a resumed agent keeps the options it was started with; leave out {', '.join(given)}."
        if args.cwd is not None and args.isolation:
            return "cwd and isolation cannot be combined: an isolated agent works in its worktree."
        return None

    async def call(self, args: AgentInput, ctx: Context, /) -> AgentOutput:
        from pegboard_agent.agent_run import AgentRun  # Only a call needs it: git, background work and files.

        if args.isolation == "remote":
            raise ToolError("isolation=remote is not supported. Use worktree, or leave it out.", code="unsupported")
        if args.output_schema is not None:
            check_schema(args.output_schema)
        agents = agents_service(ctx)
        seconds = args.timeout or ctx.settings.get("agents.timeoutSeconds")
        if args.resume:
            child = agents.resume(args.resume)
            job = AgentRun(child, args, ctx, seconds, isolated=child.workspace is not None)
            return await job.start(background=bool(args.run_in_background))
        kind = self._kind(args.subagent_type or DEFAULT_KIND, ctx)
        if kind is None:
            raise ToolError(self._no_such_kind(args.subagent_type or DEFAULT_KIND, ctx), code="not_found")
        background = kind.background if args.run_in_background is None else args.run_in_background
        model, warnings = choose_model(args.model, kind.model, ctx.settings, os.environ, agents.model_aliases())
        child = agents.prepare(_request(args, kind, model, ctx))
        job = AgentRun(child, args, ctx, seconds, warnings=warnings, isolated=self._isolated(args, kind))
        return await job.start(background=background)

    def content(self, value: AgentOutput, /) -> str:
        from pegboard_agent.reports import worded  # Only a result needs it, and it imports the output models.

        return worded(value)

    def describe(self, args: AgentInput, /) -> str:
        what = (
            f"Resume the agent {args.resume}" if args.resume else f"Start a {args.subagent_type or DEFAULT_KIND} agent"
        )
        return f"{what}: {args.description}"

    def preview(self, args: AgentInput, ctx: Context, /) -> str | None:
        return args.prompt

    @staticmethod
    def _resumed(args: AgentInput, ctx: Context) -> SubAgentState | None:
        agents = find_agents_service(ctx)
        known = agents.subagents() if args.resume and agents else ()
        return next((agent for agent in known if args.resume in (agent.id, agent.name)), None)

    def _makes_worktree(self, args: AgentInput, kind: str, ctx: Context) -> bool:
        if args.resume:
            known = self._resumed(args, ctx)
            return known is not None and known.workspace is not None and not known.workspace.exists()
        return self._isolated(args, self._kind(kind, ctx))

    @staticmethod
    def _isolated(args: AgentInput, kind: AgentDefinition | None) -> bool:
        return args.isolation == "worktree" or (kind is not None and kind.isolation == "worktree")

    @staticmethod
    def _kind(name: str, ctx: Context) -> AgentDefinition | None:
        agents = find_agents_service(ctx)
        registered = agents.registered() if agents else {}
        return catalogue(ctx.settings, registered).get(name)

    @staticmethod
    def _no_such_kind(name: str, ctx: Context) -> str:
        known = sorted(catalogue(ctx.settings, agents_service(ctx).registered()).kinds)
        return f"There is no kind of agent {name!r}.{did_you_mean(name, known)} The kinds are {', '.join(known)}."


def _part(name: str, kind: AgentDefinition | None) -> Part:
    """What rules see: the kind under its own name; a rule that denies or asks may use an alias."""
    meant = kind.name if kind else name
    other = {name, *(alias for alias, of in ALIASES.items() if of == meant)} - {meant}
    return Part(meant, also=tuple(sorted(other)), read_only=True)


def _request(args: AgentInput, kind: AgentDefinition, model: str | None, ctx: Context) -> SubAgentRequest:
    here = agents_service(ctx).tools()
    if kind.source == BUILT_IN_SOURCE and kind.tools is not None:
        # Tools that are not installed are ignored; if none is left, the error names the whole list.
        kind = replace(kind, tools=tuple(name for name in kind.tools if name in here) or kind.tools)
    if (kind.tools is None or "Agent" in " ".join(kind.tools)) and "Agent" in here:
        # Only a person's session is told about the kinds when it opens; a child that may start agents needs them too.
        kinds = listing(catalogue(ctx.settings, agents_service(ctx).registered()))
        kind = replace(kind, prompt=f"{kind.prompt}\n\n{kinds}".strip())
    return SubAgentRequest(
        kind,
        name=args.name or "",
        description=args.description,
        model=model,
        tools=None if args.tools is None else tuple(args.tools),
        disallowed_tools=tuple(args.disallowed_tools or ()),
        max_turns=args.max_turns,
        cwd=args.cwd,
    )
