"""The services that offer Claude models, and what each needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Service:
    """A service that offers models."""

    label: str
    client: str
    """The class in the SDK."""
    access: str
    """What to do when credentials are missing or refused."""
    needs: str = ""
    """A module that only this service needs, brought by the extra of the service's name."""
    takes_key: bool = True

    @property
    def title(self) -> str:
        """The label, capitalized for the start of a sentence."""
        return self.label[0].upper() + self.label[1:]


FIRST_PARTY = "first-party"
SERVICES = {
    FIRST_PARTY: Service(
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
