"""Which projects a person trusts, and which local settings files they made themselves.

A folder is known by its real path and by nothing else: a repository inside a trusted one, a linked worktree, and a
`.git` file that points at a trusted repository all need trust of their own. Git is never asked: it runs programs that
a repository names.

A local settings file is the person's own only if it is, byte for byte, what Pegboard last wrote there for them. Being
untracked proves nothing, because an archive can contain a `.git` folder. What a person edits by hand counts once
the folder is trusted.
"""

from __future__ import annotations

import os
import stat
import time

from pegboard_settings import SettingsError, state_dir

# Imports happen inside functions: every command asks for trust at its start, and most find nothing to read.

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

NAME = "trust.json"
OTHERS = 0o077


class Trust:
    """The trust store of one person. Without a place for it, or with one that others can touch, nothing is trusted."""

    def __init__(self, path: str | None) -> None:
        self.path = path

    @classmethod
    def of(cls, env: Mapping[str, str] | None = None) -> Trust:
        """The store of the person whose environment this is."""
        folder = state_dir(os.environ if env is None else env)
        return cls(os.path.join(folder, NAME) if folder else None)

    def trusts(self, root: str) -> bool:
        """Whether the project with this root is trusted; a root inside it is another project."""
        real = os.path.realpath(root)
        return not self._lies_in(real) and real in self._read()["trusted"]

    def add(self, root: str) -> str:
        """Trust a project from now on. Returns the real path that is remembered."""
        real = os.path.realpath(root)
        if self._lies_in(real):
            raise SettingsError(f"{real} contains the trust store itself and cannot be trusted.", source=str(self.path))
        self._change(lambda known: known["trusted"].setdefault(real, {"since": _now()}))
        return real

    def revoke(self, root: str) -> bool:
        """Trust a project no more, nor the local settings files in it. Returns whether it was trusted."""
        real = os.path.realpath(root)
        was = real in self._read()["trusted"]

        def forget(known: dict[str, Any]) -> None:
            known["trusted"].pop(real, None)
            inside = os.path.join(real, "")
            known["local"] = {path: made for path, made in known["local"].items() if not path.startswith(inside)}

        self._change(forget)
        return was

    def trusted(self) -> dict[str, str]:
        """Every trusted project, with the moment since when."""
        return {path: str(entry.get("since", "")) for path, entry in sorted(self._read()["trusted"].items())}

    def vouch(self, path: str, content: bytes) -> None:
        """Remember that the person had exactly this written into their local settings file."""
        self._change(lambda known: known["local"].__setitem__(os.path.abspath(path), _digest(content)))

    def vouches(self, path: str, content: bytes) -> bool:
        """Whether a local settings file is what the person had written there, and no link led to it."""
        known = self._read()["local"].get(os.path.abspath(path))
        return known == _digest(content) and not reached_by_link(path)

    def _lies_in(self, root: str) -> bool:
        """Whether a project could contain its own trust store."""
        store = os.path.realpath(self.path) if self.path else ""
        return store.startswith(os.path.join(root, ""))

    def _read(self) -> dict[str, Any]:
        """What is known. A store that is broken, or that another user could have written, counts as empty."""
        empty: dict[str, Any] = {"trusted": {}, "local": {}}
        if not self.path:
            return empty
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return empty
        with open(descriptor, "rb") as stream:
            if not _is_private(os.fstat(descriptor)):
                return empty
            raw = stream.read()
        return _parsed(raw) or empty

    def _change(self, change: Callable[[dict[str, Any]], object]) -> None:
        """Read, change and replace the store while no other process does."""
        import fcntl
        import json

        if not self.path:
            reason = "The trust store has no folder: HOME is unset or XDG_STATE_HOME is relative."
            raise SettingsError(reason, source="trust")
        folder = os.path.dirname(self.path)
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            lock = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                known = self._read()
                change(known)
                replace_file(self.path, (json.dumps({"version": 1, **known}, indent=1) + "\n").encode(), 0o600)
            finally:
                os.close(lock)
        except OSError as error:
            raise SettingsError(f"The trust store cannot be written: {error.strerror}.", source=self.path) from None


def reached_by_link(path: str) -> bool:
    """Whether a settings file, or its folder, is a link: then its content is not what it seems."""
    return os.path.islink(path) or os.path.islink(os.path.dirname(path))


def replace_file(path: str, content: bytes, mode: int) -> None:
    """Write a file so that at every moment it is the old or the new one."""
    part = f"{path}.{os.urandom(6).hex()}.part"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


def _parsed(raw: bytes) -> dict[str, Any] | None:
    import json

    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    made = {key: found.get(key) for key in ("trusted", "local")}
    entries = made["trusted"]
    if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
        return None
    return made if isinstance(made["local"], dict) else None


def _is_private(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & OTHERS


def _digest(content: bytes) -> str:
    import hashlib  # 2 ms that a listing in a folder without local settings need not pay

    return hashlib.sha256(content).hexdigest()


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
