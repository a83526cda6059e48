"""All kinds of agents in a project: from plugins, the user's files and the project's files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pegboard import Settings
from pegboard.permission import name_matches, split_rule
from pegboard.settings import FOLDERS, home
from pegboard_agent.frontmatter import FaultError, ParsedDefinition, read_definition
from pegboard_agent.tool_choice import STARTERS
from pegboard_session import AgentDefinition

MOST = 500
"""How many files of one folder are read."""
LISTED = 40
LINE = 300
"""How many kinds, and how many characters of each description, the model reads before it chooses."""


@dataclass(slots=True)
class Catalogue:
    """The kinds by name, and what is wrong with files, as sentences that begin with file and line."""

    kinds: dict[str, AgentDefinition] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    found: dict[str, ParsedDefinition] = field(default_factory=dict)

    def check(self, known: set[str]) -> Iterator[str]:
        """Problems across definitions: unknown tools, and agents that start each other in a cycle."""
        for name, found in sorted(self.found.items()):
            kind = found.definition
            for key, words in (("tools", kind.tools or ()), ("disallowedTools", kind.disallowed_tools)):
                for word in words:
                    if reason := _unknown(word, known):
                        yield f"{kind.source}:{found.lines.get(key, 2)}: {key} of {name}: {reason}"
        for circle in self._circles():
            first = self.found[circle[0]]
            path = " → ".join((*circle, circle[0]))
            place = f"{first.definition.source}:{first.lines.get('tools', 2)}"
            yield f"{place}: These agents start each other in a cycle: {path}. Only the depth limit would stop it."

    def _circles(self) -> Iterator[tuple[str, ...]]:
        """Cycles of `Agent(kind)` entries: the shortest through each agent that is in no earlier one."""
        edges = {name: sorted(_starts(found.definition) & self.found.keys()) for name, found in self.found.items()}
        shown: set[str] = set()
        for start in sorted(edges):
            if start not in shown and (circle := _way_back(start, edges)):
                shown.update(circle)
                yield circle


def _way_back(start: str, edges: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The shortest path from an agent back to itself, if any."""
    ways, seen = list[tuple[str, ...]]([(start,)]), {start}
    for way in ways:
        for target in edges[way[-1]]:
            if target == start:
                return way
            if target not in seen:
                seen.add(target)
                ways.append((*way, target))
    return ()


def catalogue(
    settings: Settings, registered: Mapping[str, AgentDefinition], env: Mapping[str, str] | None = None
) -> Catalogue:
    """What a call may name. A project's file beats a user's file beats a plugin's definition, if it is trusted.

    An untrusted project may add agents: they are prompts that run with no more rights than the model has. It
    may not take over a name that is in use, choose a model, or put an agent in the background.
    """
    made = Catalogue(dict(registered))
    env = os.environ if env is None else env
    at_home = home(env)
    if at_home:
        for found in _of_level(Path(at_home), made, links=True):
            made.kinds[found.definition.name] = found.definition
            made.found[found.definition.name] = found
    if at_home and os.path.realpath(at_home) == os.path.realpath(settings.root):
        return made
    for found in _of_level(Path(settings.root), made, links=settings.trusted):
        kind = found.definition
        if not settings.trusted:
            if kind.name in made.kinds:
                place = f"{kind.source}:{found.lines.get('name', 2)}"
                words = f"{kind.name} is not used: an untrusted project cannot replace agents. Run pegboard trust."
                made.problems.append(f"{place}: {words}")
                continue
            found = replace(found, definition=_harmless(found, made))
        made.kinds[kind.name] = found.definition
        made.found[kind.name] = found
    return made


def listing(known: Catalogue) -> str:
    """The kinds, one per line."""
    kinds = sorted(known.kinds.items())
    lines = [f"- {name}: {' '.join(kind.description.split())[:LINE]}" for name, kind in kinds[:LISTED]]
    if len(kinds) > LISTED:
        lines.append(f"- and {len(kinds) - LISTED} more: {', '.join(name for name, _ in kinds[LISTED:])[:LINE]}")
    return "\n".join(["Kinds of agents for the tool Agent (subagent_type):", *lines])


def _of_level(folder: Path, made: Catalogue, *, links: bool) -> Iterator[ParsedDefinition]:
    """The definitions below one folder, ours first; of two equal names the first counts."""
    seen: dict[str, str] = {}
    for name in FOLDERS:
        for path in _files(folder / name / "agents", made):
            if not links and (path.is_symlink() or path.parent.is_symlink() or path.parent.parent.is_symlink()):
                made.problems.append(f"{path}:1: Symbolic links are not followed in an untrusted project.")
                continue
            try:
                found = read_definition(path)
            except FaultError as fault:
                made.problems.append(str(fault))
                continue
            made.problems += found.remarks
            kind = found.definition.name
            if kind in seen:
                line = found.lines.get("name", 2)
                made.problems.append(f"{path}:{line}: The agent {kind} is not used: {seen[kind]} already defines it.")
                continue
            seen[kind] = str(path)
            yield found


def _files(folder: Path, made: Catalogue) -> list[Path]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".md") and not name.startswith("."))
    except OSError:
        return []
    if len(names) > MOST:
        left = f"This folder has {len(names)} definitions; those after the first {MOST} by name are not read."
        made.problems.append(f"{folder / names[MOST]}:1: {left}")
    return [folder / name for name in names[:MOST]]


def _harmless(found: ParsedDefinition, made: Catalogue) -> AgentDefinition:
    kind = found.definition
    for key, is_set in (("model", kind.model), ("background", kind.background)):
        if is_set:
            words = f"{key} is not used: an untrusted project cannot set it. To use it, run pegboard trust."
            made.problems.append(f"{kind.source}:{found.lines.get(key, 2)}: {words}")
    return replace(kind, model=None, background=False)


def _starts(kind: AgentDefinition) -> set[str]:
    parsed = [split_rule(word) for word in kind.tools or ()]
    inside = [found[1] for found in parsed if found and found[0] in STARTERS and found[1]]
    return {name.strip() for one in inside for name in (one or "").split(",")}


def _unknown(word: str, known: set[str]) -> str:
    parsed = split_rule(word)
    if parsed is None or (parsed[1] is not None and parsed[0] not in STARTERS):
        return f"{word!r} is not the name of a tool. To restrict what a tool may do, use permission rules."
    name = parsed[0]
    if name.startswith("mcp__") or any(name_matches(name, tool) for tool in known):
        return ""
    return f"there is no tool {name!r}."
