"""The WebSearch tool, its ready backends, and the hook for further ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import hookimpl

if TYPE_CHECKING:
    from pegboard import Settings
    from pegboard_session import Session
    from pegboard_websearch.backends import SearchBackend, SearchQuery, SearchResult
    from pegboard_websearch.websearch import WebSearch, WebSearchInput, WebSearchOutput

# Imports happen inside functions: every session has the service, and few use the tool.

__all__ = [
    "SearchBackend",
    "SearchQuery",
    "SearchResult",
    "WebSearch",
    "WebSearchInput",
    "WebSearchOutput",
    "register_search",
    "register_session_services",
    "register_tools",
]


@hookimpl
def register_tools() -> list[WebSearch]:
    from pegboard_websearch.websearch import WebSearch

    return [WebSearch()]


@hookimpl
def register_session_services(session: Session) -> dict[str, object]:
    from pegboard_websearch.session_search import SERVICE, SessionSearch

    return {SERVICE: SessionSearch(session)}


@hookimpl(priority=100)
def register_search(settings: Settings) -> list[SearchBackend]:
    """The three ready backends, after those of other plugins."""
    from pegboard_websearch.services import ready_backends

    return ready_backends(settings)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name.startswith("Search"):
        from pegboard_websearch import backends

        return getattr(backends, name)
    from pegboard_websearch import websearch

    return getattr(websearch, name)
