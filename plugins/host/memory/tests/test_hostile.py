"""Memory files that were written to do harm."""

import os
import time

import pytest

from pegboard import Board, Settings
from pegboard_memory.collector import Collector
from pegboard_memory.markdown import imports_in, paths_of
from pegboard_memory.workspace import MOST_FOLDERS, Workspace, rule_files
from pegboard_session import ReplayProvider, Session


def test_a_line_of_backticks_takes_no_time():
    line = " ".join("`" * length for length in range(1, 280))
    began = time.process_time()
    assert imports_in(f"{line} @a.md") == ["a.md"]
    assert time.process_time() - began < 5


def test_spans_of_code_hide_imports_as_before():
    assert imports_in("`@a` ``@b ` @c`` @d ``` @e ` @f") == ["d", "e", "f"]


def test_aliases_that_stand_for_more_than_memory_holds_are_refused():
    lines = ["paths: a", "z0: &z0 {x: 1}"]
    lines += [f"z{n}: &z{n} {{<<: [*z{n - 1}, *z{n - 1}]}}" for n in range(1, 60)]
    with pytest.raises(ValueError, match="aliases, which are not supported"):
        paths_of("\n".join(lines))


@pytest.mark.parametrize("trusted", [False, True])
def test_a_link_to_a_large_tree_is_not_walked(tmp_path, monkeypatch, trusted):
    repo, tree = tmp_path / "repo", tmp_path / "tree"
    (repo / ".claude").mkdir(parents=True)
    tree.mkdir()
    (tree / "rule.md").write_text("Obey.")
    for number in range(MOST_FOLDERS + 50):
        (tree / str(number)).mkdir()
    (repo / ".claude/rules").symlink_to(tree)
    walked = []
    walk = os.walk

    def counting(top):
        for step in walk(top):
            walked.append(step[0])
            yield step

    monkeypatch.setattr(os, "walk", counting)
    found = Collector(Workspace(str(repo), str(repo), trusted), 1_000).collect([str(repo)], [])
    assert [file.text for file in found.files] == (["Obey."] if trusted else [])
    assert list(found.skipped) == ([] if trusted else [f"{repo}/.claude/rules"])
    assert len(walked) == (MOST_FOLDERS + 1 if trusted else 0)
    assert list(rule_files(str(repo))) == [f"{repo}/.claude/rules/rule.md"]


@pytest.mark.parametrize("only", [["support", "host", "policy"], ["files", "support", "host", "policy"]])
@pytest.mark.parametrize("way", ["import", "link", "link to the folder"])
async def test_denied_files_are_withheld_also_where_there_is_no_tool(tmp_path, monkeypatch, only, way):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    repo = tmp_path / "repo"
    (repo / "secrets").mkdir(parents=True)
    (repo / "secrets/key.md").write_text("TOP SECRET")
    if way == "link":
        (repo / "AGENTS.md").symlink_to("secrets/key.md")
    else:
        (repo / "public").symlink_to("secrets")
        (repo / "AGENTS.md").write_text("See @secrets/key.md" if way == "import" else "See @public/key.md")
    board = Board.load(cwd=repo, settings={"only": only, "permissions": {"deny": ["Read(./secrets/**)"]}})
    async with Session(board, ReplayProvider([{"content": [{"type": "text", "text": "Hi"}]}])) as session:
        await session.run("Go")
    assert "TOP SECRET" not in str(session.provider.requests[0])
    assert ("See @" in str(session.provider.requests[0])) is (way != "link")


def test_a_link_that_is_swapped_after_the_check_is_not_followed(tmp_path):
    repo, outside = tmp_path / "repo", tmp_path / "outside.md"
    repo.mkdir()
    outside.write_text("TOP SECRET")
    (repo / "AGENTS.md").write_text("Use uv.")

    def swap(path):
        if path == str(repo / "AGENTS.md"):
            (repo / "AGENTS.md").unlink()
            (repo / "AGENTS.md").symlink_to(outside)
        return True

    found = Collector(Workspace(str(repo), str(repo)), 1_000, swap).collect([str(repo)], [])
    assert found.files == []
    assert list(found.skipped) == [str(outside)]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another person")
def test_a_git_folder_of_another_person_makes_no_project(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / ".git").mkdir()
    settings = Settings([], cwd=str(tmp_path / "work"))
    assert Workspace.of(settings, tmp_path / "work", {}).root == str(tmp_path)
    os.chown(tmp_path / ".git", 12_345, 12_345)
    assert Workspace.of(settings, tmp_path / "work", {}).root == str(tmp_path / "work")
    os.chown(tmp_path / "work", 12_345, 12_345)
    assert Workspace.of(settings, tmp_path / "work", {}).root == str(tmp_path)
