"""`pegboard undo`: restore the files that a session changed."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pegboard import PegboardError
from pegboard.settings import state_dir
from pegboard.wording import counted
from pegboard_files import LocalFiles
from pegboard_session import Transcript, TranscriptStore, restore
from pegboard_undo import restore as restoring
from pegboard_undo.journal import UNDONE
from pegboard_undo.plan import Plan, as_text, make_plan, refusal_of

EXAMPLES = """\
examples:
  pegboard undo                  the last turn of this folder's last session: list, ask, restore
  pegboard undo 688cb06e         the same of another session
  pegboard undo --to 2 --yes     everything from turn 2 on, without asking
  pegboard undo --json           list as JSON; with --yes restore too

Files that were changed since are never overwritten: they are named, and nothing is restored.
"""
OK, FAILED, DENIED = 0, 1, 3


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        prog="pegboard undo",
        description="Restore the files that a session changed, turn by turn.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("session", nargs="?", metavar="SESSION", default="", help="its id, or the start of it")
    made.add_argument("--to", type=int, metavar="TURN", help="restore the files as they were before this turn")
    made.add_argument("--yes", action="store_true", help="do not ask")
    made.add_argument("--json", action="store_true", help="print JSON")
    made.add_argument("--debug", action="store_true", help="show tracebacks")
    return made


def run(words: Sequence[str]) -> int:
    """The command."""
    given = parser().parse_args(words)
    state = state_dir(os.environ)
    if not state:
        raise PegboardError("There are no sessions: there is no home directory. Set HOME or XDG_STATE_HOME.")
    store = TranscriptStore(Path(state, "transcripts"))
    path = store.find(given.session) if given.session else store.latest(str(Path.cwd()))
    plan = make_plan(restore(path).lines, given.to)
    is_wanted = given.yes and bool(plan.steps)
    if given.json:
        is_done = is_wanted and not plan.refused
        if is_done:
            _restore(plan, path, state)
        sys.stdout.write(json.dumps({"session": path.stem, **plan.as_data(), "restored": is_done}, indent=1) + "\n")
        return FAILED if plan.refused else OK
    return _talk(plan, path, state, is_asked=not is_wanted)


def _talk(plan: Plan, path: Path, state: str, *, is_asked: bool) -> int:
    """List, ask, restore."""
    if text := as_text(plan):
        sys.stdout.write(f"Session {path.stem[:12]}, back to before turn {plan.to}:\n{_visible(text)}\n")
    if not plan.steps:
        sys.stdout.write("There is nothing to undo.\n")
        return OK
    if refusal := refusal_of(plan):
        sys.stderr.write(f"pegboard: {_visible(refusal)}\n")
        return FAILED
    if is_asked and not _agrees():
        sys.stderr.write("Nothing was restored.\n")
        return DENIED
    _restore(plan, path, state)
    sys.stdout.write(f"Restored {counted(len(plan.steps), 'file')}.\n")
    return OK


def _agrees() -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        sys.stderr.write("pegboard: there is no one to ask. Add --yes to restore these files.\n")
        return False
    sys.stderr.write("Restore these files? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _restore(plan: Plan, path: Path, state: str) -> None:
    """Restore with the transcript open: a session that runs elsewhere must not change files at the same time."""
    transcript = Transcript(path)
    try:
        restoring.require_same(plan, restore(path).lines)
        words = restoring.restore(plan, LocalFiles(state))
        transcript.write(UNDONE, to=plan.to)
        transcript.write("news", text=words)
    finally:
        transcript.close()


def _visible(text: str) -> str:
    """Nothing in a file may move the cursor."""
    kept = (sign if sign.isprintable() or sign in "\n\t" else "\N{REPLACEMENT CHARACTER}" for sign in text)
    return "".join(kept)
