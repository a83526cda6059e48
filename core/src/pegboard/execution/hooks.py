"""Hooks bound once: who implements what is known when the board is built, so a call only runs functions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pluggy

from pegboard.extensions import Event
from pegboard.permission.modes import Modes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard.records import HookRecord

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
            return await maybe_await(self.function(*given))
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
        self._observers: tuple[Implementation, ...] = self.observe
        self.modes = Modes(mode for register in self.register_modes for mode in register())

    def emit(self, kind: str, **data: Any) -> None:
        """Tell every observer; one that fails is noted and hurts nobody."""
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

    def without(self, left_out: Callable[[object, str], bool]) -> tuple[BoundHooks, list[tuple[str, str]]]:
        """The same hooks without some hooks of some plugins, and what was left out: pairs of plugin and hook."""
        rest: BoundHooks = object.__new__(BoundHooks)
        gone: list[tuple[str, str]] = []
        rest._bound = {}
        for hook, bound in self._bound.items():
            gone += [(entry.plugin_name, hook) for entry in bound if left_out(entry.plugin, hook)]
            rest._bound[hook] = [entry for entry in bound if not left_out(entry.plugin, hook)]
            setattr(rest, hook, tuple(entry.function for entry in rest._bound[hook]))
        rest._observers = rest.observe
        rest.modes = self.modes
        return rest, gone

    def __getattr__(self, name: str) -> tuple[Implementation, ...]:
        raise AttributeError(name)  # For type checkers: every hook is an attribute.


def _by_position(offered: list[str], impl: Any) -> Implementation:
    function: Implementation = impl.function
    wanted = list(impl.argnames)
    if wanted == offered:
        return function
    places = tuple(offered.index(argument) for argument in wanted if argument in offered)
    return lambda *given: function(*[given[place] for place in places])


async def maybe_await(answer: Any) -> Any:
    """The answer of something that may or may not be `async`."""
    return await answer if hasattr(answer, "__await__") else answer
