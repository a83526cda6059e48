"""What a transcript says about sub-agents and costs, so that another process can continue where the first one ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pegboard import Agent, PegboardError
from pegboard_agent.service import SubAgentRequest
from pegboard_processes import Task
from pegboard_session import AgentDefinition, Restored


@dataclass(slots=True)
class SubAgentRecord:
    """A sub-agent as the transcript of its session knows it."""

    agent: Agent
    model: str
    request: SubAgentRequest
    state: str = "interrupted"
    """Whoever has no line about its end was running when the process ended."""
    task: Task | None = None
    """The work in the background that its last run there was."""
    in_background: bool = False
    """Whether its last run was in the background."""
    workspace: Path | None = None

    @property
    def label(self) -> str:
        """The agent in words."""
        return label_of(self.agent, self.request)

    @property
    def farewell(self) -> str:
        """What the model is told about work in the background that ended with the process."""
        name = self.task.name if self.task else ""
        return (
            f"The background {self.label} ({name}) was interrupted when the session ended. "
            f"To continue it, use resume={self.agent.id!r}."
        )


def label_of(agent: Agent, request: SubAgentRequest) -> str:
    """The label of an agent in questions and errors."""
    return f"agent {request.name or agent.kind} ({agent.id})"


def as_line(agent: Agent, model: str, request: SubAgentRequest) -> dict[str, Any]:
    """The line about an agent that is about to run for the first time."""
    wish = asdict(request)
    wish["cwd"] = str(request.cwd) if request.cwd else None
    return {"agent": asdict(agent), "model": model, "request": wish}


def read_records(lines: Sequence[Mapping[str, Any]]) -> tuple[list[SubAgentRecord], list[str]]:
    """The sub-agents of a session in the order in which they were started, and what the model must be told about them.

    The `lines` are those of `Restored.lines`: of sub-agents, and of what the model was told.
    """
    records: dict[str, SubAgentRecord] = {}
    told: set[str] = set()
    for entry in lines:
        try:
            _take(entry, records, told)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"A line of the type {entry['type']} is not valid: {type(error).__name__}: {error}."
            raise PegboardError(f"{reason} The transcript cannot be resumed.") from None
    cut = [record for record in records.values() if record.in_background and record.state == "interrupted"]
    return list(records.values()), [record.farewell for record in cut if record.farewell not in told]


def _take(entry: Mapping[str, Any], records: dict[str, SubAgentRecord], told: set[str]) -> None:
    if entry["type"] == "agent":
        record = SubAgentRecord(Agent(**entry["agent"]), entry["model"], _request(entry["request"]))
        records[record.agent.id] = record
    elif entry["type"] == "agent_run":
        record = records[entry["id"]]
        task, workspace = entry["task"], entry["workspace"]
        record.state, record.workspace = "interrupted", Path(workspace) if workspace else None
        record.task, record.in_background = _task(task) if task else record.task, bool(task)
        told.discard(record.farewell)
    elif entry["type"] == "agent_ended":
        records[entry["id"]].state = str(entry["state"])
    elif entry["type"] == "user":
        told.update(block["text"] for block in entry["content"] if block["type"] == "text")


def _task(data: Mapping[str, Any]) -> Task:
    output = data["output"]
    return Task(data["id"], data["name"], "stopped", Path(output) if output else None)


def _request(data: Mapping[str, Any]) -> SubAgentRequest:
    wish = {name: _frozen(value) for name, value in data.items()}
    wish["definition"] = AgentDefinition(**{name: _frozen(value) for name, value in data["definition"].items()})
    wish["cwd"] = Path(data["cwd"]) if data["cwd"] else None
    return SubAgentRequest(**wish)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def last_place(restored: Restored) -> tuple[Path | None, tuple[str, ...]]:
    """Where the agent of a transcript stood last, and the deferred tools that it had fetched."""
    change = restored.change()
    return change.cwd or restored.cwd, change.loaded_tools
