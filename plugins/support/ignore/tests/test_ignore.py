"""What is ignored, against git itself, and globs against their meaning."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pegboard_ignore import GlobError, IgnoreRules, Lookup, Matcher, Scope, Tally, expand, split_list, walk

sys.path.insert(0, str(Path(__file__).parent))
from trees import environment, grow, kept_by_git


def kept(root: Path, home: Path, **options: object) -> set[str]:
    scope = Scope.of(str(root), project=str(root), env=environment(home), **options)  # type: ignore[arg-type]
    return {folder.relative + name for folder in walk(scope) for name in folder.kept(folder.names)}


@pytest.mark.parametrize("seed", range(120))
def test_a_walk_keeps_what_git_keeps(seed: int, tmp_path: Path) -> None:
    root = tmp_path / "tree"
    grow(root, seed)
    if seed % 3 == 0:
        (tmp_path / "gitconfig").write_text('[core]\n\texcludesFile = "~/my ignores" ; mine\n')
        (tmp_path / "my ignores").write_text("*.py\n!a.py\n")
    assert kept(root, tmp_path) == kept_by_git(root, tmp_path)


@pytest.mark.parametrize("seed", range(40))
def test_looking_a_file_up_agrees_with_walking_there(seed: int, tmp_path: Path) -> None:
    root = tmp_path / "tree"
    grow(root, seed)
    lookup = Lookup(Scope.of(str(root), env=environment(tmp_path)))
    files = [path for path in root.rglob("*") if path.is_file() and ".git" not in path.relative_to(root).parts]
    found = {str(path.relative_to(root)) for path in files if not lookup.ignores(str(path))}
    assert found == kept_by_git(root, tmp_path)


@pytest.mark.parametrize("seed", range(20))
def test_a_folder_inside_is_judged_by_the_rules_above_it(seed: int, tmp_path: Path) -> None:
    root = tmp_path / "tree"
    grow(root, seed)
    all_kept = kept_by_git(root, tmp_path)
    for inner in {name.rpartition("/")[0] for name in all_kept if "/" in name}:
        expected = {name[len(inner) + 1 :] for name in all_kept if name.startswith(f"{inner}/")}
        assert kept(root / inner, tmp_path) == expected


def test_a_worktree_uses_the_excludes_of_its_repository(tmp_path: Path) -> None:
    main, other = tmp_path / "main", tmp_path / "other"
    grow(main, 1, ignoring=False)
    env = {**environment(tmp_path), "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a"}
    env["GIT_COMMITTER_EMAIL"] = "a@b"
    for command in (["commit", "-q", "--allow-empty", "-m", "x"], ["worktree", "add", "-q", str(other)]):
        subprocess.run(["git", *command], cwd=main, env=env, check=True, capture_output=True)
    (main / ".git" / "info").mkdir(exist_ok=True)
    (main / ".git" / "info" / "exclude").write_text("*.txt\n")
    (other / "a.txt").write_text("")
    (other / "a.py").write_text("")
    assert "a.txt" not in kept(other, tmp_path)
    assert "a.py" in kept(other, tmp_path)


def test_a_repositorys_own_excludes_file_counts(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    grow(root, 5, ignoring=False)
    (tmp_path / "mine").write_text("*.py\n")
    subprocess.run(["git", "config", "core.excludesFile", str(tmp_path / "mine")], cwd=root, check=True)
    assert kept(root, tmp_path) == kept_by_git(root, tmp_path)
    assert not any(name.endswith(".py") for name in kept(root, tmp_path))


def test_the_projects_own_ignore_file_and_dot_ignore_count_without_git(tmp_path: Path) -> None:
    for name in ("a.py", "b.py", "c.py", "sub/a.py", "sub/d.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / ".pegboardignore").write_text("/a.py\n")
    (tmp_path / ".ignore").write_text("b.py\n")
    (tmp_path / "sub" / ".gitignore").write_text("*.txt\n")
    assert {"c.py", "sub/a.py"} == {name for name in kept(tmp_path, tmp_path) if name.rpartition("/")[2][0] != "."}


def test_a_folder_that_is_ignored_is_searched_when_it_is_the_root(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    grow(root, 1, ignoring=False)
    (root / "gone").mkdir()
    (root / "gone" / "x.log").write_text("")
    (root / ".gitignore").write_text("gone/\n*.log\n")
    assert not any(name.startswith("gone") for name in kept(root, tmp_path))
    assert kept(root / "gone", tmp_path) == {"x.log"}


def test_heavy_folders_are_entered_only_when_named_and_git_never(tmp_path: Path) -> None:
    for name in ("node_modules/x.js", ".venv/y.py", ".git/config", "src/z.py", ".pegboard/worktrees/w/z.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert kept(tmp_path, tmp_path) == {"src/z.py"}
    assert kept(tmp_path, tmp_path, named=["node_modules"]) == {"src/z.py", "node_modules/x.js"}
    assert len(kept(tmp_path, tmp_path, include_ignored=True)) == 4


def test_links_are_not_followed_so_cycles_end(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    assert kept(tmp_path, tmp_path) == {"a/up", "loop"}


def test_a_walk_ends_at_its_deadline_and_when_told_to(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    tally = Tally()
    assert list(walk(Scope.of(str(tmp_path)), tally, deadline=time.monotonic() - 1)) == []
    assert tally.timed_out
    told = Tally()
    for _ in walk(Scope.of(str(tmp_path)), told):
        told.stop = True
    assert (told.folders, told.timed_out) == (1, True)


def test_a_folder_that_vanishes_or_cannot_be_read_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "gone").mkdir()
    seen = []
    for folder in walk(Scope.of(str(tmp_path))):
        seen.append(folder.relative)
        if not folder.relative:
            (tmp_path / "gone").rmdir()
    assert sorted(seen) == ["", "gone/", "here/"]


@pytest.mark.parametrize(
    ("pattern", "fits", "fails"),
    [
        ("*.py", ["a.py", ".py"], ["a/b.py", "a.pyc"]),
        ("**/*.py", ["a.py", "a/b.py", "a/b/c.py"], ["a.txt"]),
        ("src/**", ["src/a", "src/a/b"], ["src", "a/src/b"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb"]),
        ("{a,b}.{c,d}", ["a.c", "b.d"], ["a.b", "{a,b}.c"]),
        ("{a,{b,c}x}", ["a", "bx", "cx"], ["b", "ax"]),
        ("[a-c]?", ["ax", "c1"], ["d1", "a", "a/"]),
        ("[!a]*", ["b", "bc"], ["a", "ab"]),
        ("[^a]*", ["b"], ["a"]),
        ("[]a]", ["]", "a"], ["b"]),
        ("[a-]", ["a", "-"], ["b"]),
        ("\\*", ["*"], ["a"]),
        ("!**/*.py", ["a.txt", "b/c"], ["a.py", "b/a.py"]),
        ("a**b", ["ab", "axb"], ["a/b"]),
        ("**", ["a", "a/b"], []),
        ("./x/*.py", ["x/a.py"], ["a.py"]),
    ],
)
def test_a_glob_means_what_people_expect(pattern: str, fits: list[str], fails: list[str]) -> None:
    matcher = Matcher(pattern)
    for name in fits:
        folder, _, last = name.rpartition("/")
        assert matcher.pick(f"{folder}/" if folder else "", [last]) == [last]
        parents = [folder[: at or None] for at in range(len(folder) + 1) if folder[at : at + 1] in ("/", "")]
        assert matcher.may_hold is None or all(matcher.may_hold(parent) for parent in parents if parent)
    for name in fails:
        folder, _, last = name.rpartition("/")
        assert matcher.pick(f"{folder}/" if folder else "", [last]) == []


@pytest.mark.parametrize("pattern", ["a[", "{a,b", "a\\", "[z-a]", "{a,b}" * 12])
def test_a_glob_that_cannot_be_read_is_refused(pattern: str) -> None:
    with pytest.raises(GlobError):
        Matcher(pattern)


def test_a_list_of_globs_is_split_outside_braces_only() -> None:
    assert split_list("*.{a,b}, !x ,[,]y,") == ["*.{a,b}", "!x", "[,]y"]
    assert expand("{a,b}{1,2}") == ["a1", "a2", "b1", "b2"]


def test_globs_to_keep_decide_by_the_last_that_fits() -> None:
    rules = IgnoreRules.from_globs(["*.py", "!test_*", "src/*.txt"])
    said = [rules.decide(path, os.path.basename(path), False) for path in ("a.py", "x/test_a.py", "src/b.txt", "b.txt")]
    assert said == [True, False, True, None]
