"""A link that is swapped while a path is followed: the call is answered, and nobody is accused of a bug."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from pegboard.paths import resolve_path


def test_a_link_that_is_swapped_while_it_is_followed_fails_nobody(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    link, over = tmp_path / "link", threading.Event()
    link.symlink_to("a")

    def swap() -> None:
        while not over.is_set():
            (tmp_path / "file").touch()
            os.replace(tmp_path / "file", link)
            (tmp_path / "next").symlink_to("a")
            os.replace(tmp_path / "next", link)

    swapper = threading.Thread(target=swap)
    swapper.start()
    failures = 0
    try:
        for _ in range(20_000):
            found = resolve_path(str(link))
            assert found.spellings[-1] in (str(link), str(tmp_path / "a")) or not found.sound
            failures += not found.sound
    finally:
        over.set()
        swapper.join()
    assert failures < 20_000
