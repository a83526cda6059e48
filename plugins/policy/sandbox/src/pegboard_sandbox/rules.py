"""What permission rules say that a sandbox can hold too: a program reads no rules, but it meets the sandbox."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from pegboard import Settings
from pegboard_rules.grammar import Rule
from pegboard_rules.path_index import DEEP, start_of
from pegboard_rules.patterns import literal, name_test
from pegboard_rules.ruleset import RuleSet


@dataclass(slots=True)
class FromRules:
    """Paths and hosts of rules. A rule for any depth counts at the top of the folder where it starts."""

    deny_read: list[str] = field(default_factory=list)
    deny_write: list[str] = field(default_factory=list)
    allow_write: list[str] = field(default_factory=list)
    allowed_domains: list[str] = field(default_factory=list)
    denied_domains: list[str] = field(default_factory=list)
    left_out: list[Rule] = field(default_factory=list)
    """Deny rules on paths that no mount can express."""


def from_rules(settings: Settings) -> FromRules:
    """The rules of these settings, as far as they can be expressed."""
    found = FromRules()
    for rule in RuleSet.of(settings).rules if _has_rules(settings) else ():
        if rule.wrong or rule.kind == "ask":
            continue
        if rule.host and rule.tool == "WebFetch":
            (found.allowed_domains if rule.kind == "allow" else found.denied_domains).append(rule.host)
        elif rule.is_capability and rule.may_be_path:
            _take(rule, settings, found)
    return found


def _has_rules(settings: Settings) -> bool:
    return any(settings.holders(key) for key in ("permissions.deny", "permissions.allow"))


def _take(rule: Rule, settings: Settings, found: FromRules) -> None:
    base, names = start_of(rule, settings.cwd, os.path.expanduser("~"))
    paths = _paths(base or settings.cwd, names, exact=rule.kind == "allow")
    if paths is None:
        if rule.kind == "deny":
            found.left_out.append(rule)
    elif rule.kind == "allow":
        if rule.tool == "Edit":
            found.allow_write += paths
    else:
        (found.deny_read if rule.tool == "Read" else found.deny_write).extend(paths)


def _paths(folder: str, names: list[str], *, exact: bool) -> list[str] | None:
    """The paths that a pattern covers, or None where that would take a search."""
    if names[-1:] == [DEEP]:
        names = names[:-1]
    if names[:1] == [DEEP] and not exact:
        names = names[1:]
    *parents, last = names or [""]
    plain = [literal(name) for name in parents]
    if None in plain or DEEP in names or not last:
        return None
    folder = os.path.join(folder, *(name for name in plain if name))
    whole = literal(last)
    if whole is not None:
        return [os.path.join(folder, whole)]
    if exact:
        return None
    try:
        test = name_test(last)
        return [os.path.join(folder, name) for name in os.listdir(folder) if test(name)]
    except OSError:
        return []
