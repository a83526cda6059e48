"""The error that this library raises."""

from __future__ import annotations


class MediaError(Exception):
    """An image or document cannot be shown; the message explains why to a model."""
