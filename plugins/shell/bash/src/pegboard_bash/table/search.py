"""Programs that search files and their contents."""

from __future__ import annotations

import re

from pegboard_bash.arguments import ParsedArguments, take_apart
from pegboard_bash.effects import Effects, FolderTree
from pegboard_bash.programs import Grammar, Program
from pegboard_bash.recursion import follow_links
from pegboard_bash.scripts.find import check_find
from pegboard_bash.words import Word, absolute

GREP = (
    "-abcEFGhHiIlLnoPqrRsTUvVwxyzZ -A: -B: -C: -D: -d: -e: -f:read -m: -# --extended-regexp --fixed-strings "
    "--basic-regexp --perl-regexp --regexp= --file=read --ignore-case --no-ignore-case --word-regexp --line-regexp "
    "--null-data --no-messages --invert-match --max-count= --byte-offset --line-number --line-buffered --with-filename "
    "--no-filename --label= --only-matching --quiet --silent --binary-files= --text --directories= --devices= "
    "--recursive --dereference-recursive --include= --exclude= --exclude-from=read --exclude-dir= "
    "--files-without-match --files-with-matches --count --initial-tab --null --before-context= --after-context= "
    "--context= --group-separator= --no-group-separator --color=? --colour=? --version"
)
RG = (
    "-abcFhHiIlLnNoPpqsSuUvVwxX. -A: -B: -C: -d: -e: -E: -f:read -g: -j: -m: -M: -r: -t: -T: --after-context= "
    "--before-context= --context= --auto-hybrid-regex --binary --block-buffered --byte-offset --case-sensitive "
    "--color= "
    "--colors= --column --count --count-matches --crlf --debug --encoding= --engine= --field-context-separator= "
    "--field-match-separator= --file=read --files --files-with-matches --files-without-match --fixed-strings --follow "
    "--glob= --glob-case-insensitive --heading --no-heading --hidden --no-hidden --iglob= --ignore-case "
    "--ignore-file=read --include-zero --invert-match --json --line-buffered --line-number --no-line-number "
    "--line-regexp --max-columns= --max-columns-preview --max-count= --max-depth= --maxdepth= --max-filesize= --mmap "
    "--no-mmap --multiline --multiline-dotall --no-config --no-filename --no-ignore --no-ignore-dot "
    "--no-ignore-exclude "
    "--no-ignore-files --no-ignore-global --no-ignore-messages --no-ignore-parent --no-ignore-vcs --no-messages "
    "--no-unicode --null --null-data --one-file-system --only-matching --passthru --path-separator= --pcre2 "
    "--pcre2-version --pretty --print0 --quiet --regexp= --regex-size-limit= --replace= --smart-case --sort= --sortr= "
    "--stats --text --threads= --trim --type= --type-add= --type-clear= --type-list --type-not= --unrestricted "
    "--version "
    "--vimgrep --with-filename --word-regexp -0"
)
GREP_GRAMMAR, RG_GRAMMAR = Grammar(GREP, "text*"), Grammar(RG, "text*")
RECURSIVE = "-r -R --recursive --dereference-recursive -d --directories"
FOLLOWING = "-R --dereference-recursive"
PATTERN_GIVEN = "-e -f --regexp --file"
TELLING = frozenset({"--version", "-V", "--help", "-h", "--type-list"})
"""With one of these alone rg searches nothing. With others they may mean something else, like grep's `-h`."""
NAME_PATTERN = re.compile(r"[\w.*+@-]+", re.ASCII)
"""Patterns of names that mean the same to everybody."""


def check_grep(words: list[Word], effects: Effects) -> None:
    """grep: files after the pattern are read; without one the input, or the working directory with `-r`."""
    given = take_apart(GREP_GRAMMAR, words, lenient=True)
    recursive = given.has(RECURSIVE)
    _files(given, effects, everywhere=recursive, has_pattern=given.has(PATTERN_GIVEN))
    if not recursive:
        return
    only, without = _values(given, "--include"), _values(given, "--exclude")
    folders = _values(given, "--exclude-dir") or ()
    # Where both are given, their order matters: then all files count.
    only, without = (only or (), without or ()) if not (only and without) else ((), ())
    effects.trees += [FolderTree(path, folders, without, only) for path in effects.reads]
    if given.has(FOLLOWING):
        follow_links(list(effects.reads), effects)


