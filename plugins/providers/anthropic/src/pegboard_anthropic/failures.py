"""Convert what the transports raise to the error kinds that a session acts on."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any

from pegboard import ProviderError
from pegboard_anthropic.services import Service
from pegboard_http import connection_failure, http_errors, sentence, wait_asked

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
TOO_LONG = re.compile(r"(prompt|input) is too long|context (window|limit|length|size)", re.IGNORECASE)


def known_errors() -> tuple[type[Exception], ...]:
    """Everything that the HTTP library raises on purpose, and the SDK where it is in use."""
    sdk = sys.modules.get("anthropic")
    return (*http_errors(), sdk.AnthropicError) if sdk else http_errors()


def translated(error: Exception, service: Service, address: str) -> ProviderError:
    """An error of the SDK or of the HTTP library as a `ProviderError`."""
    if isinstance(error, http_errors()):
        return connection_failure(error, service.label, address)
    import anthropic

    if isinstance(error, anthropic.APIStatusError):
        return refusal(error.body, service, status=error.status_code, headers=error.response.headers)
    if isinstance(error, anthropic.APIConnectionError):
        cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
        return connection_failure(cause, service.label, address)
    kind = "server" if isinstance(error, anthropic.APIError) else "authentication"
    return ProviderError(f"{service.title} cannot be used: {sentence(error)} {service.access}", kind=kind)


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
    "rate_limit": "{title} reports that a rate limit has been reached{number}",
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
