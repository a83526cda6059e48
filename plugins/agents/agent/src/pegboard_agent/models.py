"""Which model an agent asks: the environment, then the call, then the definition, then the parent's."""

from __future__ import annotations

from collections.abc import Mapping

from pegboard import Settings

VARIABLE = "PEGBOARD_SUBAGENT_MODEL"
SHORT = ("sonnet", "opus", "haiku")
"""Words that definitions written for other hosts use; a provider may not have such models."""


def choose_model(
    call: str | None,
    definition: str | None,
    settings: Settings,
    env: Mapping[str, str],
    known: Mapping[str, str] | None = None,
) -> tuple[str | None, list[str]]:
    """The model, None for the parent's; and a warning for each request that was not met.

    `known` are the aliases of the table of models; those of `agents.modelAliases` count before them.
    """
    wishes = ((env.get(VARIABLE), VARIABLE), (call, "the call"), (definition, "the definition"))
    wanted, who = next(((model, who) for model, who in wishes if model), ("inherit", ""))
    if wanted == "inherit":
        return None, []
    aliases = {**(known or {}), **settings.get("agents.modelAliases", {})}
    meant = aliases.get(wanted, wanted)
    meant = (known or {}).get(meant, meant)
    if meant in SHORT and wanted == definition:
        return None, []  # Files written for other hosts name tiers; where none is configured, the parent's model does.
    if meant in SHORT:
        reason = f'no model has this alias. Set "models": {{"…": {{"aliases": ["{meant}"]}}}}.'
        return None, [f"The model {wanted!r} of {who} is not used; the parent's is used instead: {reason}"]
    allowed = settings.get("agents.allowedModels")
    if allowed is not None and meant not in (aliases.get(name, name) for name in allowed):
        return None, [f"The model {meant!r} of {who} is not in agents.allowedModels; the parent's is used."]
    return meant, []
