"""What is between words: blanks, comments, line breaks, redirects, and here-documents, whose bodies come later."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from pegboard_bash.lexer import JOINED, Doubt, Lexer, Token
from pegboard_bash.word_builder import WordBuilder

REDIRECT = re.compile(r"(\d*)(<<<|<<-|<<|<>|<&-|<&|<(?!\()|>>|>\||>&-|>&|>(?!\()|(?<!\d)&>>|(?<!\d)&>)")
ODD_REDIRECT = re.compile(r"(?:\d+(?=[<>]\()|\{\w+(?:\[[^\]]*\])?\}(?=[<>]))", re.ASCII)
MOST = 4_000
"""Words and commands in one text."""


class HereDocument(NamedTuple):
    """A here-document whose body is still to come."""

    at: int
    delimiter: str
    quoted: bool
    tabs: bool
    given: list[str]


class LineLexer(Lexer):
    """Reads the words and redirects of lines, and leaves marks of what it read."""

    def __init__(self, text: str, start: int = 0, end: int | None = None, depth: int = 0) -> None:
        super().__init__(text, start, end, depth)
        self.marks: set[tuple[Any, ...]] = set()
        self.waiting: list[HereDocument] = []

    def blanks(self) -> None:
        """Step over blanks and comments."""
        text = self.text
        while self.at < self.end:
            if text[self.at] in " \t":
                self.at += 1
            elif text.startswith(JOINED, self.at):
                if self.at and text[self.at - 1] not in " \t\n":
                    raise Doubt("there is an unexpected line break")
                self.at += 2
            elif text[self.at] == "#":
                stop = text.find("\n", self.at, self.end)
                self.at = self.end if stop < 0 else stop
            else:
                return

    def lines(self) -> None:
        """Step over blanks, comments and line breaks."""
        self.blanks()
        while self.sees("\n"):
            self._line_break()
            self.blanks()

    def _line_break(self) -> None:
        self.at += 1
        for document in self.waiting:
            self._body(document)
        self.waiting, self.holding = [], False

    def sees(self, text: str) -> bool:
        """Whether this text comes next."""
        return self.at < self.end and self.text.startswith(text, self.at)

    def mark(self, text: str) -> None:
        """Step over a sign or keyword and remember it."""
        self.marks.add((self.at, text))
        if len(self.marks) > MOST:
            raise Doubt("it has too many parts")
        self.at += len(text)

    # Redirects

    def redirects(self) -> None:
        """Redirects behind a compound command."""
        self.blanks()
        while self.redirect([]):
            self.blanks()

    def redirect(self, given: list[str]) -> bool:
        """A redirect, if one comes next. What it gives as input is added to `given`."""
        if ODD_REDIRECT.match(self.text, self.at, self.end):
            raise Doubt("it has an unknown redirect")
        found = REDIRECT.match(self.text, self.at, self.end)
        if not found:
            return False
        start, self.at = self.at, found.end()
        if self.sees(JOINED):
            raise Doubt("there is a line break in a redirect")
        if found[2].endswith("&-"):
            self.marks.add(("redirect", start, found[2]))
            return True
        while self.at < self.end and self.text[self.at] in " \t":
            self.at += 1
        if self.sees("#"):
            raise Doubt("a redirect has no target")
        token = self.word()
        if found[2] in ("<<", "<<-"):
            self._document(start, found[2], token, given)
        else:
            self.marks.add(("redirect", start, found[2], token.mark))
            if found[2] == "<<<":
                given.append(token.spelling.text if token.spelling else token.source)
        return True

    # Here-documents

    def _document(self, start: int, operator: str, token: Token, given: list[str]) -> None:
        text = token.spelling.text if token.spelling else token.source
        if (token.spelling and not token.spelling.known) or "\n" in text or "$" in token.source:
            raise Doubt("a here-document has no clear end")
        quoted = text != token.source or any(sign in token.source for sign in "'\"\\")
        self.waiting.append(HereDocument(start, text, quoted, operator == "<<-", given))
        self.holding = True

    def _body(self, document: HereDocument) -> None:
        begin, line = self.at, ""
        while True:
            if self.at >= self.end:
                raise Doubt("a here-document has no end")
            start, stop = self.at, self.text.find("\n", self.at, self.end)
            self.at = self.end if stop < 0 else stop + 1
            line = self.text[start : self.end if stop < 0 else stop]
            if (line.lstrip("\t") if document.tabs else line) == document.delimiter:
                break
        self.marks.add(("document", document.at, document.delimiter, begin, start))
        document.given.append(self.text[begin:start])
        if not document.quoted:
            self._expanded(begin, start)

    def _expanded(self, begin: int, end: int) -> None:
        """An unquoted body: expansions in it are run."""
        if JOINED in self.text[begin:end]:
            raise Doubt("a line of a here-document continues on the next")
        kept, self.at, self.end = (self.at, self.end), begin, end
        waiting, self.waiting, self.holding = self.waiting, [], False
        self.quoted_text(WordBuilder(), "")
        self.waiting = waiting
        self.at, self.end = kept
