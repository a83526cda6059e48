"""Words of a command: every way to quote, escape and expand, and every way to spell the same path."""

from __future__ import annotations

from generator.chance import Chance
from generator.harm import DENIED, OUTSIDE, payload, substitution
from generator.tokens import TOKENS

PLAIN = TOKENS["plain"]
FILES = TOKENS["files"]
ODD = TOKENS["odd"]


def literal(c: Chance) -> str:
    """Plain text."""
    return c.of(PLAIN)


def inert(c: Chance) -> str:
    """Harm where bash sees text: between quotes, behind backslashes."""
    text = payload(c)
    return c.any(
        lambda c: "'" + text.replace("'", "") + "'",
        lambda c: "$'" + text.replace("\\", "").replace("'", "\\'") + "'",
        lambda c: '"' + "".join(f"\\{sign}" if sign in '$`"\\' else sign for sign in text) + '"',
        lambda c: "".join(
            f"\\{sign}" if sign in " $`(){};&|<>'\"\\#*?[]!~" else sign for sign in text.replace("\n", " ")
        ),
    )


def double(c: Chance) -> str:
    """A string in double quotes."""
    pieces = (
        "a",
        " ",
        "$",
        "\\$",
        "\\\\",
        '\\"',
        "'",
        "#",
        "$x",
        "${x}",
        "!",
        "\n",
        "*",
        "{a,b}",
        "~",
        "\\a",
        "é",
        "; ",
        "$ ",
    )
    body = c.some(lambda c: expansion(c) if c.often(0.25) else c.of(pieces), 0, 4, "")
    return f'"{body}"'


def ansi(c: Chance) -> str:
    """A string that knows escapes."""
    pieces = (
        "a",
        " ",
        "\\n",
        "\\t",
        "\\\\",
        "\\'",
        '\\"',
        "\\x41",
        "\\101",
        "\\u00e9",
        "\\cA",
        "#",
        "$(x)",
        "`",
        "; ",
        "é",
    )
    quote = c.any("$'", "$'", '$"')
    return quote + c.some(lambda c: c.of(pieces), 0, 4, "") + quote[1]


def expansion(c: Chance) -> str:
    """Something that the shell expands; now and then it does harm."""
    if c.often(0.3):
        return substitution(c)
    from generator.commands import simple  # The grammar is recursive.

    return c.any(
        "$x",
        "${x}",
        "$HOME",
        "$PWD",
        "${x:-a}",
        "${#x}",
        "$((1+2))",
        "$((1 > 2))",
        "${x/a/b}",
        "${x[0]}",
        "$[1+1]",
        lambda c: c.deeper(lambda c: f"$({simple(c)})", "$(true)"),
        lambda c: c.deeper(lambda c: f"`{simple(c)}`", "`true`") if c.depth == 0 else "`true`",
        lambda c: c.deeper(lambda c: f"<({simple(c)})", "<(true)"),
    )


def piece(c: Chance) -> str:
    """A part of a word."""
    if c.often(0.5):
        return literal(c)
    return c.any(
        literal,
        lambda c: "'" + c.of(PLAIN) + "'",
        double,
        double,
        ansi,
        expansion,
        inert,
        lambda c: c.of(ODD),
        lambda c: c.of(ODD),
        lambda c: "\\" + c.of(" #$'\"\\;&|<>(){}*?[]~!\tané"),
        lambda c: c.any("{a,b}", "{1..3}", "{01..03}", "{a..c}", "{1..03}", "f{1..3}", "f{1..03}", "{,x}", "{a,{b,c}}"),
        lambda c: c.any(
            "*", "?", "[a-z]*", "*.txt", "[!a]*", "@(a|b)", "!(a)", "+([0-9])", "**", "[[:alpha:]]*", "[^x]?"
        ),
    )


def word(c: Chance) -> str:
    """A word of one to three parts."""
    count = 1 if c.often(0.7) else c.randint(2, 3)
    return "".join(piece(c) for _ in range(count))


def spelled(c: Chance, path: str) -> str:
    """A path in some spelling that bash reads as the same, or as a pattern that fits it."""
    made = ""
    for sign in path:
        if sign in "/." or not c.often(0.15):
            made += sign
            continue
        made += c.any(
            "?",
            f"[{sign}]",
            "[[:lower:]]",
            "[[:alpha:]]",
            "[[:alnum:]]",
            f"[[.{sign}.]]",
            f"[[={sign}=]]",
            f"[!/{'' if sign == 'q' else 'q'}]",
            "[a-z]",
            "[]a-z]",
            "*",
            f"@({sign})",
            f"+({sign}|q)",
            f"{{{sign},q}}",
            f"\\{sign}",
            f"'{sign}'",
            f'"{sign}"',
            f"{sign}''",
            f"$'\\x{ord(sign):02x}'" if sign.isascii() else sign,
            f'$"{sign}"',
            f"{sign}\\\n",
            f"${{x}}{sign}",
            f"$(){sign}",
            f"``{sign}",
        )
    return made


def path(c: Chance) -> str:
    """A file to read: mostly one of the project, now and then one that must not be read."""
    if c.often(0.75):
        found = c.of(FILES)
        return found if " " not in found else c.any(f"'{found}'", f'"{found}"', found.replace(" ", "\\ "), found)
    if c.often(0.12):
        return c.any(
            *("x=~/secret", "k=~/secret", "a:~/secret", "f{1..03}", "f{01..3}", "f{1..3}", "f{03..1}", "f0{1..2}")
        )
    if c.often(0.3):
        return c.any(
            *("x=~/secret", "k=~/secret", "a:~/secret", "f{1..03}", "f{01..3}", "f0?", "f[0][1-3]", "link_*/secret"),
            *("*/key", "*/*", "s*/*", "?ecrets/*", "*/*/deep.txt", "sub/*/key", "./-*", "odd/*", "-*", "--*", "*=*"),
            *(
                "{secrets,src}/*",
                "{..,.}/outside/secret",
                "../*/secret",
                "..//outside/secret",
                "./../outside/*",
                "~+/../outside/secret",
            ),
            *(
                "$OLDPWD/secret",
                "~-/x",
                "/proc/self/environ",
                "/proc/$PPID/environ",
                "/proc/*/environ",
                "/dev/fd/3",
                "d:x",
            ),
        )
    return spelled(c, c.of((*OUTSIDE, *DENIED, *DENIED)))
