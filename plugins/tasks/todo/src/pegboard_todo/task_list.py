"""The tasks of one session. Every change is one line of the transcript, so a resumed session has them again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pegboard import ToolError
from pegboard.wording import counted

if TYPE_CHECKING:
    from pegboard_todo.task import Task

# Imports happen inside functions: every session has a list, and one without tasks starts without pydantic.

SERVICE = "tasks"
MOST = 500
"""How many tasks a session can have."""

LONGEST_ID = 40
MOST_ROWS = 5
"""How many open tasks are on the screen while the model works."""
MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


class Tasks:
    """All tasks of a session by id, in the order in which they were made."""

    def __init__(self, keep: Callable[[list[dict[str, Any]], int], None] | None = None) -> None:
        self._tasks: dict[str, Task] = {}
        self._next = 1
        self._keep = keep
        self.changes = 0
        """How often the list has changed: who reminds of it looks here."""

    def load(self, rows: Iterable[Mapping[str, Any]], next_id: object) -> None:
        """Go on with a list that was kept. What makes no sense is left out."""
        from pydantic import ValidationError

        from pegboard_todo.task import Task

        for row in rows:
            try:
                task = Task.model_validate(row)
            except ValidationError:
                continue
            self._tasks[task.id] = task
        kept = next_id if isinstance(next_id, int) else 1
        self._next = max([kept, *(int(key) + 1 for key in self._tasks if key.isdecimal() and len(key) <= LONGEST_ID)])

    def all(self) -> list[Task]:
        """Every task."""
        return list(self._tasks.values())

    def open(self) -> list[Task]:
        """Those that are not completed."""
        return [task for task in self._tasks.values() if task.status != "completed"]

    def get(self, task_id: str) -> Task:
        """One task; a `ToolError` names those that exist."""
        try:
            return self._tasks[task_id]
        except KeyError:
            known = ", ".join(self._tasks) or "none"
            raise ToolError(f"There is no task {task_id!r}. The ids are: {known}.", code="not_found") from None

    def blocks(self, task_id: str) -> list[str]:
        """The ids of the tasks that wait for this one."""
        return [task.id for task in self._tasks.values() if task_id in task.blocked_by]

    def waits_for(self, task: Task) -> list[str]:
        """The ids of the open tasks that have to be completed before this one."""
        return [key for key in task.blocked_by if key in self._tasks and self._tasks[key].status != "completed"]

    def add(self, **fields: Any) -> Task:
        """A new task with the next id."""
        from pegboard_todo.task import Task

        self._refuse_more(1)
        task = Task(id=str(self._next), **fields)
        self._next += 1
        self._tasks[task.id] = task
        self.changed()
        return task

    def remove(self, task_id: str) -> None:
        """Take a task away, if it is still there. Nothing waits for it any more."""
        self._tasks.pop(task_id, None)
        for other in self._tasks.values():
            other.blocked_by = [key for key in other.blocked_by if key != task_id]
        self.changed()

    def replace_written(self, tasks: list[dict[str, Any]]) -> list[Task]:
        """Put the list of TodoWrite in place of its last one; returns the last one."""
        from pegboard_todo.task import Task

        old = [task for task in self._tasks.values() if task.written_by == "todo"]
        self._refuse_more(len(tasks) - len(old))
        for task in old:
            del self._tasks[task.id]
        for fields in tasks:
            task = Task(id=str(self._next), written_by="todo", **fields)
            self._next += 1
            self._tasks[task.id] = task
        self.changed()
        return old

    def link(self, first: str, then: str) -> None:
        """Let one task wait for another. A circle is refused. Call `changed` afterwards."""
        self.get(first)
        task = self.get(then)
        if first == then or then in self._all_before(first):
            raise ToolError(f"Task {then} cannot wait for task {first}: the tasks would wait in a circle.")
        if first not in task.blocked_by:
            task.blocked_by.append(first)

    def terminal_rows(self) -> list[str]:
        """The list for a terminal while the model works: how much is done, and what is open, what is begun first."""
        left = sorted(self.open(), key=lambda task: task.status != "in_progress")
        if not left:
            return []
        rows = [f"{MARKS[task.status]} {task.active_form or task.subject}" for task in left[:MOST_ROWS]]
        more = [f"    and {len(left) - MOST_ROWS} more"] if len(left) > MOST_ROWS else []
        return [f"{len(self._tasks) - len(left)} of {counted(len(self._tasks), 'task')} done", *rows, *more]

    def changed(self) -> None:
        """Keep the list as it is now."""
        self.changes += 1
        if self._keep:
            self._keep(
                [task.model_dump(mode="json", by_alias=True, exclude_defaults=True) for task in self.all()], self._next
            )

    def _all_before(self, task_id: str) -> set[str]:
        found, waiting = set[str](), [task_id]
        while waiting:
            task = self._tasks.get(waiting.pop())
            for key in task.blocked_by if task else ():
                if key not in found:
                    found.add(key)
                    waiting.append(key)
        return found

    def _refuse_more(self, count: int) -> None:
        if len(self._tasks) + count > MOST:
            raise ToolError(f"A session can have at most {MOST} tasks. Delete completed ones first.", code="too_large")
