"""Five hundred searches: Grep with ripgrep, Grep with Python, and `rg --json` must all say the same."""

from __future__ import annotations

import base64
import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard import Board, Call, Context
from pegboard.settings import load
from pegboard_grep.engines import bundled

WORDS = ("foo", "bar", "Foo", "baz9", "x", "été", "the end", "a.c", "abc", "{}", "int main()", "100", "-e", "tab\there")
PATTERNS = (
    *(
        "foo",
        "fo+",
        r"\bbar\b",
        "^foo",
        "end$",
        "a.c",
        r"a\.c",
        "(foo|bar)",
        r"\d+",
        "été",
        r"\w+\s\w+",
        "x{1,2}",
        "[a-c]+",
    ),
    *("[^a-z ]", "^$", "-e", r"\{\}", "(?i)FOO", r"\s$", "nothing at all", "ba[rz]9?", "é", "^.{3}$", r"main\(\)", "."),
)
LITERALS = ("foo", "a.c", "{}", "int main()", "-e", "été", "(", "end")
GLOBS = ("*.py", "*.{py,txt}", "!*.py", "src/**", "*.txt,!b*", "**/deep/*", "!deep", "*", "/a.py")


def grow(root: Path, dice: random.Random) -> None:
    env = {"HOME": str(root), "PATH": os.environ["PATH"]}
    subprocess.run(["git", "init", "-q", root], check=True, env=env)
    for folder in ("", "src", "src/deep", "docs", "build"):
        (root / folder).mkdir(exist_ok=True)
        for name in dice.sample(["a.py", "b.py", "c.txt", "b.txt", "d.md", ".hidden.txt", "e.log"], k=4):
            (root / folder / name).write_bytes(text(dice))
    (root / "bin.py").write_bytes(b"foo\0bar\n")
    (root / "wide.txt").write_bytes(b"\xff\xfe" + "foo bar\nété\n".encode("utf-16-le"))
    (root / ".gitignore").write_text(dice.choice(["*.log\nbuild/\n", "build/*\n!build/a.py\n", "*.txt\n!b.txt\n"]))
    if dice.random() < 0.5:
        (root / "src" / ".gitignore").write_text(dice.choice(["deep\n", "*.md\n", "/a.py\n"]))


def text(dice: random.Random) -> bytes:
    ending = dice.choice(["\n", "\n", "\r\n"])
    lines = [" ".join(dice.choices(WORDS, k=dice.randint(0, 4))) for _ in range(dice.randint(0, 12))]
    return (ending.join(lines) + dice.choice(["", ending])).encode()


def case(dice: random.Random) -> dict[str, Any]:
    fixed = dice.random() < 0.15
    made: dict[str, Any] = {"pattern": dice.choice(LITERALS if fixed else PATTERNS), "head_limit": 0}
    made |= {"fixed_strings": True} if fixed else {}
    made["output_mode"] = dice.choice(["files_with_matches", "content", "content", "count"])
    made |= {"-i": True} if dice.random() < 0.3 else {}
    made |= {"glob": dice.choice(GLOBS)} if dice.random() < 0.35 else {}
    made |= {"type": dice.choice(["py", "txt", "md"])} if dice.random() < 0.15 else {}
    made |= {"include_ignored": True} if dice.random() < 0.2 else {}
    made |= {"hidden": False} if dice.random() < 0.15 else {}
    made |= {"path": dice.choice(["src", "src/deep", "docs"])} if dice.random() < 0.25 else {}
    if made["output_mode"] == "content":
        made |= dice.choice([{}, {"-o": True}, {"-A": 1}, {"-B": 2}, {"-C": 1}, {"context": 2}, {"multiline": True}])
    return made


