"""Which hosts the user's allow rules name in full: only those may be private or use an unusual port."""

from __future__ import annotations

from pegboard import Settings
from pegboard.permission import split_rule
from pegboard_webfetch.guard import Rules
from pegboard_webfetch.urls import Refused, normal_host


def named_hosts(settings: Settings) -> Rules:
    """Every host of an allow rule `WebFetch(domain:host)` without a wildcard. `WebFetch` alone names no host."""
    found = set[str]()
    for text, _ in settings.items("permissions.allow"):
        tool, inside = split_rule(text) or ("", None)
        if tool != "WebFetch" or not inside or not inside.startswith("domain:") or "*" in inside:
            continue
        try:
            found.add(normal_host(inside.removeprefix("domain:").strip()))
        except Refused:
            continue  # It can match no host; the check of the rules tells the user.
    return frozenset(found)
