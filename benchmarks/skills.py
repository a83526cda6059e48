"""What 500 skills in a workspace cost at the start of `pegboard run`, compared with none."""

from __future__ import annotations

import json
import os
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .harness import CPU, Comparison, Pace, cpu_of_process, interleave

MANY = 500
DESCRIPTION = "Reviews a change of the module and says what is wrong with it. Use it before a merge, or when asked to."


def workspace(folder: Path, count: int) -> Path:
    """A repository with so many skills, and a script that a model would have said."""
    (folder / ".git").mkdir(parents=True)
    for number in range(count):
        skill = folder / f".claude/skills/skill-{number:03}/SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text(f"---\nname: skill-{number:03}\ndescription: {DESCRIPTION}\n---\n{'Do this. ' * 200}\n")
    (folder / "script.jsonl").write_text(json.dumps({"content": [{"type": "text", "text": "Done."}]}) + "\n")
    return folder


def benchmark(pace: Pace) -> Iterator[Comparison]:
    """Many skills against none."""
    script = Path(sysconfig.get_path("scripts")) / "pegboard"
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "HOME": home, "XDG_CACHE_HOME": f"{home}/cache", "XDG_STATE_HOME": f"{home}/state"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        cases = {}
        for count in (0, MANY):
            folder = workspace(Path(home) / f"work{count}", count)
            words = ["run", "Go", "--replay", str(folder / "script.jsonl"), "--cwd", str(folder)]
            command = [sys.executable, str(script), *words]
            cases[f"{count} skills"] = lambda c=command: cpu_of_process(c, env)
        samples = interleave(cases, pace.rounds(15))
    yield Comparison("skills/start", "`pegboard run` with skills in the workspace", samples, "0 skills", CPU)
