"""What can go wrong, as one small tree.

    PegboardError
    ├── ToolError        a call cannot be done: tell the model and go on
    ├── SettingsError    a settings file or variable cannot be used: name the place, stop what would act on it
    ├── PluginError      a plugin cannot be used: it is quarantined with this as its reason
    │   └── PolicyError  a guard cannot be used: nothing may run without it
    ├── DefinitionError  a tool definition handed in at run time is refused
    └── ProviderError    a model could not be asked, or stopped in the middle of its answer

Every message has up to three sentences: what happened, what was expected, what to do.
"""

from __future__ import annotations

from pegboard_settings.errors import PegboardError as PegboardError
from pegboard_settings.errors import SettingsError as SettingsError
from pegboard_settings.wording import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

CODES = {
    "invalid_input": "Correct the arguments and call again.",
    "not_found": "Look for the right name or path first.",
    "permission_denied": "Continue without it, or ask the user.",
    "stale": "Read the file again before changing it.",
    "ambiguous": "Give more context so that there is only one match.",
    "no_match": "Check the text you are looking for; it must match exactly.",
    "timeout": "Try something smaller, or allow more time.",
    "cancelled": "Do not repeat it unless the user asks.",
    "too_large": "Ask for a smaller part.",
    "unsupported": "Use another tool for this.",
    "failed": "Read its output before you try again.",
    "lost": "It may have run anyway. Check what it has done before you repeat it.",
    "internal": "This is a bug in the tool, not in your call. Try another way.",
}
"""Each kind of failure that a model may see, with its one-line remedy."""


class ToolError(PegboardError):
    """Tell the model why the call cannot be done; the conversation goes on.

    `code` is one of `CODES`. When the message does not say what to do, the code's remedy is added for the model.
    `value` is what programs get to know of the failure, a value of the tool's output model, and `change` the `Change`
    that the call has made in the session all the same.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "invalid_input",
        remedy: str | None = None,
        value: Any = None,
        change: Any = None,
    ) -> None:
        if code not in CODES:
            raise ValueError(f"{code!r} is not an error code. Use one of {', '.join(CODES)}.")
        super().__init__(message)
        self.message = message
        self.code = code
        self.remedy = remedy
        self.value, self.change = value, change


class PluginError(PegboardError):
    """A plugin cannot be used. `kind` is a short stable word for programs, the message is for people."""

    def __init__(self, message: str, *, kind: str, traceback: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.traceback = traceback


class PolicyError(PluginError):
    """A guard (hooks, sandbox, classifier) cannot be used, so nothing may run."""


class DefinitionError(PegboardError):
    """A tool definition that an application handed in at run time is refused."""


class ProviderError(PegboardError):
    """A model could not be asked, or its answer broke off.

    `retryable` says whether the same request may succeed later, `retry_after` how many seconds the provider asked us to
    wait. `kind` is one of `authentication`, `rate_limit`, `overloaded`, `server`, `connection`, `context_overflow`,
    `invalid_request`, `script`, `price`.
    """

    def __init__(
        self, message: str, *, kind: str = "server", retryable: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind, self.retryable, self.retry_after = kind, retryable, retry_after


def refuse_unknown(given: Mapping[str, Any], options: type, what: str) -> None:
    """Raise `TypeError` for a keyword that `options`, a `TypedDict`, does not list; Python does not check them."""
    for name in given:
        if name not in options.__annotations__:
            raise TypeError(f"{what} has no option {name!r}.{did_you_mean(name, options.__annotations__)}")
