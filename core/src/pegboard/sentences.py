"""A validation error as sentences that a model can act on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard.wording import LOOSE, counted, did_you_mean, shown

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

MOST = 5
WANTED = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "path": "a path",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "dict": "an object",
    "model": "an object",
}


def explain(tool: str, model: type[BaseModel], error: ValidationError) -> str:
    """Such as `Read: offset must be 1 or more, got 0. Read has no argument 'lines'; did you mean 'limit'?`."""
    faults = error.errors(include_url=False)
    sentences = list(dict.fromkeys(_sentence(tool, model, fault) for fault in faults))
    if len(sentences) > MOST:
        more = len(sentences) - MOST
        sentences[MOST:] = [f"There {'is' if more == 1 else 'are'} {counted(more, 'more error')}."]
    return f"{tool}: " + " ".join(sentences)


def _sentence(tool: str, model: type[BaseModel], fault: Any) -> str:
    kind, where = fault["type"], _where(fault["loc"])
    context = fault.get("ctx", {})
    got = f"got {shown(fault['input'])}"
    if kind == "missing":
        return f"{tool} needs the argument {where!r}."
    if kind == "extra_forbidden":
        names = [field.alias or name for name, field in model.model_fields.items()]
        hint = did_you_mean(str(fault["loc"][-1]), names, LOOSE) if len(fault["loc"]) == 1 else ""
        return f"{tool} has no argument {where!r}{hint.replace(' Did', '; did') or '.'}"
    if kind in ("literal_error", "enum"):
        return f"{where} must be {context['expected']}, {got}."
    if kind == "json_invalid":
        return f"The input is not valid JSON: {context['error']}."
    for bound, words in BOUNDS.items():
        if kind == bound:
            return f"{where} must be {words.format(**context)}, {got}."
    if kind in LENGTHS:
        words, limit, one = LENGTHS[kind]
        return f"{where} must have {words} {counted(context[limit], one)}, {got}."
    for prefix, words in WANTED.items():
        if kind in (f"{prefix}_type", f"{prefix}_parsing", f"{prefix}_from_float"):
            return f"{where} must be {words}, {got}."
    return f"{where}: {fault['msg']}, {got}."


BOUNDS = {
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than_equal": "{le} or less",
    "less_than": "less than {lt}",
}
LENGTHS = {
    "string_too_short": ("at least", "min_length", "character"),
    "string_too_long": ("at most", "max_length", "character"),
    "too_short": ("at least", "min_length", "item"),
    "too_long": ("at most", "max_length", "item"),
}


def _where(loc: tuple[int | str, ...]) -> str:
    text = ""
    for step in loc:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text if loc else "the input"
