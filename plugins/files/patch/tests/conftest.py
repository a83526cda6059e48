"""What the contract suite needs to know about ApplyPatch, and a project to patch."""

from __future__ import annotations

from typing import Any

from pegboard import Context, Tool

ADD = "*** Begin Patch\n*** Add File: new.txt\n+one\n*** End Patch\n"
UPDATE = "*** Begin Patch\n*** Update File: seen.txt\n@@\n-alpha\n+beta\n*** End Patch\n"


def change_of_a_known_file(ctx: Context) -> dict[str, Any]:
    """ApplyPatch changes what the conversation has seen; a file that was just written counts."""
    ctx.files.write(ctx.cwd / "seen.txt", b"alpha\n")
    return {"input": UPDATE}


def pytest_pegboard_examples(tool: Tool[Any, Any]) -> list[Any] | None:
    return [{"input": ADD}, change_of_a_known_file] if tool.name == "ApplyPatch" else None
