"""How a model is asked: thinking, effort and the like, in the words of no service.

Options come from settings, of which the command line is a layer, and from the row of the model in the table of models;
settings count first. What the model does not support is said before anything is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pegboard import Settings, SettingsError
from pegboard.wording import shown
from pegboard_session.model_profile import FEATURES as WORDS
from pegboard_session.model_profile import ModelProfile

if TYPE_CHECKING:
    from pegboard_session.loop import Session

LEAST_BUDGET = 1024
THINKING = {"adaptive": "adaptive_thinking", "budget": "thinking_budget", "off": "thinking_off"}
"""The ways to think, and the feature that a model needs for each."""
DEPEND_ON = {"thinking": ("thinking_budget", "thinking_display")}
MAX_TOKENS = 32_000
"""How many tokens an answer may have by default."""
MOST_STOPS = 20


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What a request asks for besides its words. None or nothing leaves the choice to the service."""

    thinking: str | None = None
    """`adaptive`, `budget` or `off`."""
    thinking_budget: int | None = None
    """How many tokens the model may think with, for `budget`."""
    thinking_display: str | None = None
    """`summarized` to be shown the thinking, `omitted` to have it kept back."""
    effort: str | None = None
    betas: tuple[str, ...] = ()
    """Names of features that a service offers on trial."""
    context_management: Mapping[str, Any] | None = None
    """What the service itself should do about a long conversation, in its own words."""
    speed: str | None = None
    service_tier: str | None = None
    stop_sequences: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    output_schema: Mapping[str, Any] | None = None
    """The JSON schema that the final answer follows, where the service can hold the model to it."""


KEYS = {
    "thinking": "thinking",
    "thinkingBudget": "thinking_budget",
    "thinkingDisplay": "thinking_display",
    "effort": "effort",
    "betas": "betas",
    "contextManagement": "context_management",
    "speed": "speed",
    "serviceTier": "service_tier",
    "stopSequences": "stop_sequences",
    "requestHeaders": "headers",
    "requestMetadata": "metadata",
}
"""The settings, and the fields that they fill. `options` of a row in the table of models has the same names."""

FEATURES = {
    "effort": "effort",
    "context_management": "context_management",
    "speed": "speed",
    "service_tier": "service_tier",
    "stop_sequences": "stop_sequences",
}
"""The feature that a model needs for each field but thinking."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The options of a session, and what of them is left out and why."""

    options: ModelOptions = ModelOptions()
    max_tokens: int | None = None
    left_out: tuple[str, ...] = ()
    """Sentences about options of a settings file or profile that the model does not support."""


