"""sed: a script is read command by command, as GNU sed reads it. What writes, runs or is unusual asks."""

from __future__ import annotations

import re

from pegboard_bash.effects import Effects
from pegboard_bash.words import Word

FLAGS = frozenset("nErsuz")
LONG = frozenset(
    {"quiet", "silent", "regexp-extended", "separate", "unbuffered", "null-data", "posix", "version", "help"}
)
PLAIN = frozenset("pPdDnNgGhHxzF=")
ADDRESS = re.compile(r"\d+~\d+|\d+|\$")
SUBSTITUTION_FLAGS = re.compile(r"[gpiImM0-9]*")
LABEL = re.compile(r"[ \t]*\w*")
NUMBER = re.compile(r"[ \t]*\d*")
TEXT = re.compile(r"[ \t]*\\?[ \t]*[^\\\s][^\\\n]*(?=\n|\Z)")
"""What `a`, `i` and `c` add: one line of text, which ends the command. With more backslashes it may continue."""


def check_sed(words: list[Word], effects: Effects) -> None:
    """Sed with a script of printing, deleting and replacing; with `-i` it edits its files."""
    scripts, operands, in_place = _options(words, effects)
    if not scripts and operands:
        scripts.append(operands.pop(0).text)
    if not scripts and [word.text for word in words] not in (["--version"], ["--help"]):
        effects.refuse("sed has no script.")
    problem = problem_of("\n".join(scripts))
    if problem:
        effects.refuse(problem)
        effects.exact = True
    for word in operands:
        effects.read(word)
        if in_place:
            effects.write(word)
    if in_place:
        effects.changes("sed -i changes its files.")


def _options(words: list[Word], effects: Effects) -> tuple[list[str], list[Word], bool]:
    scripts: list[str] = []
    operands: list[Word] = []
    in_place, ended, at = False, False, 0
    while at < len(words):
        text, at = words[at].text, at + 1
        if ended or not text.startswith("-") or text == "-":
            operands.append(words[at - 1])
        elif text == "--":
            ended = True
        elif text.startswith("--"):
            name, given, value = text[2:].partition("=")
            if name == "expression" and (given or at < len(words)):
                scripts.append(value if given else words[at].text)
                at += not given
            elif name == "in-place" and not value:
                in_place = True
            elif name not in LONG or given:
                effects.refuse(f"The option --{name} of sed may change something.")
                in_place = in_place or name.startswith("in")
        else:
            at, in_place = _bundle(words, at, scripts, effects, in_place)
    return scripts, operands, in_place


def _bundle(words: list[Word], at: int, scripts: list[str], effects: Effects, in_place: bool) -> tuple[int, bool]:
    letters = words[at - 1].text[1:]
    for position, letter in enumerate(letters):
        rest = letters[position + 1 :]
        if letter == "e" and (rest or at < len(words)):
            scripts.append(rest or words[at].text)
            return at + (not rest), in_place
        if letter == "i":
            if rest:
                effects.refuse("sed -i with a suffix creates copies of its files.")
            return at, True
        if letter not in FLAGS:
            effects.refuse(f"The option -{letter} of sed may change something.")
            return at, in_place
    return at, in_place


def problem_of(script: str) -> str:
    """What a script does besides printing and replacing, as a sentence; empty if nothing."""
    try:
        _Script(script).commands()
    except _DoubtError as doubt:
        return str(doubt)
    return ""


class _DoubtError(Exception):
    pass


class _Script:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def commands(self) -> None:
        while True:
            self._skip(" \t\n;")
            if self.at >= len(self.text):
                return
            self._addresses()
            self._skip(" \t!")
            self._command()

    def _skip(self, signs: str) -> None:
        while self.at < len(self.text) and self.text[self.at] in signs:
            self.at += 1

    def _next(self) -> str:
        if self.at >= len(self.text):
            raise _DoubtError("The sed script ends too early.")
        self.at += 1
        return self.text[self.at - 1]

    def _addresses(self) -> None:
        if not self._address():
            return
        self._skip(" \t")
        if self.text[self.at : self.at + 1] == ",":
            self.at += 1
            self._skip(" \t")
            if self.text[self.at : self.at + 1] in ("+", "~"):
                self.at += 1
            if not self._address():
                raise _DoubtError("An address in the sed script is not understood.")

    def _address(self) -> bool:
        found = ADDRESS.match(self.text, self.at)
        if found:
            self.at = found.end()
            return True
        sign = self.text[self.at : self.at + 1]
        if sign == "/":
            self.at += 1
            self._delimited("/")
        elif sign == "\\":
            self.at += 1
            self._delimited(self._next())
        else:
            return False
        while self.text[self.at : self.at + 1] in ("I", "M") and self.at < len(self.text):
            self.at += 1
        return True

    def _delimited(self, delimiter: str) -> None:
        """A regular expression or replacement up to its delimiter, as GNU sed finds it: brackets do not protect it."""
        if delimiter in "\n\\":
            raise _DoubtError("A delimiter in the sed script is not understood.")
        begin = self.at
        while (sign := self._next()) != delimiter:
            if sign == "\n":
                raise _DoubtError("A line break in a sed expression is not understood.")
            if sign == "\\":
                self._next()
        inside = self.text[begin : self.at - 1]
        if re.search(r"(?<!\\)\[[^\]]*$", inside):
            raise _DoubtError("A bracket in the sed script may hide its delimiter.")

    def _command(self) -> None:
        sign = self._next()
        if sign in "{}":
            return
        if sign in PLAIN:
            self._end()
        elif sign == "s":
            self._substitution()
        elif sign == "y":
            delimiter = self._next()
            self._delimited(delimiter)
            self._delimited(delimiter)
            self._end()
        elif sign in ":btT":
            self.at = self._matched(LABEL)
            self._end()
        elif sign in "qQlL":
            self.at = self._matched(NUMBER)
            self._end()
        elif sign in "aic":
            end = self._matched(TEXT)
            if end == self.at:
                raise _DoubtError(f"The text of the sed command {sign!r} is not understood.")
            self.at = end
        elif sign == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        else:
            raise _DoubtError(f"The sed command {sign!r} may change something.")

    def _matched(self, pattern: re.Pattern[str]) -> int:
        found = pattern.match(self.text, self.at)
        return found.end() if found else self.at

    def _substitution(self) -> None:
        delimiter = self._next()
        self._delimited(delimiter)
        self._delimited(delimiter)
        self.at = self._matched(SUBSTITUTION_FLAGS)
        self._end()

    def _end(self) -> None:
        """Only a separator, a closing brace or a comment may follow a command."""
        self._skip(" \t")
        if self.at < len(self.text) and self.text[self.at] not in ";\n}#":
            raise _DoubtError(f"The sed script continues with {self.text[self.at]!r} where a command should end.")
