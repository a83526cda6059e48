"""What is wrong with a row of the table of models, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pegboard.wording import did_you_mean, listed, shown
from pegboard_session.model_profile import FEATURES
from pegboard_session.prices import KINDS, LONG


def fault_of(row: object, name: str) -> str:
    """What is wrong with a row, as a sentence, or nothing."""
    if not isinstance(row, dict):
        return f"expected an object, got {shown(row)}."
    for key, value in row.items():
        if key not in FIELDS:
            return f"there is no field {key!r}.{did_you_mean(key, FIELDS)} The fields are {listed(FIELDS)}."
        if fault := FIELDS[key](key, value):
            return fault
    if row.get("aliases") and "*" in name:
        return "an alias must mean one model, so its name may not contain *."
    return ""


def _count(key: str, value: object) -> str:
    fits = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    return "" if fits else f"{key} must be a whole number of 1 or more, got {shown(value)}."


def _flag(key: str, value: object) -> str:
    return "" if isinstance(value, bool) else f"{key} must be true or false, got {shown(value)}."


def _names(key: str, value: object) -> str:
    fits = isinstance(value, list | tuple) and all(isinstance(item, str) and item for item in value)
    return "" if fits else f"{key} must be a list of names, got {shown(value)}."


def _words(key: str, value: object) -> str:
    fits = isinstance(value, dict) and all(isinstance(item, str) and item for item in value.values())
    return "" if fits else f"{key} must be an object with text for each tool, got {shown(value)}."


def _supports(key: str, value: object) -> str:
    if not isinstance(value, dict):
        return f"{key} must be an object with true or false for each feature, got {shown(value)}."
    for feature, is_there in value.items():
        if feature not in FEATURES:
            return f"{key}: there is no feature {feature!r}.{did_you_mean(feature, FEATURES)}"
        if fault := _flag(f"{key}.{feature}", is_there):
            return fault
    return ""


def _price(key: str, value: object) -> str:
    kinds = set(KINDS)
    if not isinstance(value, dict) or not kinds <= set(value) <= {*kinds, LONG}:
        return f"{key} must have {listed(KINDS)}, each per million tokens, got {shown(value)}."
    for kind in KINDS:
        if not _is_amount(value[kind]):
            return f"{key}.{kind} must be a number of 0 or more, got {shown(value[kind])}."
    long = value.get(LONG)
    if long is None:
        return ""
    if not isinstance(long, dict) or set(long) != {*kinds, "above"} or _count("above", long["above"]):
        return f"{key}.{LONG} must have above, a number of tokens, and {listed(KINDS)}, got {shown(long)}."
    return "" if all(_is_amount(long[kind]) for kind in KINDS) else f"{key}.{LONG} must have numbers of 0 or more."


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")


def _tools(key: str, value: object) -> str:
    if not isinstance(value, dict):
        return f"{key} must be an object with {listed(TOOL_FIELDS)}, got {shown(value)}."
    if stranger := next((name for name in value if name not in TOOL_FIELDS), ""):
        return f"{key}: there is no field {stranger!r}. The fields are {listed(TOOL_FIELDS)}."
    return _first_fault(key, value, TOOL_FIELDS)


Check = Callable[[str, Any], str]


def _first_fault(key: str, value: dict[str, Any], checks: Mapping[str, Check]) -> str:
    return next((fault for name, given in value.items() if (fault := checks[name](f"{key}.{name}", given))), "")


def _one_of(*choices: str) -> Check:
    def check(key: str, value: object) -> str:
        return "" if value in choices else f"{key} must be one of {', '.join(choices)}, got {shown(value)}."

    return check


def _object(key: str, value: object) -> str:
    return "" if isinstance(value, dict) else f"{key} must be an object, got {shown(value)}."


def _texts(key: str, value: object) -> str:
    fits = isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
    return "" if fits else f"{key} must be an object with string values, got {shown(value)}."


OPTION_FIELDS: dict[str, Check] = {
    "thinking": _one_of("adaptive", "budget", "off"),
    "thinkingBudget": _count,
    "thinkingDisplay": _one_of("summarized", "omitted"),
    "effort": _one_of("low", "medium", "high", "xhigh", "max"),
    "maxTokens": _count,
    "betas": _names,
    "contextManagement": _object,
    "speed": _one_of("standard", "fast"),
    "serviceTier": _one_of("auto", "standard_only"),
    "stopSequences": _names,
    "requestHeaders": _texts,
    "requestMetadata": _texts,
}
"""What a row may say about how its model is asked: the settings of the same names."""


def _options(key: str, value: Any) -> str:
    if fault := _object(key, value):
        return fault
    if stranger := next((name for name in value if name not in OPTION_FIELDS), ""):
        return f"{key}: there is no option {stranger!r}.{did_you_mean(stranger, OPTION_FIELDS)}"
    return _first_fault(key, value, OPTION_FIELDS)


TOOL_FIELDS: dict[str, Check] = {"hide": _names, "show": _names, "swap": _words, "reword": _words}
FIELDS: dict[str, Check] = {
    "window": _count,
    "maxOutput": _count,
    "supports": _supports,
    "price": _price,
    "aliases": _names,
    "bindsThinking": _flag,
    "tools": _tools,
    "options": _options,
}
