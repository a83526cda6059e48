"""awk: a program is let through only when nothing in it can write, run or read on its own."""

from __future__ import annotations

import re

from pegboard_bash.deeds import Deed
from pegboard_bash.words import Word

DANGEROUS = re.compile(
    r"\b(system|getline|ENVIRON|PROCINFO|SYMTAB|FUNCTAB|close|fflush|load|include|extension|ARGV|ARGC)\b|@"
)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"', re.DOTALL)
REGEX = re.compile(r"/(?:[^/\\\n\[]|\\[^\n]|\[(?!\^?\])\^?(?:\[:\w+:\]|[^\]\[/\n\\])+\])*/")
"""A bracket that begins with its end or holds a slash is left out: where such an expression ends is not certain."""

DIVIDED = re.compile(r"(\$?\b(?!(print|printf|return|in|case|getline|length)\b)[A-Za-z_]\w*|\d)[ \t]*\Z")
EXPECTING = re.compile(r"\b(print|return|in|case)[ \t]*\Z")
PRINTING = re.compile(r"\bprintf?\b([^;}]*)")


def check_awk(words: list[Word], deed: Deed) -> None:
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
            deed.refuse(f"The option {text} of {deed.program} is not known to only read.")
    rest = words[at:]
    if not rest:
        deed.refuse(f"{deed.program} has no program.")
        return
    if problem := problem_of(rest[0].text):
        deed.refuse(problem)
    for word in rest[1:]:
        if word.text.startswith("/inet"):
            deed.refuse(f"{word.text} is a connection.")
        elif not re.match(r"[A-Za-z_]\w*=", word.text) and word.text != "-":
            deed.read(word)


def problem_of(program: str) -> str:
    """What a program may do besides computing and printing, as a sentence; empty if nothing.

    Where it is not certain what is a string or a regular expression, nothing is skipped, and all of it counts as code.
    """
    skipped = _without_texts(program)
    code = program if skipped is None else skipped
    if found := DANGEROUS.search(code):
        return f"The awk program uses {found[0]}, which can do more than print."
    if "|" in code.replace("||", ""):
        return "The awk program may run a command through a pipe."
    if ">" in code:
        if skipped is None and "print" in code:
            return "The awk program may write a file."
        if any(">" in found[1] for found in PRINTING.finditer(code)):
            return "The awk program writes a file."
    return ""


def _without_texts(program: str) -> str | None:
    """The program with an empty string in place of each string and regular expression, and without comments.

    Something must stay in their place: otherwise the words on both sides would become one. None where a slash may
    divide or begin a regular expression, or where a text is not closed.
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
        pattern = STRING if sign == '"' else REGEX if sign == "/" and _begins_regex(made) else None
        if sign == "/" and pattern is None and not DIVIDED.search(made):
            return None
        found = pattern.match(program, at) if pattern else None
        if pattern and found is None:
            return None
        made += '""' if found else sign
        at = found.end() if found else at + 1
    return made


def _begins_regex(before: str) -> bool:
    """Whether a slash here can only begin a regular expression: nothing stands before it that could be divided."""
    return not before.strip() or before.rstrip(" \t")[-1:] in "{};,(!~&|?:\n" or EXPECTING.search(before) is not None
