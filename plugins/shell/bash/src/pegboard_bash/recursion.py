"""Commands that read folders recursively: where links lead them, and what rules deny there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fnmatch import translate
from pathlib import Path
from typing import Any

from pegboard import Context, Facts, Tool
from pegboard_bash.effects import Bound, Effects, FolderTree, TooManyError
from pegboard_bash.patterns import can_be_a_name
from pegboard_bash.repository import Repository, find
from pegboard_bash.repository.index import tracked

MOST_NAMED = 8


def follow_links(folders: Iterable[str], effects: Effects) -> None:
    """For a command that follows links: where they lead counts as read, so that path rules see it."""
    try:
        for folder in dict.fromkeys(folders):
            if not can_be_a_name(folder):
                effects.refuse("It follows links below a folder that is not known.")
                continue
            for entry in _below(folder, effects.place.bound):
                if entry.is_symlink():
                    effects.reads.append(os.path.realpath(entry.path))
    except TooManyError:
        effects.refuse("It follows links, and there are too many files to resolve them.")


def denied_below(trees: Iterable[FolderTree], tool: Tool[Any, Any], ctx: Context) -> tuple[list[str], str]:
    """Files below the trees that rules withhold, some of them; and why not all could be looked at, as a sentence."""
    found: list[str] = []
    bound = Bound()
    try:
        for tree in dict.fromkeys(trees):
            if not can_be_a_name(tree.folder):
                return found, "Which folder it reads is known only when it runs."
            may_show = ctx.path_filter(tool, tree.folder)
            if may_show is None:
                return [], ""
            for path in _files(tree, bound):
                if not may_show(path):
                    found.append(path)
                    if len(found) >= MOST_NAMED:
                        return found, ""
    except TooManyError:
        return found, "Rules deny reading some files, and there are too many files to check whether it would read them."
    return found, ""


def withheld(facts: Facts, trees: Iterable[FolderTree], tool: Tool[Any, Any], ctx: Context) -> Facts:
    """The facts with what rules withhold below the folders that are read: so those rules see that it would be read."""
    found, problem = denied_below(trees, tool, ctx)
    if problem:
        parts = tuple(replace(part, read_only=False) for part in facts.parts)
        reason = facts.reason or problem
        facts = replace(facts, read_only=False, concurrency_safe=False, parts=parts, reason=reason)
    return replace(facts, reads=(*facts.reads, *map(Path, found)))


def _files(tree: FolderTree, bound: Bound) -> Iterator[str]:
    if tree.git:
        yield from _tracked(tree.folder, bound)
    if tree.git == "index":
        return
    if not os.path.isdir(tree.folder):
        yield tree.folder
    folders, files = _any(tree.without_folders), _any(tree.without_files)
    only = _any(tree.only_files) if tree.only_files else None
    for entry in _below(tree.folder, bound, folders):
        left_out = files.match(entry.name) or (only and not only.match(entry.name))
        if not left_out and not entry.is_dir(follow_symlinks=False):
            yield entry.path


def _any(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)) or r"(?!)")


def _tracked(folder: str, bound: Bound) -> Iterator[str]:
    found = find(folder if os.path.isdir(folder) else os.path.dirname(folder))
    if not isinstance(found, Repository):
        return
    names = tracked(f"{found.git}/index")
    if names is None:
        raise TooManyError
    root = os.path.realpath(folder)
    for name in names:
        bound.take()
        path = os.path.join(found.top, name)
        if f"{path}/".startswith(f"{root.rstrip('/')}/"):
            yield path


def _below(folder: str, bound: Bound, without: re.Pattern[str] | None = None) -> Iterator[os.DirEntry[str]]:
    """Everything below a folder, without following links."""
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as found:
                entries = list(found)
        except OSError:
            continue
        for entry in entries:
            bound.take()
            folder_too = entry.is_dir(follow_symlinks=False)
            if folder_too and without and without.match(entry.name):
                continue
            yield entry
            if folder_too:
                waiting.append(entry.path)
