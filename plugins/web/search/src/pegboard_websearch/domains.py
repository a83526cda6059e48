"""Which results may be shown: by the domains of the call, and by the rules of the user."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from pegboard import Settings
from pegboard.permission import split_rule
from pegboard_http import without_invisible

LONGEST_URL = 2_000
DOMAIN = re.compile(r"(?=.{1,253}$)(?!-)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*")
UNSAFE = re.compile(r"[\s<>\"\x00-\x20\x7f-\x9f]")


def domain_of(text: str) -> str:
    """A domain as it is compared: lower case, other scripts as the network spells them. Empty if it is none."""
    name = text.strip().lower().rstrip(".")
    try:
        name = name if name.isascii() else _ascii(name)
    except UnicodeError:
        return ""
    return name if DOMAIN.fullmatch(name) else ""


def _ascii(name: str) -> str:
    """A name as the network spells it, as WebFetch would ask for it; a star in a pattern stays."""
    import idna  # Imported late: its tables take 10 ms, and few hosts need them.

    labels = idna.uts46_remap(name, std3_rules=False, transitional=False).split(".")
    return ".".join(_a_label(label, idna.alabel) for label in labels)


def _a_label(label: str, encode: Callable[[str], bytes]) -> str:
    if label.isascii():
        return label
    try:
        return encode(label).decode()
    except UnicodeError:  # Such as an emoji, which only the older standard has a spelling for.
        return label.encode("idna").decode()


def host_of(url: str) -> str:
    """The host of an address that may be shown: http or https, without credentials. Empty if it may not."""
    if len(url) > LONGEST_URL or UNSAFE.search(url) or without_invisible(url)[0] != url:
        return ""
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or "@" in parts.netloc or "\\" in url:
            return ""
        return domain_of(parts.hostname or "")
    except ValueError:
        return ""


def is_below(host: str, domains: Sequence[str]) -> bool:
    """Whether a host is one of the domains or below one."""
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def denied_patterns(settings: Settings) -> list[str]:
    """The hosts of deny rules such as `WebFetch(domain:example.com)`: what is denied to one tool is denied to all."""
    found = list[str]()
    for text, _ in settings.items("permissions.deny"):
        tool, inside = split_rule(text) or ("", None)
        if tool and not tool.startswith("mcp__") and inside and inside.startswith("domain:"):
            found.append(_pattern(inside.removeprefix("domain:").strip().lower().rstrip(".")))
    return [pattern for pattern in found if pattern]


def _pattern(text: str) -> str:
    if "*" not in text:
        return domain_of(text)
    try:
        return text if text.isascii() else _ascii(text)
    except UnicodeError:
        return text


def is_denied(host: str, patterns: Sequence[str]) -> bool:
    """Whether a rule denies a host. A star may cover more than in the rule itself: in doubt nothing is shown."""
    return any(fnmatchcase(host, pattern) for pattern in patterns)
