"""Each mend taken back, one at a time: the fuzzer has to find what was mended. For tests only.

A mutant patches the place of its mend back to what it did before, or to nothing. `about` narrows a campaign to the
commands that the mend is about, so that 20,000 can be tried in a short time; the others still count.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import pytest

from pegboard import Facts
from pegboard_bash import (
    arguments,
    compare,
    effects,
    programs,
    recursion,
    tree,
    understanding,
    walk,
    word_builder,
    words,
)
from pegboard_bash.bash_call import BashCall
from pegboard_bash.programs import program_of
from pegboard_bash.repository import probe
from pegboard_bash.scripts import awk
from pegboard_bash.table import files, gitfiles, search, writers

Patch = Callable[[pytest.MonkeyPatch], None]
NOTHING: Callable[..., str] = lambda *_, **__: ""  # noqa: E731
SINGLE = re.compile(r"\[[!^]?\]?[^\]]*\]")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mend, how to take it back, and which commands show that it is missing."""

    name: str
    patch: Patch
    about: str
    kinds: str = ""
    """A pattern for the kinds of harm that count."""
    is_slow: bool = False
    """Whether it shows in the time that a decision takes."""


def one_reading(patch: pytest.MonkeyPatch) -> None:
    """Only the grammar is asked: neither our own lexer nor bash itself."""
    patch.setattr(compare, "disagreement", NOTHING)
    patch.setattr(compare, "problem_with_bash", NOTHING)


def tests_alike(patch: pytest.MonkeyPatch) -> None:
    one_reading(patch)
    patch.setattr(walk, "problem_of_test", NOTHING)


def old_matches(word: words.Word, cwd: str, most: int = 512) -> list[str] | None:
    """Bracket expressions end at the first bracket, whatever is inside of them."""
    found = list(islice(glob.iglob(SINGLE.sub("?", word.text), root_dir=cwd), most + 1))
    return sorted(found) if len(found) <= most else None


def old_awk(program: str, code: str | None) -> str:
    """A name counts only where it stands alone."""
    found = re.search(r"\b(system|getline|ENVIRON|ARGV|ARGC)\b", program if code is None else code)
    return found[0] if found else ""


def old_division(before: str) -> bool:
    """A slash after a word divides, also after `else`."""
    return not before.strip() or before.rstrip(" \t")[-1:] in "{};,(!~&|?:\n"


def without_padding(text: str, mask: str, left: int, right: int) -> list[tuple[str, str]] | None:
    """`{1..03}` gives 1, 2, 3."""
    inside = re.sub(r"\b0+(?=\d)", "", text[left : right + 1])
    return CHOICES(text[:left] + inside, mask[: left + len(inside)], left, left + len(inside) - 1)


CHOICES = word_builder._choices
SPECIFICATION = BashCall._specification


def old_specification(self: BashCall, trail: Any) -> Any:
    """Git's variables are set only where git stands at the beginning of a command."""
    made = SPECIFICATION(self, trail)
    if "git" in self.understood.programs:
        return made
    return replace(made, env={name: value for name, value in made.env.items() if not name.startswith("GIT_")})


def old_move(self: walk.Walk, effects: effects.Effects) -> None:
    """A folder and its way through links are the same."""
    stays = () if all(map(os.path.isdir, effects.reads)) else self.place.cwds
    self.place.cwds = tuple(dict.fromkeys((*map(os.path.normpath, effects.reads), *stays)))


def no_links(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(search, "follow_links", NOTHING)
    patch.setattr(files, "follow_links", NOTHING)


def any_length(patch: pytest.MonkeyPatch) -> None:
    for module in (understanding, tree):
        patch.setattr(module, "LONGEST", 200_000)
    patch.setattr(tree, "LONGEST_IN_DOUBT", 200_000)
    patch.setattr(tree, "MOST_MARKS", 1_000_000)


def with_program(name: str, like: str, **changes: Any) -> Patch:
    """A program described as it was before."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        known = program_of(like)
        assert known is not None
        monkeypatch.setitem(programs._programs, name, replace(known, **changes))

    return patch


def facts_as_they_are(facts: Facts, *_: Any) -> Facts:
    return facts


def setting(module: object, name: str, value: object) -> Patch:
    """One name of a module, replaced."""
    return lambda patch: patch.setattr(module, name, value)


def copies(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(writers, "_write_all", NOTHING)


DOLLAR = r'"[^"\n]*\$ [^"\n]*[$`]|"\$ '
MUTANTS = (
    Mutant("a lone dollar in a string", one_reading, DOLLAR),
    Mutant("a number with its base", one_reading, r"\d#[$`<]"),
    Mutant("two backticks in a word", one_reading, r"`[^`\n]*`[^`\n]*`[^`\n]*`"),
    Mutant("a backslash before a blank", one_reading, r"\\[ \t]+#"),
    Mutant("a string that ends elsewhere", one_reading, r"\$'[^'\n]*\\\\'"),
    Mutant("behind the head of a here-document", one_reading, r"<<-?\s*['\"\\]?\w+['\"]?[ &|;{(]"),
    Mutant("tests in single brackets", tests_alike, r"(^|\s)\[ "),
    Mutant("names behind numbers in awk", setting(awk, "_dangerous", old_awk), r"awk .*[\d.](system|getline)"),
    Mutant("slashes in awk", setting(awk, "_begins_regex", old_division), r"awk .*/"),
    Mutant("classes in patterns", lambda p: p.setattr(effects, "matches", old_matches), r"\[\[[:.=]"),
    Mutant("braces with padding", setting(word_builder, "_choices", without_padding), r"f\{\d+\.\.\d+\}"),
    Mutant("a tilde in the middle", setting(words, "has_late_tilde", lambda *_: False), r"\w[=:]~"),
    Mutant("patterns as options", setting(arguments, "_problem_of_pattern", NOTHING), r"[*?\[]"),
    Mutant("arguments that arrive later", with_program("wc", "wc", listed=True), r"xargs .*wc"),
    Mutant("links in folders", no_links, r"-\w*[RL]|--deref|diff -r|tree -l"),
    Mutant("denied files in folders", setting(recursion, "withheld", facts_as_they_are), r"grep|rg", "denied"),
    Mutant("git behind wrappers", setting(BashCall, "_specification", old_specification), r"\S+ .*git "),
    Mutant("files that git's settings name", setting(probe, "danger_of_file", NOTHING), r"git ", "outside"),
    Mutant("objects of other repositories", setting(probe, "borrowed", NOTHING), r"git ", "outside"),
    Mutant("contents that git shows", setting(gitfiles, "_shows", NOTHING), r"git ", "denied"),
    Mutant("copies of whole folders", copies, r"cp|mv"),
    Mutant(
        "rpm over the network", with_program("rpm", "rpm", options="-qailcdfRspl --query --all"), r"rpm ", "network"
    ),
    Mutant("settings of ack", with_program("ack", "ag", check=None), r"\back "),
    Mutant(
        "a letter that means help elsewhere",
        setting(search, "PATTERN_GIVEN", "-e -f --regexp --file --help -h"),
        r"grep .*-\w*h",
        "denied",
    ),
    Mutant("where cd leads behind a link", setting(walk.Walk, "_move", old_move), r"cd \S*link"),
    Mutant(
        "files that a list of sums names",
        with_program("md5sum", "md5sum", options="-btcw --check --binary"),
        r"md5sum .*-\w*c",
    ),
    Mutant("time to decide", any_length, r"(?s).{7000}", is_slow=True),
)
