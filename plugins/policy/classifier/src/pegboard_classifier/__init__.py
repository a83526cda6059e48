"""The classifier of the permission mode auto."""

from pegboard_classifier.classifier import classify_call

__all__ = ["classify_call"]
