"""Which files may be shown to a model without a call of a tool: those that permission rules let it read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from pegboard import Context, Tool

if TYPE_CHECKING:
    from pegboard_session.loop import Session


class _NoFields:
    """The input of what is never called. An `Input` would import pydantic, which a session can start without."""

    model_fields: ClassVar[dict[str, Any]] = {}


class _Reading(Tool[Any, str]):
    """Represents reading a file when permission rules are checked. It is never listed, and never called."""

    name = "prompt_files"
    input: Any = _NoFields
    rule_subject = "path"
    capability = "read"

    def call(self, args: Any, ctx: Context, /) -> str:
        raise NotImplementedError


def readable_files(session: Session, root: str) -> Callable[[str], bool] | None:
    """A test of absolute paths below `root`: whether rules let the model read them; None for all.

    For plugins that put files into the prompt, such as memory files. It works in a session without tools too.
    """
    return session.board.equip(session.ctx).path_filter(_Reading(), root)
