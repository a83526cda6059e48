"""What the contract suite needs to know about Edit."""

from __future__ import annotations

from typing import Any

from pegboard import Context, Tool


def change_of_a_known_file(ctx: Context) -> dict[str, Any]:
    """Edit changes what the conversation has seen; a file that was just written counts."""
    ctx.files.write(ctx.cwd / "seen.txt", b"alpha\n")
    return {"file_path": "seen.txt", "old_string": "alpha", "new_string": "beta"}


def pytest_pegboard_examples(tool: Tool[Any, Any]) -> list[Any] | None:
    new_file = {"file_path": "new.txt", "old_string": "", "new_string": "one\n"}
    return [new_file, change_of_a_known_file] if tool.name == "Edit" else None
