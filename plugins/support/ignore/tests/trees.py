"""Random trees with nested ignore files, and what git makes of them."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

FOLDERS = ("src", "lib", "docs", "build", "out", "deep", "a b", "x-1")
STEMS = ("main", "test", "data", "note", "über", "a", "b.c", ".hidden", "Cap")
ENDINGS = ("", ".py", ".txt", ".log", ".o", ".tar.gz")
RULES = (
    *("*.log", "*.o", "build/", "/out", "out/", "!main.log", "test*", "/src/*.txt", "docs/**", "**/deep", "a b"),
    *(
        "deep/**/x-1",
        "!/lib/**",
        "[ab].py",
        "[!a]*.txt",
        "*.tar.gz",
        "?.o",
        "\\!x",
        "# a comment",
        "  ",
        "main",
        "lib/*",
    ),
    *(
        "!lib/test.py",
        "src/**/a*",
        ".hidden*",
        "!*/",
        "*.p[xyz]",
        "data.txt ",
        "über*",
        "**/build/*.py",
        "/**/note.log",
    ),
    *("x-1/", "deep/*/", "[a-", "foo\\", "Cap.txt", "!Cap.txt", "*", "!*.py", "!src/", "b.c*"),
    *("lib/*\n!lib/test.py", "/src/*\n!/src/deep", "build/*\n!build/main*", "*\n!*/\n!*.txt", "docs/*/\n!docs/out"),
)


def environment(home: Path) -> dict[str, str]:
    """Variables under which git sees no configuration but the test's own."""
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_GLOBAL": str(home / "gitconfig"),
        "GIT_CONFIG_NOSYSTEM": "1",
    }


def grow(root: Path, seed: int, *, ignoring: bool = True) -> None:
    """A repository of some thirty files; no two seeds give the same."""
    dice = random.Random(seed)
    subprocess.run(["git", "init", "-q", root], check=True, env=environment(root.parent))
    folders = [root]
    for _ in range(dice.randint(4, 12)):
        folder = dice.choice(folders) / dice.choice(FOLDERS)
        if not folder.is_file():
            folder.mkdir(exist_ok=True)
            folders.append(folder)
    for _ in range(dice.randint(15, 40)):
        file = dice.choice(folders) / (dice.choice(STEMS) + dice.choice(ENDINGS))
        if not file.exists():
            file.write_text(f"{file.name}\n")
    if not ignoring:
        return
    for folder in dice.sample(folders, k=min(len(folders), dice.randint(1, 4))):
        (folder / ".gitignore").write_text("\n".join(rules(dice)))
    if dice.random() < 0.4:
        (root / ".git" / "info").mkdir(exist_ok=True)
        (root / ".git" / "info" / "exclude").write_text("\n".join(rules(dice, 2)))


def rules(dice: random.Random, most: int = 5) -> list[str]:
    chosen = dice.sample(RULES, k=dice.randint(1, most))
    # A lone star hides everything and proves nothing; it stays only where something is taken back.
    return chosen if any(rule.startswith("!") for rule in chosen) else [rule for rule in chosen if rule != "*"]


def kept_by_git(root: Path, home: Path) -> set[str]:
    """Every file that git would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=root,
        env=environment(home),
        capture_output=True,
        check=True,
    )
    return {os.fsdecode(name) for name in listed.stdout.split(b"\0") if name}
