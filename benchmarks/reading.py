"""What reading costs: the Read tool on 2,000 lines against the fastest known form, and memory on huge files."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import interleave, options, report

from pegboard.context import Context, Services
from pegboard_files.encodings import charset_of
from pegboard_files.service import LocalFiles, file_digest
from pegboard_read import Read, ReadInput
from pegboard_read.line_numbers import numbered
from pegboard_read.pages import LineRange, page_of

LINES = 2_000
REPEATS = 50
PREFIXES = [f"\n{number}\t" for number in range(LINES + 1)]

MEMORY = """
import resource, sys
from pathlib import Path
from pegboard.context import Context, Services
from pegboard_files.service import LocalFiles
from pegboard_read import Read, ReadInput
import pegboard_read.streams
path = Path(sys.argv[1])
ctx = Context(path.parent, services=Services(files=LocalFiles()))
small = path.with_name("small"); small.write_text("x\\n")
Read().content(Read().call(ReadInput(file_path=small), ctx))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
Read().content(Read().call(ReadInput(file_path=path, limit=eval(sys.argv[2])), ctx))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
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


def timed(act: object) -> float:
    began = time.process_time()
    for _ in range(REPEATS):
        act()  # type: ignore[operator]
    return (time.process_time() - began) / REPEATS


def memory(path: Path, limit: str) -> float:
    """Megabytes above what the process had after reading a small file."""
    command = [sys.executable, "-c", MEMORY, str(path), limit]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    given = options(rounds=25)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        path = folder / "source.py"
        path.write_text("".join(f"    value_{number} = compute({number}, name='x')\n" for number in range(LINES)))
        tool, args, files = Read(), ReadInput(file_path=path), LocalFiles(folder / "state")
        ctx = Context(folder, services=Services(files=files))

        def ours() -> str:
            files.forget_views()  # A repeated read would be answered with a short note.
            return str(tool.content(tool.call(args, ctx)))

        if ours() != fastest(path):
            raise SystemExit("the two forms differ")

        def without_memory() -> str:
            """What Read does between opening and wording, without the digest and the state of the file."""
            with path.open("rb", buffering=0) as file:
                data = file.read()
            page = page_of(data, charset_of(data), LineRange(None, None, 25_000))
            return numbered(page.lines, page.start)

        cases = {
            "fastest known form": lambda: timed(lambda: fastest(path)),
            "the same and a SHA-256 of the bytes": lambda: timed(lambda: (fastest(path), file_digest(path))),
            "Read: reading and numbering": lambda: timed(without_memory),
            "Read: the whole call and its words": lambda: timed(ours),
        }
        rows = interleave(cases, given.rounds)
        report(f"Reading and numbering {LINES} lines", rows, "fastest known form", as_json=given.json)

        huge = folder / "huge"
        with huge.open("wb") as stream:
            stream.write(b"some words in a line\n" * 10_000)
            stream.truncate(1_000_000_000)
        line = folder / "line"
        with line.open("wb") as stream:
            stream.write(b"x" * 10_000)
            stream.truncate(500_000_000)
        for title, file, limit in (("100 lines out of 1 GB", huge, "100"), ("one line of 500 MB", line, "None")):
            print(f"  {title}: {memory(file, limit):.1f} MB above the start")


if __name__ == "__main__":
    main()
