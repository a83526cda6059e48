"""Small questions to a model, for tools: `ctx.model.complete()`."""

from __future__ import annotations

import time
from contextlib import aclosing
from itertools import count

import anyio

from pegboard import ProviderError
from pegboard_session.answer import Answer, events_of
from pegboard_session.providers import Provider, Request
from pegboard_session.retries import Retries
from pegboard_session.usage import Account


class ProviderModel:
    """Asks a provider one question at a time, with the session's retries."""

    def __init__(
        self,
        provider: Provider,
        model: str,
        retries: Retries | None = None,
        account: Account | None = None,
    ) -> None:
        """Charge each answer to the `account` of the caller."""
        self._provider, self._model, self._retries = provider, model, retries or Retries(most=2)
        self._account = account

    async def complete(self, prompt: str, *, system: str = "", model: str | None = None, max_tokens: int = 1024) -> str:
        """One answer to one prompt, as text."""
        message = {"role": "user", "content": [{"type": "text", "text": prompt}]}
        request = Request(model or self._model, (message,), (system,) if system else (), max_tokens=max_tokens)
        return (await self.answer(request)).text

    async def answer(self, request: Request) -> Answer:
        """The whole answer to a request. Calls in it are not run."""
        if self._account:
            self._account.price(request.model)  # Before the request: nothing is spent that cannot be counted.
        began = time.monotonic()
        for attempt in count():
            try:
                return await self._ask(request)
            except ProviderError as error:
                delay = self._retries.delay(error, attempt, time.monotonic() - began)
                if delay is None:
                    raise
                await anyio.sleep(delay)
        raise AssertionError("the last attempt either answers or raises")

    async def _ask(self, request: Request) -> Answer:
        answer = Answer()
        async with aclosing(events_of(self._provider, request)) as events:
            async for event in events:
                answer.feed(event)
        if not answer.finished:
            raise ProviderError("The answer was incomplete.", kind="connection", retryable=True)
        if self._account:
            self._account.count(request.model, answer.usage)
        return answer
