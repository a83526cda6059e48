"""What counts in the Markdown of a memory file: its imports outside code, its front matter, and no comments."""

from __future__ import annotations

import re

FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
IMPORT = re.compile(r"(?:^|(?<=[\s(]))@((?:[^\s\\]|\\ )+)")
LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
INDENTED = re.compile(r"(?: {4}| {0,3}\t)")
FRONT = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
LONGEST_FRONT = 16_000
TRAILING = ".,;:!?)\"'"


def without_comments(text: str) -> str:
    """The text without HTML comments that begin a line; those inside code blocks and sentences stay."""
    kept: list[str] = []
    fence, in_comment = "", False
    for line in text.split("\n"):
        if not in_comment:
            fence = _fence_after(fence, line)
            if fence or not line.lstrip().startswith("<!--"):
                kept.append(line)
                continue
        _, end, rest = line.partition("-->")
        in_comment = not end
        if rest.strip():
            kept.append(rest)
    return "\n".join(kept)


def imports_in(text: str) -> list[str]:
    """The paths after each `@` that begins a word outside code, in order. Not each of them need be a file."""
    found: list[str] = []
    fence, is_list, after_blank, in_code = "", False, True, False
    for line in text.split("\n"):
        was, fence = fence, _fence_after(fence, line)
        if was or fence:
            after_blank = False
            continue
        if not line.strip():
            after_blank = True
            continue
        indented = bool(INDENTED.match(line))
        in_code = indented and not is_list and (after_blank or in_code)
        if not indented:
            is_list = bool(LIST_ITEM.match(line))
        after_blank = False
        if not in_code:
            found += [word.replace("\\ ", " ") for word in IMPORT.findall(SPAN.sub("", line))]
    return list(dict.fromkeys(found))


def spellings(word: str) -> list[str]:
    """A path as it was written, then without the punctuation of a sentence around it."""
    return list(dict.fromkeys([word, word.rstrip(TRAILING)]))


def _fence_after(fence: str, line: str) -> str:
    """The fence of the code block that a line leaves open; empty outside one."""
    mark = FENCE.match(line)
    if not mark:
        return fence
    signs = mark[1]
    if not fence:
        return "" if signs[0] == "`" and "`" in line[mark.end() :] else signs
    closes = signs[0] == fence[0] and len(signs) >= len(fence) and not line[mark.end() :].strip()
    return "" if closes else fence


def split_front_matter(text: str) -> tuple[str, str]:
    """The YAML between two lines of dashes at the beginning, and the rest."""
    found = FRONT.match(text)
    return (found[1], text[found.end() :]) if found else ("", text)


def paths_of(front: str) -> list[str] | None:
    """The globs of `paths`; None if there are none. A `ValueError` says what is wrong."""
    if len(front) > LONGEST_FRONT:
        raise ValueError(f"the front matter is longer than {LONGEST_FRONT} characters")
    if not re.search(r"^paths\s*:", front, re.MULTILINE):
        return None
    import yaml  # 10 ms that sessions without such rules need not pay

    try:
        # A few lines of aliases stand for more than any memory holds.
        has_aliases = any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(front, yaml.SafeLoader))
        fields = None if has_aliases else yaml.safe_load(front)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        problem = getattr(error, "problem", None) or type(error).__name__
        raise ValueError(f"the front matter is not valid YAML ({problem}); quote globs that begin with *") from None
    if has_aliases:
        raise ValueError("the front matter has aliases, which are not supported; quote globs that begin with *")
    given = fields.get("paths") if isinstance(fields, dict) else None
    if given is None:
        return None
    if isinstance(given, str):
        from pegboard_ignore import split_list  # Few memory files have conditions.

        return split_list(given)
    if isinstance(given, list) and all(isinstance(item, str) for item in given):
        return given
    raise ValueError("paths must be a list of globs")
