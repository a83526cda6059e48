"""Made-up texts over all of bash's syntax, for tests of how they are read. The programs in them are pa, pb, pc, pd."""

from __future__ import annotations

import random

PLAIN = "a b -x 1 a.b x=1 a#b # ~ = ! { } % a,b [ ] 1#2 @ : + a:b ^ in do then fi time a!b é".split()
SINGLE = ["", "a b", "#", "$(pd)", "`pd`", '"', "\\", "\n", ";", "x'\\''y"]
ESCAPED = [" ", "#", "a", "$", "`", ";", "&", "|", "'", '"', "\\", "(", ")", "<", ">", "\t", "{", "~", "*", "!"]
ANSI = ["", "\\'", "\\\\", "a\\tb", "\\x41", "#", ";", "\\n", "`", "\\101"]
BRACES = ["{a,b}", "{1..3}", "{a}", "{}", "{,}", "{a,b", "a}", "{1..03}", "{'a,b'}", "{a\\,b}"]
PATTERNS = ["*", "?", "[a]", "[[:alpha:]]", "[!a]", "*.zz", "[", "]"]
DOLLARS = ["$", "$ ", "$.", "$%", "$'", '$"', "1#$(pd)", "$]"]
IN_QUOTES = ["a", " ", "'", "#", ";", "|", "&", "(", ")", "{", "}", "<", ">", "\n", "!", "é"]
ODD_IN_QUOTES = ["$ ", "$", "$.", "$)", "$'", "\\$", "\\`", '\\"', "\\\\", "\\a", "\\\n", "$%"]
VARIABLES = ["$x", "${x}", "$1", "$?", "$#", "$$", "$@", "$*", "$-", "${#x}", "${x}y", "$_"]
SUMS = ["$((1+2))", "$((1))", "$(( (1) ))", "$((1+(2)))", "$[1]", "$((x))", "$(($(pd)))", "$(( `pd` ))"]
PARAMETERS = ["${x:-a}", "${x:-$(pd)}", "${x%a}", "${x#a}", "${x/a/b}", "${x:0:1}", "${x:-`pd`}", "${x:-'}'}"]
PARAMETERS += ['${x:-"}"}', "${x-\\}}", "${!x}", "${x@Q}", "${x:-{}}", "${x:-a b}", "${x:+<(pd)}"]
NAMES = ["pa", "pb", "pc", "pd", "'pa'", "p''b", '"pc"', "\\pd", "p\\\nb", "time pa", "! pb", "pa\\ ", "time -p pc"]
ASSIGNED = ["v=1", "v=$(pd)", "v='a b'", "v=", "v+=1", "v=(a b)", "v=~/x"]
TESTS = ["a", "-n a", "a == b", "a && b", "! a", "a < b", "( a )", "a =~ b", "$x", "-f $(pd)", "a =~ ^(a|b)$", "x == *"]
BRACKETS = ["a", "a = b", "-n a", "a || pd", "a > /dev/null", "-f\npd", "a \\( b", "! a"]
LINES = ["body\n", "$x\n", "\tt\n", "`pd`\n", "$(pd)\n", "pd\n", "\\$(pd)\n", "E x\n", " E\n", "'\n", '"\n', "\\\n"]
JOINTS = [" && ", " || ", "; ", " | ", "\n", ";", " |& ", "&&", "||", "|", " & ", " &&\n", " |\n", " # x\n", "; # pd\n"]
NOISE = list("'\"\\$`#;&|<>(){} \n~=![]*")


def bash_text(seed: int) -> str:
    """A text that depends on the seed alone; some are broken in one or two places."""
    chance = random.Random(seed)
    text = _Maker(chance).text()
    if chance.random() < 0.35:
        for _ in range(chance.randint(1, 2)):
            at = chance.randrange(len(text) + 1)
            text = (
                text[:at] + (chance.choice(NOISE) if chance.random() < 0.6 else "") + text[at + chance.randrange(2) :]
            )
    return text


