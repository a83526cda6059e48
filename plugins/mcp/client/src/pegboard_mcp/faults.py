"""Turn what the SDK raises into a sentence. Its exceptions come in nested groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pegboard import PegboardError

if TYPE_CHECKING:
    from pegboard_mcp.config import ServerConfig


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The exceptions inside groups."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error


def status_of(error: BaseException) -> int | None:
    """The HTTP status that an exception is about, if it is about one."""
    for leaf in leaves(error):
        for one in (leaf, leaf.__cause__, leaf.__context__):
            status = getattr(getattr(one, "response", None), "status_code", None)
            if isinstance(status, int):
                return status
    return None


def words_for(error: BaseException, server: ServerConfig, status: int | None = None) -> str:
    """What went wrong, for the person."""
    all_of_them = list(leaves(error))
    status = status_of(error) or status
    if any(type(leaf).__name__ == "LoginNeededError" for leaf in all_of_them) or status == 401:
        return f"It requires a login. Run: pegboard mcp login {server.name}"
    for leaf in all_of_them:
        if isinstance(leaf, PegboardError):
            return leaf.message if hasattr(leaf, "message") else str(leaf)
    for leaf in all_of_them:
        if type(leaf).__name__ == "ValidationError":
            return f"What it sent does not follow the protocol: {_first_fault(leaf)}."
    said = next((leaf for leaf in all_of_them if str(leaf)), all_of_them[0])
    text = str(said).strip() or type(said).__name__
    if status and status >= 400:
        text = f"It answered with the HTTP status {status}. {text}"
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _first_fault(error: Any) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
