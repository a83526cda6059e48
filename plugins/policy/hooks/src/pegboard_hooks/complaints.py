"""What is wrong with a handler, whether or not it can run, for `pegboard doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pegboard.wording import did_you_mean
from pegboard_hooks.fields import ON_ERROR, fields_of, is_seconds
from pegboard_hooks.protocol import GUARDS, LONGEST_FAREWELL, TOOL_EVENTS

if TYPE_CHECKING:
    from pegboard_hooks.handlers import Handler

ONCE_IGNORED = "once has no effect in settings: the hook runs every time."


def complaints(event: str, given: Any, handler: Handler) -> Iterator[str]:
    """A sentence for each thing that its author should know."""
    name = handler.name
    if handler.fault:
        yield f"{name}: {handler.fault}" + (" Calls that it guards need approval." if event == "PreToolUse" else "")
        return
    known = fields_of(given)
    for unknown in (word for word in given if word not in known):
        yield f"{name}: A handler has no field {unknown!r}.{did_you_mean(str(unknown), known)}"
    timeout = given.get("timeout")
    if timeout is not None and not is_seconds(timeout):
        yield f"{name}: timeout must be a number of seconds above 0, got {timeout!r}. {handler.timeout:g} is used."
    elif timeout is not None and timeout > handler.timeout:
        yield f"{name}: timeout is at most {LONGEST_FAREWELL:g} seconds at {event}."
    if given.get("onError") is not None and given["onError"] not in ON_ERROR:
        yield f"{name}: onError must be one of {', '.join(ON_ERROR)}, got {given['onError']!r}. deny is used."
    elif given.get("onError") in ("ask", "deny") and event not in GUARDS:
        yield f"{name}: onError has no effect at {event}: there is nothing left to prevent."
    if handler.is_async and event in GUARDS:
        yield f"{name}: an async handler cannot decide anything at {event}: the call does not wait for it."
    if given.get("asyncRewake"):
        yield f"{name}: asyncRewake is not supported; it runs as async."
    if given.get("once") is not None:
        yield f"{name}: {ONCE_IGNORED}"
    if given.get("if") is not None:
        yield from (f"{name}: {words}" for words in _about_condition(event, given["if"], handler))


def _about_condition(event: str, rule: object, handler: Handler) -> Iterator[str]:
    if event not in TOOL_EVENTS:
        yield f"if cannot match at {event}: there is no call to compare with. The hook never runs."
    elif handler.condition is None:
        yield f"if must be one permission rule as text, got {rule!r}. The hook runs without this condition."
    elif handler.condition.wrong:
        yield f"if {rule}: {handler.condition.wrong} The hook runs without this condition."
