"""What the contract suite needs to know about memory: notes that are there to be read and changed."""

from __future__ import annotations

from typing import Any

from pegboard import Context, Tool


def known_note(ctx: Context, **more: Any) -> dict[str, Any]:
    store = ctx.service("notes")
    store.folder.mkdir(parents=True, exist_ok=True)
    (store.folder / "build.md").write_text("# Build\nmake all\n")
    return {"path": "/memories/build.md", **more}


def viewed(ctx: Context) -> dict[str, Any]:
    return known_note(ctx, command="view")


def changed(ctx: Context) -> dict[str, Any]:
    return known_note(ctx, command="str_replace", old_str="all", new_str="check")


def inserted(ctx: Context) -> dict[str, Any]:
    return known_note(ctx, command="insert", insert_line=1, insert_text="first\n")


def deleted(ctx: Context) -> dict[str, Any]:
    return known_note(ctx, command="delete")


def renamed(ctx: Context) -> dict[str, Any]:
    return {"command": "rename", "old_path": known_note(ctx)["path"], "new_path": "/memories/how/to-build.md"}


CREATED = {"command": "create", "path": "/memories/style.md", "file_text": "# Style\nTabs.\n"}


def pytest_pegboard_examples(tool: Tool[Any, Any]) -> list[Any] | None:
    return [viewed, changed, inserted, deleted, renamed, CREATED] if tool.name == "memory" else None
