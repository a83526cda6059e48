"""The hooks of a board for one session or agent: its events say whose they are, and may have one more listener."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from pegboard import Event
from pegboard.hosting import BoundHooks, Implementation


class ScopedHooks(BoundHooks):
    """All hooks of `hooks` but those in `without`; every event carries `about`, and kinds in `untold` are not told."""

    def __init__(
        self,
        hooks: BoundHooks,
        about: Mapping[str, Any],
        *,
        observer: Callable[[Event], None] | None = None,
        without: Collection[str] = (),
        untold: Collection[str] = (),
    ) -> None:
        above = hooks if isinstance(hooks, ScopedHooks) else None
        self._about: Mapping[str, Any] = {**(above._about if above else {}), **about}
        self._untold: Collection[str] = {*(above._untold if above else ()), *untold}
        self._bound, self.modes = hooks._bound, hooks.modes
        for name in hooks.names():
            setattr(self, name, () if name in without else getattr(hooks, name))
        self._set_observers((*hooks.observe, observer) if observer else hooks.observe)

    def add_observer(self, observer: Callable[[Event], None]) -> None:
        """Tell one more."""
        self._set_observers((*self._observers, observer))

    def remove_observer(self, observer: Callable[[Event], None]) -> None:
        """Tell one less."""
        self._set_observers(tuple(known for known in self._observers if known != observer))

    def name_questions(self, named: Callable[[Implementation], Implementation]) -> None:
        """Let every question go through `named` before it reaches a person."""
        asked: tuple[Implementation, ...] = self.ask_user  # type: ignore[has-type]
        self.ask_user = tuple(named(hook) for hook in asked)

    def _set_observers(self, observers: tuple[Implementation, ...]) -> None:
        self._observers = self.observe = observers

    def emit(self, kind: str, **data: Any) -> None:
        """Tell every observer, and say whose event it is."""
        if self._observers and kind not in self._untold:
            super().emit(kind, **{**data, **self._about})
