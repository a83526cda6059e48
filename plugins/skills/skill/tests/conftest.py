"""A repository and a home with skills, and boards that work there."""

from __future__ import annotations

from typing import Any

import pytest

from pegboard import Context, Tool


def hello(ctx: Context) -> dict[str, Any]:
    """A skill that is there."""
    folder = ctx.cwd / ".claude/skills/hello"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text("---\ndescription: Say hello\n---\nSay hello.\n")
    return {"skill": "hello"}


def pytest_pegboard_examples(tool: Tool[Any, Any]) -> list[Any] | None:
    return [hello] if tool.name == "Skill" else None


@pytest.fixture
def world(tmp_path, monkeypatch):
    from .world import World  # The contract suite runs this file outside of its package.

    made = World(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return made


@pytest.fixture
def anyio_backend():
    """One event loop is enough here: skills start nothing of their own."""
    return "asyncio"
