"""What Read, Edit and Write cost, against the fastest plain form of the same; and the memory of Read on huge files."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path

import anyio

from pegboard import Board, Call, Context
from pegboard.context import Services
from pegboard.settings import Layer, Settings, load
from pegboard_files.encodings import charset_of
from pegboard_files.service import LocalFiles, file_digest
from pegboard_read import Read, ReadInput
from pegboard_read.line_numbers import numbered
from pegboard_read.pages import LineRange, page_of

from .harness import CPU, MEMORY, Comparison, Pace, cpu, interleave, wall

LINES = 2_000
REPEATS = 50
PREFIXES = [f"\n{number}\t" for number in range(LINES + 1)]

MEMORY_PROGRAM = """
import sys
from pathlib import Path
from benchmarks.harness import peak_memory
from pegboard.context import Context, Services
from pegboard_files.service import LocalFiles
from pegboard_read import Read, ReadInput
import pegboard_read.streams
path = Path(sys.argv[1])
ctx = Context(path.parent, services=Services(files=LocalFiles()))
small = path.with_name("small"); small.write_text("x\\n")
Read().content(Read().call(ReadInput(file_path=small), ctx))
before = peak_memory()
Read().content(Read().call(ReadInput(file_path=path, limit=eval(sys.argv[2])), ctx))
print(before, peak_memory())
"""


def fastest(path: Path) -> str:
    """The reference: read, decode, split, join with a table of prefixes by slices; nothing checked or remembered."""
    with path.open("rb") as file:
        lines = file.read().decode().split("\n")
    lines.pop()
    parts = [""] * (2 * len(lines))
    parts[::2] = PREFIXES[1 : len(lines) + 1]
    parts[1::2] = lines
    return "".join(parts)[1:]


def memory(path: Path, limit: str) -> tuple[float, float]:
    """Megabytes of a process that has read a small file, and after it has read this one."""
    command = [sys.executable, "-c", MEMORY_PROGRAM, str(path), limit]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True)
    before, after = done.stdout.split()
    return float(before), float(after)


def benchmark(pace: Pace) -> Iterator[Comparison]:
    """Reading by CPU time and memory; changing files by wall-clock time, because the disk is waited for."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        yield reading(pace, folder)
        yield from changing(pace, folder)
        yield from huge(pace, folder)


def reading(pace: Pace, folder: Path) -> Comparison:
    """A file of 2,000 lines."""
    path = folder / "source.py"
    path.write_text("".join(f"    value_{number} = compute({number}, name='x')\n" for number in range(LINES)))
    tool, args, files = Read(), ReadInput(file_path=path), LocalFiles(folder / "state")
    ctx = Context(folder, services=Services(files=files))

    def ours() -> str:
        files.forget_views()  # A repeated read would be answered with a short note.
        return str(tool.content(tool.call(args, ctx)))

    if ours() != fastest(path):
        raise RuntimeError("the two forms differ")

    def without_memory() -> str:
        """What Read does between opening and wording, without the digest and the state of the file."""
        with path.open("rb", buffering=0) as file:
            data = file.read()
        page = page_of(data, charset_of(data), LineRange(None, None, 25_000))
        return numbered(page.lines, page.start)

    repeats = pace.size(REPEATS, 5)
    cases = {
        "fastest known form": partial(cpu, partial(fastest, path), repeats),
        "the same and a SHA-256 of the bytes": partial(cpu, lambda: (fastest(path), file_digest(path)), repeats),
        "Read: reading and numbering": partial(cpu, without_memory, repeats),
        "Read: the whole call and its words": partial(cpu, ours, repeats),
    }
    samples = interleave(cases, pace.rounds(25))
    return Comparison("files/read", f"reading and numbering {LINES:,} lines", samples, "fastest known form", CPU)


def replace_file(path: Path, text: str) -> None:
    """The plain form of a change that is never seen half done."""
    other = path.with_suffix(".tmp")
    other.write_text(text)
    os.replace(other, path)


def changing(pace: Pace, folder: Path) -> Iterator[Comparison]:
    """Edit and Write through the board, against a replaced file."""
    env = {"HOME": str(folder / "home"), "PATH": os.environ["PATH"]}
    loaded = load(folder, env, managed=str(folder / "none"))
    allow = Layer("user", "benchmark", {"permissions.allow": ["Edit", "Write"]})
    board = Board.load(settings=Settings([allow, *loaded.layers], cwd=str(folder)), env=env)
    ctx = board.context()
    path, plain, written = folder / "edited.py", folder / "plain.py", folder / "written.py"
    text = "".join(f"line {number}\n" for number in range(200)) + "count 0 \n"
    path.write_text(text)
    plain.write_text(text)
    numbers, plain_numbers, names = count(), count(), count()

    def edit_plainly() -> None:
        number = next(plain_numbers)
        replace_file(plain, plain.read_text().replace(f"count {number} ", f"count {number + 1} "))

    with anyio.from_thread.start_blocking_portal() as portal:

        def call(name: str, given: dict[str, str]) -> None:
            result = portal.call(board.dispatch, Call("1", name, given), ctx)
            if result.is_error:
                raise RuntimeError(result.text)

        def edit() -> None:
            number = next(numbers)
            words = {"old_string": f"count {number} ", "new_string": f"count {number + 1} "}
            call("Edit", {"file_path": str(path), **words})

        def write() -> None:
            call("Write", {"file_path": f"{written}{next(names)}", "content": text})

        call("Read", {"file_path": str(path)})
        cases = {"plain": partial(wall, edit_plainly), "Edit": partial(wall, edit)}
        samples = interleave(cases, pace.rounds(60))
        yield Comparison("files/edit", "one replacement in 200 lines", samples, "plain")
        cases = {"plain": partial(wall, lambda: replace_file(plain, text)), "Write": partial(wall, write)}
        samples = interleave(cases, pace.rounds(60))
        yield Comparison("files/write", "a new file of 200 lines", samples, "plain")


def huge(pace: Pace, folder: Path) -> Iterator[Comparison]:
    """What a process needs to read parts of files that are larger than anything it could hold."""
    lines, line = folder / "lines", folder / "line"
    with lines.open("wb") as stream:
        stream.write(b"some words in a line\n" * 10_000)
        stream.truncate(pace.size(1_000_000_000, 10_000_000))
    with line.open("wb") as stream:
        stream.write(b"x" * 10_000)
        stream.truncate(pace.size(500_000_000, 5_000_000))
    for name, title, path, limit in (
        ("lines", "100 lines of a large file", lines, "100"),
        ("line", "one long line", line, "None"),
    ):
        before, after = memory(path, limit)
        samples = {"a small file": [before], title: [after]}
        size = path.stat().st_size // 1_000_000
        yield Comparison(f"files/memory-{name}", f"Read: {title}, {size:,} MB", samples, "a small file", MEMORY)
