"""Put files back. Each is checked once more in the moment of writing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pegboard import PegboardError, ToolError
from pegboard.wording import counted
from pegboard_undo.plan import Plan, Step, make_plan, refusal_of

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
    only_this = {str(step.path): True}  # Not where a link leads that came meanwhile.
    if not step.before:
        files.remove(step.path, expected_digest=step.after, approved_paths=only_this)
        return
    step.path.parent.mkdir(parents=True, exist_ok=True)
    files.write(step.path, step.earlier_bytes(), expected_digest=step.after, approved_paths=only_this)
    if step.mode:  # A command may have put another file in its place: a private file stays private.
        step.path.chmod(step.mode & 0o777)


def require_same(plan: Plan, lines: Iterable[dict[str, Any]]) -> None:
    """Raise if there is more to undo than the person has agreed to."""
    if make_plan(lines, plan.to) != plan:
        raise PegboardError("Nothing was restored: there were more changes meanwhile. Run undo again.")
