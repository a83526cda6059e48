"""The process ends quickly, but not carelessly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LEAVES = """
import atexit, gc, sys, threading, time
left_open = open("left.txt", "w")
left_open.write("kept")
atexit.register(lambda: print("bye", gc.isenabled()))
thread = threading.Thread(target=lambda: (time.sleep(0.3), open("thread.txt", "w").close()))
thread.start()
sys.argv = ["pegboard", "features"]
from pegboard_cli.main import main
sys.exit(main())
"""


def test_files_are_written_threads_awaited_and_exit_functions_called(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEAVES],
        cwd=tmp_path,
        env={"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "bye False"
    assert (tmp_path / "left.txt").read_text() == "kept"
    assert (tmp_path / "thread.txt").exists()


def test_main_with_words_leaves_its_caller_alone() -> None:
    code = "import gc\nfrom pegboard_cli.main import main\nmain(['features'])\nassert gc.isenabled()\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
