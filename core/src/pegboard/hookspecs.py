"""Every hook, in the order in which they fire.

A plugin is a module with functions marked `@hookimpl`. Each takes any of the parameters listed here, by name, and may
leave out the rest. Hooks that may await can be written as `def` or `async def`; all others must be `def`. There are no
hook wrappers: to surround execution, implement `wrap_execute`. Among plugins the order is
(priority, distribution, entry name); give `@hookimpl(priority=-10)` to come earlier.
"""
# mypy: disable-error-code="empty-body"
# pyright: reportReturnType=false

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, overload

import pluggy

from pegboard.calls import Block, Call, Decision, Result
from pegboard.context import Context
from pegboard.contract import Tool
from pegboard.extensions import (
    After,
    AgentDefinition,
    Answer,
    Before,
    Event,
    Profile,
    Prompted,
    Provider,
    Question,
    ToolSource,
)
from pegboard.inputs import Input
from pegboard.services import ProcessSpec
from pegboard.settings.layers import Settings

AnyTool: TypeAlias = Tool[Any, Any]
Execute: TypeAlias = Callable[[Any, Context], Awaitable[Any]]
F = TypeVar("F", bound=Callable[..., Any])

_spec = pluggy.HookspecMarker("pegboard")
_impl = pluggy.HookimplMarker("pegboard")


@overload
def hookimpl(function: F, /) -> F: ...
@overload
def hookimpl(*, priority: int = 0, **options: Any) -> Callable[[F], F]: ...
def hookimpl(function: Any = None, /, *, priority: int = 0, **options: Any) -> Any:
    """Mark a function as a hook. A lower `priority` comes earlier; the default is 0."""

    def mark(function: F) -> F:
        function.pegboard_priority = priority  # type: ignore[attr-defined]
        return _impl(function, **options)

    return mark if function is None else mark(function)


