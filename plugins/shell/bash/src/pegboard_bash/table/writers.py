"""Programs that change files: what they write and delete, for path rules and the mode acceptEdits."""

from __future__ import annotations

import os
import re

from pegboard_bash.arguments import judge, take_apart
from pegboard_bash.effects import Effects
from pegboard_bash.programs import Program
from pegboard_bash.words import Word

ELSEWHERE = "-b -S --backup --suffix -l --link -s --symbolic-link --parents"
"""Options of cp and mv that keep what was there under a new name, make links instead of copies, or make folders."""

MOST_COPIED = 2_000
RECURSIVE = re.compile(r"-\w*[rRf]\w*|--recursive|--force")


def check_rm(words: list[Word], effects: Effects) -> None:
    """Deleting folders, or deleting without asking, is destructive."""
    if any(RECURSIVE.fullmatch(word.text) for word in words):
        effects.destructive = True


def check_rmdir(words: list[Word], effects: Effects) -> None:
    """With `-p` the folders around it, as far as they are named, are deleted too."""
    if any(re.fullmatch(r"-\w*p\w*|--parents", word.text) for word in words):
        for word in words:
            around = os.path.dirname(word.text.rstrip("/"))
            while around.strip("/"):
                effects.delete(Word(around, word.source, word.literal, word.glob))
                around = os.path.dirname(around)


def check_recursive(words: list[Word], effects: Effects) -> None:
    """Changing a whole tree destroys what was there."""
    if any(re.fullmatch(r"-\w*R\w*|--recursive", word.text) for word in words):
        effects.destructive = True


def check_move(words: list[Word], effects: Effects) -> None:
    """Mv and cp: the last operand is written, or what goes into it; what is moved is gone where it was."""
    given = take_apart(MOVE.grammar, words, lenient=True)
    if given.has(ELSEWHERE):
        effects.refuse(f"{effects.program} with this option creates files under names that are not given.")
    operands = list(given.operands)
    targets = [value for name, _, value in given.options if name in ("-t", "--target-directory") and value]
    target = targets[-1] if targets else operands.pop() if operands else None
    if target is None:
        effects.refuse(f"{effects.program} needs more arguments.")
        return
    if target.glob:
        effects.refuse(f"The last file that {target.source} matches is known only when it runs.")
    sources = len(effects.reads)
    for word in operands:
        effects.read(word)
        if effects.program == "mv":
            effects.delete(word)
    effects.write(target)
    _write_all(effects.reads[sources:], effects)


def _write_all(sources: list[str], effects: Effects) -> None:
    """Record each file that is created: a folder is copied with everything in it."""
    for target in list(effects.writes):
        for source in sources:
            # `sub/.` and `sub/` put their content into the target itself, or next to it.
            name = os.path.basename(source.rstrip("/"))
            places = [target] if name in (".", "..") else [target, os.path.join(target, name)]
            inside = _names_below(source)
            if inside is None:
                effects.refuse(f"{source} contains too many files to check.")
            elif os.path.isdir(target) or inside:
                effects.writes += [os.path.join(place, each) for place in places for each in ("", *inside)]


def _names_below(folder: str) -> list[str] | None:
    """Every name below a folder, from there; None if there are too many."""
    found: list[str] = []
    for place, folders, files in os.walk(folder):
        found += [os.path.relpath(os.path.join(place, name), folder) for name in (*folders, *files)]
        if len(found) > MOST_COPIED:
            return None
    return found


def check_dd(words: list[Word], effects: Effects) -> None:
    """Dd writes where `of=` says."""
    effects.destructive = True
    effects.refuse("dd overwrites its target.")
    for word in words:
        name, _, value = word.text.partition("=")
        if name in ("if", "of"):
            touched = Word(value, word.source, word.literal, word.glob)
            effects.read(touched) if name == "if" else effects.write(touched)


