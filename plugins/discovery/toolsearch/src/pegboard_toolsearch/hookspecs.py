"""The hook of ToolSearch: a plugin may bring a model of meaning.

Implement it like those of the core, with `@hookimpl`. It may await.
"""
# mypy: disable-error-code="empty-body"
# pyright: reportReturnType=false

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class ToolSearchHooks:
    """The hooks of this distribution. The class is never instantiated: it is read."""

    async def embed_texts(self, texts: Sequence[str]) -> Sequence[Sequence[float]] | None:
        """Turn texts into vectors, so that tools are also ranked by what they mean.

        Called when a search in plain words has found tools: with the query, and with the tools that have no vector
        yet. The first answer that is not None counts. An exception is noted, and the order by words stays.
        May await.

        :param texts: the texts; the answer has one vector for each, all of the same length.

        Example::

            @hookimpl
            def embed_texts(texts):
                return [[float(text.count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
        """
