"""Words of bash as bash reads them: every quote, escape and expansion. What is not known here is doubt.

It shares no code with the tree-sitter grammar, on purpose: it is the second opinion. It goes over the text once, from
left to right, and never back, so its work grows with the length of the text alone.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pegboard_bash.word_builder import WordBuilder, add_ansi
from pegboard_bash.words import Mark, mark_of

PLAIN = re.compile(r"[A-Za-z0-9_./:=@%+,^-]+(?=[ \t\n;|&<>)]|\Z)")
ORDINARY = re.compile(r"""[^ \t\n'"\\$`;|&<>()]+""")
IN_QUOTES = re.compile(r"""[^"\\$`]+""")
ANSI_STRING = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])|\{([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])\})")
PARAMETER = re.compile(r"\$\{[!#]?(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])(?=[:%#/^,@=?+\[-])")
BACKTICKS = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
ARITHMETIC_RUN = re.compile(r"""[^()\\$`"']+""")
JOINED = "\\\n"
DEEPEST = 24


class Doubt(Exception):  # noqa: N818 - it is an answer, and no failure
    """A text that this reading does not vouch for. It says why."""


class Token(NamedTuple):
    """A word as written in the text."""

    start: int
    end: int
    source: str
    spelling: WordBuilder | None
    """None for a word that is plain: it means what it says."""

    @property
    def mark(self) -> Mark:
        """How the word is compared with another reading of it."""
        return (self.start, self.source) if self.spelling is None else mark_of(self.start, self.source, self.spelling)


