"""The TaskOutput and TaskStop tools."""

from pegboard_tasks.tasks import TaskOutput, TaskStop, register_tools

__all__ = ["TaskOutput", "TaskStop", "register_tools"]
