"""Whether allow rules cover a call: all of it, or nothing. What no rule covers is left to the mode or a person."""

from __future__ import annotations

from pegboard.contract import Part
from pegboard.permission.grammar import CAPABILITIES, COMMANDS, Rule
from pegboard.permission.matcher import COMPOUND, Case, Hit, hits_on, hosts_of
from pegboard.permission.paths import Resolved


def allowed(case: Case) -> Hit | None:
    """The rule that allows a call, or None. Where several were needed, the last one is named."""
    view, facts = case.view, case.facts
    if not all(path.sound for path in case.paths):
        return None
    if view.allow is not None:
        return view.allow, case.name
    if facts.parts:
        return _parts(case, facts.parts)
    if case.paths:
        return _files(case) if view.may_read or view.may_edit else None
    if view.allow_hosts is not None:
        return _hosts(case)
    if view.allow_texts is not None:
        texts = case.texts()
        return _parts(case, texts) if texts else None
    return None


def _files(case: Case) -> Hit | None:
    """A call that is about files and nothing else: each must be covered, reads in the working directory are."""
    facts = case.facts
    if facts.open_world or not (facts.read_only or facts.writes or facts.deletes):
        return None
    hit: Hit | None = None
    for path in case.paths:
        found = covering(case, path)
        if found is None and (path.change or not case.is_inside(path)):
            return None
        hit = found or hit
    return hit


def covering(case: Case, path: Resolved) -> Hit | None:
    """The allow rule that covers what the call does with a path; link and target must both be covered.

    Who may write a file may look at it: `Edit` rules cover the reading that comes with an edit.
    """
    rules, hit = case.rules, None
    if not path.sound or not (case.view.may_edit if path.change else case.view.may_read):
        return None
    tool = "Edit" if path.change else "Read"
    if (whole := rules.whole.get(("allow", tool))) is not None:
        return whole, path.spellings[-1]
    for spelling in path.spellings:
        found = hits_on(spelling, rules.allow_root, rules.allow_cwd, case.place.allow_bases)
        fitting = [rule for rule in found if rule.tool == tool or _speaks_of(rule, case)]
        if not fitting:
            return None
        hit = (min(fitting, key=_order), spelling)
    return hit


def _speaks_of(rule: Rule, case: Case) -> bool:
    """Whether a path rule is written for this very tool rather than for reading or editing at large."""
    return rule.tool not in CAPABILITIES and rule.tool in case.view.names


def _order(rule: Rule) -> int:
    return rule.order


def _parts(case: Case, parts: tuple[Part, ...]) -> Hit | None:
    """Every part needs a rule, unless it only reads; and the rules must reach every file the call touches."""
    index = case.view.allow_texts
    if index is None:
        return None
    hit: Hit | None = None
    named: list[tuple[str, bool]] = []
    for part in parts:
        found: list[Rule] = []
        index.find(part.text, found)
        plain = bool(case.facts.parts) or case.name not in COMMANDS or COMPOUND.isdisjoint(part.text)
        fitting = [rule for rule in found if rule.is_exact or (plain and not part.exact)]
        if fitting:
            hit = (min(fitting, key=_order), part.text)
            named.append((part.text, any(rule.is_exact for rule in fitting)))
        elif not part.read_only:
            return None
    if hit is None or not _reaches_files(case, named):
        return None
    return hit


def _reaches_files(case: Case, named: list[tuple[str, bool]]) -> bool:
    """A rule covers the files that its command names. What a command is redirected into needs a rule of its own."""
    for path in case.paths:
        by_name, inside = _named(path, named), case.is_inside(path)
        by_command = by_name is not None and (inside or by_name[1] or not path.change)
        if not by_command and (path.change or not inside) and covering(case, path) is None:
            return False
    return True


def _named(path: Resolved, named: list[tuple[str, bool]]) -> tuple[str, bool] | None:
    name = path.spellings[0].rpartition("/")[2]
    found = [pair for pair in named if name and name in pair[0]]
    return max(found, key=lambda pair: pair[1]) if found else None


def _hosts(case: Case) -> Hit | None:
    index, hit, hosts = case.view.allow_hosts, None, hosts_of(case)
    for host in hosts:
        found: list[Rule] = []
        if index is not None:
            index.find(host, found)
        if not found:
            return None
        hit = (min(found, key=_order), host)
    return hit
