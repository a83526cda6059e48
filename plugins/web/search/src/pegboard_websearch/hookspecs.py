"""The hook of WebSearch: a plugin may bring a place to search.

Implement it like those of the core, with `@hookimpl`. It may not await.
"""
# mypy: disable-error-code="empty-body"
# pyright: reportReturnType=false

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard import Settings
    from pegboard_websearch.backends import SearchBackend


class WebSearchHooks:
    """The hooks of this distribution. The class is never instantiated: it is read."""

    def register_search(self, settings: Settings) -> Sequence[SearchBackend]:
        """Bring places to search: objects with a `name` and an awaitable `search(query)` that returns results.

        Called for each search. Of two with one name the first plugin's counts. What they return is untrusted text:
        WebSearch checks the domains again, and marks it. A `ToolError` tells the model why a search failed. An
        exception here is logged, and the plugin brings nothing. May not await.

        :param settings: the effective settings.

        Example::

            @hookimpl
            def register_search(settings):
                return [Handbook()]
        """
