"""What the parent reads of an agent: its report, cut where it is too long, and one line about the run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pegboard import ToolError
from pegboard.wording import counted
from pegboard_agent.agent import AgentInput, AgentOutput
from pegboard_agent.service import SubAgentOutcome
from pegboard_agent.subagent import SubAgent
from pegboard_session.usage import COUNTED
from pegboard_worktrees import Worktree

MAX_REPORT_CHARS = 32_000
EXCERPT = 2_000
"""How much of a report is in the announcement of a background agent."""


def completed(
    child: SubAgent, args: AgentInput, outcome: SubAgentOutcome, warnings: Sequence[str], place: Worktree | None
) -> AgentOutput:
    """A run as data."""
    usage = dict(outcome.usage)
    kept = place if place and place.kept else None
    return AgentOutput(
        status="completed",
        agent_id=child.id,
        agent_type=child.kind,
        description=args.description,
        prompt=args.prompt,
        content=outcome.text,
        stopped_by=outcome.stopped_by,
        resolved_model=child.model,
        total_tool_use_count=outcome.tool_calls,
        total_duration_ms=outcome.ms,
        total_tokens=sum(number for name, number in usage.items() if name in COUNTED),
        total_cost=usage.get("cost") if "unpriced_requests" not in usage else None,
        usage={name: number for name, number in usage.items() if name != "tools"},
        tool_stats=usage.get("tools", {}),
        worktree_path=str(kept.path) if kept else None,
        worktree_branch=kept.branch if kept else None,
        warnings=list(warnings),
    )


def cut(output: AgentOutput, folder: Path) -> AgentOutput:
    """The same with the report within its limit; the full text of a longer one is in a file."""
    if len(output.content) <= MAX_REPORT_CHARS:
        return output
    path = folder / f"{output.agent_id}-report.txt"
    try:
        path.write_text(output.content, "utf-8", errors="surrogatepass")
    except OSError as error:
        raise ToolError(f"The report could not be saved: {error.strerror}.", code="failed") from None
    total = len(output.content)
    remark = f"\n(CUT: {MAX_REPORT_CHARS} of {total} characters; the full report is in {path}.)"
    return output.model_copy(update={"content": output.content[:MAX_REPORT_CHARS] + remark, "output_file": str(path)})


def worded(value: AgentOutput) -> str:
    """What the model reads."""
    lines = [f"Warning: {warning}" for warning in value.warnings]
    if value.status == "async_launched":
        lines.append(f"The {value.agent_type} agent {value.agent_id} is running in the background as {value.task_id}.")
        lines.append(f"You will be told when it has finished. Its progress is written to {value.output_file}.")
        return "\n".join(lines)
    lines.append(value.content or "(The agent finished without a report.)")
    lines.append(f"\n({about(value)})")
    return "\n".join(lines)


def about(value: AgentOutput) -> str:
    """The run in one line."""
    said = [f"{value.agent_type} agent {value.agent_id}"]
    cost = "" if value.total_cost is None else f"cost {value.total_cost:.4f}, "
    spent = f"{value.total_tokens} tokens, {cost}{value.total_duration_ms / 1000:.1f} s"
    said.append(f"{counted(value.total_tool_use_count, 'call')}, {spent}")
    if value.stopped_by != "end":
        said.append(f"stopped by {value.stopped_by}: the report may be incomplete")
    if value.worktree_path:
        on = f" on the branch {value.worktree_branch}" if value.worktree_branch else ""
        said.append(f"its changes are in {value.worktree_path}{on}")
    return "; ".join(said)


def announcement(value: AgentOutput) -> str:
    """The news that an agent in the background has ended, once."""
    words = value.content[:EXCERPT]
    rest = f"\n(The full report is in {value.output_file}.)" if len(value.content) > EXCERPT else ""
    news = f"A background agent has finished. This is its report, not a message from the user ({about(value)}):"
    return f"{news}\n{words}{rest}"
