"""The tokens that HTTP clients must send: from the environment, a private file, or made for this run."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import MutableMapping

from pegboard import SettingsError

VARIABLE = "PEGBOARD_MCP_TOKEN"
SHORTEST = 16
"""Characters that a token must have: shorter ones can be guessed."""


class Tokens:
    """The accepted tokens. Only their hashes are kept, and each is compared in constant time."""

    def __init__(self, tokens: list[str]) -> None:
        self._hashes = {_digest(token): f"token-{_digest(token).hex()[:12]}" for token in tokens}

    def owner(self, sent: str) -> str | None:
        """A name for whoever sent this token; None for one that is not accepted."""
        digest, found = _digest(sent), None
        for known, name in self._hashes.items():
            if hmac.compare_digest(known, digest):
                found = name
        return found


def read_tokens(file: str | None, env: MutableMapping[str, str]) -> tuple[Tokens, str]:
    """The accepted tokens, and the one to print if it was made just now.

    The variable is taken out of the environment: tools must not see it.
    """
    given = env.pop(VARIABLE, "").strip()
    tokens = [given] if given else []
    if file:
        tokens += _from_file(file)
    for token in tokens:
        if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
            reason = f"A token must have at least {SHORTEST} printable ASCII characters and no spaces."
            raise SettingsError(reason, source=VARIABLE if token == given else str(file))
    if tokens:
        return Tokens(tokens), ""
    made = secrets.token_urlsafe(32)
    return Tokens([made]), made


def _from_file(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise SettingsError(f"The token file cannot be read: {reason}.", source=path) from None
    if stat.S_IMODE(mode) & 0o077:
        raise SettingsError("Others can read the token file. Run chmod 600 on it.", source=path)
    tokens = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not tokens:
        raise SettingsError("The token file has no token in it.", source=path)
    return tokens


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
