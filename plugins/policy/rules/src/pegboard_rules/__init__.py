"""Permission rules (allow, ask, deny), protected paths, the permissive modes and the audit log."""

from pegboard_rules.plugin import (
    check_permission,
    check_tools,
    diagnose,
    filter_paths,
    keep_rules,
    record_decisions,
    register_modes,
    suggest_rules,
)

__all__ = [
    "check_permission",
    "check_tools",
    "diagnose",
    "filter_paths",
    "keep_rules",
    "record_decisions",
    "register_modes",
    "suggest_rules",
]