class Lexer:
    """Cuts words out of a text. The content of a substitution is read by `inside`, which a parser provides."""

    def __init__(self, text: str, start: int = 0, end: int | None = None, depth: int = 0) -> None:
        self.text, self.at, self.end = text, start, len(text) if end is None else end
        self.depth = depth
        self.holding = False
        """Whether a here-document waits for its body: a line break inside a word would be in its way."""

    def inside(self, closing: str) -> None:
        """Read commands up to a closing sign, and step over it."""
        raise NotImplementedError

    def backticks(self, start: int, body: str) -> None:
        """Read the commands between backticks."""
        raise NotImplementedError

    def word(self) -> Token:
        """The word that begins here."""
        start, text = self.at, self.text
        found = PLAIN.match(text, start, self.end)
        if found and not text.startswith(("<(", ">("), found.end()):
            self.at = found.end()
            return Token(start, self.at, found[0], None)
        spelling = WordBuilder()
        while self.at < self.end and self._piece(spelling):
            pass
        if self.at == start:
            raise Doubt(f"a word is missing before {text[start : start + 1]!r}")
        return Token(start, self.at, text[start : self.at], spelling)

    def _piece(self, into: WordBuilder) -> bool:
        """One run, quote or expansion of a word; False where the word ends."""
        text, at = self.text, self.at
        if found := ORDINARY.match(text, at, self.end):
            into.add(found[0], quoted=False)
            self.at = found.end()
            return True
        sign = text[at]
        if sign == "'":
            self._single(into)
        elif sign == '"':
            self._double(into)
        elif sign == "\\":
            self._escape(into)
        elif sign in "$`":
            self._expansion(into, quoted=False)
        elif text.startswith(("<(", ">("), at):
            self.at += 2
            self._nested(")")
            into.add_hole(text[at : at + 2])
        else:
            if sign == "(":
                raise Doubt("there is a parenthesis in a word")
            return False
        return True

    def _single(self, into: WordBuilder) -> None:
        stop = self.text.find("'", self.at + 1, self.end)
        if stop < 0:
            raise Doubt("a quote is not closed")
        self._keep_lines(self.at, stop)
        into.add(self.text[self.at + 1 : stop], quoted=True)
        self.at = stop + 1

    def _escape(self, into: WordBuilder) -> None:
        if self.at + 1 >= self.end:
            raise Doubt("it ends with a backslash")
        if self.text.startswith(JOINED, self.at):
            raise Doubt("there is a line break in the middle of a word")
        into.add(self.text[self.at + 1], quoted=True)
        self.at += 2

    def _double(self, into: WordBuilder) -> None:
        start = self.at
        self.at += 1
        self.quoted_text(into, '"')
        self._keep_lines(start, self.at)

    def quoted_text(self, into: WordBuilder, closing: str) -> None:
        """Text in which only `$`, backticks and backslashes are special, up to a closing sign or to the end."""
        text = self.text
        while self.at < self.end:
            if found := IN_QUOTES.match(text, self.at, self.end):
                into.add(found[0], quoted=True)
                self.at = found.end()
                continue
            sign = text[self.at]
            if sign == closing:
                self.at += 1
                return
            if sign == "\\":
                self._escape_in_quotes(into, closing)
            elif sign == '"':
                into.add(sign, quoted=True)
                self.at += 1
            else:
                self._expansion(into, quoted=True)
        if closing:
            raise Doubt("a quote is not closed")

    def _escape_in_quotes(self, into: WordBuilder, closing: str) -> None:
        if self.at + 1 >= self.end:
            raise Doubt("it ends with a backslash")
        follows = self.text[self.at + 1]
        if follows != "\n":
            special = follows in "$`\\" or follows == closing
            into.add(follows if special else f"\\{follows}", quoted=True)
        self.at += 2

    def _keep_lines(self, start: int, stop: int) -> None:
        if self.holding and "\n" in self.text[start:stop]:
            raise Doubt("a word continues past the line of a here-document")

    # Expansions

    def _expansion(self, into: WordBuilder, *, quoted: bool) -> None:
        text, at = self.text, self.at
        if text.startswith("$((", at):
            self._arithmetic(3)
            into.add_hole(text[at : self.at], quoted=quoted)
        elif text.startswith("$(", at):
            self.at += 2
            self._nested(")")
            into.add_hole("$(", quoted=quoted)
        elif text[at] == "`":
            self._backticks(quoted)
            into.add_hole("`", quoted=quoted)
        elif found := VARIABLE.match(text, at, self.end):
            self._no_join(found.end())
            self.at = found.end()
            into.add_hole(f"${found[1] or found[2]}", quoted=quoted)
        elif text.startswith("${", at):
            self._parameter(quoted)
            into.add_hole("${", quoted=quoted)
        else:
            self._dollar(into, quoted)

    def _dollar(self, into: WordBuilder, quoted: bool) -> None:
        """A dollar sign that begins no variable."""
        text, at = self.text, self.at
        self._no_join(at + 1)
        if text.startswith("$[", at):
            raise Doubt("$[ is an old form of arithmetic")
        if not quoted and text.startswith("$'", at):
            found = ANSI_STRING.match(text, at, self.end)
            if not found:
                raise Doubt("a quote is not closed")
            self._keep_lines(at, found.end())
            add_ansi(found[1], into)
            self.at = found.end()
        elif not quoted and text.startswith('$"', at):
            self.at += 1
            self._double(into)
            into.add_unknown()  # The locale may provide a translation; without one, it is the text.
        else:
            into.add("$", quoted=True)
            self.at += 1

    def _no_join(self, at: int) -> None:
        if self.text.startswith(JOINED, at):
            raise Doubt("a line break follows a dollar sign")

    def _nested(self, closing: str) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Doubt("it is nested too deeply")
        start = self.at
        self.inside(closing)
        self._keep_lines(start, self.at)
        self.depth -= 1

    def _backticks(self, quoted: bool) -> None:
        start, found = self.at, BACKTICKS.match(self.text, self.at, self.end)
        if not found:
            raise Doubt("a backtick is not closed")
        self._keep_lines(start, found.end())
        if quoted and '\\"' in found[1]:
            raise Doubt("a quote is escaped between backticks")
        self.at = found.end()
        self.depth += 1
        if self.depth > DEEPEST:
            raise Doubt("it is nested too deeply")
        self.backticks(start, found[1])
        self.depth -= 1

    def _parameter(self, quoted: bool) -> None:
        """`${name…}` with an operator: only its end is of interest, and the commands in it."""
        found = PARAMETER.match(self.text, self.at, self.end)
        if not found:
            raise Doubt("it has an unknown expansion")
        self.depth += 1
        if self.depth > DEEPEST:
            raise Doubt("it is nested too deeply")
        self.at = found.end()
        ignored = WordBuilder()
        while self.at < self.end:
            sign = self.text[self.at]
            if sign == "}":
                self.at += 1
                self.depth -= 1
                return
            if sign in "'<>(" or (sign == '"' and quoted) or self.text.startswith(JOINED, self.at):
                raise Doubt("an expansion contains quotes or characters that can be parsed in more than one way")
            if sign in "$`":
                self._expansion(ignored, quoted=quoted)
            elif sign == '"':
                self._double(ignored)
            else:
                self.at += 2 if sign == "\\" else 1
        raise Doubt("an expansion is not closed")

    def _arithmetic(self, opening: int) -> None:
        """From `((` to its `))`. Where the two are not adjacent it may be a subshell, so it is not accepted."""
        self.at += opening
        open_ones, ignored, text = 2, WordBuilder(), self.text
        while self.at < self.end:
            if found := ARITHMETIC_RUN.match(text, self.at, self.end):
                self.at = found.end()
                continue
            sign = text[self.at]
            if sign in "$`":
                self._expansion(ignored, quoted=True)
                continue
            if sign in "\\\"'":
                raise Doubt("arithmetic contains quotes")
            if sign == ")" and open_ones == 2 and text[self.at + 1 : self.at + 2] != ")":
                raise Doubt("it may be arithmetic or a subshell")
            open_ones += 1 if sign == "(" else -1
            self.at += 1
            if not open_ones:
                return
        raise Doubt("arithmetic is not closed")
