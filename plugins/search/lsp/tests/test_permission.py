"""What is asked before a server starts, and what rules withhold."""

import json
import sys
from pathlib import Path

import pytest

from pegboard import Board
from pegboard_lsp.lsp import Lsp, LspInput

from .conftest import PROGRAM
from .world import RAW, YES, Person, ask, pids

pytestmark = pytest.mark.anyio


@pytest.fixture
def python(world):
    world.write("greeter.py", PROGRAM)
    world.write(
        "secret/keys.py",
        "from greeter import Greeter\n\ndef secret() -> str:\n"
        "    '''The password is swordfish.'''\n    return Greeter().greet('x')\n",
    )
    world.write("app.py", "from greeter import Greeter\nfrom secret.keys import secret\n\nGreeter().greet(secret())\n")
    return world


def program(path, name="toy-server"):
    """The small server as a program of its own."""
    path.mkdir(parents=True, exist_ok=True)
    made = path / name
    made.write_text(f"#!/bin/sh\nexec {sys.executable} {RAW} '{{}}'\n")
    made.chmod(0o755)
    return made


async def test_reading_with_a_known_server_asks_nothing(python):
    person = Person()
    result = await ask(python.board(person), "hover", "app.py", line=4, symbol="secret")
    assert "swordfish" in result.text
    assert not person.questions


async def test_places_and_texts_of_denied_files_are_withheld(python):
    board = python.board(permissions={"deny": ["Read(secret/**)"]})
    found = (await ask(board, "findReferences", "greeter.py", symbol="greet")).text
    assert "secret" not in found.replace("secret())", "")
    assert found.startswith("3 references to greet (ty):")
    assert found.endswith("(Places in files withheld by permission rules are not shown.)")
    assert "keys" not in (await ask(board, "goToDefinition", "app.py", line=4, symbol="secret")).text
    hover = (await ask(board, "hover", "app.py", line=4, symbol="secret")).text
    assert hover.startswith("ty has nothing to say about secret.")
    assert "swordfish" not in hover
    assert "keys" not in (await ask(board, "workspaceSymbol", symbol="secret")).text
    assert "keys" not in (await ask(board, "incomingCalls", "greeter.py", symbol="greet")).text
    by_name = await ask(board, "hover", symbol="secret")
    assert by_name.is_error
    assert "keys" not in by_name.text
    denied = await ask(board, "documentSymbol", "secret/keys.py")
    assert denied.is_error
    assert "Read(secret/**)" in denied.text


async def test_values_of_denied_files_are_withheld_from_messages_and_types(world):
    world.write("secret/__init__.py", "")
    world.write("secret/keys.py", "from typing import Final\nKEY: Final = 'swordfish'\nCODE: Final = 987654\n")
    world.write(
        "app.py",
        "from secret.keys import CODE, KEY\nkey = KEY\nfirst: int = KEY\nsecond: str = CODE\nthird: int = 'mine'\n",
    )
    board = world.board(permissions={"deny": ["Read(secret/**)"]})
    found = (await ask(board, "diagnostics", "app.py")).text
    assert 'Literal["…"]' in found
    assert 'Literal["mine"]' in found
    hover = (await ask(board, "hover", "app.py", line=2, symbol="key")).text
    for text in (found, hover):
        assert "swordfish" not in text
        assert "987654" not in text
    assert "swordfish" in (await ask(world.board(), "diagnostics", "app.py")).text


async def test_a_rule_can_deny_the_tool_for_a_path(python):
    board = python.board(permissions={"deny": ["LSP(secret/**)"]})
    assert (await ask(board, "documentSymbol", "secret/keys.py")).is_error
    assert not (await ask(board, "documentSymbol", "app.py")).is_error


async def test_a_file_outside_the_working_directories_is_asked_about(python, tmp_path):
    (tmp_path / "other.py").write_text("x = 1\n")
    person = Person()
    assert (await ask(python.board(person), "documentSymbol", tmp_path / "other.py")).is_error
    assert "outside the working directories" in person.questions[0].decision.reason


async def test_lines_of_files_outside_are_not_read(world, tmp_path):
    outside = tmp_path / "outside.toy"
    outside.write_text("a private line\n")
    (world.project / "link.toy").symlink_to(outside)
    world.write("a.toy", "a word\n")
    places = [
        {"uri": path.as_uri(), "range": {"start": {"line": 0, "character": 2}}}
        for path in (outside, world.project / "link.toy")
    ]
    board = world.raw(answers={"textDocument/definition": places})
    text = (await ask(board, "goToDefinition", "a.toy", line=1, symbol="word")).text
    assert "private" not in text
    assert f"{outside}:1:3" in text


