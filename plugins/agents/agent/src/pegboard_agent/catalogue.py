"""All kinds of agents in a project: from plugins, the user's files and the project's files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from pegboard import Settings
from pegboard.permission import name_matches, split_rule
from pegboard.settings import FOLDERS, home
from pegboard_agent.frontmatter import Documentation, ParsedDefinition, read_definition
from pegboard_agent.kinds import ALIASES
from pegboard_agent.tool_choice import STARTERS
from pegboard_definitions import FaultError, markdown_files, plugin_folders, project_folders
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
    quiet: list[str] = field(default_factory=list)
    """What is read although it is not quite right, and what is no agent: no one has to do anything about it."""
    found: dict[str, ParsedDefinition] = field(default_factory=dict)

    def get(self, name: str) -> AgentDefinition | None:
        """The kind with this name or alias."""
        return self.kinds.get(name) or self.kinds.get(ALIASES.get(name, name))

    def add(self, found: ParsedDefinition) -> None:
        """Let a definition count before those of its name so far."""
        self.kinds[found.definition.name] = found.definition
        self.found[found.definition.name] = found

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
            made.add(found)
    for found in _of_plugins(settings, made):
        made.add(found)
    own = {*made.kinds, *ALIASES}
    for folder in project_folders(settings):
        if at_home and os.path.realpath(at_home) == os.path.realpath(folder):
            continue
        for found in _of_level(Path(folder), made, links=settings.trusted):
            if settings.trusted:
                made.add(found)
            elif found.definition.name in own:
                place = f"{found.definition.source}:{found.lines.get('name', 2)}"
                words = "is not used: an untrusted project cannot replace agents. Run pegboard trust."
                made.problems.append(f"{place}: {found.definition.name} {words}")
            else:
                made.add(replace(found, definition=_harmless(found, made)))
    return made


def listing(known: Catalogue) -> str:
    """The kinds, one per line."""
    kinds = sorted(known.kinds.items())
    lines = [f"- {name}: {' '.join(kind.description.split())[:LINE]}" for name, kind in kinds[:LISTED]]
    if len(kinds) > LISTED:
        lines.append(f"- and {len(kinds) - LISTED} more: {', '.join(name for name, _ in kinds[LISTED:])[:LINE]}")
    return "\n".join(["Kinds of agents for the tool Agent (subagent_type):", *lines])


def _of_plugins(settings: Settings, made: Catalogue) -> Iterator[ParsedDefinition]:
    """The agents of plugins on disk, under `plugin:name`. The person has chosen the plugins."""
    for plugin in plugin_folders(settings):
        for place in plugin.agents:
            for path in [Path(place)] if place.endswith(".md") else _files(Path(place), made, links=True):
                if found := _read(path, made):
                    name = f"{plugin.name}:{found.definition.name}"
                    yield replace(found, definition=replace(found.definition, name=name))


def _of_level(folder: Path, made: Catalogue, *, links: bool) -> Iterator[ParsedDefinition]:
    """The definitions below one folder, ours first; of two equal names the first counts."""
    seen: dict[str, str] = {}
    for name in FOLDERS:
        top = folder / name / "agents"
        if not links and (top.is_symlink() or top.parent.is_symlink()):
            made.problems.append(f"{top}:1: Symbolic links are not followed in an untrusted project.")
            continue
        for path in _files(top, made, links=links):
            if not links and path.is_symlink():
                made.problems.append(f"{path}:1: Symbolic links are not followed in an untrusted project.")
                continue
            found = _read(path, made)
            if found is None:
                continue
            kind = found.definition.name
            if kind in seen:
                line = found.lines.get("name", 2)
                made.problems.append(f"{path}:{line}: The agent {kind} is not used: {seen[kind]} already defines it.")
                continue
            seen[kind] = str(path)
            yield found


def _read(path: Path, made: Catalogue) -> ParsedDefinition | None:
    try:
        found = read_definition(path)
    except FaultError as fault:
        made.problems.append(str(fault))
        return None
    if isinstance(found, Documentation):
        made.quiet.append(found.remark)
        return None
    made.problems += found.remarks
    made.quiet += found.quiet
    return found


def _files(folder: Path, made: Catalogue, *, links: bool) -> list[Path]:
    files = list(islice(markdown_files(folder, links=links), MOST + 1))
    if len(files) > MOST:
        left = f"There are more than {MOST} definitions here; this one and the rest are not read."
        made.problems.append(f"{files[MOST]}:1: {left}")
    return files[:MOST]


def _harmless(found: ParsedDefinition, made: Catalogue) -> AgentDefinition:
    kind = found.definition
    set_by_it = (
        *(("model", kind.model), ("background", kind.background), ("effort", kind.effort)),
        *(("hooks", kind.hooks), ("mcpServers", kind.mcp_servers), ("memory", kind.memory)),
    )
    for key, is_set in set_by_it:
        if is_set:
            words = f"{key} is not used: an untrusted project cannot set it. To use it, run pegboard trust."
            made.problems.append(f"{kind.source}:{found.lines.get(key, 2)}: {words}")
    return replace(harmless(kind), model=None, background=False, effort="")


def harmless(kind: AgentDefinition) -> AgentDefinition:
    """A definition without what runs or reaches further than its agent."""
    return replace(kind, hooks={}, mcp_servers={}, memory="")


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
