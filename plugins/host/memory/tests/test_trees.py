"""Trees modelled on public repositories, each with the outcome that the documentation promises."""

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pegboard_memory.collector import Collector, within
from pegboard_memory.workspace import Workspace

MB = 1_000_000


@dataclass
class Tree:
    """Files by path (text, bytes, or `-> target` for a link) below a folder with `repo` and `home` in it."""

    files: dict[str, str | bytes]
    shown: list[str]
    """The paths that are shown, in order; `repo/` is left out."""
    cwd: str = "repo"
    read: list[str] = field(default_factory=list)
    trusted: bool = False
    skipped: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    """What the text of a file contains, word by word."""
    git: str = "repo"


DEEP = {f"repo/{n}.md": f"hop {n} @{n + 1}.md" for n in range(1, 7)}

TREES = {
    "a library with one file": Tree({"repo/CLAUDE.md": "Run make."}, ["CLAUDE.md"]),
    "both names, and one imports the other": Tree(
        {"repo/AGENTS.md": "Use uv.", "repo/CLAUDE.md": "@AGENTS.md"}, ["AGENTS.md", "CLAUDE.md"]
    ),
    "CLAUDE.md is a link to AGENTS.md": Tree(
        {"repo/AGENTS.md": "Use uv.", "repo/CLAUDE.md": "-> AGENTS.md"}, ["AGENTS.md"]
    ),
    "a monorepo, from a package": Tree(
        {
            "repo/AGENTS.md": "root",
            "repo/packages/AGENTS.md": "packages",
            "repo/packages/web/CLAUDE.md": "web",
            "repo/packages/api/CLAUDE.md": "api",
        },
        ["AGENTS.md", "packages/AGENTS.md", "packages/web/CLAUDE.md"],
        cwd="repo/packages/web",
    ),
    "a sub-folder's file once something there is read": Tree(
        {"repo/CLAUDE.md": "root", "repo/docs/CLAUDE.md": "docs", "repo/docs/a/b.md": "x", "repo/src/CLAUDE.md": "no"},
        ["CLAUDE.md", "docs/CLAUDE.md"],
        read=["repo/docs/a/b.md"],
    ),
    "every name in one folder": Tree(
        {
            "repo/.pegboard/AGENTS.md": "4",
            "repo/.claude/CLAUDE.md": "3",
            "repo/CLAUDE.local.md": "5",
            "repo/CLAUDE.md": "2",
            "repo/AGENTS.md": "1",
        },
        ["AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", ".pegboard/AGENTS.md", "CLAUDE.local.md"],
    ),
    "the person's own files come first": Tree(
        {"home/.claude/CLAUDE.md": "mine", "home/.pegboard/AGENTS.md": "mine too", "repo/CLAUDE.md": "theirs"},
        ["../home/.claude/CLAUDE.md", "../home/.pegboard/AGENTS.md", "CLAUDE.md"],
    ),
    "imports in order, behind the file that has them": Tree(
        {
            "repo/CLAUDE.md": "See @docs/style.md and @docs/tests.md.",
            "repo/docs/style.md": "Style: @more.md",
            "repo/docs/more.md": "More.",
            "repo/docs/tests.md": "Tests.",
        },
        ["CLAUDE.md", "docs/style.md", "docs/more.md", "docs/tests.md"],
    ),
    "a cycle of imports": Tree(
        {"repo/CLAUDE.md": "@a.md", "repo/a.md": "a @b.md", "repo/b.md": "b @a.md @CLAUDE.md"},
        ["CLAUDE.md", "a.md", "b.md"],
    ),
    "four hops and no fifth": Tree({"repo/CLAUDE.md": "@1.md", **DEEP}, ["CLAUDE.md", "1.md", "2.md", "3.md", "4.md"]),
    "imports in code do not count": Tree(
        {
            "repo/CLAUDE.md": "`@a.md`\n```\n@a.md\n```\n~~~sh\n@a.md\n~~~\n\n    @a.md\n\nx@a.md\n\n- x\n\n    @b.md",
            "repo/a.md": "never",
            "repo/b.md": "in a list",
        },
        ["CLAUDE.md", "b.md"],
    ),
    "mentions, packages and missing files stay words": Tree(
        {"repo/CLAUDE.md": "Ask @alice, use @types/node, see @missing.md.", "repo/types/x": ""},
        ["CLAUDE.md"],
        texts={"CLAUDE.md": "@alice, use @types/node"},
    ),
    "an import from outside needs trust": Tree(
        {"repo/CLAUDE.md": "@../secret.md @~/notes.md", "secret.md": "s", "home/notes.md": "n"},
        ["CLAUDE.md"],
        skipped={"../secret.md": "it is outside ", "../home/notes.md": "it is outside "},
    ),
    "an import from outside in a trusted project": Tree(
        {"repo/CLAUDE.md": "@../secret.md @~/notes.md", "secret.md": "s", "home/notes.md": "n"},
        ["CLAUDE.md", "../secret.md", "../home/notes.md"],
        trusted=True,
    ),
    "the person's own file may import anything": Tree(
        {"home/.claude/CLAUDE.md": "@~/notes.md", "home/notes.md": "n"},
        ["../home/.claude/CLAUDE.md", "../home/notes.md"],
    ),
    "a link out of the tree": Tree(
        {"repo/CLAUDE.md": "-> ../secret.md", "secret.md": "s", "repo/AGENTS.md": "ok"},
        ["AGENTS.md"],
        skipped={"CLAUDE.md": "it is outside "},
    ),
    "a linked folder out of the tree": Tree(
        {"repo/CLAUDE.md": "@docs/a.md", "repo/docs": "-> ../elsewhere", "elsewhere/a.md": "a"},
        ["CLAUDE.md"],
        skipped={"docs/a.md": "it is outside "},
    ),
    "rules with and without paths": Tree(
        {
            "repo/.claude/rules/always.md": "always",
            "repo/.claude/rules/web/ts.md": "---\npaths:\n  - 'src/**/*.{ts,tsx}'\n---\nTypeScript",
            "repo/.claude/rules/py.md": '---\npaths: "**/*.py"\n---\nPython',
            "repo/src/app/a.tsx": "",
        },
        [".claude/rules/always.md", ".claude/rules/web/ts.md"],
        read=["repo/src/app/a.tsx"],
        texts={".claude/rules/web/ts.md": "TypeScript"},
    ),
    "a rule that cannot be used": Tree(
        {
            "repo/.claude/rules/bad.md": "---\npaths: [*.py\n---\nx",
            "repo/.claude/rules/odd.md": "---\npaths: {a: 1}\n---\nx",
            "repo/.claude/rules/open.md": "---\npaths: ['{a']\n---\nx",
            "repo/CLAUDE.md": "ok",
        },
        ["CLAUDE.md"],
        skipped={
            ".claude/rules/bad.md": "not valid YAML",
            ".claude/rules/odd.md": "paths must be a list of globs",
            ".claude/rules/open.md": "a brace is never closed",
        },
        read=["repo/CLAUDE.md"],
    ),
    "a file of a megabyte": Tree(
        {"repo/CLAUDE.md": "A line of words.\n" * (MB // 17)},
        ["CLAUDE.md"],
        texts={"CLAUDE.md": "Only the beginning is shown: the file has 999,991 bytes. Read it for the rest."},
    ),
    "bytes that are not UTF-8": Tree(
        {"repo/CLAUDE.md": b"caf\xe9 and \xff\n"},
        ["CLAUDE.md"],
        texts={"CLAUDE.md": "caf\ufffd and \ufffd Some bytes are not UTF-8; they are shown as \ufffd."},
    ),
    "a byte order mark and Windows line ends": Tree(
        {"repo/CLAUDE.md": b"\xef\xbb\xbfone\r\ntwo\r\n"}, ["CLAUDE.md"], texts={"CLAUDE.md": "one\ntwo"}
    ),
    "files that are not text, empty, folders, devices": Tree(
        {
            "repo/CLAUDE.md": b"PNG\0\0",
            "repo/AGENTS.md": "  \n",
            "repo/.claude/CLAUDE.md/x": "a folder",
            "repo/CLAUDE.local.md": "-> /dev/zero",
        },
        [],
        skipped={"CLAUDE.local.md": "it is outside "},
    ),
    "comments for people": Tree(
        {
            "repo/CLAUDE.md": "<!-- people\n@a.md -->\nKeep <!-- this -->\n```\n<!-- code -->\n```",
            "repo/a.md": "no",
        },
        ["CLAUDE.md"],
        texts={"CLAUDE.md": "Keep <!-- this -->\n```\n<!-- code -->\n```"},
    ),
    "no repository: only the folder itself": Tree(
        {"CLAUDE.md": "above", "repo/CLAUDE.md": "here"}, ["CLAUDE.md"], git=""
    ),
    "a checkout in a checkout ends at its own root": Tree(
        {"repo/CLAUDE.md": "outer", "repo/vendor/lib/CLAUDE.md": "inner", "repo/vendor/lib/.git/HEAD": "ref: x"},
        ["vendor/lib/CLAUDE.md"],
        cwd="repo/vendor/lib",
    ),
}


def build(folder, tree):
    (folder / "home").mkdir()
    (folder / "repo").mkdir()
    if tree.git:
        (folder / tree.git / ".git").mkdir(parents=True)
    for name, content in tree.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str) and content.startswith("-> "):
            path.symlink_to(content.removeprefix("-> "))
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())


