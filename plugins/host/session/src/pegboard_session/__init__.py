"""Conversations with a model on top of a board.

    async with Session(board, provider, model="…") as session:
        outcome = await session.run("What does this project do?")

Names load on first use: a command that only lists transcripts does not pay for the loop.
"""

# Imports happen inside functions: importing a provider must not load the session loop.

TYPE_CHECKING = False

if TYPE_CHECKING:
    from pegboard_session.agents import AgentDefinition as AgentDefinition
    from pegboard_session.agents import find_agents as find_agents
    from pegboard_session.agents import registered_agents as registered_agents
    from pegboard_session.announcements import announce as announce
    from pegboard_session.announcements import announce_later as announce_later
    from pegboard_session.compaction import Compacted as Compacted
    from pegboard_session.context_size import ContextUse as ContextUse
    from pegboard_session.deferral import DeferralPolicy as DeferralPolicy
    from pegboard_session.event_stream import EventStream as EventStream
    from pegboard_session.hookspecs import Compacting as Compacting
    from pegboard_session.hookspecs import EventAnswer as EventAnswer
    from pegboard_session.hookspecs import Prompted as Prompted
    from pegboard_session.loop import Session as Session
    from pegboard_session.model_options import ModelOptions as ModelOptions
    from pegboard_session.model_profile import ModelProfile as ModelProfile
    from pegboard_session.model_table import ModelTable as ModelTable
    from pegboard_session.outcome import Outcome as Outcome
    from pegboard_session.outcome import finished as finished
    from pegboard_session.providers import CachePoints as CachePoints
    from pegboard_session.providers import Message as Message
    from pegboard_session.providers import OpaqueBlock as OpaqueBlock
    from pegboard_session.providers import Provider as Provider
    from pegboard_session.providers import ProviderEvent as ProviderEvent
    from pegboard_session.providers import Request as Request
    from pegboard_session.providers import ServerSearch as ServerSearch
    from pegboard_session.providers import Stop as Stop
    from pegboard_session.providers import TextDelta as TextDelta
    from pegboard_session.providers import TextEnd as TextEnd
    from pegboard_session.providers import ThinkingDelta as ThinkingDelta
    from pegboard_session.providers import ToolCall as ToolCall
    from pegboard_session.providers import Usage as Usage
    from pegboard_session.providers import find_providers as find_providers
    from pegboard_session.readable_files import readable_files as readable_files
    from pegboard_session.replay import ReplayProvider as ReplayProvider
    from pegboard_session.restored import Restored as Restored
    from pegboard_session.restored import restore as restore
    from pegboard_session.retries import Retries as Retries
    from pegboard_session.session_options import SessionOptions as SessionOptions
    from pegboard_session.slash_commands import Expansion as Expansion
    from pegboard_session.slash_commands import SlashAnswer as SlashAnswer
    from pegboard_session.slash_commands import SlashCommand as SlashCommand
    from pegboard_session.slash_commands import SlashCommandError as SlashCommandError
    from pegboard_session.slash_commands import SlashConfirm as SlashConfirm
    from pegboard_session.slash_commands import SlashExit as SlashExit
    from pegboard_session.slash_commands import SlashPrompt as SlashPrompt
    from pegboard_session.slash_commands import SlashSwitch as SlashSwitch
    from pegboard_session.slash_commands import announce_expansion as announce_expansion
    from pegboard_session.slash_commands import answer_slash_command as answer_slash_command
    from pegboard_session.slash_commands import find_slash_commands as find_slash_commands
    from pegboard_session.slash_commands import split_slash_command as split_slash_command
    from pegboard_session.store import TranscriptStore as TranscriptStore
    from pegboard_session.system_prompt import PromptPart as PromptPart
    from pegboard_session.transcript import Transcript as Transcript
    from pegboard_session.usage import Budget as Budget
    from pegboard_session.usage import SessionUsage as SessionUsage

_HOME = {
    "AgentDefinition": "agents",
    "Budget": "usage",
    "CachePoints": "providers",
    "Compacted": "compaction",
    "Compacting": "hookspecs",
    "ContextUse": "context_size",
    "DeferralPolicy": "deferral",
    "EventStream": "event_stream",
    "Expansion": "slash_commands",
    "EventAnswer": "hookspecs",
    "Message": "providers",
    "ModelOptions": "model_options",
    "ModelProfile": "model_profile",
    "ModelTable": "model_table",
    "OpaqueBlock": "providers",
    "Outcome": "outcome",
    "PromptPart": "system_prompt",
    "Prompted": "hookspecs",
    "Provider": "providers",
    "ProviderEvent": "providers",
    "ReplayProvider": "replay",
    "Request": "providers",
    "Restored": "restored",
    "Retries": "retries",
    "ServerSearch": "providers",
    "Session": "loop",
    "SessionOptions": "session_options",
    "SessionUsage": "usage",
    "SlashAnswer": "slash_commands",
    "SlashCommand": "slash_commands",
    "SlashCommandError": "slash_commands",
    "SlashConfirm": "slash_commands",
    "SlashExit": "slash_commands",
    "SlashPrompt": "slash_commands",
    "SlashSwitch": "slash_commands",
    "Stop": "providers",
    "TextDelta": "providers",
    "TextEnd": "providers",
    "ThinkingDelta": "providers",
    "ToolCall": "providers",
    "Transcript": "transcript",
    "TranscriptStore": "store",
    "Usage": "providers",
    "announce": "announcements",
    "announce_expansion": "slash_commands",
    "announce_later": "announcements",
    "answer_slash_command": "slash_commands",
    "find_agents": "agents",
    "find_providers": "providers",
    "find_slash_commands": "slash_commands",
    "finished": "outcome",
    "readable_files": "readable_files",
    "registered_agents": "agents",
    "restore": "restored",
    "split_slash_command": "slash_commands",
}

__all__ = sorted(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"pegboard_session has no {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"pegboard_session.{_HOME[name]}"), name)
    globals()[name] = value
    return value
