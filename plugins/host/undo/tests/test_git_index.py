"""The index of real repositories, in every format."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pegboard_undo.git_index import find_repository, read_blobs, read_index


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name in ("a.txt", "folder/b.txt", "folder/b.txt.long", "ünü.txt", "folder/deep/c"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\n")
        os.utime(path, (1_700_000_000, 1_700_000_000))
    (tmp_path / "link").symlink_to("a.txt")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.parametrize("version", [2, 3, 4])
def test_every_tracked_file_is_found_with_its_bytes(repository, version):
    subprocess.run(["git", "update-index", f"--index-version={version}"], cwd=repository, check=True)
    if version == 3:  # Only an extended flag makes git write this version.
        subprocess.run(["git", "rm", "-q", "--cached", "a.txt"], cwd=repository, check=True)
        subprocess.run(["git", "add", "--intent-to-add", "a.txt"], cwd=repository, check=True)
    root, index = find_repository(repository / "folder") or pytest.fail("there is a repository")
    found = read_index(root, index)
    names = sorted(os.path.relpath(path, repository) for path in found)
    assert names == ["a.txt", "folder/b.txt", "folder/b.txt.long", "folder/deep/c", "ünü.txt"]
    path = repository / "folder/b.txt.long"
    assert found[str(path)].is_clean(path.stat())
    assert read_blobs(root, [found[str(path)].blob])[found[str(path)].blob] == path.read_bytes()
    path.write_text("changed\n")
    assert not found[str(path)].is_clean(path.stat())


def test_what_is_no_index_is_none(tmp_path):
    for data in (b"", b"DIRC", b"DIRC\0\0\0\2\0\0\0\5garbage", os.urandom(500)):
        (tmp_path / "index").write_bytes(data)
        assert read_index(tmp_path, tmp_path / "index") == {}
    assert read_index(tmp_path, tmp_path / "missing") == {}


def test_a_blob_that_is_missing_is_left_out(repository):
    assert read_blobs(repository, ["0" * 40]) == {}
