"""Protected paths: files that run code or set policy, and critical paths that must not be deleted."""

from __future__ import annotations

import os

from pegboard import ResolvedPath, Settings
from pegboard.permission import both_spellings
from pegboard.settings import MANAGED, baked_file, cache_dir, state_dir
from pegboard_rules.path_index import names_of
from pegboard_rules.volumes import folded

FOLDERS = frozenset(
    {
        *(".pegboard", ".git", ".vscode", ".idea", ".husky", ".cargo", ".devcontainer", ".yarn", ".mvn"),
        *(".claude", ".cursor", ".gemini", ".codex"),
    }
)
FOLDERS_IN = frozenset({(".config", "git"), (".github", "workflows")})
OPEN_INSIDE = {".pegboard": "worktrees", ".claude": "worktrees"}
"""Work folders inside a protected folder; files protected by name remain protected there."""

FILES = frozenset(
    {
        ".bash_aliases",
        ".bash_login",
        ".bash_logout",
        ".bash_profile",
        ".bashrc",
        ".bazeliskrc",
        ".bazelrc",
        ".bazelversion",
        ".bunfig.toml",
        ".claude.json",
        ".devcontainer.json",
        ".envrc",
        ".gitattributes",
        ".gitconfig",
        ".gitmodules",
        ".ignore",
        ".lefthook.yaml",
        ".lefthook.yml",
        ".mcp.json",
        ".npmrc",
        ".pegboardignore",
        ".pnp.cjs",
        ".pnp.loader.mjs",
        ".pnpmfile.cjs",
        ".pre-commit-config.yaml",
        ".profile",
        ".rgignore",
        ".ripgreprc",
        ".yarnrc",
        ".yarnrc.yml",
        ".zlogin",
        ".zlogout",
        ".zprofile",
        ".zshenv",
        ".zshrc",
        "bunfig.toml",
        "conftest.py",
        "gradle-wrapper.properties",
        "lefthook.yaml",
        "lefthook.yml",
        "makefile",
        "maven-wrapper.properties",
        "package.json",
        "pyrightconfig.json",
        "sitecustomize.py",
        "usercustomize.py",
    }
)
"""Compared without regard to case. For those that are in BUILD_FILES too, a setting decides."""

ASK_BEFORE_CHANGE = "permissions.askBeforeChange"
BUILD_FILES = frozenset({"makefile", "gnumakefile", "justfile", ".justfile", "package.json", "conftest.py"})
BUILD_FOLDERS_IN = frozenset({(".github", "workflows")})
"""What decides how a project is built and tested. These are protected because of a setting's default."""

ENDINGS = (".code-workspace", ".pth")
PERSONAL_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".kube", ".docker", ".hg", ".vim", ".emacs.d"})
PERSONAL_FOLDERS_IN = frozenset(
    {
        *((".config", name) for name in ("fish", "nvim", "systemd", "autostart", "environment.d", "direnv", "mise")),
        ("systemd", "user"),
        (".local", "bin"),
    }
)
PERSONAL_FILES = frozenset(
    {
        *(
            ".bash_completion",
            ".cshrc",
            ".tcshrc",
            ".login",
            ".logout",
            ".kshrc",
            ".mkshrc",
            ".inputrc",
            ".zsh_aliases",
        ),
        *(".vimrc", ".gvimrc", ".exrc", ".nvimrc", ".emacs", ".screenrc", ".tmux.conf"),
        *(".xinitrc", ".xprofile", ".xsession", ".xsessionrc", ".xserverrc", ".pam_environment"),
        *(".gdbinit", ".lldbinit", ".pdbrc", ".pythonrc", ".irbrc", ".pryrc", ".rprofile", ".renviron"),
        *(
            ".ackrc",
            ".curlrc",
            ".wgetrc",
            ".netrc",
            ".pypirc",
            ".gemrc",
            ".rpmmacros",
            ".psqlrc",
            ".sqliterc",
            ".my.cnf",
        ),
        *(".hgrc", ".tool-versions", ".mise.toml", "mise.toml", "gnumakefile", "justfile", ".justfile"),
    }
)
"""Settings of shells, editors, debuggers and clients, and what few projects have. All of them run code or hold keys.

Apart from the others for the sandbox: it holds these where they are, and in a home directory, instead of everywhere.
"""

WHOLE = frozenset({"*", "**", ".*", "?*", "*.*", ".[!.]*"})
"""Last path components that mean everything in a folder, in a command that deletes."""


