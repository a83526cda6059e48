"""Handlers that hold for a part of a session only: while an agent runs, or once a skill is in use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from pegboard import Settings
from pegboard.settings import Layer
from pegboard_hooks.complaints import ONCE_IGNORED
from pegboard_hooks.handlers import Handler, in_force, read_layer

if TYPE_CHECKING:
    from pegboard_session import Session

SCOPED = "scoped_hooks"
"""The name of the service."""
T = TypeVar("T")


class ScopedHooks:
    """The handlers of one agent and of the skills that it uses. `ctx.service("scoped_hooks")` is one.

    An agent below has them as well: a guard must not be got around by leaving work to another agent.
    """

    def __init__(self, settings: Settings, above: Sequence[Handler] = ()) -> None:
        self._settings = settings
        self.handlers: list[Handler] = list(above)
        self._made: tuple[Settings, int, Any] | None = None

    @classmethod
    def of(cls, session: Session) -> ScopedHooks:
        """Those of a session that opens. An agent's `Stop` is the end of its own work."""
        above = session.parent.ctx.services.others.get(SCOPED) if session.parent else None
        inherited = above.handlers if isinstance(above, ScopedHooks) else ()
        made = cls(session.ctx.settings, [one for one in inherited if one.event != "SubagentStop"])
        if (definition := session.definition) and definition.hooks:
            source = definition.source or f"the agent {definition.name}"
            hooks = _for_an_agent(definition.hooks) if session.parent else definition.hooks
            made.add(source, hooks)
        return made

    def add(self, source: str, hooks: Mapping[str, Any]) -> list[str]:
        """Let these hold from now on, each once; returns what is wrong with them."""
        layer = Layer("cli", source, {"hooks": dict(hooks)})
        if not in_force(self._settings.with_layers([*self._settings.layers, layer])):
            return []  # Hooks are switched off.
        found, problems = read_layer(layer, self._settings)
        known = {(one.event, one.key, one.source) for one in self.handlers}
        fresh = [one for one in found if (one.event, one.key, one.source) not in known]
        self.handlers += [replace(one, is_once=one.given.get("once") is True) for one in fresh]
        return [words for words in problems if not words.endswith(ONCE_IGNORED)]  # Here it has an effect.

    def plan(self, settings: Settings, make: Callable[[Settings, Sequence[Handler]], T]) -> T:
        """The plan of these settings with the handlers of this scope, made again when they change."""
        made = self._made
        if made is None or made[0] is not settings or made[1] != len(self.handlers):
            made = self._made = (settings, len(self.handlers), make(settings, self.handlers))
        plan: T = made[2]
        return plan

    def spend(self, handler: Handler) -> None:
        """A handler that was wanted once has run."""
        self.handlers = [one for one in self.handlers if one != handler]
        self._made = None


def _for_an_agent(hooks: Mapping[str, Any]) -> dict[str, Any]:
    made = {event: groups for event, groups in hooks.items() if event != "Stop"}
    if "Stop" in hooks:
        both = [hooks["Stop"], made.get("SubagentStop", [])]
        groups = [group for one in both for group in (one if isinstance(one, list) else [one])]
        # A matcher would compare with the kind of the agent, which is this one.
        made["SubagentStop"] = [
            {name: value for name, value in group.items() if name != "matcher"} if isinstance(group, dict) else group
            for group in groups
        ]
    return made
