"""Whether an argument, put into a command, stays an argument: it must not begin another command there."""

from __future__ import annotations

import re

ACTIVE = frozenset(";&|<>`$()\n\r")
"""What begins a command, an expansion or a redirection outside quotes."""
IN_DOUBLE = frozenset('`$"\\\n\r')
ANYWHERE = ACTIVE | frozenset("'\"\\{}#!")
NESTED = re.compile(r"\$\(|\$\{|`|<<|\$'|(?<![^\s;&|()<>])#")
"""Quoting that is not followed, and comments, where a quote is none: there, an argument may have no such character."""


def fault_in(command: str, at: int, value: str) -> str:
    """The character by which a value would be more than an argument at this place of a command; empty if none."""
    if NESTED.search(command):
        return next((char for char in value if char in ANYWHERE), "")
    quote = _quote_at(command, at)
    if quote == "'":
        return "'" if "'" in value else ""
    if quote == '"':
        return next((char for char in value if char in IN_DOUBLE), "")
    return _fault_outside(value)


def _quote_at(text: str, end: int) -> str:
    """The quote that is open at a place."""
    quote, is_escaped = "", False
    for char in text[:end]:
        if is_escaped:
            is_escaped = False
        elif char == "\\" and quote != "'":
            is_escaped = True
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
    return quote


def _fault_outside(value: str) -> str:
    """What is active in a value that brings its own quotes."""
    quote, is_escaped = "", False
    for char in value:
        if is_escaped:
            if char in "\n\r":
                return char
            is_escaped = False
        elif char == "\\" and quote != "'":
            is_escaped = True
        elif char == quote:
            quote = ""
        elif (quote == '"' and char in "`$") or (not quote and char in ACTIVE):
            return char
        elif not quote and char in "'\"":
            quote = char
    return quote or ("\\" if is_escaped else "")
