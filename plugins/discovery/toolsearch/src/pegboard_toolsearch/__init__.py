"""The ToolSearch tool, and the index of tools behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import hookimpl
from pegboard_toolsearch.service import SERVICE, ToolIndexService

if TYPE_CHECKING:
    from pegboard_toolsearch.toolsearch import ToolSearch, ToolSearchInput

# Imports happen inside functions: every session has the service, and few use the tool.

WARM_UP = ("pegboard_toolsearch.toolsearch",)
__all__ = ["ToolSearch", "ToolSearchInput", "register_services", "register_tools"]


@hookimpl
def register_tools() -> list[ToolSearch]:
    from pegboard_toolsearch.toolsearch import ToolSearch

    return [ToolSearch()]


@hookimpl
def register_services() -> dict[str, object]:
    return {SERVICE: ToolIndexService()}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pegboard_toolsearch import toolsearch

    return getattr(toolsearch, name)
