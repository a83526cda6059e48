"""The provider: a request in, the events of the answer out."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio.to_thread
from anyio.lowlevel import RunVar

from pegboard import ProviderError, Settings
from pegboard_http import (
    connection_failure,
    drain,
    http_errors,
    join_url,
    json_bytes,
    open_client,
    read_events,
    refusal_body,
)
from pegboard_openai import web_search
from pegboard_openai.assembler import Assembler
from pegboard_openai.failures import refusal
from pegboard_openai.requests import body_of, headers_of
from pegboard_session import Provider, ProviderEvent, Request, ServerSearch

if TYPE_CHECKING:
    import httpx2

PATH = "chat/completions"
DEFAULT_ADDRESS = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY"
AGENT = "pegboard-openai/0.1.0"
LABEL, TITLE = "the OpenAI-compatible server", "The OpenAI-compatible server"
SETTING = "openai.baseUrl or OPENAI_BASE_URL"
UNKNOWN_HERE = ("adaptive_thinking", "thinking_budget", "thinking_off", "context_management", "speed")
"""What can be asked of other services and has no words on this wire. A session says so instead of dropping it."""
SILENCE_SECONDS = 600.0
"""How long an answer may pause: a model may think for minutes, and not every server sends a sign of life."""


class OpenAIProvider:
    """A model behind the Chat Completions API. Nothing is opened before the first request; nothing is ever repeated.

    Without arguments, the address, the key and the default model come from `OPENAI_BASE_URL`, `OPENAI_API_KEY` and
    `OPENAI_MODEL`. Each event loop gets connections of its own, which are reused until `aclose()`.
    """

    name = "openai"
    models: Mapping[str, Mapping[str, Any]] = {"*": {"supports": dict.fromkeys(UNKNOWN_HERE, False)}}

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        key_variable: str = KEY,
        model: str | None = None,
        headers: Mapping[str, str] | None = None,
        limit_field: str | None = None,
        returns_reasoning: bool = False,
        timeout: float = SILENCE_SECONDS,
        search: str = "auto",
    ) -> None:
        self.search = search
        self._base_url, self._api_key, self._key_variable, self._model = base_url, api_key, key_variable, model
        self._given_headers, self._limit_field = dict(headers or {}), limit_field
        self.returns_reasoning, self.timeout = returns_reasoning, timeout
        self._opened: RunVar[httpx2.AsyncClient | None] = RunVar("pegboard_openai client", None)

    def __repr__(self) -> str:
        return f"<provider openai ({urlsplit(self.base_url).hostname or self.base_url})>"

    @property
    def base_url(self) -> str:
        """Where requests go."""
        return (self._base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_ADDRESS).rstrip("/")

    @property
    def default_model(self) -> str:
        """The model to ask where none is named, or nothing."""
        return self._model or os.environ.get("OPENAI_MODEL") or ""

    @property
    def _key(self) -> str:
        return self._api_key if self._api_key is not None else os.environ.get(self._key_variable, "")

    @property
    def _is_first_party(self) -> bool:
        return urlsplit(self.base_url).hostname == "api.openai.com"

    @property
    def _access(self) -> str:
        return f"Set {self._key_variable} to a valid key."

    def missing(self) -> str:
        """The variable of the key, for the one server that is known to need it."""
        if self._key or not self._is_first_party or "authorization" in {name.lower() for name in self._given_headers}:
            return ""
        return self._key_variable

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent, None]:
        """The events of one answer, each as soon as it has arrived.

        What goes wrong is a `ProviderError`, also in the middle of an answer; an answer without its end is one.
        Cancelling or closing the generator closes the connection, and so stops the model, at once.
        """
        limit = self._limit_field or ("max_completion_tokens" if self._is_first_party else "max_tokens")
        content = json_bytes(body_of(request, limit_field=limit, returns_reasoning=self.returns_reasoning))
        assembler, told = Assembler(), False
        async with aclosing(self._events(content, headers_of(request))) as events:
            async for data in events:
                if told := data.strip() == b"[DONE]":
                    await drain(events)
                    break
                for event in assembler.feed(_chunk(data)):
                    yield event
        for event in assembler.end(told=told):
            yield event

    def search_request(self, request: Request, search: ServerSearch) -> Request | None:
        """The request with the service's own web search, where the model has one."""
        is_known = web_search.is_supported(request.model, is_first_party=self._is_first_party)
        return web_search.with_search(request) if self.search == "on" or (self.search == "auto" and is_known) else None

    def search_sources(self, block: Mapping[str, Any]) -> list[dict[str, str]]:
        """What a block of an answer has found on the web."""
        return web_search.sources_of(block)

    async def _events(self, content: bytes, headers: Mapping[str, str]) -> AsyncGenerator[bytes, None]:
        client = await self._connected()
        try:
            response = await self._send(client, content, headers)
            if not response.is_success:
                body = await refusal_body(response)
                raise refusal(body, TITLE, self._access, status=response.status_code, headers=response.headers)
            async with aclosing(read_events(response, LABEL, SETTING)) as events:
                async for _, data in events:
                    yield data
        except http_errors() as error:
            raise connection_failure(error, LABEL, self.base_url) from error

    async def _send(self, client: httpx2.AsyncClient, content: bytes, headers: Mapping[str, str]) -> httpx2.Response:
        try:
            request = client.build_request(
                "POST", join_url(self.base_url, PATH), content=content, headers={**self._headers(), **headers}
            )
            return await client.send(request, stream=True)
        except ProviderError:
            raise
        except http_errors():
            raise
        except Exception as error:  # An impossible port, say: the libraries below do not translate everything.
            raise connection_failure(error, LABEL, self.base_url) from error

    def _headers(self) -> dict[str, str]:
        key = self._key
        if not (key.isascii() and key.isprintable() and key == key.strip()):
            # Not as far as the HTTP library: its error message would quote the key.
            reason = f"The API key contains spaces, line breaks or special characters. {self._access}"
            raise ProviderError(reason, kind="authentication")
        headers = {"accept": "text/event-stream", "content-type": "application/json", "user-agent": AGENT}
        if key:
            headers["authorization"] = f"Bearer {key}"
        for header, variable in (("openai-organization", "OPENAI_ORG_ID"), ("openai-project", "OPENAI_PROJECT_ID")):
            if self._is_first_party and (value := os.environ.get(variable)):
                headers[header] = value
        return headers | {name.lower(): _expanded(name, value) for name, value in self._given_headers.items()}

    async def _connected(self) -> httpx2.AsyncClient:
        if (opened := self._opened.get()) is not None:
            return opened
        # In a thread: importing the HTTP library takes a tenth of a second and would block the event loop.
        await anyio.to_thread.run_sync(import_module, "httpx2", abandon_on_cancel=True)
        if (opened := self._opened.get()) is None:
            opened = open_client(self.timeout)
            self._opened.set(opened)
        return opened

    async def aclose(self) -> None:
        """Close the connections of this event loop. The next request opens new ones."""
        client = self._opened.get()
        self._opened.set(None)
        if client is not None:
            await client.aclose()


