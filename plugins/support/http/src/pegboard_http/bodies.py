"""The body of a request as bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pegboard import ProviderError

_write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def json_bytes(body: Mapping[str, Any]) -> bytes:
    """The body as JSON, with U+FFFD for every half of a surrogate pair, as in a file name that is not UTF-8.

    One such name in a tool's result would otherwise make every later request of the conversation impossible.
    """
    try:
        text = _write(body)
    except (TypeError, ValueError, RecursionError) as error:
        raise ProviderError(f"The request cannot be written as JSON: {error}.", kind="invalid_request") from error
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
