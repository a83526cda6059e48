"""Write, through the door the model uses."""

import os
import stat

import pytest


@pytest.fixture
def write(approve, call_tool):
    return lambda **given: call_tool("Write", **given)


def test_write_creates_a_file_and_its_folders(write, ctx):
    result = write(file_path="a/b/c.txt", content="héllo\n")
    assert result.text == f"Created {ctx.cwd}/a/b/c.txt (7 bytes)."
    assert (ctx.cwd / "a/b/c.txt").read_bytes() == "héllo\n".encode()


def test_write_replaces_and_keeps_the_mode(write, ctx):
    path = ctx.cwd / "run.sh"
    path.write_text("old")
    path.chmod(0o750)
    assert write(file_path="run.sh", content="new").value.type == "update"
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o750)
    assert os.listdir(ctx.cwd) == ["run.sh"]


def test_write_of_the_same_content_touches_nothing(write, ctx):
    path = ctx.cwd / "a.txt"
    path.write_text("same")
    os.utime(path, (1, 1))
    assert write(file_path="a.txt", content="same").value.type == "unchanged"
    assert path.stat().st_mtime == 1


def test_write_follows_a_link_to_its_file(write, ctx):
    (ctx.cwd / "real.txt").write_text("old")
    (ctx.cwd / "link.txt").symlink_to("real.txt")
    write(file_path="link.txt", content="new")
    assert (ctx.cwd / "link.txt").is_symlink()
    assert (ctx.cwd / "real.txt").read_text() == "new"


def test_write_refuses_a_directory(write, ctx):
    result = write(file_path=".", content="x")
    assert (result.code, "is a directory" in result.text) == ("unsupported", True)


def test_write_asks_first(call_tool, ctx):
    result = call_tool("Write", file_path="a.txt", content="x")
    assert result.code == "permission_denied"
    assert not (ctx.cwd / "a.txt").exists()
