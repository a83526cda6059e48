"""A project and a home of its own, for tests about which settings a person and a repository may set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pegboard import Settings
from pegboard.settings import load
from pegboard_trust import Trust

LOOSE = {
    "permissions": {
        "allow": ["Bash"],
        "defaultMode": "acceptEdits",
        "additionalDirectories": ["/srv"],
        "deny": ["Read(.env)"],
    }
}


class World:
    def __init__(self, base: Path) -> None:
        self.base, self.project, self.env = base, base / "project", {"HOME": str(base / "home")}
        self.project.mkdir()
        (base / "home").mkdir()
        self.trust = Trust.of(self.env)

    def write(self, path: Path, value: object) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
        return path

    def load(self, cwd: Path | None = None, **more: Any) -> Settings:
        cwd = cwd or self.project
        return load(
            cwd,
            self.env,
            managed=str(self.base / "managed"),
            trusted=more.pop("trusted", self.trust.trusts(str(cwd))),
            vouches=self.trust.vouches,
        )


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
