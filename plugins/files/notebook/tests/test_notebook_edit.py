"""NotebookEdit on notebooks that Jupyter's own library made, and which it reads again."""

from __future__ import annotations

import difflib
import json
import os
import random
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import v4

from pegboard import Board

EDITS = 1_000 if os.environ.get("PEGBOARD_TEST_SLOW") == "1" else 300
MADE = {
    "code": v4.new_code_cell,
    "markdown": v4.new_markdown_cell,
    "raw": v4.new_raw_cell,
}


def made(*sources: tuple[str, str], minor: int = 5) -> Any:
    """A notebook with these cells, as Jupyter makes it."""
    notebook = v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "P", "language": "python"}})
    for kind, source in sources:
        cell = MADE[kind](source)
        if minor < 5:
            del cell["id"]
        if kind == "code":
            cell.execution_count = 3
            cell.outputs = [v4.new_output("stream", text="öld\n")]
        notebook.cells.append(cell)
    notebook.nbformat_minor = minor
    return notebook


@pytest.fixture
def path(ctx) -> Path:
    return ctx.cwd / "a.ipynb"


@pytest.fixture
def edit(approve, call_tool, path):
    """Read the notebook, then change it."""

    def call(**given: Any) -> Any:
        call_tool("Read", file_path=str(path))
        return call_tool("NotebookEdit", notebook_path=str(path), **given)

    return call


def three(path: Path, minor: int = 5) -> Any:
    notebook = made(("markdown", "# Täglich"), ("code", "x = 1\nx"), ("raw", "raw"), minor=minor)
    nbformat.write(notebook, path)
    return notebook


def changed_lines(before: str, after: str) -> list[str]:
    return [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "+-"]


def test_a_replaced_code_cell_loses_its_outputs_and_nothing_else_changes(edit, path):
    cell = three(path).cells[1]
    before = path.read_text()
    result = edit(cell_id=cell.id, new_source="x = 2\nprint(x)\n")
    assert result.text == f"Replaced cell 2 (id {cell.id}) of {path}."
    assert (result.value.old_source, result.value.language) == ("x = 1\nx", "python")
    after = nbformat.read(path, 4)
    nbformat.validate(after)
    assert (after.cells[1].source, after.cells[1].outputs, after.cells[1].execution_count) == (
        "x = 2\nprint(x)\n",
        [],
        None,
    )
    kept = [line[2:].strip() for line in changed_lines(before, path.read_text())]
    assert not any("Täglich" in line or "raw" in line for line in kept)
    nbformat.write(after, path.with_name("b.ipynb"))
    assert path.with_name("b.ipynb").read_text() == path.read_text(), "as Jupyter itself would have written it"


def test_a_cell_is_inserted_after_another_or_at_the_start(edit, path):
    cell = three(path).cells[1]
    first = edit(edit_mode="insert", cell_type="markdown", new_source="start")
    after = edit(edit_mode="insert", cell_type="code", cell_id=cell.id, new_source="y = 3")
    assert (first.value.cell_number, after.value.cell_number, after.value.total_cells) == (1, 4, 5)
    read = nbformat.read(path, 4)
    nbformat.validate(read)
    assert [c.source for c in read.cells] == ["start", "# Täglich", "x = 1\nx", "y = 3", "raw"]
    assert read.cells[3].id == after.value.cell_id
    nbformat.write(read, path.with_name("b.ipynb"))
    assert path.with_name("b.ipynb").read_text() == path.read_text()