def check_rg(words: list[Word], effects: Effects) -> None:
    """rg: files after the pattern are read, or the working directory."""
    given = take_apart(RG_GRAMMAR, words, lenient=True)
    everywhere = len(words) != 1 or words[0].text not in TELLING
    _files(given, effects, everywhere=everywhere, has_pattern=given.has(f"{PATTERN_GIVEN} --files --type-list"))
    if everywhere and not given.has("--files"):
        only = _values(given, "-g --glob") or ()
        effects.trees += [FolderTree(path, only_files=only) for path in effects.reads]
    if given.has("-L --follow"):
        follow_links(list(effects.reads), effects)


def _values(given: ParsedArguments, options: str) -> tuple[str, ...] | None:
    """The values of options that are patterns of names; None where one is more than that."""
    wanted = options.split()
    values = [value.text for name, _, value in given.options if name in wanted and value]
    return tuple(values) if all(map(NAME_PATTERN.fullmatch, values)) else None


def _files(given: ParsedArguments, effects: Effects, *, everywhere: bool, has_pattern: bool) -> None:
    """Note the files that are searched: the operands after the pattern, unless an option has given it."""
    operands = list(given.operands)
    if not has_pattern and operands:
        pattern = operands.pop(0)
        if not effects.stays(pattern):
            effects.refuse(f"{pattern.source} matches files, and {effects.program} takes the first as its pattern.")
            effects.read(pattern)
    for word in operands:
        if word.text != "-":
            effects.read(word)
    if everywhere and not effects.reads:
        effects.reads += effects.place.cwds
    if everywhere and "/" in effects.reads:
        effects.refuse("A search of the whole file system also reads the memory of processes.")


def check_ag(words: list[Word], effects: Effects) -> None:
    """Ag searches below what it names, or the working directory."""
    given = take_apart(AG.grammar, words, lenient=True)
    folders = [absolute(word.text, cwd) for word in given.operands[1:] for cwd in effects.place.cwds]
    folders = folders or list(effects.place.cwds)
    effects.reads += folders
    effects.trees += map(FolderTree, folders)
    if given.has("-f"):
        follow_links(folders, effects)


def check_fd(words: list[Word], effects: Effects) -> None:
    """Fd looks through folders and prints names."""
    effects.reads += effects.place.cwds
    if any(word.text == "--follow" or re.fullmatch(r"-\w*L\w*", word.text) for word in words):
        effects.refuse("fd --follow follows links to any target.")


AG = Program(
    "-acfghHiklLnoQsSuUvwrR -A: -B: -C: -G: -m: --nocolor --nogroup --hidden --ignore= --ignore-dir= --count "
    "--files-with-matches --literal --smart-case --python --js --cc --vimgrep --stats",
    "text? read*",
    check=check_ag,
    asks=("ag --pager x y", "ag -z x"),
)
PROGRAMS = {
    "grep egrep fgrep": Program(
        GREP,
        "text*",
        check=check_grep,
        glob=True,
        reads=("grep -rn 'a > b' src", "grep -A3 -e x a", "grep foo *.py"),
        asks=("grep x a > b", "grep --outp x a"),
    ),
    "rg": Program(
        RG,
        "text*",
        check=check_rg,
        reads=("rg -i --hidden -g '!.git' x", "rg --files", "rg -uu -c x src"),
        asks=("rg --pre ./x y", "rg -nz x", "rg --hostname-bin=./x y", "rg --search-zip x", "rg foo *"),
    ),
    "ag": AG,
    "find": Program(
        check=check_find,
        reads=("find . -name '*.py' -not -path './x/*'", "find src \\( -type f -o -type d \\) -print", "find"),
        asks=(
            "find . -delete",
            "find . -exec rm {} \\;",
            "find . -fprint x",
            "find . -fpr''int x",
            "find . -name *.py",
            "find . -okdir x \\;",
        ),
    ),
    "fd fdfind": Program(
        "-HIuLpa0siFgl1q -d: -t: -e: -E: -S: -c: -j: --hidden --no-ignore --unrestricted --absolute-path --full-path "
        "--follow --print0 --type= --extension= --exclude= --max-depth= --min-depth= --exact-depth= --glob --regex "
        "--fixed-strings --ignore-case --case-sensitive --list-details --size= --changed-within= --changed-before= "
        "--color= --max-results= --threads= --version --no-ignore-vcs --one-file-system",
        "text? read*",
        check=check_fd,
        reads=("fd -e py", "fdfind main src"),
        asks=("fd -x rm", "fdfind --exec touch x", "fd -X rm", "fd --exec-batch rm"),
    ),
    "locate mlocate plocate": Program("-aAbceilLnqrS -n: -l: --basename --ignore-case --limit= --count", "text*"),
    "whereis": Program("-bmsu", "text*"),
}
