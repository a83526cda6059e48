"""`pegboard features`: which tool families are on, and which setting decides."""

from __future__ import annotations

from pegboard.hosting import BY_FULL_NAME, FAMILIES, OWNERS, Features, guard_problems, load_index, normalise
from pegboard_cli import options, output
from pegboard_cli.main import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pegboard.hosting import PluginRecord

EXAMPLES = """\
  pegboard features
  PEGBOARD_DISABLE=shell,web pegboard features
  pegboard features --only files --json
"""


def run(words: list[str]) -> int:
    """The command."""
    parser = options.parser("features", "Show which tool families are on or off, and which setting decides.", EXAMPLES)
    options.listing(parser)
    given = parser.parse_args(words)
    settings = options.settings_for(given)
    features = Features(settings)
    found = load_index(lambda plugin: False)["plugins"]
    notices = settings.notices + features.refusals(found) + features.unknown(found)
    options.warn(settings, notices, guard_problems(features, found))
    rows = [row(family, features, found) for family in families(found)]
    if given.json:
        output.print_json(rows)
        return OK
    output.print_table(
        ["FAMILY", "STATE", "SET BY", "PLUGINS", "WHY"],
        [
            [r["family"], r["state"], r["set_by"], ", ".join(p["entry"] for p in r["plugins"]) or "-", r["reason"]]
            for r in rows
        ],
    )
    return OK


def families(found: list[PluginRecord]) -> list[str]:
    """Our own first, then those of others."""
    others = sorted({plugin["family"] for plugin in found} - {*FAMILIES, *BY_FULL_NAME})
    return [*FAMILIES, *others, *BY_FULL_NAME]


def row(family: str, features: Features, found: list[PluginRecord]) -> dict[str, Any]:
    """A family with its installed plugins."""
    mine = [plugin for plugin in found if plugin["family"] == family]
    plugins = [{"entry": p["entry"], "distribution": p["dist"], "off": features.off(p) or ""} for p in mine]
    off = [plugin for plugin in plugins if plugin["off"]]
    closed = family_off(features, family) if len(off) == len(mine) else None  # A choice may name only its plugins.
    reason = closed or (off[0]["off"] if off else "")
    state = "off" if closed or (mine and len(off) == len(mine)) else "partly" if off else "on"
    return {"family": family, "state": state, "reason": reason, "set_by": set_by(features, family), "plugins": plugins}


def family_off(features: Features, family: str) -> str | None:
    """Why a whole family is off, whether or not anything of it is installed."""
    if family in BY_FULL_NAME:
        return None
    for word, _, source in features.disable:
        if word == family:
            return f"The family {word} is disabled by {source}."
    parts = {name for name, (_, entry) in OWNERS.items() if entry.startswith(f"{family}.")}
    dists = {OWNERS[name][0] for name in parts}
    for words, source in features.only:
        if not any(
            word == family or word.startswith(f"{family}.") or word in parts or normalise(word) in dists
            for word in words
        ):
            return f"The family {family} is not among those chosen by {source}: {', '.join(words) or 'nothing'}."
    return None


def set_by(features: Features, family: str) -> str:
    """The layer that decided, or `default`."""
    for word, layer, _ in features.disable:
        if word == family or word.startswith(f"{family}."):
            return layer
    holders = features.settings.holders("only")
    return holders[0].name if holders and family not in BY_FULL_NAME else "default"
