"""awk: a program is let through only when nothing in it can write, run or read on its own."""

from __future__ import annotations

import re

from pegboard_bash.deeds import Deed
from pegboard_bash.words import Word

DANGEROUS = re.compile(
    r"\b(system|getline|ENVIRON|PROCINFO|SYMTAB|FUNCTAB|close|fflush|load|include|extension|ARGV|ARGC)\b|@"
)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"', re.DOTALL)
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

    Where a slash may begin a regular expression, quotes cannot be told from text, so strings are not skipped then.
    """
    # An empty string stays where one was: without it the words on its two sides would become another one.
    without = STRING.sub('""', program)
    ambiguous = "/" in program or "#" in program or '"' in without.replace('""', "")
    code = program if ambiguous else without
    if found := DANGEROUS.search(code):
        return f"The awk program uses {found[0]}, which can do more than print."
    if "|" in code.replace("||", ""):
        return "The awk program may run a command through a pipe."
    if ">" in code:
        if ambiguous and "print" in code:
            return "The awk program may write a file."
        if any(">" in found[1] for found in PRINTING.finditer(code)):
            return "The awk program writes a file."
    return ""
