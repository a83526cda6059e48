"""Words that several messages share."""

from __future__ import annotations


def shown(value: object) -> str:
    """A value as it was written, cut to a glance."""
    import json

    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
