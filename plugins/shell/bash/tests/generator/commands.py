"""Whole commands: structure, redirects, here-documents, comments, and slips of the pen."""

from __future__ import annotations

from generator import scripts
from generator.chance import Chance
from generator.harm import continuation, payload, substitution
from generator.programs import (
    COMMON,
    NETWORK,
    READERS,
    WRAPPERS,
    bracket,
    git,
    option,
    plain_reader,
    reader,
    recursive,
    simple,
    writer,
    xargs,
)
from generator.tokens import TOKENS
from generator.words import ODD, double, inert, path, word

__all__ = ["command", "simple"]

JOINTS, CORE, CLOSINGS, WILD = TOKENS["joints"], TOKENS["core"], TOKENS["closings"], TOKENS["wild"]


def heredoc(c: Chance) -> str:
    """A here-document, with more behind its head."""
    end = c.any("E", "EOF", "'E'", '"E"', "\\E", "E\\\nF", "$'E'", "'E F'", "E''")
    plain = end.replace("'", "").replace('"', "").replace("\\\n", "").replace("\\", "").replace("$", "")
    more = c.any(
        "",
        "",
        "",
        lambda c: " " + word(c),
        lambda c: continuation(c),
        lambda c: " | " + plain_reader(c),
        lambda c: " && " + plain_reader(c),
    )
    body = c.any(
        "text",
        "a\nb",
        payload,
        lambda c: inert(c),
        "$x",
        "\\$(x)",
        "`x`",
        "\\",
        "'",
        "E \nE",
        '"',
        f" {plain}",
        f"{plain}x",
        "a\\",
    )
    dash = c.any("<<", "<<", "<<-", "<< ", "0<<")
    tail = c.any("", "\n", lambda c: "\n" + plain_reader(c), lambda c: "\n" + payload(c))
    program = c.any("cat", "cat", "grep a", "wc -l", "sort", "head", "cat -")
    indent = c.any("", "", "\t")
    return f"{program} {dash}{end}{more}\n{body}\n{indent}{plain}{tail}"


def redirect(c: Chance) -> str:
    """A redirect."""
    return c.any(
        *(
            " 2>/dev/null",
            " >/dev/null",
            " 2>&1",
            " </dev/null",
            " < notes.txt",
            " >PWNED",
            " 2>PWNED",
            " &>PWNED",
            " >&PWNED",
            " >|PWNED",
        ),
        *(
            " <>PWNED",
            " >&2",
            " 2>&-",
            " <&0",
            " {fd}>PWNED",
            " 3>PWNED",
            " <<<a",
            " >/dev/stderr",
            " >& /dev/null",
            " 1>&2-",
            " >>PWNED",
        ),
        lambda c: f" <<< {word(c)}",
        lambda c: f" < {path(c)}",
        lambda c: f" > {word(c)}",
        lambda c: f" <<<{double(c)}",
    )


def compound(c: Chance) -> str:
    """A statement made of statements."""
    one = lambda c: c.deeper(statement, "true")  # noqa: E731
    return c.any(
        lambda c: f"( {one(c)} )",
        lambda c: f"{{ {one(c)}; }}",
        lambda c: f"if {plain_reader(c)}; then {one(c)}; fi",
        lambda c: f"if {bracket(c)}; then {one(c)}; else {one(c)}; fi",
        lambda c: f"for x in {c.some(word, 0, 3)}; do {one(c)}; done",
        lambda c: f'for f in {c.any("a b", "*.txt", path)}; do cat "$f"; done',
        lambda c: f"for f in {c.any('a b', '*', path)}; do cat $f; done",
        lambda c: f"while {c.any('false', plain_reader)}; do {one(c)}; break; done",
        lambda c: f"case {word(c)} in {word(c)}) {one(c)};; esac",
        lambda c: f"f() {{ {one(c)}; }}{c.any('', '; f')}",
        lambda c: f"function f {{ {one(c)}; }}; f",
        lambda c: f"coproc {one(c)}",
        lambda c: f"(( {c.any('1', 'x', '1 > 2', 'a[$(touch PWNED)]', 'x=1')} ))",
        lambda c: f"for ((i=0;i<2;i++)); do {one(c)}; done",
        lambda c: f"select x in a; do {one(c)}; done",
        lambda c: f"until true; do {one(c)}; done",
        lambda c: f"! {one(c)}",
        lambda c: f"time {one(c)}",
        lambda c: f"cd {c.any('src', 'sub', '..', 'nowhere', 'link_out', 'odd')} && {one(c)}",
        lambda c: f"cd {c.any('src', 'sub', 'nowhere', 'link_out', 'locked')}; {one(c)}",
        lambda c: (
            f"cd {wandering(c)}{c.any(' && ', '; ', ' || ')}cat {c.any('../outside/secret', 'secrets/key', path)}"
        ),
    )


