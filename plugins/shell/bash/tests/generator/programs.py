"""Simple commands: programs of a Unix system with options and names of files that mean harm."""

from __future__ import annotations

from generator import scripts
from generator.chance import Chance
from generator.harm import harmful_command
from generator.tokens import TOKENS
from generator.words import path, spelled, word

READERS = TOKENS["readers"]
COMMON = TOKENS["common"]
SHORT = "aAbBcCdDeEfFgGhHiIjklLmMnNopPqrRsStTuUvVwxXyzZ0123"
LONG = TOKENS["long"]
GLOBS = TOKENS["globs"]
GIT = TOKENS["git"]
GIT_COMMON = TOKENS["git_common"]
GIT_OPTIONS = TOKENS["git_options"]
WRITERS = TOKENS["writers"]
PROTECTED = TOKENS["protected"]
NETWORK = TOKENS["network"]
LATER = TOKENS["later"]
WRAPPERS = TOKENS["wrappers"]


def option(c: Chance) -> str:
    """An option that some program may know."""
    if c.often(0.55):
        return (
            "-" + "".join(c.of(SHORT) for _ in range(1 if c.often(0.8) else 2)) + c.any("", "", "", "1", "PWNED", " 1")
        )
    return c.of(LONG)


def argument(c: Chance) -> str:
    """A word behind a program."""
    return c.any(path, path, path, option, word, lambda c: c.of(GLOBS) if c.often(0.5) else path(c))


def reader(c: Chance) -> str:
    """A program that is known for reading."""
    return f"{c.of(COMMON if c.often(0.5) else READERS)} {c.some(argument, 0, 3)}".rstrip(" ")


def plain_reader(c: Chance) -> str:
    """One that surely only reads."""
    return c.any(
        "cat notes.txt",
        "echo a",
        "ls",
        "head -n 1 nums.txt",
        "wc -l notes.txt",
        "true",
        "grep a notes.txt",
        "sort nums.txt",
        "pwd",
    )


def xargs(c: Chance) -> str:
    """Arguments that arrive later."""
    what = " ".join(c.of(LATER) for _ in range(c.randint(1, 2)))
    source = c.any(
        f"echo {what}",
        f"printf '%s\\n' {what}",
        f"echo '{what}'",
        "cat args.txt",
        "ls",
        "cat names.txt",
        f"xargs echo <<< '{what}'",
    )
    options = c.any(
        "", "", "-n 1 ", "-0 ", "-I{} ", "-r ", "-L 1 ", "-d '\\n' ", "-P 2 ", "-t ", "-a args.txt ", "-I % "
    )
    program = c.of(COMMON) if c.often(0.6) else c.any(*READERS, "find", "git", "sh", "awk 1", "sed -n p", "")
    wrapper = c.any("", "", "", "nice ", "timeout 5 ", "env ")
    last = c.any("", "", option, "--", "{}", "%")
    return f"{source} | xargs {options}{wrapper}{program} {last}"


def recursive(c: Chance) -> str:
    """A reader that goes through folders, through links and into what is denied."""
    program = c.any(
        "grep -r",
        "grep -rh",
        "grep -hr",
        "grep -rhn",
        "grep -R",
        "rg",
        "rg -L",
        "ls -R",
        "find -L",
        "du -L",
        "diff -r",
        "git grep",
        "grep -rn",
        "grep -d recurse",
        "tree -l",
        "rg -uuu",
    )
    pattern = (
        ""
        if program.split()[0] in ("ls", "find", "du", "diff", "tree")
        else c.any("CANARY", "x", "needle", ".", "-e CANARY", "''")
    )
    more = c.any(
        "", "", "", "--include=*", "-l", "-c", "-s", "--exclude-dir=secrets", "--no-messages", "-h", "-I", "-a"
    )
    place = c.any(".", "", "", "*", "sub", "src", "./", "..", ". sub", "$PWD", "link_out", "odd")
    return f"{program} {more} {pattern} {place}"


def git(c: Chance) -> str:
    """A git command."""
    options = f"{c.of(GIT_OPTIONS)} " if c.often(0.15) else ""
    wrapper = c.of(WRAPPERS) if c.often(0.3) else ""
    what = c.of(GIT_COMMON if c.often(0.5) else GIT)
    return f"{wrapper}git {options}{what}{c.any('', '', '', '', lambda c: ' ' + argument(c))}"


def writer(c: Chance) -> str:
    """A program that changes files, with a target that is protected, or spelled so that it becomes one."""
    target = c.any(
        lambda c: spelled(c, c.of(PROTECTED)),
        lambda c: c.any("new.txt", "sub/x", "../outside/new", "~/new", ".", "link_out/new"),
    )
    return c.of(WRITERS).replace("{}", target)


def bracket(c: Chance) -> str:
    """A test: as a command, whose words the shell reads as any others, or as syntax."""
    operators = (
        "-f",
        "-d",
        "=",
        "==",
        "!=",
        "-eq",
        "-lt",
        ">",
        "<",
        "-nt",
        "-a",
        "-o",
        "&&",
        "||",
        "!",
        "(",
        ")",
        r"\(",
        r"\>",
        "=~",
        "-v",
        "-z",
        "-n",
        "\n",
    )

    def part(c: Chance) -> str:
        if c.often(0.2):
            return c.any(
                "PWNED",
                "victim",
                "./evil",
                "<(touch PWNED)x",
                "$(touch PWNED)",
                "x[$(touch PWNED)]",
                "`touch X`",
                "touch",
            )
        return c.of(operators) if c.often(0.5) else c.any("a", "1", "notes.txt", "*", "x", "''", "$x", '"$x"', word)

    body = c.some(part, 1, 5)
    opening, closing = c.of((("[", "]"), ("[", "]"), ("[[", "]]"), ("test", ""), ("((", "))"), ("[", "]")))
    return f"{opening} {body} {closing}".rstrip(" ")


def simple(c: Chance) -> str:
    """A simple command of any kind."""
    made = c.any(
        reader,
        reader,
        reader,
        reader,
        plain_reader,
        plain_reader,
        git,
        bracket,
        xargs,
        recursive,
        scripts.awk,
        scripts.sed,
        scripts.find,
        scripts.jq,
    )
    if c.often(0.02):
        made = c.of(NETWORK)
    if c.often(0.02):
        made = harmful_command(c)
    return c.of(WRAPPERS) + made if c.often(0.12) else made
