"""What the HTTP library raises, as the errors that a session acts on."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping

from pegboard import ProviderError

# Imports happen inside functions: the client is slow to import, and only a request needs it.


def http_errors() -> tuple[type[Exception], ...]:
    """Everything that the HTTP library raises on purpose."""
    import httpx2

    return (httpx2.HTTPError, httpx2.InvalidURL)


def connection_failure(error: Exception, label: str, address: str) -> ProviderError:
    """Why no answer came from the service that `label` names, as in the middle of a sentence."""
    import httpx2

    address = without_password(address)
    if isinstance(error, httpx2.LocalProtocolError):  # Its words quote the header, and a header may be a key.
        words = (
            f"The request to {label} cannot be sent: a header has line breaks, special characters or spaces around it."
        )
        return ProviderError(words, kind="invalid_request")
    if isinstance(error, httpx2.TimeoutException):
        words = f"{label[0].upper()}{label[1:]} at {address} timed out: it sent nothing for too long."
        return ProviderError(words, kind="connection", retryable=True)
    if isinstance(error, (httpx2.InvalidURL, httpx2.UnsupportedProtocol)):
        words = f"{address!r} is not a valid address. It must begin with https:// or http://."
        return ProviderError(words, kind="invalid_request")
    words = f"The connection to {label} at {address} failed: {sentence(error)}"
    return ProviderError(words, kind="connection", retryable=True)


def without_password(address: str) -> str:
    """An address as people may see it: `https://***@host` for one that contains a name and password."""
    return re.sub(r"(?<=://)[^/?#]*@", "***@", address)


def wait_asked(headers: Mapping[str, str]) -> float | None:
    """How many seconds a service asks us to wait: milliseconds, seconds or a date."""
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


def sentence(error: BaseException) -> str:
    """What an exception says, ending in one full stop."""
    return f"{str(error).strip().rstrip('.') or type(error).__name__}."
