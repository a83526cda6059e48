"""Permission rules as text. The pool needs the bare names, the permission pipeline the rest."""

from __future__ import annotations

BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-*")


def bare_name(rule: str) -> str | None:
    """The tool name or name pattern of a rule that covers every call of a tool, or None for a narrower rule."""
    name = rule.strip().removesuffix("(*)")
    return name if name and set(name) <= BARE else None


def name_matches(pattern: str, name: str) -> bool:
    """Whether a rule's name covers a tool: exact, with `*` anywhere, or `mcp__server` for all of a server's tools."""
    if pattern == name:
        return True
    if "*" not in pattern:
        return pattern.startswith("mcp__") and pattern.count("__") == 1 and name.startswith(f"{pattern}__")
    first, *rest = pattern.split("*")
    if not name.startswith(first):
        return False
    at = len(first)
    for piece in rest[:-1]:
        found = name.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return name.endswith(rest[-1]) and len(name) - len(rest[-1]) >= at
