"""Hooks bound once: who implements what is known when the board is built, so a call only runs functions.

First the binding, then what hooks have to say about a call: before it, after it, on its way to the model.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pluggy

from pegboard.calls import Allow, Block, Decision, Deny, Document, Image, Result, Text
from pegboard.content import checked
from pegboard.contract import Tool
from pegboard.errors import ToolError
from pegboard.extensions import After, Before, Event
from pegboard.permission.decide import Modes

if TYPE_CHECKING:
    from pegboard.execution.dispatch import CallRun
    from pegboard.inputs import Input
    from pegboard.records import HookRecord

PLUGINS, TOOL = "plugins", "tool"
"""The layers of opinions that name none themselves."""

Implementation = Callable[..., Any]
log = logging.getLogger("pegboard")


class BoundHook(NamedTuple):
    """One implementation of a hook, callable with all of the hook's parameters by position."""

    plugin_name: str
    plugin: object
    function: Implementation
    hook: str

    def __str__(self) -> str:
        return f"{self.hook} of {self.plugin_name}"

    async def ask(self, *given: Any, on_error: Callable[[Exception, BoundHook], Any]) -> Any:
        """The answer, awaited if need be. An exception is logged, and `on_error` says what it means."""
        try:
            answer = self.function(*given)
            return await answer if hasattr(answer, "__await__") else answer
        except Exception as error:
            log.exception("%s failed", self)
            return on_error(error, self)


class BoundHooks:
    """For each known hook the implementations in their order, as attributes; `bound` has them with their plugins."""

    def __init__(
        self,
        manager: pluggy.PluginManager,
        rank: Callable[[str], tuple[Any, ...]],
        known: Mapping[str, HookRecord],
    ) -> None:
        self._bound: dict[str, list[BoundHook]] = {}
        for name, hook in known.items():
            caller = getattr(manager.hook, name, None)  # None where no plugin implements it.
            ordered = sorted(
                caller.get_hookimpls() if caller else (),
                key=lambda impl: (getattr(impl.function, "pegboard_priority", 0), rank(impl.plugin_name)),
            )
            self._bound[name] = [
                BoundHook(impl.plugin_name, impl.plugin, _by_position(hook["parameters"], impl), name)
                for impl in ordered
            ]
            setattr(self, name, tuple(bound.function for bound in self._bound[name]))
        # Apart from `observe`: a session adds listeners of its own without becoming a plugin.
        self._observers: tuple[Implementation, ...] = self.observe
        self.modes = Modes(mode for register in self.register_modes for mode in register())

    def emit(self, kind: str, **data: Any) -> None:
        """Tell every observer; one that fails is logged and does not affect the others."""
        if not self._observers:
            return
        event = Event(kind, data)
        for observer in self._observers:
            try:
                observer(event)
            except Exception:
                log.exception("an observer failed on %s", kind)

    def names(self) -> Iterable[str]:
        """Every hook there is: those of the core and those that installed distributions specify."""
        return self._bound

    def bound(self, hook: str) -> list[BoundHook]:
        """The implementations of a hook, each with its plugin."""
        return self._bound[hook]

    def named(self, hook: str) -> list[tuple[str, Implementation]]:
        """The implementations of a hook, each with the name of its plugin."""
        return [(bound.plugin_name, bound.function) for bound in self._bound[hook]]

    async def ask(self, hook: str, *given: Any, on_error: Callable[[Exception, BoundHook], Any]) -> list[Any]:
        """What everyone says who has something to say; `on_error` makes the answer of whoever fails."""
        answers = [await bound.ask(*given, on_error=on_error) for bound in self._bound[hook]]
        return [answer for answer in answers if answer is not None]

    def __getattr__(self, name: str) -> tuple[Implementation, ...]:
        raise AttributeError(name)  # For type checkers: every hook is an attribute.


def _by_position(offered: list[str], impl: Any) -> Implementation:
    function: Implementation = impl.function
    wanted = list(impl.argnames)
    if wanted == offered:
        return function
    # Hooks are called by position; which argument goes where is found once, here, and not at each call.
    places = tuple(offered.index(argument) for argument in wanted if argument in offered)
    return lambda *given: function(*[given[place] for place in places])


async def maybe_await(answer: Any) -> Any:
    """The answer of something that may or may not be `async`."""
    return await answer if hasattr(answer, "__await__") else answer


def refuse_invalid(run: CallRun, args: Input, hooks: BoundHooks) -> None:
    """Raise what the tool or a plugin finds wrong with an input that fits the schema."""
    tool = run.tool
    wrong = tool.validate_input(args)
    for check in hooks.validate_input:
        if wrong:
            break
        wrong = check(tool, args, run.ctx)
    if wrong:
        raise ToolError(f"{tool.name}: {wrong}")