def collected(folder, tree, may_show=None):
    from pegboard import Settings

    cwd = folder / tree.cwd
    settings = Settings(cwd=str(cwd), root=str(cwd), trusted=tree.trusted)
    place = Workspace.of(settings, cwd, {"HOME": str(folder / "home")})
    read = [str(folder / name) for name in tree.read]
    folders = dict.fromkeys([*place.chain(str(cwd)), *(f for path in read for f in place.chain(os.path.dirname(path)))])
    return Collector(place, 40_000, may_show).collect(folders, read)


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_a_tree_has_the_documented_outcome(tmp_path, tree):
    build(tmp_path, tree)
    found = collected(tmp_path, tree)
    names = [os.path.relpath(file.path, tmp_path / "repo") for file in found.files]
    assert names == tree.shown
    reasons = {os.path.relpath(path, tmp_path / "repo"): words for path, words in found.skipped.items()}
    assert reasons.keys() == tree.skipped.keys()
    assert all(part in reasons[name] for name, part in tree.skipped.items())
    whole = dict(zip(names, found.files, strict=True))
    for name, words in tree.texts.items():
        assert words in " ".join((whole[name].text, *whole[name].remarks))


def test_there_are_at_least_twenty_trees():
    assert len(TREES) >= 20


def test_a_cut_file_ends_with_a_whole_line_within_the_limit(tmp_path):
    build(tmp_path, TREES["a file of a megabyte"])
    [file] = collected(tmp_path, TREES["a file of a megabyte"]).files
    assert 39_000 < len(file.text) <= 40_000
    assert file.text.endswith("A line of words.")


