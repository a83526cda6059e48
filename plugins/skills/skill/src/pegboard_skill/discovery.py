"""Find skills and commands: whose counts where two have one name, and what is wrong with those that do not."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pegboard import Settings
from pegboard.settings import MANAGED, home
from pegboard_definitions import markdown_files, plugin_folders, project_folders
from pegboard_skill.packages import package_folders
from pegboard_skill.skill_file import Skill
from pegboard_skill.skill_index import SkillIndex

SKILLS = (".pegboard/skills", ".claude/skills", ".agents/skills")
COMMANDS = (".pegboard/commands", ".claude/commands")
FILE = "SKILL.md"
MOST = 2_000
DEEPEST = 4
SKIPPED = frozenset({".git", "node_modules", "__pycache__"})
TOO_MANY = f"There are more than {MOST} in this folder; this one and the rest are not read."
NO_LINKS = "Symbolic links are not followed in an untrusted project."


@dataclass(frozen=True, slots=True)
class SkillLocation:
    """A folder with skills or commands, and what counts for all of them."""

    folder: str
    origin: str
    is_command: bool = False
    trusted: bool = True
    prefix: str = ""
    """What is put before each name: `plugin:`."""
    variables: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Catalogue:
    """The skills and commands by key, and what is wrong with files, as sentences that begin with file and line."""

    skills: dict[str, Skill] = field(default_factory=dict)
    commands: dict[str, Skill] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    quiet: list[str] = field(default_factory=list)

    def find(self, name: str) -> Skill | None:
        """The skill with this name, or else the command."""
        key = key_of(name.removeprefix("/"))
        return self.skills.get(key) or self.commands.get(key)

    def __iter__(self) -> Iterator[Skill]:
        yield from self.skills.values()
        yield from (command for key, command in self.commands.items() if key not in self.skills)


def key_of(name: str) -> str:
    """What two names that look alike have in common: case, blanks, dashes and underscores do not tell them apart."""
    return name.strip().casefold().replace("_", "-").replace(" ", "-")


def discover(settings: Settings, env: Mapping[str, str], visited: Iterable[str] = ()) -> Catalogue:
    """All skills and commands of a session. `visited` are folders below the working directory that were entered.

    A managed one counts before a person's own, that before a project's, that before a package's. A project that is not
    trusted replaces nothing.
    """
    made, index = Catalogue(), SkillIndex.of(env)
    at_home = home(env)
    folders = [folder for folder in project_folders(settings) if folder != at_home]
    folders += [folder for folder in visited if folder not in folders]
    own = [
        SkillLocation(os.path.join(MANAGED, "skills"), "managed"),
        SkillLocation(os.path.join(MANAGED, "commands"), "managed", True),
    ]
    own += _below([at_home] if at_home else [], "user", trusted=True)
    brought = [SkillLocation(folder, "package") for _dist, folder in package_folders(index)]
    for plugin in plugin_folders(settings):
        known = (("CLAUDE_PLUGIN_ROOT", plugin.root),)
        brought += [SkillLocation(folder, "plugin", False, True, f"{plugin.name}:", known) for folder in plugin.skills]
        brought += [SkillLocation(folder, "plugin", True, True, f"{plugin.name}:", known) for folder in plugin.commands]
    projects = _below(reversed(folders), "project", trusted=settings.trusted)
    # An untrusted project comes last: what it brings under a name in use is not used.
    order = [*own, *projects, *brought] if settings.trusted else [*own, *brought, *projects]
    for place in order:
        _add(place, made, index)
    index.save()
    return made


def _below(folders: Iterable[str], origin: str, *, trusted: bool) -> list[SkillLocation]:
    places: list[SkillLocation] = []
    for folder in folders:
        places += [SkillLocation(os.path.join(folder, name), origin, False, trusted) for name in SKILLS]
        places += [SkillLocation(os.path.join(folder, name), origin, True, trusted) for name in COMMANDS]
    return places


def _add(place: SkillLocation, made: Catalogue, index: SkillIndex) -> None:
    known = made.commands if place.is_command else made.skills
    files = _command_files(place, made) if place.is_command else _skill_files(place, made)
    for path, names in files:
        head = index.head(path, names[0], is_command=place.is_command)
        if isinstance(head, str):
            made.problems.append(head)
            continue
        made.quiet += head.quiet
        full = [f"{place.prefix}{name}" for name in (head.name, *names[1:])]
        for name in full:
            key = key_of(name)
            if key in known:
                if name == full[0] and known[key].path != path:
                    made.quiet.append(f"{path}:1: {name} is not used: {known[key].path} takes precedence.")
                continue
            known[key] = Skill(name, head, path, place.origin, place.is_command, place.trusted, place.variables)


def _skill_files(place: SkillLocation, made: Catalogue) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The files of skills, each with the name of its folder."""
    alone = os.path.join(place.folder, FILE)
    if not place.trusted and (_leads_away(place.folder) or os.path.islink(alone)):
        made.problems.append(f"{place.folder}:1: {NO_LINKS}")
        return
    if os.path.isfile(alone):  # A plugin may name the folder of one skill.
        yield alone, (os.path.basename(place.folder),)
        return
    for number, path in enumerate(_walk(place.folder, 1, place, made)):
        if number >= MOST:
            made.problems.append(f"{path}:1: {TOO_MANY}")
            return
        yield path, (os.path.basename(os.path.dirname(path)),)


def _walk(folder: str, depth: int, place: SkillLocation, made: Catalogue) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in found:
        if entry.name.startswith(".") or entry.name in SKIPPED or not entry.is_dir():
            continue
        path = os.path.join(entry.path, FILE)
        if not place.trusted and (entry.is_symlink() or os.path.islink(path)):
            made.problems.append(f"{entry.path}:1: {NO_LINKS}")
        elif os.path.lexists(path):
            yield path
        elif depth < DEEPEST and not entry.is_symlink():  # A link could lead back: cycles.
            yield from _walk(entry.path, depth + 1, place, made)


def _command_files(place: SkillLocation, made: Catalogue) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The files of commands, each with its names: that of the file, and with its folders before it."""
    if place.folder.endswith(".md"):
        yield place.folder, (Path(place.folder).stem,)
        return
    if not place.trusted and _leads_away(place.folder):
        made.problems.append(f"{place.folder}:1: {NO_LINKS}")
        return
    for number, path in enumerate(markdown_files(Path(place.folder), links=place.trusted)):
        if number >= MOST:
            made.problems.append(f"{path}:1: {TOO_MANY}")
            return
        if not place.trusted and path.is_symlink():
            made.problems.append(f"{path}:1: {NO_LINKS}")
            continue
        folders = path.parent.relative_to(place.folder).parts
        yield str(path), (path.stem, ":".join((*folders, path.stem))) if folders else (path.stem,)


def _leads_away(folder: str) -> bool:
    """Whether the folder, or the one that holds it, is a link."""
    return os.path.islink(folder) or os.path.islink(os.path.dirname(folder))
