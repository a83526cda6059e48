"""What Grep and Glob cost on top of ripgrep, over 6,000 and 100,000 files.

Grep is compared with the very command it runs; Glob with `rg --files -g` and a stat of each match. Runs are interleaved
and the median of many rounds is taken, once of the CPU time of this process and its children, which a busy machine
disturbs little, and once of the wall time. The memory of Glob over 100,000 files is that of a process of its own.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from pegboard import Board, Call, Context
from pegboard.settings import load
from pegboard_grep.engines import bundled, engine_for
from pegboard_grep.grep import GrepInput, _search

from .harness import CPU, MEMORY, Comparison, Measure, Pace, Samples, interleave, peak_memory

IN_FOLDER = 20
ENDINGS = ("py", "txt", "md", "js", "log")


def grow(root: Path, files: int, lines: int) -> None:
    """A repository with so many files of so many lines."""
    dice = random.Random(1)
    words = [f"word{number}" for number in range(500)]
    (root / ".git").mkdir(parents=True)
    (root / ".gitignore").write_text("*.log\n/build/\n__pycache__/\n*.pyc\n!keep.pyc\n")
    for number in range(files // IN_FOLDER):
        folder = root / f"pkg{number % 37}" / f"mod{number // 37 % 29}" / f"d{number}"
        folder.mkdir(parents=True)
        for at in range(IN_FOLDER):
            text = "\n".join(" ".join(dice.choices(words, k=10)) for _ in range(lines))
            (folder / f"file{at}.{ENDINGS[at % len(ENDINGS)]}").write_text(text + "\n")


def board_in(root: Path) -> tuple[Board, Context]:
    env = {"HOME": str(root), "PATH": os.environ["PATH"]}
    board = Board.load(settings=load(root, env, managed=str(root / "none")), env=env)
    return board, board.context()


async def timed(board: Board, ctx: Context, name: str, given: dict[str, Any]) -> float:
    began = time.perf_counter()
    result = await board.dispatch(Call("1", name, given), ctx)
    taken = time.perf_counter() - began
    if result.is_error:
        raise RuntimeError(result.text)
    return taken


def raw(argv: tuple[str, ...], cwd: Path, *, stat: bool = False) -> float:
    """The program alone, its output taken; with `stat`, each file that it names is looked at."""
    began = time.perf_counter()
    output = subprocess.run(argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False).stdout
    if stat:
        for name in output.split(b"\0"):
            if name:
                os.stat(os.path.join(os.fsencode(cwd), name))
    return time.perf_counter() - began


def cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def compare(name: str, title: str, cases: dict[str, Measure], rounds: int) -> Iterator[Comparison]:
    """Measure each case by wall and by CPU time; the first is the reference."""
    walls: Samples = {case: [] for case in cases}

    def both(case: str, measure: Measure) -> float:
        began = cpu()
        walls[case].append(measure())
        return cpu() - began

    samples = interleave({case: partial(both, case, measure) for case, measure in cases.items()}, rounds)
    reference = next(iter(cases))
    yield Comparison(name, title, {case: taken[1:] for case, taken in walls.items()}, reference)
    yield Comparison(f"{name}-cpu", f"{title}, CPU", samples, reference, CPU)


GREPS: dict[str, dict[str, Any]] = {
    "few files": {"pattern": "word12 word4 word4"},
    "a fifth of the files": {"pattern": "word12 word4"},
    "lines": {"pattern": "word12 word4", "output_mode": "content"},
    "counts": {"pattern": "word12 word4", "output_mode": "count"},
}


def compare_grep(root: Path, files: int, rounds: int) -> Iterator[Comparison]:
    board, ctx = board_in(root)
    with anyio.from_thread.start_blocking_portal() as portal:
        for title, given in GREPS.items():
            args = GrepInput.model_validate(given)
            spec = _search(args, ctx, str(root), is_file=False).spec(engine_for(ctx), 20)
            cases: dict[str, Measure] = {
                "rg with the same flags": partial(raw, spec.argv, root),
                "Grep": partial(portal.call, timed, board, ctx, "Grep", given),
            }
            name = f"search/grep-{title.replace(' ', '-')}"
            yield from compare(name, f"Grep over {files:,} files: {title}", cases, rounds)


def compare_glob(root: Path, files: int, rounds: int) -> Iterator[Comparison]:
    board, ctx = board_in(root)
    size = "large" if root.name == "large" else "small"
    with anyio.from_thread.start_blocking_portal() as portal:
        for name, pattern in (("py", "**/*.py"), ("folder", "pkg1/**/*.md")):
            argv = (bundled() or "rg", "--no-config", "--files", "--hidden", "--null", "-g", "!.git", "-g", pattern)
            cases: dict[str, Measure] = {
                "rg --files -g, and a stat": partial(raw, argv, root, stat=True),
                "Glob": partial(portal.call, timed, board, ctx, "Glob", {"pattern": pattern}),
            }
            yield from compare(f"search/glob-{name}-{size}", f"Glob {pattern} over {files:,} files", cases, rounds)


def memory(root: Path) -> None:
    """Print what Glob over everything adds to the memory of a process, and what it had before."""
    board, ctx = board_in(root)
    anyio.run(timed, board, ctx, "Glob", {"pattern": "*.none"})
    before = peak_memory()
    anyio.run(timed, board, ctx, "Glob", {"pattern": "**/*", "respect_git_ignore": False})
    print(before, peak_memory())


def compare_memory(root: Path, files: int) -> Comparison:
    """The memory of a process of its own, before and after."""
    command = [sys.executable, "-m", "benchmarks.search", str(root)]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True, check=True)
    before, after = map(float, done.stdout.split())
    samples = {"before": [before], "after": [after]}
    return Comparison("search/glob-memory", f"Glob **/* over {files:,} files", samples, "before", MEMORY)


def benchmark(pace: Pace) -> Iterator[Comparison]:
    """Grep and Glob over few files, and Glob over many."""
    few, many, rounds = pace.size(6_000, 600), pace.size(100_000, 2_000), pace.rounds(15)
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder) / "small", Path(folder) / "large"
        grow(small, few, 60)
        yield from compare_grep(small, few, rounds)
        yield from compare_glob(small, few, rounds)
        grow(large, many, 2)
        yield from compare_glob(large, many, max(2, rounds // 2))
        yield compare_memory(large, many)


if __name__ == "__main__":
    memory(Path(sys.argv[1]))
