"""Pegboard hosts the tools of LLM agents.

Write a tool::

    from pathlib import Path
    from pegboard import Context, Input, hookimpl, tool

    class WordCountInput(Input):
        file_path: Path
        "The text file to count."

    @tool(read_only=True, concurrency_safe=True, open_world=False)
    def WordCount(args: WordCountInput, ctx: Context) -> str:
        "Count the words of a text file."
        return str(len(ctx.resolve(args.file_path).read_text().split()))

    @hookimpl
    def register_tools():
        return [WordCount]

Run one::

    from pegboard import Board, Call

    board = Board.load()
    result = await board.dispatch(Call("1", "WordCount", {"file_path": "README.md"}))

Names load on first use, so that `import pegboard` costs next to nothing.
"""

TYPE_CHECKING = False

if TYPE_CHECKING:
    from pegboard.board import Board as Board
    from pegboard.calls import Allow as Allow
    from pegboard.calls import Ask as Ask
    from pegboard.calls import Block as Block
    from pegboard.calls import Call as Call
    from pegboard.calls import Decision as Decision
    from pegboard.calls import Deny as Deny
    from pegboard.calls import Document as Document
    from pegboard.calls import Image as Image
    from pegboard.calls import Result as Result
    from pegboard.calls import Text as Text
    from pegboard.context import Agent as Agent
    from pegboard.context import Change as Change
    from pegboard.context import Context as Context
    from pegboard.contract import API as API
    from pegboard.contract import Facts as Facts
    from pegboard.contract import Output as Output
    from pegboard.contract import Part as Part
    from pegboard.contract import Tool as Tool
    from pegboard.contract import tool as tool
    from pegboard.errors import DefinitionError as DefinitionError
    from pegboard.errors import PegboardError as PegboardError
    from pegboard.errors import PluginError as PluginError
    from pegboard.errors import PolicyError as PolicyError
    from pegboard.errors import ProviderError as ProviderError
    from pegboard.errors import SettingsError as SettingsError
    from pegboard.errors import ToolError as ToolError
    from pegboard.extensions import After as After
    from pegboard.extensions import AgentDefinition as AgentDefinition
    from pegboard.extensions import Answer as Answer
    from pegboard.extensions import Before as Before
    from pegboard.extensions import Event as Event
    from pegboard.extensions import Profile as Profile
    from pegboard.extensions import Prompted as Prompted
    from pegboard.extensions import Provider as Provider
    from pegboard.extensions import Question as Question
    from pegboard.extensions import ToolSource as ToolSource
    from pegboard.hookspecs import hookimpl as hookimpl
    from pegboard.inputs import Input as Input
    from pegboard.services import ProcessSpec as ProcessSpec

_HOME = {
    "Board": "board",
    **dict.fromkeys(
        ("Allow", "Ask", "Block", "Call", "Decision", "Deny", "Document", "Image", "Result", "Text"), "calls"
    ),
    **dict.fromkeys(("Agent", "Change", "Context"), "context"),
    **dict.fromkeys(("API", "Facts", "Output", "Part", "Tool", "tool"), "contract"),
    **dict.fromkeys(
        (
            "DefinitionError",
            "PegboardError",
            "PluginError",
            "PolicyError",
            "ProviderError",
            "SettingsError",
            "ToolError",
        ),
        "errors",
    ),
    **dict.fromkeys(
        (
            *("After", "AgentDefinition", "Answer", "Before", "Event", "Profile", "Prompted", "Provider", "Question"),
            "ToolSource",
        ),
        "extensions",
    ),
    "hookimpl": "hookspecs",
    "Input": "inputs",
    "ProcessSpec": "services",
}

__all__ = sorted(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"pegboard has no {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"pegboard.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
