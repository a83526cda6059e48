"""smolagents: its agent for tool calls, which runs them in threads; the tools are plain functions here."""

import time

from play import NAP, given, measure
from smolagents import ToolCallingAgent, tool
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole, Model
from smolagents.monitoring import LogLevel


@tool
def noop(path: str, offset: int = 1, limit: int = 10) -> str:
    """Do nothing.

    Args:
        path: a path
        offset: where to begin
        limit: how many

    """
    return path


@tool
def nap(path: str, offset: int = 1, limit: int = 10) -> str:
    """Take a while.

    Args:
        path: a path
        offset: where to begin
        limit: how many

    """
    time.sleep(NAP)
    return path


TOOLS = {"noop": noop, "nap": nap}


class Scripted(Model):
    def __init__(self, name, calls):
        super().__init__()
        self.name, self.calls, self.asked = name, calls, 0

    def generate(self, messages, **more):
        self.asked += 1
        uses = [(self.name, given())] * self.calls if self.asked == 1 else [("final_answer", {"answer": "Done."})]
        made = [
            ChatMessageToolCall(ChatMessageToolCallFunction(arguments=words, name=name), f"c{at}", "function")
            for at, (name, words) in enumerate(uses)
        ]
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=made)


async def turn(name, calls):
    agent = ToolCallingAgent([TOOLS[name]], Scripted(name, calls), verbosity_level=LogLevel.OFF)
    assert agent.run("Go") == "Done."


measure(turn)
