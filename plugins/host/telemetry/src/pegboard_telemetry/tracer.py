"""Whether anyone records spans. Where not, the API of OpenTelemetry is not even imported."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer, TracerProvider

# Imports happen inside functions: the API takes 18 ms, which only those pay who record spans.

MODULE = "opentelemetry.trace"
IS_NAMED = bool(os.environ.get("OTEL_PYTHON_TRACER_PROVIDER"))
"""Whether the environment names a provider, which the API loads on first use."""
LOOK_AGAIN = 1.0
"""Seconds until a call outside a session looks again for a provider: looking costs as much as a small call may."""

_made: tuple[TracerProvider, Tracer | None] | None = None
_nothing_until = 0.0


def current_tracer() -> Tracer | None:
    """The tracer of the provider that the application has set, or None if there is none that records."""
    global _made
    if MODULE not in sys.modules and not IS_NAMED:
        return None  # A provider can only be set through this module.
    from opentelemetry.trace import get_tracer_provider

    provider = get_tracer_provider()
    if _made is None or _made[0] is not provider:
        _made = (provider, _tracer(provider))
    return _made[1]


def recent_tracer() -> Tracer | None:
    """The same, but where there was none a moment ago, there is none."""
    global _nothing_until
    if time.monotonic() < _nothing_until:
        return None
    tracer = current_tracer()
    if tracer is None:
        _nothing_until = time.monotonic() + LOOK_AGAIN
    return tracer


def _tracer(provider: TracerProvider) -> Tracer | None:
    from opentelemetry.trace import NoOpTracerProvider, ProxyTracerProvider

    if isinstance(provider, NoOpTracerProvider | ProxyTracerProvider):
        return None
    return provider.get_tracer("pegboard", "0.1.0")
