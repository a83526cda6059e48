"""What a session needs from a board, and the board as one session sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

from anyio import Lock

from pegboard import JSON, Block, Call, Context, Profile, Result, Settings, Tool
from pegboard.hosting import BoundHooks, BoundTool, Pool, ResultsStore, dispatch_nested
from pegboard_files import ResultsStore as TemporaryResults
from pegboard_session.scoped_hooks import ScopedHooks


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

    def __init__(
        self,
        board: ToolBoard,
        session_id: str,
        require: Callable[[str], None] | None = None,
        is_deferred: Callable[[str], bool] | None = None,
    ) -> None:
        """`require` raises a `ToolError` for a tool that the model does not get."""
        self._board, self.scoped = board, ScopedHooks(board.hooks, {"session": session_id})
        self._require, self._is_deferred, self._session_id = require, is_deferred, session_id
        self.hooks: BoundHooks = self.scoped
        self.equip, self.fit = board.equip, board.fit

    @cached_property
    def results(self) -> ResultsStore:
        """The board's store for long results; a temporary one for a board without the file service."""
        return self._board.results or TemporaryResults.for_session({}, self._session_id)

    def find(self, name: str) -> BoundTool:
        """The tool with this name, if the model may call it."""
        if self._require:
            self._require(name)
        bound = self._board.find(name)
        return replace(bound, deferred=True) if self._is_deferred and self._is_deferred(name) else bound

    async def nested(self, name: str, input: JSON, ctx: Context) -> Result:
        """Handle a call that a tool makes; which tools the model gets does not matter to it."""
        return await dispatch_nested(name, input, ctx, _ForTools(self._board, self.scoped), self._board.nested_lock)


class _ForTools:
    """The board for calls that tools make."""

    def __init__(self, board: ToolBoard, hooks: BoundHooks) -> None:
        self.find, self.equip, self.fit, self.hooks = board.find, board.equip, board.fit, hooks
