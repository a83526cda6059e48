"""Which client of the SDK is used for which service, and what each needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pegboard import ProviderError

if TYPE_CHECKING:
    import anthropic

# Imports happen inside functions: the SDK is slow to import, and only a request needs it.

CONNECT_SECONDS = 10.0
KEEP_ALIVE_SECONDS = 60.0
"""How long an idle connection is kept: tools often run for longer than the five seconds that are usual."""


@dataclass(frozen=True, slots=True)
class Service:
    """A service that offers models."""

    label: str
    client: str
    """The class in the SDK."""
    access: str
    """What to do when credentials are missing or refused."""
    needs: str = ""
    """A module that only this service needs, installed by the extra named after the service."""
    takes_key: bool = True

    @property
    def title(self) -> str:
        """The label, capitalized for the start of a sentence."""
        return self.label[0].upper() + self.label[1:]


SERVICES = {
    "first-party": Service(
        "the Anthropic API", "AsyncAnthropic", "Set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN) to a valid key."
    ),
    "bedrock": Service(
        "Amazon Bedrock",
        "AsyncAnthropicBedrock",
        "Set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION.",
        needs="boto3",
    ),
    "vertex": Service(
        "Google Vertex AI",
        "AsyncAnthropicVertex",
        "Set CLOUD_ML_REGION and ANTHROPIC_VERTEX_PROJECT_ID and run `gcloud auth application-default login`.",
        needs="google.auth",
        takes_key=False,
    ),
    "foundry": Service(
        "Microsoft Foundry",
        "AsyncAnthropicFoundry",
        "Set ANTHROPIC_FOUNDRY_API_KEY and ANTHROPIC_FOUNDRY_RESOURCE.",
    ),
}


def load_sdk(name: str) -> None:
    """Import the SDK, and what else a service needs; seconds the first time, so call it in a thread."""
    service = SERVICES[name]
    import_module("anthropic")
    if service.needs:
        try:
            import_module(service.needs)
        except ImportError as error:
            raise ProviderError(
                f"{service.title} needs the module {service.needs}, which is not installed. "
                f"Run: pip install 'anthropic[{name}]'",
                kind="invalid_request",
            ) from error


def make_client(name: str, *, base_url: str | None, api_key: str | None, timeout: float) -> Any:
    """A client that never repeats a request on its own; everything not given is read from the environment."""
    import anthropic
    import httpx2

    service = SERVICES[name]
    patience = httpx2.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS))
    given = {"base_url": base_url, "api_key": api_key}
    make: Callable[..., Any] = getattr(anthropic, service.client)
    try:
        client = make(
            **{option: value for option, value in given.items() if value is not None},
            timeout=patience,
            max_retries=0,  # No retries here: the session retries, because it knows which calls have already run.
            open_telemetry=False,  # What a host traces is its own choice, not that of a library below it.
            http_client=anthropic.DefaultAsyncHttpxClient(
                timeout=patience, limits=httpx2.Limits(keepalive_expiry=KEEP_ALIVE_SECONDS)
            ),
        )
    except (anthropic.AnthropicError, ValueError) as error:
        raise ProviderError(
            f"{service.title} cannot be used: {str(error).rstrip('.')}. {service.access}", kind="authentication"
        ) from error
    if name == "first-party":
        _check_credentials(client, service)
    return client


def _check_credentials(client: anthropic.AsyncAnthropic, service: Service) -> None:
    """Say what is missing before anything is sent.

    A key with a line break must not get as far as the HTTP library, whose error message would quote it.
    """
    key = client.api_key or client.auth_token
    if key is not None and not (key.isascii() and key.isprintable() and key == key.strip()):
        source = "key" if client.api_key else "token"
        raise ProviderError(
            f"The API {source} contains spaces, line breaks or special characters. {service.access}",
            kind="authentication",
        )
    sent = {header.lower() for header in client.default_headers}
    if key is None and client.credentials is None and not sent & {"authorization", "x-api-key"}:
        raise ProviderError(f"No API key is set for {service.label}. {service.access}", kind="authentication")
