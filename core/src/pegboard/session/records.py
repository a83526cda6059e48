"""What a transcript says about sub-agents and costs, so that another process can go on where the first one ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pegboard.agents import AgentDefinition, ChildRequest
from pegboard.context import Agent
from pegboard.errors import PegboardError
from pegboard.services import Task
from pegboard.session.transcript import read
from pegboard.session.usage import Usage


@dataclass(slots=True)
class Record:
    """A sub-agent as the transcript of its session knows it."""

    agent: Agent
    model: str
    request: ChildRequest
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
        """What the model is told of work in the background that ended with the process."""
        name = self.task.name if self.task else ""
        return (
            f"The background {self.label} ({name}) was broken off when the session ended. "
            f"To let it go on, use resume={self.agent.id!r}."
        )


def label_of(agent: Agent, request: ChildRequest) -> str:
    """How questions and errors name an agent."""
    return f"agent {request.name or agent.kind} ({agent.id})"


def as_line(agent: Agent, model: str, request: ChildRequest) -> dict[str, Any]:
    """The line about an agent that is about to run for the first time."""
    wish = asdict(request)
    wish["cwd"] = str(request.cwd) if request.cwd else None
    return {"agent": asdict(agent), "model": model, "request": wish}


def recorded(path: Path) -> tuple[list[Record], list[str]]:
    """The sub-agents of a session in the order in which they were started, and the news that nobody was told yet."""
    records: dict[str, Record] = {}
    news: list[str] = []
    told: set[str] = set()
    for entry in read(path):
        try:
            _take(entry, records, news, told)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"{path}: a line of the type {entry['type']} makes no sense: {type(error).__name__}: {error}."
            raise PegboardError(f"{reason} The transcript cannot be resumed.") from None
    cut = (record for record in records.values() if record.in_background and record.state == "interrupted")
    news += [record.farewell for record in cut]
    return list(records.values()), [words for words in dict.fromkeys(news) if words not in told]


def _take(entry: dict[str, Any], records: dict[str, Record], news: list[str], told: set[str]) -> None:
    if entry["type"] == "agent":
        record = Record(Agent(**entry["agent"]), entry["model"], _request(entry["request"]))
        records[record.agent.id] = record
    elif entry["type"] == "agent_run":
        record = records[entry["id"]]
        task, workspace = entry["task"], entry["workspace"]
        record.state, record.workspace = "interrupted", Path(workspace) if workspace else None
        record.task, record.in_background = _task(task) if task else record.task, bool(task)
        told.discard(record.farewell)
    elif entry["type"] == "agent_ended":
        records[entry["id"]].state = str(entry["state"])
    elif entry["type"] == "news":
        news.append(str(entry["text"]))
    elif entry["type"] == "user":
        told.update(block["text"] for block in entry["content"] if block["type"] == "text")


def _task(data: Mapping[str, Any]) -> Task:
    output = data["output"]
    return Task(data["id"], data["name"], "stopped", Path(output) if output else None)


def _request(data: Mapping[str, Any]) -> ChildRequest:
    wish = {name: _frozen(value) for name, value in data.items()}
    wish["definition"] = AgentDefinition(**{name: _frozen(value) for name, value in data["definition"].items()})
    wish["cwd"] = Path(data["cwd"]) if data["cwd"] else None
    return ChildRequest(**wish)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def restore_usage(path: Path, usage: Usage) -> None:
    """Begin with the totals that a transcript ends with."""
    last: dict[str, Any] = {}
    for entry in read(path):
        if entry["type"] == "usage":
            last = entry
    if last:
        try:
            usage.take(last)
        except (KeyError, TypeError, ValueError, ArithmeticError):
            reason = f"{path}: the last line of the type usage makes no sense."
            raise PegboardError(f"{reason} The transcript cannot be resumed.") from None


def last_place(path: Path) -> tuple[Path | None, frozenset[str]]:
    """Where the agent of a transcript stood last, and the deferred tools that it had fetched."""
    cwd: Path | None = None
    loaded: set[str] = set()
    for entry in read(path):
        if entry["type"] in ("session", "change") and entry.get("cwd"):
            cwd = Path(entry["cwd"])
        loaded.update(entry.get("loaded_tools", ()) if entry["type"] == "change" else ())
    return cwd, frozenset(loaded)
