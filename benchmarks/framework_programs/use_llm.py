"""llm: a chain of responses of a model of our own."""

import llm
from play import TOOLS, given, measure


class Scripted(llm.AsyncModel):
    model_id = "scripted"
    supports_tools = True
    can_stream = False

    def __init__(self, tool, calls):
        self.tool, self.calls = tool, calls

    async def execute(self, prompt, stream, response, conversation=None, key=None):
        if prompt.tool_results:
            yield "Done."
            return
        for number in range(self.calls):
            response.add_tool_call(llm.ToolCall(tool_call_id=f"c{number}", name=self.tool, arguments=given()))
        yield ""


async def turn(tool, calls):
    chain = Scripted(tool, calls).chain("Go", tools=[TOOLS[tool]], stream=False)
    assert await chain.text() == "Done."


measure(turn)
