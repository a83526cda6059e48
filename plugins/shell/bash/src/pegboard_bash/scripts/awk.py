"""awk: a program is let through only when nothing in it can write, run or read on its own."""

from __future__ import annotations

import re

from pegboard_bash.effects import Effects
from pegboard_bash.words import Word, names

DANGEROUS = names("system getline ENVIRON PROCINFO SYMTAB FUNCTAB ARGV ARGC extension")
SOMEWHERE = re.compile("|".join(sorted(DANGEROUS)))
RUN = re.compile(r"\w+", re.ASCII)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"', re.DOTALL)
REGEX = re.compile(r"/(?:[^/\\\n\[]|\\[^\n]|\[(?!\^?\])\^?(?:\[:\w+:\]|[^\]\[/\n\\])+\])*/")
"""A bracket that begins with its end or holds a slash is left out: where such an expression ends is not certain."""

RESERVED = names(
    "BEGIN END BEGINFILE ENDFILE break case continue default delete do else exit for func function getline if in next "
    "nextfile print printf return switch while length close fflush system sub gsub gensub match split patsplit index "
    "substr sprintf sin cos atan2 exp log sqrt int rand srand tolower toupper strftime systime mktime and or xor compl "
    "lshift rshift strtonum asort asorti isarray typeof mkbool dcgettext dcngettext bindtextdomain extension"
)
"""Words of any awk that are not names. Which of them a slash may divide differs from one awk to the other."""

NAME = re.compile(r"(?<!\w)[A-Za-z_]\w*\Z", re.ASCII)
DECIMAL = re.compile(r"(?<!\w)\d+\Z", re.ASCII)
EXPECTING = re.compile(r"(?<!\w)(print|return|else|do)\Z", re.ASCII)
ASSIGNED = re.compile(r"[A-Za-z_]\w*=", re.ASCII)
STATEMENT = re.compile(r"[;{}]")


def check_awk(words: list[Word], effects: Effects) -> None:
    """Awk with a program on the command line."""
    if [word.text for word in words] in (["--version"], ["--help"]):
        return
    at = 0
    while at < len(words) and words[at].text.startswith("-") and len(words[at].text) > 1:
        text, at = words[at].text, at + 1
        if text == "--":
            break
        if text in ("-F", "-v"):
            at += 1
        elif not text.startswith(("-F", "-v")):
            effects.refuse(f"The option {text} of {effects.program} may change something.")
    rest = words[at:]
    if not rest:
        effects.refuse(f"{effects.program} has no program.")
        return
    if problem := problem_of(rest[0].text):
        effects.refuse(problem)
    for word in rest[1:]:
        if word.text.startswith("/inet"):
            effects.refuse(f"{word.text} is a network connection.")
        elif not ASSIGNED.match(word.text) and word.text != "-":
            effects.read(word)


def problem_of(program: str) -> str:
    """What a program may do besides computing and printing, as a sentence; empty if nothing.

    Where it is not certain what is a string or a regular expression, nothing is skipped, and all of it counts as code.
    """
    code = _without_texts(program)
    if found := _dangerous(program, code):
        return f"The awk program uses {found}, which may change something."
    if "|" in (program if code is None else code).replace("||", ""):
        return "The awk program may run a command through a pipe."
    if code is None and ">" in program and "print" in program:
        return "The awk program may write a file."
    if code is not None and _redirects(code):
        return "The awk program writes a file."
    return ""


def _dangerous(program: str, code: str | None) -> str:
    if "@" in (program if code is None else code):
        return "@"
    if code is None:
        found = SOMEWHERE.search(program)
        return found[0] if found else ""
    for run in RUN.findall(code):
        # What follows a number belongs to it for some and not for others: `1system(…)`, `0xasystem(…)`.
        if run in DANGEROUS or (run[0].isdigit() and SOMEWHERE.search(run)):
            return str(run)
    return ""


def _redirects(code: str) -> bool:
    """Whether a statement prints and has a `>` that no parentheses make a comparison."""
    for statement in STATEMENT.split(code):
        depth, printing = 0, "print" in statement
        for sign in statement:
            depth += (sign == "(") - (sign == ")")
            if sign == ">" and printing and depth <= 0:
                return True
        if printing and depth and ">" in statement:
            return True  # The parentheses continue past the statement, as in `for (;;)`: then nothing is certain.
    return False


def _without_texts(program: str) -> str | None:
    """The program with an empty string in place of each string and regular expression, and without comments.

    Something must stay in their place: otherwise the words on both sides would become one. None where a slash may
    divide or begin a regular expression, where a text is not closed, and where a backslash is outside a string.
    """
    if "\\\n" in program:
        return None
    made, at = "", 0
    while at < len(program):
        sign = program[at]
        if sign == "#":
            end = program.find("\n", at)
            at = len(program) if end < 0 else end
            continue
        begins = _begins_regex(made) if sign == "/" else False
        pattern = STRING if sign == '"' else REGEX if begins else None
        found = pattern.match(program, at) if pattern else None
        if begins is None or sign == "\\" or (pattern and found is None):
            return None
        made += '""' if found else sign
        at = found.end() if found else at + 1
    return made


def _begins_regex(before: str) -> bool | None:
    """Whether a slash begins a regular expression or divides; None where the awks disagree or it is not certain."""
    line = before.rstrip(" \t")
    last = line.rstrip()
    if not last:
        return True
    if line != last:  # It is at the beginning of a line, which a `)` of an `if` may have left open.
        return True if last[-1] in "{};,(!~&|" else None if last[-1] in ")]+-" else _ends_statement(last)
    if last[-1] in "{};,(!~&|?:" or EXPECTING.search(last):
        return True
    name = NAME.search(last)
    if (name and name[0] not in RESERVED) or DECIMAL.search(last):
        return False
    return None


def _ends_statement(last: str) -> bool | None:
    """Whether a line ends with a name, a number or a text, so that the line break ends the statement."""
    name = NAME.search(last)
    return True if last[-1] == '"' or DECIMAL.search(last) or (name and name[0] not in RESERVED) else None