def test_cells_are_deleted_until_none_is_left_and_the_first_one_comes_back(edit, path):
    three(path)
    for left in (2, 1, 0):
        result = edit(edit_mode="delete", cell_number=left // 2 + 1)
        assert result.value.total_cells == left
        nbformat.validate(nbformat.read(path, 4))
    assert edit(edit_mode="insert", cell_type="code", new_source="1").value.cell_number == 1
    read = nbformat.read(path, 4)
    nbformat.validate(read)
    nbformat.write(read, path.with_name("b.ipynb"))
    assert path.with_name("b.ipynb").read_text() == path.read_text()


def test_a_notebook_of_an_older_format_gets_no_ids_and_takes_numbers(edit, path):
    three(path, minor=4)
    assert edit(edit_mode="insert", cell_type="code", cell_number=3, new_source="1").value.cell_id == ""
    nbformat.validate(nbformat.read(path, 4))
    result = edit(cell_id="x", new_source="")
    assert (result.code, "have no ids. Use cell_number." in result.text) == ("not_found", True)


@pytest.mark.parametrize(("number", "kind"), [(2, "markdown"), (1, "code"), (3, "code"), (2, "raw")])
def test_another_kind_of_cell_stays_valid(edit, path, number, kind):
    notebook = three(path)
    notebook.cells[0]["attachments"] = {"a.png": {"image/png": "aGk="}}
    nbformat.write(notebook, path)
    assert edit(cell_number=number, cell_type=kind, new_source="new").value.cell_type == kind
    read = nbformat.read(path, 4)
    nbformat.validate(read)
    assert read.cells[number - 1].cell_type == kind


@pytest.mark.parametrize(
    "style",
    [
        {"indent": 4, "ensure_ascii": True},
        {"indent": "\t", "ensure_ascii": False},
        {"indent": None, "ensure_ascii": False},
        {"indent": None, "separators": (",", ":")},
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_style_of_the_file_stays(edit, path, style, newline):
    cell = three(path).cells[1]
    whole = json.loads(path.read_text())
    path.write_bytes(json.dumps(whole, **style).replace("\n", newline).encode())
    edit(cell_id=cell.id, new_source="new")
    edit(cell_id=cell.id, edit_mode="insert", cell_type="markdown", new_source="ä")
    text = path.read_bytes().decode()
    read = json.loads(text)
    nbformat.validate(nbformat.from_dict(read))
    if style.get("indent"):
        assert text == json.dumps(read, **style).replace("\n", newline)
    else:
        assert "\n" not in text


def test_a_notebook_that_was_not_read_or_has_changed_is_refused(approve, call_tool, path):
    three(path)
    given = {"notebook_path": str(path), "cell_number": 1, "new_source": "x"}
    assert "has not been read in this conversation" in call_tool("NotebookEdit", given).text
    call_tool("Read", file_path=str(path))
    text = path.read_text().replace("raw", "RAW")
    path.write_text(text)
    result = call_tool("NotebookEdit", given)
    assert (result.code, path.read_text()) == ("stale", text)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"cell_id": "nope", "new_source": "x"}, "has no cell with the id 'nope'. Its ids are: "),
        ({"cell_number": 9, "new_source": "x"}, "has 3 cells; there is no cell 9."),
        ({"new_source": "x"}, "give the cell to replace as cell_id or cell_number."),
        ({"edit_mode": "delete"}, "give the cell to delete as cell_id or cell_number."),
        ({"edit_mode": "insert", "new_source": "x"}, "cell_type is missing."),
        ({"cell_id": "a", "cell_number": 1}, "give either cell_id or cell_number, not both."),
        ({"cell_number": 0}, "cell_number"),
    ],
)
def test_bad_input_gets_a_clear_error_and_nothing_is_lost(edit, path, given, words):
    three(path)
    before = path.read_bytes()
    result = edit(**given)
    assert result.is_error
    assert words in result.text
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not valid JSON"),
        ("[]", "it has no nbformat number"),
        ('{"nbformat": 3, "worksheets": []}', "only version 4 can be edited"),
        ('{"nbformat": 4}', "it has no list of cells"),
        ('{"nbformat": 4, "cells": [3]}', "it has no list of cells"),
        ('{"cells": [{}], "nbformat": 4, "cells": [{}]}', "it has two lists of cells"),
    ],
)
def test_a_file_that_is_no_notebook_is_refused(approve, call_tool, ctx, path, text, words):
    ctx.files.write(path, text.encode())
    result = call_tool("NotebookEdit", notebook_path=str(path), cell_number=1, new_source="x")
    assert words in result.text
    assert path.read_text() == text


def test_other_files_and_missing_ones_are_refused(approve, call_tool, ctx):
    other = call_tool("NotebookEdit", notebook_path="a.py", cell_number=1)
    missing = call_tool("NotebookEdit", notebook_path="no.ipynb", cell_number=1)
    assert "is not a notebook. Use Edit for other files." in other.text
    assert missing.code == "not_found"


