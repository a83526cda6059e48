"""Permission rules as text. The pool needs the bare names, the permission pipeline the rest."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-*")


def bare_name(rule: str) -> str | None:
    """The tool name or name pattern of a rule that covers every call to a tool, or None for a narrower rule."""
    name = rule.strip().removesuffix("(*)")
    return name if name and set(name) <= BARE else None


def rule_text(item: Any) -> str:
    """The rule itself, of an item that is either a rule or an object with a rule and its examples."""
    return str(item["rule"] if isinstance(item, dict) else item)


def split_rule(rule: str) -> tuple[str, str | None] | None:
    """The tool's name and the content of the parentheses (None without them); None if it is not a rule."""
    name, opened, rest = rule.strip().partition("(")
    name = name.strip()
    if not name or not set(name) <= BARE or (opened and not rest.endswith(")")):
        return None
    specifier = rest[:-1].strip() if opened else None
    return name, None if specifier == "*" else specifier


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
