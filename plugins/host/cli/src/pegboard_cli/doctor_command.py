"""`pegboard doctor`: look for problems and say what to do about each."""

from __future__ import annotations

import os
import sys

from pegboard.hosting import Features, assemble, guard_problems, index_file, load_index, plugin_roots
from pegboard.wording import counted
from pegboard_cli import options, output
from pegboard_cli.main import FAILED, OK

# Imports happen inside functions: a listing and --help must not load what only other commands need.

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pegboard import Settings
    from pegboard.hosting import PluginRecord, Pool

EXAMPLES = """\
  pegboard doctor
  pegboard doctor --json
"""


def run(words: list[str]) -> int:
    """The command."""
    parser = options.parser("doctor", "Check this environment for problems.", EXAMPLES)
    options.listing(parser)
    given = parser.parse_args(words)
    settings = options.settings_for(given)
    findings = [*environment(), *settings_findings(settings), *plugin_findings(settings)]
    bad = [finding for finding in findings if finding["level"] not in ("ok", "note")]
    if given.json:
        output.print_json(findings)
        return FAILED if bad else OK
    marks = {"ok": ("ok", "green"), "note": ("--", "cyan"), "warning": ("!!", "yellow"), "error": ("XX", "red")}
    for finding in findings:
        mark, style = marks[finding["level"]]
        sys.stdout.write(f"{output.styled(mark, style)}  {finding['area']}: {output.visible(finding['message'])}\n")
    sys.stdout.write(output.styled(f"{counted(len(bad), 'finding')}\n" if bad else "No problems found.\n", "bold"))
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
    message = "linux" if linux else f"{sys.platform}: Pegboard is tested only on Linux."
    found.append(finding("ok" if linux else "warning", "platform", message))
    path = index_file(plugin_roots(), os.environ)
    if path is None:
        reason = (
            "The index cannot be saved: HOME is unset or XDG_CACHE_HOME is relative. Every listing scans all packages."
        )
        found.append(finding("warning", "index", reason))
    elif os.path.isdir(os.path.dirname(path)) and not os.access(os.path.dirname(path), os.W_OK):
        reason = f"{os.path.dirname(path)} is not writable. Every listing scans all packages."
        found.append(finding("warning", "index", reason))
    else:
        found.append(finding("ok", "index", path))
    return found


def settings_findings(settings: Settings) -> list[dict[str, str]]:
    """Broken files and unknown keys."""
    found = [finding("error", "settings", str(problem)) for problem in settings.problems]
    found += [finding("warning", "settings", str(notice)) for notice in settings.notices]
    declared = counted(len({settings.keys.owner(name) for name in settings.keys}), "distribution")
    known = f"project root {settings.root}; {counted(len(list(settings.keys)), 'setting')} of {declared}"
    ignored = [
        finding("note", "settings", f"{source}: not used by Pegboard: {', '.join(sorted(names))}.")
        for source, names in settings.ignored.items()
    ]
    return [*(found or [finding("ok", "settings", known)]), *ignored]


def plugin_findings(settings: Settings) -> list[dict[str, str]]:
    """Unusable plugins, conflicting names, and switches for unknown names."""
    from pegboard_cli.plugin_rows import plugin_rows

    features = Features(settings)
    plugins = load_index(lambda plugin: features.off(plugin) is None)["plugins"]
    pool = assemble(plugins, settings)
    rows = plugin_rows(plugins, pool, settings)
    unkept = [str(problem) for problem in guard_problems(features, plugins)]
    found = [finding("error", "guards", problem) for problem in unkept]
    for row in rows:
        if row["state"] in ("quarantined", "conflict"):
            level = "error" if row["family"] == "policy" else "warning"
            found.append(finding(level, "plugins", f"{row['id']} is {row['state']}: {row['reason']}"))
        if row["printed"]:
            found.append(
                finding("warning", "plugins", f"{row['id']} prints when it is imported: {row['printed'][:80]!r}")
            )
    said = {*unkept, *(str(notice) for notice in settings.notices)}
    found += [finding("warning", "tools", str(notice)) for notice in pool.notices if str(notice) not in said]
    enabled = [plugin for plugin in plugins if features.off(plugin) is None]
    found += rule_findings(settings, pool, enabled)
    found += diagnoses(settings, enabled)
    found += provider_findings(settings, enabled)
    active, tools = sum(row["state"] == "active" for row in rows), counted(len(pool.entries), "tool")
    return [finding("ok", "plugins", f"{active} of {len(rows)} active, {tools}"), *found]


def rule_findings(settings: Settings, pool: Pool, plugins: list[PluginRecord]) -> list[dict[str, str]]:
    """What plugins say about rules, and other settings, that speak of tools."""
    infos = pool.infos()
    said = asked_of(plugins, "check_tools", settings=settings, tools=infos)
    return [finding("warning", "rules", str(notice)) for _, notice in said]


def diagnoses(settings: Settings, plugins: list[PluginRecord]) -> list[dict[str, str]]:
    """What plugins say about their own settings."""
    from pegboard import Fine

    said = asked_of(plugins, "diagnose", settings=settings)
    return [finding("ok" if isinstance(words, Fine) else "warning", entry, str(words)) for entry, words in said]


def provider_findings(settings: Settings, plugins: list[PluginRecord]) -> list[dict[str, str]]:
    """Whether a model can be asked. Without one everything but `pegboard run` works, so that is not a problem."""
    wanted = settings.get("provider", "")
    offered = asked_of(plugins, "register_providers", settings=settings)
    found = {getattr(provider, "name", ""): (entry, provider) for entry, provider in offered}
    if wanted not in found:
        broken = [finding("warning", entry, words) for entry, words in offered if isinstance(words, str)]
        reason = f"There is no provider {wanted!r}, so `pegboard run` only plays scripts. Install pegboard-{wanted}."
        return broken or [finding("note", "provider", reason)]
    entry, provider = found[wanted]
    missing = getattr(provider, "missing", None)
    if missing and (needed := missing()):
        return [finding("note", entry, f"No key is set. Set {needed} before `pegboard run` asks a model.")]
    return [finding("ok", entry, f"`pegboard run` asks {wanted}.")]


def asked_of(plugins: list[PluginRecord], hook: str, **offered: object) -> list[tuple[str, Any]]:
    """The answers of every plugin that has a hook, each with the entry of its plugin."""
    import inspect

    from pegboard.hosting import load_plugin  # It imports pydantic and pluggy; listing commands do without.

    found: list[tuple[str, Any]] = []
    for plugin in plugins:
        scanned = plugin["scan"]
        if scanned and scanned["state"] == "active" and hook in scanned["hooks"]:
            try:
                function = getattr(load_plugin(plugin).plugin, hook)
                wanted = inspect.signature(function).parameters  # A hook takes those of its parameters that it needs.
                said = function(**{name: offered[name] for name in wanted}) or ()
                found += [(plugin["entry"], words) for words in said]
            except (Exception, SystemExit) as error:
                found.append((plugin["entry"], f"Its self-check failed: {type(error).__name__}: {error}"))
    return found
