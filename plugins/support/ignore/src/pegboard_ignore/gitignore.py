"""The rules of one ignore file. As in git, the last matching rule decides."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from pegboard_ignore.globs import GlobError, expand, is_literal, translate

LARGEST_FILE = 4_000_000


class IgnoreRules:
    """Compiled rules. Most are plain names or suffixes, which need no regular expression."""

    __slots__ = ("_endings", "_folders", "_names", "_negated", "_paths", "_regex", "_rest", "keeps_only")

    def __init__(self) -> None:
        self._negated: list[bool] = []
        self._names: dict[str, int] = {}
        self._folders: dict[str, int] = {}
        self._endings: dict[str, int] = {}
        self._paths: dict[str, int] = {}
        self._rest: list[tuple[int, str]] = []
        self._regex: re.Pattern[str] | None = None
        self.keeps_only = False
        """For globs: whether at least one of them is an inclusion."""

    @classmethod
    def from_bytes(cls, data: bytes) -> IgnoreRules:
        """The rules of a file. A line that cannot be parsed is a rule that matches nothing."""
        return _from_bytes(data)

    @classmethod
    def from_globs(cls, globs: Iterable[str]) -> IgnoreRules:
        """Globs to include, or with `!` to exclude; parsed like rules, with braces. Raises `GlobError`."""
        made = cls()
        for glob in globs:
            negated, text = glob.startswith("!"), glob.removeprefix("!")
            made.keeps_only = made.keeps_only or not negated
            for one in expand(text):
                made._add(one, negated)
        made._finish()
        return made

    def __bool__(self) -> bool:
        return bool(self._negated)

    def decide(self, path: str, name: str, is_folder: bool) -> bool | None:
        """True when the last matching rule ignores, False when it re-includes, None when no rule matches."""
        # This runs for every file and folder of a walk, hence no calls of max().
        best = self._names.get(name, -1)
        if is_folder and (at := self._folders.get(name, -1)) > best:
            best = at
        if self._endings and (at := self._endings.get(name[name.rfind(".") :], -1)) > best:
            best = at
        if self._paths:
            if (at := self._paths.get(path, -1)) > best:
                best = at
            if is_folder and (at := self._paths.get(f"{path}/", -1)) > best:
                best = at
        if self._regex is not None:
            found = self._regex.match(f"{path}/" if is_folder else path)
            if found is not None and (at := self._rest[(found.lastindex or 1) - 1][0]) > best:
                best = at
        return None if best < 0 else not self._negated[best]

    def keeps(self, path: str, name: str) -> bool:
        """For globs: whether they include a file. If any glob is an inclusion, only what it matches is included."""
        said = self.decide(path, name, False)
        if not (not self.keeps_only if said is None else said):
            return False
        if "/" not in path or True not in self._negated:
            return True
        names = path.split("/")[:-1]
        return all(self.decide("/".join(names[: at + 1]), name, True) is not False for at, name in enumerate(names))

    def _add_line(self, line: str) -> None:
        if line.startswith("#"):
            return
        text = _without_trailing_spaces(line)
        negated = text.startswith("!")
        text = text[1:] if negated else text
        if text and text != "/":
            try:
                self._add(text, negated)
            except GlobError:
                return

    def _add(self, text: str, negated: bool) -> None:
        number = len(self._negated)
        only_folders = text.endswith("/")
        body = text.rstrip("/") if only_folders else text
        anchored = "/" in body
        body = body.removeprefix("/")
        if not body:
            return
        if is_literal(body):
            if anchored:
                self._paths[f"{body}/" if only_folders else body] = number
            else:
                (self._folders if only_folders else self._names)[body] = number
        elif not anchored and not only_folders and _is_ending(body):
            self._endings[body[1:]] = number
        else:
            regex = translate(body if anchored else f"**/{body}")
            self._rest.append((number, f"({regex}{'/' if only_folders else '/?'})"))
        self._negated.append(negated)

    def _finish(self) -> None:
        if self._rest:
            self._rest.reverse()  # Reversed, so that the first alternative that matches is the last rule of the file.
            self._regex = re.compile(f"(?:{'|'.join(regex for _, regex in self._rest)})\\Z", re.DOTALL)


@lru_cache(maxsize=512)
def _from_bytes(data: bytes) -> IgnoreRules:
    rules = IgnoreRules()
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    for line in text.split("\n"):
        rules._add_line(line.removesuffix("\r"))
    rules._finish()
    return rules


def _without_trailing_spaces(line: str) -> str:
    bare = line.rstrip(" ")
    if bare == line:
        return line
    escaped = (len(bare) - len(bare.rstrip("\\"))) % 2
    return f"{bare} " if escaped else bare


def _is_ending(body: str) -> bool:
    return body.startswith("*.") and is_literal(body[2:]) and "." not in body[2:] and len(body) > 2


def read_rules(path: str) -> IgnoreRules | None:
    """The rules of an ignore file; None when there are none."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST_FILE)
    except OSError:
        return None
    return IgnoreRules.from_bytes(data) or None
