"""`@tool()`: a function becomes a tool."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, overload

from typing_extensions import Unpack

from pegboard.calls import Decision
from pegboard.context import Context
from pegboard.contract import Capability, Facts, I, O, Output, RuleSubject, Tool
from pegboard.errors import refuse_unknown

FactsOf: TypeAlias = Callable[[I, Context], Facts | Awaitable[Facts]]
PermissionOf: TypeAlias = Callable[[I, Context], Decision | None | Awaitable[Decision | None]]


class _FunctionTool(Tool[I, O]):
    """What @tool makes."""

    def __init__(
        self,
        act: Callable[[I, Context], Any],
        facts: FactsOf[I] | None,
        permission: PermissionOf[I] | None,
        options: Mapping[str, Any],
    ) -> None:
        first, returns = _annotations(act)
        self.name = act.__name__
        self.prompt = inspect.cleandoc(act.__doc__ or "")
        self.input, self.output = first, returns
        self.__wrapped__, self._facts, self._permission = act, facts, permission
        self.is_async = inspect.iscoroutinefunction(act)
        for option, value in options.items():
            setattr(self, option, value)

    def call(self, args: I, ctx: Context, /) -> Any:
        return self.__wrapped__(args, ctx)

    def facts(self, args: I, ctx: Context, /) -> Facts | Awaitable[Facts]:
        return self._facts(args, ctx) if self._facts else super().facts(args, ctx)

    def check_permission(self, args: I, ctx: Context, /) -> Decision | None | Awaitable[Decision | None]:
        return self._permission(args, ctx) if self._permission else None


def _annotations(act: Callable[..., Any]) -> tuple[Any, Any]:
    """The input and output types of a function that is to become a tool; what is wrong with it is said at once."""
    from pegboard.inputs import Input  # Not at the top: a session starts without pydantic.

    parameters = list(inspect.signature(act).parameters)
    hints = typing.get_type_hints(act)
    if len(parameters) != 2:
        raise TypeError(
            f"{act.__name__} must take two parameters, the input and the context: (args: MyInput, ctx: Context)."
        )
    given = hints.get(parameters[0])
    if not (isinstance(given, type) and issubclass(given, Input)):
        raise TypeError(f"{act.__name__}: annotate {parameters[0]!r} with a subclass of pegboard.Input, got {given!r}.")
    if "return" not in hints:
        raise TypeError(f"{act.__name__}: annotate its return type; it is the tool's output type.")
    returns = hints["return"]
    if typing.get_origin(returns) is Output:
        returns = typing.get_args(returns)[0]
    return given, returns


class Options(TypedDict, total=False):
    """What `@tool(...)` takes besides functions of the input; the meaning of each is in `Tool`."""

    name: str
    aliases: tuple[str, ...]
    search_hint: str
    guidance: str
    max_result_chars: int | None
    interrupt_behavior: Literal["cancel", "block"]
    cascades: bool
    subagents: bool
    read_only: bool
    concurrency_safe: bool
    open_world: bool
    destructive: bool
    requires_binaries: tuple[str, ...]
    platforms: tuple[str, ...]
    requires_setting: str
    rule_subject: RuleSubject
    rule_parameter: str
    capability: Capability


class _Make(Protocol):
    """`@tool(...)` with constants only: any input will do."""

    @overload
    def __call__(self, act: Callable[[I, Context], Coroutine[Any, Any, Output[O]]], /) -> Tool[I, O]: ...
    @overload
    def __call__(self, act: Callable[[I, Context], Coroutine[Any, Any, O]], /) -> Tool[I, O]: ...
    @overload
    def __call__(self, act: Callable[[I, Context], Output[O]], /) -> Tool[I, O]: ...
    @overload
    def __call__(self, act: Callable[[I, Context], O], /) -> Tool[I, O]: ...


class _MakeFor(Protocol[I]):
    """`@tool(...)` with at least one function of the input: the act must take that very input."""

    @overload
    def __call__(self, act: Callable[[I, Context], Coroutine[Any, Any, Output[O]]], /) -> Tool[I, O]: ...
    @overload
    def __call__(self, act: Callable[[I, Context], Coroutine[Any, Any, O]], /) -> Tool[I, O]: ...
    @overload
    def __call__(self, act: Callable[[I, Context], Output[O]], /) -> Tool[I, O]: ...
    @overload
    def __call__(self, act: Callable[[I, Context], O], /) -> Tool[I, O]: ...


@overload
def tool(**options: Unpack[Options]) -> _Make: ...
@overload
def tool(
    *, facts: FactsOf[I], permission: PermissionOf[I] | None = None, **options: Unpack[Options]
) -> _MakeFor[I]: ...
@overload
def tool(*, permission: PermissionOf[I], **options: Unpack[Options]) -> _MakeFor[I]: ...
def tool(act: Any = None, /, *, facts: Any = None, permission: Any = None, **options: Any) -> Any:
    """Turn a function into a tool: its annotations are the contract, its docstring is what the model reads."""
    if act is not None:
        raise TypeError("Write @tool() with parentheses: they declare what the tool may do.")
    refuse_unknown(options, Options, "@tool()")

    def make(act: Callable[[Any, Context], Any]) -> Tool[Any, Any]:
        return _FunctionTool(act, facts, permission, options)

    return make
