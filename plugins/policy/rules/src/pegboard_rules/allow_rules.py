"""Whether allow rules cover all of a call. What no rule covers is left to the mode or a person."""

from __future__ import annotations

import re

from pegboard import Part, ResolvedPath
from pegboard_rules.grammar import Rule
from pegboard_rules.match_call import COMPOUND, CallView, Hit, hits_on
from pegboard_rules.subjects import EDIT, READ


def allowed(call: CallView) -> Hit | None:
    """The rule that allows a call, or None. Where several are needed, the last one is returned."""
    view, facts = call.view, call.facts
    # A path whose target is not known may be anything, so no rule can be said to cover it.
    if not all(path.sound for path in call.paths):
        return None
    if view.allow is not None:
        return view.allow, call.name
    if (hit := _spelled_out(call)) is not None:
        return hit
    if facts.parts:
        return _parts(call, facts.parts)
    if call.paths:
        return _files(call) if view.may_read or view.may_edit else None
    if view.allow_hosts is not None:
        return _hosts(call)
    if view.allow_texts is not None:
        texts = call.texts()
        return _parts(call, texts) if texts else None
    return None


OPERATORS = frozenset("&|;<>()`\n")


def _spelled_out(call: CallView) -> Hit | None:
    """The exact rule that is the very command: with its wrapper, its assignment or its `export`.

    Only for a single command. One that is compound or redirected needs rules for each part and for the files.
    """
    index = call.view.allow_texts
    if index is None or call.subject.kind != "command":
        return None
    text = (call.given() or {}).get(call.subject.parameter)
    text = text.strip(" ") if isinstance(text, str) else ""
    # Checked on the raw text, quotes or not: refusing too often only means that the person is asked.
    if not text or not OPERATORS.isdisjoint(text):
        return None
    found: list[Rule] = []
    index.find(text, found)
    exact = [rule for rule in found if rule.is_exact]
    return (min(exact, key=_order), text) if exact and _reaches_files(call, [(text, True)]) else None


def _files(call: CallView) -> Hit | None:
    """Allow a call that only touches files: each must be covered; reads in the working directory are."""
    facts = call.facts
    # A path rule says nothing about the network, nor about a change that the tool does not name.
    if facts.open_world or not (facts.read_only or facts.writes or facts.deletes):
        return None
    hit: Hit | None = None
    for path in call.paths:
        found = covering(call, path)
        # Reading inside the working directories needs no rule; everything else does.
        if found is None and (path.change or not call.is_inside(path)):
            return None
        hit = found or hit
    return hit


def covers_reading(call: CallView) -> bool:
    """Whether a call that only reads leaves the working directories only where an allow rule covers the path."""
    outside = [path for path in call.paths if not call.is_inside(path)]
    return bool(outside) and all(covering(call, path) is not None for path in outside)


def covering(call: CallView, path: ResolvedPath) -> Hit | None:
    """The allow rule that covers what the call does with a path; link and target must both be covered.

    Who may write a file may look at it: `Edit` rules cover the reading that comes with an edit.
    """
    if not path.sound or not (call.view.may_edit if path.change else call.view.may_read):
        return None
    capability, hit = EDIT if path.change else READ, None
    if (whole := call.rules.whole.get(("allow", capability))) is not None:
        return whole, path.spellings[-1]
    # A rule for the link alone would let a link lead to any file.
    for spelling in path.spellings:
        fitting = allows_of(spelling, capability, call)
        if not fitting:
            return None
        hit = (min(fitting, key=_order), spelling)
    return hit


def allows_of(spelling: str, capability: str, call: CallView) -> list[Rule]:
    """The allow rules for a capability, and those of the tool itself, that cover a path under one of its spellings."""
    rules, view, bases = call.rules, call.view, call.scope.allow_bases
    found = hits_on(spelling, rules.allow_root, rules.allow_cwd, bases)
    fitting = [rule for rule in found if rule.tool == capability]
    return fitting + hits_on(spelling, view.allow_root, view.allow_cwd, bases) if view.allows_paths else fitting


def _order(rule: Rule) -> int:
    return rule.order


def _parts(call: CallView, parts: tuple[Part, ...]) -> Hit | None:
    """Every part needs a rule, unless it only reads; and the rules must reach every file the call touches."""
    index = call.view.allow_texts
    if index is None:
        return None
    hit: Hit | None = None
    named: list[tuple[str, bool]] = []
    for part in parts:
        found: list[Rule] = []
        index.find(part.text, found)
        plain = bool(call.facts.parts) or call.subject.kind != "command" or COMPOUND.isdisjoint(part.text)
        # A prefix rule must not allow "ls; rm x": text that was not taken apart needs an exact rule.
        fitting = [rule for rule in found if rule.is_exact or (plain and not part.exact)]
        if fitting:
            hit = (min(fitting, key=_order), part.text)
            is_exact = any(rule.is_exact for rule in fitting)
            named.append((part.text if is_exact else _outside(part), is_exact))
        # One part without a rule is enough: the whole command runs, or none of it.
        elif not part.read_only:
            return None
    if hit is None or not _reaches_files(call, named):
        return None
    return hit


NESTED = ("$(", "`", "<(", ">(")
HIDDEN = "\0"
"""What stands for a substitution in a reading of a command."""


def _outside(part: Part) -> str:
    """A command without what is substituted in it: the files of a redirect in there are not files that it names."""
    if not any(sign in part.text for sign in NESTED):
        return part.text
    return next((text for text in part.also if HIDDEN in text), "")


def _reaches_files(call: CallView, named: list[tuple[str, bool]]) -> bool:
    """A rule covers the files that its command names. What a command is redirected into needs a rule of its own."""
    redirects = _redirects(call)
    for path in call.paths:
        by_name, inside = _named(path, named), call.is_inside(path)
        # A prefix rule must not let a command change files outside the working directories; an exact rule names them.
        by_command = by_name is not None and (inside or by_name[1] or not path.change)
        if path.change and redirects:  # `make log > log`: which of the two writes the file cannot be told by its name.
            by_command = False
        if not by_command and (path.change or not inside) and covering(call, path) is None:
            return False
    return True


REDIRECT = re.compile(r">(?!&[0-9-])(?!\s*/dev/(?:null|stdout|stderr|tty)(?![\w/]))")


def _redirects(call: CallView) -> bool:
    """Whether a command may write its output into a file. A sign in quotes counts too: it costs a question at most."""
    if call.subject.kind != "command":
        return False
    text = (call.given() or {}).get(call.subject.parameter)
    return isinstance(text, str) and bool(REDIRECT.search(text))


def _named(path: ResolvedPath, named: list[tuple[str, bool]]) -> tuple[str, bool] | None:
    name = path.spellings[0].rpartition("/")[2]
    found = [pair for pair in named if name and name in pair[0]]
    return max(found, key=lambda pair: pair[1]) if found else None


def _hosts(call: CallView) -> Hit | None:
    index, hit, hosts = call.view.allow_hosts, None, call.hosts()
    for host in hosts:
        found: list[Rule] = []
        if index is not None:
            index.find(host, found)
        if not found:
            return None
        hit = (min(found, key=_order), host)
    return hit
