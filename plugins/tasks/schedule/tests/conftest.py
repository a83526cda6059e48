"""What the contract suite needs to know about timers: a short sleep, an expression, and a schedule to delete."""

from __future__ import annotations

from typing import Any

from pegboard import Context, Tool


def known_schedule(ctx: Context) -> dict[str, Any]:
    # The suite runs this file on its own, so the plugin is imported where it is used.
    from pegboard_schedule.schedule import Wanted

    return {"id": ctx.service("schedules").add(Wanted(cron="0 9 * * *", prompt="Look.")).id}


def pytest_pegboard_examples(tool: Tool[Any, Any]) -> list[Any] | None:
    examples: dict[str, list[Any]] = {
        "Sleep": [{"seconds": 0.01, "reason": "the build"}],
        "CronCreate": [
            {"cron": "0 9 * * 1-5", "prompt": "Look."},
            {"cron": "*/5 * * * *", "prompt": "Look.", "recurring": False, "timezone": "Europe/Berlin"},
        ],
        "CronDelete": [known_schedule],
    }
    return examples.get(tool.name)


def pytest_pegboard_settings(tool: Tool[Any, Any]) -> dict[str, Any] | None:
    # The suite also makes up times to sleep, and waits for each of them.
    return {"schedule": {"maxSleepSeconds": 1}} if tool.name == "Sleep" else None
