"""What 500 skills in a workspace cost at the start of `pegboard run`, compared with none."""

from __future__ import annotations

import json
import os
import sys
import sysconfig
import tempfile
from pathlib import Path

from harness import cpu_of_process, interleave, options, report

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


def main() -> None:
    given = options(rounds=15)
    script = Path(sysconfig.get_path("scripts")) / "pegboard"
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "HOME": home, "XDG_CACHE_HOME": f"{home}/cache", "XDG_STATE_HOME": f"{home}/state"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        cases = {}
        for count in (0, MANY):
            folder = workspace(Path(home) / f"work{count}", count)
            words = ["run", "Go", "--replay", str(folder / "script.jsonl"), "--cwd", str(folder)]
            command = [sys.executable, str(script), *words]
            cases[f"pegboard run, {count} skills"] = lambda c=command: cpu_of_process(c, env)
        rows = interleave(cases, given.rounds)
    report("Start with skills, CPU time of the process", rows, "pegboard run, 0 skills", as_json=given.json)


if __name__ == "__main__":
    main()
