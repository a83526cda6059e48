"""The hooks of sessions: providers of models, agents, and what happens around a conversation.

Implement them like those of the core, with `@hookimpl`. A hook that is specified with `async def` may await.
"""
# mypy: disable-error-code="empty-body"
# pyright: reportReturnType=false

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pegboard import After, Context, ProviderError, Result, Settings
    from pegboard_session.agents import AgentDefinition
    from pegboard_session.loop import Session
    from pegboard_session.providers import Provider
    from pegboard_session.system_prompt import PromptPart


@dataclass(frozen=True, slots=True)
class Prompted:
    """What a `submit_prompt` hook wants: that the model never sees the prompt (`block`), or more for it to read."""

    block: str = ""
    """Why the prompt is not taken, for the person who wrote it."""
    context: str = ""


@dataclass(frozen=True, slots=True)
class Compacting:
    """What a `before_compact` hook wants: that nothing is compacted, or that something is kept."""

    block: str = ""
    """Why the conversation is not compacted, for the person."""
    focus: str = ""
    """What the summary has to keep, for the model that writes it."""
    context: str = ""
    """What the model reads after the summary, as it is: open tasks, a plan."""


@dataclass(frozen=True, slots=True)
class EventAnswer:
    """What a `hear_event` hook says to an event: that it must not happen, more to read, or an answer in its place."""

    block: str = ""
    """Why it must not happen, for whoever does it."""
    context: str = ""
    """What the model reads besides, where the event leads to a message."""
    answer: Mapping[str, Any] = field(default_factory=dict)
    """What the event asks for: the `path` of a worktree, the `action` and `content` for the form of a server."""


