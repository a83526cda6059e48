"""What a session did to files, as lines of its transcript: each with its turn and where the earlier bytes are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from pegboard_undo.checkpoint import CheckpointError, Checkpoints, FileChange

if TYPE_CHECKING:
    from pegboard import Facts
    from pegboard_files import FileEvent, Undo
    from pegboard_processes import Task
    from pegboard_session import Session
    from pegboard_undo.checkpoint import Checkpoint

CHANGED, UNCOVERED, UNDONE = "file_changed", "not_covered", "undone"
"""The kinds of lines: a file that was changed, a command without a checkpoint, turns that were taken back."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The moment before a command."""

    checkpoint: Checkpoint
    turn: int
    noted: int
    """How many changes were noted before it."""


class Journal:
    """The journal of one session. Sub-agents write to that of the session that they work for."""

    def __init__(self, session: Session, is_mine: Callable[[Journal], bool]) -> None:
        """`is_mine` says whether the call that is running now belongs to this journal."""
        self._session, self._is_mine, self._guard, self._comparing = session, is_mine, Lock(), Lock()
        self.session_id = session.id
        self.turn = session.restored.prompts
        self.facts: dict[str, Facts] = {}
        settings = session.board.settings
        self.checkpoints = Checkpoints(settings.get("undo.checkpointMs", 200))
        self._touched = {Path(str(line["path"])) for line in session.restored.lines if line["type"] == CHANGED}
        self._noted: list[tuple[str, str]] = []
        """The files that were changed, one change after the other, with what each became."""
        self._said: set[str] = set()
        self._going_on: dict[str, Moment] = {}
        self._looking: list[Thread] = []
        self._is_ending = False
        session.on_task_ended.append(self.end_task)
        files = session.ctx.services.files
        self._stop = files.listen(self._hear) if files else lambda: None

    def next_turn(self) -> None:
        """A prompt has come."""
        self.turn += 1
        self.facts.clear()

    def _hear(self, event: FileEvent) -> None:
        """A file was read or written by a tool."""
        if not self._is_mine(self):
            return
        self._touched.add(event.path)
        if event.undo:
            self._note(_change(event.undo), by="tool", turn=self.turn)

    def take_checkpoint(self, cwd: Path, named: Sequence[Path]) -> Moment | None:
        """Keep what a command might change; None where that would take too long."""
        try:
            noted = len(self._noted)
            return Moment(self.checkpoints.take(cwd, (*named, *self._touched)), self.turn, noted)
        except CheckpointError as error:
            self._say_uncovered(f"will not cover what this command changes: {error}", str(error), self.turn)
            return None

    def note_changes(self, before: Moment, *, by: str = "command") -> None:
        """Note what is different since a checkpoint. One at a time: two commands may have seen the same change."""
        with self._comparing:
            try:
                found = self.checkpoints.changes_since(before.checkpoint, dict(self._noted[before.noted :]))
            except CheckpointError as error:
                self._say_uncovered(f"does not cover what the command changed: {error}", str(error), before.turn)
                return
            for change in found.files:
                self._touched.add(change.path)
                self._note(change, by=by, turn=before.turn)
        if found.uncovered:
            words = f"does not cover all that the command did: {found.uncovered}"
            self._say_uncovered(words, found.uncovered, before.turn)

    # Commands in the background

    def follow(self, task_id: str, before: Moment) -> None:
        """A command goes on in the background: what it changes is noted when it has ended."""
        self._going_on[task_id] = before

    def end_task(self, task: Task) -> None:
        """Work in the background has ended."""
        before = self._going_on.pop(task.id, None)
        if before is None:
            return
        if self._is_ending:
            self.note_changes(before, by="background")
            return
        # In a thread: looking at many files would keep the person waiting for their keys.
        thread = Thread(target=self.note_changes, args=(before,), kwargs={"by": "background"}, daemon=True)
        self._looking.append(thread)
        thread.start()

    @property
    def going_on(self) -> int:
        """How many commands in the background may still change files."""
        return len(self._going_on)

    def settle(self) -> None:
        """Wait until everything that has ended is noted."""
        while self._looking:
            self._looking.pop().join()

    def _note(self, change: FileChange, *, by: str, turn: int) -> None:
        with self._guard:
            self._noted.append((str(change.path), change.after))
            self._session.write(CHANGED, turn=turn, by=by, **change.as_data())

    def _say_uncovered(self, words: str, why: str, turn: int) -> None:
        """Say it once, and note it for each turn."""
        with self._guard:
            self._session.write(UNCOVERED, turn=turn, reason=why)
        if why not in self._said:
            self._said.add(why)
            self._session.emit("notice", message=f"pegboard undo {words}", data={})

    @property
    def lines(self) -> list[dict[str, Any]]:
        """All that was noted, also by earlier processes."""
        return self._session.restored.lines

    def close(self) -> None:
        """The session is over. Commands in the background are ended after this, and noted then."""
        self._is_ending = True
        self.settle()
        self._stop()


def _change(undo: Undo) -> FileChange:
    return FileChange(undo.path, undo.before, undo.after, undo.stored, undo.mode)