def wandering(c: Chance) -> str:
    """A folder on a way through links and back."""
    if c.often(0.4):
        return c.any("link_out/../repo", "src/../link_out/../repo", "link_out/../repo/src", "sub/link/../sub", "src/..")
    steps = ("..", ".", "src", "sub", "link_out", "sub/link", "repo", "nowhere", "outside", "odd")
    return "/".join(c.of(steps) for _ in range(c.randint(1, 4)))


def hidden(c: Chance) -> str:
    """Harm where bash sees text: in a comment, between quotes, in a quoted here-document."""
    return c.any(
        lambda c: f"{plain_reader(c)} {c.any('#', ' #', '# x')}{payload(c).replace(chr(10), ' ')}",
        lambda c: f"echo {c.any('', 'a ', word)}{inert(c)}",
        lambda c: f"echo {c.some(word, 0, 2)} {inert(c)}",
        lambda c: f"printf %s {inert(c)}{c.any('', 'a', word)}",
        lambda c: f"grep {inert(c)} notes.txt",
        lambda c: f"cat <<'E'\n{payload(c)}\nE",
        lambda c: f"cat <<< {inert(c)}",
        lambda c: f"echo {double(c)}",
        lambda c: f"echo {word(c)} {double(c)} # {payload(c)}",
        lambda c: f"echo {c.some(word, 1, 4)}",
        lambda c: f"{plain_reader(c)} # x\n{plain_reader(c)} # {payload(c).replace(chr(10), ' ')}",
    )


def odd(c: Chance) -> str:
    """Up to three odd things in a row."""
    return "".join(c.of(CORE if c.often(0.6) else ODD) for _ in range(c.of((0, 1, 1, 1, 2, 3))))


def closed(c: Chance) -> str:
    """What may end a text that was opened before, or begin a comment."""
    return c.of(CLOSINGS) if c.often(0.5) else odd(c)


def lexical(c: Chance) -> str:
    """Harm in plain sight, with odd things around it that may make a reader of the command lose it."""
    inside, behind = substitution(c), continuation(c)
    return c.any(
        lambda c: f'echo "{odd(c)}{inside}{odd(c)}"',
        lambda c: f"echo {odd(c)}{inside}{odd(c)}",
        lambda c: f"echo {odd(c)} {inside}",
        lambda c: f"echo {inside} {odd(c)}",
        lambda c: f"printf %s {odd(c)}{inside}",
        lambda c: f"echo {odd(c)}{behind}{closed(c)}",
        lambda c: f"echo {odd(c)}{behind}",
        lambda c: f"echo $'{odd(c)}'{behind}{closed(c)}",
        lambda c: f'echo "{odd(c)}"{behind}{closed(c)}',
        lambda c: f"echo '{odd(c)}'{behind}{closed(c)}",
        lambda c: f"cat <<< {odd(c)}{inside}",
        lambda c: f'cat <<< "{odd(c)}{inside}"',
        lambda c: f"{plain_reader(c)} {odd(c)}{behind}",
        lambda c: f"{plain_reader(c)} {odd(c)}#{behind}",
        lambda c: f"cat <<'E' {odd(c)}{inside}\nx\nE",
        lambda c: f"cat <<{c.any('E', chr(39) + 'E' + chr(39), chr(92) + 'E')}{odd(c)}{behind}\nx\nE",
        lambda c: f"cat <<E{c.any('', '', behind)}\n{odd(c)}{inside}\nE",
        lambda c: f"cat <<'E'{behind}\n{odd(c)}\nE",
        lambda c: f"{word(c)} {odd(c)}{inside}",
        lambda c: f"case {odd(c)} in {odd(c)}{inside}) true;; esac",
        lambda c: f"for x in {odd(c)}{inside}; do true; done",
        lambda c: f"[[ {odd(c)} {inside} ]]",
        lambda c: f"x={odd(c)}{inside} true",
        lambda c: f"echo ${{x:-{odd(c)}{inside}}}",
    )