def wanted(root: Path, given: dict[str, Any]) -> set[tuple[Any, ...]]:
    """What `rg --json` finds, run where the search starts, without the ignored files that its globs bring back."""
    where = root / given.get("path", ".")
    flags = ["--json", "--no-config", "--no-require-git", "-g", "!.git"]
    flags += ["--multiline", "--multiline-dotall"] if given.get("multiline") else ["--crlf"]
    flags += ["--hidden"] if given.get("hidden", True) else []
    flags += ["--no-ignore"] if given.get("include_ignored") else []
    flags += ["-i"] if given.get("-i") else []
    flags += ["-F"] if given.get("fixed_strings") else []
    flags += [f"-t{given['type']}"] if "type" in given else []
    flags += [f"{flag}{given[flag]}" for flag in ("-A", "-B", "-C") if flag in given]
    flags += [f"-C{given['context']}"] if "context" in given else []
    globs = [glob for glob in split(given.get("glob", "")) if glob != "*"]
    globbed = [f"--glob={glob}" for glob in globs]
    fitting = None
    if "type" in given and globs:  # Ripgrep would forget the type of what fits a glob; here both must fit.
        names = subprocess.run([bundled() or "rg", "--files", "-uu", *globbed, "./"], cwd=where, capture_output=True)
        fitting = {name.removeprefix("./") for name in names.stdout.decode().splitlines()}
    else:
        flags = [*globbed, *flags]
    ignored = subprocess.run(["git", "check-ignore", "-q", where], cwd=root).returncode == 0
    flags += ["--no-ignore-parent"] if ignored else []
    command = [bundled() or "rg", *flags, "-e", given["pattern"], "--", "./"]
    events = [json.loads(line) for line in subprocess.run(command, cwd=where, capture_output=True).stdout.splitlines()]
    allowed = None if given.get("include_ignored") or ignored else listed(where)
    prefix = f"{given['path']}/" if "path" in given else ""
    rows: set[tuple[Any, ...]] = set()
    for event in events:
        if event["type"] in ("match", "context"):
            name = plain(event["data"]["path"]).decode().removeprefix("./")
            seen = given.get("hidden", True) or "/." not in f"/{name}"
            if seen and (fitting is None or name in fitting) and (allowed is None or name in allowed):
                rows |= {(prefix + name, *row) for row in rows_of(event, given)}
    return rows


def split(text: str) -> list[str]:
    return text.split(",") if "{" not in text else [text]


def listed(where: Path) -> set[str]:
    found = subprocess.run(
        ["git", "-c", "core.excludesFile=", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=where,
        capture_output=True,
    )
    return {name.decode() for name in found.stdout.split(b"\0")}


def plain(data: dict[str, str]) -> bytes:
    return data["text"].encode() if "text" in data else base64.b64decode(data["bytes"])


def rows_of(event: dict[str, Any], given: dict[str, Any]) -> list[tuple[Any, ...]]:
    data, sign = event["data"], ":" if event["type"] == "match" else "-"
    if given.get("-o"):
        found = [plain(part["match"]).decode() for part in data["submatches"]]
        return [(data["line_number"], sign, part) for part in found]
    lines = plain(data["lines"]).decode().removesuffix("\n").split("\n")
    return [(data["line_number"] + at, sign, line.removesuffix("\r")) for at, line in enumerate(lines)]


def parsed(value: Any, given: dict[str, Any]) -> Any:
    if given["output_mode"] == "files_with_matches":
        return set(value.filenames)
    if given["output_mode"] == "count":
        return dict(line.rsplit(":", 1) for line in value.content.splitlines())
    rows = set()
    for line in value.content.split("\n") if value.content else []:
        if line == "--":
            continue
        name = next(name for name in sorted(value.filenames, key=len, reverse=True) if line.startswith(name))
        sign, rest = line[len(name)], line[len(name) + 1 :]
        number, _, text = rest.partition(sign)
        rows.add((name, int(number), sign, text))
    return rows


def reduced(rows: set[tuple[Any, ...]], given: dict[str, Any]) -> Any:
    matched = {(name, line) for name, line, sign, *_ in rows if sign == ":"}
    if given["output_mode"] == "files_with_matches":
        return {name for name, _ in matched}
    if given["output_mode"] == "count":
        names = [name for name, _ in matched]
        return {name: str(names.count(name)) for name in names}
    return rows


def contexts(root: Path, board: Board) -> dict[str, Context]:
    env = {"HOME": str(root.parent), "PATH": os.environ["PATH"]}
    made = {}
    for engine in ("bundled", "python"):
        settings = load(root, env, {"grep": {"engine": engine}}, managed=str(root.parent / "none"))
        made[engine] = Context(root, settings, services=board.services)
    return made


@pytest.mark.parametrize("seed", range(25 if os.environ.get("PEGBOARD_TEST_SLOW") == "1" else 9))
def test_twenty_searches_of_a_tree_agree(
    seed: int, tmp_path: Path, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    dice, root = random.Random(seed), tmp_path / "tree"
    grow(root, dice)
    engines = contexts(root, board)

    async def compare() -> None:
        for _ in range(20):
            given = case(dice)
            expected = reduced(wanted(root, given), given)
            for engine, ctx in engines.items():
                result = await board.dispatch(Call("1", "Grep", given), ctx)
                assert not result.is_error, (given, result.text)
                assert result.value.engine == {"bundled": "ripgrep", "python": "python"}[engine]
                assert parsed(result.value, given) == expected, f"{engine} {given}"

    anyio.run(compare)