class _Maker:
    def __init__(self, chance: random.Random) -> None:
        self.chance, self.pick = chance, chance.choice
        self.bodies: list[str] = []

    def text(self) -> str:
        made = self.commands(self.pick((0, 1, 1, 2)))
        return f"{made}\n{self._bodies()}" if self.bodies else made

    def _bodies(self) -> str:
        made, self.bodies = "".join(self.bodies), []
        return made

    def commands(self, depth: int) -> str:
        made = self.command(depth)
        for _ in range(self.pick((0, 0, 0, 1, 1, 2))):
            joint = self.pick(JOINTS)
            made += joint + (self._bodies() if joint.endswith("\n") else "") + self.command(depth)
        return made

    def command(self, depth: int) -> str:
        if depth <= 0 or self.chance.random() < 0.72:
            return self.simple(depth)
        inner, other = self.commands(depth - 1), self.commands(depth - 1)
        return self.pick(
            [
                f"( {inner} )",
                f"{{ {inner}; }}",
                f"if {inner}; then {other}; fi",
                f"if {inner}; then {other}; elif pa; then pb; else pc; fi",
                f"while {inner}; break; do {other}; break; done",
                f"until {inner}; do {other}; break; done",
                f"for f in {self.word(0)} b; do {inner}; done",
                f"case {self.word(0)} in {self.pick(['a', '*', '(a', 'a|b'])}) {inner};; esac",
                f"[[ {self.pick(TESTS)} ]]",
                f"[ {self.pick(BRACKETS)} ]",
                f"(( {self.pick(['1', '1+1', 'x=1', '1<2', '$(pd)'])} ))",
                f"{self.pick(['f()', 'f ()', 'function f'])} {{ {inner}; }}; f",
            ]
        )

    def simple(self, depth: int) -> str:
        words = [self.pick(ASSIGNED)] if self.chance.random() < 0.1 else []
        words += [self.redirect(depth)] if self.chance.random() < 0.06 else []
        words.append(self.pick(NAMES))
        words += [self._argument(depth) for _ in range(self.chance.randint(0, 3))]
        return self.pick((" ", " ", " ", "  ", "\t", " \\\n ")).join(words)

    def _argument(self, depth: int) -> str:
        return self.redirect(depth) if self.chance.random() < 0.15 else self.word(depth)

    def redirect(self, depth: int) -> str:
        kind = self.chance.random()
        if kind < 0.45:
            return self.pick(("", "2", "1")) + self.pick((">", "<", ">>", ">|", "<>", "&>")) + "/dev/null"
        if kind < 0.6:
            return self.pick(("2>&1", ">&2", "2>&-", "<&-", "3<&0"))
        if kind < 0.7:
            return f"<<<{self.word(depth)}"
        end, dash = self.pick("EF"), self.pick(("", "", "-"))
        self.bodies.append("".join(self.pick(LINES) for _ in range(self.chance.randint(0, 2))) + f"{end}\n")
        return f"<<{dash}" + self.pick((end, f"'{end}'", f'"{end}"', f"\\{end}"))

    def word(self, depth: int) -> str:
        return "".join(self._piece(depth) for _ in range(self.pick((1, 1, 1, 1, 2, 2, 3))))

    def _piece(self, depth: int) -> str:
        quoted = "".join(self._in_quotes(depth) for _ in range(self.chance.randint(0, 3)))
        pieces = [
            self.pick(PLAIN),
            self.pick(PLAIN),
            f"'{self.pick(SINGLE)}'",
            f'"{quoted}"',
            f"\\{self.pick(ESCAPED)}",
        ]
        pieces += [f"$'{self.pick(ANSI)}'", '$"a"', self.expansion(depth), self.pick(BRACES), self.pick(PATTERNS)]
        pieces += [self.pick(DOLLARS), "x", f"<({self.commands(depth - 1)})" if depth > 0 else "y"]
        return self.pick(pieces)

    def _in_quotes(self, depth: int) -> str:
        return self.pick([self.pick(IN_QUOTES), self.pick(ODD_IN_QUOTES), self.expansion(depth)])

    def expansion(self, depth: int) -> str:
        found = [self.pick(VARIABLES), self.pick(SUMS), self.pick(PARAMETERS), "`pb a`"]
        if depth > 0:
            inner = self.commands(0).replace("\\", "\\\\").replace("`", "\\`")
            found += [f"$({self.commands(depth - 1)})", f"$( {self.commands(depth - 1)}\n)", f"`{inner}`"]
        return self.pick(found)
