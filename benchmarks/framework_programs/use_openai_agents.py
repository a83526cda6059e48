"""openai-agents: an agent with a model of our own, without tracing."""

import json

from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from play import TOOLS, given, measure

set_tracing_disabled(True)
TOOL_OBJECTS = {name: function_tool(function) for name, function in TOOLS.items()}


class Scripted(Model):
    def __init__(self, tool, calls):
        self.tool, self.calls, self.asked = tool, calls, 0

    async def get_response(self, *args, **more):
        self.asked += 1
        if self.asked == 1:
            text = json.dumps(given())
            output = [
                ResponseFunctionToolCall(type="function_call", call_id=f"c{n}", name=self.tool, arguments=text)
                for n in range(self.calls)
            ]
        else:
            said = ResponseOutputText(type="output_text", text="Done.", annotations=[])
            output = [
                ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[said])
            ]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *args, **more):
        raise NotImplementedError


async def turn(tool, calls):
    agent = Agent(name="a", tools=[TOOL_OBJECTS[tool]], model=Scripted(tool, calls))
    assert (await Runner.run(agent, "Go")).final_output == "Done."


measure(turn)