def test_a_deny_rule_for_edits_covers_notebooks(tmp_path):
    three(tmp_path / "a.ipynb")
    before = (tmp_path / "a.ipynb").read_bytes()
    board = Board.load(settings={"permissions": {"deny": ["Edit(*.ipynb)"]}}, cwd=tmp_path)
    given = {"notebook_path": "a.ipynb", "cell_number": 1, "new_source": "x"}
    result = board.call_sync("NotebookEdit", given)
    assert (result.code, "Edit(*.ipynb)" in result.text) == ("permission_denied", True)
    assert (tmp_path / "a.ipynb").read_bytes() == before


def test_the_mode_of_the_file_stays(edit, path):
    three(path)
    path.chmod(0o640)
    edit(cell_number=1, new_source="x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(path.parent) == [path.name]


def test_many_random_edits_leave_a_valid_notebook_and_the_expected_cells(edit, path, call_tool):
    """Against a list of sources: what Jupyter reads after each edit is what the list says."""
    chance = random.Random(20)
    nbformat.write(made(), path)
    expected: list[str] = []
    call_tool("Read", file_path=str(path))
    for turn in range(EDITS):
        kind = chance.choice(["code", "markdown", "raw"])
        source = chance.choice(["", "a", "a\n", "ü\r\nb", '"\\n{}[],', "\u2028x\f\n", "x" * 300, "\n\n"]) + str(turn)
        mode = chance.choice(["replace", "insert", "insert", "delete"]) if expected else "insert"
        at = chance.randint(1, len(expected)) if expected else None
        result = call_tool("NotebookEdit", _given(path, mode, at, source, kind))
        assert not result.is_error, result.text
        if mode == "insert":
            expected.insert(at or 0, source)
        elif mode == "delete":
            del expected[at - 1]
        else:
            expected[at - 1] = source
        if turn % 50 == 49:
            _check(path, expected)
    _check(path, expected)


def _given(path: Path, mode: str, at: int | None, source: str, kind: str) -> dict[str, Any]:
    given: dict[str, Any] = {"notebook_path": str(path), "edit_mode": mode, "new_source": source, "cell_type": kind}
    return given | ({"cell_number": at} if at else {})


def _check(path: Path, expected: list[str]) -> None:
    read = nbformat.read(path, 4)
    nbformat.validate(read)
    assert [cell.source for cell in read.cells] == expected


@pytest.mark.parametrize("mode", ["replace", "insert", "delete"])
def test_every_byte_before_and_after_the_cell_stays(edit, path, mode):
    """Odd spacing, doubled keys of other cells and escapes included: only the one cell is written anew."""
    cells = ['{"cell_type": "raw",  "id":"a","metadata": {},"source": ["\\u00e4"]}', "CELL"]
    cells.append('{ "metadata":{ } , "id" : "c", "source":"x",\n "cell_type":"raw" }')
    one = '{"cell_type": "raw", "id": "b", "metadata": {}, "source": ["b"]}'
    head, tail = '{"nbformat":4 ,\n"nbformat_minor": 5, "cells" : [ ', ' ],\t"metadata": {"z": 1e3, "a": [ ]}}\n\n'
    path.write_text(head + " ,\n ".join(cells).replace("CELL", one) + tail)
    kind = {"cell_type": "raw"} if mode == "insert" else {}
    assert not edit(cell_id="b", edit_mode=mode, new_source="new", **kind).is_error
    text = path.read_text()
    assert text.startswith(head + cells[0])
    assert text.endswith(cells[2] + tail)
    assert one in text if mode == "insert" else one not in text
    nbformat.validate(nbformat.from_dict(json.loads(text)))


def test_a_notebook_that_is_edited_in_the_middle_of_a_kill_is_whole(tmp_path):
    """The old bytes or the new ones, never a mixture."""
    path = tmp_path / "a.ipynb"
    three(path)
    host = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True)
    assert host.stdout
    for _ in range(5):
        host.stdout.readline()
    host.kill()
    host.communicate()
    nbformat.validate(nbformat.read(path, 4))


KILLED = """
import sys
from pathlib import Path
from pegboard import Board
path = Path(sys.argv[1])
board = Board.load(settings={"permissions": {"allow": ["Edit"]}}, cwd=path.parent)
ctx = board.context()
board.call_sync("Read", {"file_path": str(path)}, ctx)
for number in range(10_000):
    given = {"notebook_path": str(path), "cell_number": 2, "new_source": "x" * number}
    assert not board.call_sync("NotebookEdit", given, ctx).is_error
    print(number, flush=True)
"""
