"""What settings allow of servers: which may be used at all, and whose words about their tools are believed."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from pegboard import Settings
from pegboard.settings import FROM_REPOSITORY
from pegboard_mcp.config import ServerConfig


def refused_by_policy(server: ServerConfig, settings: Settings) -> str:
    """Why a server may not be used, as a sentence. Each layer can only narrow what the others leave."""
    for layer in settings.holders("mcp.deniedServers"):
        if _named(server, layer.values["mcp.deniedServers"]):
            return f"It is denied by mcp.deniedServers in {layer.source_of('mcp.deniedServers')}."
    for layer in settings.holders("mcp.allowedServers"):
        if not _named(server, layer.values["mcp.allowedServers"]):
            return f"It is not among mcp.allowedServers in {layer.source_of('mcp.allowedServers')}."
    return ""


def is_trusted(server: ServerConfig, settings: Settings) -> bool:
    """Whether the server's word counts: it is the person's or the owner's own, and they say so.

    A server that came with a project is never trusted, whatever its name is.
    """
    if server.from_project:
        return False
    holders = [layer for layer in settings.holders("mcp.trustedServers") if layer.name not in FROM_REPOSITORY]
    return any(server.name in layer.values["mcp.trustedServers"] for layer in holders)


def may_sample(settings: Settings) -> bool:
    """Whether servers may ask the model: the person or the owner says so. A project can only say no."""
    said = [layer for layer in settings.holders("mcp.sampling") if layer.name not in FROM_REPOSITORY]
    return bool(settings.get("mcp.sampling")) and any(layer.values["mcp.sampling"] for layer in said)


def _named(server: ServerConfig, patterns: Sequence[str]) -> bool:
    """By name, by url or by the whole command line."""
    return any(fnmatchcase(text, pattern) for pattern in patterns for text in (server.name, server.address))
