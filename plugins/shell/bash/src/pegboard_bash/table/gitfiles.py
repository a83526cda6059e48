"""git: which files a reading command shows, by name or as part of all that git tracks, so that path rules see them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from pegboard_bash.effects import Effects, FolderTree
from pegboard_bash.repository import Repository, find
from pegboard_bash.words import Word, names

SUMMARIES = re.compile(
    r"--(stat|numstat|shortstat|dirstat|summary|name-only|name-status|raw|no-patch|quiet|compact-summary)(=.*)?|-s|-q"
)
PATCHES = re.compile(
    r"-[a-zA-Z]*p[a-zA-Z]*|-[uUSGLcmW].*|--(patch|unified|patch-with-stat|patch-with-raw|word-diff|color-words|binary|cc|"
    r"function-context|full-diff|check|word-diff-regex|diff-merges|ws-error-highlight|ignore-matching-lines)(=.*)?"
)
"""Options that show contents, or search in them."""

SHOWING = names("show diff diff-tree diff-index diff-files range-diff whatchanged")
QUIET = names("log stash reflog shortlog")
BLAMING = names("blame annotate")
MAGIC = re.compile(r":(?:\([^)]*\)|[/!^:]*)")
PLAIN = re.compile(r"[\w./@+,=~ -]+", re.ASCII)
NAMED = re.compile(r"[^-:][^:]*:.+|:[0-3]:.+")


def note_files(name: str, words: list[Word], effects: Effects) -> None:
    """Note the files among the words, also as `HEAD:file`, and the whole repository where any file may be shown."""
    found = find(effects.place.start)
    top = found.top if isinstance(found, Repository) else effects.place.start
    ended = False
    for word in words:
        if word.text == "--":
            ended = True
        elif word.literal:
            _note(name, word, effects, top, ended=ended)
    if how := _shows(name, [word.text for word in words]):
        effects.trees += [FolderTree(path, git=how) for path in _limits(words, effects) or [top]]


def _note(name: str, word: Word, effects: Effects, top: str, *, ended: bool) -> None:
    text = word.text
    if not ended and text.startswith("-"):
        if text.startswith("-L") and ":" in text:
            effects.reads += [os.path.join(top, each) for each in _behind_colons(text)]
        return
    for cwd in effects.place.cwds:
        if ended or name in BLAMING or os.path.lexists(os.path.join(cwd, text)):
            effects.read(Word(text, word.source))
            break
    for each in _behind_colons(text):
        # In a revision a path begins at the top, unless it says `./`; as a separate path, in the shell's directory.
        effects.reads += [os.path.normpath(os.path.join(folder, each)) for folder in (top, *effects.place.cwds)]


def _behind_colons(text: str) -> Iterator[str]:
    """What may be a path in `HEAD:path`, `:0:path`, `:(top)path`, `:/path`: everything after a colon."""
    for found in re.finditer(":", text):
        rest = text[found.end() :]
        if magic := MAGIC.match(text) if found.start() == 0 else None:
            rest = text[magic.end() :]
        if rest.strip("/"):
            yield rest.lstrip("/")


def _limits(words: list[Word], effects: Effects) -> list[str]:
    """The plain paths behind a `--`, if there is nothing else there: what is shown is below them."""
    texts = [word.text for word in words]
    paths = texts[texts.index("--") + 1 :] if "--" in texts else []
    if not paths or not all(PLAIN.fullmatch(path) for path in paths):
        return []
    return [os.path.join(cwd, path) for path in paths for cwd in effects.place.cwds]


def _shows(name: str, texts: list[str]) -> str:
    """Whether contents of any tracked file may be shown: `index` of those there are, `history` of those there were."""
    options = [text for text in texts if text.startswith("-")]
    operands = texts[: texts.index("--")] if "--" in texts else texts
    operands = [text for text in operands if not text.startswith("-")]
    patched = any(map(PATCHES.fullmatch, options))
    if name == "status":
        return "index" if any(re.fullmatch(r"-[a-z]*v[a-z]*|--verbose", option) for option in options) else ""
    if any("%(raw" in text for text in texts):
        return "history"
    if name == "grep":
        return "history" if len(operands) > 1 or "--untracked" in options else "index"
    if name == "cat-file":
        tells = any(option in ("-t", "-s", "-e") or option.startswith("--batch-check") for option in options)
        return "" if tells or _all_named(operands) else "history"
    if name in SHOWING:
        summary = any(map(SUMMARIES.fullmatch, options)) and not patched
        if summary or _all_named(operands):
            return ""
        return "history" if operands or name != "diff" else "index"
    return "history" if name in QUIET and patched else ""


def _all_named(operands: list[str]) -> bool:
    """Whether each operand is a file of a revision, so that nothing else is shown."""
    return bool(operands) and all(map(NAMED.fullmatch, operands))
