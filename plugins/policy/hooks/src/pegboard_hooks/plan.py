"""The handlers of one set of settings, by event."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pegboard import Context, Settings
from pegboard_hooks.handlers import Handler, read_handlers
from pegboard_hooks.protocol import EVENTS
from pegboard_hooks.scoped_hooks import SCOPED, ScopedHooks


class Plan:
    """The handlers in force, by event. `of()` keeps one with each settings object."""

    def __init__(self, settings: Settings, more: Sequence[Handler] = ()) -> None:
        handlers, self.problems = read_handlers(settings)
        handlers += more
        self._by_event = {event: tuple(handler for handler in handlers if handler.event == event) for event in EVENTS}
        self._known: dict[tuple[str, tuple[str, ...]], tuple[Handler, ...]] = {}
        self._reported: set[bytes] = set()

    @classmethod
    def of(cls, ctx: Context) -> Plan:
        """The plan of a context: of its settings, of the agent that it belongs to, and of the skills in use there."""
        scoped = ctx.services.others.get(SCOPED)
        if isinstance(scoped, ScopedHooks) and scoped.handlers:
            return scoped.plan(ctx.settings, cls)
        return cls.of_settings(ctx.settings)

    @classmethod
    def of_settings(cls, settings: Settings) -> Plan:
        """The plan of these settings; made on first use and cached with them."""
        found = settings.__dict__.get("command_hooks")
        if found is None:
            found = settings.__dict__["command_hooks"] = cls(settings)
        return found

    def has(self, event: str) -> bool:
        """Whether anything runs at this event."""
        return bool(self._by_event[event])

    def matching(self, event: str, names: tuple[str, ...]) -> tuple[Handler, ...]:
        """The handlers for a tool, a source or an agent under any of its names; twins from several files once."""
        if not self._by_event[event]:
            return ()
        found = self._known.get((event, names))
        if found is None:
            unique: dict[bytes, Handler] = {}
            for handler in self._by_event[event]:
                if handler.matches(names):
                    unique.setdefault(handler.key, handler)
            found = self._known[event, names] = tuple(unique.values())
        return found

    def report_once(self, handler: Handler, report: Callable[[], None]) -> None:
        """Report something about a handler only once."""
        if handler.key not in self._reported:
            self._reported.add(handler.key)
            report()