def check_tar(words: list[Word], effects: Effects) -> None:
    """Tar that lists an archive. The first word may be letters without a dash, whose values then follow in order."""
    first = words[0] if words else Word("")
    if not first.text.startswith("-"):
        if not re.fullmatch(r"(?=.)[tvzjJaO]*f?[tvzjJaO]*", first.text):
            effects.refuse("tar only reads when it lists an archive.")
        letters = first.text.replace("f", "") + ("f" if "f" in first.text else "")
        words = [Word(f"-{letters}", first.source), *words[1:]]
    if any(":" in word.text for word in words):
        effects.refuse("tar may open an archive on another machine.")
    judge(TAR, words, effects)


TAR = Program(
    "-tvzjJaO -f:read --list --verbose --file=read --gzip --bzip2 --xz --zstd --auto-compress --wildcards "
    "--no-wildcards --numeric-owner --full-time --exclude= --strip-components= --version --utc --totals",
    "text*",
    only_with="-t --list --version",
)

MOVE = Program(
    "-abdfHilLnpPrRsTuvxZ -S: -t: --archive --force --interactive --link --dereference --no-clobber "
    "--no-target-directory --parents --preserve=? --recursive --reflink=? --sparse= --strip-trailing-slashes "
    "--symbolic-link --target-directory= --update=? --verbose --one-file-system --backup=? --suffix=",
    "text*",
    check=check_move,
    glob=True,
    changes="It changes files.",
)
PROGRAMS = {
    "rm": Program(
        "-dfiIrRv --force --interactive=? --one-file-system --no-preserve-root --preserve-root=? --recursive --dir "
        "--verbose",
        "delete*",
        check=check_rm,
        glob=True,
        changes="rm deletes files.",
        asks=("rm x", "rm -rf /"),
    ),
    "unlink": Program("", "delete", changes="unlink deletes a file."),
    "rmdir": Program(
        "-pv --ignore-fail-on-non-empty --parents --verbose",
        "delete*",
        changes="rmdir deletes a folder.",
        check=check_rmdir,
        glob=True,
    ),
    "mkdir": Program("-pv -m: --mode= --parents --verbose", "write*", changes="mkdir creates a folder.", glob=True),
    "touch": Program(
        "-acmh -d: -r:read -t: --date= --no-create --reference=read --time= --no-dereference",
        "write*",
        changes="touch creates or changes files.",
        glob=True,
    ),
    "mv cp": MOVE,
    "ln": Program(
        "-bdfiLnPrsTv -t:write --force --symbolic --relative --verbose --no-dereference --no-target-directory",
        "read? write?",
        changes="ln creates a link.",
        asks=("ln -s a b",),
    ),
    "install": Program("-dDCpv -m: -o: -g: -t:write", "write*", changes="install writes files."),
    "tee": Program("-aip --append --ignore-interrupts", "write*", changes="", reads=("ls | tee /dev/null",)),
    "truncate": Program(
        "-co -r: -s: --no-create --size= --reference=", "write*", changes="It cuts files.", destructive=True
    ),
    "shred": Program(
        "-fuvxz -n: -s: --remove=? --zero --iterations=", "delete*", changes="It destroys.", destructive=True
    ),
    "chmod chown chgrp": Program(
        "-cfRvhHLP --changes --quiet --recursive --reference=read --verbose --no-dereference --from=",
        "text write*",
        check=check_recursive,
        glob=True,
        changes="It changes the owner or permissions of files.",
    ),
    "dd": Program(check=check_dd, asks=("dd if=/dev/zero of=x",)),
    "mkfs mkswap fdisk parted wipefs mkfs.ext4 mkfs.xfs mkfs.vfat sfdisk sgdisk": Program(
        check=lambda words, effects: effects.refuse(f"{effects.program} overwrites a disk."), destructive=True
    ),
    "tar bsdtar": Program(
        check=check_tar,
        reads=("tar tf a.tar", "tar -tzvf a.tgz"),
        asks=("tar xf a.tar", "tar tf *", "tar -tf h:a.tar", "tar If ./x a.tar -t"),
    ),
    "mktemp": Program(check=lambda words, effects: effects.refuse("mktemp creates a file.")),
}
