"""Programs in other languages on the command line: awk, sed, find, jq."""

from __future__ import annotations

from generator.chance import Chance
from generator.tokens import TOKENS
from generator.words import path

AWK = TOKENS["awk"]
AWK_HARM = TOKENS["awk_harm"]
SED = TOKENS["sed"]
SED_HARM = TOKENS["sed_harm"]
FIND = TOKENS["find"]
FIND_HARM = TOKENS["find_harm"]
QUOTES = ("'", "'", "'", '"')


def _soup(c: Chance, tokens: tuple[str, ...], harm: tuple[str, ...], most: int) -> str:
    made = [c.of(tokens) for _ in range(c.randint(1, most))]
    if c.often(0.6):
        made.insert(c.randrange(len(made) + 1), c.of(harm))
    return "".join(made)


def quoted(c: Chance, text: str) -> str:
    """A program between quotes."""
    quote = c.of(QUOTES)
    if quote == "'":
        return "'" + text.replace("'", "'\\''") + "'"
    return '"' + "".join(f"\\{sign}" if sign in '"\\$`' else sign for sign in text) + '"'


def _around_regex(c: Chance, harm: str) -> str:
    """Harm behind something that is a regular expression, a division or a comment, depending on what is before."""
    regex = c.any(
        "/#/", "/#/", "/a#/", '/"/', "/[/]#/", "/[#]/", "/\\\\/#/", "/a/", '"#"', '"\\\\"', "/#", "1/2#/", "/=/#/"
    )
    before = c.any("else ", "do ", "in ", "print ", "!", "~", "(", ",", "&&", "x ", "1 ", "x", ") ", "; ", "\n", "")
    return c.any(
        f"{{if(0) x;else {regex};{harm}}}",
        f"{{if(0) x;else\n{regex};{harm}}}",
        f"{{print x {before}{regex};{harm}}}",
        f"{{x=1;{before}{regex};{harm}}}",
        f"{before}{regex}{{{harm}}}",
    )


def _rule(c: Chance, harm: str) -> str:
    """A whole rule with harm behind odd things, in a text or in a comment."""
    lead = c.any("", "1", "2", "x", "$1", "1;", "/a/", "a", "é", "NR==1", "_1", "0x1", "1.", ".5", "1e", "in ")
    one, two, three = c.of(AWK), c.of(AWK), c.of(AWK)
    escaped = harm.replace('"', '\\"')
    return c.any(
        f"{{if(0) {one};else {two};{harm}}}",
        f"{{print {lead}{one}{harm}}}",
        f"{lead}{harm}",
        f"{{x={lead}{harm}}}",
        f"{{print /{one}/ {two} /;{harm}}}",
        f'{{print "{one}" # {harm}\n}}',
        f"/{one}/{{print}} # {harm}",
        f"{{switch($1){{case /{one};{harm}}}}}",
        f"{{ {one}/{two};{harm}/{three} }}",
        f'BEGIN{{print "{escaped}"{one}}}',
        f"{{{one}{two}{three};{harm}}}",
    )


def awk(c: Chance) -> str:
    """An awk command."""
    harm = c.any('system("touch PWNED")', lambda c: c.of(AWK_HARM))
    kind = c.random()
    text = _soup(c, AWK, AWK_HARM, 8) if kind < 0.3 else _around_regex(c, harm) if kind < 0.6 else _rule(c, harm)
    options = c.any("", "", "", "", "-F, ", "-v x=1 ", "-v 'x=\\042' ", "-F'[' ", "-- ", "-f args.txt ")
    program = c.any("awk", "awk", "awk", "mawk", "gawk")
    return f"{program} {options}{quoted(c, text)} {c.any('notes.txt', 'nums.txt', path, '')}"


def sed(c: Chance) -> str:
    """A sed command."""
    text = c.any(
        lambda c: _soup(c, SED, SED_HARM, 4),
        lambda c: f"s/a/{c.of(SED)}{c.of(SED_HARM)}/",
        lambda c: f"{c.of(SED)};{c.of(SED)}",
        lambda c: f"a\\\n{c.of(SED_HARM)}",
        lambda c: f"s{c.of('/,|#a@é')}a{c.of('/,|#a@é')}b{c.of('/,|#a@é')}{c.of(SED_HARM)}",
        lambda c: f"/{c.of(SED)}/{c.of(SED)}\n{c.of(SED_HARM)}",
    )
    options = c.any("-n ", "-n ", "", "-E ", "-e ", "-i ", "-s ", "--posix ", "-z ")
    return f"sed {options}{quoted(c, text)} {c.any('notes.txt', path)}"


def find(c: Chance) -> str:
    """A find command."""
    parts = [c.of(FIND) for _ in range(c.randint(0, 4))]
    if c.often(0.3):
        parts.insert(c.randrange(len(parts) + 1), c.of(FIND_HARM))
    return f"find {c.any('-L ', '-H ', '', '', '')}{c.any('.', 'src', 'sub', path, '')} {' '.join(parts)}"


def jq(c: Chance) -> str:
    """A jq command."""
    text = c.any(
        ".",
        ".a",
        "keys",
        "env",
        "$ENV",
        "input",
        'include "x"; .',
        'import "x" as x; .',
        ".[]|.a",
        "@sh",
        "debug",
        "$__prog_args",
    )
    options = c.any(
        "", "-r ", "-n ", "-f args.txt ", "--rawfile x ../outside/secret ", "--slurpfile x a.json ", "-L . "
    )
    return f"jq {options}{quoted(c, text)} {c.any('a.json', path)}"