def choose_options(settings: Settings, profile: ModelProfile, *, strict: bool = True) -> Chosen:
    """What settings and the model's profile ask for.

    Raises `SettingsError` for values that do not go together, and if `strict` for an option of the command line that
    the model does not support; one of a settings file is left out, because the same file serves other models.
    """
    given: dict[str, Any] = {}
    sources: dict[str, tuple[str, str]] = {}
    for key, name in (*KEYS.items(), ("maxTokens", "max_tokens")):
        holders = settings.holders(key) if key in settings.keys else []
        if holders:
            given[name], sources[name] = settings.get(key), (holders[0].name, holders[0].source_of(key))
        elif key in profile.options:
            given[name], sources[name] = profile.options[key], ("profile", f"the profile of {profile.model}")
    most = given.pop("max_tokens", None)
    left_out: list[str] = []

    def unsupported(name: str, words: str) -> None:
        layer, source = sources[name]
        if strict and layer == "cli" and not Path(source).is_absolute():  # `--settings FILE` is of this layer, too.
            raise SettingsError(f"{words}. Leave the option out, or choose another model.", source=source)
        left_out.append(f"{source}: {words}, so it is not asked for.")

    if most and profile.max_output and most > profile.max_output:
        limit = profile.max_output
        unsupported("max_tokens", f"The model {profile.model} answers with at most {limit} tokens, not {most}")
        most = limit
    limits = (most or MAX_TOKENS, profile.max_output, profile.window and profile.window // 4)
    _check(given, sources, min(limit for limit in limits if limit))
    for name, feature in _features(given):
        if name in given and not profile.supports(feature):
            source = name if name in sources else "thinking_budget"
            unsupported(source, f"The model {profile.model} does not support {WORDS[feature]}")
            del given[name]
            for more in DEPEND_ON.get(name, ()):
                given.pop(more, None)
    made: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    return Chosen(ModelOptions(**made), most, tuple(left_out))


def _check(given: dict[str, Any], sources: Mapping[str, tuple[str, str]], most: int) -> None:
    """Refuse values that no model takes."""

    def wrong(name: str, words: str) -> SettingsError:
        key = next(key for key, field_name in KEYS.items() if field_name == name)
        return SettingsError(f"{key} {words}", source=sources[name][1])

    budget = given.get("thinking_budget")
    if budget is not None:
        given.setdefault("thinking", "budget")
        if given["thinking"] != "budget":
            del given["thinking_budget"]  # A stronger layer wants to think another way.
        elif budget < LEAST_BUDGET:
            raise wrong("thinking_budget", f"must be {LEAST_BUDGET} or more, got {budget}.")
        elif budget >= most:
            raise wrong("thinking_budget", f"must be less than maxTokens, which is {most}, got {budget}.")
    elif given.get("thinking") == "budget":
        raise wrong("thinking", 'is "budget", but thinkingBudget is not set. Set it to a number of tokens.')
    for name, value in given.get("headers", {}).items():
        if not (name and name.isascii() and name.isprintable() and not set(name) & set(' :"(),/;<=>?@[\\]{}')):
            raise wrong("headers", f"has a name that is not a header name: {shown(name)}.")
        if name.lower() in OWN_HEADERS:
            raise wrong("headers", f"may not contain {name}: the provider sets it.")
        if not (value.isascii() and value.isprintable()):
            raise wrong("headers", f"must have one line of ASCII text for {name}.")
    for beta in given.get("betas", ()):
        if not beta or not beta.isascii() or not beta.isprintable() or set(beta) & set(" ,"):
            raise wrong("betas", f"must be names without spaces or commas, got {shown(beta)}.")
    stops = given.get("stop_sequences", ())
    if len(stops) > MOST_STOPS or not all(stop.strip() for stop in stops):
        raise wrong("stop_sequences", f"must be up to {MOST_STOPS} texts, none of them blank, got {shown(stops)}.")


OWN_HEADERS = frozenset(
    {
        *("authorization", "x-api-key", "anthropic-version", "anthropic-beta", "host", "connection"),
        *("content-length", "content-type", "transfer-encoding"),
    }
)
"""Headers that would change who asks, or break the request. Betas have an option of their own."""


def _features(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    needed = [("thinking", THINKING[given["thinking"]])] if given.get("thinking") else []
    needed += [(name, feature) for name, feature in FEATURES.items() if given.get(name)]
    effort = given.get("effort")
    return [*needed, ("effort", f"effort_{effort}")] if effort in ("xhigh", "max") else needed


class Asking:
    """How one session asks its model. Chosen anew when the model changes; what is left out is said once."""

    def __init__(self, session: Session, output_schema: Mapping[str, Any] | None = None) -> None:
        self._session, self._schema = session, output_schema
        self._for, self._chosen = "", Chosen()
        self._said: set[str] = set()
        self.effort = ""
        """An effort that counts before all others, for as long as it is set."""
        self._choose()

    def _choose(self) -> Chosen:
        session = self._session
        if session.model != self._for:
            self._for = session.model
            self._chosen = choose_options(session.board.settings, session.profile, strict=session.parent is None)
        return self._chosen

    @property
    def max_tokens(self) -> int:
        """How many tokens an answer may have."""
        return self._choose().max_tokens or MAX_TOKENS

    @property
    def is_held_to_schema(self) -> bool:
        """Whether the service holds the model to the schema of the final answer."""
        return self._schema is not None and self._session.profile.supports("structured_output")

    @property
    def options(self) -> ModelOptions:
        """The options of the next request."""
        options, definition = self._choose().options, self._session.definition
        effort = self.effort or (definition.effort if definition else "")
        if effort and self._session.profile.supports("effort"):
            options = replace(options, effort=effort)
        return replace(options, output_schema=self._schema) if self.is_held_to_schema else options

    def report(self) -> None:
        """Tell the person what is not asked for, and why."""
        for words in self._choose().left_out:
            if words not in self._said:
                self._said.add(words)
                self._session.emit("notice", message=words, data={})