def test_a_fifo_does_not_hold_up_a_session(tmp_path):
    tree = Tree({"repo/AGENTS.md": "ok"}, ["AGENTS.md"])
    build(tmp_path, tree)
    os.mkfifo(tmp_path / "repo/CLAUDE.md")
    assert stat.S_ISFIFO((tmp_path / "repo/CLAUDE.md").stat().st_mode)
    assert [Path(file.path).name for file in collected(tmp_path, tree).files] == ["AGENTS.md"]


def test_what_rules_withhold_is_not_shown(tmp_path):
    tree = Tree({"repo/CLAUDE.md": "@.env", "repo/.env": "KEY=1"}, ["CLAUDE.md"])
    build(tmp_path, tree)
    found = collected(tmp_path, tree, lambda path: not path.endswith(".env"))
    assert [file.text for file in found.files] == ["@.env"]
    assert "a permission rule withholds it" in found.skipped[str(tmp_path / "repo/.env")]


def test_the_nearest_files_count_first_where_the_budget_does_not_suffice(tmp_path):
    tree = TREES["a monorepo, from a package"]
    build(tmp_path, tree)
    kept, named = within(collected(tmp_path, tree).files, len("packages") + len("web") - 1)
    assert [file.text for file in kept] == ["root", "web"]
    assert [file.text for file in named] == ["packages"]
