"""OpenTelemetry spans of sessions, requests, calls and decisions."""

from pegboard_telemetry.plugin import after_failure, prompt_failed, register_session_services, wrap_execute

__all__ = ["after_failure", "prompt_failed", "register_session_services", "wrap_execute"]
