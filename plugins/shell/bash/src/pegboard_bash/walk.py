"""A whole command line: its structure, walked over a closed set of syntax. What is not in the set asks."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from pegboard import Part
from pegboard_bash.conditions import problem_of_test
from pegboard_bash.effects import Effects, ShellState
from pegboard_bash.loops import Loops
from pegboard_bash.marks import Marks
from pegboard_bash.nodes import FLAT, TOKENS, UNKNOWN_WORDS, WORDS
from pegboard_bash.redirects import Redirects
from pegboard_bash.simple import SHELLS, CommandReading, absorb, is_safe_assignment, read_command
from pegboard_bash.words import ARITHMETIC, Mark, Speller, Word

if TYPE_CHECKING:
    from tree_sitter import Node

DEEPEST, MOST_STATEMENTS, MOST_PLACES, DEEPEST_SCRIPT, MOST_PATTERNS = 60, 2_000, 8, 4, 64


class Walk:
    """What all commands of a line would do together. `effects` collects it, `parts` are the commands one by one."""

    def __init__(self, source: bytes, place: ShellState, depth: int = 0) -> None:
        self.source, self.place, self.depth = source, place, depth
        self.effects = Effects(place)
        self.parts: dict[str, Part] = {}
        self.programs: set[str] = set()
        self.variables: dict[str, str] = {"HOME": place.home}
        self.speller = Speller(source, place.home, self.variables)
        self.record = Marks(self.speller)
        self.redirects = Redirects(self)
        self.loops = Loops(self)
        self._nesting = self._seen = self._patterns = 0
        self.exhausted = False
        """Whether some of it was not looked at."""

    # Structure

    def statement(self, node: Node) -> None:
        """Walk over a node that is a statement, or is where one is expected."""
        self._nesting += 1
        self._seen += 1
        if self._nesting > DEEPEST or self._seen > MOST_STATEMENTS:
            self.exhausted = True
            self.effects.refuse("It has too many commands to follow.")
        else:
            visit = VISITS.get(node.type)
            self._note_place()
            if visit is None:
                self._unknown(node)
            else:
                visit(self, node)
        self._nesting -= 1

    def _note_place(self) -> None:
        """`$PWD` is known where only one folder is possible."""
        if len(self.place.cwds) == 1:
            self.variables["PWD"] = self.place.cwds[0]
        else:
            self.variables.pop("PWD", None)

    def sequence(self, node: Node) -> None:
        """Statements one after the other."""
        for child in node.children:
            if child.is_named:
                self.statement(child)
            else:
                self.token(child, node)

    def token(self, token: Node, node: Node) -> None:
        """A sign or keyword between statements."""
        self.record.token(token)
        if token.type == "&":
            self.refuse_whole(node, "Part of it continues in the background.")
        elif token.type not in TOKENS:
            self.refuse_whole(node, f"{token.type!r} is not understood here.")

    def conditional(self, node: Node) -> None:
        """Statements of which some may not run: afterwards the shell may be in either directory."""
        seen, before = list(self.place.cwds), self.place.cwds
        skipped = False
        for child in self._members(node):
            # What follows `a || b` runs wherever the one or the other has left the shell, also behind an `&&`.
            skipped = skipped or child.type in ("||", "else_clause", "elif_clause")
            if skipped:
                self.place.cwds = tuple(dict.fromkeys(seen))
            if child.is_named:
                self.statement(child)
                seen += self.place.cwds
            else:
                self.token(child, node)
        self.place.cwds = tuple(dict.fromkeys(seen))
        if node.type == "while_statement" and self.place.cwds != before:
            self.refuse_whole(node, "A cd in a loop may lead anywhere.")

    def _members(self, node: Node) -> list[Node]:
        """The members of `a && b || c` from left to right; the parser nests them."""
        if node.type != "list" or not node.children or node.children[0].type != "list":
            return node.children
        found: list[Node] = []
        while node.type == "list":
            found[:0] = node.children[1:]
            node = node.children[0]
        return [node, *found]

    def aside(self, node: Node) -> None:
        """Statements in a shell of their own: what they change around them is gone afterwards."""
        before = self.place.cwds
        if node.type == "pipeline":
            for child in node.children:
                if child.is_named:
                    self.statement(child)
                    self.place.cwds = before = self._either(before) if _holds_list(child) else before
                else:
                    self.token(child, node)
        else:
            self.sequence(node)
        self.place.cwds = before

    def _either(self, before: tuple[str, ...]) -> tuple[str, ...]:
        """The directories where the shell was before, and those where it may be now."""
        return tuple(dict.fromkeys((*before, *self.place.cwds)))

    def redirected(self, node: Node) -> None:
        """A statement with redirects."""
        body = node.child_by_field_name("body")
        self.redirects.texts.clear()
        redirects = [child for child in node.children if child != body]
        if body is None or body.type == "command":
            extra = self.redirects.all(redirects)
            if body is not None:
                self.command(body, extra)
        else:
            # The parser hands the redirect of the last command of a list to the whole list. So it may be opened
            # where an earlier `cd` has led.
            before = self.place.cwds
            self.statement(body)
            after, self.place.cwds = self.place.cwds, self._either(before)
            if self.redirects.all(redirects):
                self.refuse_whole(node, "A redirect has more than one target.")
            self.place.cwds = after
        self.redirects.rest(node)

    def loop(self, node: Node) -> None:
        """A `for`."""
        if not self.loops.over_words(node):
            self._unknown(node)

    def comment(self, node: Node) -> None:
        """Nothing."""

    # What is not one of the above

    def _unknown(self, node: Node) -> None:
        what = UNKNOWN_WORDS.get(node.type, f"The syntax {node.type.replace('_', ' ')} is not understood.")
        self.refuse_whole(node, what)
        for child in node.children:
            if child.is_named:
                self.nested(child)

    def refuse_whole(self, node: Node, reason: str) -> None:
        """Something is not understood: it asks, and only a rule that spells it out can allow it."""
        self.record.leave_out(node)
        self.effects.refuse(reason)
        text = self.speller.slice(node.start_byte, node.end_byte).strip()
        self.add(Part(text, (), read_only=False, exact=True))

    def add(self, part: Part) -> None:
        """Keep a part; the same text twice is one part, the stricter."""
        known = self.parts.get(part.text)
        if known is not None:
            also = tuple(dict.fromkeys((*known.also, *part.also)))
            # Both, because rules see one part: it must be as strict as its strictest occurrence.
            read_only, exact = known.read_only and part.read_only, known.exact or part.exact
            part = Part(part.text, also, read_only, exact)
        self.parts[part.text] = part

    def collapse(self, text: str) -> None:
        """Make one part of all: which commands there are is not certain, so no rule may allow them one by one."""
        also = [each for part in self.parts.values() for each in (part.text, *part.also)]
        self.parts = {text: Part(text, tuple(dict.fromkeys(also)), exact=True)}

    def nested(self, node: Node) -> None:
        """Commands inside a word: each is a part, and each must only read."""
        kind = node.type
        if kind in FLAT:
            return
        if kind in ("command_substitution", "process_substitution"):
            self._substitution(node)
        elif kind in VISITS and kind not in ("comment",):
            before = self.place.cwds
            self.statement(node)
            self.place.cwds = before
        else:
            if kind == "expansion" and not self._is_plain(node):
                self.refuse_whole(node, "An expansion with an operator can assign and run things.")
            elif kind == "arithmetic_expansion" and not ARITHMETIC.fullmatch(self._text(node)):
                self.refuse_whole(node, "Arithmetic on names can run commands.")
            for child in node.children:
                if child.is_named:
                    self.nested(child)

    def _substitution(self, node: Node) -> None:
        if node.children[0].type == ">(":
            self.refuse_whole(node, "Part of its output goes to another command.")
        if node.children[0].type == "`" and "\\" in self._text(node):
            # The grammar reads the text with the backslashes, bash without them: so both are judged.
            self.refuse_whole(node, "A backslash between backticks can hide a command.")
            self._backticks(node)
        before = self.place.cwds
        for child in node.children:
            if child.type == "file_redirect":
                self.redirects.all([child])
            elif child.is_named:
                self.statement(child)
            else:
                self.token(child, node)
        self.place.cwds = before

    def _backticks(self, node: Node) -> None:
        """The shell takes a backslash away between backticks before it reads the command there."""
        reading = CommandReading(Effects(self.place), self._text(node), [])
        self._script(re.sub(r"\\([`$\\])", r"\1", self._text(node)[1:-1]), reading)
        absorb(self.effects, reading.effects)
        self.add(Part(reading.text, tuple(reading.also), exact=True))

    def _is_plain(self, node: Node) -> bool:
        return self._text(node)[2:-1].isidentifier()

    def _text(self, node: Node) -> str:
        return self.speller.slice(node.start_byte, node.end_byte)

    # Commands

    def command(self, node: Node, extra: list[Word] | None = None) -> None:
        """A simple command with its assignments and the redirects inside it."""
        assignments: list[tuple[str, bool, str]] = []
        marks: list[Mark] = []
        words: list[Word] = []
        inside: list[Node] = []
        at = node.start_byte
        for child in node.children:
            # Text between two nodes that the grammar skipped would otherwise be judged by no one.
            if child.start_byte != at and self.source[at : child.start_byte].strip(b" \t\\\n"):
                self.refuse_whole(node, "It cannot be parsed reliably.")
            at = child.end_byte
            kind = child.type
            if kind == "word" or kind == "number":
                words += self.speller.words(child)
            elif kind == "command_name":
                words += self._name(child)
            elif kind == "variable_assignment":
                assignments.append(self._assignment(child, marks))
            elif kind in WORDS:
                self.nested(child)
                words += self.speller.words(child)
            elif kind.endswith("_redirect"):
                inside.append(child)
            else:
                self.refuse_whole(node, f"The syntax {kind.replace('_', ' ')} is not understood here.")
                self.nested(child)
        words += self.redirects.all(inside)
        words += extra or []
        self.record.command(marks, words)
        self.limit_patterns(words)
        if words:
            reading = read_command(words, self.place, self.depth)
            if self.redirects.texts and reading.effects.program in SHELLS:
                reading.effects.subtexts += self.redirects.texts
            self._finish(reading, assignments)

    def limit_patterns(self, words: list[Word]) -> None:
        """Each pattern is looked up in the file system: after some it is enough."""
        self._patterns += sum(word.glob for word in words)
        if self._patterns > MOST_PATTERNS:
            self.effects.refuse("It contains too many patterns to expand.")
            for word in words:
                word.literal = word.literal and not word.glob

    def _name(self, node: Node) -> list[Word]:
        child = node.children[0] if node.children else node
        if child.type not in FLAT:
            self.nested(child)
        return self.speller.words(child)

    def _assignment(self, node: Node, marks: list[Mark]) -> tuple[str, bool, str]:
        name, value = node.children[0], node.children[-1]
        marks.append(self.record.assignment(node))
        for child in node.children[1:]:
            self.nested(child)
        words = self.speller.words(value) if value.type in WORDS else []
        if value.type == "=":
            words = [Word("")]
        plain = name.type == "variable_name" and node.children[1].type == "="
        safe = plain and len(words) == 1 and is_safe_assignment(self._text(name), words[0])
        return self._text(name), safe, self._text(node)

    def _finish(self, reading: CommandReading, assignments: list[tuple[str, bool, str]]) -> None:
        effects = reading.effects
        if assignments:
            written = " ".join(text for _, _, text in assignments)
            reading.also += [reading.text, f"{written} {reading.text}"]
            unsafe = [name for name, safe, _ in assignments if not safe]
            if unsafe:
                reading.text = f"{written} {reading.text}"
                effects.refuse(f"The variable {unsafe[0]} may change what the command does.")
        for text in effects.subtexts[:4]:
            self._script(text, reading)
        if effects.program == "cd":
            self._move(effects)
        self.programs.add(effects.program.partition(" ")[0])
        absorb(self.effects, effects)
        self.add(reading.part())

    def _script(self, text: str, reading: CommandReading) -> None:
        if inner := self._walk_of(text):
            absorb(reading.effects, inner.effects)
            reading.also += [spelling for part in inner.parts.values() for spelling in (part.text, *part.also)]

    def spellings_of(self, text: str) -> list[str]:
        """How rules that restrict may read a script that a command runs."""
        inner = self._walk_of(text)
        return [each for part in inner.parts.values() for each in (part.text, *part.also)] if inner else []

    def _walk_of(self, text: str) -> Walk | None:
        from pegboard_bash.understanding import walk_text  # The two are recursive: scripts contain scripts.

        if self.depth >= DEEPEST_SCRIPT:
            return None
        # A copy: a cd in the script ends with it. The bound is shared, so scripts cannot multiply the work.
        place = ShellState(self.place.start, self.place.home, self.place.cwds, self.place.bound)
        return walk_text(text, place, self.depth + 1)

    def _move(self, effects: Effects) -> None:
        """Follow a `cd`. A `cd` to a folder that does not exist may fail: then the shell may be in either directory."""
        targets = effects.reads
        if any(map(_leads_elsewhere, targets)):
            effects.refuse("The target of cd is not known: .. after a link can mean two folders.")
        if not effects.reason and len(targets) == len(self.place.cwds) and len(targets) <= MOST_PLACES:
            # Like bash without -P, which takes ".." off the name instead of following links.
            logical = [os.path.normpath(target) for target in targets]
            stays = () if all(map(os.path.isdir, logical)) else self.place.cwds
            self.place.cwds = tuple(dict.fromkeys((*logical, *stays)))
        else:
            effects.refuse("The target of cd is not known, so the effect of what follows is not known either.")

    def assignment(self, node: Node) -> None:
        """Variables of the shell, set for what follows."""
        self._unknown(node)

    def test(self, node: Node) -> None:
        """`[ … ]` and `[[ … ]]` on plain words."""
        self.record.test(node)
        if problem := problem_of_test(node, self.speller):
            self.refuse_whole(node, problem)
            for child in node.children:
                self.nested(child)
        else:
            self.add(Part(" ".join(self._text(node).split()), read_only=True))


def _leads_elsewhere(target: str) -> bool:
    """Whether a shell that cannot enter a folder by its name may enter another: it then follows links before `..`."""
    if ".." not in target.split("/"):
        return False
    logical = os.path.normpath(target)
    return os.path.lexists(target) and not (os.path.isdir(logical) and os.access(logical, os.X_OK))


def _holds_list(node: Node) -> bool:
    """Whether a member of a pipeline begins with earlier commands: the parser nests `cd x && ls 2>&1 | wc` so."""
    body = node.child_by_field_name("body") if node.type == "redirected_statement" else node
    return body is not None and body.type in ("list", "negated_command")


VISITS = {
    "program": Walk.sequence,
    "list": Walk.conditional,
    "pipeline": Walk.aside,
    "subshell": Walk.aside,
    "compound_statement": Walk.sequence,
    "negated_command": Walk.sequence,
    "redirected_statement": Walk.redirected,
    "if_statement": Walk.conditional,
    "elif_clause": Walk.conditional,
    "else_clause": Walk.conditional,
    "while_statement": Walk.conditional,
    "do_group": Walk.sequence,
    "for_statement": Walk.loop,
    "command": Walk.command,
    "test_command": Walk.test,
    "variable_assignment": Walk.assignment,
    "variable_assignments": Walk.assignment,
    "comment": Walk.comment,
}