def _chunk(data: bytes) -> dict[str, Any]:
    try:
        chunk = json.loads(data)
    except (ValueError, RecursionError):
        chunk = None
    if not isinstance(chunk, dict):
        raise ProviderError("The answer contains a chunk that is not a JSON object.", kind="server", retryable=True)
    if chunk.get("error"):
        raise refusal(chunk, TITLE, "Check the key.")
    return chunk


def _expanded(name: str, value: str) -> str:
    """The value of a header; `$NAME` is that of an environment variable."""
    if not value.startswith("$"):
        return value
    if value[1:] not in os.environ:
        reason = f"The header {name} in openai.headers needs the environment variable {value[1:]}, which is not set."
        raise ProviderError(reason, kind="authentication")
    return os.environ[value[1:]]


def providers(settings: Settings) -> list[Provider]:
    """The provider as settings want it."""
    return [
        OpenAIProvider(
            base_url=settings.get("openai.baseUrl", None),
            key_variable=settings.get("openai.apiKeyVariable"),
            model=settings.get("openai.model", None),
            headers=settings.get("openai.headers", {}),
            limit_field=settings.get("openai.maxTokensField", None),
            returns_reasoning=settings.get("openai.returnReasoning"),
            search=settings.get("openai.webSearch"),
        )
    ]