class Hooks:
    """The hook specifications. The class is never instantiated; pluggy reads it."""

    @_spec
    def register_tools(self) -> Sequence[AnyTool]:
        """Bring tools.

        Called once, when the plugin is loaded. Answers are collected; a name that two plugins claim stays with the
        built-in, and settings may choose. The answer must not depend on the machine or the moment, because it is
        kept in an index; use `tool_sources` for tools that come and go. May not await.

        Example::

            @hookimpl
            def register_tools():
                return [WordCount]
        """

    @_spec
    def register_providers(self, settings: Settings) -> Sequence[Provider]:
        """Bring models.

        Called when a session looks for its provider. Answers are collected by provider name. May not await.

        :param settings: the effective settings.

        Example::

            @hookimpl
            def register_providers():
                return [Echo()]
        """

    @_spec
    def register_agents(self) -> Sequence[AgentDefinition]:
        """Bring kinds of sub-agents.

        Called once, at assembly. Answers are collected by agent name. May not await.

        Example::

            @hookimpl
            def register_agents():
                return [AgentDefinition("reviewer", "Reads a change and says what is wrong with it.")]
        """

    @_spec
    def find_agents(
        self, settings: Settings, registered: Mapping[str, AgentDefinition]
    ) -> Mapping[str, AgentDefinition]:
        """Find the kinds of agents that a user or a project has written down.

        Called when a person wants to talk to one, as with `pegboard run --agent`. Answers are put together by name;
        among equal names the first counts, before `registered`. May not await.

        :param settings: the effective settings.
        :param registered: what `register_agents` has brought, by name.

        Example::

            @hookimpl
            def find_agents(settings, registered):
                return {"scribe": AgentDefinition("scribe", "Writes minutes.", "Write down what was decided.")}
        """

    @_spec
    def tool_sources(self, settings: Settings) -> Sequence[ToolSource]:
        """Bring places that tools come from at run time.

        Called once, at assembly. Before each request the `version` of every source is compared and changed sources
        are asked again; one that fails keeps its last good tools. May not await.

        :param settings: the effective settings.

        Example::

            @hookimpl
            def tool_sources(settings):
                return [Clock()]
        """

    @_spec
    def start_session(
        self, session_id: str, source: str, transcript: Path | None, ctx: Context
    ) -> str | None | Awaitable[str | None]:
        """Tell the model something before the first prompt.

        Called once for each session, when it opens. Everyone is asked; what they return stands before the first
        prompt. An exception is noted and stops nothing. May await.

        :param session_id: the name of the session.
        :param source: `startup` for a new conversation, `resume` for one that goes on.
        :param transcript: the file that the conversation is written to, if there is one.
        :param ctx: where the session runs; `ctx.report` reaches the person.

        Example::

            @hookimpl
            def start_session(ctx):
                return f"The branch is {(ctx.cwd / '.git/HEAD').read_text().strip()}."
        """

    @_spec
    def submit_prompt(self, prompt: str, ctx: Context) -> Prompted | None | Awaitable[Prompted | None]:
        """Look at a prompt before the model does: add to it, or keep it back.

        Called for each prompt. Everyone is asked; the first `block` counts, all `context` follows the prompt. An
        exception blocks. May await.

        :param prompt: what the person wrote.
        :param ctx: where the session runs.

        Example::

            @hookimpl
            def submit_prompt(prompt):
                if "BEGIN PRIVATE KEY" in prompt:
                    return Prompted(block="There is a private key in this prompt.")
        """

    @_spec
    def edit_definition(self, definition: dict[str, Any], profile: Profile) -> dict[str, Any] | None:
        r"""Change what the model sees of a tool.

        Called for each tool, once per pool version and model profile. Chained: each plugin gets what the one before
        it returned; None changes nothing. The name must stay. May not await.

        :param definition: name, description and input_schema; a copy that may be changed.
        :param profile: the model that will be asked.

        Example::

            @hookimpl
            def edit_definition(definition, profile):
                if profile.model.startswith("small-"):
                    return {**definition, "description": definition["description"].split("\n")[0]}
        """

    @_spec
    def validate_input(self, tool: AnyTool, args: Input, ctx: Context) -> str | None:
        """Refuse an input that fits the schema.

        Called for each call, after the schema. The first sentence returned is the refusal; None has no objection.
        An exception refuses too. May not await.

        :param tool: the tool.
        :param args: its validated input.
        :param ctx: where the call runs.

        Example::

            @hookimpl
            def validate_input(tool, args):
                if tool.name == "Read" and args.file_path.suffix == ".pem":
                    return "Keys are not read here."
        """

    @_spec
    def before_call(
        self, tool: AnyTool, call: Call, args: Input, ctx: Context
    ) -> Before | None | Awaitable[Before | None]:
        """Look at a call before it is permitted; rewrite its input, or have a say.

        Called for each call. Chained: the next plugin sees the input the one before it left. A rewritten input is
        validated again and voids every earlier allow; deny and ask stick. An exception denies. May await.

        :param tool: the tool.
        :param call: what the model sent.
        :param args: the validated input.
        :param ctx: where the call runs.

        Example::

            @hookimpl
            def before_call(call, args):
                if call.name == "Read" and args.limit is None:
                    return Before(input={**args.model_dump(mode="json", exclude_none=True), "limit": 500})
        """

    @_spec
    def check_permission(
        self, tool: AnyTool, args: Input, ctx: Context
    ) -> Decision | None | Awaitable[Decision | None]:
        """Say whether a call may run.

        Called for each call, on its final input. Everyone is asked; deny beats ask beats allow, whatever the order.
        None is no opinion. An exception denies. May await.

        :param tool: the tool.
        :param args: its validated input.
        :param ctx: where the call runs.

        Example::

            @hookimpl
            async def check_permission(tool, args, ctx):
                if ctx.cwd.name == "production":
                    return Deny("Nothing runs in production.")
        """

    @_spec
    def classify_call(self, tool: AnyTool, args: Input, ctx: Context) -> Decision | None | Awaitable[Decision | None]:
        """Judge a call that nobody else has an opinion on.

        Called only in the mode `auto`, as the last and most expensive step. The strictest answer counts; None,
        an exception or a timeout mean ask. May await.

        :param tool: the tool.
        :param args: its validated input.
        :param ctx: where the call runs.

        Example::

            @hookimpl
            async def classify_call(tool, args):
                return Allow("A harmless name.") if tool.name.startswith("List") else None
        """

    @_spec
    def ask_user(
        self, question: Question, call: Call, ctx: Context
    ) -> Decision | Answer | None | Awaitable[Decision | Answer | None]:
        """Put a question to a person.

        Called when the decision is ask. The first answer counts; None passes the question on; when nobody answers,
        the call is denied. An `Answer` with another input is validated and judged again; if that asks, the hooks after
        this one are asked. May await.

        :param question: the call as it will run, and why it asks.
        :param call: what the model sent.
        :param ctx: where the call runs.

        Example::

            @hookimpl
            async def ask_user(question):
                return Allow("by hand") if input(f"{question.description}? ") == "y" else Deny("by hand")
        """

    @_spec
    def wrap_execute(self, tool: AnyTool, execute: Execute) -> Execute | None:
        """Take over how a tool runs: time it, repeat it, cache it, send it elsewhere.

        Called once for each tool, at assembly; the callable returned is awaited at each call, after permission.
        Composed by order: the first plugin is outermost. None leaves the tool alone. The hook itself may not await.

        :param tool: the tool.
        :param execute: what would run without this plugin: `await execute(args, ctx)`.

        Example::

            @hookimpl
            def wrap_execute(tool, execute):
                async def twice(args, ctx):
                    try:
                        return await execute(args, ctx)
                    except ConnectionError:
                        return await execute(args, ctx)
                return twice if tool.name == "WebFetch" else None
        """

    @_spec
    def wrap_process(self, spec: ProcessSpec, ctx: Context) -> ProcessSpec | None | Awaitable[ProcessSpec | None]:
        """Change a process before it starts: this is where a sandbox lives.

        Called for each process that a tool or a user hook starts through `ctx.processes`. Chained; None changes
        nothing. An exception keeps the process from starting. May await.

        :param spec: command, folder, environment, writable folders, network.
        :param ctx: where the call runs.

        Example::

            @hookimpl
            def wrap_process(spec):
                return replace(spec, argv=("nice", *spec.argv))
        """

    @_spec
    def after_call(
        self, tool: AnyTool, call: Call, args: Input, value: Any, ms: float, ctx: Context
    ) -> After | None | Awaitable[After | None]:
        """Look at what a tool returned; replace it, or add a remark for the model.

        Called for each call that ran. Chained: the next plugin sees the value the one before it left. A replaced
        value must fit the tool's output type. May await.

        :param tool: the tool.
        :param call: what the model sent.
        :param args: the input that it ran with.
        :param value: what the tool returned.
        :param ms: how many milliseconds the tool itself took.
        :param ctx: where the call ran.

        Example::

            @hookimpl
            def after_call(call, value):
                if call.name == "Read" and "BEGIN PRIVATE KEY" in str(value):
                    return After("(a private key, withheld)", replaces=True)
        """

    @_spec
    def after_failure(
        self, tool: AnyTool | None, call: Call, args: Input | None, result: Result, ctx: Context
    ) -> After | None | Awaitable[After | None]:
        """Look at a call that did not come to its end; add a remark for the model.

        Called for each call that failed, and for each that was denied: then `result.decision` is a `Deny`. Everyone
        is asked; `context` and `stop` count, a value does not. An exception is noted and changes nothing. Calls that
        were cancelled are not shown. May await.

        :param tool: the tool; None when there is no such tool.
        :param call: what the model sent.
        :param args: the input as far as it was valid; None when it was not.
        :param result: what the model is about to read.
        :param ctx: where the call ran.

        Example::

            @hookimpl
            def after_failure(call, result):
                if result.code == "timeout":
                    return After(context="The machine is busy; try a smaller step.")
        """

    @_spec
    def serialize_result(self, tool: AnyTool, value: Any) -> Sequence[Block] | None:
        """Turn a value into what the model reads.

        Called for each call that ran. The first answer that is not None counts; the core's own way comes last.
        May not await.

        :param tool: the tool.
        :param value: what it returned.

        Example::

            @hookimpl
            def serialize_result(tool, value):
                if isinstance(value, datetime):
                    return [Text(value.isoformat())]
        """

    @_spec
    def before_stop(self, text: str, ctx: Context) -> str | None | Awaitable[str | None]:
        """Send the model back to work.

        Called when the model has nothing left to call and would hand back to the person. Everyone is asked; the
        reasons returned become the next message, and the turns they cost count against `maxTurns`. An exception is
        noted and stops nothing. May await.

        :param text: what the model said last.
        :param ctx: where the session runs.

        Example::

            @hookimpl
            def before_stop(text, ctx):
                if (ctx.cwd / "TODO").exists():
                    return "There are open points in the file TODO."
        """

    @_spec
    def end_session(self, session_id: str, reason: str, ctx: Context) -> None | Awaitable[None]:
        """Tidy up after a session.

        Called once for each session, when it closes and before its processes end. Everyone is told; an exception is
        noted. A session that is broken off gives all of them five seconds together. May await.

        :param session_id: the name of the session.
        :param reason: `finished`, or `broken off` when an exception or an interrupt ends it.
        :param ctx: where the session ran.

        Example::

            @hookimpl
            def end_session(session_id, reason):
                print(session_id, "is over:", reason)
        """

    @_spec
    def diagnose(self, settings: Settings) -> Sequence[str]:
        """Say what is wrong with the settings of this plugin, for `pegboard doctor`.

        Called only by the command, without a board. Answers are collected; each is a finding that names the file and
        what to do, or a `pegboard.extensions.Fine` that says what is there. May not await.

        :param settings: the effective settings.

        Example::

            @hookimpl
            def diagnose(settings):
                return [] if shutil.which("bwrap") else ["bwrap is not installed. Install bubblewrap."]
        """

    @_spec
    def observe(self, event: Event) -> None:
        """Learn what happens: calls started and finished, decisions, changed tools, progress.

        Called always. Everyone is told, each on its own: an exception in one is noted and hurts nobody. May not await.

        :param event: its `kind` says what happened.

        Example::

            @hookimpl
            def observe(event):
                if event.kind == "call_finished":
                    print(event.data["name"], event.data["ms"])
        """


MAY_AWAIT = frozenset(
    {
        *("start_session", "submit_prompt", "before_call", "check_permission", "classify_call", "ask_user"),
        *("wrap_process", "after_call", "after_failure", "before_stop", "end_session"),
    }
)
"""Hooks whose implementations may be `async def`."""

NAMES = tuple(name for name in vars(Hooks) if not name.startswith("_"))
"""All hooks, in the order in which they fire."""
