"""Command rules by their beginning: a command meets the few rules that could cover it, however many there are."""

from __future__ import annotations

from pegboard_rules.grammar import Rule
from pegboard_rules.patterns import Test, host_of, host_test


class TextIndex:
    """Rules on commands and names. Exact and prefix rules are looked up, the rest sorted by their literal beginning."""

    __slots__ = ("_exact", "_heads", "_lengths", "_prefixes", "_words", "rules")

    def __init__(self, rules: list[Rule]) -> None:
        self.rules = rules
        self._exact: dict[str, list[Rule]] = {}
        self._prefixes: dict[str, list[Rule]] = {}
        self._heads: dict[str, list[Rule]] = {}
        for rule in rules:
            pattern = rule.pattern
            if pattern is None:
                continue
            if pattern.exact is not None:
                self._exact.setdefault(pattern.exact, []).append(rule)
            elif pattern.prefix is not None:
                self._prefixes.setdefault(pattern.prefix, []).append(rule)
            else:
                self._heads.setdefault(pattern.head, []).append(rule)
        self._lengths = sorted({len(head) for head in self._heads})
        self._words = max((prefix.count(" ") + prefix.count("\t") + 1 for prefix in self._prefixes), default=0)

    def find(self, text: str, found: list[Rule]) -> None:
        """Add every rule that covers this text."""
        if self._exact and text in self._exact:
            found += self._exact[text]
        if self._prefixes:
            self._find_prefixes(text, found)
        for length in self._lengths:
            for rule in self._heads.get(text[:length], ()):
                if rule.pattern is not None and rule.pattern.matches(text):
                    found.append(rule)

    def _find_prefixes(self, text: str, found: list[Rule]) -> None:
        """Try the text up to each of its first word boundaries, and the whole."""
        prefixes, at = self._prefixes, -1
        tabs = "\t" in text
        for _ in range(self._words):
            space = text.find(" ", at + 1)
            if tabs:
                tab = text.find("\t", at + 1)
                space = tab if space < 0 or 0 <= tab < space else space
            if space < 0:
                break
            at = space
            if (hit := prefixes.get(text[:at])) is not None:
                found += hit
        if (hit := prefixes.get(text)) is not None:
            found += hit


class HostIndex:
    """Rules on host names: whole names and `*.example.com` are looked up, the few other shapes are tried in turn."""

    __slots__ = ("_exact", "_others", "_under", "rules")

    def __init__(self, rules: list[Rule]) -> None:
        self.rules = rules
        self._exact: dict[str, list[Rule]] = {}
        self._under: dict[str, list[Rule]] = {}
        self._others: list[tuple[Test, Rule]] = []
        for rule in rules:
            pattern = host_of(rule.host)
            if "*" not in pattern:
                self._exact.setdefault(pattern, []).append(rule)
            elif pattern.startswith("*.") and "*" not in pattern[2:]:
                self._under.setdefault(pattern[2:], []).append(rule)
            else:
                self._others.append((host_test(pattern), rule))

    def find(self, host: str, found: list[Rule]) -> None:
        """Add every rule that covers this host, given as `host_of` spells it."""
        if not host:
            return
        found += self._exact.get(host, ())
        if self._under:
            _, _, parent = host.partition(".")
            while parent:
                found += self._under.get(parent, ())
                _, _, parent = parent.partition(".")
        for test, rule in self._others:
            if test(host):
                found.append(rule)
