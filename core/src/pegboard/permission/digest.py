"""A name for exactly one input: what a person approved, and what an audit log may show of a call."""

from __future__ import annotations

import hashlib
import json

from pegboard.calls import JSON


def fingerprint(seen: JSON) -> str:
    """The SHA-256 of the canonical JSON of an input."""
    text = json.dumps(seen, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
