"""What happens to a cell: which one is meant, and what it is afterwards."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any

from pegboard import ToolError
from pegboard.wording import counted
from pegboard_notebook.notebook import Notebook

ONLY_CODE = ("outputs", "execution_count")
MOST_IDS_SHOWN = 20


def find_cell(notebook: Notebook, cell_id: str | None, number: int | None) -> int:
    """The index of the cell that is meant by its id or its number."""
    if number is not None:
        if number > len(notebook.cells):
            reason = f"{notebook.name} has {counted(len(notebook.cells), 'cell')}; there is no cell {number}."
            raise ToolError(reason, code="not_found")
        return number - 1
    found = [at for at, cell in enumerate(notebook.cells) if cell.get("id") == cell_id]
    if len(found) == 1:
        return found[0]
    if found:
        numbers = " and ".join(str(at + 1) for at in found)
        raise ToolError(f"The cells {numbers} have the same id {cell_id!r}. Use cell_number to name one of them.")
    ids = [str(cell["id"]) for cell in notebook.cells if cell.get("id")]
    if not ids:
        raise ToolError(f"The cells of {notebook.name} have no ids. Use cell_number.", code="not_found")
    more = f" and {len(ids) - MOST_IDS_SHOWN} more" if len(ids) > MOST_IDS_SHOWN else ""
    listed = ", ".join(ids[:MOST_IDS_SHOWN]) + more
    raise ToolError(f"{notebook.name} has no cell with the id {cell_id!r}. Its ids are: {listed}.", code="not_found")


def changed_cell(cell: dict[str, Any], source: str, cell_type: str) -> dict[str, Any]:
    """The cell with another source. Outputs belong to the old source, so a code cell loses them."""
    changed = {key: value for key, value in cell.items() if key not in ONLY_CODE or cell_type == "code"}
    if cell_type == "code":
        changed.pop("attachments", None)  # Only other cells may have attachments.
        changed |= {"execution_count": None, "outputs": []}
    changed |= {"cell_type": cell_type, "source": as_source(source, cell.get("source"))}
    changed.setdefault("metadata", {})
    return changed


def new_cell(notebook: Notebook, source: str, cell_type: str) -> dict[str, Any]:
    """A cell for this notebook, with its keys in the order in which Jupyter writes them."""
    like: object = next((cell.get("source") for cell in notebook.cells), [])
    cell: dict[str, Any] = {"cell_type": cell_type}
    if cell_type == "code":
        cell["execution_count"] = None
    if notebook.has_ids:
        cell["id"] = _new_id(str(known.get("id")) for known in notebook.cells)
    cell["metadata"] = {}
    if cell_type == "code":
        cell["outputs"] = []
    return cell | {"source": as_source(source, like)}


def as_source(text: str, like: object) -> list[str] | str:
    """The source as the notebook writes it: a list of lines, or one text."""
    return text if isinstance(like, str) else _lines(text)


def source_of(cell: dict[str, Any]) -> str:
    """The source of a cell as one text."""
    source = cell.get("source")
    return "".join(map(str, source)) if isinstance(source, list) else str(source or "")


def _lines(text: str) -> list[str]:
    # Not `splitlines`: a form feed or a Unicode line separator inside a line is no line break to Jupyter's readers.
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _new_id(taken: Iterable[str]) -> str:
    ids = set(taken)
    while (made := secrets.token_hex(4)) in ids:
        pass
    return made
