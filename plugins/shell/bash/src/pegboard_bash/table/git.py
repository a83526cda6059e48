"""git: subcommands and options that only read, in a repository that cannot make them do more."""

from __future__ import annotations

import re

from pegboard_bash.arguments import judge
from pegboard_bash.effects import Effects
from pegboard_bash.programs import Program
from pegboard_bash.repository import danger_in
from pegboard_bash.table.gitfiles import note_files
from pegboard_bash.table.gitoptions import READING, SPECIAL
from pegboard_bash.words import Word

FORMATS = frozenset({"oneline", "short", "medium", "full", "fuller", "reference", "email", "raw", "mboxrd"})
FORMAT = re.compile(r"--(format|pretty)=(.*)", re.DOTALL)
INTO_SUBMODULES = re.compile(r"--submodule=diff|--diff-merges(=(r|remerge))?")
"""Options under which git runs itself in a submodule, or merges again with the drivers of the repository."""

SIGNATURE = re.compile(r"%G|%\(signature|%\(trailers|%\(ahead-behind|%\+G|%-G|% G")
GLOBAL = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"})
DESTROYING = {
    "reset": r"--hard|--merge|--keep",
    "clean": r"-.*",
    "checkout": r"-f|--force|--|\.|-\w*f\w*",
    "restore": r".*",
    "push": r"-f|--force.*|--delete|-d|--mirror|--prune|\+.*|:.*",
    "branch": r"-D|-d|--delete|-f|--force|-M",
    "tag": r"-d|--delete|-f|--force",
    "stash": r"drop|clear",
    "filter-branch": r".*",
    "gc": r"--prune.*|--aggressive",
    "reflog": r"expire|delete",
    "update-ref": r"-d",
    "worktree": r"remove|prune",
    "rebase": r".*",
    "rm": r".*",
}
NETWORK = frozenset(
    {"fetch", "pull", "push", "clone", "ls-remote", "remote", "submodule", "send-email", "request-pull"}
)


def check_git(words: list[Word], effects: Effects) -> None:
    """Git with harmless global options and a subcommand that is known to only read."""
    at = 0
    while at < len(words) and words[at].text in GLOBAL:
        at += 1
    rest = words[at:]
    if not rest or [word.text for word in rest] in (["--version"], ["version"], ["-v"], ["--help"], ["-h"], ["help"]):
        if not rest:
            effects.refuse("What git does without a command is not known.")
        return
    if rest[0].text.startswith("-"):
        effects.refuse(f"The option {rest[0].source} can make git run other code or use another repository.")
        _destroys([word.text for word in rest if not word.text.startswith("-")], effects)
        return
    name = rest[0].text
    _destroys([word.text for word in rest], effects)
    effects.program = f"git {name}"
    if name in NETWORK:
        effects.open_world = True
    program = READING.get(name)
    if program is None and name in SPECIAL:
        program = SPECIAL[name](rest[1:])
    if program is None:
        effects.refuse(f"git {name} may change something.")
        return
    effects.open_world = False
    judge(program, rest[1:], effects)
    _formats(rest[1:], effects)
    note_files(name, rest[1:], effects)
    _repository(effects)


def _destroys(texts: list[str], effects: Effects) -> None:
    pattern = DESTROYING.get(texts[0]) if texts else None
    if pattern and any(re.fullmatch(pattern, text) for text in texts[1:]):
        effects.destructive = True


def _formats(words: list[Word], effects: Effects) -> None:
    """A format may ask for the check of a signature, which runs a program; a name may be an alias for such a format."""
    for word in words:
        if INTO_SUBMODULES.fullmatch(word.text):
            effects.refuse(f"{word.text} can make git run other programs.")
        if SIGNATURE.search(word.text):
            effects.refuse("The format checks signatures, which runs a program.")
        found = FORMAT.fullmatch(word.text)
        named = effects.program != "git for-each-ref" and effects.program not in ("git branch", "git tag")
        if (
            found
            and named
            and found[2]
            and found[2] not in FORMATS
            and "%" not in found[2]
            and found[2][:7] != "format:"
        ):
            effects.refuse(f"The effect of the format {found[2]} is not known.")


def _repository(effects: Effects) -> None:
    if effects.place.moved:
        effects.refuse("git in another directory may run what the configuration there says.")
        return
    if danger := danger_in(effects.place.start):
        effects.refuse(danger)


PROGRAMS = {
    "git": Program(
        check=check_git,
        reads=(
            "git status --short",
            "git log --oneline -5 -- a",
            "git diff --stat HEAD~1",
            "git show HEAD:a",
            "git branch -a",
            "git stash list",
            "git rev-parse --abbrev-ref HEAD",
            "git --no-pager log -1",
            "git remote -v",
            "git config --get user.name",
            "git show stash@{0}",
        ),
        asks=(
            "git commit -m x",
            "git -c core.pager=x log",
            "git -C .. status",
            "git diff --output=x",
            "git log --format=%G?",
            "git branch new",
            "git describe --dirty",
            "git branch --format -l new",
            "git log --format --output=x",
            "git log --submodule=diff",
            "git tag v1",
            "git stash",
            "git grep -O x",
            "git cat-file --textconv HEAD:a",
            "git diff --ext-diff",
            "git config user.name x",
            "git log --pretty=mine",
            "git add *",
            "cd .. && git status",
            "git reflog expire --all",
            "git remote update",
        ),
    )
}
