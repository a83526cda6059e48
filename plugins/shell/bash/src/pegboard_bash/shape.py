"""The outline of a command: its simple commands word by word, and which of them may have set the exit code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from pegboard_bash.tree import syntax_tree

if TYPE_CHECKING:
    from tree_sitter import Node

Words = tuple[str, ...]
GROUPS = frozenset({"program", "subshell", "compound_statement"})
WRAPPERS = frozenset({"command", "builtin", "nohup", "time", "env", "sudo", "nice", "exec"})
MOST_NODES = 5_000
ASSIGNMENT = re.compile(r"\w+=.*", re.DOTALL)
GIT_OPTIONS_WITH_VALUE = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace"})


@dataclass(frozen=True, slots=True)
class Shape:
    """What is plain to see of a command without judging it."""

    whole: bool
    """Whether all of it could be parsed."""
    commands: tuple[Words, ...] = ()
    """Every simple command in the order in which it is written, wrappers such as `env` and assignments left out."""
    deciding: tuple[Words, ...] = ()
    """The commands of which one has set a non-zero exit code; empty when that cannot be told."""


@lru_cache(maxsize=64)
def shape_of(command: str) -> Shape:
    """The outline of a command. What cannot be parsed, or is too long, has none."""
    root = syntax_tree(command)
    if root is None or root.has_error:
        return Shape(False)
    try:
        return Shape(True, tuple(_commands(root)), tuple(_deciding(root) or ()))
    except RecursionError:
        return Shape(False)


def program_of(words: Words) -> str:
    """The name of the program; for git with its subcommand, as in `git diff`."""
    if not words:
        return ""
    name = words[0].rpartition("/")[2]
    if name != "git":
        return name
    rest = iter(words[1:])
    for word in rest:
        if word in GIT_OPTIONS_WITH_VALUE:
            next(rest, None)
        elif not word.startswith("-"):
            return f"git {word}"
    return name


def _commands(root: Node) -> Iterator[Words]:
    waiting, seen = [root], 0
    while waiting and seen < MOST_NODES:
        node = waiting.pop()
        seen += 1
        if node.type == "command":
            yield _words(node)
        waiting += reversed(node.named_children)


def _deciding(node: Node) -> list[Words] | None:
    """The commands that may have set the exit code of a statement that failed; None when it cannot be told."""
    if node.type == "command":
        return [_words(node)]
    if node.type == "test_command":
        return [("test",)]
    if node.type == "redirected_statement":
        body = node.child_by_field_name("body")
        return _deciding(body) if body else None
    parts = [child for child in node.named_children if child.type != "comment"]
    if node.type in GROUPS or node.type == "pipeline":
        return _deciding(parts[-1]) if parts else None
    if node.type == "list" and len(parts) == 2:
        last = _deciding(parts[1])
        if any(child.type == "||" for child in node.children):
            return last
        first = _deciding(parts[0])
        return None if first is None or last is None else [*first, *last]
    return None


def _words(node: Node) -> Words:
    name = node.child_by_field_name("name")
    texts = [_text(name)] if name else []
    texts += [_text(child) for child in node.children_by_field_name("argument")]
    while len(texts) > 1 and (texts[0] in WRAPPERS or ASSIGNMENT.fullmatch(texts[0])):
        if texts[0] in WRAPPERS and texts[1].startswith("-"):
            break
        del texts[0]
    return tuple(texts)


def _text(node: Node) -> str:
    text = (node.text or b"").decode("utf-8", "replace")
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text
