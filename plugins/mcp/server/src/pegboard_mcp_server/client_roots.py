"""The folders that a client offers as its roots: they narrow where tools work, and never widen it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pegboard import Context, ToolError


def folders_of(uris: Iterable[str]) -> list[Path]:
    """The local folders among the roots; other kinds of roots have no meaning here."""
    found: list[Path] = []
    for uri in uris:
        try:
            parts = urlsplit(uri)
            if parts.scheme == "file" and parts.netloc in ("", "localhost"):
                found.append(Path(unquote(parts.path)).resolve())
        except (ValueError, OSError, RuntimeError):  # Not an address, a zero byte, or links in a circle: no folder.
            continue
    return found


def narrowed(configured: Sequence[Path], offered: Sequence[Path]) -> list[Path]:
    """What is in a configured folder and in an offered one."""
    found: list[Path] = []
    for folder in configured:
        real = folder.resolve()
        for root in offered:
            if root.is_relative_to(real):
                found.append(root)
            elif real.is_relative_to(root):
                found.append(real)
    return list(dict.fromkeys(found))


def within_roots(ctx: Context, configured: Sequence[Path], offered: Sequence[Path]) -> Context:
    """The context for a client with these roots; a `ToolError` where nothing is left to work in."""
    folders = [folder for folder in narrowed(configured, offered) if folder.is_dir()]
    if not folders:
        served = ", ".join(map(str, configured))
        reason = f"None of this client's roots contains a folder of this server, which works in {served}."
        raise ToolError(f"{reason} Add a root inside it, or start the server in another folder.")
    here = ctx.cwd.resolve()
    stays = any(here.is_relative_to(folder) for folder in folders)
    return replace(ctx, cwd=ctx.cwd if stays else folders[0], roots=tuple(folders))
