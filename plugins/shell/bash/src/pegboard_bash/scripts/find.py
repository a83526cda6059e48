"""find: an expression of tests and actions. Tests read; every action but printing is a command or a write."""

from __future__ import annotations

import re

from pegboard_bash.effects import Effects
from pegboard_bash.recursion import follow_links
from pegboard_bash.words import Word, names

ALONE = names(
    "-print -print0 -ls -prune -depth -d -mount -xdev -empty -true -false -not -a -and -o -or ! ( ) , -quit "
    "-nouser -nogroup -readable -writable -executable -daystart -follow -noleaf -ignore_readdir_race "
    "-noignore_readdir_race -nowarn -warn --version -version --help -help"
)
VALUED = names(
    "-name -iname -path -ipath -wholename -iwholename -lname -ilname -regex -iregex -regextype -type -xtype -size "
    "-mtime -atime -ctime -mmin -amin -cmin -newer -anewer -cnewer -maxdepth -mindepth -perm -user -group -uid "
    "-gid -links -inum -samefile -fstype -printf -used -context"
)
COMPARING = frozenset({"-newer", "-anewer", "-cnewer", "-samefile"})
"""Tests that compare with another file and so reveal something about it."""
RUNNING = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
WRITING = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})
NEWER = re.compile(r"-newer[aBcmt][aBcmt]")
LEADING = re.compile(r"-[HLP]|-O[0-3]")


def check_find(words: list[Word], effects: Effects) -> None:
    """Find with its paths and its expression."""
    at = 0
    while at < len(words) and LEADING.fullmatch(words[at].text):
        at += 1
    roots: list[Word] = []
    while at < len(words) and not words[at].text.startswith(("-", "(", "!", ",")):
        roots.append(words[at])
        at += 1
    roots = roots or [Word(".")]
    for root in roots:
        effects.read(root)
    if any(re.fullmatch(r"-[HP]*L[HLP]*|-follow", word.text) for word in words):
        follow_links(list(effects.reads), effects)
    while at < len(words):
        at = _token(words, at, roots, effects)


def _token(words: list[Word], at: int, roots: list[Word], effects: Effects) -> int:
    text = words[at].text
    if text in ALONE:
        return at + 1
    if text in VALUED or NEWER.fullmatch(text):
        if at + 1 >= len(words):
            effects.refuse(f"find {text} has no value.")
        elif text in COMPARING or (NEWER.fullmatch(text) and not text.endswith("t")):
            effects.read(words[at + 1])
        return at + 2
    if text == "-delete":
        effects.exact = effects.destructive = True
        for root in roots:
            effects.delete(root)
        return at + 1
    if text in RUNNING:
        return _run(words, at, roots, effects)
    if text in WRITING:
        for word in words[at + 1 : at + 2]:
            effects.write(word)
        effects.changes("find writes a file.")
        return at + (3 if text == "-fprintf" else 2)
    effects.refuse(f"{words[at].source} of find may change something.")
    return at + 1


def _run(words: list[Word], at: int, roots: list[Word], effects: Effects) -> int:
    end = at + 1
    while end < len(words) and words[end].text != ";" and not (words[end].text == "+" and words[end - 1].text == "{}"):
        end += 1
    effects.exact = True
    command = words[at + 1 : end]
    if command:
        effects.inner.append(command)
    for root in roots:
        if root.text.startswith("/") and root.literal and any(word.text == "{}" for word in command):
            # The files below are not known; that the command is run on all of `/` or of home is what matters.
            effects.inner.append([root if word.text == "{}" else word for word in command])
    effects.refuse(f"find {words[at].text} runs a command for what it finds.")
    return end + 1
