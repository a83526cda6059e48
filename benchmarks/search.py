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
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from harness import Measure, interleave, options, report

from pegboard import Board, Call, Context
from pegboard.settings import load
from pegboard_grep.engines import bundled, engine_for
from pegboard_grep.grep import GrepInput, _search

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
        raise SystemExit(result.text)
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


def compare(title: str, cases: dict[str, Measure], rounds: int, *, as_json: bool) -> None:
    """Measure each case by wall and by CPU time; the first is the reference."""
    walls: dict[str, list[float]] = {name: [] for name in cases}

    def both(name: str, measure: Measure) -> float:
        began = cpu()
        walls[name].append(measure())
        return cpu() - began

    rows = interleave({name: partial(both, name, measure) for name, measure in cases.items()}, rounds)
    reference = next(iter(cases))
    report(f"{title}, CPU", rows, reference, as_json=as_json)
    report(f"{title}, wall", {name: taken[1:] for name, taken in walls.items()}, reference, as_json=as_json)


GREPS: dict[str, dict[str, Any]] = {
    "few files": {"pattern": "word12 word4 word4"},
    "a fifth of the files": {"pattern": "word12 word4"},
    "lines": {"pattern": "word12 word4", "output_mode": "content"},
    "counts": {"pattern": "word12 word4", "output_mode": "count"},
}


def compare_grep(root: Path, rounds: int, *, as_json: bool) -> None:
    board, ctx = board_in(root)
    with anyio.from_thread.start_blocking_portal() as portal:
        for title, given in GREPS.items():
            args = GrepInput.model_validate(given)
            spec = _search(args, ctx, str(root), is_file=False).spec(engine_for(ctx), 20)
            cases: dict[str, Measure] = {
                "rg with the same flags": partial(raw, spec.argv, root),
                "Grep": partial(portal.call, timed, board, ctx, "Grep", given),
            }
            compare(f"Grep: {title}", cases, rounds, as_json=as_json)


def compare_glob(root: Path, rounds: int, count: str, *, as_json: bool) -> None:
    board, ctx = board_in(root)
    with anyio.from_thread.start_blocking_portal() as portal:
        for pattern in ("**/*.py", "pkg1/**/*.md"):
            argv = (bundled() or "rg", "--no-config", "--files", "--hidden", "--null", "-g", "!.git", "-g", pattern)
            cases: dict[str, Measure] = {
                "rg --files -g, and a stat": partial(raw, argv, root, stat=True),
                "Glob": partial(portal.call, timed, board, ctx, "Glob", {"pattern": pattern}),
            }
            compare(f"Glob {pattern} over {count} files", cases, rounds, as_json=as_json)


def memory(root: Path) -> None:
    """Print what Glob over everything adds to the memory of a process, and the most that the process had."""
    board, ctx = board_in(root)
    anyio.run(timed, board, ctx, "Glob", {"pattern": "*.none"})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    anyio.run(timed, board, ctx, "Glob", {"pattern": "**/*", "respect_git_ignore": False})
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"Glob **/* over 100,000 files: {(after - before) / 1024:.1f} MB more, {after / 1024:.1f} MB in all")


def main() -> None:
    if sys.argv[1:2] == ["--memory-of"]:
        memory(Path(sys.argv[2]))
        return
    chosen = options(15)
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder) / "small", Path(folder) / "large"
        grow(small, 6_000, 60)
        compare_grep(small, chosen.rounds, as_json=chosen.json)
        compare_glob(small, chosen.rounds, "6,000", as_json=chosen.json)
        grow(large, 100_000, 2)
        compare_glob(large, max(3, chosen.rounds // 3), "100,000", as_json=chosen.json)
        subprocess.run([sys.executable, __file__, "--memory-of", large], check=True)


if __name__ == "__main__":
    main()
