"""Rules that do not do what their author thinks, found when they are loaded."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator

from pegboard.nearest import did_you_mean
from pegboard.permission.compiled import Compiled
from pegboard.permission.grammar import CAPABILITIES, Rule
from pegboard.permission.pathindex import PathIndex, both_spellings, names_of, place
from pegboard.permission.paths import Volume, resolve
from pegboard.permission.patterns import host_of, host_test, value_matches
from pegboard.plugins.builtin import RESERVED
from pegboard.settings.layers import Notice


def problems(rules: Compiled, known_tools: Collection[str]) -> list[Notice]:
    """What is wrong with the rules: each notice names file and line. A rule that can never match is not used."""
    known = {*known_tools, *RESERVED, *CAPABILITIES}
    found = []
    for rule in rules.rules:
        where = rule.source if rule.line is None else f"{rule.source}:{rule.line}"
        found += [Notice(where, f"{rule.kind} rule {rule.text}: {fault}") for fault in _faults(rule, known, rules)]
    return found


def _faults(rule: Rule, known: set[str], rules: Compiled) -> Iterator[str]:
    if rule.wrong:
        yield rule.wrong
        return
    if rule.tool not in known and not set("_*") & set(rule.tool):
        yield f"There is no tool {rule.tool!r}.{did_you_mean(rule.tool, known)}"
    inside = rule.specifier or ""
    from_settings = rule.is_path_rule and inside.startswith("/") and not inside.startswith("//")
    if from_settings and rule.layer in ("user", "managed"):
        yield f"/ stands for {rule.anchor} here. Write /{inside} to start at the root of the file system."
    wanted, unwanted = rule.examples
    yield from (f"It should cover {text!r} and does not." for text in wanted if not covers(rule, text, rules))
    yield from (f"It should not cover {text!r} and does." for text in unwanted if covers(rule, text, rules))


def covers(rule: Rule, text: str, rules: Compiled) -> bool:
    """Whether a rule on its own covers an example: a path, a command, a host or a value, as in parentheses."""
    if rule.wrong:
        return False
    if rule.specifier is None:
        return True
    if rule.is_host_rule and rule.param:
        return bool(host_test(rule.param[1])(host_of(text)))
    if rule.pattern is not None and rule.tool not in CAPABILITIES and rule.pattern.matches(text):
        return True
    if rule.param and rule.kind != "allow" and value_matches(rule.param[1], text):
        return True
    return rule.is_path_rule and _covers_path(rule, text, rules)


def _covers_path(rule: Rule, text: str, rules: Compiled) -> bool:
    guards = rule.kind != "allow"
    index = PathIndex(rules.volume if guards else Volume())
    cwd = rules.settings.cwd
    base, names = place(rule, cwd, rules.home)
    index.add(rule, names, guards=guards)
    path = resolve(os.path.join(cwd, os.path.expanduser(text)))
    hits = [_hit(index, spelling, both_spellings(base or cwd)) for spelling in path.spellings]
    return any(hits) if guards else all(hits) and path.sound


def _hit(index: PathIndex, spelling: str, bases: tuple[str, ...]) -> bool:
    names, found = names_of(spelling), list[Rule]()
    for base in bases:
        count = len(names_of(base))
        if names[:count] == names_of(base):
            index.find([index.volume.fold(name) for name in names[count:]], found)
    return bool(found)
