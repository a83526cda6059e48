"""`pegboard doctor`: look for problems, say what to do about each."""

from __future__ import annotations

import os
import sys

from pegboard.plugins import index
from pegboard.plugins.features import Features
from pegboard.pool.assembly import assemble
from pegboard_cli import options, output
from pegboard_cli.main import FAILED, OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pegboard.settings import Settings

EXAMPLES = """\
  pegboard doctor
  pegboard doctor --json
"""


def run(words: list[str]) -> int:
    """The command."""
    parser = options.parser("doctor", "Look for problems in this environment.", EXAMPLES)
    options.listing(parser)
    given = parser.parse_args(words)
    settings = options.settings_for(given)
    findings = [*environment(), *settings_findings(settings), *audit_findings(settings), *plugin_findings(settings)]
    bad = [finding for finding in findings if finding["level"] != "ok"]
    if given.json:
        output.print_json(findings)
        return FAILED if bad else OK
    marks = {"ok": ("ok", "green"), "warning": ("!!", "yellow"), "error": ("XX", "red")}
    for finding in findings:
        mark, style = marks[finding["level"]]
        sys.stdout.write(f"{output.styled(mark, style)}  {finding['area']}: {output.visible(finding['message'])}\n")
    count = f"{len(bad)} findings" if len(bad) != 1 else "1 finding"
    sys.stdout.write(output.styled(f"{count}\n" if bad else "No problems found.\n", "bold"))
    return FAILED if bad else OK


def finding(level: str, area: str, message: str) -> dict[str, str]:
    """One line of the report."""
    return {"level": level, "area": area, "message": message}


def environment() -> list[dict[str, str]]:
    """The interpreter, the platform, and the place for the index."""
    found = []
    version = ".".join(map(str, sys.version_info[:3]))
    fits = (3, 11) <= sys.version_info[:2] <= (3, 13)
    found.append(finding("ok" if fits else "warning", "python", f"{version}; Pegboard is tested on 3.11 to 3.13."))
    linux = sys.platform == "linux"
    message = "linux" if linux else f"{sys.platform}: Pegboard is built for Linux; nothing here is tested elsewhere."
    found.append(finding("ok" if linux else "warning", "platform", message))
    path = index.file_for(index.roots(), os.environ)
    if path is None:
        reason = (
            "There is no place for the index: HOME is unset or XDG_CACHE_HOME is relative. Listing scans every time."
        )
        found.append(finding("warning", "index", reason))
    elif os.path.isdir(os.path.dirname(path)) and not os.access(os.path.dirname(path), os.W_OK):
        reason = f"{os.path.dirname(path)} is not writable. Listing scans every time."
        found.append(finding("warning", "index", reason))
    else:
        found.append(finding("ok", "index", path))
    return found


def settings_findings(settings: Settings) -> list[dict[str, str]]:
    """Broken files and unknown keys."""
    found = [finding("error", "settings", str(problem)) for problem in settings.problems]
    found += [finding("warning", "settings", str(notice)) for notice in settings.notices]
    return found or [finding("ok", "settings", f"project root {settings.root}")]


def audit_findings(settings: Settings) -> list[dict[str, str]]:
    """Whether decisions can be recorded."""
    from pegboard.permission.audit import AuditLog  # Needs more than a listing has loaded.

    log = AuditLog.of(settings)
    if log is None:
        return [finding("ok", "audit", "Decisions are not recorded here.")]
    trouble = log.trouble()
    return [finding("warning", "audit", trouble) if trouble else finding("ok", "audit", log.path)]


def plugin_findings(settings: Settings) -> list[dict[str, str]]:
    """Plugins that cannot be used, names that two claim, switches that name nothing."""
    from pegboard.permission.compiled import Compiled
    from pegboard.permission.lint import problems
    from pegboard.pool.report import plugin_rows

    features = Features(settings)
    known: dict[str, Any] = index.load(lambda plugin: features.off(plugin) is None)
    pool = assemble(known["plugins"], settings)
    rows = plugin_rows(known["plugins"], pool, settings)
    found = []
    for row in rows:
        if row["state"] in ("quarantined", "conflict"):
            level = "error" if row["family"] == "policy" else "warning"
            found.append(finding(level, "plugins", f"{row['id']} is {row['state']}: {row['reason']}"))
        if row["printed"]:
            found.append(
                finding("warning", "plugins", f"{row['id']} prints when it is imported: {row['printed'][:80]!r}")
            )
    said = {str(notice) for notice in settings.notices}
    found += [finding("warning", "tools", str(notice)) for notice in pool.notices if str(notice) not in said]
    found += [finding("warning", "rules", str(notice)) for notice in problems(Compiled.of(settings), pool.known_names)]
    found += diagnoses(settings, [plugin for plugin in known["plugins"] if features.off(plugin) is None])
    active = sum(row["state"] == "active" for row in rows)
    return [finding("ok", "plugins", f"{active} of {len(rows)} active, {len(pool.entries)} tools"), *found]


def diagnoses(settings: Settings, plugins: list[dict[str, Any]]) -> list[dict[str, str]]:
    """What plugins say about their own settings."""
    from pegboard.extensions import Fine
    from pegboard.plugins.loader import load_plugin  # It imports pydantic and pluggy; listing commands do without.

    found = []
    for plugin in plugins:
        scanned = plugin["scan"]
        if scanned and scanned["state"] == "active" and "diagnose" in scanned["hooks"]:
            try:
                said = list(load_plugin(plugin).plugin.diagnose(settings))
            except (Exception, SystemExit) as error:
                said = [f"It could not examine itself: {type(error).__name__}: {error}"]
            levels = ["ok" if isinstance(message, Fine) else "warning" for message in said]
            found += [finding(level, plugin["entry"], str(text)) for level, text in zip(levels, said, strict=True)]
    return found
