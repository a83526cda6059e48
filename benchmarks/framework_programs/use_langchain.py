"""langchain: its agent with a chat model of our own."""

from langchain.agents import create_agent
from langchain.tools import tool as as_tool
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from play import TOOLS, given, measure

TOOL_OBJECTS = {name: as_tool(function) for name, function in TOOLS.items()}


class Scripted(BaseChatModel):
    tool: str
    calls: int

    def bind_tools(self, tools, **more):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **more):
        said = AIMessage("Done.")
        if len(messages) == 1:
            uses = [{"name": self.tool, "args": given(), "id": f"c{n}"} for n in range(self.calls)]
            said = AIMessage("", tool_calls=uses)
        return ChatResult(generations=[ChatGeneration(message=said)])

    @property
    def _llm_type(self):
        return "scripted"


async def turn(tool, calls):
    agent = create_agent(Scripted(tool=tool, calls=calls), [TOOL_OBJECTS[tool]])
    state = await agent.ainvoke({"messages": [("user", "Go")]}, {"recursion_limit": 100})
    assert state["messages"][-1].content == "Done."


measure(turn)
