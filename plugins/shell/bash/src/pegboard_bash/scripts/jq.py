"""jq and yq: filters that only look at their input."""

from __future__ import annotations

import re

from pegboard_bash.effects import Effects
from pegboard_bash.words import Word

REACHING = re.compile(
    r"\$ENV|\$__prog|(?<![\w.])(env|input_filename|import|include|modulemeta|get_search_list|input_line_number)\b"
    r"|\.\.\s*env\b"
)
YQ_PLAIN = re.compile(r"[.\w\[\]\"' *|-]*")
YQ_NAMES = re.compile(r"\b(load\w*|env\w*|strenv|envsubst|eval|input\w*|filename|split_doc|system|include|import)\b")


def check_jq(words: list[Word], effects: Effects) -> None:
    """A filter that reads neither the environment nor other files."""
    for word in words:
        if REACHING.search(word.text):
            effects.refuse("The jq filter may read the environment or other files.")


def check_yq(words: list[Word], effects: Effects) -> None:
    """A plain path; the two programs called yq have functions that read files and variables."""
    for word in words:
        if not word.text.startswith("-") and not word.text.startswith("/") and YQ_NAMES.search(word.text):
            effects.refuse("The yq expression may read the environment or other files.")
    filters = [word for word in words if not word.text.startswith("-")]
    if filters and not YQ_PLAIN.fullmatch(filters[0].text):
        effects.refuse("The yq expression is more than a path.")
