"""Glob against `git ls-files`, filtered by a matcher that shares nothing with ours."""

from __future__ import annotations

import random
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import anyio
import pytest

from pegboard import Board, Call
from pegboard.settings import load

sys.path.insert(0, str(Path(__file__).parents[3] / "support" / "ignore" / "tests"))
from trees import environment, grow, kept_by_git

PATTERNS = (
    *("**/*", "*", "*.py", "**/*.py", "src/**", "**/a*", "**/*.{py,txt}", "{src,lib}/*", "**/[ab]*", "**/[!a-m]*.txt"),
    *("**/deep/**/*", "docs/*/*.log", "**/.hidden*", "*/*", "**/x-1/*", "**/?.o", "**/*über*", "a b/**", "!**/*.py"),
    *("{**/*.log,*.py}", "**/{main,test}.*", "src/**/b*", "**/*.tar.gz", "lib/**/{deep,out}/**"),
)


def branches(pattern: str) -> list[str]:
    """Braces, by plain recursion."""
    start = pattern.find("{")
    if start < 0:
        return [pattern]
    end = pattern.index("}", start)
    rest = branches(pattern[end + 1 :])
    return [f"{pattern[:start]}{choice}{tail}" for choice in pattern[start + 1 : end].split(",") for tail in rest]


def fits(names: list[str], pattern: list[str]) -> bool:
    if not pattern:
        return not names
    if pattern[0] == "**":
        if len(pattern) == 1:
            return bool(names)
        return any(fits(names[at:], pattern[1:]) for at in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], pattern[0]) and fits(names[1:], pattern[1:])


def expected(files: set[str], pattern: str) -> set[str]:
    wanted = [text.split("/") for text in branches(pattern.removeprefix("!"))]
    found = {name for name in files if any(fits(name.split("/"), text) for text in wanted)}
    return files - found if pattern.startswith("!") else found


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(60))
def test_glob_finds_what_git_keeps_and_the_pattern_fits(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "tree"
    grow(root, seed)
    (tmp_path / "gitconfig").write_text("[core]\nexcludesfile = ~/mine\n")
    (tmp_path / "mine").write_text("*.tar.gz\n" if seed % 2 else "")
    env = environment(tmp_path)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    board = Board.load(settings=load(root, env, managed=str(tmp_path / "none")), env=env)
    kept = kept_by_git(root, tmp_path)

    async def compare() -> None:
        for pattern in random.Random(seed).sample(PATTERNS, k=8):
            result = await board.dispatch(Call("1", "Glob", {"pattern": pattern, "limit": 10_000}))
            assert not result.is_error, result.text
            assert set(result.value.filenames) == expected(kept, pattern), pattern

    anyio.run(compare)
