"""Rules that do not do what their author thinks, found when they are loaded."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from pegboard import Notice, ToolInfo, resolve_path
from pegboard.hosting import RESERVED
from pegboard.permission import both_spellings
from pegboard.wording import did_you_mean
from pegboard_rules.grammar import Rule
from pegboard_rules.operators import operators
from pegboard_rules.path_index import PathIndex, names_of, start_of
from pegboard_rules.patterns import host_of, host_test, value_matches
from pegboard_rules.protected import ASK_BEFORE_CHANGE, FROM_REPOSITORY
from pegboard_rules.ruleset import RuleSet
from pegboard_rules.subjects import ANYTHING, CAPABILITIES, Subject
from pegboard_rules.volumes import Volume


def problems(rules: RuleSet, tools: Mapping[str, ToolInfo]) -> list[Notice]:
    """What is wrong with the rules: each notice names file and line. A rule that can never match is not used."""
    known = {*tools, *RESERVED, *CAPABILITIES}
    found = []
    for rule in rules.rules:
        if rule.began:
            continue
        info = tools.get(rule.tool)
        subject = Subject.of(info) if info and info.known else ANYTHING
        where = rule.source if rule.line is None else f"{rule.source}:{rule.line}"
        faults = _faults(rule, subject, known, rules)
        found += [Notice(where, f"{rule.kind} rule {rule.text}: {fault}") for fault in faults]
    return [*found, *_misplaced(rules)]


def _misplaced(rules: RuleSet) -> Iterator[Notice]:
    for layer in rules.settings.holders(ASK_BEFORE_CHANGE):
        if layer.name in FROM_REPOSITORY:
            words = f"{ASK_BEFORE_CHANGE} is not used: only user and managed settings may set it."
            yield Notice(layer.source_of(ASK_BEFORE_CHANGE), words)


def _faults(rule: Rule, subject: Subject, known: set[str], rules: RuleSet) -> Iterator[str]:
    if wrong := rule.fault_for(subject):
        yield wrong
        return
    if rule.tool not in known and not set("_*") & set(rule.tool):
        yield f"There is no tool {rule.tool!r}.{did_you_mean(rule.tool, known)}"
    inside = rule.specifier or ""
    is_path = rule.may_be_path and (rule.is_capability or (subject.guards_paths and subject is not ANYTHING))
    if is_path and subject.governed_by and not rule.param:
        yield f"It applies to {rule.tool} only. Write {subject.governed_by}({inside}) for every tool and what it finds."
    from_settings = is_path and inside.startswith("/") and not inside.startswith("//")
    if from_settings and rule.layer in ("user", "managed"):
        yield f"A leading / means {rule.anchor} here. Write /{inside} to start at the root of the file system."
    if subject.kind == "command" and rule.pattern is not None and not rule.is_exact and not rule.pipeline:
        if sign := next((sign for _, sign in operators(inside)), ""):
            yield f"It never matches: a rule covers one command, and {sign!r} joins two. Write a rule for each of them."
    elif subject.kind == "command" and rule.pipeline and rule.kind == "allow":
        yield "It never matches: each command of a pipeline needs an allow rule of its own."
    wanted, unwanted = rule.examples
    yield from (f"It should match {text!r} but does not." for text in wanted if not covers(rule, text, rules, subject))
    yield from (f"It should not match {text!r} but does." for text in unwanted if covers(rule, text, rules, subject))


def covers(rule: Rule, text: str, rules: RuleSet, subject: Subject = ANYTHING) -> bool:
    """Whether a single rule matches an example: a path, a command, a host or a value."""
    if rule.fault_for(subject):
        return False
    if rule.specifier is None:
        return True
    if rule.host and subject.takes_hosts:
        return bool(host_test(rule.host)(host_of(text)))
    if rule.pattern is not None and not rule.is_capability and subject.takes_texts and rule.pattern.matches(text):
        return True
    if rule.param and rule.is_about_parameter(subject) and value_matches(rule.param[1], text):
        return True
    is_used = subject.takes_paths if rule.kind == "allow" else subject.guards_paths
    return rule.may_be_path and (rule.is_capability or is_used) and _covers_path(rule, text, rules)


def _covers_path(rule: Rule, text: str, rules: RuleSet) -> bool:
    guards = rule.kind != "allow"
    index = PathIndex(rules.volume if guards else Volume())
    cwd = rules.settings.cwd
    base, names = start_of(rule, cwd, rules.home)
    index.add(rule, names, guards=guards)
    path = resolve_path(os.path.join(cwd, os.path.expanduser(text)))
    hits = [_hit(index, spelling, both_spellings(base or cwd)) for spelling in path.spellings]
    return any(hits) if guards else all(hits) and path.sound


def _hit(index: PathIndex, spelling: str, bases: tuple[str, ...]) -> bool:
    names, found = names_of(spelling), list[Rule]()
    for base in bases:
        count = len(names_of(base))
        if names[:count] == names_of(base):
            index.find([index.volume.fold(name) for name in names[count:]], found)
    return bool(found)
