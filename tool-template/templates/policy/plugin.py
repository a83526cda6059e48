"""{{ cookiecutter.description }}"""

from __future__ import annotations

from pegboard import Decision, Deny, Facts, hookimpl

KEPT = frozenset({"CHANGELOG.md"})
"""The names of the files that no call may change."""


@hookimpl
def check_permission(facts: Facts) -> Decision | None:
    """Refuse a call that would change such a file. About every other call this policy has no opinion.

    Deny beats ask beats allow: nothing that another policy, a rule or a person says can lift a refusal.
    An exception in here denies, too.
    """
    for path in (*facts.writes, *facts.deletes):
        if path.name in KEPT:
            return Deny(f"{path.name} must stay as it is. Leave it out.")
    return None
