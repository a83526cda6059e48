"""What a session needs from a board, and the board and its hooks as one session or agent sees them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

from anyio import Lock

from pegboard import JSON, Block, Call, Context, Event, Profile, Result, Settings, Tool, ToolError
from pegboard.hosting import BoundHooks, BoundTool, Implementation, Pool, ResultsStore, dispatch_nested
from pegboard_files import ResultsStore as TemporaryResults


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


class ToolBoard(Protocol):
    """A `pegboard.Board` or an equivalent: the board of a sub-agent has fewer tools."""

    hooks: BoundHooks
    settings: Settings

    @property
    def pool(self) -> Pool:
        """The current tools."""
        ...

    @property
    def results(self) -> ResultsStore | None:
        """The store for results that are too long for a conversation, if there is one."""
        ...

    @property
    def nested_lock(self) -> Lock:
        """The gate that keeps the calls of tools apart."""
        ...

    def refresh(self) -> Pool:
        """Query changed sources again."""
        ...

    def find(self, name: str) -> BoundTool:
        """The tool with this name, or a `ToolError`."""
        ...

    def equip(self, ctx: Context) -> Context:
        """The context with the board's hooks around its services."""
        ...

    async def fit(self, tool: Tool[Any, Any], blocks: tuple[Block, ...], call: Call) -> tuple[Block, ...]:
        """The content, cut to the tool's limit."""
        ...

    def definitions(self, profile: Profile | None = None, loaded: Sequence[str] = ()) -> list[dict[str, Any]]:
        """What a request for this model lists."""
        ...

    def context(self, **changes: Any) -> Context:
        """A context for calls in the board's working directory."""
        ...


class SessionBoard:
    """A board for the calls of one session: their events carry the session's id, and its model has its own tools."""

    def __init__(self, board: ToolBoard, session_id: str) -> None:
        self._board, self.scoped = board, ScopedHooks(board.hooks, {"session": session_id})
        self._session_id = session_id
        self.refused: Mapping[str, str] = {}
        """Tools that the model of the current request does not get, and why. Found once per request, not per call."""
        self.deferred: Collection[str] = ()
        """Tools that this model has to fetch before it sees them."""
        self.hooks: BoundHooks = self.scoped
        self.equip, self.fit = board.equip, board.fit

    @cached_property
    def results(self) -> ResultsStore:
        """The board's store for long results; a temporary one for a board without the file service."""
        return self._board.results or TemporaryResults.for_session({}, self._session_id)

    def find(self, name: str) -> BoundTool:
        """The tool with this name, if the model may call it."""
        if reason := self.refused.get(name):
            raise ToolError(reason, code="not_found", remedy="")
        bound = self._board.find(name)
        return replace(bound, deferred=True) if name in self.deferred else bound

    async def nested(self, name: str, input: JSON, ctx: Context) -> Result:
        """Handle a call that a tool makes; which tools the model gets does not matter to it."""
        return await dispatch_nested(name, input, ctx, _ForTools(self._board, self.scoped), self._board.nested_lock)


class _ForTools:
    """The board for calls that tools make."""

    def __init__(self, board: ToolBoard, hooks: BoundHooks) -> None:
        self.find, self.equip, self.fit, self.hooks = board.find, board.equip, board.fit, hooks
