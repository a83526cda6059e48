"""Choose the server for a file, and say what starting it would mean."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from pegboard import Context, ToolError
from pegboard_ignore import Scope, walk
from pegboard_lsp.programs import find_program, is_inside
from pegboard_lsp.server_config import FoundServers, ServerConfig

LOOK_SECONDS = 0.5
MOST_FILES = 20_000


@dataclass(frozen=True)
class Chosen:
    """A server with its program, for one folder."""

    config: ServerConfig
    argv: tuple[str, ...]
    root: str
    asks: str = ""
    """Why a person has to agree before it is started, as a sentence; empty where it may be started."""

    @property
    def key(self) -> tuple[str, str, tuple[str, ...]]:
        """What tells running servers apart."""
        return self.config.name, self.root, self.argv


def absolute(path: Path, ctx: Context) -> str:
    """The absolute path of a file as it is named."""
    return os.path.normpath(ctx.resolve(path))


def root_for(path: str, ctx: Context) -> str:
    """The folder that a server is started in: the working directory that contains the file, or the project's root."""
    places = [os.path.normpath(place) for place in (ctx.cwd, *ctx.roots)]
    project = os.path.normpath(ctx.settings.root)
    if places[0] == project or places[0].startswith(f"{project}/"):
        places.insert(0, project)
    return next((place for place in places if path == place or path.startswith(f"{place.rstrip('/')}/")), places[0])


def choose(found: FoundServers, path: str, ctx: Context, *, diagnostics: bool = False) -> Chosen:
    """The server for a file; a `ToolError` says how to install one, or which files are covered."""
    extension = os.path.splitext(path)[1].lower()
    fitting = [config for config in found.servers if extension in config.languages]
    if not fitting:
        raise _unknown(extension, found)
    wanted = fitting if diagnostics else [config for config in fitting if not config.lint_only]
    root = root_for(path, ctx)
    chosen = [one for config in wanted if (one := _chosen(config, os.path.dirname(path), root, ctx))]
    if not chosen:
        raise _missing(extension, wanted or fitting, found)
    # A person's own entry is taken as it is; of the others, one that may start without asking comes first.
    return chosen[0] if chosen[0].config.source else next((one for one in chosen if not one.asks), chosen[0])


def choose_for_project(found: FoundServers, ctx: Context) -> Chosen:
    """The server for the language that most files of the project are written in."""
    root = os.path.normpath(ctx.cwd)
    known = {extension for config in found.servers for extension in config.languages}
    counts: Counter[str] = Counter()
    last: dict[str, str] = {}
    for folder in walk(Scope.of(root, project=ctx.settings.root), deadline=time.monotonic() + LOOK_SECONDS):
        for name in folder.names:
            extension = os.path.splitext(name)[1].lower()
            if extension in known:
                counts[extension] += 1
                last[extension] = os.path.join(folder.path, name)
        if counts.total() > MOST_FILES:
            break
    problem: ToolError | None = None
    for extension, _ in counts.most_common():
        try:
            return choose(found, last[extension], ctx)
        except ToolError as error:
            problem = problem or error
    raise problem or ToolError(
        f"{root} has no file of a language with a known server. Pass file_path.", code="unsupported"
    )


def _chosen(config: ServerConfig, folder: str, root: str, ctx: Context) -> Chosen | None:
    program = find_program(config.command[0], folder, root, ctx)
    if program is None:
        return None
    argv = (program, *config.command[1:])
    asks = ""
    if is_inside(program, ctx) or any(is_inside(path, ctx) for path in _files_in(argv, root)):
        asks = f"It would start the language server {' '.join(argv)}, a program in the working directory."
    elif config.from_project:
        asks = f"It would start the language server {' '.join(argv)}, which {config.source} names."
    elif config.runs_project and not ctx.settings.trusted:
        asks = f"It would start {config.name}, which runs {config.runs_project}. The project is not trusted."
    return Chosen(config, argv, root, asks)


def _files_in(argv: tuple[str, ...], root: str) -> list[str]:
    """The arguments that are files, such as the script that an interpreter runs."""
    paths = (os.path.normpath(os.path.join(root, word.rpartition("=")[2])) for word in argv[1:])
    return [path for path in paths if os.path.isfile(path)]


def _unknown(extension: str, found: FoundServers) -> ToolError:
    covered = sorted({one for config in found.servers for one in config.languages})
    files = f"files that end in {extension}" if extension else "files without an extension"
    return ToolError(
        f"No language server is known for {files}. There are servers for {', '.join(covered)}. Use Grep, or ask the "
        "user to add one to the setting lsp.servers." + _ignored(found),
        code="unsupported",
    )


def _missing(extension: str, wanted: list[ServerConfig], found: FoundServers) -> ToolError:
    ways = [f"{one.name} ({one.install})" if one.install else f"{one.name}, which {one.source} names" for one in wanted]
    return ToolError(
        f"No language server for {extension} files is installed. Ask the user to install {' or '.join(ways)}. "
        "Until then, use Grep." + _ignored(found),
        code="unsupported",
    )


def _ignored(found: FoundServers) -> str:
    """Entries that a person wrote and that do not count."""
    return "".join(f" {notice.source}: {notice.message}" for notice in found.notices[:3])
