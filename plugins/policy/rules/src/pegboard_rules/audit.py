"""The audit log: one JSON line per decision, with a hash of the call's input instead of the input."""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pegboard import Context, Event, Settings, Tool, hookimpl
from pegboard.settings import state_dir

if TYPE_CHECKING:
    from pegboard import Input

NAME = "audit.jsonl"
MAX_BYTES = 10_000_000
KEPT = 5
"""How many full logs are kept besides the current one, the newest as audit.jsonl.1."""

MOST = 10_000
"""How many characters of a text in an input are kept."""

ANSWERERS = {
    "rules": "rules",
    "mode": "mode",
    "ask": "user",
    "hooks": "hook",
    "plugins": "hook",
    "tool": "hook",
    "classifier": "classifier",
    "read-only": "facts",
    "--yes": "option",
}
"""Who decided, by the layer of a decision. Unanswered safety checks are the host's own."""

log = logging.getLogger("pegboard")


class AuditLog:
    """A file that only grows, shared by every process of one person.

    Each record is one write to a file opened for appending, so records never mix, and a full log is renamed under a
    lock. A writer that still holds the renamed file writes its one record there: nothing is lost.
    """

    def __init__(self, path: str, *, max_bytes: int = MAX_BYTES, kept: int = KEPT) -> None:
        self.path, self.max_bytes, self.kept = path, max_bytes, kept

    @classmethod
    def of(cls, settings: Settings, env: Mapping[str, str] | None = None) -> AuditLog | None:
        """The log of this person; None where settings switch it off or there is no place for it."""
        folder = state_dir(os.environ if env is None else env)
        return cls(os.path.join(folder, NAME)) if folder and settings.get("audit") else None

    def write(self, record: Mapping[str, Any]) -> None:
        """Append one record."""
        line = json.dumps(record, separators=(",", ":"), default=str).encode() + b"\n"
        descriptor = self._open()
        try:
            # One write for the whole line: with O_APPEND, lines of several processes cannot be interleaved.
            if os.write(descriptor, line) != len(line):
                os.write(descriptor, b"\n")  # The disk is full; the next record must not be appended to the torn one.
                raise OSError(errno.ENOSPC, "the record was cut short")
            size = os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
        if size >= self.max_bytes:
            self._rotate()

    def trouble(self) -> str:
        """Why the log cannot be written, as a sentence; empty when it can."""
        try:
            os.close(self._open())
        except OSError as error:
            return f"The audit log {self.path} cannot be written: {error.strerror}. Decisions are not recorded."
        return ""

    def _open(self) -> int:
        # Opened for each record, so that a log that another process has rotated is not written to any more.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            return os.open(self.path, flags, 0o600)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            return os.open(self.path, flags, 0o600)

    def _rotate(self) -> None:
        # A file of its own: a lock on the log itself would move away with the rename.
        lock = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.stat(self.path).st_size < self.max_bytes:
                return  # Another process was faster.
            names = [self.path, *(f"{self.path}.{number}" for number in range(1, self.kept + 1))]
            # Oldest first, so that no file is overwritten before it has been moved.
            for newer, older in zip(names[-2::-1], names[:0:-1], strict=True):
                if os.path.lexists(newer):
                    os.replace(newer, older)
        except FileNotFoundError:
            pass
        finally:
            os.close(lock)


class Audit:
    """A plugin that writes the log: part of a board that is loaded with `record=True`."""

    def __init__(self, to: AuditLog) -> None:
        self.log, self._failed = to, False

    @classmethod
    def of(cls, settings: Settings, env: Mapping[str, str] | None = None) -> Audit | None:
        """The plugin, or None where the log is switched off."""
        found = AuditLog.of(settings, env)
        kind = AuditWithInput if settings.get("auditInput") else cls
        return kind(found) if found else None

    @hookimpl
    def observe(self, event: Event) -> None:
        """Record each decision once: immediately, or when the question that it raised is answered."""
        if event.kind == "answered" or (event.kind == "decided" and event.data["decision"] != "ask"):
            try:
                self.log.write(self.record(event))
            except OSError as error:
                if not self._failed:
                    log.warning("the audit log %s cannot be written: %s", self.log.path, error.strerror)
                self._failed = True

    def record(self, event: Event) -> dict[str, Any]:
        """The line for a decision."""
        return as_record(event)


class AuditWithInput(Audit):
    """The same log with the input of each call, as its tool shows it."""

    def __init__(self, to: AuditLog) -> None:
        super().__init__(to)
        self._inputs: dict[tuple[str, str], Any] = {}

    @hookimpl
    def check_permission(self, tool: Tool[Any, Any], args: Input, ctx: Context) -> None:
        """Keep the input that is decided about. There is no opinion on it here."""
        self._inputs[ctx.session_id, ctx.call_id] = tool.observable_input(args, ctx)

    @hookimpl
    def observe(self, event: Event) -> None:
        """As without inputs; when a call is over, its input is forgotten."""
        super().observe(event)
        if event.kind == "call_finished":
            self._inputs.pop((event.data.get("session", ""), event.data["id"]), None)

    def record(self, event: Event) -> dict[str, Any]:
        """The line for a decision, with as much of the input as a log should hold."""
        kept = self._inputs.get((event.data.get("session", ""), event.data["id"]))
        return {**as_record(event), **({} if kept is None else {"input": shortened(kept)})}


def shortened(value: Any) -> Any:
    """Data with long texts cut."""
    if isinstance(value, str):
        return value if len(value) <= MOST else f"{value[:MOST]}… ({len(value)} characters)"
    if isinstance(value, Mapping):
        return {str(key): shortened(inner) for key, inner in value.items()}
    return [shortened(inner) for inner in value] if isinstance(value, list | tuple) else value


def as_record(event: Event) -> dict[str, Any]:
    """The line for a decision. It never contains the input; a rule appears only as a person wrote it."""
    data, layer = event.data, event.data["layer"]
    moment = time.time()
    record = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) + f".{int(moment % 1 * 1000):03d}Z",
        "session": data.get("session", ""),
        "call": data["id"],
        "tool": data["name"],
        "input_sha256": data.get("input_sha256", ""),
        "decision": data["decision"],
        "layer": layer,
        "rule": data.get("rule", ""),
        "source": data.get("source", ""),
        "line": data.get("line"),
        "by": _answerer(event),
        "ms": data.get("ms"),
    }
    if event.kind == "answered":
        record["asked_by"] = data.get("asked_by", "")
        record["approved_sha256"] = data.get("approved_sha256", "")
    return record


def _answerer(event: Event) -> str:
    if event.data["decision"] == "cancelled" or event.data.get("unanswered"):
        return "nobody"
    layer = event.data["layer"]
    return ANSWERERS.get(layer, "host" if layer else "hook" if event.kind == "decided" else "user")
