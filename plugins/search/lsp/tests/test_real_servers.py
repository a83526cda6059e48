"""Three real servers on small real projects, with answers that are known."""

import json
import sys
from pathlib import Path

import pytest
from tests.node import installed

from .conftest import PROGRAM
from .world import YES, Person, ask, pids

pytestmark = pytest.mark.anyio


@pytest.fixture
def python(world):
    world.write("greeter.py", PROGRAM)
    world.write(
        "app.py", 'from greeter import Greeter\n\nlabel = "😀"; said = Greeter().greet("Ada")\nGreeter().greet(3)\n'
    )
    return world


async def test_ty_knows_a_python_project(python):
    board = python.board()

    async def text(*words, **more):
        result = await ask(board, *words, **more)
        assert not result.is_error, result.text
        return result.text

    definition = "greeter.py:2:9: def greet(self, name: str) -> str:"
    assert (
        await text("goToDefinition", "app.py", line=3, symbol="greet") == f"1 definition of greet (ty):\n{definition}"
    )
    # A character outside the basic plane is two units for the server and one for us.
    column = 'label = "😀"; said = Greeter().greet("Ada")'.index("greet") + 1
    assert definition in await text("goToDefinition", "app.py", line=3, character=column)
    assert await text("findReferences", symbol="Greeter.greet") == "\n".join(
        [
            "4 references to Greeter.greet (ty):",
            'app.py:3:31: label = "😀"; said = Greeter().greet("Ada")',
            "app.py:4:11: Greeter().greet(3)",
            definition,
            'greeter.py:8:15: Greeter().greet("Ada")',
        ]
    )
    hover = await text("hover", "app.py", line=3, symbol="greet")
    assert "greet(name: str) -> str" in hover
    assert "Say hello." in hover
    assert await text("documentSymbol", "greeter.py") == (
        "3 symbols in greeter.py (ty):\n1:7 class Greeter\n  2:9 method greet\n7:5 function main"
    )
    assert "greeter.py:1:7: class Greeter — class Greeter:" in await text("workspaceSymbol", symbol="Greet")
    calls = await text("incomingCalls", "greeter.py", symbol="greet")
    assert "greeter.py:7:5: function main calls it on line 8 — def main() -> None:" in calls
    assert "greeter.py:2:9: method greet, called on line 8" in await text("outgoingCalls", "greeter.py", symbol="main")
    assert "function main — def main() -> None:" in await text("prepareCallHierarchy", "greeter.py", symbol="main")
    problem = await text("diagnostics", "app.py")
    assert problem.startswith("1 problem in app.py (ty):\napp.py:4:17: error: Argument to bound method")
    assert await text("diagnostics", "greeter.py") == "ty found no problems in greeter.py."
    assert len(pids(board)) == 1


async def test_clangd_knows_a_c_project(world):
    world.write("add.h", "int add(int a, int b);\n")
    world.write("add.c", '#include "add.h"\nint add(int a, int b) { return a + b; }\n')
    world.write("main.c", '#include "add.h"\nint main(void) { int x = add(1, 2); return y; }\n')
    commands = [
        {"directory": str(world.project), "file": name, "command": f"cc -c {name}"} for name in ("add.c", "main.c")
    ]
    world.write("compile_commands.json", json.dumps(commands))
    board = world.board()
    assert (
        "add.c:2:5: int add(int a, int b) { return a + b; }"
        in (await ask(board, "goToDefinition", "main.c", symbol="add")).text
    )
    found = (await ask(board, "findReferences", "main.c", symbol="add")).text
    assert [line.split(": ")[0] for line in found.splitlines()[1:]] == ["add.c:2:5", "add.h:1:5", "main.c:2:26"]
    assert "int add(int a, int b)" in (await ask(board, "hover", "main.c", symbol="add")).text
    assert (
        "main.c:2:5: function main calls it on line 2"
        in (await ask(board, "incomingCalls", "add.c", symbol="add")).text
    )
    assert "undeclared identifier 'y'" in (await ask(board, "diagnostics", "main.c")).text
    world.write("main.c", '#include "add.h"\nint main(void) { return add(1, 2); }\n')
    assert (await ask(board, "diagnostics", "main.c")).text == "clangd found no problems in main.c."
    # The file is the same, and another that it includes has changed.
    world.write("add.h", "int plus(int a, int b);\n")
    assert "'add'" in (await ask(board, "diagnostics", "main.c")).text


async def test_typescript_knows_a_project_and_asks_before_it_starts_a_program_of_the_project(world):
    modules = installed("typescript@7.0.2")
    (world.project / "node_modules").symlink_to(modules)
    world.write("tsconfig.json", '{"compilerOptions": {"strict": true}, "include": ["src"]}')
    world.write(
        "src/shape.ts",
        "export interface Shape { area(): number }\nexport class Square implements Shape {\n"
        "  constructor(private side: number) {}\n  area(): number { return this.side ** 2 }\n}\n",
    )
    world.write("src/main.ts", 'import { Square } from "./shape";\nconst n: string = new Square(2).area();\n')
    person = Person(YES)
    world.env["PATH"] = str(Path(sys.executable).parent)  # No `tsc` of this machine.
    board = world.board(person, env={"PATH": f"{Path(modules).parent}:/usr/bin:/bin"})
    assert (
        "src/shape.ts:2:14: export class Square"
        in (await ask(board, "goToDefinition", "src/main.ts", symbol="Square")).text
    )
    assert (
        "node_modules/.bin/tsc --lsp --stdio, a program in the working directory" in person.questions[0].decision.reason
    )
    assert "3 references" in (await ask(board, "findReferences", symbol="Square")).text
    assert "src/shape.ts:2:14" in (await ask(board, "goToImplementation", "src/shape.ts", symbol="Shape")).text
    assert "not assignable to type 'string'" in (await ask(board, "diagnostics", "src/main.ts")).text
    assert "calls it on line 2" in (await ask(board, "incomingCalls", "src/shape.ts", symbol="Square.area")).text
    assert len(person.questions) == 1
