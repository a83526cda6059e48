"""The three small languages inside the parentheses of a rule: path names, commands, hosts."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from pegboard_rules.globs import NameGlob, match_pieces

Test = Callable[[str], object]
GLOB = frozenset("*?[")
KEPT_LETTERS = frozenset("ßς\u200c\u200d")
"""Letters of host names that an older standard replaced."""


def literal(name: str) -> str | None:
    """The plain text of a pattern without wildcards (escapes taken away), or None for one with."""
    if "\\" not in name:
        return None if not GLOB.isdisjoint(name) else name
    out, characters = [], iter(name)
    for character in characters:
        if character in GLOB:
            return None
        out.append(next(characters, "\\") if character == "\\" else character)
    return "".join(out)


def name_test(pattern: str) -> Test:
    """A test for one name of a path against a gitignore pattern."""
    if pattern == "*":
        return bool
    if not set(pattern).isdisjoint("?[\\"):
        return _glob(pattern)
    if pattern.count("*") == 1 and pattern[0] == "*":
        return _EndsWith(pattern[1:])
    if pattern.count("*") == 1 and pattern[-1] == "*":
        return _StartsWith(pattern[:-1])
    return _Stars(pattern)


class _EndsWith:
    __slots__ = ("tail",)

    def __init__(self, tail: str) -> None:
        self.tail = tail

    def __call__(self, name: str) -> bool:
        return name.endswith(self.tail)


class _StartsWith:
    __slots__ = ("head",)

    def __init__(self, head: str) -> None:
        self.head = head

    def __call__(self, name: str) -> bool:
        return name.startswith(self.head)


class _Stars:
    """A pattern whose only wildcards are stars."""

    __slots__ = ("_pieces",)

    def __init__(self, pattern: str) -> None:
        self._pieces = tuple(pattern.split("*"))

    def __call__(self, name: str) -> bool:
        return match_pieces(self._pieces, name)


@lru_cache(maxsize=4096)
def _glob(pattern: str) -> NameGlob:
    return NameGlob(pattern)


class TextPattern:
    """A pattern for a command or a name: exact, with `*` anywhere, with ` *` or `:*` as a word boundary at the end."""

    __slots__ = ("_pieces", "exact", "head", "prefix", "tail", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        body = text[:-2] if text.endswith((":*", " *")) else None
        self.prefix = plain(body) if body is not None and not _has_star(body) else None
        self.exact = plain(text) if body is None and not _has_star(text) else None
        source = text if body is None else f"{body} *"
        wild = self.prefix is None and self.exact is None
        self.head = plain(source[: _first_star(source)]).rstrip(" ") if wild else ""
        self.tail = body is not None
        self._pieces = _pieces(text if body is None else body) if wild else ()

    def matches(self, text: str) -> bool:
        """Whether the pattern covers the whole text."""
        if self.exact is not None:
            return text == self.exact
        if self.prefix is not None:
            # A word boundary: `git:*` must not match `gitk`.
            return text == self.prefix or text.startswith((f"{self.prefix} ", f"{self.prefix}\t"))
        return match_pieces(self._pieces, text, word_end=self.tail)


def plain(text: str) -> str:
    r"""The text with `\*` and `\\` as the characters they stand for."""
    return text.replace("\\*", "*").replace("\\\\", "\\") if "\\" in text else text


def _first_star(text: str) -> int:
    at = text.find("*")
    while at > 0 and text[at - 1] == "\\":
        at = text.find("*", at + 1)
    return len(text) if at < 0 else at


def _has_star(text: str) -> bool:
    return _first_star(text) < len(text)


@lru_cache(maxsize=4096)
def _pieces(text: str) -> tuple[str, ...]:
    """The texts between the stars of a pattern."""
    pieces, rest = [], text
    while (at := _first_star(rest)) < len(rest):
        pieces.append(plain(rest[:at]))
        rest = rest[at + 1 :]
    return (*pieces, plain(rest))


def value_matches(pattern: str, value: object) -> bool:
    """Whether a parameter rule's value covers a scalar of the input, compared as it would be written in JSON."""
    # Before int, because True is an int, and str() would write it as True, not as JSON does.
    if isinstance(value, bool):
        return match_pieces(_pieces(pattern), "true" if value else "false")
    if isinstance(value, (str, int, float)):
        return match_pieces(_pieces(pattern), str(value))
    return False


def host_of(text: str) -> str:
    """The host in a URL, or a bare host name: lower case, without port, user and one trailing dot; empty if none."""
    if "://" in text:
        from urllib.parse import urlsplit  # Only URLs need it; every call is matched against rules.

        try:
            text = urlsplit(text).hostname or ""
        except ValueError:
            return ""
    return ascii_host(text.strip().lower().removesuffix("."))


def ascii_host(name: str) -> str:
    """A host name as the network spells it: other scripts in their A-label form, so that both spellings meet."""
    if name.isascii():
        return name
    try:
        return ".".join(_a_label(label) for label in name.split("."))
    except UnicodeError:
        return name


def _a_label(label: str) -> str:
    """One label. The codec of Python spells a sharp s as ss, which is another host: names keep such letters today."""
    if label.isascii():
        return label
    if KEPT_LETTERS.isdisjoint(label):
        return label.encode("idna").decode()
    from unicodedata import normalize  # Few names have one of these letters.

    return f"xn--{normalize('NFKC', label).encode('punycode').decode()}"


@lru_cache(maxsize=4096)
def host_test(pattern: str) -> Test:
    """A test for a host name: exact, `*.example.com` at any depth but not the apex, `*`, or one label for each `*`."""
    pattern = ascii_host(pattern.strip().lower().removesuffix("."))
    if pattern == "*":
        return bool
    if pattern.startswith("*.") and "*" not in pattern[2:]:
        # With the dot: `*.example.com` must not match notexample.com, nor the apex.
        return lambda host: host.endswith(pattern[1:]) and len(host) > len(pattern) - 1
    if "*" not in pattern:
        return lambda host: host == pattern
    return _Labels(pattern)


class _Labels:
    """A host pattern with stars inside labels; `*.` at the beginning stands for one label or more."""

    __slots__ = ("_deep", "_labels")

    def __init__(self, pattern: str) -> None:
        self._deep = pattern.startswith("*.")
        self._labels = [tuple(label.split("*")) for label in pattern.removeprefix("*.").split(".")]

    def __call__(self, host: str) -> bool:
        labels = host.split(".")
        before = len(labels) - len(self._labels)
        if before < 0 or (before > 0) != self._deep or not all(labels[:before]):
            return False
        return all(match_pieces(pieces, label) for pieces, label in zip(self._labels, labels[before:], strict=True))
