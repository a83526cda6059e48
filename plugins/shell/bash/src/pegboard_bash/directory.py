"""Where a command starts, where its shell was when it ended, and whether the next one may start there.

The shell itself says where it ended: a file named by BASH_ENV sets a trap before the command is read, so that the
command, its line numbers and its messages stay as they are. A command with an EXIT trap of its own says nothing, and
the working directory stays. Only commands that may change the directory are followed; all others run bare.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pegboard import Context, ToolError
from pegboard_bash.snapshot import Snapshot, as_before

MAY_MOVE = re.compile(r"\b(?:cd|pushd|popd|eval|source)\b|(?:^|[\s;&|(])\.\s")
"""Text without any of this cannot move the shell. Too wide costs a millisecond, too narrow a lost directory."""

LONGEST_PATH = 8_192


@dataclass(frozen=True, slots=True)
class Followed:
    """A folder of one call, with the file that the shell reads first and the one in which it says where it is."""

    folder: Path

    @property
    def script(self) -> Path:
        return self.folder / "begin"

    def told(self) -> Path | None:
        """Where the shell was when it ended, if it said so."""
        try:
            # The command may have put anything here: a link, or a pipe that would keep us waiting.
            file = os.open(self.folder / "end", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return None
        with open(file, "rb") as said:
            text = os.fsdecode(said.read(LONGEST_PATH) or b"").removesuffix("\n")
        return Path(text) if text.startswith("/") and "\0" not in text else None


@contextmanager
def followed(
    command: str, wanted: bool, ctx: Context, snapshot: Snapshot | None = None, private: Path | None = None
) -> Iterator[Followed | None]:
    """Follow the shell of one command. The folder is for this call alone: a later shell must not read what it left.

    A confined shell can write in its private folder only, and cannot read the user's own start file.
    """
    if snapshot is None and not (wanted and MAY_MOVE.search(command)):
        yield None
        return
    made = Followed(Path(tempfile.mkdtemp(prefix="pegboard-shell-", dir=private)))
    try:
        # A copy of the snapshot: the command can change this folder in a sandbox, and must not change the original.
        plain = b"unset BASH_ENV\n" if private else os.fsencode(as_before(ctx))
        begin = snapshot.file.read_bytes() if snapshot else plain
        made.script.write_bytes(_trap(made.folder / "end") + begin)
        yield made
    finally:
        shutil.rmtree(made.folder, ignore_errors=True)


def _trap(end: Path) -> bytes:
    # In braces, so that nothing is said either when the folder is gone because the command went on after its call.
    goal = shlex.quote(f"{{ builtin pwd -P >| {shlex.quote(str(end))}; }} 2>/dev/null")
    return os.fsencode(f"trap {goal} EXIT\n")


def roots(ctx: Context) -> list[Path]:
    """The folders in which commands may start: where the session began first."""
    began = Path(ctx.settings.cwd)
    extra = ctx.settings.get("permissions.additionalDirectories", [])
    named = [began / os.path.expanduser(name) for name in extra]
    own = [began, ctx.cwd] if ctx.agent.depth == 0 else [ctx.cwd]
    return [*own, *ctx.roots, *named]


def within(path: Path, ctx: Context) -> Path | None:
    """The same folder spelled from the working directory it is in; None if it is in none."""
    real = os.path.realpath(path)
    for root in roots(ctx):
        at = os.path.realpath(root)
        if real == at:
            return Path(os.path.normpath(root))
        if real.startswith(at.rstrip("/") + "/"):
            return Path(os.path.normpath(root)) / os.path.relpath(real, at)
    return None


def start_of(workdir: Path | None, ctx: Context) -> tuple[Path, str]:
    """Where a command starts, and a remark when that is not where it was expected to."""
    if workdir is not None:
        folder = ctx.resolve(workdir)
        if not folder.is_dir():
            raise ToolError(
                f"workdir {str(workdir)!r} is not a folder. Use Glob to find the right path.", code="not_found"
            )
        inside = within(folder, ctx)
        if inside is None:
            names = ", ".join(dict.fromkeys(map(str, roots(ctx))))
            raise ToolError(
                f"workdir {str(workdir)!r} is outside the working directories ({names}). Name a folder in one of them."
            )
        return inside, ""
    if ctx.cwd.is_dir():
        return ctx.cwd, ""
    if ctx.agent.depth:  # where the session began may be exactly where this agent must not work
        raise ToolError(f"The working directory {ctx.cwd} no longer exists. Tell the user.", code="not_found")
    began = Path(ctx.settings.cwd)
    return began, f"The working directory {ctx.cwd} no longer exists. The command ran in {began}."


def next_start(told: Path | None, start: Path, ctx: Context) -> tuple[Path | None, str]:
    """Where the next command starts when that is elsewhere than this one did, and a remark on it."""
    if told is not None and told.is_dir():
        inside = within(told, ctx)
        if inside is None:
            back = f"The shell ended in {told}, which is outside the working directories."
            return None, f"{back} The next command starts in {start} again."
        return (None if os.path.realpath(start) == os.path.realpath(inside) else inside), ""
    if start.is_dir():
        return None, ""
    began = Path(ctx.settings.cwd)
    return began, f"The working directory {start} no longer exists. The next command starts in {began}."
