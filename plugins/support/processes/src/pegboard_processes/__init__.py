"""The process service: processes that start clean, stay within their limits, and end with all they started.

Names load on first use: listing tools imports this package and must not pay for the service.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pegboard import hookimpl

if TYPE_CHECKING:
    from pegboard import Settings
    from pegboard_processes.background import LocalBackground as LocalBackground
    from pegboard_processes.interface import Background as Background
    from pegboard_processes.interface import OnBytes as OnBytes
    from pegboard_processes.interface import OpenProcess as OpenProcess
    from pegboard_processes.interface import Process as Process
    from pegboard_processes.interface import Processes as Processes
    from pegboard_processes.interface import ProcessExit as ProcessExit
    from pegboard_processes.interface import ProcessSpec as ProcessSpec
    from pegboard_processes.interface import Started as Started
    from pegboard_processes.interface import Starter as Starter
    from pegboard_processes.interface import Task as Task
    from pegboard_processes.interface import TaskText as TaskText
    from pegboard_processes.service import LocalProcesses as LocalProcesses

# Imports happen inside functions: importing a plugin must not load the service that only a call needs.


@hookimpl
def register_services(settings: Settings, env: Mapping[str, str]) -> dict[str, object]:
    """Offer the processes of this machine as `ctx.processes`."""
    from pegboard_processes.environment import scrubbed
    from pegboard_processes.service import LocalProcesses

    variables = settings.get("env")
    return {"processes": LocalProcesses(env={**scrubbed(os.environ), **variables} if variables else None)}


_HOME = {
    **dict.fromkeys(("LocalBackground",), "background"),
    **dict.fromkeys(
        (
            "Background",
            "OnBytes",
            "OpenProcess",
            "Process",
            "ProcessExit",
            "ProcessSpec",
            "Processes",
            "Started",
            "Starter",
            "Task",
            "TaskText",
        ),
        "interface",
    ),
    **dict.fromkeys(("LocalProcesses",), "service"),
}

__all__ = [*sorted(_HOME), "register_services"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"pegboard_processes has no {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"pegboard_processes.{_HOME[name]}"), name)
    globals()[name] = value
    return value
