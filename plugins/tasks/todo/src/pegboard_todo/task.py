"""A task of a session."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Status = Literal["pending", "in_progress", "completed"]


class Task(BaseModel):
    """One thing to do."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)

    id: str
    subject: str
    description: str = ""
    status: Status = "pending"
    active_form: str = ""
    """What is being done while it is in progress: "Running the tests"."""
    owner: str = ""
    blocked_by: list[str] = Field(default_factory=list)
    """The ids of tasks that have to be completed first."""
    metadata: dict[str, Any] = Field(default_factory=dict)
    written_by: Literal["", "todo"] = ""
    """Which tool keeps it: TodoWrite replaces its own tasks only."""
