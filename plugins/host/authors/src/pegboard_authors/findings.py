"""What `pegboard check` reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """Something an author should change."""

    rule: str
    where: str
    message: str
