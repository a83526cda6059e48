"""What settings allow of servers: which may be used at all, and whose words about their tools are believed."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from urllib.parse import urlsplit, urlunsplit

from pegboard import Settings
from pegboard.settings import FROM_REPOSITORY
from pegboard_mcp.config import ConfigError, ServerConfig


def refused_by_policy(server: ServerConfig, settings: Settings) -> str:
    """Why a server may not be used, as a sentence. Each layer can only narrow what the others leave."""
    reached = _reached(server)
    for layer in settings.holders("mcp.deniedServers"):
        if _named((server.name, server.address, *reached), layer.values["mcp.deniedServers"]):
            return f"It is denied by mcp.deniedServers in {layer.source_of('mcp.deniedServers')}."
    for layer in settings.holders("mcp.allowedServers"):
        if not _named((server.name, *reached), layer.values["mcp.allowedServers"]):
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


def _reached(server: ServerConfig) -> tuple[str, ...]:
    """What is really started or reached, with variables filled in; a url also in its plain spelling.

    A project could otherwise write `https://${X:-denied.example}/` where `https://denied.example/*` is denied.
    """
    try:
        if server.kind == "stdio":
            return (" ".join([server.text("command"), *server.texts("args")]),)
        url = server.text("url")
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port not in (None, {"http": 80, "https": 443}.get(parts.scheme)) else ""
    except (ConfigError, ValueError):  # It cannot be started like this.
        return ()
    host = (parts.hostname or "").rstrip(".")
    plain = urlunsplit((parts.scheme, f"[{host}]{port}" if ":" in host else f"{host}{port}", *parts[2:]))
    # What is written before `@` is not the host, whatever it looks like.
    return (plain,) if "@" in parts.netloc else (url, plain)


def _named(texts: Sequence[str], patterns: Sequence[str]) -> bool:
    """By name, by url or by the whole command line."""
    return any(fnmatchcase(text, pattern) for pattern in patterns for text in texts)
