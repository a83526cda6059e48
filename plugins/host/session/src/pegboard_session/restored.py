"""Read a conversation back: one pass over its transcript, which keeps only what is needed to continue."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pegboard import Change, PegboardError
from pegboard_session.cleared_results import put_in
from pegboard_session.history import as_message, call_ids, sendable
from pegboard_session.transcript import USELESS, read
from pegboard_session.usage import SessionUsage

INTERRUPTED = "This call was interrupted before it had a result. It may have run in part; check before you repeat it."
OWN_LINES = frozenset(
    {"block", "result", "discarded", "change", "usage", "news", "session", "prompt", "system", "cleared", "compacted"}
)
"""The kinds of lines that a session reads itself; all others are handed to plugins."""

SHORTER = frozenset({"cleared", "compacted"})
"""Lines after which the conversation is shorter than what was said."""

Messages = list[dict[str, Any]]


@dataclass(slots=True)
class Restored:
    """A conversation of an earlier process. Calls without a result are answered as interrupted."""

    messages: Messages = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    usage: SessionUsage | None = None
    provider: str = ""
    """Who wrote the answers; empty if that was not noted."""
    cwd: Path | None = None
    """Where it began."""
    prompt: str = ""
    """What the person wrote first."""
    last_prompt: str = ""
    folder: str = ""
    """Where the person was when it was last opened."""
    prompts: int = 0
    """How many prompts there were."""
    system: dict[str, str] = field(default_factory=dict)
    """The parts of the system prompt that are sent again as they were, by name."""
    news: list[str] = field(default_factory=list)
    """What was announced and never told."""
    lines: list[dict[str, Any]] = field(default_factory=list)
    """What plugins have written, and the messages of the user, in their order."""

    def note(self, kind: str, data: dict[str, Any]) -> None:
        """Keep a line of a plugin that this process writes, for a session that goes on in it."""
        if kind not in OWN_LINES and kind != "user":
            self.lines.append({"type": kind, **data})

    def change(self) -> Change:
        """All changes of context in one."""
        made = Change()
        for change in self.changes:
            tools = tuple(dict.fromkeys((*made.loaded_tools, *change.loaded_tools)))
            made = Change(change.cwd or made.cwd, change.mode or made.mode, tools)
        return made


def restore(path: Path, *, whole: bool = False) -> Restored:
    """The conversation in a transcript. A `PegboardError` names the line that makes no sense.

    It goes on from the last summary, if there is one; with `whole`, everything that was ever said is there.
    """
    made = Restored()
    for number, entry in enumerate(read(path), 1):
        try:
            if not (whole and entry["type"] in SHORTER):
                _take(made, entry)
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            reason = f"{path}: line {number}, of the type {entry['type']}, is not valid: {type(error).__name__}."
            raise PegboardError(f"{reason} {USELESS}") from None
    # Services refuse a conversation in which a call has no result, which is what a crash leaves behind.
    answer_open_calls(made.messages)
    made.messages = _sendable(made.messages)
    return made


def _take(made: Restored, entry: dict[str, Any]) -> None:
    kind, messages = entry["type"], made.messages
    if kind not in OWN_LINES:
        made.lines.append(entry)
    if kind == "user":
        answer_open_calls(messages)
        append(messages, "user", entry["content"])
        told = {block["text"] for block in entry["content"] if block["type"] == "text"}
        # News that reached the model must not be told again after a restart.
        made.news = [words for words in made.news if words not in told]
    elif kind == "block":
        if messages and messages[-1]["role"] == "user":
            answer_open_calls(messages)
        append(messages, "assistant", [entry["block"]])
    elif kind == "discarded" and messages and messages[-1]["role"] == "assistant":
        _take_back(messages, entry.get("blocks"))
    elif kind == "result":
        _add_result(messages, entry["block"])
        if fetched := entry["block"].get("fetched"):
            made.changes.append(Change(loaded_tools=tuple(fetched)))
    elif kind == "cleared":
        put_in(messages, {note["tool_use_id"]: note for note in entry["notes"]})
    elif kind == "compacted":
        made.messages = [as_message(message) for message in entry["messages"]]
    elif kind == "usage":
        made.usage = SessionUsage.from_record(entry)
    else:
        _take_circumstances(made, entry)


def _take_circumstances(made: Restored, entry: dict[str, Any]) -> None:
    kind = entry["type"]
    if kind == "change":
        cwd = entry.get("cwd")
        made.changes.append(Change(Path(cwd) if cwd else None, entry.get("mode"), tuple(entry.get("loaded_tools", ()))))
    elif kind == "session":
        made.provider = str(entry.get("provider", made.provider))
        made.cwd = Path(entry["cwd"]) if entry.get("cwd") else made.cwd
        made.folder = str(entry.get("folder") or entry.get("cwd") or made.folder)
    elif kind == "prompt":
        made.last_prompt = str(entry.get("text", ""))
        made.prompt = made.prompt or made.last_prompt
        made.prompts += 1
    elif kind == "system":
        made.system |= {str(name): str(text) for name, text in entry["parts"].items()}
    elif kind == "news" and entry["text"] not in made.news:
        made.news.append(str(entry["text"]))


def append(messages: Messages, role: str, content: list[dict[str, Any]]) -> None:
    """Add to a conversation; two messages of one role in a row become one."""
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += content
    else:
        messages.append({"role": role, "content": list(content)})


def answer_open_calls(messages: Messages) -> None:
    """Answer as interrupted what was left open, in the order in which it was asked."""
    last = next((i for i in range(len(messages) - 1, -1, -1) if messages[i]["role"] == "assistant"), None)
    if last is None:
        return
    after = messages[last + 1]["content"] if last + 1 < len(messages) else []
    answered = {block.get("tool_use_id") for block in after}
    if missing := [_interrupted(call) for call in call_ids(messages[last]["content"]) if call not in answered]:
        append(messages, "user", missing)


def _interrupted(call: str) -> dict[str, Any]:
    words = [{"type": "text", "text": INTERRUPTED}]
    return {"type": "tool_result", "tool_use_id": call, "content": words, "is_error": True}


def _add_result(messages: Messages, result: dict[str, Any]) -> None:
    """Add a result; a second one for the same call is the shorter form that was sent."""
    if messages and messages[-1]["role"] == "user":
        for place, block in enumerate(messages[-1]["content"]):
            if block.get("tool_use_id") == result["tool_use_id"]:
                messages[-1]["content"][place] = result
                return
    append(messages, "user", [result])


def _take_back(messages: Messages, count: object) -> None:
    """Forget the blocks of an answer that was discarded; what a paused answer had said before them stays."""
    content = messages[-1]["content"]
    del content[-count if isinstance(count, int) and 0 < count < len(content) else 0 :]
    if not content:
        messages.pop()


def _sendable(messages: Messages) -> Messages:
    made: Messages = []
    for message in messages:
        content = sendable(message["content"]) if message["role"] == "assistant" else message["content"]
        if content:
            append(made, message["role"], content)
    return made


def copied(messages: Messages) -> Messages:
    """The messages in lists of their own, so that adding to one does not change the other."""
    return [{**message, "content": list(message["content"])} for message in messages]
