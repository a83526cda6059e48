"""What this library raises."""

from __future__ import annotations


class MediaError(Exception):
    """A picture or document cannot be shown; the message says why, in words fit for a model."""
