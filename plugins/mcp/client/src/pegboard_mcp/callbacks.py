"""What servers ask of us: a form for the person, an answer of the model, our working directories.

A request reaches the event loop of the call that is running on the server; without one there is no one to ask.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pegboard_mcp.errands import Errand, current

if TYPE_CHECKING:
    from pegboard_mcp.connection import Connection

# Imports happen inside functions: the SDK takes a second to import, and only a connecting task needs it.

MOST_QUESTIONS = 30
"""How often a server may ask during one call; after that it hears that no one answers."""


@dataclass(frozen=True)
class Asked:
    """A question of a server. `kind` is `elicit` or `sample`; whoever answers calls `settle`."""

    kind: str
    server: str
    params: Any
    answer: Future[Any]

    def settle(self, said: Any) -> None:
        """Answer it, unless the server has left or taken its question back."""
        if self.answer.set_running_or_notify_cancel():
            self.answer.set_result(said)


class Callbacks:
    """The callbacks of one hub."""

    def __init__(self, folders: list[Path], *, sampling: bool) -> None:
        self.folders, self.sampling = folders, sampling
        self.running: dict[str, list[Errand]] = {}
        """The calls that are under way, by server."""
        self.open_address: Any = None
        """How to show the address of a login to the person; None where a login cannot begin now."""

    def for_elicitation(self, connection: Connection) -> Any:
        """Put a form to the person."""

        async def elicit(_: Any, params: Any) -> Any:
            import mcp_types as types

            said = await self._ask("elicit", connection.server.name, params)
            action: Any
            action, content = said or ("cancel", None)
            return types.ElicitResult(action=action, content=content)

        return elicit

    def for_sampling(self, connection: Connection) -> Any:
        """Put a question to the model."""

        async def sample(_: Any, params: Any) -> Any:
            import mcp_types as types

            said = await self._ask("sample", connection.server.name, params)
            if not isinstance(said, tuple):
                return types.ErrorData(code=-1, message=said or "No call is under way in which the model can be asked.")
            text, model = said
            return types.CreateMessageResult(
                role="assistant", content=types.TextContent(type="text", text=text), model=model, stop_reason="endTurn"
            )

        return sample

    async def roots(self, _: Any) -> Any:
        """The working directories."""
        import mcp_types as types

        roots = [types.Root(uri=folder.as_uri(), name=folder.name) for folder in self.folders]  # type: ignore[arg-type]
        return types.ListRootsResult(roots=roots)

    async def _ask(self, kind: str, server: str, params: Any) -> Any:
        calls = self.running.get(server)
        if not calls:
            return None
        answer: Future[Any] = Future()
        # An older server asks outside any call: the last one that began is the likeliest.
        errand = current.get() or calls[-1]
        errand.questions += 1
        if errand.questions > MOST_QUESTIONS:
            return None
        errand.post(Asked(kind, server, params, answer))
        with errand.asking():
            return await asyncio.wrap_future(answer)
