"""`pegboard audit` reads what real commands have recorded."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pegboard_rules.audit import AuditLog
from pegboard_rules.audit_command import as_line
from pegboard_rules.audit_reader import AuditReader, Wanted, parse_since
from pegboard_testing.warm import warm


class World:
    """A home, and commands in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / ".local/state/pegboard/audit.jsonl"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PEGBOARD", "XDG"))}
        self.env = {**kept, "HOME": str(warm(folder)), "TERM": "xterm"}
        self.env.pop("NO_COLOR", None)

    def run(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **options}
        command = [sys.executable, "-m", "pegboard_cli", *words]
        return subprocess.run(command, cwd=self.folder, env=self.env, text=True, check=False, **options)

    def records(self, *words: str) -> list[dict[str, Any]]:
        done = self.run("audit", "--json", *words)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_decisions_of_real_calls_are_shown_and_chosen(world):
    assert world.run("audit").stderr == f"pegboard: No decisions are recorded in {world.log} yet.\n"
    script = [
        {"content": [{"type": "tool_use", "name": "Read", "input": {"file_path": "script.jsonl"}}]},
        {"content": [{"type": "tool_use", "name": "Bash", "input": {"command": "touch secret-name"}}]},
        {"content": [{"type": "text", "text": "Bye."}]},
    ]
    (world.folder / "script.jsonl").write_text("\n".join(map(json.dumps, script)))
    done = world.run("run", "Go", "--replay", "script.jsonl", "--output-format", "json")
    session = json.loads(done.stdout)["session_id"]
    assert [(record["tool"], record["decision"]) for record in world.records()] == [("Read", "allow"), ("Bash", "deny")]
    assert [record["tool"] for record in world.records("--denied", "--since", "1h", "--session", session[:8])] == [
        "Bash"
    ]
    shown = world.run("audit", "--tool", "Bash").stdout
    assert shown.split()[2:] == ["deny", "Bash", session[:12], "by", "nobody", "(ask)"]
    assert "secret-name" not in world.log.read_text()
    assert "\x1b" not in shown
    assert world.run("audit", "--since", "2999-01-01").stderr == "pegboard: No decision in the audit log matches.\n"


def test_a_setting_keeps_the_input(world):
    settings = world.folder / ".pegboard/settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"auditInput": true}')
    world.run("call", "Bash", "--yes", "command=touch kept-name")
    [record] = world.records()
    assert record["input"] == {"command": "touch kept-name"}
    assert "touch kept-name" in world.run("audit").stdout


def test_decisions_have_colours_on_a_terminal(world):
    AuditLog(str(world.log)).write(a_record())
    leader, follower = pty.openpty()
    world.run("audit", stdout=follower)
    os.close(follower)
    seen = os.read(leader, 65_536).decode()
    os.close(leader)
    assert "\x1b[31mdeny" in seen


def a_record(**more: Any) -> dict[str, Any]:
    return {
        "time": "2026-01-31T10:00:00.000Z",
        "session": "abc",
        "tool": "Bash",
        "decision": "deny",
        "by": "rules",
        **more,
    }


def test_rotated_logs_are_read_in_order_and_broken_lines_are_counted(world):
    log = AuditLog(str(world.log), max_bytes=300, kept=3)
    for number in range(6):
        log.write(a_record(number=number))
    with open(f"{world.log}.1", "ab") as file:
        file.write(b'{"time": "torn\n\xff\xfe\n[]\n{"time": "2026-01-31T10:00:00Z"}\n')
    done = world.run("audit", "--json")
    numbers = [json.loads(line)["number"] for line in done.stdout.splitlines()]
    assert numbers == sorted(numbers)
    assert numbers[-1] == 5
    assert done.stderr == "pegboard: skipped 4 lines of the audit log that cannot be read.\n"


def test_what_a_log_says_cannot_move_the_cursor():
    line = as_line(a_record(rule="Bash(\x1b[2J\n:*)", source="a.json", line=3), colour=False)
    assert "\x1b" not in line
    assert "\n" not in line
    assert line.endswith("(a.json:3)")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30m", "2026-01-31T09:30:00+00:00"),
        ("2d", "2026-01-29T10:00:00+00:00"),
        ("today", "2026-01-31T00:00:00+00:00"),
        ("2026-01-30T12:00:00Z", "2026-01-30T12:00:00+00:00"),
    ],
)
def test_times_are_read(text, expected):
    now = datetime(2026, 1, 31, 10, tzinfo=UTC)
    assert parse_since(text, now) == datetime.fromisoformat(expected)


def test_a_time_that_is_none_is_a_usage_error(world):
    done = world.run("audit", "--since", "yesterdayish")
    assert done.returncode == 2
    assert "'yesterdayish' is not a time. Write 30m, 2h, 3d, today, or a date such as 2026-01-31" in done.stderr


def test_a_link_in_place_of_the_log_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").write_text(json.dumps(a_record()) + "\n")
    (tmp_path / "audit.jsonl").symlink_to("elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        list(AuditReader(str(tmp_path / "audit.jsonl")).records(Wanted()))


@pytest.mark.parametrize(
    ("when", "is_read"),
    [(5, False), (None, False), ("0001-01-01T00:00:00+14:00", False), ("2026-01-01T00:00:00", True)],
)
def test_a_record_with_an_odd_time_is_left_out_or_counts_as_local(tmp_path, when, is_read):
    (tmp_path / "audit.jsonl").write_text(json.dumps({"time": when, "tool": "Read"}) + "\n")
    reader = AuditReader(str(tmp_path / "audit.jsonl"))
    found = list(reader.records(Wanted(since=datetime(2025, 1, 1, tzinfo=UTC))))
    assert (len(found), reader.broken) == (int(is_read), int(not is_read))
    assert all(as_line(record, colour=False).startswith("2026-01-01 00:00:00") for record in found)


@pytest.mark.parametrize("text", ["999999w", "0001-01-01", ""])
def test_a_time_before_all_others_is_none(text):
    with pytest.raises(ValueError, match="is not a time"):
        parse_since(text)
