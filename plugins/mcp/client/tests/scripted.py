"""A model for tests."""

import json

from pegboard_session import Stop, TextDelta, ToolCall


class Scripted:
    """A model that makes the given calls and then repeats the last result."""

    name = "scripted"

    def __init__(self, calls):
        self.calls, self.requests = list(calls), []

    async def stream(self, request):
        self.requests.append(request)
        if self.calls:
            name, args = self.calls.pop(0)
            yield ToolCall(f"call-{len(self.requests)}", name, json.dumps(args))
            yield Stop("tool_use")
            return
        last = request.messages[-1]["content"][-1]
        said = last["content"][0]["text"] if last["type"] == "tool_result" else "done"
        yield TextDelta(said)
        yield Stop("end_turn")
