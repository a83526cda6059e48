"""Commands of bash as bash reads them: lists, pipelines, compound commands, redirects and here-documents.

What it reads becomes marks, which another reading of the same text must have found as well, and simple commands, which
the rules that restrict look at. It does not judge anything.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pegboard_bash.lexer import Doubt, Token
from pegboard_bash.lines import MOST, LineLexer
from pegboard_bash.word_builder import WordBuilder
from pegboard_bash.words import Mark

KEYWORD = re.compile(
    r"(?:if|then|elif|else|fi|for|while|until|do|done|case|esac|select|function|coproc|time|in|\{|\}|!|\[\[)"
    r"(?=[ \t\n;|&<>()]|\Z)"
)
ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\+?=\(|\+?=|\[)")
FUNCTION = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*[ \t]*\([ \t]*\)")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?=[ \t\n;]|\Z)")
TIMED = re.compile(r"time[ \t]+(?:-p[ \t]+)?(?:--[ \t]+)?")


class Simple(NamedTuple):
    """A simple command: its assignments, its words, and the texts that it is given as input."""

    assignments: list[Token]
    words: list[Token]
    given: list[str]


class Parser(LineLexer):
    """Reads a whole command text."""

    def __init__(self, text: str, start: int = 0, end: int | None = None, depth: int = 0) -> None:
        super().__init__(text, start, end, depth)
        self.commands: list[Simple] = []

    def script(self) -> None:
        """Read all of it."""
        self._statements()
        if self.at < self.end:
            raise Doubt(f"{self.text[self.at]!r} is not expected there")
        if self.waiting:
            raise Doubt("a here-document has no end")

    def _keyword(self) -> str:
        found = KEYWORD.match(self.text, self.at, self.end)
        return found[0] if found else ""

    def _expect(self, *texts: str) -> str:
        """One of these keywords, after any line breaks."""
        self.lines()
        found = self._keyword()
        if found not in texts:
            raise Doubt(f"{' or '.join(texts)} is missing")
        self.mark(found)
        return found

    # Lists and pipelines

    def _statements(self, *closing: str) -> None:
        """Statements up to a closing keyword or sign, which stays."""
        while True:
            self.lines()
            if self.at >= self.end or self.text[self.at] == ")" or self._keyword() in closing or self.sees(";;"):
                return
            self._and_or()
            self.blanks()
            if self.sees("&"):
                self.mark("&")
            elif self.sees(";") and not self.sees(";;") and not self.sees(";&"):
                self.at += 1
            elif not self.sees("\n"):
                if self.at < self.end and not self.sees(")") and not self.sees(";"):
                    raise Doubt(f"{self.text[self.at]!r} is not expected there")
                return

    def _and_or(self) -> None:
        self._pipeline()
        self.blanks()
        while self.sees("&&") or self.sees("||"):
            self.mark(self.text[self.at : self.at + 2])
            self.lines()
            self._pipeline()
            self.blanks()

    def _pipeline(self) -> None:
        while self._keyword() == "!":
            self.mark("!")
            self.blanks()
        self._command(first=True)
        self.blanks()
        while self.sees("|") and not self.sees("||"):
            self.mark("|&" if self.sees("|&") else "|")
            self.lines()
            self._command()
            self.blanks()

    def _command(self, *, first: bool = False) -> None:
        keyword = self._keyword()
        self.depth += 1
        if self.depth > 60:
            raise Doubt("it is nested too deeply")
        if keyword == "time":
            self._timed(first)
        elif keyword:
            read = COMPOUND.get(keyword)
            if read is None:
                raise Doubt(f"{keyword} is not expected there")
            read(self)
            self.redirects()
        elif self.sees("(("):
            self.marks.add((self.at, "(("))
            self._arithmetic(2)
            self.redirects()
        elif self.sees("("):
            self._group("(", ")")
            self.redirects()
        else:
            self._simple()
        self.depth -= 1

    def _timed(self, first: bool) -> None:
        """`time` before plain words is read like a program; before anything else it times that."""
        found = TIMED.match(self.text, self.at, self.end)
        after = found.end() if found else self.end
        if (
            not first
            or not found
            or KEYWORD.match(self.text, after, self.end)
            or self.text[after : after + 1] in "(\n;&|"
        ):
            raise Doubt("time is followed by something other than plain words")
        self._simple()

    # Compound commands

    def _group(self, opening: str, closing: str) -> None:
        self.mark(opening)
        self._statements(closing)
        if not self.sees(closing):
            raise Doubt(f"{closing} is missing")
        self.mark(closing)

    def _braces(self) -> None:
        self._group("{", "}")

    def _if(self) -> None:
        self.mark("if")
        self._statements("then")
        self._expect("then")
        self._statements("elif", "else", "fi")
        while (found := self._expect("elif", "else", "fi")) != "fi":
            if found == "elif":
                self._statements("then")
                self._expect("then")
            self._statements("elif", "else", "fi") if found == "elif" else self._statements("fi")

    def _while(self) -> None:
        self.mark(self._keyword())
        self._statements("do")
        self._do()

    def _do(self) -> None:
        self._expect("do")
        self._statements("done")
        self._expect("done")

    def _for(self) -> None:
        self.mark(self._keyword())
        self.blanks()
        if self.sees("(("):
            self._arithmetic(2)
        else:
            name = NAME.match(self.text, self.at, self.end)
            if not name:
                raise Doubt("a loop has no variable")
            self.mark(name[0])
            self.lines()
            if self._keyword() == "in":
                self.mark("in")
                self._values()
        self.blanks()
        if self.sees(";"):
            self.at += 1
        self._do()

    def _values(self) -> None:
        self.blanks()
        while self.at < self.end and self.text[self.at] not in ";\n":
            self.marks.add(("value", self.word().mark))
            self.blanks()

    def _case(self) -> None:
        self.mark("case")
        self.blanks()
        self.marks.add(("value", self.word().mark))
        self._expect("in")
        self.lines()
        while self._keyword() != "esac":
            self._patterns()
            self._statements("esac")
            self.lines()
            ending = next((each for each in (";;&", ";;", ";&") if self.sees(each)), "")
            if not ending and self._keyword() != "esac":
                raise Doubt("a case has no end")
            self.at += len(ending)
            self.lines()
        self.mark("esac")

    def _patterns(self) -> None:
        if self.sees("("):
            self.at += 1
        while True:
            self.blanks()
            self.word()
            self.blanks()
            if self.sees(")"):
                self.at += 1
                return
            if not self.sees("|"):
                raise Doubt("a pattern in a case has no end")
            self.at += 1

    def _condition(self) -> None:
        """`[[ … ]]`: words and operators up to its end."""
        start, found = self.at, list[object]()
        self.at += 2
        while True:
            self.lines()
            if KEYWORD_END.match(self.text, self.at, self.end):
                found.append((self.at, "]]"))
                self.at += 2
                self.marks.add(("[[", start, tuple(found)))
                return
            if operator := CONDITION_OPERATOR.match(self.text, self.at, self.end):
                found.append((self.at, operator[0]))
                self.at = operator.end()
                continue
            token = self.word()
            found.append(token.mark)
            if token.source == "=~":
                found.append(self._expression())

    def _expression(self) -> Mark:
        """The regular expression behind `=~`: one word, in which a `$` at the end is no expansion."""
        self.blanks()
        token = self.word()
        plain = token.spelling is None or token.spelling.text == token.source
        return (token.start, token.source) if plain else token.mark

    def _function(self) -> None:
        self.mark("function")
        self.blanks()
        found = FUNCTION.match(self.text, self.at, self.end)
        self.at = found.end() if found else self.word().end
        self._body_of_function()

    def _body_of_function(self) -> None:
        self.lines()
        if not self._keyword() and not self.sees("("):
            raise Doubt("a function has no body")
        self._command()

    # Simple commands

    def _simple(self) -> None:
        assignments, words, marks = list[Token](), list[Token](), list[Mark]()
        given, touched = list[str](), False
        if found := FUNCTION.match(self.text, self.at, self.end):
            self.mark(found[0])
            self._body_of_function()
            return
        while True:
            self.blanks()
            if self.at >= self.end or (self.text[self.at] in "\n;|&)" and not self.sees("&>")):
                break
            if touched and not words and self._keyword():
                raise Doubt("a keyword follows a redirect or an assignment")
            touched = True
            if self.redirect(given):
                continue
            if self.sees("("):
                raise Doubt("a parenthesis follows a word")
            token = self._assignment() if not words else None
            if token:
                assignments.append(token)
            else:
                token = self.word()
                words.append(token)
            marks.append(token.mark)
        if not touched:
            raise Doubt("a command is missing")
        if marks:
            self.marks.add(("command", tuple(marks)))
            self.commands.append(Simple(assignments, words, given))
        if len(self.marks) > MOST or len(words) > MOST:
            raise Doubt("it has too many parts")

    def _assignment(self) -> Token | None:
        found = ASSIGNMENT.match(self.text, self.at, self.end)
        if not found:
            return None
        if found[1] == "[":
            raise Doubt("an element of an array may be set")
        if not found[1].endswith("("):
            return self.word()
        start, self.at = self.at, found.end()
        self.lines()
        while not self.sees(")"):
            if self.at >= self.end:
                raise Doubt("an array is not closed")
            self.word()
            self.lines()
        self.at += 1
        spelling = WordBuilder()
        spelling.add_hole("=(")
        return Token(start, self.at, self.text[start : self.at], spelling)

    # Commands inside words

    def inside(self, closing: str) -> None:
        """Read commands up to a closing sign, and step over it."""
        self.marks.add((self.at - 2, self.text[self.at - 2 : self.at]))
        waiting, holding = self.waiting, self.holding
        self.waiting, self.holding = [], False
        self._statements(closing)
        if self.waiting:
            raise Doubt("a here-document has no end")
        if not self.sees(closing):
            raise Doubt(f"{closing} is missing")
        self.mark(closing)
        self.waiting, self.holding = waiting, holding

    def backticks(self, start: int, body: str) -> None:
        """Read the commands between backticks. The shell takes backslashes away first, so places may not agree."""
        if "\\" in body:
            inner = Parser(re.sub(r"\\([`$\\])", r"\1", body), depth=self.depth)
            self.marks.add((start, "\\"))
        else:
            inner = Parser(self.text, start + 1, start + 1 + len(body), self.depth)
            inner.marks = self.marks
            self.marks |= {(start, "`"), (start + 1 + len(body), "`")}
        inner.commands = self.commands
        inner.script()


KEYWORD_END = re.compile(r"\]\](?=[ \t\n;|&<>()]|\Z)")
CONDITION_OPERATOR = re.compile(r"&&|\|\||[()<>](?!\()")
COMPOUND = {
    "{": Parser._braces,
    "if": Parser._if,
    "while": Parser._while,
    "until": Parser._while,
    "for": Parser._for,
    "select": Parser._for,
    "case": Parser._case,
    "[[": Parser._condition,
    "function": Parser._function,
}