class ProtectedPaths:
    """The protected and critical paths around a working directory, whatever the case and Unicode form of names."""

    __slots__ = ("_build", "_critical", "_folders", "_inside")

    def __init__(self, settings: Settings, roots: tuple[str, ...], home: str) -> None:
        self._folders = frozenset(_own_folders(settings))
        self._inside = tuple(f"{folder}/" for folder in self._folders)
        self._build = frozenset(tuple(names_of(_fold(f"/{name}"))) for name in asked_before_change(settings))
        self._critical = {"/"}
        for root in (*roots, settings.cwd, settings.root, home):
            # Parents too: deleting the folder above the project deletes the project.
            for spelled in both_spellings(root):
                self._critical.update(_with_parents(_fold(spelled)))

    def protects(self, path: ResolvedPath) -> str | None:
        """The spelling under which a path must not be written without asking, or None."""
        for spelling in path.spellings:
            text = _fold(spelling)
            if text in self._folders or text.startswith(self._inside):
                return spelling
            names = names_of(text)
            if _protected_name(names) or self._decides_the_build(names):
                return spelling
        return None

    def _decides_the_build(self, names: list[str]) -> bool:
        """Whether a path is, or is below, something that the setting names."""
        for listed in self._build:
            size = len(listed)
            if size and any(tuple(names[at : at + size]) == listed for at in range(len(names) - size + 1)):
                return True
        return False

    def is_critical(self, path: ResolvedPath) -> str | None:
        """The spelling under which a path must not be deleted without asking, or None."""
        for spelling in path.spellings:
            names = names_of(_fold(spelling))
            # rm -r dir/* is as bad as rm -r dir.
            if names and names[-1] in WHOLE:
                names.pop()
            if len(names) <= 1 or "/" + "/".join(names) in self._critical or _is_drive(names):
                return spelling
        return None


def _protected_name(names: list[str]) -> bool:
    if not names:
        return False
    if names[-1] in ALWAYS_FILES or names[-1].endswith(ENDINGS):
        return True
    # One set operation rules out most paths; the loop below would cost every file of a search.
    tells = not TELLING.isdisjoint(names) or any("~" in name for name in names)
    return tells and _in_folder(names)


def _in_folder(names: list[str]) -> bool:
    last = len(names) - 1
    for at, name in enumerate(names):
        if name in ALL_FOLDERS and not (at < last and names[at + 1] == OPEN_INSIDE.get(name)):
            return True
        if at and (names[at - 1], name) in ALWAYS_FOLDERS_IN:
            return True
        # Linux mounts NTFS too, as WSL does with every Windows drive; git refuses these names for the same reason.
        if "~" in name and name.rstrip("0123456789") in SHORT:
            return True
    return False


ALL_FILES, ALL_FOLDERS = FILES | PERSONAL_FILES, FOLDERS | PERSONAL_FOLDERS
ALL_FOLDERS_IN = FOLDERS_IN | PERSONAL_FOLDERS_IN
ALWAYS_FILES, ALWAYS_FOLDERS_IN = ALL_FILES - BUILD_FILES, ALL_FOLDERS_IN - BUILD_FOLDERS_IN
TELLING = ALL_FOLDERS | {name for _, name in ALL_FOLDERS_IN}
SHORT = frozenset(f"{name.strip('.')[:6]}~" for name in ALL_FOLDERS)
"""What NTFS may call the folders: `GIT~1` opens `.git`."""


def asked_before_change(settings: Settings) -> list[str]:
    """Names of files and folders whose change asks, as the user or the owner of the machine wants it.

    No project may have a say, not even a trusted one: the model can edit its files.
    """
    for layer in settings.holders(ASK_BEFORE_CHANGE):
        if layer.name not in FROM_REPOSITORY:
            found: list[str] = layer.values[ASK_BEFORE_CHANGE]
            return found
    return [*sorted(BUILD_FILES), *("/".join(pair) for pair in BUILD_FOLDERS_IN)]


FROM_REPOSITORY = ("local", "project")


def _own_folders(settings: Settings) -> tuple[str, ...]:
    """Where Pegboard keeps policy and state: no tool changes these."""
    found = [
        MANAGED,
        cache_dir(os.environ),
        state_dir(os.environ),
        baked_file(),
    ]
    for layer in settings.layers:
        source = layer.source if os.path.isabs(layer.source) else None
        found.append(os.path.dirname(source) if source and layer.name in ("managed", "user") else source)
    return tuple({_fold(spelled) for folder in found if folder for spelled in both_spellings(folder)})


def _fold(path: str) -> str:
    """A whole path folded name by name; the common case needs only one pass."""
    if path.isascii() and not path.endswith(ODD) and "./" not in path and " /" not in path:
        return path.lower()
    return "/" + "/".join(folded(name) for name in names_of(path))


ODD = (".", " ")


def _with_parents(path: str) -> list[str]:
    names = names_of(path)
    return ["/" + "/".join(names[:count]) for count in range(len(names) + 1)]


def _is_drive(names: list[str]) -> bool:
    """`/c` and its children, as a drive letter is spelled, or `/mnt/c` where one is mounted."""
    return len(names) == 2 and names[0] == "mnt" and len(names[1]) == 1
