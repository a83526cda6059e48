"""A call to a deferred tool that was never fetched runs if its input fits; if not, the model gets the schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pegboard.context import Change
from pegboard.errors import ToolError

if TYPE_CHECKING:
    from pegboard.execution.dispatch import CallRun


def with_schema(run: CallRun, error: ToolError) -> ToolError:
    """The error about an input that does not fit, together with the schema that the model has not seen.

    The tool counts as fetched from then on. Other errors stay as they are.
    """
    bound = run.bound
    guessed = bound is not None and bound.deferred and run.args is None and error.code == "invalid_input"
    if bound is None or not guessed or bound.tool.name in run.ctx.loaded_tools:
        return error
    name, schema = bound.tool.name, json.dumps(bound.tool.input_schema, ensure_ascii=False)
    message = f"{error.message}\n{name} was not fetched before. This is the schema of its input:\n{schema}"
    return ToolError(
        message, code=error.code, remedy=error.remedy, value=error.value, change=Change(loaded_tools=(name,))
    )
