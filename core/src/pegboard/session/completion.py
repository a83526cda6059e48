"""Small questions to a model, for tools: `ctx.model.complete()`."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import anyio

from pegboard.errors import ProviderError
from pegboard.extensions import Provider
from pegboard.session.account import Account
from pegboard.session.assembler import Assembler, events_of
from pegboard.session.retries import Retries


class ProviderModel:
    """Asks a provider one question at a time, with the session's patience."""

    def __init__(
        self,
        provider: Provider,
        model: str,
        retries: Retries | None = None,
        account: Account | None = None,
    ) -> None:
        """Put each answer on the `account` of whoever asks."""
        self._provider, self._model, self._retries = provider, model, retries or Retries(most=2)
        self._account = account

    async def complete(self, prompt: str, *, system: str = "", model: str | None = None, max_tokens: int = 1024) -> str:
        """One answer to one prompt, as text."""
        message = {"role": "user", "content": [{"type": "text", "text": prompt}]}
        request: dict[str, Any] = {"model": model or self._model, "max_tokens": max_tokens, "messages": [message]}
        if system:
            request["system"] = [{"type": "text", "text": system}]
        if self._account:
            self._account.price(request["model"])  # Before asking: what cannot be counted is not spent.
        for attempt in range(self._retries.most + 1):
            try:
                return await self._ask(request)
            except ProviderError as error:
                delay = self._retries.delay(error, attempt)
                if delay is None:
                    raise
                await anyio.sleep(delay)
        raise AssertionError("the last attempt either answers or raises")

    async def _ask(self, request: dict[str, Any]) -> str:
        answer = Assembler()
        async with aclosing(events_of(self._provider, request)) as events:
            async for event in events:
                answer.feed(event)
        if not answer.finished:
            raise ProviderError("The answer broke off.", kind="connection", retryable=True)
        if self._account:
            self._account.count(request["model"], answer.usage)
        return "".join(block["text"] for block in answer.blocks if block["type"] == "text")
