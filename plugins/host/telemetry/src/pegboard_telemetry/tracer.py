"""Whether anyone records spans. Where not, the API of OpenTelemetry is not even imported."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer, TracerProvider

MODULE = "opentelemetry.trace"
IS_NAMED = bool(os.environ.get("OTEL_PYTHON_TRACER_PROVIDER"))
"""Whether the environment names a provider, which the API loads on first use. Read once, for speed."""

_made: tuple[TracerProvider, Tracer | None] | None = None


def current_tracer() -> Tracer | None:
    """The tracer of the provider that the application has set, or None if there is none that records."""
    global _made
    if MODULE not in sys.modules and not IS_NAMED:
        return None  # A provider can only be set through this module.
    # Imported late: it takes 18 ms, which only those pay who record spans.
    from opentelemetry.trace import get_tracer_provider

    provider = get_tracer_provider()
    if _made is None or _made[0] is not provider:
        _made = (provider, _tracer(provider))
    return _made[1]


def _tracer(provider: TracerProvider) -> Tracer | None:
    # Imported late, for the same reason.
    from opentelemetry.trace import NoOpTracerProvider, ProxyTracerProvider

    if isinstance(provider, NoOpTracerProvider | ProxyTracerProvider):
        return None
    return provider.get_tracer("pegboard", "0.1.0")