async def look_before(run: CallRun, hooks: BoundHooks) -> None:
    """Let hooks look first. A rewritten input is checked like any other and voids what was allowed before it."""
    for hook in hooks.bound("before_call"):
        said: Before | None = await hook.ask(
            run.tool, run.call, run.args, run.ctx, on_error=lambda error, at: Before(decision=failed_guard(error, at))
        )
        if said is None:
            continue
        if said.input is not None:
            run.args, _ = run.validated(said.input)
            refuse_invalid(run, run.args, hooks)
            run.opinions = [opinion for opinion in run.opinions if not isinstance(opinion, Allow)]
        run.opinions = [*run.opinions, *said_by(hook, said.decision)]
        run.note(said.context, said.stop)
        run.alone = run.alone or said.alone


async def look_after(run: CallRun, value: Any, ms: float, hooks: BoundHooks) -> Any:
    """Let hooks look at the value, and replace it. One that fails may have been there to hide something."""
    tool = run.tool

    def withheld(error: Exception, hook: BoundHook) -> After:
        reason = f"{tool.name} ran, but its result is withheld: an after_call hook failed: {type(error).__name__}."
        # Withheld and not shown: the hook may be the one that removes secrets.
        raise ToolError(reason, code="internal") from error

    for hook in hooks.bound("after_call"):
        said: After | None = await hook.ask(tool, run.call, run.args, value, ms, run.ctx, on_error=withheld)
        if said is not None:
            value = fitting(tool, said.value, "An after_call hook") if said.replaces else value
            run.note(said.context, said.stop)
    return value


async def look_at_failure(run: CallRun, result: Result, hooks: BoundHooks) -> None:
    """Let hooks look at a call that failed or was denied."""
    tool = run.bound.tool if run.bound else None
    for hook in hooks.bound("after_failure"):
        said: After | None = await hook.ask(
            tool, run.call, run.args, result, run.ctx, on_error=lambda error, hook: None
        )
        if said is not None:
            run.note(said.context, said.stop)


def said_by(hook: BoundHook, said: Decision | Iterable[Decision] | None) -> list[Decision]:
    """The answer of a hook as opinions that name the plugin and the hook, unless they name a settings file."""
    if said is None:
        return []
    try:
        return [named(opinion, str(hook), PLUGINS) for opinion in ([said] if isinstance(said, Decision) else said)]
    except Exception as error:
        log.exception("%s failed", hook)
        return [failed_guard(error, hook)]


def failed_guard(error: Exception, hook: BoundHook) -> Decision:
    """The opinion of a guard that raised."""
    return Deny(f"{hook} failed: {type(error).__name__}.", layer="hooks", source=str(hook))


def named(opinion: Decision, source: str, layer: str) -> Decision:
    """An opinion that says where it comes from."""
    if not isinstance(opinion, Decision):
        raise TypeError(f"expected Allow, Ask, Deny or None, got {type(opinion).__name__}")
    if opinion.source and opinion.layer:
        return opinion
    return replace(opinion, layer=opinion.layer or layer, source=opinion.source or source)


def fitting(tool: Tool[Any, Any], value: Any, who: str) -> Any:
    """The value as the tool's output type; a hook may hand in the plain data of a model."""
    wanted = tool.output
    if wanted is Any or (isinstance(wanted, type) and isinstance(value, wanted)):
        return value
    if wanted in PLAIN:
        raise _misfit(tool, value, who)
    try:
        return _adapter(wanted).validate_python(value)
    except ValueError:  # As which pydantic says that it does not fit.
        raise _misfit(tool, value, who) from None


PLAIN = (str, int, float, bool, bytes, list, dict)


def _misfit(tool: Tool[Any, Any], value: Any, who: str) -> ToolError:
    wanted = getattr(tool.output, "__name__", str(tool.output))
    reason = f"{who} returned {type(value).__name__} where {tool.name} promises {wanted}."
    return ToolError(reason, code="internal")


@cache
def _adapter(wanted: Any) -> Any:
    from pydantic import TypeAdapter  # Not at the top: the start of a program needs none of it, and it takes 60 ms.

    return TypeAdapter(wanted)


def serialize(tool: Tool[Any, Any], value: Any, hooks: BoundHooks) -> tuple[Block, ...]:
    """What the model reads of a value: by the first hook that words it, else by the tool."""
    for hook in hooks.serialize_result:
        said = hook(tool, value)
        if said is not None:
            return tuple(checked(block) for block in said)
    content = tool.content(value)
    if isinstance(content, str):
        return (Text(content),)
    blocks = (content,) if isinstance(content, (Text, Image, Document)) else content
    return tuple(checked(block) for block in blocks)
