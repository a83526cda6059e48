"""Start a process that can only read: ask `available()`, then `confinement_for()`, start it in there and `end()` it."""

from __future__ import annotations

import atexit

from pegboard_confine.confinement import (
    BUBBLEWRAP,
    CHOICES,
    LANDLOCK,
    NONE,
    Available,
    Confinement,
    available,
    confinement_for,
    tidy,
    why_not,
)
from pegboard_confine.grants import Access
from pegboard_confine.limits import Launch, ResourceLimits, Started, limited
from pegboard_confine.spare import HelperError
from pegboard_confine.spares import HELPER
from pegboard_confine.survey import CannotHideError

__all__ = [
    "BUBBLEWRAP",
    "CHOICES",
    "HELPER",
    "LANDLOCK",
    "NONE",
    "Access",
    "Available",
    "CannotHideError",
    "Confinement",
    "HelperError",
    "Launch",
    "ResourceLimits",
    "Started",
    "available",
    "confinement_for",
    "limited",
    "tidy",
    "why_not",
]

atexit.register(tidy)
