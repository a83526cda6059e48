"""The tool itself: what it refuses, how it counts, and what it shows."""

import os

import pytest
from hypothesis import given as each
from hypothesis import strategies as st

from pegboard_lsp.addresses import lines_of, path_of, to_column, to_units, uri_of
from pegboard_lsp.lsp_output import LspItem, LspOutput, text_of
from pegboard_lsp.symbols import in_text, matches

from .world import ask

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@each(TEXT, st.integers(0, 25))
def test_columns_survive_the_way_to_a_server_and_back(line, column):
    unit = to_units(line, column)
    assert unit == len(line[:column].encode("utf-16-le")) // 2
    assert to_column(line, unit) == min(column, len(line))


@each(
    st.binary(min_size=1, max_size=20).filter(
        lambda raw: b"\0" not in raw and b"/" not in raw and raw not in (b".", b"..")
    )
)
def test_paths_survive_as_addresses(raw):
    path = "/" + os.fsdecode(raw)
    assert path_of(uri_of(path)) == path


@pytest.mark.parametrize("uri", [None, 5, "http://x/y", "file://host/x", "untitled:1", "file://[", "file:///a%00b"])
def test_other_addresses_are_no_files(uri):
    assert path_of(uri) is None


def test_only_the_ends_of_lines_end_lines():
    assert lines_of("a\fb\u2028c\r\nd\re\n") == ["a\fb\u2028c", "d", "e", ""]


@pytest.mark.parametrize(
    ("symbol", "line", "column"),
    [
        ("add", "xadd add", 5),
        ("Greeter.greet", "Greeter().greet(1)", 10),
        ("add", '#include "add.h"', 10),
        ("add", 'f("add", add)', 9),
        ("ns::add", "int ns::add()", 8),
        ("add", "adder", None),
    ],
)
def test_a_name_is_found_as_a_word(symbol, line, column):
    assert in_text(symbol, line) == column


@pytest.mark.parametrize(
    ("wanted", "names", "fits"),
    [
        ("greet", ("Greeter", "greet"), True),
        ("Greeter.greet", ("Greeter", "greet"), True),
        ("Other.greet", ("Greeter", "greet"), False),
        ("greet", ("greet(int)",), True),
        ("ns::Greeter::greet", ("ns", "Greeter", "greet"), True),
    ],
)
def test_a_name_means_a_symbol(wanted, names, fits):
    assert matches(wanted, names) == fits


REFUSED = [
    ({"operation": "rename"}, "operation must be"),
    ({"operation": "hover"}, "hover needs symbol, or file_path with line and character."),
    ({"operation": "hover", "file_path": "a.py", "line": 1}, "hover needs symbol, or file_path with line"),
    ({"operation": "hover", "symbol": " "}, "symbol is empty."),
    ({"operation": "hover", "symbol": "x", "line": 1}, "line needs file_path."),
    ({"operation": "hover", "file_path": "a.py", "symbol": "x", "character": 1}, "character needs line."),
    ({"operation": "diagnostics"}, "diagnostics needs file_path."),
    ({"operation": "workspaceSymbol"}, "workspaceSymbol needs symbol: the name to look for."),
    ({"operation": "hover", "file_path": "a.py", "line": 0, "character": 1}, "line must be"),
    ({"operation": "hover", "symbol": "x", "limit": 5000}, "limit must be"),
    ({"operation": "documentSymbol", "file_path": "no.py"}, "There is no file"),
    ({"operation": "documentSymbol", "file_path": "."}, "is not a file."),
    ({"operation": "documentSymbol", "file_path": "folder.py"}, "is not a file."),
    (
        {"operation": "documentSymbol", "file_path": "a.xyz"},
        "No language server is known for files that end in .xyz.",
    ),
    (
        {"operation": "hover", "file_path": "a.py", "line": 9, "character": 1},
        "line is 9, and the file has 2 lines.",
    ),
    ({"operation": "hover", "file_path": "a.py", "line": 1, "character": 99}, "character is 99, and line 1 has 5"),
    ({"operation": "hover", "file_path": "a.py", "line": 1, "symbol": "y"}, '"y" is not on line 1: "x = 1".'),
    ({"operation": "hover", "file_path": "a.py", "symbol": "nope"}, '"nope" does not occur in'),
    ({"operation": "hover", "symbol": "nope"}, 'The server knows no symbol "nope". Pass file_path, or use Grep.'),
    ({"operation": "hover", "symbol": "twice"}, '2 symbols are called "twice": '),
]


@pytest.mark.anyio
async def test_wrong_inputs_are_refused_with_a_reason(world):
    world.write("a.py", "x = 1\n")
    world.write("a.xyz", "x\n")
    world.write("b.py", "def twice(): ...\n")
    world.write("c.py", "def twice(): ...\n")
    (world.project / "folder.py").mkdir()
    board = world.board()
    for given, reason in REFUSED:
        result = await board.call("LSP", given)
        assert result.is_error, given
        assert reason in result.text, given


@pytest.mark.anyio
async def test_a_limit_says_what_is_left_out(world):
    world.write("a.py", "".join(f"x{number} = {number}\n" for number in range(30)))
    text = (await ask(world.board(), "documentSymbol", "a.py", limit=2)).text
    assert text.splitlines()[0] == "30 symbols in a.py (ty):"
    assert text.splitlines()[-1] == "(Showing 2 of 30; pass a larger limit for more.)"


def test_a_path_cannot_pose_as_more_lines():
    item = LspItem(path="a\nb.py", line=1, name="x", kind="class")
    said = text_of(LspOutput(operation="workspaceSymbol", server="ty", subject="x", items=[item], total=1))
    assert said == "1 symbol for x (ty):\na\\nb.py:1:1: class x"
