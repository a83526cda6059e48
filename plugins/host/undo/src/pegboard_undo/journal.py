"""What a session did to files, as lines of its transcript: each names its prompt and where the earlier bytes are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from pegboard_undo.checkpoint import CheckpointError, Checkpoints, FileChange

if TYPE_CHECKING:
    from pegboard import Facts
    from pegboard_files import FileEvent, Undo
    from pegboard_session import Session
    from pegboard_undo.checkpoint import Checkpoint

SERVICE = "pegboard.undo"
CHANGED, UNCOVERED, UNDONE = "file_changed", "not_covered", "undone"
"""The kinds of lines: a file that was changed, a command without a checkpoint, prompts that were undone."""


class Journal:
    """The journal of one session. Sub-agents write to that of the session that they work for."""

    def __init__(self, session: Session, is_mine: Callable[[Journal], bool]) -> None:
        """`is_mine` says whether the call that is running now belongs to this journal."""
        self._session, self._is_mine, self._guard = session, is_mine, Lock()
        self.session_id = session.id
        self.prompt = session.restored.prompts
        self.facts: dict[str, Facts] = {}
        settings = session.board.settings
        self.checkpoints = Checkpoints(settings.get("undo.checkpointMs", 200))
        self._touched = {Path(str(line["path"])) for line in session.restored.lines if line["type"] == CHANGED}
        files = session.ctx.services.files
        self._stop = files.listen(self._hear) if files else lambda: None

    def next_prompt(self) -> None:
        """A prompt has arrived."""
        self.prompt += 1
        self.facts.clear()

    def _hear(self, event: FileEvent) -> None:
        """A file was read or written by a tool."""
        if not self._is_mine(self):
            return
        self._touched.add(event.path)
        if event.undo:
            self._note(_change(event.undo), by="tool")

    def take_checkpoint(self, cwd: Path, named: Sequence[Path]) -> Checkpoint | None:
        """Keep what a command might change; None where that would take too long."""
        try:
            return self.checkpoints.take(cwd, (*named, *self._touched))
        except CheckpointError as error:
            self._say_uncovered(str(error))
            return None

    def note_changes(self, checkpoint: Checkpoint) -> None:
        """Note what is different since a checkpoint."""
        try:
            for change in self.checkpoints.changes_since(checkpoint):
                self._touched.add(change.path)
                self._note(change, by="command")
        except CheckpointError as error:
            self._say_uncovered(str(error))

    def _note(self, change: FileChange, *, by: str) -> None:
        with self._guard:
            self._session.write(CHANGED, prompt=self.prompt, by=by, **change.as_data())

    def _say_uncovered(self, why: str) -> None:
        self._session.write(UNCOVERED, prompt=self.prompt, reason=why)
        words = f"pegboard undo does not cover what this command changes: {why}"
        self._session.emit("notice", message=words, data={})

    @property
    def lines(self) -> list[dict[str, Any]]:
        """All that was noted, also by earlier processes."""
        return self._session.restored.lines

    def close(self) -> None:
        """The session is over."""
        self._stop()


def _change(undo: Undo) -> FileChange:
    return FileChange(undo.path, undo.before, undo.after, undo.stored, undo.mode)
