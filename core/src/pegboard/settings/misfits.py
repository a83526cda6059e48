"""What is wrong with the value of a setting, in words."""

from __future__ import annotations

from pegboard.settings.keys import KEYS, MODES
from pegboard.wording import shown


def misfit(name: str, value: object) -> str | None:
    """What is wrong with a value, in words, or None."""
    kind = KEYS[name].kind
    if kind == "bool" and not isinstance(value, bool):
        return f"{name} must be true or false, got {shown(value)}."
    if kind == "strings":
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            return f"{name} must be a list of strings, got {shown(value)}."
        if KEYS[name].merge == "intersect" and not value:
            return f"{name} is empty, so nothing would be left. Name at least one family, or remove {name}."
    if kind == "count" and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        return f"{name} must be a whole number of 1 or more, got {shown(value)}."
    if kind == "amount" and _number(value) <= 0:
        return f"{name} must be a number above 0, got {shown(value)}."
    if kind == "prices":
        return _misfit_prices(name, value)
    if kind == "string" and not (isinstance(value, str) and value):
        return f"{name} must be text, got {shown(value)}."
    if "|" in kind and value not in kind.split("|"):
        return f"{name} must be one of {', '.join(kind.split('|'))}, got {shown(value)}."
    if kind == "seconds" and not (
        isinstance(value, dict) and all(type(item) in (int, float) and item > 0 for item in value.values())
    ):
        return f"{name} must be an object with numbers of seconds above 0, got {shown(value)}."
    if kind == "map" and not (isinstance(value, dict) and all(isinstance(item, str) for item in value.values())):
        return f"{name} must be an object with string values, got {shown(value)}."
    if kind == "hooks" and not (isinstance(value, dict) and all(isinstance(item, list) for item in value.values())):
        return f'{name} must be an object with a list of {{"matcher", "hooks"}} for each event, got {shown(value)}.'
    if kind == "rules":
        return _misfit_rules(name, value)
    if kind == "mode" and value not in MODES:
        return f"{name} must be one of {', '.join(MODES)}, got {shown(value)}."
    if kind == "disable" and value != "disable":
        return f'{name} must be "disable" or be left out, got {shown(value)}.'
    return None


PRICE_FIELDS = ("input", "output", "cacheRead", "cacheWrite")


def _number(value: object) -> float:
    """A number as it is; -1 for anything else, infinity included, because no amount is below 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value - value != 0:
        return -1
    return value


def _misfit_prices(name: str, value: object) -> str | None:
    if not isinstance(value, dict):
        return f"{name} must be an object with the prices of each model, got {shown(value)}."
    for model, prices in value.items():
        if not isinstance(prices, dict) or set(prices) != set(PRICE_FIELDS):
            return f"{name}: {model} must have {', '.join(PRICE_FIELDS)} and nothing else, got {shown(prices)}."
        for field, number in prices.items():
            if _number(number) < 0:
                return f"{name}: {field} of {model} must be a number of 0 or more, got {shown(number)}."
    return None


RULE_FIELDS = ("rule", "match", "not_match")


def _misfit_rules(name: str, value: object) -> str | None:
    if not isinstance(value, list):
        return f"{name} must be a list of rules, got {shown(value)}."
    for item in value:
        if isinstance(item, str):
            continue
        if not isinstance(item, dict) or not isinstance(item.get("rule"), str):
            return f'{name} must hold rules: text, or objects with "rule", "match" and "not_match", got {shown(item)}.'
        if unknown := [field for field in item if field not in RULE_FIELDS]:
            return f"{name}: a rule has no field {unknown[0]!r}. It may have {', '.join(RULE_FIELDS)}."
        for field in RULE_FIELDS[1:]:
            examples = item.get(field, [])
            if not isinstance(examples, list) or not all(isinstance(example, str) for example in examples):
                return f"{name}: {field} must be a list of strings, got {shown(examples)}."
    return None
