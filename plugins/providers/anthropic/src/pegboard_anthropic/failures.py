"""Convert the SDK's errors to the error kinds that a session acts on."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

from pegboard import ProviderError
from pegboard_anthropic.clients import Service

# Imports happen inside functions: the SDK is slow to import, and only a request needs it.

KINDS = {
    "authentication_error": "authentication",
    "permission_error": "authentication",
    "rate_limit_error": "rate_limit",
    "overloaded_error": "overloaded",
    "api_error": "server",
    "timeout_error": "server",
    "request_too_large": "context_overflow",
    "throttlingException": "rate_limit",
    "serviceUnavailableException": "overloaded",
    "internalServerException": "server",
    "modelStreamErrorException": "server",
    "modelTimeoutException": "server",
}
"""The kinds of the API's error types, and of those of Bedrock; any other type is an invalid request."""

STATUSES = {
    401: "authentication",
    403: "authentication",
    408: "connection",
    413: "context_overflow",
    429: "rate_limit",
    529: "overloaded",
}
RETRYABLE = {"rate_limit", "overloaded", "server", "connection"}
TOO_LONG = re.compile(r"(prompt|input) is too long|context (window|limit|length)", re.IGNORECASE)


def sdk_errors() -> tuple[type[Exception], ...]:
    """Everything that the SDK and its HTTP library raise on purpose."""
    import anthropic
    import httpx2

    return (anthropic.AnthropicError, httpx2.HTTPError, httpx2.InvalidURL)


def translated(error: Exception, service: Service, address: str) -> ProviderError:
    """The error of the SDK as a `ProviderError`."""
    import anthropic
    import httpx2

    if isinstance(error, anthropic.APIStatusError):
        return refusal(error.body, service, status=error.status_code, headers=error.response.headers)
    if isinstance(error, (anthropic.APITimeoutError, httpx2.TimeoutException)):
        words = f"{service.title} at {address} timed out: it sent nothing for too long."
        return ProviderError(words, kind="connection", retryable=True)
    cause = error.__cause__ or error if isinstance(error, anthropic.APIConnectionError) else error
    if isinstance(cause, (httpx2.InvalidURL, httpx2.UnsupportedProtocol)):
        words = f"{address!r} is not a valid address. It must begin with https:// or http://."
        return ProviderError(words, kind="invalid_request")
    if isinstance(error, (anthropic.APIConnectionError, httpx2.HTTPError)):
        words = f"The connection to {service.label} at {address} failed: {_sentence(cause)}"
        return ProviderError(words, kind="connection", retryable=True)
    kind = "server" if isinstance(error, anthropic.APIError) else "authentication"
    return ProviderError(f"{service.title} cannot be used: {_sentence(error)} {service.access}", kind=kind)


def refusal(
    body: Any, service: Service, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> ProviderError:
    """What the API said instead of an answer, as an HTTP status or as an `error` event in the middle of one."""
    headers = headers or {}
    if not isinstance(body, dict):
        body = {"message": body}
    error = body.get("error")
    if not isinstance(error, dict):
        error = body  # Bedrock and gateways put the message at the top.
    message = str(error.get("message") or "no reason given")[:2000]
    kind = _kind(status, str(error.get("type", "")), message)
    told = headers.get("x-should-retry")
    retryable = told == "true" if told in ("true", "false") else kind in RETRYABLE
    number = f" ({status})" if status >= 400 else ""
    words = OPENINGS[kind].format(title=service.title, number=number)
    advice = {"authentication": service.access, "context_overflow": "Shorten or compact the conversation."}.get(
        kind, ""
    )
    return ProviderError(
        f"{words}: {message.rstrip('.')}. {advice}".rstrip(),
        kind=kind,
        retryable=retryable,
        retry_after=wait_asked(headers),
    )


OPENINGS = {
    "authentication": "{title} refused the credentials{number}",
    "rate_limit": "{title} reports that a rate limit is reached{number}",
    "overloaded": "{title} is overloaded{number}",
    "server": "{title} failed{number}",
    "connection": "{title} timed out while waiting for the request{number}",
    "context_overflow": "The conversation is too long for the model{number}",
    "invalid_request": "{title} refused the request{number}",
}


def _kind(status: int, error_type: str, message: str) -> str:
    if error_type == "overloaded_error":
        return "overloaded"  # Some gateways change the status from 529.
    if status in STATUSES:
        kind = STATUSES[status]
    elif status >= 500:
        kind = "server"
    else:
        kind = KINDS.get(error_type, "invalid_request")
    return "context_overflow" if kind == "invalid_request" and TOO_LONG.search(message) else kind


def wait_asked(headers: Mapping[str, str]) -> float | None:
    """How many seconds the API asks us to wait: milliseconds, seconds or a date."""
    for header, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[header]) * unit)
        except (KeyError, ValueError):
            pass  # Missing, or a date.
    from email.utils import parsedate_to_datetime  # Imported late: it takes 10 ms, and only a failure needs it.

    try:
        return max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time())
    except (KeyError, ValueError):
        return None


def _sentence(error: BaseException) -> str:
    return f"{str(error).strip().rstrip('.') or type(error).__name__}."
