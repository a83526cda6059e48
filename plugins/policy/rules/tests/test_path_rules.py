"""Path rules, row by row: a rule in a real settings file, a real path, and whether the rule decides."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import Allow, Context, Deny, Facts
from pegboard.paths import resolve_path
from pegboard.settings import Layer, Settings, load
from pegboard_rules.lint import covers
from pegboard_rules.ruleset import RuleSet
from pegboard_rules.volumes import Volume

sys.path.insert(0, str(Path(__file__).parent))
from permission_cases import TOOLS, FileInput, judge

DATA = Path(__file__).parent / "data" / "path_rules.jsonl"
ROWS = [json.loads(line) for line in DATA.read_text().splitlines()]
FLAGS = {"case_insensitive": "case_insensitive", "unicode_normalizing": "unicode_normalizing"}
SOURCES = {"project": "settings.json", "local": "settings.local.json"}


def name_of(row: dict[str, Any]) -> str:
    return f"{row['class']}-{row['rule_type']}-{row['rule']}-{row['path']}"


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_a_path_rule_decides_as_the_table_says(
    row: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if row.get("tool") == "Bash":
        pytest.skip("how a command's words become paths is the Bash tool's part, not that of the rules")
    moved = Moved(tmp_path)
    home, cwd, root = (moved.path(row[key]) for key in ("home", "cwd", "project_root"))
    for folder in (home, cwd, root / ".pegboard"):
        folder.mkdir(parents=True, exist_ok=True)
    for link in row.get("fs", ()):
        place = moved.path(link["link"])
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(moved.text(link["target"]))
    rule = moved.rule(row["rule"])
    source = row["settings_source"]
    file = root / ".pegboard" / SOURCES[source] if source in SOURCES else home / ".pegboard" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"permissions": {row["rule_type"]: [rule]}}))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(cwd)
    loaded = load(cwd, {"HOME": str(home)}, trusted=True, managed=str(tmp_path / "managed"))
    loaded.require_sound()
    RuleSet.of(loaded, Volume(**{FLAGS[flag]: True for flag in row.get("fs_flags", ())}))

    tool = TOOLS[row.get("tool") or ("Read" if row["rule"].startswith("Read") else "Edit")]
    ctx = Context(cwd, loaded)
    args = FileInput(file_path=Path(moved.text(row["path"])))
    facts = tool.facts(args, ctx)
    assert isinstance(facts, Facts)
    decision = judge(tool, facts, ctx, [], args)

    by_the_rule = decision.rule == rule and isinstance(decision, Deny if row["rule_type"] == "deny" else Allow)
    assert by_the_rule == (row["expect"] == "match"), (decision, row["why"])


class Moved:
    """The paths of the table, moved into a temporary folder."""

    def __init__(self, base: Path) -> None:
        self.base = str(base)

    def text(self, path: str) -> str:
        return re.sub(r"^/(?=(srv|home|tmp|nonexistent)\b)", f"{self.base}/", path)

    def path(self, path: str) -> Path:
        return Path(self.text(path))

    def rule(self, rule: str) -> str:
        return re.sub(r"\(//(?=(srv|tmp)/)", f"(/{self.base}/", rule)


NAMES = st.sampled_from(["a", "b", "a.txt", "b.txt", "ab", ".env", "x y"])
PATTERNS = st.sampled_from(["a", "b", "*", "**", "*.txt", "a*", "?", "[ab]", "a?", ".env", "x y", "*.*"])
ANCHORS = st.sampled_from(["", "./", "/", "//srv/", "~/"])
RULES = st.builds(
    lambda anchor, names: f"Read({anchor}{'/'.join(names)})", ANCHORS, st.lists(PATTERNS, min_size=1, max_size=4)
)
PLACES = st.sampled_from(["/srv/", "/srv/p/", "/home/u/", "/"])
PATHS = st.builds(lambda place, names: place + "/".join(names), PLACES, st.lists(NAMES, min_size=1, max_size=4))


@settings(max_examples=300, deadline=None)
@given(kind=st.sampled_from(["deny", "allow"]), rules=st.lists(RULES, min_size=1, max_size=12, unique=True), path=PATHS)
def test_many_rules_together_decide_as_each_would_alone(kind: str, rules: list[str], path: str) -> None:
    made = Settings([Layer("project", "settings", {f"permissions.{kind}": rules})], cwd="/srv/p", root="/srv/p")
    compiled = RuleSet(made, Volume())
    made.__dict__["compiled_rules"] = compiled
    alone = [rule.text for rule in compiled.rules if covers(rule, path, compiled)]
    facts = Facts(read_only=True, open_world=False, reads=(Path(path),))
    decision = judge(TOOLS["Read"], facts, Context(Path("/srv/p"), made), [])
    if kind == "deny" or not alone:
        assert decision.rule == (alone[0] if alone else "")
    else:
        assert decision.rule in alone


def test_a_path_leads_where_the_kernel_says_it_leads(tmp_path: Path) -> None:
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "real" / "file").write_text("x")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real" / "up").symlink_to("..")
    (tmp_path / "chain").symlink_to(tmp_path / "link" / "deep")
    (tmp_path / "gone").symlink_to("nowhere/at/all")
    steps = ("link", "real", "deep", "up", "chain", "..", ".", "file", "gone", "new", "")
    for one in steps:
        for two in steps:
            for three in steps:
                path = f"{tmp_path}/{one}/{two}/{three}"
                found = resolve_path(path)
                assert found.spellings[-1] == os.path.realpath(path), path
                assert found.sound


def test_every_hop_of_a_chain_of_links_is_a_spelling(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "b").symlink_to("c")
    (tmp_path / "a").symlink_to("b")
    assert resolve_path(f"{tmp_path}/a/x").spellings == (f"{tmp_path}/a/x", f"{tmp_path}/b/x", f"{tmp_path}/c/x")


def test_a_circle_and_a_nul_byte_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("a")
    assert not resolve_path(f"{tmp_path}/a/x").sound
    assert resolve_path(f"{tmp_path}/a/x").spellings[0] == f"{tmp_path}/a/x"
    assert not resolve_path(f"{tmp_path}/\0").sound


def test_a_volume_is_asked_whether_it_folds_case(tmp_path: Path) -> None:
    (tmp_path / "Folder").mkdir()
    assert Volume.of(str(tmp_path / "Folder")).case_insensitive == (tmp_path / "fOLDER").exists()
