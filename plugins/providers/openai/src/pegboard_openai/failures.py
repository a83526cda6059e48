"""Convert what a server says instead of an answer to the error kinds that a session acts on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pegboard import ProviderError
from pegboard_http import wait_asked

STATUSES = {
    401: "authentication",
    403: "authentication",
    408: "connection",
    409: "server",
    413: "context_overflow",
    429: "rate_limit",
    503: "overloaded",
    529: "overloaded",
}
CODES = {
    "context_length_exceeded": "context_overflow",
    "exceed_context_size_error": "context_overflow",
    "invalid_api_key": "authentication",
    "authentication_error": "authentication",
    "rate_limit_exceeded": "rate_limit",
    "rate_limit_error": "rate_limit",
    "overloaded_error": "overloaded",
    "unavailable_error": "overloaded",
    "server_error": "server",
    "internal_error": "server",
}
"""The kinds of codes and types of errors; they count where the status says less."""
RETRYABLE = {"rate_limit", "overloaded", "server", "connection"}
FINAL = {"insufficient_quota", "billing_not_active", "billing_hard_limit_reached"}
"""Limits that waiting does not lift."""
TOO_LONG = re.compile(
    r"context (length|size|window|limit)|(prompt|input) is too long|too many tokens",
    re.IGNORECASE,
)
OPENINGS = {
    "authentication": "{title} refused the credentials{number}",
    "rate_limit": "{title} reports that a rate limit has been reached{number}",
    "overloaded": "{title} is overloaded or still starting{number}",
    "server": "{title} failed{number}",
    "connection": "{title} timed out while waiting for the request{number}",
    "context_overflow": "The conversation is too long for the model{number}",
    "invalid_request": "{title} refused the request{number}",
}


def refusal(
    body: Any, title: str, access: str, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> ProviderError:
    """An HTTP status, or an `error` in the middle of an answer, as a `ProviderError`."""
    headers = headers or {}
    message, codes = _said(body)
    kind = _kind(status, codes, message)
    told = headers.get("x-should-retry")
    retryable = told == "true" if told in ("true", "false") else kind in RETRYABLE and not codes & FINAL
    opening = OPENINGS[kind].format(title=title, number=f" ({status})" if status >= 400 else "")
    advice = {"authentication": access, "context_overflow": "Shorten or compact the conversation."}.get(kind, "")
    return ProviderError(
        f"{opening}: {message.rstrip('.')}. {advice}".rstrip(),
        kind=kind,
        retryable=retryable,
        retry_after=wait_asked(headers),
    )


def _said(body: Any) -> tuple[str, set[str]]:
    """The message and the codes of an error. Servers differ in where they put them."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        return str(error or "no reason given")[:2000], set()
    message = error.get("message") or error.get("detail") or "no reason given"
    return str(message)[:2000], {str(error[name]) for name in ("code", "type") if error.get(name) is not None}


def _kind(status: int, codes: set[str], message: str) -> str:
    known = [CODES[code] for code in sorted(codes) if code in CODES]
    if status in STATUSES:
        kind = STATUSES[status]
    elif status >= 500:
        kind = "overloaded" if "overloaded" in known else "server"
    elif known:
        kind = known[0]
    else:
        number = next((int(code) for code in codes if code.isdecimal()), 0)
        kind = STATUSES.get(number, "server" if number >= 500 else "invalid_request")
    if kind in ("invalid_request", "server") and ("context_overflow" in known or TOO_LONG.search(message)):
        return "context_overflow"
    return kind
