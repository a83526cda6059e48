"""Every hook of the core, in the order in which they fire. Other distributions may specify further ones.

A plugin is a module with functions marked `@hookimpl`. Each takes any of the parameters listed here, by name, and may
leave out the rest. A hook that is specified with `async def` may await: implementations can be `def` or `async def`;
those of all others must be `def`. There are no hook wrappers: to surround execution, implement `wrap_execute`. Among
plugins the order is (priority, distribution, entry name); give `@hookimpl(priority=-10)` to come earlier.
The reference shows an example of each, from `docs/hook_examples.py`.
"""
# mypy: disable-error-code="empty-body"
# pyright: reportReturnType=false

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

import pluggy

from pegboard.calls import Block, Call, Decision, Result
from pegboard.context import Context
from pegboard.contract import Facts, Tool
from pegboard.extensions import After, Answer, Before, Event, Mode, Profile, Question, ToolInfo, ToolSource
from pegboard.settings import Notice, Settings

if TYPE_CHECKING:
    from pegboard.inputs import Input
    from pegboard.records import HookRecord
    from pegboard_processes import ProcessSpec

AnyTool: TypeAlias = Tool[Any, Any]
Opinions: TypeAlias = Decision | Sequence[Decision] | None
Execute: TypeAlias = Callable[[Any, Context], Awaitable[Any]]
F = TypeVar("F", bound=Callable[..., Any])

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
    """The hooks of the core. The class is never instantiated: it is read."""

    def register_tools(self) -> Sequence[AnyTool]:
        """Bring tools.

        Called once, when the plugin is loaded. Answers are collected; a name that two plugins claim stays with the
        built-in, and settings may choose. The answer must not depend on the machine or the moment, because it is
        kept in an index; use `tool_sources` for tools that come and go. May not await.
        """

    def register_services(self, settings: Settings, env: Mapping[str, str]) -> Mapping[str, object]:
        """Bring services that tools reach through their context.

        Called once for each board, when a context is first made. Answers are put together by name; among equal names
        the first plugin counts. `files` and `processes` become `ctx.files` and `ctx.processes`; every other name is
        reached with `ctx.service(name)`, so begin it with the name of your distribution. An application that hands
        its own services to `Board.load` is not asked. May not await.

        :param settings: the effective settings.
        :param env: the environment variables of the board.
        """

    def register_modes(self) -> Sequence[Mode]:
        """Bring permission modes.

        Called once, when the board is built. Answers are collected by name; of equal names the first counts, and the
        modes of the core (`default`, `plan`, `dontAsk`) cannot be replaced. May not await.
        """

    def record_decisions(self, settings: Settings, env: Mapping[str, str]) -> object | None:
        """Open a log of decisions.

        Called once for each board whose host wants its decisions recorded, with `Board.load(record=True)`; the command
        line does. Each object returned is one more plugin of that board, such as one with an `observe` of its own.
        None records nothing. May not await.

        :param settings: the effective settings.
        :param env: the environment variables of the board.
        """

    def check_tools(self, settings: Settings, tools: Mapping[str, ToolInfo]) -> Sequence[Notice]:
        """Say what is wrong with settings that speak of tools, now that the tools are known.

        Called when the pool is assembled, and by `pegboard doctor`. Answers are collected; a notice names file and
        line, and stops nothing. May not await.

        :param settings: the effective settings.
        :param tools: what each tool declares about rules, by every name and alias that means something here. Tools
            that are known but absent are among them.
        """

    def tool_sources(self, settings: Settings, env: Mapping[str, str]) -> Sequence[ToolSource]:
        """Bring places that tools come from at run time.

        Called once, at assembly. Before each request the `version` of every source is compared and changed sources
        are asked again; one that fails keeps its last good tools. May not await.

        :param settings: the effective settings.
        :param env: the environment variables of the board.
        """

    def edit_definition(self, definition: dict[str, Any], profile: Profile) -> dict[str, Any] | None:
        r"""Change what the model sees of a tool.

        Called for each tool, once per pool version and model profile. Chained: each plugin gets what the one before
        it returned; None changes nothing. The name must stay. May not await.

        :param definition: name, description and input_schema; a copy that may be changed.
        :param profile: the model that will be asked.
        """

    def validate_input(self, tool: AnyTool, args: Input, ctx: Context) -> str | None:
        """Refuse an input that fits the schema.

        Called for each call, after the schema. The first sentence returned is the refusal; None has no objection.
        An exception refuses too. May not await.

        :param tool: the tool.
        :param args: its validated input.
        :param ctx: where the call runs.
        """

    async def before_call(self, tool: AnyTool, call: Call, args: Input, ctx: Context) -> Before | None:
        """Look at a call before it is permitted; rewrite its input, or have a say.

        Called for each call. Chained: the next plugin sees the input the one before it left. A rewritten input is
        validated again and voids every earlier allow; deny and ask stick. An exception denies. May await.

        :param tool: the tool.
        :param call: what the model sent.
        :param args: the validated input.
        :param ctx: where the call runs.
        """

    async def check_permission(self, tool: AnyTool, args: Input, facts: Facts, ctx: Context) -> Opinions:
        """Say whether a call may run.

        Called for each call, on its final input. Everyone is asked; deny beats ask beats allow, whatever the order.
        One decision, several, or None for no opinion. `pegboard why`, events and the audit log name the plugin and
        this hook as the source of a decision that names none itself. An exception denies. May await.

        :param tool: the tool.
        :param args: its validated input.
        :param facts: what the call would do; `facts.paths` are its paths, resolved.
        :param ctx: where the call runs.
        """

    async def classify_call(self, tool: AnyTool, args: Input, ctx: Context) -> Decision | None:
        """Judge a call on which there is no other opinion.

        Called only in the mode `auto`, as the last and most expensive step. The strictest answer counts; None,
        an exception or a timeout mean ask. May await.

        :param tool: the tool.
        :param args: its validated input.
        :param ctx: where the call runs.
        """

    def suggest_rules(
        self, tool: AnyTool, args: Input, facts: Facts, ctx: Context, decision: Decision
    ) -> Sequence[str] | None:
        """Suggest rules that would allow this very call and nothing more.

        Called when a person is about to be asked. The first answer with a rule in it becomes `Question.rules`; None
        and an exception suggest nothing. May not await.

        :param tool: the tool.
        :param args: its validated input.
        :param facts: what the call would do, with its paths resolved.
        :param ctx: where the call runs.
        :param decision: why it asks.
        """

    async def ask_user(self, question: Question, call: Call, ctx: Context) -> Decision | Answer | None:
        """Put a question to a person.

        Called when the decision is ask. The first answer counts; None passes the question on; if there is no answer,
        the call is denied. An `Answer` with another input is validated and judged again; if that asks, the hooks after
        this one are asked. Called too when a tool asks something by itself, with `put_question`: `question.form` says
        what to fill in, and the answer is an `Answer` whose `input` has the fields by name. May await.

        :param question: the call as it will run, and why it asks.
        :param call: what the model sent.
        :param ctx: where the call runs.
        """

    def keep_rules(self, rules: Sequence[str], ctx: Context) -> str | None:
        """Keep rules that a person agreed to.

        Called when whoever answers an `ask_user` calls `question.keep_rules()`. The first plugin that says where it
        has written them counts; None passes them on. Raise `SettingsError` where they cannot be kept. May not await.

        :param rules: the rules of the question.
        :param ctx: where the call runs.
        """

    def filter_paths(self, tool: AnyTool, root: str, ctx: Context) -> Callable[[str], bool] | None:
        """Withhold files from a search.

        Called when a permitted tool that meets many files, such as a search, asks `ctx.path_filter`. A file is shown
        only if every callable that was returned says yes to its absolute path; None withholds nothing. An exception
        fails the call. May not await.

        :param tool: the tool.
        :param root: the file or folder that is searched; the call was permitted to read it.
        :param ctx: where the call runs.
        """

    def wrap_execute(self, tool: AnyTool, execute: Execute) -> Execute | None:
        """Take over how a tool runs: time it, repeat it, cache it, send it elsewhere.

        Called once for each tool, at assembly; the callable returned is awaited at each call, after permission.
        Composed by order: the first plugin is outermost. None leaves the tool alone. The hook itself may not await.

        :param tool: the tool.
        :param execute: what would run without this plugin: `await execute(args, ctx)`.
        """

    async def wrap_process(self, spec: ProcessSpec, ctx: Context) -> ProcessSpec | None:
        """Change a process before it starts: this is where a sandbox lives.

        Called for each process that a tool or a user hook starts through `ctx.processes`. Chained; None changes
        nothing. An exception keeps the process from starting. May await.

        :param spec: command, folder, environment, writable folders, network.
        :param ctx: where the call runs.
        """

    async def after_call(
        self, tool: AnyTool, call: Call, args: Input, value: Any, ms: float, ctx: Context
    ) -> After | None:
        """Look at what a tool returned; replace it, or add a remark for the model.

        Called for each call that ran. Chained: the next plugin sees the value the one before it left. A replaced
        value must fit the tool's output type. May await.

        :param tool: the tool.
        :param call: what the model sent.
        :param args: the input that it ran with.
        :param value: what the tool returned.
        :param ms: how many milliseconds the tool itself took.
        :param ctx: where the call ran.
        """

    async def after_failure(
        self, tool: AnyTool | None, call: Call, args: Input | None, result: Result, ctx: Context
    ) -> After | None:
        """Look at a call that did not come to its end; add a remark for the model.

        Called for each call that failed, and for each that was denied: then `result.decision` is a `Deny`. Everyone
        is asked; `context` and `stop` count, a value does not. An exception is noted and changes nothing. Calls that
        were cancelled are not shown. May await.

        :param tool: the tool; None when there is no such tool.
        :param call: what the model sent.
        :param args: the input as far as it was valid; None when it was not.
        :param result: what the model is about to read.
        :param ctx: where the call ran.
        """

    def serialize_result(self, tool: AnyTool, value: Any) -> Sequence[Block] | None:
        """Turn a value into what the model reads.

        Called for each call that ran. The first answer that is not None counts; the core's own way comes last.
        May not await.

        :param tool: the tool.
        :param value: what it returned.
        """

    def observe(self, event: Event) -> None:
        """Learn what happens: calls started and finished, decisions, changed tools, progress.

        Called always, on all implementations; an exception in one is logged and affects no other. May not await.

        :param event: its `kind` says what happened.
        """


def _record(function: Callable[..., Any]) -> HookRecord:
    code = function.__code__
    parameters = list(code.co_varnames[1 : code.co_argcount])
    return {"owner": "pegboard-core", "parameters": parameters, "awaits": iscoroutinefunction(function)}


CORE_HOOKS = {name: _record(function) for name, function in vars(Hooks).items() if not name.startswith("_")}
"""Each hook of the core, in the order in which they fire."""
