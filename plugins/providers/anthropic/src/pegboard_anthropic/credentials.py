"""Where the key of the first-party API comes from, read as the SDK reads it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from pegboard import ProviderError
from pegboard_anthropic.services import Service

KEY, TOKEN = "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"
PROFILE_VARIABLES = ("ANTHROPIC_PROFILE", "ANTHROPIC_IDENTITY_TOKEN", "ANTHROPIC_IDENTITY_TOKEN_FILE")
"""Variables of credentials that only the SDK can use: it exchanges them for a token that expires."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """A key or token that goes out as it is, and the headers that the environment adds to every request."""

    secret: str | None = field(repr=False)
    word: str
    headers: dict[str, str] = field(repr=False)

    @classmethod
    def found(cls, api_key: str | None) -> Credentials:
        """The key given, else that of the environment, else its token. Empty variables count as not set."""
        if api_key is not None:
            return cls(api_key, "key", custom_headers())
        if key := os.environ.get(KEY):
            return cls(key, "key", custom_headers())
        return cls(os.environ.get(TOKEN) or None, "token", custom_headers())

    @property
    def suffice(self) -> bool:
        """Whether a request could be sent with them alone."""
        return self.secret is not None or any(name.lower() in ("authorization", "x-api-key") for name in self.headers)

    def check(self, service: Service) -> None:
        """Say what is missing or broken before anything is sent.

        A key with a line break must not get as far as the HTTP library, whose error message would quote it.
        """
        check_secret(self.secret, self.word, service)
        if not self.suffice:
            raise missing(service)


def check_secret(secret: str | None, word: str, service: Service) -> None:
    """Refuse a key that could not be sent as a header, without quoting it."""
    if secret is not None and not (secret.isascii() and secret.isprintable() and secret == secret.strip()):
        raise ProviderError(
            f"The API {word} contains spaces, line breaks or special characters. {service.access}",
            kind="authentication",
        )


def missing(service: Service) -> ProviderError:
    """No key, no token, no profile."""
    return ProviderError(f"No API key is set for {service.label}. {service.access}", kind="authentication")


def custom_headers() -> dict[str, str]:
    """`ANTHROPIC_CUSTOM_HEADERS`: one header in each line."""
    lines = (line.partition(":") for line in os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").split("\n"))
    return {name.strip(): value.strip() for name, colon, value in lines if colon}


def has_profile() -> bool:
    """Whether there may be credentials that only the SDK can use: a profile, or the identity of a workload."""
    if any(os.environ.get(name) for name in PROFILE_VARIABLES):
        return True
    folder = os.environ.get("ANTHROPIC_CONFIG_DIR") or Path.home() / ".config" / "anthropic"
    return Path(folder).is_dir()