async def test_a_program_in_the_project_is_asked_about_once_while_it_runs(world):
    made = program(world.project / ".venv/bin")
    world.write("a.toy", "a word\n")
    person = Person(YES)
    entry = {"command": "toy-server", "extensionToLanguage": {".toy": "toy"}}
    board = world.board(person, lsp={"servers": {"toy": entry}})
    assert not (await ask(board, "goToDefinition", "a.toy", line=1, symbol="word")).is_error
    [question] = person.questions
    assert question.decision.reason == f"It would start the language server {made}, a program in the working directory."
    assert person.previews == [f"Start {made}\nin {world.project}"]
    assert not (await ask(board, "findReferences", "a.toy", line=1, symbol="word")).is_error
    assert len(person.questions) == 1
    await board.call("LSP", {"operation": "hover", "file_path": "a.toy", "line": 1, "symbol": "word"})
    world.close()
    assert (await ask(board, "goToDefinition", "a.toy", line=1, symbol="word")).is_error
    assert len(person.questions) == 2
    assert not pids(board)


async def test_a_script_of_the_project_is_asked_about_too(world):
    (world.project / "server.py").write_bytes(RAW.read_bytes())
    world.write("a.toy", "a word\n")
    person = Person()
    entry = {"command": sys.executable, "args": ["server.py"], "extensionToLanguage": {".toy": "toy"}}
    board = world.board(person, lsp={"servers": {"toy": entry}})
    assert (await ask(board, "hover", "a.toy", line=1, symbol="word")).is_error
    assert "a program in the working directory" in person.questions[0].decision.reason


async def test_servers_of_a_project_count_only_after_trust_and_are_asked_about(world, tmp_path):
    made = program(tmp_path / "bin")
    entry = {"command": str(made), "extensionToLanguage": {".toy": "toy"}}
    file = world.write(".lsp.json", json.dumps({"toy": entry}))
    world.write("a.toy", "a word\n")
    before = world.board()
    result = await ask(before, "hover", "a.toy", line=1, symbol="word")
    assert "No language server is known for files that end in .toy." in result.text
    assert "are not used until you trust the project: pegboard trust." in result.text
    assert any("trust the project" in str(notice) for notice in before.pool.notices)
    person = Person(YES)
    after = world.board(person, trusted=True)
    assert not (await ask(after, "goToDefinition", "a.toy", line=1, symbol="word")).is_error
    assert person.questions[0].decision.reason == f"It would start the language server {made}, which {file} names."


async def test_a_server_that_runs_the_project_is_asked_about_until_the_project_is_trusted(world, tmp_path):
    program(tmp_path / "bin", "rust-analyzer")
    world.write("a.rs", "fn main() {}\n")
    what = "It would start rust-analyzer, which runs the build scripts and macros of the project."
    reason = f"{what} The project is not trusted."

    def facts(board: Board):
        return Lsp().facts(LspInput(operation="documentSymbol", file_path=Path("a.rs")), board.context())

    path = {"env": {"PATH": str(tmp_path / "bin")}}
    assert (facts(world.board(**path)).reason, facts(world.board(**path)).level) == (reason, "mutating")
    assert facts(world.board(trusted=True, **path)).level == "read-only"


@pytest.mark.parametrize("command", ["basedpyright-langserver", "pyright-langserver", "pyrefly", "pylsp"])
async def test_a_server_that_runs_the_python_of_the_project_is_asked_about(world, tmp_path, command):
    program(tmp_path / "bin", command)
    world.write("a.py", "x = 1\n")
    path = {"env": {"PATH": str(tmp_path / "bin")}}
    args = LspInput(operation="documentSymbol", file_path=Path("a.py"))
    facts = Lsp().facts(args, world.board(**path).context())
    assert facts.level == "mutating"
    assert "which runs the Python that the project has in .venv. The project is not trusted." in facts.reason
    assert Lsp().facts(args, world.board(trusted=True, **path).context()).level == "read-only"


async def test_a_missing_server_says_how_to_install_it(world):
    world.write("a.py", "x = 1\n")
    nowhere = world.board(env={"PATH": "/nonexistent"})
    result = await ask(nowhere, "documentSymbol", "a.py")
    assert result.code == "unsupported"
    assert result.text == (
        "No language server for .py files is installed. Ask the user to install ty (pip install ty) or basedpyright "
        "(pip install basedpyright) or pyright (npm install -g pyright) or pyrefly (pip install pyrefly) or pylsp "
        "(pip install python-lsp-server). Until then, use Grep."
    )
