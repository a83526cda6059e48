"""Put files back. Each is checked once more in the moment of writing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import PegboardError, ToolError
from pegboard.wording import counted
from pegboard_undo.plan import Plan, Step, refusal_of

if TYPE_CHECKING:
    from pegboard_files import Files


def restore(plan: Plan, files: Files) -> str:
    """Restore every file of a plan, newest first; returns what the model is told about it."""
    if refusal := refusal_of(plan):
        raise PegboardError(refusal)
    done: list[str] = []
    for step in reversed(plan.steps):
        try:
            _put_back(step, files)
        except (ToolError, OSError) as error:
            so_far = f" Restored before that: {', '.join(done)}." if done else " Nothing was restored."
            raise PegboardError(f"{step.path} cannot be restored: {error}{so_far}") from None
        done.append(str(step.path))
    names = ", ".join(done)
    return f"The user has undone your changes from turn {plan.to} on, in {counted(len(done), 'file')}: {names}."


def _put_back(step: Step, files: Files) -> None:
    if not step.before:
        files.remove(step.path, expected_digest=step.after)
        return
    step.path.parent.mkdir(parents=True, exist_ok=True)
    files.write(step.path, step.earlier_bytes(), expected_digest=step.after)
    if not step.after and step.mode:
        step.path.chmod(step.mode)
