"""Which files a search may show."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from pegboard import Context
from pegboard.settings import load
from pegboard_rules.search_filter import path_filter

sys.path.insert(0, str(Path(__file__).parent))
from permission_cases import Read, Write


@pytest.fixture
def place(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    for name in ("src/a.py", "secrets/key.txt", "src/secrets/deep.txt", ".env", "asked/x.txt"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("x")
    return project


def context(project: Path, **rules: list[str]) -> Context:
    (project / ".pegboard").mkdir(exist_ok=True)
    (project / ".pegboard" / "settings.json").write_text(json.dumps({"permissions": rules}))
    settings = load(project, {"HOME": str(project.parent)}, managed=str(project.parent / "none"))
    return Context(project, settings)


def shown(ctx: Context, root: Path, *names: str) -> list[bool]:
    may_show = path_filter(Read, str(root), ctx)
    return [may_show is None or may_show(str(ctx.cwd / name)) for name in names]


def test_without_rules_everything_may_be_shown(place: Path) -> None:
    assert shown(context(place), place, "src/a.py", ".env", "nowhere/at/all") == [True, True, True]


def test_a_deny_rule_withholds_the_file_and_all_below_a_folder(place: Path) -> None:
    ctx = context(place, deny=["Read(./secrets/**)", "Read(.env)"])
    assert shown(ctx, place, "src/a.py", "secrets/key.txt", ".env", "src/secrets/deep.txt") == [
        *(True, False, False, True)
    ]


def test_a_link_is_withheld_when_its_target_is(place: Path) -> None:
    (place / "harmless").symlink_to("secrets/key.txt")
    (place / "folder").symlink_to("secrets")
    ctx = context(place, deny=["Read(./secrets/**)"])
    assert shown(ctx, place, "harmless", "folder/key.txt") == [False, False]


def test_a_link_is_withheld_when_its_own_name_is(place: Path) -> None:
    (place / "secrets" / "link").symlink_to(place / "src" / "a.py")
    ctx = context(place, deny=["Read(./secrets/**)"])
    assert shown(ctx, place, "secrets/link", "src/a.py") == [False, True]


def test_what_leads_nowhere_is_withheld_once_there_are_rules(place: Path) -> None:
    (place / "loop").symlink_to("loop")
    assert shown(context(place, deny=["Read(.env)"]), place, "loop") == [False]


def test_an_ask_rule_withholds_unless_the_root_was_asked_about(place: Path) -> None:
    ctx = context(place, ask=["Read(./asked/**)"])
    assert shown(ctx, place, "asked/x.txt") == [False]
    assert shown(ctx, place / "asked", "asked/x.txt") == [True]


def test_a_rule_on_editing_withholds_nothing(place: Path) -> None:
    assert shown(context(place, deny=["Edit(./src/**)"]), place, "src/a.py") == [True]


def test_a_rule_for_another_tool_withholds_nothing(place: Path) -> None:
    ctx = context(place, deny=["Grep(./src/**)"])
    assert path_filter(Write, str(place), ctx) is None


def test_a_folder_is_resolved_once_for_all_its_files(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ctx = context(place, deny=["Read(.env)"])
    may_show = path_filter(Read, str(place), ctx)
    assert may_show is not None
    may_show(str(place / "src/a.py"))
    calls: list[str] = []
    real = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path, **more: calls.append(str(path)) or real(path, **more))
    may_show(str(place / "src/a.py"))
    assert calls == [str(place / "src/a.py")]