def flood(c: Chance) -> str:
    """The same thing thousands of times, around and beyond the length at which commands are refused."""
    token = c.of(ODD) + c.any("", "", "a", " ")
    return f"{c.any('cat', 'echo', 'ls', '')} {token * (c.of((8_000, 40_000)) // max(len(token), 1))}"


def statement(c: Chance) -> str:
    """Any statement."""
    made = c.any(simple, simple, simple, simple, simple, hidden, hidden, heredoc, compound)
    return made + redirect(c) if c.often(0.15) else made


def slipped(c: Chance, text: str) -> str:
    """A slip of the pen: something odd put in, left out, doubled or exchanged."""
    at = c.randrange(len(text) + 1)
    kind = c.randrange(10)
    if kind < 6:
        return text[:at] + c.of(ODD) + text[at:]
    if kind == 6:
        return text[:at] + text[at + 1 :]
    if kind == 7:
        return text[:at] + text[at : at + 1] + text[at:]
    if kind == 8:
        return text.replace(" ", c.any("\t", "\\ ", "\n", "  ", "\\\n", " \\\n"), 1)
    blanks = [number for number, sign in enumerate(text) if sign in " \n'\"#;$`\\"]
    at = c.of(blanks) if blanks else at
    return text[:at] + c.of(ODD) + text[at:]


def command(seed: int) -> str:
    """A command that depends on the seed alone."""
    c = Chance(seed)
    kind = c.random()
    if kind < 0.001:
        return flood(c)
    if kind < 0.33:
        return lexical(c)
    if kind < 0.50:
        made = statement(c)
    elif kind < 0.60:
        made = "".join(part for _ in range(c.randint(2, 3)) for part in (statement(c), c.of(JOINTS)))
        made = made.rstrip("|&; \\") if c.often(0.8) else made
    elif kind < 0.70:
        made = hidden(c)
    else:
        made = c.any(
            git,
            git,
            bracket,
            bracket,
            xargs,
            xargs,
            recursive,
            scripts.awk,
            scripts.awk,
            scripts.sed,
            scripts.find,
            heredoc,
            reader,
            reader,
        )
        made = c.of(NETWORK) if c.often(0.03) else made
        made = c.of(WRAPPERS) + made if c.often(0.2) else made
    while c.often(0.3):
        made = slipped(c, made)
    return made.replace("\0", "")


def globbed(seed: int) -> str:
    """A command for a folder whose only names look like options: a pattern becomes one."""
    c = Chance(seed)
    options = c.any("", "", "-n ", "-v ", "-l ", "-c ", "x ", "-e x ", "-- ", lambda c: option(c) + " ")
    program = c.of(COMMON if c.often(0.7) else READERS)
    wrapper = c.of(WRAPPERS) if c.often(0.1) else ""
    return f"{wrapper}{program} {options}{c.of(WILD)}{c.any('', '', '', ' | head', ' n', ' 2>&1')}"


def editing(seed: int) -> str:
    """A command for a mode in which files of the project may be changed."""
    c = Chance(seed)
    made = writer(c) if c.often(0.8) else f"{writer(c)}{c.of(JOINTS)}{writer(c)}"
    return slipped(c, made) if c.often(0.2) else made
