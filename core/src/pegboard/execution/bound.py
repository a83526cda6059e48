"""Hooks bound once: who implements what is known when the board is built, so a call only runs functions."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import Any

import pluggy

from pegboard.extensions import Event
from pegboard.hookspecs import NAMES, Hooks

Implementation = Callable[..., Any]
log = logging.getLogger("pegboard")


class BoundHooks:
    """For each hook the implementations in their order, each callable with all of the hook's parameters by position."""

    __slots__ = ("_bound", "_observers", *NAMES)

    def __init__(self, manager: pluggy.PluginManager, rank: Callable[[str], tuple[Any, ...]]) -> None:
        self._bound: dict[str, list[tuple[str, object, Implementation]]] = {}
        for name in NAMES:
            implementations = getattr(manager.hook, name).get_hookimpls()
            ordered = sorted(
                implementations,
                key=lambda impl: (getattr(impl.function, "pegboard_priority", 0), rank(impl.plugin_name)),
            )
            self._bound[name] = [(impl.plugin_name, impl.plugin, _by_position(name, impl)) for impl in ordered]
            setattr(self, name, tuple(function for _, _, function in self._bound[name]))
        self._observers: tuple[Implementation, ...] = self.observe

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

    def named(self, hook: str) -> list[tuple[str, Implementation]]:
        """The implementations of a hook, each with the name of its plugin, for where one failure must have a name."""
        return [(plugin, function) for plugin, _, function in self._bound[hook]]

    def without(self, left_out: Callable[[object, str], bool]) -> tuple[BoundHooks, list[tuple[str, str]]]:
        """The same hooks without some hooks of some plugins, and what was left out: pairs of plugin and hook."""
        rest: BoundHooks = object.__new__(BoundHooks)
        gone: list[tuple[str, str]] = []
        rest._bound = {}
        for hook, bound in self._bound.items():
            gone += [(name, hook) for name, plugin, _ in bound if left_out(plugin, hook)]
            rest._bound[hook] = [entry for entry in bound if not left_out(entry[1], hook)]
            setattr(rest, hook, tuple(function for _, _, function in rest._bound[hook]))
        rest._observers = rest.observe
        return rest, gone

    def __getattr__(self, name: str) -> tuple[Implementation, ...]:
        raise AttributeError(name)  # For type checkers: every hook is an attribute.


def _by_position(name: str, impl: Any) -> Implementation:
    offered = [p for p in inspect.signature(getattr(Hooks, name)).parameters if p != "self"]
    function: Implementation = impl.function
    wanted = list(impl.argnames)
    if wanted == offered:
        return function
    places = tuple(offered.index(argument) for argument in wanted if argument in offered)
    return lambda *given: function(*[given[place] for place in places])


async def settled(answer: Any) -> Any:
    """The answer of a hook that may or may not await."""
    return await answer if inspect.isawaitable(answer) else answer
