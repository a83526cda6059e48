"""What the contract suite needs to know about NotebookEdit: a notebook that the conversation has seen."""

from __future__ import annotations

import json
from typing import Any

from pegboard import Context, Tool

CELLS = [
    {"cell_type": "markdown", "id": "title", "metadata": {}, "source": ["# Title"]},
    {"cell_type": "code", "execution_count": 1, "id": "sum", "metadata": {}, "outputs": [], "source": ["1 + 1"]},
]
WHOLE = {"cells": CELLS, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def known_notebook(ctx: Context, **more: Any) -> dict[str, Any]:
    """NotebookEdit changes what the conversation has seen; a file that was just written counts."""
    ctx.files.write(ctx.cwd / "seen.ipynb", json.dumps(WHOLE, indent=1).encode())
    return {"notebook_path": "seen.ipynb", **more}


def replaced(ctx: Context) -> dict[str, Any]:
    return known_notebook(ctx, cell_id="sum", new_source="2 + 2")


def inserted(ctx: Context) -> dict[str, Any]:
    return known_notebook(ctx, cell_number=1, edit_mode="insert", cell_type="markdown", new_source="More.")


def deleted(ctx: Context) -> dict[str, Any]:
    return known_notebook(ctx, cell_id="title", edit_mode="delete")


def pytest_pegboard_examples(tool: Tool[Any, Any]) -> list[Any] | None:
    return [replaced, inserted, deleted] if tool.name == "NotebookEdit" else None
