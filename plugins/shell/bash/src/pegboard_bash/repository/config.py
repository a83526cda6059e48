"""Git's configuration files, read without git. A line that is not understood is a reason to ask."""

from __future__ import annotations

import re

SECTION = re.compile(r'\[\s*([\w.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]')
KEY = re.compile(r"([A-Za-z][\w-]*)[ \t]*(=)?")
LARGEST = 1_000_000


class ConfigError(ValueError):
    """A configuration file that cannot be read with certainty."""


def entries(text: str) -> list[tuple[str, str, str, str | None]]:
    """Every entry as (section, subsection, key, value). A key without a value means true."""
    found: list[tuple[str, str, str, str | None]] = []
    section = subsection = ""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    at = 0
    while at < len(text):
        sign = text[at]
        if sign in " \t\n":
            at += 1
        elif sign in "#;":
            at = _line_end(text, at)
        elif sign == "[":
            match = SECTION.match(text, at)
            if match is None:
                raise ConfigError(f"A section of the configuration is not understood: {text[at : at + 40]!r}.")
            section, dot, rest = match[1].lower().partition(".")
            subsection = re.sub(r"\\(.)", r"\1", match[2]) if match[2] is not None else rest if dot else ""
            at = match.end()
        else:
            match = KEY.match(text, at)
            if match is None or not section:
                raise ConfigError(f"A line of the configuration is not understood: {text[at : at + 40]!r}.")
            value, at = _value(text, match.end()) if match[2] else (None, match.end())
            found.append((section, subsection, match[1].lower(), value))
    return found


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _value(text: str, at: int) -> tuple[str, int]:
    """A value up to the end of its line: quotes, escapes, comments and continued lines as git reads them."""
    made: list[str] = []
    quoted = False
    while at < len(text):
        sign = text[at]
        if sign == "\n":
            if quoted:
                raise ConfigError("A quoted value in the configuration is not closed.")
            break
        if sign == "\\":
            follows = text[at + 1 : at + 2]
            if follows not in ("\n", "n", "t", "b", '"', "\\"):
                raise ConfigError("An escape in the configuration is not understood.")
            made.append({"\n": "", "n": "\n", "t": "\t", "b": "\b"}.get(follows, follows))
            at += 2
            continue
        if sign in "#;" and not quoted:
            at = _line_end(text, at)
            break
        if sign == '"':
            quoted = not quoted
        else:
            made.append(sign)
        at += 1
    return "".join(made).strip(), at