class SessionHooks:
    """The hooks of this distribution. The class is never instantiated: it is read."""

    def register_providers(self, settings: Settings) -> Sequence[Provider]:
        """Provide models.

        Called when a session looks for its provider. Answers are collected by provider name. May not await.

        :param settings: the effective settings.

        Example::

            @hookimpl
            def register_providers():
                return [Echo()]
        """

    def register_models(self, settings: Settings) -> Mapping[str, Mapping[str, Any]]:
        """Say something about models, whoever provides them: limits, features, prices, aliases, other tools.

        Called when a session opens. Answers are rows of the table of models, as in the setting `models`, which beats
        them; so does what the provider says itself. A faulty row is logged and left out. May not await.

        :param settings: the effective settings.

        Example::

            @hookimpl
            def register_models():
                return {"tiny-*": {"window": 8192, "tools": {"hide": ["WebFetch"]}}}
        """

    def register_agents(self) -> Sequence[AgentDefinition]:
        """Provide kinds of sub-agents.

        Called once, at assembly. Answers are collected by agent name. May not await.

        Example::

            @hookimpl
            def register_agents():
                return [AgentDefinition("reviewer", "Reads a change and says what is wrong with it.")]
        """

    def find_agents(
        self, settings: Settings, registered: Mapping[str, AgentDefinition]
    ) -> Mapping[str, AgentDefinition]:
        """Find the kinds of agents that a user or a project has written down.

        Called when a person wants to talk to one, as with `pegboard run --agent`. Answers are put together by name;
        among equal names the first counts, before `registered`. May not await.

        :param settings: the effective settings.
        :param registered: what `register_agents` returned, by name.

        Example::

            @hookimpl
            def find_agents(settings, registered):
                return {"scribe": AgentDefinition("scribe", "Writes minutes.", "Write down what was decided.")}
        """

    def register_session_services(self, session: Session) -> Mapping[str, object]:
        """Provide services that belong to one conversation.

        Called once for each session and each sub-agent's session, when it opens and before `start_session`. Answers
        are collected; tools reach a service with `ctx.service(name)`. Of two with one name the first plugin's counts.
        An exception is logged, and the plugin provides nothing. May not await.

        :param session: the `pegboard_session.Session` that opens.

        Example::

            @hookimpl
            def register_session_services(session):
                return {"notebook": {"session": session.id, "pages": []}}
        """

    async def system_prompt_parts(self, session: Session, ctx: Context) -> Sequence[PromptPart] | None:
        """Add parts to the system prompt.

        Called once for each session and each sub-agent's session, when it opens; `pegboard prompt show` calls it too.
        Answers are collected and sorted by their `order`. Of two plugins with a part of one name the first's counts,
        and what a session was given as `system` counts as `instructions` before any of them. The parts stay as they are
        for the whole session, so that a service can cache them: tell changes with `add_reminders`. A `SettingsError`
        stops the session; any other exception is noted and adds nothing. May await.

        :param session: the `pegboard_session.Session` that opens; its `parent` is None unless it is a sub-agent's.
        :param ctx: where the session runs.

        Example::

            @hookimpl
            def system_prompt_parts(session, ctx):
                return [PromptPart("house-rules", (ctx.cwd / "HOUSE_RULES").read_text(), order=60)]
        """

    async def start_session(self, session_id: str, source: str, transcript: Path | None, ctx: Context) -> str | None:
        """Tell the model something before the first prompt.

        Called once per session, when it opens. All implementations are called; their texts are put before the first
        prompt. An exception is noted and stops nothing. May await.

        :param session_id: the name of the session.
        :param source: `startup` for a new conversation, `clear` for one that follows another, `resume` for one that
            continues.
        :param transcript: the file that the conversation is written to, if there is one.
        :param ctx: where the session runs; `ctx.report` reaches the person.

        Example::

            @hookimpl
            def start_session(ctx):
                return f"The branch is {(ctx.cwd / '.git/HEAD').read_text().strip()}."
        """

    async def submit_prompt(self, prompt: str, ctx: Context) -> Prompted | None:
        """Look at a prompt before the model does: add to it, or keep it back.

        Called for each prompt. Everyone is asked; the first `block` counts, all `context` follows the prompt. An
        exception blocks. May await.

        :param prompt: what the person wrote.
        :param ctx: where the session runs.

        Example::

            @hookimpl
            def submit_prompt(prompt):
                if "BEGIN PRIVATE KEY" in prompt:
                    return Prompted(block="There is a private key in this prompt.")
        """

    def add_reminders(self, session: Session, moment: str) -> str | Sequence[str] | None:
        """Remind the model of something in the next user message, without changing anything sent before.

        Called for each user message, when it is about to be added: a prompt, or the results of a turn. Answers are
        collected; each becomes a text block between `<system-reminder>` tags, before the prompt or after the results.
        Return only what is new to the model: the conversation keeps every reminder. A tool, or a hook around a call,
        uses `ctx.service("conversation").remind(words)`. An exception is noted and says nothing. May not await.

        :param session: the `pegboard_session.Session`, a sub-agent's too.
        :param moment: `prompt` or `results`.

        Example::

            @hookimpl
            def add_reminders(session, moment):
                if moment == "prompt" and (session.ctx.cwd / "FREEZE").exists():
                    return "There is a code freeze: change nothing below src/."
        """

    async def before_stop(self, text: str, ctx: Context) -> str | None:
        """Send the model back to work.

        Called when the model has nothing left to call and would hand back to the person. Everyone is asked; the
        reasons returned become the next message, and the turns they cost count against `maxTurns`. An exception is
        noted and stops nothing. May await.

        :param text: what the model said last.
        :param ctx: where the session runs.

        Example::

            @hookimpl
            def before_stop(text, ctx):
                if (ctx.cwd / "TODO").exists():
                    return "There are open points in the file TODO."
        """

    async def start_agent(self, transcript: Path | None, ctx: Context) -> str | None:
        """Tell a sub-agent something before its prompt.

        Called each time a sub-agent begins to work; `start_session` is for the person's own session. Everyone is asked;
        their texts are put before the prompt. An exception is noted and stops nothing. May await.

        :param transcript: the file that the sub-agent's conversation is written to, if there is one.
        :param ctx: where the sub-agent works; `ctx.agent` says which one it is.

        Example::

            @hookimpl
            def start_agent(ctx):
                if ctx.agent.kind == "reviewer":
                    return "Look at the tests too."
        """

    async def before_agent_stop(self, text: str, transcript: Path | None, ctx: Context) -> str | None:
        """Send a sub-agent back to work before it reports.

        Called when a sub-agent has nothing left to call; `before_stop` is for the person's own session. Everyone is
        asked; the reasons returned become its next message, and the turns they cost count against its limit. An
        exception is noted and stops nothing. May await.

        :param text: what the sub-agent said last, its report.
        :param transcript: the file with the sub-agent's conversation, if there is one.
        :param ctx: where the sub-agent works.

        Example::

            @hookimpl
            def before_agent_stop(text):
                if "line" not in text:
                    return "Name the lines that you mean."
        """

    async def after_turn(self, results: Sequence[Result], ctx: Context) -> After | None:
        """Look at all results of a turn together, before the model does.

        Called once for each answer of the model that called something, a sub-agent's too, when every call has its
        result. Everyone is asked; `context` is added after the results, and the first `stop` ends the conversation.
        `value` has no meaning here. An exception is noted and stops nothing. May await.

        :param results: what the calls returned, in the order in which the model made them.
        :param ctx: where the next turn starts.

        Example::

            @hookimpl
            def after_turn(results):
                if sum(result.is_error for result in results) > 3:
                    return After(context="Several calls failed. Take one step at a time.")
        """

    async def prompt_failed(self, error: ProviderError, ctx: Context) -> None:
        """Hear that a prompt could not be answered because the model could not be asked.

        Called once for each such prompt, a sub-agent's too, after the last retry. Everyone is told; an exception is
        noted. May await.

        :param error: what went wrong; its `kind` is `rate_limit`, `authentication`, `connection` and the like.
        :param ctx: where the session runs.

        Example::

            @hookimpl
            def prompt_failed(error, ctx):
                (ctx.cwd / "failed.log").write_text(str(error))
        """

    async def hear_event(self, event: str, about: Mapping[str, Any], ctx: Context) -> EventAnswer | None:
        """Hear of something besides calls and prompts, and perhaps prevent it or answer in its place.

        Called for what plugins announce with `pegboard_session.announce`: WorktreeCreate, WorktreeRemove, TaskCreated,
        TaskCompleted, UserPromptExpansion, InstructionsLoaded, ConfigChange, Elicitation, ElicitationResult, and
        events of other distributions. Everyone is told; the first `block` counts, all `context` and all `answer` add
        up. An exception blocks. May await.

        :param event: its name.
        :param about: what there is to know about it, as plain data.
        :param ctx: where it happens.

        Example::

            @hookimpl
            def hear_event(event, about):
                if event == "TaskCompleted" and "test" in about["task_subject"]:
                    return EventAnswer(block="Show that the tests pass first.")
        """

    async def before_compact(self, trigger: str, what_to_keep: str, ctx: Context) -> Compacting | None:
        """Prepare for a summary that replaces the older part of a conversation, or prevent it.

        Called before each summary, when every call has its result. Everyone is asked; the first `block` counts, all
        else adds up. An exception is noted and stops nothing. May await.

        :param trigger: `auto` when the conversation has grown too long, `manual` when it was requested.
        :param what_to_keep: what whoever wants it has said; may be empty.
        :param ctx: where the session runs.

        Example::

            @hookimpl
            def before_compact(ctx):
                plan = ctx.cwd / "PLAN.md"
                return Compacting(context=plan.read_text()) if plan.exists() else None
        """

    async def after_compact(self, trigger: str, summary: str, ctx: Context) -> str | None:
        """Tell the model something that it has to read again after a summary.

        Called when the summary is complete, before it takes the place of the conversation. Everyone is asked; what
        they return stands after the summary. An exception is noted and stops nothing. May await.

        :param trigger: `auto` or `manual`.
        :param summary: what the model has written.
        :param ctx: where the session runs.

        Example::

            @hookimpl
            def after_compact(summary):
                return "Remember to answer in French."
        """

    async def end_session(self, session_id: str, reason: str, ctx: Context) -> None:
        """Tidy up after a session.

        Called once for each session, when it closes and before its processes end. Everyone is told; an exception is
        noted. A session that is broken off gives all of them five seconds together. May await.

        :param session_id: the name of the session.
        :param reason: `finished`, or `broken off` when an exception or an interrupt ends it; `clear` or `resume` when a
            person goes on with another session, and `prompt_input_exit` when they leave at the prompt.
        :param ctx: where the session ran.

        Example::

            @hookimpl
            def end_session(session_id, reason):
                print(session_id, "is over:", reason)
        """
