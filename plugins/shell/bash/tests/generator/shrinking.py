"""The shortest command that still does the same harm."""

from __future__ import annotations

from dataclasses import replace

from generator.campaign import Campaign, Finding

MOST_ATTEMPTS = 400


async def shrunk(finding: Finding, campaign: Campaign) -> Finding:
    """Leave out as much as possible, larger pieces first."""
    best, attempts = finding, 0
    size = max(len(best.trial.command) // 2, 1)
    while size and attempts < MOST_ATTEMPTS:
        at, shorter = 0, False
        while at < len(best.trial.command) and attempts < MOST_ATTEMPTS:
            text = best.trial.command[:at] + best.trial.command[at + size :]
            found = await campaign.attempt(replace(best.trial, command=text)) if text.strip() else None
            attempts += 1
            if found is not None and set(found.kinds) & set(finding.kinds):
                best, shorter = found, True
            else:
                at += size
        size = size if shorter and size == 1 else size // 2
    return best
