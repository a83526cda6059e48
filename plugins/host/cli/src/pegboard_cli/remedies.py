"""What a person at the command line can do about a call that did not run. A model is told other things."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pegboard.hosting import CODES

if TYPE_CHECKING:
    from pegboard import Question

FOR_MODELS = CODES["permission_denied"]


def without_remedy(text: str) -> str:
    """What happened, without the advice to the model."""
    return text.removesuffix(FOR_MODELS).rstrip()


def what_to_do(question: Question, *, safety: bool) -> str:
    """The advice about a call that was not approved: `--yes`, or a rule."""
    if question.form:
        return "Only a person can answer it: call it on a terminal."
    if safety:
        return "Only a person may approve it: call it on a terminal."
    words = "Add --yes to approve this call."
    if question.rules:
        rules = json.dumps({"permissions": {"allow": list(question.rules)}}, ensure_ascii=False)
        words += f" To approve it from now on, add {rules} to ~/.pegboard/settings.json."
    return words
