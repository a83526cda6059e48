"""pydantic-ai: an agent with a function for a model."""

from play import TOOLS, given, measure
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel


async def turn(tool, calls):
    def answer(messages, info):
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart(tool, given(), f"c{n}") for n in range(calls)])
        return ModelResponse(parts=[TextPart("Done.")])

    agent = Agent(FunctionModel(answer), tools=[TOOLS[tool]])
    assert (await agent.run("Go")).output == "Done."


measure(turn)
